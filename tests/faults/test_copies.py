"""Studies that are copied while they are written, of other versions, long ones, and clocks that go back."""

import os
import resource
import shutil
import sqlite3
import statistics
import subprocess
import sys
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from cli.command import command
from experiment.small import assert_same_tables, tiny_sweep
from faults.forking import forker_of, until
from faults.matrix import attack
from study.tiny import SETTINGS, answer_one, tiny_problem

from journeyman.errors import StudyError
from journeyman.experiment import run_sweep, sweep_table
from journeyman.learner import ActiveLearner
from journeyman.study import Study, database, store

PROCESS = "study.answering_process"
forker = forker_of(PROCESS)
FIXTURES = Path(__file__).parents[1] / "study" / "fixtures"


@pytest.fixture
def written(forker, tmp_path):
    """A study that another process writes to all the time, and the file of what it acknowledged."""
    path, told = tmp_path / "a.study", tmp_path / "told"
    Study.create(path, tiny_problem(), num_threads=1, **SETTINGS).close()
    running = forker.start(PROCESS, tmp_path / "log", path=str(path), acknowledged=str(told))
    until(lambda: told.exists() and told.stat().st_size, "it has answered")
    yield path, told
    running.kill()
    running.wait()


def events_of(path):
    with Study.open(path, num_threads=1) as study:
        return study.events


@attack("copied")
def test_a_study_that_is_copied_while_it_is_written(written, tmp_path, times):
    path, _ = written
    rng, copy, found = np.random.default_rng(times), tmp_path / "copy.study", []
    for _ in range(times):
        time.sleep(rng.uniform(0.0, 0.03))
        shutil.copyfile(path, copy)
        try:
            found.append(events_of(copy))
        except StudyError as error:
            assert "damaged" in str(error) or "without content" in str(error), error
        for suffix in ("", "-journal"):
            copy.with_name(copy.name + suffix).unlink(missing_ok=True)
    now = events_of(path)
    assert found and all(events == now[: len(events)] for events in found)


@attack("backup")
def test_a_study_that_is_backed_up_while_it_is_written(written, tmp_path, times):
    path, told = written
    for number in range(times):
        acknowledged = {int(line) for line in told.read_text().split("\n")[:-1]}
        copy = tmp_path / f"copy-{number}.study"
        with Study.open(path, read_only=True) as study:
            study.backup(copy)
            identity = study.identity
        with Study.open(copy, num_threads=1) as study:
            assert acknowledged <= set(study.answers)
            assert study.identity == identity
            answer_one(study)
        with closing(sqlite3.connect(copy)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        copy.unlink()
    assert not list(tmp_path.glob(".*.part*"))


def test_a_backup_by_command(tmp_path, monkeypatch, capsys):
    run = command(monkeypatch, capsys, "study")
    with Study.create(tmp_path / "a.study", tiny_problem(), num_threads=1, **SETTINGS) as study:
        answer_one(study)
    copy = tmp_path / "b.study"
    code, out, err = run("backup", tmp_path / "a.study", copy)
    assert (code, err) == (0, "") and out.endswith("b.study: 1 answer.\n")
    code, out, err = run("backup", tmp_path / "a.study", copy)
    assert (code, out) == (1, "") and "must not overwrite a file" in err
    code, out, err = run("report", ".")
    assert (code, out) == (1, "") and "must end in .html" in err


def test_a_backup_overwrites_nothing(tmp_path):
    with Study.create(tmp_path / "a.study", tiny_problem(), num_threads=1, **SETTINGS) as study:
        for name in ("a.study", "b.txt"):
            (tmp_path / "b.txt").write_text("mine")
            with pytest.raises(StudyError, match="must not overwrite a file"):
                study.backup(tmp_path / name)
        with pytest.raises(StudyError, match="the folder of a study must exist"):
            study.backup(tmp_path / "none" / "b.study")
    assert (tmp_path / "b.txt").read_text() == "mine"


def test_another_opening_in_one_process_does_not_end_the_locks_of_the_first(tmp_path):
    path = tmp_path / "a.study"
    program = "import sqlite3, sys\nsqlite3.connect(sys.argv[1], timeout=0).execute('BEGIN IMMEDIATE')"

    def may_another_process_write():
        done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True)
        assert done.returncode == 0 or "database is locked" in done.stderr
        return done.returncode == 0

    num_open = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else None
    with Study.create(path, tiny_problem(), num_threads=1, **SETTINGS) as study:
        study._connection.execute("BEGIN IMMEDIATE")
        Study.open(path, read_only=True).close()
        assert not may_another_process_write()
        study._connection.execute("ROLLBACK")
        assert may_another_process_write()
    assert num_open is None or len(os.listdir("/proc/self/fd")) == num_open


@attack("newer")
def test_a_study_of_a_newer_version(tmp_path, times):
    path = tmp_path / "a.study"
    Study.create(path, tiny_problem(), num_threads=1, **SETTINGS).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {database.SCHEMA_VERSION + 1}")
    before = path.read_bytes()
    for is_read_only in (False, True):
        with pytest.raises(StudyError, match=r"from a newer version\. Update journeyman"):
            Study.open(path, read_only=is_read_only)
    assert path.read_bytes() == before


@attack("older")
def test_studies_of_older_versions(tmp_path, times):
    """Read as they are without a change; brought up to date, they hold the same, and are sealed."""
    for fixture in sorted(FIXTURES.glob("*.study")):
        path = tmp_path / fixture.name
        path.write_bytes(fixture.read_bytes())
        with Study.open(path, read_only=True, num_threads=1) as study:
            before = study.events, study.answers, study.identity
        assert path.read_bytes() == fixture.read_bytes()
        with Study.open(path, num_threads=1) as study:
            assert (study.events, study.answers, study.identity) == before
            assert len(study.answers) == 2
            answer_one(study)
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            assert connection.execute("PRAGMA user_version").fetchone() == (database.SCHEMA_VERSION,)
            connection.execute("""UPDATE settings SET record = replace(record, '"delta":0.1', '"delta":0.9')""")
        with pytest.raises(StudyError, match="the settings must be as written"):
            Study.open(path)


@attack("old-program")
def test_an_older_program_on_a_study_of_now(tmp_path, monkeypatch, times):
    """Every version compares the number of migrations that it knows; this does it with the numbers of older ones."""
    path = tmp_path / "a.study"
    Study.create(path, tiny_problem(), num_threads=1, **SETTINGS).close()
    before = path.read_bytes()
    for version in range(1, database.SCHEMA_VERSION):
        monkeypatch.setattr(database, "SCHEMA_VERSION", version)
        with pytest.raises(StudyError, match="from a newer version"):
            Study.open(path)
    assert path.read_bytes() == before


class BackwardClock(datetime):
    """A clock that goes back, by an hour or so at each look."""

    rng = np.random.default_rng(0)
    at = datetime(2026, 3, 1, tzinfo=UTC)

    @classmethod
    def now(cls, tz=None):
        cls.at -= timedelta(seconds=float(cls.rng.uniform(0.0, 7200.0)))
        return cls.at.astimezone(tz)


@attack("clock")
def test_a_clock_that_goes_back(tmp_path, monkeypatch, times):
    """What happened is in the order in which it happened, and the same is asked as by a right clock."""
    monkeypatch.setattr(store, "datetime", BackwardClock)
    monkeypatch.setattr("journeyman.study.study.datetime", BackwardClock)
    path = tmp_path / "a.study"
    with Study.create(path, tiny_problem(), num_threads=1, **SETTINGS) as study:
        for number in range(times):
            query = answer_one(study)
            if number % 3 == 1:
                study.undo(query)
        events = study.events
        stamps = [store.read_times(study._connection)]
    assert stamps[0] == sorted(stamps[0], reverse=True)
    with Study.open(path, num_threads=1) as study:
        assert study.events == events and [event.number for event in events] == list(range(len(events)))
        replayed = ActiveLearner.restore(study.problem, study.settings, events, None, num_threads=1)
        assert study.ask() == replayed.ask()


def test_a_clock_that_goes_back_between_runs_of_a_sweep(tmp_path):
    sweep = tiny_sweep(steps=2)
    run_sweep(sweep, tmp_path, progress=False)
    expected = sweep_table(sweep, tmp_path)
    leftover = tmp_path / "results" / ".x.00000000.part"
    leftover.write_text("half")
    for place in tmp_path.rglob("*"):
        os.utime(place, (4e9, 4e9))  # in the future
    assert run_sweep(sweep, tmp_path, progress=False).num_new == 0
    assert_same_tables(sweep_table(sweep, tmp_path), expected)
    assert leftover.exists()  # somebody may be writing it


def seconds_of(do_fn):
    begin = time.perf_counter()
    do_fn()
    return time.perf_counter() - begin


@attack("long")
def test_a_study_of_2000_answers(tmp_path, times):
    path, count = tmp_path / "a.study", 2000
    with Study.create(path, tiny_problem(), num_threads=1, **SETTINGS, acquisition="random") as study:
        queries = (*study.ask_batch(count // 2), *study.ask_batch(count // 2))
        tells, memory = [], []
        for query in queries:
            tells.append(seconds_of(lambda asked=query: study.tell(asked, 0 if asked.id % 10 else 1)))
            memory.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0)
        study.posterior()
    first, last = statistics.median(tells[:200]), statistics.median(tells[-200:])
    assert last < 0.1 + 10.0 * first, (first, last)
    assert memory[-1] - memory[count // 2] < 50.0, memory[:: count // 8]
    opened = seconds_of(lambda: Study.open(path, num_threads=1).close())
    with Study.open(path, num_threads=1) as study:
        assert len(study.answers) == count
        asked, told = seconds_of(study.ask), seconds_of(lambda: answer_one(study))
    print(f"tell {first:.4f} to {last:.4f} s, open {opened:.2f} s, ask {asked:.2f} s, tell {told:.3f} s")
    assert opened < 10.0 and asked < 20.0 and told < 5.0
    assert path.stat().st_size < 30e6
