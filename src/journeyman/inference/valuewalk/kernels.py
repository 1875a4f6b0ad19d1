"""Compiled Hamiltonian moves in value space. Arrays and scalars only.

The walk is over x: the optimal values V `[S]` if the reward depends on the state only, else the action values Q
`[S * A]`. What x determines: pi, greedy in x; B = I - discount P_pi; and the reward,

    r(s) = V(s) - max_a discount P_a V(s)      or      r(s, a) = Q(s, a) - discount P_a max_b Q(., b),

linear in x wherever pi is fixed, with a determinant of det(B) in both cases. So

    log density of x = log prior(r(x)) + log likelihood + log det(B).

The first two are continuous in x; log det(B) is constant while pi is, and jumps where pi switches: on the hyperplane on
which two actions of a state tie. Trajectories are followed from one hyperplane to the next. Like light between two
media, a trajectory is refracted there, its momentum across the plane paying for the jump, or reflected if it cannot
pay (Mohasel Afshar and Domke 2015), so that jumps cost no acceptance.

Edits in `inference.kernels` do not reach compiled copies of what is here: remove `__pycache__` after them.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from journeyman.compiling import CACHE
from journeyman.inference.kernels import (
    FAST,
    MAX_PENDING,
    MAX_UPDATES,
    add_extra,
    apply_pending,
    assign,
    common_value,
    extra_value,
    gaps_to_slopes,
    invert,
    kick,
    log_likelihood_of_gaps,
    push,
    scaled_gaps,
    stretched,
    subtract_best,
    switch_action,
    tune_step,
)

SMALL = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "_nrt": False}  # as in `inference.kernels`
helper = njit(cache=CACHE, nogil=True, fastmath=False, **SMALL)
fast_helper = njit(cache=CACHE, nogil=True, fastmath=FAST, **SMALL)
kernel = njit(cache=CACHE, nogil=True, fastmath=False, no_cfunc_wrapper=True)
NORMAL, CORRELATED, UNIFORM = 0, 1, 2  # kinds of prior
REFRACT, ACCEPT, IGNORE = 0, 1, 2  # what is done about the jumps of the determinant
MAX_EVENTS = 20_000  # in one trajectory: more are given up
TIE = 1e-9  # relative: how far from greedy pi may be at the end of a trajectory
MAX_ENERGY_CHANGE = 1000.0


class Space(NamedTuple):
    """What is fixed about a walk: the prior, the planes on which actions tie, and how jumps are met."""

    is_q: Any  # x holds Q, else V
    kind: Any  # of prior
    mean: Any  # [N] of the reward; Uniform: its lower bounds
    precision: Any  # [N] or, correlated, [N, N] of the reward; Uniform: its upper bounds
    is_distinct: Any  # [S, A] action exists, and is not the same as one before it
    plane_of: Any  # [S, A, A] number of the plane on which two distinct actions tie, else -1
    plane_indptr: Any  # members of each plane: (state, action, action), sorted by state
    plane_states: Any
    plane_first: Any
    plane_second: Any
    jumps: Any
    mixing: Any  # [N, N] x = mixing y: moves are made in y, where parameters are nearly independent


class Memory(NamedTuple):
    """Scratch of one chain."""

    reward: Any  # [N]
    slope: Any  # [N] of the log prior in the reward
    gradient_v: Any  # [S]
    values: Any  # [S]
    velocity: Any  # [N]
    normal: Any  # [N]
    mixed: Any  # [N] of y
    lines: Any  # [S, A] what actions of a state are compared by
    speeds: Any  # [S, A] how fast these change
    group_states: Any  # [G] states that switch together
    group_actions: Any  # [G]
    ratio: Any  # [G, G]
    saved_inverse: Any  # [S, S]
    saved_pi: Any  # [S]
    events: Any  # [3] crossings, reflections, trajectories given up


@helper
def best_values(model, space, work, x, out):
    """Set out `[S]` to what next states are worth: V itself, or Q of pi."""
    num_states, num_actions = model.available.shape
    for s in range(num_states):
        out[s] = x[s * num_actions + work.pi[s]] if space.is_q else x[s]


@helper
def set_rewards(model, space, work, values, x, reward):
    """Set reward `[N]` to the reward that x determines, for the policy in work; linear in x. values: of best_values."""
    num_states, num_actions = model.available.shape
    for s in range(num_states):
        common = common_value(model, s, values)
        if not space.is_q:
            reward[s] = x[s] - common - extra_value(model, s, work.pi[s], values)
        else:
            for a in range(num_actions):
                row = s * num_actions + a
                reward[row] = x[row]
                if model.available[s, a]:
                    reward[row] -= common + extra_value(model, s, a, values)


@helper
def prior_slope(space, reward, slope):
    """Set slope `[N]` to that of the log prior in the reward, and return the log prior up to a constant."""
    total = 0.0
    if space.kind == UNIFORM:
        slope[:] = 0.0
    elif space.kind == NORMAL:
        for i in range(reward.size):
            gap = reward[i] - space.mean[i]
            slope[i] = -space.precision[i, 0] * gap
            total += 0.5 * slope[i] * gap
    else:
        for i in range(reward.size):
            product = 0.0
            for j in range(reward.size):
                product += space.precision[i, j] * (reward[j] - space.mean[j])
            slope[i] = -product
            total -= 0.5 * product * (reward[i] - space.mean[i])
    return total


@helper
def pull_back(model, space, work, memory, slope, gradient):
    """Set gradient `[N]` = J^T slope, where J = dr / dx for the policy in work."""
    num_states, num_actions = model.available.shape
    if not space.is_q:
        for s in range(num_states):
            gradient[s] = slope[s]
        for s in range(num_states):
            if slope[s] != 0.0:
                push(model, work.pi, s, -slope[s], gradient)
        return
    target = memory.gradient_v
    target[:] = 0.0
    for s in range(num_states):
        total = 0.0
        for a in range(num_actions):
            row = s * num_actions + a
            gradient[row] = slope[row]
            if model.available[s, a]:
                total += slope[row]
                for k in range(model.extra_indptr[row], model.extra_indptr[row + 1]):
                    target[model.extra_next[k]] -= model.extra_weights[k] * slope[row]
        for k in range(model.common_indptr[s], model.common_indptr[s + 1]):
            target[model.common_next[k]] -= model.common_weights[k] * total
    for s in range(num_states):
        gradient[s * num_actions + work.pi[s]] += target[s]


@helper
def action_value_gaps(model, data, work, x):
    """Set work.q `[A * K]` to beta (Q(s, a) - max_b Q(s, b)) at states with data; minus infinity if a is missing."""
    num_actions, num_known = model.available.shape[1], data.states.size
    for a in range(num_actions):
        for i in range(num_known):
            s = data.states[i]
            work.q[a * num_known + i] = x[s * num_actions + a] if model.available[s, a] else -np.inf
    subtract_best(model, data, work)


@helper
def add_likelihood_slope(model, data, space, work, x, gradient):
    """Return the log likelihood, and add its slope in x to the gradient."""
    num_actions, num_known = model.available.shape[1], data.states.size
    if space.is_q:
        action_value_gaps(model, data, work, x)
    else:
        scaled_gaps(model, data, work, x)
    log_likelihood = log_likelihood_of_gaps(model, data, work)
    gaps_to_slopes(model, data, work)
    for a in range(num_actions):
        for i in range(num_known):
            s = data.states[i]
            if space.is_q and model.available[s, a]:
                gradient[s * num_actions + a] += work.q[a * num_known + i]
            elif not space.is_q:
                add_extra(model, s, a, work.q[a * num_known + i], gradient)
    return log_likelihood


@kernel
def value_density_gradient(model, data, space, work, memory, x, gradient):
    """Return log prior(r(x)) + log likelihood, the continuous part of the log density, and set its gradient in x."""
    work.num_gradients[0] += 1
    best_values(model, space, work, x, memory.values)
    set_rewards(model, space, work, memory.values, x, memory.reward)
    log_density = prior_slope(space, memory.reward, memory.slope)
    pull_back(model, space, work, memory, memory.slope, gradient)
    return log_density + add_likelihood_slope(model, data, space, work, x, gradient)


@helper
def set_lines(model, space, x, lines):
    """Set lines `[S, A]` to what the distinct actions of a state are compared by; linear in x."""
    num_actions = model.available.shape[1]
    for i in range(model.choice_states.size):
        s = model.choice_states[i]
        for a in range(num_actions):
            if space.is_distinct[s, a]:
                lines[s, a] = x[s * num_actions + a] if space.is_q else extra_value(model, s, a, x)


@kernel
def set_greedy(model, space, memory, x, pi):
    """Set pi to the greedy distinct action of every state, the first of several."""
    set_lines(model, space, x, memory.lines)
    for s in range(pi.size):
        best = -np.inf
        for a in range(space.is_distinct.shape[1]):
            if space.is_distinct[s, a] and memory.lines[s, a] > best:
                best = memory.lines[s, a]
                pi[s] = a


@helper
def is_greedy(model, space, work, memory, x):
    """Return whether the policy in work is greedy at x, up to rounding."""
    set_lines(model, space, x, memory.lines)
    for i in range(model.choice_states.size):
        s = model.choice_states[i]
        kept = memory.lines[s, work.pi[s]]
        for a in range(space.is_distinct.shape[1]):
            if space.is_distinct[s, a] and memory.lines[s, a] > kept + TIE * (1.0 + abs(kept)):
                return False
    return True


@helper
def first_switch(model, space, work, memory, limit):
    """Return (time, state, action) at which some action first overtakes that of pi; state -1 if not before `limit`."""
    first, state, action = limit, -1, -1
    for i in range(model.choice_states.size):
        s = model.choice_states[i]
        line, speed = memory.lines[s, work.pi[s]], memory.speeds[s, work.pi[s]]
        for a in range(space.is_distinct.shape[1]):
            if space.is_distinct[s, a] and memory.speeds[s, a] > speed:
                time = max(line - memory.lines[s, a], 0.0) / (memory.speeds[s, a] - speed)
                if time < first:
                    first, state, action = time, s, a
    return first, state, action


@helper
def first_wall(model, space, work, memory, x, limit):
    """Return (time, parameter) at which a reward first meets a bound of a Uniform prior; parameter -1 if not before."""
    first, parameter = limit, -1
    best_values(model, space, work, x, memory.values)
    set_rewards(model, space, work, memory.values, x, memory.reward)
    best_values(model, space, work, memory.velocity, memory.values)
    set_rewards(model, space, work, memory.values, memory.velocity, memory.slope)
    for i in range(x.size):
        speed = memory.slope[i]
        bound = space.precision[i, 0] if speed > 0.0 else space.mean[i]
        if speed != 0.0:
            time = max((bound - memory.reward[i]) / speed, 0.0)
            if time < first:
                first, parameter = time, i
    return first, parameter


@helper
def set_group(space, work, memory, state, action):
    """Find all states that switch on the plane of (pi(state), action), and to what; return how many.

    In a grid several states may compare the same two neighbours. Of several actions that tie there, the fastest wins.
    """
    plane = space.plane_of[state, work.pi[state], action]
    size = 0
    for k in range(space.plane_indptr[plane], space.plane_indptr[plane + 1]):
        s, first, second = space.plane_states[k], space.plane_first[k], space.plane_second[k]
        if work.pi[s] != first and work.pi[s] != second:
            continue
        other = second if work.pi[s] == first else first
        if memory.speeds[s, other] <= memory.speeds[s, work.pi[s]]:
            continue
        if size > 0 and memory.group_states[size - 1] == s:
            if memory.speeds[s, other] > memory.speeds[s, memory.group_actions[size - 1]]:
                memory.group_actions[size - 1] = other
        else:
            memory.group_states[size] = s
            memory.group_actions[size] = other
            size += 1
    return size


@helper
def inverse_entry(work, n, s):
    """Return entry (n, s) of the inverse, pending updates included."""
    total = work.inverse[n, s]
    for k in range(work.num_updates[1]):
        total += work.pending[k, n] * work.pending[MAX_PENDING + k, s]
    return total


@helper
def log_det_change(model, work, memory, size):
    """Return log det(B') - log det(B) if the group switches: log of a determinant of the size of the group."""
    num_actions = model.available.shape[1]
    ratio = memory.ratio
    for i in range(size):
        s = memory.group_states[i]
        for j in range(size):
            t = memory.group_states[j]
            total = 1.0 if i == j else 0.0
            row = s * num_actions + memory.group_actions[i]
            for k in range(model.extra_indptr[row], model.extra_indptr[row + 1]):
                total -= model.extra_weights[k] * inverse_entry(work, model.extra_next[k], t)
            row = s * num_actions + work.pi[s]
            for k in range(model.extra_indptr[row], model.extra_indptr[row + 1]):
                total += model.extra_weights[k] * inverse_entry(work, model.extra_next[k], t)
            ratio[i, j] = total
    determinant = 1.0
    for p in range(size):  # with pivots: a group's matrix need not be dominated by its diagonal
        largest = p
        for i in range(p + 1, size):
            if abs(ratio[i, p]) > abs(ratio[largest, p]):
                largest = i
        if largest != p:
            for j in range(size):
                ratio[p, j], ratio[largest, j] = ratio[largest, j], ratio[p, j]
        determinant *= ratio[p, p]
        for i in range(p + 1, size):
            factor = ratio[i, p] / ratio[p, p]
            for j in range(p + 1, size):
                ratio[i, j] -= factor * ratio[p, j]
    return math.log(abs(determinant))


@helper
def set_tie_normal(model, space, work, state, action, normal):
    """Set normal `[N]` to the slope in x of what `action` has over pi(state)."""
    num_actions = model.available.shape[1]
    normal[:] = 0.0
    new, old = state * num_actions + action, state * num_actions + work.pi[state]
    if space.is_q:
        normal[new], normal[old] = 1.0, -1.0
        return
    for k in range(model.extra_indptr[new], model.extra_indptr[new + 1]):
        normal[model.extra_next[k]] += model.extra_weights[k]
    for k in range(model.extra_indptr[old], model.extra_indptr[old + 1]):
        normal[model.extra_next[k]] -= model.extra_weights[k]


@fast_helper
def mix(mixing, y, x):
    """Set x = mixing y."""
    for i in range(x.size):
        total = 0.0
        for j in range(y.size):
            total += mixing[i, j] * y[j]
        x[i] = total


@fast_helper
def mix_back(mixing, x, y):
    """Set y = mixing^T x; rows where x is zero are skipped."""
    y[:] = 0.0
    for i in range(x.size):
        if x[i] != 0.0:
            for j in range(y.size):
                y[j] += x[i] * mixing[i, j]


@helper
def cross(mixing, momentum, slope, scales, stretch, gain, normal):
    """Change the momentum across a plane where the log density jumps by `gain`; return whether it passes.

    `slope` `[N]` is normal to the plane in x. A gain of minus infinity is a wall. `normal` is scratch.
    """
    mix_back(mixing, slope, normal)
    total = 0.0
    for d in range(normal.size):
        normal[d] *= scales[d]
        total += stretch[d] * normal[d]
    size, across = 0.0, 0.0
    for d in range(normal.size):
        normal[d] += total * stretch[d]
        size += normal[d] * normal[d]
        across += normal[d] * momentum[d]
    size = math.sqrt(size)
    across /= size
    left = across * across + 2.0 * gain
    new = -across if left <= 0.0 else math.copysign(math.sqrt(left), across)
    for d in range(normal.size):
        momentum[d] += (new - across) * normal[d] / size
    return left > 0.0


@helper
def set_velocity(space, momentum, scales, stretch, memory):
    """Set memory.velocity = mixing scales (I + stretch stretch^T) momentum."""
    factor = stretched(momentum, stretch)
    for d in range(momentum.size):
        memory.mixed[d] = scales[d] * (momentum[d] + factor * stretch[d])
    mix(space.mixing, memory.mixed, memory.velocity)


@kernel
def drift(model, space, work, memory, x, momentum, scales, stretch, time, max_events):
    """Move x along the momentum for a time, through planes and off walls.

    Returns (change of log det B on the way, events); more events than allowed mean that it was given up.
    """
    num_actions = model.available.shape[1]
    total, num_events = 0.0, 0
    set_velocity(space, momentum, scales, stretch, memory)
    set_lines(model, space, x, memory.lines)
    set_lines(model, space, memory.velocity, memory.speeds)
    while num_events <= max_events:
        first, state, action = first_switch(model, space, work, memory, time)
        wall = -1
        if space.kind == UNIFORM:
            first, wall = first_wall(model, space, work, memory, x, first)
        for d in range(x.size):
            x[d] += first * memory.velocity[d]
        if state < 0 and wall < 0:
            break
        time -= first
        num_events += 1
        for i in range(model.choice_states.size):
            s = model.choice_states[i]
            for a in range(num_actions):
                memory.lines[s, a] += first * memory.speeds[s, a]
        if wall >= 0:
            memory.slope[:] = 0.0
            memory.slope[wall] = 1.0
            pull_back(model, space, work, memory, memory.slope, memory.normal)
            cross(space.mixing, momentum, memory.normal, scales, stretch, -np.inf, memory.mixed)
        else:
            size = set_group(space, work, memory, state, action)
            gain = log_det_change(model, work, memory, size) if space.jumps != IGNORE else 0.0
            passes = True
            if space.jumps == REFRACT:
                set_tie_normal(model, space, work, state, action, memory.normal)
                passes = cross(space.mixing, momentum, memory.normal, scales, stretch, gain, memory.mixed)
            memory.events[0 if passes else 1] += 1
            if passes:
                total += gain
                for i in range(size):
                    if space.jumps == IGNORE:
                        work.pi[memory.group_states[i]] = memory.group_actions[i]
                    else:
                        switch_action(model, work, memory.group_states[i], memory.group_actions[i], 0.0)
            if space.jumps != REFRACT:
                continue
        set_velocity(space, momentum, scales, stretch, memory)
        set_lines(model, space, memory.velocity, memory.speeds)
    return total, num_events


@kernel
def value_trajectory(
    model, data, space, work, memory, x, log_density, gradient, momentum, scales, stretch, step, num_steps
):
    """Follow a trajectory from x, which is moved along with its gradient and the policy in work.

    Returns (continuous part of the log density at its end, change of energy), the latter infinite if it was given up.
    """
    start, total, num_events = 0.0, 0.0, 0
    for d in range(x.size):
        start += 0.5 * momentum[d] * momentum[d]
    current, change = log_density, np.inf
    for _ in range(num_steps):
        if work.num_updates[3] != 0:
            return current, np.inf
        mix_back(space.mixing, gradient, memory.mixed)
        kick(momentum, memory.mixed, scales, stretch, 0.5 * step)
        gain, count = drift(
            model, space, work, memory, x, momentum, scales, stretch, step, MAX_EVENTS - num_events
        )  # fmt: skip
        total += gain
        num_events += count
        if num_events > MAX_EVENTS:
            return current, np.inf
        current = value_density_gradient(model, data, space, work, memory, x, gradient)
        mix_back(space.mixing, gradient, memory.mixed)
        kick(momentum, memory.mixed, scales, stretch, 0.5 * step)
        kinetic = 0.0
        for d in range(x.size):
            kinetic += 0.5 * momentum[d] * momentum[d]
        change = kinetic - start - (current - log_density) - total
        if not (change < MAX_ENERGY_CHANGE):
            return current, np.inf
    return current, change if is_greedy(model, space, work, memory, x) else np.inf


@helper
def assign_rows(target, source):
    """Set target `[m, n]` to source."""
    for i in range(target.shape[0]):
        assign(target[i], source[i])


@njit(cache=CACHE, nogil=True, no_cfunc_wrapper=True)
def value_chain(
    model, data, space, work, memory, x, momenta, uniforms, lengths, scales, stretch, tuning, max_leapfrog, kept, stats
):
    """Run one chain from x `[N]`, which is moved along, for as many draws as there are momenta `[n, N]`.

    As `kernels.hmc_chain`, in value space. `kept` `[n, N]` gets the draws of x, `stats` `[n, 6]` log prior plus log
    likelihood, acceptance chance, step, leapfrog steps, energy, and whether the trajectory was given up.
    """
    size = x.size
    gradient, x_new, gradient_new = np.empty(size), np.empty(size), np.empty(size)
    set_greedy(model, space, memory, x, work.pi)
    invert(model, work)
    log_density = value_density_gradient(model, data, space, work, memory, x, gradient)
    for i in range(momenta.shape[0]):
        step = min(math.exp(tuning[0]), lengths[i])  # on a flat density every step is accepted
        num_steps = int(min(max(1.0, np.rint(lengths[i] / step)), max_leapfrog))
        energy = -log_density
        for d in range(size):
            energy += 0.5 * momenta[i, d] * momenta[i, d]
        apply_pending(work)
        if work.num_updates[0] > MAX_UPDATES:
            invert(model, work)
        assign_rows(memory.saved_inverse, work.inverse)
        assign(memory.saved_pi, work.pi)
        num_updates = work.num_updates[0]
        assign(x_new, x)
        assign(gradient_new, gradient)
        end, energy_change = value_trajectory(
            model, data, space, work, memory, x_new, log_density, gradient_new, momenta[i], scales, stretch, step,
            num_steps,
        )  # fmt: skip
        is_diverging = not (energy_change < MAX_ENERGY_CHANGE)
        acceptance = 0.0 if is_diverging else math.exp(min(0.0, -energy_change))
        if uniforms[i] < acceptance:
            assign(x, x_new)
            assign(gradient, gradient_new)
            log_density = end
        else:
            assign_rows(work.inverse, memory.saved_inverse)
            assign(work.pi, memory.saved_pi)
            work.num_updates[0] = num_updates
            work.num_updates[1] = 0
        memory.events[2] += is_diverging
        assign(kept[i], x)
        stats[i, 0] = log_density
        stats[i, 1] = acceptance
        stats[i, 2] = step
        stats[i, 3] = num_steps
        stats[i, 4] = energy
        stats[i, 5] = is_diverging
        tune_step(tuning, acceptance)
