"""When to stop: a certificate that a fresh, longer posterior confirms, or a reward that is known well enough."""

from collections.abc import Iterable

import numpy as np

from journeyman.acquisition import RewardKnowledge, reward_knowledge
from journeyman.apprentice import Certificate, certify
from journeyman.demonstrations import Demonstration
from journeyman.inference import infer
from journeyman.inference.posterior import Posterior
from journeyman.learner.seeding import CONFIRMATION, stream_seed
from journeyman.learner.settings import LearnerSettings
from journeyman.problem import Problem
from journeyman.types import AnyArray

PRIOR_DRAWS = 4000
WANTED_SHARE = 0.1  # of the prior's widest interval


def certificate_of(posterior: Posterior, settings: LearnerSettings, policy: AnyArray | None = None) -> Certificate:
    """Certify a policy that other samples chose, or one chosen on half of these."""
    return certify(
        posterior,
        settings.epsilon,
        settings.delta,
        policy=policy,
        apprentice=settings.apprentice,
        confidence=settings.confidence,
        scope=settings.scope,
    )


def confirmation_of(
    problem: Problem,
    settings: LearnerSettings,
    event_number: int,
    demonstrations: Iterable[Demonstration],
    policy: AnyArray,
    num_threads: int | None,
) -> Certificate:
    """Certify the policy that we hand out on a posterior computed from nothing, with another seed and for longer.

    The first time that a certificate holds is chosen by looking at noise, and is often too early.
    """
    options = settings.method.longer_fn(settings.sized_options, settings.confirmation_factor)
    seed = stream_seed(settings.seed, CONFIRMATION, event_number + 1)
    fresh = infer(problem, demonstrations, settings.inference, seed=seed, num_threads=num_threads, **options)
    return certificate_of(fresh, settings, policy)


def knowledge_of(posterior: Posterior, settings: LearnerSettings, num_threads: int | None) -> RewardKnowledge:
    """Say how well the reward is known."""
    options = dict(settings.goal_options)
    if "width" not in options:
        options["width"] = default_width(posterior.problem, options.get("level", 0.95))
    return reward_knowledge(posterior, num_threads=num_threads, **options)


def default_width(problem: Problem, level: float) -> float:
    """Return a tenth of the widest central interval of the prior, from 4000 draws."""
    draws = problem.prior.sample(np.random.default_rng(0), PRIOR_DRAWS)
    low, high = np.quantile(draws, [(1.0 - level) / 2.0, (1.0 + level) / 2.0], axis=0)
    widest = float((high - low).max())
    return WANTED_SHARE * widest if widest > 0.0 else 1.0
