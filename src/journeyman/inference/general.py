"""The log posterior and its gradient for any prior and any expert model: batched NumPy instead of compiled code.

With theta = theta(z), optimal values V and policy pi of each point, and Q = r + discount P V,

    L = sum of n(s, a) log pi_E(a | s),   dL/dQ by the expert's pull_back,
    dL/dV = discount P^T dL/dQ,           y = (I - discount P_pi)^-T dL/dV,
    dL/dr = dL/dQ, and y at (s, pi(s)),   dL/dz by the features and the prior's pull_back,

and -precision z is added for N(z; 0, I / precision), with a precision of 1 but for searches. Unknown parameters of the
expert come last in z; dL by them is the expert's parameter_slopes. It does what `Target` does, exactly, and tens of
times more slowly: for priors and experts that compiled code does not know.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.sparse.linalg import splu

from journeyman.demonstrations import Demonstration
from journeyman.errors import InputError, UnsupportedError
from journeyman.experts import Boltzmann
from journeyman.inference.expert.target import ExpertTarget
from journeyman.inference.kernels import Data
from journeyman.inference.likelihood import action_values, is_soft, log_policies, policy_slopes
from journeyman.inference.target import LOG_2PI, Evaluation, KeptMoves, Target, data_of
from journeyman.mdp import solve_batch
from journeyman.problem import Problem
from journeyman.rewards import continuous
from journeyman.rewards.agreement import BUILT_IN, check_agreement, trusted_affine_map
from journeyman.types import BoolArray, FloatArray, IntArray

MAX_DENSE_STATES = 300  # above it each adjoint is solved by a sparse factorisation of its own
CHUNK_ENTRIES = 4_000_000  # of dense matrices held at once
LARGEST_REWARD = 1e100  # a point beyond it counts as one without a density
LARGEST_ENERGY_CHANGE = 1000.0  # above it a trajectory has diverged


class GeneralTarget:
    """Log posterior density of a problem given counts, at points z of unconstrained space; made by `make_target`.

    Parameters
    ----------
    problem
        With a continuous prior.
    data
        States with data and their counts, annotator after annotator.
    precision
        Of the prior of z, as for `Target.with_precision`.
    sizes
        How many of the states are each annotator's; left out where there is one.
    """

    def __init__(self, problem: Problem, data: Data, precision: float = 1.0, sizes: IntArray | None = None) -> None:
        self.problem, self.data, self.precision = problem, data, precision
        self.sizes = np.array([len(data.states)]) if sizes is None else sizes
        self.prior = continuous(problem.prior)
        mdp = problem.mdp
        self._rows: Any = mdp.transition_matrix
        self._dense = self._rows.toarray() if mdp.num_states <= MAX_DENSE_STATES else None
        self._features: Any = sparse.csr_array(problem.reward_model.features)

    @property
    def dimension(self) -> int:
        """Number of coordinates of a point: D of the reward, and those of the expert."""
        return self.problem.num_unknowns

    def with_counts(self, counts: ArrayLike | Iterable[Demonstration], *, is_change: bool = False) -> "GeneralTarget":
        """Return the target of the same problem with other data; a change of counts may be negative."""
        data, sizes = data_of(self.problem, counts, is_change=is_change)
        return GeneralTarget(self.problem, data, self.precision, sizes)

    def with_precision(self, precision: float) -> "GeneralTarget":
        """Return the target with the prior N(0, I / precision) instead of N(0, I), and the same data."""
        return GeneralTarget(self.problem, self.data, float(precision), self.sizes)

    def parameters(self, z: ArrayLike) -> FloatArray:
        """Return theta for points z."""
        return self.prior.from_unconstrained(self.problem.split(z)[0])

    def log_density_and_gradient(self, z: ArrayLike) -> tuple[float, FloatArray]:
        """Return log p(D | theta(z)) + log N(z; 0, I / precision) and its gradient in z."""
        point = np.ascontiguousarray(z, dtype=np.float64)
        if point.shape != (self.dimension,):
            raise InputError(f"z must have shape {(self.dimension,)}, got {point.shape}.")
        found = self.evaluate(point[None])
        return float(found.log_density[0]), found.gradient[0]

    def evaluate(
        self, positions: FloatArray, start: tuple[FloatArray, IntArray] | None = None, num_threads: int | None = 1
    ) -> Evaluation:
        """Evaluate many points `[N, D]`, from the policies `start[1]` of nearby points if given.

        The log density is not a number where parameters are not finite or absurdly large.
        """
        positions = np.asarray(positions, dtype=np.float64)
        of_reward, of_expert = self.problem.split(positions)
        with np.errstate(all="ignore"):
            rewards = self.problem.reward_model.reward(self.parameters(positions))
            is_bad = ~(np.abs(rewards) <= LARGEST_REWARD).reshape(len(rewards), -1).all(axis=1)
        rewards[is_bad] = 0.0
        policies = None if start is None else start[1]
        solution = solve_batch(self.problem.mdp, rewards, initial_policy=policies, num_threads=num_threads)
        q, parameters = self._q(rewards, solution.values), self.problem.expert_space.natural(of_expert)
        log_density = self._log_likelihood(q, parameters) - 0.5 * (self.precision * positions**2 + LOG_2PI).sum(axis=1)
        log_density += 0.5 * self.dimension * np.log(self.precision)
        slopes, by_parameters = self._expert_slopes(q, parameters)
        by_reward = self._reward_gradient(slopes, solution.policy)
        by_theta = np.asarray((self._features.T @ by_reward.T).T)
        with np.errstate(all="ignore"):
            parts = [np.asarray(self.prior.pull_back(of_reward, by_theta))]
            if of_expert.shape[1]:
                parts.append(by_parameters * self.problem.expert_space.slopes(of_expert))
            gradient = np.concatenate(parts, axis=1) - self.precision * positions
        log_density[is_bad], gradient[is_bad] = np.nan, np.nan
        return Evaluation(log_density, gradient, solution.values, solution.policy)

    def log_likelihood(self, positions: FloatArray, values: FloatArray) -> FloatArray:
        """Return the log likelihood `[N]` at points `[N, D]` whose optimal values `[N, S]` are known: no solving."""
        q = action_values(self.problem, self.data.states, self.parameters(positions), values)
        return self._log_likelihood(q, self.problem.expert_space.natural(self.problem.split(positions)[1]))

    def _q(self, rewards: FloatArray, values: FloatArray) -> FloatArray:
        """Return action values `[N, K, A]` of the K states with data."""
        mdp, states = self.problem.mdp, self.data.states
        rows = (states[:, None] * mdp.num_actions + np.arange(mdp.num_actions)).ravel()
        expected = (self._rows[rows] @ values.T).T.reshape(len(values), len(states), mdp.num_actions)
        paid = rewards[:, states, None] if rewards.ndim == 2 else rewards[:, states]
        return np.where(mdp.available[states], paid + mdp.discount * expected, -np.inf)

    def _groups(self) -> Iterator[tuple[int, slice, FloatArray]]:
        """Yield each annotator with data, the place of the data among all, and the counts."""
        ends = np.cumsum(self.sizes)
        for group, size in enumerate(self.sizes.tolist()):
            at = slice(int(ends[group]) - size, int(ends[group]))
            if size:
                yield group, at, self.data.counts[at]

    def _log_likelihood(self, q: FloatArray, parameters: FloatArray) -> FloatArray:
        total = np.zeros(len(q))
        for group, at, counts in self._groups():
            used = counts != 0.0
            total += log_policies(self.problem, q[:, at], parameters, group)[:, used] @ counts[used]
        return total

    def _expert_slopes(self, q: FloatArray, parameters: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the slopes of the log likelihood in q `[N, K, A]`, and in the expert's parameters `[N, E]`."""
        slopes, by_parameters = np.zeros_like(q), np.zeros_like(parameters)
        space, expert = self.problem.expert_space, self.problem.expert
        for group, at, counts in self._groups():
            gradient = np.broadcast_to(counts, q[:, at].shape)
            slopes[:, at] = policy_slopes(self.problem, q[:, at], gradient, parameters, group)
            if space.size:
                own = space.of_group(parameters, group)
                found = expert.parameter_slopes(q[:, at], gradient, own[:, None])  # type: ignore[attr-defined]
                space.of_group(by_parameters, group)[:] = found.sum(axis=1)
        return slopes, by_parameters

    def _reward_gradient(self, slopes: FloatArray, policies: IntArray) -> FloatArray:
        """Return dL/dr `[N, S]` or `[N, S * A]` from dL/dQ `[N, K, A]` of the states with data."""
        mdp, states = self.problem.mdp, self.data.states
        num_points = len(policies)
        rows = (states[:, None] * mdp.num_actions + np.arange(mdp.num_actions)).ravel()
        by_value = mdp.discount * (self._rows[rows].T @ slopes.reshape(num_points, -1).T).T
        adjoint = self._adjoints(np.asarray(by_value), policies)
        if self.problem.reward_model.is_state_only:
            for at, state in enumerate(states.tolist()):  # one may come once for each annotator
                adjoint[:, state] += slopes[:, at].sum(axis=1)
            return adjoint
        by_reward = np.zeros((num_points, mdp.num_states, mdp.num_actions))
        np.put_along_axis(by_reward, policies[:, :, None], adjoint[:, :, None], axis=2)
        for at, state in enumerate(states.tolist()):
            by_reward[:, state] += slopes[:, at]
        return by_reward.reshape(num_points, -1)

    def _adjoints(self, right_sides: FloatArray, policies: IntArray) -> FloatArray:
        """Solve (I - discount P_pi)^T y = b for each point: b `[N, S]`."""
        mdp = self.problem.mdp
        chosen = np.arange(mdp.num_states) * mdp.num_actions + policies
        out = np.zeros_like(right_sides)
        needed = np.flatnonzero((right_sides != 0.0).any(axis=1))
        if self._dense is None:
            identity = sparse.identity(mdp.num_states, format="csr")
            for i in needed.tolist():
                matrix = (identity - mdp.discount * self._rows[chosen[i]]).T
                out[i] = splu(sparse.csc_matrix(matrix)).solve(right_sides[i])
            return out
        size = max(1, CHUNK_ENTRIES // mdp.num_states**2)
        for begin in range(0, len(needed), size):
            part = needed[begin : begin + size]
            matrices = np.eye(mdp.num_states) - mdp.discount * self._dense[chosen[part]]
            out[part] = np.linalg.solve(matrices.transpose(0, 2, 1), right_sides[part][:, :, None])[:, :, 0]
        return out

    def move_chains(
        self,
        start: tuple[FloatArray, FloatArray, IntArray],
        momenta: FloatArray,
        uniforms: FloatArray,
        scales: FloatArray,
        stretch: FloatArray,
        steps: FloatArray,
        lengths: IntArray,
        num_threads: int,
        shifted: Any = None,
    ) -> KeptMoves:
        """Run M chains of P Hamiltonian moves side by side, keeping every state; as `Target.move_chains`."""
        num_chains, num_moves, dimension = momenta.shape
        z = start[0].copy()
        now = self.evaluate(z, start[1:], num_threads)
        num_gradients = num_chains
        kept = (
            np.empty((num_chains, num_moves, dimension)),
            np.empty((num_chains, num_moves, start[1].shape[1])),
            np.empty((num_chains, num_moves, start[1].shape[1]), dtype=np.int64),
        )
        acceptance = np.empty((num_chains, num_moves))
        for m in range(num_moves):
            end = trajectories(self, z, now, momenta[:, m], scales, stretch, steps[:, m], lengths[:, m], num_threads)
            num_gradients += end.num_gradients
            acceptance[:, m] = end.chance
            is_accepted = uniforms[:, m] < end.chance
            z[is_accepted] = end.z[is_accepted]
            for old, new in zip(now, end.evaluation, strict=True):
                old[is_accepted] = new[is_accepted]
            for array, state in zip(kept, (z, now.values, now.policies), strict=True):
                array[:, m] = state
        return KeptMoves(kept, acceptance, num_gradients)


def make_target(problem: Problem, counts: ArrayLike | Iterable[Demonstration] | None = None) -> Target | GeneralTarget:
    """Return the compiled target where prior and expert allow it, else the general one.

    Raises
    ------
    InputError
        If the parts of the prior do not agree with each other.
    """
    if type(problem.expert) is Boltzmann and trusted_affine_map(problem.prior) is not None:
        return Target(problem, counts) if problem.expert.is_plain else ExpertTarget(problem, counts)
    reason = soft_refusal(problem, "a target")
    if reason is not None:
        raise UnsupportedError(reason)
    if type(problem.prior) not in BUILT_IN:
        check_agreement(continuous(problem.prior))
    data, sizes = data_of(problem, counts)
    return GeneralTarget(problem, data, sizes=sizes)


def soft_refusal(problem: Problem, what: str) -> str | None:
    """Return why samplers cannot do an expert with soft values, or None if they can: only compiled code knows these."""
    if not is_soft(problem):
        return None
    if type(problem.expert) is not Boltzmann:
        return (
            f"{what} needs a Boltzmann expert for soft values, got {type(problem.expert).__name__}. "
            'Use values = "optimal".'
        )
    if trusted_affine_map(problem.prior) is not None:
        return None
    return (
        f"{what} needs a Normal, Uniform or MultivariateNormal prior for an expert with soft values, got "
        f"{type(problem.prior).__name__}. Use one of these, 'enumerate' if parameters are few, or values = \"optimal\"."
    )


class TrajectoryEnds:
    """Where M trajectories end: z `[M, D]`, what is known there, chances of acceptance and changes of energy `[M]`."""

    def __init__(self, z: FloatArray, evaluation: Evaluation, energy_change: FloatArray, num_gradients: int) -> None:
        self.z, self.evaluation, self.energy_change, self.num_gradients = z, evaluation, energy_change, num_gradients
        self.is_diverging: BoolArray = ~(energy_change < LARGEST_ENERGY_CHANGE)
        with np.errstate(invalid="ignore"):
            self.chance = np.where(self.is_diverging, 0.0, np.exp(np.minimum(0.0, -energy_change)))


def trajectories(
    target: GeneralTarget,
    z: FloatArray,
    now: Evaluation,
    momenta: FloatArray,
    scales: FloatArray,
    stretch: FloatArray,
    steps: FloatArray,
    lengths: IntArray,
    num_threads: int | None = 1,
) -> TrajectoryEnds:
    """Leapfrog from z `[M, D]` with momenta `[M, D]` (standard normal), `lengths` `[M]` steps of `steps` `[M]`.

    dz = scales (I + stretch stretch^T) momentum dt, as in the compiled chains. A trajectory that diverges stops.
    """

    def kicked(p: FloatArray, gradient: FloatArray, h: FloatArray) -> FloatArray:
        scaled = scales * gradient
        return p + h[:, None] * (scaled + (scaled @ stretch)[:, None] * stretch)

    z, p = z.copy(), momenta.copy()
    current = Evaluation(now.log_density.copy(), now.gradient.copy(), now.values.copy(), now.policies.copy())
    start = 0.5 * (p**2).sum(axis=1) - now.log_density
    change = np.zeros(len(z))
    num_gradients = 0
    for count in range(int(lengths.max())):
        active = np.flatnonzero((count < lengths) & (change < LARGEST_ENERGY_CHANGE))
        if active.size == 0:
            break
        h = steps[active]
        with np.errstate(all="ignore"):
            p[active] = kicked(p[active], current.gradient[active], 0.5 * h)
            flow = p[active] + (p[active] @ stretch)[:, None] * stretch
            z[active] += h[:, None] * scales * flow
            found = target.evaluate(z[active], (current.values[active], current.policies[active]), num_threads)
            current.log_density[active], current.gradient[active] = found.log_density, found.gradient
            current.values[active], current.policies[active] = found.values, found.policies
            p[active] = kicked(p[active], found.gradient, 0.5 * h)
            change[active] = 0.5 * (p[active] ** 2).sum(axis=1) - found.log_density - start[active]
        change[np.isnan(change)] = np.inf
        num_gradients += active.size
    return TrajectoryEnds(z, current, change, num_gradients)
