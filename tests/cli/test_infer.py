import json
import os
import subprocess
import sys

import numpy as np
import pytest
from cli.command import command

from journeyman.cli.infer import ask_at_random
from journeyman.inference import INFERENCE
from journeyman.worlds import make_world

GRID = ("random-grid", "--world-set", "size=3", "--seed", "1")
QUICK = {
    "enumerate": ("jail", "--inference-set", "num_points=4096"),
    "policywalk": (
        *GRID,
        "--inference-set",
        "sampler=hmc",
        "--inference-set",
        "num_warmup=100",
        "--inference-set",
        "num_draws=200",
    ),
    "smc": (*GRID, "--inference-set", "num_particles=200"),
    "valuewalk": GRID,
    "variational": (*GRID, "--inference-set", "num_draws=200"),
}


@pytest.fixture
def run(monkeypatch, capsys):
    """Run `journeyman infer` with these arguments; return exit code, stdout and stderr."""
    return command(monkeypatch, capsys, "infer")


@pytest.mark.parametrize("method", INFERENCE)
def test_every_method(run, method):
    code, out, err = run(*QUICK[method], "--inference", method, "--demonstrations", "4")
    assert (code, err) == (0, "")
    assert f"reward after 4 annotations, by {method}" in out
    assert "true parameters lie in their 95 % intervals" in out
    assert ("log evidence" in out) == (method in ("enumerate", "smc"))
    assert "\x1b" not in out
    if method == "variational":
        assert "Warning: variational is an approximation" in out


def test_json_has_the_numbers(run):
    code, out, err = run(
        "jail",
        "--demonstrations",
        "3",
        "--seed",
        "3",
        "--json",
        "--inference-set",
        "num_particles=300",
        "--threads",
        "1",
    )
    assert (code, err) == (0, "")
    record = json.loads(out, parse_constant=pytest.fail)
    assert (record["world"], record["seed"], record["method"], record["num_samples"]) == ("jail", 3, "smc", 300)
    assert len(record["demonstrations"]) == 3
    assert list(record["parameters"]) == ["mud", "water", "lava"]
    truth = make_world("jail", 3).true_parameters
    for value, parameter in zip(truth, record["parameters"].values(), strict=True):
        low, high = parameter["interval"]
        assert parameter["truth"] == value
        assert parameter["is_inside"] == (low <= value <= high)
    assert record["coverage"] == np.mean([item["is_inside"] for item in record["parameters"].values()])


def test_a_seed_repeats(run):
    arguments = (*GRID[:3], "--json", "--inference", "variational", "--demonstrations", "5", "--seed")
    records = [json.loads(run(*arguments, seed)[1]) for seed in ("1", "1", "2")]
    for record in records:
        del record["diagnostics"]["seconds"]
    assert records[0] == records[1] != records[2]


def test_trajectories(run):
    code, out, _ = run("jail", "--demonstrations", "2", "--kind", "trajectory", "--length", "3", "--json")
    assert code == 0
    items = json.loads(out)["demonstrations"]
    assert [1 <= len(item["steps"]) <= 3 for item in items] == [True, True]
    assert {item["ended"] for item in items} <= {"truncated", "terminated"}
    assert "reward after 2 trajectories with" in run("jail", "--demonstrations", "2", "--kind", "trajectory")[1]


def test_no_demonstrations_show_the_prior(run):
    code, out, _ = run(*GRID, "--demonstrations", "0", "--inference", "variational")
    assert code == 0
    assert "reward after 0 annotations" in out
    assert "\nasked" not in out
    assert "converged after 0 iterations" in out


def test_questions_are_put_where_they_may_be():
    world = make_world("random-8x8", 0)
    answers = ask_at_random(world, 200, 0, kind="state", length=None)
    assert len(answers) == 200
    asked = {answer.start_state for answer in answers}
    assert world.problem.queryable[list(asked)].all()
    assert len(asked) > 40  # of 52; 200 uniform draws leave out 1 on average


def test_files(run, tmp_path):
    png, netcdf = tmp_path / "map.png", tmp_path / "draws.nc"
    code, out, err = run(
        *QUICK["variational"], "--inference", "variational", "--png", str(png), "--netcdf", str(netcdf)
    )
    assert (code, err) == (0, "")
    assert f"Draws written to {netcdf}\nPicture written to {png}\n" in out
    assert png.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["draws.nc", "map.png"]
    arviz = pytest.importorskip("arviz")
    data = arviz.from_netcdf(netcdf)
    assert data["posterior"]["theta"].shape == (1, 200, 9)
    assert data["posterior"]["reward"].shape == (1, 200, 9)
    assert int(data["observed_data"]["counts"].sum()) == 20


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["jial"], "got 'jial'. Did you mean 'jail'?"),
        (["jail", "--inference", "policywlak"], "got 'policywlak'. Did you mean 'policywalk'?"),
        (["jail", "--inference", "magic"], "Choose from: enumerate, policywalk, valuewalk, smc, variational"),
        (
            ["jail", "--demonstrations", "-1"],
            "the number of demonstrations must be a whole number of at least 0, got -1",
        ),
        (["jail", "--seed", "-1"], "got -1"),
        (["jail", "--threads", "0"], "num_threads must be a whole number of at least 1"),
        (["jail", "--kind", "path"], "kind must be one of state, trajectory, got 'path'"),
        (["jail", "--length", "4"], "only a trajectory has a length, got --length 4. Add --kind trajectory"),
        (["jail", "--kind", "trajectory", "--length", "0"], "length of a trajectory query must be"),
        (["jail", "--world-set", "colour=red"], "got 'colour'. It has: beta, discount, slip"),
        (["jail", "--inference-set", "num_particle=500"], "Did you mean 'num_particles'?"),
        (["jail", "--inference-set", "num_particles"], "must be written as KEY=VALUE"),
        (["jail", "--inference", "variational"], "got features. Use 'smc'"),
        (["bandit", "--inference", "policywalk"], "got Discrete: there is no gradient to follow. Use 'enumerate'"),
        (["random-8x8", "--inference", "enumerate"], "enumerate needs"),
    ],
)
def test_mistakes_get_a_message(run, arguments, message):
    code, out, err = run(*arguments)
    assert (code, out) == (1, "")
    assert err.startswith("Error: ")
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("option", "name", "message"),
    [
        ("--png", "nowhere/map.png", "folder of a picture must exist"),
        ("--png", "map.xyz", "must end in one of"),
        ("--netcdf", "nowhere/draws.nc", "folder of draws must exist"),
        ("--netcdf", ".", "must go to a file, got the folder"),
    ],
)
def test_bad_places_are_found_before_the_work(run, tmp_path, monkeypatch, option, name, message):
    monkeypatch.setattr("journeyman.inference.infer", lambda *_, **__: pytest.fail("work was begun"))
    code, out, err = run("jail", option, str(tmp_path / name))
    assert (code, out) == (1, "")
    assert message in err
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_a_place_without_permission(run, tmp_path):
    tmp_path.chmod(0o500)
    code, _, err = run("jail", "--netcdf", str(tmp_path / "draws.nc"))
    assert code == 1
    assert "must go where it can be written" in err


def test_help_teaches_with_an_example_and_imports_nothing_slow(run):
    code, out, _ = run("--help")
    text = " ".join(out.split())
    assert code == 0
    assert "journeyman infer random-8x8 --demonstrations 60" in text
    for method in INFERENCE:
        assert method in text
    program = """
import atexit, sys
from journeyman.cli.app import main
atexit.register(lambda: print(sorted({"numba", "numpy", "scipy", "matplotlib"} & set(sys.modules))))
main()
"""
    result = subprocess.run(
        [sys.executable, "-c", program, "infer", "--help"], capture_output=True, text=True, timeout=60
    )
    assert (result.returncode, result.stdout.splitlines()[-1]) == (0, "[]")
