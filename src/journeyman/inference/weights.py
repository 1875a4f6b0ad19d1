"""Weights and correlations of particles."""

import numpy as np

from journeyman.types import FloatArray


def normalised(log_weights: FloatArray) -> FloatArray:
    """Return weights that sum to one."""
    weights = np.exp(log_weights - log_weights.max())
    return np.asarray(weights / weights.sum())


def log_mean_exp(log_weights: FloatArray) -> float:
    """Return the log of the mean weight."""
    largest = log_weights.max()
    return float(largest + np.log(np.exp(log_weights - largest).mean()))


def effective_size(log_weights: FloatArray) -> float:
    """Return Kish's effective sample size of weights, between 1 and their number."""
    weights = normalised(log_weights)
    return float(1.0 / (weights**2).sum())


def correlation(before: FloatArray, after: FloatArray, direction: FloatArray) -> float:
    """Return the correlation of two sets of points `[M, D]`: averaged over parameters, or along `direction` if larger.

    In the direction in which the posterior is widest moves take longest, and it may be hidden in every parameter.
    """
    each = _correlations(before, after).mean()
    widest = _correlations((before @ direction)[:, None], (after @ direction)[:, None])[0]
    return float(max(each, widest))


def _correlations(before: FloatArray, after: FloatArray) -> FloatArray:
    x, y = before - before.mean(axis=0), after - after.mean(axis=0)
    size = np.sqrt((x**2).sum(axis=0) * (y**2).sum(axis=0))
    return np.asarray((x * y).sum(axis=0) / np.maximum(size, 1e-300))


def widest_direction(positions: FloatArray, weights: FloatArray, scales: FloatArray) -> tuple[FloatArray, float]:
    """Return the unit direction `[D]` of largest variance of weighted points in units of `scales`, and that variance.

    By power iteration: what it is for needs no digits.
    """
    points = (positions - weights @ positions) / scales
    direction, variance = np.ones(points.shape[1]), 1.0
    for _ in range(30):
        direction = points.T @ (weights * (points @ direction))
        variance = float(np.linalg.norm(direction))
        direction /= max(variance, 1e-300)
    return direction, variance


def coarse(values: FloatArray | float) -> FloatArray:
    """Return values to two or three digits: enough to tune with, and free of the last bits that differ between runs."""
    mantissa, exponent = np.frexp(values)
    return np.asarray(np.ldexp(np.rint(256.0 * mantissa) / 256.0, exponent))
