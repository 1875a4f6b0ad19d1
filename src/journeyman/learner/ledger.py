"""Ledger: queries, their status and the answers, as they follow from the events.

Every event is checked against the ledger before it is applied, so a ledger is never half-changed.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from operator import attrgetter
from typing import Any

from journeyman.checks import check_name, whole_number
from journeyman.demonstrations import Demonstration
from journeyman.errors import InputError
from journeyman.learner.duplicates import duplicates_message, find_duplicates
from journeyman.learner.records import AnswerId, Event, Query
from journeyman.learner.settings import LearnerSettings
from journeyman.mdp import FiniteMDP
from journeyman.mdp.memory import places_in
from journeyman.problem import Problem
from journeyman.wording import counted

Answer = Demonstration | int | str  # an action of a state query may be given by number or label
ROUNDING = 1e-9  # of the sum of a row of transitions
ATTACHED = "attached-"  # before the number of an answer that was never asked for
ADVICE_FOR_STATUS = {
    "done": "To change its answer: correct({id}, ...). A second answer in this state is attached",
    "failed": "It was reported as failed. If there is an answer after all: correct({id}, ...)",
    "undone": "Its answer was taken back. To give the right one: correct({id}, ...)",
    "abandoned": "It was abandoned. If there is an answer after all: correct({id}, ...)",
}


@dataclass(frozen=True)
class Ledger:
    """What is known from events alone.

    queries: all that were ever asked, by id; statuses: one word each, of `STATUSES`; asks: for each query, the number
    of the event that asked it; answers: the demonstrations that count, by id, in the order in which they came; undone:
    ids of answers that were taken back; num_attached: how many were ever attached; num_events.
    """

    problem: Problem
    queries: tuple[Query, ...] = ()
    statuses: tuple[str, ...] = ()
    asks: tuple[int, ...] = ()
    answers: Mapping[AnswerId, Demonstration] = field(default_factory=dict)
    undone: frozenset[AnswerId] = frozenset()
    num_attached: int = 0
    num_events: int = 0

    @property
    def pending(self) -> tuple[Query, ...]:
        """Queries that wait for an answer."""
        return self._with_status("waiting")

    @property
    def abandoned_states(self) -> frozenset[int]:
        """States that are not asked about again."""
        return frozenset(query.state for query in self._with_status("abandoned"))

    def _with_status(self, wanted: str) -> tuple[Query, ...]:
        return tuple(q for q, status in zip(self.queries, self.statuses, strict=True) if status == wanted)

    def find(self, query: Query | int) -> Query:
        """Return one of our queries, by itself or by its id."""
        if not isinstance(query, Query):
            query_id = whole_number(query, "a query id", 0, "Give a Query, or its id.")
            if query_id >= len(self.queries):
                asked = f"There are ids 0..{len(self.queries) - 1}" if self.queries else "None was asked yet"
                raise InputError(f"a query must be one that was asked, got id {query_id}. {asked}.")
            return self.queries[query_id]
        if query.id >= len(self.queries) or self.queries[query.id] != query:
            raise InputError(f"a query must be one that this learner asked, got {query}. Give the id to be sure.")
        return query

    def status_of(self, query: Query | int) -> str:
        """Return "waiting", "done", "failed" (may be asked again; also after an undo) or "abandoned" (not)."""
        return self.statuses[self.find(query).id]

    def next_event(self, name: str, payload: dict[str, Any]) -> Event:
        """Return an event that would come next."""
        return Event(self.num_events, name, payload)


def tell_event(
    ledger: Ledger,
    query: Query | int,
    answer: Answer,
    *,
    annotator: str | None = None,
    timestamp: datetime | None = None,
) -> Event:
    """Return the event of an answer to a query, after checking that it is one.

    `annotator` and `timestamp` are noted where the demonstration does not say them itself.
    """
    asked = _waiting(ledger, query, "be told")
    signed = _signed(_demonstrated(ledger.problem, asked, answer), annotator, timestamp)
    _check_answer(ledger.problem, asked, signed)
    check_ending(ledger.problem, [signed])
    signed = replace(signed, query_id=asked.id)
    return ledger.next_event("tell", {"query": asked.id, "demonstration": signed.to_record()})


def _demonstrated(problem: Problem, asked: Query, answer: Answer) -> Demonstration:
    """Return the answer to a query as a demonstration: that of a state query may be given as an action.

    Where there is a memory, states may be named as in the world: the question says what is remembered at the start.
    """
    if isinstance(answer, Demonstration):
        if problem.mdp.memory is not None and answer.start_state == places_in(problem.mdp)[asked.state]:
            first = tuple((asked.state, action) for _, action in answer.steps[:1])
            answer = replace(answer, start_state=asked.state, steps=first + answer.steps[1:])
        return problem.lift(answer)[0]
    if asked.kind != "state":
        raise InputError(
            f"the answer to a trajectory query must be a Demonstration, got {type(answer).__name__}. "
            "Make one of its steps."
        )
    return Demonstration.annotation(asked.state, action_index(problem.mdp, answer))


def attach_event(
    ledger: Ledger,
    demonstrations: Iterable[Demonstration] | Demonstration,
    *,
    annotator: str | None = None,
    allow_duplicates: bool = False,
) -> Event:
    """Return the event of data that were never asked for, one demonstration or many.

    Data that are there already are refused, unless `allow_duplicates` says otherwise; see `duplicates`.
    """
    listed = ledger.problem.lift(demonstrations)
    if not listed:
        raise InputError("attached data must be at least one demonstration, got none. Give one, or a list of them.")
    signed = [_signed(item, annotator, None) for item in listed]
    ledger.problem.counts(signed)
    check_ending(ledger.problem, signed)
    found = {} if allow_duplicates else find_duplicates(ledger.answers, signed)
    if found:
        raise InputError(duplicates_message(found, signed, ledger.problem.mdp))
    records = [item.to_record() for item in signed]
    return ledger.next_event("attach", {"demonstrations": records})


def action_index(mdp: FiniteMDP, action: int | str) -> int:
    """Return the action that a number or a label means; numbers of programs are never labels."""
    if not isinstance(action, str):
        return whole_number(action, "the action that answers a state query", 0, "Or give a label or a Demonstration.")
    return mdp.action_names.index(action)


def _signed(answer: Demonstration, annotator: str | None, timestamp: datetime | None) -> Demonstration:
    """Return an answer with who gave it and when; names must be such that every format can say them."""
    check_name(answer.annotator or annotator, "an annotator")
    return replace(answer, annotator=answer.annotator or annotator, timestamp=answer.timestamp or timestamp)


def close_event(ledger: Ledger, query: Query | int, name: str) -> Event:
    """Return the event of a query that is given up: "fail" (it may be asked again) or "abandon" (it may not)."""
    asked = ledger.find(query)
    status = ledger.statuses[asked.id]
    if status != "waiting" and not (name == "abandon" and status == "failed"):
        rule = "wait for its answer to fail" if name == "fail" else "not be answered to be abandoned"
        hint = f"Take its answer back first: undo({asked.id})" if status == "done" else "There is nothing left to do"
        raise InputError(f"a query must {rule}, got query {asked.id}, which is {status}. {hint}.")
    return ledger.next_event(name, {"query": asked.id})


def undo_event(ledger: Ledger, answer: Query | AnswerId) -> Event:
    """Return the event that takes an answer back: of a query, or attached data by the id that `attach` gave."""
    answer_id = _answer_id(ledger, answer)
    if answer_id not in ledger.answers:
        what = "taken back already" if answer_id in ledger.undone else "no answer"
        raise InputError(
            f"only an answer that counts can be undone, got {answer_id!r}, which is {what}. {_last_answers(ledger)}"
        )
    return ledger.next_event("undo", {"answer": answer_id})


def correct_event(
    ledger: Ledger,
    answer: Query | AnswerId,
    right: Answer,
    *,
    annotator: str | None = None,
    timestamp: datetime | None = None,
) -> Event:
    """Return the event that puts the right answer in the place of one that was given; its question stays the same.

    The answer may also be one that was taken back, or that came after its query had failed or been abandoned. Who
    answered stays as it was, unless the right answer or `annotator` says so.
    """
    answer_id = _answer_id(ledger, answer)
    old = ledger.answers.get(answer_id)
    if isinstance(answer_id, str):
        right = _attached_instead(ledger, answer_id, old, right)
    else:
        asked = ledger.find(answer_id)
        if ledger.statuses[asked.id] == "waiting":
            raise InputError(
                f"a query must have had its turn to be corrected, got query {asked.id}, which is waiting. "
                f"Tell its answer: tell({asked.id}, ...)."
            )
        right = _demonstrated(ledger.problem, asked, right)
        _check_answer(ledger.problem, asked, right, is_counted=False)
    signed = _signed(right, annotator or (None if old is None else old.annotator), timestamp)
    signed = replace(signed, query_id=answer_id if isinstance(answer_id, int) else None)
    ledger.problem.counts(signed)
    check_ending(ledger.problem, [signed])
    if old is not None and replace(signed, timestamp=None) == replace(old, timestamp=None):
        raise InputError(
            f"a correction must change something, got the answer that {answer_id!r} has already. There is nothing to "
            "do."
        )
    return ledger.next_event("correct", {"answer": answer_id, "demonstration": signed.to_record()})


def _attached_instead(ledger: Ledger, answer_id: str, old: Demonstration | None, right: Answer) -> Demonstration:
    """Return what takes the place of attached data; an action is enough for what was one action."""
    if old is None and answer_id not in ledger.undone:
        raise InputError(f"only an answer can be corrected, got {answer_id!r}, which is none. {_last_answers(ledger)}")
    if isinstance(right, Demonstration):
        return ledger.problem.lift(right)[0]
    if old is None or len(old) != 1:
        raise InputError(
            f"{answer_id} must be corrected step by step, since it was not a single action, got {right!r}. Give all "
            "of its steps as STATE:ACTION (in Python a Demonstration)."
        )
    step = (old.start_state, action_index(ledger.problem.mdp, right))
    return replace(old, steps=(step,), annotator=None, timestamp=None)


def _answer_id(ledger: Ledger, answer: Query | AnswerId) -> AnswerId:
    if isinstance(answer, str):
        return answer
    return ledger.find(answer).id if isinstance(answer, Query) else whole_number(answer, "an answer id", 0)


def _last_answers(ledger: Ledger) -> str:
    return f"Last: {', '.join(str(name) for name in list(ledger.answers)[-5:]) or 'none yet'}."


def check_ending(problem: Problem, demonstrations: Iterable[Demonstration]) -> None:
    """Refuse demonstrations that are said to have terminated where nothing terminates.

    Only what comes in new is checked: it does not change the likelihood, and studies may hold it from earlier.
    """
    mdp = problem.mdp
    for index, item in enumerate(demonstrations):
        if item.ended != "terminated" or not item.steps:
            continue
        state, action = item.steps[-1]
        next_states, probabilities = mdp.next_states(state, action)
        reached = next_states if item.final_state is None else [item.final_state]
        can_vanish = float(probabilities.sum()) < 1.0 - ROUNDING
        if not (can_vanish or mdp.terminal[reached].any()):
            place = f"after action {mdp.action_name(action)} in state {mdp.state_name(state)}"
            seen = "" if item.final_state is None else f", where it went on to state {mdp.state_name(item.final_state)}"
            raise InputError(
                f"a demonstration must terminate where episodes end, got demonstration {index}, which is said to have "
                f"terminated {place}{seen}: nothing ends there. Say that it was truncated, or name the terminal state "
                "that it reached as its final state."
            )


def fail_event(ledger: Ledger, query: Query | int) -> Event:
    """Return the event of a query that gets no answer now; its state may be asked about again."""
    return close_event(ledger, query, "fail")


def abandon_event(ledger: Ledger, query: Query | int) -> Event:
    """Return the event of a query that cannot be answered; its state is not asked about again."""
    return close_event(ledger, query, "abandon")


PROPOSALS: dict[str, Callable[..., Event]] = {
    "tell": tell_event,
    "attach": attach_event,
    "fail": fail_event,
    "abandon": abandon_event,
    "undo": undo_event,
    "correct": correct_event,
}


def set_event(ledger: Ledger, settings: LearnerSettings, changes: Mapping[str, Any]) -> Event:
    """Return the event that changes settings which only cost computing, after checking that they may be changed."""
    changed = settings.with_computing(changes)
    if changed == settings:
        raise InputError(
            f"a change of settings must change something, got {', '.join(changes) or 'none'} as it is already. There "
            "is nothing to do."
        )
    before = {name: settings.computing.get(name) for name in changes}
    after = {name: None if value is None else changed.computing[name] for name, value in changes.items()}
    return ledger.next_event("set", {"changes": after, "before": before})


def apply_event(ledger: Ledger, event: Event, *, is_checked: bool = False) -> Ledger:
    """Return the ledger after an event, which must be the next one and fit.

    With `is_checked` its demonstrations are not checked once more: it was proposed for this ledger just now.
    """
    if event.number != ledger.num_events:
        raise InputError(
            f"events must come in order, got number {event.number} after {ledger.num_events} events. "
            "Read the events that are missing first."
        )
    after = replace(ledger, num_events=ledger.num_events + 1)
    payload = event.payload
    if event.name == "ask":
        return _asked(after, event)
    if event.name == "tell":
        answer = Demonstration.from_record(payload["demonstration"])
        query = _waiting(ledger, payload["query"], "be told")
        if not is_checked:
            _check_answer(ledger.problem, query, answer)
        answers = {**ledger.answers, query.id: answer}
        return replace(after, answers=answers, statuses=_with(ledger.statuses, query.id, "done"))
    if event.name == "attach":
        listed = [Demonstration.from_record(record) for record in payload["demonstrations"]]
        if not is_checked:
            ledger.problem.counts(listed)
        ids = attached_ids(ledger, event)
        answers = {**ledger.answers, **dict(zip(ids, listed, strict=True))}
        return replace(after, answers=answers, num_attached=ledger.num_attached + len(listed))
    if event.name == "undo":
        return _undone(after, undo_event(ledger, payload["answer"]).payload["answer"])
    if event.name == "correct":
        right = Demonstration.from_record(payload["demonstration"])
        if not is_checked:
            right = _checked_correction(ledger, payload["answer"], right)
        return _corrected(after, payload["answer"], right)
    if event.name == "set":
        return after
    closed = close_event(ledger, payload["query"], event.name).payload["query"]
    status = "failed" if event.name == "fail" else "abandoned"
    return replace(after, statuses=_with(ledger.statuses, closed, status))


def attached_ids(ledger: Ledger, event: Event) -> tuple[str, ...]:
    """Return the ids that an attach event gives to its demonstrations."""
    count = len(event.payload["demonstrations"])
    return tuple(f"{ATTACHED}{ledger.num_attached + i}" for i in range(count))


def _asked(ledger: Ledger, event: Event) -> Ledger:
    queries = tuple(Query.from_record(record) for record in event.payload["queries"])
    first = len(ledger.queries)
    if [query.id for query in queries] != list(range(first, first + len(queries))):
        raise InputError(
            f"queries must be numbered on from {first}, got {[query.id for query in queries]}. Replay all."
        )
    visits = Counter(map(attrgetter("state"), ledger.queries))
    counted = []
    for query in queries:  # older versions did not store it
        counted.append(replace(query, visit=visits[query.state]))
        visits[query.state] += 1
    return replace(
        ledger,
        queries=(*ledger.queries, *counted),
        statuses=(*ledger.statuses, *("waiting" for _ in queries)),
        asks=(*ledger.asks, *(event.number for _ in queries)),
    )


def _undone(ledger: Ledger, answer_id: AnswerId) -> Ledger:
    answers = {key: value for key, value in ledger.answers.items() if key != answer_id}
    statuses = ledger.statuses if isinstance(answer_id, str) else _with(ledger.statuses, answer_id, "failed")
    return replace(ledger, answers=answers, statuses=statuses, undone=ledger.undone | {answer_id})


def _checked_correction(ledger: Ledger, answer_id: AnswerId, right: Demonstration) -> Demonstration:
    if isinstance(answer_id, str):
        right = _attached_instead(ledger, answer_id, ledger.answers.get(answer_id), right)
    else:
        _check_answer(ledger.problem, ledger.find(answer_id), right, is_counted=False)
    ledger.problem.counts(right)
    return right


def _corrected(ledger: Ledger, answer_id: AnswerId, right: Demonstration) -> Ledger:
    """Return the ledger with another answer in the place of the old one, or at the end if that was taken back."""
    statuses = ledger.statuses if isinstance(answer_id, str) else _with(ledger.statuses, answer_id, "done")
    answers = {**ledger.answers, answer_id: right}
    return replace(ledger, answers=answers, statuses=statuses, undone=ledger.undone - {answer_id})


def _waiting(ledger: Ledger, query: Query | int, purpose: str) -> Query:
    asked = ledger.find(query)
    status = ledger.statuses[asked.id]
    if status != "waiting":
        advice = ADVICE_FOR_STATUS["undone" if asked.id in ledger.undone else status].format(id=asked.id)
        raise InputError(f"a query must be waiting to {purpose}, got query {asked.id}, which is {status}. {advice}.")
    return asked


def _with(statuses: Sequence[str], index: int, status: str) -> tuple[str, ...]:
    return (*statuses[:index], status, *statuses[index + 1 :])


def _check_answer(problem: Problem, query: Query, answer: Demonstration, *, is_counted: bool = True) -> None:
    """Refuse a demonstration that does not answer the query, or, if `is_counted`, cannot occur in the problem."""
    if answer.query_id is not None and answer.query_id != query.id:
        raise InputError(
            f"the answer to query {query.id} must not name another, got query_id {answer.query_id}. "
            "Tell it to that query."
        )
    if answer.start_state != query.state:
        raise InputError(
            f"the answer to query {query.id} must start in state {problem.mdp.state_name(query.state)}, got a start in "
            f"{answer.start_state}. Attach it instead if it is right but was not asked for."
        )
    if query.kind == "state" and len(answer) != 1:
        raise InputError(
            f"the answer to state query {query.id} must be one action, got {len(answer)} steps. "
            "Attach it instead to use all of them."
        )
    if query.length is not None and len(answer) > query.length:
        raise InputError(
            f"the answer to query {query.id} must have at most {counted(query.length, 'step')}, got {len(answer)}. "
            "Cut it off there, or attach it instead."
        )
    if is_counted:
        problem.counts(answer)
