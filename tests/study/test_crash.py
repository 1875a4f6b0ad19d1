"""What was acknowledged survives kill -9, and history goes on as if nothing had happened."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from study.tiny import SETTINGS, answer_to, tiny_problem

from journeyman.learner import ActiveLearner
from journeyman.study import Study

TESTS = Path(__file__).parents[1]


class Worker:
    """A process that forks children which answer questions."""

    def __init__(self):
        places = [str(TESTS), os.environ.get("PYTHONPATH", "")]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, places))}
        command = [sys.executable, "-W", "ignore", str(Path(__file__).with_name("crash_worker.py"))]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        assert self.line() == "ready"

    def line(self):
        return self.process.stdout.readline().strip()

    def send(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()

    def start(self, path, acknowledged, count=0):
        """Fork a child and return its number."""
        self.send("start", path, acknowledged, count)
        return int(self.line())

    def wait(self):
        """Wait until a child has ended, and return its status."""
        self.send("wait")
        return int(self.line())

    def stop(self):
        self.process.stdin.close()
        assert self.process.wait(timeout=60) == 0
        self.process.stdout.close()


@pytest.fixture(scope="module")
def worker():
    found = Worker()
    yield found
    found.stop()


class Twin:
    """A learner in memory that is never stopped, answered by the same rule."""

    def __init__(self):
        self.learner = ActiveLearner(tiny_problem(), num_threads=1, **SETTINGS)

    def queries(self, count):
        while len(self.learner.queries) < count:
            for query in self.learner.pending:
                self.learner.tell(query, answer_to(query))
            self.learner.ask()
        return self.learner.queries[:count]


def check_whole(path, acknowledged, twin):
    """Every acknowledged answer is there, none twice, and questions are those of the twin, the next one too."""
    told = [int(line) for line in acknowledged.read_text().splitlines()] if acknowledged.exists() else []
    assert len(set(told)) == len(told)
    with Study.open(path, num_threads=1) as study:
        answered = [event.payload["query"] for event in study.events if event.name == "tell"]
        assert len(set(answered)) == len(answered)
        assert set(told) <= set(answered)
        assert len(set(answered) - set(told)) <= len(KILLED)  # at most one unacknowledged per kill
        assert all(study.answers[query].steps == answer_to(study.queries[query]).steps for query in answered)
        if not study.pending:
            study.ask()
        assert study.queries == twin.queries(len(study.queries))
        assert study._log._connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return len(answered)


KILLED = []


def kill_repeatedly(worker, path, acknowledged, num_kills):
    """Kill children that answer, look at the study after each, and return what `check_whole` counted last."""
    Study.create(path, tiny_problem(), num_threads=1, **SETTINGS).close()
    rng, twin = np.random.default_rng(3), Twin()
    KILLED.clear()
    for _ in range(num_kills):
        child = worker.start(path, acknowledged)
        time.sleep(rng.uniform(0.0, 0.15))
        os.kill(child, signal.SIGKILL)
        assert worker.wait() == signal.SIGKILL  # it was killed, and did not end by itself
        KILLED.append(child)
        count = check_whole(path, acknowledged, twin)
    return count


def test_acknowledged_answers_survive_kill(worker, tmp_path):
    count = kill_repeatedly(worker, tmp_path / "a.study", tmp_path / "told", 15)
    assert count > 15 / 4  # the children did work


@pytest.mark.slow
def test_acknowledged_answers_survive_many_kills(worker, tmp_path):
    count = kill_repeatedly(worker, tmp_path / "a.study", tmp_path / "told", 300)
    assert count > 300 / 4


def test_two_processes_tell_at_once(worker, tmp_path):
    path = tmp_path / "a.study"
    Study.create(path, tiny_problem(), num_threads=1, **SETTINGS).close()
    for index in range(2):
        worker.start(path, tmp_path / f"told-{index}", 15)
    assert [worker.wait(), worker.wait()] == [0, 0]
    told = [int(line) for index in range(2) for line in (tmp_path / f"told-{index}").read_text().splitlines()]
    assert len(told) == len(set(told)) == 30
    with Study.open(path, num_threads=1) as study:
        assert set(study.answers) == set(told)
        restored = ActiveLearner.restore(study.problem, study.settings, study.events, None, num_threads=1)
        assert study.scores().values.tolist() == restored.scores().values.tolist()


@pytest.mark.parametrize("is_linked_first", [True, False])
def test_two_processes_with_two_names_lose_nothing(worker, tmp_path, is_linked_first):
    """By a hard link: a process that cannot see the other's journal is refused before it writes anything."""
    path, link = tmp_path / "a.study", tmp_path / "b.study"
    Study.create(path, tiny_problem(), num_threads=1, **SETTINGS).close()
    if is_linked_first:
        link.hardlink_to(path)
    worker.start(path, tmp_path / "told-0", 30)
    if not is_linked_first:
        deadline = time.monotonic() + 60.0
        told_first = tmp_path / "told-0"
        while not (told_first.exists() and told_first.stat().st_size) and time.monotonic() < deadline:
            time.sleep(0.001)
        link.hardlink_to(path)
    worker.start(link, tmp_path / "told-1", 30)
    worker.wait(), worker.wait()
    told = [
        int(line)
        for index in range(2)
        if (tmp_path / f"told-{index}").exists()
        for line in (tmp_path / f"told-{index}").read_text().splitlines()
    ]
    link.unlink()
    assert not told if is_linked_first else told  # whoever began before the link was made stops at its next write
    with Study.open(path, num_threads=1) as study:
        assert set(study.answers) == set(told)
