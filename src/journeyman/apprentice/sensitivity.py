"""What a certificate would say if the expert were more or less rational than assumed.

Optimal values do not depend on beta: it enters the likelihood alone. So the samples of the posterior at one beta become
samples at another by weights p(D | theta, other beta) / p(D | theta, beta), at the cost of no inference.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from journeyman.apprentice.effective import effective_size_of
from journeyman.apprentice.sample_sets import SampleSet
from journeyman.inference.likelihood import log_likelihoods
from journeyman.inference.posterior import Posterior
from journeyman.inference.weights import normalised
from journeyman.problem import checked_beta
from journeyman.types import BoolArray

FACTORS = (0.5, 2.0)
MIN_RELIABLE_SIZE = 20.0  # effective samples below which a reweighted chance says nothing


class BetaSensitivity(NamedTuple):
    """Estimated chance of failure if the expert's rationality were `beta`; None if too few samples are left to tell.

    effective_size: how many samples the estimate is worth; None for atoms, whose weights are exact.
    """

    beta: float
    chance: float | None
    effective_size: float | None


def at_beta(posterior: Posterior, beta: float) -> Posterior:
    """Return the posterior for an expert of another rationality, by reweighting its samples.

    Exact in the limit of many samples; how many are left is for the caller to judge. Diagnostics and log evidence are
    those of the old beta, so the latter is taken away.
    """
    problem = replace(posterior.problem, beta=checked_beta(beta))
    arrays = (posterior.counts, posterior.rewards, posterior.values)
    change = log_likelihoods(problem, *arrays) - log_likelihoods(posterior.problem, *arrays)
    with np.errstate(divide="ignore"):
        log_weights = np.log(posterior.weights) + np.where(posterior.weights > 0.0, change, 0.0)
    return replace(posterior, problem=problem, weights=normalised(log_weights), log_evidence=None)


def beta_sensitivity(samples: SampleSet, is_failing: BoolArray, confidence: float) -> tuple[BetaSensitivity, ...]:
    """Return the chance of failure at half and at twice the assumed rationality.

    Parameters
    ----------
    is_failing
        `[M]` under which samples the policy fails.
    confidence
        Of the certificate.
    """
    results = []
    for factor in FACTORS:
        posterior = at_beta(samples.posterior, factor * samples.posterior.problem.beta)
        chance, beta = float(posterior.mean(is_failing)), posterior.problem.beta
        if samples.kind == "atoms":
            results.append(BetaSensitivity(beta, chance, None))
            continue
        size = effective_size_of(replace(samples, posterior=posterior), is_failing, confidence).value
        results.append(BetaSensitivity(beta, chance if size >= MIN_RELIABLE_SIZE else None, size))
    return tuple(results)
