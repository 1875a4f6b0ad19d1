import json
import os
import struct
import subprocess
import sys

import pytest
from cli.command import command

from journeyman.worlds import WORLDS


@pytest.fixture
def run(monkeypatch, capsys):
    """Run `journeyman` with these arguments; return exit code, stdout and stderr."""
    return command(monkeypatch, capsys)


def run_process(*arguments, code="from journeyman.cli.app import main; main()", **environment):
    command = [sys.executable, "-c", code, *arguments]
    variables = {name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "NO_COLOR")}
    variables |= {"COLUMNS": "80", "PYTHONIOENCODING": "utf-8"} | environment
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", env=variables, timeout=120)


def test_list_names_every_world(run):
    code, out, err = run("worlds")
    assert (code, err) == (0, "")
    for name in WORLDS:
        assert f"\n{name} " in out
    assert "uniform, -100 to 0" in out
    assert "journeyman worlds show jail --seed 3" in out


def test_list_as_json(run):
    code, out, err = run("worlds", "--json")
    assert (code, err) == (0, "")
    entries = {entry["name"]: entry for entry in json.loads(out)}
    assert list(entries) == list(WORLDS)
    assert entries["jail"]["num_states"] == 36
    assert entries["jail"]["options"] == {"beta": 4.0, "discount": 0.9, "slip": 0.1}
    assert entries["random-10x10"]["beta"] == 4.0
    assert entries["bandit"]["prior"] == "512 equally likely atoms"
    assert entries["bandit"]["has_grid"] is False


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_broken_world_does_not_hide_the_others(run, form):
    def broken(seed):
        raise RuntimeError("its map is gone")

    WORLDS.register("broken", broken)
    try:
        code, out, err = run("worlds", *form)
    finally:
        WORLDS.unregister("broken")
    assert code == 0
    assert err.startswith("World 'broken' is left out, since it could not be made: RuntimeError: its map is gone. ")
    assert "broken" not in out and all(name in out for name in WORLDS)


def test_show_draws(run):
    code, out, err = run("worlds", "show", "jail", "--seed", "3")
    assert (code, err) == (0, "")
    assert out.startswith("jail, seed 3: 36 states x 5 actions, discount 0.9\n")
    assert "options        beta=4.0, discount=0.9, slip=0.1" in out
    assert "\x1b" not in out


@pytest.mark.parametrize("name", WORLDS)
def test_show_as_json(run, name):
    code, out, err = run("worlds", "show", name, "--seed", "3", "--json")
    assert (code, err) == (0, "")
    record = json.loads(out, parse_constant=pytest.fail)  # NaN and Infinity are not JSON
    assert record["seed"] == 3
    assert len(record["expert_policy"]) == record["num_states"]


def test_seeds_differ_and_repeat(run):
    records = [run("worlds", "show", "jail", "--seed", seed, "--json") for seed in ("1", "1", "2")]
    assert records[0] == records[1] != records[2]


def test_options_change_the_world(run):
    options = ("--world-set", "size=3", "--world-set", "beta=1.5", "--world-set", "terminals=independent")
    code, out, _ = run("worlds", "show", "random-grid", "--json", *options)
    record = json.loads(out)
    assert (code, record["num_states"], record["beta"]) == (0, 9, 1.5)
    _, drawing, _ = run("worlds", "show", "random-grid", *options)
    assert "size=3, beta=1.5, std=3.0, terminals=independent" in drawing


def test_show_all_states(run):
    assert "--all lists them" in run("worlds", "show", "bandit")[1]
    assert "--all lists them" not in run("worlds", "show", "bandit", "--all")[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["jial"], "got 'jial'. Did you mean 'jail'?"),
        (["jial", "--world-set", "beta=1"], "got 'jial'. Did you mean 'jail'?"),
        (["nothing-like-it"], "Choose from: jail, random-8x8"),
        (["jail", "--seed", "-1"], "got -1"),
        (["jail", "--world-set", "beta"], "must be written as KEY=VALUE, got 'beta'"),
        (["jail", "--world-set", "colour=red"], "got 'colour'. It has: beta, discount, slip"),
        (["jail", "--world-set", "seed=1"], "got 'seed'. It has: beta, discount, slip"),
        (["jail", "--world-set", "beta=high"], "option beta must be a number, got 'high'"),
        (["jail", "--world-set", "beta=-1"], "beta must be positive and finite, got -1.0"),
        (["jail", "--world-set", "beta=1", "--world-set", "beta=2"], "option beta must be given once"),
        (["random-grid", "--world-set", "size=2.5"], "option size must be a whole number, got '2.5'"),
        (["random-grid", "--world-set", "size=0"], "got 0"),
        (["random-grid", "--world-set", "terminals=all"], "terminals must be one of published, independent, got 'all'"),
    ],
)
def test_mistakes_get_a_message(run, arguments, message):
    code, out, err = run("worlds", "show", *arguments)
    assert (code, out) == (1, "")
    assert err.startswith("Error: ")
    assert message in err
    assert err.count("\n") == 1


def test_a_mistake_has_no_traceback():
    result = run_process("worlds", "show", "jial")
    assert (result.returncode, result.stdout) == (1, "")
    message = "Error: a world must be one that exists, got 'jial'. Did you mean 'jail'? Choose from: jail, random-8x8, "
    assert result.stderr.startswith(message)
    assert result.stderr.count("\n") == 1


def test_png_is_a_picture(run, tmp_path):
    path = tmp_path / "jail.png"
    code, out, err = run("worlds", "show", "jail", "--seed", "3", "--png", str(path))
    assert (code, err) == (0, "")
    assert out.endswith(f"Picture written to {path}\n")
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", data[16:24])
    assert 600 < width < 2000
    assert 600 < height < 2000


def test_json_stays_json_with_a_picture(run, tmp_path):
    code, out, err = run("worlds", "show", "bandit", "--json", "--png", str(tmp_path / "bandit.svg"))
    assert code == 0
    assert json.loads(out)["name"] == "bandit"
    assert "Picture written to" in err
    assert "<svg" in (tmp_path / "bandit.svg").read_text("utf-8")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nowhere/jail.png", "folder of a picture must exist"),
        ("jail.xyz", "must end in one of .png, .svg, .pdf"),
        ("jail", "must end in one of .png, .svg, .pdf"),
        (".", "must go to a file, got the folder"),
    ],
)
def test_bad_picture_paths_write_nothing(run, tmp_path, name, message):
    code, out, err = run("worlds", "show", "jail", "--png", str(tmp_path / name))
    assert (code, out) == (1, "")
    assert message in err
    assert not list(tmp_path.iterdir())


WITHOUT_MATPLOTLIB = """
import sys

class Absent:
    def find_spec(name, path=None, target=None):
        if name == "matplotlib":
            raise ModuleNotFoundError("No module named 'matplotlib'", name=name)

sys.meta_path.insert(0, Absent)
from journeyman.cli.app import main
for more in ([], ["--png", sys.argv.pop()]):  # the drawing needs no extra
    sys.argv[1:] = ["worlds", "show", "jail", *more]
    try:
        main()
    except SystemExit as stop:
        print("exit", stop.code or 0)
"""


def test_missing_matplotlib_names_the_extra(tmp_path):
    result = run_process(str(tmp_path / "jail.png"), code=WITHOUT_MATPLOTLIB)
    assert result.returncode == 0
    assert [line for line in result.stdout.splitlines() if line.startswith("exit")] == ["exit 0", "exit 1"]
    assert result.stderr == (
        "Error: matplotlib is needed for pictures but is not installed. "
        "Install it with: pip install 'journeyman[plot]'.\n"
    )
    assert not list(tmp_path.iterdir())


def test_output_that_knows_no_unicode():
    result = run_process("worlds", "show", "random-10x10", PYTHONIOENCODING="ascii")
    assert result.returncode == 0
    assert result.stdout.isascii()


@pytest.mark.parametrize("arguments", [["worlds"], ["worlds", "show"]], ids=" ".join)
def test_help_teaches_with_an_example(run, arguments):
    code, out, _ = run(*arguments, "--help")
    text = " ".join(out.split())
    assert code == 0
    assert "Example" in text
    assert "journeyman worlds show jail --seed 3" in text


@pytest.mark.parametrize("arguments", [["worlds", "--help"], ["worlds", "show", "--help"]], ids=" ".join)
def test_help_imports_nothing_slow(arguments):
    code = """
import atexit, sys
from journeyman.cli.app import main
atexit.register(lambda: print(sorted({"numba", "numpy", "scipy", "matplotlib"} & set(sys.modules))))
main()
"""
    result = run_process(*arguments, code=code)
    assert result.returncode == 0
    assert result.stdout.splitlines()[-1] == "[]"


def test_unknown_subcommand_and_missing_name_are_usage_errors(run):
    assert run("worlds", "nonsense")[0] == 2
    assert run("worlds", "show")[0] == 2
    assert run("worlds", "show", "jail", "--seed", "three")[0] == 2
