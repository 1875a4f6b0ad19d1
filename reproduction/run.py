"""Reproduce: run what a part of the paper needs and is not there yet, then make its tables and figures.

results/ ...               cells, as in every sweep
tables/<experiment>.parquet  all finished cells of an experiment, compact
figures/                   pictures of the experiments
figure-1/, failure-modes/, bounds/, timing/   the other parts
"""

import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from journeyman.checks import known_name
from journeyman.errors import InputError
from journeyman.experiment import METRICS, Sweep, SweepReport, run_sweep
from journeyman.experiment.overview import arrow_table
from journeyman.experiment.results import joined, results_in, to_frame, write_table
from journeyman.experiment.store import open_store
from journeyman.report.drawing.maps import FORMATS
from journeyman.storage.files import whole_file
from reproduction.experiments import EXPERIMENTS, INFERENCE, SCALES, sweep_of

if TYPE_CHECKING:
    from pandas import DataFrame

PARTS: dict[str, str] = {
    "figure-1": "the task: true reward, belief, and what each start would tell",
    **{name: experiment.summary for name, experiment in EXPERIMENTS.items()},
    "failure-modes": "counter-examples of Appendices A and C, the paper's numbers beside ours",
    "bounds": "bounds on the number of answers, beside what was observed",
    "timing": "seconds per step and core-hours, beside the paper's",
}
ALL = "all"


@dataclass(frozen=True)
class Plan:
    """What is wanted: which part, how much of it, where, and by which inference; `num_seeds` overrides the scale's."""

    part: str
    out: Path
    scale: str = "quick"
    inference: str = "smc"
    num_seeds: int | None = None
    formats: tuple[str, ...] = ("png",)

    def __post_init__(self) -> None:
        """Check the names."""
        known_name(self.part, (*PARTS, ALL), "a part of the paper")
        known_name(self.scale, SCALES, "a scale")
        known_name(self.inference, INFERENCE, "inference")
        for ending in self.formats:
            known_name(ending, FORMATS, "a format of pictures")

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of the parts, all of them for "all"."""
        return tuple(PARTS) if self.part == ALL else (self.part,)

    @property
    def num_instances(self) -> int:
        """Instances of each world."""
        return self.num_seeds or SCALES[self.scale].num_seeds

    @property
    def experiments(self) -> tuple[str, ...]:
        """Names of the experiments among the parts; bounds and timing need some results of each."""
        named = tuple(part for part in self.parts if part in EXPERIMENTS)
        return named or (tuple(EXPERIMENTS) if self.part in ("bounds", "timing") else ())

    def sweeps(self, *, beyond: bool) -> list[Sweep]:
        """Return the sweeps to run: those of the paper's methods, or of those beyond it."""
        is_aside = self.part in ("bounds", "timing")  # one instance of each world will do
        if beyond and (is_aside or self.inference == "chains"):
            return []
        num_seeds = 1 if is_aside and self.num_seeds is None else self.num_seeds
        return [
            sweep_of(name, self.scale, beyond=beyond, inference=self.inference, num_seeds=num_seeds)
            for name in self.experiments
        ]


@dataclass
class Reproduction:
    """What came of it: reports of the runs, files that were written, and text for the terminal."""

    reports: list[SweepReport] = field(default_factory=list)
    paths: list[Path] = field(default_factory=list)

    @property
    def num_failed(self) -> int:
        """Cells that failed."""
        return sum(len(report.failed) for report in self.reports)


def reproduce(
    plan: Plan,
    *,
    tables: str | Path | None = None,
    say: Callable[[str], None] = print,
    **options: Any,
) -> Reproduction:
    """Run what is missing, then write tables and figures.

    Parameters
    ----------
    tables
        Folder of tables that an earlier run wrote, here or elsewhere: their cells are not run again.
    say
        Takes the results of each part as text, as soon as it is done.
    options
        Of `run_sweep`: num_workers, executor, scheduler, retry_failed, checkpoint_seconds, progress.
    """
    done = Reproduction()
    if tables is not None:
        adopt_tables(tables, plan.out)
    _write_asides(plan, done, say)
    for beyond in (False, True):  # the paper's methods first: whenever it stops, there is something to compare
        sweeps = plan.sweeps(beyond=beyond)
        if sweeps:
            done.reports.append(run_sweep(sweeps, plan.out, **options))
    if plan.experiments:
        _write_results(plan, done, say)
    return done


def _write_asides(plan: Plan, done: Reproduction, say: Callable[[str], None]) -> None:
    """Write the parts that need no sweep."""
    if "figure-1" in plan.parts:
        from reproduction.task_figure import write_figure_1

        _tell(done, say, write_figure_1(plan.out / "figure-1", range(plan.num_instances), formats=plan.formats))
    if "failure-modes" in plan.parts:
        from reproduction.failure_modes import write_failure_modes

        _tell(done, say, write_failure_modes(plan.out / "failure-modes"))


def _write_results(plan: Plan, done: Reproduction, say: Callable[[str], None]) -> None:
    """Write what follows from the results there are."""
    from journeyman.report.sweep.figures import sweep_figures
    from reproduction.bounds_table import write_bounds
    from reproduction.paper import paper_options
    from reproduction.timing_table import write_timing

    for name in plan.experiments:
        path = write_experiment_table(plan, name)
        if path is None:
            continue
        done.paths.append(path)
        both = results(plan, [name], INFERENCE)  # to see whether the way of inference makes a difference
        if name in plan.parts and not both.empty:
            done.paths += sweep_figures(both, plan.out / "figures", paper_options(both), formats=plan.formats)
    everything = results(plan, plan.experiments, [plan.inference])
    if everything.empty:
        return
    if "bounds" in plan.parts:
        _tell(done, say, write_bounds(plan.out / "bounds", everything))
    if "timing" in plan.parts:
        _tell(done, say, write_timing(plan.out / "timing", everything))


def _tell(done: Reproduction, say: Callable[[str], None], written: Any) -> None:
    done.paths += written.paths
    say(written.text)


def result_sweeps(plan: Plan, name: str, inference: str) -> list[Sweep]:
    """Return the sweeps of an experiment whose cells belong into its table."""
    num_seeds = max(plan.num_instances, SCALES[plan.scale].num_seeds)
    kinds = (False,) if inference == "chains" else (False, True)
    return [sweep_of(name, plan.scale, beyond=beyond, inference=inference, num_seeds=num_seeds) for beyond in kinds]


def results(plan: Plan, names: Iterable[str], inferences: Iterable[str]) -> "DataFrame":
    """Return the finished cells of experiments: the paper's methods, and those beyond it."""
    store = open_store(plan.out)
    sweeps = [sweep for name in names for inference in inferences for sweep in result_sweeps(plan, name, inference)]
    return to_frame(joined([arrow_table(sweep, store) for sweep in sweeps]))


def write_experiment_table(plan: Plan, name: str) -> Path | None:
    """Write the finished cells of an experiment, those with fewer steps too, to one compact file; None without any."""
    store = open_store(plan.out)
    sweeps = result_sweeps(plan, name, plan.inference)
    parts = [arrow_table(sweep, store, is_compact=True, has_shorter=True) for sweep in sweeps]
    table = joined(parts, is_compact=True)
    if table.num_rows == 0:
        return None
    ending = "-chains" if plan.inference == "chains" else ""
    path = plan.out / "tables" / f"{name}{ending}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_table(path, table, tuple(METRICS))
    return path


def adopt_tables(tables: str | Path, out: str | Path) -> list[Path]:
    """Put tables of earlier runs among the results of a folder, so that their cells count as finished."""
    files = sorted(Path(tables).glob("*.parquet"))
    if not files:
        raise InputError(f"tables must be a folder with Parquet files, got none in {str(tables)!r}. Check the path.")
    for file in files:
        results_in(file)  # says what is wrong before anything is copied
    store, adopted = open_store(out), []
    for file in files:
        adopted.append(store.path / "results" / f"adopted-{file.name}")
        with whole_file(adopted[-1], "results") as temporary:
            shutil.copyfile(file, temporary)
    return adopted
