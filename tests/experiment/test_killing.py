"""Runs of sweeps that are killed and interrupted: what was kept is kept, and the table is that of a run in peace."""

import os
import signal
import sys
import time

import numpy as np
import pytest
from experiment.processes import checkpoints, finished
from experiment.small import assert_same_tables, tiny_sweep, undisturbed_table
from faults.forking import is_alive, until
from faults.matrix import attack

from journeyman.experiment import run_sweep, sweep_status, sweep_table

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")

SHORT = {"steps": 6, "seeds": 3}
LONG = {"steps": 24, "seeds": 2}


def are_busy(out):
    """Whether two workers have begun a cell, or one has done so much that the other one must have."""
    return len(checkpoints(out)) == 2 or len(finished(out)) == 2


def steps_kept(sweep, out):
    return {status.cell.id: status.num_steps for status in sweep_status(sweep, out)}


def kill_until_complete(starter, out, changes, longest, **options):
    """Kill runs at random times until one gets to the end; look at the folder after each. Returns how many."""
    rng, sweep, num_kills = np.random.default_rng(1), tiny_sweep(**changes), 0
    done, steps = {}, {}
    while True:
        running = starter.run(out, changes, checkpoint_seconds=0.0, **options)
        time.sleep(rng.uniform(0.0, longest) * (1.0 + 0.1 * num_kills))  # longer and longer, so that it ends
        running.kill(group=num_kills % 2 == 0)
        code = running.wait()
        assert done.items() <= finished(out).items()  # never lost, nor done again
        now = steps_kept(sweep, out)
        assert all(now[cell_id] >= count for cell_id, count in steps.items())
        done, steps = finished(out), now
        if code == 0 or len(done) == len(sweep.cells()):
            break
        assert code == -signal.SIGKILL, running.text()
        num_kills += 1
    return num_kills


def seconds_in_peace(starter, out, changes):
    """Return how long a run takes that nobody disturbs."""
    begin = time.perf_counter()
    assert starter.run(out, changes, checkpoint_seconds=0.0).wait() == 0
    return time.perf_counter() - begin


def test_killing_at_random_points_changes_nothing(starter, tmp_path):
    changes = {"steps": 6, "seeds": 2}
    longest = seconds_in_peace(starter, tmp_path / "peace", changes) / 4
    num_kills = kill_until_complete(starter, tmp_path / "out", changes, longest)
    assert num_kills >= 3  # so many runs are too short, unless they are faster than that in peace
    assert run_sweep(tiny_sweep(**changes), tmp_path / "out", progress=False).num_new == 0
    assert_same_tables(sweep_table(tiny_sweep(**changes), tmp_path / "out"), undisturbed_table(**changes))


@pytest.mark.slow
def test_killing_two_workers_at_random_points_changes_nothing(starter, tmp_path):
    num_kills = kill_until_complete(starter, tmp_path / "out", LONG, 8.0, num_workers=2)
    assert num_kills >= 1
    assert_same_tables(sweep_table(tiny_sweep(**LONG), tmp_path / "out"), undisturbed_table(**LONG))


@pytest.mark.slow
@pytest.mark.parametrize("group", [False, True])
def test_workers_end_with_the_process_that_started_them(starter, tmp_path, group):
    out = tmp_path / "out"
    running = starter.run(out, LONG, num_workers=2, checkpoint_seconds=0.0)
    until(lambda: are_busy(out), "both workers are at work")
    workers = running.workers()
    assert len(workers) == 2
    running.kill(group=group)
    assert running.wait() == -signal.SIGKILL
    until(lambda: not any(map(is_alive, workers)), "the workers have ended")
    before = steps_kept(tiny_sweep(**LONG), out)
    assert any(before.values())
    assert run_sweep(tiny_sweep(**LONG), out, progress=False).is_complete
    assert_same_tables(sweep_table(tiny_sweep(**LONG), out), undisturbed_table(**LONG))


@pytest.mark.slow
def test_a_worker_that_is_killed_is_replaced(starter, tmp_path):
    """And two workers give the table of one."""
    out = tmp_path / "out"
    running = starter.run(out, LONG, num_workers=2, checkpoint_seconds=0.0)
    until(lambda: are_busy(out), "both workers are at work")
    killed, other = running.workers()
    os.kill(killed, signal.SIGKILL)
    until(lambda: len(set(running.workers()) - {killed}) == 2, "there is a new worker")
    assert other in running.workers()  # it takes no other with it
    assert running.wait() == 0, running.text()
    assert running.report()["failed"] == []
    assert running.report()["num_new"] == 4
    assert_same_tables(sweep_table(tiny_sweep(**LONG), out), undisturbed_table(**LONG))


@pytest.mark.parametrize("num_workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_an_interruption_keeps_the_steps_that_were_done(starter, tmp_path, num_workers):
    out, changes = tmp_path / "out", {"steps": 40, "seeds": 2}
    running = starter.run(out, changes, num_workers=num_workers, checkpoint_seconds=1000.0, progress=True)
    until(lambda: len(finished(out)) >= 1, "the first cell is finished")
    time.sleep(0.05)
    running.kill(how=signal.SIGINT, group=True)  # as a terminal does
    assert running.wait() == 130, running.text()
    assert "Stopping after the steps in progress, which are kept." in running.text()
    assert "Traceback" not in running.text()
    statuses = [status.status for status in sweep_status(tiny_sweep(**changes), out)]
    assert "running" not in statuses
    kept = steps_kept(tiny_sweep(**changes), out)
    begun = [kept[cell_id] for cell_id in checkpoints(out)]
    assert begun
    assert all(0 < count < 40 for count in begun)


def test_a_second_interruption_stops_at_once(starter, tmp_path):
    out = tmp_path / "out"
    changes = {
        "worlds": ["random-8x8"],
        "steps": 3,
        "inference": [{"name": "policywalk", "options": {"sampler": "hmc", "num_draws": 100000}}],
    }
    running = starter.run(out, changes, checkpoint_seconds=1000.0, progress=True)
    until(lambda: list((out / "locks").glob("*")), "it has begun")
    time.sleep(0.5)
    running.kill(how=signal.SIGINT)
    until(lambda: "Stopping" in running.text(), "it says that it will stop")
    begin = time.monotonic()
    running.kill(how=signal.SIGINT)
    assert running.wait() == 130
    assert time.monotonic() - begin < 30.0


def test_two_runs_at_once_share_the_cells(starter, tmp_path):
    out = tmp_path / "out"
    first, second = (starter.run(out, SHORT, checkpoint_seconds=0.0) for _ in range(2))
    assert first.wait() == 0, first.text()
    assert second.wait() == 0, second.text()
    reports = [first.report(), second.report()]
    assert sum(report["num_new"] for report in reports) == 6  # each cell once
    assert all(report["num_finished"] == 6 for report in reports)
    assert all(report["num_new"] > 0 for report in reports)
    assert_same_tables(sweep_table(tiny_sweep(**SHORT), out), undisturbed_table(**SHORT))


def test_a_full_disk_is_said_and_nothing_is_broken(starter, tmp_path):
    out = tmp_path / "out"
    running = starter.run(out, SHORT, checkpoint_seconds=0.0, max_file_bytes=20_000)
    assert running.wait() == 1
    assert "InputError: a checkpoint must go where it can be written" in running.text()
    assert "Make room, then run the same command again." in running.text()
    assert starter.run(out, SHORT).wait() == 0
    assert_same_tables(sweep_table(tiny_sweep(**SHORT), out), undisturbed_table(**SHORT))
