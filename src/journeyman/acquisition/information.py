"""Expected information gain: what an answer would tell about the class of the true reward.

State queries are exact for the given samples. With P_i(. | s) the expert's policy under sample i and w_i its weight,

    I(A_s; C) = H(sum_i w_i P_i(. | s)) - sum over classes c of W_c H(sum over i in c of w_i P_i(. | s) / W_c).

Trajectories: the chain rule says I(tau; C) = sum over t of E[I(a_t; C | history up to t)]. Histories are drawn from the
posterior predictive, samples are reweighted by what a history tells, and the inner term is the exact formula for one
action. Histories grow as trees: walks are shared among answers and next states in proportion to their chances, and
walks that met the same are looked at once. Each estimate is a sum of non-negative terms, and its variance is far below
that of the plain nested estimator.

All information is that of the finite set of samples, so it cannot exceed the entropy of their weights, log M at most.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.special import entr, stdtr, stdtrit

from journeyman.acquisition import kernels
from journeyman.acquisition.scores import Partition, Rating, ScoringContext, each_sample
from journeyman.checks import one_of
from journeyman.inference.posterior import CHUNK_ENTRIES, Posterior
from journeyman.threads import run_chunks
from journeyman.types import FloatArray, IntArray

ESTIMATORS = ("chain", "nested", "factorised")
NUM_TREES = 8  # independent ones per state: their spread is the standard error
NO_INFORMATION = 1e-6  # nats, below which a score counts as 0


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
    return np.array(posterior.weights)[None]  # a copy: kernels are compiled for writable arrays


def rate_reward_eig(posterior: Posterior, context: ScoringContext, *, estimator: str = "chain") -> Rating:
    """Rate what an answer tells about the reward: I(tau; r), in nats.

    For a state query H(sum w_i P_i) - sum w_i H(P_i), known as BALD (Houlsby et al. 2011).

    Parameters
    ----------
    estimator
        Of trajectory queries: "chain" (the chain rule, never negative), "nested" (the plain Monte-Carlo estimator) or
        "factorised" (nested, but averaging each step's chances apart, as the paper prints it: this ignores what earlier
        steps of a trajectory told, so it counts the same information several times).
    """
    return rate_information(posterior, context, each_sample(posterior.num_samples), estimator=estimator)


def rate_information(
    posterior: Posterior, context: ScoringContext, partition: Partition, *, estimator: str = "chain"
) -> Rating:
    """Rate what an answer tells about the class of the true reward, in nats."""
    one_of(estimator, ESTIMATORS, "estimator", "Leave it out for 'chain'.")
    again_fn = partial(information_again, posterior, partition, estimator)
    if context.kind == "state":
        values = state_information(posterior, context, partition, own_weights(posterior), np.ones(1))
        return Rating(values, warnings=ceiling_warnings(posterior, values), again_fn=again_fn)
    first = np.empty(len(context.states))
    estimates = trajectory_information(
        posterior, context, partition, own_weights(posterior), estimator, first if estimator == "chain" else None
    )
    values, missed = estimates.mean(axis=1), np.zeros(len(estimates))
    if estimator == "chain" and context.length > 1:
        missed = later_information(posterior, context, values - first)
    error = stated_error(estimates, missed, context.num_histories)
    return Rating(values, error, warnings=ceiling_warnings(posterior, values), again_fn=again_fn)


def later_information(posterior: Posterior, context: ScoringContext, later: FloatArray) -> FloatArray:
    """Return about how much `[N]` an answer may tell after its first action, the part that walks may have missed.

    It is what they told, `later` `[N]`. Where they told nothing, but may go on, it is what one action tells at most:
    log A, or the entropy of the weights if less.
    """
    mdp = posterior.problem.mdp
    bounds = mdp.rows.indptr[:: mdp.num_actions]
    goes_on = [not mdp.terminal[mdp.rows.next_states[bounds[s] : bounds[s + 1]]].all() for s in context.states]
    most = min(float(np.log(mdp.num_actions)), float(entr(posterior.weights).sum()))
    return np.where(goes_on, np.where(later > NO_INFORMATION, later, most), 0.0)


def stated_error(estimates: FloatArray, missed: FloatArray, num_walks: int) -> FloatArray:
    """Return standard errors `[N]` of the means of independent estimates `[N, R]`, twice which cover 95 %.

    Few estimates make their spread uncertain: it is widened by Student's t, so that two standard errors cover what they
    do of a normal distribution. And answers that no walk met are not in the spread: in N walks a chance of 1 / N is
    easily missed, so half of what that would add, missed `[N]` / N, counts as another error.

    Parameters
    ----------
    missed
        `[N]` about how much the value of an answer that was never sampled may differ from what was.
    """
    num_estimates = estimates.shape[1]
    spread = estimates.std(axis=1, ddof=1) / np.sqrt(num_estimates)
    factor = float(stdtrit(num_estimates - 1, stdtr(np.inf, 2.0))) / 2.0
    return np.asarray(factor * np.hypot(spread, 0.5 * missed / num_walks))


def state_information(
    posterior: Posterior, context: ScoringContext, partition: Partition, weights: FloatArray, chances: FloatArray
) -> FloatArray:
    """Return the information of one action in each state `[N]`, averaged over histories.

    Parameters
    ----------
    weights
        `[K, M]` of the samples given each history.
    chances
        `[K]` of the histories.
    """
    out = np.empty(len(context.states))
    for at, states in state_chunks(posterior, context.states):
        gains, local, policies = out[at], partition.at(states), kernel_policies(posterior, states)

        def rate(
            part: range, gains: FloatArray = gains, local: Partition = local, policies: Policies = policies
        ) -> None:
            here = np.arange(part.start, part.stop)
            inside = slice(part.start, part.stop)
            labels = local.at(here)
            kernels.state_information(
                policies.chances[inside], policies.entropies[inside], weights, chances, labels.labels,
                labels.num_labels, labels.is_identity, gains[inside],
            )  # fmt: skip

        run_chunks(rate, len(states), context.num_threads)
    return out


def ceiling_warnings(posterior: Posterior, values: FloatArray) -> tuple[str, ...]:
    """Warn where the information nears the most that so many samples can show; atoms of a Discrete prior are exact."""
    if posterior.problem.prior.is_discrete or not values.size:
        return ()
    ceiling = float(entr(posterior.weights).sum())
    if not float(values.max()) > max(0.5 * ceiling, NO_INFORMATION):
        return ()
    return (
        f"the largest information is {values.max():.2f} nats, more than half of the {ceiling:.2f} that "
        f"{posterior.num_samples} weighted samples can show at most: scores are too low. "
        "Use more samples, or shorter trajectories.",
    )


def trajectory_information(
    posterior: Posterior,
    context: ScoringContext,
    partition: Partition,
    weights: FloatArray,
    estimator: str,
    first: FloatArray | None = None,
) -> FloatArray:
    """Return independent estimates `[N, R]` of the information of a trajectory from each state of the context.

    weights `[K, M]` are those of the samples given each of K equally likely histories; with several, estimate r is
    given history r. If there is a `first` `[N]`, what the first action tells under the first of them is put there.
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
                if tree == 0 and first is not None:
                    first[index] = grow_from(posterior, policies, partition, root, start, uniforms[:1, :1]).information
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


def information_again(
    posterior: Posterior,
    partition: Partition,
    estimator: str,
    context: ScoringContext,
    weights: FloatArray,
    chances: FloatArray,
) -> Rating:
    """Rate what an answer tells about the same classes, given histories; after several, always by the chain rule."""
    if len(weights) == 1:
        return rate_information(replace(posterior, weights=weights[0]), context, partition, estimator=estimator)
    if context.kind == "state":
        return Rating(state_information(posterior, context, partition, weights, chances))
    estimates = trajectory_information(posterior, context, partition, weights, "chain")
    return Rating(np.average(estimates, axis=1, weights=chances / chances.max()))  # of equal ones it is the plain mean
