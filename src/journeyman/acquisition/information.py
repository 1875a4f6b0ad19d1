"""Expected information gain: what an answer would tell about the class of the true reward.

State queries are exact for the given samples. With P_i(. | s) the expert's policy under sample i and w_i its weight,

    I(A_s; C) = H(sum_i w_i P_i(. | s)) - sum over classes c of W_c H(sum over i in c of w_i P_i(. | s) / W_c).

Trajectory queries are in `trajectories`. All information is that of the finite set of samples, so it cannot exceed the
entropy of their weights, log M at most.
"""

import numpy as np
from scipy.special import entr

from journeyman.acquisition import kernels
from journeyman.acquisition.partition import Partition, each_sample
from journeyman.acquisition.policies import Policies, kernel_policies, own_weights, state_chunks
from journeyman.acquisition.scores import Rating, ScoringContext
from journeyman.acquisition.trajectories import ESTIMATORS, trajectory_information
from journeyman.checks import one_of
from journeyman.inference.posterior import Posterior
from journeyman.threads import run_chunks
from journeyman.types import FloatArray

NO_INFORMATION = 1e-6  # nats, below which a score counts as 0


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
    if context.kind == "state":
        values = state_information(posterior, context, partition, own_weights(posterior), np.ones(1))
        return Rating(values, warnings=ceiling_warnings(posterior, values), partition=partition)
    estimates = trajectory_information(posterior, context, partition, own_weights(posterior), estimator)
    values, error = estimates.mean(axis=1), estimates.std(axis=1, ddof=1) / np.sqrt(estimates.shape[1])
    return Rating(values, error, warnings=ceiling_warnings(posterior, values), partition=partition)


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
