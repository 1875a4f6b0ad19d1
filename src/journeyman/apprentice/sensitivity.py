"""What a certificate would say if the expert were another than assumed, for example more or less rational.

Optimal values do not depend on the model of the expert: it enters the likelihood alone. So the samples of the posterior
under one model become samples under another by weights p(D | theta, other) / p(D | theta, assumed), without inference.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from journeyman.apprentice.effective_size import SampleSet, effective_size_of
from journeyman.experts import ExpertModel, as_expert_model
from journeyman.inference.likelihood import log_likelihoods
from journeyman.inference.posterior import Posterior
from journeyman.inference.weights import normalised
from journeyman.types import BoolArray

MIN_RELIABLE_SIZE = 20.0  # effective samples below which a reweighted chance says nothing


class ExpertSensitivity(NamedTuple):
    """Estimated chance of failure if the expert were another ("beta = 2"); None if too few samples are left to tell.

    effective_size: how many samples the estimate is worth; None for atoms, whose weights are exact.
    """

    expert: str
    chance: float | None
    effective_size: float | None


def under_expert(posterior: Posterior, expert: ExpertModel | float) -> Posterior:
    """Return the posterior for another model of the expert (or a number: beta), by reweighting its samples.

    Exact in the limit of many samples; how many are left is for the caller to judge. Diagnostics are those of the old
    model, and the log evidence is taken away.
    """
    problem = replace(posterior.problem, expert=as_expert_model(expert))
    arrays = (posterior.counts, posterior.rewards, posterior.values)
    change = log_likelihoods(problem, *arrays) - log_likelihoods(posterior.problem, *arrays)
    with np.errstate(divide="ignore"):
        log_weights = np.log(posterior.weights) + np.where(posterior.weights > 0.0, change, 0.0)
    return replace(
        posterior, problem=problem, weights=normalised(log_weights), log_evidence=None, log_evidence_error=None
    )


def expert_sensitivity(samples: SampleSet, is_failing: BoolArray, confidence: float) -> tuple[ExpertSensitivity, ...]:
    """Return the chance of failure under the variants of the assumed expert, such as half and twice its beta.

    Parameters
    ----------
    is_failing
        `[M]` under which samples the policy fails.
    confidence
        Of the certificate.
    """
    results = []
    for label, expert in samples.posterior.problem.expert.variants():
        posterior = under_expert(samples.posterior, expert)
        chance = float(posterior.mean(is_failing))
        if samples.kind == "atoms":
            results.append(ExpertSensitivity(label, chance, None))
            continue
        size = effective_size_of(replace(samples, posterior=posterior), is_failing, confidence).value
        results.append(ExpertSensitivity(label, chance if size >= MIN_RELIABLE_SIZE else None, size))
    return tuple(results)
