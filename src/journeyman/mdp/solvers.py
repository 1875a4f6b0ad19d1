"""Optimal values and policies for one reward or many on the same dynamics.

Every reward first gets Gauss-Seidel sweeps of value iteration, many rewards at once, with self-loops solved exactly.
Large problems sweep until they are done. Small ones stop early and finish by policy iteration with exact evaluation:
states are renumbered once (reverse Cuthill-McKee), so that I - discount P_pi is banded for every policy, and
elimination inside the band is cheap and needs no pivoting. Either way the answer carries a bound,

    max |V - V*| <= (max |T V - V| + rounding) / (1 - discount * max_row_sum),

with T the Bellman operator: it holds whatever the path to V was.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from journeyman.checks import any_array, float_array, one_of, positive, whole_number
from journeyman.errors import InputError
from journeyman.mdp import kernels
from journeyman.mdp.model import FiniteMDP
from journeyman.mdp.ordering import band_order
from journeyman.mdp.policies import checked_policies
from journeyman.mdp.validation import LARGEST_VALUE, ROUNDING, checked_rewards
from journeyman.threads import resolve_num_threads, run_chunks
from journeyman.types import FloatArray, IntArray

MAX_DIRECT_WORK = 1e6  # multiplications of one banded elimination; above it sweeps win
MAX_POLICY_ITERATIONS = 1000
FIRST_SWEEPS, FIRST_TOLERANCE = 12, 1e-2  # what comes before policy iteration
UNEVEN = 1e-3  # of the largest value: where the median one is smaller, sweeps go on to the limit of rounding
LANES = 32  # rewards swept at once, at most
METHODS = ("auto", "direct", "sweeps")


@dataclass(frozen=True, eq=False)
class Solution:
    """Optimal values of M rewards (`solve_batch`), or of one (`solve`, without the leading axis).

    values `[M, S]`; policy `[M, S]`: the lowest action that is optimal within the numerical error in its state;
    residual `[M]`: max |T V - V|; error_bound `[M]`: guaranteed max |V - V*|; converged `[M]`: whether that is at most
    tol (max |r| + max |V|); iterations `[M]`.
    """

    mdp: FiniteMDP
    rewards: FloatArray
    values: FloatArray
    policy: IntArray
    residual: Any
    error_bound: Any
    converged: Any
    iterations: Any

    @property
    def q(self) -> FloatArray:
        """Optimal action values `[M, S, A]`, computed on demand; minus infinity where an action does not exist."""
        if self.values.ndim == 1:
            return np.asarray(q_values(self.mdp, self.rewards[None], self.values[None])[0])
        return q_values(self.mdp, self.rewards, self.values)


def solve(mdp: FiniteMDP, reward: ArrayLike, **options: Any) -> Solution:
    """Solve for one reward, `[S]` or `[S, A]`; options as in `solve_batch`, starts without the leading axis."""
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
        "direct" (exact evaluation), "sweeps", or "auto": by the cost of an elimination.
    num_threads
        Default: all cores of this process. Results do not depend on it.

    Returns
    -------
    A Solution whose `error_bound` holds even where `converged` is False.
    """
    batch = checked_rewards(rewards, mdp.num_states, mdp.num_actions)
    rewards = np.array(rewards, dtype=np.float64)  # what the solution keeps, whatever happens to the caller's array
    positive(tol, "tol", "The default is 1e-10.")
    one_of(method, METHODS, "method", "Leave it out for 'auto'.")
    if max_iterations is not None:
        whole_number(max_iterations, "max_iterations", 1, "Leave it out for as many as convergence may take.")
    num_rewards = batch.shape[0]
    order = band_order(mdp)
    is_direct = method == "direct" or (method == "auto" and order.work <= MAX_DIRECT_WORK)
    values, policies = _start(mdp, num_rewards, initial_values, initial_policy)
    has_policy = initial_policy is not None
    largest_rewards = np.abs(batch).max(axis=(1, 2))
    scales = 2.0 ** np.frexp(largest_rewards)[1]  # by powers of 2, so that units of reward change nothing, not a bit
    batch = np.ascontiguousarray(batch[:, order.permutation]) / scales[:, None, None]
    values = np.ascontiguousarray(values[:, order.permutation]) / scales[:, None]
    policies = np.ascontiguousarray(policies[:, order.permutation])
    residual, largest = np.empty(num_rewards), np.empty(num_rewards)
    iterations = np.zeros(num_rewards, dtype=np.int64)
    longest = int(np.diff(mdp.rows.indptr).max())
    contraction = mdp.discount * mdp.max_row_sum * (1.0 + max(ROUNDING, longest * 2.0**-52))  # sums may be off so much
    _check_size(largest_rewards.max(), contraction, mdp.discount)
    rows = (order.rows.indptr, order.rows.next_states, order.rows.probabilities, mdp.discount)
    shared = (*order.shared.common, *order.shared.extra, order.available)
    off_diagonal = (*order.off_diagonal.common, *order.off_diagonal.extra, order.gain, order.available)
    lanes, horizon = _lanes(num_rewards), 1.0 / (1.0 - contraction)
    sweep_tolerance, sweep_limit = FIRST_TOLERANCE, FIRST_SWEEPS
    if not is_direct:
        sweep_tolerance = max(0.5 * tol * (1.0 - contraction), (4 + longest) * 2.0**-52)  # no finer than rounding
        sweep_limit = max_iterations or _sweep_limit(contraction, sweep_tolerance)

    def solve_part(groups: range) -> None:
        at = slice(groups.start * lanes, min(groups.stop * lanes, num_rewards))
        if has_policy and not is_direct:
            order.evaluate(mdp.discount, batch[at], policies[at], values[at])
        if not (has_policy and is_direct):
            kernels.value_iteration(
                *off_diagonal, batch[at], values[at], lanes, sweep_tolerance, sweep_limit, iterations[at]
            )
        arrays = (batch[at], values[at], policies[at])
        if is_direct:
            limit = max_iterations or MAX_POLICY_ITERATIONS
            results = (residual[at], largest[at], iterations[at])
            band = (order.lower, order.upper)
            kernels.policy_iteration(*rows, *shared, *arrays, horizon, has_policy, *band, limit, *results)
            return
        if max_iterations is None and _is_uneven(values[at]):
            finest = (4 + longest) * 2.0**-52
            kernels.value_iteration(*off_diagonal, *arrays[:2], lanes, finest, sweep_limit, iterations[at])
        kernels.read_off(*shared, *arrays, horizon, residual[at], largest[at])

    run_chunks(solve_part, -(-num_rewards // lanes), resolve_num_threads(num_threads))
    values, policies = values[:, order.inverse] * scales[:, None], policies[:, order.inverse]
    residual *= scales
    rounding = 2.0**-52 * (4 + longest) * (largest * scales + np.abs(values).max(axis=1))
    error_bound = (residual + rounding) / (1.0 - contraction)
    return Solution(
        mdp=mdp,
        rewards=rewards,
        values=values,
        policy=policies,
        residual=residual,
        error_bound=error_bound,
        converged=error_bound <= tol * (scales + np.abs(values).max(axis=1)),
        iterations=iterations,
    )


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


def _sweep_limit(contraction: float, tolerance: float) -> int:
    """Sweeps after which even plain value iteration from far away would have settled, doubled."""
    return 100 + int(2 * np.log(1e3 + 1.0 / tolerance) / max(-np.log(max(contraction, 1e-6)), 1e-6))
