"""Sweeps on a real Dask scheduler with two worker processes, on this machine's own network."""

import os
import signal
from pathlib import Path

import pytest
from experiment.processes import checkpoints, finished
from experiment.small import RECORD, assert_same_tables, tiny_sweep, undisturbed_table
from faults.forking import until
from faults.matrix import attack
from storage.real_cluster import Cluster

from journeyman.experiment import run_sweep, sweep_table
from journeyman.experiment.store import Store

pytest.importorskip("distributed")

LONG = {"steps": 24, "seeds": 2}
BAD = {"name": "policywalk", "label": "bad", "options": {"sampler": "nonsense"}}


def listening(process_id):
    """Addresses, as in /proc/net/tcp, on which a process listens."""
    lines = [
        line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]
    ]
    sockets = {f"socket:[{words[9]}]": words[1].partition(":")[0] for words in lines if words[3] == "0A"}
    held = {os.readlink(path) for path in Path(f"/proc/{process_id}/fd").iterdir() if path.is_symlink()}
    return {address for name, address in sockets.items() if name in held}


@attack("dask")
def test_a_worker_that_dies_and_a_scheduler_that_dies(starter, tmp_path, times):
    """One after the other on one cluster, since starting one takes seconds.

    A worker is killed in the middle of the run: the other one does the rest, and the table is that of a local run.
    Cells that fail are told. Then the scheduler is killed: that is said, what was kept stays, and a local run resumes.
    """
    for number in range(times):
        (tmp_path / str(number)).mkdir()
        cluster = Cluster(tmp_path / str(number))
        try:
            assert lose_worker_and_scheduler(starter, cluster, tmp_path / str(number)).num_finished == 4
        finally:
            cluster.close()


def lose_worker_and_scheduler(starter, cluster, folder):
    """Kill a worker, let cells fail, and kill the scheduler; return the report of who resumes alone."""
    out, dask = folder / "out", {"executor": "dask", "scheduler": cluster.address, "checkpoint_seconds": 0.0}
    workers = [cluster.add_worker() for _ in range(2)]
    running = starter.run(out, LONG, **dask)
    until(lambda: len(checkpoints(out)) == 2 or len(finished(out)) == 2, "both workers are at work")
    for process in cluster.processes:
        assert listening(process.pid) == {"0100007F"}  # 127.0.0.1
    workers[0].send_signal(signal.SIGKILL)
    assert running.wait() == 0, running.text()
    assert workers[1].poll() is None
    assert (running.report()["num_new"], running.report()["failed"]) == (4, [])
    assert_same_tables(sweep_table(tiny_sweep(**LONG), out), undisturbed_table(**LONG))

    changes = {"inference": [*RECORD["inference"], BAD]}
    running = starter.run(out, changes, **dask)
    assert running.wait() == 3, running.text()
    report = running.report()
    assert (report["num_finished"], len(report["failed"])) == (2, 2)
    failure = Store(out).failure(report["failed"][0])
    assert failure["error"].startswith("InputError: sampler must be one of nuts, hmc, got 'nonsense'")
    assert "infer_policywalk" in failure["traceback"]  # of the worker

    longer = {**LONG, "steps": 30}
    running = starter.run(out, longer, connect_seconds=1.0, **dask)
    until(lambda: checkpoints(out), "a worker has begun a cell")
    before = finished(out)
    cluster.scheduler.send_signal(signal.SIGKILL)
    assert running.wait() == 1, running.text()
    assert "InputError: the scheduler must stay until all tasks are done" in running.text()
    assert "run the same command again to resume" in running.text()
    assert "Traceback" not in running.text()
    assert finished(out).keys() == before.keys()
    assert checkpoints(out)
    resumed = run_sweep(tiny_sweep(**longer), out, progress=False)
    assert resumed.is_complete
    assert_same_tables(sweep_table(tiny_sweep(**longer), out), undisturbed_table(**longer))
    return resumed


def test_a_scheduler_that_does_not_answer_is_said(starter, tmp_path):
    address = "tcp://127.0.0.1:9"  # discard: nobody listens there
    running = starter.run(tmp_path / "out", executor="dask", scheduler=address, connect_seconds=1.0)
    assert running.wait() == 1
    assert f"InputError: the scheduler must answer, got nothing from '{address}'" in running.text()
    assert "Traceback" not in running.text()


@pytest.mark.parametrize("address", ["nonsense://127.0.0.1:9", "127.0.0.1", ""])
def test_an_address_that_is_none_is_said(starter, tmp_path, address):
    running = starter.run(tmp_path / "out", executor="dask", scheduler=address, connect_seconds=0.5)
    assert running.wait() == 1, running.text()
    assert "InputError: the scheduler must answer" in running.text()
