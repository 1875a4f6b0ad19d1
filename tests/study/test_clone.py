"""Corrections, changed settings and clones are kept in the file; what is known of the certificate too."""

import sqlite3
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from study.tiny import SETTINGS, answer_one, answer_to, tiny_problem

from journeyman.demonstrations import Demonstration
from journeyman.errors import InputError, StudyError
from journeyman.learner import ActiveLearner
from journeyman.study import Study
from journeyman.study.recovery import recover
from journeyman.worlds import make_world


@pytest.fixture
def study(tmp_path):
    with Study.create(tmp_path / "a.study", tiny_problem(), num_threads=1, **SETTINGS) as found:
        for _ in range(3):
            answer_one(found)
        yield found


def test_a_correction_is_kept_with_its_question(study):
    """Friction 6: who corrects a slip need not undo and attach."""
    old = study.answers[1]
    study.correct(1, (old.steps[0][1] + 1) % 5, annotator="ada")
    study.close()
    with Study.open(study.path, num_threads=1) as again:
        assert (again.answers[1].query_id, again.answers[1].annotator) == (1, "ada")
        names = [event.name for event in again.events]
        assert names[-1] == "correct" and names.count("tell") == 3  # history keeps both
        assert Demonstration.from_record(again.events[3].payload["demonstration"]) == old
    with closing(sqlite3.connect(study.path)) as file:
        rows = file.execute("SELECT answer, event_number, undone_by FROM demonstrations ORDER BY rowid").fetchall()
    assert rows == [("0", 1, None), ("1", 6, None), ("2", 5, None)]


def test_a_correction_after_the_damage_is_recovered(study, tmp_path):
    study.correct(1, (study.answers[1].steps[0][1] + 1) % 5)
    right = study.answers[1].steps
    study.close()
    with closing(sqlite3.connect(study.path, isolation_level=None)) as file:
        file.execute("DROP TRIGGER events_are_never_changed")
        file.execute("UPDATE events SET payload = '{' WHERE number = 6")
    recover(study.path, tmp_path / "new.study")
    with Study.open(tmp_path / "new.study", num_threads=1) as again:
        assert again.answers[1].steps == right
        assert again.identity == study.identity


def test_settings_that_cost_computing_are_changed_in_place(study):
    """Friction 4: settings were fixed for life."""
    study.posterior()
    study.save_snapshot()  # of the old posterior
    study.change_settings(num_particles=200, max_samples=300)
    with Study.open(study.path, num_threads=1) as other:  # as after a crash: nothing was closed
        assert other.settings == study.settings
        assert (other.settings.max_samples, other.settings.inference_options) == (300, {"num_particles": 200})
        assert np.array_equal(other.posterior().theta, study.posterior().theta)
        assert other.posterior().num_samples == 200
        assert [step.name for step in other.history()] == ["start", "tell", "tell", "tell", "set"]
        assert other.overview().settings.max_samples == 300
    first = study._log.first_settings
    replayed = ActiveLearner.restore(study.problem, first, study.events, None, num_threads=1)
    assert replayed.ask() == study.ask()
    with pytest.raises(InputError, match=r"got 'delta'\. Make a copy that has it: clone\(delta=\.\.\.\)"):
        study.change_settings(delta=0.2)


def test_an_open_study_sees_what_another_process_has_set(study):
    with Study.open(study.path, num_threads=1) as other:
        other.change_settings(max_samples=100)
    assert study.settings.max_samples == 100
    assert study.learner().settings.max_samples == 100


def test_a_clone_has_the_same_data_and_other_settings(study, tmp_path):
    study.attach(Demonstration.annotation(study.queries[0].state, 1, annotator="eve"))
    study.undo(1)
    study.change_settings(max_samples=400)
    study.correct(2, (study.answers[2].steps[0][1] + 1) % 5)
    waiting = study.ask()
    study.clone(tmp_path / "b.study", epsilon=0.3, goal="reward", inference_options={"num_particles": 150})
    with Study.open(tmp_path / "b.study", num_threads=1) as clone:
        settings = clone.settings
        assert (settings.epsilon, settings.goal, settings.max_samples, settings.seed) == (0.3, "reward", 400, 5)
        assert settings.acquisition == "reward_eig"  # nobody had chosen one: that of the new goal
        assert (clone.answers, clone.pending, clone.queries) == (study.answers, (waiting,), study.queries)
        assert [event.name for event in clone.events] == [e.name for e in study.events if e.name != "set"]
        assert clone.identity == study.identity
        assert clone.posterior().num_samples == 150
        clone.tell(waiting, answer_to(waiting))
    assert waiting in study.pending  # a study of its own
    with closing(sqlite3.connect(study.path)) as a, closing(sqlite3.connect(tmp_path / "b.study")) as b:
        times = [[row for row in file.execute("SELECT name, recorded_at FROM events")] for file in (a, b)]
    assert [row for row in times[0] if row[0] != "set"] == times[1][:-1]


def test_a_clone_may_have_another_prior_or_beta(study, tmp_path):
    study.clone(tmp_path / "b.study", problem=replace(study.problem, expert=0.5))
    with Study.open(tmp_path / "b.study", num_threads=1) as clone:
        assert (clone.problem.beta, clone.answers) == (0.5, study.answers)
        assert clone.settings == study.settings
    with pytest.raises(InputError, match=r"must have the states of its study, whose answers it takes over: 4, got 2"):
        study.clone(tmp_path / "c.study", problem=make_world("lopes-two-state", 0).problem)
    turned = replace(study.problem.mdp, action_labels=("stay", "up", "left", "down", "right"))
    with pytest.raises(InputError, match="got action 2, which is 'right' in the study and 'left' in the problem"):
        study.clone(tmp_path / "c.study", problem=replace(study.problem, mdp=turned))
    assert not (tmp_path / "c.study").exists()


def test_a_clone_never_overwrites_and_leaves_nothing_half_made(study, tmp_path):
    with pytest.raises(StudyError, match="must not overwrite"):
        study.clone(study.path)
    with pytest.raises(InputError, match="must get options it knows"):
        study.clone(tmp_path / "b.study", epsilom=3)
    with pytest.raises(InputError, match="epsilon must be"):
        study.clone(tmp_path / "b.study", epsilon=-1)
    assert not (tmp_path / "b.study").exists()


def test_it_is_kept_that_the_certificate_holds(tmp_path):
    with Study.create(tmp_path / "e.study", tiny_problem(), epsilon=1e3, num_threads=1, **SETTINGS) as study:
        assert study.verdict() is None
        assert study.certificate().holds
        assert study.verdict() == (False, False)
        assert study.confirmation().holds
    with Study.open(tmp_path / "e.study", num_threads=1) as study:
        assert study.verdict() == (True, False)
        assert study._learner is None  # no inference
        answer_one(study)
        assert study.verdict() is None


def test_studies_have_identities(study, tmp_path):
    with Study.create(tmp_path / "b.study", tiny_problem(), **SETTINGS) as other:
        assert other.identity != study.identity
    with Study.open(study.path, read_only=True) as again:
        assert again.identity == study.identity
