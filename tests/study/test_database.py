import os
import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from study.tiny import SETTINGS, answer_one, answer_to, tiny_problem

from journeyman.errors import StudyError
from journeyman.inference import infer
from journeyman.learner import ActiveLearner
from journeyman.study import Study
from journeyman.study.database import APPLICATION_ID, SCHEMA_VERSION, create_file
from journeyman.study.recovery import recover

FIXTURES = Path(__file__).with_name("fixtures")


@pytest.fixture
def path(tmp_path):
    """A study with 6 answers, of which that to query 1 was taken back."""
    with Study.create(tmp_path / "a.study", tiny_problem(), num_threads=1, **SETTINGS) as study:
        for _ in range(6):
            answer_one(study)
        study.undo(1)
    return tmp_path / "a.study"


def change(path, *statements):
    """Change a study behind its back."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def test_promises_of_the_file(path):
    with Study.open(path) as study:
        connection = study._log._connection
        pragmas = ("journal_mode", "synchronous", "foreign_keys", "application_id", "user_version")
        found = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in pragmas]
        assert found == ["delete", 3, 1, APPLICATION_ID, SCHEMA_VERSION]  # 3 is EXTRA


def test_tables_follow_events(path):
    with Study.open(path) as study, closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT id, state, status FROM queries ORDER BY id").fetchall()
        assert rows == [(q.id, q.state, "failed" if q.id == 1 else "done") for q in study.queries]
        counted = connection.execute("SELECT answer FROM demonstrations WHERE undone_by IS NULL").fetchall()
        assert {int(answer) for (answer,) in counted} == set(study.answers) == {0, 2, 3, 4, 5}


@pytest.mark.parametrize("statement", ["UPDATE events SET payload = '{}'", "DELETE FROM events WHERE number = 12"])
def test_events_cannot_be_changed(path, statement):
    with pytest.raises(sqlite3.IntegrityError, match="events are only ever added"):
        change(path, statement)


def test_full_disk_loses_nothing(path):
    with Study.open(path, num_threads=1) as study:
        before = study.events
        connection = study._log._connection
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(StudyError, match=r"is full\. This was not stored, all before it is\. Free some space"):
            for _ in range(200):  # until the free room of the last pages is used up
                answer_one(study)
        connection.execute(f"PRAGMA max_page_count = {pages + 1000}")
        assert study.events[: len(before)] == before
        for waiting in study.pending:
            study.tell(waiting, answer_to(waiting))
        assert not study.pending
        kept = study.events
    with Study.open(path, num_threads=1) as again:
        assert again.events == kept


def test_read_only_file_is_explained(path):
    with Study.open(path, num_threads=1) as study:
        query = study.ask()
        study._log._connection.execute("PRAGMA query_only = ON")
        with pytest.raises(StudyError, match="must be in a place that can be written"):
            study.tell(query, 0)
        study._log._connection.execute("PRAGMA query_only = OFF")
        study.tell(query, 0)


def test_opened_for_reading(path):
    before = path.read_bytes()
    with Study.open(path, read_only=True, num_threads=1) as study:
        assert len(study.demonstrations) == 5
        assert study.certificate().num_samples > 0
        for attempt in (study.ask, lambda: study.tell(0, 0), lambda: study.undo(0)):
            with pytest.raises(StudyError, match="opened read-only"):
                attempt()
    assert path.read_bytes() == before


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anything")
def test_a_folder_that_cannot_be_written_is_read_all_the_same(path):
    path.parent.chmod(0o555)
    try:
        with pytest.raises(StudyError, match="must be in a place that can be written"):
            Study.open(path)
        with Study.open(path, read_only=True, num_threads=1) as study:
            assert len(study.demonstrations) == 5
    finally:
        path.parent.chmod(0o755)


def test_a_busy_file_is_waited_for_and_then_explained(path, monkeypatch):
    monkeypatch.setattr("journeyman.study.database.BUSY_SECONDS", 0.1)
    with Study.open(path, num_threads=1) as study, closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StudyError, match="must become free within 0 s"):
            study.undo(0)
        other.execute("ROLLBACK")
        study.undo(0)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "got a file without content"),
        (b"# a text file that is no study\n" * 100, "of another kind.* make a study: journeyman study new [^(]*$"),
        (b"S.G\n", "of another kind.* make a study: journeyman study new [^(]*$"),
        (None, "the study must exist"),
    ],
)
def test_what_is_no_study(tmp_path, content, message):
    path = tmp_path / "b.study"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(StudyError, match=message):
        Study.open(path)
    assert content is None or path.read_bytes() == content


def test_what_is_no_study_is_not_recovered(tmp_path):
    (tmp_path / "garden.txt").write_text("S.G\n")
    with pytest.raises(StudyError, match="of another kind"):
        recover(tmp_path / "garden.txt", tmp_path / "new.study", problem=tiny_problem())
    assert not (tmp_path / "new.study").exists()


@pytest.mark.parametrize(("start", "stop"), [(0, 16), (16, 24), (0, 512)])
def test_a_study_that_is_damaged_where_it_begins(path, start, stop):
    content = bytearray(path.read_bytes())
    content[start:stop] = bytes(stop - start)
    path.write_bytes(content)
    with pytest.raises(StudyError, match=r"is damaged where it begins, and was left as it is\. .* use a backup"):
        Study.open(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize("length", [72, 100, 4096])
def test_a_study_whose_beginning_was_overwritten_is_not_forgotten(path, length):
    content = bytearray(path.read_bytes())
    content[:length] = b"x" * length
    path.write_bytes(content)
    with pytest.raises(StudyError, match=r"If it was a study once, .* use a backup"):
        Study.open(path)
    assert path.read_bytes() == content


def test_another_sqlite_file(tmp_path):
    path = tmp_path / "other.db"
    change(path, "CREATE TABLE things (id INTEGER)")
    with pytest.raises(StudyError, match="got another kind of SQLite file"):
        Study.open(path)


def test_a_newer_schema(path):
    change(path, f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    with pytest.raises(StudyError, match=r"from a newer version\. Update journeyman"):
        Study.open(path)


DAMAGE = "UPDATE events SET payload = replace(payload, '\"steps\"', '\"stops\"') WHERE number = 5"


def test_a_changed_event_is_found_and_the_rest_recovered(path, tmp_path):
    change(path, "DROP TRIGGER events_are_never_changed", DAMAGE)
    with pytest.raises(StudyError, match=r"is damaged: event 5 must be .*journeyman study recover") as caught:
        Study.open(path)
    assert str(path) in str(caught.value)
    before = path.read_bytes()
    recovery = recover(path, tmp_path / "new.study")
    assert path.read_bytes() == before
    assert recovery.num_events == 5
    assert recovery.num_attached == 4  # queries 2 to 5; 0 and 1 are in their place
    assert "Event 5" in recovery.losses[0]
    with Study.open(tmp_path / "new.study", num_threads=1) as study:
        assert len(study.demonstrations) == 5  # the undo of query 1 came after the damage, and counts
        assert 1 not in study.answers
        answer_one(study)


def test_a_lost_problem_can_be_given(path, tmp_path):
    change(path, "UPDATE problem SET arrays = X'0102'")
    with pytest.raises(StudyError, match="is damaged: the problem must be as written"):
        Study.open(path)
    with pytest.raises(StudyError, match=r"--problem problem\.toml"):
        recover(path, tmp_path / "new.study")
    recovery = recover(path, tmp_path / "new.study", problem=tiny_problem())
    assert recovery.num_events == 13
    assert recovery.losses == ("The stored problem could not be read; the one that you gave is used.",)
    with Study.open(tmp_path / "new.study", num_threads=1) as study:
        assert len(study.demonstrations) == 5


def test_a_changed_copy_of_an_answer_changes_no_answer_that_is_recovered(path, tmp_path):
    """The table of demonstrations counts only for what happened after the damage."""
    change(
        path,
        "DROP TRIGGER events_are_never_changed",
        "UPDATE events SET payload = '{}' WHERE number = 11",
        "UPDATE demonstrations SET record = (SELECT record FROM demonstrations WHERE answer = '2') WHERE answer = '0'",
    )
    recover(path, tmp_path / "new.study")
    with Study.open(tmp_path / "new.study", num_threads=1) as study:
        assert study.answers[0].steps == answer_to(study.queries[0]).steps


@pytest.mark.parametrize("table", ["problem", "settings"])
def test_changed_problem_and_settings_are_noticed(path, tmp_path, table):
    """Though they are still valid: another beta or delta."""
    column, before, after = {"problem": ("facts", "2.0", "6.0"), "settings": ("record", "0.1", "0.7")}[table]
    change(path, f"UPDATE {table} SET {column} = replace({column}, '{before}', '{after}')")
    with pytest.raises(StudyError, match=f"is damaged: the {table} must be as written"):
        Study.open(path)
    if table == "settings":
        assert "The settings could not be read" in recover(path, tmp_path / "new.study").losses[0]
    else:
        with pytest.raises(StudyError, match="Give the one that it was made with"):
            recover(path, tmp_path / "new.study")


def test_a_study_that_was_not_finished_says_one_thing_to_do(tmp_path):
    path = tmp_path / "a.study"
    create_file(path).close()
    for read_only in (False, True):
        with pytest.raises(StudyError, match="Delete it, then make the study again") as told:
            Study.open(path, read_only=read_only)
        assert "recover" not in str(told.value)


def test_names_that_are_too_long_do_not_exist(tmp_path):
    with pytest.raises(StudyError, match="the study must exist"):
        Study.open(tmp_path / ("a" * 300))


def test_a_file_with_broken_pages_is_explained(path, tmp_path):
    data = bytearray(path.read_bytes())
    data[4096:] = bytes(len(data) - 4096)  # all but the first page
    path.write_bytes(data)
    with pytest.raises(StudyError, match=r"is damaged|could not be used"):
        Study.open(path)


def test_a_healthy_study_is_recovered_whole(path, tmp_path):
    recovery = recover(path, tmp_path / "new.study")
    assert (recovery.num_events, recovery.num_attached, recovery.losses) == (13, 0, ())
    with Study.open(path, num_threads=1) as old, Study.open(tmp_path / "new.study", num_threads=1) as new:
        assert new.events == old.events
        assert new.ask() == old.ask()


@pytest.mark.parametrize("fixture", sorted(FIXTURES.glob("*.study")), ids=lambda fixture: fixture.stem)
def test_studies_of_older_versions_open(fixture, tmp_path):
    path = tmp_path / "old.study"
    path.write_bytes(fixture.read_bytes())
    with Study.open(path, num_threads=1) as study:
        assert study.problem.mdp.num_states == 4
        assert [event.name for event in study.events] == ["ask", "tell", "ask", "tell", "attach", "undo", "ask"]
        assert {str(answer): item.steps for answer, item in study.answers.items()} == {
            "0": ((study.queries[0].state, 2),),
            "attached-0": ((study.queries[0].state, 1),),
        }
        assert study.answers[0].annotator == "ada"
        replayed = ActiveLearner.restore(study.problem, study.settings, study.events, None, num_threads=1)
        assert replayed.posterior().num_samples == study.posterior().num_samples
        study.tell(study.pending[0], 0)
        assert study.certificate().status in ("holds", "undecided", "fails", "refused")


def test_a_study_of_version_0_1_goes_on_from_what_it_knew(tmp_path):
    """Its particles move on by other random numbers than then, to the same posterior.

    100 particles in chains of 8 are worth 12 draws at least: 5 standard errors are 1.4 standard deviations.
    """
    path = tmp_path / "old.study"
    path.write_bytes((FIXTURES / "schema-1.study").read_bytes())
    with Study.open(path, num_threads=1) as study:
        study.tell(study.pending[0], 0)
        for _ in range(3):
            query = study.ask()
            assert query.visit == sum(other.state == query.state for other in study.queries[:-1])
            study.tell(query, query.id % 5)
        chains = infer(study.problem, study.demonstrations, "policywalk", sampler="hmc", num_draws=2000)
        error = (study.posterior().mean_parameters() - chains.mean_parameters()) / chains.parameter_std()
        assert abs(error).max() <= 5.0 / 12**0.5


def killed_study(folder):
    """A study of version 0.1 whose process was killed: all but its first page is in the log."""
    for name in ("wal.study", "wal.study-wal"):
        (folder / name).write_bytes((FIXTURES / "killed" / name).read_bytes())
    return folder / "wal.study"


def test_answers_in_the_log_of_version_0_1_are_taken_over(tmp_path):
    path = killed_study(tmp_path)
    with Study.open(path, num_threads=1) as study:
        assert {query: answer.steps[0][1] for query, answer in study.answers.items()} == {0: 1, 1: 4, 2: 2, 3: 0}
        assert [query.state for query in study.queries] == [1, 0, 0, 1]
        assert [query.visit for query in study.queries] == [0, 0, 1, 1]
        answer_one(study)
    assert [file.name for file in tmp_path.iterdir()] == ["wal.study"]  # one file again
    with Study.open(path, num_threads=1) as again:
        assert len(again.demonstrations) == 5


def test_a_study_that_version_0_1_has_open_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.setattr("journeyman.study.database.CONVERSION_SECONDS", 0.2)
    path = killed_study(tmp_path)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("SELECT count(*) FROM events").fetchone()
        with pytest.raises(StudyError, match=r"another process has it open, perhaps with version 0\.1"):
            Study.open(path)
        with Study.open(path, read_only=True, num_threads=1) as study:
            assert len(study.demonstrations) == 4
    with Study.open(path, num_threads=1) as study:
        assert len(study.demonstrations) == 4


def test_a_hard_link_is_read_but_not_written(path, tmp_path):
    link = tmp_path / "link.study"
    link.hardlink_to(path)
    for name, other in ((path, link), (link, path)):
        with pytest.raises(StudyError, match=f"got '{name}' and '{other}', .* Remove one of the two names, not both"):
            Study.open(name)
        with Study.open(name, read_only=True, num_threads=1) as study:
            assert len(study.demonstrations) == 5
    link.unlink()
    with Study.open(path, num_threads=1) as study:
        answer_one(study)


def test_a_hard_link_made_while_a_study_is_open_stops_writing(path, tmp_path, monkeypatch):
    link = tmp_path / "link.study"
    monkeypatch.chdir(path.parent)
    with Study.open(path.name, num_threads=1) as study:
        query = study.ask()
        monkeypatch.chdir("/")  # a study that was opened by a relative path is still checked
        link.hardlink_to(path)
        with pytest.raises(StudyError, match=r"not both; .* This was not stored, all before it is"):
            study.tell(query, 0)
        assert study.pending == (query,)
        link.unlink()
        study.tell(query, 0)


def test_a_hard_link_elsewhere_is_searched_for(path, tmp_path):
    (tmp_path / "backup").mkdir()
    (tmp_path / "backup" / "link.study").hardlink_to(path)
    with pytest.raises(StudyError, match=f"got '{path}' and another, .* The other: find / -samefile {path}"):
        Study.open(path)


def test_a_study_of_version_0_1_without_its_log_is_left_as_it_is(tmp_path):
    """Its answers come back with the log, which opening it must not have made useless."""
    path = killed_study(tmp_path)
    log, content = path.with_name(path.name + "-wal"), path.read_bytes()
    answers = log.read_bytes()
    log.unlink()
    for open_fn in (Study.open, partial(Study.open, read_only=True), lambda name: recover(name, tmp_path / "new")):
        with pytest.raises(StudyError, match=f"without '{path.name}-wal': that file may hold all its answers") as told:
            open_fn(path)
        assert "Delete" not in str(told.value)
        assert path.read_bytes() == content and [item.name for item in tmp_path.iterdir()] == [path.name]
    log.write_bytes(answers)
    with Study.open(path, num_threads=1) as study:
        assert len(study.demonstrations) == 4


def test_a_hard_link_to_a_study_of_version_0_1_is_not_even_read(tmp_path):
    """What was answered last may be in a log beside the other name."""
    path = killed_study(tmp_path)
    (tmp_path / "link.study").hardlink_to(path)
    for read_only in (False, True):
        with pytest.raises(StudyError, match="Remove one of the two names"):
            Study.open(tmp_path / "link.study", read_only=read_only)


def test_a_file_that_is_mounted_by_itself_is_read_but_not_written(tmp_path, monkeypatch):
    path = tmp_path / "my maze.study"
    with Study.create(path, tiny_problem(), num_threads=1, **SETTINGS) as study:
        answer_one(study)
    mounts = tmp_path / "mountinfo"
    place = str(path).replace(" ", "\\040")
    mounts.write_text(
        f"22 1 8:1 / / rw - ext4 /dev/sda1 rw\n99 22 8:1 /home/ada/maze.study {place} rw - ext4 /dev/sda1 rw\n"
    )
    monkeypatch.setattr("journeyman.study.database.MOUNTS", mounts)
    with pytest.raises(StudyError, match="Mount its folder instead"):
        Study.open(path)
    with Study.open(path, read_only=True, num_threads=1) as study:
        assert len(study.demonstrations) == 1
    mounts.write_text(f"22 1 8:1 / {path.parent} rw - ext4 /dev/sda1 rw\n")
    Study.open(path).close()


def test_a_symbolic_link_is_no_other_name(path, tmp_path):
    (tmp_path / "link.study").symlink_to(path)
    with Study.open(path, num_threads=1) as study, Study.open(tmp_path / "link.study", num_threads=1) as other:
        answer_one(study)
        answer_one(other)
        assert study.answers == other.answers


def test_damaged_pages_of_snapshots_only_cost_time(path):
    """Where SQLite itself cannot read a snapshot, everything is replayed."""
    with Study.open(path, num_threads=1) as study:
        expected = study.scores().values.tolist()
        study.save_snapshot()
        (root,) = study._log._connection.execute(
            "SELECT rootpage FROM sqlite_schema WHERE name = 'snapshots'"
        ).fetchone()
    data = bytearray(path.read_bytes())
    data[(root - 1) * 4096 : root * 4096] = b"\xff" * 4096
    path.write_bytes(data)
    with Study.open(path, read_only=True, num_threads=1) as study:
        assert study.scores().values.tolist() == expected


def test_there_is_a_fixture_of_this_schema():
    assert (FIXTURES / f"schema-{SCHEMA_VERSION}.study").exists()
