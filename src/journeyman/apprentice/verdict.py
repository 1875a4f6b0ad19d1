"""What follows from the numbers of a certificate: its status, the reasons for it, and what would help."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from journeyman.apprentice.effective_size import size_needed, upper_bound
from journeyman.apprentice.epsilon import epsilon_words, regret_words
from journeyman.apprentice.regret import StateContribution, regret_unit
from journeyman.criticism import Criticism
from journeyman.inference.posterior import Posterior, weighted_quantile
from journeyman.mdp import Discretised, EstimatedDynamics
from journeyman.problem import Problem
from journeyman.types import BoolArray, FloatArray
from journeyman.wording import chance_words, percent

MAX_SINGLE_WEIGHT = 0.99
MIN_ACCURACY = 10.0  # times the numerical error that epsilon must be
MAX_LIKELIHOOD_ERROR = 0.1  # nats
EVEN_REWARDS = (
    "use rewards of about 1 that differ little in size: make what is forbidden unavailable instead of costly, and "
    "leave out a constant that all rewards share"
)
MAX_FACTOR = 100.0  # times as many samples that we advise to draw


class Verdict(NamedTuple):
    """Status, why a certificate does not hold, and what would help."""

    status: str
    reasons: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()


class Claim(NamedTuple):
    """That a regret of epsilon or more has a chance of at most delta, to be shown with some confidence."""

    epsilon: float
    delta: float
    confidence: float


class Estimate(NamedTuple):
    """Estimated chance of failure, its upper bound, the effective sample size (None: exact), and numerical errors.

    numerical_error: of regrets; likelihood_error: of the log likelihood of the answers, in nats.
    """

    chance: float
    bound: float
    size: float | None
    numerical_error: float
    likelihood_error: float


class Basis(NamedTuple):
    """What a verdict must know of the samples behind it.

    weights `[M]`; largest_weight: of one that is independent of the others; largest_value: of any state; queryable
    `[S]`; more: what to raise for more of them, where that can be raised.
    """

    weights: FloatArray
    largest_weight: float
    largest_value: float
    queryable: BoolArray
    more: str = "max_samples"

    @classmethod
    def of(cls, posterior: Posterior) -> "Basis":
        """Return that of a posterior."""
        largest_value = float(np.abs(posterior.values).max())
        queryable = posterior.problem.queryable
        return cls(posterior.weights, float(posterior.weights.max()), largest_value, queryable)


def verdict_of(
    basis: Basis,
    regret: FloatArray,
    top_states: tuple[StateContribution, ...],
    estimate: Estimate,
    claim: Claim,
    doubts: tuple[str, ...],
    ended_by: str = "",
) -> Verdict:
    """Return the verdict on a claim.

    Given are regrets `[M]`, the states behind them, an estimate, doubts if any, and what ended the drawing of samples.
    """
    refusal = refusal_of(basis, estimate, claim, doubts)
    if refusal is not None:
        return refusal
    if estimate.bound <= claim.delta:
        return Verdict("holds")
    if estimate.size is not None and estimate.chance <= claim.delta:
        return _undecided(estimate.chance, estimate.bound, estimate.size, claim, ended_by, basis.more)
    chance, limit = chance_words(estimate.chance, claim.delta), percent(claim.delta, 3)
    reason = f"the estimated chance of failure, {chance}, is above the limit of {limit}"
    return Verdict("fails", (reason,), failure_advice(basis, regret, top_states, claim))


def criticised(verdict: Verdict, criticism: Criticism, unknown: Sequence[str]) -> Verdict:
    """Return the verdict with what speaks against the model of the expert.

    What would hold is doubtful then, and also if nobody can say what it would be for a variant of the model (`unknown`
    has their names). What is refused is told the reasons too: they may be behind the trouble.
    """
    reasons, advice = criticism.reasons, criticism.advice
    if verdict.status == "refused":
        return Verdict("refused", (*verdict.reasons, *reasons), (*verdict.advice, *advice))
    if verdict.status != "holds":
        return verdict
    if unknown:
        reasons = (*reasons, f"what it would be with {', '.join(unknown)} could not be computed")
        advice = (*advice, "use more samples; check that beta fits the expert and that the prior covers the truth")
    return Verdict("doubtful", reasons, advice) if reasons else verdict


def without_sampled_dynamics(verdict: Verdict, problem: Problem) -> Verdict:
    """Refuse to certify in the mean of estimated dynamics, as if it were known to be the real ones."""
    origin = problem.mdp.origin
    if not isinstance(origin, EstimatedDynamics):
        return verdict
    reason = (
        f"the dynamics are estimated, from {origin.source}, and these samples take their mean for the real ones: a "
        "policy that is good there may be bad in the real task"
    )
    advice = (
        "certify over sampled dynamics: certify_over_dynamics(problem, demonstrations, epsilon, delta); a learner's "
        "certificate() does so by itself"
    )
    return Verdict("refused", (reason, *verdict.reasons), (advice, *verdict.advice))


def _undecided(chance: float, bound: float, size: float, claim: Claim, ended_by: str, what: str) -> Verdict:
    reason = (
        f"the estimated chance of failure, {chance_words(chance, claim.delta)}, is within the limit of "
        f"{percent(claim.delta, 3)}, but with {size:.0f} effective samples it could be up to {percent(bound, 3)}"
    )
    needed = size_needed(chance, claim.delta, claim.confidence)
    if needed <= MAX_FACTOR * size:
        factor = max(2, int(np.ceil(needed / size)))
        more = "give it more time (max_seconds)" if ended_by == "max_seconds" else f"raise {what}"
        how = f": {more}" if ended_by else ""
        advice = f"draw about {factor} times as many samples{how}; or ask for more demonstrations"
    else:
        advice = "ask for more demonstrations: the chance is too near the limit to be told from it by sampling"
    return Verdict("undecided", (reason,), (advice,))


def refusal_of(basis: Basis, estimate: Estimate, claim: Claim, doubts: tuple[str, ...]) -> Verdict | None:
    """Return why samples cannot support any claim, or None if they can."""
    reasons, size = list(doubts), estimate.size
    advice = ["do what the reasons say, then certify again"] if reasons else []
    if estimate.numerical_error * MIN_ACCURACY > claim.epsilon:
        reasons.append(
            f"epsilon, {epsilon_words(claim.epsilon)}, is not well above the numerical error of regrets, "
            f"{regret_words(estimate.numerical_error, claim.epsilon, 2)}, "
            f"which comes from values of up to {basis.largest_value:.2g}"
        )
        enough = regret_words(MIN_ACCURACY * estimate.numerical_error, claim.epsilon, 2)
        advice.append(f"use an epsilon of at least {enough}; {EVEN_REWARDS}")
    surely = estimate.chance * float(np.exp(-2.0 * estimate.likelihood_error))  # of atoms: at least, whatever the error
    if estimate.likelihood_error > MAX_LIKELIHOOD_ERROR and (size is not None or surely <= claim.delta):
        reasons.append(
            "the log likelihood of the answers has a numerical error of up to "
            f"{estimate.likelihood_error:.2g} nats, with values of up to {basis.largest_value:.2g}"
        )
        advice.append(EVEN_REWARDS)
    if size is not None:
        largest = basis.largest_weight
        least = upper_bound(0.0, size, claim.confidence)
        if largest > MAX_SINGLE_WEIGHT:
            reasons.append(
                f"one sample has {percent(largest, 3)} of the weight: nothing is known of what else may be true"
            )
            advice.append("use more samples, and check that beta fits the expert and that the prior covers the truth")
        elif least > claim.delta:
            needed = size_needed(0.0, claim.delta, claim.confidence)
            reasons.append(
                f"{size:.3g} effective samples could not show a chance of at most {percent(claim.delta, 3)}: even if "
                f"the policy failed under none of them, the chance could be {percent(least, 3)}"
            )
            advice.append(
                f"draw at least {int(np.ceil(needed / size))} times as many samples: it takes {np.ceil(needed):.0f} "
                "effective ones without a failure"
            )
    return Verdict("refused", tuple(reasons), tuple(advice)) if reasons else None


def failure_advice(
    basis: Basis, regret: FloatArray, top_states: tuple[StateContribution, ...], claim: Claim
) -> tuple[str, ...]:
    """Say where to ask for demonstrations, and which epsilon would do."""
    advice = []
    asked = [state.name for state in top_states if basis.queryable[state.state]][:3]
    if asked:
        advice.append(f"ask for more demonstrations, first about where the regret comes from: state {', '.join(asked)}")
    else:
        advice.append("ask for more demonstrations")
    level = float(weighted_quantile(regret[:, None], basis.weights, 1.0 - claim.delta)[0])
    if level > claim.epsilon:
        advice.append(
            f"or accept more regret: an epsilon above {regret_words(level, claim.epsilon)} would come within reach"
        )
    return tuple(advice)


def assumptions(posterior: Posterior, epsilon: float) -> tuple[str, ...]:
    """Say in words what a certificate of a regret of `epsilon` rests on."""
    problem, origin = posterior.problem, posterior.problem.mdp.origin
    dynamics = "the transitions and the discount are those of the real task" if origin is None else origin.assumption
    return (
        dynamics,
        problem.expert.assumption(),
        "the reward has the assumed form, and was as likely as the prior says before any demonstration",
    )


def cautions(posterior: Posterior, epsilon: float) -> tuple[str, ...]:
    """Say in words what a certificate of a regret of `epsilon` does not promise, even where it holds."""
    origin = posterior.problem.mdp.origin
    if not isinstance(origin, Discretised):
        return ()
    caution = origin.caution(float(epsilon * np.median(regret_unit(posterior, epsilon))))
    return (caution,) if caution else ()
