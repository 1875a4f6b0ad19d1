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
NUM_BOUTS, NUM_STEPS = 238, 500
QUICK = [
    word for pair in ("num_particles=100", "max_leapfrog=10", "max_burn_in=2") for word in ("--inference-set", pair)
]
TAKE_OPTIONS = (["study", "new"], ["compare"])  # commands that sample with options of their own


def commands_of_readme():
    """Return the arguments of each command in the block that runs."""
    block = re.search(r"^```sh\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    return [shlex.split(line)[1:] for line in block.group(1).splitlines()]


def copy_example(folder, *, num_bouts=NUM_BOUTS, num_steps=NUM_STEPS):
    """Copy what the commands read, with the first bouts of the table and the first steps of each, or with all."""
    for name in ("problem.toml", "edges.csv", "labyrinth.csv.gz"):
        shutil.copy(EXAMPLE / name, folder / name)
    if (num_bouts, num_steps) != (NUM_BOUTS, NUM_STEPS):
        with gzip.open(EXAMPLE / "labyrinth.csv.gz", "rt", newline="") as file:
            header, *lines = file
        numbers = [[int(number) for number in line.split(",")[:2]] for line in lines]
        pairs = zip(lines, numbers, strict=True)
        cut = [line for line, (bout, step) in pairs if bout < num_bouts and step < num_steps]
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


def check_what_was_written(printed, num_bouts=NUM_BOUTS, num_steps=NUM_STEPS):
    """Check files and words that every run has, whatever it found."""
    dry, real = (text for name, text in printed.items() if name.startswith("study import"))
    data = f"{num_bouts} demonstrations of {num_bouts * num_steps} steps"
    assert f"Would attach {data}. Nothing was written." in dry and f"Attached {data}" in real
    assert re.search(r"Question 0: In state \d+: which action", printed["study ask mice.study"])
    rewards, policy = rows("mice-reward.csv"), rows("mice-policy.csv")
    assert [int(row["state"]) for row in rewards] == list(range(127))
    assert all(float(row["low"]) < float(row["mean"]) < float(row["high"]) for row in rewards)
    assert sum(row["is_chosen"] == "True" for row in policy) == 127
    for name in ("reward", "uncertainty", "policy"):
        assert Path(f"mice-figures/{name}.png").read_bytes().startswith(b"\x89PNG")
    page = Path("mice.html").read_text("utf-8")
    assert "Mice in a labyrinth" in page and f"{num_bouts * num_steps:,} actions" in page
    return {row["name"]: row for row in json.loads(Path("mice-models/comparison.json").read_text())["models"]}


@pytest.mark.slow
def test_the_commands_of_the_readme_run_on_ten_bouts(tmp_path, monkeypatch):
    """Of 20 steps each, with few particles that hardly move: what they find does not matter here."""
    monkeypatch.chdir(tmp_path)
    copy_example(tmp_path, num_bouts=10, num_steps=20)
    models = check_what_was_written(run_all(options=QUICK), num_bouts=10, num_steps=20)
    assert models["chance"]["bits"] == pytest.approx(-1.585, abs=0.01)


@pytest.mark.slow
def test_the_whole_example_takes_three_minutes_on_two_cores_and_finds_what_is_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    copy_example(tmp_path)
    begin = time.process_time()
    printed = run_all()
    assert time.process_time() - begin < 180.0  # of processor time, which two idle cores have in less
    models = check_what_was_written(printed)
    plain = models["beta unknown, no memory"]
    remembering = models["beta unknown, memory: has visited 116 since 0"]
    assert plain["share"] >= 0.95 and remembering["share"] > 2.2
    assert f"{plain['bits']:.4f}" in README and f"{remembering['bits']:.4f}" in README
    water = rows("mice-reward.csv")[116]
    assert float(water["low"]) < 0.0 < float(water["high"])  # nothing tells the water apart


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
