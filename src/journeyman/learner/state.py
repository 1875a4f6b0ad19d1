"""State of a learner: what follows from its problem, its settings and its events."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from journeyman.errors import InputError
from journeyman.learner.belief import BEFORE, Belief, first_belief, inferred_belief, updated_belief
from journeyman.learner.events import BELIEF_EVENTS, Event
from journeyman.learner.ledger import Ledger, applied
from journeyman.learner.measuring import step_record
from journeyman.learner.records import StepRecord
from journeyman.learner.settings import LearnerSettings
from journeyman.learner.snapshots import belief_in, events_seen, history_in
from journeyman.problem import Problem


@dataclass(frozen=True, eq=False)
class State:
    """What a learner is after some events: frozen, each event gives a new one.

    `belief` is None while nobody has needed it.
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


def with_belief(state: State, num_threads: int | None) -> State:
    """Return the state with its belief computed."""
    if state.belief is not None:
        return state
    if not state.history:
        return replace(state, belief=first_belief(state.problem, state.settings, num_threads))
    answers = state.ledger.answers.values()
    belief = inferred_belief(state.problem, state.settings, state.last_change, answers, num_threads)
    return replace(state, belief=belief)


def after(state: State, event: Event, num_threads: int | None, *, is_replayed: bool = False) -> State:
    """Return the state after the next event.

    A replayed answer is not inferred from anew by methods that compute all from nothing: only the last posterior is
    needed, and that is computed when it is.
    """
    ledger = applied(state.ledger, event)
    events = (*state.events, event)
    if event.name not in BELIEF_EVENTS:
        return replace(state, ledger=ledger, events=events)
    settings, begin = state.settings, time.perf_counter()
    belief = None
    if settings.is_smc or not is_replayed:
        answers = ledger.answers.values()
        belief = updated_belief(state.problem, settings, state.belief, event.number, answers, num_threads)
    posterior = None if belief is None else belief.posterior
    seconds = time.perf_counter() - begin
    ask = events[ledger.asks[event.payload["query"]]] if event.name == "tell" else None
    record = step_record(state.ledger, ledger, event, ask, settings, posterior, seconds)
    return replace(state, ledger=ledger, events=events, history=(*state.history, record), belief=belief)


def restored(
    problem: Problem,
    settings: LearnerSettings,
    events: Iterable[Event],
    snapshot: Mapping[str, Any] | None,
    num_threads: int | None,
) -> State:
    """Return the state after events, from a snapshot that has seen the first of them, or from nothing."""
    listed = list(events)
    num_seen = 0 if snapshot is None else events_seen(snapshot)
    if num_seen > len(listed):
        raise InputError(
            f"a snapshot must not be newer than the events, got one after {num_seen} of {len(listed)} events. "
            "Restore without it: snapshot=None."
        )
    ledger = Ledger(problem)
    for event in listed[:num_seen]:
        ledger = applied(ledger, event)
    state = State(problem, settings, ledger, tuple(listed[:num_seen]))
    if snapshot is not None:
        state = replace(state, history=history_in(snapshot), belief=belief_in(problem, settings, snapshot))
    for event in listed[num_seen:]:
        state = after(state, event, num_threads, is_replayed=True)
    return state
