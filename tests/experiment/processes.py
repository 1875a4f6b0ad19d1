"""Other processes that run sweeps, for tests: started, watched, interrupted and killed."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

TESTS = Path(__file__).parents[1]
PATIENCE = 60.0  # seconds for something that must happen


class Starter:
    """Starts processes that run sweeps: see sweep_process.py."""

    def __init__(self):
        paths = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, "PYTHONPATH": paths, "PYTHONUNBUFFERED": "1"}
        script = str(TESTS / "experiment" / "sweep_process.py")
        self.process = subprocess.Popen(
            [sys.executable, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        assert self.process.stdout.readline() == "ready\n"

    def ask(self, command):
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def run(self, out, changes=None, *, progress=False, max_file_bytes=None, connect_seconds=None, **options):
        """Start a process that runs a sweep."""
        out.mkdir(exist_ok=True)
        log = out.parent / f"{out.name}-{time.monotonic_ns()}.log"
        arguments = {"out": str(out), "log": str(log), "changes": changes or {}}
        arguments |= {"max_file_bytes": max_file_bytes, "connect_seconds": connect_seconds}
        number = self.ask({"run": {**arguments, "options": {"progress": progress, **options}}})
        return Running(self, number, log)

    def close(self):
        self.process.stdin.close()
        assert self.process.wait(timeout=PATIENCE) == 0
        self.process.stdout.close()


class Running:
    """A process that runs a sweep."""

    def __init__(self, starter, number, log):
        self.starter, self.number, self.log = starter, number, log

    def kill(self, *, group=False, how=signal.SIGKILL):
        """Send a signal to it alone, or to its group."""
        (os.killpg if group else os.kill)(self.number, how)

    def wait(self):
        """Wait until it has ended, and return its exit code, negative for a signal."""
        return self.starter.ask({"wait": self.number})

    def text(self):
        """What it said."""
        return self.log.read_text() if self.log.exists() else ""

    def report(self):
        """The report that it ended with."""
        return json.loads(self.text().splitlines()[-1])

    def workers(self):
        """Processes that it started to do work."""
        return [number for number in children(self.number) if "spawn_main" in command_of(number)]


def children(number):
    """Processes that a process started."""
    try:
        return [int(word) for word in Path(f"/proc/{number}/task/{number}/children").read_text().split()]
    except OSError:
        return []


def command_of(number):
    try:
        return Path(f"/proc/{number}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


def is_alive(number):
    """Whether a process is there and has not ended."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def until(condition_fn, what):
    """Wait until something is true, and return it."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found = condition_fn()
        if found:
            return found
        time.sleep(0.01)
    raise TimeoutError(f"waited {PATIENCE:.0f} s until {what}")


def checkpoints(out):
    """Cells of a folder that have begun, by their names."""
    return sorted(path.stem for path in (out / "checkpoints").glob("*.npz"))


def finished(out):
    """Cells of a folder that are finished, and what tells whether they were written again."""
    return {path.stem: (path.stat().st_ino, path.stat().st_mtime_ns) for path in (out / "results").glob("*.parquet")}
