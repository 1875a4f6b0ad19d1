"""Policies: `[S]` actions, or `[S, A]` probabilities; checked, evaluated, counted.

V^pi = B^-1 r_pi and the discounted occupancy nu = B^-T rho, with B = I - discount P_pi. One factorisation of B serves
any number of rewards.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.sparse.linalg import splu

from journeyman.errors import InputError
from journeyman.mdp import kernels
from journeyman.mdp.model import FiniteMDP
from journeyman.mdp.validation import checked_initial, checked_rewards
from journeyman.types import FloatArray, IntArray

MAX_FACTORISED_STATES = 20_000
SWEEP_TOLERANCE = 1e-12


def checked_policies(mdp: FiniteMDP, policies: ArrayLike) -> IntArray:
    """Return deterministic policies `[..., S]` whose actions all exist."""
    array = np.asarray(policies)
    if array.shape[-1:] != (mdp.num_states,) or array.dtype.kind not in "iu":
        raise InputError(
            f"a policy must hold one whole number per state ({mdp.num_states}), "
            f"got {array.dtype} of shape {array.shape}."
        )
    inside = (array >= 0) & (array < mdp.num_actions)
    exists = inside & mdp.available[np.arange(mdp.num_states), np.where(inside, array, 0)]
    if not exists.all():
        *_, s = (int(i) for i in np.argwhere(~exists)[0])
        action = int(array[tuple(np.argwhere(~exists)[0])])
        raise InputError(f"a policy must choose available actions, got action {action} at state {s}.")
    return array.astype(np.int64)


def action_probabilities(mdp: FiniteMDP, policy: ArrayLike) -> FloatArray:
    """Return a policy, deterministic `[S]` or stochastic `[S, A]`, as checked probabilities `[S, A]`."""
    array = np.asarray(policy)
    if array.ndim == 1:
        one_hot = np.zeros((mdp.num_states, mdp.num_actions))
        one_hot[np.arange(mdp.num_states), checked_policies(mdp, array)] = 1.0
        return one_hot
    shape = (mdp.num_states, mdp.num_actions)
    if array.shape != shape:
        raise InputError(f"a policy must have shape {shape[:1]} or {shape}, got {array.shape}.")
    probabilities = array.astype(np.float64)
    bad = ~(probabilities >= 0) | ((probabilities > 0) & ~mdp.available)
    if bad.any():
        s, a = (int(i) for i in np.argwhere(bad)[0])
        raise InputError(
            "a stochastic policy must be at least 0, and 0 for actions that do not exist, "
            f"got {probabilities[s, a]} at state {s}, action {a}."
        )
    sums = probabilities.sum(axis=1)
    if not (np.abs(sums - 1.0) <= 1e-6).all():
        s = int(np.argmax(~(np.abs(sums - 1.0) <= 1e-6)))
        raise InputError(f"a stochastic policy must sum to 1 over actions, got {sums[s]:.9g} at state {s}.")
    return probabilities / sums[:, None]


def policy_matrix(mdp: FiniteMDP, probabilities: FloatArray) -> Any:
    """Return discount * P_pi as a scipy CSR array `[S, S]` for action probabilities `[S, A]`."""
    weights = np.repeat(probabilities.ravel(), np.diff(mdp.rows.indptr))
    source = np.repeat(np.arange(mdp.num_states), np.diff(mdp.rows.indptr[:: mdp.num_actions]))
    kept = weights > 0
    entries = mdp.discount * weights[kept] * mdp.rows.probabilities[kept]
    shape = (mdp.num_states, mdp.num_states)
    return sparse.coo_array((entries, (source[kept], mdp.rows.next_states[kept])), shape=shape).tocsr()


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
    """
    probabilities = action_probabilities(mdp, policy)
    array = np.asarray(rewards, dtype=np.float64)
    is_single = array.shape in ((mdp.num_states,), (mdp.num_states, mdp.num_actions))
    batch = checked_rewards(array, mdp.num_states, mdp.num_actions, has_batch_axis=not is_single)
    expected = batch[:, :, 0] if batch.shape[2] == 1 else np.einsum("sa,msa->ms", probabilities, batch)
    values = solve_linear(policy_matrix(mdp, probabilities), expected)
    return values[0] if is_single else values


def occupancy(mdp: FiniteMDP, policy: ArrayLike, initial: ArrayLike | None = None) -> FloatArray:
    """Return the discounted number of visits `[S]` of each state from `initial` (default: the MDP's).

    Sums to at most 1 / (1 - discount); occupancy . r_pi is the expected return.
    """
    rho = mdp.initial if initial is None else checked_initial(initial, mdp.num_states)
    matrix = policy_matrix(mdp, action_probabilities(mdp, policy))
    return solve_linear(matrix.T.tocsr(), rho[None])[0]


def solve_linear(matrix: Any, right_sides: FloatArray) -> FloatArray:
    """Solve (I - matrix) x = b for each row of `right_sides` `[M, S]`; `matrix` is discounted and sub-stochastic.

    By sparse factorisation up to 20,000 states, by sweeps to a relative change of 1e-12 above.
    """
    num_states = matrix.shape[0]
    if num_states <= MAX_FACTORISED_STATES:
        identity: Any = sparse.eye_array(num_states, format="csc")
        factor = splu((identity - matrix).tocsc())
        return np.ascontiguousarray(factor.solve(np.ascontiguousarray(right_sides.T)).T)
    solution = np.zeros_like(right_sides)
    residuals = np.empty(len(right_sides))
    arrays = (matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data)
    kernels.evaluate_by_sweeps(*arrays, np.ascontiguousarray(right_sides), solution, SWEEP_TOLERANCE, 10**6, residuals)
    return solution
