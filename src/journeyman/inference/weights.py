"""Weighted samples: their weights, effective size and widest direction, and resampling."""

import numpy as np

from journeyman.checks import whole_number
from journeyman.types import FloatArray, IntArray


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


def systematic_resample(rng: np.random.Generator, weights: FloatArray, size: int) -> IntArray:
    """Return `size` indices, each i about size * weights[i] times, from one uniform draw."""
    size = whole_number(size, "size", 1)
    positions = (rng.random() + np.arange(size)) / size
    cumulative = np.cumsum(weights)
    return np.minimum(np.searchsorted(cumulative / cumulative[-1], positions, side="right"), len(weights) - 1)


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
