"""Enumeration: the posterior as a sum over all rewards of a Discrete prior, or over a fine net of few parameters.

*Discrete.* Exact: weights are prior times likelihood at the atoms.

*Continuous, up to 3 parameters.* Points that are spread evenly over the prior's probability (theta =
from_unconstrained of Phi^-1(u), u a Sobol net in the unit cube), weighted by the likelihood. A tensor grid would be
simpler and worse: the likelihood has steps along surfaces where the optimal policy switches, which fall between the
planes of a grid all at once. On the jail (8 cases of 5 or 20 answers) the worst of log evidence, means and standard
deviations was off by up to 0.032 with 46 656 points of a grid, and by up to 0.003 with 65 536 of the net. The net
comes in 8 random digital shifts, each an unbiased estimate by itself: their spread gives the error.

A sharp posterior would use few of the points. Then coarse nets close in on a box that holds all of it but 1e-9, and all
points go there. Values come from `mdp.solve_batch`, not from the gradient code of the samplers, which makes this their
reference.
"""

import time
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp, ndtri

from journeyman.checks import whole_number
from journeyman.errors import InferenceError, InputError
from journeyman.inference.diagnostics import Diagnostics
from journeyman.inference.likelihood import (
    acted_on,
    expert_values,
    is_soft,
    log_likelihood_error,
    log_likelihoods,
    no_parameters,
)
from journeyman.inference.posterior import Posterior, solved_fields
from journeyman.inference.weights import effective_size, log_mean_variance, normalised
from journeyman.mdp import solve_batch
from journeyman.problem import Problem
from journeyman.rewards import continuous, has_atoms
from journeyman.rewards.agreement import check_atoms, trusted_affine_map
from journeyman.types import FloatArray, IntArray

MAX_DIMENSION = 3  # and one more, where something about the expert is unknown
NUM_POINTS = {1: 2**14, 2: 2**15, 3: 2**16, 4: 2**17}
MAX_POINTS = 2**22
NUM_SHIFTS = 8
BITS = 30  # of a coordinate of the net
SEARCH_POINTS = 2**13  # of one coarse net
MAX_SEARCHES = 30
ENOUGH_SHARE = 0.2  # of the points being effective, at which there is no need to close in
SPARED_MASS = 1e-9  # of the posterior that may lie outside the box
MAX_SPARED_MASS = 1e-3  # of a tempered posterior
MARGIN = 0.1  # of a box's width, added on both sides
MIN_VISIBLE = 40  # effective points that a coarse net needs to see anything
MIN_EFFECTIVE = 1000  # effective points below which we warn
NUM_STANDARD_ERRORS = 4.0  # that the stated error stands for
MAX_ERROR = 0.02  # in posterior standard deviations, or in log evidence


class Box(NamedTuple):
    """Ranges `[D]` of the coordinates u of the unit cube."""

    low: FloatArray
    high: FloatArray

    @property
    def volume(self) -> float:
        """Prior probability of the box."""
        return float(np.prod(self.high - self.low))


class Points(NamedTuple):
    """M parameters `[M, D]` with their values, logs of prior mass and of likelihood `[M]`.

    values: that the expert acts on, `[M, S]`, or `[M, G * S]` if they are soft; parameters: of the expert `[M, E]`.
    """

    theta: FloatArray
    parameters: FloatArray
    values: FloatArray
    log_prior: FloatArray
    log_likelihood: FloatArray
    value_error: float  # bound on max |V - V*|

    @property
    def log_evidence(self) -> float:
        """Log of the sum of prior mass times likelihood."""
        return float(logsumexp(self.log_weights()))

    def likelihood_error(self, problem: Problem, counts: IntArray) -> float:
        """Bound on the error of the log likelihoods that the solver's rounding causes."""
        rewards = problem.reward_model.reward(self.theta)
        values = acted_on(problem, self.values)
        return log_likelihood_error(problem, counts, rewards, values, self.value_error, self.parameters)

    @property
    def unknowns(self) -> FloatArray:
        """All that is inferred, `[M, D + E]`."""
        return np.concatenate([self.theta, self.parameters], axis=1)

    def log_weights(self, power: float = 1.0) -> FloatArray:
        """Logs of prior mass times likelihood `[M]`, the latter taken to a power."""
        return self.log_prior + power * self.log_likelihood


def refusal(problem: Problem) -> str | None:
    """Return why enumeration cannot do a problem, or None if it can."""
    prior, names = problem.prior, problem.expert_space.names
    if prior.is_discrete and names:
        return (
            f"enumerate needs an expert whose all is known under a {type(prior).__name__} prior, got unknown "
            f"{', '.join(names)}. Give these as numbers, or use a continuous prior."
        )
    limit = MAX_DIMENSION + (1 if names else 0)
    if prior.is_discrete or problem.num_unknowns <= limit:
        return None
    more = f" of the reward and {len(names)} of the expert" if names else ""
    return (
        f"enumerate needs at most {limit} parameters under a continuous prior, got {prior.num_parameters}"
        f"{more}: a grid over them would be too large. Use 'smc' or 'policywalk'."
    )


def infer_enumerate(
    problem: Problem,
    counts: IntArray,
    *,
    seed: int = 0,
    num_threads: int | None = None,
    progress: bool | None = None,
    num_points: int | None = None,
) -> Posterior:
    """Return the posterior on all atoms, or on a net of points with a stated error.

    Parameters
    ----------
    counts
        `[S, A]` demonstrated actions.
    seed
        Of the shifts of the net; nothing else is random.
    progress
        Has nothing to show: there are no steps.
    num_points
        Size of the net for a continuous prior, rounded up to a power of 2, at least 64; default 2^14, 2^15 or 2^16 for
        1, 2 or 3 parameters.

    Returns
    -------
    A Posterior with `log_evidence` and its standard error (0 for atoms).
    Its `diagnostics.error_bound` is, for atoms, a bound on the error of log
    likelihoods and log evidence (rounding of the solver); for a net, mostly 4 standard errors of log evidence or of a
    posterior mean in posterior standard deviations, whichever is largest.
    """
    begin = time.perf_counter()
    warnings: tuple[str, ...] = ()
    log_evidence_error = 0.0
    if has_atoms(problem.prior):
        prior = problem.prior
        check_atoms(prior)
        nothing = no_parameters(len(prior.atoms))
        points = weighed(problem, counts, prior.atoms, nothing, np.log(prior.weights), num_threads)
        error_bound = points.likelihood_error(problem, counts)
    else:
        trusted_affine_map(problem.prior)  # refuses a prior whose parts disagree
        size = checked_size(num_points, problem.num_unknowns)
        box = found_box(problem, counts, seed, num_threads)
        rng = np.random.default_rng(seed)
        unit = sobol_net(rng, size, problem.num_unknowns, num_shifts=NUM_SHIFTS)
        points = points_in(box, unit, problem, counts, num_threads)
        error_bound = spread_of_shifts(points) + SPARED_MASS + points.likelihood_error(problem, counts)
        warnings = net_warnings(points, error_bound)
        log_evidence_error = float(np.sqrt(log_mean_variance(points.log_weights(), len(unit) // NUM_SHIFTS)))
    weights = normalised(points.log_weights())
    return Posterior(
        problem=problem,
        counts=counts,
        theta=points.theta,
        weights=weights,
        **solved_fields(problem, points.theta, points.parameters, points.values, num_threads),
        method="enumerate",
        diagnostics=Diagnostics(
            seconds=time.perf_counter() - begin,
            particle_ess=effective_size(points.log_weights()),
            error_bound=error_bound,
            warnings=warnings,
        ),
        log_evidence=points.log_evidence,
        log_evidence_error=log_evidence_error,
        groups=None if has_atoms(problem.prior) else np.repeat(np.arange(NUM_SHIFTS), len(weights) // NUM_SHIFTS),
    )


def checked_size(num_points: int | None, dimension: int) -> int:
    """Return the size of the net, a power of 2."""
    if num_points is None:
        return NUM_POINTS[dimension]
    size = whole_number(num_points, "num_points", 64, "More points give a smaller error.")
    if size > MAX_POINTS:
        raise InputError(f"num_points must be at most {MAX_POINTS}, got {size}. Use 'smc' for sharp posteriors.")
    return 1 << (size - 1).bit_length()


def sobol_net(rng: np.random.Generator, size: int, dimension: int, *, num_shifts: int) -> FloatArray:
    """Return `num_shifts` digital shifts of a Sobol net, one after the other: `[size, D]` strictly between 0 and 1."""
    from scipy.stats import qmc  # takes longer to import than all else here

    per_shift = size // num_shifts
    plain = qmc.Sobol(dimension, scramble=False, bits=BITS).random_base2(per_shift.bit_length() - 1)
    digits = np.rint(plain * 2**BITS).astype(np.int64)
    shifts = rng.integers(2**BITS, size=(num_shifts, 1, dimension))
    return np.asarray(((digits ^ shifts).reshape(-1, dimension) + 0.5) / 2**BITS)


def points_in(box: Box, unit: FloatArray, problem: Problem, counts: IntArray, num_threads: int | None) -> Points:
    """Spread points of the unit cube `[M, D]` over a box, with equal prior masses."""
    z = ndtri(box.low + (box.high - box.low) * unit)
    log_prior = np.full(len(unit), np.log(box.volume) - np.log(len(unit)))
    of_reward, of_expert = problem.split(z)
    theta, parameters = continuous(problem.prior).from_unconstrained(of_reward), problem.expert_space.natural(of_expert)
    return weighed(problem, counts, theta, parameters, log_prior, num_threads)


def weighed(
    problem: Problem,
    counts: IntArray,
    theta: FloatArray,
    parameters: FloatArray,
    log_prior: FloatArray,
    num_threads: int | None,
) -> Points:
    """Solve for all of `theta` `[M, D]` and `parameters` `[M, E]`, of log prior masses `[M]`; find likelihoods."""
    rewards = problem.reward_model.reward(theta)
    if is_soft(problem):
        values = expert_values(problem, rewards, parameters, num_threads=num_threads).reshape(len(theta), -1)
        error = 1e-11 * float(np.abs(values).max()) / (1.0 - problem.mdp.discount)  # see SOFT_TOLERANCE
    else:
        solution = solve_batch(problem.mdp, rewards, num_threads=num_threads)
        values, error = solution.values, float(np.max(solution.error_bound))
    log_likelihood = log_likelihoods(problem, counts, rewards, acted_on(problem, values), parameters)
    if not np.isfinite((log_prior + log_likelihood).max()):
        raise InferenceError(
            "the demonstrations must have a positive probability under some reward, got none. "
            "Check that beta fits the expert (a smaller one allows more mistakes) and that the prior covers the truth."
        )
    return Points(theta, parameters, values, log_prior, log_likelihood, error)


def found_box(problem: Problem, counts: IntArray, seed: int, num_threads: int | None) -> Box:
    """Return a box that holds all of the posterior but 1e-9, and is not much larger than that needs.

    While too few points of a coarse net lie in the posterior to see its extent, the likelihood is tempered.
    """
    dimension = problem.num_unknowns
    box = Box(np.zeros(dimension), np.ones(dimension))
    for search in range(MAX_SEARCHES):
        unit = sobol_net(np.random.default_rng([seed, search]), SEARCH_POINTS, dimension, num_shifts=1)
        points = points_in(box, unit, problem, counts, num_threads)
        power = visible_power(points)
        if power == 1.0 and effective_size(points.log_weights()) > ENOUGH_SHARE * SEARCH_POINTS:
            break
        spared = min(SPARED_MASS**power, MAX_SPARED_MASS)  # a power of the likelihood falls off so much more slowly
        smaller = shrunk(box, unit, normalised(points.log_weights(power)), spared)
        is_settled = power == 1.0 and smaller.volume > 0.5 * box.volume
        box = smaller
        if is_settled:
            break
    return box


def visible_power(points: Points) -> float:
    """Return the largest power of the likelihood, at most 1, that leaves enough effective points; by bisection."""
    if effective_size(points.log_weights()) >= MIN_VISIBLE:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if effective_size(points.log_weights(middle)) >= MIN_VISIBLE else (low, middle)
    return low


def shrunk(box: Box, unit: FloatArray, weights: FloatArray, spared_mass: float) -> Box:
    """Cut off the ends of each coordinate, which together hold at most `spared_mass`, and leave a margin."""
    low, high = np.empty_like(box.low), np.empty_like(box.high)
    spared = spared_mass / (2 * low.size)
    for d in range(low.size):
        order = np.argsort(unit[:, d])
        first = unit[order[np.searchsorted(np.cumsum(weights[order]), spared)], d]
        last = unit[order[::-1][np.searchsorted(np.cumsum(weights[order[::-1]]), spared)], d]
        margin = MARGIN * (last - first) + 1.0 / len(unit)
        width = box.high[d] - box.low[d]
        low[d] = box.low[d] + width * max(first - margin, 0.0)
        high[d] = box.low[d] + width * min(last + margin, 1.0)
    return Box(low, high)


def spread_of_shifts(points: Points) -> float:
    """Return 4 standard errors, from the spread of the shifts, of log evidence or of a mean in posterior deviations."""
    weights = normalised(points.log_weights())
    unknowns = points.unknowns
    mean = weights @ unknowns
    std = np.sqrt(weights @ (unknowns - mean) ** 2)
    estimates = []
    for part in np.split(np.arange(len(weights)), NUM_SHIFTS):
        mass = float(weights[part].sum())
        estimates.append([mass * NUM_SHIFTS, *(weights[part] @ ((unknowns[part] - mean) / std)) * NUM_SHIFTS])
    return float(NUM_STANDARD_ERRORS * np.std(estimates, axis=0, ddof=1).max() / np.sqrt(NUM_SHIFTS))


def net_warnings(points: Points, error: float) -> tuple[str, ...]:
    """Say whether there are too few points, with advice."""
    size, effective = len(points.theta), effective_size(points.log_weights())
    warnings = []
    if effective < min(MIN_EFFECTIVE, size / 4):
        warnings.append(
            f"only {effective:.0f} of {size} points lie in the posterior: it is too narrow for them. "
            "Raise num_points, or use 'smc'."
        )
    if not error <= MAX_ERROR:
        warnings.append(
            f"means (in posterior standard deviations) or log evidence may be off by {error:.2g}, above {MAX_ERROR}. "
            "Raise num_points, or use 'smc'."
        )
    return tuple(warnings)
