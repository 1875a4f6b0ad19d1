"""What a certificate would say if the expert were another than assumed, for example more or less rational.

Optimal values do not depend on the model of the expert: it enters the likelihood alone. So the samples of the posterior
under one model become samples under another by weights p(D | theta, other) / p(D | theta, assumed), without inference.
Where that leaves too few samples, and the certificate would hold, the other model gets an inference of its own. So do
priors of another width, where the model was checked in full.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from journeyman.apprentice.effective_size import SampleSet, effective_size_of, sample_set
from journeyman.apprentice.regret import failures_of
from journeyman.apprentice.verdict import Claim
from journeyman.criticism import Criticism
from journeyman.criticism.rivals import FACTORS, posterior_under, width_words
from journeyman.experts import ExpertModel, as_expert_model
from journeyman.inference.likelihood import log_likelihoods
from journeyman.inference.posterior import Posterior
from journeyman.inference.weights import normalised
from journeyman.problem import Problem
from journeyman.rewards import widened
from journeyman.types import AnyArray, BoolArray

MIN_RELIABLE_SIZE = 20.0  # effective samples below which a chance says nothing
NUM_PARTICLES = (400, 1600)  # of inference under another model; the second where the first are too few


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
    arrays = (posterior.answers, posterior.rewards_where_asked, posterior.acted_values, posterior.expert_parameters)
    change = log_likelihoods(problem, *arrays) - posterior.log_likelihoods()
    with np.errstate(divide="ignore"):
        log_weights = np.log(posterior.weights) + np.where(posterior.weights > 0.0, change, 0.0)
    return replace(
        posterior, problem=problem, weights=normalised(log_weights), log_evidence=None, log_evidence_error=None
    )


def expert_sensitivity(
    samples: SampleSet,
    is_failing: BoolArray,
    claim: Claim,
    policy: AnyArray,
    scope: str,
    criticism: Criticism | None = None,
) -> tuple[ExpertSensitivity, ...]:
    """Return the chance of failure under the variants of the assumed expert, such as half and twice its beta.

    Parameters
    ----------
    is_failing
        `[M]` under which samples the policy fails.
    policy, scope
        That is certified, for models that get an inference of their own.
    criticism
        Of the model, with what its variants believe, where the claim would hold: then inference may be run. If it was
        full, priors half and twice as wide are looked at too.
    """
    assumed = samples.posterior.problem
    results = []
    for label, expert in assumed.expert.variants():
        found = _reweighted(samples, is_failing, claim, label, expert)
        if found.chance is None and criticism is not None:
            found = _inferred(samples, claim, policy, scope, criticism, label, replace(assumed, expert=expert))
        results.append(found)
    if criticism is not None and criticism.is_full:
        for factor in FACTORS:
            prior, label = widened(assumed.prior, factor), width_words(factor)
            if prior is not None:
                other = replace(assumed, prior=prior)
                results.append(_inferred(samples, claim, policy, scope, criticism, label, other))
    return tuple(results)


def _reweighted(
    samples: SampleSet, is_failing: BoolArray, claim: Claim, label: str, expert: ExpertModel
) -> ExpertSensitivity:
    posterior = under_expert(samples.posterior, expert)
    chance = float(posterior.mean(is_failing))
    if samples.kind == "atoms":
        return ExpertSensitivity(label, chance, None)
    size = effective_size_of(replace(samples, posterior=posterior), is_failing, claim.confidence).value
    return ExpertSensitivity(label, chance if size >= MIN_RELIABLE_SIZE else None, size)


def _inferred(
    samples: SampleSet,
    claim: Claim,
    policy: AnyArray,
    scope: str,
    criticism: Criticism,
    label: str,
    problem: Problem,
) -> ExpertSensitivity:
    """Return the chance of failure under another model, from what it believes by an inference of its own."""
    counts, size = samples.posterior.answers, 0.0
    for num_particles in (None, *NUM_PARTICLES):
        belief = criticism.beliefs.get(label)
        if num_particles is not None:
            belief = posterior_under(problem, counts, seed=0, num_threads=None, num_particles=num_particles)
        if belief is None:
            continue
        found = failures_of(belief, policy, claim.epsilon, scope)
        drawn = sample_set(belief)
        if drawn.kind == "atoms":
            return ExpertSensitivity(label, float(belief.mean(found.is_failing)), None)
        size = effective_size_of(drawn, found.is_failing, claim.confidence, found.regret).value
        if size >= MIN_RELIABLE_SIZE:
            return ExpertSensitivity(label, float(belief.mean(found.is_failing)), size)
    return ExpertSensitivity(label, None, size)
