"""Snapshots: a belief as plain arrays and plain data, from which a learner goes on as if it had never stopped.

With SMC it holds the particles, bit by bit. Other methods compute their samples from all demonstrations anyway, so
that there is nothing to keep.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from journeyman.errors import InputError
from journeyman.inference.particles import Moves, Particles, SMCSettings
from journeyman.inference.target import Target
from journeyman.learner.belief import Belief
from journeyman.learner.records import StepRecord
from journeyman.learner.settings import LearnerSettings
from journeyman.problem import Problem

FORMAT = 1
ARRAYS = ("positions", "values", "policies", "moved_counts", "counts", "log_weights")
NUMBERS = ("num_stages", "moved_log_evidence", "seconds")


def snapshot_of(belief: Belief | None, history: Sequence[StepRecord], num_events: int) -> dict[str, Any]:
    """Return a snapshot: arrays by name, and under "state" plain data that JSON can hold.

    `event_number` in the state says how many events it has seen: events of that number and above come after it.
    """
    particles = None if belief is None else belief.particles
    state: dict[str, Any] = {
        "format": FORMAT,
        "event_number": num_events,
        "history": [record.to_record() for record in history],
        "belief_event": None if particles is None else belief.event_number,  # type: ignore[union-attr]
    }
    if particles is None:
        return {"state": state}
    state["particles"] = {name: getattr(particles, name) for name in NUMBERS} | {"moves": particles.moves._asdict()}
    return {"state": state} | {name: np.array(getattr(particles, name)) for name in ARRAYS}


def events_seen(snapshot: Mapping[str, Any]) -> int:
    """Return how many events a snapshot has seen; refuses what is no snapshot of ours."""
    try:
        state = snapshot["state"]
        if state["format"] == FORMAT:
            return int(state["event_number"])
    except (KeyError, TypeError, ValueError):
        pass
    raise InputError(f"a snapshot must have format {FORMAT}, got another one. Restore without it: snapshot=None.")


def history_in(snapshot: Mapping[str, Any]) -> tuple[StepRecord, ...]:
    """Return the history that a snapshot holds."""
    return tuple(StepRecord.from_record(record) for record in snapshot["state"]["history"])


def belief_in(problem: Problem, settings: LearnerSettings, snapshot: Mapping[str, Any]) -> Belief | None:
    """Return the belief that a snapshot holds, or None if it holds none."""
    state = snapshot["state"]
    if state["belief_event"] is None:
        return None
    kept = state["particles"]
    arrays: dict[str, Any] = {name: np.ascontiguousarray(snapshot[name]) for name in ARRAYS}
    num_states = problem.mdp.num_states
    if arrays["values"].shape[1:] != (num_states,):
        raise InputError(
            f"a snapshot must belong to its problem of {num_states} states, got values of shape "
            f"{arrays['values'].shape}. Restore without it: snapshot=None."
        )
    target = None if problem.prior.is_discrete else Target(problem).with_counts(arrays["moved_counts"])
    particles = Particles(
        target=target,
        problem=problem,
        settings=SMCSettings(**{**settings.inference_options, "num_particles": settings.num_particles}),
        seed=settings.seed,
        moves=Moves(**kept["moves"]),
        **{name: kept[name] for name in NUMBERS},
        **arrays,
    )
    return Belief(int(state["belief_event"]), particles)
