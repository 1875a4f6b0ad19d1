import json

import pytest
from cli.command import command
from report.html_checks import checked_page

from journeyman.experts import Question
from journeyman.study import Study
from journeyman.worlds import make_world


@pytest.fixture
def run(monkeypatch, capsys):
    """Run `journeyman` with these arguments; return exit code, stdout and stderr."""
    return command(monkeypatch, capsys)


@pytest.fixture(scope="module")
def study_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("study") / "maze.study"
    world = make_world("random-grid", 1, size=2)
    with Study.create(path, world.problem, inference_options={"num_particles": 100}, seed=0) as study:
        for visit in range(2):
            query = study.ask()
            study.tell(query, world.expert.demonstrate(Question(query.state, visit)))
    return path


def test_a_page_is_written_beside_the_study(run, study_file):
    code, out, _ = run("study", "report", study_file)
    page_file = study_file.with_suffix(".html")
    assert (code, out) == (0, f"Report written to {page_file}\n")
    page = checked_page(page_file.read_text("utf-8"))
    assert "learned from 2 demonstrations" in page.text
    assert page.text.startswith("maze: journeyman report")


def test_title_and_place_can_be_chosen_and_the_study_is_only_read(run, study_file, tmp_path):
    before = study_file.read_bytes()
    code, _, _ = run("study", "report", study_file, "-o", tmp_path / "r.html", "--title", "Maze <3>")
    assert code == 0
    assert "Maze <3>" in checked_page((tmp_path / "r.html").read_text("utf-8")).text
    assert study_file.read_bytes() == before


def test_numbers_for_scripts(run, study_file, tmp_path):
    code, out, err = run("study", "report", study_file, "--json")
    record = json.loads(out)
    assert (code, err) == (0, "")
    assert record["num_demonstrations"] == 2
    assert len(record["parameters"]) == 4
    code, out, err = run("study", "report", study_file, "--json", "-o", tmp_path / "r.html")
    assert json.loads(out) == record
    assert "Report written" in err and (tmp_path / "r.html").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["nowhere.study"], "must exist"), (["maze.study", "-o", "r.pdf"], "end in .html")],
)
def test_errors_are_explained(run, arguments, message):
    code, _, err = run("study", "report", *arguments)
    assert code == 1 and message in err
