"""Certificates where the dynamics are not known: over sampled dynamics, with rewards that fit each.

The expert knows the real dynamics P, so answers D tell about both (theta: the parameters of the reward and the expert):

    p(theta, P | D, steps)  ~  p(P | steps) p(theta) p(D | theta, P)

The one policy that is handed out is judged under draws of (theta, P): its regret is against the best policy *there*.
There are two ways to draw:

- *Together* (see `journeyman.inference.joint`), for up to 200 states with method "smc": particles with dynamics of
  their own. Those that started their last moves at one place count once.
- *Apart*, for any problem and method that gives the log evidence. Dynamics P_k are drawn from the Dirichlet posterior
  of the steps; for each of them the posterior of theta is inferred anew, with its evidence Z_k = p(D | P_k). Its
  samples, weighted by Z_k w_ik, stand for the joint posterior; an estimate of Z_k will do if its mean is right, as
  that of sequential Monte Carlo is (Tran et al. 2013, importance sampling squared). More dynamics are drawn until the
  claim is decided. Where answers tell much about the dynamics, few of them keep any weight: then the certificate is
  refused.

Samples of one P_k fail together if P_k is to blame. So the bound rests on as many independent draws as there are
dynamics with weight. Where inference under some of them is doubtful, all of its samples count as failures.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from journeyman.apprentice.certificate import (
    DEFAULT_APPRENTICE,
    QUANTILE_LEVELS,
    Candidate,
    Certificate,
    CheckFn,
    Drawing,
    checked_claim,
    likelihood_error,
    quick_check,
)
from journeyman.apprentice.effective_size import (
    EffectiveSize,
    lower_bound,
    sample_set,
    size_needed,
    size_of_dynamics,
    upper_bound,
)
from journeyman.apprentice.looks import Budget, ending_after, look_confidence
from journeyman.apprentice.policies import APPRENTICES
from journeyman.apprentice.regret import (
    NUM_TOP_STATES,
    Failures,
    StateContribution,
    checked_scope,
    failures_of,
    immediate_estimates,
    is_failing,
    regret_unit,
)
from journeyman.apprentice.sensitivity import MIN_RELIABLE_SIZE, ExpertSensitivity
from journeyman.apprentice.verdict import (
    Basis,
    Claim,
    Estimate,
    Verdict,
    assumptions,
    criticised,
    failure_advice,
    verdict_of,
)
from journeyman.checks import whole_number
from journeyman.criticism import Criticism, criticise
from journeyman.demonstrations import Demonstration, as_demonstrations
from journeyman.errors import UnsupportedError
from journeyman.inference.diagnostics import Diagnostics
from journeyman.inference.joint import can_move_together, sample_joint
from journeyman.inference.likelihood import log_likelihoods
from journeyman.inference.methods import INFERENCE, Method, infer
from journeyman.inference.posterior import Posterior, weighted_quantile
from journeyman.inference.weights import normalised
from journeyman.mdp import EstimatedDynamics, FiniteMDP, evaluate_policy, occupancy
from journeyman.problem import Problem
from journeyman.progress import progress_bar
from journeyman.types import AnyArray, BoolArray, FloatArray, IntArray, read_only
from journeyman.wording import chance_words, counted, percent

NUM_PARTICLES = 200  # under each of the dynamics, where nothing is said: they are many
SPARE = 1.5  # times the dynamics that the first look needs at least, since weights differ
MAX_LOOKS = 3  # by default: four times as many dynamics as the first look has
HOPELESS = 0.999  # confidence that a claim fails, at which a look is not completed
MIN_TO_GIVE_UP = 8  # dynamics, before that
MAX_BLAMED = 20  # samples that say which pairs of state and action matter
MAX_NAMED = 5  # of these pairs
SMALL_PART = 0.1  # of the regret: if the dynamics make no more of it uncertain, they are not worth learning more about


class Part(NamedTuple):
    """What samples under one of the dynamics say.

    label: parts with the same one may be alike; log_evidence: of the answers under it; weights `[M]` within it;
    failures; added, chances `[S]`: mean of what each state adds to the regret, and chance that it fails by itself;
    variants: log p(D | theta, other expert) - log p(D | theta) `[M]` by name; blamed: see `Blamed`; warnings: of the
    inference.
    """

    label: int
    log_evidence: float
    weights: FloatArray
    failures: Failures
    added: FloatArray
    chances: FloatArray
    variants: dict[str, FloatArray]
    likelihood_error: float
    largest_value: float
    blamed: "Blamed"
    warnings: tuple[str, ...]


class Blamed(NamedTuple):
    """The sample of some dynamics that weighs most in the mean regret: its weight times regret, and its values."""

    weight: float
    mdp: FiniteMDP
    reward: FloatArray
    values: FloatArray


class Joint(NamedTuple):
    """Samples under all dynamics so far as one list, and what they say.

    weights, labels, is_failing, regret `[M]`; dynamics_weights `[K]`; doubtful: weight of dynamics with warnings.
    """

    weights: FloatArray
    labels: IntArray
    is_failing: BoolArray
    regret: FloatArray
    dynamics_weights: FloatArray
    doubtful: float
    chance: float
    size: EffectiveSize
    bound: float

    def is_decided(self, claim: Claim) -> bool:
        """Whether the chance is surely at most delta, or surely more."""
        return self.bound <= claim.delta or lower_bound(self.chance, self.size.value, claim.confidence) > claim.delta


class Run(NamedTuple):
    """How to draw: the problem, the posterior of its dynamics, counts of answers, a method with options, and a seed."""

    problem: Problem
    dynamics: EstimatedDynamics
    counts: IntArray
    method: Method
    options: dict[str, Any]
    seed: int
    num_threads: int | None

    def is_together(self, num_particles: int) -> bool:
        """Whether reward and dynamics are drawn together."""
        return self.method is INFERENCE["smc"] and can_move_together(self.problem, num_particles)


def certify_over_dynamics(
    problem: Problem,
    demonstrations: Iterable[Demonstration] | Demonstration,
    epsilon: float | str,
    delta: float,
    *,
    policy: ArrayLike | None = None,
    apprentice: str = DEFAULT_APPRENTICE,
    confidence: float = 0.95,
    scope: str = "initial",
    method: str = "smc",
    count_demonstrations: bool | None = None,
    max_dynamics: int | None = None,
    max_seconds: float | None = None,
    seed: int = 0,
    num_threads: int | None = None,
    progress: bool | None = None,
    check_fn: CheckFn | None = None,
    **options: Any,
) -> Certificate:
    """Certify a policy where the dynamics were estimated: under sampled dynamics and the rewards that fit each.

    Parameters
    ----------
    problem
        Its `mdp` is that of `EstimatedDynamics`.
    epsilon, delta, confidence, scope
        As in `certify`.
    policy
        `[S]` actions or `[S, A]` probabilities. Default: what `apprentice` chooses by the posterior in the mean of the
        dynamics, on samples that certify nothing.
    method, options
        An inference method that gives the log evidence, "smc" or "enumerate", and its options. With "smc" and up to 200
        states, reward and dynamics are drawn together, and the options are for choosing the policy alone; else by
        default 200 particles are drawn under each of the dynamics.
    count_demonstrations
        Whether what followed the actions of demonstrations is counted as steps that were seen. Default: yes, unless the
        dynamics were estimated from demonstrations; say False if these steps are among the recorded ones.
    max_dynamics
        Dynamics to draw, at most; default: 256 for a delta of 0.1, 512 for 0.05.
    max_seconds
        Where dynamics are drawn in looks: none begins that would probably end later than so many seconds on the clock.
    check_fn
        As in `certify`; it is given the posterior in the mean of the dynamics.

    Returns
    -------
    A Certificate. Its samples are those of all dynamics; its effective size is limited by the number of dynamics. Where
    it does not hold, the advice names the pairs of state and action that are worth trying more often.

    Examples
    --------
    >>> import numpy as np
    >>> from journeyman import Discrete, PerState, Problem, certify_over_dynamics, estimate_dynamics
    >>> def walk(state, action, rng):
    ...     return (state + action) % 2
    >>> estimated = estimate_dynamics(walk, num_states=2, num_actions=2, samples_per_pair=50, discount=0.5)
    >>> prior = Discrete([[0.0, 1.0], [1.0, 0.0]])
    >>> problem = Problem(estimated.mdp, PerState(estimated.mdp), prior, 4.0)
    >>> certify_over_dynamics(problem, [], 0.1, 0.1, method="enumerate", max_dynamics=8).holds
    False
    """
    listed = as_demonstrations(demonstrations)
    choice = APPRENTICES.find(apprentice)
    dynamics_of(problem)
    first = seed if policy is None else seed + 1
    reference = infer(problem, listed, method, seed=first, num_threads=num_threads, progress=progress, **options)
    source = "given" if policy is not None else apprentice
    if policy is None:
        policy = choice.policy_fn(reference, checked_claim(epsilon, delta, confidence).epsilon)
    if check_fn is None:

        def check_fn(posterior: Posterior, is_full: bool) -> Criticism:
            return criticise(posterior, listed, is_full=is_full)

    return certify_policy_over_dynamics(
        reference, listed, epsilon, delta, policy=policy, source=source, confidence=confidence, scope=scope,
        method=method, options=options, count_demonstrations=count_demonstrations, max_dynamics=max_dynamics,
        max_seconds=max_seconds, seed=seed, num_threads=num_threads, progress=progress, check_fn=check_fn,
    )  # fmt: skip


def dynamics_of(problem: Problem) -> EstimatedDynamics:
    """Return the posterior of the dynamics of a problem, or say that they are not estimated."""
    origin = problem.mdp.origin
    if not isinstance(origin, EstimatedDynamics):
        raise UnsupportedError(
            "only estimated dynamics can be sampled, got a problem whose dynamics are "
            f"{'known' if origin is None else type(origin).__name__}. Use certify(infer(problem, demonstrations), "
            "epsilon, delta), or make the problem with journeyman.estimate_dynamics(...).mdp."
        )
    return replace(origin, initial=problem.mdp.initial, discount=problem.mdp.discount)  # as they may have been set


def certify_policy_over_dynamics(
    reference: Posterior,
    demonstrations: Sequence[Demonstration],
    epsilon: float | str,
    delta: float,
    *,
    policy: ArrayLike,
    source: str,
    confidence: float,
    scope: str,
    method: str,
    options: dict[str, Any],
    count_demonstrations: bool | None = None,
    max_dynamics: int | None = None,
    max_seconds: float | None = None,
    factor: int = 1,
    seed: int = 0,
    num_threads: int | None = None,
    progress: bool | None = None,
    check_fn: CheckFn | None = None,
    title: str = "Certifying over sampled dynamics",
) -> Certificate:
    """Certify a policy as `certify_over_dynamics` does, given the posterior in the mean of the dynamics.

    `reference` is what `check_fn` criticises; `factor` makes the default number of dynamics larger.
    """
    problem, claim = reference.problem, checked_claim(epsilon, delta, confidence)
    chosen = Candidate(read_only(policy), source, checked_scope(scope))
    dynamics = dynamics_of(problem)
    if count_demonstrations or (count_demonstrations is None and not dynamics.has_demonstrations):
        dynamics = dynamics.with_demonstrations(demonstrations)
    if method == "smc":
        options = {"num_particles": NUM_PARTICLES, **options}
    counts = problem.tally(demonstrations)
    run = Run(problem, dynamics, counts, INFERENCE.find(method), options, seed, num_threads)
    first = first_look(claim)
    most = factor * first * 2 ** (MAX_LOOKS - 1) if max_dynamics is None else max_dynamics
    budget = Budget.checked(whole_number(most, "max_dynamics", 1, "256 are usual for a delta of 0.1."), max_seconds)
    with progress_bar(title, is_shown=progress) as report:
        parts, found, drawing = _drawn(run, chosen, claim, budget, first, report)
    return _certificate(run, reference, parts, found, chosen, claim, drawing, check_fn or quick_check)


def failing_in_mean(certificate: Certificate, posterior: Posterior) -> Certificate:
    """Return the certificate of a policy that fails already if the mean of the dynamics is the real one."""
    claim = checked_claim(certificate.epsilon, certificate.delta, certificate.confidence)
    regret = failures_of(posterior, certificate.policy, claim.epsilon, certificate.scope).regret
    chance, limit = chance_words(certificate.p_hat, claim.delta), percent(claim.delta, 3)
    reason = (
        f"the estimated chance of failure, {chance}, is above the limit of {limit} even if the estimated dynamics are "
        "the real ones, so that no others were sampled"
    )
    advice = failure_advice(Basis.of(posterior), regret, certificate.top_states, claim)
    return replace(certificate, status="fails", reasons=(reason,), advice=advice)


def first_look(claim: Claim) -> int:
    """Return how many dynamics the first look has: a power of two that can show the claim if nothing fails."""
    needed = SPARE * size_needed(0.0, claim.delta, look_confidence(claim.confidence, 1))
    return 1 << (int(np.ceil(needed)) - 1).bit_length()


def _drawn(
    run: Run, chosen: Candidate, claim: Claim, budget: Budget, first: int, report: Any
) -> tuple[list[Part], Joint, Drawing]:
    """Draw reward and dynamics together if that can be done, else apart, as many as the budget has or the claim takes.

    Apart, there are twice as many dynamics at each look, until the claim is decided.
    """
    if run.is_together(budget.max_samples):
        parts = joint_parts(run, chosen, claim, budget.max_samples, report)
        return parts, joint(parts, claim), Drawing()
    parts = []
    drawn, look, ended_by = drawn_parts(run, chosen, claim), 0, ""
    begin = before = time.perf_counter()
    while not ended_by:
        look += 1
        spent = claim._replace(confidence=look_confidence(claim.confidence, look))
        wanted = min(budget.max_samples, first * 2 ** (look - 1))
        while len(parts) < wanted and not _is_hopeless(parts, claim):
            parts.append(next(drawn))
            report(len(parts) / budget.max_samples)
        found = joint(parts, spent)
        now = time.perf_counter()
        ended_by = "futility" if len(parts) < wanted else ending_after(
            found.chance, found.size.value, len(parts), look, budget,
            is_decided=found.is_decided(spent), is_doubtful=False,
            delta=claim.delta, confidence=claim.confidence, seconds=now - begin, last_seconds=now - before,
        )  # fmt: skip
        before = now
    return parts, found, Drawing(look, ended_by, budget.max_seconds)


def _is_hopeless(parts: Sequence[Part], claim: Claim) -> bool:
    """Whether the claim fails almost surely: ending early for that can never make one hold."""
    if len(parts) < MIN_TO_GIVE_UP:
        return False
    found = joint(parts, claim)
    return lower_bound(found.chance, found.size.value, HOPELESS) > claim.delta


def drawn_parts(run: Run, chosen: Candidate, claim: Claim) -> Iterator[Part]:
    """Yield what samples say under one of the dynamics after the other; the same for a seed."""
    number = 0
    while True:
        streams = np.random.SeedSequence(run.seed, spawn_key=(number,)).spawn(2)
        mdp = run.dynamics.sample(np.random.default_rng(streams[0]))
        problem = replace(run.problem, mdp=mdp)
        posterior = run.method.infer_fn(
            problem,
            run.counts,
            seed=int(streams[1].generate_state(1)[0]),
            num_threads=run.num_threads,
            progress=False,
            **run.options,
        )
        yield part_of(posterior, chosen, claim, number)
        number += 1


def joint_parts(
    run: Run, chosen: Candidate, claim: Claim, num_particles: int, report: Any, *, is_brief: bool = False
) -> list[Part]:
    """Return what draws of reward and dynamics together say, each under its own dynamics."""
    drawn = sample_joint(run.problem, run.dynamics, run.counts, num_particles, seed=run.seed, report=report)
    parts = []
    for i, ancestor in enumerate(drawn.ancestors.tolist()):
        posterior = Posterior(
            problem=replace(run.problem, mdp=drawn.mdp_fn(i)),
            counts=run.counts,
            theta=drawn.theta[i : i + 1],
            weights=np.ones(1),
            values=drawn.values[i : i + 1],
            method="smc",
            diagnostics=Diagnostics(seconds=0.0, warnings=drawn.warnings),
            log_evidence=0.0,
            expert_parameters=drawn.parameters[i : i + 1],
        )
        parts.append(part_of(posterior, chosen, claim, ancestor, is_brief=is_brief))
    return parts


def part_of(posterior: Posterior, chosen: Candidate, claim: Claim, label: int, *, is_brief: bool = False) -> Part:
    """Return what the samples of a posterior say of a policy; `is_brief`: no more than whether it fails."""
    if posterior.log_evidence is None:
        raise UnsupportedError(
            f"a certificate over sampled dynamics needs the evidence of the answers under each, which "
            f"{posterior.method} does not give. Use inference 'smc', or 'enumerate' where parameters are few."
        )
    problem = posterior.problem
    failures = failures_of(posterior, chosen.policy, claim.epsilon, chosen.scope)
    if is_brief:
        nothing = np.zeros(problem.mdp.num_states)
        blamed = Blamed(0.0, problem.mdp, nothing, nothing)
        return Part(
            label, posterior.log_evidence, posterior.weights, failures, nothing, nothing, {}, 0.0, 0.0, blamed,
            posterior.warnings,
        )  # fmt: skip
    unit = regret_unit(posterior, claim.epsilon)
    immediate = immediate_estimates(posterior, chosen.policy).in_units(unit)
    threshold = (1.0 - problem.mdp.discount) * claim.epsilon
    added = posterior.mean(immediate.cleaned())
    if chosen.scope == "initial":
        added = added * occupancy(problem.mdp, chosen.policy)
    arrays = (posterior.answers, posterior.rewards, posterior.acted_values, posterior.expert_parameters)
    assumed, variants = posterior.log_likelihoods(), {}
    for name, expert in problem.expert.variants():
        variants[name] = log_likelihoods(replace(problem, expert=expert), *arrays) - assumed
    worst = int(np.argmax(posterior.weights * failures.regret))
    blamed = Blamed(
        float(posterior.weights[worst] * failures.regret[worst]),
        problem.mdp,
        posterior.rewards[worst],
        posterior.values[worst],
    )
    return Part(
        label,
        posterior.log_evidence,
        posterior.weights,
        failures,
        added,
        posterior.mean(is_failing(*immediate, threshold)),
        variants,
        likelihood_error(sample_set(posterior)),
        float(np.abs(posterior.values).max()),
        blamed,
        posterior.warnings,
    )


def joint(parts: Sequence[Part], claim: Claim) -> Joint:
    """Return the samples under all dynamics as one list, weighted by the evidence of each."""
    of_dynamics = normalised(np.array([part.log_evidence for part in parts]))
    number = np.repeat(np.arange(len(parts)), [len(part.weights) for part in parts])
    labels = np.array([part.label for part in parts])[number]
    weights = of_dynamics[number] * np.concatenate([part.weights for part in parts])
    is_doubtful = np.array([bool(part.warnings) for part in parts])
    failing = np.concatenate([part.failures.is_failing for part in parts]) | is_doubtful[number]
    chance = min(1.0, float(weights @ failing))
    size = size_of_dynamics(weights, labels, failing, claim.confidence)
    return Joint(
        weights,
        labels,
        failing,
        np.concatenate([part.failures.regret for part in parts]),
        of_dynamics,
        float(of_dynamics @ is_doubtful),
        chance,
        size,
        upper_bound(chance, size.value, claim.confidence),
    )


def _certificate(
    run: Run,
    reference: Posterior,
    parts: Sequence[Part],
    found: Joint,
    chosen: Candidate,
    claim: Claim,
    drawing: Drawing,
    check_fn: CheckFn,
) -> Certificate:
    problem = run.problem
    top_states = _top_states(problem, parts, found, chosen)
    error = max(float(part.failures.error.max()) for part in parts)
    doubt = max(part.likelihood_error for part in parts)
    largest = max(part.largest_value for part in parts)
    basis = Basis(found.weights, float(found.dynamics_weights.max()), largest, problem.queryable, "max_dynamics")
    estimate = Estimate(found.chance, found.bound, found.size.value, error, doubt)
    doubts = () if found.doubtful < 1.0 - 1e-9 else parts[0].warnings  # of all: there is nothing to rest on
    verdict = verdict_of(basis, found.regret, top_states, estimate, claim, doubts, drawing.ended_by)
    verdict = _with_pairs(verdict, run, parts, found, chosen)
    criticism, is_green = None, verdict.status == "holds"
    if is_green or verdict.status == "refused":
        criticism = check_fn(reference, is_green)
    sensitivity = _sensitivity(run, parts, found, chosen, claim, is_green)
    if criticism is not None:
        verdict = criticised(verdict, criticism, [entry.expert for entry in sensitivity if entry.chance is None])
    quantiles = tuple(
        (level, float(weighted_quantile(found.regret[:, None], found.weights, level)[0])) for level in QUANTILE_LEVELS
    )
    return Certificate(
        status=verdict.status,
        **claim._asdict(),
        scope=chosen.scope,
        p_hat=found.chance,
        upper_bound=found.bound,
        effective_size=found.size.value,
        effective_size_source=found.size.source,
        num_samples=len(found.weights),
        **drawing._asdict(),
        numerical_error=error,
        policy=chosen.policy,
        policy_source=chosen.source,
        mean_regret=float(found.weights @ found.regret),
        regret_quantiles=quantiles,
        top_states=top_states,
        sensitivity=sensitivity,
        reasons=verdict.reasons,
        advice=verdict.advice,
        assumptions=assumptions(
            replace(reference, problem=replace(problem, mdp=replace(problem.mdp, origin=run.dynamics))), claim.epsilon
        ),
        criticism=criticism,
    )


def _top_states(
    problem: Problem, parts: Sequence[Part], found: Joint, chosen: Candidate
) -> tuple[StateContribution, ...]:
    added = found.dynamics_weights @ np.stack([part.added for part in parts])
    chances = found.dynamics_weights @ np.stack([part.chances for part in parts])
    order = np.argsort(-(added if chosen.scope == "initial" else chances), kind="stable")[:NUM_TOP_STATES]
    return tuple(
        StateContribution(s, problem.mdp.state_name(s), float(added[s]), min(1.0, float(chances[s])))
        for s in order.tolist()
        if added[s] > 0.0
    )


def _sensitivity(
    run: Run, parts: Sequence[Part], found: Joint, chosen: Candidate, claim: Claim, is_green: bool
) -> tuple[ExpertSensitivity, ...]:
    """Return the chance of failure under variants of the expert, by weights; by inference where the claim would hold.

    The weights change within each of the dynamics and between them.
    """
    results = []
    with np.errstate(divide="ignore"):
        logs = np.log(found.weights)
    for label, expert in run.problem.expert.variants():
        change = np.concatenate([part.variants[label] for part in parts])
        weights = normalised(np.where(found.weights > 0.0, logs + change, -np.inf))
        size = size_of_dynamics(weights, found.labels, found.is_failing, claim.confidence).value
        chance: float | None = float(weights @ found.is_failing)
        if size < MIN_RELIABLE_SIZE and is_green:
            other = run._replace(problem=replace(run.problem, expert=expert))
            if run.is_together(len(parts)):
                drawn = joint_parts(other, chosen, claim, len(parts), lambda done: None, is_brief=True)
                again = joint(drawn, claim)
            else:
                again = joint(list(islice(drawn_parts(other, chosen, claim), len(parts))), claim)
            chance, size = again.chance, again.size.value
        results.append(ExpertSensitivity(label, chance if size >= MIN_RELIABLE_SIZE else None, size))
    return tuple(results)


def _with_pairs(verdict: Verdict, run: Run, parts: Sequence[Part], found: Joint, chosen: Candidate) -> Verdict:
    """Return the verdict with the pairs of state and action to try more often, if it does not hold."""
    if verdict.status == "holds":
        return verdict
    reasons, advice = verdict.reasons, verdict.advice
    if 0.0 < found.doubtful < 1.0 - 1e-9:
        warning = next(part.warnings[0] for part in parts if part.warnings)
        reasons = (
            *reasons,
            f"under dynamics that have {percent(found.doubtful, 3)} of the weight inference is doubtful, and these "
            f"count as failures: {warning}",
        )
    pairs = blamed_pairs(run.dynamics, parts, found, chosen.policy)
    if pairs:
        names = [
            f"{run.dynamics.pair_name(s, a)} ({counted(int(run.dynamics.num_tries[s, a]), 'try')})".replace(
                "trys", "tries"
            )
            for s, a in pairs
        ]
        advice = (*advice, f"learn more about the dynamics: try more often {', '.join(names)}")
    return Verdict(verdict.status, reasons, advice)


def blamed_pairs(
    dynamics: EstimatedDynamics, parts: Sequence[Part], found: Joint, policy: AnyArray
) -> list[tuple[int, int]]:
    """Return the pairs of state and action whose dynamics make the regret uncertain, those that matter most first.

    To first order a change dP of p(. | s, a) changes the regret V* - V^pi of a sample by

        discount (nu*(s) [a = pi*(s)] V* - nu(s) [a = pi(s)] V^pi) . dP

    with the occupancies nu*, nu of its best policy and of ours. The Dirichlet posterior gives the variance of that;
    pairs are ranked by its mean over the samples with most regret. None where the regret hardly depends on the
    dynamics: where their standard deviation of it is below a tenth of what it is.
    """
    weighed = sorted(
        (
            (weight * part.blamed.weight, part.blamed)
            for weight, part in zip(found.dynamics_weights, parts, strict=True)
        ),
        key=lambda pair: -pair[0],
    )[:MAX_BLAMED]
    total, square = np.zeros(dynamics.available.shape), 0.0
    for weight, blamed in weighed:
        if weight > 0.0:
            total += weight * regret_variances(dynamics, blamed, policy)
            lost = blamed.values - evaluate_policy(blamed.mdp, policy, blamed.reward)
            square += weight * float(blamed.mdp.initial @ lost) ** 2
    if total.sum() < SMALL_PART**2 * square:
        return []
    order = np.argsort(-total, axis=None, kind="stable")[:MAX_NAMED]
    largest = float(total.max(initial=0.0))
    chosen = [divmod(int(index), dynamics.num_actions) for index in order if total.flat[index] > 0.01 * largest]
    return chosen if largest > 0.0 else []


def regret_variances(dynamics: EstimatedDynamics, blamed: Blamed, policy: AnyArray) -> FloatArray:
    """Return `[S, A]` the variance of a sample's regret that comes from each pair's dynamics, to first order."""
    mdp, num_actions = blamed.mdp, dynamics.num_actions
    expected = (mdp.transition_matrix @ blamed.values).reshape(mdp.num_states, num_actions)
    reward = blamed.reward if blamed.reward.ndim == 2 else blamed.reward[:, None]
    q = np.where(mdp.available, reward + mdp.discount * expected, -np.inf)
    best = np.eye(num_actions)[np.argmax(q, axis=1)]
    ours = np.eye(num_actions)[policy] if policy.ndim == 1 else policy
    at_best = (occupancy(mdp, best)[:, None] * best).ravel()
    at_ours = (occupancy(mdp, policy)[:, None] * ours).ravel()
    best_values, our_values = (
        np.append(values, 0.0) for values in (blamed.values, evaluate_policy(mdp, policy, blamed.reward))
    )
    row = dynamics.row
    change = at_best[row] * best_values[dynamics.outcomes] - at_ours[row] * our_values[dynamics.outcomes]
    mean = dynamics.totals(dynamics.mean * change)
    variance = dynamics.totals(dynamics.mean * (change - mean.ravel()[row]) ** 2)
    return np.asarray(mdp.discount**2 * variance / (1.0 + dynamics.totals(dynamics.concentration)))
