"""Worlds, acquisition functions, inference methods and metrics from outside the package work in sweeps."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from experiment import outside
from experiment.outside import RECORD

from journeyman.errors import InputError
from journeyman.experiment import METRICS, Metric, run_sweep, sweep_from_toml, sweep_table
from journeyman.experiment.results import columns, read_table, results_in
from journeyman.experiment.spec_file import sweep_from_record
from journeyman.experiment.store import Store

TESTS = Path(__file__).parents[1]
TOML = """
name = "mine"
steps = 2
seeds = 1
worlds = [{name = "own-world", options = {beta = 3}}]
acquisitions = [{name = "own-score", label = "corner", options = {corner = 1}}, "random"]
inference = [{name = "own-method", options = {factor = 2}}]
metrics = ["true_regret", "own-metric"]
"""
SCRIPT = """
from experiment.outside import RECORD{and_register}
from journeyman.experiment import run_sweep
from journeyman.experiment.spec_file import sweep_from_record
{register}
if __name__ == "__main__":
    report = run_sweep(sweep_from_record(RECORD), {out!r}, num_workers=2, progress=False)
    raise SystemExit(0 if report.is_complete else 1)
"""


@pytest.fixture
def registered():
    outside.register()
    yield
    outside.unregister()


def test_a_file_may_name_them_and_their_options_are_read_from_their_signatures(registered, tmp_path):
    sweep = sweep_from_toml(TOML)
    assert sweep == sweep_from_record(RECORD)
    cell = sweep.cells()[0]
    record = cell.record()
    assert record["world"] == {"name": "own-world", "options": {"beta": 3.0}, "seed": 0}
    assert record["acquisition"] == {"name": "own-score", "options": {"corner": 1}}
    assert record["inference"] == {"name": "own-method", "options": {"factor": 2}}
    with pytest.raises(InputError, match=r"'own-score' must get options it knows, got 'corners'. Did you mean"):
        sweep_from_record(RECORD | {"acquisitions": [{"name": "own-score", "options": {"corners": 1}}]})
    with pytest.raises(InputError, match=r"Did you mean 'own-metric'"):
        sweep_from_record(RECORD | {"metrics": ["own-metrik"]})
    assert run_sweep(sweep, tmp_path, progress=False).is_complete
    table = sweep_table(sweep, tmp_path)
    assert list(table["num_answers"]) == [0, 1, 2, 0, 1, 2]
    assert table["is_own"].dtype == "boolean"
    assert table["is_own"].all()
    assert set(table.loc[(table["method"] == "corner") & (table["step"] > 0), "state"]) == {1}
    assert run_sweep(sweep_from_record(RECORD | {"metrics": ["own-metric"]}), tmp_path, progress=False).num_new == 0


def test_results_can_be_read_where_a_metric_is_unknown_and_a_new_one_is_empty_in_old_results(tmp_path):
    outside.register()
    try:
        sweep = sweep_from_record(RECORD)
        run_sweep(sweep, tmp_path, progress=False)
        path = Store(tmp_path).result_path(sweep.cells()[0].id)
    finally:
        outside.unregister()
    assert read_table(path).column_names == list(columns())
    assert "num_answers" not in columns()
    assert next(iter(results_in(path).values())).metrics == ("true_regret", "own-metric")
    METRICS.register("later", Metric("another", ("later",), lambda learner, world: [1.0]))
    try:
        table = read_table(path)
        assert table.column_names == list(columns())
        assert table["later"].null_count == table.num_rows == 3
    finally:
        METRICS.unregister("later")


def test_columns_of_a_metric_must_be_its_own():
    METRICS.register("clash", Metric("the same column", ("true_regret",), lambda learner, world: [1.0]))
    try:
        with pytest.raises(InputError, match=r"columns of metric 'clash' must be its own, got 'true_regret'"):
            columns()
    finally:
        METRICS.unregister("clash")


@pytest.mark.slow
@pytest.mark.parametrize("way", ["script", "JOURNEYMAN_PLUGINS"])
def test_workers_have_what_the_script_registers_and_what_the_environment_names(tmp_path, way):
    """Workers are new processes: they import the script, or the module that the environment names."""
    by_script = way == "script"
    text = SCRIPT.format(
        and_register=", register" if by_script else "",
        register="register()" if by_script else "",
        out=str(tmp_path / "out"),
    )
    (tmp_path / "script.py").write_text(text, "utf-8")
    paths = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": paths}
    if not by_script:
        environment["JOURNEYMAN_PLUGINS"] = "experiment.outside_plugin"
    done = subprocess.run(
        [sys.executable, str(tmp_path / "script.py")], env=environment, capture_output=True, text=True, timeout=200
    )
    failures = [path.read_text() for path in (tmp_path / "out" / "failures").glob("*.json")]
    assert (done.returncode, failures) == (0, []), done.stderr
    assert len(list((tmp_path / "out" / "results").iterdir())) == 2
