"""Rivals that need inference of their own: other betas, other widths of the prior, and a change of mind.

Each is a distribution q over all answers, and q(D) / p(D) is its gain over the model, with mean one under the model at
any time (see `surprise`). p(D) and q(D) are evidences, from short runs of sequential Monte Carlo, which are off by a
few tenths of a nat. An expert who changes their mind after tau answers has a new reward from then on, drawn from the
prior, so that q is the evidence of the first tau answers times that of the others: one pass forward and one backward
over the answers give all of them. Change points are 4, 6, 8, 11, 16, 23, ... (by the root of 2), the j-th with the
chance 1 / ((j + 1) (j + 2)).

A rival that is further off (a quarter, or 8 times) is tried only where the nearer one foretells better than the model.
One that is not tried gains nothing, which can only make the evidence smaller. What a rival believes is kept: a
certificate says what would become of it then.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from journeyman.criticism.surprise import Rival
from journeyman.errors import InferenceError, InputError
from journeyman.experts import Boltzmann, ExpertModel
from journeyman.inference import smc
from journeyman.inference.posterior import Posterior
from journeyman.problem import Problem
from journeyman.rewards import MultivariateNormal, Normal, Prior, Uniform
from journeyman.types import FloatArray, IntArray

NUM_PARTICLES = 300
FACTORS = (0.5, 2.0)  # of beta, or of the width of the prior: of these certificates speak too
FURTHER = {0.5: 0.25, 2.0: 8.0}  # tried only where the nearer factor foretells better than the model


class Variant(NamedTuple):
    """The model with something else in it.

    label: what, in words ("beta = 2"); rival: the same as a rival; problem: that it makes; nearer: label of the variant
    that must foretell better than the model for this one to be tried, "" for none.
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
        `[P]` change points, and the log chances of a change there.
    first, last
        `[P]` log evidence of the answers before and after each.
    whole
        Log evidence of all answers, from the pass forward and from the one backward.
    """

    points: IntArray
    log_chances: FloatArray
    first: FloatArray
    last: FloatArray
    whole: tuple[float, float]

    @property
    def log_evidence(self) -> float:
        """Log evidence of all answers."""
        return float(np.mean(self.whole))

    @property
    def log_gain(self) -> float:
        """Log gain of an expert who changes their mind once, perhaps after the last answer."""
        later = np.log(-np.expm1(logsumexp(self.log_chances))) if len(self.points) else 0.0
        return float(logsumexp(np.append(self.log_chances + self.first + self.last - self.log_evidence, later)))

    @property
    def change_point(self) -> int | None:
        """The most likely number of answers before a change of mind; None where they are too few to tell."""
        return int(self.points[np.argmax(self.log_chances + self.first + self.last)]) if len(self.points) else None


def change_points(num_answers: int) -> tuple[IntArray, FloatArray]:
    """Return the change points below `num_answers`, and their log chances."""
    number = np.arange(64)
    points = np.rint(4.0 * 2.0 ** (0.5 * number)).astype(np.int64)
    within = points < num_answers
    return points[within], -np.log((number[within] + 1.0) * (number[within] + 2.0))


def passes_over(problem: Problem, steps: IntArray, *, seed: int, num_threads: int | None) -> Passes:
    """Return evidences of the first and of the last answers, from steps `[T, 2]` of state and action in order."""
    points, log_chances = change_points(len(steps))
    first, forward = _pass(problem, steps, points, seed, num_threads)
    last, backward = _pass(problem, steps[::-1], (len(steps) - points)[::-1], seed + 1, num_threads)
    return Passes(points, log_chances, first, last[::-1], (forward, backward))


def _pass(
    problem: Problem, steps: IntArray, points: IntArray, seed: int, num_threads: int | None
) -> tuple[FloatArray, float]:
    """Return the log evidences `[P]` of the first so many steps, and that of all."""
    particles = smc.start(problem, seed=seed, num_threads=num_threads, num_particles=NUM_PARTICLES)
    counts, begin, found = np.zeros((problem.mdp.num_states, problem.mdp.num_actions)), 0, []
    for end in (*points.tolist(), len(steps)):
        np.add.at(counts, tuple(steps[begin:end].T), 1.0)
        particles = smc.advance(particles, counts.copy(), num_threads=num_threads)
        found.append(particles.log_evidence)
        begin = end
    return np.array(found[:-1]), found[-1]


def variants_of(problem: Problem) -> tuple[Variant, ...]:
    """Return the model with other betas (or what a sceptic would try of its expert), and other widths of the prior.

    Where the one is the other, since beta times reward is all that counts, it is here once, as a beta.
    """
    found: list[Variant] = []
    if has_fixed_beta(problem.expert):
        for factor, nearer in _factors():
            label = beta_words(problem, factor)
            varied = replace(problem, expert=Boltzmann(factor * problem.beta))
            needed = "" if nearer is None else beta_words(problem, nearer)
            found.append(Variant(label, Rival("rationality", f"with {label}"), varied, needed))
    else:
        for label, expert in problem.expert.variants():
            found.append(Variant(label, Rival("rationality", f"with {label}"), replace(problem, expert=expert)))
    if is_homogeneous(problem):
        return tuple(found)
    for factor, nearer in _factors():
        prior = widened(problem.prior, factor)
        if prior is not None:
            rival = Rival("prior", f"whose rewards come from {width_words(factor)}")
            needed = "" if nearer is None else width_words(nearer)
            found.append(Variant(width_words(factor), rival, replace(problem, prior=prior), needed))
    return tuple(found)


def _factors() -> tuple[tuple[float, float | None], ...]:
    """Return factors, each with the nearer one that it depends on."""
    return *((factor, None) for factor in FACTORS), *((FURTHER[factor], factor) for factor in FACTORS)


def has_fixed_beta(expert: ExpertModel) -> bool:
    """Return whether an expert is the usual one, with a beta that is known."""
    return type(expert) is Boltzmann and isinstance(expert.beta, float)


def beta_words(problem: Problem, factor: float) -> str:
    """Return another beta in words, as the expert's own variants have them."""
    return f"beta = {factor * problem.beta:.4g}"


def width_words(factor: float) -> str:
    """Return a prior of another width in words."""
    times = {0.5: "half as wide", 0.25: "a quarter as wide", 2.0: "twice as wide"}
    return f"a prior {times.get(factor, f'{factor:g} times as wide')}"


def widened(prior: Prior, factor: float) -> Prior | None:
    """Return a prior `factor` times as wide around the same centre; None if it is not one that can be widened."""
    if type(prior) is Normal:
        return replace(prior, std=factor * np.asarray(prior.std))
    if type(prior) is MultivariateNormal:
        return MultivariateNormal(prior.mean, factor**2 * prior.covariance)
    if type(prior) is Uniform:
        centre, half = 0.5 * (np.asarray(prior.low) + np.asarray(prior.high)), 0.5 * factor * prior.width
        return Uniform(prior.num_parameters, centre - half, centre + half)
    return None


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
    )


def beliefs_under(
    problem: Problem,
    counts: IntArray,
    variants: Iterable[Variant],
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
