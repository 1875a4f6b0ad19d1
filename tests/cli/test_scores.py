import json
import struct

import pytest
from cli.command import command

from journeyman.acquisition import ACQUISITIONS
from journeyman.wording import counted


@pytest.fixture
def run(monkeypatch, capsys):
    """Run `journeyman` with these arguments; return exit code, stdout and stderr."""
    return command(monkeypatch, capsys)


SMALL = ("random-grid", "--world-set", "size=3", "--demonstrations", "2", "--threads", "1")


def test_map_in_the_terminal(run):
    code, out, err = run("scores", *SMALL, "--acquisition", "pac_eig", "--seed", "2")
    assert (code, err) == (0, "")
    text = " ".join(out.split())
    assert "random-3x3, seed 2: pac_eig after 2 demonstrations" in text
    assert "[ ] asked next" in text
    assert "ask next state " in text
    assert "information about whether the apprentice is nearly right, in nats" in text
    assert "at states chosen by chance" in text


@pytest.mark.parametrize("name", ACQUISITIONS)
def test_every_function_as_json(run, name):
    code, out, err = run("scores", *SMALL, "--acquisition", name, "--json")
    assert (code, err) == (0, "")
    record = json.loads(out, parse_constant=pytest.fail)  # NaN and Infinity are not JSON
    assert record["acquisition"] == name
    assert len(record["scores"]) == 9
    assert len(record["asked"]) == 2
    best = record["scores"][record["best_state"]]
    assert best == max(score for score in record["scores"] if score is not None)


@pytest.mark.parametrize("ask", ["random", "best"])
def test_options_of_the_inference_method(run, ask):
    arguments = ("scores", *SMALL, "--acquisition", "reward_eig", "--ask", ask, "--json")
    few, many = (run(*arguments, "--inference-set", f"num_particles={n}") for n in (100, 400))
    assert few[0] == many[0] == 0
    assert json.loads(few[1])["scores"] != json.loads(many[1])["scores"]
    code, _, err = run(*arguments, "--inference-set", "particles=100")
    assert code == 1 and "Did you mean 'num_particles'?" in err


def test_seeds_repeat_and_differ(run):
    arguments = ("scores", *SMALL, "--acquisition", "reward_eig", "--json", "--seed")
    first, again, other = (run(*arguments, seed)[1] for seed in ("1", "1", "2"))
    assert first == again != other


def test_steps_that_cost_something(run):
    arguments = ("scores", *SMALL, "--acquisition", "reward_eig", "--kind", "trajectory", "--length", "4")
    usual = json.loads(run(*arguments, "--json")[1])
    assert usual["lengths"] is None
    record = json.loads(run(*arguments, "--step-cost", "0.3", "--json")[1])
    asked = [length for length, value in zip(record["lengths"], record["scores"], strict=True) if value is not None]
    assert set(asked) <= {1, 2, 3, 4}
    assert len(set(asked)) > 1
    best = record["lengths"][record["best_state"]]
    code, out, err = run(*arguments, "--step-cost", "0.3")
    assert (code, err) == (0, "")
    text = " ".join(out.split())
    assert f"ask next state {record['best_state_name']} for up to {best} step" in text
    for length in set(asked):
        assert f"{counted(length, 'step')} at {counted(asked.count(length), 'state')}" in text
    assert "what pays best per cost" in text
    code, _, err = run("scores", *SMALL, "--step-cost", "0.3")
    assert code == 1 and "step_cost must be 0 for state queries" in err


def test_the_table_says_how_many_steps(run):
    arguments = ("--demonstrations", "0", "--inference", "enumerate", "--kind", "trajectory", "--length", "2")
    out = run("scores", "brown-two-state", "--acquisition", "reward_eig", *arguments, "--step-cost", "0.2")[1]
    rows = [line.split() for line in out.splitlines() if line.strip()]
    assert ["state", "score", "in", "nats", "asked", "steps"] in rows
    assert [row[4] for row in rows if row[0] in ("0", "1")] == ["2", "1"]  # state, value, +-, error, steps


def test_trajectories_have_a_standard_error(run):
    arguments = ("--acquisition", "reward_eig", "--kind", "trajectory", "--length", "3")
    record = json.loads(run("scores", *SMALL, *arguments, "--json")[1])
    assert (record["query"], record["length"]) == ("trajectory", 3)
    assert any(error for error in record["standard_error"])
    assert "(standard error " in " ".join(run("scores", *SMALL, *arguments)[1].split())
    default = json.loads(run("scores", *SMALL, "--kind", "trajectory", "--json")[1])
    assert default["length"] == 5  # as the world says


def test_asking_where_it_is_best(run):
    code, out, _ = run(
        "scores", "brown-two-state", "--acquisition", "active_var", "--ask", "best", "--demonstrations", "3"
    )
    assert code == 0
    assert "chosen by active_var" in " ".join(out.split())
    record = json.loads(
        run(
            "scores",
            "brown-two-state",
            "--acquisition",
            "active_var",
            "--ask",
            "best",
            "--demonstrations",
            "1",
            "--json",
        )[1]
    )
    assert record["asked"] == [0]  # the counter-example: where the value at risk is largest
    other = run(
        "scores", "brown-two-state", "--ask", "best", "--demonstrations", "1", "--inference", "enumerate", "--json",
        "--acquisition", "expected_regret",
    )  # fmt: skip
    assert json.loads(other[1])["asked"] == [1]


def test_options_of_the_function(run):
    printed = (
        "--acquisition-set",
        "components=joint",
        "--acquisition-set",
        "edges=0,1",
        "--acquisition-set",
        "occupancy=false",
    )
    record = json.loads(run("scores", *SMALL, *printed, "--json")[1])
    assert record["details"]["edges"] == [0.0, 1.0]
    record = json.loads(
        run("scores", *SMALL, "--acquisition", "policy_entropy", "--acquisition-set", "buckets=none", "--json")[1]
    )
    assert record["details"] == {}


def test_png_is_a_picture(run, tmp_path):
    path = tmp_path / "scores.png"
    code, out, err = run("scores", *SMALL, "--png", str(path))
    assert (code, err) == (0, "")
    assert out.endswith(f"Picture written to {path}\n")
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert all(500 < size < 2500 for size in struct.unpack(">II", data[16:24]))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["jial"], "got 'jial'. Did you mean 'jail'?"),
        (["jail", "--acquisition", "pac-eig"], "got 'pac-eig'. Did you mean 'pac_eig'?"),
        (["jail", "--epsilon", "0"], "epsilon must be positive and finite, got 0.0"),
        (
            ["jail", "--demonstrations", "-1"],
            "the number of demonstrations must be a whole number of at least 0, got -1",
        ),
        (["jail", "--demonstrations", "-1", "--ask", "best"], "the number of demonstrations must be a whole number"),
        (["jail", "--ask", "often"], "ask must be one of random, best, got 'often'"),
        (["jail", "--kind", "trajectory", "--length", "0"], "of at least 1, got 0"),
        (
            ["jail", "--acquisition-set", "colour=1"],
            "'pac_eig' must get options it knows, got 'colour'. It has: components, edges",
        ),
        (["jail", "--acquisition-set", "edges=wide"], "edges must be numbers between commas, got 'wide'"),
        (["jail", "--acquisition", "policy_entropy", "--kind", "trajectory"], "cannot rate trajectory queries"),
        (["jail", "--png", "nowhere/x.png"], "folder of a picture must exist"),
    ],
)
def test_mistakes_get_a_message(run, arguments, message):
    code, out, err = run("scores", *arguments, "--threads", "1")
    assert (code, out) == (1, "")
    assert err.startswith("Error: ")
    assert message in err


def test_help_teaches_with_an_example(run):
    code, out, _ = run("scores", "--help")
    text = " ".join(out.replace("│", " ").split())
    assert code == 0
    assert "journeyman scores random-10x10 --acquisition pac_eig --demonstrations 20 --seed 3" in text
    for name in ACQUISITIONS:
        assert name in text


def test_candidates(run):
    arguments = ("scores", *SMALL, "--acquisition", "reward_eig", "--json")
    everything = json.loads(run(*arguments)[1])
    asked = [entry["state"] for entry in everything["ranking"]]
    some = json.loads(run(*arguments, "--candidates", f"{asked[1]},{asked[2]}")[1])
    assert [entry["state"] for entry in some["ranking"]] == asked[1:3]
    again = json.loads(run(*arguments, "--candidates", f"{asked[1]},", "--candidates", asked[2])[1])
    assert again == some
    for text in ("2", "occupancy:2"):
        assert len(json.loads(run(*arguments, "--candidates", text)[1])["ranking"]) == 2
    for text, message in [("99,", "got '99'"), ("occupancy:few", "'occupancy:1000'"), ("0", "got 0"), (",", "got []")]:
        code, out, err = run(*arguments, "--candidates", text)
        assert (code, out) == (1, "") and message in err
