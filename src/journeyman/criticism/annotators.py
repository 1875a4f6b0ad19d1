"""Several people: fits of each alone, of all as one, and partly pooled; how much they differ, and who does not fit.

*Partly pooled* means that all want the same, and that each has an own beta and lapse. Whether somebody's answers fit is
asked of the others (see `misfit`). An odd one spoils the fits of all others. So the one who fits worst is looked at
first: if its p-value is below the level divided by the number of annotators, it is named and set aside, and the rest
are looked at again, without it. The chance to name anybody in a group that fits is at most the level.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from journeyman.checks import check_options, share, whole_number
from journeyman.criticism.misfit import NUM_SIMULATIONS, NUM_WINDOWS, Misfit, misfit
from journeyman.criticism.prediction import tally
from journeyman.criticism.variants import unknown_beta, unknown_lapse
from journeyman.demonstrations import Demonstration, as_demonstrations
from journeyman.errors import InputError
from journeyman.experts import Boltzmann
from journeyman.inference import INFERENCE, Posterior, infer
from journeyman.problem import Problem
from journeyman.progress import progress_bar
from journeyman.types import FloatArray
from journeyman.wording import listed as listed_words

LEVEL = 0.05


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
    progress: bool | None = None,
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
                log_evidence_error=posterior.log_evidence_error,
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


def _own_parameters(posterior: Posterior, name: str) -> dict[str, tuple[float, float, float]]:
    """Return mean and interval of each parameter of one annotator."""
    ending = f" of {name}"
    known = posterior.expert_knowledge()
    return {one.removesuffix(ending): numbers for one, numbers in known.items() if one.endswith(ending)}


def _pooling(name: str, posterior: Posterior) -> Pooling:
    return Pooling(name, posterior.log_evidence, posterior.log_evidence_error)


def _separate(posteriors: Sequence[Posterior]) -> Pooling:
    """Return the evidence of each being by itself: the sum, with errors added as of independent runs."""
    evidences = [posterior.log_evidence for posterior in posteriors]
    errors = [posterior.log_evidence_error for posterior in posteriors]
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
