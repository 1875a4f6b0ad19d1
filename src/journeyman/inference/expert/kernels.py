"""Compiled gradients for experts with parameters that are not known, lapses, soft values, or several annotators.

As `inference.kernels`, whose helpers these use, with D reward parameters and E of the expert: z `[D + E]`. Letters:
G annotators, each with beta and lapse of its own (G = 1 where there are none). With gaps x_a = beta (Q_a - max_b Q_b),
the careful policy p = softmax(x) and m_a = (1 - lapse) p_a + lapse / (number of available actions),

    log likelihood = sum of n_a log m_a,    w_a = n_a (1 - lapse) p_a / m_a,    W = sum of w_a,
    slope in Q_a   = beta (w_a - p_a W),    in log beta = sum of x_a (w_a - p_a W),
    slope in lapse = sum of n_a (1 / number - p_a) / m_a.

Soft values answer to reward and beta through (I - discount P_p) dV = sum of p_a dr_a - H(p) d(log beta) / beta, with
the entropy H of the softmax policy p: so the adjoint is solved with that policy instead of the optimal one.
"""

import math
from collections import namedtuple
from typing import Any

import numpy as np
from numba import njit

from journeyman.compiling import CACHE
from journeyman.experts.priors import NUM_NODES, REACH
from journeyman.inference.kernels import (
    FAST,
    LOWEST,
    Data,
    Model,
    Work,
    add_slopes,
    exponentials,
    follow_policy,
    helper,
    scaled_gaps,
    set_gradient,
    set_reward,
    set_reward_gradient,
    settle_values,
    solve_adjoint_dense,
    solve_adjoint_sparse,
)
from journeyman.mdp.kernels import eliminate, soft_values, solve_eliminated_transposed

STEP = 2.0 * REACH / (NUM_NODES - 1)
# Views of arrays are made in these and in kernels only: a helper counts no references, and a view that leaves it would
# be given back once too often.
holder = njit(
    cache=CACHE,
    nogil=True,
    fastmath=FAST,
    forceinline=True,
    no_cpython_wrapper=True,
    no_cfunc_wrapper=True,
    error_model="numpy",
)
SLOWEST, FASTEST = 0.5, 2.0  # paces
SMALLEST = 1e-300  # chance whose logarithm is still a number


def _extended(name: str, base: Any, fields: tuple[str, ...]) -> Any:
    """Return a NamedTuple with more fields than another has: code that reads the others takes it too."""
    return namedtuple(name, [*base._fields, *fields], module=__name__)


ExpertModel = _extended(  # `beta` is 1: each annotator may have another
    "ExpertModel",
    Model,
    (
        "num_rewards",  # D
        "num_groups",  # G
        "tables",  # [parameters of one annotator, nodes, 2] maps from z to log beta and logit lapse
        "beta_index",  # of beta among them, or -1 if it is known
        "lapse_index",
        "known_beta",
        "known_lapse",
        "has_lapse",  # False: the lapse is known to be 0
        "num_available",  # [S]
        "row_indptr",  # rows s A + a, neither discounted nor split
        "row_next",
        "row_probabilities",
        "discount",
        "terminal",
        "usual_beta",  # that the steps of trajectories are for, or 0 if they are for all
    ),
)
ExpertData = _extended(
    "ExpertData",
    Data,
    (
        "group_indptr",  # [G + 1] where the data of each annotator begin
        "group_shares",  # [G] parts of all answers
    ),
)
ExpertWork = _extended(
    "ExpertWork",
    Work,
    (
        "parameters",  # [G, 2] beta and lapse
        "link_slopes",  # [E] slopes in z of log beta and logit lapse
        "slopes",  # [G, 2] of the log likelihood in log beta and in the lapse
        "gaps",  # [A * K]
        "policy",  # [S, A] softmax of soft values
        "elimination",  # of I - discount P_policy
    ),
)


@helper
def look_up(table, z):
    """Return the value and slope of a map at z: cubic between nodes, straight beyond them."""
    inside = min(max(z, -REACH), REACH)
    place = (inside + REACH) / STEP
    k = min(int(place), NUM_NODES - 2)
    t = place - k
    y0, m0, rise = table[k, 0], STEP * table[k, 1], table[k + 1, 0] - table[k, 0]
    m1 = STEP * table[k + 1, 1]
    c2, c3 = 3.0 * rise - 2.0 * m0 - m1, m0 + m1 - 2.0 * rise
    slope = (m0 + t * (2.0 * c2 + 3.0 * t * c3)) / STEP
    return y0 + t * (m0 + t * (c2 + t * c3)) + slope * (z - inside), slope


@helper
def set_parameters(model, z, work):
    """Set beta and lapse of each annotator, and the slopes of their maps, from the end of z."""
    num_own = model.tables.shape[0]
    for g in range(model.num_groups):
        work.parameters[g, 0] = model.known_beta
        work.parameters[g, 1] = model.known_lapse
        for e in range(num_own):
            value, slope = look_up(model.tables[e], z[model.num_rewards + g * num_own + e])
            work.link_slopes[g * num_own + e] = slope
            if e == model.beta_index:
                work.parameters[g, 0] = math.exp(value)
            else:
                work.parameters[g, 1] = 1.0 / (1.0 + math.exp(-value))


@helper
def set_pace(model, data, work):
    """Set work.pace: how much longer than usual steps may be, as the curvature of the likelihood goes with beta^2."""
    if model.usual_beta == 0.0:
        return
    square = 0.0
    for g in range(model.num_groups):
        square += data.group_shares[g] * work.parameters[g, 0] ** 2
    work.pace[0] = min(max(model.usual_beta / math.sqrt(square), SLOWEST), FASTEST)


@helper
def set_gaps(model, data, work, beta, V):
    """Set work.q and work.gaps `[A * K]` to beta (Q - max Q) at the states with data of one annotator."""
    scaled_gaps(model, data, work, V)
    for i in range(model.available.shape[1] * data.states.size):
        work.q[i] *= beta
        work.gaps[i] = max(work.q[i], LOWEST)  # not infinite: it is multiplied by 0


@helper
def group_log_likelihood(model, data, work, lapse):
    """Return the log likelihood of one annotator's data from the gaps; work.q becomes the careful policy."""
    num_actions, num_known = model.available.shape[1], data.states.size
    total = 0.0
    exponentials(work.q, num_known * num_actions, work.powers)
    for i in range(num_known):
        work.powers[i] = 0.0
    for a in range(num_actions):
        for i in range(num_known):
            work.powers[i] += work.q[a * num_known + i]
    if not model.has_lapse:
        for a in range(num_actions):
            for i in range(num_known):
                total += data.counts[i, a] * work.gaps[a * num_known + i]
        for i in range(num_known):
            total -= data.totals[i] * math.log(work.powers[i])
    for a in range(num_actions):
        for i in range(num_known):
            work.q[a * num_known + i] /= work.powers[i]
    if model.has_lapse:
        for a in range(num_actions):
            for i in range(num_known):
                if data.counts[i, a] != 0.0:
                    mixed = (1.0 - lapse) * work.q[a * num_known + i] + lapse / model.num_available[data.states[i]]
                    total += data.counts[i, a] * math.log(max(mixed, SMALLEST))
    return total


@helper
def set_group_slopes(model, data, work, g):
    """Set work.slopes[g], and work.q `[A * K]` to the slopes in Q, from what `group_log_likelihood` leaves.

    work.gaps become the parts of the slope in log beta, which are added up in a loop of their own.
    """
    num_actions, num_known = model.available.shape[1], data.states.size
    beta, lapse = work.parameters[g, 0], work.parameters[g, 1]
    by_beta, by_lapse = 0.0, 0.0
    if model.has_lapse:
        for a in range(num_actions):
            for i in range(num_known):
                count, careful = data.counts[i, a], work.q[a * num_known + i]
                if count != 0.0:
                    uniform = 1.0 / model.num_available[data.states[i]]
                    by_lapse += (
                        count * (uniform - careful) / max((1.0 - lapse) * careful + lapse * uniform, SMALLEST)
                    )  # fmt: skip
    for i in range(num_known):
        work.powers[i] = 0.0
    for a in range(num_actions):
        for i in range(num_known):
            count = data.counts[i, a]
            if count != 0.0:
                weight = count
                if model.has_lapse:
                    careful, uniform = work.q[a * num_known + i], 1.0 / model.num_available[data.states[i]]
                    weight = count * (1.0 - lapse) * careful / max((1.0 - lapse) * careful + lapse * uniform, SMALLEST)
                work.powers[i] += weight
    for a in range(num_actions):
        for i in range(num_known):
            count, careful = data.counts[i, a], work.q[a * num_known + i]
            weight = count
            if model.has_lapse and count != 0.0:
                uniform = 1.0 / model.num_available[data.states[i]]
                weight = count * (1.0 - lapse) * careful / max((1.0 - lapse) * careful + lapse * uniform, SMALLEST)
            expected, gap = careful * work.powers[i], work.gaps[a * num_known + i]
            # Below -700 the chance is 0 but for rounding.
            work.gaps[a * num_known + i] = weight * gap - expected * max(gap, -700.0)
            work.q[a * num_known + i] = beta * (weight - expected)
    for i in range(num_actions * num_known):
        by_beta += work.gaps[i]
    work.slopes[g, 0] = by_beta
    work.slopes[g, 1] = by_lapse


@holder
def data_of_group(data, g):
    """Return the data of one annotator."""
    begin, end = data.group_indptr[g], data.group_indptr[g + 1]
    return Data(data.states[begin:end], data.counts[begin:end], data.totals[begin:end])


@holder
def set_expert_slopes(model, data, work):
    """Return the log likelihood at work.V; set its slopes in V, the reward and the expert's parameters."""
    work.g[:] = 0.0
    work.g_reward[:] = 0.0
    log_likelihood = 0.0
    for g in range(model.num_groups):
        own = data_of_group(data, g)
        set_gaps(model, own, work, work.parameters[g, 0], work.V)
        log_likelihood += group_log_likelihood(model, own, work, work.parameters[g, 1])
        set_group_slopes(model, own, work, g)
        add_slopes(model, own, work)
    return log_likelihood


@helper
def set_parameter_gradient(model, work, z, gradient):
    """Set the end of `gradient` from work.slopes; return the log density of the end of z."""
    num_own = model.tables.shape[0]
    log_density = 0.0
    for d in range(model.num_rewards, model.num_rewards + model.num_groups * num_own):
        log_density -= 0.5 * model.precision * z[d] * z[d]
    for g in range(model.num_groups):
        lapse = work.parameters[g, 1]
        for e in range(num_own):
            i = g * num_own + e
            slope = work.slopes[g, 0] if e == model.beta_index else work.slopes[g, 1] * lapse * (1.0 - lapse)
            d = model.num_rewards + i
            gradient[d] = slope * work.link_slopes[i] - model.precision * z[d]
    return log_density


@njit(cache=CACHE, nogil=True, fastmath=FAST, forceinline=True)
def expert_dense_gradient(model, data, work, z, gradient):
    """As `dense_gradient`, with the expert's parameters at the end of z."""
    num_rewards = model.num_rewards
    set_reward(model, z[:num_rewards], work)
    set_parameters(model, z, work)
    set_pace(model, data, work)
    follow_policy(model, work)
    work.num_gradients[0] += 1
    log_likelihood = set_expert_slopes(model, data, work)
    solve_adjoint_dense(work)
    log_density = set_gradient(model, work, z[:num_rewards], gradient[:num_rewards])
    return log_likelihood + log_density + set_parameter_gradient(model, work, z, gradient)


@njit(cache=CACHE, nogil=True, fastmath=FAST, forceinline=True)
def expert_sparse_gradient(model, data, work, z, gradient):
    """As `sparse_gradient`, with the expert's parameters at the end of z."""
    num_rewards = model.num_rewards
    set_reward(model, z[:num_rewards], work)
    set_parameters(model, z, work)
    set_pace(model, data, work)
    has_converged = settle_values(model, work)
    work.num_gradients[0] += 1
    log_likelihood = set_expert_slopes(model, data, work)
    has_converged &= solve_adjoint_sparse(model, work)
    log_density = set_gradient(model, work, z[:num_rewards], gradient[:num_rewards])
    log_density += log_likelihood + set_parameter_gradient(model, work, z, gradient)
    return log_density if has_converged else np.nan


@helper
def add_soft_adjoint(model, work, y, g):
    """Add what soft values owe to the reward to work.g_reward, and what they owe to log beta to work.slopes."""
    num_states, num_actions = model.available.shape
    total = 0.0
    for s in range(num_states):
        if y[s] != 0.0:
            entropy = 0.0
            for a in range(num_actions):
                chance = work.policy[s, a]
                if chance > 0.0:
                    entropy -= chance * math.log(chance)
            if model.is_state_only:
                work.g_reward[s] += y[s]
            else:
                for a in range(num_actions):
                    work.g_reward[s * num_actions + a] += y[s] * work.policy[s, a]
            total -= y[s] * entropy
    work.slopes[g, 0] += total / work.parameters[g, 0]


@njit(cache=CACHE, nogil=True, fastmath=FAST, forceinline=True)
def soft_gradient(model, data, work, z, gradient):
    """Soft values: return the log density at z, up to a constant, and set `gradient`.

    work.V `[G * S]` are those of the last point, of each annotator; pi, y and the inverse are not used. NaN where
    values did not settle.
    """
    num_rewards, num_states = model.num_rewards, model.available.shape[0]
    set_reward(model, z[:num_rewards], work)
    set_parameters(model, z, work)
    set_pace(model, data, work)
    work.num_gradients[0] += 1
    work.g_reward[:] = 0.0
    reward = work.reward.reshape((num_states, work.reward.size // num_states))
    log_likelihood, has_converged = 0.0, True
    for g in range(model.num_groups):
        V = work.V[g * num_states : (g + 1) * num_states]
        own = data_of_group(data, g)
        has_converged &= soft_values(
            model.row_indptr, model.row_next, model.row_probabilities, model.available, model.terminal, model.discount,
            reward, work.parameters[g, 0], V, work.policy, work.scratch, work.elimination,
        )  # fmt: skip
        set_gaps(model, own, work, work.parameters[g, 0], V)
        log_likelihood += group_log_likelihood(model, own, work, work.parameters[g, 1])
        set_group_slopes(model, own, work, g)
        work.g[:] = 0.0
        add_slopes(model, own, work)
        eliminate(
            model.row_indptr, model.row_next, model.row_probabilities, model.discount, work.policy, work.elimination
        )
        solve_eliminated_transposed(work.elimination, work.g, work.scratch)
        add_soft_adjoint(model, work, work.scratch, g)
    log_density = set_reward_gradient(model, work, z[:num_rewards], gradient[:num_rewards])
    log_density += log_likelihood + set_parameter_gradient(model, work, z, gradient)
    return log_density if has_converged else np.nan


@njit(cache=CACHE, nogil=True, no_cfunc_wrapper=True)
def expert_log_likelihoods(model, data, work, positions, values, out):
    """Fill `out` `[N]` with the log likelihood at positions `[N, D + E]` whose values are known: `[N, S or G * S]`.

    Soft values differ between annotators, optimal ones do not.
    """
    num_states = model.available.shape[0]
    is_soft = work.V.size > num_states or values.shape[1] > num_states
    for i in range(positions.shape[0]):
        if not model.is_state_only:
            set_reward(model, positions[i, : model.num_rewards], work)
        set_parameters(model, positions[i], work)
        out[i] = 0.0
        for g in range(model.num_groups):
            own = data_of_group(data, g)
            begin = g * num_states if is_soft else 0
            set_gaps(model, own, work, work.parameters[g, 0], values[i, begin : begin + num_states])
            out[i] += group_log_likelihood(model, own, work, work.parameters[g, 1])
