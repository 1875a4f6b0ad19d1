"""Acquisition by the total regret of the apprentice: ActiveVaR, and Regret-EIG, which fails."""

import numpy as np
from numpy.typing import ArrayLike

from journeyman.acquisition.information import rate_information, state_chunks
from journeyman.acquisition.scores import Partition, Rating, ScoringContext, labels_of_values
from journeyman.apprentice.policies import expected_return
from journeyman.apprentice.regret import regret_estimates, state_regrets
from journeyman.checks import share, whole_number
from journeyman.inference.posterior import Posterior, weighted_quantile


def rate_active_var(
    posterior: Posterior, context: ScoringContext, *, tail: float = 0.05, policy: ArrayLike | None = None
) -> Rating:
    """Rate the value at risk of the apprentice from a state (Brown et al. 2018), in units of reward.

    The (1 - tail)-quantile of V*(s) - V^pi(s), by the weighted inverse distribution function. The same for trajectory
    queries. A state gets the blame for what goes wrong further on, so this may ask too early on the way.

    Parameters
    ----------
    tail
        Chance of a larger regret, in (0, 1).
    policy
        `[S]` or `[S, A]` apprentice; default: `expected_return`.
    """
    tail = share(tail, "tail", "The usual choice is 0.05.")
    chosen = expected_return(posterior) if policy is None else policy
    regret = state_regrets(posterior, chosen)
    parts = [
        weighted_quantile(regret[:, states], posterior.weights, 1.0 - tail)
        for _, states in state_chunks(posterior, context.states)
    ]
    return Rating(np.concatenate(parts))


def rate_regret_eig(
    posterior: Posterior,
    context: ScoringContext,
    *,
    bins: int | None = None,
    policy: ArrayLike | None = None,
    estimator: str = "chain",
) -> Rating:
    """Rate what an answer tells about the total regret of the apprentice, I(tau; R), in nats.

    A step on the paper's way to PAC-EIG that fails: where the regret is known to be large, whichever action would be
    better, there is nothing to learn about it, and nothing is asked.

    Parameters
    ----------
    bins
        Number of bins of equal weight that regret is cut into; default 20, or the exact values with a Discrete prior.
    policy
        `[S]` or `[S, A]` apprentice; default: `expected_return`.
    estimator
        Of trajectory queries, as in `reward_eig`.
    """
    if bins is not None:
        whole_number(bins, "bins", 2, "The usual choice is 20.")
    found = regret_estimates(posterior, expected_return(posterior) if policy is None else policy)
    regret = found.cleaned()
    if bins is None and posterior.problem.prior.is_discrete:
        labels = labels_of_values(regret, 2.0 * float(found.errors.max()))
    else:
        levels = np.arange(1, bins or 20) / (bins or 20)
        edges = [weighted_quantile(regret[:, None], posterior.weights, float(level))[0] for level in levels]
        labels = np.unique(np.searchsorted(np.array(edges), regret, side="left"), return_inverse=True)[1].ravel()
    rating = rate_information(posterior, context, Partition(labels[None]), estimator=estimator)
    details = {"num_bins": int(labels.max()) + 1}
    return Rating(rating.values, rating.standard_error, details, rating.warnings, rating.again_fn)
