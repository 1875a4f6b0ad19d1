"""Expected information gain: what an answer would tell about the class of the true reward.

State queries are exact for the given samples. With P_i(. | s) the expert's policy under sample i and w_i its weight,

    I(A_s; C) = H(sum_i w_i P_i(. | s)) - sum over classes c of W_c H(sum over i in c of w_i P_i(. | s) / W_c).

Trajectory queries use the chain rule, I(tau; C) = sum over t of E[I(a_t; C | history up to t)]: histories are drawn
from the posterior predictive, samples are reweighted by what a history tells, and the inner term is the exact formula
above. Each estimate is a sum of non-negative terms, and its variance is far below that of the plain nested estimator.
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
from journeyman.mdp import FiniteMDP
from journeyman.rewards import Discrete
from journeyman.threads import run_chunks
from journeyman.types import FloatArray

ESTIMATORS = {"chain": kernels.CHAIN, "nested": kernels.NESTED, "factorised": kernels.FACTORISED}


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
    walks = trajectory_information(posterior, setting, classes, own_weights(posterior), estimator)
    values, error = walks.mean(axis=1), walks.std(axis=1, ddof=1) / np.sqrt(setting.num_histories)
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
    """Return estimates `[N, num_histories]` of the information of a trajectory from each state of the setting.

    Walk n starts from row n mod K of weights `[K, M]`.
    """
    policies, mdp = kernel_policies(posterior), posterior.problem.mdp
    out = np.empty((len(setting.states), setting.num_histories))

    def rate(part: range) -> None:
        for index in part:
            start = int(setting.states[index])
            uniforms = walk_uniforms(setting, start)
            out[index] = walk_from(mdp, policies, classes, weights, start, uniforms, estimator=estimator).information

    run_chunks(rate, len(setting.states), setting.num_threads, chunk_size=4)
    return out


class Walks(NamedTuple):
    """Estimates `[N]` of the information in N walks, and, if kept, the weights `[N, M]` of the samples after it."""

    information: FloatArray
    weights: FloatArray


def walk_from(
    mdp: FiniteMDP,
    policies: Policies,
    classes: Classes,
    weights: FloatArray,
    start: int,
    uniforms: FloatArray,
    *,
    estimator: str = "chain",
    keeps_weights: bool = False,
) -> Walks:
    """Draw the expert's trajectories from a state; walk n starts from row n mod K of weights `[K, M]`."""
    num_walks, length = len(uniforms), (uniforms.shape[1] - 1) // 2
    walks = Walks(np.empty(num_walks), np.empty((num_walks if keeps_weights else 0, weights.shape[1])))
    kernels.walk(
        policies.chances, policies.entropies, classes.labels, classes.num_labels, classes.is_identity, weights,
        mdp.rows.indptr, mdp.rows.next_states, mdp.rows.probabilities, mdp.terminal, start, length, uniforms,
        ESTIMATORS[estimator], *walks,
    )  # fmt: skip
    return walks


def walk_uniforms(setting: Setting, start: int, step: int = 0) -> FloatArray:
    """Return the random numbers `[num_histories, 1 + 2 length]` of walks from a state, others for each `step`.

    The first action and the drawn sample are stratified over the walks, each apart, which can only lower the variance
    of their mean; the standard error, which takes walks for independent, then errs on the safe side.
    """
    rng = np.random.default_rng([setting.seed, start, step])
    num_walks = setting.num_histories
    uniforms = rng.random((num_walks, 1 + 2 * setting.length))
    for column in (0, 1):
        uniforms[:, column] = (rng.permutation(num_walks) + uniforms[:, column]) / num_walks
    return uniforms


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
