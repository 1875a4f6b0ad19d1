"""What a step costs, and all of it: seconds and core-hours of a sweep beside the paper's."""

import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from journeyman.errors import InputError
from journeyman.experiment.statistics.table import GROUP, checked_table
from journeyman.experiment.statistics.timing import core_hours, core_hours_by, seconds_per_step
from reproduction.result_table import ResultTable, Value, Written, write_tables

if TYPE_CHECKING:
    from pandas import DataFrame

# Appendix "Timing": sampling takes 5 s on the structured grid, about 5 min on 10x10, in one thread; choosing the query
# "below 0.03", without a unit; all experiments less than a day on 128 threads.
PAPER_SECONDS = {"jail": 5.0, "random-10x10": 300.0}
PAPER_ACQUISITION_SECONDS = 0.03
PAPER_THREAD_HOURS = 128 * 24.0
PACKAGES = ("journeyman", "numpy", "scipy", "numba")


class Machine(NamedTuple):
    """Where something ran: processor and number of logical ones, system, and versions by name."""

    processor: str
    num_cpus: int
    system: str
    versions: tuple[tuple[str, str], ...]


class TimingRow(NamedTuple):
    """Seconds per step in one world with one kind of query and inference, all methods together.

    posterior: learning from an answer; acquisition: choosing a query; cpu: time of the thread for the whole step,
    measuring included; each as median, mean and 95th percentile.
    paper_seconds is the paper's time for a posterior in this world, None where it gives none.
    """

    world: str
    query: str
    inference: str
    num_cells: int
    num_steps: int
    posterior_median: float
    posterior_mean: float
    posterior_p95: float
    acquisition_median: float
    acquisition_mean: float
    acquisition_p95: float
    cpu_median: float
    cpu_mean: float
    cpu_p95: float
    core_hours: float
    paper_seconds: float | None

    @property
    def speed_up(self) -> float | None:
        """How many times longer the paper's posterior takes, on its machine, than the mean of ours."""
        if self.paper_seconds is None or not self.posterior_mean > 0.0:
            return None
        return self.paper_seconds / self.posterior_mean


def write_timing(folder: str | Path, table: "DataFrame", machine: Machine | None = None) -> Written:
    """Write what steps cost.

    Parameters
    ----------
    table
        As `sweep_table` gives it.
    machine
        Where the sweep ran; default: this one.

    Returns
    -------
    Paths of `timing.md`, `timing.csv`, `timing-methods.csv` and `timing-machine.csv`; and the same as text.
    """
    place = machine or this_machine()
    rows = timing_rows(table)
    return write_tables(folder, [timing_table(rows, core_hours(table)), method_table(table), machine_table(place)])


def this_machine() -> Machine:
    """Return a description of the machine that runs this, without its name."""
    versions = (("Python", platform.python_version()), *((name, version(name)) for name in PACKAGES))
    return Machine(processor_name(), os.cpu_count() or 1, f"{platform.system()} {platform.machine()}", versions)


def processor_name(description: Path = Path("/proc/cpuinfo")) -> str:
    """Return the model of the processor, as far as the system tells."""
    try:
        lines = description.read_text("utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, "") or platform.processor() or "unknown"


def timing_rows(table: "DataFrame") -> list[TimingRow]:
    """Return the cost of a step for each world, kind of query and inference, all methods together."""
    names = checked_table(table, "world_name").drop_duplicates("world").set_index("world")["world_name"]
    if int(table["step"].max()) < 1:
        raise InputError("timing needs results of steps after 0, got none. Run more steps.")
    hours = core_hours_by(table, GROUP)
    return [
        TimingRow(
            **found,
            core_hours=float(hours[tuple(found[key] for key in GROUP)]),
            paper_seconds=PAPER_SECONDS.get(str(names[found["world"]])),
        )
        for found in seconds_per_step(table, GROUP).to_dict("records")
    ]


def timing_table(rows: list[TimingRow], total_hours: float) -> ResultTable:
    """Return the cost of steps beside the paper's."""
    shown = tuple(
        (
            *(row.world, row.query, row.inference, row.num_steps),
            *(row.posterior_median, row.posterior_mean, row.acquisition_median, row.acquisition_mean),
            *(row.cpu_mean, row.core_hours, row.paper_seconds, row.speed_up),
        )
        for row in rows
    )
    return ResultTable(
        "timing",
        "Timing: seconds per step",
        (
            *GROUP,
            "steps",
            *(f"{part} {what}" for part in ("posterior", "choice") for what in ("median", "mean")),
            "whole step",
            "core-hours",
            "paper",
            "times faster",
        ),
        shown,
        (
            "Seconds, on one core, over all methods. posterior: learning from an answer; choice: scoring all states "
            "and choosing one, both by the clock. whole step: mean time of the processor, measuring included. "
            "paper: its seconds for a posterior, by sampling anew, in one thread of another machine. "
            "times faster: that divided by our mean.",
            f"All together: {total_hours:.3g} core-hours, measuring included. The paper's experiments took up to a "
            f"day on 128 threads: {PAPER_THREAD_HOURS:g} thread-hours at most.",
        ),
    )


def method_table(table: "DataFrame") -> ResultTable:
    """Return the cost of choosing a query, and of learning, by method."""
    parts = {"acquisition": "choice", "posterior": "posterior"}
    headings = {
        f"{part}_{what}": f"{word} {what}" for part, word in parts.items() for what in ("median", "mean", "p95")
    }
    columns = {**{key: key for key in (*GROUP, "method")}, "num_steps": "steps", **headings}
    found = seconds_per_step(table)
    rows = tuple(found[list(columns)].itertuples(index=False, name=None))
    notes = (choice_note(found),)
    return ResultTable("timing-methods", "Seconds per step by method", tuple(columns.values()), rows, notes)


def choice_note(found: "DataFrame") -> str:
    """Say how many methods choose as fast as the paper's, and which is slowest, from `seconds_per_step`."""
    limit, means = PAPER_ACQUISITION_SECONDS, found["acquisition_mean"].fillna(0.0)
    slowest = found.loc[means.idxmax()]
    where = f"{slowest['method']} on {slowest['world']} ({slowest['query']}, {slowest['inference']})"
    return (
        f'The paper says "below {limit:g}", without a unit, for the choice, whatever the method. Ours takes less than '
        f"{limit:g} s on average in {int((means < limit).sum())} of {len(found)} lines. Slowest: {where}, "
        f"{means.max():.2g} s."
    )


def machine_table(machine: Machine) -> ResultTable:
    """Return where it ran."""
    rows: list[tuple[Value, ...]] = [
        ("processor", machine.processor),
        ("logical processors", machine.num_cpus),
        ("system", machine.system),
        *machine.versions,
    ]
    note = "Cells that were run elsewhere, on a cluster or taken from tables, are among the times above all the same."
    return ResultTable("timing-machine", "Machine", ("what", "value"), tuple(rows), (note,))
