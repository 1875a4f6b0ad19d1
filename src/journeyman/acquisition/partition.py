"""Partition of samples into classes: what an answer should tell apart.

Information about the reward itself puts each sample into a class of its own. Information about a coarser thing, such as
whether the apprentice is nearly right, puts all samples into one class that agree on it.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from journeyman.types import AnyArray, BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Partition:
    """Labels of M samples, numbered from 0.

    Parameters
    ----------
    labels
        `[S, M]` if the classes depend on the state that is asked about, `[1, M]` if not.
    is_identity
        Whether each sample is its own class; then labels are not looked at.
    """

    labels: IntArray
    is_identity: bool = False

    @cached_property
    def num_labels(self) -> IntArray:
        """Number of classes, `[S]` or `[1]`."""
        return np.asarray(self.labels.max(axis=1) + 1)

    def at(self, states: IntArray) -> "Partition":
        """Return the classes for these states only, in this order."""
        return self if len(self.labels) == 1 else Partition(self.labels[states], self.is_identity)


def each_sample(num_samples: int) -> Partition:
    """Return the finest classes: every sample is its own."""
    return Partition(np.arange(num_samples)[None], is_identity=True)


def refined(labels: IntArray, more: AnyArray) -> IntArray:
    """Return labels `[M]` that agree only where both `labels` and the integers `more` `[M]` do."""
    _, compact = np.unique(more, return_inverse=True)
    _, both = np.unique(labels * (int(compact.max()) + 1) + compact.ravel(), return_inverse=True)
    return np.asarray(both.ravel())


def packed(buckets: AnyArray, num_buckets: int) -> IntArray:
    """Return one label `[M]` per distinct row of bucket numbers `[M, A]`."""
    if num_buckets ** buckets.shape[1] < 2**62:
        codes = buckets.astype(np.int64) @ (num_buckets ** np.arange(buckets.shape[1], dtype=np.int64))
        _, labels = np.unique(codes, return_inverse=True)
    else:
        _, labels = np.unique(buckets, axis=0, return_inverse=True)
    return np.asarray(labels.ravel())


def labels_of_values(values: FloatArray, tolerance: float) -> IntArray:
    """Return one label per distinct value `[M]`; neighbours closer than `tolerance` count as equal."""
    order = np.argsort(values, kind="stable")
    is_new: BoolArray = np.concatenate([[False], np.diff(values[order]) > tolerance])
    labels = np.empty(len(values), dtype=np.int64)
    labels[order] = np.cumsum(is_new)
    return labels
