import pytest
from experiment.small import tiny_sweep

from journeyman.experiment import run_sweep, sweep_status, sweep_table
from journeyman.experiment.cell_run import Checkpoint, Job, advance
from journeyman.experiment.overview import STATUSES
from journeyman.experiment.results import columns
from journeyman.experiment.store import open_store

SWEEP = tiny_sweep(acquisitions=["random", "reward_eig", "action_entropy", "active_var", "pac_eig"])


def summary(folder):
    return [(status.status, status.num_steps) for status in sweep_status(SWEEP, folder)]


def test_a_cell_has_one_of_five_statuses(tmp_path):
    store, jobs = open_store(tmp_path), [Job(cell, SWEEP.steps, SWEEP.metrics) for cell in SWEEP.cells()]
    run_sweep(tiny_sweep(steps=6, acquisitions=["random"]), tmp_path, progress=False)
    store.fail(jobs[1].cell, "ValueError: oops", "")
    begun = advance(jobs[2], Checkpoint(), seconds=0.0)
    store.keep(jobs[2], begun)
    with store.claim(jobs[3].cell.id):
        assert summary(tmp_path) == [("finished", 6), ("failed", 0), ("begun", 1), ("running", 0), ("waiting", 0)]
        assert [status.error for status in sweep_status(SWEEP, tmp_path)] == ["", "ValueError: oops", "", "", ""]
    assert summary(tmp_path)[3] == ("waiting", 0)
    assert {status for status, _ in summary(tmp_path)} < set(STATUSES)
    assert [status.cell for status in sweep_status(SWEEP, tmp_path)] == list(SWEEP.cells())


def test_a_finished_cell_with_too_few_steps_has_begun(tmp_path):
    run_sweep(tiny_sweep(steps=2, acquisitions=["random"]), tmp_path, progress=False)
    assert summary(tmp_path)[0] == ("begun", 2)
    assert len(sweep_table(SWEEP, tmp_path)) == 0


@pytest.mark.parametrize("look_fn", [sweep_status, sweep_table])
def test_looking_makes_no_folder(tmp_path, look_fn):
    look_fn(SWEEP, tmp_path / "none")
    assert list(tmp_path.iterdir()) == []


def test_a_table_of_nothing_has_all_columns(tmp_path):
    table = sweep_table(SWEEP, tmp_path)
    assert len(table) == 0
    assert set(table.columns) == {*columns(), "sweep"}


def test_looking_does_not_get_into_the_way(tmp_path):
    store, cell_id = open_store(tmp_path), SWEEP.cells()[0].id
    store.claim(cell_id).close()  # killed: its lock is still there
    sweep_status(SWEEP, tmp_path)
    held = store.claim(cell_id)
    assert held is not None
    held.close()
