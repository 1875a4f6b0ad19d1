"""When to stop: a certificate that a fresh, longer posterior confirms, or a known reward; and how soon that may be."""

from collections.abc import Callable, Iterable

import numpy as np

from journeyman.acquisition import RewardKnowledge, reward_knowledge
from journeyman.apprentice import Certificate, certify
from journeyman.checks import whole_number
from journeyman.demonstrations import Demonstration
from journeyman.experts import SimulatedExpert
from journeyman.inference import infer
from journeyman.inference.posterior import Posterior
from journeyman.learner.protocol import Learner
from journeyman.learner.records import Forecast
from journeyman.learner.settings import CONFIRMATION, LearnerSettings
from journeyman.learner.simulate import answered_steps
from journeyman.problem import Problem
from journeyman.progress import progress_bar
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
    seed = settings.stream_seed(CONFIRMATION, event_number + 1)
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


def forecast_answers(
    copy_fn: Callable[[int], Learner],
    posterior: Posterior,
    rng: np.random.Generator,
    *,
    num_runs: int,
    limit: int,
    progress: bool,
) -> Forecast:
    """Simulate `num_runs` courses of learning, each of at most `limit` more answers.

    Parameters
    ----------
    copy_fn
        copy_fn(seed) gives a copy of the learner, with random streams of its own.
    posterior
        Of that learner: each run takes one reward drawn from it for the truth.
    """
    num_runs = whole_number(num_runs, "num_runs", 1, "20 give a rough idea.")
    limit = whole_number(limit, "limit", 0, "It is the number of further answers after which a run is given up.")
    problem = posterior.problem
    runs: list[int | None] = []
    with progress_bar("Simulating the remaining answers", is_shown=progress) as report:
        for run in range(num_runs):
            sample = int(rng.choice(posterior.num_samples, p=posterior.weights))
            reward = problem.reward_model.reward(posterior.theta[sample])
            expert = SimulatedExpert(problem.mdp, reward, problem.expert, seed=int(rng.integers(2**31)))
            learner = copy_fn(int(rng.integers(2**31)))
            runs.append(_answers_needed(learner, expert, limit))
            report((run + 1) / num_runs)
    return Forecast(tuple(runs), limit)


def _answers_needed(learner: Learner, expert: SimulatedExpert, limit: int) -> int | None:
    """Return after how many answers the goal is in sight, None if not within `limit`."""
    if _is_in_sight(learner):
        return 0
    for num_answers, _ in enumerate(answered_steps(learner, expert, steps=limit), start=1):
        if _is_in_sight(learner):
            return num_answers
    return None


def _is_in_sight(learner: Learner) -> bool:
    """Whether the certificate holds; its confirmation would cost as much as all the rest."""
    return learner.is_finished() if learner.settings.goal == "reward" else learner.certificate().holds
