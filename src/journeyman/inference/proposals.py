"""Moves without gradients: independent proposals from a mixture fitted to the particles, all solved at once.

With few parameters a gradient is a luxury. A trajectory takes dozens of them, each an adjoint solve of its own, one
after the other. A proposal takes one solve, and those of all chains are solved side by side (`solve_batch`), from the
values of the particles near them.

*The mixture.* One kernel for each particle, by its weight: Student's t with 5 degrees of freedom, whose scale is h
times the root of the particles' covariance C, around mean + sqrt(1 - h^2) (particle - mean), so that the mixture has
about the mean and covariance of the particles, and takes their shape where that is not an ellipse (h by Silverman's
rule, a little wider; tails wider than those of the posterior). Its draws are accepted by exact values, so that a bad
mixture costs acceptance, nothing else (see `metropolis`).

*Halves.* A chain that starts at a particle around which q has a kernel would find q too high there and leave too
easily: what it then keeps would be draws of q rather than of p. So particles are parted into two halves, by their
ancestors, and a chain that starts in one is moved by the mixture of the other.

Where too few proposals are accepted (many parameters, very uneven shapes) the caller moves by gradients instead.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from journeyman.inference import metropolis
from journeyman.inference.likelihood import is_soft
from journeyman.inference.metropolis import Proposal, Proposed, log_density_of
from journeyman.inference.weights import coarse
from journeyman.problem import Problem
from journeyman.threads import one_thread
from journeyman.types import AnyArray, FloatArray, IntArray

MIN_STATES = 64  # below, gradients take microseconds
MAX_PARAMETERS = 16  # above, too few proposals are accepted
STATES_PER_PARAMETER = 4  # at least: rewards of single states are not what a mixture can follow
MIN_ACCEPTANCE = 0.15  # of proposals: below it gradients are worth their price
BURN_IN_FACTOR = 3  # moves that may be made before the kept ones where gradients take long, by the usual limit
DEGREES = 5.0  # of freedom of Student's t
WIDER = 1.3  # than by Silverman's rule
WIDEST = 0.9
RIDGE = 1e-6  # of a covariance, relative to its diagonal
CHUNK_ENTRIES = 4_000_000  # distances held at once


class Mixture(NamedTuple):
    """A density that resembles the posterior: kernels around `centres` `[n, D]` with chances `[n]`.

    root `[D, D]` is the scale of a kernel, inverse its inverse; particles `[n]` are the numbers of those that the
    kernels belong to.
    """

    centres: FloatArray
    chances: FloatArray
    root: FloatArray
    inverse: FloatArray
    particles: IntArray

    @property
    def log_size(self) -> float:
        """Log of the volume of a kernel, up to a constant: what `log_density` leaves out."""
        return float(np.log(np.abs(np.diag(self.root))).sum())  # it is triangular

    def draw(self, rng: np.random.Generator, size: int) -> tuple[FloatArray, IntArray]:
        """Return draws `[size, D]`, and the particle that each is drawn around."""
        chosen = rng.choice(len(self.chances), size=size, p=self.chances)
        normals = rng.standard_normal((size, self.centres.shape[1])) @ self.root.T
        spread = np.sqrt(DEGREES / rng.chisquare(DEGREES, size))
        return self.centres[chosen] + spread[:, None] * normals, self.particles[chosen]

    def log_density(self, z: FloatArray) -> FloatArray:
        """Return the log density `[M]` at points `[M, D]`, up to a constant."""
        power = -0.5 * (DEGREES + z.shape[1])
        centres, with_chance = self.centres @ self.inverse.T, self.chances > 0.0
        centres, log_chances = centres[with_chance], np.log(self.chances[with_chance])
        sizes, out = (centres**2).sum(axis=1), np.empty(len(z))
        step = max(1, CHUNK_ENTRIES // len(centres))
        for first in range(0, len(z), step):
            at = slice(first, first + step)
            whitened = z[at] @ self.inverse.T
            squares = (whitened**2).sum(axis=1)[:, None] + sizes - 2.0 * whitened @ centres.T
            out[at] = logsumexp(power * np.log1p(np.maximum(squares, 0.0) / DEGREES) + log_chances, axis=1)
        return out


class ProposingChains(NamedTuple):
    """Where M chains stand: positions `[M, D]`, values and policies `[M, S]`, log p and log q `[M]` there.

    mixtures: of the two halves; sides `[M]`: which of them moves a chain; near: values `[N, S]` of the particles that
    kernels belong to.
    """

    target: Any
    mixtures: tuple[Mixture, Mixture]
    sides: IntArray
    near: FloatArray
    num_threads: int
    positions: FloatArray
    values: FloatArray
    policies: AnyArray
    log_density: FloatArray
    log_proposal: FloatArray


def is_worth_it(problem: Problem, dimension: int) -> bool:
    """Return whether moves without gradients are quicker, as measured (see docs/scale.md)."""
    num_states = problem.mdp.num_states
    return (
        num_states >= MIN_STATES
        and dimension <= MAX_PARAMETERS
        and STATES_PER_PARAMETER * problem.reward_model.num_parameters <= num_states
        and not is_soft(problem)
    )


def halves_of(num_particles: int, chain_length: int) -> IntArray:
    """Return the half, 0 or 1, of each particle: those of one ancestor stand together, and are in the same."""
    return (np.arange(num_particles) // chain_length) % 2


def fitted(positions: FloatArray, weights: FloatArray, chosen: IntArray) -> Mixture:
    """Fit a mixture to some of the weighted particles `[N, D]`, by number."""
    points, own = positions[chosen], weights[chosen]
    own = own / own.sum() if own.sum() > 0.0 else np.full(len(own), 1.0 / len(own))
    dimension = points.shape[1]
    with one_thread():  # linear algebra rounds differently on several
        mean = coarse(own @ points)
        deviations = points - mean
        covariance: FloatArray = (deviations * own[:, None]).T @ deviations
        covariance[np.diag_indices_from(covariance)] *= 1.0 + RIDGE
        covariance[np.diag_indices_from(covariance)] += 1e-12
        size = 1.0 / float((own**2).sum())
        width = float(coarse(min(WIDEST, WIDER * (4.0 / ((dimension + 2.0) * size)) ** (1.0 / (dimension + 4.0)))))
        root = coarse(np.asarray(width * np.linalg.cholesky(covariance), dtype=np.float64))
        inverse = np.asarray(np.linalg.inv(root), dtype=np.float64)
        return Mixture(mean + np.sqrt(1.0 - width**2) * deviations, own, root, inverse, chosen)


def started(
    target: Any,
    positions: FloatArray,
    values: FloatArray,
    policies: AnyArray,
    weights: FloatArray,
    halves: IntArray,
    ancestors: IntArray,
    num_threads: int,
) -> ProposingChains:
    """Return chains that start from some of the weighted particles `[N, D]`: their numbers are `ancestors` `[M]`."""
    mixtures = (
        fitted(positions, weights, np.flatnonzero(halves == 1)),
        fitted(positions, weights, np.flatnonzero(halves == 0)),
    )
    sides, start = halves[ancestors], positions[ancestors]
    chains = ProposingChains(
        target, mixtures, sides, values, num_threads, start, values[ancestors], policies[ancestors],
        log_density_of(target, start, values[ancestors]), np.empty(len(ancestors)),
    )  # fmt: skip
    return chains._replace(log_proposal=_log_mixture(chains, start))


def _log_mixture(chains: ProposingChains, z: FloatArray) -> FloatArray:
    out = np.empty(len(z))
    with one_thread():
        for side, mixture in enumerate(chains.mixtures):
            out[chains.sides == side] = mixture.log_density(z[chains.sides == side])
    return out


def move(rng: np.random.Generator, chains: ProposingChains, num_moves: int) -> Proposed:
    """Move every chain `num_moves` times, by independent proposals."""
    return metropolis.move(rng, chains, _drawn, num_moves)


def _drawn(rng: np.random.Generator, chains: ProposingChains) -> Proposal:
    positions, near = np.empty_like(chains.positions), np.empty(len(chains.positions), dtype=np.int64)
    for side, mixture in enumerate(chains.mixtures):
        own = chains.sides == side
        positions[own], near[own] = mixture.draw(rng, int(own.sum()))
    return Proposal(positions, chains.near[near], _log_mixture(chains, positions))
