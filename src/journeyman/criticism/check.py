"""The model of the expert, checked: surprise over time, contradictions, and what deviates most.

A model becomes doubtful in two ways, which happen to a model that is right in at most 5 % of all cases together:

- The *evidence* against it reaches 25: the average gain of its rivals (`surprise`, `rivals`), at whatever time one
  looks. Half of it are rivals at samples of the posterior, a quarter a change of mind, a quarter other betas or priors.
  By chance in at most 4 % of all cases.
- There is a *contradiction* with a chance of at most 1 % (`contradictions`).

A quick check leaves out the rivals that need inference, whose gains then count as nothing: its evidence is a lower
bound of that of a full check.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from journeyman.criticism.contradictions import Contradiction, contradictions_in
from journeyman.criticism.policies import counts_by_place
from journeyman.criticism.predictive import Deviation, largest_deviations
from journeyman.criticism.rivals import Passes, beliefs_under, passes_over, rival_models
from journeyman.criticism.surprise import Rival, SampleGains, answers_in_order, sample_gains, steps_of_counts
from journeyman.demonstrations import Demonstration, as_demonstrations
from journeyman.errors import InferenceError, InputError
from journeyman.inference.posterior import Posterior
from journeyman.progress import progress_bar
from journeyman.types import FloatArray, IntArray
from journeyman.wording import counted

ALARM = 25.0  # evidence that makes a model doubtful: by chance in at most 1 of 25 cases, whenever one looks
CONTRADICTION_LEVEL = 0.01
WORTH_A_LOOK = 0.2  # chance of a deviation that advice names
LOG_SHARES = {"samples": np.log(0.5), "change": np.log(0.25), "variants": np.log(0.25)}
MAX_PARAMETERS = 400  # of a problem whose full check comes by itself
MAX_WORK = 500_000  # parameters times answers of it: inferences along the answers take minutes beyond
ADVICE = {
    "rationality": "let beta be unknown if it is taken for known, Boltzmann(beta=LogNormal(...)), or use a beta "
    "or prior that predicts better",
    "lapse": "let the expert lapse if it does not yet: Boltzmann(beta, lapse=Beta(...))",
    "habit": "look at the states below; is the state all that the expert sees, and are transitions and discount right? "
    "Try memory, a reward for each state and action, or other transitions",
    "change": "look at when answers stop to fit, and certify the answers before and after apart; or add what changed "
    "(a goal that is reached, a need that is met) to the state as memory",
    "prior": "use a prior of another width, one that covers what rewards may be",
    "contradiction": "ask again there, and take a slip back with undo; if both answers are meant, let beta or lapse be "
    "unknown where they are not, or add to the state what the expert chooses by",
}
RIVALS_TITLE = "Other models of the expert, and how many times better they predict the answers (below 1: worse)"
NUM_SHOWN = 5
CHANGE = Rival("change", "who changed their mind")
KINDS = tuple(kind for kind in ADVICE if kind != "contradiction")


class RivalGain(NamedTuple):
    """How well a rival does.

    kind: of `KINDS`; words: what it is, after "an expert"; log_gain: log of how many times better than the model it
    predicts the answers; log_share: of its part in the evidence.
    """

    kind: str
    words: str
    log_gain: float
    log_share: float


@dataclass(frozen=True, eq=False)
class Criticism:
    """What speaks against a model of the expert, after some answers.

    Parameters
    ----------
    num_answers
        Actions that were looked at.
    is_full
        Whether rivals that need inference took part.
    is_ordered
        Whether the order of the answers is known, without which a change of mind cannot be told.
    log_evidence
        Log of the evidence against the model: at most 0 on average under the model; see `ALARM`.
    rivals
        What it consists of, the largest part first.
    times, curve
        `[P]` numbers of answers, and the log evidence after so many of them, of the quick part, at samples of the last
        posterior; its end is what counts.
    change_point
        Answers before a change of mind, where that is the rival that does best; else None.
    changes
        Change points that were looked at, each with the log gain of an expert who changed their mind there for sure.
    contradictions, deviations
        The least likely first.
    failure
        Why rivals could not be tried, "" if they could.
    annotators
        Those who answered, where they are several that the model takes for one.
    beliefs
        Posteriors of the variants of the model that were tried, by what they are ("beta = 2").
    """

    num_answers: int
    is_full: bool
    is_ordered: bool
    log_evidence: float
    rivals: tuple[RivalGain, ...]
    times: IntArray
    curve: FloatArray
    change_point: int | None
    changes: tuple[tuple[int, float], ...]
    contradictions: tuple[Contradiction, ...]
    deviations: tuple[Deviation, ...]
    failure: str = ""
    annotators: tuple[str, ...] = ()
    beliefs: dict[str, Posterior] = field(default_factory=dict, repr=False)

    def __repr__(self) -> str:
        verdict = "doubtful" if self.is_doubtful else "nothing against the model"
        return (
            f"Criticism({verdict}: {counted(self.num_answers, 'action')}, evidence {number_words(self.log_evidence)})"
        )

    @property
    def sentence(self) -> str:
        """The evidence in a sentence."""
        missing = ""
        if not self.is_full:
            missing = " Not looked for: another beta, another prior, a change of mind."
        elif not self.is_ordered:
            missing = " A change of mind was not looked for: the order of the answers is not known."
        return (
            f"evidence against it after {counted(self.num_answers, 'action')} is {number_words(self.log_evidence)}, an "
            f"alarm is {ALARM:g} or more ({'full' if self.is_full else 'quick'} check).{missing}"
        )

    @property
    def evidence(self) -> float:
        """Evidence against the model: how many times better its rivals predict the answers, on average."""
        return float(np.exp(min(self.log_evidence, 700.0)))

    @property
    def is_surprising(self) -> bool:
        """Whether the evidence against the model is an alarm."""
        return bool(self.log_evidence >= np.log(ALARM))

    @property
    def is_doubtful(self) -> bool:
        """Whether a certificate that rests on the model is not to be trusted without a word about it."""
        return self.is_surprising or bool(self.contradictions) or bool(self.failure)

    def rival_lines(self) -> list[str]:
        """Return the rivals that predict the answers best, the best first, each with how many times better it does."""
        best = sorted(self.rivals, key=lambda rival: -rival.log_gain)[:NUM_SHOWN]
        return [f"an expert {rival.words}: {number_words(rival.log_gain)}" for rival in best]

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the model is doubtful, in clauses; empty if it is not."""
        found = [self.failure] if self.failure else []
        if self.is_surprising:
            best = self.rivals[0]
            when = f" after about {self.change_point} actions" if self.change_point is not None else ""
            found.append(
                f"the answers do not fit the model: its rivals predict them {times_words(self.log_evidence)} as well "
                f"(by chance {times_words(np.log(ALARM))} in at most 4 % of all cases), best of all an expert "
                f"{best.words}{when}"
            )
        found += [str(item) for item in self.contradictions[:3]]
        if len(self.contradictions) > 3:
            found.append(f"and so are those of {counted(len(self.contradictions) - 3, 'more state')}")
        return tuple(found)

    @property
    def advice(self) -> tuple[str, ...]:
        """What to try, in clauses; empty if the model is not doubtful."""
        kinds = [self.rivals[0].kind] if self.is_surprising else []
        if self.is_surprising and kinds[0] != "change":  # a close second is worth a word
            kinds += [rival.kind for rival in self.rivals[1:] if rival.log_gain > self.rivals[0].log_gain - 3.0]
        kinds += ["contradiction"] if self.contradictions else []
        found = [ADVICE[kind] for kind in dict.fromkeys(kinds)]
        if self.is_surprising and self.annotators:
            found.insert(0, _pooled_words(self.annotators))
        if self.is_surprising and self.deviations and self.deviations[0].chance < WORTH_A_LOOK:
            found.append(f"look at what deviates most: {self.deviations[0]}")
        return tuple(found)

    def text(self) -> str:
        """Return the criticism in words."""
        if self.num_answers == 0:
            return "There are no answers yet: nothing speaks for the model or against it."
        headline = "The model is DOUBTFUL." if self.is_doubtful else "Nothing speaks against the model."
        lines = [headline, f"{self.sentence[0].upper()}{self.sentence[1:]}"]
        if self.rivals:
            lines += ["", f"{RIVALS_TITLE}:", *(f"- {line}" for line in self.rival_lines())]
        if self.deviations:
            lines += ["", "What deviates most from what the posterior predicts:"]
            lines += [f"- {item}" for item in self.deviations]
        for title, items in (("Why", self.reasons), ("What to try", self.advice)):
            if items:
                lines += ["", f"{title}:", *(f"- {item}" for item in items)]
        return "\n".join(lines)

    def to_record(self) -> dict[str, Any]:
        """Return the criticism as plain data, without NaN and infinity."""
        return {
            "is_doubtful": self.is_doubtful,
            "is_full": self.is_full,
            "is_ordered": self.is_ordered,
            "num_answers": self.num_answers,
            "log_evidence": _finite(self.log_evidence),
            "alarm": float(np.log(ALARM)),
            "rivals": [rival._asdict() | {"log_gain": _finite(rival.log_gain)} for rival in self.rivals],
            "change_point": self.change_point,
            "changes": [{"num_answers": point, "log_gain": _finite(gain)} for point, gain in self.changes],
            "contradictions": [item._asdict() | {"counts": dict(item.counts)} for item in self.contradictions],
            "deviations": [item._asdict() | {"z": _finite(item.z)} for item in self.deviations],
            "curve": {"num_answers": self.times.tolist(), "log_evidence": [_finite(value) for value in self.curve]},
            "reasons": list(self.reasons),
            "advice": list(self.advice),
        }


def is_quick_to_check(posterior: Posterior) -> bool:
    """Return whether a full check takes no longer than one would wait for it: then it comes by itself."""
    num_parameters = int(posterior.theta.shape[1])
    return num_parameters <= MAX_PARAMETERS and num_parameters * int(posterior.counts.sum()) <= MAX_WORK


def criticise(
    posterior: Posterior,
    demonstrations: Iterable[Demonstration] | Demonstration | None = None,
    *,
    is_full: bool = True,
    seed: int = 0,
    num_threads: int | None = None,
    progress: bool | None = None,
) -> Criticism:
    """Return what speaks against the model of a posterior.

    Parameters
    ----------
    demonstrations
        Those that it was inferred from, in the order in which they came. Without them the order is unknown, and a
        change of mind cannot be told.
    is_full
        Whether to try rivals that need inference: some short runs, each of the time of one inference with 300
        particles. They have power against another beta, a prior that is too narrow, and a change of mind.
    seed
        Of these runs.
    progress
        Whether to show how far they are.

    Returns
    -------
    A Criticism; under a model that is right, `is_doubtful` has a chance of at most 5 %, at any time that one looks as
    far as surprise goes. Discrete priors are exact; otherwise this holds as far as samples stand for the posterior.
    """
    problem, counts = posterior.problem, posterior.answers
    demonstrations = None if demonstrations is None else problem.lift(demonstrations)
    if demonstrations is None:
        steps, begins = steps_of_counts(counts_by_place(counts)), np.zeros(0, dtype=np.int64)
    else:
        steps, begins = _steps(demonstrations, posterior)
    answers = answers_in_order(steps, problem.mdp.num_actions, is_ordered=demonstrations is not None)
    gains = sample_gains(posterior, answers)
    found = _sample_rivals(gains)
    passes: Passes | None = None
    failure, beliefs = "", dict[str, Posterior]()
    if is_full and len(steps):
        try:
            ordered = None if demonstrations is None else begins
            with progress_bar("Checking the model", is_shown=progress) as report:
                more, passes, beliefs = _run_rivals(posterior, steps, ordered, seed, num_threads, report)
            found += more
        except InferenceError as error:
            failure = f"the model could not be checked: {error}"
    log_evidence = _total(gains, found)
    rivals = tuple(sorted(found, key=lambda rival: -(rival.log_gain + rival.log_share)))
    is_change = bool(rivals) and rivals[0].words == CHANGE.words
    is_ordered = passes is not None and demonstrations is not None
    return Criticism(
        num_answers=len(steps),
        is_full=is_full,
        is_ordered=demonstrations is not None,
        log_evidence=log_evidence,
        rivals=rivals,
        times=gains.times,
        curve=gains.curve + LOG_SHARES["samples"],
        change_point=passes.change_point if passes is not None and is_ordered and is_change else None,
        changes=passes.gains if passes is not None and is_ordered else (),
        contradictions=contradictions_in(
            problem, counts, level=CONTRADICTION_LEVEL, seed=seed, num_threads=num_threads
        ),
        deviations=largest_deviations(posterior),
        failure=failure,
        annotators=_pooled(posterior, demonstrations),
        beliefs=beliefs,
    )


def _steps(demonstrations: Iterable[Demonstration] | Demonstration, posterior: Posterior) -> tuple[IntArray, IntArray]:
    """Return the steps `[T, 2]` of demonstrations, place and action, and after how many each but the first begins."""
    space, num_states = posterior.problem.expert_space, posterior.problem.mdp.num_states
    listed = [item for item in as_demonstrations(demonstrations) if len(item)]
    places = [
        (space.group_of(item.annotator) * num_states + state, action) for item in listed for state, action in item.steps
    ]
    steps, answers = np.array(places, dtype=np.int64).reshape(-1, 2), counts_by_place(posterior.answers)
    counts = np.zeros_like(answers)
    fits = not len(steps) or bool((steps < counts.shape).all())
    if fits:
        np.add.at(counts, tuple(steps.T), 1)
    if not fits or not np.array_equal(counts, answers):
        raise InputError(
            f"demonstrations must be those that the posterior was inferred from, got {len(steps)} actions where it has "
            f"{posterior.counts.sum()}, or others. Give the same ones, in the order in which they came."
        )
    return steps, np.cumsum([len(item) for item in listed[:-1]], dtype=np.int64)


def _pooled(posterior: Posterior, demonstrations: Iterable[Demonstration] | None) -> tuple[str, ...]:
    """Return who answered, where they are several and the model takes them for one; else nobody."""
    if demonstrations is None or posterior.problem.expert_space.annotators:
        return ()
    names = dict.fromkeys(item.annotator for item in demonstrations if item.annotator is not None)
    return tuple(names) if len(names) > 1 else ()


def _pooled_words(annotators: tuple[str, ...]) -> str:
    named = ", ".join(annotators[:4]) + (" ..." if len(annotators) > 4 else "")
    return (
        f"the answers are of {len(annotators)} annotators ({named}), who are taken for one: let beta be unknown and "
        "each have their own (annotators of the expert), or fit them one by one (compare_annotators)"
    )


def _sample_rivals(gains: SampleGains) -> list[RivalGain]:
    log_share = float(LOG_SHARES["samples"] - np.log(len(gains.rivals)))
    pairs = zip(gains.rivals, gains.log_gains.tolist(), strict=True)
    return [RivalGain(rival.kind, rival.words, log_gain, log_share) for rival, log_gain in pairs]


def _run_rivals(
    posterior: Posterior,
    steps: IntArray,
    begins: IntArray | None,
    seed: int,
    num_threads: int | None,
    report: Callable[[float], None],
) -> tuple[list[RivalGain], Passes, dict[str, Posterior]]:
    """Return rivals that need inference, evidences along the answers, and what variants believe.

    `begins` says after how many steps each demonstration but the first begins; None if the order is not known.
    """
    problem, counts = posterior.problem, posterior.answers
    started = np.zeros(0, dtype=np.int64) if begins is None else begins
    passes = passes_over(problem, steps, started, seed=seed, num_threads=num_threads)
    report(0.4)
    found, variants = [], rival_models(problem)
    if begins is not None:
        found.append(RivalGain(*CHANGE, passes.log_gain, float(LOG_SHARES["change"])))
    beliefs = beliefs_under(problem, counts, variants, passes.log_evidence, seed=seed + 2, num_threads=num_threads)
    report(1.0)
    for variant in variants:
        belief = beliefs.get(variant.label)
        if belief is not None and belief.log_evidence is not None:
            log_gain = belief.log_evidence - passes.log_evidence
            log_share = float(LOG_SHARES["variants"] - np.log(len(variants)))
            found.append(RivalGain(*variant.rival, log_gain, log_share))
    return found, passes, beliefs


def _total(gains: SampleGains, found: list[RivalGain]) -> float:
    """Return the log of the average gain: of samples, where it is capped, and of rivals that were run."""
    run = [rival.log_gain + rival.log_share for rival in found[len(gains.rivals) :]]
    return float(logsumexp([gains.log_evidence + LOG_SHARES["samples"], *run]))


def times_words(log_gain: float) -> str:
    """Return a factor in words: "52 times"."""
    return f"{number_words(log_gain)} times"


def number_words(log_gain: float) -> str:
    """Return a factor in a few digits, whatever its size."""
    if abs(log_gain) < 12.0:
        return f"{np.exp(log_gain):.2g}" if log_gain < np.log(100.0) else f"{np.exp(log_gain):.0f}"
    return f"10^{log_gain / np.log(10.0):.0f}"


def _finite(value: float) -> float:
    return float(np.clip(value, -1e12, 1e12))
