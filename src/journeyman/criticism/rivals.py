"""Rivals that need inference of their own: other betas, other widths of the prior, and a change of mind.

Each is a distribution q over all answers, and q(D) / p(D) is its gain over the model, with mean one under the model at
any time (see `surprise`). p(D) and q(D) are evidences, from short runs of sequential Monte Carlo, which are off by a
few tenths of a nat. An expert who changes their mind after tau answers has a new reward from then on, drawn from the
prior, so that q is the evidence of the first tau answers times that of the others: one pass forward and one backward
over the answers give all of them. Change points are 4, 6, 8, 11, 16, 23, ... (by the root of 2), the j-th with the
chance 1 / ((j + 1) (j + 2)).

A rival that is further off (a quarter, or 8 times) is tried only where the nearer one predicts better than the model.
One that is not tried gains nothing, which can only make the evidence smaller. What a rival believes is kept: a
certificate says what would become of it then.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from journeyman.criticism.policies import counts_by_place
from journeyman.criticism.surprise import Rival
from journeyman.errors import InferenceError, InputError
from journeyman.experts import Boltzmann, ExpertModel
from journeyman.inference import smc
from journeyman.inference.particles import Particles
from journeyman.inference.posterior import Posterior
from journeyman.problem import Problem
from journeyman.rewards import MultivariateNormal, Normal, Uniform, widened
from journeyman.types import FloatArray, IntArray

NUM_PARTICLES = 300
FIRST_POINT = 4.0  # answers before the first change point
NUM_REFINEMENTS, NUM_BETWEEN = 4, 2  # rounds of looking around the best change point, new points on each side of it
WORTH_A_LOOK = 2.0  # log gain of a change point from which on that is done
FACTORS = (0.5, 2.0)  # of beta, or of the width of the prior: of these certificates speak too
FURTHER = {0.5: 0.25, 2.0: 8.0}  # tried only where the nearer factor predicts better than the model


class RivalModel(NamedTuple):
    """The model with something else in it.

    label: what, in words ("beta = 2"); rival: the same as a rival; problem: that it makes; nearer: label of the variant
    that must predict better than the model for this one to be tried, "" for none.
    """

    label: str
    rival: Rival
    problem: Problem
    nearer: str = ""


@dataclass(frozen=True, eq=False)
class Passes:
    """Log evidences along the answers.

    Parameters
    ----------
    points, log_chances
        `[P]` change points that were looked at, and the log chances of a change there.
    first, last
        `[P]` log evidence of the answers before and after each.
    whole
        Log evidence of all answers, from the pass forward and from the one backward.
    log_rest
        Log chance of a change after the last answer.
    """

    points: IntArray
    log_chances: FloatArray
    first: FloatArray
    last: FloatArray
    whole: tuple[float, float]
    log_rest: float

    @property
    def log_evidence(self) -> float:
        """Log evidence of all answers."""
        return float(np.mean(self.whole))

    @property
    def log_gain(self) -> float:
        """Log gain of an expert who changes their mind once, perhaps after the last answer."""
        gains = self.log_chances + self.first + self.last - self.log_evidence
        return float(logsumexp(np.append(gains, self.log_rest)))

    @property
    def gains(self) -> tuple[tuple[int, float], ...]:
        """The change points, each with the log gain of an expert who changed their mind there for sure."""
        gains = self.first + self.last - self.log_evidence
        return tuple(zip(self.points.tolist(), gains.tolist(), strict=True))

    @property
    def change_point(self) -> int | None:
        """The most likely number of answers before a change of mind; None where they are too few to tell."""
        return int(self.points[np.argmax(self.log_chances + self.first + self.last)]) if len(self.points) else None


class ChangeChances(NamedTuple):
    """How likely a change of mind is after so many answers: `at` `[T + 1]`, and `rest` after the last of T answers."""

    at: FloatArray
    rest: float


def geometric_points(scale: float, end: int) -> tuple[IntArray, FloatArray]:
    """Return points from `scale` on, by the root of 2 and below `end`, with their chances 1 / ((j + 1) (j + 2))."""
    points = _grid(scale)
    number = np.arange(int((points < end).sum()))
    return points[: len(number)], 1.0 / ((number + 1.0) * (number + 2.0))


def _grid(scale: float) -> IntArray:
    return np.unique(np.rint(scale * 2.0 ** (0.5 * np.arange(64))).astype(np.int64))


def change_chances(num_answers: int, begins: IntArray) -> ChangeChances:
    """Return the chances of change points, given after how many answers each demonstration but the first begins.

    In three cases alike: at one of few points, at any answer between two of these, or where a demonstration begins. No
    chance depends on what comes after its point.
    """
    at = np.zeros(num_answers + 1)
    points, chances = geometric_points(FIRST_POINT, num_answers)
    at[points] += chances / 3.0
    ends = _grid(FIRST_POINT)[1 : len(points) + 1].tolist()
    for point, end, chance in zip(points.tolist(), ends, chances.tolist(), strict=True):
        at[point : min(end, num_answers)] += chance / (3.0 * (end - point))
    numbers, chances = geometric_points(1.0, len(begins) + 1)
    at[begins[numbers - 1]] += chances / 3.0
    at[num_answers] = 0.0
    return ChangeChances(at, max(1.0 - float(at.sum()), 0.0))


def passes_over(problem: Problem, steps: IntArray, begins: IntArray, *, seed: int, num_threads: int | None) -> Passes:
    """Return evidences of the first and of the last answers.

    Parameters
    ----------
    steps
        `[T, 2]` places and actions, in order.
    begins
        After how many of them each demonstration but the first begins.
    """
    chances = change_chances(len(steps), begins)
    looked_at, _ = geometric_points(FIRST_POINT, len(steps))
    numbers, _ = geometric_points(1.0, len(begins) + 1)
    points = np.unique(np.concatenate([looked_at, begins[numbers - 1]]))
    forward = _Pass(problem, steps, seed, num_threads)
    backward = _Pass(problem, steps[::-1], seed + 1, num_threads)
    whole = forward.log_evidence(len(steps), points), backward.log_evidence(len(steps), len(steps) - points[::-1])
    found = {int(point): _both(forward, backward, int(point)) for point in points}
    _refine(found, forward, backward, chances, float(np.mean(whole)))
    points = np.array(sorted(found), dtype=np.int64)
    first, last = np.array([found[int(point)] for point in points]).reshape(-1, 2).T
    with np.errstate(divide="ignore"):
        log_chances, log_rest = np.log(chances.at[points]), float(np.log(chances.rest))
    return Passes(points, log_chances, first, last, whole, log_rest)


def _both(forward: "_Pass", backward: "_Pass", point: int) -> tuple[float, float]:
    return forward.log_evidence(point), backward.log_evidence(len(forward.steps) - point)


def _refine(
    found: dict[int, tuple[float, float]],
    forward: "_Pass",
    backward: "_Pass",
    chances: ChangeChances,
    log_evidence: float,
) -> None:
    """Look at more points around the best, where a change explains more than it costs; `found` grows.

    Points that are not looked at count as nothing, so that it does not matter how they are chosen.
    """
    for _ in range(NUM_REFINEMENTS):
        if not found:
            return
        points = sorted(found)
        best = max(points, key=lambda point: sum(found[point]))
        if sum(found[best]) - log_evidence < WORTH_A_LOOK:
            return
        place = points.index(best)
        around = [points[max(place - 1, 0)], best, points[min(place + 1, len(points) - 1)]]
        if place == len(points) - 1:
            around[2] = len(forward.steps) - 1
        for low, high in pairwise(around):
            for point in np.unique(np.linspace(low, high, NUM_BETWEEN + 2).astype(np.int64)).tolist():
                if point not in found and chances.at[point] > 0.0:
                    found[point] = _both(forward, backward, point)


class _Pass:
    """Particles along the answers, from one end: remembers where they have been, to continue from the nearest place."""

    def __init__(self, problem: Problem, steps: IntArray, seed: int, num_threads: int | None) -> None:
        self.steps, self.num_threads = steps, num_threads
        start = smc.start(problem, seed=seed, num_threads=num_threads, num_particles=NUM_PARTICLES)
        self.at: dict[int, Particles] = {0: start}

    def log_evidence(self, end: int, points: Iterable[int] = ()) -> float:
        """Return the log evidence of the first `end` steps, going by `points` on the way."""
        for point in (*(int(one) for one in points), end):
            if point not in self.at:
                begin = max(known for known in self.at if known <= point)
                counts = self.at[begin].counts.copy()
                np.add.at(counts_by_place(counts), tuple(self.steps[begin:point].T), 1.0)
                self.at[point] = smc.advance(self.at[begin], counts, num_threads=self.num_threads)
        return self.at[end].log_evidence


def rival_models(problem: Problem) -> tuple[RivalModel, ...]:
    """Return the model with other betas (or what a sceptic would try of its expert), and other widths of the prior.

    Where the one is the other, since beta times reward is all that counts, it is here once, as a beta.
    """
    found: list[RivalModel] = []
    if has_fixed_beta(problem.expert):
        for factor, nearer in _factors():
            label = beta_words(problem, factor)
            varied = replace(problem, expert=_with_beta(problem, factor))
            needed = "" if nearer is None else beta_words(problem, nearer)
            found.append(RivalModel(label, Rival("rationality", f"with {label}"), varied, needed))
    else:
        for label, expert in problem.expert.variants():
            found.append(RivalModel(label, Rival("rationality", f"with {label}"), replace(problem, expert=expert)))
    if is_homogeneous(problem):
        return tuple(found)
    for factor, nearer in _factors():
        prior = widened(problem.prior, factor)
        if prior is not None:
            rival = Rival("prior", f"whose rewards come from {width_words(factor)}")
            needed = "" if nearer is None else width_words(nearer)
            found.append(RivalModel(width_words(factor), rival, replace(problem, prior=prior), needed))
    return tuple(found)


def _factors() -> tuple[tuple[float, float | None], ...]:
    """Return factors, each with the nearer one that it depends on."""
    return *((factor, None) for factor in FACTORS), *((FURTHER[factor], factor) for factor in FACTORS)


def has_fixed_beta(expert: ExpertModel) -> bool:
    """Return whether an expert is the usual one, with a beta that is known."""
    return type(expert) is Boltzmann and isinstance(expert.beta, float)


def _with_beta(problem: Problem, factor: float) -> ExpertModel:
    """Return the expert with `factor` times its beta, and all else that it may have."""
    assert isinstance(problem.expert, Boltzmann)
    return replace(problem.expert, beta=factor * problem.beta)


def beta_words(problem: Problem, factor: float) -> str:
    """Return another beta in words, as the expert's own variants have them."""
    return f"beta = {factor * problem.beta:.4g}"


def width_words(factor: float) -> str:
    """Return a prior of another width in words."""
    times = {0.5: "half as wide", 0.25: "a quarter as wide", 2.0: "twice as wide"}
    return f"a prior {times.get(factor, f'{factor:g} times as wide')}"


def is_homogeneous(problem: Problem) -> bool:
    """Return whether a prior k times as wide is the same as k times beta: rewards without known parts, around 0."""
    prior = problem.prior
    if not has_fixed_beta(problem.expert):
        return False
    centre = getattr(prior, "mean", None) if isinstance(prior, Normal | MultivariateNormal) else None
    if isinstance(prior, Uniform):
        centre = np.asarray(prior.low) + np.asarray(prior.high)
    return centre is not None and not np.any(centre) and not np.any(problem.reward_model.offset)


def posterior_under(
    problem: Problem, counts: IntArray, *, seed: int, num_threads: int | None, num_particles: int = NUM_PARTICLES
) -> Posterior | None:
    """Return what a short run believes if a problem is the true one; None if the answers are impossible then."""
    try:
        return smc.infer_smc(problem, counts, seed=seed, num_threads=num_threads, num_particles=num_particles)
    except (InferenceError, InputError):
        return None


def rescaled(posterior: Posterior, problem: Problem, factor: float) -> Posterior:
    """Return what a prior `factor` times as wide believes, from what `factor` times beta does (`is_homogeneous`)."""
    wide = widened(problem.prior, factor)
    assert wide is not None
    return replace(
        posterior,
        problem=replace(problem, prior=wide),
        theta=factor * posterior.theta,
        values=factor * posterior.values,
        expert_values=None if posterior.expert_values is None else factor * posterior.expert_values,
    )


def beliefs_under(
    problem: Problem,
    counts: IntArray,
    variants: Iterable[RivalModel],
    log_evidence: float,
    *,
    seed: int,
    num_threads: int | None,
) -> dict[str, Posterior]:
    """Return what each variant believes that is tried and possible, by its label; and what other priors do.

    `log_evidence` is that of the model itself.
    """
    found: dict[str, Posterior] = {}
    for number, variant in enumerate(variants):
        if variant.nearer and _log_gain(found.get(variant.nearer), log_evidence) <= 0.0:
            continue
        belief = posterior_under(variant.problem, counts, seed=seed + number, num_threads=num_threads)
        if belief is not None:
            found[variant.label] = belief
    if is_homogeneous(problem):
        for factor in FACTORS:
            same = found.get(beta_words(problem, factor))
            if same is not None:
                found[width_words(factor)] = rescaled(same, problem, factor)
    return found


def _log_gain(belief: Posterior | None, log_evidence: float) -> float:
    return -np.inf if belief is None or belief.log_evidence is None else belief.log_evidence - log_evidence
