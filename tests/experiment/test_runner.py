import shutil
import signal
import threading
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool

import pytest
from experiment.small import RECORD, assert_same_tables, one_cell, tiny_sweep, undisturbed_table

from journeyman.errors import InputError
from journeyman.experiment import cell_run, run_sweep, sweep_status, sweep_table
from journeyman.experiment.cell_run import Job
from journeyman.experiment.overview import arrow_table
from journeyman.experiment.progress import Silent
from journeyman.experiment.results import joined, write_table
from journeyman.experiment.runner import Runner, jobs_of
from journeyman.experiment.store import Store, open_store
from journeyman.storage.workers import ThisProcess


def run(sweep, folder, **options):
    return run_sweep(sweep, folder, progress=False, **options)


def counts(report):
    return report.num_cells, report.num_finished, report.num_new, len(report.failed)


def marks(folder):
    """What tells whether a file of results was written again."""
    return {path.name: (path.stat().st_ino, path.stat().st_mtime_ns) for path in (folder / "results").iterdir()}


@pytest.fixture(scope="module")
def tiny_results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished")
    run(tiny_sweep(), folder)
    return folder


@pytest.fixture
def finished(tiny_results, tmp_path):
    """A folder of its own in which `tiny_sweep()` has been run."""
    return shutil.copytree(tiny_results, tmp_path, dirs_exist_ok=True)


def test_a_run_finishes_every_cell_and_leaves_nothing_else(tmp_path):
    report = run(tiny_sweep(), tmp_path)
    assert counts(report) == (2, 2, 2, 0)
    assert report.is_complete
    assert report.seconds > 0.0
    assert sorted(marks(tmp_path)) == sorted(f"{cell.id}.parquet" for cell in tiny_sweep().cells())
    assert [path for part in ("checkpoints", "failures", "locks") for path in (tmp_path / part).iterdir()] == []


def test_a_second_run_has_nothing_to_do(finished):
    before = marks(finished)
    assert counts(run(tiny_sweep(), finished)) == (2, 2, 0, 0)
    assert marks(finished) == before


def test_the_table_is_tidy_and_in_the_order_of_the_sweep(tmp_path):
    sweep = tiny_sweep(seeds=[3, 1])
    run(sweep, tmp_path)
    table = sweep_table(sweep, tmp_path)
    assert len(table) == 4 * 5
    assert list(table.columns[:3]) == ["cell", "sweep", "world"]
    assert set(table["sweep"]) == {"tiny"}
    assert list(table["cell"]) == [cell.id for cell in sweep.cells() for _ in range(5)]
    assert list(table["step"]) == [0, 1, 2, 3, 4] * 4
    assert list(table["seed"]) == [3] * 10 + [1] * 10
    assert list(table["method"]) == (["random"] * 5 + ["reward_eig"] * 5) * 2


@pytest.mark.parametrize("seconds", [0.0, 0.02])
def test_checkpoints_change_nothing(tmp_path, seconds):
    run(tiny_sweep(), tmp_path, checkpoint_seconds=seconds)
    assert_same_tables(sweep_table(tiny_sweep(), tmp_path), undisturbed_table())


@pytest.mark.parametrize(
    ("changes", "num_new"),
    [
        ({"acquisitions": ["random", "action_entropy", "reward_eig"]}, 1),
        ({"acquisitions": ["reward_eig"]}, 0),
        ({"seeds": [0, 5]}, 2),
        ({"seeds": [5]}, 2),
        ({"steps": 6}, 2),
        ({"steps": 2}, 0),
        ({"metrics": ["truth", "true_regret"]}, 0),
        ({"name": "another name"}, 0),
        ({"worlds": [{"name": "random-grid", "label": "small", "options": {"size": 4, "beta": 2}}]}, 0),
        ({"epsilon": 0.3}, 2),
        ({"queries": ["state", {"kind": "trajectory", "length": 2}]}, 2),
    ],
)
def test_a_changed_sweep_runs_only_what_is_new(finished, changes, num_new):
    before = marks(finished)
    sweep = tiny_sweep(**changes)
    report = run(sweep, finished)
    assert report.is_complete
    assert report.num_new == num_new
    if "steps" not in changes:
        assert before.items() <= marks(finished).items()
    assert_same_tables(sweep_table(sweep, finished), undisturbed_table(**changes))


def test_more_steps_go_on_from_what_there_is(finished):
    first = sweep_table(tiny_sweep(), finished)
    run(tiny_sweep(steps=6), finished)
    longer = sweep_table(tiny_sweep(steps=6), finished)
    begin = longer[longer["step"] <= 4].reset_index(drop=True)
    assert begin.equals(first)  # even the seconds are the same


def test_another_metric_runs_again_and_loses_nothing(tmp_path):
    few, other, all_of_them = ({"metrics": names} for names in (["truth"], ["entropy"], ["truth", "entropy"]))
    assert run(tiny_sweep(**few, steps=5), tmp_path).num_new == 2
    assert run(tiny_sweep(**other), tmp_path).num_new == 2
    assert run(tiny_sweep(**few, steps=5), tmp_path).num_new == 0
    assert run(tiny_sweep(**all_of_them), tmp_path).num_new == 2
    for changes in (few | {"steps": 5}, other, all_of_them, few):
        assert run(tiny_sweep(**changes), tmp_path).num_new == 0
        assert_same_tables(sweep_table(tiny_sweep(**changes), tmp_path), undisturbed_table(**changes))


def test_labels_are_those_of_the_sweep_that_asks(finished):
    renamed = tiny_sweep(name="other", acquisitions=[{"name": "random", "label": "chance"}])
    table = sweep_table(renamed, finished)
    assert set(table["method"]) == {"chance"}
    assert set(table["sweep"]) == {"other"}
    assert run(renamed, finished).num_new == 0


def test_several_sweeps_share_a_folder_and_seeds_come_one_after_the_other(tmp_path):
    sweeps = [tiny_sweep(seeds=2), tiny_sweep(name="longer", steps=5, seeds=[1, 2])]
    jobs = jobs_of(sweeps)
    assert [job.cell.seed for job in jobs] == [0, 0, 1, 1, 1, 1, 2, 2]
    assert [job.num_steps for job in jobs] == [4, 4, 4, 4, 5, 5, 5, 5]
    report = run(sweeps, tmp_path)
    assert (report.num_cells, report.num_finished) == (8, 8)
    assert_same_tables(sweep_table(sweeps[0], tmp_path), undisturbed_table(seeds=2))
    assert_same_tables(sweep_table(sweeps[1], tmp_path), undisturbed_table(name="longer", steps=5, seeds=[1, 2]))


BAD = {"name": "policywalk", "label": "bad", "options": {"sampler": "nonsense"}}


def test_a_failing_cell_is_told_and_the_rest_goes_on(tmp_path):
    sweep = tiny_sweep(inference=[*RECORD["inference"], BAD])
    report = run(sweep, tmp_path)
    assert counts(report) == (4, 2, 2, 2)
    assert not report.is_complete
    bad = [cell.id for cell in sweep.cells() if cell.inference.label == "bad"]
    assert list(report.failed) == bad
    failure = Store(tmp_path).failure(bad[0])
    assert failure["error"].startswith("InputError: sampler must be one of nuts, hmc, got 'nonsense'")
    assert "Traceback (most recent call last)" in failure["traceback"]
    assert "infer_policywalk" in failure["traceback"]
    statuses = {status.cell.id: status for status in sweep_status(sweep, tmp_path)}
    assert [statuses[cell_id].status for cell_id in bad] == ["failed", "failed"]
    assert "nonsense" in statuses[bad[0]].error
    assert len(sweep_table(sweep, tmp_path)) == 2 * 5
    assert list((tmp_path / "locks").iterdir()) == []


@pytest.fixture
def breakage(monkeypatch):
    """Makes cells of a method fail at a step, as long as the set holds its name; counts the tries."""
    broken, tries, real = {"reward_eig"}, [], cell_run.next_row

    def next_row(steps, learner, world, metrics):
        if learner.settings.acquisition in broken and len(learner.queries) == 2:
            tries.append(f"{learner.settings.seed:016x}")  # the id of the cell
            raise RuntimeError("the disk is on fire")
        return real(steps, learner, world, metrics)

    monkeypatch.setattr(cell_run, "next_row", next_row)
    return broken, tries


def test_a_failed_cell_is_tried_again_on_request_only(tmp_path, breakage):
    broken, tries = breakage
    report = run(tiny_sweep(), tmp_path, checkpoint_seconds=0.0)
    assert counts(report) == (2, 1, 1, 1)
    assert len(tries) == 1
    assert Store(tmp_path).failure(tries[0])["error"] == "RuntimeError: the disk is on fire"
    broken.clear()
    assert counts(run(tiny_sweep(), tmp_path)) == (2, 1, 0, 1)
    broken.add("reward_eig")
    assert counts(run(tiny_sweep(), tmp_path, retry_failed=True)) == (2, 1, 0, 1)
    assert len(tries) == 2
    broken.clear()
    assert counts(run(tiny_sweep(), tmp_path, retry_failed=True)) == (2, 2, 1, 0)
    assert list((tmp_path / "failures").iterdir()) == []
    assert_same_tables(sweep_table(tiny_sweep(), tmp_path), undisturbed_table())


def test_a_failed_cell_keeps_the_steps_before(tmp_path, breakage):
    broken, tries = breakage
    run(tiny_sweep(), tmp_path, checkpoint_seconds=0.0)
    status = next(status for status in sweep_status(tiny_sweep(), tmp_path) if status.cell.id == tries[0])
    assert (status.status, status.num_steps) == ("failed", 2)
    assert len(broken) == 1


def test_a_cell_that_failed_later_still_has_what_it_had(tmp_path, breakage):
    broken, _ = breakage
    run(tiny_sweep(steps=2), tmp_path)
    report = run(tiny_sweep(steps=5), tmp_path)
    assert counts(report) == (2, 1, 1, 1)
    assert counts(run(tiny_sweep(steps=2), tmp_path)) == (2, 2, 0, 0)
    assert_same_tables(sweep_table(tiny_sweep(steps=2), tmp_path), undisturbed_table(steps=2))
    assert broken


class Deadly(ThisProcess):
    """Workers of which one dies whenever it gets a certain cell, so many times."""

    def __init__(self, cell_id, num_deaths):
        self.cell_id, self.deaths_left = cell_id, num_deaths

    def submit(self, task_fn, *arguments, key=""):
        if key != self.cell_id or not self.deaths_left:
            return super().submit(task_fn, *arguments, key=key)
        self.deaths_left -= 1
        future = Future()
        future.set_exception(BrokenProcessPool("it was terminated abruptly"))
        return future

    def is_lost(self, error):
        return isinstance(error, BrokenProcessPool)


@pytest.mark.parametrize(("num_deaths", "num_new"), [(2, 2), (3, 1)])
def test_a_cell_may_lose_its_worker_twice(tmp_path, num_deaths, num_new):
    store, jobs = open_store(tmp_path), jobs_of([tiny_sweep()])
    deadly = jobs[0].cell
    assert Runner(store, Deadly(deadly.id, num_deaths), Silent(jobs, 2), 0.0).run(jobs) == num_new
    assert store.is_finished(jobs[1])  # whatever happened to the first
    assert store.has_failed(deadly.id) == (num_new == 1)
    if num_new == 1:
        assert store.failure(deadly.id)["error"].startswith("its worker died 3 times (out of memory?): BrokenProcess")


@pytest.mark.parametrize("is_compact", [False, True])
def test_a_table_of_all_cells_counts_as_finished_and_can_be_continued(tiny_results, tmp_path, is_compact):
    table = joined([arrow_table(tiny_sweep(), Store(tiny_results), is_compact=is_compact)], is_compact=is_compact)
    (tmp_path / "second" / "results").mkdir(parents=True)
    write_table(tmp_path / "second" / "results" / "anything.parquet", table, tiny_sweep().metrics)
    assert counts(run(tiny_sweep(), tmp_path / "second")) == (2, 2, 0, 0)
    if not is_compact:
        assert_same_tables(sweep_table(tiny_sweep(), tmp_path / "second"), undisturbed_table())
    longer = tiny_sweep(steps=6)
    assert counts(run(longer, tmp_path / "second")) == (2, 2, 2, 0)
    found, expected = sweep_table(longer, tmp_path / "second"), undisturbed_table(steps=6)
    new = (lambda frame: frame[frame["step"] > 4]) if is_compact else (lambda frame: frame)
    assert_same_tables(new(found), new(expected))
    assert list(found["state"].fillna(-1)) == list(expected["state"].fillna(-1))


def test_a_damaged_checkpoint_is_started_again(tmp_path, breakage):
    broken, tries = breakage
    run(tiny_sweep(), tmp_path, checkpoint_seconds=0.0)
    broken.clear()
    store = Store(tmp_path)
    for cell_id in tries:
        path = store.checkpoint_path(cell_id)
        path.write_bytes(path.read_bytes()[:-100])
    assert run(tiny_sweep(), tmp_path, retry_failed=True).is_complete
    assert_same_tables(sweep_table(tiny_sweep(), tmp_path), undisturbed_table())


def test_a_damaged_result_is_said_and_done_again_once_it_is_removed(finished):
    path = Store(finished).result_path(tiny_sweep().cells()[0].id)
    path.write_bytes(path.read_bytes()[:-100])
    for action in (run, sweep_table, sweep_status):
        with pytest.raises(InputError, match=rf"{path.name}.*Remove that file; its cells will be run again"):
            action(tiny_sweep(), finished)
    path.unlink()
    assert counts(run(tiny_sweep(), finished)) == (2, 2, 1, 0)
    assert_same_tables(sweep_table(tiny_sweep(), finished), undisturbed_table())


def test_a_folder_that_cannot_be_written_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="a sweep must go to a folder that can be written"):
        run(tiny_sweep(), tmp_path / "file")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"num_workers": 0}, "the number of workers must be a whole number of at least 1, got 0"),
        ({"num_workers": 1.5}, "the number of workers"),
        ({"checkpoint_seconds": -1.0}, "checkpoint_seconds must be at least 0, got -1.0"),
        ({"checkpoint_seconds": float("nan")}, "checkpoint_seconds must be at least 0, got nan"),
        ({"checkpoint_seconds": "x"}, "checkpoint_seconds must be a number"),
        ({"executor": "slurm"}, "executor must be one of local, dask, got 'slurm'"),
        ({"executor": "dask"}, "executor 'dask' must know its scheduler"),
        ({"scheduler": "tcp://127.0.0.1:1"}, "a scheduler must come with executor 'dask'"),
    ],
)
def test_wrong_options_are_said(tmp_path, options, words):
    with pytest.raises(InputError, match=words):
        run(tiny_sweep(), tmp_path, **options)


def test_a_job_is_of_a_cell():
    assert jobs_of([tiny_sweep()])[0] == Job(one_cell(), 4, tiny_sweep().metrics)


def test_a_thread_can_run_a_sweep(tmp_path):
    found = []
    sweep_thread = threading.Thread(
        target=lambda: found.append(
            run_sweep(tiny_sweep(acquisitions=["random"], steps=1), tmp_path, progress=False).is_complete
        )
    )
    sweep_thread.start()
    sweep_thread.join(timeout=60)
    assert found == [True]


def test_an_interruption_in_this_process_keeps_steps_and_frees_cells(tmp_path, monkeypatch):
    """A notebook can run the same sweep again, in the process that was interrupted."""
    sweep, real, asked = tiny_sweep(acquisitions=["random"], steps=1).with_changes(steps=6), cell_run.next_row, []

    def next_row(*arguments):
        asked.append(1)
        if len(asked) == 3:
            signal.raise_signal(signal.SIGINT)
        return real(*arguments)

    monkeypatch.setattr(cell_run, "next_row", next_row)
    with pytest.raises(KeyboardInterrupt) as caught:
        run_sweep(sweep, tmp_path, progress=False)
    assert caught.traceback  # what it holds on to must not keep the lock
    assert len(asked) == 3
    report = run_sweep(sweep, tmp_path, progress=False)
    assert report.is_complete
    assert len(asked) == 6  # nothing was done again
