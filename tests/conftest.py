"""What holds for all tests.

Property tests draw the same examples in every run, and take the time they need. Ctrl-C works wherever tests run.
Linear algebra uses one thread: matrices are small here, and several tests run at once.
"""

import os
import signal

import pytest
from hypothesis import settings
from threadpoolctl import threadpool_limits

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):  # of libraries that are loaded later, and other processes
    os.environ.setdefault(variable, "1")
threadpool_limits(1)  # a plugin of pytest may have loaded NumPy

settings.register_profile("journeyman", deadline=None, derandomize=True)
settings.load_profile("journeyman")

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # inherited from a shell that runs them in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Keep how an attack ended: see faults/matrix.py."""
    report = yield
    marker = item.get_closest_marker("fault")
    if marker is not None and report.when == "call" and not report.skipped:
        from faults.matrix import keep_result

        keep_result(marker.args[0], item.callspec.params["times"], report.passed, report.duration)
    return report


@pytest.fixture
def cluster(tmp_path):
    """A real Dask scheduler on this machine's own network, without workers yet."""
    from storage.real_cluster import Cluster

    (tmp_path / "cluster").mkdir()
    cluster = Cluster(tmp_path / "cluster")
    yield cluster
    cluster.close()
