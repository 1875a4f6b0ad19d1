"""Other processes, for tests: started by one that has everything loaded, watched, interrupted and killed."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
PATIENCE = 60.0  # seconds for something that must happen


def environment():
    """Variables under which a process of Python finds the modules of the tests."""
    paths = [str(TESTS), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), "PYTHONUNBUFFERED": "1"}


class Forker:
    """A process that forks others which run one of some modules: see forked.py."""

    def __init__(self, *modules):
        command = [sys.executable, "-W", "ignore", str(TESTS / "faults" / "forked.py"), *modules]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment()
        )
        assert self.process.stdout.readline() == "ready\n"

    def ask(self, command):
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def start(self, module, log, **arguments):
        """Fork a process that runs a module, with arguments that JSON can say."""
        return Running(self, self.ask({"run": module, "log": str(log), "arguments": arguments}), Path(log))

    def close(self):
        self.process.stdin.close()
        assert self.process.wait(timeout=PATIENCE) == 0
        self.process.stdout.close()


class Running:
    """A process that was forked."""

    def __init__(self, forker, number, log):
        self.forker, self.number, self.log = forker, number, log

    def kill(self, *, group=False, how=signal.SIGKILL):
        """Send a signal to it alone, or to its group."""
        try:
            (os.killpg if group else os.kill)(self.number, how)
        except ProcessLookupError:
            if not group:
                raise
            os.kill(self.number, how)  # so young that it leads no group yet

    def wait(self):
        """Wait until it has ended, and return its exit code, negative for a signal."""
        return self.forker.ask({"wait": self.number})

    def text(self):
        """What it said."""
        return self.log.read_text() if self.log.exists() else ""

    def report(self):
        """The report that it ended with: its last line."""
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


def forker_of(process):
    """Return a fixture: what forks processes that run a module, for all tests of a file."""

    @pytest.fixture(scope="module")
    def forker():
        found = Forker(process)
        yield found
        found.close()

    return forker
