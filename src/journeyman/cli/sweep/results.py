"""`journeyman sweep status`, `table` and `plot`: how far a sweep is, and what came out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from journeyman.cli import options as opt
from journeyman.cli.sweep.opening import (
    OutFolder,
    SpecFile,
    check_finished,
    command,
    finished_table,
    print_hints,
    results_folder,
)
from journeyman.errors import InputError

if TYPE_CHECKING:
    from journeyman.experiment import Sweep

TABLE_ENDINGS = (".parquet", ".csv")
PICTURES = "png (default), svg, pdf, jpg, jpeg, webp, tif or tiff"


def status(
    spec: SpecFile,
    out: OutFolder = None,
    cells: Annotated[bool, typer.Option("--cells", help="List every cell, and every failure.")] = False,
    as_json: opt.AsJson = False,
) -> None:
    """Show how far a sweep is: cells that are finished, running or waiting, and those that failed, and why.

    Works while the sweep runs, and changes nothing.

    Examples: [bold]journeyman sweep status sweep.toml[/]; every cell with its id: [bold]journeyman sweep status
    sweep.toml --cells[/]; for scripts: [bold]journeyman sweep status sweep.toml --json[/].
    """
    from journeyman.experiment import load_sweep, sweep_status
    from journeyman.report.sweep.summary import status_counts, status_record
    from journeyman.report.sweep.text import describe_sweep, print_status

    sweep, folder = load_sweep(spec), results_folder(spec, out)
    statuses = sweep_status(sweep, folder)
    if not as_json and not (folder / "results").is_dir():
        missing = f"{folder} has no results" if folder.exists() else f"there is no {folder}"
        typer.echo(f"{sweep.name}: {describe_sweep(sweep)}. Nothing was run yet: {missing}.")
        typer.echo(f"Run it: {command('run', spec, out)}")
        return
    opt.show(
        as_json,
        lambda: status_record(sweep, statuses, folder, lists_all=cells),
        lambda console: print_status(console, sweep, statuses, folder, lists_all=cells),
    )
    if as_json:
        return
    counts = status_counts(statuses)
    hints = {}
    if counts["failed"]:
        hints["Try again:"] = command("run", spec, out, "--retry-failed")
    if counts["waiting"] or counts["begun"]:
        hints["Resume:"] = command("run", spec, out)
    if counts["finished"]:
        hints["Results in numbers:"] = command("table", spec, out)
    print_hints(hints)


def table(
    spec: SpecFile,
    out: OutFolder = None,
    to: Annotated[Path | None, typer.Option(metavar="FILE", help="Write all results there: .parquet or .csv.")] = None,
    compact: Annotated[
        bool, typer.Option("--compact", help="With --to: half the digits (float32), which is enough to plot.")
    ] = False,
    step: Annotated[
        list[int] | None,
        typer.Option(metavar="N", help="A step to show; can be repeated. Default: the last, and two before it."),
    ] = None,
    as_json: opt.AsJson = False,
) -> None:
    """Show what came out: means over instances, with standard errors, for every method at some steps.

    With --to, write all results to one file instead: a tidy table with a row per cell and step, for pandas, R or a
    spreadsheet. The page "Sweeps" of the documentation explains its columns. Works while the sweep runs, with the cells
    that are finished.

    Examples: [bold]journeyman sweep table sweep.toml[/]; at other steps: [bold]journeyman sweep table sweep.toml --step
    5 --step 15[/]; all results: [bold]journeyman sweep table sweep.toml --to results.parquet[/] (or .csv).
    """
    from journeyman.experiment import load_sweep

    check_table_options(to, compact, step)
    sweep = load_sweep(spec)
    if to is not None:
        num_rows = write_results(sweep, spec, out, to, is_compact=compact)
        opt.say(as_json, {"file": str(to), "num_rows": num_rows}, f"Wrote {num_rows} rows to {to}")
        return
    from journeyman.report.sweep.summary import checked_steps, summary_rows
    from journeyman.report.sweep.text import print_summary

    steps = checked_steps(step or (), sweep.steps)
    rows = summary_rows(finished_table(sweep, spec, out), steps)
    opt.show(
        as_json,
        lambda: {"name": sweep.name, "epsilon": sweep.epsilon, "rows": [row.to_record() for row in rows]},
        lambda console: print_summary(console, rows, sweep.epsilon),
    )


def check_table_options(to: Path | None, is_compact: bool, steps: list[int] | None) -> None:
    """Refuse options that do not go together, before any work."""
    if to is None:
        if is_compact:
            raise InputError("--compact must come with --to, got it alone. Say --to results.parquet.")
        return
    if steps:
        raise InputError(f"--step is for the summary, got it with --to {to}, which gets all steps. Leave one out.")
    if to.suffix.lower() not in TABLE_ENDINGS:
        raise InputError(f"a table must end in one of {', '.join(TABLE_ENDINGS)}, got {str(to)!r}. Change its ending.")


def write_results(sweep: "Sweep", spec: Path, out: Path | None, to: Path, *, is_compact: bool) -> int:
    """Write all finished cells to one file, whole or not at all; returns the number of rows."""
    from journeyman.experiment.overview import arrow_table
    from journeyman.experiment.results import to_frame, write_table
    from journeyman.experiment.store import Store
    from journeyman.extras import require
    from journeyman.storage.files import whole_file

    pa = require("pyarrow", "tables")
    results = arrow_table(sweep, Store(results_folder(spec, out)), is_compact=is_compact)
    check_finished(len(results["cell"].unique()), sweep, spec, out)
    if to.suffix.lower() == ".parquet":
        names = pa.array([sweep.name] * results.num_rows).dictionary_encode()
        write_table(to, results.add_column(1, "sweep", names), sweep.metrics)
    else:
        frame = to_frame(results)
        frame.insert(1, "sweep", sweep.name)
        with whole_file(to, "a table") as temporary:
            frame.to_csv(temporary, index=False)
    return int(results.num_rows)


def plot(
    spec: SpecFile,
    out: OutFolder = None,
    to: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Where figures go; default: figures, in the folder of results."),
    ] = None,
    formats: Annotated[
        list[str] | None, typer.Option("--format", metavar="ENDING", help=f"{PICTURES}; can be repeated.")
    ] = None,
    method: Annotated[
        list[str] | None, typer.Option(metavar="LABEL", help="A method to show; can be repeated. Default: all.")
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(metavar="LABEL", help="Method to compare the others with; default: the first in the file."),
    ] = None,
    entropy: Annotated[
        str | None,
        typer.Option(metavar="KIND", help="Estimate to show: evidence, knn or gaussian; default: the least biased."),
    ] = None,
    as_json: opt.AsJson = False,
) -> None:
    """Draw what came out, for every world, kind of query and inference method.

    Curves of entropy, of regret and of the chance of too much regret, with standard errors; how many instances are
    certified by each step; where each method asked; and differences between methods on the same instances, with
    confidence intervals. The page "Sweeps" of the documentation says how to read them.

    Examples: [bold]journeyman sweep plot sweep.toml[/] writes to runs/sweep/figures. [bold]journeyman sweep plot
    sweep.toml --to figures --format pdf --format png[/] writes both kinds elsewhere. [bold]journeyman sweep plot
    sweep.toml --method random --method nuPAC-EIG --baseline random[/] shows two methods.
    """
    from journeyman.experiment import load_sweep
    from journeyman.extras import require
    from journeyman.report.sweep.figure_data import FigureOptions, estimates
    from journeyman.report.sweep.figures import sweep_figures

    require("matplotlib", "plot")
    sweep = load_sweep(spec)
    results = finished_table(sweep, spec, out)
    written = sweep_figures(
        results,
        results_folder(spec, out) / "figures" if to is None else to,
        FigureOptions(
            methods=method or None,
            order=[choice.label for choice in sweep.acquisitions],
            baseline=baseline,
            entropy=estimates(entropy),
            epsilon=sweep.epsilon,
            delta=sweep.delta,
        ),
        formats=tuple(dict.fromkeys(formats or ("png",))),
        on_figure=None if as_json else lambda path: typer.echo(str(path)),
    )
    if as_json:
        opt.print_json({"files": [str(path) for path in written]})
