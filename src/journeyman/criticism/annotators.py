"""Several people: fits of each alone, of all as one, and partly pooled; how much they differ, and who does not fit.

*Partly pooled* means that all want the same, and that each has an own beta and lapse. Whether somebody's answers fit is
asked of the others: with D_j the answers of j, and all that follows from a fit to the answers of the others (j's own
beta and lapse are then as the prior has them),

    T_j = log p(D_j | any stationary policy) - log p(D_j | answers of the others)

is large if j has habits that the others' reward does not explain. The first term is the evidence under a Dirichlet
prior in every state. How large T_j should be is simulated: samples of the posterior answer the same questions, as long
as j did. If the model is right, j's answers and the simulated ones are draws of the same distribution, so that the rank
of T_j among them is a p-value, whatever T is. (A simulated expert is left out of the mixture that predicts it, with all
samples of its origin: j is not among the samples either.) Nobody shall be named for being noisy: T depends on that too,
so j is ranked among the third of the simulated ones who are taken to be as noisy, by the mean entropy of the policies
that explain them, after a straight line in it is taken off.

An odd one spoils the fits of all others. So the one who fits worst is looked at first: if its p-value is below the
level divided by the number of annotators, it is named and set aside, and the rest are looked at again, without it. The
chance to name anybody in a group that fits is at most the level.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln, logsumexp

from journeyman.checks import check_options, share, whole_number
from journeyman.criticism.comparison import LOG_2, pair_log_policies, tally, weighted_sum
from journeyman.criticism.variants import unknown_beta, unknown_lapse
from journeyman.demonstrations import Demonstration, as_demonstrations
from journeyman.errors import InputError
from journeyman.experts import Boltzmann
from journeyman.inference import INFERENCE, Posterior, infer
from journeyman.mdp import FiniteMDP
from journeyman.problem import Problem
from journeyman.progress import progress_bar
from journeyman.rewards.discrete import weighted_quantile
from journeyman.types import BoolArray, FloatArray, IntArray
from journeyman.wording import listed as listed_words

LEVEL = 0.05
NUM_SIMULATIONS = 1500
NUM_WINDOWS = 3  # one part in so many of the simulated annotators is as noisy as the one in question
INTERVAL = (0.025, 0.975)


class Misfit(NamedTuple):
    """How the answers of one annotator compare with what a fit to others expects of them.

    bits, expected_bits: per free decision, by the mean policy, and their mean over simulated annotators; low, high:
    central 95 % of these; p_value: the chance of answers that fit as badly, by rank; excess: by how many standard
    deviations of the simulated ones they fit worse than these on average.
    """

    bits: float
    expected_bits: float
    low: float
    high: float
    p_value: float
    excess: float


@dataclass(frozen=True, eq=False)
class AnnotatorScore:
    """One of several people.

    Parameters
    ----------
    name, num_demonstrations, num_decisions
        Who, and how much they told; only free decisions count.
    misfit
        Under the fit to the others (without those who were named before).
    is_odd
        Whether they are named as one whose answers do not fit.
    expert
        Mean, and central 95 % interval, of each unknown parameter of theirs, partly pooled; empty if it was not fitted.
    log_evidence, log_evidence_error
        Of a fit to their answers alone.
    reward_mean, reward_std
        `[D]` parameters of the reward by that fit.
    """

    name: str
    num_demonstrations: int
    num_decisions: int
    misfit: Misfit
    is_odd: bool
    expert: dict[str, tuple[float, float, float]]
    log_evidence: float | None
    log_evidence_error: float | None
    reward_mean: FloatArray
    reward_std: FloatArray


class Pooling(NamedTuple):
    """One way to fit several people: its log evidence, with its Monte-Carlo error."""

    name: str
    log_evidence: float | None
    log_evidence_error: float | None


@dataclass(frozen=True, eq=False)
class AnnotatorComparison:
    """Several people side by side.

    Parameters
    ----------
    scores
        One per annotator.
    poolings
        "separate": each wants something of their own; "pooled": all alike; "partly pooled": they want the same, each
        with an own beta and lapse. Their evidences are of the same answers, and can be compared.
    differences
        `[G, G]` how differently two of them act, by the fits to each alone: the chance that two actions drawn from
        them, as alike as possible, differ (total variation), over the free states that they visited.
    level
        Chance to name anybody if all fit.
    warnings
        Of the fits.
    """

    scores: tuple[AnnotatorScore, ...]
    poolings: tuple[Pooling, ...]
    differences: FloatArray
    level: float
    method: str
    warnings: tuple[str, ...]

    @property
    def odd(self) -> tuple[str, ...]:
        """Names of those whose answers do not fit those of the others."""
        return tuple(score.name for score in self.scores if score.is_odd)

    @property
    def best_pooling(self) -> Pooling | None:
        """The way to pool with the largest evidence; None where the method has none."""
        known = [pooling for pooling in self.poolings if pooling.log_evidence is not None]
        return max(known, key=lambda pooling: pooling.log_evidence or 0.0) if known else None

    def verdict(self) -> str:
        """Say who does not fit, and how the answers are best pooled."""
        if len(self.scores) == 2 and self.odd:
            text = f"{listed_words(self.odd)} do not fit each other; with two people nobody can tell who is odd."
        elif self.odd:
            text = f"The answers of {listed_words(self.odd)} do not fit those of the others."
        else:
            text = "Everybody's answers fit those of the others."
        best = self.best_pooling
        return text if best is None else f"{text} Largest evidence: {best.name}."

    def to_record(self) -> dict[str, Any]:
        """Return it as plain data for JSON."""
        return {
            "odd": list(self.odd),
            "verdict": self.verdict(),
            "level": self.level,
            "method": self.method,
            "annotators": [_record(score) for score in self.scores],
            "poolings": [pooling._asdict() for pooling in self.poolings],
            "differences": self.differences.tolist(),
            "warnings": list(self.warnings),
        }


def compare_annotators(
    problem: Problem,
    demonstrations: Iterable[Demonstration],
    *,
    level: float = LEVEL,
    num_simulations: int = NUM_SIMULATIONS,
    method: str = "smc",
    seed: int = 0,
    num_threads: int | None = None,
    progress: bool = False,
    **options: Any,
) -> AnnotatorComparison:
    """Fit several people side by side, pooled and partly pooled, and name those whose answers do not fit.

    Parameters
    ----------
    problem
        Its expert is that of the fits to each alone and to all as one. Partly pooled, beta and lapse are unknown: with
        its priors where it has some, else within a factor of 4 of its beta, and a lapse of 0.1 on average. A prior of
        the reward with atoms, or an expert that is not Boltzmann's, cannot be partly pooled: then all are alike.
    demonstrations
        Each must name its annotator.
    level
        Chance to name anybody if all fit.
    num_simulations
        Simulated annotators per person and look.
    method, seed, num_threads, options
        Of inference, as in `infer`.
    """
    listed = as_demonstrations(demonstrations)
    names = _checked_names(listed)
    level = share(level, "level", "0.05 is usual.")
    needed = NUM_WINDOWS * int(np.ceil(len(names) / level))
    num_simulations = whole_number(num_simulations, "num_simulations", needed, "Fewer cannot give such small chances.")
    check_options(options, INFERENCE.find(method).options, f"method {method!r}")
    own = {name: [item for item in listed if item.annotator == name] for name in names}
    alike = _without_annotators(problem)
    partly = _partly_pooled(problem, names)
    total, done = 2 * len(names) + 2, 0
    warnings: list[str] = []

    def fit(model: Problem, data: Sequence[Demonstration], words: str) -> Posterior:
        nonlocal done
        report(min(1.0, done / total), words)
        done += 1
        posterior = infer(model, data, method, seed=seed, num_threads=num_threads, **options)
        warnings.extend(f"{words}: {warning}" for warning in posterior.warnings)
        return posterior

    with progress_bar("Comparing annotators", is_shown=progress) as report:
        alone = {name: fit(alike, own[name], f"{name} alone") for name in names}
        pooled = fit(alike, listed, "pooled")
        together = None if partly is None else fit(partly, listed, "partly pooled")
        misfits, odd = _name_odd(alike if partly is None else partly, own, level, num_simulations, seed, fit)
    scores = []
    for name in names:
        posterior = alone[name]
        scores.append(
            AnnotatorScore(
                name=name,
                num_demonstrations=len(own[name]),
                num_decisions=int(tally(own[name], problem.mdp.available).counts.sum()),
                misfit=misfits[name],
                is_odd=name in odd,
                expert={} if together is None else _own_parameters(together, name),
                log_evidence=posterior.log_evidence,
                log_evidence_error=getattr(posterior, "log_evidence_error", None),
                reward_mean=posterior.mean_parameters(),
                reward_std=posterior.parameter_std(),
            )
        )
    poolings = [_separate(list(alone.values())), _pooling("pooled", pooled)]
    if together is not None:
        poolings.append(_pooling("partly pooled", together))
    return AnnotatorComparison(
        scores=tuple(scores),
        poolings=tuple(poolings),
        differences=_differences([alone[name] for name in names], [own[name] for name in names]),
        level=level,
        method=method,
        warnings=tuple(dict.fromkeys(warnings)),
    )


def _checked_names(listed: Sequence[Demonstration]) -> list[str]:
    """Return the names of all annotators, in the order in which they come."""
    for index, item in enumerate(listed):
        if not item.annotator:
            raise InputError(
                f"each demonstration must name its annotator to compare people, got none in demonstration {index}. "
                "Fill in the column annotator."
            )
    names = list(dict.fromkeys(str(item.annotator) for item in listed))
    if len(names) < 2:
        raise InputError(
            f"there must be at least 2 annotators to compare, got {', '.join(names) or 'none'}. "
            "Name whose each demonstration is, in the column annotator."
        )
    return names


def _without_annotators(problem: Problem) -> Problem:
    if not getattr(problem.expert, "annotators", ()):
        return problem
    return replace(problem, expert=replace(problem.expert, annotators=()))  # type: ignore[type-var]


def _partly_pooled(problem: Problem, names: Sequence[str]) -> Problem | None:
    """Return the problem in which all share the reward and each has an own beta and lapse; None where it cannot be."""
    expert = problem.expert
    if problem.prior.is_discrete or not isinstance(expert, Boltzmann):
        return None
    own = Boltzmann(unknown_beta(expert), unknown_lapse(expert), expert.values, tuple(names))
    return replace(problem, expert=own)


FitFn = Callable[[Problem, Sequence[Demonstration], str], Posterior]


def _name_odd(
    problem: Problem,
    own: dict[str, list[Demonstration]],
    level: float,
    num_simulations: int,
    seed: int,
    fit_fn: FitFn,
) -> tuple[dict[str, Misfit], list[str]]:
    """Return how each fits the others, and who is named: the worst first, set aside before the rest are looked at."""
    rest, misfits = list(own), {}
    odd: list[str] = []
    while len(rest) >= 2:
        for number, name in enumerate(rest):
            others = [item for other in rest if other != name for item in own[other]]
            posterior = fit_fn(problem, others, f"all but {listed_words([name, *odd])}")
            rng = np.random.default_rng([seed, len(odd), number])
            signed = name if problem.expert_space.annotators else None
            misfits[name] = misfit(rng, posterior, own[name], annotator=signed, num_simulations=num_simulations)
        worst = min(rest, key=lambda name: (misfits[name].p_value, -misfits[name].excess))
        if misfits[worst].p_value > level / len(own):
            break
        if len(rest) == 2:
            odd += rest if len(own) == 2 else [worst]
            break
        odd.append(worst)
        rest.remove(worst)
    return misfits, odd


def misfit(
    rng: np.random.Generator,
    posterior: Posterior,
    demonstrations: Sequence[Demonstration],
    *,
    annotator: str | None = None,
    num_simulations: int = NUM_SIMULATIONS,
) -> Misfit:
    """Return how demonstrations compare with what a posterior that has not seen them expects of them."""
    mdp = posterior.problem.mdp
    is_free = mdp.available.sum(axis=1) > 1
    drawn = rng.choice(posterior.num_samples, num_simulations, p=posterior.weights / posterior.weights.sum())
    simulated = simulate_counts(rng, posterior, drawn, demonstrations, annotator)
    observed = np.zeros((1, mdp.num_states, mdp.num_actions))
    np.add.at(observed[0], tuple(np.array([step for item in demonstrations for step in item.steps]).T), 1.0)
    counts = np.concatenate([observed, simulated]) * is_free[:, None]
    flat = counts.reshape(len(counts), -1)
    visits = counts.sum(axis=(0, 2))
    pairs = np.flatnonzero(mdp.available & (visits > 0)[:, None])
    if not pairs.size:
        return Misfit(0.0, 0.0, 0.0, 0.0, 1.0, 0.0)
    log_policies = pair_log_policies(posterior, pairs, annotator)
    with np.errstate(divide="ignore"):
        log_weights = np.log(posterior.weights)
    sums = weighted_sum(flat[:, pairs], log_policies.T) + log_weights
    if posterior.origins is not None:
        is_own = posterior.origins[drawn][:, None] == posterior.origins
        is_own[is_own.all(axis=1)] = False  # all samples have one origin: there is nothing else to predict from
        sums[1:][is_own] = -np.inf
    log_chances = logsumexp(sums, axis=1)
    statistics = dirichlet_evidences(counts, mdp.available) - log_chances
    chances = np.exp(log_policies)
    entropies = -(chances * np.where(chances > 0, log_policies, 0.0)) @ visits[pairs // mdp.num_actions] / visits.sum()
    with np.errstate(invalid="ignore"):
        noise = np.nan_to_num(np.exp(sums - log_chances[:, None])) @ entropies
    p_value, excess = rank_among_alike(statistics, noise)
    mean = logsumexp(log_policies + log_weights[:, None], axis=0)
    bits = weighted_sum(flat[:, pairs], mean) / LOG_2 / np.maximum(flat.sum(axis=1), 1.0)
    low, high = np.quantile(bits[1:], INTERVAL)
    return Misfit(float(bits[0]), float(bits[1:].mean()), float(low), float(high), p_value, excess)


def rank_among_alike(statistics: FloatArray, noise: FloatArray) -> tuple[float, float]:
    """Return the part of simulated statistics `[1:]` that are at least as large as the first, given like noise.

    Also by how many of their standard deviations the first is above their mean. Those with the nearest noise are
    ranked, by what is left after a straight line in it; the first is one of them.
    """
    size = (len(statistics) - 1) // NUM_WINDOWS
    near = 1 + np.argsort(np.abs(noise[1:] - noise[0]), kind="stable")[:size]
    x, y = noise[near], statistics[near]
    spread = float(((x - x.mean()) ** 2).sum())
    slope = float((x - x.mean()) @ (y - y.mean())) / spread if spread > 1e-12 else 0.0
    nearest = np.clip(noise[0], x.min(), x.max())  # a line is not to be trusted beyond what it was fitted to
    left = y - slope * (x - nearest)
    excess = float(statistics[0] - left.mean()) / max(float(left.std()), 1e-12)
    return (1 + int((left >= statistics[0]).sum())) / (1 + size), excess


def simulate_counts(
    rng: np.random.Generator,
    posterior: Posterior,
    drawn: IntArray,
    demonstrations: Sequence[Demonstration],
    annotator: str | None = None,
) -> FloatArray:
    """Let samples `[R]` of a posterior give demonstrations from the same starts, as long; return counts `[R, S, A]`.

    One that ended by itself may take as long as the longest did.
    """
    mdp, size = posterior.problem.mdp, len(drawn)
    samples, places = np.unique(drawn, return_inverse=True)
    few = replace(
        posterior,
        counts=posterior.answers,
        theta=posterior.theta[samples],
        values=posterior.values[samples],
        weights=np.full(len(samples), 1.0 / len(samples)),
        expert_parameters=posterior.expert_parameters[samples],
        expert_values=None if posterior.expert_values is None else posterior.expert_values[samples],
        chains=None,
        groups=None,
    )
    cumulative = np.cumsum(np.exp(few.log_policies(None, annotator)), axis=2)
    cumulative /= cumulative[:, :, -1:]
    steps = _StepSampler(mdp)
    counts = np.zeros((size, mdp.num_states, mdp.num_actions))
    longest = max((len(item) for item in demonstrations), default=0)
    for item in demonstrations:
        states, active = np.full(size, item.start_state), np.arange(size)
        for _ in range(longest if item.ended == "terminated" else len(item)):
            chances = cumulative[places[active], states[active]]
            actions = (chances <= rng.random(len(active))[:, None]).sum(axis=1)
            counts[active, states[active], actions] += 1.0
            nexts, is_going = steps.draw(rng, states[active], actions)
            states[active] = nexts
            active = active[is_going]
            if not active.size:
                break
    return counts


class _StepSampler:
    """Draws next states of many (state, action) at once: one sorted array holds the cumulative chances of all rows."""

    def __init__(self, mdp: FiniteMDP) -> None:
        rows = mdp.rows
        self.mdp, self.ends, self.next_states = mdp, rows.indptr[1:], rows.next_states
        sizes = np.diff(rows.indptr)
        owners = np.repeat(np.arange(len(sizes)), sizes)
        running = np.cumsum(rows.probabilities)
        before = np.concatenate([[0.0], running])[rows.indptr[:-1]]
        within = running - before[owners]
        is_last = np.arange(len(owners)) == self.ends[owners] - 1
        within[is_last & (within > 1.0 - 1e-9)] = 1.0  # rounding must not end an episode
        self.cumulative = owners + within

    def draw(self, rng: np.random.Generator, states: IntArray, actions: IntArray) -> tuple[IntArray, BoolArray]:
        """Return next states, and whether the episode goes on there: it may end by chance or in a terminal state."""
        rows = states * self.mdp.num_actions + actions
        places = np.searchsorted(self.cumulative, rows + rng.random(len(rows)), side="right")
        is_going = places < self.ends[rows]
        nexts = np.where(is_going, self.next_states[np.minimum(places, len(self.next_states) - 1)], states)
        return nexts, is_going & ~self.mdp.terminal[nexts]


def dirichlet_evidences(counts: FloatArray, available: BoolArray) -> FloatArray:
    """Return the log evidence `[R]` of counts `[R, S, A]` under a Dirichlet prior of 1 per available action."""
    sizes = available.sum(axis=1)
    totals = gammaln(sizes) - gammaln(sizes + counts.sum(axis=2))
    return np.asarray(gammaln(1.0 + counts).sum(axis=(1, 2)) + totals.sum(axis=1))


def _own_parameters(posterior: Posterior, name: str) -> dict[str, tuple[float, float, float]]:
    """Return mean and interval of each parameter of one annotator."""
    space, weights = posterior.problem.expert_space, posterior.weights
    own = space.of_group(posterior.expert_parameters, space.group_of(name))
    found = {}
    for index, parameter in enumerate(space.single_names):
        values = own[:, index]
        low, high = (float(weighted_quantile(values[:, None], weights, tail)[0]) for tail in INTERVAL)
        found[parameter] = (float(weights @ values), low, high)
    return found


def _pooling(name: str, posterior: Posterior) -> Pooling:
    return Pooling(name, posterior.log_evidence, getattr(posterior, "log_evidence_error", None))


def _separate(posteriors: Sequence[Posterior]) -> Pooling:
    """Return the evidence of each being by itself: the sum, with errors added as of independent runs."""
    evidences = [posterior.log_evidence for posterior in posteriors]
    errors = [getattr(posterior, "log_evidence_error", None) for posterior in posteriors]
    known = [value for value in evidences if value is not None]
    spreads = [value for value in errors if value is not None]
    total = sum(known) if len(known) == len(posteriors) else None
    error = float(np.linalg.norm(spreads)) if len(spreads) == len(posteriors) else None
    return Pooling("separate", total, error)


def _differences(posteriors: Sequence[Posterior], own: Sequence[Sequence[Demonstration]]) -> FloatArray:
    """Return `[G, G]` total variation between mean policies, over free states as often as both visited them."""
    available = posteriors[0].problem.mdp.available
    is_free = available.sum(axis=1) > 1
    visits = np.zeros((len(own), len(available)))
    for index, items in enumerate(own):
        np.add.at(visits[index], [state for item in items for state, _ in item.steps], 1.0)
    visits *= is_free
    visits /= np.maximum(visits.sum(axis=1, keepdims=True), 1.0)
    policies = [posterior.predictive_policy() for posterior in posteriors]
    found = np.zeros((len(own), len(own)))
    for j in range(len(own)):
        for k in range(j):
            apart = 0.5 * np.abs(policies[j] - policies[k]).sum(axis=1)
            found[j, k] = found[k, j] = float(0.5 * (visits[j] + visits[k]) @ apart)
    return found


def _record(score: AnnotatorScore) -> dict[str, Any]:
    return {
        "name": score.name,
        "num_demonstrations": score.num_demonstrations,
        "num_free_decisions": score.num_decisions,
        "is_odd": score.is_odd,
        **score.misfit._asdict(),
        "expert": {name: {"mean": mean, "low": low, "high": high} for name, (mean, low, high) in score.expert.items()},
        "log_evidence": score.log_evidence,
        "log_evidence_error": score.log_evidence_error,
        "reward_mean": score.reward_mean.tolist(),
        "reward_std": score.reward_std.tolist(),
    }
