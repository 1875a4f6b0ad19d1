"""A real Dask scheduler with worker processes, on this machine's own network, for tests."""

import json
import os
import subprocess
import sys

from faults.forking import until

LOCAL = [
    "--host",
    "127.0.0.1",
    "--dashboard-address",
    "127.0.0.1:0",
]  # as docs/cluster.md says: nothing listens elsewhere


class Cluster:
    """A scheduler and its workers, in a folder of their own."""

    def __init__(self, folder):
        self.folder, self.processes = folder, []
        file = folder / "scheduler.json"
        self.scheduler = self.start("dask_scheduler", *LOCAL, "--port", "0", "--scheduler-file", str(file))
        self.address = until(lambda: self.read(file), "the scheduler listens")

    @staticmethod
    def read(file):
        try:
            return json.loads(file.read_text())["address"]
        except (OSError, ValueError):  # not there yet, or half written
            return None

    def start(self, program, *arguments):
        log = (self.folder / f"{program}-{len(self.processes)}.log").open("w")
        with log:
            process = subprocess.Popen(
                [sys.executable, "-m", f"distributed.cli.{program}", *arguments],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "10s"},
            )
        self.processes.append(process)
        return process

    def add_worker(self):
        folder = ["--local-directory", str(self.folder)]
        options = [*LOCAL, "--nthreads", "1", "--no-nanny", "--memory-limit", "0"]
        return self.start("dask_worker", self.address, *options, *folder)

    def close(self):
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()
