"""Records of a learner: the queries it asks, the events that happen to it, and what each step changed."""

import re
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from math import ceil
from typing import Any

from journeyman.checks import one_of
from journeyman.mdp import Discretised
from journeyman.mdp.memory import innermost, places_in
from journeyman.problem import Problem
from journeyman.wording import counted, percent

SAYS_WHERE = re.compile(r"r\d+c\d+\b")
STATUSES = ("waiting", "done", "failed", "abandoned")
EVENT_NAMES = ("ask", "tell", "attach", "fail", "abandon", "undo", "correct", "set")
BELIEF_EVENTS = ("tell", "attach", "undo", "correct", "set")  # those that change the posterior
BEFORE = -1  # event number of what is known before any event
START = "start"  # name of the step before any answer

AnswerId = int | str


@dataclass(frozen=True, slots=True)
class Query:
    """A question to the expert.

    Parameters
    ----------
    id
        Number of the query, 0, 1, 2 ... in the order of asking; it never changes.
    state
        Where the expert is asked to start.
    kind
        "state": one action; "trajectory": up to `length` actions.
    length
        None for a state query.
    score
        What the acquisition function expects of the answer, given those that are still awaited.
    text
        The question for a human, with labels where the problem has them.
    visit
        How many queries of this learner were about that state before.

    Examples
    --------
    >>> from journeyman import ActiveLearner, make_world
    >>> world = make_world("brown-two-state")
    >>> learner = ActiveLearner(world.problem, inference="enumerate")
    >>> query = learner.ask()
    >>> query.kind, query.length
    ('state', None)
    >>> query.text
    'In state 1: which action do you take? (0 or 1)'
    """

    id: int
    state: int
    kind: str
    length: int | None
    score: float
    text: str
    visit: int = 0

    def to_record(self) -> dict[str, Any]:
        """Return the query as plain data."""
        return asdict(self)

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> "Query":
        """Return the query that `to_record` described; `visit` is 0 where version 0.1 wrote it."""
        return cls(**{name: record[name] for name in cls.__dataclass_fields__ if name != "visit" or name in record})


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened to a learner; nothing is ever taken out of the list, an undo is one more event.

    Parameters
    ----------
    number
        0, 1, 2 ... without gaps.
    name
        One of `EVENT_NAMES`.
    payload
        Plain data: for "ask" the `queries` that were chosen, `scores` in short, `seconds` and `warnings`; for "tell"
        the `query` and the `demonstration`; for "attach" the `demonstrations`; for "fail" and "abandon" the `query`;
        for "undo" the `answer` that was taken back; for "correct" the `answer` and the `demonstration` that is right;
        for "set" the settings that were changed, as `changes` with what was there `before`. Questions and attached data
        that come from a copy of the study have `origins`, by which they are known again.
    """

    number: int
    name: str
    payload: Mapping[str, Any]

    def __post_init__(self) -> None:
        """Check the name."""
        one_of(self.name, EVENT_NAMES, "an event", "Was it written by a newer version of journeyman?")

    def to_record(self) -> dict[str, Any]:
        """Return the event as plain data."""
        return {"number": self.number, "name": self.name, "payload": dict(self.payload)}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> "Event":
        """Return the event that `to_record` described."""
        return cls(int(record["number"]), sys.intern(str(record["name"])), _sharing_words(dict(record["payload"])))


def _sharing_words(value: Any) -> Any:
    """Return the same plain data with one string for all that are equal: thousands of events use the same words."""
    if type(value) is str:
        return sys.intern(value)
    if isinstance(value, dict):
        return {_sharing_words(key): _sharing_words(item) for key, item in value.items()}
    return [_sharing_words(item) for item in value] if isinstance(value, list) else value


@dataclass(frozen=True, slots=True)
class StepRecord:
    """A step of a learner: where it started, an answer that came in (tell, attach), or was taken back or corrected.

    Settings that were changed (set) are a step too: the same answers, and perhaps other samples.

    Parameters
    ----------
    number, name
        Of the event; -1 and "start" for the belief before any answer.
    answers
        Ids of the answers that it is about.
    query
        The query that was answered, or whose answer was taken back; None for attached data.
    scores
        Of the ask that led here: "best", "median" (None where several were chosen together), "num_queries",
        and the "unit" of both (missing where version 0.1 wrote it).
    num_demonstrations
        Behind the posterior after this step.
    entropy, entropy_method
        Of the posterior in nats, and the estimate used ("evidence" with SMC); None where it could not be estimated.
    failure_chance
        Posterior estimate of P[regret >= epsilon], of the apprentice. It was chosen on the same samples, which makes
        this look a little better than it is; the certificate does not do that.
    expected_regret
        Posterior mean of that regret.
    posterior_seconds, acquisition_seconds
        What the update took, and the ask before it.
    warnings
        What is doubtful.
    """

    number: int
    name: str
    answers: tuple[AnswerId, ...]
    query: Query | None
    scores: Mapping[str, Any] | None
    num_demonstrations: int
    entropy: float | None
    entropy_method: str | None
    failure_chance: float | None
    expected_regret: float | None
    posterior_seconds: float
    acquisition_seconds: float | None
    warnings: tuple[str, ...] = field(default=())

    def to_record(self) -> dict[str, Any]:
        """Return the step as plain data."""
        record = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return record | {
            "answers": list(self.answers),
            "query": None if self.query is None else self.query.to_record(),
            "scores": None if self.scores is None else dict(self.scores),
            "warnings": list(self.warnings),
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> "StepRecord":
        """Return the step that `to_record` described."""
        values = {name: record[name] for name in cls.__dataclass_fields__}
        query = values["query"]
        return cls(
            **values
            | {
                "answers": tuple(values["answers"]),
                "query": None if query is None else Query.from_record(query),
                "warnings": tuple(values["warnings"]),
            }
        )


@dataclass(frozen=True)
class Forecast:
    """Answers that simulated runs needed until the certificate held (or the reward was known, if that is the goal).

    Parameters
    ----------
    runs
        More answers of each run; None where `limit` were not enough.
    limit
        After which a run was given up.
    """

    runs: tuple[int | None, ...]
    limit: int

    def quantile(self, level: float) -> int | None:
        """Return how many answers were enough for this share of the runs; None if more than the limit."""
        ordered = sorted(self.limit + 1 if run is None else run for run in self.runs)
        found = ordered[max(0, ceil(level * len(ordered)) - 1)]
        return None if found > self.limit else found

    @property
    def share_unfinished(self) -> float:
        """Share of the runs that the limit ended."""
        return sum(run is None for run in self.runs) / len(self.runs)

    def text(self) -> str:
        """Return the forecast in words."""
        low, median, high = (self.quantile(level) for level in (0.25, 0.5, 0.75))
        runs = counted(len(self.runs), "simulated run")
        if median is None:
            return (
                f"More than {counted(self.limit, 'further answer')}: "
                f"{percent(self.share_unfinished)} of {runs} were not finished by then."
            )
        upper = f"more than {self.limit}" if high is None else high
        text = f"About {counted(median, 'more answer')} (half of {runs} needed between {low} and {upper}"
        if self.share_unfinished > 0.0:
            text += f"; {percent(self.share_unfinished)} were not finished after {self.limit}"
        return f"{text}). A real expert who fits the model less well takes longer."

    def to_record(self) -> dict[str, Any]:
        """Return the forecast as plain data."""
        quantiles = {str(level): self.quantile(level) for level in (0.1, 0.25, 0.5, 0.75, 0.9)}
        return {
            "runs": list(self.runs),
            "limit": self.limit,
            "quantiles": quantiles,
            "share_unfinished": self.share_unfinished,
        }


def question_text(problem: Problem, state: int, kind: str, length: int | None) -> str:
    """Return a question in words: labels of states and actions, and the cell on a grid unless the label says it.

    Labels such as "r2c3", and those of points of a continuous world ("position -0.5, velocity 0"), do.
    """
    mdp = problem.mdp
    world, where = innermost(mdp), int(places_in(mdp)[state])
    place = f"state {mdp.state_name(state)}"
    says_where = isinstance(world.origin, Discretised) or SAYS_WHERE.match(world.state_name(where))
    if world.grid is not None and not says_where:
        row, column = (int(number) for number in world.grid.places[where])
        place += f" (row {row}, column {column})"
    if kind == "trajectory":
        steps = counted(length or 1, "step")
        return f"Start in {place} and act for up to {steps}: which states do you pass, what do you do in each?"
    actions = [mdp.action_name(action) for action in range(mdp.num_actions) if mdp.available[state, action]]
    choice = actions[0] if len(actions) == 1 else f"{', '.join(actions[:-1])} or {actions[-1]}"
    return f"In {place}: which action do you take? ({choice})"
