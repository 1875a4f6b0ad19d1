"""The example in examples/labyrinth does what its README says: its commands run, from the raw table to the report."""

import csv
import gzip
import json
import re
import shlex
import shutil
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from journeyman.cli.app import app

EXAMPLE = Path(__file__).parents[1] / "examples" / "labyrinth"
README = (EXAMPLE / "README.md").read_text("utf-8")
FEW = ["--inference-set", "num_particles=100"]
TAKE_OPTIONS = (["study", "new"], ["compare"])  # commands that sample with options of their own


def commands_of_readme():
    """Return the arguments of each command in the block that runs."""
    block = re.search(r"^```sh\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    return [shlex.split(line)[1:] for line in block.group(1).splitlines()]


def copy_example(folder, *, num_bouts=None):
    """Copy what the commands read, with the first bouts of the table or with all."""
    for name in ("problem.toml", "edges.csv", "labyrinth.csv.gz"):
        shutil.copy(EXAMPLE / name, folder / name)
    if num_bouts is not None:
        with gzip.open(EXAMPLE / "labyrinth.csv.gz", "rt", newline="") as file:
            header, *lines = file
        cut = [line for line in lines if int(line.partition(",")[0]) < num_bouts]
        with gzip.open(folder / "labyrinth.csv.gz", "wt", newline="") as file:
            file.writelines([header, *cut])


def run_all(*, options=()):
    """Run the commands where we are; return what each printed."""
    printed = {}
    for arguments in commands_of_readme():
        takes_options = any(arguments[: len(start)] == start for start in TAKE_OPTIONS)
        result = CliRunner().invoke(app, [*arguments, *(options if takes_options else ())])
        assert result.exit_code == 0, (arguments, result.output)
        printed[" ".join(arguments)] = result.output
    return printed


def rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def check_what_was_written(printed, num_bouts):
    """Check files and words that every run has, whatever it found."""
    dry, real = (text for name, text in printed.items() if name.startswith("study import"))
    assert f"Would attach {num_bouts} demonstrations of {500 * num_bouts} steps. Nothing was written." in dry
    assert f"Attached {num_bouts} demonstrations of {500 * num_bouts} steps" in real
    assert re.search(r"Question 0: In state \d+: which action", printed["study ask mice.study"])
    rewards, policy = rows("mice-reward.csv"), rows("mice-policy.csv")
    assert [int(row["state"]) for row in rewards] == list(range(127))
    assert all(float(row["low"]) < float(row["mean"]) < float(row["high"]) for row in rewards)
    assert sum(row["is_chosen"] == "True" for row in policy) == 127
    for name in ("reward", "uncertainty", "policy"):
        assert Path(f"mice-figures/{name}.png").read_bytes().startswith(b"\x89PNG")
    page = Path("mice.html").read_text("utf-8")
    assert "Mice in a labyrinth" in page and f"{500 * num_bouts:,} actions" in page
    return {row["name"]: row for row in json.loads(Path("mice-models/comparison.json").read_text())["models"]}


def test_the_commands_of_the_readme_run_on_ten_bouts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    copy_example(tmp_path, num_bouts=10)
    models = check_what_was_written(run_all(options=FEW), 10)
    assert models["chance"]["bits"] < models["empirical policy"]["bits"] < 0.0


@pytest.mark.slow
def test_the_whole_example_takes_three_minutes_on_two_cores_and_finds_what_is_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    copy_example(tmp_path)
    begin = time.process_time()
    printed = run_all()
    assert time.process_time() - begin < 2 * 180.0
    models = check_what_was_written(printed, 238)
    plain, remembering = (
        models["reward per state, beta unknown, no memory"],
        models["reward per state, beta unknown, memory: has visited 116 since 0"],
    )
    assert plain["share"] >= 0.95 and remembering["share"] > 2.2
    assert f"{plain['bits']:.4f}" in README and f"{remembering['bits']:.4f}" in README
    water = float(rows("mice-reward.csv")[116]["mean"])
    assert abs(water) < 0.2  # nothing tells the water apart, as README says


def test_the_script_runs_the_commands_of_the_readme():
    lines = (EXAMPLE / "run.sh").read_text("utf-8").splitlines()
    assert [shlex.split(line)[1:] for line in lines if line.startswith("journeyman ")] == commands_of_readme()
    assert (EXAMPLE / "run.sh").stat().st_mode & 0o111


def test_the_edges_are_those_of_the_labyrinth():
    """Node s has the children 2s + 1 on the left and 2s + 2 on the right; one can stay at the entrance."""
    expected = [(s, 2 * s + 1 + right, ("left", "right")[right], "back") for s in range(63) for right in (0, 1)]
    found = [(int(row["from"]), int(row["to"]), row["action"], row["back"]) for row in rows(EXAMPLE / "edges.csv")]
    assert found == [*expected, (0, 0, "stay", "")]


def test_pictures_and_links_of_the_readme_exist_and_are_small():
    targets = [target.partition("#")[0] for target in re.findall(r"\]\(([^)]+)\)", README) if "://" not in target]
    assert sum(target.endswith(".png") for target in targets) == 3
    for target in targets:
        assert (EXAMPLE / target).exists(), target
        assert not target.endswith(".png") or (EXAMPLE / target).stat().st_size < 150_000


def test_the_source_of_the_data_is_named():
    assert "eLife 10:e66175 (2021)" in README and "MIT licence" in README and "SWIRL" in README


def test_the_documented_comparison_meets_what_it_promises():
    """Eight models and two references, of which the best explains at least 95 % of the explainable."""
    models = json.loads((EXAMPLE / "results" / "comparison.json").read_text())["models"]
    assert len(models) == 10
    assert max(model["share"] for model in models if not model["is_reference"]) >= 0.95
