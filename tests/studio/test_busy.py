"""Another program holds the study file: nobody waits for that longer than a moment, and nothing is lost."""

import sqlite3
import time
from contextlib import contextmanager

import pytest
from studio.running import Person, running, until

from journeyman.studio import app
from journeyman.study import Study

SOON = 3.0  # seconds, on a machine that does other things too; a study that is not asked quickly waits for 60


@contextmanager
def holding(path):
    """Hold the file of a study as another program that writes for a long time."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN EXCLUSIVE")
    try:
        yield
    finally:
        connection.rollback()
        connection.close()


def timed(look_fn):
    begin = time.monotonic()
    found = look_fn()
    assert time.monotonic() - begin < SOON
    return found


def test_a_study_that_is_open_is_shown_as_it_was_last_seen(ada, grid):
    before = ada.served.request("GET", "/api/studies/grid").json()
    with holding(grid):
        assert timed(lambda: ada.served.request("GET", "/api/studies/grid")).json() == before
        for what in ("history", "belief", "certificate", "status"):
            assert timed(lambda what=what: ada.get(what)).status_code == 200
        now = timed(lambda: ada.get("question")).json()
        assert (now["question"], now["state"]) == (None, "preparing")
        assert "Another program is using the file of the study 'grid'" in now["message"]
        assert timed(lambda: ada.get("question")).json() == now  # however often it is asked
    assert until(ada.question, 10)["id"] == 0


def test_a_study_that_is_not_open_yet_says_why_it_cannot_be_and_to_ask_again(grid):
    with running(None, folder=grid.parent, lists_folder=True) as served:
        with holding(grid):
            response = timed(lambda: served.request("GET", "/api/studies/grid"))
            assert response.status_code == 503
            assert response.json()["error"]["code"] == "unavailable"
            assert "Another program is using" in response.json()["error"]["message"]
            assert int(response.headers["retry-after"]) >= 1
        assert served.request("GET", "/api/studies/grid").status_code == 200


def test_an_answer_that_cannot_be_stored_yet_is_kept_once_it_can(ada, grid, monkeypatch):
    monkeypatch.setattr(app, "ACKNOWLEDGED", 0.5)
    question = ada.question()["id"]
    with holding(grid):
        response = timed(lambda: ada.post("answer", question=question, action=2))
        assert response.status_code == 503
    again = until(lambda: (found := ada.post("answer", question=question, action=2)).status_code == 200 and found, 20)
    assert again.json()["num_answers"] == 1
    with Study.open(grid, read_only=True) as study:
        assert len(study.answers) == 1


@pytest.mark.parametrize("has_page", [True, False])
def test_a_question_of_somebody_who_left_is_given_to_others(ada, ben, monkeypatch, has_page):
    session = ada.served.studio.sessions["grid"]
    mine = ada.question()["id"]
    for _ in range(11):  # all that wait but ada's
        ben.post("answer", question=ben.question()["id"], action=1)
    assert ben.question() is None  # she may come back
    if has_page:
        session.hub.people[0] = "ada"
    monkeypatch.setattr("journeyman.studio.session.AWAY", 0.05)
    time.sleep(0.1)
    given = ben.question()
    if has_page:
        assert given is None
        return
    assert given["id"] == mine
    refused = ada.post("answer", question=mine, action=1)
    assert (refused.status_code, "not on your desk" in refused.json()["error"]["message"]) == (409, True)
    assert ben.post("answer", question=mine, action=1).status_code == 200


def test_a_run_that_somebody_left_begins_anew(walk, monkeypatch):
    eve = Person(walk.served, "walk", "eve")
    for _ in range(3):
        eve.post("skip", question=eve.question()["id"])
    mine = eve.question()
    eve.post("step", question=mine["id"], number=0, action=mine["actions"][0]["action"])
    monkeypatch.setattr("journeyman.studio.session.AWAY", 0.05)
    time.sleep(0.1)
    taken = walk.question()
    assert (taken["id"], taken["steps"]) == (mine["id"], [])
