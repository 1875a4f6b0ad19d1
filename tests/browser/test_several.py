"""Several people answer at once, and servers come and go."""

import pytest
from browser.conftest import make_study
from playwright.sync_api import expect

from journeyman.study import Study
from journeyman.worlds import jail


@pytest.fixture(scope="module")
def studio(server):
    make_study(server.folder / "jail.study", jail(0).problem, epsilon=0.02)
    return server.start()


def test_two_people_have_their_own_questions_and_see_each_other(studio, person):
    ada = person().open(studio.address(study="jail", annotator="ada"))
    ben = person().open(studio.address(study="jail", annotator="ben"))
    assert ada.question != ben.question
    open_for_ben = ben.question
    ada.answer("ArrowUp")
    ada.answer("ArrowLeft")
    expect(ben.page.locator("#people")).to_contain_text("ada")
    ben.expect_answers(2)  # seen at once, without doing anything
    assert ben.question == open_for_ben  # and it changes nothing for who is still thinking
    ben.answer("ArrowUp")
    ada.expect_answers(3)
    with Study.open(studio.folder / "jail.study", read_only=True) as study:
        names = [answer.annotator for answer in study.answers.values()]
    assert sorted(names) == ["ada", "ada", "ben"]


def test_a_server_that_is_killed_loses_nothing_and_is_found_again(studio, person):
    cy = person().open(studio.address(study="jail", annotator="cy"))
    cy.answer("ArrowUp")
    with Study.open(studio.folder / "jail.study", read_only=True) as study:
        before = len(study.answers)
    open_question = cy.question

    studio.kill()
    expect(cy.page.locator("#connection")).to_contain_text("trying again")
    cy.page.keyboard.press("ArrowLeft")  # nobody is there to take it
    expect(cy.said).to_contain_text("left")  # but it shows at once
    expect(cy.page.locator("#connection")).to_contain_text("Your answer is kept here")
    cy.page.reload()  # and survives even this; the page itself comes from the server, so that waits
    studio.start()
    cy.page.goto(studio.address(study="jail", annotator="cy"))

    cy.wait_for_question(after=open_question)
    expect(cy.page.locator("#connection")).to_be_empty()
    with Study.open(studio.folder / "jail.study", read_only=True) as study:
        assert len(study.answers) == before + 1
        assert study.answers[open_question].annotator == "cy"
    cy.answer("ArrowLeft")


def test_a_page_goes_on_by_itself_when_the_server_is_back(studio, person):
    dan = person().open(studio.address(study="jail", annotator="dan"))
    question = dan.question
    studio.kill()
    dan.page.keyboard.press("ArrowDown")
    expect(dan.page.locator("#connection")).to_contain_text("Your answer is kept here")
    studio.start()
    dan.wait_for_question(after=question)
    expect(dan.page.locator("#connection")).to_be_empty()
    with Study.open(studio.folder / "jail.study", read_only=True) as study:
        assert study.answers[question].annotator == "dan"
