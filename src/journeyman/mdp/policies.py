"""Policies: `[S]` actions, or `[S, A]` probabilities; checked, evaluated, counted.

V^pi = B^-1 r_pi and the discounted occupancy nu = B^-T rho, with B = I - discount P_pi. One factorisation of B serves
any number of rewards.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.sparse.linalg import splu

from journeyman.checks import any_array, float_array
from journeyman.errors import InputError
from journeyman.mdp import krylov
from journeyman.mdp.model import FiniteMDP
from journeyman.mdp.validation import checked_initial, checked_rewards
from journeyman.threads import check_stop, one_thread, stop_mark
from journeyman.types import FloatArray, IntArray

MAX_FACTORISED_STATES = 20_000
LINEAR_TOLERANCE = 1e-9
VISIT_TOLERANCE = 1e-7  # of the visits of large worlds, whose values have larger errors
MAX_STACKED_STATES = 400
STACKED_ENTRIES = 1_000_000  # of the linear systems that are solved at once


def checked_policies(mdp: FiniteMDP, policies: ArrayLike) -> IntArray:
    """Return deterministic policies `[..., S]` whose actions all exist."""
    array = any_array(policies, "a policy")
    if array.shape[-1:] != (mdp.num_states,) or array.dtype.kind not in "iu":
        raise InputError(
            f"a policy must hold one whole number per state ({mdp.num_states}), "
            f"got {array.dtype} of shape {array.shape}. Give the index of an action for each state."
        )
    inside = (array >= 0) & (array < mdp.num_actions)
    exists = inside & mdp.available[np.arange(mdp.num_states), np.where(inside, array, 0)]
    if not exists.all():
        where = tuple(np.argwhere(~exists)[0])
        state = int(where[-1])
        raise InputError(
            f"a policy must choose available actions, got action {array[where]} at state {state}. "
            f"Choose from {np.flatnonzero(mdp.available[state]).tolist()}."
        )
    return array.astype(np.int64)


def action_probabilities(mdp: FiniteMDP, policy: ArrayLike) -> FloatArray:
    """Return a policy, deterministic `[S]` or stochastic `[S, A]`, as checked probabilities `[S, A]`."""
    array = float_array(policy, "a policy")
    if array.ndim == 1:
        one_hot = np.zeros((mdp.num_states, mdp.num_actions))
        one_hot[np.arange(mdp.num_states), checked_policies(mdp, policy)] = 1.0
        return one_hot
    shape = (mdp.num_states, mdp.num_actions)
    if array.shape != shape:
        raise InputError(
            f"a policy must have shape {shape[:1]} or {shape}, got {array.shape}. "
            "Give one action, or the chance of each action, per state."
        )
    bad = ~(array >= 0) | ((array > 0) & ~mdp.available)
    if bad.any():
        s, a = (int(i) for i in np.argwhere(bad)[0])
        raise InputError(
            "a stochastic policy must be at least 0, and 0 for actions that do not exist, "
            f"got {array[s, a]} at state {s}, action {a}. Give a chance in 0..1."
        )
    sums = array.sum(axis=1)
    if not (np.abs(sums - 1.0) <= 1e-6).all():
        s = int(np.argmax(~(np.abs(sums - 1.0) <= 1e-6)))
        raise InputError(
            f"a stochastic policy must sum to 1 over actions, got {sums[s]:.9g} at state {s}. Divide it by its sum."
        )
    return np.asarray(array / sums[:, None])


def policy_matrix(mdp: FiniteMDP, probabilities: FloatArray) -> Any:
    """Return discount * P_pi as a scipy CSR array `[S, S]` for action probabilities `[S, A]`."""
    shape = (mdp.num_states, mdp.num_states)
    done = np.flatnonzero(probabilities)
    lengths = np.diff(mdp.rows.indptr)[done]
    ends = np.cumsum(lengths)
    entry = np.arange(lengths.sum()) + np.repeat(mdp.rows.indptr[:-1][done] - ends + lengths, lengths)
    entries = mdp.rows.probabilities[entry] * np.repeat(mdp.discount * probabilities.ravel()[done], lengths)
    source = np.repeat(done // mdp.num_actions, lengths)
    return sparse.coo_array((entries, (source, mdp.rows.next_states[entry])), shape=shape).tocsr()


def evaluate_policy(mdp: FiniteMDP, policy: ArrayLike, rewards: ArrayLike) -> FloatArray:
    """Return the values of a policy under one reward or many, with one factorisation.

    Parameters
    ----------
    policy
        `[S]` actions or `[S, A]` probabilities.
    rewards
        `[S]` or `[S, A]`, or many: `[M, S, A]`, or `[M, S]` where M rewards cannot be mistaken for `[S, A]`.

    Returns
    -------
    Values `[S]`, or `[M, S]` for many rewards.

    Examples
    --------
    >>> from journeyman import FiniteMDP
    >>> ring = FiniteMDP.from_function(
    ...     lambda state, action: [(1.0, (state + action) % 3)], num_states=3, num_actions=2, discount=0.5
    ... )
    >>> from journeyman import evaluate_policy
    >>> evaluate_policy(ring, [0, 0, 0], [1.0, 0.0, 3.0]).round(6).tolist()
    [2.0, 0.0, 6.0]
    """
    array = float_array(rewards, "rewards")
    if array.shape in ((mdp.num_states,), (mdp.num_states, mdp.num_actions)):
        return np.asarray(evaluate_policy_batch(mdp, policy, array[None])[0])
    return evaluate_policy_batch(mdp, policy, array)


def evaluate_policy_batch(mdp: FiniteMDP, policy: ArrayLike, rewards: ArrayLike) -> FloatArray:
    """Return the values `[M, S]` of one policy under many rewards, `[M, S]` or `[M, S, A]`, with one factorisation."""
    probabilities = action_probabilities(mdp, policy)
    batch = checked_rewards(rewards, mdp.num_states, mdp.num_actions)
    expected = batch[:, :, 0] if batch.shape[2] == 1 else np.einsum("sa,msa->ms", probabilities, batch)
    return solve_linear(policy_matrix(mdp, probabilities), expected)


def occupancy(
    mdp: FiniteMDP, policy: ArrayLike, initial: ArrayLike | None = None, *, tolerance: float = LINEAR_TOLERANCE
) -> FloatArray:
    """Return the discounted number of visits `[S]` of each state from `initial` (default: the MDP's).

    Sums to at most 1 / (1 - discount); occupancy . r_pi is the expected return. `tolerance` is as in `solve_linear`.

    Examples
    --------
    >>> from journeyman import FiniteMDP
    >>> ring = FiniteMDP.from_function(
    ...     lambda state, action: [(1.0, (state + action) % 3)], num_states=3, num_actions=2, discount=0.5
    ... )
    >>> from journeyman import occupancy
    >>> occupancy(ring, [1, 1, 0], initial=[1.0, 0.0, 0.0]).round(6).tolist()
    [1.0, 0.5, 0.5]
    """
    rho = mdp.initial if initial is None else checked_initial(initial, mdp.num_states)
    matrix = policy_matrix(mdp, action_probabilities(mdp, policy))
    return np.asarray(solve_linear(matrix.T.tocsr(), rho[None], tolerance)[0])


def occupancies(mdp: FiniteMDP, policies: IntArray) -> FloatArray:
    """Return the discounted visits `[U, S]` of many deterministic policies `[U, S]`, as `occupancy` does for one.

    With few states their linear systems are solved as dense ones, many at a time, which is quicker than to set up
    sparse ones.
    """
    if mdp.num_states > MAX_STACKED_STATES:
        return np.stack([occupancy(mdp, policy) for policy in policies])
    dense = mdp.transition_matrix.toarray().reshape(mdp.num_states, mdp.num_actions, mdp.num_states)
    own, found = np.arange(mdp.num_states), np.empty(policies.shape)
    size = max(1, STACKED_ENTRIES // mdp.num_states**2)
    with one_thread():  # several would wait for each other at every small system, and round differently
        for first in range(0, len(policies), size):
            part = slice(first, first + size)
            systems = np.eye(mdp.num_states) - mdp.discount * dense[own, policies[part]].transpose(0, 2, 1)
            found[part] = np.linalg.solve(systems, mdp.initial[:, None])[:, :, 0]
    return found


def solve_linear(matrix: Any, right_sides: FloatArray, tolerance: float = LINEAR_TOLERANCE) -> FloatArray:
    """Solve (I - matrix) x = b for each row of `right_sides` `[M, S]`; `matrix` is discounted and sub-stochastic.

    The rows or the columns of `matrix` sum to less than 1. By sparse factorisation up to 20,000 states, exact up to
    rounding; by Krylov iterations above, with max |x - exact| <= tolerance (1 + max |x|) guaranteed.
    """
    num_states = matrix.shape[0]
    if num_states <= MAX_FACTORISED_STATES:
        identity: Any = sparse.eye_array(num_states, format="csc")
        factor = splu((identity - matrix).tocsc())
        return np.ascontiguousarray(factor.solve(np.ascontiguousarray(right_sides.T)).T)
    return _solve_in_rounds(matrix, np.require(right_sides, requirements=["C", "W"]), tolerance)


def _solve_in_rounds(matrix: Any, right_sides: FloatArray, wanted: float) -> FloatArray:
    """Solve as for the values of a problem with one action, ever finer until the bound holds; raise if it never does.

    The bound on max |x - exact| is the norm of the residual over 1 - the norm of `matrix`: the maximum norm, where rows
    contract, or the sum norm, where columns do. There x are visits, which grow along the way: -x is solved for, so
    that states with many of them come last in the order (see `mdp.krylov`).
    """
    by_rows, by_columns = (float(matrix.sum(axis=axis).max()) for axis in (1, 0))
    contraction = min(by_rows, by_columns)
    norm = np.max if by_rows <= by_columns else np.sum
    rows, sign = _one_action(matrix), 1.0 if norm is np.max else -1.0
    memory, stop = krylov.new_memory(rows.common_indptr, rows.extra_indptr), stop_mark(np.zeros(1, dtype=np.int64))
    policy = np.zeros(matrix.shape[0], dtype=np.int64)
    rounding = 2.0**-52 * (4 + int(np.diff(matrix.indptr).max()))
    solution = np.zeros_like(right_sides)
    finest = 1.0 if norm is np.max else 1.0 / matrix.shape[0]  # in the sum norm the errors of all states add up
    tolerance, bound = wanted * (1.0 - contraction), np.full(len(right_sides), np.inf)
    while tolerance >= 1e-3 * wanted * (1.0 - contraction) * finest:
        for b, x in zip(right_sides, solution, strict=True):
            memory[: krylov.HEAD] = 0.0
            x *= sign
            krylov.settle(rows, sign * b, x, policy, memory, tolerance, krylov.MAX_ROUNDS, stop)
            x *= sign
            check_stop()
        error = np.abs(right_sides + (matrix @ solution.T).T - solution)
        error += rounding * (np.abs(right_sides) + (matrix @ np.abs(solution.T)).T + np.abs(solution))
        bound = norm(error, axis=1) / (1.0 - contraction)
        if (bound <= wanted * (1.0 + np.abs(solution).max(axis=1))).all():
            return solution
        tolerance *= 0.1
    raise InputError(
        f"the discount must be small enough to find values within {wanted:g}, "
        f"got a bound of {bound.max():.2g} after all iterations. Use a discount further from 1."
    )


def _one_action(matrix: Any) -> krylov.SplitRows:
    """Return a discounted matrix as the rows of a problem in which nothing can be chosen."""
    num_states = matrix.shape[0]
    empty = np.zeros(num_states, dtype=np.int32), np.zeros(num_states)
    return krylov.SplitRows(
        matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), np.array(matrix.data, dtype=np.float64),
        np.zeros(num_states + 1, dtype=np.int64), np.zeros(0, dtype=np.int32), np.zeros(0), *empty, False,
        1.0 / (1.0 - matrix.diagonal()[:, None]), np.ones((num_states, 1), dtype=bool),
    )  # fmt: skip
