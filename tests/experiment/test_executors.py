"""Workers: tasks on one core, processes that die, and what a script must look like."""

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import CancelledError, Future
from types import SimpleNamespace

import pytest
from experiment.small import one_cell, timeless
from threadpoolctl import threadpool_info

from journeyman.errors import InputError
from journeyman.experiment import course, run_sweep
from journeyman.experiment.cell_run import Checkpoint, Job, advance
from journeyman.storage.dask_cluster import DaskCluster, OtherVersion, dask_cluster, own_version, remote_task
from journeyman.storage.processes import LocalProcesses
from journeyman.storage.workers import ThisProcess, first_interruption, task

JOB = Job(one_cell(), 2, ("truth",))


def test_a_task_uses_one_thread(monkeypatch):
    seen = []
    monkeypatch.setattr(course, "first_row", lambda *arguments: seen.append(threadpool_info()) or {"step": 0})
    task(Job(JOB.cell, 0, JOB.metrics), Checkpoint())
    assert seen[0]
    assert {library["num_threads"] for library in seen[0]} == {1}


def test_this_process_does_a_task_at_once():
    future = ThisProcess().submit(JOB, Checkpoint(), seconds=100.0)
    assert future.done()
    assert timeless(future.result().rows) == timeless(advance(JOB, Checkpoint()).rows)


def test_this_process_stops_after_a_step_when_it_is_told_to():
    team = ThisProcess()
    team.stop()
    assert team.submit(JOB, Checkpoint(), seconds=100.0).result().num_steps == 1


def test_an_error_of_a_task_is_given_back():
    bad = one_cell(inference=[{"name": "policywalk", "options": {"sampler": "nonsense"}}])
    team = ThisProcess()
    error = team.error_of(team.submit(Job(bad, 2, JOB.metrics), Checkpoint(), seconds=1.0))
    assert isinstance(error, InputError)
    assert not team.is_lost(error)


@pytest.mark.slow
def test_local_processes_do_what_this_one_does_and_may_die():
    """One process after the other is killed, with a task and without; whoever asks only sees a lost task."""
    team = LocalProcesses(1)
    try:
        long = Job(JOB.cell, 100_000, JOB.metrics)
        future = team.submit(long, Checkpoint(), seconds=1000.0)
        first = team._slots[0].ready.result(timeout=60)
        assert first != os.getpid()
        os.kill(first, signal.SIGKILL)
        error = team.error_of(future)
        assert team.is_lost(error)
        assert team.submit(JOB, Checkpoint(), seconds=100.0).result(timeout=60).num_steps == 2
        second = team._slots[0].ready.result()
        assert second != first
        os.kill(second, signal.SIGKILL)  # with nothing to do
        future = team.submit(JOB, Checkpoint(), seconds=100.0)
        error = team.error_of(future)
        if error is not None:  # the death was noticed only with the task
            assert team.is_lost(error)
            future = team.submit(JOB, Checkpoint(), seconds=100.0)
        assert timeless(future.result(timeout=60).rows) == timeless(advance(JOB, Checkpoint()).rows)
        future = team.submit(long, Checkpoint(), seconds=1000.0)
        team.stop()
        assert 1 <= future.result(timeout=60).num_steps < 100_000
    finally:
        team.close()
    assert len(team._slots) == 1


SCRIPT = """
import sys
sys.path.insert(0, {tests!r})
from experiment.small import tiny_sweep
from journeyman.experiment import run_sweep
run_sweep(tiny_sweep(), {out!r}, num_workers=2, progress=False)
"""


@pytest.mark.slow
def test_a_script_that_forgot_its_guard_is_told(tmp_path):
    """New processes import the script; without the guard each would start others, and ends before it does anything."""
    script = tmp_path / "script.py"
    tests = os.path.dirname(os.path.dirname(__file__))
    script.write_text(SCRIPT.format(tests=tests, out=str(tmp_path / "out")))
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=100)
    assert done.returncode == 1
    assert "InputError: local workers must be able to start, got 3 that ended before they did anything" in done.stderr
    assert "if __name__ == '__main__':" in done.stderr.splitlines()[-1]
    assert list((tmp_path / "out" / "failures").iterdir()) == []


def test_the_first_interruption_is_a_wish_and_the_second_an_order():
    told = []
    with first_interruption(lambda: told.append(1)) as interruption:
        assert not interruption.is_wanted
        signal.raise_signal(signal.SIGINT)
        assert interruption.is_wanted
        assert told == [1]
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert told == [1]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_interruptions_that_somebody_else_takes_care_of_stay_theirs():
    taken = []
    before = signal.signal(signal.SIGINT, lambda number, frame: taken.append(number))
    try:
        with first_interruption(taken.clear) as interruption:
            signal.raise_signal(signal.SIGINT)
            assert not interruption.is_wanted
    finally:
        signal.signal(signal.SIGINT, before)
    assert taken == [signal.SIGINT]


def test_a_thread_can_run_a_sweep(tmp_path):
    found = []
    sweep_thread = threading.Thread(
        target=lambda: found.append(run_sweep(_one_cell_sweep(), tmp_path, progress=False).is_complete)
    )
    sweep_thread.start()
    sweep_thread.join(timeout=60)
    assert found == [True]


def _one_cell_sweep():
    from experiment.small import tiny_sweep

    return tiny_sweep(acquisitions=["random"], steps=1)


def test_an_interruption_in_this_process_keeps_steps_and_frees_cells(tmp_path, monkeypatch):
    """A notebook can run the same sweep again, in the process that was interrupted."""
    sweep, real, asked = _one_cell_sweep().with_changes(steps=6), course.next_row, []

    def next_row(*arguments):
        asked.append(1)
        if len(asked) == 3:
            signal.raise_signal(signal.SIGINT)
        return real(*arguments)

    monkeypatch.setattr(course, "next_row", next_row)
    with pytest.raises(KeyboardInterrupt) as caught:
        run_sweep(sweep, tmp_path, progress=False)
    assert caught.traceback  # what it holds on to must not keep the lock
    assert len(asked) == 3
    report = run_sweep(sweep, tmp_path, progress=False)
    assert report.is_complete
    assert len(asked) == 6  # nothing was done again


def test_a_dask_worker_of_another_version_is_refused():
    assert remote_task(own_version(), JOB, Checkpoint()).num_steps == 2
    with pytest.raises(OtherVersion, match=rf"got {own_version()} on a worker and 0.0.0 here. Install the same"):
        remote_task("0.0.0", JOB, Checkpoint())


class Client:
    """What we need of a client of Dask, without one."""

    status = "running"

    def __init__(self):
        self.counts = {}

    def get_executor(self, **_):
        return SimpleNamespace(submit=None)

    def nthreads(self):
        return self.counts


def test_errors_of_dask_are_those_of_a_task_or_of_all():
    client = Client()
    cluster = DaskCluster(client, "tcp://somewhere:1")
    future = Future()
    future.set_exception(OtherVersion("another version"))
    with pytest.raises(OtherVersion):
        cluster.error_of(future)
    future = Future()
    future.set_exception(ValueError("oops"))
    assert not cluster.is_lost(cluster.error_of(future))
    future = Future()
    future.cancel()
    assert isinstance(cluster.error_of(future), CancelledError)
    assert cluster.is_lost(cluster.error_of(future))
    client.status = "closed"
    with pytest.raises(
        InputError, match=r"the scheduler must stay .* from 'tcp://somewhere:1' .* run the same command"
    ):
        cluster.error_of(future)


def test_a_cluster_has_as_many_slots_as_its_workers_have_threads(monkeypatch):
    client = Client()
    cluster = DaskCluster(client, "tcp://somewhere:1")
    assert cluster.num_slots == 0
    client.counts = {"a": 1, "b": 4}
    assert cluster.num_slots == 0  # not asked again so soon
    monkeypatch.setattr(cluster, "_counted", -1e9)
    assert cluster.num_slots == 5


def test_a_cluster_without_workers_says_so_after_a_while(monkeypatch):
    client = Client()
    cluster = DaskCluster(client, "tcp://somewhere:1")
    assert cluster.trouble() == ""
    monkeypatch.setattr(cluster, "_since", -1e9)
    assert "no workers at tcp://somewhere:1" in cluster.trouble()
    client.counts = {"a": 1}
    monkeypatch.setattr(cluster, "_counted", -1e9)
    assert cluster.trouble() == ""


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "no.such.host.invalid", "tcp://127.0.0.1:x"])
def test_an_address_where_nobody_listens_is_refused_at_once(address):
    with pytest.raises(InputError, match="the scheduler must answer"), dask_cluster(address):
        pass
