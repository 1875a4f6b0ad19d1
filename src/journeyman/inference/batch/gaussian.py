"""A Gaussian near a posterior, and Hamiltonian moves between the two."""

from typing import NamedTuple

import numpy as np

from journeyman.inference.batch import kernels
from journeyman.inference.batch.kernels import Gaussian
from journeyman.inference.general import GeneralTarget
from journeyman.inference.target import LOG_2PI, Evaluation, Target
from journeyman.inference.weights import widest_direction
from journeyman.threads import run_chunks
from journeyman.types import AnyArray, BoolArray, FloatArray, IntArray

LEAST_SLOPE = 0.1  # mean square of that of the log likelihood: directions with less keep their prior
LEAST_CURVATURE = 0.05  # that is believed, in units of the prior's
DRAWS_PER_DIRECTION = 4.0  # below it the covariance of draws would be mostly noise
SMALLEST_SLOPE = 1e-12  # below it a parameter does not matter to the data
LENGTH_JITTER, STEP_JITTER = 0.3, 0.2  # so that no trajectory closes on itself


class Chains(NamedTuple):
    """Where M chains stand: positions `[M, D]`, values and policies `[M, S]`."""

    positions: AnyArray
    values: AnyArray
    policies: AnyArray

    def at(self, chosen: IntArray | slice) -> "Chains":
        """Return some of the chains."""
        return Chains(self.positions[chosen], self.values[chosen], self.policies[chosen])


class Moved(NamedTuple):
    """States of M chains after each of P moves, `[M, P, ...]`.

    log_p is the log density of the target with its constants, log_q that of the Gaussian; gradient is that of log_p.
    """

    positions: FloatArray
    values: FloatArray
    policies: IntArray
    log_p: FloatArray
    log_q: FloatArray
    gradients: FloatArray
    acceptance: FloatArray
    num_gradients: int

    @property
    def last(self) -> Chains:
        """Where the chains stand now."""
        return Chains(*(np.ascontiguousarray(array[:, -1]) for array in self[:3]))

    @property
    def log_ratio(self) -> FloatArray:
        """The log of p / q `[M, P]`."""
        return np.asarray(self.log_p - self.log_q)


def standard(dimension: int) -> Gaussian:
    """Return N(0, I), the prior."""
    empty = np.zeros((0, 0))
    return Gaussian(np.zeros(dimension), np.zeros(0, dtype=np.int64), empty, np.zeros(0))


def fitted(positions: FloatArray, gradients: FloatArray, *, trust: float) -> Gaussian:
    """Return the Gaussian near the draws `[N, D]` of a posterior, given the gradients `[N, D]` of its log density.

    Without the prior's part, gradients span the directions in which the data say anything. In all others the posterior
    is the prior, N(0, I). In these, H = E[g g^T] of the gradients g is the mean curvature, -E[Hessian], of any density,
    kinks included. Where there are kinks, draws spread further than H^-1 says. With their covariance C, the Gaussian
    has the covariance H^-1/2 (H^1/2 C H^1/2)^trust H^-1/2: the inverse curvature at a `trust` of 0, the geometric mean
    of the two at 1/2, C at 1. No covariance is smaller than H^-1 (the information inequality): what seems so is noise.
    """
    slopes = gradients + positions
    columns = np.flatnonzero(np.abs(slopes).max(axis=0) > SMALLEST_SLOPE)
    if columns.size == 0:
        return standard(positions.shape[1])
    most = max(1, int(len(positions) / DRAWS_PER_DIRECTION))
    sizes, vectors = np.linalg.eigh(slopes[:, columns].T @ slopes[:, columns] / len(slopes))
    basis = vectors[:, np.flatnonzero(sizes > LEAST_SLOPE)[-most:]]
    if basis.shape[1] == 0:
        return standard(positions.shape[1])
    along_gradients = gradients[:, columns] @ basis
    curvature, rotation = np.linalg.eigh(along_gradients.T @ along_gradients / len(gradients))
    basis, root = basis @ rotation, np.sqrt(np.maximum(curvature, LEAST_CURVATURE))
    along = positions[:, columns] @ basis
    center = np.zeros(positions.shape[1])
    center[columns] = basis @ along.mean(axis=0)
    whitened = (along - along.mean(axis=0)) * root
    spread, rotation = np.linalg.eigh(whitened.T @ whitened / len(whitened))
    powers = (rotation * np.maximum(spread, 1.0) ** trust) @ rotation.T
    variances, rotation = np.linalg.eigh(powers / root[:, None] / root)
    gains = np.sqrt(variances) - 1.0
    return Gaussian(center, columns, np.ascontiguousarray((basis @ rotation).T), gains)


def widened(q: Gaussian) -> Gaussian:
    """Return a Gaussian that is a little wider, the more so the fewer directions it is about: tails cost little there.

    R standard deviations that are larger by a factor of sqrt(1 + 4 / R) make the way to the posterior longer by next to
    nothing in many dimensions, and cover twice the variance in four.
    """
    return q._replace(gains=(1.0 + q.gains) * np.sqrt(1.0 + 4.0 / max(q.gains.size, 1)) - 1.0)


def draw(rng: np.random.Generator, q: Gaussian, size: int) -> FloatArray:
    """Return draws `[size, D]`."""
    noise = rng.standard_normal((size, len(q.center)))
    return np.asarray(q.center + _stretched(q, noise, q.gains))


def whitened(q: Gaussian, positions: FloatArray) -> FloatArray:
    """Return the coordinates `[N, R]` of points in which the Gaussian is N(0, I) and differs from the prior."""
    return np.asarray(_along(q, positions - q.center) / (1.0 + q.gains))


def log_q(q: Gaussian, positions: FloatArray) -> FloatArray:
    """Return the log density `[N]` of the Gaussian."""
    offsets = positions - q.center
    return np.asarray(-0.5 * (_norm(q, offsets) + len(q.center) * LOG_2PI) - np.log1p(q.gains).sum())


def _along(q: Gaussian, vectors: FloatArray) -> FloatArray:
    return np.asarray(vectors[:, q.columns] @ q.basis.T)


def _stretched(q: Gaussian, vectors: FloatArray, gains: FloatArray) -> FloatArray:
    """Return (I + B^T diag(gains) B) vectors."""
    out = vectors.copy()
    out[:, q.columns] += (_along(q, vectors) * gains) @ q.basis
    return out


def _norm(q: Gaussian, vectors: FloatArray) -> FloatArray:
    return np.asarray((vectors**2).sum(axis=1) + _along(q, vectors) ** 2 @ ((1.0 + q.gains) ** -2 - 1.0))


def move(
    rng: np.random.Generator,
    target: Target | GeneralTarget,
    q: Gaussian,
    power: float,
    chains: Chains,
    *,
    step: float,
    num_leapfrog: float,
    num_moves: int,
    num_threads: int,
) -> Moved:
    """Move every chain `num_moves` times under p^power q^(1 - power).

    All randomness is drawn here, so that the result does not depend on the number of threads.
    """
    num_chains, dimension = chains.positions.shape
    shape = (num_chains, num_moves)
    momenta, uniforms = rng.standard_normal((*shape, dimension)), rng.random(shape)
    steps = step * rng.uniform(1.0 - STEP_JITTER, 1.0 + STEP_JITTER, shape)
    wanted = num_leapfrog * rng.uniform(1.0 - LENGTH_JITTER, 1.0 + LENGTH_JITTER, shape)
    lengths = np.maximum(1, np.rint(wanted)).astype(np.int64)
    num_states = chains.values.shape[1]
    moved = Moved(
        np.empty((*shape, dimension)), np.empty((*shape, num_states)), np.empty((*shape, num_states), dtype=np.int64),
        np.empty(shape), np.empty(shape), np.empty((*shape, dimension)), np.empty(shape),
        int(lengths.sum()) + num_chains,
    )  # fmt: skip
    if isinstance(target, GeneralTarget):
        _move_general(target, q, power, chains, momenta, uniforms, steps, lengths, moved, num_threads)
        return moved

    def move_part(part: range) -> None:
        at = slice(part.start, part.stop)
        kernels.move_bridge(
            target.gradient_fn, target.model, target.data, target.new_work(), q, power,
            *(array[at] for array in chains), momenta[at], uniforms[at], steps[at], lengths[at],
            *(array[at] for array in moved[:-1]),
        )  # fmt: skip

    run_chunks(move_part, num_chains, num_threads, 0 if num_threads == 1 else max(1, num_chains // (8 * num_threads)))
    constant = 0.5 * dimension * LOG_2PI
    return moved._replace(log_p=moved.log_p - constant, log_q=moved.log_q - constant)


def _move_general(
    target: GeneralTarget,
    q: Gaussian,
    power: float,
    chains: Chains,
    momenta: FloatArray,
    uniforms: FloatArray,
    steps: FloatArray,
    lengths: IntArray,
    moved: Moved,
    num_threads: int,
) -> None:
    """Do what `kernels.move_bridge` does, for targets that compiled code does not know; all chains side by side."""
    z, now = chains.positions.copy(), target.evaluate(chains.positions, chains[1:], num_threads)
    for m in range(momenta.shape[1]):
        v = _stretched(q, momenta[:, m], q.gains)
        start = _energy(q, power, z, v, now.log_density)
        end_z, end, change = _trajectories(target, q, power, z, v, now, steps[:, m], lengths[:, m], start, num_threads)
        with np.errstate(invalid="ignore", over="ignore"):
            chance = np.where(np.isfinite(change), np.exp(np.minimum(0.0, -change)), 0.0)
        is_accepted = uniforms[:, m] < chance
        z[is_accepted] = end_z[is_accepted]
        for old, new in zip(now, end, strict=True):
            old[is_accepted] = new[is_accepted]
        kept = (z, now.values, now.policies, now.log_density, log_q(q, z), now.gradient, chance)
        for array, state in zip(moved[:-1], kept, strict=True):
            array[:, m] = state


def _energy(q: Gaussian, power: float, z: FloatArray, v: FloatArray, log_p: FloatArray) -> FloatArray:
    return np.asarray(0.5 * _norm(q, v) - power * log_p - (1.0 - power) * log_q(q, z))


def _trajectories(
    target: GeneralTarget,
    q: Gaussian,
    power: float,
    z: FloatArray,
    v: FloatArray,
    now: Evaluation,
    steps: FloatArray,
    lengths: IntArray,
    start: FloatArray,
    num_threads: int,
) -> tuple[FloatArray, Evaluation, FloatArray]:
    """Return where trajectories end, what is known there, and their changes of energy; infinite after a divergence."""

    def kicked(at: BoolArray, size: FloatArray) -> FloatArray:
        slope = power * _stretched(q, current.gradient[at], (1.0 + q.gains) ** 2 - 1.0)
        return np.asarray(v[at] + size[:, None] * (slope - (1.0 - power) * (z[at] - q.center)))

    z, v, change = z.copy(), v.copy(), np.zeros(len(z))
    current = Evaluation(now.log_density.copy(), now.gradient.copy(), now.values.copy(), now.policies.copy())
    for count in range(int(lengths.max())):
        at = (count < lengths) & np.isfinite(change)
        if not at.any():
            break
        with np.errstate(all="ignore"):
            v[at] = kicked(at, 0.5 * steps[at])
            z[at] += steps[at, None] * v[at]
            found = target.evaluate(z[at], (current.values[at], current.policies[at]), num_threads)
            for old, new in zip(current, found, strict=True):
                old[at] = new
            v[at] = kicked(at, 0.5 * steps[at])
            change[at] = _energy(q, power, z[at], v[at], current.log_density[at]) - start[at]
        change[~(change < kernels.MAX_ENERGY_CHANGE)] = np.inf
    return z, current, change


def correlation(before: FloatArray, after: FloatArray) -> float:
    """Return the correlation of two sets of coordinates `[M, R]`: averaged, or in their widest direction if larger."""
    if before.shape[1] == 0:
        return 0.0
    x, y = before - before.mean(axis=0), after - after.mean(axis=0)
    weights = np.full(len(x), 1.0 / len(x))
    direction, _ = widest_direction(y, weights, np.ones(y.shape[1]))
    a, b = x @ direction, y @ direction
    each = (x * y).sum(axis=0) / np.maximum(np.sqrt((x**2).sum(axis=0) * (y**2).sum(axis=0)), 1e-300)
    widest = float(a @ b) / max(float(np.sqrt((a @ a) * (b @ b))), 1e-300)
    return float(max(each.mean(), widest))
