"""Target: the log posterior and its gradient, compiled, in unconstrained space.

Two engines behind one interface. *Dense*, for small problems: the optimal policy of the last point is tracked, and the
inverse of I - discount P_pi is updated by rank 1 for each state whose action changes. *Sparse*, for large ones: values
and adjoint come from iterations over sparse rows (`mdp.krylov`), warm from the last point. They agree to about 1e-8
relative to the size of the values (a test holds them to it).
"""

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from journeyman.checks import one_of
from journeyman.demonstrations import Demonstration
from journeyman.errors import InputError, UnsupportedError
from journeyman.experts import known_beta
from journeyman.inference import kernels
from journeyman.inference.kernels import Data, Model, Work
from journeyman.inference.likelihood import expert_values, is_soft
from journeyman.mdp import solve_batch
from journeyman.mdp.krylov import new_memory
from journeyman.mdp.lanes import LANES
from journeyman.mdp.ordering import band_order, first_entries, shared_rows_of
from journeyman.mdp.solvers import backup, values_in_single
from journeyman.problem import Problem
from journeyman.rewards import AffineMap, continuous
from journeyman.rewards.agreement import trusted_affine_map
from journeyman.storage.spread import spread
from journeyman.threads import resolve_num_threads, run_chunks, stop_mark
from journeyman.types import AnyArray, FloatArray, IntArray

ENGINES = ("auto", "dense", "sparse")
MAX_EXACT_STATES = 20_000  # above, values are solved within LARGE_TOLERANCE and kept as float32
LARGE_TOLERANCE = 1e-6  # relative to the largest value: also of moves, whose likelihoods need no more
MAX_DIRECT_WORK = 5e4  # multiplications of one elimination: above, iterations are quicker for moves
MANY_SWEEPS = 0.9995  # largest contraction at which sweeps of many rewards at once are quicker than Krylov iterations
SOLVED_ENTRIES = 64_000_000  # numbers of the rewards that are solved at once
MAX_DENSE_STATES = 1000  # a gradient crosses over near 1400, but each chain also starts with an inversion
NARROW_ROWS = 8  # values kept as float32 that are widened at once
LOG_2PI = float(np.log(2.0 * np.pi))


class Evaluation(NamedTuple):
    """Log densities `[N]`, gradients `[N, D]`, optimal values `[N, S]` and policies `[N, S]` at N points."""

    log_density: FloatArray
    gradient: FloatArray
    values: FloatArray
    policies: IntArray


class KeptMoves(NamedTuple):
    """States `[M, P, ...]` of M chains after each of P moves: positions, values, policies; chances of acceptance."""

    kept: tuple[FloatArray, FloatArray, IntArray]
    acceptance: FloatArray
    num_gradients: int


class Shifts(NamedTuple):
    """R moves of each of the last E parameters, which trajectories hold, after each of those: `[M, P, R, E]` each."""

    shifts: FloatArray
    uniforms: FloatArray


class Target:
    """Log posterior density of a problem given counts, at points z of unconstrained space.

    Parameters
    ----------
    problem
        With a prior that has an affine map, and a Boltzmann expert; `make_target` is for any other, too.
    counts
        `[S, A]` counts of demonstrated actions, or demonstrations. Counts may be fractions: a likelihood to the power
        of a temperature is one with scaled counts.
    engine
        "dense", "sparse", or "auto": by the number of states.
    """

    _first: "Self | None" = None  # that this one differs from in its data only: it is sent to a cluster once

    def __init__(
        self, problem: Problem, counts: ArrayLike | Iterable[Demonstration] | None = None, *, engine: str = "auto"
    ) -> None:
        self._set_engine(problem, engine)
        self.problem = problem
        if known_beta(problem.expert) is None:
            raise UnsupportedError(_not_compiled(problem))
        self.model: Any = model_of(problem, known_map(problem), problem.beta)
        self.data: Any = self._grouped(counts)

    def _set_engine(self, problem: Problem, engine: str) -> None:
        one_of(engine, ENGINES, "engine", "Leave it out for 'auto'.")
        self.is_dense = engine == "dense" or (engine == "auto" and problem.mdp.num_states <= MAX_DENSE_STATES)

    def _grouped(self, counts: Any, *, is_change: bool = False) -> Any:
        """Return the data as kernels take them."""
        return data_of(self.problem, counts, is_change=is_change)[0]

    @property
    def dimension(self) -> int:
        """Number of coordinates of a point: D of the reward, and those of the expert."""
        return self.problem.num_unknowns

    @property
    def precision(self) -> float:
        """That of the prior of points."""
        return float(self.model.precision)

    @cached_property
    def gradient_fn(self) -> kernels.GradientFunction:
        """Log density and gradient at a point, compiled, as kernels take it."""
        kernel, point = kernels.dense_gradient if self.is_dense else kernels.sparse_gradient, np.empty(self.dimension)
        return kernels.gradient_function(kernel, self.model, self.data, self.new_work(), point, point)

    def with_counts(self, counts: ArrayLike | Iterable[Demonstration], *, is_change: bool = False) -> "Target":
        """Return the target of the same problem with other data; nothing else is computed again.

        A change of counts may be negative where something was removed; only `log_likelihood` makes sense then.
        """
        return self.with_data(self._grouped(counts, is_change=is_change))

    def with_data(self, data: Any) -> Self:
        """Return the target of the same problem with other data, as kernels take them."""
        other = object.__new__(type(self))
        other.problem, other.model, other.is_dense, other.data = self.problem, self.model, self.is_dense, data
        other._first = self._first or self
        return other

    def with_precision(self, precision: float) -> Self:
        """Return the target with the prior N(0, I / precision) instead of N(0, I), and the same data."""
        return self._with_model(precision=float(precision))

    def _with_model(self, **changes: Any) -> Self:
        other = object.__new__(type(self))
        other.problem, other.data, other.is_dense = self.problem, self.data, self.is_dense
        other.model = self.model._replace(**changes)
        other._first = None
        return other

    def new_work(self) -> Work:
        """Return fresh memory for one thread."""
        num_states, num_actions = self.model.available.shape
        inverse_size = num_states if self.is_dense else 0
        return Work(
            pi=np.argmax(self.model.available, axis=1).astype(np.int64),
            V=np.zeros(num_states),
            inverse=np.zeros((inverse_size, inverse_size)),
            y=np.zeros(num_states),
            g=np.zeros(num_states),
            g_reward=np.zeros(self.model.offset.size),
            reward=np.zeros(self.model.offset.size),
            scratch=np.zeros(num_states),
            u=np.zeros(self.problem.reward_model.num_parameters),
            slope=np.zeros(self.problem.reward_model.num_parameters),
            q=np.zeros(num_states * num_actions),
            action_values=np.zeros(num_states * num_actions),
            num_updates=stop_mark(np.array([-1, 0, 0, 0])),
            num_gradients=np.zeros(1, dtype=np.int64),
            powers=np.zeros(num_states * num_actions),
            pending=np.zeros((2 * kernels.MAX_PENDING, num_states)),
            pace=np.ones(1),
            flow=np.zeros(0) if self.is_dense else new_memory(self.model.common_indptr, self.model.extra_indptr),
        )

    def log_density_and_gradient(self, z: ArrayLike, work: Work | None = None) -> tuple[float, FloatArray]:
        """Return log p(D | theta(z)) + log N(z; 0, I / precision) and its gradient in z; the precision is mostly 1.

        That is the log posterior density of z up to the evidence. Pass the `work` of the last call to start warm.
        """
        point = np.ascontiguousarray(z, dtype=np.float64)
        if point.shape != (self.dimension,):
            raise InputError(f"z must have shape {(self.dimension,)}, got {point.shape}.")
        gradient = np.empty(self.dimension)
        value = self.gradient_fn(self.model, self.data, work or self.new_work(), point, gradient)
        return value + log_normaliser(self.dimension, self.model.precision), gradient

    def evaluate(
        self, positions: FloatArray, start: tuple[FloatArray, IntArray] | None = None, num_threads: int | None = 1
    ) -> Evaluation:
        """Evaluate many points `[N, D]`, from the values and policies `start` of nearby points if given."""
        positions = np.ascontiguousarray(positions, dtype=np.float64)
        num_points = len(positions)
        if start is None:
            values, policies = solved_at(self, positions, num_threads)
        else:
            values, policies = start[0].copy(), start[1].copy()
        log_density, gradient = np.empty(num_points), np.empty((num_points, self.dimension))

        def evaluate_part(part: range) -> None:
            at = slice(part.start, part.stop)
            arrays = (positions[at], log_density[at], gradient[at], values[at], policies[at])
            kernels.evaluate_many(self.gradient_fn, self.model, self.data, self.new_work(), *arrays)

        run_chunks(evaluate_part, num_points, resolve_num_threads(num_threads))
        return Evaluation(
            log_density + log_normaliser(self.dimension, self.model.precision), gradient, values, policies
        )

    def log_likelihood(self, positions: FloatArray, values: FloatArray) -> FloatArray:
        """Return the log likelihood `[N]` at points `[N, D]` whose optimal values `[N, S]` are known: no solving."""
        out, work, positions = np.empty(len(positions)), self.new_work(), np.ascontiguousarray(positions)
        for at in whole_parts(values):
            exact = np.ascontiguousarray(values[at], dtype=np.float64)  # compiled for these only
            kernels.log_likelihoods(self.model, self.data, work, positions[at], exact, out[at])
        return out

    def parameters(self, z: ArrayLike) -> FloatArray:
        """Return theta for points z."""
        return continuous(self.problem.prior).from_unconstrained(self.problem.split(z)[0])

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
        shifted: Shifts | None = None,
    ) -> KeptMoves:
        """Run M chains of P Hamiltonian moves, keeping every state.

        Parameters
        ----------
        start
            Positions `[M, D]`, values and policies `[M, S]`.
        momenta, uniforms, steps, lengths
            `[M, P, D]`, and `[M, P]` each: all that is random in the moves.
        scales, stretch
            `[D]` of the parameters, and of one direction more.
        shifted
            Moves of what trajectories hold; default none.
        """
        num_chains, num_moves, dimension = momenta.shape
        if shifted is None:
            shifted = Shifts(*2 * (np.zeros((num_chains, num_moves, 0, 0)),))
        arrays = (*start, momenta, uniforms, steps, lengths, *shifted)
        found = spread(_moved, self._first or self, arrays, self.data, scales, stretch)
        if found is not None:
            return KeptMoves((found[0], found[1], found[2]), found[3], int(found[4].sum()))
        num_states = start[1].shape[1]
        kept = (
            np.empty((num_chains, num_moves, dimension)),
            np.empty((num_chains, num_moves, num_states)),
            np.empty((num_chains, num_moves, num_states), dtype=np.int64),
        )
        acceptance = np.empty((num_chains, num_moves))
        counted = np.zeros(num_chains, dtype=np.int64)

        def move_part(part: range) -> None:
            at = slice(part.start, part.stop)
            work = self.new_work()
            kernels.move_chains(
                self.gradient_fn, self.model, self.data, work, *(array[at] for array in start), momenta[at],
                uniforms[at], scales, stretch, steps[at], lengths[at], *(array[at] for array in shifted),
                *(array[at] for array in kept), acceptance[at],
            )  # fmt: skip
            counted[part.start] = work.num_gradients[0]

        chunk_size = 0 if num_threads == 1 else max(1, num_chains // (8 * num_threads))
        run_chunks(move_part, num_chains, num_threads, chunk_size)
        return KeptMoves(kept, acceptance, int(counted.sum()))


def _moved(
    target: Target,
    data: Any,
    scales: FloatArray,
    stretch: FloatArray,
    positions: FloatArray,
    values: FloatArray,
    policies: IntArray,
    momenta: FloatArray,
    uniforms: FloatArray,
    steps: FloatArray,
    lengths: IntArray,
    shifts: FloatArray,
    shift_uniforms: FloatArray,
) -> tuple[AnyArray, ...]:
    """Do `move_chains` for some of the chains, on a worker: positions, values, policies, acceptance and gradients."""
    start, shifted = (positions, values, policies), Shifts(shifts, shift_uniforms)
    found = target.with_data(data).move_chains(start, momenta, uniforms, scales, stretch, steps, lengths, 1, shifted)
    counted = np.zeros(len(positions), dtype=np.int64)
    counted[0] = found.num_gradients
    return *found.kept, found.acceptance, counted


def whole_parts(values: AnyArray) -> Iterator[slice]:
    """Yield the rows of values `[N, S]` for kernels that take float64: all at once, or a few that are to be widened."""
    size = max(1, len(values)) if values.dtype == np.float64 else NARROW_ROWS
    for first in range(0, len(values), size):
        yield slice(first, first + size)


def log_normaliser(dimension: int, precision: float) -> float:
    """Return log N(0; 0, I / precision) in that many dimensions."""
    constant = -0.5 * dimension * LOG_2PI
    return constant if precision == 1.0 else constant + 0.5 * dimension * float(np.log(precision))


def solved_at(
    target: Any, positions: FloatArray, num_threads: int | None, start: FloatArray | None = None
) -> tuple[FloatArray, AnyArray]:
    """Return the values that the expert acts on at points `[N, D + E]`, and optimal policies.

    Values are `[N, S]`, but soft ones `[N, G * S]`, those of each annotator one after the other; policies are then
    zeros of that shape, since nothing needs them. `start` `[N, S]` are values of nearby points: values are then for
    moves, whose likelihoods need few digits (see `refined`). In large worlds they always are: solved and kept in single
    precision. Policies are those of a first guess there, which costs no memory.
    """
    problem, space = target.problem, target.problem.expert_space
    mdp, model, theta = problem.mdp, problem.reward_model, target.parameters(positions)
    is_large = mdp.num_states > MAX_EXACT_STATES
    if not is_soft(problem) and (is_large or (start is not None and band_order(mdp).work > MAX_DIRECT_WORK)):
        values = _roughly_solved(problem, theta, num_threads, start)
        if is_large:
            action_type = np.min_scalar_type(mdp.num_actions - 1)
            return values, np.broadcast_to(np.argmax(mdp.available, axis=1).astype(action_type), values.shape)
        values = values.astype(np.float64)
        rewards = model.reward(theta).reshape(len(theta), mdp.num_states, -1)
        return values, backup(mdp, rewards, values).argmax(axis=2)
    rewards = model.reward(theta)
    if not is_soft(problem):
        solution = solve_batch(mdp, rewards, num_threads=num_threads, initial_values=start)
        return solution.values, solution.policy
    parameters = space.natural(problem.split(positions)[1])
    values = expert_values(problem, rewards, parameters, num_threads=num_threads)
    flat = values.reshape(len(values), -1)
    return flat, np.zeros(flat.shape, dtype=np.int64)


def _roughly_solved(problem: Problem, theta: FloatArray, num_threads: int | None, start: FloatArray | None) -> AnyArray:
    """Return optimal values `[N, S]` in single precision; what is held beside them does not grow with their number.

    By sweeps of many at once from nothing, which take fewer than from values that are too high in places; if the
    discount is very near 1, one after the other from `start`, values of nearby points (measured in docs/scale.md).
    """
    mdp, model = problem.mdp, problem.reward_model
    if mdp.discount * mdp.max_row_sum <= MANY_SWEEPS:
        groups = np.pad(theta, ((0, -len(theta) % LANES), (0, 0)), mode="edge").reshape(-1, LANES, theta.shape[1])
        found = spread(_solved_groups, problem, (groups,))
        if found is not None:
            return found[0].reshape(-1, mdp.num_states)[: len(theta)]
        return values_in_single(mdp, lambda at: model.reward(theta[at]), len(theta), num_threads=num_threads)
    values = np.empty((len(theta), mdp.num_states), dtype=np.float32)
    size = max(1, SOLVED_ENTRIES // model.offset.size)
    for first in range(0, len(theta), size):
        at = slice(first, first + size)
        near = None if start is None else start[at].astype(np.float64)
        options: dict[str, Any] = {"method": "krylov", "tol": LARGE_TOLERANCE, "num_threads": num_threads}
        values[at] = solve_batch(mdp, model.reward(theta[at]), initial_values=near, **options).values
    return values


def _solved_groups(problem: Problem, theta: FloatArray) -> tuple[AnyArray]:
    """Return the values `[n, 32, S]` of whole groups of parameters `[n, 32, D]`, on a worker."""
    flat = theta.reshape(-1, theta.shape[2])
    values = values_in_single(problem.mdp, lambda at: problem.reward_model.reward(flat[at]), len(flat), num_threads=1)
    return (values.reshape(len(theta), LANES, -1),)


def refined(target: Any, positions: FloatArray, values: FloatArray, num_threads: int | None) -> FloatArray:
    """Return values `[N, S]` that moves found, as exact as those of any other solve; large worlds keep what they have.

    Points that occur more than once are solved once.
    """
    problem = target.problem
    mdp = problem.mdp
    if mdp.num_states > MAX_EXACT_STATES or band_order(mdp).work <= MAX_DIRECT_WORK:
        return values
    _, first, index = np.unique(positions, axis=0, return_index=True, return_inverse=True)
    rewards = problem.reward_model.reward(target.parameters(positions[first]))
    solution = solve_batch(mdp, rewards, initial_values=values[first], method="krylov", num_threads=num_threads)
    return solution.values[index.ravel()]


def known_map(problem: Problem) -> AffineMap:
    """Return the prior's map, if compiled code knows it."""
    affine = trusted_affine_map(problem.prior)
    if affine is None:
        raise UnsupportedError(_not_compiled(problem))
    return affine


def _not_compiled(problem: Problem) -> str:
    return (
        "a compiled target must have a prior with an affine map and a Boltzmann expert, got "
        f"{type(problem.prior).__name__} and {type(problem.expert).__name__}. Use make_target(problem)."
    )


def model_of(problem: Problem, affine: AffineMap, beta: float) -> Model:
    """Gather what kernels need; location and scale of the prior go into the features."""
    mdp, reward_model = problem.mdp, problem.reward_model
    matrix: Any = affine.matrix if affine.matrix.ndim == 2 else sparse.diags_array(affine.matrix)
    features: Any = sparse.csr_array(sparse.csr_array(reward_model.features) @ matrix)
    common, extra, loops = shared_rows_of(mdp)
    return Model(
        *common,
        *extra,
        *first_entries(extra, mdp.available.shape),
        gain=1.0 / (1.0 - loops),
        available=np.array(mdp.available),
        missing=np.where(mdp.available.T, 0.0, -np.inf).ravel(),
        choice_states=np.flatnonzero(~mdp.terminal | (not reward_model.is_state_only)),
        feature_indptr=features.indptr.astype(np.int64),
        feature_columns=features.indices.astype(np.int64),
        feature_values=features.data.astype(np.float64),
        offset=reward_model.offset + reward_model.features @ affine.location,
        beta=float(beta),
        is_state_only=reward_model.is_state_only,
        is_uniform=affine.is_uniform,
        precision=1.0,
    )


def data_of(
    problem: Problem, counts: ArrayLike | Iterable[Demonstration] | None, *, is_change: bool = False
) -> tuple[Data, IntArray]:
    """Return the states with data, annotator after annotator, and how many there are of each, `[G]`.

    Counts may be fractional, and only a change of counts may be negative.
    """
    shape = problem.counts_shape
    if counts is None:
        counts = np.zeros(shape)
    array = counts if isinstance(counts, np.ndarray) else problem.counts(counts)  # type: ignore[arg-type]
    if array.shape != shape:
        raise InputError(f"counts must have shape {shape}, got {array.shape}.")
    bad = ~np.isfinite(array) | ((array < 0) & (not is_change)) | ((array != 0) & ~problem.mdp.available)
    if bad.any():
        place = tuple(int(i) for i in np.argwhere(bad)[0])
        raise InputError(
            "counts must be finite, at least 0, and 0 for actions that do not exist, "
            f"got {array[place]} at state {place[-2]}, action {place[-1]}."
        )
    groups, states = np.nonzero((array.reshape(-1, *shape[-2:]) != 0).any(axis=2))
    chosen = np.ascontiguousarray(array.reshape(-1, *shape[-2:])[groups, states], dtype=np.float64)
    sizes = np.bincount(groups, minlength=problem.expert_space.num_groups)
    return Data(np.ascontiguousarray(states), chosen, chosen.sum(axis=1)), sizes  # one column of a table until here
