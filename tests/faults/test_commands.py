"""Study commands that are killed, ended and interrupted: what was acknowledged is there, once; nothing is broken."""

import json
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing

import numpy as np
import pytest
from faults.forking import environment, forker_of, is_alive, until
from faults.matrix import attack
from study.tiny import SETTINGS, tiny_problem

from journeyman.__main__ import kept_interrupts
from journeyman.errors import StudyError
from journeyman.learner import ActiveLearner
from journeyman.study import Study
from journeyman.study.formats import read_demonstrations

PROCESS = "faults.command_process"
forker = forker_of(PROCESS)
PER_STUDY = 20  # kills, so that looking at the study after each stays quick


def tags_of(study):
    """How often each tag stands in the history of a study."""
    found = Counter()
    for event in study.events:
        payload = event.payload
        items = payload["demonstrations"] if event.name == "attach" else [payload.get("demonstration", {})]
        found.update({item["annotator"] for item in items if item.get("annotator")})
    return found


def check_whole(folder, acknowledged, num_stopped):
    """Every command that was acknowledged is in the history once; every file is whole."""
    lines = acknowledged.read_text().splitlines() if acknowledged.exists() else []
    done = [json.loads(line) for line in lines]
    told = {line["tag"] for line in done if line["word"] in ("tell", "correct", "attach", "import")}
    with Study.open(folder / "a.study", num_threads=1) as study:
        tags, names = tags_of(study), Counter(event.name for event in study.events)
        assert told <= set(tags)
        assert set(tags.values()) <= {1}  # none twice
        assert len(set(tags) - told) <= num_stopped  # at most one each that was not acknowledged
        words = Counter(line["word"] for line in done)
        for word in ("ask", "tell", "undo", "correct"):
            assert words[word] <= names[word] <= words[word] + num_stopped
        assert names["attach"] >= words["attach"] + words["import"]
        answered = Counter(event.payload["query"] for event in study.events if event.name == "tell")
        assert set(answered.values()) <= {1}
        everything = study.demonstrations
    with closing(sqlite3.connect(folder / "a.study")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    if (folder / "answers.csv").exists():
        assert len(read_demonstrations(folder / "answers.csv", tiny_problem())) <= len(everything) + names["undo"]
    if (folder / "history.json").exists():
        json.loads((folder / "history.json").read_text())
    made = {line["to"] for line in done if line["word"] in ("clone", "backup")}
    for path in folder.glob("*-*.study"):
        try:
            Study.open(path).close()
        except StudyError as error:
            assert str(path) not in made and "Delete it, then make the study again" in str(error)
        path.unlink()
    return len(done)


def check_replay(path):
    """What the study believes is, bit by bit, what follows from its history."""
    with Study.open(path, num_threads=1) as study:
        restored = ActiveLearner.restore(study.problem, study.settings, study.events, None, num_threads=1)
        assert study.scores().values.tolist() == restored.scores().values.tolist()


def stop_repeatedly(forker, folder, times, how, expected):
    """Stop processes that run commands, one or two at once, look after each, and return how much was done."""
    rng, num_done = np.random.default_rng([how, times]), 0
    for number in range(times):
        place = folder / str(number // PER_STUDY)
        if number % PER_STUDY == 0:
            place.mkdir()
            Study.create(place / "a.study", tiny_problem(), num_threads=1, **SETTINGS).close()
        acknowledged = place / "acknowledged"
        together = min(1 + number % 2, times - number) if number % PER_STUDY < PER_STUDY - 1 else 1
        others = [
            forker.start(
                PROCESS,
                place / f"{number}-{i}.log",
                folder=str(place),
                acknowledged=str(acknowledged),
                seed=[int(how), times, number, i],
            )
            for i in range(together)
        ]
        for running in others:
            time.sleep(rng.uniform(0.0, 0.4))
            running.kill(how=how)
        for running in others:
            until(lambda number=running.number: not is_alive(number), f"it ended: {running.log}")
            assert running.wait() in expected, running.text()
            assert "Traceback" not in running.text(), running.text()
        done = check_whole(place, acknowledged, 2 * PER_STUDY)
        if number % PER_STUDY == PER_STUDY - 1 or number == times - 1:
            num_done += done
            check_replay(place / "a.study")
    return num_done


@attack("commands-kill")
def test_commands_that_are_killed(forker, tmp_path, times):
    assert stop_repeatedly(forker, tmp_path, times, signal.SIGKILL, {-signal.SIGKILL}) > times // 4


@attack("commands-term")
def test_commands_that_are_ended(forker, tmp_path, times):
    assert stop_repeatedly(forker, tmp_path, times, signal.SIGTERM, {-signal.SIGTERM}) > times // 4


@attack("commands-interrupt")
def test_commands_that_are_interrupted(forker, tmp_path, times):
    assert stop_repeatedly(forker, tmp_path, times, signal.SIGINT, {130}) > times // 4


@attack("start-interrupt")
def test_a_command_that_is_interrupted_while_it_is_loaded(tmp_path, times):
    """From the moment on that Python runs our code; what comes before is Python's own."""
    rng, file = np.random.default_rng(times), tmp_path / "a.study"
    program = "print('begun', flush=True)\nfrom journeyman.__main__ import main\nmain()"
    arguments = ["study", "new", str(file), "--world", "random-grid", "--world-set", "size=2"]
    for _ in range(times):
        process = subprocess.Popen(
            [sys.executable, "-c", program, *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(),
        )  # fmt: skip
        assert process.stdout.readline() == "begun\n"
        time.sleep(rng.uniform(0.02, 1.0))
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        assert "Traceback" not in err, err
        assert process.returncode == (130 if not out else process.returncode)
        if file.exists():
            try:
                Study.open(file).close()
            except StudyError as error:
                assert "Delete it, then make the study again" in str(error)
            file.unlink()


def test_an_interrupt_while_an_object_is_finalised_is_not_lost():
    """Python prints such an exception and goes on; the command has to end all the same."""

    class Finalised:
        def __del__(self):
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt), kept_interrupts():
        found = Finalised()
        del found
        time.sleep(5.0)


@pytest.mark.parametrize("depth", [1, 2])
def test_an_interrupt_that_compiled_code_makes_an_error_of_is_one(depth):
    """As pybind11 does while a module of it is imported; who imports it may make another error of that."""
    with pytest.raises(KeyboardInterrupt), kept_interrupts():
        error = KeyboardInterrupt()
        for _ in range(depth):
            try:
                raise ImportError("initialization failed") from error
            except ImportError as found:
                error = found
        raise error


def test_other_errors_stay_what_they_are():
    with pytest.raises(ImportError, match="initialization failed"), kept_interrupts():
        raise ImportError("initialization failed") from ValueError("something else")
