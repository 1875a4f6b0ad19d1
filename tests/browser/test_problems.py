"""Problems of one's own, made on the page: graphs, text maps, and those that cannot be drawn."""

from itertools import combinations

import pytest
from browser.conftest import make_study, read_study
from playwright.sync_api import expect
from problem_files.texts import REST

from journeyman.worlds import WORLDS

LOOPS = "".join(f"{place},{place}\n" for place in ("home", "street", "park", "shop", "lake"))
WAYS = "state,action,next_state,probability\na,go,b,1\nb,go,a,1\na,stay,a,1\nb,stay,b,1\n"
WALK = (
    """
discount = 0.9
[transitions]
file = "Ways.CSV"
"""
    + REST
)
LONG = """from,to
the old harbour by the sea,market square of the town
market square of the town,the street behind the church
the street behind the church,the old harbour by the sea
market square of the town,🏖️🏖️🏖️🏖️🏖️🏖️🏖️🏖️🏖️
🏖️🏖️🏖️🏖️🏖️🏖️🏖️🏖️🏖️,Donaudampfschifffahrtsgesellschaftskapitänshaus
Donaudampfschifffahrtsgesellschaftskapitänshaus,supermarket in the suburbs
supermarket in the suburbs,library of the university
library of the university,the street behind the church
"""
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


def test_long_names_neither_overlap_nor_leave_the_drawing(studio, person):
    ada = person()
    make(ada, studio.address(annotator="ada"), "names", "graph", LONG)
    ada.page.get_by_role("button", name="Start").click()
    ada.wait_for_question()
    labels = ada.page.locator(".stage .node-label")
    expect(labels).to_have_count(7)
    assert not any("\ufffd" in text or "\ud83d" in text for text in labels.all_text_contents())
    boxes = [label.bounding_box() for label in labels.all()]
    board = ada.page.locator(".stage .board").bounding_box()
    for box in boxes:
        assert board["x"] <= box["x"] and box["x"] + box["width"] <= board["x"] + board["width"]
    for one, other in combinations(boxes, 2):
        is_beside = one["x"] + one["width"] <= other["x"] or other["x"] + other["width"] <= one["x"]
        assert is_beside or abs(one["y"] - other["y"]) > 0.6 * one["height"]


def test_maps_of_a_large_world_say_that_they_show_a_part(studio, person):
    make_study(studio, "large", WORLDS["random-grid"](0, size=18).problem)
    ada = person().open(studio.address(study="large", annotator="ada"))
    maps = ada.page.locator(".maps")
    expect(maps).to_contain_text("These maps show 256 of 324 places")
    ada.page.locator(".map-grid").focus()
    for key in ["ArrowUp"] * 18 + ["ArrowLeft"] * 18 + ["ArrowDown"] * 18 + ["ArrowRight"] * 18:
        ada.page.keyboard.press(key)
    expect(maps.locator(".pointer")).to_have_count(4)  # still on what is shown


def test_a_click_on_ones_own_place_means_staying_where_one_can(studio, person):
    ada = person()
    make(ada, studio.address(annotator="ada"), "loops", "graph", TOWN + LOOPS)
    ada.page.get_by_role("button", name="Start").click()
    ada.wait_for_question()
    before, place = ada.question, ada.place
    ada.page.locator(".stage .place.here").click(force=True)  # below the figure that stands there
    ada.wait_for_question(after=before)
    with read_study(studio, "loops") as study:
        state, action = study.answers[before].steps[0]
        assert study.problem.mdp.next_states(state, action)[0].tolist() == [place] == [state]


@pytest.mark.parametrize(
    ("name", "files", "num_states"),
    [
        pytest.param("TOWN", {"TOWN.CSV": TOWN}, 5, marks=pytest.mark.slow),
        pytest.param("Yard", {"Yard.TXT": "#####\n#S.G#\n#####\n"}, 3, marks=pytest.mark.slow),
        (
            "Walk",
            {
                "Walk.TOML": WALK,
                "Ways.CSV": "state,action,next_state,probability\na,go,b,1\nb,go,a,1\na,stay,a,1\nb,stay,b,1\n",
            },
            2,
        ),
    ],
)
def test_files_are_uploaded_whatever_the_case_of_their_endings(studio, person, name, files, num_states):
    ada = person()
    ada.page.goto(studio.address(annotator="ada"))
    form = ada.page.locator(".create")
    form.wait_for()
    if not form.evaluate("(form) => form.open"):
        form.locator("> summary").click()
    ada.page.get_by_label("From").select_option("map")
    ada.page.get_by_label("Files").set_input_files(
        [{"name": file, "mimeType": "text/plain", "buffer": text.encode()} for file, text in files.items()]
    )
    expect(ada.page.get_by_label("Name", exact=True)).to_have_value(name)
    ada.page.get_by_role("button", name="Make the study").click()
    ada.page.get_by_role("button", name="Start").click()
    ada.wait_for_question()
    with read_study(studio, name) as study:
        assert study.problem.mdp.num_states == num_states


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
