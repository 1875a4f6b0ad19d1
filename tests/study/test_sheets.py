"""Answer sheets: questions go out as a table or a form, and come back with answers."""

import csv
import json
import re
from dataclasses import replace

import numpy as np
import pytest
from study.tiny import SETTINGS, tiny_problem

from journeyman.errors import InputError
from journeyman.study import Study
from journeyman.study.sheet_form import draw_states
from journeyman.worlds import make_world


@pytest.fixture
def study(tmp_path):
    with Study.create(tmp_path / "my.study", tiny_problem(), num_threads=1, **SETTINGS) as found:
        yield found


def read(path):
    return list(csv.DictReader(path.read_text("utf-8-sig").splitlines()))


def write(path, rows, separator=","):
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=separator)
        writer.writeheader()
        writer.writerows(rows)


def test_a_sheet_asks_what_waits_and_as_much_more_as_is_wanted(study, tmp_path):
    first = study.ask()
    queries = study.sheet(tmp_path / "sheet.csv", 3)
    assert (queries[0], queries) == (first, study.pending)
    rows = read(tmp_path / "sheet.csv")
    assert [row["question"] for row in rows] == ["0", "1", "2"]
    assert rows[0]["situation"] == first.text
    assert rows[0]["actions"] == "stay | up | right | down | left"
    assert {row["study"] for row in rows} == {f"study-{study.identity}"}
    assert study.sheet(tmp_path / "again.csv", 2) == queries  # enough wait already


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_filled_sheet_answers_its_questions(study, tmp_path, separator):
    study.sheet(tmp_path / "sheet.csv", 3)
    rows = read(tmp_path / "sheet.csv")
    rows[0] |= {"answer": "right", "annotator": "Zoë", "answered_at": "2026-03-01T14:30:00Z"}
    rows[2] |= {"answer": " 1 "}
    write(tmp_path / "filled.csv", rows, separator)
    report = study.merge(tmp_path / "filled.csv")
    assert [(item.kind, item.answer) for item in report.items] == [("told", 0), ("told", 2)]
    assert study.answers[0].steps[0][1] == 2 and study.answers[2].steps[0][1] == 1
    assert (study.answers[0].annotator, study.answers[0].timestamp.isoformat()) == ("Zoë", "2026-03-01T14:30:00+00:00")
    assert [query.id for query in study.pending] == [1]
    assert study.merge(tmp_path / "filled.csv").num_events == 0
    rows[0]["answer"] = "left"
    write(tmp_path / "other.csv", rows, separator)
    with pytest.raises(InputError, match=r"question 0 .*: here right by Zoë, in other.csv line 2 left by Zoë"):
        study.merge(tmp_path / "other.csv")
    study.merge(tmp_path / "other.csv", prefer="theirs")
    assert study.answers[0].steps[0][1] == 4
    study.undo(0)
    with pytest.raises(InputError, match="here taken back"):
        study.merge(tmp_path / "other.csv")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"answer": "rihgt"}, r"filled.csv line 2: an action must be .*Did you mean 'right'"),
        (
            {"answer": "1", "study": "study-0123"},
            "a sheet must be of this study, got filled.csv, which is of study 0123",
        ),
        ({"answer": "1", "state": "3"}, "question 0 must be the same in the sheet and in the study"),
        ({"answer": "1", "question": "7", "key": ""}, "got question 7, which was not asked here"),
        ({"answer": "1", "question": "one"}, "question must be a whole number, got 'one'"),
        ({"answer": "1", "answered_at": "yesterday"}, "answered_at must be a time"),
    ],
)
def test_mistakes_in_a_sheet_name_the_line(study, tmp_path, change, message):
    study.sheet(tmp_path / "sheet.csv")
    (row,) = read(tmp_path / "sheet.csv")
    if "state" in change:
        change = change | {"state": str((study.pending[0].state + 1) % 4)}
    write(tmp_path / "filled.csv", [row | change])
    before = study.events
    with pytest.raises(InputError, match=message):
        study.merge(tmp_path / "filled.csv")
    assert study.events == before


def test_a_sheet_without_its_columns_is_refused(study, tmp_path):
    study.sheet(tmp_path / "sheet.csv")
    (row,) = read(tmp_path / "sheet.csv")
    del row["kind"]
    write(tmp_path / "filled.csv", [row])
    with pytest.raises(InputError, match="without kind"):
        study.merge(tmp_path / "filled.csv")


def test_a_trajectory_is_written_step_by_step(tmp_path):
    problem = make_world("random-grid", 1, size=2, terminals="independent").problem
    with Study.create(tmp_path / "t.study", problem, kind="trajectory", length=3, num_threads=1, **SETTINGS) as study:
        (query,) = study.sheet(tmp_path / "sheet.csv")
        (row,) = read(tmp_path / "sheet.csv")
        assert (row["kind"], row["length"]) == ("trajectory", "3")
        name = problem.mdp.state_name(query.state)
        write(tmp_path / "filled.csv", [row | {"answer": f"{name}:stay; {name}:stay", "final_state": name}])
        study.merge(tmp_path / "filled.csv")
        assert study.answers[0].steps == ((query.state, 0),) * 2
        assert (study.answers[0].final_state, study.answers[0].ended) == (query.state, "truncated")
        (later,) = study.sheet(tmp_path / "sheet.csv")
        (row,) = read(tmp_path / "sheet.csv")
        write(tmp_path / "filled.csv", [row | {"answer": f"{row['state']}:stay {row['state']}:stay"}])
        study.merge(tmp_path / "filled.csv")
        assert study.answers[1].steps == ((later.state, 0),) * 2
        study.sheet(tmp_path / "form.html")
        assert 'data-name="answer"' in (tmp_path / "form.html").read_text("utf-8")


def test_labels_may_have_spaces(tmp_path):
    """Between steps there are semicolons then."""
    problem = tiny_problem()
    names = tuple(f"room {number}" for number in range(4))
    problem = replace(problem, mdp=replace(problem.mdp, state_labels=names, grid=None, coordinates=np.eye(4, 2)))
    with Study.create(tmp_path / "t.study", problem, kind="trajectory", length=3, num_threads=1, **SETTINGS) as study:
        (query,) = study.sheet(tmp_path / "sheet.csv")
        (row,) = read(tmp_path / "sheet.csv")
        write(tmp_path / "filled.csv", [row | {"answer": f"{row['state']}:stay", "final_state": row["state"]}])
        study.merge(tmp_path / "filled.csv")
        assert study.answers[0].steps == ((query.state, 0),)
        study.sheet(tmp_path / "form.html")
    page = (tmp_path / "form.html").read_text("utf-8")
    assert page.count('class="edge"') >= 1 and page.count('class="name"') == 4


def test_the_form_is_whole_in_one_file(study, tmp_path):
    """No network and no other files: a form that is sent by mail must work offline."""
    queries = study.sheet(tmp_path / "form.html", 2, title='Maze "3" <one>')
    page = (tmp_path / "form.html").read_text("utf-8")
    assert "Maze &quot;3&quot; &lt;one&gt;" in page and "<one>" not in page
    assert not re.search(r"https?://|<link|src=|@import|url\(", page)
    assert "default-src 'none'" in page
    assert page.count('type="radio"') == 2 * 5 and page.count("<fieldset id") == 2
    data = json.loads(re.search(r'id="sheet">(.*?)</script>', page, re.DOTALL)[1])
    assert [row["question"] for row in data["rows"]] == [str(query.id) for query in queries]
    with pytest.raises(InputError, match="from the file that the form saves, got the form"):
        study.merge(tmp_path / "form.html")
    with pytest.raises(InputError, match=r"must be a table \(.csv\) or a form \(.html\)"):
        study.sheet(tmp_path / "sheet.pdf")


def test_the_picture_marks_where_the_expert_is():
    mdp = make_world("jail", 1).problem.mdp
    picture = draw_states(mdp)
    row, column = mdp.grid.places[7].tolist()
    assert picture.places[7].tolist() == [column + 0.5, row + 0.5]
    assert picture.svg.count('class="cell"') == mdp.num_states
    assert draw_states(make_world("lopes-two-state", 0).problem.mdp) is None


def test_names_in_the_picture_lie_within_their_cells():
    """Letters that reach below the line stay off the border, and names on coloured cells are dark in dark mode too."""
    mdp = make_world("jail", 1).problem.mdp
    svg = draw_states(mdp, has_names=True).svg
    lines = [(float(y), float(size)) for y, size in re.findall(r'<text [^>]* y="([^"]+)" font-size="([^"]+)"', svg)]
    assert len(lines) == mdp.num_states
    assert all(y % 1 + 0.3 * size < 1 for y, size in lines), "letters reach 0.3 of their size below the line"
    assert svg.count('style="fill:') == svg.count('class="name inked"') > 0


def test_the_form_saves_a_sheet_in_a_browser(study, tmp_path):
    """By keyboard alone, in a browser without a network; skipped where there is none."""
    sync_api = pytest.importorskip("playwright.sync_api")
    import shutil

    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("there is no chromium")
    study.sheet(tmp_path / "form.html", 2)
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_context(accept_downloads=True, offline=True).new_page()
        errors = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto((tmp_path / "form.html").as_uri())
        page.fill("#annotator", 'Zoë "Z", of; there')
        page.evaluate("document.activeElement.blur()")
        page.keyboard.press("3")
        page.keyboard.press("1")
        assert page.inner_text("#count") == "2 of 2 answered"
        with page.expect_download() as download:
            page.keyboard.press("Enter")  # the focus is on the button that saves
        download.value.save_as(tmp_path / "answers.csv")
        assert errors == []
        browser.close()
    study.merge(tmp_path / "answers.csv")
    assert [study.answers[number].steps[0][1] for number in (0, 1)] == [2, 0]
    assert study.answers[0].annotator == 'Zoë "Z", of; there'
