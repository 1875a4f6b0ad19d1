"""Several people answer at once, and servers come and go."""

import re
import sqlite3
from dataclasses import replace

import pytest
from browser.conftest import make_study, read_study
from playwright.sync_api import expect

from journeyman.experts import Boltzmann
from journeyman.study import Study
from journeyman.worlds import jail


@pytest.fixture(scope="module", autouse=True)
def shared(studio):
    make_study(studio, "shared", jail(0).problem, epsilon=0.02)


def test_two_people_have_their_own_questions_and_see_each_other(studio, person):
    ada = person().open(studio.address(study="shared", annotator="ada"))
    ben = person().open(studio.address(study="shared", annotator="ben"))
    assert ada.question != ben.question
    open_for_ben = ben.question
    ada.answer("ArrowUp")
    ada.answer("ArrowLeft")
    expect(ben.page.locator("#people")).to_contain_text("ada")
    ben.expect_answers(2)  # seen at once, without doing anything
    assert ben.question == open_for_ben  # and it changes nothing for who is still thinking
    ben.answer("ArrowUp")
    ada.expect_answers(3)
    with read_study(studio, "shared") as study:
        names = [answer.annotator for answer in study.answers.values()]
    assert sorted(names) == ["ada", "ada", "ben"]


def test_who_comes_is_shown_and_a_question_that_is_answered_elsewhere_goes(studio, person):
    make_study(studio, "tabs", jail(0).problem)
    ada = person().open(studio.address(study="tabs", annotator="ada"))
    sam = person().open(studio.address(study="tabs"))
    people = [one.page.locator("#people") for one in (ada, sam)]
    expect(people[0]).to_have_text("ada0 answerssomebody0 answers")
    expect(people[1]).to_have_text("ada0 answersyou0 answers")
    sam.page.close()
    expect(people[0]).to_have_text("ada0 answers")

    before, tab = ada.question, person().open(studio.address(study="tabs", annotator="ada"))
    assert tab.question == before
    tab.answer("ArrowUp")
    ada.wait_for_question(after=before)
    expect(ada.said).to_contain_text("answered elsewhere")
    assert ada.question == tab.question
    before = ada.question
    with Study.open(studio.folder / "tabs.study") as study:
        study.tell(before, 1, annotator="on the command line")
    for one in (ada, tab):
        one.wait_for_question(after=before)
    ada.answer("ArrowUp")
    ada.expect_answers(3)


def test_names_that_cannot_be_taken_are_refused_in_words(studio, person):
    expert = Boltzmann.from_record({"beta": {"lognormal": [1.0, 0.5]}, "annotators": ["ada", "ben"]})
    make_study(studio, "known", replace(jail(0).problem, expert=expert))
    eve = person()
    fault = eve.page.get_by_role("alert")
    eve.page.goto(studio.address(study="shared", annotator="x" * 80))
    expect(fault).to_have_text("A name has at most 64 letters; this one has 80. Choose a shorter one.")
    eve.page.get_by_label("Your name").fill("e\u202eve")
    eve.page.get_by_role("button", name=re.compile("Start|Continue")).click()
    expect(fault).to_contain_text("characters that cannot be seen")

    eve.page.goto(studio.address(study="known", annotator="eve"))
    expect(fault).to_have_text("This study does not know “eve”. Choose who you are.")
    eve.page.evaluate("() => sessionStorage.setItem('journeyman-started:known:eve', 'yes')")
    eve.page.reload()  # now the page goes to the questions at once, and the server refuses
    expect(eve.page.locator("main")).to_contain_text("This study asks ada, ben, got 'eve'. Answer as one of them.")
    eve.page.get_by_role("button", name="Choose another name").click()
    eve.page.get_by_label("Who are you?").select_option("ben")
    eve.page.get_by_role("button", name="Start").click()
    eve.wait_for_question()


def test_the_answer_of_somebody_else_is_taken_back_only_if_that_is_said_twice(studio, person):
    make_study(studio, "whose", jail(0).problem)
    ada = person().open(studio.address(study="whose", annotator="ada"))
    ada.answer("ArrowUp")
    ben = person().open(studio.address(study="whose", annotator="ben"))
    ben.expect_answers(1, by="ada")
    ben.history.first.get_by_role("button", name=re.compile("Undo")).click()
    expect(ben.said).to_contain_text("This is the answer of ada")
    with read_study(studio, "whose") as study:
        assert len(study.answers) == 1
    ben.history.first.get_by_role("button", name=re.compile("Undo it")).click()
    expect(ben.ask).to_contain_text("up by ada")
    for one in (ada, ben):
        expect(one.page.locator(".history li.void")).to_contain_text("ada")
        expect(one.page.locator(".history li.void")).to_contain_text("taken back by ben")
    with read_study(studio, "whose") as study:
        assert len(study.answers) == 0


@pytest.mark.slow
def test_a_study_that_another_program_uses_says_so_and_comes_by_itself(studio, person):
    make_study(studio, "busy", jail(0).problem)
    file = sqlite3.connect(studio.folder / "busy.study", isolation_level=None)
    file.execute("BEGIN EXCLUSIVE")
    try:
        eve = person()
        eve.page.goto(studio.address(study="busy", annotator="eve"))
        notice = eve.page.locator("#connection")
        expect(notice).to_contain_text("Another program is using the file of the study 'busy'")
    finally:
        file.rollback()
    eve.page.get_by_role("button", name="Start").click()  # it came without a reload
    expect(notice).to_be_empty()
    eve.wait_for_question()
    file.execute("BEGIN EXCLUSIVE")
    try:  # a page that is open answers on, and says what it waits for
        zoe = person()
        zoe.page.goto(studio.address(study="busy", annotator="zoe"))
        zoe.page.get_by_role("button", name="Start").click()
        expect(zoe.ask).to_contain_text("Another program is using the file of the study")
        before = eve.question
        eve.page.keyboard.press("ArrowUp")
        notice = eve.page.locator("#connection")
        expect(notice).to_contain_text("Your answer is kept here and sent as soon as it can be")
        expect(notice).to_contain_text("Another program is using the file of the study 'busy'")
    finally:
        file.rollback()
        file.close()
    zoe.wait_for_question()
    eve.wait_for_question(after=before)
    with read_study(studio, "busy") as study:
        assert [answer.annotator for answer in study.answers.values()] == ["eve"]


@pytest.mark.slow
def test_a_page_whose_token_is_no_longer_good_says_so(studio, person):
    eve = person().open(studio.address(study="shared", annotator="eve"))
    studio.stop()
    studio.start("--pictures", "pictures", "--new-token")
    expect(eve.said).to_contain_text("This page is locked out. Open the address that the studio prints now.")
    eve.page.goto(studio.address(study="shared", annotator="eve"))
    eve.wait_for_question()


def test_a_question_that_arrives_late_is_not_shown_once_it_is_answered(studio, person):
    flo = person().open(studio.address(study="shared", annotator="flo"))
    answered, page = flo.question, flo.page
    page.route("**/answer?*", lambda route: route.abort())
    page.keyboard.press("ArrowUp")
    expect(page.locator("#connection")).to_contain_text("Your answer is kept here")

    page.unroute("**/answer?*")
    answers, questions = [], []
    page.route("**/answer?*", lambda route: answers.append(route))
    page.route("**/question?*", lambda route: questions.append((route, route.fetch())), times=1)
    page.reload()  # it asks for the question, and sends what was kept: here in this order
    flo.wait_until(lambda: answers and questions)
    (late, response), *_ = questions
    assert response.json()["question"]["id"] == answered
    with page.expect_response("**/answer?*"):
        answers[0].continue_()
    page.wait_for_timeout(100)  # for the page to ask again
    late.fulfill(response=response)
    flo.wait_for_question(after=answered)


def test_a_server_that_is_killed_loses_nothing_and_is_found_again(studio, person):
    cy = person().open(studio.address(study="shared", annotator="cy"))
    dan = person().open(studio.address(study="shared", annotator="dan"))
    cy.answer("ArrowUp")
    with read_study(studio, "shared") as study:
        before = len(study.answers)
    questions = {"cy": cy.question, "dan": dan.question}

    studio.kill()
    expect(cy.page.locator("#connection")).to_contain_text("trying again")
    for one in (cy, dan):
        one.page.keyboard.press("ArrowLeft")  # nobody is there to take it
        expect(one.said).to_contain_text("left")  # but it shows at once
        expect(one.page.locator("#connection")).to_contain_text("Your answer is kept here")
    dan.page.goto("about:blank")  # and it survives even this
    studio.start("--pictures", "pictures")
    cy.wait_for_question(after=questions["cy"])  # without doing anything
    expect(cy.page.locator("#connection")).to_be_empty()
    dan.page.goto(studio.address(study="shared", annotator="dan"))
    dan.wait_for_question(after=questions["dan"])

    with read_study(studio, "shared") as study:
        assert len(study.answers) == before + 2
        assert {name: study.answers[question].annotator for name, question in questions.items()} == {
            "cy": "cy",
            "dan": "dan",
        }
    cy.answer("ArrowLeft")
