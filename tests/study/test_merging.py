"""Answers come from copies of a study, each once: matched by question, conflicts shown, nothing doubled."""

import shutil
from collections import Counter
from contextlib import suppress

import numpy as np
import pytest
from study.tiny import SETTINGS, answer_one, answer_to, tiny_problem

from journeyman.demonstrations import Demonstration
from journeyman.errors import InputError, StudyError
from journeyman.study import Study, store
from journeyman.study.formats import write_demonstrations
from journeyman.study.merging import KINDS


@pytest.fixture
def ours(tmp_path):
    """A study with two answers and two questions that wait."""
    with Study.create(tmp_path / "ours.study", tiny_problem(), num_threads=1, **SETTINGS) as study:
        for query in study.ask_batch(4)[:2]:
            study.tell(query, answer_to(query), annotator="ada")
        yield study


@pytest.fixture
def copied(ours, tmp_path):
    """Return a function that makes a copy of the file as it is now."""

    def copy(name="theirs.study"):
        shutil.copyfile(ours.path, tmp_path / name)
        return Study.open(tmp_path / name, num_threads=1)

    return copy


def answers_of(study):
    """The answers that count, whatever their ids."""
    items = study.demonstrations
    return Counter((item.steps, item.final_state, item.ended, item.annotator) for item in items)


def counts(report):
    return {kind: report.count(kind) for kind in KINDS if report.count(kind)}


def test_a_colleagues_answer_reaches_the_question_that_waits(ours, copied):
    """Defect 2: the old data were doubled, and the question still waited."""
    with copied() as theirs:
        theirs.tell(2, answer_to(theirs.queries[2]), annotator="bob")
    report = ours.merge(theirs.path)
    assert counts(report) == {"told": 1, "duplicate": 2}
    assert [query.id for query in ours.pending] == [3]
    assert (len(ours.answers), ours.answers[2].annotator, ours.answers[2].query_id) == (3, "bob", 2)
    assert ours.posterior().counts.sum() == 3
    before = ours.events
    again = ours.merge(theirs.path)
    assert (counts(again), again.num_events, ours.events) == ({"duplicate": 3}, 0, before)


@pytest.mark.parametrize("suffix", [".jsonl", ".csv"])
def test_an_export_of_a_copy_will_do(ours, copied, tmp_path, suffix):
    """Defect 2, as it happened: he told a question in a copy and exported it."""
    place = tmp_path / f"answers{suffix}"
    with copied() as theirs:
        theirs.tell(2, answer_to(theirs.queries[2]), annotator="bob")
        theirs.attach(Demonstration.annotation(theirs.queries[0].state, 0))
        extra = theirs.ask()
        theirs.tell(extra, answer_to(extra))
        write_demonstrations(theirs.demonstrations, place, theirs.problem)
        wanted = answers_of(theirs)
    assert counts(ours.merge(place)) == {"told": 1, "attached": 2, "duplicate": 2}
    assert answers_of(ours) == wanted
    assert ours.answers[2].query_id == 2
    assert ours.merge(place).num_events == 0
    assert ours.merge(theirs.path).num_events == 0  # the copy itself brings nothing more


def test_questions_of_the_copy_are_taken_over_with_their_answers(ours, copied):
    with copied() as theirs:
        for _ in range(2):
            answer_one(theirs)
        new = theirs.ask_batch(3)  # 4, 5, 6
        theirs.tell(new[2], answer_to(new[2]), annotator="bob")
        theirs.attach([Demonstration.annotation(new[0].state, 1, annotator="eve")] * 2)
    ours.fail(3)
    own = ours.ask()  # 4, in another situation than their 4, or it would be the same question
    ours.tell(own, answer_to(own))
    report = ours.merge(theirs.path)
    assert report.count("taken_over") == 1 and report.count("attached") == 2
    (item,) = [item for item in report.items if item.kind == "taken_over"]
    taken = ours.queries[item.answer]
    assert (taken.state, taken.kind, taken.text) == (new[2].state, new[2].kind, new[2].text)
    assert (ours.answers[taken.id].annotator, ours.answers[taken.id].query_id) == ("bob", taken.id)
    assert ours.status_of(3) == "done"  # it failed here, and was answered there
    before = ours.events
    assert ours.merge([theirs.path, theirs.path]).num_events == 0
    assert ours.events == before
    ours.close()
    with Study.open(ours.path, num_threads=1) as again:
        assert again.events == before and again.ask() is not None


def test_comments_come_along_with_their_questions(ours, copied):
    def comments(study):
        return study.look(lambda file: file.execute("SELECT query_id, annotator, text FROM comments").fetchall())

    def say(study, *rows):
        study.keep(lambda file, _: file.executemany("INSERT INTO comments VALUES (?, ?, ?, 'now')", rows) and ())

    with copied() as theirs:
        (new,) = theirs.ask_batch(1)
        theirs.tell(new, answer_to(new), annotator="bob")
        say(theirs, (0, "ada", "changed there"), (2, "bob", "slippery"), (new.id, "bob", "odd"))
    own = ours.ask()
    ours.tell(own, answer_to(own))
    say(ours, (0, "ada", "as it is here"))
    report = ours.merge(theirs.path)
    taken = next((item.answer for item in report.items if item.kind == "taken_over"), own.id)
    expected = {(0, "ada", "as it is here"), (2, "bob", "slippery"), (taken, "bob", "odd")}
    assert set(comments(ours)) == expected
    ours.merge(theirs.path)
    assert set(comments(ours)) == expected


def test_both_ways_give_the_same_answers(ours, copied, tmp_path):
    """Merging A into B and B into A give the same set of answers, and a third merge changes nothing."""
    both = Demonstration(0, ((0, 0), (0, 0)), 0, "truncated")
    with copied() as theirs:
        theirs.tell(2, answer_to(theirs.queries[2]))
        theirs.correct(0, (answer_to(theirs.queries[0]).steps[0][1] + 1) % 5)
        theirs.undo(1)
        for _ in range(2):
            answer_one(theirs)
        theirs.attach(Demonstration.annotation(theirs.queries[0].state, 3))
        theirs.attach(both)
        ours.tell(3, answer_to(ours.queries[3]))
        query = ours.ask()
        ours.tell(query, (answer_to(query).steps[0][1] + 2) % 5, annotator="ada")
        ours.attach([Demonstration.annotation(ours.queries[1].state, 2), both])
        shutil.copyfile(ours.path, tmp_path / "a.study")
        shutil.copyfile(theirs.path, tmp_path / "b.study")
    for prefer, other in (("ours", "theirs"), ("theirs", "ours")):
        shutil.copyfile(tmp_path / "a.study", tmp_path / "a1.study")
        shutil.copyfile(tmp_path / "b.study", tmp_path / "b1.study")
        with Study.open(tmp_path / "a1.study", num_threads=1) as a, Study.open(tmp_path / "b1.study") as b:
            a.merge(tmp_path / "b.study", prefer=prefer)
            b.merge(tmp_path / "a.study", prefer=other)
            assert answers_of(a) == answers_of(b)
            assert answers_of(a)[(both.steps, both.final_state, both.ended, None)] == 1
            a.merge(tmp_path / "b1.study", prefer="ours")
            b.merge(tmp_path / "a1.study", prefer="ours")
            assert answers_of(a) == answers_of(b)


def test_a_conflict_is_shown_and_refused_until_somebody_decides(ours, copied):
    state = ours.problem.mdp.state_name(ours.queries[2].state)
    with copied() as theirs:
        theirs.tell(2, 1, annotator="bob")
        theirs.tell(3, 1)
    ours.tell(2, 2, annotator="ada")
    before = ours.events
    with pytest.raises(
        InputError, match=rf"question 2 \(state {state}\): here right by ada, in theirs.study up by bob"
    ):
        ours.merge(theirs.path)
    assert ours.events == before  # all or nothing: question 3 was not told either
    dry = ours.merge(theirs.path, dry_run=True)
    assert (dry.is_dry_run, counts(dry), ours.events) == (True, {"told": 1, "duplicate": 2, "conflict": 1}, before)
    assert "nothing was changed" in dry.text(ours.problem)
    report = ours.merge(theirs.path, prefer="theirs")
    assert report.conflicts[0].resolved == "theirs"
    assert (ours.answers[2].steps[0][1], ours.answers[2].annotator) == (1, "bob")
    assert ours.merge(theirs.path).num_events == 0


def test_who_has_changed_nothing_since_is_no_conflict(ours, copied):
    """A correction on one side alone counts, whichever way it is merged."""
    with copied() as old:
        pass
    ours.correct(0, (ours.answers[0].steps[0][1] + 1) % 5)
    ours.undo(1)
    right = ours.answers[0].steps
    assert counts(ours.merge(old.path)) == {"kept": 2}
    with Study.open(old.path, num_threads=1) as theirs:
        assert counts(theirs.merge(ours.path)) == {"corrected": 1, "taken_back": 1}
        assert theirs.answers[0].steps == right and 1 not in theirs.answers
        assert theirs.answers[0].annotator == "ada"


def test_two_who_ask_alike_have_asked_the_same(ours, copied):
    """Copies that ask next choose the same question: its answer counts once."""
    for _ in range(2):
        answer_one(ours)
    with copied() as theirs:
        query = theirs.ask()
        theirs.tell(query, 1, annotator="bob")
    assert ours.ask() == query
    assert counts(ours.merge(theirs.path)) == {"told": 1, "duplicate": 4}
    assert len(ours.queries) == len(theirs_queries(theirs))


def theirs_queries(study):
    with Study.open(study.path, read_only=True) as again:
        return again.queries


def test_duplicates_of_attached_data_can_be_counted(ours, copied):
    path = Demonstration(0, ((0, 0), (0, 0)), 0, "truncated")
    with copied() as theirs:
        theirs.attach(path)
    ours.fail(3)  # or the two would be one and the same event
    ours.attach(path)
    assert counts(ours.merge(theirs.path)) == {"duplicate": 3}
    assert counts(ours.merge(theirs.path, allow_duplicates=True)) == {"duplicate": 2, "attached": 1}
    assert ours.merge(theirs.path, allow_duplicates=True).num_events == 0


def test_a_merge_that_is_stopped_half_way_leaves_nothing(ours, copied, monkeypatch):
    with copied() as theirs:
        for _ in range(2):
            answer_one(theirs)
    before, append = ours.events, store.append_event

    def stop(connection, event, *arguments):
        if event.number > len(before):
            raise KeyboardInterrupt
        return append(connection, event, *arguments)

    monkeypatch.setattr(store, "append_event", stop)
    with pytest.raises(KeyboardInterrupt):
        ours.merge(theirs.path)
    monkeypatch.undo()
    assert ours.events == before
    with Study.open(ours.path, num_threads=1) as again:
        assert again.events == before
    assert counts(ours.merge(theirs.path)) == {"told": 2, "duplicate": 2}


def test_another_study_is_no_copy(ours, tmp_path):
    with Study.create(tmp_path / "other.study", tiny_problem(), num_threads=1, **SETTINGS) as other:
        answer_one(other)
    with pytest.raises(StudyError, match=r"must be of this study to be merged, got .*other\.study"):
        ours.merge(other.path)
    with pytest.raises(InputError, match="prefer must be one of"):
        ours.merge(other.path, prefer="mine")
    with pytest.raises(InputError, match="that can be read"):
        ours.merge(tmp_path / "none.csv")


def test_answers_of_a_clone_can_be_merged_back(ours, tmp_path):
    ours.change_settings(max_samples=500)
    ours.clone(tmp_path / "clone.study", epsilon=0.3)
    with Study.open(tmp_path / "clone.study", num_threads=1) as clone:
        clone.tell(2, answer_to(clone.queries[2]))
    assert counts(ours.merge(tmp_path / "clone.study")) == {"told": 1, "duplicate": 2}


def test_copies_of_older_versions_can_be_merged(tmp_path):
    """Their identity follows from how they were made; what they hold is only read."""
    from study.test_database import FIXTURES

    for name in ("ours", "theirs"):
        shutil.copyfile(FIXTURES / "schema-2.study", tmp_path / f"{name}.study")
    content = (tmp_path / "theirs.study").read_bytes()
    with Study.open(tmp_path / "ours.study", num_threads=1) as study:
        study.tell(study.pending[0], 1)
        assert counts(study.merge(tmp_path / "theirs.study")) == {"duplicate": 2}
        assert study.identity == study.overview().identity
    assert (tmp_path / "theirs.study").read_bytes() == content


def tried(study, rng, who):
    """Let somebody do something at random; what cannot be done is not done."""
    name = rng.choice(["ask", "tell", "tell", "attach", "path", "undo", "correct", "fail", "set"])
    answers, pending = list(study.answers), study.pending
    state = int(np.flatnonzero(study.problem.queryable)[0])
    with suppress(InputError):
        if name == "ask":
            study.ask_batch(int(rng.integers(1, 3)))
        elif name == "tell" and pending:
            study.tell(pending[int(rng.integers(len(pending)))], int(rng.integers(3)), annotator=who)
        elif name == "attach":
            study.attach(Demonstration.annotation(state, int(rng.integers(3))))
        elif name == "path":
            study.attach(Demonstration(state, ((state, 0),) * int(rng.integers(2, 4)), state, "truncated"))
        elif name in ("undo", "correct") and answers:
            chosen = answers[int(rng.integers(len(answers)))]
            study.undo(chosen) if name == "undo" else study.correct(chosen, int(rng.integers(4)))
        elif name == "fail" and pending:
            study.fail(pending[0])
        elif name == "set":
            study.change_settings(max_samples=int(rng.integers(100, 999)))


@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(3, 40))])
def test_whatever_two_people_do_both_ways_give_the_same_answers(tmp_path, seed):
    """And merging again changes nothing, whoever is preferred."""
    rng = np.random.default_rng(seed)
    settings = {"inference_options": {"num_particles": 100}, "acquisition": "random", "num_threads": 1}
    with Study.create(tmp_path / "a.study", tiny_problem(), **settings) as study:
        for _ in range(6):
            tried(study, rng, "ada")
    shutil.copyfile(tmp_path / "a.study", tmp_path / "b.study")
    for name, who in (("a", "ada"), ("b", "bob")):
        with Study.open(tmp_path / f"{name}.study", num_threads=1) as study:
            for _ in range(8):
                tried(study, rng, who)
        shutil.copyfile(tmp_path / f"{name}.study", tmp_path / f"{name}0.study")
    prefer, other = rng.permutation(["ours", "theirs"]).tolist()
    with Study.open(tmp_path / "a.study") as a, Study.open(tmp_path / "b.study") as b:
        a.merge(tmp_path / "b0.study", prefer=prefer)
        b.merge(tmp_path / "a0.study", prefer=other)
        # Who gave an answer that both gave is not compared: each keeps the one that was there.
        a_steps, b_steps = (sorted(item.steps for item in study.demonstrations) for study in (a, b))
        assert a_steps == b_steps
        assert a.merge(tmp_path / "b0.study", prefer=prefer).num_events == 0
        assert a.merge(tmp_path / "b.study", prefer="ours").num_events == 0
        assert sorted(item.steps for item in a.demonstrations) == a_steps
