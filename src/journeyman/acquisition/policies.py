"""Expert policies of the samples, a bounded number of states at a time."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.special import entr

from journeyman.inference.posterior import CHUNK_ENTRIES, Posterior
from journeyman.types import FloatArray, IntArray


class Policies(NamedTuple):
    """Expert policies of N states under M samples for the kernels: chances `[N, A, M]`, entropies `[N, M]`."""

    chances: FloatArray
    entropies: FloatArray


def kernel_policies(posterior: Posterior, states: IntArray | None = None) -> Policies:
    """Return the expert policies of some states (default all)."""
    chances = np.ascontiguousarray(posterior.expert_policies(states).transpose(1, 2, 0))
    return Policies(chances, entr(chances).sum(axis=1))


def state_chunks(posterior: Posterior, states: IntArray) -> Iterator[tuple[slice, IntArray]]:
    """Yield parts of `states`, and where they lie in it, so small that `[M, part, A]` numbers fit into memory."""
    size = max(1, CHUNK_ENTRIES // (posterior.num_samples * posterior.problem.mdp.num_actions))
    for first in range(0, len(states), size):
        yield slice(first, first + size), states[first : first + size]


def own_weights(posterior: Posterior) -> FloatArray:
    """Return the weights of the samples as the only row `[1, M]` of histories."""
    return np.array(posterior.weights)[None]  # a copy: kernels would be compiled anew for read-only arrays
