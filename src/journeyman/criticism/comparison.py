"""Models compared: variants of one problem on the same demonstrations, by evidence and by prediction.

*Evidence.* log p(D) of the demonstrations that a model was fitted to, all of them together, with its Monte-Carlo error.

*Prediction.* Each demonstration is predicted by a fit to others: by folds, or by one given split. Only free decisions
count: where a single action is available there is nothing to predict. Two numbers, in bits per free decision:

- `bits`: the mean policy of the posterior, decision by decision: sum of log2(sum_i w_i pi_i(a | s)). One policy is
  scored, as for the empirical policy, so that the two can be compared, and few samples suffice. It is the headline.
- `whole_bits`: whole demonstrations: log2(sum_i w_i prod pi_i(a | s)), where what came before in a demonstration tells
  about what follows. It is what evidence adds up; from few samples and long demonstrations it is a little too low.

*References.* Chance does each available action alike. The smoothed empirical policy is that of a stationary expert of
whom nothing else is known: in every state a Dirichlet prior of 1 per available action, so that its mean policy is
(n(s, a) + 1) / (n(s) + number of actions), and its evidence is exact too. The *share of the explainable* is

    (bits - bits of chance) / (bits of the empirical policy - bits of chance)

which may exceed 1: a model that generalises, or that remembers, can be better than the empirical policy.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from journeyman.checks import check_options, whole_number
from journeyman.criticism.prediction import LOG_2, dirichlet_evidence, predict, tally
from journeyman.criticism.variants import Variant
from journeyman.demonstrations import Demonstration, action_counts, as_demonstrations
from journeyman.errors import InputError, UnsupportedError
from journeyman.inference import INFERENCE, infer
from journeyman.mdp.memory import innermost
from journeyman.problem import Problem
from journeyman.problem_files.records import problem_to_record
from journeyman.progress import progress_bar
from journeyman.storage.jsonl import appended
from journeyman.types import BoolArray, FloatArray, IntArray

FORMAT = "journeyman-comparison-1"
CHANCE = "chance"
EMPIRICAL = "empirical policy"


@dataclass(frozen=True, eq=False)
class Score:
    """How one model did.

    Parameters
    ----------
    name
        Of the variant.
    bits
        Per free decision of the demonstrations that were predicted, by the mean policy; `bits_error` is its standard
        error over demonstrations, None if there is only one.
    whole_bits
        The same by whole demonstrations.
    share, share_error
        Of the explainable, with its standard error; None where the empirical policy does not beat chance.
    behind, behind_error
        By how many bits per free decision it is behind the best variant, and the standard error of that difference over
        demonstrations, which all models predict: much smaller than that of `bits`. None for the references.
    log_evidence, log_evidence_error
        Of the demonstrations that it was fitted to, in nats; None where the method has none.
    demonstration_bits
        `[N]` bits of each predicted demonstration, not per decision.
    expert
        Posterior means of what is not known of the expert.
    warnings
        Of its fits.
    seconds
        That its fits took.
    is_reference
        Whether it is chance or an empirical policy, not a variant.
    """

    name: str
    bits: float
    bits_error: float | None
    whole_bits: float
    share: float | None
    share_error: float | None
    behind: float | None
    behind_error: float | None
    log_evidence: float | None
    log_evidence_error: float | None
    demonstration_bits: FloatArray
    whole_demonstration_bits: FloatArray
    expert: dict[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    seconds: float = 0.0
    is_reference: bool = False


@dataclass(frozen=True, eq=False)
class ModelComparison:
    """Variants of a model, side by side.

    Parameters
    ----------
    scores
        Of all variants, in their order.
    references
        Of chance, of the empirical policy, and, where variants have a memory, of the empirical policy with it.
    predicted
        `[N]` numbers of the demonstrations that were predicted.
    decisions
        `[N]` free decisions in each.
    num_fitted
        Demonstrations to which the evidence refers.
    split
        How it was decided what is predicted from what, in words.
    method
        Of inference.
    """

    scores: tuple[Score, ...]
    references: tuple[Score, ...]
    predicted: IntArray
    decisions: IntArray
    num_fitted: int
    split: str
    method: str

    @property
    def best(self) -> Score:
        """The variant that predicts best."""
        return max(self.scores, key=lambda score: score.bits)

    @property
    def best_by_evidence(self) -> Score | None:
        """The variant with the largest evidence; None if none of them has one."""
        known = [score for score in self.scores if score.log_evidence is not None]
        return max(known, key=lambda score: score.log_evidence or 0.0) if known else None

    @property
    def rows(self) -> tuple[Score, ...]:
        """References and variants: chance first, the empirical policies last."""
        return (self.references[0], *self.scores, *self.references[1:])

    def __getitem__(self, name: str) -> Score:
        """Return the score of a variant or a reference."""
        found = {score.name: score for score in self.rows}
        if name not in found:
            raise InputError(f"a score must be of one of {', '.join(found)}, got {name!r}. Name one of these.")
        return found[name]

    def to_record(self) -> dict[str, Any]:
        """Return it as plain data for JSON; what is not a finite number is None."""
        return {
            "split": self.split,
            "method": self.method,
            "num_fitted": self.num_fitted,
            "num_predicted": len(self.predicted),
            "num_free_decisions": int(self.decisions.sum()),
            "best": self.best.name,
            "best_by_evidence": None if self.best_by_evidence is None else self.best_by_evidence.name,
            "models": [_score_record(score) for score in self.rows],
            "demonstrations": {"number": self.predicted.tolist(), "free_decisions": self.decisions.tolist()},
        }


def compare_models(
    variants: Mapping[str, Variant | Problem],
    demonstrations: Iterable[Demonstration],
    *,
    test: Iterable[int] | None = None,
    folds: int = 5,
    method: str = "smc",
    seed: int = 0,
    num_threads: int | None = None,
    progress: bool | None = None,
    results: str | Path | None = None,
    **options: Any,
) -> ModelComparison:
    """Compare models of an expert on the same demonstrations.

    Parameters
    ----------
    variants
        Models by name, as `model_variants` makes them; a Problem is a variant without memory.
    demonstrations
        What the expert did.
    test
        Numbers of the demonstrations that are predicted, from a fit to all others; the evidence is that of the others.
        Default: `folds`.
    folds
        Demonstration i is in fold i modulo `folds`, and is predicted from a fit to the other folds; the evidence is
        that of all demonstrations.
    method, seed, num_threads, options
        Of inference, as in `infer`.
    progress
        Whether to show how far it is.
    results
        File in which finished fits are kept (JSON Lines): with the same demonstrations and settings they are not done
        again, so that a comparison can be resumed, and be enlarged by more variants.

    Raises
    ------
    InputError
        If there are no variants, no demonstrations, nothing to predict or nothing to fit, or if variants are not over
        the same states and actions.
    """
    listed = as_demonstrations(demonstrations)
    models = _checked_variants(variants)
    INFERENCE.find(method)
    check_options(options, INFERENCE.find(method).options, f"method {method!r}")
    split = _split(listed, test, folds)
    available = _shared_choices(models)
    for name, model in models.items():
        _check_fit(name, model, listed, method)
    decisions = tally([listed[i] for i in split.predicted], available).decisions
    if decisions.sum() == 0:
        raise InputError(
            "the demonstrations to predict must have a decision that is free, got none: a single action is available "
            "wherever they go. Give demonstrations with a choice."
        )
    settings = {"data": _digest(listed), "method": method, "options": options, "seed": seed}
    fits: dict[str, list[Fit]] = {name: [] for name in models}
    tasks = [(name, part) for name in models for part in split.parts]
    with _kept(results, settings) as kept, progress_bar("Comparing models", is_shown=progress) as report:
        for number, (name, part) in enumerate(tasks):
            report(number / len(tasks), f"{name}: {part.name}")
            fit_fn = partial(
                _fitted, models[name], listed, part, method, seed=seed, num_threads=num_threads, options=options
            )
            fits[name].append(kept(_fit_key(models[name], part), fit_fn))
    memories = {model.memory.name: model.problem for model in models.values() if model.memory is not None}
    found = [_chance(available, listed, split), _empirical(EMPIRICAL, available, listed, split)]
    for name, problem in memories.items():
        lifted = problem.lift(listed)
        found.append(_empirical(f"{EMPIRICAL}, memory: {name}", problem.mdp.available, lifted, split))
    num_references = len(found)
    scores = _scores([*found, *(_joined(name, parts) for name, parts in fits.items())], decisions)
    return ModelComparison(
        scores=tuple(scores[num_references:]),
        references=tuple(scores[:num_references]),
        predicted=np.array(split.predicted),
        decisions=decisions,
        num_fitted=len(split.parts[0].fitted),
        split=split.words,
        method=method,
    )


class Part(NamedTuple):
    """One fit of each model: what it is fitted to and what it predicts, by number; whether its evidence is reported."""

    name: str
    fitted: tuple[int, ...]
    predicted: tuple[int, ...]
    gives_evidence: bool


class Split(NamedTuple):
    """All fits of each model, and what they predict together."""

    parts: tuple[Part, ...]
    predicted: tuple[int, ...]
    words: str


def _split(listed: Sequence[Demonstration], test: Iterable[int] | None, folds: int) -> Split:
    """Return what is predicted from what."""
    size = len(listed)
    if size < 2:
        raise InputError(
            f"models must be compared on at least 2 demonstrations, got {size}: one to fit and one to predict. "
            "Give more, or cut a long one into pieces."
        )
    if test is not None:
        chosen = sorted({whole_number(i, "the number of a test demonstration", 0) for i in test})
        if not chosen or chosen[-1] >= size or len(chosen) == size:
            got = "none" if not chosen else ("all" if len(chosen) == size else f"number {chosen[-1]}")
            raise InputError(
                f"the test split must be some of the demonstrations 0..{size - 1}, but not all of them, got {got}. "
                "Example: every fifth."
            )
        rest = tuple(i for i in range(size) if i not in set(chosen))
        words = (
            f"fitted to {len(rest)} demonstrations, to which the evidence refers, and tested on {len(chosen)} others"
        )
        return Split((Part("fit", rest, tuple(chosen), True),), tuple(chosen), words)
    folds = whole_number(folds, "the number of folds", 2, "5 is usual.")
    if folds > size:
        raise InputError(
            f"there must be at least one demonstration per fold, got {size} for {folds} folds. Use {size} folds."
        )
    everything = tuple(range(size))
    parts = [Part("all data", everything, (), True)]
    for fold in range(folds):
        inside = everything[fold::folds]
        parts.append(
            Part(f"fold {fold + 1} of {folds}", tuple(i for i in everything if i % folds != fold), inside, False)
        )
    words = f"each of {folds} folds predicted from the others; evidence of all {size} demonstrations"
    return Split(tuple(parts), tuple(i for part in parts for i in part.predicted), words)


def _checked_variants(variants: Mapping[str, Variant | Problem]) -> dict[str, Variant]:
    if not isinstance(variants, Mapping) or not variants:
        raise InputError(
            f"variants must be problems by name, got {'none' if variants == {} else type(variants).__name__}. "
            "Make some with model_variants(problem, {...})."
        )
    found: dict[str, Variant] = {}
    for name, value in variants.items():
        if not isinstance(value, Variant | Problem):
            raise InputError(f"a variant must be a Problem or a Variant, got {type(value).__name__} as {name!r}.")
        if name in (CHANCE, EMPIRICAL):
            raise InputError(f"a variant must not be called {name!r}, which is a reference. Rename it.")
        found[name] = value if isinstance(value, Variant) else Variant(value)
    return found


def _shared_choices(models: Mapping[str, Variant]) -> BoolArray:
    """Return the available actions `[S, A]` of the states that demonstrations have, which all variants must share."""
    first: BoolArray | None = None
    for name, model in models.items():
        own = innermost(model.problem.mdp).available
        first = own if first is None else first
        if own.shape != first.shape or (own != first).any():
            raise InputError(
                f"variants must have the same states and available actions, got {name!r} with others. Compare it apart."
            )
    assert first is not None
    return first


def _check_fit(name: str, model: Variant, listed: Sequence[Demonstration], method: str) -> None:
    """Refuse demonstrations that cannot occur, and a method that cannot do it, before any work."""
    model.problem.counts(listed)
    reason = INFERENCE.find(method).refusal_fn(model.problem)
    if reason is not None:
        raise UnsupportedError(f"{name}: {reason}")


class Fit(NamedTuple):
    """What is kept of one fit."""

    bits: list[float]
    whole_bits: list[float]
    log_evidence: float | None
    log_evidence_error: float | None
    expert: dict[str, float]
    warnings: list[str]
    seconds: float


def _fitted(
    model: Variant,
    listed: Sequence[Demonstration],
    part: Part,
    method: str,
    *,
    seed: int,
    num_threads: int | None,
    options: Mapping[str, Any],
) -> Fit:
    """Fit a model to its part of the demonstrations, and predict the others."""
    fitted = [listed[i] for i in part.fitted]
    posterior = infer(model.problem, fitted, method, seed=seed, num_threads=num_threads, **options)
    found = predict(posterior, model.problem.lift([listed[i] for i in part.predicted]))
    names = posterior.problem.expert_space.names
    means = posterior.weights @ posterior.expert_parameters
    return Fit(
        bits=found.bits.tolist(),
        whole_bits=found.whole_bits.tolist(),
        log_evidence=posterior.log_evidence,
        log_evidence_error=getattr(posterior, "log_evidence_error", None),
        expert=dict(zip(names, means.tolist(), strict=True)),
        warnings=list(posterior.warnings),
        seconds=posterior.diagnostics.seconds,
    )


class Found(NamedTuple):
    """What is known of a model before it is compared with others; arrays `[N]` in the order of the split."""

    name: str
    bits: FloatArray
    whole_bits: FloatArray
    log_evidence: float | None
    log_evidence_error: float | None = None
    expert: dict[str, float] | None = None
    warnings: tuple[str, ...] = ()
    seconds: float = 0.0
    is_reference: bool = False


def _joined(name: str, fits: Sequence[Fit]) -> Found:
    """Put the fits of a model together; the first one gives its evidence."""
    return Found(
        name,
        np.array([bits for fit in fits for bits in fit.bits]),
        np.array([bits for fit in fits for bits in fit.whole_bits]),
        fits[0].log_evidence,
        fits[0].log_evidence_error,
        fits[0].expert,
        tuple(dict.fromkeys(warning for fit in fits for warning in fit.warnings)),
        sum(fit.seconds for fit in fits),
    )


def _chance(available: BoolArray, listed: Sequence[Demonstration], split: Split) -> Found:
    """Score the policy that does each available action alike."""
    options = available.sum(axis=1)

    def bits(numbers: Sequence[int]) -> FloatArray:
        found = tally([listed[i] for i in numbers], available)
        return -np.asarray(found.counts @ np.log2(options[found.pairs // available.shape[1]]))

    evidence = float(bits(split.parts[0].fitted).sum()) * LOG_2
    own = bits(split.predicted)
    return Found(CHANCE, own, own, evidence, 0.0, is_reference=True)


def _empirical(name: str, available: BoolArray, listed: Sequence[Demonstration], split: Split) -> Found:
    """Score the stationary expert of whom nothing else is known: a Dirichlet prior in every state."""
    bits, whole = [], []
    for part in split.parts:
        before = _free_counts([listed[i] for i in part.fitted], available)
        own = before + available
        policy = own / own.sum(axis=1, keepdims=True)
        for i in part.predicted:
            counts = _free_counts([listed[i]], available)
            used = counts > 0
            bits.append(float((counts[used] * np.log2(policy[used])).sum()))
            whole.append(float(dirichlet_evidence(counts, own)) / LOG_2)
    first = _free_counts([listed[i] for i in split.parts[0].fitted], available)
    evidence = float(dirichlet_evidence(first, available.astype(float)))
    return Found(name, np.array(bits), np.array(whole), evidence, 0.0, is_reference=True)


def _free_counts(demonstrations: Sequence[Demonstration], available: BoolArray) -> FloatArray:
    counts = action_counts(demonstrations, *available.shape).astype(float)
    return np.asarray(counts * (available.sum(axis=1) > 1)[:, None])


def _scores(found: Sequence[Found], decisions: IntArray) -> list[Score]:
    """Return the scores of references and variants, given the free decisions `[N]` of each demonstration."""
    chance, empirical = found[0].bits, next(item.bits for item in found if item.name == EMPIRICAL)
    total = decisions.sum()
    best = max((item for item in found if not item.is_reference), key=lambda item: item.bits.sum()).bits
    scores = []
    for item in found:
        share, share_error = _ratio(item.bits - chance, empirical - chance)
        behind, behind_error = _ratio(best - item.bits, decisions)
        scores.append(
            Score(
                name=item.name,
                bits=float(item.bits.sum() / total),
                bits_error=_ratio(item.bits, decisions)[1],
                whole_bits=float(item.whole_bits.sum() / total),
                share=share if (empirical - chance).sum() > 0 else None,
                share_error=share_error if (empirical - chance).sum() > 0 else None,
                behind=None if item.is_reference else behind,
                behind_error=None if item.is_reference else behind_error,
                log_evidence=item.log_evidence,
                log_evidence_error=item.log_evidence_error,
                demonstration_bits=item.bits,
                whole_demonstration_bits=item.whole_bits,
                expert=item.expert or {},
                warnings=item.warnings,
                seconds=item.seconds,
                is_reference=item.is_reference,
            )
        )
    return scores


def _ratio(parts: FloatArray, sizes: Any) -> tuple[float | None, float | None]:
    """Return sum(parts) / sum(sizes) and its standard error over demonstrations, as of a ratio estimate."""
    total = float(np.sum(sizes))
    if total == 0.0 or not np.isfinite(parts).all():
        return (None if total == 0.0 else float(np.sum(parts) / total)), None
    ratio = float(np.sum(parts) / total)
    if len(parts) < 2:
        return ratio, None
    residuals = parts - ratio * np.asarray(sizes)
    size = len(parts)
    return ratio, float(np.sqrt(size / (size - 1) * (residuals**2).sum()) / abs(total))


def _score_record(score: Score) -> dict[str, Any]:
    """Return a score as plain data."""
    plain = (
        "name", "bits", "bits_error", "whole_bits", "share", "share_error", "behind", "behind_error", "log_evidence",
        "log_evidence_error", "seconds", "is_reference",
    )  # fmt: skip
    record: dict[str, Any] = {name: _finite(getattr(score, name)) for name in plain}
    record |= {"expert": score.expert, "warnings": list(score.warnings)}
    record["demonstration_bits"] = [_finite(bits) for bits in score.demonstration_bits.tolist()]
    return record


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _fit_key(model: Variant, part: Part) -> str:
    """Return what tells one fit from another: the numbers of the model, and what it is fitted to and predicts."""
    found = hashlib.sha256()
    facts, arrays = problem_to_record(model.problem)
    found.update(json.dumps([facts, part.fitted, part.predicted], sort_keys=True, default=str).encode())
    for name, array in sorted(arrays.items()):
        found.update(f"{name} {array.shape} {array.dtype}".encode() + np.ascontiguousarray(array).tobytes())
    return found.hexdigest()[:16]


def _digest(listed: Sequence[Demonstration]) -> str:
    return hashlib.sha256(json.dumps([item.to_record() for item in listed]).encode()).hexdigest()[:16]


@contextmanager
def _kept(path: str | Path | None, settings: Mapping[str, Any]) -> Iterator[Callable[[str, Callable[[], Fit]], Fit]]:
    """Give a function that returns the fit of a key: one that was kept, or a new one, which is then kept."""
    if path is None:
        yield lambda key, fit_fn: fit_fn()
        return
    with appended(Path(path), {"format": FORMAT, "settings": dict(settings)}, "settings") as (lines, add):
        known = {record["key"]: Fit(**record["fit"]) for _, record in lines.records}

        def fit_of(key: str, fit_fn: Callable[[], Fit]) -> Fit:
            if key not in known:
                known[key] = fit_fn()
                add({"key": key, "fit": known[key]._asdict()})
            return known[key]

        yield fit_of
