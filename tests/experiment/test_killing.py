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


def stop_until_complete(starter, out, changes, longest, most, how, **options):
    """Stop runs at random times until one gets to the end, or so many; look at the folder after each.

    Returns how many were stopped.
    """
    rng, sweep, num_stopped = np.random.default_rng([how, most]), tiny_sweep(**changes), 0
    done, steps = {}, {}
    while num_stopped < most:
        running = starter.run(out, changes, checkpoint_seconds=0.0, **options)
        time.sleep(rng.uniform(0.0, longest) * (1.0 + 0.1 * num_stopped))  # longer and longer, so that it ends
        running.kill(group=num_stopped % 2 == 0, how=how)
        code = running.wait()
        assert "Traceback" not in running.text()
        assert done.items() <= finished(out).items()  # never lost, nor done again
        now = steps_kept(sweep, out)
        assert all(now[cell_id] >= count for cell_id, count in steps.items())
        done, steps = finished(out), now
        if code == 0 or len(done) == len(sweep.cells()):
            break
        assert code == (130 if how == signal.SIGINT else -how), running.text()
        num_stopped += 1
    assert run_sweep(sweep, out, progress=False).is_complete
    assert done.items() <= finished(out).items()
    assert_same_tables(sweep_table(sweep, out), undisturbed_table(**changes))
    return num_stopped


def stop_repeatedly(starter, folder, times, how):
    """Stop so many runs, of as many sweeps as that takes; return how many were."""
    changes, num_stopped, num_sweeps = {"steps": 6, "seeds": 2}, 0, 0
    longest = seconds_in_peace(starter, folder / "peace", changes) / 4
    while num_stopped < times:
        out, most = folder / f"out-{num_sweeps}", times - num_stopped
        num_stopped += stop_until_complete(starter, out, changes, longest, most, how)
        num_sweeps += 1
        assert num_sweeps <= times  # so many runs are too short, unless they are faster than that in peace
    return num_stopped


def seconds_in_peace(starter, out, changes):
    """Return how long a run takes that nobody disturbs."""
    begin = time.perf_counter()
    assert starter.run(out, changes, checkpoint_seconds=0.0).wait() == 0
    return time.perf_counter() - begin


@attack("sweep-kill")
def test_killing_at_random_points_changes_nothing(starter, tmp_path, times):
    assert stop_repeatedly(starter, tmp_path, times, signal.SIGKILL) == times


@attack("sweep-term")
def test_ending_at_random_points_changes_nothing(starter, tmp_path, times):
    assert stop_repeatedly(starter, tmp_path, times, signal.SIGTERM) == times


@attack("sweep-interrupt")
def test_interrupting_at_random_points_changes_nothing(starter, tmp_path, times):
    assert stop_repeatedly(starter, tmp_path, times, signal.SIGINT) == times


@pytest.mark.slow
def test_killing_two_workers_at_random_points_changes_nothing(starter, tmp_path):
    assert stop_until_complete(starter, tmp_path / "out", LONG, 8.0, 100, signal.SIGKILL, num_workers=2) >= 1


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


@attack("disk-full-sweep")
def test_a_full_disk_is_said_and_nothing_is_broken(starter, tmp_path, times):
    rng = np.random.default_rng(times)
    for number in range(times):
        out, room = tmp_path / f"out-{number}", 20_000 if number == 0 else int(rng.integers(1_000, 24_000))
        running = starter.run(out, SHORT, checkpoint_seconds=0.0, max_file_bytes=room)
        assert running.wait() == 1
        assert "must go where " in running.text()
        assert "ake room" in running.text()
        assert "Traceback" not in running.text()
        assert starter.run(out, SHORT).wait() == 0
        assert_same_tables(sweep_table(tiny_sweep(**SHORT), out), undisturbed_table(**SHORT))
