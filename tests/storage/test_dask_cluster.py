"""A Dask cluster as seen from here, without one; tests/experiment/test_dask.py has real ones."""

import os
from concurrent.futures import CancelledError, Future
from types import SimpleNamespace

import pytest

from journeyman.errors import InputError
from journeyman.registry import PLUGINS
from journeyman.storage.dask_cluster import DaskCluster, OtherVersion, dask_cluster, own_version, remote_task


def test_a_dask_worker_of_another_version_is_refused():
    assert remote_task(own_version(), "", len, "abc") == 3
    with pytest.raises(OtherVersion, match=rf"got {own_version()} on a worker and 0.0.0 here. Install the same"):
        remote_task("0.0.0", "", len, "abc")


def test_a_worker_has_the_plugins_of_the_process_that_asks_unless_it_has_its_own(monkeypatch):
    monkeypatch.delenv(PLUGINS, raising=False)
    monkeypatch.setattr(os, "environ", dict(os.environ))
    assert remote_task(own_version(), "mine", lambda: os.environ[PLUGINS]) == "mine"
    assert remote_task(own_version(), "another", lambda: os.environ[PLUGINS]) == "mine"


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
