"""Moves along a surrogate: trajectories of a linear model of the values, accepted by exact ones.

With some dozens of parameters, as kernel priors have, independent proposals are too seldom accepted, and a Hamiltonian
trajectory takes dozens of gradients, each an adjoint solve of its own. But optimal values are convex and piecewise
linear in the parameters, with so many pieces that within the particles a linear function of them is not far off. So
three models of the posterior, from cheap to exact, move chains together:

1. *Linear.* Values V_0(z) = c + C z, fitted to the particles by weighted least squares, give Q of the states with
   answers as a linear function of z. The posterior p_0 under it is log-concave, and its gradient costs the number of
   answers times that of parameters, whatever the number of states. Trajectories follow it, in the metric of the
   particles' covariance.
2. *Lookahead.* k sweeps of value iteration from V_0(z) give V_k(z), and correct most of what the linear model gets
   wrong about actions, since what two actions share cancels. The end of a trajectory is accepted with the chance
   min(1, p_k(z') N(m') / (p_k(z) N(m))), m its momentum: leapfrog steps are reversible and keep volume whatever
   potential they follow, so that p_k, the posterior under V_k, is invariant. Their lengths are drawn anew for each:
   most are long, and some short, which leave places where the linear model is wrong. Several in a row are reversible,
   as each is.
3. *Exact.* Where R of these have led is solved, all chains side by side (`solve_batch`), and taken with the chance

       min(1, p(z') p_k(z) / (p(z) p_k(z')))

   (delayed acceptance, Christen and Fox 2005), so that the posterior p is invariant, whatever the surrogate is. A bad
   one costs acceptance, nothing else.

So a move takes one solve, however long its trajectories are. *Halves*, as in `proposals`: a chain that starts at a
particle follows a surrogate that was fitted to the other half of the particles.

k is chosen by what the chance of acceptance would be at the particles that chains start from, whose exact values are
known. Where moves lead too little far, several are made for each that is kept. Where too few are accepted, the caller
moves by gradients instead.
"""

from typing import Any, NamedTuple

import numpy as np

from journeyman.inference import metropolis
from journeyman.inference.metropolis import Proposal, Proposed, log_density_of
from journeyman.inference.target import MAX_EXACT_STATES, Target
from journeyman.inference.weights import coarse
from journeyman.mdp.solvers import LinearLanes, backup, linear_lanes, swept_ahead
from journeyman.problem import Problem
from journeyman.threads import one_thread
from journeyman.types import AnyArray, FloatArray, IntArray

MIN_STATES = 200  # below, gradients take so little time that their better draws are worth it
MIN_PARAMETERS = 12  # below, independent proposals are quicker
PARTICLES_PER_PARAMETER = 6  # at least: half of them determine the linear model
STATES_PER_PARAMETER = 4  # at least: rewards of single states are many, and each matters at one place only
MIN_ACCEPTANCE = 0.1
BURN_IN_FACTOR = 5  # as in `proposals`
GOOD_ACCEPTANCE = 0.5  # expected: deeper lookahead is not worth its time
DEPTHS = (2, 4, 8)  # sweeps of lookahead to choose from
FEWEST_TRAJECTORIES, MOST_TRAJECTORIES = 4, 12  # between solves
STATES_PER_TRAJECTORY = 50  # solves that take longer are worth more of them
LINEAR_ACCEPTANCE = 0.85  # what the step is tuned to, under the linear model
FIRST_STEP, TUNING_ROUNDS, TUNING_LENGTH = 0.4, 6, 6
TRAJECTORY_LENGTH = 2.0  # in standard deviations of the particles: about a quarter of a period
MOST_LEAPFROG = 24
SHORT = 0.3  # part of the trajectories: long ones seldom leave where the linear model is wrong
MAX_THINNING = 8  # moves of which the last is kept
EVEN = 0.1  # weight of every particle in fits, beside its own, in units of the mean weight
RIDGE = 1e-3  # of fits, in units of the mean weight
MISSING = -1e30  # beta Q of actions that do not exist


class Surrogate(NamedTuple):
    """A linear model of values, fitted to particles: what depends on z is [1, z] times a matrix.

    lanes: values and rewards, for sweeps; powers `[1 + D, K * A]`: beta Q of the K states with
    data, in single precision; root `[D, D]`: of the particles' covariance; step: of leapfrog steps in units of it.
    """

    lanes: LinearLanes
    powers: AnyArray
    root: FloatArray
    step: float


class SurrogateChains(NamedTuple):
    """Where M chains stand: positions `[M, D]`, values and policies `[M, S]`, log p and log p_k `[M]` there.

    surrogates: of the two halves; sides `[M]`: which of them moves a chain; depth: k; thinning: moves of which the last
    is kept.
    """

    target: Target
    surrogates: tuple[Surrogate, Surrogate]
    sides: IntArray
    depth: int
    thinning: int
    num_threads: int
    positions: FloatArray
    values: FloatArray
    policies: AnyArray
    log_density: FloatArray
    log_proposal: FloatArray


def is_worth_it(problem: Problem, target: Any, num_particles: int) -> bool:
    """Return whether moves along a surrogate are quicker, as measured (see docs/kernel-priors.md)."""
    num_states = problem.mdp.num_states
    return (
        type(target) is Target
        and not target.model.is_uniform
        and MIN_STATES <= num_states <= MAX_EXACT_STATES
        and target.dimension >= MIN_PARAMETERS
        and PARTICLES_PER_PARAMETER * target.dimension <= num_particles
        and STATES_PER_PARAMETER * target.dimension <= num_states
    )


def fitted(target: Target, positions: FloatArray, values: FloatArray, weights: FloatArray) -> Surrogate:
    """Fit a surrogate to weighted particles `[n, D]` whose values `[n, S]` are known; its step is not tuned yet."""
    problem, dimension = target.problem, target.dimension
    mdp, data = problem.mdp, target.data
    own = weights / weights.mean() + EVEN
    with one_thread():  # linear algebra rounds differently on several
        basis = with_one(positions)
        weighted = basis * own[:, None]
        square = basis.T @ weighted
        square[np.diag_indices_from(square)] += RIDGE * len(basis)
        value_map = np.linalg.solve(square, weighted.T @ values)
        points = np.concatenate([np.zeros((1, dimension)), np.eye(dimension)])
        reward_map = _affine(problem.reward_model.reward(target.parameters(points)).reshape(dimension + 1, -1))
        rewards = (with_one(points) @ reward_map).reshape(dimension + 1, mdp.num_states, -1)
        q = backup(mdp, rewards, with_one(points) @ value_map)[:, data.states]
        q = np.where(mdp.available[data.states], target.model.beta * q, MISSING)
        mean = own @ positions / own.sum()
        deviations = positions - mean
        covariance = (deviations * own[:, None]).T @ deviations / own.sum() + 1e-6 * np.eye(dimension)
        root = coarse(np.linalg.cholesky(covariance))
        lanes = linear_lanes(mdp, value_map, reward_map)
        return Surrogate(lanes, _affine(q.reshape(dimension + 1, -1)).astype(np.float32), root, FIRST_STEP)


def with_one(z: FloatArray) -> FloatArray:
    """Return [1, z] `[M, 1 + D]`."""
    return np.concatenate([np.ones((len(z), 1)), z], axis=1)


def _affine(found: FloatArray) -> FloatArray:
    """Return the matrix of an affine function from what it is at 0 and at the unit vectors, `[1 + D, n]`."""
    return np.concatenate([found[:1], found[1:] - found[:1]])


def linear_density(target: Target, surrogate: Surrogate, z: FloatArray) -> FloatArray:
    """Return log p_0 `[M]` at points `[M, D]`, up to a constant."""
    powers = _powers(target, surrogate, z).astype(np.float64)
    log_likelihood = (
        np.tensordot(powers, target.data.counts, 2) - np.log(np.exp(powers).sum(axis=2)) @ target.data.totals
    )
    return np.asarray(log_likelihood - 0.5 * target.precision * (z**2).sum(axis=1))


def linear_gradient(target: Target, surrogate: Surrogate, z: FloatArray) -> FloatArray:
    """Return the gradient `[M, D]` of log p_0 at points `[M, D]`.

    In single precision, which takes half the time: trajectories are as reversible along any function of z.
    """
    data, chances = target.data, np.exp(_powers(target, surrogate, z))
    weights = data.totals.astype(np.float32) / chances.sum(axis=2)
    slopes = data.counts.astype(np.float32) - weights[:, :, None] * chances
    return np.asarray(slopes.reshape(len(z), -1) @ surrogate.powers[1:].T - target.precision * z)


def _powers(target: Target, surrogate: Surrogate, z: FloatArray) -> AnyArray:
    """Return beta Q `[M, K, A]` of the states with data in single precision, less the largest of each state."""
    powers = (with_one(z).astype(np.float32) @ surrogate.powers).reshape(len(z), *target.data.counts.shape)
    powers -= powers.max(axis=2, keepdims=True)
    return powers


def lookahead(surrogate: Surrogate, z: FloatArray, depth: int) -> AnyArray:
    """Return V_k `[M, S]` at points `[M, D]`."""
    return swept_ahead(surrogate.lanes, with_one(z), depth)


def leapfrog(
    target: Target, surrogate: Surrogate, z: FloatArray, momenta: FloatArray, steps: FloatArray, num_steps: int
) -> tuple[FloatArray, FloatArray]:
    """Follow p_0 from points `[M, D]`; return where that leads, and the momenta there."""
    root, sizes = surrogate.root, steps[:, None]
    momenta = momenta + 0.5 * sizes * (linear_gradient(target, surrogate, z) @ root)
    for step in range(num_steps):
        z = z + sizes * (momenta @ root.T)
        part = 0.5 if step == num_steps - 1 else 1.0
        momenta = momenta + part * sizes * (linear_gradient(target, surrogate, z) @ root)
    return z, momenta


def started(
    target: Target,
    positions: FloatArray,
    values: FloatArray,
    policies: AnyArray,
    weights: FloatArray,
    halves: IntArray,
    ancestors: IntArray,
    num_threads: int,
) -> SurrogateChains:
    """Return chains that start from some of the weighted particles `[N, D]`: their numbers are `ancestors` `[M]`."""
    sides, start, known = halves[ancestors], positions[ancestors], values[ancestors]
    found, rng = [], np.random.default_rng(0)  # for tuning, which may be the same each time
    with one_thread():
        for side in (0, 1):
            own = halves != side
            surrogate = fitted(target, positions[own], values[own], weights[own])
            found.append(_tuned(rng, target, surrogate, start[sides == side]))
        surrogates = (found[0], found[1])
        exact = log_density_of(target, start, known)
        log_surrogate, depth = exact, 0
        for depth in DEPTHS:
            log_surrogate = np.empty(len(start))
            for side in (0, 1):
                z = start[sides == side]
                looked = lookahead(surrogates[side], z, depth)
                log_surrogate[sides == side] = log_density_of(target, z, looked)
            if expected_acceptance(exact - log_surrogate) >= GOOD_ACCEPTANCE:
                break
    return SurrogateChains(
        target, surrogates, sides, depth, 1, num_threads, start, known, policies[ancestors], exact, log_surrogate
    )


def thinned(chains: SurrogateChains, correlation: float, wanted: float) -> SurrogateChains:
    """Return chains that make so many moves for each that is kept that a correlation of `correlation` is `wanted`."""
    number = np.log(wanted) / np.log(min(max(correlation, 1e-3), 0.999))
    return chains._replace(thinning=int(np.clip(np.rint(number), 1, MAX_THINNING)))


def expected_acceptance(errors: FloatArray) -> float:
    """Return the chance that an independent draw of the surrogate is taken, from log p - log p_k `[M]` at draws of p.

    With w = p / p_k, it is the mean of min(1 / w, 1 / w') over pairs, by the mean of 1 / w.
    """
    inverse = np.sort(np.exp(errors.min() - errors))[::-1]
    size = len(inverse)
    return float((2.0 * (np.arange(size) + 0.5) * inverse).sum() / size / inverse.sum())


def _tuned(rng: np.random.Generator, target: Target, surrogate: Surrogate, start: FloatArray) -> Surrogate:
    """Tune the step under the linear model alone, which needs no solves."""
    step, z = surrogate.step, start
    for _ in range(TUNING_ROUNDS if len(start) else 0):
        momenta = rng.standard_normal(z.shape)
        end, after = leapfrog(target, surrogate, z, momenta, np.full(len(z), step), TUNING_LENGTH)
        first, last = (linear_density(target, surrogate, at) for at in (z, end))
        change = last - first - 0.5 * ((after**2).sum(axis=1) - (momenta**2).sum(axis=1))
        chances = np.exp(np.minimum(0.0, np.where(np.isnan(change), -np.inf, change)))
        taken = rng.random(len(z)) < chances
        z = np.where(taken[:, None], end, z)
        step = float(coarse(step * np.exp(1.5 * (float(chances.mean()) - LINEAR_ACCEPTANCE))))
    return surrogate._replace(step=min(step, 1.0))


def _followed(
    rng: np.random.Generator, chains: SurrogateChains, side: int, z: FloatArray, log_surrogate: FloatArray
) -> Proposal:
    """Make trajectories that leave p_k invariant; return where these lead, V_k there, and log p_k."""
    target, surrogate = chains.target, chains.surrogates[side]
    num_states = target.problem.mdp.num_states
    looked = chains.values[chains.sides == side].copy()
    most = min(MOST_LEAPFROG, int(np.ceil(TRAJECTORY_LENGTH / surrogate.step)))
    for _ in range(min(MOST_TRAJECTORIES, max(FEWEST_TRAJECTORIES, num_states // STATES_PER_TRAJECTORY))):
        momenta = rng.standard_normal(z.shape)
        steps = surrogate.step * (0.8 + 0.4 * rng.random(len(z)))
        num_steps = int(rng.integers(max(1, most // 2), most + 1))
        if rng.random() < SHORT:
            steps, num_steps = steps * 10.0 ** -rng.random(len(z)), max(1, num_steps // 2)
        end, after = leapfrog(target, surrogate, z, momenta, steps, num_steps)
        values = lookahead(surrogate, end, chains.depth)
        found = log_density_of(target, end, values)
        with np.errstate(invalid="ignore"):
            change = found - log_surrogate - 0.5 * ((after**2).sum(axis=1) - (momenta**2).sum(axis=1))
        taken = np.log(rng.random(len(z))) < np.where(np.isnan(change), -np.inf, change)
        z = np.where(taken[:, None], end, z)
        log_surrogate, looked[taken] = np.where(taken, found, log_surrogate), values[taken]
    return Proposal(z, looked, log_surrogate)


def move(rng: np.random.Generator, chains: SurrogateChains, num_moves: int) -> Proposed:
    """Move every chain so many times that `num_moves` are kept of each."""
    return metropolis.move(rng, chains, _led, num_moves, chains.thinning)


def _led(rng: np.random.Generator, chains: SurrogateChains) -> Proposal:
    """Return where trajectories lead each chain, along the surrogate of its side."""
    proposal = Proposal(chains.positions.copy(), chains.values.copy(), chains.log_proposal.copy())
    with one_thread():
        for side in (0, 1):
            own = chains.sides == side
            found = _followed(rng, chains, side, chains.positions[own], chains.log_proposal[own])
            for array, part in zip(proposal, found, strict=True):
                array[own] = part
    return proposal
