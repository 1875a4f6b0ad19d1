"""Everyone can use the page: on a phone, without a mouse, with a screen reader, in light and dark."""

import pytest
from browser.conftest import make_study, violations
from playwright.sync_api import expect

from journeyman.studio.serving import Doorway
from journeyman.worlds import jail


@pytest.fixture(scope="module", autouse=True)
def open_to_all(studio):
    make_study(studio, "open", jail(0).problem, epsilon=0.002)


def test_axe_finds_nothing_serious_in_light_and_dark(studio, person, axe):
    found = []
    for scheme in ("light", "dark"):
        ada = person(color_scheme=scheme, bypass_csp=True)
        ada.page.goto(studio.address(study="open", annotator=scheme))
        ada.page.locator(".create summary").first.click()
        found += violations(ada.page, axe, f"start, {scheme}")
        ada.page.locator("button.large").click()
        ada.wait_for_question()
        ada.page.locator(".readout").wait_for()
        found += violations(ada.page, axe, f"question, {scheme}")
        ada.page.keyboard.press("?")
        found += violations(ada.page, axe, f"help, {scheme}")
    assert found == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_while_the_page_waits(studio, person, axe, scheme):
    ada = person(color_scheme=scheme, bypass_csp=True)
    ada.page.route("**/belief?*", lambda route: route.abort())
    ada.open(studio.address(study="open", annotator=f"slow {scheme}"))
    assert violations(ada.page, axe, f"without numbers, {scheme}") == []
    ada.page.unroute("**/belief?*")
    answers = []
    before = ada.question
    ada.page.route("**/answer?*", lambda route: answers.append(route), times=1)
    ada.page.keyboard.press("ArrowUp")
    expect(ada.page.locator(".history .draft")).to_contain_text("saving")
    assert violations(ada.page, axe, f"saving, {scheme}") == []
    ada.wait_until(lambda: answers)
    answers[0].continue_()
    ada.wait_for_question(after=before)


def test_a_phone_shows_the_whole_question_and_large_buttons(studio, person):
    eve = person(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True, device_scale_factor=2)
    eve.open(studio.address(study="open", annotator="eve"))
    assert eve.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    before = eve.question
    button = eve.page.get_by_role("button", name="up", exact=True)
    size = button.bounding_box()
    assert size["width"] >= 44 and size["height"] >= 44
    board = eve.page.locator(".stage .board").bounding_box()
    assert board["x"] >= 0 and board["x"] + board["width"] <= 390
    button.tap()
    eve.wait_for_question(after=before)
    before = eve.question
    eve.page.locator(".stage .chip").first.tap()  # a neighbour on the drawing
    eve.wait_for_question(after=before)
    eve.expect_answers(2, by="eve")


def test_everything_works_with_the_keyboard_alone(studio, person):
    kim = person(reduced_motion="reduce")
    kim.page.goto(studio.address(study="open", annotator="kim"))
    kim.page.locator("button.large").wait_for()
    _tab_to(kim.page, "button.large")
    kim.page.keyboard.press("Enter")
    kim.wait_for_question()
    before = kim.question
    _tab_to(kim.page, ".act")
    focused = kim.page.evaluate("document.activeElement.textContent")
    kim.page.keyboard.press("Enter")
    kim.wait_for_question(after=before)
    assert kim.page.evaluate("document.activeElement.textContent") == focused  # the focus stays where it was
    _tab_to(kim.page, ".explained")
    expect(kim.page.locator(".bubble")).to_be_visible()
    kim.page.keyboard.press("Escape")
    expect(kim.page.locator(".bubble")).to_be_hidden()
    _tab_to(kim.page, ".map-grid")
    kim.page.keyboard.press("ArrowRight")
    kim.page.keyboard.press("ArrowRight")
    expect(kim.page.locator(".readout")).to_contain_text("reward")
    kim.expect_answers(1, by="kim")  # arrow keys on a map answer nothing


def _tab_to(page, selector: str) -> None:
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("(selector) => document.activeElement.matches(selector)", selector):
            return
    pytest.fail(f"Tab never reaches {selector}.")


def test_without_its_token_the_page_says_what_is_missing(studio, person):
    stranger = person()
    response = stranger.page.goto(studio.origin)
    assert response.headers["referrer-policy"] == "no-referrer"
    expect(stranger.page.get_by_role("heading")).to_have_text("This page needs its key")
    expect(stranger.page.locator("main")).to_contain_text("token")
    assert stranger.page.locator("h1").evaluate("(title) => getComputedStyle(title).fontSize") == "24px"  # styled
    expect(stranger.page.locator("section.ask")).to_have_count(0)


def test_a_file_that_leads_to_the_page_opens_it(studio, person):
    """What a browser is started with: a file for its user alone, and not the address with the token."""
    ada = person()
    doorway = Doorway(studio.address(study="open", annotator="ada"))
    try:
        ada.page.goto(doorway.path.as_uri())
        ada.page.locator("button.large").click()
        ada.wait_for_question()
    finally:
        doorway.close()
    assert "token" not in ada.page.url
