"""Compiled Hamiltonian moves on the way from a Gaussian to a posterior. Arrays and scalars only.

Letters: z `[D]` is a point of unconstrained space, q = N(m, C) the Gaussian, p the posterior density up to a constant.

    C = I + B^T diag((1 + g)^2 - 1) B,   log density at a power t = t log p(z) + (1 - t) log q(z),

with B `[R, K]`, whose rows are orthonormal, on K of the D parameters, and g `[R]` > -1. C is also the metric of the
moves: velocities v are drawn from N(0, C) and are kicked by C times the gradient. As C grad log q = m - z, a step needs
one product with B and one with its transpose: B v and B (z - m) are carried along.

Edits in `inference.kernels` do not reach compiled copies of what is here: remove `__pycache__` after them.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from journeyman.compiling import CACHE
from journeyman.inference.kernels import assign, helper, start_from

MAX_ENERGY_CHANGE = 1000.0  # above it a trajectory has diverged


class Gaussian(NamedTuple):
    """The Gaussian q in the terms of the module's docstring."""

    center: Any  # [D] m
    columns: Any  # [K] parameters that B is about
    basis: Any  # [R, K] B
    gains: Any  # [R] g


class Flow(NamedTuple):
    """Memory of one thread: what is carried along a trajectory."""

    z: Any  # [D]
    v: Any  # [D]
    gradient: Any  # [D] of log p
    along_v: Any  # [R] B v
    along_z: Any  # [R] B (z - m)
    along_gradient: Any  # [R] B gradient
    gathered: Any  # [K]


@helper
def project(q, vector, gathered, along):
    """Set along = B vector."""
    for k in range(gathered.size):
        gathered[k] = vector[q.columns[k]]
    for r in range(along.size):
        total = 0.0
        for k in range(gathered.size):
            total += q.basis[r, k] * gathered[k]
        along[r] = total


@helper
def add_back(q, along, gathered, vector):
    """Add B^T along to vector."""
    for k in range(gathered.size):
        gathered[k] = 0.0
    for r in range(along.size):
        factor = along[r]
        for k in range(gathered.size):
            gathered[k] += factor * q.basis[r, k]
    for k in range(gathered.size):
        vector[q.columns[k]] += gathered[k]


@helper
def norm(q, vector, along):
    """Return vector^T C^-1 vector, given B vector."""
    total = 0.0
    for d in range(vector.size):
        total += vector[d] * vector[d]
    for r in range(along.size):
        factor = 1.0 / (1.0 + q.gains[r])
        total += (factor * factor - 1.0) * along[r] * along[r]
    return total


@helper
def log_q(q, z, along):
    """Return log q(z) up to the normaliser of C = I, given B (z - m)."""
    total = 0.0
    for d in range(z.size):
        total += (z[d] - q.center[d]) * (z[d] - q.center[d])
    for r in range(along.size):
        factor = 1.0 / (1.0 + q.gains[r])
        total += (factor * factor - 1.0) * along[r] * along[r]
    total *= -0.5
    for r in range(along.size):
        total -= math.log(1.0 + q.gains[r])
    return total


@helper
def kick(q, flow, power, step):
    """Add step * C * (gradient at the power) to v."""
    project(q, flow.gradient, flow.gathered, flow.along_gradient)
    for d in range(flow.v.size):
        flow.v[d] += step * (power * flow.gradient[d] - (1.0 - power) * (flow.z[d] - q.center[d]))
    for r in range(flow.along_v.size):
        factor = (1.0 + q.gains[r]) * (1.0 + q.gains[r])
        slope = power * flow.along_gradient[r]
        flow.along_v[r] += step * (factor * slope - (1.0 - power) * flow.along_z[r])
        flow.along_gradient[r] = step * (factor - 1.0) * slope
    add_back(q, flow.along_gradient, flow.gathered, flow.v)


@helper
def trajectory(gradient_fn, model, data, work, q, flow, power, log_p, step, num_steps):
    """Follow a trajectory from what `flow` holds; return (log p at its end, log q there, change of energy).

    Successive half kicks are joined. The change of energy is infinite after a divergence.
    """
    start = 0.5 * norm(q, flow.v, flow.along_v) - power * log_p - (1.0 - power) * log_q(q, flow.z, flow.along_z)
    kick(q, flow, power, 0.5 * step)
    for count in range(num_steps):
        if work.num_updates[3] != 0:
            return log_p, 0.0, np.inf
        for d in range(flow.z.size):
            flow.z[d] += step * flow.v[d]
        for r in range(flow.along_z.size):
            flow.along_z[r] += step * flow.along_v[r]
        log_p = gradient_fn(model, data, work, flow.z, flow.gradient)
        potential = -power * log_p - (1.0 - power) * log_q(q, flow.z, flow.along_z)
        if not (potential - start < MAX_ENERGY_CHANGE):
            return log_p, 0.0, np.inf
        kick(q, flow, power, step if count < num_steps - 1 else 0.5 * step)
    energy = 0.5 * norm(q, flow.v, flow.along_v)
    for d in range(flow.z.size):  # without what rounding has added on the way
        flow.v[d] = flow.z[d] - q.center[d]
    project(q, flow.v, flow.gathered, flow.along_z)
    end = log_q(q, flow.z, flow.along_z)
    return log_p, end, energy - power * log_p - (1.0 - power) * end - start


@njit(cache=CACHE, nogil=True, no_cfunc_wrapper=True)
def move_bridge(
    gradient_fn, model, data, work, q, power, positions, values, policies, momenta, uniforms, steps, num_steps,
    kept_positions, kept_values, kept_policies, kept_log_p, kept_log_q, kept_gradients, acceptance,
):  # fmt: skip
    """Run M chains of P Hamiltonian moves at a power, keeping every state: positions `[M, D]` give the starts.

    Each chain starts from its own policy with a fresh inverse, so that nothing depends on what the thread did before.
    momenta `[M, P, D]` (standard normal), uniforms, steps, num_steps `[M, P]`; sets kept_* `[M, P, ...]` and
    `acceptance` `[M, P]`, the chances of acceptance. log p is that of `gradient_fn`, without constants, and log q lacks
    the same ones. A trajectory that diverges or meets a NaN is rejected.
    """
    num_chains, num_moves, dimension = momenta.shape
    rank = q.gains.size
    flow = Flow(
        np.empty(dimension), np.empty(dimension), np.empty(dimension), np.empty(rank), np.empty(rank), np.empty(rank),
        np.empty(q.columns.size),
    )  # fmt: skip
    z, gradient, along_z = np.empty(dimension), np.empty(dimension), np.empty(rank)
    V, pi = np.empty(values.shape[1]), np.empty(values.shape[1], dtype=np.int64)
    for c in range(num_chains):
        if work.num_updates[3] != 0:
            return
        assign(z, positions[c])
        start_from(work, policies[c], values[c])
        log_p = gradient_fn(model, data, work, z, gradient)
        assign(V, work.V)
        assign(pi, work.pi)
        for d in range(dimension):
            flow.v[d] = z[d] - q.center[d]
        project(q, flow.v, flow.gathered, along_z)
        now = log_q(q, z, along_z)
        for m in range(num_moves):
            assign(flow.z, z)
            assign(flow.gradient, gradient)
            assign(flow.along_z, along_z)
            assign(flow.v, momenta[c, m])
            project(q, flow.v, flow.gathered, flow.along_v)
            for r in range(rank):
                flow.along_gradient[r] = q.gains[r] * flow.along_v[r]
                flow.along_v[r] *= 1.0 + q.gains[r]
            add_back(q, flow.along_gradient, flow.gathered, flow.v)
            end_p, end_q, change = trajectory(
                gradient_fn, model, data, work, q, flow, power, log_p, steps[c, m], num_steps[c, m]
            )
            chance = math.exp(min(0.0, -change)) if change == change else 0.0
            acceptance[c, m] = chance
            if uniforms[c, m] < chance:
                assign(z, flow.z)
                assign(gradient, flow.gradient)
                assign(along_z, flow.along_z)
                log_p, now = end_p, end_q
                assign(V, work.V)
                assign(pi, work.pi)
            elif chance == 0.0:  # what work holds may not be numbers
                start_from(work, pi, V)
            assign(kept_positions[c, m], z)
            assign(kept_values[c, m], V)
            assign(kept_policies[c, m], pi)
            assign(kept_gradients[c, m], gradient)
            kept_log_p[c, m], kept_log_q[c, m] = log_p, now
