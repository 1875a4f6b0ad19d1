"""Weighted samples: their weights, effective size and widest direction, and resampling."""

import numpy as np

from journeyman.checks import whole_number
from journeyman.types import FloatArray, IntArray

PROGRESS_EXPONENT = 0.1  # with it the time left is within a factor of 2 in the second half


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


def stage_size(log_weights: FloatArray, wanted: float) -> float:
    """Return the largest part of a change that keeps an effective size of `wanted`; 1 if all of it nearly does."""
    if effective_size(log_weights) >= 0.5 * wanted:
        return 1.0
    low, high = -700.0, 0.0  # logs: a first part may have to be tiny where the prior is wide
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if effective_size(np.exp(middle) * log_weights) >= wanted else (low, middle)
    return float(np.exp(low))


def tempering_done(power: float, first: float) -> float:
    """Return how far tempering is, in 0..1 and nearly linear in time, where the first stage reaches the power `first`.

    Stages multiply the power, by less and less: progress is power^`PROGRESS_EXPONENT`, between the logarithm and the
    power itself, from `first` / 2 on, so that the first stage counts too.
    """
    begin = (0.5 * first) ** PROGRESS_EXPONENT
    return float((max(power, first) ** PROGRESS_EXPONENT - begin) / (1.0 - begin))


def log_mean_variance(log_weights: FloatArray, group_size: int) -> float:
    """Return the variance of the log of the mean weight, from the spread between groups of `group_size` in a row.

    Weights of one group may be alike, those of different groups are nearly independent.
    """
    weights = normalised(log_weights) * len(log_weights)
    bounds = np.arange(0, len(weights), group_size)
    sums, sizes = np.add.reduceat(weights, bounds), np.diff(np.append(bounds, len(weights)))
    residuals = sums - sizes * weights.mean()
    num_groups = len(bounds)
    return float((residuals**2).sum() / len(weights) ** 2 * num_groups / max(num_groups - 1, 1))


def systematic_resample(rng: np.random.Generator, weights: FloatArray, size: int) -> IntArray:
    """Return `size` indices, each i about size * weights[i] times, from one uniform draw."""
    size = whole_number(size, "size", 1)
    positions = (rng.random() + np.arange(size)) / size
    cumulative = np.cumsum(weights)
    return np.minimum(np.searchsorted(cumulative / cumulative[-1], positions, side="right"), len(weights) - 1)


def spread_draws(weights: FloatArray, size: int) -> IntArray:
    """Return `size` indices, evenly spaced among samples with these weights, which sum to one: nothing is random."""
    spaced = (np.arange(size) + 0.5) / size
    return np.minimum(np.searchsorted(np.cumsum(weights), spaced), len(weights) - 1)


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
