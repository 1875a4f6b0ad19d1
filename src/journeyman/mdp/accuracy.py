"""How exact optimal values are: bounds on their numerical error, for each reward and state.

Let V be values that some algorithm found, Q = r + discount P V as computed from them, and e(s, a) the rounding of Q,

    e(s, a) <= (4 + entries of a row) 2^-52 (|r(s, a)| + discount P |V| (s, a) + |V(s)|)   (+ the error of r itself).

With the residual |max_a Q(s, a) - V(s)|, let d(s) = residual(s) + max e(s, a) over the actions that may be optimal.
Then |V - V*| <= U for every U with

    U(s) >= d(s) + discount max over the actions that may be optimal of sum over s' of p(s' | s, a) U(s'),

since both the optimal policy and the greedy one of V keep to these actions. The constant max d / (1 - discount) is one
such U; it also says which actions may be optimal, those within 2 U of the best. The smallest U solves an MDP with
rewards d. There a huge cost of a state, or of an action, leaves the bounds of those who avoid it as small as they
are without it.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from journeyman.mdp import kernels
from journeyman.mdp.model import FiniteMDP
from journeyman.mdp.ordering import shared_rows_of
from journeyman.mdp.solvers import backup, solve_batch
from journeyman.mdp.validation import ROUNDING
from journeyman.threads import check_stop, default_num_threads, run_chunks
from journeyman.types import AnyArray, BoolArray, FloatArray

MAX_ENTRIES = 4_000_000  # numbers held at once
MAX_SHARPENED_STATES = 20_000  # above, the constant bound has to do: to sharpen it takes as long as to solve
WORTH_SHARPENING = 1e-10  # of the usual size of values: a constant bound below it needs not be made smaller


class Accuracy(NamedTuple):
    """What is known about the error of values `[M, S]`.

    best `[M, S]`: max_a Q(s, a), computed from the values; local `[M, S]`: its residual and rounding, d(s) above;
    values `[M, S]`: guaranteed |V - V*|. Q of each action that may be optimal is within `values` of its exact number.
    """

    best: FloatArray
    local: FloatArray
    values: FloatArray


def relative_rounding(mdp: FiniteMDP) -> float:
    """Return the rounding error of a sum over a row of transitions, relative to the sizes of its terms."""
    return float(2.0**-52 * (4 + int(np.diff(mdp.rows.indptr).max(initial=0))))


def accuracy_of(
    mdp: FiniteMDP, rewards: FloatArray, values: FloatArray, reward_errors: FloatArray | None = None
) -> Accuracy:
    """Return bounds on the error of values `[M, S]` that should be optimal for rewards `[M, S]` or `[M, S, A]`.

    reward_errors: of the rewards themselves, in their shape, if they are known less exactly than a number can be.
    """
    batch = rewards[:, :, None] if rewards.ndim == 2 else rewards
    errors = np.zeros_like(batch) if reward_errors is None else reward_errors.reshape(batch.shape)
    results = Accuracy(*(np.empty(values.shape) for _ in Accuracy._fields))
    size = max(1, MAX_ENTRIES // (mdp.num_states * mdp.num_actions))
    for start in range(0, len(values), size):
        at = slice(start, start + size)
        for result, part in zip(results, _bounds(mdp, batch[at], values[at], errors[at]), strict=True):
            result[at] = part
    return results


def _bounds(mdp: FiniteMDP, rewards: FloatArray, values: FloatArray, errors: FloatArray) -> Accuracy:
    contraction = mdp.discount * mdp.max_row_sum * (1.0 + ROUNDING)
    q, scale = backup(mdp, rewards, values), relative_rounding(mdp)
    sizes = backup(mdp, np.abs(rewards), np.abs(values))
    best, own = q.max(axis=2), np.abs(values)
    residual = np.abs(best - values) + scale * own
    local = residual + scale * sizes.max(axis=2) + errors.max(axis=2)
    widest = local.max(axis=1) / (1.0 - contraction)
    bounds = np.repeat(widest[:, None], mdp.num_states, axis=1)
    uneven = np.flatnonzero(widest > WORTH_SHARPENING * np.median(own, axis=1))
    if uneven.size and mdp.num_states <= MAX_SHARPENED_STATES:
        may_be_optimal = q[uneven] >= best[uneven, :, None] - 2.0 * widest[uneven, None, None]
        rounding = np.where(may_be_optimal, scale * sizes[uneven] + errors[uneven], 0.0)
        local[uneven] = residual[uneven] + rounding.max(axis=2)
        bounds[uneven] = _sharpened(mdp, local[uneven], may_be_optimal, widest[uneven])
    return Accuracy(best, local, bounds)


def _sharpened(mdp: FiniteMDP, local: FloatArray, may_be_optimal: BoolArray, widest: FloatArray) -> FloatArray:
    """Return the smallest U: the optimal values of rewards d(s), where actions that cannot be optimal cost too much."""
    rewards = np.where(may_be_optimal, local[:, :, None], -2.0 * widest[:, None, None])
    solution = solve_batch(mdp, rewards, num_threads=1)
    return np.asarray(np.minimum(solution.values + solution.error_bound[:, None], widest[:, None]))


class Looked(NamedTuple):
    """What one look through the states of a large world gives for each reward, `[M]` each.

    value_errors: guaranteed |V - V*| in any state; regrets: sum over states of visits times immediate regret; errors:
    of these, by residuals and rounding; largest: immediate regret of a state that is visited.
    """

    value_errors: FloatArray
    regrets: FloatArray
    errors: FloatArray
    largest: FloatArray


def look_through(
    mdp: FiniteMDP,
    reward_fn: Callable[[int], FloatArray],
    values: AnyArray,
    reward_errors: FloatArray,
    probabilities: FloatArray | None = None,
    visits: FloatArray | None = None,
) -> Looked:
    """Do what `accuracy_of` does, one reward at a time and compiled, so that nothing of their number is held.

    Parameters
    ----------
    reward_fn
        Gives reward m, `[S]` or `[S, A]`.
    values
        `[M, S]`, in any precision: they are taken as they are.
    reward_errors
        `[M]` of the rewards, in any state.
    probabilities, visits
        `[S, A]` of a policy, and its discounted visits `[S]`; default: regrets are 0.
    """
    rows = shared_rows_of(mdp)
    if probabilities is None or visits is None:
        probabilities, visits = np.zeros(mdp.available.shape), np.zeros(mdp.num_states)
    rounding = relative_rounding(mdp) + 4.0 * 2.0**-52  # rows are split in two
    found = np.empty((len(values), 4))

    def look(part: range) -> None:
        for m in part:
            reward = np.ascontiguousarray(reward_fn(m)).reshape(mdp.num_states, -1)
            kernels.look_through(
                *rows.common, *rows.extra, mdp.available, reward, values[m], rounding, reward_errors[m],
                probabilities, visits, found[m],
            )  # fmt: skip
            check_stop()

    run_chunks(look, len(values), default_num_threads(), 1)
    contraction = mdp.discount * mdp.max_row_sum * (1.0 + ROUNDING)
    return Looked(found[:, 0] / (1.0 - contraction), found[:, 1], found[:, 2], found[:, 3])
