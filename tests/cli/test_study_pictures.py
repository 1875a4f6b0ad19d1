import json

import numpy as np
import pytest
from cli.command import command
from report.drawing.drawn_graphs import labyrinth

from journeyman.problem import Problem
from journeyman.report.learning.figures import FIGURES
from journeyman.rewards import Normal, PerState
from journeyman.study import Study

SIGNS = {"svg": b"<?xml", "pdf": b"%PDF", "png": b"\x89PNG"}
QUICK = ("--max-seconds", 1, "--threads", 1)


@pytest.fixture
def run(monkeypatch, capsys):
    """Run `journeyman study` with these arguments; return exit code, stdout and stderr."""
    return command(monkeypatch, capsys, "study")


@pytest.fixture(scope="module")
def study_file(tmp_path_factory):
    """A labyrinth of two forks by label: one question answered, one waiting."""
    path = tmp_path_factory.mktemp("study") / "maze.study"
    mdp = labyrinth(2, state_labels=["home", "west", "east", "nw", "sw", "ne", "water"])
    queryable = np.arange(7) < 3
    problem = Problem(mdp, PerState(mdp), Normal(7), 2.0, queryable)
    settings = {"acquisition": "pac_eig", "inference_options": {"num_particles": 100}, "max_samples": 200, "seed": 0}
    with Study.create(path, problem, num_threads=1, **settings) as study:
        study.tell(study.ask(), "right")
        study.ask()
    return path


def test_scores_are_listed_by_label_best_first(run, study_file):
    """Friction 7: there was no `study scores`."""
    code, out, err = run("scores", study_file, "--threads", 1)
    assert (code, err) == (0, "")
    rows = [line.split() for line in out.splitlines()[3:6]]
    assert {row[0] for row in rows} == {"home", "west", "east"}
    numbers = [float(row[1]) for row in rows]
    assert numbers == sorted(numbers, reverse=True)
    assert "2 questions so far, 1 of them waiting" in " ".join(out.split())
    with Study.open(study_file, num_threads=1, read_only=True) as study:
        scores, waiting = study.learner().scores(), study.pending[0]
    assert f"state {('home', 'west', 'east')[scores.best_state()]}: {scores.values.max():.4g}" in out
    assert f"questions about {('home', 'west', 'east')[waiting.state]}" in out
    _, out, _ = run("scores", study_file, "--top", 1, "--threads", 1)
    assert "2 more states" in out


def test_scores_for_scripts_and_as_a_picture(run, study_file, tmp_path):
    picture = tmp_path / "scores.svg"
    code, out, err = run("scores", study_file, "--json", "-o", picture, "--threads", 1)
    record = json.loads(out)
    assert code == 0 and f"Picture written to {picture}" in err
    assert picture.read_bytes().startswith(SIGNS["svg"])
    assert record["ranking"][0]["name"] == record["best_state_name"]
    assert [value is None for value in record["scores"]] == [False] * 3 + [True] * 4
    assert record["unit"] == "nats" and record["study"] == "maze" and len(record["waiting"]) == 1


def test_looking_at_scores_asks_nothing(run, study_file):
    with Study.open(study_file, read_only=True) as study:
        before = study.events
    run("scores", study_file, "--threads", 1)
    with Study.open(study_file, read_only=True) as study:
        assert study.events == before


def test_all_figures_of_the_report_go_to_a_folder(run, study_file):
    """Friction 7: figures could not be exported."""
    code, out, _ = run("plot", study_file, *QUICK)
    folder = study_file.with_name("maze-figures")
    assert code == 0
    assert sorted(path.name for path in folder.iterdir()) == sorted(f"{name}.svg" for name in FIGURES)
    assert all(path.read_bytes().startswith(SIGNS["svg"]) for path in folder.iterdir())
    assert out.count("Picture written to") == len(FIGURES)


@pytest.mark.parametrize("ending", SIGNS)
def test_the_ending_or_the_format_says_what_is_written(run, study_file, tmp_path, ending):
    chosen = tmp_path / f"picture.{ending}"
    assert run("plot", study_file, "--what", "policy", "-o", chosen, *QUICK)[0] == 0
    assert chosen.read_bytes().startswith(SIGNS[ending])
    two = ("--what", "reward", "--what", "scores")
    _, out, _ = run("plot", study_file, *two, "-o", tmp_path / "two", "--format", ending, "--json", *QUICK)
    places = [tmp_path / "two" / f"{name}.{ending}" for name in ("reward", "scores")]
    assert json.loads(out) == {"files": [str(place) for place in places], "empty": []}
    assert all(place.read_bytes().startswith(SIGNS[ending]) for place in places)


def test_figures_are_listed_and_what_is_empty_is_said(run, study_file, tmp_path):
    code, out, _ = run("plot", study_file, "--list")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == list(FIGURES)
    path = tmp_path / "new.study"
    mdp = labyrinth(2)
    with Study.create(path, Problem(mdp, PerState(mdp), Normal(7), 2.0), inference_options={"num_particles": 100}):
        pass
    code, out, _ = run("plot", path, "--what", "evidence", *QUICK)
    assert (code, out) == (0, "Nothing to draw yet: evidence\n")
    assert not path.with_name("new-figures").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["plot", "nowhere.study"], "must exist"),
        (["plot", "FILE", "--what", "polcy"], "policy"),
        (["plot", "FILE", "--format", "gif"], "must be one of svg, pdf, png"),
        (["plot", "FILE", "--what", "policy", "-o", "x.docx"], "must be one of svg, pdf, png"),
        (["plot", "FILE", "-o", "x.pdf"], "several figures must go to a folder"),
        (["plot", "FILE", "--what", "policy", "-o", "x.pdf", "--format", "png"], "must be that of the file"),
        (["plot", "FILE", "--what", "policy", "-o", "no/x.pdf"], "Create it first"),
        (["scores", "FILE", "-o", "x.docx"], "must end in one of"),
        (["scores", "FILE", "--top", "-1"], "--top"),
        (["scores", "nowhere.study"], "must exist"),
    ],
)
def test_errors_are_explained(run, study_file, arguments, message):
    code, _, err = run(*(study_file if argument == "FILE" else argument for argument in arguments))
    assert code == 1 and message in err
