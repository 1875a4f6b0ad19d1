"""`journeyman sweep` as a user types it."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import fields
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli.command import command
from cli.tiny_sweep import TINY

from journeyman.cli.sweep.results import PICTURES
from journeyman.cli.sweep.run import checked_workers
from journeyman.experiment import METRICS, Sweep, load_sweep, sweep_from_toml, sweep_table
from journeyman.experiment.results import columns
from journeyman.experiment.store import open_store
from journeyman.report.drawing.maps import FORMATS
from journeyman.threads import default_num_threads

WRONG = TINY.replace(
    "acquisitions = [", 'acquisitions = [{name = "pac_eig", label = "wrong", options = {edges = [2, 1]}}, '
)


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Run `journeyman sweep` in an empty folder with tiny.toml; return exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.toml").write_text(TINY, "utf-8")
    return command(monkeypatch, capsys, "sweep")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Return a folder in which the tiny sweep is finished."""
    from journeyman.experiment import run_sweep

    folder = tmp_path_factory.mktemp("finished") / "out"
    assert run_sweep(sweep_from_toml(TINY), folder, progress=False).is_complete
    return folder


@pytest.fixture
def done(run, finished, tmp_path):
    """Run commands in a folder where the tiny sweep is finished."""
    shutil.copytree(finished, tmp_path / "runs" / "tiny")
    return run


def words(text):
    """Return a text without line breaks, which depend on the width of the terminal."""
    return " ".join(text.split())


# init


def test_the_example_has_every_key_and_can_be_run(run, tmp_path):
    code, out, err = run("init", "new/mine.toml")
    assert (code, out, err) == (0, "Wrote new/mine.toml\nNext: journeyman sweep run new/mine.toml\n", "")
    text = (tmp_path / "new" / "mine.toml").read_text("utf-8")
    for field in fields(Sweep):
        assert f"\n{field.name} = " in text or f"\n# {field.name} = " in text, field.name
    assert "journeyman sweep run new/mine.toml" in text
    sweep = load_sweep(tmp_path / "new" / "mine.toml")
    assert len(sweep.cells()) == 4 * 8


def test_what_the_example_has_commented_out_works_too(run, tmp_path):
    run("init")
    text = (tmp_path / "sweep.toml").read_text("utf-8")
    for line in text.splitlines():
        entry = line.strip().removeprefix("# ")
        if line.startswith(("    # ", "# metrics", "# num_histories")):
            text = text.replace(line, line.replace("# ", "", 1))
            assert entry
    sweep = sweep_from_toml(text)
    assert [world.label for world in sweep.worlds] == ["5x5", "random-8x8", "jail"]
    assert sweep.metrics == tuple(METRICS)
    assert len(sweep.cells()) == 3 * 5 * 8


def test_the_example_overwrites_nothing_unless_told_to(run, tmp_path):
    code, _, err = run("init", "tiny.toml")
    assert code == 1
    assert "'tiny.toml', which exists" in err
    assert (tmp_path / "tiny.toml").read_text("utf-8") == TINY
    assert run("init", "tiny.toml", "--force")[0] == 0
    assert load_sweep(tmp_path / "tiny.toml").name == "first comparison"


def test_the_example_needs_a_place(run):
    code, _, err = run("init", "tiny.toml/new.toml")
    assert code == 1
    assert "an example must go to a folder that can be made, got 'tiny.toml'" in err


# run


def test_a_run_says_where_results_are_how_it_ended_and_what_to_do_next(run, tmp_path):
    code, out, err = run("run", "tiny.toml", "--workers", 1)
    assert code == 0
    assert "tiny: 4 cells (1 world x 2 acquisitions x 2 seeds) of 3 answers.\n" in err
    assert "Runs on 1 worker; run the same command again after an interruption. Results are kept in runs/tiny.\n" in err
    assert "[4/4] 3x3 seed 1, nuPAC-EIG" in err
    assert out.startswith("tiny: complete\n")
    assert "finished 4 of 4 cells in this run 4 time" in words(out)
    assert "journeyman sweep table tiny.toml\n" in out
    assert "journeyman sweep plot tiny.toml\n" in out
    assert len(list((tmp_path / "runs" / "tiny" / "results").glob("*.parquet"))) == 4


@pytest.mark.parametrize("name", ["run", "resume"])
def test_what_is_finished_is_not_run_again(done, tmp_path, name):
    files = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet")}
    code, out, err = done(name, "tiny.toml")
    assert code == 0
    assert "; 4 finished.\nNothing is left to run. Results are kept in runs/tiny.\n" in err
    assert "in this run none" in words(out)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet")} == files


def test_a_longer_spec_runs_only_what_is_new(done, tmp_path):
    text = TINY.replace("seeds = 2", "seeds = 3").replace('["random"', '["random", "active_var"')
    (tmp_path / "tiny.toml").write_text(text, "utf-8")
    code, out, _ = done("resume", "tiny.toml", "--workers", 1, "--json")
    record = json.loads(out)
    assert code == 0
    assert (record["num_cells"], record["num_finished"], record["num_new"]) == (9, 9, 5)
    assert (record["failed"], record["is_complete"], record["out"]) == ([], True, "runs/tiny")


def test_the_folder_can_be_chosen_and_is_named_in_what_to_do_next(run, finished, tmp_path):
    shutil.copytree(finished, tmp_path / "my results")
    code, out, _ = run("run", "tiny.toml", "--out", "my results")
    assert code == 0
    assert "journeyman sweep table tiny.toml --out 'my results'" in out
    assert not (tmp_path / "runs").exists()


def test_failed_cells_are_named_with_their_error_and_how_to_try_again(done, tmp_path):
    (tmp_path / "tiny.toml").write_text(WRONG, "utf-8")
    code, out, err = done("run", "tiny.toml", "--workers", 1)
    assert code == 1
    assert out.startswith("tiny: not complete\n")
    assert "finished 4 of 6 cells in this run none failed 2" in words(out)
    assert "3x3 seed 0, wrong: InputError: edges must be finite, ascending" in words(out)
    failure = next(Path(line.split()[-1]) for line in out.splitlines() if "traceback:" in line)
    assert "Traceback" in json.loads((tmp_path / failure).read_text("utf-8"))["traceback"]
    assert "journeyman sweep run tiny.toml --retry-failed\n" in out
    assert "FAILED" in err
    assert done("status", "tiny.toml", "--json")[0] == 0  # looking is no failure


def test_failed_cells_are_tried_again_on_request_only(done, tmp_path):
    cell = load_sweep(tmp_path / "tiny.toml").cells()[0]
    store = open_store(tmp_path / "runs" / "tiny")
    store.result_path(cell.id).unlink()
    store.fail(cell, "OSError: the machine was tired", "Traceback ...")
    code, out, err = done("run", "tiny.toml")
    assert code == 1
    assert "3x3 seed 0, random: OSError: the machine was tired" in out
    assert "Nothing is left to run" in err
    code, out, _ = done("run", "tiny.toml", "--retry-failed", "--workers", 1)
    assert code == 0
    assert "in this run 1; 3 by earlier or other runs" in words(out)


def test_one_worker_per_core_unless_told_otherwise():
    assert checked_workers(None, "local", 1000) == default_num_threads()
    assert checked_workers(None, "local", 1) == 1
    assert checked_workers(3, "local", 1000) == 3


def test_ctrl_c_keeps_what_there_is(tmp_path):
    long = TINY.replace("steps = 3", "steps = 100000").replace("seeds = 2", "seeds = 1")
    (tmp_path / "long.toml").write_text(long, "utf-8")
    command = [sys.executable, "-m", "journeyman", "sweep", "run", "long.toml", "--workers", "1"]
    environment = dict(os.environ, PYTHONIOENCODING="utf-8")
    started = subprocess.Popen(
        [*command, "--checkpoint-seconds", "0.1"], cwd=tmp_path, env=environment, text=True, encoding="utf-8",
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        deadline = time.monotonic() + 60.0
        while not list(tmp_path.glob("runs/long/checkpoints/*.npz")) and time.monotonic() < deadline:
            time.sleep(0.05)
        started.send_signal(signal.SIGINT)
        out, err = started.communicate(timeout=30)
    finally:
        started.kill()
    assert (started.returncode, out) == (130, "")
    assert "Stopped. 0 of 2 cells are finished, 1 begun; all of it is kept in runs/long. Run the same command" in err
    (tmp_path / "long.toml").write_text(long.replace("steps = 100000", "steps = 1"), "utf-8")
    sweep, store = load_sweep(tmp_path / "long.toml"), open_store(tmp_path / "runs" / "long")
    assert store.checkpoint_path(sweep.cells()[0].id).exists()


def test_without_the_tables_extra_nothing_is_begun(run, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    code, out, err = run("run", "tiny.toml")
    assert (code, out) == (1, "")
    assert "pip install 'journeyman[tables]'" in err
    assert not (tmp_path / "runs").exists()


# status


def test_status_before_the_first_run_makes_nothing(run, tmp_path):
    code, out, err = run("status", "tiny.toml")
    assert (code, err) == (0, "")
    assert "Nothing was run yet: there is no runs/tiny." in out
    assert "Run it: journeyman sweep run tiny.toml\n" in out
    record = json.loads(run("status", "tiny.toml", "--json")[1])
    assert record["counts"] == {"finished": 0, "running": 0, "begun": 0, "waiting": 4, "failed": 0}
    assert [path.name for path in tmp_path.iterdir()] == ["tiny.toml"]


def test_status_of_a_folder_without_results(run, tmp_path):
    (tmp_path / "empty").mkdir()
    code, out, _ = run("status", "tiny.toml", "--out", "empty")
    assert code == 0
    assert "Nothing was run yet: empty has no results." in out


def test_status_counts_and_names_what_runs_and_what_failed(done, tmp_path):
    (tmp_path / "tiny.toml").write_text(TINY.replace("seeds = 2", "seeds = 4"), "utf-8")
    cells = load_sweep(tmp_path / "tiny.toml").cells()
    store = open_store(tmp_path / "runs" / "tiny")
    store.fail(cells[4], "OSError: [bold]tired[/bold]", "Traceback ...")
    with store.claim(cells[5].id):
        code, out, _ = done("status", "tiny.toml")
        record = json.loads(done("status", "tiny.toml", "--json")[1])
        listed = done("status", "tiny.toml", "--cells")[1]
    assert code == 0
    assert "finished 4 running 1" in words(out)
    assert "waiting 2 failed 1" in words(out)
    assert "answers 12 of 24: 50 %" in words(out)
    assert "random 2 of 4, 1 failed nuPAC-EIG 2 of 4" in words(out)
    assert "Running now 3x3 seed 2, nuPAC-EIG: 0 of 3 answers kept" in words(out)
    assert "3x3 seed 2, random: OSError: [bold]tired[/bold]" in out
    assert f"traceback: runs/tiny/failures/{cells[4].id}.json\n" in out
    assert "journeyman sweep run tiny.toml --retry-failed\n" in out
    assert "Resume: journeyman sweep run tiny.toml Results" in words(out)
    assert [cell["status"] for cell in record["cells"]] == ["failed", "running"]
    assert record["cells"][0]["error"] == "OSError: [bold]tired[/bold]"
    assert record["methods"][0] == {
        "world": "3x3", "query": "state", "inference": "smc", "method": "random",
        "num_finished": 2, "num_failed": 1, "num_cells": 4,
    }  # fmt: skip
    assert all(cell.id in listed for cell in cells)
    assert max(map(len, (out + listed).splitlines())) <= 80


# table


def test_the_summary_has_means_and_standard_errors(done, tmp_path):
    code, out, err = done("table", "tiny.toml", "--json", "--step", 3, "--step", 0)
    assert (code, err) == (0, "")
    rows = json.loads(out, parse_constant=pytest.fail)["rows"]
    assert [(row["step"], row["method"], row["n"]) for row in rows] == [
        (0, "random", 2), (0, "nuPAC-EIG", 2), (3, "random", 2), (3, "nuPAC-EIG", 2),
    ]  # fmt: skip
    table = sweep_table(load_sweep(tmp_path / "tiny.toml"), tmp_path / "runs" / "tiny")
    for row in rows:
        here = table[(table["step"] == row["step"]) & (table["method"] == row["method"])]
        for name, column in {"entropy": row["entropy_estimate"], "true_regret": "true_regret"}.items():
            values = here[column].to_numpy()
            assert row[name]["mean"] == pytest.approx(values.mean(), rel=1e-12)
            assert row[name]["standard_error"] == pytest.approx(np.std(values, ddof=1) / np.sqrt(2), rel=1e-9)
        assert row["num_certified"] == here["certificate_holds"].sum()


def test_the_summary_as_text(done):
    code, out, err = done("table", "tiny.toml")
    assert (code, err) == (0, "")
    assert out.startswith("3x3, single annotations, smc\n")
    assert "P[regret" in out
    assert "standard error over n instances" in words(out)
    assert [line.split()[0] for line in out.splitlines() if " random " in line] == ["1", "2", "3"]
    assert max(map(len, out.splitlines())) <= 80


def test_missing_cells_are_said(done, tmp_path):
    (tmp_path / "tiny.toml").write_text(TINY.replace("seeds = 2", "seeds = 4"), "utf-8")
    next(iter((tmp_path / "runs" / "tiny" / "results").glob("*.parquet"))).unlink()
    code, out, err = done("table", "tiny.toml")
    assert code == 0
    assert "3 of 8 cells are finished, and only these are shown." in err
    assert "n differs between methods" in words(out)


@pytest.mark.parametrize("ending", ["parquet", "csv"])
@pytest.mark.parametrize("is_compact", [False, True], ids=["full", "compact"])
def test_all_results_go_to_a_file(done, tmp_path, ending, is_compact):
    name = f"all.{ending}"
    code, out, err = done("table", "tiny.toml", "--to", name, *(["--compact"] if is_compact else []))
    assert (code, out, err) == (0, f"Wrote 16 rows to {name}\n", "")
    assert not list(tmp_path.glob(".*"))
    found = pd.read_parquet(tmp_path / name) if ending == "parquet" else pd.read_csv(tmp_path / name)
    table = sweep_table(load_sweep(tmp_path / "tiny.toml"), tmp_path / "runs" / "tiny")
    assert list(found.columns) == list(table.columns)
    assert set(columns()) < set(found.columns)
    assert found["sweep"].unique().tolist() == ["tiny"]
    assert found["cell"].tolist() == table["cell"].tolist()
    tolerance = 1e-6 if is_compact else 1e-15
    np.testing.assert_allclose(found["true_regret"], table["true_regret"], rtol=tolerance)
    np.testing.assert_allclose(found["entropy_evidence"], table["entropy_evidence"], rtol=tolerance)
    assert found["state"].isna().tolist() == table["state"].isna().tolist()


def test_a_file_of_results_counts_as_finished_elsewhere(done, tmp_path):
    done("table", "tiny.toml", "--to", "all.parquet")
    (tmp_path / "other" / "results").mkdir(parents=True)
    shutil.copy(tmp_path / "all.parquet", tmp_path / "other" / "results" / "from-elsewhere.parquet")
    assert json.loads(done("status", "tiny.toml", "--out", "other", "--json")[1])["counts"]["finished"] == 4
    assert json.loads(done("run", "tiny.toml", "--out", "other", "--json")[1])["num_new"] == 0


def test_a_file_as_json(done):
    code, out, _ = done("table", "tiny.toml", "--to", "all.parquet", "--json")
    assert (code, json.loads(out)) == (0, {"file": "all.parquet", "num_rows": 16})


# plot


def test_figures_are_drawn_and_listed(done, tmp_path):
    code, out, err = done("plot", "tiny.toml")
    assert (code, err) == (0, "")
    files = [tmp_path / line for line in out.splitlines()]
    assert {path.stem.rpartition("_")[2] for path in files} >= {"results", "goals", "queries", "pairs"}
    for path in files:
        assert path.parent == tmp_path / "runs" / "tiny" / "figures"
        assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_all_formats_are_named_in_the_help():
    assert set(re.findall(r"[a-z]+", PICTURES)) - {"default", "or"} == set(FORMATS)


def test_figures_elsewhere_of_another_kind_and_of_one_method(done, tmp_path):
    code, out, _ = done("plot", "tiny.toml", "--to", "pictures", "--format", "svg", "--method", "random", "--json")
    files = json.loads(out)["files"]
    assert code == 0
    assert sorted(files) == sorted(str(path.relative_to(tmp_path)) for path in (tmp_path / "pictures").iterdir())
    assert all("<svg" in (tmp_path / file).read_text("utf-8") for file in files)


# mistakes


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "none.toml"], "got 'none.toml': No such file or directory"),
        (["run", "typo.toml"], "typo.toml: a sweep must get options it knows, got 'steeps'. Did you mean 'steps'?"),
        (["status", "typo.toml"], "Did you mean 'steps'?"),
        (["run", "tiny.toml", "--workers", "0"], "the number of workers must be a whole number of at least 1, got 0"),
        (["run", "tiny.toml", "--executor", "dsk"], "executor must be one of local, dask, got 'dsk'"),
        (["run", "tiny.toml", "--executor", "dask", "--workers", "2"], "workers must be left out with a Dask cluster"),
        (["run", "tiny.toml", "--out", "tiny.toml/x"], "a sweep must go to a folder that can be written"),
        (["run", "tiny.toml", "--out", "tiny.toml"], "results must be in a folder, got 'tiny.toml', which is a file"),
        (["run", "tiny.toml", "--executor", "dask"], "executor 'dask' must know its scheduler, got none"),
        (["run", "tiny.toml", "--scheduler", "tcp://x:1"], "a scheduler must come with executor 'dask'"),
        (["run", "tiny.toml", "--checkpoint-seconds", "-1"], "checkpoint_seconds must be at least 0, got -1"),
        (
            ["status", "tiny.toml", "--out", "tiny.toml"],
            "results must be in a folder, got 'tiny.toml', which is a file",
        ),
        (["table", "tiny.toml"], "got no finished cell in 'runs/tiny'. Run: journeyman sweep run tiny.toml"),
        (["table", "tiny.toml", "--to", "a.csv"], "got no finished cell in 'runs/tiny'"),
        (["table", "tiny.toml", "--to", "a.xlsx"], "a table must end in one of .parquet, .csv, got 'a.xlsx'"),
        (["table", "tiny.toml", "--step", "4"], "a step must be from 0 to 3, the steps of the sweep, got 4"),
        (["table", "tiny.toml", "--step", "1", "--to", "a.csv"], "--step is for the summary"),
        (["table", "tiny.toml", "--compact"], "--compact must come with --to"),
        (["plot", "tiny.toml"], "got no finished cell in 'runs/tiny'"),
    ],
)
def test_mistakes_get_a_message_and_leave_nothing(run, tmp_path, arguments, message):
    (tmp_path / "typo.toml").write_text(TINY.replace("steps", "steeps"), "utf-8")
    code, out, err = run(*arguments)
    assert (code, out) == (1, "")
    assert message in err
    assert "Runs on" not in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tiny.toml", "typo.toml"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["plot", "--format", "doc"], "got 'doc'"),
        (["plot", "--method", "nonsense"], "got 'nonsense'"),
        (["plot", "--baseline", "nonsense"], "the baseline must be in the table, got 'nonsense'"),
        (["plot", "--entropy", "nonsense"], "got 'nonsense'"),
        (["plot", "--to", "tiny.toml"], "pictures must go to a folder that can be made"),
        (["table", "--to", "nowhere/all.csv"], "must go where it can be written, got 'nowhere/all.csv'"),
        (["table", "--to", "nowhere/all.parquet"], "must go where it can be written, got 'nowhere/all.parquet'"),
    ],
)
def test_mistakes_with_results_get_a_message(done, arguments, message):
    code, _, err = done(arguments[0], "tiny.toml", *arguments[1:])
    assert code == 1
    assert message in err
