"""Hover, focus or a tap explains every number on the page."""

import re

import pytest
from browser.conftest import make_study
from browser.explaining import missed_by_tab, numbers, unexplained
from playwright.sync_api import expect
from problem_files.texts import REST

from journeyman.problem_files import load_problem
from journeyman.worlds import WORLDS, jail

ROOMS = (
    """
discount = 0.9
[graph]
edges = [["0", "1"], ["1", "2"], ["2", "3"], ["2", "2"]]
"""
    + REST
)


@pytest.fixture(scope="module", autouse=True)
def studies(studio, tmp_path_factory):
    make_study(studio, "numbers", jail(0).problem, epsilon=0.002)
    make_study(studio, "walked", jail(0, slip=0.3).problem, epsilon=0.002, kind="trajectory", length=6)
    make_study(studio, "listed", WORLDS["bandit"](0).problem, epsilon=0.001)
    path = tmp_path_factory.mktemp("rooms") / "rooms.toml"
    path.write_text(ROOMS)
    make_study(studio, "rooms", load_problem(path), epsilon=0.001)


def look_around(page) -> None:
    """Wait for what is known, and look at a point of the chart and a place of a map."""
    page.locator(".card.known").wait_for()
    page.locator(".chart").hover()
    if page.locator(".small-map .place").count():
        page.locator(".small-map .place").first.hover()
    page.mouse.move(2, 2)


@pytest.mark.parametrize(
    "study", ["numbers", "walked", *(pytest.param(name, marks=pytest.mark.slow) for name in ("listed", "rooms"))]
)
def test_every_number_beside_a_question_is_explained(studio, person, study):
    ada = person().open(studio.address(study=study, annotator="ada"))
    ada.page.locator(".pad button").last.click()
    expect(ada.said).to_contain_text(re.compile("[a-z]"))
    ada.wait_for_question()
    look_around(ada.page)
    ada.page.keyboard.press("?")
    assert unexplained(ada.page) == []
    ada.page.keyboard.press("Escape")
    found = numbers(ada.page)
    assert len(found) > 20
    assert unexplained(ada.page) == []
    assert missed_by_tab(ada.page) == set()


def test_every_number_of_the_start_page_is_explained(studio, person):
    ada = person()
    for study in ("walked", None):
        ada.page.goto(studio.address(**({} if study is None else {"study": study})))
        ada.page.locator(".create").wait_for()
        if not ada.page.locator(".create").evaluate("(form) => form.open"):
            ada.page.locator(".create > summary").click()
        ada.page.get_by_label("From").select_option("map")
        ada.page.locator(".create details > summary").click()
        assert numbers(ada.page)
        assert unexplained(ada.page) == []
        assert missed_by_tab(ada.page) == set()


def test_a_mouse_and_a_finger_get_the_same_words(studio, person):
    ada = person().open(studio.address(study="numbers", annotator="ada"))
    ada.page.locator(".card.known").wait_for()
    bubble = ada.page.get_by_role("tooltip")
    expect(bubble).to_be_hidden()
    ada.page.locator(".explained.big").hover()
    expect(bubble).to_contain_text("One minus the chance")
    ada.page.locator(".small-map .place").first.hover()
    ada.page.locator(".readout .explained", has_text="reward").hover()  # what was looked at stays to be read
    expect(bubble).to_contain_text("best guess")
    ada.page.mouse.move(2, 2)
    expect(bubble).to_be_hidden()
    eve = person(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    eve.open(studio.address(study="numbers", annotator="eve"))
    eve.page.locator(".explained.big").tap()
    expect(eve.page.get_by_role("tooltip")).to_contain_text("One minus the chance")


def test_what_appears_below_a_mouse_that_rests_explains_nothing(studio, person):
    """Only somebody who moves onto something asks what it means."""
    ada = person()
    ada.page.goto(studio.address(study="numbers", annotator="ivy"))
    button = ada.page.locator("button.large")
    button.hover()
    place = button.bounding_box()
    left, top = place["x"] + place["width"] / 2, place["y"] + place["height"] / 2
    ada.page.evaluate(
        """([left, top]) => { const cover = document.createElement("div");
             cover.dataset.explain = "not asked for";
             cover.style.cssText = `position: fixed; inset: 0`;
             document.body.append(cover); }""",
        [left, top],
    )
    bubble = ada.page.locator(".bubble")
    ada.page.wait_for_function("() => document.querySelector('[data-explain=\"not asked for\"]:hover')")
    ada.page.wait_for_timeout(1000)  # longer than a mouse has to rest
    expect(bubble).to_be_hidden()
    ada.page.mouse.move(left + 5, top + 5)
    expect(bubble).to_have_text("not asked for")
