"""Enumeration: the posterior as a sum over all rewards of a Discrete prior, or over a grid of few parameters.

*Discrete.* Exact: weights are prior times likelihood at the atoms.

*Continuous.* The integral over a box by the midpoint rule, in coordinates in which priors are simple: Phi(z) for a
Uniform prior (flat on 0..1), z itself for normal ones (N(0, 1) each, where the midpoint rule is exact to all digits for
smooth integrands). Starting from a box that holds all of the prior but 1e-12, the box shrinks around what holds all of
the posterior but 1e-9, so that a sharp posterior gets all the points too. Values come from `mdp.solve_batch`, not from
the gradient code of the samplers, which makes this their reference.

The error is estimated by halving the resolution: the integrand is continuous with kinks (where the optimal policy
switches), so the midpoint rule errs by O(h^2), and the change from half the resolution is about three times the error.
"""

import time
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp, ndtri, softmax

from journeyman.errors import InferenceError, InputError
from journeyman.inference.diagnostics import Diagnostics
from journeyman.inference.likelihood import log_likelihoods
from journeyman.inference.posterior import Posterior
from journeyman.mdp import solve_batch
from journeyman.problem import Problem
from journeyman.rewards import Discrete, MultivariateNormal, Normal, Uniform
from journeyman.types import FloatArray, IntArray, whole_number

MAX_DIMENSION = 3
POINTS_PER_DIMENSION = {1: 4000, 2: 220, 3: 36}  # about 50 000 in all
SEARCH_POINTS = {1: 1000, 2: 60, 3: 20}  # for finding the box
MAX_POINTS = 2_000_000
NORMAL_REACH = 7.2  # beyond +-7.2 a normal has less than 1e-12 of its mass
SPARED_MASS = 1e-9  # of the posterior that may lie outside the box
MIN_SHRINKAGE = 0.7  # of the box's volume, at which another search is worth its cost
MAX_SEARCHES = 12
MIN_CELLS = 30  # effective cells below which the grid is too coarse
MAX_ERROR = 0.02  # in posterior standard deviations, or in log evidence


class Box(NamedTuple):
    """Ranges `[D]` of the coordinates."""

    low: FloatArray
    high: FloatArray

    @property
    def volume(self) -> float:
        """Product of the widths."""
        return float(np.prod(self.high - self.low))


class Grid(NamedTuple):
    """M parameters `[M, D]` with their optimal values `[M, S]`, logs of prior mass and of likelihood `[M]`."""

    theta: FloatArray
    values: FloatArray
    log_prior: FloatArray
    log_likelihood: FloatArray
    value_error: float  # bound on max |V - V*|

    @property
    def log_evidence(self) -> float:
        """Log of the sum of prior mass times likelihood."""
        return float(logsumexp(self.log_prior + self.log_likelihood))

    @property
    def weights(self) -> FloatArray:
        """Posterior masses `[M]`, which sum to one."""
        return self.tempered_weights(1.0)

    def tempered_weights(self, power: float) -> FloatArray:
        """Masses `[M]` with the likelihood taken to a power."""
        return np.asarray(softmax(self.log_prior + power * self.log_likelihood))


def refusal(problem: Problem) -> str | None:
    """Return why enumeration cannot do a problem, or None if it can."""
    prior = problem.prior
    if isinstance(prior, Discrete):
        return None
    if not isinstance(prior, Normal | Uniform | MultivariateNormal):
        return (
            f"enumerate needs a Discrete, Normal, Uniform or MultivariateNormal prior, got {type(prior).__name__}. "
            "Use one of these."
        )
    if prior.num_parameters <= MAX_DIMENSION:
        return None
    return (
        f"enumerate needs at most {MAX_DIMENSION} parameters under a continuous prior, got {prior.num_parameters}: "
        "a grid over them would be too large. Use 'smc' or 'policywalk'."
    )


def infer_enumerate(
    problem: Problem,
    counts: IntArray,
    *,
    seed: int = 0,
    num_threads: int | None = None,
    progress: bool = False,
    points_per_dimension: int | None = None,
) -> Posterior:
    """Return the posterior on all atoms, or on a grid with an estimate of its error.

    Nothing is random: `seed` is not used, and `progress` has nothing to show.

    Parameters
    ----------
    counts
        `[S, A]` demonstrated actions.
    points_per_dimension
        Resolution of the grid for a continuous prior, at least 8; default 4000, 220 or 36 for 1, 2 or 3 parameters.

    Returns
    -------
    A Posterior whose `diagnostics.error_bound` is, for atoms, a bound on the error of log likelihoods and log evidence
    (rounding of the solver); for a grid, the change of log evidence, or of means in posterior standard deviations,
    whichever is larger, from a grid of half the resolution.
    """
    begin = time.perf_counter()
    error_bound, warnings = None, ()
    if isinstance(problem.prior, Discrete):
        prior = problem.prior
        grid = weighed(problem, counts, prior.atoms, np.log(prior.weights), num_threads)
        error_bound = 2.0 * problem.beta * float(counts.sum()) * grid.value_error
    else:
        points = checked_points(points_per_dimension, problem.prior.num_parameters)
        box = found_box(problem, counts, num_threads)
        grid = grid_of(problem, counts, box, points, num_threads)
        error_bound = halving_error(grid, grid_of(problem, counts, box, points // 2, num_threads))
        warnings = grid_warnings(grid.weights, error_bound)
    return Posterior(
        problem=problem,
        counts=counts,
        theta=grid.theta,
        weights=grid.weights,
        values=grid.values,
        method="enumerate",
        diagnostics=Diagnostics(
            seconds=time.perf_counter() - begin,
            particle_ess=effective_cells(grid.weights),
            error_bound=error_bound,
            warnings=warnings,
        ),
        log_evidence=grid.log_evidence,
    )


def checked_points(points: int | None, dimension: int) -> int:
    """Return the resolution, by default the one for this many parameters."""
    if points is None:
        return POINTS_PER_DIMENSION[dimension]
    points = whole_number(points, "points_per_dimension", 8, "More points give a smaller error.")
    if points**dimension > MAX_POINTS:
        raise InputError(
            f"points_per_dimension must give at most {MAX_POINTS} points in all, got {points} for {dimension} "
            f"parameters. The default is {POINTS_PER_DIMENSION[dimension]}."
        )
    return points


def grid_of(problem: Problem, counts: IntArray, box: Box, points: int, num_threads: int | None) -> Grid:
    """Return the midpoints of `points` cells per dimension of a box, with their masses."""
    axes = [
        low + (high - low) * (np.arange(points) + 0.5) / points for low, high in zip(box.low, box.high, strict=True)
    ]
    z = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
    log_prior = np.full(len(z), np.log(box.volume) - box.low.size * np.log(points))
    if isinstance(problem.prior, Uniform):
        z = ndtri(z)
    else:
        log_prior -= 0.5 * (z**2 + np.log(2.0 * np.pi)).sum(axis=1)
    return weighed(problem, counts, problem.prior.from_unconstrained(z), log_prior, num_threads)


def weighed(
    problem: Problem, counts: IntArray, theta: FloatArray, log_prior: FloatArray, num_threads: int | None
) -> Grid:
    """Solve for all of `theta` `[M, D]`, of log prior masses `[M]`, and find their likelihoods."""
    rewards = problem.reward_model.reward(theta)
    solution = solve_batch(problem.mdp, rewards, num_threads=num_threads)
    log_likelihood = log_likelihoods(problem, counts, rewards, solution.values)
    if not np.isfinite((log_prior + log_likelihood).max()):
        raise InferenceError(
            "the demonstrations must have a positive probability under some reward, got none. "
            "Check that beta fits the expert (a smaller one allows more mistakes) and that the prior covers the truth."
        )
    return Grid(theta, solution.values, log_prior, log_likelihood, float(np.max(solution.error_bound)))


def found_box(problem: Problem, counts: IntArray, num_threads: int | None) -> Box:
    """Return a box that holds all of the posterior but 1e-9, by coarse grids that close in on it.

    While the posterior fills too few cells to be seen, its likelihood is tempered until it fills some.
    """
    dimension = problem.prior.num_parameters
    reach = (0.0, 1.0) if isinstance(problem.prior, Uniform) else (-NORMAL_REACH, NORMAL_REACH)
    box = Box(np.full(dimension, reach[0]), np.full(dimension, reach[1]))
    points = SEARCH_POINTS[dimension]
    for _ in range(MAX_SEARCHES):
        grid = grid_of(problem, counts, box, points, num_threads)
        power = visible_power(grid)
        smaller = shrunk(box, grid.tempered_weights(power), points)
        is_settled = power == 1.0 and smaller.volume > MIN_SHRINKAGE * box.volume
        box = smaller
        if is_settled:
            break
    return box


def visible_power(grid: Grid) -> float:
    """Return the largest power of the likelihood, at most 1, that leaves enough effective cells; by bisection."""
    if effective_cells(grid.weights) >= MIN_CELLS:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(30):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if effective_cells(grid.tempered_weights(middle)) >= MIN_CELLS else (low, middle)
    return low


def shrunk(box: Box, weights: FloatArray, points: int) -> Box:
    """Cut off the ends of each coordinate that hold next to nothing; one cell is left as a margin."""
    dimension = box.low.size
    masses = weights.reshape((points,) * dimension)
    low, high = box.low.copy(), box.high.copy()
    for d in range(dimension):
        marginal = masses.sum(axis=tuple(other for other in range(dimension) if other != d))
        spared = SPARED_MASS / (2 * dimension)
        first = int(np.searchsorted(np.cumsum(marginal), spared))
        last = points - 1 - int(np.searchsorted(np.cumsum(marginal[::-1]), spared))
        width = (box.high[d] - box.low[d]) / points
        low[d] = box.low[d] + width * max(first - 1, 0)
        high[d] = box.low[d] + width * min(last + 2, points)
    return Box(low, high)


def halving_error(grid: Grid, coarser: Grid) -> float:
    """Return how much log evidence, and means in posterior standard deviations, change with the resolution; the larger."""
    mean = grid.weights @ grid.theta
    std = np.sqrt(grid.weights @ (grid.theta - mean) ** 2)
    shift = np.abs(coarser.weights @ coarser.theta - mean) / np.maximum(std, np.finfo(float).tiny)
    return max(float(shift.max()), abs(grid.log_evidence - coarser.log_evidence))


def effective_cells(weights: FloatArray) -> float:
    """Return Kish's effective number of weights."""
    return float(1.0 / (weights**2).sum())


def grid_warnings(weights: FloatArray, error: float) -> tuple[str, ...]:
    """Say whether the grid is too coarse, with advice."""
    warnings = []
    if effective_cells(weights) < MIN_CELLS:
        warnings.append(
            f"the posterior fills only {effective_cells(weights):.0f} cells of the grid: it is too narrow for it. "
            "Raise points_per_dimension, or use 'smc'."
        )
    if not error <= MAX_ERROR:
        warnings.append(
            f"halving the grid's resolution changes means or log evidence by {error:.2g}, above {MAX_ERROR}. "
            "Raise points_per_dimension, or use 'smc'."
        )
    return tuple(warnings)
