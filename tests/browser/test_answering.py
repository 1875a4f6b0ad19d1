"""Somebody answers on the page, in Debian's Chromium, and a real server takes the answers."""

import re
from itertools import combinations

import numpy as np
from browser.conftest import make_study, read_study, violations
from browser.explaining import numbers, unexplained
from browser.person import ARROWS
from playwright.sync_api import expect

from journeyman.worlds import jail

WORLD = jail(0)
BEST = WORLD.expert.q.argmax(axis=1)
MOVES = [ARROWS[tuple(move)] for move in WORLD.problem.mdp.grid.moves.tolist()]
MAX_ANSWERS = 40


def best_key(person) -> str:
    """Return the arrow key of the expert's action at the place on the drawing."""
    return MOVES[BEST[person.place]]


def test_a_whole_session_with_arrow_keys_ends_with_a_certificate(studio, person, axe):
    make_study(studio, "jail", WORLD.problem, epsilon=0.02)
    ada = person(bypass_csp=True).open(studio.address(study="jail", annotator="ada"))
    assert "token" not in ada.page.url
    expect(ada.page.get_by_role("heading", level=2).first).to_contain_text("What would you do?")
    finish = ada.page.locator("section.finish")
    given = 0
    while not finish.is_visible() and given < MAX_ANSWERS:
        given += 1
        ada.page.keyboard.press(best_key(ada))
        ada.page.wait_for_function(
            """(count) => document.querySelector(".finish:not([hidden])")
                          || (document.querySelector(".ask").dataset.phase === "asking"
                              && document.querySelectorAll(".history li:not(.draft)").length >= count)""",
            arg=min(given, 12),
        )
        _wait_until_idle(ada)
    expect(finish).to_be_visible()
    expect(finish).to_contain_text("assumes")
    assert finish.get_by_role("listitem").count() >= 3
    finish.locator("summary").click()
    assert len(numbers(ada.page)) > 20
    assert unexplained(ada.page) == []
    assert violations(ada.page, axe, "finish") == []
    with ada.page.expect_download() as download:
        finish.get_by_role("link", name="Policy").click()
    assert "state" in download.value.path().read_text()
    with read_study(studio, "jail") as study:
        assert len(study.answers) == given
        assert {answer.annotator for answer in study.answers.values()} == {"ada"}
    boxes = [link.bounding_box() for link in finish.get_by_role("link").all()]
    assert {round(box["height"]) for box in boxes} == {round(boxes[0]["height"])}
    assert not any(_overlap(one, other) for one, other in combinations(boxes, 2))
    finish.get_by_role("button", name="Continue answering").click()
    expect(ada.ask).to_be_visible()
    _check_that_it_does_not_hold_for_ever(ada, finish, f"{studio.origin}/api/studies/jail/undo?annotator=ada", given)


def _overlap(one, other):
    return all(
        one[at] < other[at] + other[size] and other[at] < one[at] + one[size]
        for at, size in (("x", "width"), ("y", "height"))
    )


def _check_that_it_does_not_hold_for_ever(ada, finish, undo, given):
    """Keys and the history say or show what they do while the certificate is shown; it goes when it does not hold."""
    show = ada.page.locator(".holds-strip button")
    expect(show).to_have_text("✓ The certificate holds. Show it.")
    show.click()
    ada.page.keyboard.press("ArrowUp")
    expect(finish).to_contain_text("press “Continue answering” first")
    ada.history.first.get_by_role("button", name=re.compile("Correct")).click()
    expect(ada.ask).to_have_attribute("data-phase", "correcting")
    expect(ada.ask).to_be_visible()
    ada.page.keyboard.press("u")
    ada.wait_for_question()
    show.click()
    expect(finish).to_be_visible()
    pending = ada.page.request.get(undo.replace("/undo", "/certificate")).json() | {
        "status": "holds",
        "is_enough": False,
    }
    ada.page.route("**/certificate?*", lambda route: route.fulfill(json=pending))  # as while it is being confirmed
    assert ada.page.request.post(undo, data={}).ok  # somebody takes all of them back elsewhere
    expect(finish).to_contain_text("is being looked at again")
    ada.page.unroute("**/certificate?*")
    for _ in range(given - 1):
        assert ada.page.request.post(undo, data={}).ok
    expect(finish).to_be_hidden()
    expect(show).to_be_hidden()
    expect(ada.said).to_contain_text("does not hold any more")
    ada.expect_answers(0)


def _wait_until_idle(ada):
    """Wait until the belief knows all answers, as a person who reads the numbers would."""
    ada.page.wait_for_function(
        """() => document.querySelector(".finish:not([hidden])")
                 || !document.querySelector(".worker").classList.contains("busy")"""
    )


def test_undo_skip_comment_and_correct(studio, person):
    make_study(studio, "undo", WORLD.problem)
    ben = person().open(studio.address(study="undo", annotator="ben"))
    first, place = ben.question, ben.place
    ben.answer("w")  # as good as an arrow key
    ben.expect_answers(1)
    ben.answer("u")
    assert (ben.question, ben.place) == (first, place)
    expect(ben.ask).to_contain_text("up")  # what was answered before
    ben.expect_answers(0)

    ben.answer("ArrowDown")
    ben.expect_answers(1)
    skipped = ben.question
    ben.answer("n")
    expect(ben.said).to_contain_text("Skipped")
    assert ben.question != skipped

    ben.page.keyboard.press("c")
    ben.page.get_by_label("Comment on this question").fill("slippery?")
    ben.page.get_by_role("button", name="Keep comment").click()
    expect(ben.said).to_contain_text("kept")
    ben.answer("Space")
    expect(ben.history.first).to_contain_text("slippery?")

    ben.history.last.get_by_role("button", name=re.compile("Correct")).click()
    expect(ben.ask).to_have_attribute("data-phase", "correcting")
    assert ben.place == place
    ben.page.keyboard.press("ArrowRight")
    expect(ben.history.last).to_contain_text("right")
    ben.wait_for_question()

    gone, asked_there = ben.question, ben.place
    ben.page.keyboard.press("x")
    expect(ben.said).to_contain_text("once more")  # it is for good
    assert ben.question == gone
    ben.answer("x")
    doubted = ben.question
    ben.page.keyboard.press("x")
    expect(ben.said).to_contain_text("once more")
    ben.answer("ArrowLeft")
    ben.answer("u")
    assert ben.question == doubted
    ben.page.keyboard.press("x")  # once: what was said before is forgotten
    expect(ben.said).to_contain_text("once more")
    assert ben.question == doubted
    with read_study(studio, "undo") as study:
        assert study.status_of(doubted) == "failed"
        assert study.status_of(gone) == "abandoned"
        assert study.queries[gone].state == asked_there
        assert study.status_of(skipped) == "failed"
        actions = [answer.steps[0][1] for answer in study.answers.values()]
        names = [WORLD.problem.mdp.action_name(action) for action in actions]
        assert names == ["right", "stay"]


def test_a_comment_is_kept_however_it_is_left(studio, person):
    make_study(studio, "words", WORLD.problem)
    ben = person().open(studio.address(study="words", annotator="ben"))
    field = ben.page.get_by_label("Comment on this question")
    ben.page.keyboard.press("c")
    field.fill("typed, then closed")
    field.press("Escape")
    expect(field).to_be_hidden()
    ben.page.keyboard.press("c")
    expect(field).to_have_value("typed, then closed")  # still there
    field.press("Escape")
    ben.answer("ArrowUp")
    expect(ben.history.first).to_contain_text("typed, then closed")
    expect(field).to_have_value("")

    ben.page.keyboard.press("c")
    field.fill("quickly")
    field.press("Control+Enter")
    expect(ben.said).to_contain_text("kept")
    ben.answer("ArrowUp")
    expect(ben.history.first).to_contain_text("quickly")
    with read_study(studio, "words") as study:
        rows = study.look(lambda file: file.execute("SELECT text FROM comments ORDER BY query_id").fetchall())
    assert rows == [("typed, then closed",), ("quickly",)]

    ben.history.last.get_by_role("button", name=re.compile("Correct")).click()
    expect(ben.ask).to_contain_text("Correcting answer 1")
    ben.page.keyboard.press("u")
    ben.history.last.get_by_role("button", name=re.compile("Undo")).click()
    expect(ben.ask).to_contain_text("by you")


def test_a_run_can_be_ended_here(studio, person):
    make_study(studio, "ended", WORLD.problem, kind="trajectory", length=9)
    ada = person().open(studio.address(study="ended", annotator="ada"))
    question, end = ada.question, ada.page.get_by_role("button", name="End here")
    expect(end).to_have_attribute("aria-disabled", "true")
    ada.page.keyboard.press("ArrowUp")
    expect(end).to_have_attribute("aria-disabled", "false")
    ada.wait_for_question()
    end.click()
    ada.wait_for_question(after=question)
    expect(ada.said).to_contain_text("The run ends here, and is kept")
    expect(ada.history.first).to_contain_text("1 step")
    with read_study(studio, "ended") as study:
        assert (len(study.answers[question]), study.answers[question].ended) == (1, "truncated")


def test_a_run_moves_by_the_real_dynamics_and_shows_slips(studio, person):
    make_study(studio, "runs", jail(0, slip=0.5).problem, kind="trajectory", length=4)
    ada = person().open(studio.address(study="runs", annotator="ada"))
    slips = 0
    here = ada.place
    ada.page.keyboard.press("ArrowUp")
    expect(ada.page.locator(".footprint")).to_have_count(1)
    ada.wait_for_question()
    ada.page.keyboard.press("u")  # the step, not an answer
    expect(ada.page.locator(".footprint")).to_have_count(0)
    ada.wait_for_question()
    assert ada.place == here
    for _ in range(6):
        question = ada.question
        while ada.question == question and ada.ask.get_attribute("data-phase") == "asking":
            before = ada.page.locator(".footprint").count()
            ada.page.keyboard.press("ArrowUp")
            ada.page.wait_for_function(
                """([question, before]) => { const { phase, question: now } = document.querySelector(".ask").dataset;
                     return phase === "asking" && (now !== String(question)
                            || document.querySelectorAll(".footprint").length > before); }""",
                arg=[question, before],
            )
            if "slipped" in (ada.said.text_content() or ""):
                slips += 1
                if ada.question == question:
                    expect(ada.page.locator(".step.slip, .missed").first).to_be_attached()
        if slips:
            break
    assert slips > 0
    with read_study(studio, "runs") as study:
        for answer in study.answers.values():
            _check_is_possible(study.problem.mdp, answer)


def _check_is_possible(mdp, demonstration):
    """Every step of a run must have a chance above 0."""
    following = [state for state, _ in demonstration.steps[1:]] + [demonstration.final_state]
    for (state, action), after in zip(demonstration.steps, following, strict=True):
        states, chances = mdp.next_states(state, action)
        if after is not None:
            assert after in states[np.asarray(chances) > 0]
