"""Course of a cell: rows of results step by step, and the learner that they come from.

A course can be stopped after any step and gone on with, in this process or in another one: what follows is the same
bit by bit. Its rows are enough for that, because the expert's answers follow from the cell and the queried states; a
snapshot of the learner only saves the time of computing the posterior again.
"""

import io
import json
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from journeyman.demonstrations import Demonstration
from journeyman.errors import InputError
from journeyman.experiment.cell import Cell
from journeyman.experiment.metrics import measure
from journeyman.experts import Question
from journeyman.learner import ActiveLearner, Event
from journeyman.learner.records import Query, question_text
from journeyman.mdp import occupancy
from journeyman.storage.files import whole_file
from journeyman.storage.workers import is_stop_wanted
from journeyman.worlds import World

Row = dict[str, Any]
PLAIN = "plain"  # the array of a checkpoint that holds what is not arrays, as JSON

# The learner that this process had last: a cell mostly comes back to the process that it was in, and its learner need
# not be restored then. One that is restored goes on the same.
_last: dict[tuple[str, int], ActiveLearner] = {}


class Job(NamedTuple):
    """What is wanted of a cell: so many answers, and these metrics after each."""

    cell: Cell
    num_steps: int
    metrics: tuple[str, ...]


@dataclass(frozen=True)
class Checkpoint:
    """Where a course stands: its rows, from step 0 on, and perhaps a snapshot of its learner."""

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
    world = cell.make_world()
    rows = list(checkpoint.rows)
    learner = _last.pop((cell.id, len(rows)), None) or restored(cell, world, checkpoint)
    if not rows:
        rows.append(_timed(lambda: first_row(learner, world, metrics)))
    while len(rows) <= num_steps:
        rows.append(_timed(lambda: next_row(cell, learner, world, metrics)))
        if time.perf_counter() - begin >= seconds or is_stop_wanted():
            break
    _last.clear()
    if len(rows) <= num_steps:
        _last[cell.id, len(rows)] = learner
    return Checkpoint(tuple(rows), learner.snapshot())


def restored(cell: Cell, world: World, checkpoint: Checkpoint) -> ActiveLearner:
    """Return the learner of a course as it was when the course stopped."""
    settings = cell.settings()
    if checkpoint.num_steps <= 0:
        return ActiveLearner.from_settings(world.problem, settings, num_threads=1)
    events = events_of(cell, world, checkpoint.rows)
    try:
        return ActiveLearner.restore(world.problem, settings, events, checkpoint.snapshot, num_threads=1)
    except InputError:  # a snapshot of another version; without one it takes longer, and is the same
        return ActiveLearner.restore(world.problem, settings, events, num_threads=1)


def events_of(cell: Cell, world: World, rows: Sequence[Row]) -> tuple[Event, ...]:
    """Return the events that gave these rows: each query, and the answer that the expert gives to it."""
    kind, length, visits = cell.query.kind, cell.query.length, Counter[int]()
    events: list[Event] = []
    for query_id, row in enumerate(rows[1:]):
        state, score = int(row["state"]), float(row["score"])
        query = Query(query_id, state, kind, length, score, question_text(world.problem, state, kind, length))
        ask = {
            "queries": [query.to_record()],
            "scores": {"best": score, "median": None, "num_queries": 1},
            "seconds": row["acquisition_seconds"],
            "warnings": [],
        }
        answer = answer_of(cell, world, query, visits[state])
        visits[state] += 1
        events.append(Event(2 * query_id, "ask", ask))
        events.append(Event(2 * query_id + 1, "tell", {"query": query_id, "demonstration": answer.to_record()}))
    return tuple(events)


def answer_of(cell: Cell, world: World, query: Query, visit: int) -> Demonstration:
    """Return the expert's answer to a query, the n-th in its state: the same for every method on this instance."""
    question = Question(query.state, visit, query.kind, query.length, query.id)
    return world.make_expert(cell.expert_seed).demonstrate(question)


def _timed(row_fn: Callable[[], Row]) -> Row:
    """Return a row with the time that this thread worked for it, which does not depend on what else runs."""
    begin = time.thread_time()
    row = row_fn()
    return row | {"cpu_seconds": time.thread_time() - begin}


def first_row(learner: ActiveLearner, world: World, metrics: Sequence[str]) -> Row:
    """Measure what is believed before any answer."""
    begin = time.perf_counter()
    warnings = learner.posterior().warnings
    seconds = time.perf_counter() - begin
    return {
        "step": 0,
        **measure(learner, world, metrics),
        "state": None,
        "occupancy": None,
        "num_shown": None,
        "score": None,
        "posterior_seconds": seconds,
        "acquisition_seconds": None,
        "warnings": " | ".join(warnings),
    }


def next_row(cell: Cell, learner: ActiveLearner, world: World, metrics: Sequence[str]) -> Row:
    """Ask, have the expert answer, learn from it, and measure what is believed then."""
    mdp = world.problem.mdp
    share = (1.0 - mdp.discount) * occupancy(mdp, learner.apprentice())
    query = learner.ask()
    doubts = learner.events[-1].payload["warnings"]
    visit = sum(earlier.state == query.state for earlier in learner.queries[:-1])
    answer = answer_of(cell, world, query, visit)
    learner.tell(query, answer)
    record = learner.history()[-1]
    return {
        "step": len(learner.queries),
        **measure(learner, world, metrics),
        "state": query.state,
        "occupancy": float(share[query.state]),
        "num_shown": len(answer),
        "score": query.score,
        "posterior_seconds": record.posterior_seconds,
        "acquisition_seconds": record.acquisition_seconds,
        "warnings": " | ".join(dict.fromkeys([*doubts, *record.warnings])),
    }


def save_checkpoint(path: Path, checkpoint: Checkpoint, metrics: tuple[str, ...]) -> None:
    """Write a checkpoint, whole or not at all."""
    snapshot = dict(checkpoint.snapshot or {})
    state = snapshot.pop("state", None)
    text = json.dumps({"cell": path.stem, "rows": checkpoint.rows, "metrics": metrics, "state": state})
    arrays: dict[str, Any] = {PLAIN: np.frombuffer(text.encode(), dtype=np.uint8), **snapshot}
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    with whole_file(path, "a checkpoint", advice="Make room, then run the same command again.") as temporary:
        temporary.write_bytes(buffer.getvalue())


def load_checkpoint(path: Path, metrics: tuple[str, ...]) -> Checkpoint:
    """Return what a file holds; an empty one where there is none, it is damaged, or it lacks some of the metrics.

    Every part of the file has a checksum, so that damage is noticed.
    """
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as kept:
            arrays = {name: kept[name] for name in kept.files}
        plain = json.loads(arrays.pop(PLAIN).tobytes())
        if plain.get("cell", path.stem) != path.stem or not set(metrics) <= set(plain["metrics"]):
            return Checkpoint()
        state = plain["state"]
        return Checkpoint(tuple(plain["rows"]), None if state is None else {"state": state, **arrays})
    except Exception:  # a damaged file can raise nearly anything; to begin anew loses time, and nothing else
        return Checkpoint()
