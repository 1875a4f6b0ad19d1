"""What people do to questions, route by route, and every kind of input that is wrong."""

import csv
import io
import re

import pytest
from studio.running import QUICK, Person, running

from journeyman.demonstrations import Demonstration
from journeyman.experts import Boltzmann
from journeyman.studio.session import Ready
from journeyman.study import Study
from journeyman.worlds import make_world


def stored(person):
    """What the file says, read by another process's way."""
    path = person.served.studio.sessions[person.study].study.path
    with Study.open(path, read_only=True) as study:
        return study.ledger


def test_an_answer_is_kept_and_the_next_question_comes_with_it(ada):
    first = ada.question()
    assert first == ada.question()  # the same until it is answered
    assert [choice["label"] for choice in first["actions"]] == ["stay", "up", "right", "down", "left"]
    kept = ada.post("answer", question=first["id"], action=2, comment="towards the exit").json()
    assert (kept["kept"], kept["repeated"], kept["num_answers"]) == (first["id"], False, 1)
    assert kept["next"]["question"]["id"] != first["id"]
    assert kept["next"]["undoable"] == first["id"]
    answer = stored(ada).answers[first["id"]]
    assert (answer.steps, answer.annotator) == (((first["state"], 2),), "ada")
    assert ada.get("history").json()["items"][-1]["comment"] == "towards the exit"


def test_an_action_can_be_named(ada):
    question = ada.question()
    assert ada.post("answer", question=question["id"], action="left").status_code == 200
    assert stored(ada).answers[question["id"]].steps[0][1] == 4


def test_the_same_answer_again_is_not_counted_twice(ada):
    question = ada.question()["id"]
    ada.post("answer", question=question, action=2)
    again = ada.post("answer", question=question, action=2).json()
    assert (again["repeated"], again["num_answers"], again["kept"]) == (True, 1, question)
    other = ada.post("answer", question=question, action=3)
    assert (other.status_code, other.json()["error"]["code"]) == (409, "conflict")
    assert len(stored(ada).answers) == 1


def test_people_have_questions_of_their_own(ada, ben):
    mine, theirs = ada.question(), ben.question()
    assert mine["id"] != theirs["id"]
    for refused in (
        ben.post("answer", question=mine["id"], action=0),
        ben.post("skip", question=mine["id"]),
        ben.post("cannot", question=mine["id"]),
    ):
        assert refused.status_code == 409
    ada.post("answer", question=mine["id"], action=1)
    assert ben.question()["id"] == theirs["id"]
    ben.post("answer", question=theirs["id"], action=1)
    assert {answer.annotator for answer in stored(ada).answers.values()} == {"ada", "ben"}
    people = ada.get("status").json()["annotators"]
    assert {(one["name"], one["num_answers"]) for one in people} == {("ada", 1), ("ben", 1)}


WRONG_ANSWERS = [
    ({"question": 99, "action": 0}, 404),
    ({"question": 0}, 400),
    ({"question": 0, "action": 0, "steps": [[0, 0]]}, 400),
    ({"question": 0, "action": 99}, 400),
    ({"question": 0, "action": "sideways"}, 400),
    ({"question": 0, "action": -1}, 422),
    ({"question": 0, "action": 1.5}, 422),
    ({"question": 0, "action": True}, 422),
    ({"question": False, "action": 0}, 422),
    ({"question": "0", "action": 0}, 422),
    ({"question": 0, "action": None}, 400),
    ({"question": "0x", "action": 0}, 422),
    ({"question": 10**400, "action": 0}, 422),
    ({"question": 0, "action": 0, "unknown": 1}, 422),
    ({"question": 0, "action": 0, "comment": "x" * 2001}, 422),
    ({"question": 0, "steps": []}, 422),
    ({"question": 0, "steps": [[0, 0], [0, 0]]}, 400),
    ({"question": 0, "steps": [[0]]}, 422),
    ([], 422),
    (None, 422),
]
NO_JSON = (b"", b"{", b"\xff\xfe", b'{"question": 0, "action": 0, "comment": "\\ud800"}', b"[" * 5000)


def test_answers_that_are_wrong_are_explained_and_change_nothing(ada):
    question = ada.question()
    assert question["id"] == 0
    before = stored(ada).num_events
    for body, status in WRONG_ANSWERS:
        response = ada._send("POST", "answer", json=body)
        assert (body, response.status_code) == (body, status)
        assert response.json()["error"]["message"]
    for content in NO_JSON:
        response = ada._send("POST", "answer", content=content, headers={"content-type": "application/json"})
        assert response.status_code in (400, 422)
        assert response.json()["error"]["code"] in ("bad_input", "invalid")
    assert stored(ada).num_events == before
    assert ada.question() == question


WORDS = [
    (b'{"question": 0, "action": -1}', "action", "must be an action: its number, such as 0, or its label"),
    (b'{"question": 0, "action": true}', "action", "got true"),
    (b'{"question": true, "action": 0}', "question", "must be a whole number, written without quotes, got true"),
    (b'{"question": "0", "action": 0}', "question", "got '0'"),
    (b'{"question": 0, "action": 0, "colour": 1}', "colour", "is not known here. Leave it out"),
    (b'{"action": 0}', "question", "must be given. Add it"),
    (b'{"question": -3, "action": 0}', "question", "must be at least 0, got -3"),
    (b'{"question": 0, "steps": [[0, "x"]]}', "steps.0.1", "must be a list of steps"),
    (b"[1]", None, "must be a JSON object such as"),
    (b'{"question": 0,', None, "must be JSON, but it is not"),
    (b"", None, 'must have a body: JSON such as {"question": 0}'),
]
HINTS = [  # what a program that sends this has to do instead
    ("answer", {"question": 0}, "got none. Send one of them"),
    ("answer", {"question": 0, "action": 9}, "0 (stay), 1 (up), 2 (right), 3 (down), 4 (left); got 9"),
    ("answer", {"question": 0, "steps": [[3, 0], [3, 0]]}, "asks for one action, not for a run. Send `action`"),
    ("answer", {"question": 99, "action": 1}, "Answer the one that waits for you"),
    ("step", {"question": 0, "number": 0, "action": 0}, "Answer it by one"),
    ("end", {"question": 0}, "Answer it by one"),
    ("undo", {}, "the history has their numbers"),
    ("undo", {"answer": 7}, "The history lists them"),
    ("step/undo", {"question": 0, "number": 4}, "Do one first"),
]


def test_what_is_refused_says_what_to_do_instead(ada):
    assert ada.question()["id"] == 0
    for route, body, words in HINTS:
        response = ada.post(route, **body)
        assert response.status_code in (400, 404, 409)
        error = response.json()["error"]
        assert words in error["message"]
        assert not re.search("GET |POST ", error["message"])  # people read it; programs have the hint
    assert error["hint"] == "POST step"


def test_json_that_python_does_not_read_is_refused_in_our_words(ada):
    content = b'{"question": ' + b"9" * 5000 + b"}"
    response = ada._send("POST", "answer", content=content, headers={"content-type": "application/json"})
    assert response.status_code == 400
    assert "its lists are too deep or a number is too long" in response.json()["error"]["message"]


def test_lists_in_lists_are_refused_in_our_words_however_deep(ada):
    content = b'{"question": ' + b"[" * 20000 + b"]" * 20000 + b"}"
    response = ada._send("POST", "answer", content=content, headers={"content-type": "application/json"})
    error = response.json()["error"]
    if response.status_code == 400:
        assert "its lists are too deep or a number is too long" in error["message"]
    else:  # Python 3.14 reads them
        assert (response.status_code, error["message"]) == (
            422,
            "question must be a whole number, written without quotes.",
        )


@pytest.mark.parametrize(("content", "field", "words"), WORDS)
def test_what_is_wrong_is_said_in_plain_words(ada, content, field, words):
    response = ada._send("POST", "answer", content=content, headers={"content-type": "application/json"})
    error = response.json()["error"]
    assert (response.status_code, error["field"]) == (422, field)
    assert words in error["message"] and error["message"].endswith(".")
    assert not re.search(r"constrained|function-|loc|decode error|Input should", error["message"])


def test_a_place_that_is_asked_about_again_says_why(grid):
    with Study.open(grid) as study:
        state = study.queries[0].state
        study.attach(Demonstration.annotation(state, 1))
        study.attach(Demonstration.annotation(state, 2))
    with running(Study.open(grid)) as served:
        ada = Person(served, "grid", "ada")
        question = ada.question()
        assert "This place was answered twice before" in question["why"]
        assert "people do not always do the same" in question["why"]
        assert question["num_before"] == 2
        others = [item["why"] for item in ada.get("history").json()["items"] if item["state"] not in (None, state)]
        assert others and not any("before" in why for why in others)


def test_a_place_that_is_asked_about_again_too_soon_says_that_the_learner_is_behind(ada):
    session = ada.served.studio.sessions["grid"]
    for _ in range(12):
        ada.post("answer", question=ada.question()["id"], action=1)
    answered = session.ledger.queries[0].state
    values = [1.0 if state == answered else None for state in range(session.problem.mdp.num_states)]
    record = {"values": values, "states": [], "gains": [], "lengths": [], "all_lengths": None, "unit": "nats"}
    session.ready = Ready(record | {"warnings": [], "based_on": 0, "seconds": 0.0})
    question = ada.question()
    assert question["state"] == answered
    assert "Chosen after 0 answers, while 12 more were being taken in." in question["why"]
    assert "had not taken in the last 12 answers" in question["why"]
    assert question["num_before"] == sum(query.state == answered for query in session.ledger.queries[:12])


def test_answers_are_numbered_as_the_page_counts(ada):
    ada.post("skip", question=ada.question()["id"])
    first = ada.question()
    assert (first["id"], first["number"]) == (1, 1)
    second = ada.post("answer", question=first["id"], action=2).json()["next"]["question"]
    assert second["number"] == 2
    ada.post("answer", question=second["id"], action=2)
    numbers = {item["question"]: item["number"] for item in ada.get("history").json()["items"]}
    assert (numbers[0], numbers[first["id"]], numbers[second["id"]]) == (None, 1, 2)
    assert ada.get(f"question/{second['id']}").json()["number"] == 2
    ada.post("undo", answer=first["id"])
    assert ada.get(f"question/{second['id']}").json()["number"] == 1


def test_no_spreadsheet_takes_a_comment_for_a_formula(ada):
    question = ada.question()["id"]
    for text, cell in (("=1+1", "'=1+1"), ("-2", "'-2"), ("@x", "'@x"), ("fine = good", "fine = good")):
        ada.post("comment", question=question, text=text)
        rows = list(csv.reader(io.StringIO(ada.get("download/comments.csv").text)))
        assert rows[1][2:] == ["ada", cell]


def test_skipping_and_giving_up(ada):
    first = ada.question()
    following = ada.post("skip", question=first["id"]).json()["next"]["question"]
    assert following["id"] != first["id"]
    assert ada.post("skip", question=first["id"]).json()["next"]["question"] == following  # once more changes nothing
    last = ada.post("cannot", question=following["id"]).json()["next"]["question"]
    assert ada.post("cannot", question=following["id"]).status_code == 200
    ledger = stored(ada)
    assert [ledger.statuses[one["id"]] for one in (first, following, last)] == ["failed", "abandoned", "waiting"]
    statuses = {item["id"]: item["status"] for item in ada.get("history").json()["items"]}
    assert (statuses[first["id"]], statuses[following["id"]]) == ("skipped", "cannot")


def test_an_answer_that_is_taken_back_is_asked_again(ada):
    first = ada.question()["id"]
    second = ada.post("answer", question=first, action=2).json()["next"]["question"]["id"]
    undone = ada.post("undo").json()
    assert (undone["undone"], undone["repeated"], undone["num_answers"]) == (first, False, 0)
    shown = undone["next"]["question"]
    assert (shown["id"], shown["is_again"], shown["previous"]) == (first, True, "right by you")
    assert ada.post("undo", answer=first).json()["repeated"] is True
    kept = ada.post("answer", question=first, action=3).json()
    assert kept["next"]["question"]["id"] == second  # which waited meanwhile
    assert stored(ada).answers[first].steps[0][1] == 3
    assert ada.get("history").json()["items"][-1]["answer"] == "down"


def test_only_what_is_there_can_be_taken_back(ada, ben):
    assert ada.post("undo").status_code == 409
    assert ada.post("undo", answer=3).status_code == 404
    assert ada.post("undo", answer="attached-7").status_code == 404
    assert ada.post("undo", answer="../x").status_code == 422
    ada.post("answer", question=ada.question()["id"], action=2)
    assert ben.post("undo").status_code == 409  # the last one of ada is not ben's


def test_history_says_who_changed_whose_answer(ada, ben, grid):
    first, second = ada.question()["id"], ben.question()["id"]
    for person, question in ((ada, first), (ben, second)):
        person.post("answer", question=question, action=2)

    def items():
        found = {item["id"]: item for item in ada.get("history").json()["items"]}
        return [tuple(found[key][name] for name in ("status", "annotator", "changed")) for key in (first, second)]

    assert items() == [("counts", "ada", ""), ("counts", "ben", "")]
    ben.post("undo", answer=first)
    ada.post("correct", answer=second, action=3)
    assert items() == [("taken_back", "ada", "taken back by ben"), ("counts", "ben", "corrected by ada")]
    ben.post("answer", question=first, action=4)
    assert items()[0] == ("counts", "ben", "corrected")
    copied = grid.with_name("later.study")
    copied.write_bytes(grid.read_bytes())
    with running(Study.open(copied)) as served:  # the file remembers
        again = Person(served, "later", "ada").get("history").json()["items"]
        assert {item["changed"] for item in again} >= {"corrected by ada"}


def test_an_answer_can_be_corrected(ada):
    first = ada.question()["id"]
    ada.post("answer", question=first, action=2)
    assert ada.post("correct", answer=first, action=4).json() == {
        "corrected": first,
        "repeated": False,
        "num_answers": 1,
    }
    assert ada.post("correct", answer=first, action="left").json()["repeated"] is True
    answer = stored(ada).answers[first]
    assert (answer.steps[0][1], answer.annotator) == (4, "ada")
    assert ada.post("correct", answer=first, action=9).status_code == 400
    assert ada.post("correct", answer=7, action=1).status_code == 404
    again = ada.get(f"question/{first}").json()
    assert again["id"] == first and again["is_again"]


def test_an_answer_that_was_taken_back_and_corrected_has_an_author(ada):
    first = ada.question()["id"]
    ada.post("answer", question=first, action=2)
    ada.post("undo", answer=first)
    assert ada.post("correct", answer=first, action=4).status_code == 200
    assert stored(ada).answers[first].annotator == "ada"


def test_attached_data_can_be_taken_back(grid):
    with Study.open(grid) as study:
        (attached,) = study.attach(Demonstration.annotation(0, 1))
    with running(Study.open(grid)) as served:
        ada = Person(served, "grid", "ada")
        (item,) = [item for item in ada.get("history").json()["items"] if item["id"] == attached]
        assert (item["question"], item["answer"], item["can_undo"]) == (None, "up", True)
        assert ada.post("correct", answer=attached, action=2).status_code == 200
        assert ada.post("undo", answer=attached).json()["undone"] == attached
        assert ada.get("history").json()["items"][-1]["status"] == "taken_back"


def test_comments(ada, ben):
    question = ada.question()["id"]
    assert ada.post("comment", question=question, text=" odd place ").json() == {"comment": "odd place"}
    assert ada.question()["comment"] == "odd place"
    assert ben.get(f"question/{question}").json()["comment"] == ""
    rows = ada.get("download/comments.csv").text.splitlines()
    assert rows[1].split(",")[2:] == ["ada", "odd place"]
    ada.post("comment", question=question, text="")
    assert ada.question()["comment"] == ""
    assert ada.post("comment", question=99, text="x").status_code == 404


def test_comments_go_with_a_copy_of_the_study(ada, tmp_path):
    question = ada.question()["id"]
    ada.post("answer", question=question, action=2, comment="odd place")
    with Study.open(ada.served.studio.sessions["grid"].study.path, read_only=True) as study:
        study.clone(tmp_path / "copy.study", epsilon=0.5)
    with running(Study.open(tmp_path / "copy.study")) as served:
        assert Person(served, "copy", "ada").get(f"question/{question}").json()["comment"] == "odd place"


def test_history_comes_in_pages(ada, ben):
    for person in (ada, ben, ada):
        person.post("answer", question=person.question()["id"], action=1)
    everything = ada.get("history", limit=500).json()
    assert everything["total"] == 12 and not everything["more"]
    page = ada.get("history", limit=2, offset=9).json()
    assert page["items"] == everything["items"][9:11] and page["more"]
    own = ada.get("history", mine=True).json()["items"]
    assert [item["status"] for item in own] == ["waiting", "counts", "counts"]
    assert {item["annotator"] for item in own} == {"ada"}


def test_all_is_there_after_a_restart(grid):
    with running(Study.open(grid)) as served:
        ada, ben = Person(served, "grid", "ada"), Person(served, "grid", "ben")
        ada.post("answer", question=ada.question()["id"], action=2, comment="hm")
        before = ada.question(), ben.question(), ada.get("history").json()
    with running(Study.open(grid)) as served:
        ada, ben = Person(served, "grid", "ada"), Person(served, "grid", "ben")
        assert (ada.question(), ben.question(), ada.get("history").json()) == before


def test_what_others_write_is_seen(ada):
    question = ada.question()
    with Study.open(ada.served.studio.sessions["grid"].study.path) as study:
        study.tell(question["id"], 3, annotator="on the command line")
    refused = ada.post("answer", question=question["id"], action=2)
    assert refused.status_code == 409
    following = ada.question()
    assert following["id"] != question["id"]
    assert following["num_answers"] == 1


def test_questions_run_out_without_a_worker(ada):
    for _ in range(12):
        ada.post("answer", question=ada.question()["id"], action=0)
    now = ada.get("question").json()
    assert (now["question"], now["state"]) == (None, "finished")


def test_annotators_of_the_problem_must_be_named(tmp_path):
    world = make_world("random-grid", 1, size=2, terminals="independent")
    beta = {"lognormal": [1.0, 0.5]}
    expert = Boltzmann.from_record({"beta": beta, "annotators": ["ada", "ben"]})
    from dataclasses import replace

    with Study.create(tmp_path / "two.study", replace(world.problem, expert=expert), **QUICK) as study:
        study.ask_batch(2)
    with running(Study.open(tmp_path / "two.study")) as served:
        assert served.request("GET", "/api/studies/two").json()["annotators"] == ["ada", "ben"]
        refused = Person(served, "two", "eve").get("question")
        error = refused.json()["error"]
        assert (refused.status_code, error["field"]) == (400, "annotator")
        assert error["message"] == "This study asks ada, ben, got 'eve'. Answer as one of them."
        nobody, ada = Person(served, "two"), Person(served, "two", "ada")
        assert nobody.post("answer", question=nobody.question()["id"], action=0).status_code == 400
        assert ada.post("answer", question=ada.question()["id"], action=0).status_code == 200


# Runs of several steps


def test_a_run_is_walked_to_its_end(walk):
    question = walk.question()
    assert (question["kind"], question["length"], question["remaining"]) == ("trajectory", 4, 4)
    steps = []
    for number in range(4):
        done = walk.post("step", question=question["id"], number=number, action=1 + number % 4).json()
        steps.append(done["step"])
        if done["kept"] is not None:
            break
        shown = done["next"]["question"]
        assert (shown["id"], shown["here"], len(shown["steps"])) == (
            question["id"],
            steps[-1]["next_state"],
            number + 1,
        )
        assert shown["remaining"] == 3 - number
        assert walk.question() == shown  # also for a page that is loaded anew
    assert done["kept"] == question["id"]
    answer = stored(walk).answers[question["id"]]
    assert [list(step) for step in answer.steps] == [[step["state"], step["action"]] for step in steps]
    assert answer.final_state == steps[-1]["next_state"]
    again = walk.post("step", question=question["id"], number=len(steps) - 1, action=steps[-1]["action"]).json()
    assert (again["repeated"], again["kept"], again["step"]) == (True, question["id"], steps[-1])


def test_slips_are_said(walk):
    seen = {}
    for _ in range(4):
        question = walk.question()
        for number in range(4):
            done = walk.post("step", question=question["id"], number=number, action=2).json()
            step = done["step"]
            assert step["slipped"] == (step["next_state"] != step["intended"])
            assert ("a slip" in step["words"]) == step["slipped"]
            seen[step["slipped"]] = True
            if done["kept"] is not None:
                break
    assert set(seen) == {True, False}  # with a slip of one half


def test_a_step_can_be_taken_back_and_is_not_drawn_anew(walk):
    question = walk.question()
    first = walk.post("step", question=question["id"], number=0, action=2).json()["step"]
    assert walk.post("step", question=question["id"], number=0, action=2).json()["repeated"] is True
    assert walk.post("step", question=question["id"], number=0, action=3).status_code == 409
    assert walk.post("step", question=question["id"], number=2, action=3).status_code == 409
    for _ in range(2):  # twice is once
        back = walk.post("step/undo", question=question["id"], number=0).json()["next"]["question"]
        assert (back["steps"], back["here"]) == ([], question["state"])
    assert walk.post("step/undo", question=question["id"], number=3).status_code == 409
    assert walk.post("step", question=question["id"], number=0, action=2).json()["step"] == first


def test_a_run_can_be_ended_early(walk):
    question = walk.question()
    assert walk.post("end", question=question["id"]).status_code == 409  # before any step
    walk.post("step", question=question["id"], number=0, action=2)
    for is_repeated in (False, True):
        kept = walk.post("end", question=question["id"]).json()
        assert (kept["kept"], kept["repeated"]) == (question["id"], is_repeated)
    assert stored(walk).answers[question["id"]].ended == "truncated"


def test_runs_and_actions_are_not_mixed_up(walk, ada):
    assert walk.post("answer", question=walk.question()["id"], action=1).status_code == 409
    assert ada.post("step", question=ada.question()["id"], number=0, action=1).status_code == 409
    assert walk.post("step", question=walk.question()["id"], number=0, action=9).status_code == 400


def test_a_run_is_walked_again_after_it_was_taken_back(walk):
    question = walk.question()["id"]
    walk.post("step", question=question, number=0, action=2)
    walk.post("end", question=question)
    assert walk.post("correct", answer=question, action=1).status_code == 409
    shown = walk.post("undo").json()["next"]["question"]
    assert (shown["id"], shown["steps"], shown["is_again"]) == (question, [], True)
    walk.post("step", question=question, number=0, action=1)
    assert walk.post("end", question=question).json()["kept"] == question
    assert stored(walk).answers[question].steps[0][1] == 1


def test_steps_survive_a_restart(walk, tmp_path):
    """What the file holds at that moment is enough: a copy of it goes on where the people are."""
    question = walk.question()["id"]
    walk.post("step", question=question, number=0, action=2)
    before = walk.question()
    again = tmp_path / "again" / "walk.study"
    again.parent.mkdir()
    again.write_bytes(walk.served.studio.sessions["walk"].study.path.read_bytes())
    with running(Study.open(again)) as served:
        assert Person(served, "walk", "ada").question() == before


def test_a_robot_sends_a_whole_run(walk):
    question = walk.question()
    problem = walk.served.studio.sessions["walk"].problem
    state = question["state"]
    following = int(problem.mdp.next_states(state, 2)[0][0])
    ended = "terminated" if problem.mdp.terminal[following] else "truncated"
    body = {"question": question["id"], "steps": [[state, 2]], "final_state": following, "ended": ended}
    assert walk.post("answer", **body).json()["kept"] == question["id"]
    assert walk.post("answer", **body).json()["repeated"] is True
    other = walk.question()
    wrong = {"question": other["id"], "steps": [[other["state"], 2]], "final_state": 10**6}
    assert walk.post("answer", **wrong).status_code == 400
