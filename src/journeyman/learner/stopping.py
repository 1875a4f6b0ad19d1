"""When to stop: a certificate that a fresh, longer posterior confirms, or a known reward; and how soon that may be."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from journeyman.acquisition import RewardKnowledge, reward_knowledge
from journeyman.apprentice import Certificate, certify
from journeyman.apprentice.certificate import CheckFn, certify_growing, unchecked
from journeyman.apprentice.effective_size import lower_bound, size_needed
from journeyman.checks import whole_number
from journeyman.demonstrations import Demonstration
from journeyman.experts import SimulatedExpert
from journeyman.inference import infer
from journeyman.inference.posterior import Posterior, pooled_chains
from journeyman.learner.belief import Belief, first_belief, updated_belief
from journeyman.learner.protocol import Learner
from journeyman.learner.records import Forecast
from journeyman.learner.settings import CERTIFICATE, CONFIRMATION, LearnerSettings
from journeyman.learner.simulate import answered_steps
from journeyman.problem import Problem
from journeyman.progress import progress_bar
from journeyman.types import IntArray

PRIOR_DRAWS = 4000
WANTED_SHARE = 0.1  # of the prior's widest interval


def is_goal_reached(learner: Learner) -> bool:
    """Return whether a learner may stop: its certificate holds and is confirmed, or it knows the reward."""
    if learner.settings.goal == "reward":
        return learner.knowledge().is_enough
    return learner.certificate().holds and learner.confirmation().holds


def certificate_of(
    belief: Belief,
    settings: LearnerSettings,
    policy: IntArray,
    demonstrations: Iterable[Demonstration],
    num_threads: int | None,
    max_seconds: float | None = None,
    progress: bool | None = None,
    check_fn: CheckFn | None = None,
) -> Certificate:
    """Certify the policy that we hand out, on samples drawn for that until the claim is decided.

    The samples that chose it come first: they flatter it, so what clearly fails on them fails, and nothing is drawn.
    """
    posterior, claimed = belief.posterior, _claim(settings)
    if settings.max_samples > 0:
        flattering = certify(posterior, **claimed, policy=policy, check_fn=unchecked)
        is_refused = flattering.status == "refused"
        if flattering.effective_size is None or (
            is_refused and (posterior.warnings or not has_too_few_samples(flattering))
        ):  # exact, or more samples would be refused as well
            return certify(posterior, **claimed, policy=policy, check_fn=check_fn)
        if is_clearly_above(flattering):
            return flattering
    seed = settings.stream_seed(CERTIFICATE, belief.event_number + 1)
    growing = growing_posteriors(belief, settings, demonstrations, seed, num_threads)
    if growing is None:
        return certify(posterior, **claimed, apprentice=settings.apprentice, check_fn=check_fn)
    return _decided(growing, settings, policy, 1, max_seconds, "Certifying", progress, check_fn)


def confirmation_of(
    belief: Belief,
    settings: LearnerSettings,
    policy: IntArray,
    demonstrations: Iterable[Demonstration],
    num_threads: int | None,
    max_seconds: float | None = None,
    progress: bool | None = None,
    check_fn: CheckFn | None = None,
) -> Certificate:
    """Certify the policy that we hand out on a posterior computed from nothing, with another seed and for longer.

    The first time that a certificate holds is chosen by looking at noise, and is often too early.
    """
    problem, listed = belief.posterior.problem, tuple(demonstrations)
    seed, factor = settings.stream_seed(CONFIRMATION, belief.event_number + 1), settings.confirmation_factor
    fresh = belief
    if settings.method.incremental is not None and settings.max_samples > 0:
        fresh = first_belief(problem, replace(settings, seed=seed), num_threads)
        fresh = updated_belief(problem, settings, fresh, belief.event_number, listed, num_threads)
    growing = growing_posteriors(fresh, settings, listed, seed, num_threads)
    if growing is not None and (fresh is belief or not fresh.posterior.warnings):
        return _decided(growing, settings, policy, factor, max_seconds, "Confirming", progress, check_fn)
    options = settings.method.longer_fn(settings.sized_options, factor)
    posterior = infer(problem, listed, settings.inference, seed=seed, num_threads=num_threads, **options)
    return certify(posterior, **_claim(settings), policy=policy, check_fn=check_fn)


def _claim(settings: LearnerSettings) -> dict[str, Any]:
    names = ("epsilon", "delta", "confidence", "scope")
    return {name: getattr(settings, name) for name in names}


def _decided(
    runs: Iterable[Posterior],
    settings: LearnerSettings,
    policy: IntArray,
    factor: int,
    max_seconds: float | None,
    title: str,
    progress: bool | None,
    check_fn: CheckFn | None,
) -> Certificate:
    with progress_bar(title, is_shown=progress) as report:
        return certify_growing(
            runs, **_claim(settings), policy=policy, source=settings.apprentice,
            max_samples=factor * settings.max_samples,
            max_seconds=None if max_seconds is None else factor * max_seconds,
            report_fn=report, check_fn=check_fn,
        )  # fmt: skip


def is_clearly_above(certificate: Certificate) -> bool:
    """Whether the chance of failure is above delta beyond the doubt of sampling."""
    assert certificate.effective_size is not None
    lowest = lower_bound(certificate.p_hat, certificate.effective_size, certificate.confidence)
    return lowest > certificate.delta


def has_too_few_samples(certificate: Certificate) -> bool:
    """Whether its samples could not show that a claim holds even if the policy failed under none of them."""
    assert certificate.effective_size is not None
    return certificate.effective_size < size_needed(0.0, certificate.delta, certificate.confidence)


def growing_posteriors(
    belief: Belief,
    settings: LearnerSettings,
    demonstrations: Iterable[Demonstration],
    seed: int,
    num_threads: int | None,
) -> Iterator[Posterior] | None:
    """Return posteriors with more and more samples, none of them those of the belief; None if there are to be no more.

    They come from what the belief knows, if the method can draw from that, else from chains that are run for it.
    """
    incremental, posterior = settings.method.incremental, belief.posterior
    if settings.max_samples == 0:
        return None
    if incremental is not None and incremental.draw_fn is not None:
        return incremental.draw_fn(belief.state, seed=seed, num_threads=num_threads)
    if posterior.chains is None:
        return None
    return _repeated(posterior.problem, settings, demonstrations, seed, num_threads)


def _repeated(
    problem: Problem,
    settings: LearnerSettings,
    demonstrations: Iterable[Demonstration],
    seed: int,
    num_threads: int | None,
) -> Iterator[Posterior]:
    runs: list[Posterior] = []
    listed, options = tuple(demonstrations), settings.sized_options
    while True:
        for _ in range(max(1, len(runs))):
            number = seed + len(runs)
            runs.append(infer(problem, listed, settings.inference, seed=number, num_threads=num_threads, **options))
        yield pooled_chains(runs)


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
    progress: bool | None,
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
            expert = SimulatedExpert(
                problem.mdp,
                reward,
                problem.expert,
                seed=int(rng.integers(2**31)),
                parameters=posterior.expert_parameters[sample],
            )
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
