"""Priors of several independent copies of the same parameters, one for each state of a memory."""

from typing import Any

import numpy as np

from journeyman.errors import UnsupportedError
from journeyman.rewards.continuous import MultivariateNormal, Normal, Uniform
from journeyman.rewards.priors import Prior
from journeyman.types import IntArray


def copied_prior(prior: Prior, sources: IntArray, owners: IntArray) -> Prior:
    """Return the prior of copies of parameters: what belongs to different owners is independent.

    Parameters
    ----------
    sources
        `[D']` which parameter each is a copy of.
    owners
        `[D']` which copy it belongs to, as a number.
    """
    size = len(sources)
    if np.array_equal(sources, np.arange(prior.num_parameters)) and np.ptp(owners) == 0:
        return prior  # one copy
    if isinstance(prior, Normal):
        return Normal(size, _taken(prior.mean, sources), _taken(prior.std, sources))
    if isinstance(prior, Uniform):
        return Uniform(size, _taken(prior.low, sources), _taken(prior.high, sources))
    if isinstance(prior, MultivariateNormal):
        is_same = owners[:, None] == owners[None, :]
        covariance = np.asarray(prior.covariance)[np.ix_(sources, sources)]
        return MultivariateNormal(_taken(prior.mean, sources), np.where(is_same, covariance, 0.0))
    raise UnsupportedError(
        f"a memory needs a Normal, Uniform or MultivariateNormal prior, got {type(prior).__name__}. Use one of these, "
        'or share rewards over the memory: rewards="shared".'
    )


def _taken(numbers: Any, sources: IntArray) -> Any:
    """Return the numbers of some parameters; one number is that of all."""
    array = np.asarray(numbers, dtype=np.float64)
    return np.broadcast_to(array, (int(sources.max()) + 1,))[sources] if array.ndim == 0 else array[sources]
