"""The run of a cell: rows of results step by step, and the learner that they come from.

A run can be stopped after any step and resumed, in this process or in another one: what follows is the same, bit by
bit. Its rows are enough for that, because the expert's answers follow from the cell and the queried states; a snapshot
of the learner only saves the time of computing the posterior again.
"""

import hashlib
import io
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from journeyman.errors import InputError
from journeyman.experiment.cell import Cell
from journeyman.experiment.metrics import measure
from journeyman.learner import ActiveLearner, Event
from journeyman.learner.asking import Chosen, ask_event
from journeyman.learner.ledger import Ledger, apply_event, tell_event
from journeyman.learner.records import Query
from journeyman.learner.simulate import answered_steps
from journeyman.mdp import occupancy
from journeyman.storage.files import read_arrays, whole_file
from journeyman.storage.workers import is_stop_wanted
from journeyman.worlds import World

Row = dict[str, Any]
PLAIN = "plain"  # the array of a checkpoint that holds what is not arrays, as JSON

# The learner that this process had last: a cell mostly comes back to the process that it was in, and its learner need
# not be restored then.
_last: dict[tuple[str, int], ActiveLearner] = {}


class Job(NamedTuple):
    """What is wanted of a cell: so many answers, and these metrics after each."""

    cell: Cell
    num_steps: int
    metrics: tuple[str, ...]


@dataclass(frozen=True)
class Checkpoint:
    """Where the run of a cell stands: its rows, from step 0 on, and perhaps a snapshot of its learner."""

    rows: tuple[Row, ...] = ()
    snapshot: Mapping[str, Any] | None = field(default=None, compare=False)

    @property
    def num_steps(self) -> int:
        """Number of answers so far; -1 if nothing was measured yet."""
        return len(self.rows) - 1


def advance(job: Job, checkpoint: Checkpoint, seconds: float = float("inf")) -> Checkpoint:
    """Run a cell until it has all its answers, `seconds` have passed, or somebody wants to stop; at least one step.

    Pure: the same arguments give the same rows but for their seconds, wherever this runs; it uses one thread.
    """
    if checkpoint.num_steps >= job.num_steps:
        return checkpoint
    begin = time.perf_counter()
    cell, num_steps, metrics = job
    world, rows = cell.make_world(), list(checkpoint.rows)
    learner = _last.pop((cell.id, len(rows)), None) or resumed_learner(cell, world, checkpoint)
    steps = answered_steps(learner, world.make_expert(cell.expert_seed))
    if not rows:
        rows.append(_timed(lambda: row_of(learner, world, metrics)))
    while len(rows) <= num_steps:
        rows.append(_timed(lambda: next_row(steps, learner, world, metrics)))
        if time.perf_counter() - begin >= seconds or is_stop_wanted():
            break
    _last.clear()
    if len(rows) <= num_steps:
        _last[cell.id, len(rows)] = learner
    return Checkpoint(tuple(rows), learner.snapshot())


def _timed(row_fn: Callable[[], Row]) -> Row:
    """Return a row with the time that this thread worked for it, which does not depend on what else runs."""
    begin = time.thread_time()
    row = row_fn()
    return row | {"cpu_seconds": time.thread_time() - begin}


def next_row(steps: Iterator[Query], learner: ActiveLearner, world: World, metrics: Sequence[str]) -> Row:
    """Take the next step of a learner, and measure what is believed then."""
    mdp = world.problem.mdp
    share = (1.0 - mdp.discount) * occupancy(mdp, learner.apprentice())
    query = next(steps)
    doubts = next(event.payload["warnings"] for event in reversed(learner.events) if event.name == "ask")
    row = row_of(learner, world, metrics)
    return row | {
        "state": query.state,
        "occupancy": float(share[query.state]),
        "num_shown": len(learner.answers[query.id]),
        "score": query.score,
        "warnings": " | ".join(dict.fromkeys([*doubts, *learner.history()[-1].warnings])),
    }


def row_of(learner: ActiveLearner, world: World, metrics: Sequence[str]) -> Row:
    """Measure what is believed now; nothing is said about a query."""
    record = learner.history()[-1]
    return {
        "step": len(learner.queries),
        **measure(learner, world, metrics),
        "state": None,
        "occupancy": None,
        "num_shown": None,
        "score": None,
        "posterior_seconds": record.posterior_seconds,
        "acquisition_seconds": record.acquisition_seconds,
        "warnings": " | ".join(record.warnings),
    }


def resumed_learner(cell: Cell, world: World, checkpoint: Checkpoint) -> ActiveLearner:
    """Return the learner of a cell as it was at a checkpoint."""
    settings = cell.settings()
    if checkpoint.num_steps <= 0:
        return ActiveLearner.from_settings(world.problem, settings, num_threads=1, is_checked=False)
    events = events_of(cell, world, checkpoint.rows)
    try:
        return ActiveLearner.restore(
            world.problem, settings, events, checkpoint.snapshot, num_threads=1, is_checked=False
        )
    except InputError:  # a snapshot of another version; without one it takes longer, and is the same
        return ActiveLearner.restore(world.problem, settings, events, num_threads=1, is_checked=False)


def events_of(cell: Cell, world: World, rows: Sequence[Row]) -> tuple[Event, ...]:
    """Return the events that gave these rows: each query as it was chosen, and the answer that the expert gives."""
    settings, ledger, expert = cell.settings(), Ledger(world.problem), world.make_expert(cell.expert_seed)
    events: list[Event] = []
    for row in rows[1:]:
        score = float(row["score"])
        chosen = Chosen((int(row["state"]),), (score,), {"best": score, "median": None, "num_queries": 1}, ())
        events.append(ask_event(ledger, settings, chosen, row["acquisition_seconds"]))
        ledger = apply_event(ledger, events[-1])
        query = ledger.queries[-1]
        events.append(tell_event(ledger, query, expert.demonstrate(query)))
        ledger = apply_event(ledger, events[-1])
    return tuple(events)


def save_checkpoint(path: Path, checkpoint: Checkpoint, metrics: tuple[str, ...]) -> None:
    """Write a checkpoint, whole or not at all."""
    snapshot = dict(checkpoint.snapshot or {})
    state = snapshot.pop("state", None)
    about: dict[str, Any] = {"cell": path.stem, "rows": checkpoint.rows, "metrics": metrics, "state": state}
    about["arrays"] = arrays_hash(snapshot)
    text = json.dumps(about | {"digest": _plain_hash(about)})
    arrays: dict[str, Any] = {PLAIN: np.frombuffer(text.encode(), dtype=np.uint8), **snapshot}
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    with whole_file(path, "a checkpoint", advice="Make room, then run the same command again.") as temporary:
        temporary.write_bytes(buffer.getvalue())


def arrays_hash(arrays: Mapping[str, Any]) -> str:
    """Return a hash of names, kinds, shapes and values; a file's own checksums do not cover the first three."""
    found = hashlib.sha256()
    for name in sorted(arrays):
        values = np.asarray(arrays[name])
        found.update(f"{name} {values.dtype.str} {values.shape} ".encode() + values.tobytes())
    return found.hexdigest()


def _plain_hash(about: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(about).encode()).hexdigest()


def load_checkpoint(path: Path, metrics: tuple[str, ...]) -> Checkpoint:
    """Return what a file holds; an empty one where there is none, it is damaged, or it lacks some of the metrics.

    Every part of the file has a checksum, so that damage is noticed.
    """
    try:
        arrays = read_arrays(path)
        plain = json.loads(arrays.pop(PLAIN).tobytes())
        digest = plain.pop("digest", None)
        if digest is not None and digest != _plain_hash(plain):
            return Checkpoint()
        if plain.get("cell", path.stem) != path.stem or not set(metrics) <= set(plain["metrics"]):
            return Checkpoint()
        if plain.get("arrays", arrays_hash(arrays)) != arrays_hash(arrays):
            return Checkpoint()
        state = plain["state"]
        return Checkpoint(tuple(plain["rows"]), None if state is None else {"state": state, **arrays})
    except Exception:  # a damaged file can raise nearly anything; to start again loses time, and nothing else
        return Checkpoint()
