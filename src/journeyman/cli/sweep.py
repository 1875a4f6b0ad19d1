"""`journeyman sweep`: compare methods on many instances, and keep everything as it comes."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from journeyman.cli import sweep_results
from journeyman.cli.printing import print_json
from journeyman.cli.sweep_opening import OutFolder, SpecFile, command, print_hints, results_folder
from journeyman.errors import InputError

if TYPE_CHECKING:
    from journeyman.experiment import Sweep, SweepReport

HELP = """Run an experiment grid: worlds x acquisitions x inference x queries x seeds, on all cores or on a cluster.

A sweep is a small TOML file. Every combination in it is a cell: one simulated run of so many answers. All methods \
meet the same instances and the same expert. Stop it at any time, kill it, change the file, run it again: finished \
cells are never repeated, and only what is missing is run.
"""
EPILOG = (
    "Example: [bold]journeyman sweep init sweep.toml[/] writes a sweep to start from, "
    "[bold]journeyman sweep run sweep.toml[/] runs it in about a minute, then "
    "[bold]journeyman sweep table sweep.toml[/] and [bold]journeyman sweep plot sweep.toml[/] show what came out."
)
INIT_HELP = """Write an example of a sweep, to change into your own.

Every key is there, with a comment. It compares four methods on eight small grids, and runs as it is in about a \
minute. A file that exists is never overwritten, unless you say --force.
"""
RUN_HELP = """Run the cells of SPEC that are not finished yet; run it again to go on after anything.

Cells are kept every few seconds, so that killing this loses no more than the steps since then. You may run the same \
command several times at once, also on several machines that share the folder: they share the cells. A cell that fails \
is recorded with its traceback and does not stop the others. Exit code 0 if every cell is finished, 1 if cells failed, \
130 if stopped by Ctrl-C.
"""
RUN_EPILOG = (
    "Examples: [bold]journeyman sweep run sweep.toml[/] uses all cores, and keeps results in runs/sweep. "
    "[bold]journeyman sweep run sweep.toml --out /data/mine --workers 4[/] uses four, and another folder. "
    "[bold]journeyman sweep run sweep.toml --executor dask --scheduler tcp://10.0.0.1:8786[/] uses the workers of "
    "a Dask cluster. [bold]journeyman sweep run sweep.toml --retry-failed[/] tries cells again that failed."
)
RESUME_HELP = (
    """Go on with a sweep that was stopped: the same as [bold]journeyman sweep run[/], which always goes on."""
)
RESUME_EPILOG = "Example: [bold]journeyman sweep resume sweep.toml[/]."

app = typer.Typer(rich_markup_mode="rich", no_args_is_help=True, help=HELP, epilog=EPILOG)


@app.command(
    help=INIT_HELP,
    epilog="Example: [bold]journeyman sweep init sweep.toml[/], then [bold]journeyman sweep run sweep.toml[/].",
)
def init(
    file: Annotated[Path, typer.Argument(metavar="[FILE]", help="Where to write.")] = Path("sweep.toml"),
    force: Annotated[bool, typer.Option("--force", help="Overwrite a file that exists.")] = False,
) -> None:
    """Write the example, and say how to go on."""
    from journeyman.cli.sweep_example import write_sweep_example

    write_sweep_example(file, force=force)
    typer.echo(f"Wrote {file}")
    typer.echo(f"Next: {command('run', file, None)}")


@app.command("resume", help=RESUME_HELP, epilog=RESUME_EPILOG)
@app.command("run", help=RUN_HELP, epilog=RUN_EPILOG)
def run(
    spec: SpecFile,
    out: OutFolder = None,
    workers: Annotated[
        int | None,
        typer.Option(metavar="N", help="Processes, one core each; default: all cores. Results do not depend on it."),
    ] = None,
    executor: Annotated[str, typer.Option(help="local: processes on this machine; dask: a cluster.")] = "local",
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Of the Dask scheduler, such as tcp://10.0.0.1:8786.")
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Try cells again that failed in an earlier run.")
    ] = False,
    checkpoint_seconds: Annotated[
        float, typer.Option(metavar="S", help="How often cells that run are kept, at the end of a step.")
    ] = 10.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print how it ended as JSON instead of words.")] = False,
) -> None:
    """Run what is missing, then say how it ended and what to do next."""
    from journeyman.experiment import load_sweep, run_sweep
    from journeyman.extras import require
    from journeyman.wording import counted

    require("pyarrow", "tables")  # before hours of work, not after them
    sweep = load_sweep(spec)
    num_workers = checked_workers(workers, executor, len(sweep.cells()))
    folder = results_folder(spec, out)
    place = "a Dask cluster" if executor == "dask" else counted(num_workers, "worker")
    options: dict[str, Any] = {
        "num_workers": num_workers,
        "executor": executor,
        "scheduler": scheduler,
        "retry_failed": retry_failed,
        "checkpoint_seconds": checkpoint_seconds,
    }
    run_sweep((), folder, **options)  # no cell: it only refuses what is wrong, before anything is promised
    print_plan(sweep, folder, place, retry_failed=retry_failed)
    try:
        report = run_sweep(sweep, folder, **options)
    except KeyboardInterrupt:
        print_stop(sweep, spec, out)
        raise typer.Exit(130) from None
    if as_json:
        print_json({"name": sweep.name, "out": str(folder)} | report_record(report))
    else:
        print_end(sweep, spec, out, report)
    if report.failed:
        raise typer.Exit(1)


def checked_workers(workers: int | None, executor: str, num_cells: int) -> int:
    """Return the number of local processes: no more than there are cells."""
    from journeyman.checks import known_name, whole_number
    from journeyman.storage.workers import EXECUTORS
    from journeyman.threads import default_num_threads

    known_name(executor, EXECUTORS, "an executor")
    if workers is None:
        return min(default_num_threads(), num_cells)
    whole_number(workers, "the number of workers", 1, "Leave it out to use all cores.")
    if executor == "dask":
        raise InputError(
            f"workers must be left out with a Dask cluster, which has its own, got {workers}. Start more of them there."
        )
    return min(workers, num_cells)


def print_plan(sweep: "Sweep", folder: Path, place: str, *, retry_failed: bool) -> None:
    """Say what is to be done and where it goes, on the error stream."""
    from journeyman.experiment import sweep_status
    from journeyman.report.sweep.summary import status_counts
    from journeyman.report.sweep.text import describe_sweep

    counts = status_counts(sweep_status(sweep, folder))
    known = ", ".join(f"{count} {status}" for status, count in counts.items() if count and status != "waiting")
    typer.echo(f"{sweep.name}: {describe_sweep(sweep)}{f'; {known}' if known else ''}.", err=True)
    is_done = counts["finished"] + (0 if retry_failed else counts["failed"]) == len(sweep.cells())
    how = "Nothing is left to run" if is_done else f"Runs on {place}; run the same command again after an interruption"
    typer.echo(f"{how}. Results are kept in {folder}.", err=True)


def print_stop(sweep: "Sweep", spec: Path, out: Path | None) -> None:
    """Say what is kept after Ctrl-C, on the error stream."""
    from journeyman.experiment import sweep_status
    from journeyman.report.sweep.summary import status_counts

    folder = results_folder(spec, out)
    counts = status_counts(sweep_status(sweep, folder))
    num_begun = counts["begun"] + counts["running"]  # this process still holds the locks of its own
    typer.echo(
        f"Stopped. {counts['finished']} of {len(sweep.cells())} cells are finished, {num_begun} begun; all of it is "
        f"kept in {folder}. Run the same command again to go on.",
        err=True,
    )


def print_end(sweep: "Sweep", spec: Path, out: Path | None, report: "SweepReport") -> None:
    """Say how a run ended, what failed, and what to do next."""
    from rich.console import Console

    from journeyman.experiment import sweep_status
    from journeyman.report.sweep.text import print_failures, print_run

    console, folder = Console(), results_folder(spec, out)
    print_run(console, sweep, report)
    hints = {}
    if report.failed:
        print_failures(console, sweep, sweep_status(sweep, folder), folder)
        hints["Try again:"] = command("run", spec, out, "--retry-failed")
    if report.num_finished:
        hints["Results in numbers:"] = command("table", spec, out)
        hints["In figures:"] = command("plot", spec, out)
    print_hints(hints)


def report_record(report: "SweepReport") -> dict[str, Any]:
    """Return a report as plain data."""
    from dataclasses import asdict

    return asdict(report) | {"failed": list(report.failed), "is_complete": report.is_complete}


sweep_results.register(app)
