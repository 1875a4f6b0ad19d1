"""Optimal values and policies for one reward or many on the same dynamics.

States are renumbered once (reverse Cuthill-McKee). *Small* problems get a few Gauss-Seidel sweeps of value iteration,
many rewards at once, with self-loops solved exactly, and then policy iteration with exact evaluation: in the new
numbering I - discount P_pi is banded for every policy, and elimination inside the band is cheap and needs no pivoting.
*Large* ones are solved in rounds of sweeps and Krylov iterations, which hardly grow in number with 1 / (1 - discount)
(see `mdp.krylov`); with a small discount, sweeps alone are as quick. Either way the answer carries a bound,

    max |V - V*| <= (max |T V - V| + rounding) / (1 - discount * max_row_sum),

with T the Bellman operator: it holds whatever the path to V was.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from journeyman.checks import any_array, float_array, one_of, positive, whole_number
from journeyman.errors import InputError
from journeyman.mdp import kernels, krylov
from journeyman.mdp.lanes import LANES
from journeyman.mdp.model import FiniteMDP
from journeyman.mdp.ordering import Ordering, band_order
from journeyman.mdp.policies import checked_policies
from journeyman.mdp.validation import LARGEST_VALUE, ROUNDING, checked_rewards
from journeyman.progress import Report, no_progress_bar, progress_bar
from journeyman.threads import check_stop, resolve_num_threads, run_chunks, stop_mark
from journeyman.types import AnyArray, FloatArray, IntArray
from journeyman.wording import counted

MAX_DIRECT_WORK = 1e6  # multiplications of one banded elimination; above it sweeps win
MAX_POLICY_ITERATIONS = 1000
FIRST_SWEEPS, FIRST_TOLERANCE = 12, 1e-2  # what comes before policy iteration
UNEVEN = 1e-3  # of the largest value: where the median one is smaller, sweeps go on to the limit of rounding
SINGLE = 2.0**-22  # change in a sweep, relative to 1 + max |V|, that single precision can tell from rounding
SWEPT_AT_ONCE = 1_000_000  # states, between two looks at whether it is time to stop, of at most 4 sweeps
SWEPT_BLOCK = 4096  # states that are swept there and back: 1 MB of values and rewards
LONG_WORK = 5_000_000  # values of rewards that are solved together, from which on progress is shown
FEW_SWEEPS = 0.91  # largest contraction at which sweeps alone are as quick as rounds with Krylov iterations
METHODS = ("auto", "direct", "sweeps", "krylov")


@dataclass(frozen=True, eq=False)
class Solution:
    """Optimal values of M rewards (`solve_batch`), or of one (`solve`, without the leading axis).

    mdp, rewards: what was solved; values `[M, S]`; policy `[M, S]`: the lowest action that is optimal within the
    numerical error in its state; residual `[M]`: max |T V - V|; error_bound `[M]`: guaranteed max |V - V*|;
    converged `[M]`: whether that is at most tol (max |r| + max |V|); iterations `[M]`.
    """

    mdp: FiniteMDP
    rewards: FloatArray
    values: FloatArray
    policy: IntArray
    residual: Any
    error_bound: Any
    converged: Any
    iterations: Any

    def __repr__(self) -> str:
        rewards = counted(1 if self.values.ndim == 1 else len(self.values), "reward")
        end = "converged" if np.all(self.converged) else "NOT converged"
        error = float(np.max(self.error_bound, initial=0.0))
        return f"Solution({rewards}, {self.mdp.num_states} states: {end}, values within {error:.2g})"

    @property
    def q(self) -> FloatArray:
        """Optimal action values `[M, S, A]`, computed on demand; minus infinity where an action does not exist."""
        if self.values.ndim == 1:
            return np.asarray(q_values(self.mdp, self.rewards[None], self.values[None])[0])
        return q_values(self.mdp, self.rewards, self.values)


def solve(mdp: FiniteMDP, reward: ArrayLike, **options: Any) -> Solution:
    """Solve for one reward, `[S]` or `[S, A]`; options as in `solve_batch`, starts without the leading axis.

    Examples
    --------
    >>> from journeyman import FiniteMDP
    >>> ring = FiniteMDP.from_function(
    ...     lambda state, action: [(1.0, (state + action) % 3)], num_states=3, num_actions=2, discount=0.5
    ... )
    >>> from journeyman import solve
    >>> solution = solve(ring, [0.0, 0.0, 1.0])
    >>> solution.policy.tolist(), solution.values.round(6).tolist()
    ([1, 1, 0], [0.5, 1.0, 2.0])
    """
    rewards = float_array(reward, "reward")
    if rewards.ndim not in (1, 2):
        raise InputError(f"reward must have shape [S] or [S, A], got {rewards.shape}. Use solve_batch for many.")
    for name in ("initial_values", "initial_policy"):
        if options.get(name) is not None:
            options[name] = any_array(options[name], name)[None]
    batch = solve_batch(mdp, rewards[None], **options)
    arrays = {name: getattr(batch, name)[0] for name in ("rewards", "values", "policy")}
    numbers = {name: getattr(batch, name)[0].item() for name in ("residual", "error_bound", "converged", "iterations")}
    return replace(batch, **arrays, **numbers)


def solve_batch(
    mdp: FiniteMDP,
    rewards: ArrayLike,
    *,
    tol: float = 1e-10,
    initial_values: ArrayLike | None = None,
    initial_policy: ArrayLike | None = None,
    method: str = "auto",
    max_iterations: int | None = None,
    num_threads: int | None = None,
) -> Solution:
    """Solve for many rewards on one set of dynamics.

    Parameters
    ----------
    rewards
        `[M, S]` or `[M, S, A]`.
    tol
        Wanted bound on max |V - V*|, relative to max |r| + max |V|.
    initial_values, initial_policy
        `[M, S]` or `[S]`: a warm start; the answer does not depend on it beyond `tol`.
    method
        "direct" (exact evaluation), "sweeps", "krylov" (sweeps with approximate evaluation), or "auto": by the cost of
        an elimination, and by the discount.
    num_threads
        Default: all cores of this process. Results do not depend on it.

    Returns
    -------
    A Solution whose `error_bound` holds even where `converged` is False.

    Examples
    --------
    >>> from journeyman import FiniteMDP
    >>> ring = FiniteMDP.from_function(
    ...     lambda state, action: [(1.0, (state + action) % 3)], num_states=3, num_actions=2, discount=0.5
    ... )
    >>> from journeyman import solve_batch
    >>> solution = solve_batch(ring, [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    >>> solution.values.round(6).tolist()
    [[0.5, 1.0, 2.0], [2.0, 0.5, 1.0]]
    """
    batch = checked_rewards(rewards, mdp.num_states, mdp.num_actions)
    kept = np.array(rewards, dtype=np.float64)  # what the solution keeps, whatever happens to the caller's array
    positive(tol, "tol", "The default is 1e-10.")
    one_of(method, METHODS, "method", "Leave it out for 'auto'.")
    if max_iterations is not None:
        whole_number(max_iterations, "max_iterations", 1, "Leave it out for as many as convergence may take.")
    num_rewards = batch.shape[0]
    start = _start(mdp, num_rewards, initial_values, initial_policy)
    largest_rewards = np.maximum(batch.max(axis=(1, 2)), -batch.min(axis=(1, 2)))
    scales = 2.0 ** np.frexp(largest_rewards)[1]  # by powers of 2, so that units of reward change nothing, not a bit
    longest = int(np.diff(mdp.rows.indptr).max())
    contraction = mdp.discount * mdp.max_row_sum * (1.0 + max(ROUNDING, longest * 2.0**-52))  # sums may be off so much
    _check_size(largest_rewards.max(), contraction, mdp.discount)
    if method == "auto":
        is_small = band_order(mdp).work <= MAX_DIRECT_WORK
        method = "direct" if is_small else "sweeps" if contraction <= FEW_SWEEPS else "krylov"
    finest = (4 + longest) * 2.0**-52  # no finer than rounding
    task = _Task(
        mdp,
        batch,
        scales,
        *start,
        has_policy=initial_policy is not None,
        is_direct=method == "direct",
        horizon=1.0 / (1.0 - contraction),
        tolerance=max(0.5 * tol * (1.0 - contraction), finest),
        finest=finest,
        max_iterations=max_iterations,
        num_threads=resolve_num_threads(num_threads),
    )
    found = _solve_in_rounds(task) if method == "krylov" else _solve_together(task)
    residual = found.residual * scales
    sizes = np.maximum(found.values.max(axis=1), -found.values.min(axis=1))
    error_bound = (residual + finest * (found.largest * scales + sizes)) / (1.0 - contraction)
    return Solution(
        mdp=mdp,
        rewards=kept,
        values=found.values,
        policy=found.policies,
        residual=residual,
        error_bound=error_bound,
        converged=error_bound <= tol * (scales + sizes),
        iterations=found.iterations,
    )


class _Task(NamedTuple):
    """What is to be solved: rewards `[M, S, R]`, to be divided by `scales` `[M]` first, from values and policies."""

    mdp: FiniteMDP
    rewards: FloatArray
    scales: FloatArray
    values: FloatArray
    policies: IntArray
    has_policy: bool
    is_direct: bool
    horizon: float
    tolerance: float  # of the change of values in a sweep, relative to 1 + max |V|
    finest: float
    max_iterations: int | None
    num_threads: int


class _Found(NamedTuple):
    """Values and policies `[M, S]`; residual and max |Q| of the scaled rewards, iterations `[M]`."""

    values: FloatArray
    policies: IntArray
    residual: FloatArray
    largest: FloatArray
    iterations: IntArray


def _solve_together(task: _Task) -> _Found:
    """Sweep many rewards at once; those of small problems only briefly, before policy iteration."""
    mdp, scales, order = task.mdp, task.scales, band_order(task.mdp)
    num_rewards = len(scales)
    batch = np.ascontiguousarray(task.rewards[:, order.permutation]) / scales[:, None, None]
    values = np.ascontiguousarray(task.values[:, order.permutation]) / scales[:, None]
    policies = np.ascontiguousarray(task.policies[:, order.permutation])
    residual, largest = np.empty(num_rewards), np.empty(num_rewards)
    iterations = np.zeros(num_rewards, dtype=np.int64)
    rows = (order.rows.indptr, order.rows.next_states, order.rows.probabilities, mdp.discount)
    shared = (*order.shared.common, *order.shared.extra, order.available)
    off_diagonal = (*order.off_diagonal.common, *order.off_diagonal.extra, order.gain, order.available)
    lanes = _lanes(num_rewards)
    sweep_tolerance, sweep_limit = FIRST_TOLERANCE, FIRST_SWEEPS
    if not task.is_direct:
        sweep_tolerance = task.tolerance
        sweep_limit = task.max_iterations or _sweep_limit(task.horizon, sweep_tolerance)

    def solve_part(groups: range) -> None:
        at = slice(groups.start * lanes, min(groups.stop * lanes, num_rewards))
        if task.has_policy and not task.is_direct:
            order.evaluate(mdp.discount, batch[at], policies[at], values[at])
        if not (task.has_policy and task.is_direct):
            kernels.value_iteration(
                *off_diagonal, batch[at], values[at], lanes, sweep_tolerance, sweep_limit, iterations[at]
            )
        arrays = (batch[at], values[at], policies[at])
        if task.is_direct:
            limit = task.max_iterations or MAX_POLICY_ITERATIONS
            results = (residual[at], largest[at], iterations[at])
            options = (task.horizon, task.has_policy, order.lower, order.upper, limit)
            kernels.policy_iteration(*rows, *shared, *arrays, *options, *results)
            return
        if task.max_iterations is None and _is_uneven(values[at]):
            kernels.value_iteration(*off_diagonal, *arrays[:2], lanes, task.finest, sweep_limit, iterations[at])
        kernels.read_off(*shared, *arrays, task.horizon, residual[at], largest[at])

    run_chunks(solve_part, -(-num_rewards // lanes), task.num_threads)
    return _Found(values[:, order.inverse] * scales[:, None], policies[:, order.inverse], residual, largest, iterations)


def _single_rows(order: Ordering) -> tuple[Any, ...]:
    """Return the rows of an MDP as `kernels.sweep_single` takes them."""
    common, extra, single = order.off_diagonal.common, order.off_diagonal.extra, np.float32
    weights = (common.weights.astype(single), extra.weights.astype(single), order.gain.astype(single))
    return *common[:2], weights[0], *extra[:2], weights[1], weights[2], order.available


def _swept_lanes(
    rows: tuple[Any, ...], reward: AnyArray, V: AnyArray, max_sweeps: int, report_fn: Callable[[float], None]
) -> None:
    """Sweep V `[S, 32]` until no lane changes by more than single precision can tell, or so many times.

    report_fn takes how far it is, on the scale on which sweeps make changes smaller.
    """
    change, largest = np.empty((1, LANES), dtype=np.float32), np.empty((1, LANES), dtype=np.float32)
    sweeps, first, at_once = 0, 0.0, max(1, min(4, SWEPT_AT_ONCE // len(V)))
    while sweeps < max_sweeps:
        kernels.sweep_single(*rows, reward, V, at_once, sweeps % 2 == 1, SWEPT_BLOCK, change, largest)
        sweeps += at_once
        check_stop()
        worst = float((change / (1.0 + largest)).max())
        if worst <= SINGLE:
            return
        first = max(first, worst)
        report_fn(float(np.log(first / worst) / np.log(first / SINGLE)))


def values_in_single(
    mdp: FiniteMDP, reward_fn: Callable[[slice], FloatArray], num_rewards: int, *, num_threads: int | None = None
) -> AnyArray:
    """Return optimal values `[M, S]` of many rewards in single precision, and nothing else: for large worlds.

    Values are within about 1e-6 / (1 - discount) of the exact ones, relative to the largest. What is held beside them
    does not grow with M. The number of sweeps grows with 1 / (1 - discount).

    Parameters
    ----------
    reward_fn
        Gives the rewards `[m, S]` or `[m, S, A]` of some of them.
    """
    order = band_order(mdp)
    contraction = mdp.discount * mdp.max_row_sum
    rows, limit = _single_rows(order), _sweep_limit(1.0 / (1.0 - contraction), SINGLE)
    values = np.empty((num_rewards, mdp.num_states), dtype=np.float32)
    num_groups = -(-num_rewards // LANES)
    done = np.zeros(num_groups)

    def solve_part(groups: range, report: Report) -> None:
        for group in groups:
            at = slice(group * LANES, min((group + 1) * LANES, num_rewards))
            rewards = reward_fn(at)
            sizes = np.maximum(rewards.max(axis=1), -rewards.min(axis=1)).reshape(len(rewards), -1).max(axis=1)
            _check_size(sizes.max(), contraction, mdp.discount)
            scales = 2.0 ** np.frexp(sizes)[1]
            reward = np.zeros((rewards[0].size, LANES), dtype=np.float32)
            by_state = reward.reshape(mdp.num_states, -1, LANES)
            for lane, (own, scale) in enumerate(zip(rewards, scales, strict=True)):
                by_state[:, :, lane] = own.reshape(mdp.num_states, -1)[order.permutation] / scale

            def report_part(part: float, group: int = group) -> None:
                done[group] = part
                report(float(done.mean()))

            V = np.zeros((mdp.num_states, LANES), dtype=np.float32)
            _swept_lanes(rows, reward, V, limit, report_part)
            for lane, scale in enumerate(scales):
                values[at.start + lane] = V[:, lane][order.inverse] * np.float32(scale)
            report_part(1.0)

    shown_fn = progress_bar if num_rewards * mdp.num_states >= LONG_WORK else no_progress_bar
    with shown_fn(f"Solving for {num_rewards} rewards") as report:
        run_chunks(lambda groups: solve_part(groups, report), num_groups, resolve_num_threads(num_threads), 1)
    return values


class LinearLanes(NamedTuple):
    """Values `[S, 1 + D]` and rewards `[S * R, 1 + D]` linear in [1, z], in single precision and in the band's order.

    All are divided by `scale`, that of the largest.
    """

    mdp: FiniteMDP
    values: AnyArray
    rewards: AnyArray
    scale: float


def linear_lanes(mdp: FiniteMDP, values: FloatArray, rewards: FloatArray) -> LinearLanes:
    """Return what `swept_ahead` takes, from values `[1 + D, S]` and rewards `[1 + D, S]` or `[1 + D, S * A]`."""
    order, scale = band_order(mdp), max(float(np.abs(values).max()), float(np.abs(rewards).max()))
    by_state = rewards.reshape(len(rewards), mdp.num_states, -1)[:, order.permutation].reshape(rewards.shape)
    exact = [array.T / scale if scale else array.T for array in (values[:, order.permutation], by_state)]
    single = [np.ascontiguousarray(array, dtype=np.float32) for array in exact]
    return LinearLanes(mdp, single[0], single[1], scale or 1.0)


def swept_ahead(lanes: LinearLanes, basis: FloatArray, num_sweeps: int) -> AnyArray:
    """Return linear values at points [1, z] `[M, 1 + D]` after sweeps there and back, `[M, S]`, in single precision."""
    order, (mdp, value_map, reward_map, scale) = band_order(lanes.mdp), lanes
    rows, values = _single_rows(order), np.empty((len(basis), mdp.num_states), dtype=np.float32)
    change, largest = np.empty((1, LANES), dtype=np.float32), np.empty((1, LANES), dtype=np.float32)
    points = np.zeros((basis.shape[1], LANES), dtype=np.float32)
    for first in range(0, len(basis), LANES):
        own = basis[first : first + LANES]
        points[:, : len(own)] = own.T
        V = value_map @ points
        kernels.sweep_single(*rows, reward_map @ points, V, num_sweeps, False, SWEPT_BLOCK, change, largest)
        values[first : first + LANES] = V[order.inverse, : len(own)].T
    values *= np.float32(scale)
    return values


def _solve_in_rounds(task: _Task) -> _Found:
    """Solve one reward after the other: besides the results, a thread holds what one of them needs."""
    mdp, order = task.mdp, band_order(task.mdp)
    num_rewards, num_states = task.values.shape
    found = _Found(
        np.empty((num_rewards, num_states)),
        np.empty((num_rewards, num_states), dtype=np.int64),
        np.empty(num_rewards),
        np.empty(num_rewards),
        np.zeros(num_rewards, dtype=np.int64),
    )
    rows, limit = order.split_rows, task.max_iterations or krylov.MAX_ROUNDS
    shared = (*order.shared.common, *order.shared.extra, order.available)
    off_diagonal = (*order.off_diagonal.common, *order.off_diagonal.extra, order.gain, order.available)

    def solve_part(part: range) -> None:
        memory, stop = krylov.new_memory(rows.common_indptr, rows.extra_indptr), stop_mark(np.zeros(1, dtype=np.int64))
        for m in part:
            check_stop()
            reward = task.rewards[m : m + 1, order.permutation] / task.scales[m]
            values = task.values[m : m + 1, order.permutation] / task.scales[m]
            policy = task.policies[m : m + 1, order.permutation]
            if task.has_policy:
                order.evaluate(mdp.discount, reward, policy, values)
            memory[: krylov.HEAD] = 0.0  # nothing depends on what the thread solved before
            krylov.settle(rows, reward.ravel(), values[0], policy[0], memory, task.tolerance, limit, stop)
            found.iterations[m] = memory[2]
            at = slice(m, m + 1)
            if task.max_iterations is None and _is_uneven(values):
                limit_of_sweeps = _sweep_limit(task.horizon, task.finest)
                kernels.value_iteration(
                    *off_diagonal, reward, values, 1, task.finest, limit_of_sweeps, np.empty(1, int)
                )
            kernels.read_off(*shared, reward, values, policy, task.horizon, found.residual[at], found.largest[at])
            found.values[m] = values[0, order.inverse] * task.scales[m]
            found.policies[m] = policy[0, order.inverse]

    run_chunks(solve_part, num_rewards, task.num_threads)
    return found


def q_values(mdp: FiniteMDP, rewards: ArrayLike, values: ArrayLike) -> FloatArray:
    """Return Q `[M, S, A]` = r + discount P V for values `[M, S]`; minus infinity where an action does not exist."""
    batch = checked_rewards(rewards, mdp.num_states, mdp.num_actions)
    value_batch = float_array(values, "values")
    if value_batch.shape != batch.shape[:2]:
        raise InputError(
            f"values must have shape {batch.shape[:2]}, like the rewards, got {value_batch.shape}. "
            "Give the values of each reward, one per state."
        )
    return backup(mdp, batch, value_batch)


def backup(mdp: FiniteMDP, rewards: FloatArray, values: FloatArray) -> FloatArray:
    """Return what `q_values` does for rewards `[M, S, 1]` or `[M, S, A]` that need no check."""
    out = np.empty((*values.shape, mdp.num_actions))
    rows = (mdp.rows.indptr, mdp.rows.next_states, mdp.rows.probabilities)
    arrays = (np.require(array, requirements=["C", "W"]) for array in (rewards, values))  # kernels want these
    kernels.q_values(*rows, mdp.available, mdp.discount, *arrays, out)
    return out


def _start(
    mdp: FiniteMDP, num_rewards: int, initial_values: ArrayLike | None, initial_policy: ArrayLike | None
) -> tuple[FloatArray, IntArray]:
    shape = (num_rewards, mdp.num_states)
    values = np.zeros(shape)
    policies = np.broadcast_to(np.argmax(mdp.available, axis=1), shape)
    if initial_values is not None:
        start = float_array(initial_values, "initial_values")
        if start.shape not in (shape, shape[1:]):
            raise InputError(
                f"initial_values must have shape {shape} or {shape[1:]}, got {start.shape}. Give one per state."
            )
        is_fine = np.abs(start) <= LARGEST_VALUE  # False for NaN
        if not is_fine.all():
            where = tuple(np.argwhere(~is_fine)[0])
            raise InputError(
                f"initial_values must be finite, got {start[where]} at state {where[-1]}. "
                "Leave initial_values out to start from zero."
            )
        values = np.broadcast_to(start, shape)
    if initial_policy is not None:
        start_policy = any_array(initial_policy, "initial_policy")
        if start_policy.shape not in (shape, shape[1:]):
            raise InputError(
                f"initial_policy must have shape {shape} or {shape[1:]}, got {start_policy.shape}. Give one per state."
            )
        policies = checked_policies(mdp, np.broadcast_to(start_policy, shape))
    return values, policies


def _check_size(largest_reward: float, contraction: float, discount: float) -> None:
    """Refuse rewards whose values would overflow."""
    if not largest_reward < LARGEST_VALUE * (1.0 - contraction):
        raise InputError(
            f"rewards must lead to values below {LARGEST_VALUE:g}, got rewards up to {largest_reward:g} "
            f"with discount {discount}. Scale them down, or use a smaller discount."
        )


def _is_uneven(values: FloatArray) -> bool:
    """Return whether values `[M, S]` differ so much in size that an error relative to the largest means little."""
    sizes = np.abs(values)
    return bool((np.median(sizes, axis=1) < UNEVEN * sizes.max(axis=1)).any())


def _lanes(num_rewards: int) -> int:
    """Return the size of groups of rewards: an even number of equal groups, whatever the number of threads."""
    num_groups = -(-num_rewards // LANES)
    return -(-num_rewards // (num_groups + num_groups % 2))


def _sweep_limit(horizon: float, tolerance: float) -> int:
    """Sweeps after which even plain value iteration from far away would have settled, doubled."""
    contraction = 1.0 - 1.0 / horizon
    return 100 + int(2 * np.log(1e3 + 1.0 / tolerance) / max(-np.log(max(contraction, 1e-6)), 1e-6))
