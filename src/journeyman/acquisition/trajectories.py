"""Information of trajectories.

The chain rule says I(tau; C) = sum over t of E[I(a_t; C | history up to t)]. Histories are drawn from the posterior
predictive, samples are reweighted by what a history tells, and the inner term is the exact formula for one action.
Histories grow as trees: walks are shared among answers and next states in proportion to their chances, and walks that
met the same are looked at once. Each estimate is a sum of non-negative terms, and its variance is far below that of the
plain nested estimator.
"""

from typing import NamedTuple

import numpy as np

from journeyman.acquisition import kernels
from journeyman.acquisition.partition import Partition
from journeyman.acquisition.policies import Policies, kernel_policies, own_weights
from journeyman.acquisition.scores import ScoringContext
from journeyman.inference.posterior import Posterior
from journeyman.threads import run_chunks
from journeyman.types import FloatArray

ESTIMATORS = ("chain", "nested", "factorised")
NUM_TREES = 8  # independent ones per state: their spread is the standard error


def trajectory_information(
    posterior: Posterior, context: ScoringContext, partition: Partition, weights: FloatArray, estimator: str
) -> FloatArray:
    """Return independent estimates `[N, R]` of the information of a trajectory from each state of the context.

    weights `[K, M]` are those of the samples given each of K equally likely histories; with several, estimate r is
    given history r.
    """
    policies = kernel_policies(posterior)
    num_trees = min(NUM_TREES, context.num_histories) if len(weights) == 1 else len(weights)
    out = np.empty((len(context.states), num_trees if estimator == "chain" else context.num_histories))

    def rate(part: range) -> None:
        for index in part:
            start = int(context.states[index])
            if estimator != "chain":
                out[index] = walk_from(posterior, context, policies, partition, start, estimator)
                continue
            for tree, uniforms in enumerate(tree_uniforms(context, start, num_trees)):
                root = weights[tree % len(weights)]
                out[index, tree] = grow_from(posterior, policies, partition, root, start, uniforms).information

    run_chunks(rate, len(context.states), context.num_threads, chunk_size=4)
    return out


class Tree(NamedTuple):
    """Walks from a state: their average information, and, if kept, the weights `[K, M]` where they end, and chances."""

    information: float
    weights: FloatArray
    chances: FloatArray


def grow_from(
    posterior: Posterior,
    policies: Policies,
    partition: Partition,
    root: FloatArray,
    start: int,
    uniforms: FloatArray,
    *,
    keeps_ends: bool = False,
) -> Tree:
    """Grow a tree of N walks of the expert from a state, given weights `[M]` and random numbers `[length, N]`."""
    rows, size = posterior.problem.mdp.rows, uniforms.shape[1] if keeps_ends else 0
    ends, counts = np.empty((size, len(root))), np.empty(size, dtype=np.int64)
    information, num_ends = kernels.grow(
        policies.chances, policies.entropies, partition.labels, partition.num_labels, partition.is_identity, root,
        rows.indptr, rows.next_states, rows.probabilities, posterior.problem.mdp.terminal, start, len(uniforms),
        uniforms, ends, counts,
    )  # fmt: skip
    return Tree(information, ends[:num_ends], counts[:num_ends] / uniforms.shape[1])


def tree_uniforms(context: ScoringContext, start: int, num_trees: int, step: int = 0) -> FloatArray:
    """Return the random numbers `[num_trees, length, walks]` of trees from a state, others for each `step`."""
    size = -(-context.num_histories // num_trees)
    return np.random.default_rng([context.seed, start, step]).random((num_trees, context.length, size))


def walk_from(
    posterior: Posterior, context: ScoringContext, policies: Policies, partition: Partition, start: int, estimator: str
) -> FloatArray:
    """Return the estimates `[num_histories]` of single walks from a state, nested or factorised."""
    rows, out = posterior.problem.mdp.rows, np.empty(context.num_histories)
    uniforms = np.random.default_rng([context.seed, start]).random((len(out), 1 + 2 * context.length))
    kernels.walk(
        policies.chances, partition.labels, partition.is_identity, own_weights(posterior)[0], rows.indptr,
        rows.next_states, rows.probabilities, posterior.problem.mdp.terminal, start, context.length, uniforms,
        estimator == "factorised", out,
    )  # fmt: skip
    return out
