"""Certificate: whether the chance of a regret of epsilon or more is at most delta, as far as samples can tell.

    p_hat = sum of the weights of samples whose regret is at least epsilon

It holds only if an upper confidence bound of that chance, from an honest effective sample size, is at most delta. Scope
"initial" is about the regret from the initial distribution. Scope "every_state" asks for an immediate regret below
(1 - discount) epsilon in every state, which keeps the regret from each state below epsilon.
"""

import json
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from journeyman.apprentice.certificate_text import certificate_text
from journeyman.apprentice.effective_size import (
    SampleSet,
    effective_size_of,
    halves,
    lower_bound,
    sample_set,
    upper_bound,
)
from journeyman.apprentice.epsilon import checked_epsilon, epsilon_record
from journeyman.apprentice.looks import Budget, ending_after, look_confidence
from journeyman.apprentice.policies import APPRENTICES
from journeyman.apprentice.regret import Failures, StateContribution, checked_scope, failures_of, top_states_of
from journeyman.apprentice.sensitivity import ExpertSensitivity, expert_sensitivity
from journeyman.apprentice.verdict import (
    Basis,
    Claim,
    Estimate,
    assumptions,
    cautions,
    criticised,
    verdict_of,
    without_sampled_dynamics,
)
from journeyman.checks import share
from journeyman.criticism import Criticism, criticise
from journeyman.demonstrations import Demonstration, as_demonstrations
from journeyman.errors import InputError
from journeyman.inference.kernels import SLACK
from journeyman.inference.posterior import Posterior, checked_posterior, weighted_quantile
from journeyman.mdp.discretised import GridWarning
from journeyman.notebooks import html_of
from journeyman.types import AnyArray, read_only
from journeyman.wording import bound_words, chance_words

DEFAULT_APPRENTICE = "expected_return"
QUANTILE_LEVELS = (0.5, 0.9, 0.95, 0.99)
STATUSES = ("holds", "doubtful", "undecided", "fails", "refused")
CheckFn = Callable[[Posterior, bool], Criticism | None]
CANNOT_SPLIT = (
    "a policy chosen from samples must be certified on others, but all the weight lies in one half of them. "
    "Use more samples, or another seed."
)


@dataclass(frozen=True, eq=False)
class Certificate:
    """What may be said about a policy, and how sure that is.

    status: "holds"; "doubtful": it would hold, but the model of the expert does not fit the answers; "undecided": p_hat
    is at most delta but its bound is not; "fails": p_hat is above delta; "refused": the samples cannot support any
    claim. epsilon, delta, confidence, scope: as in `certify`. p_hat: estimated chance of failure; upper_bound: of that
    chance, at `confidence`; num_samples: of the posterior; effective_size: how many independent samples they are worth
    (None if the posterior is exact), and effective_size_source: what limits it; policy: `[S]` actions or `[S, A]`
    probabilities, and policy_source: "given", or how it was chosen;
    num_looks: how often it was looked whether the samples were enough, where they were drawn until they were (see
    `certify_growing`), ended_by: what ended that, one of `ENDINGS`, or "" where nothing was drawn, and max_seconds: its
    limit, if any. numerical_error: guaranteed error of every regret; regrets that it may keep below epsilon count as
    failures. mean_regret and regret_quantiles (level, value): of the regret from the initial states, or from the worst
    state. Regrets are measured as epsilon is, in units of the reward or as a share of what is at stake. top_states:
    where the regret comes from. sensitivity: p_hat under other experts. reasons: why it does not hold, or not plainly;
    advice: what would help; assumptions: what all of this rests on. criticism: of the model, where it was checked.
    cautions: what is not promised even where it holds, since it is about a grid, not the continuous world.

    Examples
    --------
    >>> from journeyman import Demonstration, infer, make_world
    >>> world = make_world("brown-two-state")
    >>> posterior = infer(world.problem, Demonstration.annotation(1, 0), method="enumerate")
    >>> from journeyman import certify
    >>> certificate = certify(posterior, epsilon=40.0, delta=0.1)
    >>> certificate
    Certificate('holds': epsilon=40.0, delta=0.1, p_hat=0, upper_bound=0)
    >>> print(certificate.text().splitlines()[0])
    The certificate HOLDS.
    """

    status: str
    epsilon: float
    delta: float
    confidence: float
    scope: str
    p_hat: float
    upper_bound: float
    effective_size: float | None
    effective_size_source: str
    num_samples: int
    num_looks: int
    ended_by: str
    max_seconds: float | None
    numerical_error: float
    policy: AnyArray = field(repr=False)
    policy_source: str
    mean_regret: float
    regret_quantiles: tuple[tuple[float, float], ...]
    top_states: tuple[StateContribution, ...]
    sensitivity: tuple[ExpertSensitivity, ...]
    reasons: tuple[str, ...]
    advice: tuple[str, ...]
    assumptions: tuple[str, ...]
    criticism: Criticism | None = field(default=None, repr=False)
    cautions: tuple[str, ...] = ()

    def __repr__(self) -> str:
        claim = f"epsilon={self.epsilon!r}, delta={self.delta:.4g}"
        return f"Certificate({self.status!r}: {claim}, p_hat={self.p_hat:.4g}, upper_bound={self.upper_bound:.4g})"

    def _repr_html_(self) -> str:
        return html_of(self)

    @property
    def holds(self) -> bool:
        """Whether the policy is probably approximately correct, as far as these samples can tell; no if doubtful."""
        return self.status == "holds"

    @property
    def holds_if_model_is_right(self) -> bool:
        """Whether it holds, or would if nothing spoke against the model of the expert."""
        return self.status in ("holds", "doubtful")

    def text(self) -> str:
        """Return the certificate in words, for readers who know no statistics."""
        return certificate_text(self)

    def to_record(self) -> dict[str, Any]:
        """Return the certificate as plain data: numbers, words, lists and dicts, without NaN and infinity."""
        record = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return record | {
            "holds": self.holds,
            "epsilon": epsilon_record(self.epsilon),
            "policy": np.asarray(self.policy).tolist(),
            "regret_quantiles": [{"level": level, "regret": value} for level, value in self.regret_quantiles],
            "top_states": [state._asdict() for state in self.top_states],
            "sensitivity": [entry._asdict() for entry in self.sensitivity],
            "reasons": list(self.reasons),
            "advice": list(self.advice),
            "assumptions": list(self.assumptions),
            "cautions": list(self.cautions),
            "criticism": None if self.criticism is None else self.criticism.to_record(),
        }

    def to_json(self) -> str:
        """Return `to_record` as JSON."""
        return json.dumps(self.to_record(), indent=2, allow_nan=False)


def certify(
    posterior: Posterior,
    epsilon: float | str,
    delta: float,
    *,
    policy: ArrayLike | None = None,
    apprentice: str = DEFAULT_APPRENTICE,
    confidence: float = 0.95,
    scope: str = "initial",
    demonstrations: Iterable[Demonstration] | Demonstration | None = None,
    check_fn: CheckFn | None = None,
) -> Certificate:
    """Certify a policy, or choose one on half of the samples and certify it on the other half.

    Parameters
    ----------
    epsilon
        Regret that is too much: in units of the reward, or a share of what is at stake such as "5%".
    delta
        Chance of it that is acceptable.
    policy
        `[S]` actions or `[S, A]` probabilities. It must not have been chosen by looking at these samples: leave it out
        for that.
    apprentice
        A key of `APPRENTICES`: how to choose a policy, where none is given.
    confidence
        Of the upper bound: how seldom bad luck of the sampler may make it too low.
    scope
        "initial": regret from the initial distribution. "every_state": a guarantee for every state to start from.
    demonstrations
        Those that the posterior was inferred from, in the order in which they came: with them a certificate that would
        hold has its model checked in full, a change of mind included. Default: a quick check, of what follows from the
        samples and the counts of answers.
    check_fn
        check_fn(posterior, is_full) criticises the model instead, if the certificate would hold (is_full) or is
        refused; `unchecked` for none.

    Returns
    -------
    A Certificate, which holds only if `upper_bound` is at most delta and nothing speaks against the model. It never
    raises because samples are bad: then it is refused, with the reason. So is what rests on estimated dynamics: use
    `certify_over_dynamics`.

    Examples
    --------
    >>> from journeyman import Demonstration, infer, make_world
    >>> world = make_world("brown-two-state")
    >>> posterior = infer(world.problem, Demonstration.annotation(1, 0), method="enumerate")
    >>> from journeyman import certify
    >>> certify(posterior, epsilon=0.1, delta=0.1).holds
    False
    """
    claim = checked_claim(epsilon, delta, confidence)
    checked_scope(scope)
    choice = APPRENTICES.find(apprentice)
    samples = sample_set(checked_posterior(posterior))
    source, doubts = "given", posterior.warnings
    if policy is None:
        source = apprentice
        split = halves(samples)
        if split is None:
            doubts = (*doubts, CANNOT_SPLIT)
            split = samples, samples
        first, samples = split
        policy = choice.policy_fn(first.posterior, claim.epsilon)
    chosen = Candidate(read_only(policy), source, scope)
    if check_fn is None and demonstrations is not None:
        listed = as_demonstrations(demonstrations)

        def check_fn(posterior: Posterior, is_full: bool) -> Criticism:
            return criticise(posterior, listed, is_full=is_full)

    return _certificate(measured(samples, chosen, claim), chosen, claim, doubts, Drawing(), check_fn)


def quick_check(posterior: Posterior, is_full: bool) -> Criticism:
    """Criticise the model by what follows from the samples and the counts of answers: their order is not known."""
    return criticise(posterior, is_full=False)


def unchecked(posterior: Posterior, is_full: bool) -> None:
    """Criticise nothing, where many certificates are computed and the model is known to be right."""


def certify_growing(
    posteriors: Iterable[Posterior],
    epsilon: float | str,
    delta: float,
    *,
    policy: ArrayLike,
    source: str = "given",
    confidence: float = 0.95,
    scope: str = "initial",
    max_samples: int,
    max_seconds: float | None = None,
    report_fn: Callable[[float, str], None] | None = None,
    check_fn: CheckFn | None = None,
) -> Certificate:
    """Certify a policy on samples that grow until the claim is decided, or the budget is used.

    A claim is decided when the upper bound of the chance of failure is at most delta, or its lower bound is above, both
    at the confidence of `look_confidence`, so that looking often does not make them err more often. Drawing ends before
    that if what is left of `max_samples` would make the claim hold with a chance below FUTILE (see `chance_to_hold`),
    or if the samples themselves are doubtful.

    Parameters
    ----------
    posteriors
        Each has all samples of the last one and as many more; taken from while the claim is undecided.
    policy
        It must not have been chosen by looking at these samples.
    source
        How it was chosen, in a word.
    max_samples
        No more are drawn when there are so many.
    max_seconds
        No look begins that would probably end later than so many seconds on the clock. What is decided does not depend
        on it; whether it is decided does, so leave it out where results must be the same on every machine.
    report_fn
        Told after each look which part of the samples is there, and what is known.
    """
    claim = checked_claim(epsilon, delta, confidence)
    chosen = Candidate(read_only(policy), source, checked_scope(scope))
    budget = Budget.checked(max_samples, max_seconds)
    look, found, ended_by = 0, None, ""
    begin = before = time.perf_counter()
    for look, posterior in enumerate(posteriors, start=1):
        spent = claim._replace(confidence=look_confidence(claim.confidence, look))
        found = measured(sample_set(checked_posterior(posterior)), chosen, spent)
        if report_fn is not None:
            chances = chance_words(found.chance, claim.delta), bound_words(found.bound, claim.delta)
            words = f"{posterior.num_samples} samples: {chances[0]}, at most {chances[1]}"
            report_fn(min(1.0, posterior.num_samples / max_samples), words)
        now = time.perf_counter()
        ended_by = ending_after(
            found.chance, found.size, posterior.num_samples, look, budget,
            is_decided=found.is_decided(spent), is_doubtful=bool(posterior.warnings),
            delta=claim.delta, confidence=claim.confidence, seconds=now - begin, last_seconds=now - before,
        )  # fmt: skip
        if ended_by:
            break
        before = now
    if found is None:
        raise InputError("a certificate must have samples to rest on, got none. Give at least one posterior.")
    drawing = Drawing(look, ended_by or "exhaustion", budget.max_seconds)
    return _certificate(found, chosen, claim, found.samples.posterior.warnings, drawing, check_fn)


def checked_claim(epsilon: float | str, delta: float, confidence: float) -> Claim:
    """Return a claim whose numbers make sense."""
    return Claim(
        checked_epsilon(epsilon),
        share(delta, "delta", "It is the chance of failure you accept."),
        share(confidence, "confidence", "0.95 is usual."),
    )


class Candidate(NamedTuple):
    """A policy to certify, how it was chosen, and in which scope."""

    policy: AnyArray
    source: str
    scope: str


class Drawing(NamedTuple):
    """How samples were drawn for a certificate: the looks at them, which of `ENDINGS` ended it, and its limit."""

    num_looks: int = 1
    ended_by: str = ""
    max_seconds: float | None = None


class Measured(NamedTuple):
    """What samples say of a candidate: failures, the estimated chance of one, its bound, and what that is worth."""

    samples: SampleSet
    failures: Failures
    chance: float
    bound: float
    size: float | None
    size_source: str
    doubt: float

    def is_decided(self, claim: Claim) -> bool:
        """Whether the chance is surely at most delta, or surely more; what is exact cannot be known better."""
        if self.size is None or self.bound <= claim.delta:
            return True
        return lower_bound(self.chance, self.size, claim.confidence) > claim.delta


def measured(samples: SampleSet, candidate: Candidate, claim: Claim) -> Measured:
    """Estimate the chance that a candidate fails."""
    posterior = samples.posterior
    failures = failures_of(posterior, candidate.policy, claim.epsilon, candidate.scope)
    chance = min(1.0, float(posterior.mean(failures.is_failing)))
    doubt = likelihood_error(samples)
    if samples.kind == "atoms":
        source = "exact: the posterior is a sum over all atoms of the prior"
        return Measured(
            samples, failures, chance, min(1.0, chance * float(np.exp(min(2.0 * doubt, 700.0)))), None, source, doubt
        )
    size, source = effective_size_of(samples, failures.is_failing, claim.confidence, failures.regret)
    return Measured(samples, failures, chance, upper_bound(chance, size, claim.confidence), size, source, doubt)


def _certificate(
    found: Measured,
    candidate: Candidate,
    claim: Claim,
    doubts: tuple[str, ...],
    drawing: Drawing,
    check_fn: CheckFn | None,
) -> Certificate:
    posterior, failures = found.samples.posterior, found.failures
    top_states = top_states_of(posterior, candidate.policy, claim.epsilon, candidate.scope)
    quantiles = tuple(
        (level, float(weighted_quantile(failures.regret[:, None], posterior.weights, level)[0]))
        for level in QUANTILE_LEVELS
    )
    error = float(failures.error.max())
    estimate = Estimate(found.chance, found.bound, found.size, error, found.doubt)
    verdict = verdict_of(Basis.of(posterior), failures.regret, top_states, estimate, claim, doubts, drawing.ended_by)
    verdict = without_sampled_dynamics(verdict, posterior.problem)
    criticism, is_green = None, verdict.status == "holds"
    if is_green or verdict.status == "refused":
        criticism = (check_fn or quick_check)(posterior, is_green)
    sensitivity = expert_sensitivity(
        found.samples, failures.is_failing, claim, candidate.policy, candidate.scope, criticism if is_green else None
    )
    if criticism is not None:
        verdict = criticised(verdict, criticism, [entry.expert for entry in sensitivity if entry.chance is None])
    limits = cautions(posterior, claim.epsilon)
    if limits and verdict.status in ("holds", "doubtful"):
        warnings.warn(f"a certificate holds on a grid, but {'; '.join(limits)}.", GridWarning, stacklevel=3)
    return Certificate(
        status=verdict.status,
        **claim._asdict(),
        scope=candidate.scope,
        p_hat=found.chance,
        upper_bound=found.bound,
        effective_size=found.size,
        effective_size_source=found.size_source,
        num_samples=posterior.num_samples,
        **drawing._asdict(),
        numerical_error=error,
        policy=candidate.policy,
        policy_source=candidate.source,
        mean_regret=float(posterior.mean(failures.regret)),
        regret_quantiles=quantiles,
        top_states=top_states,
        sensitivity=sensitivity,
        reasons=verdict.reasons,
        advice=verdict.advice,
        assumptions=assumptions(posterior, claim.epsilon),
        criticism=criticism,
        cautions=limits,
    )


def likelihood_error(samples: SampleSet) -> float:
    """Return a bound on the error of log likelihoods, in nats, from that of the values they were computed with.

    To first order: how much each Q(s, a) that answers depend on changes the log likelihood, times its error. Atoms and
    nets are solved for; samplers follow a policy that is optimal within SLACK, relative to the largest value.
    """
    posterior = samples.posterior
    states = np.flatnonzero(posterior.counts.sum(axis=1))
    if not states.size:
        return 0.0
    slopes = posterior.answer_slopes(states)
    errors = posterior.value_errors_at(states)
    if samples.kind not in ("atoms", "net"):
        tolerance = SLACK * np.abs(posterior.values).max(axis=1) / (1.0 - posterior.problem.mdp.discount)
        errors = np.maximum(errors, tolerance[:, None])
    return float((slopes * errors).sum(axis=1).max())
