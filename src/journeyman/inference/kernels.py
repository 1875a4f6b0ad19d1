"""Compiled log posterior, its gradient, and Hamiltonian moves. Arrays and scalars only.

Letters: S states, A actions, D parameters, K states with data. z is the point in unconstrained space, u = z or Phi(z),
r = offset + F u, V = B^-1 r_pi with B = I - discount P_pi for the optimal policy pi. Rows are discounted and split into
what a state's actions share (common) and what each adds (extra): see `mdp.ordering`.

    log density = sum over data of n(s, a) [beta Q(s, a) - logsumexp_b beta Q(s, b)] - precision |z|^2 / 2

up to a constant; the precision is 1, or less while a search starts from a wider prior. On a region where pi is fixed,
Q is linear in u, so the gradient is one adjoint solve with B^T.
"""

import math
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numba import njit, typeof, types

from journeyman.compiling import CACHE
from journeyman.mdp.krylov import HEAD, MAX_ROUNDS, SplitRows, forget, solve_transposed, solve_values

# With these, rounding depends on how a function was compiled. So such helpers are always inlined (forceinline): else
# one of several compiled copies would be used, and another one in a process that loads code from the cache. As nothing
# else calls them, they need not be callable from Python or C, which takes longer to compile than most of them. Neither
# do they count references, since they allocate nothing, nor look for divisions by zero.
# A sum must not share its loop with anything that is stored: such loops come in two forms, of which one adds up in
# another order, and where arrays lie in memory (is one so near to another that they might overlap?) decides which runs.
FAST = {"reassoc", "contract", "nsz", "arcp"}
SMALL = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "_nrt": False, "error_model": "numpy"}
INLINED = SMALL | {"forceinline": True}
helper = njit(cache=CACHE, nogil=True, fastmath=FAST, **INLINED)
# Views of arrays leave these only: a helper counts no references, and would give a view back once too often.
HOLDING = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "error_model": "numpy"}
holder = njit(cache=CACHE, nogil=True, fastmath=FAST, forceinline=True, **HOLDING)
SLACK = 1e-11  # relative gain below which another action counts as tied, not better
DRIFT = 1e-9  # relative residual of V at which the inverse is computed afresh
MAX_UPDATES = 5000  # rank-1 updates after which the inverse is computed afresh
SWEEP_TOLERANCE = 1e-11  # relative change of V in a sweep that is the last
ADJOINT_TOLERANCE = 1e-11  # part of the adjoint's right side that may be left over
MAX_PENDING = 4  # rank-1 updates that are applied to the inverse together
CHECK_EVERY = 20  # evaluations between looks at the drift
INV_SQRT_2PI = 0.3989422804014327
SQRT_HALF = 0.7071067811865476
LOG2_E = 1.4426950408889634
LN2_HIGH, LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10
MAGIC = 6755399441055744.0  # 1.5 * 2^52
LOWEST = -1e300  # for minus infinity where that is multiplied by 0


class Model(NamedTuple):
    """What kernels need to know about a problem."""

    common_indptr: Any  # [S + 1] rows that all actions of a state share: discounted
    common_next: Any
    common_weights: Any
    extra_indptr: Any  # [S * A + 1] what each action adds
    extra_next: Any
    extra_weights: Any
    first_next: Any  # [A * S] the first entry of what action a adds in state s, at a S + s; weight 0 if there is none
    first_weights: Any
    longer_rows: Any  # rows s A + a that have more entries than the first
    gain: Any  # [S, A] 1 / (1 - discounted chance of staying)
    available: Any  # [S, A]
    missing: Any  # [A * S] 0, or minus infinity where an action is not available
    choice_states: Any  # states where actions can differ
    feature_indptr: Any  # F by rows: [S] if the reward depends on the state only, else [S * A]
    feature_columns: Any
    feature_values: Any
    offset: Any
    beta: Any
    is_state_only: Any
    is_uniform: Any  # u = Phi(z), else u = z
    precision: Any  # of the prior of z


class Data(NamedTuple):
    """Counts at the K states that have any."""

    states: Any  # [K]
    counts: Any  # [K, A]
    totals: Any  # [K]


class Work(NamedTuple):
    """Memory of one thread: the policy, values and inverse of the last point, and scratch."""

    pi: Any  # [S]
    V: Any  # [S]
    inverse: Any  # [S, S], or empty for the sparse engine
    y: Any  # [S] solution of the adjoint
    g: Any  # [S] its right side
    g_reward: Any  # slope of the log likelihood in the reward
    reward: Any
    scratch: Any  # [S]
    u: Any  # [D]
    slope: Any  # [D] du / dz
    q: Any  # [S * A]
    action_values: Any  # [A * S] what tells the actions of a state apart
    num_updates: Any  # [4] since the last inversion: rank-1 updates (-1: no inverse yet), those pending, evaluations;
    # then 1 if nobody wants the work any more: trajectories are given up, and chains not begun
    num_gradients: Any  # [1]
    powers: Any  # [S * A]
    pending: Any  # [2 P, S] columns, then rows, of rank-1 updates that are not in `inverse` yet
    pace: Any  # [1] what steps are multiplied by while the expert's parameters are held: 1 where these are known
    flow: Any  # memory of `mdp.krylov`, empty for the dense engine


@njit(cache=CACHE, nogil=True, fastmath=False, **INLINED)  # said outright: numba would take it over from the caller
def exponentials(x, size, powers):
    """Replace x[:size], at most 0, by exp(x), to within two units of the last digit (below e^-700: e^-700).

    exp(x) = 2^k exp(r) with |r| <= log(2) / 2, exp(r) by its series. Written so that loops become vector instructions,
    which calls to a library do not: adding MAGIC rounds to a whole number k and leaves it in the lowest bits. This only
    works if sums are *not* reordered.
    """
    bits = powers.view(np.int64)
    for i in range(size):
        value = max(x[i], -700.0)
        shifted = value * LOG2_E + MAGIC
        k = shifted - MAGIC
        powers[i] = shifted
        r = value - k * LN2_HIGH - k * LN2_LOW
        p = 1.0 / 479001600.0
        p = p * r + 1.0 / 39916800.0
        p = p * r + 1.0 / 3628800.0
        p = p * r + 1.0 / 362880.0
        p = p * r + 1.0 / 40320.0
        p = p * r + 1.0 / 5040.0
        p = p * r + 1.0 / 720.0
        p = p * r + 1.0 / 120.0
        p = p * r + 1.0 / 24.0
        p = p * r + 1.0 / 6.0
        p = p * r + 0.5
        p = p * r + 1.0
        x[i] = p * r + 1.0
    for i in range(size):
        bits[i] = (bits[i] + 1023) << 52
    for i in range(size):
        x[i] *= powers[i]


@helper
def assign(target, source):
    """Set target `[n]` to source. Written out: for target[:] = source numba compiles an error message, for seconds."""
    for i in range(target.size):
        target[i] = source[i]


@helper
def start_from(work, policy, values):
    """Let `work` start from a policy and values, with nothing else that it may remember of another point."""
    assign(work.pi, policy)
    assign(work.V, values)
    work.y[:] = 0.0
    work.num_updates[0] = -1
    if work.flow.size > 0:
        forget(work.flow)


@helper
def scaled_gaps(model, data, work, V):
    """Set work.q `[A * K]` to beta (Q(s, a) - max_b Q(s, b)) at the states with data, minus infinity if a is missing.

    What the actions of a state share cancels and is left out. Actions come first, states second, here and below, so
    that the inner loops are long and become vector instructions.
    """
    num_states, num_actions = model.available.shape
    num_known = data.states.size
    for a in range(num_actions):
        for i in range(num_known):
            s = np.uintp(a * num_states + data.states[i])
            work.q[a * num_known + i] = (
                model.first_weights[s] * V[np.uintp(model.first_next[s])] + model.missing[s]
            )  # fmt: skip
    if model.longer_rows.size > 0 or not model.is_state_only:
        for a in range(num_actions):
            for i in range(num_known):
                work.q[a * num_known + i] += rest_of_value(model, work, data.states[i], a, V)
    subtract_best(model, data, work)


@helper
def subtract_best(model, data, work):
    """Multiply work.q `[A * K]` by beta, and subtract the best of each state; work.powers is scratch."""
    num_actions, num_known = model.available.shape[1], data.states.size
    for i in range(num_known):
        work.powers[i] = -np.inf
    for a in range(num_actions):
        for i in range(num_known):
            work.q[a * num_known + i] *= model.beta
            work.powers[i] = max(work.powers[i], work.q[a * num_known + i])
    for a in range(num_actions):
        for i in range(num_known):
            work.q[a * num_known + i] -= work.powers[i]


@helper
def log_likelihood_of_gaps(model, data, work):
    """Return the log likelihood from the gaps in work.q, which become exp(gap); work.powers `[K]` gets their sums."""
    num_actions, num_known = model.available.shape[1], data.states.size
    total = 0.0
    for a in range(num_actions):
        for i in range(num_known):
            total += data.counts[i, a] * max(work.q[a * num_known + i], LOWEST)
    exponentials(work.q, num_known * num_actions, work.powers)
    for i in range(num_known):
        work.powers[i] = 0.0
    for a in range(num_actions):
        for i in range(num_known):
            work.powers[i] += work.q[a * num_known + i]
    for i in range(num_known):
        total -= data.totals[i] * math.log(work.powers[i])
    return total


@helper
def gaps_to_slopes(model, data, work):
    """Set work.q `[A * K]` to the slopes of the log likelihood in Q, from what `log_likelihood_of_gaps` leaves."""
    num_actions, num_known = model.available.shape[1], data.states.size
    for i in range(num_known):
        work.powers[i] = data.totals[i] / work.powers[i]
    for a in range(num_actions):
        for i in range(num_known):
            chosen = data.counts[i, a]
            work.q[a * num_known + i] = model.beta * (chosen - work.powers[i] * work.q[a * num_known + i])


@helper
def common_value(model, s, V):
    """Return the part of discount * sum of p(s' | s, a) V(s') that all actions of s share."""
    total = 0.0
    for k in range(model.common_indptr[s], model.common_indptr[s + 1]):
        total += model.common_weights[k] * V[model.common_next[k]]
    return total


@helper
def extra_value(model, s, a, V):
    """Return the part of discount * sum of p(s' | s, a) V(s') that action a adds.

    Mostly a single entry, which lies in arrays of its own: looking up where rows begin takes longer.
    """
    num_states, num_actions = model.available.shape
    first = a * num_states + s
    total = model.first_weights[first] * V[np.uintp(model.first_next[first])]
    if model.longer_rows.size > 0:
        row = s * num_actions + a
        for k in range(model.extra_indptr[row] + 1, model.extra_indptr[row + 1]):
            total += model.extra_weights[k] * V[model.extra_next[k]]
    return total


@helper
def add_extra(model, s, a, amount, target):
    """Add amount * the row that action a adds in s to target."""
    num_states, num_actions = model.available.shape
    first = a * num_states + s
    target[np.uintp(model.first_next[first])] += amount * model.first_weights[first]
    if model.longer_rows.size > 0:
        row = s * num_actions + a
        for k in range(model.extra_indptr[row] + 1, model.extra_indptr[row + 1]):
            target[model.extra_next[k]] += amount * model.extra_weights[k]


@helper
def rest_of_value(model, work, s, a, V):
    """Return what Q(s, a) has besides the first entry: the others of its row, its reward unless actions share it."""
    row = s * model.available.shape[1] + a
    total = 0.0 if model.is_state_only else work.reward[row]
    for k in range(model.extra_indptr[row] + 1, model.extra_indptr[row + 1]):
        total += model.extra_weights[k] * V[model.extra_next[k]]
    return total


@helper
def set_action_values(model, work):
    """Set work.action_values to what tells the actions of a state apart at work.V, work.scratch `[S]` to the best."""
    num_states, num_actions = model.available.shape
    q, best = work.action_values, work.scratch
    for i in range(q.size):
        q[i] = model.first_weights[i] * work.V[np.uintp(model.first_next[i])] + model.missing[i]
    if model.longer_rows.size > 0 or not model.is_state_only:
        for s in range(num_states):
            for a in range(num_actions):
                q[a * num_states + s] += rest_of_value(model, work, s, a, work.V)
    for s in range(num_states):
        best[s] = q[s]
    for a in range(1, num_actions):
        for s in range(num_states):
            best[s] = max(best[s], q[a * num_states + s])


@helper
def improve_policy(model, work, slack):
    """Switch actions until none is better than pi's by more than `slack`; V follows."""
    num_states = work.V.size
    num_switches = 1
    while num_switches > 0 and work.num_updates[3] == 0:  # nobody waits for what `invert` left unfinished
        num_switches = 0
        set_action_values(model, work)
        for i in range(model.choice_states.size):
            s = model.choice_states[i]
            if work.scratch[s] > work.action_values[work.pi[s] * num_states + s] + slack:
                action, gain = better_action(model, work, s, slack)  # V may have moved since
                if action >= 0:
                    switch_action(model, work, s, action, gain)
                    num_switches += 1


@helper
def set_reward(model, z, work):
    """Set work.u, work.slope = du/dz and work.reward from z."""
    for d in range(z.size):
        if model.is_uniform:
            work.u[d] = 0.5 * math.erfc(-SQRT_HALF * z[d])
            work.slope[d] = INV_SQRT_2PI * math.exp(-0.5 * z[d] * z[d])
        else:
            work.u[d] = z[d]
            work.slope[d] = 1.0
    for i in range(model.offset.size):
        r = model.offset[i]
        for k in range(model.feature_indptr[i], model.feature_indptr[i + 1]):
            r += model.feature_values[k] * work.u[model.feature_columns[k]]
        work.reward[i] = r


@helper
def reward_at(model, work, s, a):
    """Return r(s, a)."""
    return work.reward[s] if model.is_state_only else work.reward[s * model.available.shape[1] + a]


@helper
def invert(model, work):
    """Set work.inverse = (I - discount P_pi)^-1 from scratch, by Gauss-Jordan elimination in place.

    The matrix is strictly diagonally dominant by rows, so no pivoting is needed. Written out, because a library's
    inverse may start threads of its own.
    """
    num_states, num_actions = model.available.shape
    B = work.inverse
    for s in range(num_states):
        for j in range(num_states):
            B[s, j] = 0.0
        B[s, s] = 1.0
        for k in range(model.common_indptr[s], model.common_indptr[s + 1]):
            B[s, model.common_next[k]] -= model.common_weights[k]
        row = s * num_actions + work.pi[s]
        for k in range(model.extra_indptr[row], model.extra_indptr[row + 1]):
            B[s, model.extra_next[k]] -= model.extra_weights[k]
    for p in range(num_states):
        if work.num_updates[3] != 0:
            return
        pivot = 1.0 / B[p, p]
        B[p, p] = 1.0
        for j in range(num_states):
            B[p, j] *= pivot
        for i in range(num_states):
            factor = B[i, p]
            if i != p and factor != 0.0:
                B[i, p] = 0.0
                for j in range(num_states):
                    B[i, j] -= factor * B[p, j]
    for i in range(3):
        work.num_updates[i] = 0


@helper
def apply_inverse(model, work):
    """Set V = (inverse + pending updates) r_pi and return max |V|."""
    num_states = work.V.size
    r_pi = work.scratch
    for s in range(num_states):
        r_pi[s] = reward_at(model, work, s, work.pi[s])
    for s in range(num_states):
        total = 0.0
        for j in range(num_states):
            total += work.inverse[s, j] * r_pi[j]
        work.V[s] = total
    for k in range(work.num_updates[1]):
        total = 0.0
        for j in range(num_states):
            total += work.pending[MAX_PENDING + k, j] * r_pi[j]
        for s in range(num_states):
            work.V[s] += work.pending[k, s] * total
    largest = 0.0
    for s in range(num_states):
        largest = max(largest, abs(work.V[s]))
    return largest


@helper
def apply_pending(work):
    """Put the pending updates into the inverse, four at a time so that each row is read and written once for them."""
    num_states = work.V.size
    num_pending = work.num_updates[1]
    for k in range(num_pending, -(-num_pending // 4) * 4):
        work.pending[k] = 0.0
        work.pending[MAX_PENDING + k] = 0.0
    for k in range(0, num_pending, 4):
        for i in range(num_states):
            c0, c1, c2, c3 = work.pending[k, i], work.pending[k + 1, i], work.pending[k + 2, i], work.pending[k + 3, i]
            if c0 != 0.0 or c1 != 0.0 or c2 != 0.0 or c3 != 0.0:
                for j in range(num_states):
                    work.inverse[i, j] += (
                        c0 * work.pending[MAX_PENDING + k, j]
                        + c1 * work.pending[MAX_PENDING + k + 1, j]
                        + c2 * work.pending[MAX_PENDING + k + 2, j]
                        + c3 * work.pending[MAX_PENDING + k + 3, j]
                    )
    work.num_updates[1] = 0


@helper
def add_inverse_row(work, n, weight, out):
    """Add weight times row n of the inverse, pending updates included, to out."""
    for j in range(out.size):
        out[j] += weight * work.inverse[n, j]
    for k in range(work.num_updates[1]):
        factor = weight * work.pending[k, n]
        if factor != 0.0:
            for j in range(out.size):
                out[j] += factor * work.pending[MAX_PENDING + k, j]


@helper
def switch_action(model, work, s, a, advantage):
    """Let pi(s) = a: a rank-1 update of the inverse (Sherman-Morrison), and V moves along its new column s.

    The update is kept as a column and a row; several are applied together.
    """
    num_states, num_actions = model.available.shape
    if work.num_updates[1] == MAX_PENDING:
        apply_pending(work)
    num_pending = work.num_updates[1]
    column, change = work.pending[num_pending], work.pending[MAX_PENDING + num_pending]
    for j in range(num_states):
        column[j] = work.inverse[j, s]
        change[j] = 0.0
    for k in range(num_pending):
        factor = work.pending[MAX_PENDING + k, s]
        if factor != 0.0:
            for j in range(num_states):
                column[j] += factor * work.pending[k, j]
    for side in range(2):  # the new action's row, then minus the old one's
        row, sign = (s * num_actions + a, 1.0) if side == 0 else (s * num_actions + work.pi[s], -1.0)
        for k in range(model.extra_indptr[row], model.extra_indptr[row + 1]):
            add_inverse_row(work, model.extra_next[k], sign * model.extra_weights[k], change)
    scale = 1.0 / (1.0 - change[s])
    for j in range(num_states):
        change[j] *= scale
        work.V[j] += column[j] * scale * advantage
    work.pi[s] = a
    work.num_updates[0] += 1
    work.num_updates[1] = num_pending + 1


@helper
def residual_of_policy(model, work):
    """Return max over s of |r_pi + discount P_pi V - V|: how far the inverse has drifted."""
    residual = 0.0
    for s in range(work.V.size):
        a = work.pi[s]
        q = reward_at(model, work, s, a) + common_value(model, s, work.V) + extra_value(model, s, a, work.V)
        residual = max(residual, abs(q - work.V[s]))
    return residual


@helper
def better_action(model, work, s, slack):
    """Return (action, what it has over pi(s)) for the best action of s, or (-1, 0) if pi(s) is within `slack` of it.

    What all actions share is left out.
    """
    num_actions = model.available.shape[1]
    best, best_action, kept = -np.inf, -1, -np.inf
    for a in range(num_actions):
        if model.available[s, a]:
            q = extra_value(model, s, a, work.V)
            if not model.is_state_only:
                q += work.reward[s * num_actions + a]
            if q > best:
                best, best_action = q, a
            if a == work.pi[s]:
                kept = q
    return (best_action, best - kept) if best > kept + slack else (-1, 0.0)


@holder
def split_rows(model):
    """Return the rows of a model as the solvers of large problems take them."""
    return SplitRows(
        model.common_indptr, model.common_next, model.common_weights, model.extra_indptr, model.extra_next,
        model.extra_weights, model.first_next, model.first_weights, model.longer_rows.size > 0, model.gain,
        model.available,
    )  # fmt: skip


@holder
def settle_values(model, work):
    """Large problems: make V optimal for work.reward, from the last V, and pi greedy; returns whether it settled."""
    for i in range(1, HEAD):  # all but whether states are in order is counted anew
        work.flow[i] = 0.0
    return solve_values(
        split_rows(model), work.reward, work.V, work.pi, work.flow, SWEEP_TOLERANCE, 0.0, MAX_ROUNDS, work.num_updates
    )


@helper
def solve_adjoint_dense(work):
    """Set work.y = (inverse + pending updates)^T g; rows of the inverse where g is zero are skipped."""
    num_states = work.y.size
    work.y[:] = 0.0
    for s in range(num_states):
        g = work.g[s]
        if g != 0.0:
            for j in range(num_states):
                work.y[j] += g * work.inverse[s, j]
    for k in range(work.num_updates[1]):
        total = 0.0
        for s in range(num_states):
            total += work.pending[k, s] * work.g[s]
        for j in range(num_states):
            work.y[j] += total * work.pending[MAX_PENDING + k, j]


@helper
def push(model, pi, s, amount, target):
    """Add amount * discount P_pi(s, .) to target."""
    for k in range(model.common_indptr[s], model.common_indptr[s + 1]):
        target[model.common_next[k]] += model.common_weights[k] * amount
    row = s * model.available.shape[1] + pi[s]
    for k in range(model.extra_indptr[row], model.extra_indptr[row + 1]):
        target[model.extra_next[k]] += model.extra_weights[k] * amount


@holder
def solve_adjoint_sparse(model, work):
    """Set work.y with (I - discount P_pi)^T y = g, from the y of the last point; returns whether it came so far."""
    return solve_transposed(
        split_rows(model), work.V, work.pi, work.g, work.y, work.flow, ADJOINT_TOLERANCE, MAX_ROUNDS, work.num_updates
    )


@helper
def add_slopes(model, data, work):
    """Add the slopes in Q of `data`, which are in work.q, to work.g and work.g_reward."""
    num_actions, num_known = model.available.shape[1], data.states.size
    for a in range(num_actions):
        for i in range(num_known):
            add_extra(model, data.states[i], a, work.q[a * num_known + i], work.g)
    if not model.is_state_only:
        for a in range(num_actions):
            for i in range(num_known):
                s = data.states[i]
                if model.available[s, a]:
                    work.g_reward[s * num_actions + a] += work.q[a * num_known + i]


@helper
def set_likelihood_slopes(model, data, work):
    """Return the log likelihood at work.V; set work.g and work.g_reward, its slopes in V and the reward.

    Everything that the actions of a state share cancels.
    """
    work.g[:] = 0.0
    work.g_reward[:] = 0.0
    scaled_gaps(model, data, work, work.V)
    log_likelihood = log_likelihood_of_gaps(model, data, work)
    gaps_to_slopes(model, data, work)
    add_slopes(model, data, work)
    return log_likelihood


@helper
def set_gradient(model, work, z, gradient):
    """Set `gradient` `[D]` in z, from the slopes in the reward and the adjoint; return the log density of z."""
    num_states, num_actions = model.available.shape
    for s in range(num_states):
        work.g_reward[s if model.is_state_only else s * num_actions + work.pi[s]] += work.y[s]
    return set_reward_gradient(model, work, z, gradient)


@helper
def set_reward_gradient(model, work, z, gradient):
    """Set `gradient` `[D]` in z from the whole slopes in the reward; return the log density of z."""
    gradient[:] = 0.0
    for i in range(model.offset.size):
        g = work.g_reward[i]
        if g != 0.0:
            for k in range(model.feature_indptr[i], model.feature_indptr[i + 1]):
                gradient[model.feature_columns[k]] += g * model.feature_values[k]
    log_density = 0.0
    for d in range(z.size):
        log_density -= 0.5 * z[d] * z[d]
    for d in range(z.size):
        gradient[d] = gradient[d] * work.slope[d] - z[d]
    if model.precision != 1.0:  # apart from the loop above, whose rounding must not change
        for d in range(z.size):
            gradient[d] += (1.0 - model.precision) * z[d]
        log_density *= model.precision
    return log_density


@helper
def follow_policy(model, work):
    """Make pi, V and the inverse, which are those of the last point, fit work.reward."""
    must_invert = work.num_updates[0] < 0 or work.num_updates[0] > MAX_UPDATES
    while True:
        if must_invert:
            invert(model, work)
        largest = apply_inverse(model, work)
        improve_policy(model, work, SLACK * largest)
        work.num_updates[2] += 1
        if must_invert or work.num_updates[2] % CHECK_EVERY != 0:
            break
        must_invert = residual_of_policy(model, work) > DRIFT * largest
        if not must_invert:
            break


@njit(cache=CACHE, nogil=True, fastmath=FAST, forceinline=True)
def dense_gradient(model, data, work, z, gradient):
    """Small problems: return the log density at z, up to a constant, and set `gradient`.

    work keeps pi, V and the inverse for the next point, where they are made to fit the reward again.
    """
    set_reward(model, z, work)
    follow_policy(model, work)
    work.num_gradients[0] += 1
    log_likelihood = set_likelihood_slopes(model, data, work)
    solve_adjoint_dense(work)
    return log_likelihood + set_gradient(model, work, z, gradient)


@njit(cache=CACHE, nogil=True, fastmath=FAST, forceinline=True)
def sparse_gradient(model, data, work, z, gradient):
    """Large problems: as `dense_gradient`, by the iterations of `mdp.krylov` from the V and y of the last point.

    NaN where they did not converge: samplers count that as a rejection, and report it.
    """
    set_reward(model, z, work)
    has_converged = settle_values(model, work)
    work.num_gradients[0] += 1
    log_likelihood = set_likelihood_slopes(model, data, work)
    has_converged &= solve_adjoint_sparse(model, work)
    log_density = log_likelihood + set_gradient(model, work, z, gradient)
    return log_density if has_converged else np.nan


class GradientFunction(types.WrapperAddressProtocol):  # type: ignore[misc]
    """A compiled gradient to hand to the kernels below: they call this code instead of each holding a copy of it.

    So it is compiled once, not once per kernel, and rounds alike wherever it is called.
    """

    def __init__(self, kernel: Any, argument_types: tuple[Any, ...]) -> None:
        self.kernel, self.argument_types = kernel, argument_types
        self.kernel.compile(argument_types)
        self._compiled = self.kernel.overloads[argument_types]

    def __call__(self, *arguments: Any) -> float:
        """Return the log density, as from a kernel."""
        return float(self.kernel(*arguments))

    def __reduce__(self) -> Any:
        function = self.kernel.py_func
        return _restored_gradient, (function.__module__, function.__name__, self.argument_types)

    def __wrapper_address__(self) -> int:
        wrapper_name = self._compiled.fndesc.llvm_cfunc_wrapper_name
        return int(self._compiled.library.get_pointer_to_function(wrapper_name))

    def signature(self) -> Any:
        """Return the types that it takes and returns; numba asks for them."""
        return self._compiled.signature


def _restored_gradient(module: str, name: str, argument_types: tuple[Any, ...]) -> GradientFunction:
    return GradientFunction(getattr(import_module(module), name), argument_types)


def gradient_function(kernel: Any, *arguments: Any) -> GradientFunction:
    """Return a gradient kernel, such as `dense_gradient`, compiled for such arguments."""
    return GradientFunction(kernel, tuple(typeof(argument) for argument in arguments))


@helper
def stretched(vector, stretch):
    """Return the factor f with (I + stretch stretch^T) vector = vector + f stretch."""
    total = 0.0
    for d in range(vector.size):
        total += stretch[d] * vector[d]
    return total


@helper
def kick(momentum, gradient, scales, stretch, step):
    """Add step (I + stretch stretch^T) scales gradient to the momentum."""
    total = 0.0
    for d in range(momentum.size):
        total += stretch[d] * scales[d] * gradient[d]
    for d in range(momentum.size):
        momentum[d] += step * (scales[d] * gradient[d] + total * stretch[d])


@helper
def hmc_trajectory(
    gradient_fn,
    model,
    data,
    work,
    z,
    log_density,
    gradient,
    momentum,
    scales,
    stretch,
    step,
    num_steps,
    z_new,
    gradient_new,
):
    """Leapfrog from z with momentum `[D]` (standard normal): dz = scales (I + stretch stretch^T) momentum dt.

    `scales` `[D]` are of the parameters, `stretch` `[D]` lengthens moves in one direction more; zeros for none. Sets
    z_new and gradient_new; returns (log density there, change of energy), the latter infinite after a divergence.
    """
    dimension = z.size
    assign(z_new, z)
    assign(gradient_new, gradient)
    kinetic = 0.0
    for d in range(dimension):
        kinetic += 0.5 * momentum[d] * momentum[d]
    start = kinetic - log_density
    current = log_density
    for _ in range(num_steps):
        if work.num_updates[3] != 0:
            return current, np.inf
        kick(momentum, gradient_new, scales, stretch, 0.5 * step)
        factor = stretched(momentum, stretch)
        for d in range(dimension):
            z_new[d] += step * scales[d] * (momentum[d] + factor * stretch[d])
        current = gradient_fn(model, data, work, z_new, gradient_new)
        kick(momentum, gradient_new, scales, stretch, 0.5 * step)
        kinetic = 0.0
        for d in range(dimension):
            kinetic += 0.5 * momentum[d] * momentum[d]
        if not (kinetic - current - start < 1000.0):
            return current, np.inf
    return current, kinetic - current - start


@njit(cache=CACHE, nogil=True, no_cfunc_wrapper=True)
def move_chains(
    gradient_fn,
    model,
    data,
    work,
    positions,
    values,
    policies,
    momenta,
    uniforms,
    scales,
    stretch,
    steps,
    num_steps,
    shifts,
    shift_uniforms,
    kept_positions,
    kept_values,
    kept_policies,
    acceptance,
):
    """Run M chains of P Hamiltonian moves, keeping every state: positions `[M, D]` give the starts.

    Each chain starts from its own policy with a fresh inverse, so that nothing depends on what the thread did before.
    momenta `[M, P, D]`, uniforms, steps, num_steps `[M, P]`; sets kept_* `[M, P, ...]` and `acceptance` `[M, P]`, the
    chances of acceptance. A trajectory that diverges or meets a NaN is rejected.

    Trajectories that hold the last E parameters, whose scales are 0, have steps for the pace at their start, and are
    followed by Metropolis moves of these by shifts `[M, P, R, E]`, one after the other; E is 0 if none are held.
    """  # fmt: skip
    num_chains, num_moves, dimension = momenta.shape
    num_held, num_shifts = shifts.shape[3], shifts.shape[2] * shifts.shape[3]
    z, gradient = np.empty(dimension), np.empty(dimension)
    z_new, gradient_new = np.empty(dimension), np.empty(dimension)
    V, pi = np.empty(values.shape[1]), np.empty(values.shape[1], dtype=np.int64)
    for c in range(num_chains):
        if work.num_updates[3] != 0:
            return
        assign(z, positions[c])
        start_from(work, policies[c], values[c])
        log_density = gradient_fn(model, data, work, z, gradient)
        assign(V, work.V)
        assign(pi, work.pi)
        pace = work.pace[0]
        for m in range(num_moves):
            for i in range(num_shifts + 1):
                if i == 0:
                    end, energy_change = hmc_trajectory(
                        gradient_fn, model, data, work, z, log_density, gradient, momenta[c, m], scales, stretch,
                        steps[c, m] * pace, max(1, round(num_steps[c, m] / pace)), z_new, gradient_new,
                    )  # fmt: skip
                    uniform = uniforms[c, m]
                else:
                    r, e = divmod(i - 1, num_held)
                    assign(z_new, z)
                    z_new[dimension - num_held + e] += shifts[c, m, r, e]
                    end = gradient_fn(model, data, work, z_new, gradient_new)
                    energy_change, uniform = log_density - end, shift_uniforms[c, m, r, e]
                chance = math.exp(min(0.0, -energy_change)) if energy_change == energy_change else 0.0
                if i == 0:
                    acceptance[c, m] = chance
                if uniform < chance:
                    assign(z, z_new)
                    assign(gradient, gradient_new)
                    log_density = end
                    assign(V, work.V)
                    assign(pi, work.pi)
                    pace = work.pace[0]
                elif chance == 0.0:  # what work holds may not be numbers
                    start_from(work, pi, V)
            assign(kept_positions[c, m], z)
            assign(kept_values[c, m], V)
            assign(kept_policies[c, m], pi)


@njit(cache=CACHE, nogil=True, no_cfunc_wrapper=True)
def log_likelihoods(model, data, work, positions, values, out):
    """Fill `out` `[N]` with the log likelihood of `data` at positions `[N, D]` whose optimal values are known."""
    for i in range(positions.shape[0]):
        if not model.is_state_only:
            set_reward(model, positions[i], work)
        scaled_gaps(model, data, work, values[i])
        out[i] = log_likelihood_of_gaps(model, data, work)


@njit(cache=CACHE, nogil=True, no_cfunc_wrapper=True)
def evaluate_many(gradient_fn, model, data, work, positions, log_densities, gradients, values, policies):
    """Log density, gradient, V and pi at each of `positions` `[N, D]`; each starts from its values and policies."""
    for i in range(positions.shape[0]):
        if work.num_updates[3] != 0:
            return
        start_from(work, policies[i], values[i])
        log_densities[i] = gradient_fn(model, data, work, positions[i], gradients[i])
        assign(values[i], work.V)
        assign(policies[i], work.pi)


@njit(cache=CACHE, nogil=True, no_cfunc_wrapper=True)
def log_density_gradient_packed(header, ints, floats, next_states, available, z, gradient):
    """`dense_gradient` or `sparse_gradient` on the flat arrays of `packing.pack`, whose order of fields this repeats.

    It holds copies of them: to look up a GradientFunction takes ten times as long as a gradient.
    """
    num_states, num_actions = available.shape
    num_inverse = num_states if header[2] == 1 else 0
    states = ints[header[9] : header[10]]
    model = Model(
        ints[header[3] : header[4]],  # common_indptr
        next_states[header[39] : header[40]],  # common_next
        floats[header[14] : header[15]],  # common_weights
        ints[header[4] : header[5]],  # extra_indptr
        next_states[header[40] : header[41]],  # extra_next
        floats[header[15] : header[16]],  # extra_weights
        next_states[header[41] : header[42]],  # first_next
        floats[header[16] : header[17]],  # first_weights
        ints[header[5] : header[6]],  # longer_rows
        floats[header[17] : header[18]].reshape(available.shape),  # gain
        available,  # available
        floats[header[18] : header[19]],  # missing
        ints[header[6] : header[7]],  # choice_states
        ints[header[7] : header[8]],  # feature_indptr
        ints[header[8] : header[9]],  # feature_columns
        floats[header[19] : header[20]],  # feature_values
        floats[header[20] : header[21]],  # offset
        floats[0],  # beta
        header[0] == 1,  # is_state_only
        header[1] == 1,  # is_uniform
        floats[1],  # precision
    )
    data = Data(
        states,  # states
        floats[header[21] : header[22]].reshape((states.size, num_actions)),  # counts
        floats[header[22] : header[23]],  # totals
    )
    work = Work(
        ints[header[10] : header[11]],  # pi
        floats[header[23] : header[24]],  # V
        floats[header[24] : header[25]].reshape((num_inverse, num_inverse)),  # inverse
        floats[header[25] : header[26]],  # y
        floats[header[26] : header[27]],  # g
        floats[header[27] : header[28]],  # g_reward
        floats[header[28] : header[29]],  # reward
        floats[header[29] : header[30]],  # scratch
        floats[header[30] : header[31]],  # u
        floats[header[31] : header[32]],  # slope
        floats[header[32] : header[33]],  # q
        floats[header[33] : header[34]],  # action_values
        ints[header[11] : header[12]],  # num_updates
        ints[header[12] : header[13]],  # num_gradients
        floats[header[34] : header[35]],  # powers
        floats[header[35] : header[36]].reshape((2 * MAX_PENDING, num_states)),  # pending
        floats[header[36] : header[37]],  # pace
        floats[header[37] : header[38]],  # flow
    )
    if header[2] == 1:
        return dense_gradient(model, data, work, z, gradient)
    return sparse_gradient(model, data, work, z, gradient)


@njit(cache=CACHE, nogil=True, fastmath=False)
def tune_step(tuning, acceptance):
    """Learn from the acceptance of a trajectory by dual averaging (Hoffman and Gelman 2014).

    `tuning` holds log step, its running average, average shortfall of acceptance, draws so far, wanted acceptance, and
    the log step that the search leans to. The step is kept if the wanted acceptance is 0.
    """
    if tuning[4] > 0.0:
        tuning[3] += 1.0
        share = 1.0 / (tuning[3] + 10.0)
        tuning[2] = (1.0 - share) * tuning[2] + share * (tuning[4] - acceptance)
        tuning[0] = tuning[5] - math.sqrt(tuning[3]) / 0.05 * tuning[2]
        share = tuning[3] ** -0.75
        tuning[1] = share * tuning[0] + (1.0 - share) * tuning[1]


@njit(cache=CACHE, nogil=True, no_cfunc_wrapper=True)
def hmc_chain(
    gradient_fn, model, data, work, z, momenta, uniforms, lengths, scales, stretch, tuning, max_leapfrog, kept, stats
):
    """Run one Hamiltonian chain from z `[D]`, which is moved along, for as many draws as there are momenta `[N, D]`.

    Trajectories have `lengths` `[N]` in units of `scales` and `stretch` `[D]`, and at most `max_leapfrog` steps.
    `tuning` is that of `tune_step`. Fills `kept` `[N, D]` and `stats` `[N, 6]`: log density, acceptance chance, step,
    leapfrog steps, energy, and whether the trajectory diverged. A divergence counts as a rejection.
    """
    dimension = z.size
    gradient, z_new, gradient_new = np.empty(dimension), np.empty(dimension), np.empty(dimension)
    log_density = gradient_fn(model, data, work, z, gradient)
    values, policy = np.empty(work.V.size), np.empty(work.pi.size, dtype=np.int64)
    assign(values, work.V)
    assign(policy, work.pi)
    for i in range(momenta.shape[0]):
        step = math.exp(tuning[0])
        num_steps = int(min(max(1.0, np.rint(lengths[i] / step)), max_leapfrog))
        energy = -log_density
        for d in range(dimension):
            energy += 0.5 * momenta[i, d] * momenta[i, d]
        end, energy_change = hmc_trajectory(
            gradient_fn,
            model,
            data,
            work,
            z,
            log_density,
            gradient,
            momenta[i],
            scales,
            stretch,
            step,
            num_steps,
            z_new,
            gradient_new,
        )
        is_diverging = not (energy_change < 1000.0)
        acceptance = 0.0 if is_diverging else math.exp(min(0.0, -energy_change))
        if uniforms[i] < acceptance:
            assign(z, z_new)
            assign(gradient, gradient_new)
            log_density = end
            assign(values, work.V)
            assign(policy, work.pi)
        elif is_diverging:  # what work holds may not be numbers
            start_from(work, policy, values)
        assign(kept[i], z)
        stats[i, 0] = log_density
        stats[i, 1] = acceptance
        stats[i, 2] = step
        stats[i, 3] = num_steps
        stats[i, 4] = energy
        stats[i, 5] = is_diverging
        tune_step(tuning, acceptance)
