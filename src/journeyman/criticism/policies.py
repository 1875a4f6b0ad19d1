"""What each sample of a posterior says the expert does: the one place where criticism asks for it."""

import numpy as np

from journeyman.inference.posterior import Posterior
from journeyman.inference.surprise import LARGEST_LOG
from journeyman.types import FloatArray, IntArray


def log_policies(posterior: Posterior, states: IntArray) -> FloatArray:
    """Return log pi(a | s) `[M, K, A]` of every sample in K states.

    Large and negative, but a number, where an action has no chance or does not exist.
    """
    return np.maximum(posterior.problem.expert.log_policy(posterior.q(states)), -LARGEST_LOG)


def spread_samples(posterior: Posterior, num_draws: int) -> IntArray:
    """Return `num_draws` evenly spaced draws from the samples, by number: nothing is random."""
    spaced = (np.arange(num_draws) + 0.5) / num_draws
    return np.minimum(np.searchsorted(np.cumsum(posterior.weights), spaced), posterior.num_samples - 1)
