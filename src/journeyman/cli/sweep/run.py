"""`journeyman sweep init`, `run` and `resume`: write an example, run what is missing, and say how it ended."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from journeyman.cli import options as opt
from journeyman.cli.sweep.opening import OutFolder, SpecFile, command, print_hints, results_folder
from journeyman.errors import InputError

if TYPE_CHECKING:
    from journeyman.experiment import Sweep, SweepReport


def init(
    file: Annotated[Path, typer.Argument(metavar="[FILE]", help="Where to write.")] = Path("sweep.toml"),
    force: Annotated[bool, typer.Option("--force", help="Overwrite a file that exists.")] = False,
) -> None:
    """Write an example of a sweep, to change into your own.

    Every key is there, with a comment. It compares four methods on eight small grids, and runs as it is in about a
    minute. A file that exists is never overwritten, unless you say --force.

    Example: [bold]journeyman sweep init sweep.toml[/], then [bold]journeyman sweep run sweep.toml[/].
    """
    from importlib.resources import files

    from journeyman.storage.files import made_folder, whole_file

    if file.exists() and not force:
        raise InputError(
            f"an example must go to a new file, got {str(file)!r}, which exists. Choose another, or --force."
        )
    made_folder(file.parent, "an example")
    with whole_file(file, "an example") as temporary:
        example = (files("journeyman.cli.sweep") / "example.toml").read_text("utf-8")
        temporary.write_text(example.replace("sweep.toml", str(file)), encoding="utf-8")
    typer.echo(f"Wrote {file}")
    typer.echo(f"Next: {command('run', file, None)}")


def run(
    spec: SpecFile,
    out: OutFolder = None,
    workers: Annotated[
        int | None,
        typer.Option(metavar="N", help="Processes, one core each; default: all cores. Results do not depend on it."),
    ] = None,
    executor: Annotated[str, typer.Option(help="local: processes on this machine; dask: a cluster.")] = "local",
    scheduler: opt.Scheduler = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Retry cells that failed in an earlier run.")
    ] = False,
    checkpoint_seconds: Annotated[
        float, typer.Option(metavar="S", help="How often running cells are saved, at the end of a step.")
    ] = 10.0,
    as_json: opt.AsJson = False,
) -> None:
    """Run the cells of SPEC that are not finished yet; run it again to resume after any interruption.

    Cells are saved every few seconds, so that killing this loses only the steps since then. You may run the same
    command several times at once, also on several machines that share the folder: they share the cells. A cell that
    fails is recorded with its traceback and does not stop the others. Exit code 0 if every cell is finished, 1 if cells
    failed, 130 if stopped by Ctrl-C.

    Examples: [bold]journeyman sweep run sweep.toml[/] uses all cores, and keeps results in runs/sweep. [bold]journeyman
    sweep run sweep.toml --out /data/mine --workers 4[/] uses four, and another folder. [bold]journeyman sweep run
    sweep.toml --executor dask --scheduler tcp://10.0.0.1:8786[/] uses the workers of a Dask cluster. [bold]journeyman
    sweep run sweep.toml --retry-failed[/] retries failed cells.
    """
    from journeyman.experiment import load_sweep
    from journeyman.experiment.runner import RunOptions, jobs_of, run_jobs
    from journeyman.experiment.store import open_store
    from journeyman.extras import require
    from journeyman.wording import counted

    require("pyarrow", "tables")  # before hours of work, not after them
    sweep = load_sweep(spec)
    num_workers = checked_workers(workers, executor, len(sweep.cells()))
    folder = results_folder(spec, out)
    place = "a Dask cluster" if executor == "dask" else counted(num_workers, "worker")
    options = RunOptions(num_workers, executor, scheduler, retry_failed, checkpoint_seconds)
    open_store(folder)  # says what is wrong before anything is promised
    print_plan(sweep, folder, place, retry_failed=retry_failed)
    try:
        report = run_jobs(jobs_of([sweep]), folder, options, name=sweep.name)
    except KeyboardInterrupt:
        print_stop(sweep, folder)
        raise typer.Exit(130) from None
    if as_json:
        record = asdict(report) | {"failed": list(report.failed), "is_complete": report.is_complete}
        opt.print_json({"name": sweep.name, "out": str(folder)} | record)
    else:
        print_end(sweep, spec, out, report)
    if report.failed:
        raise typer.Exit(1)


def checked_workers(workers: int | None, executor: str, num_cells: int) -> int:
    """Return the number of local processes: no more than there are cells."""
    from journeyman.checks import one_of, whole_number
    from journeyman.storage.workers import EXECUTORS
    from journeyman.threads import default_num_threads

    one_of(executor, EXECUTORS, "executor", "Leave it out for 'local'.")
    if workers is None:
        return min(default_num_threads(), num_cells)
    whole_number(workers, "the number of workers", 1, "Leave it out to use all cores.")
    if executor == "dask":
        raise InputError(
            f"workers must be left out with a Dask cluster, which has its own, got {workers}. Start more of them there."
        )
    return min(workers, num_cells)


def counted_cells(sweep: "Sweep", folder: Path) -> dict[str, int]:
    """Return how many cells of a sweep are finished, running, ... now."""
    from journeyman.experiment import sweep_status
    from journeyman.report.sweep.summary import status_counts

    return status_counts(sweep_status(sweep, folder))


def print_plan(sweep: "Sweep", folder: Path, place: str, *, retry_failed: bool) -> None:
    """Say what is to be done and where it goes, on the error stream."""
    from journeyman.report.sweep.text import describe_sweep

    counts = counted_cells(sweep, folder)
    known = ", ".join(f"{count} {status}" for status, count in counts.items() if count and status != "waiting")
    typer.echo(f"{sweep.name}: {describe_sweep(sweep)}{f'; {known}' if known else ''}.", err=True)
    is_done = counts["finished"] + (0 if retry_failed else counts["failed"]) == len(sweep.cells())
    how = "Nothing is left to run" if is_done else f"Runs on {place}; run the same command again after an interruption"
    typer.echo(f"{how}. Results are kept in {folder}.", err=True)


def print_stop(sweep: "Sweep", folder: Path) -> None:
    """Say what is kept after Ctrl-C, on the error stream."""
    counts = counted_cells(sweep, folder)
    num_begun = counts["begun"] + counts["running"]  # this process still holds the locks of its own
    typer.echo(
        f"Stopped. {counts['finished']} of {len(sweep.cells())} cells are finished, {num_begun} begun; all of it is "
        f"kept in {folder}. Run the same command again to resume.",
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
