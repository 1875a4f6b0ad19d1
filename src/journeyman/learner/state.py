"""State of a learner: what follows from its problem, its settings and its events, and snapshots that save the work."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from journeyman.apprentice import APPRENTICES
from journeyman.apprentice.regret import failures_of
from journeyman.errors import InputError
from journeyman.inference import posterior_entropy
from journeyman.inference.posterior import Posterior
from journeyman.learner.belief import (
    Belief,
    belief_from_snapshot,
    belief_to_snapshot,
    first_belief,
    inferred_belief,
    reset_belief,
    updated_belief,
)
from journeyman.learner.ledger import Ledger, apply_event, attached_ids
from journeyman.learner.records import BEFORE, BELIEF_EVENTS, START, Event, StepRecord
from journeyman.learner.settings import LearnerSettings
from journeyman.problem import Problem

SNAPSHOT_FORMAT = 2


@dataclass(frozen=True, eq=False)
class State:
    """What a learner is after some events: frozen, each event gives a new one.

    `belief` is None while nobody has needed it; `history` is empty until the belief before any answer is known, or
    needed no more.
    """

    problem: Problem
    settings: LearnerSettings
    ledger: Ledger
    events: tuple[Event, ...] = ()
    history: tuple[StepRecord, ...] = ()
    belief: Belief | None = None

    @property
    def last_change(self) -> int:
        """Number of the last event that changed the posterior, -1 before any."""
        return self.history[-1].number if self.history else BEFORE


def compute_belief(state: State, num_threads: int | None) -> State:
    """Return the state with its belief computed, and with the step before any answer in its history."""
    if state.belief is not None:
        return state
    if state.last_change != BEFORE:
        answers = state.ledger.answers.values()
        belief = inferred_belief(state.problem, state.settings, state.last_change, answers, num_threads)
        return replace(state, belief=belief)
    begin = time.perf_counter()
    belief = first_belief(state.problem, state.settings, num_threads)
    start = start_record(state.settings, belief.posterior, time.perf_counter() - begin)
    return replace(state, belief=belief, history=(start,))


def advance(
    state: State, event: Event, num_threads: int | None, *, is_replayed: bool = False, is_checked: bool = False
) -> State:
    """Return the state after the next event.

    In a replay, methods that are not incremental infer nothing: only the last posterior is needed, and it is computed
    when somebody asks for it.
    """
    ledger = apply_event(state.ledger, event, is_checked=is_checked)
    events = (*state.events, event)
    if event.name not in BELIEF_EVENTS:
        return replace(state, ledger=ledger, events=events)
    settings = state.settings
    is_incremental = settings.method.incremental is not None
    if is_incremental:
        state = compute_belief(state, num_threads)
    begin, belief = time.perf_counter(), None
    changed = settings_after(settings, event)
    if is_incremental or not is_replayed:
        problem, answers = state.problem, ledger.answers.values()
        belief = (
            reset_belief(problem, settings, changed, state.belief, event.number, answers, num_threads)
            if event.name == "set"
            else updated_belief(problem, settings, state.belief, event.number, answers, num_threads)
        )
    settings = changed
    posterior = None if belief is None else belief.posterior
    seconds = time.perf_counter() - begin
    record = step_record(state.ledger, ledger, events, settings, posterior, seconds)
    history = (*(state.history or (start_record(settings, None, 0.0),)), record)
    return replace(state, settings=settings, ledger=ledger, events=events, history=history, belief=belief)


def advance_together(state: State, events: Sequence[Event], num_threads: int | None) -> State:
    """Return the state after several events with one update of the belief: for a learner that is far behind.

    The belief is about all answers, as after `advance` for each event, but its samples took another way there, and the
    history has one step for all of them.
    """
    changes = [event for event in events if event.name in BELIEF_EVENTS]
    if len(changes) < 2 or any(event.name == "set" for event in events) or state.settings.method.incremental is None:
        for event in events:
            state = advance(state, event, num_threads)
        return state
    state = compute_belief(state, num_threads)
    begin, last = time.perf_counter(), changes[-1].number
    before = ledger = state.ledger
    for event in events:
        before = ledger if event.number == last else before
        ledger = apply_event(ledger, event)
    answers = ledger.answers.values()
    belief = updated_belief(state.problem, state.settings, state.belief, last, answers, num_threads)
    happened, seconds = (*state.events, *events), time.perf_counter() - begin
    record = step_record(before, ledger, happened[: last + 1], state.settings, belief.posterior, seconds)
    return replace(state, ledger=ledger, events=happened, history=(*state.history, record), belief=belief)


def settings_after(settings: LearnerSettings, *events: Event) -> LearnerSettings:
    """Return the settings after events: some of them may have changed them."""
    for event in events:
        if event.name == "set":
            settings = settings.with_computing(event.payload["changes"])
    return settings


def replay(
    problem: Problem,
    settings: LearnerSettings,
    events: Iterable[Event],
    snapshot: Mapping[str, Any] | None,
    num_threads: int | None,
) -> State:
    """Return the state after events, from a snapshot that has seen the first of them, or from nothing.

    `settings` are those before any event.
    """
    listed = list(events)
    num_seen = 0 if snapshot is None else _events_seen(snapshot)
    if num_seen > len(listed):
        raise InputError(
            f"a snapshot must not be newer than the events, got one after {num_seen} of {len(listed)} events. "
            "Restore without it: snapshot=None."
        )
    state = resumed(problem, settings_after(settings, *listed[:num_seen]), listed[:num_seen], snapshot)
    for event in listed[num_seen:]:
        state = advance(state, event, num_threads, is_replayed=True)
    return state


def resumed(
    problem: Problem, settings: LearnerSettings, events: Sequence[Event], snapshot: Mapping[str, Any] | None
) -> State:
    """Return the state that a snapshot of these very events holds, with the settings that are to hold from now on."""
    ledger = Ledger(problem)
    for event in events:
        ledger = apply_event(ledger, event)
    state = State(problem, settings, ledger, tuple(events))
    if snapshot is None:
        return state
    history = tuple(StepRecord.from_record(record) for record in snapshot["state"]["history"])
    return replace(state, history=history, belief=belief_from_snapshot(problem, settings, snapshot))


def snapshot_of(state: State) -> dict[str, Any]:
    """Return arrays by name, and under "state" plain data that JSON can hold.

    Methods that update a belief keep it bit by bit; others compute their samples from all demonstrations anyway, so
    that there is nothing to keep. `event_number` says how many events the snapshot has seen.
    """
    facts: dict[str, Any] = {
        "format": SNAPSHOT_FORMAT,
        "event_number": len(state.events),
        "history": [record.to_record() for record in state.history],
    }
    kept, arrays = belief_to_snapshot(state.settings, state.belief)
    return {"state": facts | kept} | arrays


def _events_seen(snapshot: Mapping[str, Any]) -> int:
    """Return how many events a snapshot has seen; refuses anything that is not such a snapshot."""
    try:
        state = snapshot["state"]
        if state["format"] == SNAPSHOT_FORMAT:
            return int(state["event_number"])
    except (KeyError, TypeError, ValueError):
        pass
    raise InputError(
        f"a snapshot must have format {SNAPSHOT_FORMAT}, got another one. Restore without it: snapshot=None."
    )


def start_record(settings: LearnerSettings, posterior: Posterior | None, seconds: float) -> StepRecord:
    """Return the record of what was believed before any answer; its numbers are None where nobody computed it."""
    return StepRecord(
        number=BEFORE,
        name=START,
        answers=(),
        query=None,
        scores=None,
        num_demonstrations=0,
        posterior_seconds=seconds,
        acquisition_seconds=None,
        **_measured(settings, posterior),
    )


def step_record(
    before: Ledger,
    after: Ledger,
    events: tuple[Event, ...],
    settings: LearnerSettings,
    posterior: Posterior | None,
    seconds: float,
) -> StepRecord:
    """Return the record of the last of some events, which changed the posterior.

    Parameters
    ----------
    before, after
        The ledger around the event.
    posterior
        After the event; None if it was not computed, which leaves its numbers out.
    seconds
        That the update took.
    """
    event = events[-1]
    if event.name == "attach":
        answers: tuple[int | str, ...] = attached_ids(before, event)
    else:
        answers = () if event.name == "set" else (event.payload["query" if event.name == "tell" else "answer"],)
    query = after.queries[answers[0]] if answers and isinstance(answers[0], int) else None
    ask = events[after.asks[event.payload["query"]]].payload if event.name == "tell" else None
    return StepRecord(
        number=event.number,
        name=event.name,
        answers=answers,
        query=query,
        scores=None if ask is None else ask["scores"],
        num_demonstrations=len(after.answers),
        posterior_seconds=seconds,
        acquisition_seconds=None if ask is None else ask["seconds"] / len(ask["queries"]),
        **_measured(settings, posterior),
    )


def _measured(settings: LearnerSettings, posterior: Posterior | None) -> dict[str, Any]:
    """Return what a posterior says of the apprentice and of itself: the numbers of a step."""
    warnings: tuple[str, ...] = ()
    entropy = method = chance = regret = None
    if posterior is not None:
        warnings = posterior.warnings
        policy = APPRENTICES[settings.apprentice].policy_fn(posterior, settings.epsilon)
        failures = failures_of(posterior, policy, settings.epsilon, settings.scope)
        chance = min(1.0, float(posterior.mean(failures.is_failing)))
        regret = float(posterior.mean(failures.regret))
        try:
            estimate = posterior_entropy(posterior)
            entropy, method = estimate.nats, estimate.method
        except InputError as error:
            warnings = (*warnings, f"the entropy is unknown: {error}")
    return {
        "entropy": entropy,
        "entropy_method": method,
        "failure_chance": chance,
        "expected_regret": regret,
        "warnings": warnings,
    }
