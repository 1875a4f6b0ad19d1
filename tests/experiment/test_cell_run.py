"""The run of a cell that is stopped anywhere and resumed, however it is kept, is one that was never stopped."""

from dataclasses import replace
from functools import cache

import pytest
from experiment.small import one_cell, timeless

from journeyman.experiment import METRICS, Choice, QueryKind, cell_run as cell_run_module
from journeyman.experiment.cell_run import Checkpoint, Job, advance, events_of, load_checkpoint, save_checkpoint
from journeyman.storage.workers import do_task

CELL = one_cell(acquisitions=["pac_eig"])
ALL = tuple(METRICS)
HMC = Choice("policywalk", "hmc", {"sampler": "hmc", "num_chains": 1, "num_warmup": 10, "num_draws": 20})
STATE, TRAJECTORY = QueryKind(), QueryKind("trajectory", 3)
TWO_STATES, JAIL = Choice("lopes-two-state", "two"), Choice("jail", "jail")

CELLS = {
    "smc": CELL,
    "smc, trajectories": replace(CELL, query=TRAJECTORY),
    "smc, atoms": replace(CELL, world=TWO_STATES),
    "policywalk": replace(CELL, world=JAIL, inference=HMC),
    "policywalk, trajectories": replace(CELL, world=JAIL, inference=HMC, query=TRAJECTORY),
    "enumerate": replace(CELL, world=TWO_STATES, inference=Choice("enumerate", "exact")),
    "enumerate, trajectories": replace(
        CELL, world=Choice("brown-two-state", "two"), query=TRAJECTORY, inference=Choice("enumerate", "exact")
    ),
}


def forget():
    """Forget the learner that the process had last, as another process would not have it."""
    cell_run_module._last.clear()


@cache
def undisturbed_rows(name):
    forget()
    return advance(Job(CELLS[name], 4, ALL), Checkpoint()).rows


def in_memory(checkpoint, _):
    return checkpoint


def with_snapshot(checkpoint, _):
    forget()
    return checkpoint


def from_rows_alone(checkpoint, _):
    forget()
    return Checkpoint(checkpoint.rows)


def with_old_snapshot(checkpoint, _):
    forget()
    other = {**checkpoint.snapshot, "state": {**checkpoint.snapshot["state"], "format": -1}}
    return Checkpoint(checkpoint.rows, other)


def from_file(checkpoint, folder):
    forget()
    save_checkpoint(folder / "cell.npz", checkpoint, ALL)
    return load_checkpoint(folder / "cell.npz", ALL)


BETWEEN = (in_memory, with_snapshot, from_rows_alone, with_old_snapshot, from_file)
STOPS = [  # quick: every kind of cell from a file, which needs all that is kept, and one in every way
    pytest.param(name, between, marks=[pytest.mark.slow] * (name != "smc" and between is not from_file))
    for name in CELLS
    for between in BETWEEN
]


@pytest.mark.parametrize(("name", "between"), STOPS)
def test_stopping_after_every_step_changes_nothing(name, between, tmp_path):
    job, checkpoint = Job(CELLS[name], 4, ALL), Checkpoint()
    whole = undisturbed_rows(name)
    assert [row["step"] for row in whole] == [0, 1, 2, 3, 4]
    forget()
    for num_steps in range(1, 5):
        checkpoint = between(advance(job, checkpoint, seconds=0.0), tmp_path)
        assert checkpoint.num_steps == num_steps
    assert repr(timeless(checkpoint.rows)) == repr(timeless(whole))  # repr: NaN is the same as NaN


@pytest.mark.parametrize("first", [0, 1, 3])
def test_a_longer_run_begins_with_the_shorter_one(first):
    whole = advance(Job(CELL, 5, ALL), Checkpoint())
    forget()
    begun = advance(Job(CELL, first, ALL), Checkpoint()) if first else Checkpoint()
    longer = advance(Job(CELL, 5, ALL), Checkpoint(begun.rows))
    assert timeless(longer.rows) == timeless(whole.rows)
    assert longer.rows[: len(begun.rows)] == begun.rows  # not done again: even the seconds are the same


def test_a_run_that_is_long_enough_is_given_back():
    whole = advance(Job(CELL, 3, ALL), Checkpoint())
    assert advance(Job(CELL, 2, ALL), whole) is whole


def test_a_run_stops_after_a_step_when_it_is_told_to():
    told = iter([False, True])
    assert do_task(advance, Job(CELL, 9, ALL), Checkpoint(), stop_fn=lambda: next(told)).num_steps == 2


def test_metrics_do_not_change_the_run():
    few, all_of_them = (advance(Job(CELL, 4, metrics), Checkpoint()).rows for metrics in (("truth",), ALL))
    for row, whole in zip(timeless(few), timeless(all_of_them), strict=True):
        assert row == {name: whole[name] for name in row}


def test_events_are_those_of_the_learner():
    """But for words and seconds: these are what rows need to be resumed from."""
    checkpoint = advance(Job(CELL, 4, ALL), Checkpoint(), seconds=0.0)
    checkpoint = advance(Job(CELL, 4, ALL), checkpoint, seconds=0.0)
    (learner,) = cell_run_module._last.values()
    found = events_of(CELL, CELL.make_world(), checkpoint.rows)
    assert [(event.number, event.name) for event in found] == [(e.number, e.name) for e in learner.events]
    for event, real in zip(found, learner.events, strict=True):
        if event.name == "tell":
            assert event.payload == real.payload
        else:
            assert event.payload["queries"] == real.payload["queries"]


def test_only_the_last_learner_is_kept():
    forget()
    other = replace(CELL, seed=1)
    for cell in (CELL, other):
        advance(Job(cell, 4, ALL), Checkpoint(), seconds=0.0)
    assert list(cell_run_module._last) == [(other.id, 2)]
    advance(Job(other, 1, ALL), Checkpoint())
    assert not cell_run_module._last  # its run has ended


def test_rows_say_what_was_asked():
    rows = advance(Job(replace(CELL, query=TRAJECTORY), 5, ALL), Checkpoint()).rows
    assert [rows[0][name] for name in ("state", "occupancy", "num_shown", "score", "acquisition_seconds")] == [None] * 5
    assert all(1 <= row["num_shown"] <= 3 for row in rows[1:])
    assert all(row["posterior_seconds"] > 0.0 and row["cpu_seconds"] > 0.0 for row in rows)
    assert all(row["acquisition_seconds"] > 0.0 for row in rows[1:])
    queryable = CELL.make_world().problem.queryable
    assert all(queryable[row["state"]] for row in rows[1:])
