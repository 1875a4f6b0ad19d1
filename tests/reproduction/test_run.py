"""One experiment at the smallest scale: what is run, what is written, and that nothing is run twice."""

from pathlib import Path

import pandas as pd
import pytest

from journeyman.errors import InputError
from journeyman.experiment.results import read_table, to_frame
from journeyman.experiment.runner import RunOptions, jobs_of, run_jobs
from reproduction.experiments import sweep_of
from reproduction.run import Plan, adopt_tables, reproduce, results, write_experiment_table

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def jail(tmp_path_factory):
    plan = Plan("jail", tmp_path_factory.mktemp("jail"), "smoke")
    return plan, reproduce(plan, say=lambda text: None, progress=False)


def test_the_papers_methods_come_first_and_all_are_finished(jail):
    plan, done = jail
    assert [(report.num_cells, report.num_new, report.is_complete) for report in done.reports] == [
        (8, 8, True),
        (2, 2, True),
    ]
    frame = results(plan, ["jail"], ["smc"])
    assert set(frame["method"]) == {"random", "action entropy", "Reward-EIG", "PAC-EIG", "nuPAC-EIG"}
    assert (frame.groupby("cell").size() == 4).all()


def test_action_entropy_asks_in_the_jail(jail):
    plan, _ = jail
    frame = results(plan, ["jail"], ["smc"])
    kinds = sweep_of("jail", "smoke").cells()[0].make_world().problem.mdp.grid.kinds
    asked = frame[(frame["method"] == "action entropy") & (frame["step"] > 0)]["state"]
    assert {kinds[state] for state in asked} == {"jail"}


def test_files(jail):
    _, done = jail
    assert all(path.stat().st_size > 0 for path in done.paths)
    names = {path.name for path in done.paths}
    assert {"jail.parquet", "jail_trajectory-20_smc_results.png"} <= names


def test_again_runs_nothing(jail):
    plan, _ = jail
    again = reproduce(plan, say=lambda text: None, progress=False)
    assert [report.num_new for report in again.reports] == [0, 0]


def test_tables_of_an_earlier_run_are_not_run_again(jail, tmp_path):
    plan, _ = jail
    elsewhere = Plan("jail", tmp_path / "new", "smoke")
    done = reproduce(elsewhere, tables=plan.out / "tables", say=lambda text: None, progress=False)
    assert [report.num_new for report in done.reports] == [0, 0]
    ours, theirs = results(elsewhere, ["jail"], ["smc"]), results(plan, ["jail"], ["smc"])
    pd.testing.assert_frame_equal(ours, theirs, rtol=1e-6, atol=1e-30)  # compact tables keep seven digits


def test_bounds_and_timing_need_one_instance_and_use_all_there_are(jail):
    plan, _ = jail
    aside = Plan("timing", plan.out, "smoke")
    assert all(sweep.seeds == (0,) for sweep in aside.sweeps(beyond=False))
    assert aside.sweeps(beyond=True) == []
    assert set(results(aside, ["jail"], ["smc"])["seed"]) == {0, 1}


def test_failure_modes_need_no_sweep(tmp_path):
    told = []
    done = reproduce(Plan("failure-modes", tmp_path), say=told.append)
    assert done.reports == []
    assert "Brown" in told[0] and "Lopes" in told[0]
    assert not (tmp_path / "results").exists()


def test_misspelt_part(tmp_path):
    with pytest.raises(InputError, match="Did you mean 'jail'"):
        Plan("jale", tmp_path)


def test_more_instances_than_the_scale_has(jail):
    plan, _ = jail
    more = Plan("jail", plan.out, "smoke", num_seeds=3)
    done = reproduce(more, say=lambda text: None, progress=False)
    assert [report.num_new for report in done.reports] == [4, 1]
    assert set(results(more, ["jail"], ["smc"])["seed"]) == {0, 1, 2}
    assert set(results(plan, ["jail"], ["smc"])["seed"]) == {0, 1}


def test_both_ways_of_inference_are_compared(jail):
    plan, _ = jail
    chains = Plan("jail", plan.out, "smoke", inference="chains", num_seeds=1)
    done = reproduce(chains, say=lambda text: None, progress=False)
    assert [(report.num_cells, report.num_new) for report in done.reports] == [(4, 4)]
    names = {path.name for path in done.paths}
    assert {"jail-chains.parquet", "jail_trajectory-20_inference.png"} <= names


def test_a_foreign_table_is_refused_before_it_is_copied(jail, tmp_path):
    plan, _ = jail
    tables = tmp_path / "tables"
    tables.mkdir()
    (tables / "a.parquet").write_bytes((plan.out / "tables" / "jail.parquet").read_bytes())
    (tables / "b.parquet").write_bytes(b"something else")
    with pytest.raises(InputError, match=r"b\.parquet"):
        adopt_tables(tables, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_folder_without_tables(tmp_path):
    with pytest.raises(InputError, match="Parquet"):
        adopt_tables(tmp_path, tmp_path / "out")


def test_tables_hold_cells_with_fewer_steps_and_a_later_run_goes_on_with_them(tmp_path):
    plan = Plan("jail", tmp_path / "first", "smoke", num_seeds=1)
    (sweep,) = plan.sweeps(beyond=False)
    run_jobs([job._replace(num_steps=1) for job in jobs_of([sweep])], plan.out, RunOptions(progress=False))
    assert results(plan, ["jail"], ["smc"]).empty
    path = write_experiment_table(plan, "jail")
    held = to_frame(read_table(path))
    assert held.groupby("method")["step"].max().to_dict() == dict.fromkeys(held["method"], 1)
    later = Plan("jail", tmp_path / "second", "smoke", num_seeds=1)
    reproduce(later, tables=path.parent, say=lambda text: None, progress=False)
    whole = results(later, ["jail"], ["smc"])
    begun = whole[(whole["step"] <= 1) & (whole["method"] != "nuPAC-EIG")]
    assert (whole.groupby("method")["step"].max() == 3).all()
    assert list(begun["state"].dropna()) == list(held["state"].dropna())


def test_there_is_no_table_without_results(tmp_path):
    assert write_experiment_table(Plan("jail", tmp_path, "smoke"), "jail") is None


def test_the_committed_tables_can_be_gone_on_from(tmp_path):
    tables = Path(__file__).parents[2] / "reproduction" / "tables"
    adopted = adopt_tables(tables, tmp_path)
    assert {path.name for path in adopted} == {f"adopted-{path.name}" for path in tables.glob("*.parquet")}
    assert set(results(Plan("jail", tmp_path, "paper"), ["jail"], ["smc"])["seed"]) == set(range(16))
