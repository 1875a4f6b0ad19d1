import csv
import json

import numpy as np
import pytest
from cli.command import command

from journeyman import Boltzmann, SimulatedExpert
from journeyman.problem_files import load_problem
from journeyman.study.formats import write_demonstrations

PROBLEM = """
discount = 0.8

[transitions]
file = "transitions.csv"

[reward]
model = "features"
features = "features.csv"

[prior]
kind = "normal"
std = 1.0

[expert]
beta = 2.0
"""
QUICK = ("--inference", "enumerate", "--inference-set", "num_points=512", "--threads", "1")


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Run `journeyman compare` in a folder with a line of three states; return exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    edges = [f"{s},{a},{min(max(s + 2 * a - 1, 0), 2)},1.0" for s in range(3) for a in range(2)]
    (tmp_path / "transitions.csv").write_text("state,action,next_state,probability\n" + "\n".join(edges), "utf-8")
    (tmp_path / "features.csv").write_text("state,low,high\n0,1,0\n2,0,1\n", "utf-8")
    (tmp_path / "problem.toml").write_text(PROBLEM, "utf-8")
    problem = load_problem(tmp_path / "problem.toml")
    answers = []
    for name, reward in (("anna", [0.3, 0.0, 1.5]), ("ben", [0.3, 0.0, 1.5]), ("cleo", [1.5, 0.0, 0.3])):
        expert = SimulatedExpert(problem.mdp, np.array(reward), Boltzmann(2.0), seed=3)
        given = expert.answers(np.tile(np.arange(3), 12))
        answers += [type(item).annotation(*item.steps[0], annotator=name) for item in given]
    write_demonstrations(answers, tmp_path / "people.csv", problem)
    write_demonstrations(answers[:36], tmp_path / "data.csv", problem)
    write_demonstrations(answers[:1], tmp_path / "one.csv", problem)
    (tmp_path / "empty.csv").write_text("demonstration,state,action\n", "utf-8")
    return command(monkeypatch, capsys, "compare", columns=100)


def table(path):
    return list(csv.DictReader(path.read_text("utf-8").splitlines()))


def test_table_files_and_resuming(run, tmp_path):
    options = ("--vary", "expert.beta=2,20", "--also", "lapse=0.1", "--test", "every-fifth", *QUICK, "--out", "out")
    code, out, err = run("problem.toml", "data.csv", *options)
    assert code == 0, err
    for name in ("chance", "beta 2", "beta 2, lapse 0.1", "beta 20", "beta 20, lapse 0.1", "empirical policy"):
        assert f"\n{name} " in out
    assert "Best prediction: beta 2" in out
    assert "fitted to 28 demonstrations, to which the evidence refers, and tested on 8 others" in " ".join(out.split())
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {
        "comparison.json", "comparison.csv", "comparison.svg", "comparison.png", "demonstrations.csv", "fits.jsonl"
    }  # fmt: skip
    record = json.loads((tmp_path / "out" / "comparison.json").read_text("utf-8"))
    rows = table(tmp_path / "out" / "comparison.csv")
    assert [row["model"] for row in rows] == [model["name"] for model in record["models"]]
    assert [float(row["bits"]) for row in rows] == [model["bits"] for model in record["models"]]
    parts = table(tmp_path / "out" / "demonstrations.csv")
    total = sum(float(part["bits"]) for part in parts if part["model"] == "beta 2")
    assert total / 8 == pytest.approx(record["models"][1]["bits"])
    fits = (tmp_path / "out" / "fits.jsonl").read_text("utf-8")
    again = run("problem.toml", "data.csv", *options, "--json")
    assert again[0] == 0
    assert json.loads(again[1]) == record
    assert (tmp_path / "out" / "fits.jsonl").read_text("utf-8") == fits


def test_folds_and_a_picture(run, tmp_path):
    code, out, err = run("problem.toml", "data.csv", "--folds", "2", *QUICK, "--png", "models.svg")
    assert code == 0, err
    assert "\nas given " in out
    assert "each of 2 folds predicted from the others" in out
    assert "<svg" in (tmp_path / "models.svg").read_text("utf-8")


@pytest.mark.slow
def test_by_annotator(run, tmp_path):
    options = ("--by", "annotator", "--inference-set", "num_particles=200", "--threads", "1", "--out", "who")
    code, out, err = run("problem.toml", "people.csv", *options)
    assert code == 0, err
    assert "\nanna " in out and "partly pooled" in out
    assert "The answers of cleo do not fit those of the others." in out
    record = json.loads((tmp_path / "who" / "annotators.json").read_text("utf-8"))
    assert record["odd"] == ["cleo"]
    rows = table(tmp_path / "who" / "annotators.csv")
    assert [row["annotator"] for row in rows] == ["anna", "ben", "cleo"]
    assert {"beta", "beta_low", "lapse_high", "p_value"} <= set(rows[0])
    assert (tmp_path / "who" / "annotators.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("data.csv", "--vary", "bta=1"), "what is varied must be one that exists, got 'bta'. Did you mean 'beta'?"),
        (("data.csv", "--vary", "beta"), "a setting must be written as KEY=VALUE, got 'beta'"),
        (("data.csv", "--vary", "beta="), "what is varied must have values, got none for beta"),
        (("data.csv", "--vary", "reward=node"), "reward must be one of state, state_action, as_given, got 'node'"),
        (("data.csv", "--also", "values=hard"), "values must be one of optimal, soft, got 'hard'"),
        (("data.csv", "--test", "every-other"), "--test every-N must have a number of at least 2 or one of second"),
        (("data.csv", "--test", "fifth"), "--test must be every-fifth, every-7, or numbers of demonstrations"),
        (("data.csv", "--test", ","), "the test split must be some of the demonstrations 0..35"),
        (("data.csv", "--test", "99"), "but not all of them, got number 99"),
        (
            ("data.csv", "--folds", "3", "--test", "every-fifth"),
            "what is predicted must be --test or --folds, got both",
        ),
        (("data.csv", "--folds", "1"), "the number of folds must be a whole number of at least 2"),
        (("empty.csv",), "there must be demonstrations to compare models on, got none in empty.csv"),
        (("one.csv",), "models must be compared on at least 2 demonstrations, got 1"),
        (("missing.csv",), "demonstrations must be in a file that can be read, got 'missing.csv'"),
        (("data.csv", "--by", "mouse"), "--by must be one of annotator, got 'mouse'"),
        (("people.csv", "--by", "annotator", "--vary", "beta=1"), "--by must come alone, got --vary too"),
        (("data.csv", "--by", "annotator"), "there must be at least 2 annotators to compare, got anna"),
    ],
)
def test_mistakes_are_named(run, arguments, words):
    code, out, err = run("problem.toml", *arguments, *QUICK)
    assert code == 1
    assert words in err
    assert out == ""
