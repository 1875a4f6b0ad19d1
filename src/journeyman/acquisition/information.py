"""Expected information gain: what an answer would tell about the class of the true reward.

State queries are exact for the given samples. With P_i(. | s) the expert's policy under sample i and w_i its weight,

    I(A_s; C) = H(sum_i w_i P_i(. | s)) - sum over classes c of W_c H(sum over i in c of w_i P_i(. | s) / W_c).

Trajectory queries use the chain rule, I(tau; C) = sum over t of E[I(a_t; C | history up to t)]: histories are drawn
from the posterior predictive, samples are reweighted by what a history tells, and the inner term is the exact formula
above. Histories are drawn as trees: walks are shared among answers and next states in proportion to their chances, and
walks that met the same are looked at once. Each estimate is a sum of non-negative terms, and its variance is far below
that of the plain nested estimator.
The estimate is that of the finite set of samples, so it cannot exceed the entropy of their weights, log M at most.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import entr

from journeyman.acquisition import kernels
from journeyman.acquisition.classes import Classes, each_sample
from journeyman.acquisition.policies import Policies, kernel_policies, state_chunks
from journeyman.acquisition.scores import Rating, Setting
from journeyman.errors import InputError
from journeyman.inference.posterior import Posterior
from journeyman.rewards import Discrete
from journeyman.threads import run_chunks
from journeyman.types import FloatArray

ESTIMATORS = ("chain", "nested", "factorised")
NUM_TREES = 8  # independent ones per state: their spread is the standard error


def rate_reward_eig(posterior: Posterior, setting: Setting, *, estimator: str = "chain") -> Rating:
    """Rate what an answer tells about the reward: I(tau; r), in nats.

    For a state query H(sum w_i P_i) - sum w_i H(P_i), known as BALD (Houlsby et al. 2011).

    Parameters
    ----------
    estimator
        Of trajectory queries: "chain" (the chain rule, never negative), "nested" (the plain Monte-Carlo estimator) or
        "factorised" (nested, but averaging each step's chances apart, as the paper prints it: this ignores what earlier
        steps of a trajectory told, so it counts the same information several times).
    """
    return rate_information(posterior, setting, each_sample(posterior.num_samples), estimator=estimator)


def rate_information(posterior: Posterior, setting: Setting, classes: Classes, *, estimator: str = "chain") -> Rating:
    """Rate what an answer tells about the class of the true reward, in nats."""
    if estimator not in ESTIMATORS:
        raise InputError(f"estimator must be one of {', '.join(ESTIMATORS)}, got {estimator!r}. Leave it out.")
    if setting.kind == "state":
        values = state_information(posterior, setting, classes, own_weights(posterior), np.ones(1))
        return Rating(values, warnings=ceiling_warnings(posterior, values), classes=classes)
    estimates = trajectory_information(posterior, setting, classes, own_weights(posterior), estimator)
    values, error = estimates.mean(axis=1), estimates.std(axis=1, ddof=1) / np.sqrt(estimates.shape[1])
    return Rating(values, error, warnings=ceiling_warnings(posterior, values), classes=classes)


def own_weights(posterior: Posterior) -> FloatArray:
    """Return the weights of the samples as the only row `[1, M]` of histories."""
    return np.array(posterior.weights)[None]  # a copy: kernels would be compiled anew for read-only arrays


def state_information(
    posterior: Posterior, setting: Setting, classes: Classes, weights: FloatArray, chances: FloatArray
) -> FloatArray:
    """Return the information of one action in each state `[N]`, averaged over histories.

    Parameters
    ----------
    weights
        `[K, M]` of the samples given each history.
    chances
        `[K]` of the histories.
    """
    out = np.empty(len(setting.states))
    for at, states in state_chunks(posterior, setting.states):
        gains, local, policies = out[at], classes.at(states), kernel_policies(posterior, states)

        def rate(part: range, gains: FloatArray = gains, local: Classes = local, policies: Policies = policies) -> None:
            here = np.arange(part.start, part.stop)
            inside = slice(part.start, part.stop)
            labels = local.at(here)
            kernels.state_information(
                policies.chances[inside], policies.entropies[inside], weights, chances, labels.labels,
                labels.num_labels, labels.is_identity, gains[inside],
            )  # fmt: skip

        run_chunks(rate, len(states), setting.num_threads)
    return out


def trajectory_information(
    posterior: Posterior, setting: Setting, classes: Classes, weights: FloatArray, estimator: str
) -> FloatArray:
    """Return independent estimates `[N, R]` of the information of a trajectory from each state of the setting.

    weights `[K, M]` are those of the samples given each of K equally likely histories; with several, estimate r is
    given history r.
    """
    policies, num_trees = kernel_policies(posterior), NUM_TREES if len(weights) == 1 else len(weights)
    num_trees = min(num_trees, setting.num_histories) if len(weights) == 1 else num_trees
    if estimator != "chain":
        num_trees = setting.num_histories
    out = np.empty((len(setting.states), num_trees))

    def rate(part: range) -> None:
        for index in part:
            start = int(setting.states[index])
            if estimator != "chain":
                out[index] = walk_from(posterior, setting, policies, classes, start, estimator)
                continue
            for tree, uniforms in enumerate(tree_uniforms(setting, start, num_trees)):
                root = weights[tree % len(weights)]
                out[index, tree] = grow_from(posterior, policies, classes, root, start, uniforms).information

    run_chunks(rate, len(setting.states), setting.num_threads, chunk_size=4)
    return out


class Tree(NamedTuple):
    """Walks from a state: their average information, and, if kept, the weights `[K, M]` where they end, and chances."""

    information: float
    weights: FloatArray
    chances: FloatArray


def grow_from(
    posterior: Posterior,
    policies: Policies,
    classes: Classes,
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
        policies.chances, policies.entropies, classes.labels, classes.num_labels, classes.is_identity, root,
        rows.indptr, rows.next_states, rows.probabilities, posterior.problem.mdp.terminal, start, len(uniforms),
        uniforms, ends, counts,
    )  # fmt: skip
    return Tree(information, ends[:num_ends], counts[:num_ends] / uniforms.shape[1])


def tree_uniforms(setting: Setting, start: int, num_trees: int, step: int = 0) -> FloatArray:
    """Return the random numbers `[num_trees, length, walks]` of trees from a state, others for each `step`."""
    size = -(-setting.num_histories // num_trees)
    return np.random.default_rng([setting.seed, start, step]).random((num_trees, setting.length, size))


def walk_from(
    posterior: Posterior, setting: Setting, policies: Policies, classes: Classes, start: int, estimator: str
) -> FloatArray:
    """Return the estimates `[num_histories]` of single walks from a state, nested or factorised."""
    rows, out = posterior.problem.mdp.rows, np.empty(setting.num_histories)
    uniforms = np.random.default_rng([setting.seed, start]).random((len(out), 1 + 2 * setting.length))
    kernels.walk(
        policies.chances, classes.labels, classes.is_identity, own_weights(posterior)[0], rows.indptr, rows.next_states,
        rows.probabilities, posterior.problem.mdp.terminal, start, setting.length, uniforms, estimator == "factorised",
        out,
    )  # fmt: skip
    return out


def ceiling_warnings(posterior: Posterior, values: FloatArray) -> tuple[str, ...]:
    """Warn where the information nears the most that so many samples can show; atoms of a Discrete prior are exact."""
    if isinstance(posterior.problem.prior, Discrete) or not values.size:
        return ()
    ceiling = float(entr(posterior.weights).sum())
    if not float(values.max()) > 0.5 * ceiling:
        return ()
    return (
        f"the largest information is {values.max():.2f} nats, more than half of the {ceiling:.2f} that "
        f"{posterior.num_samples} weighted samples can show at most: scores are too low. "
        "Use more samples, or shorter trajectories.",
    )
