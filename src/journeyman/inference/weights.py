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


def correlation(before: FloatArray, after: FloatArray) -> float:
    """Return the correlation of two sets of points `[M, D]`, averaged over parameters."""
    x, y = before - before.mean(axis=0), after - after.mean(axis=0)
    size = np.sqrt((x**2).sum(axis=0) * (y**2).sum(axis=0))
    return float(np.mean((x * y).sum(axis=0) / np.maximum(size, 1e-300)))
