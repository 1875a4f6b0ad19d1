"""Entropies of what the expert may do: baselines that do not ask what the entropy comes from."""

import numpy as np
from scipy.special import entr

from journeyman.acquisition.information import state_chunks
from journeyman.acquisition.scores import Rating, ScoringContext
from journeyman.checks import whole_number
from journeyman.inference.posterior import Posterior
from journeyman.mdp.policies import policy_matrix
from journeyman.types import FloatArray

ROW_DIGITS = 9  # to which policy rows are compared


def rate_random(posterior: Posterior, context: ScoringContext) -> Rating:
    """Rate all states the same, 0: whoever chooses breaks the tie by chance."""
    return Rating(np.zeros(len(context.states)))


def rate_action_entropy(posterior: Posterior, context: ScoringContext) -> Rating:
    """Rate the entropy of the expert's next actions, averaged over the posterior (Kweon et al. 2023), in nats.

    For a trajectory: the expected sum of this entropy over the states that it visits, following the average policy;
    exact, by dynamic programming. Entropy that no answer can lower counts too, so where actions are equally good this
    asks again and again.
    """
    policy = posterior.predictive_policy()
    entropies = entr(policy).sum(axis=1)
    if context.kind == "state":
        return Rating(entropies[context.states])
    mdp = posterior.problem.mdp
    entropies = np.where(mdp.terminal, 0.0, entropies)
    transitions = policy_matrix(mdp, policy) / mdp.discount
    total = np.zeros(mdp.num_states)
    for _ in range(context.length):
        total = entropies + transitions @ total
    return Rating(total[context.states])


def rate_policy_entropy(posterior: Posterior, context: ScoringContext, *, buckets: int | None = 10) -> Rating:
    """Rate how uncertain the expert's policy itself is (Lopes et al. 2009), in nats.

    The entropy of the histogram of P_i(a | s) over samples, averaged over the available actions.

    Parameters
    ----------
    buckets
        Number of equal buckets of 0..1; None: the entropy over distinct policy rows instead.
    """
    if buckets is not None:
        whole_number(buckets, "buckets", 2, "Say None for the entropy over distinct rows.")
    available = posterior.problem.mdp.available
    values = np.empty(len(context.states))
    for at, states in state_chunks(posterior, context.states):
        policies = posterior.expert_policies(states)
        for offset, state in enumerate(states.tolist()):
            rows = policies[:, offset, available[state]]
            values[at.start + offset] = (
                _row_entropy(posterior, rows) if buckets is None else _spread(posterior, rows, buckets)
            )
    return Rating(values)


def _row_entropy(posterior: Posterior, rows: FloatArray) -> float:
    """Return the entropy of the distribution over distinct rows of `[M, A]`."""
    _, index = np.unique(np.round(rows, ROW_DIGITS), axis=0, return_inverse=True)
    return float(entr(np.bincount(index.ravel(), weights=posterior.weights)).sum())


def _spread(posterior: Posterior, rows: FloatArray, buckets: int) -> float:
    """Return the entropy of the histogram of each column of `[M, A]`, averaged over columns."""
    index = np.minimum((rows * buckets).astype(np.int64), buckets - 1)
    parts = [entr(np.bincount(column, weights=posterior.weights)).sum() for column in index.T]
    return float(np.mean(parts))
