"""Problems of one's own, made on the page: graphs, text maps, and those that cannot be drawn."""

from browser.conftest import make_study, read_study
from playwright.sync_api import expect

from journeyman.worlds import WORLDS

TOWN = "from,to\nhome,street\nstreet,park\nstreet,shop\npark,shop\nshop,lake\n"


def make(person, address: str, name: str, kind: str, text: str) -> None:
    """Fill in the form for a new study of one's own."""
    person.page.goto(address)
    form = person.page.locator(".create")
    form.wait_for()
    if not form.evaluate("(form) => form.open"):
        form.locator("> summary").click()
    person.page.get_by_label("Name", exact=True).fill(name)
    person.page.get_by_label("From").select_option(kind)
    person.page.get_by_label("Text").fill(text)
    person.page.get_by_role("button", name="Make the study").click()


def test_a_graph_is_made_drawn_and_answered(studio, person):
    ada = person()
    make(ada, studio.address(annotator="ada"), "town", "graph", "from,to\nhome\n")
    alert = ada.page.get_by_role("alert")
    expect(alert).not_to_be_empty()  # the mistake is named, and what was typed stays
    ada.page.get_by_label("Text").fill(TOWN)
    ada.page.get_by_role("button", name="Make the study").click()
    ada.page.get_by_role("button", name="Start").click()
    ada.wait_for_question()
    expect(ada.page.locator(".stage circle.place")).to_have_count(5)
    expect(ada.page.locator(".stage .names")).to_contain_text("street")

    before, place = ada.question, ada.place
    neighbours = ada.page.locator(".stage .place.reachable")
    target = int(neighbours.first.get_attribute("data-place"))
    neighbours.first.click(force=True)
    ada.wait_for_question(after=before)
    with read_study(studio, "town") as study:
        state, action = study.answers[before].steps[0]
        mdp = study.problem.mdp
        assert (state, mdp.next_states(state, action)[0][0]) == (place, target)
    before = ada.question
    ada.page.locator(".pad button").first.click()
    ada.wait_for_question(after=before)
    ada.expect_answers(2)


def test_a_problem_without_a_drawing_has_labels_and_keys(studio, person):
    make_study(studio, "lever", WORLDS["brown-two-state"](0).problem, epsilon=0.001)
    ada = person().open(studio.address(study="lever", annotator="ada"))
    expect(ada.page.locator(".situation")).to_be_visible()
    assert ada.page.locator(".picture").evaluate("(picture) => picture.decode().then(() => picture.naturalWidth)") == 1
    keys = ada.page.locator(".pad kbd").all_text_contents()
    assert keys
    ada.answer(keys[-1].lower())
    ada.expect_answers(1)
    expect(ada.page.locator("table.numbers tbody tr").first).to_be_visible()
