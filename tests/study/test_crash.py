"""What was acknowledged survives kill -9, and history goes on as if nothing had happened."""

import signal
import time

import numpy as np
import pytest
from faults.forking import forker_of, until
from faults.matrix import attack
from study.tiny import SETTINGS, answer_to, tiny_problem

from journeyman.learner import ActiveLearner
from journeyman.study import Study

PROCESS = "study.answering_process"
forker = forker_of(PROCESS)


def start(forker, path, acknowledged, count=0):
    """Start a process that answers so many questions; its log is beside what it acknowledges."""
    log = acknowledged.with_name(f"{acknowledged.name}.log")
    return forker.start(PROCESS, log, path=str(path), acknowledged=str(acknowledged), count=count)


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


def told_in(acknowledged):
    """The questions whose answers were acknowledged."""
    return [int(line) for line in acknowledged.read_text().splitlines()] if acknowledged.exists() else []


def check_whole(path, acknowledged, twin, num_kills):
    """Every acknowledged answer is there, none twice, and questions are those of the twin, the next one too."""
    told = told_in(acknowledged)
    assert len(set(told)) == len(told)
    with Study.open(path, num_threads=1) as study:
        answered = [event.payload["query"] for event in study.events if event.name == "tell"]
        assert len(set(answered)) == len(answered)
        assert set(told) <= set(answered)
        assert len(set(answered) - set(told)) <= num_kills  # at most one unacknowledged per kill
        assert all(study.answers[query].steps == answer_to(study.queries[query]).steps for query in answered)
        if not study.pending:
            study.ask()
        assert study.queries == twin.queries(len(study.queries))
        assert study._log._connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return len(answered)


@attack("answers-kill")
def test_acknowledged_answers_survive_kill(forker, tmp_path, times):
    path, acknowledged = tmp_path / "a.study", tmp_path / "told"
    Study.create(path, tiny_problem(), num_threads=1, **SETTINGS).close()
    rng, twin = np.random.default_rng(3), Twin()
    for num_kills in range(1, times + 1):
        before = len(told_in(acknowledged))
        child = start(forker, path, acknowledged)
        if num_kills % 2:  # in every other one, however busy the machine is, not before it did some work
            until(lambda before=before: len(told_in(acknowledged)) > before, "an answer is acknowledged")
        time.sleep(rng.uniform(0.0, 0.15))
        child.kill()
        assert child.wait() == -signal.SIGKILL  # it was killed, and did not end by itself
        count = check_whole(path, acknowledged, twin, num_kills)
    assert count >= times / 2  # the children did work


def test_two_processes_tell_at_once(forker, tmp_path):
    path = tmp_path / "a.study"
    Study.create(path, tiny_problem(), num_threads=1, **SETTINGS).close()
    both = [start(forker, path, tmp_path / f"told-{index}", 15) for index in range(2)]
    assert [child.wait() for child in both] == [0, 0]
    told = [int(line) for index in range(2) for line in (tmp_path / f"told-{index}").read_text().splitlines()]
    assert len(told) == len(set(told)) == 30
    with Study.open(path, num_threads=1) as study:
        assert set(study.answers) == set(told)
        restored = ActiveLearner.restore(study.problem, study.settings, study.events, None, num_threads=1)
        assert study.scores().values.tolist() == restored.scores().values.tolist()


@pytest.mark.parametrize("is_linked_first", [True, False])
def test_two_processes_with_two_names_lose_nothing(forker, tmp_path, is_linked_first):
    """By a hard link: a process that cannot see the other's journal is refused before it writes anything."""
    path, link = tmp_path / "a.study", tmp_path / "b.study"
    Study.create(path, tiny_problem(), num_threads=1, **SETTINGS).close()
    if is_linked_first:
        link.hardlink_to(path)
    first = start(forker, path, tmp_path / "told-0", 30)
    if not is_linked_first:
        told_first = tmp_path / "told-0"
        until(lambda: told_first.exists() and told_first.stat().st_size, "it has answered")
        link.hardlink_to(path)
    second = start(forker, link, tmp_path / "told-1", 30)
    first.wait(), second.wait()
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
