"""Sweeps in the terminal: how far one is, how a run of it ended, and what its methods reached.

Labels that users give are printed as they are, never as markup. Tables fit 80 columns if labels are short.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from journeyman.experiment import Cell, CellStatus, Sweep, SweepReport
from journeyman.experiment.progress import duration
from journeyman.experiment.statistics.curves import ESTIMATES
from journeyman.experiment.statistics.table import Group
from journeyman.report.sweep.figure_data import query_words
from journeyman.report.sweep.summary import (
    MEANS,
    Mean,
    Progress,
    SummaryRow,
    failure_path,
    progress_by_method,
    status_counts,
)
from journeyman.report.terminal import definitions, text_table
from journeyman.wording import counted, percent

MAX_LISTED = 5  # failed or running cells, unless all are wanted
MAX_ERROR = 300  # characters of an error; the file has the rest
COLOURS = {"finished": "green", "running": "cyan", "begun": "cyan", "waiting": "dim", "failed": "bold red"}
MEANINGS = {
    "running": "a process is at work on them now",
    "begun": "stopped part-way; they resume from their last checkpoint",
    "failed": "tried again only with --retry-failed",
}
SUMMARY_NOTES = (
    "Mean ± standard error over n instances. true regret: what the policy loses under the true reward, from the "
    "initial states. P[...]: the learner's own belief. certified: instances whose certificate holds at that step."
)
UNEVEN_NOTE = (
    "n differs between methods, because cells are missing: they were not averaged over the same instances, so do not "
    "compare them yet."
)


def describe_sweep(sweep: Sweep) -> str:
    """Return the size of a sweep in words: "16 cells (1 world x 4 acquisitions x 4 seeds) of 20 answers"."""
    axes = {
        "world": sweep.worlds,
        "kind of query": sweep.queries,
        "inference method": sweep.inference,
        "acquisition": sweep.acquisitions,
        "seed": sweep.seeds,
    }
    always = ("world", "acquisition", "seed")
    sizes = {word: len(entries) for word, entries in axes.items() if word in always or len(entries) > 1}
    words = " x ".join(counted(size, word).replace("kind of querys", "kinds of query") for word, size in sizes.items())
    return f"{counted(math.prod(sizes.values()), 'cell')} ({words}) of {counted(sweep.steps, 'answer')}"


def cell_name(sweep: Sweep, cell: Cell) -> str:
    """Return the name of a cell for people, with all that tells it from the others of its sweep."""
    words = [f"{cell.world.label} seed {cell.seed}"]
    words += [cell.query.label] * (len(sweep.queries) > 1) + [cell.inference.label] * (len(sweep.inference) > 1)
    return ", ".join([*words, cell.acquisition.label])


def print_status(
    console: Console, sweep: Sweep, statuses: Sequence[CellStatus], folder: Path, *, lists_all: bool = False
) -> None:
    """Print counts, how far each method is, what runs, and what failed and why."""
    console.print(Text.assemble((sweep.name, "bold"), f": {describe_sweep(sweep)}"))
    console.print(Text(f"in {folder}\n"), soft_wrap=True)
    console.print(_counts(statuses, sweep.steps), "")
    for table in progress_tables(progress_by_method(statuses), console.width):
        console.print(table, "")
    if lists_all:
        console.print(_cell_table(sweep, statuses), "")
    running = [item for item in statuses if item.status == "running"]
    if running and not lists_all:
        end = f"of {counted(sweep.steps, 'answer')} kept"
        _print_running(console, [f"{cell_name(sweep, item.cell)}: {item.num_steps} {end}" for item in running])
    print_failures(console, sweep, statuses, folder, limit=None if lists_all else MAX_LISTED)


def _counts(statuses: Sequence[CellStatus], steps: int) -> Table:
    """Return how many cells are how far, and how many answers there are in all."""
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column()
    for status, count in status_counts(statuses).items():
        if count:
            table.add_row(Text(status, style=COLOURS[status]), str(count), Text(MEANINGS.get(status, ""), style="dim"))
    answers, total = sum(min(item.num_steps, steps) for item in statuses), len(statuses) * steps
    table.add_row("answers", str(answers), Text(f"of {total}: {percent(answers / total)}", style="dim"))
    return table


def progress_tables(progress: Mapping[tuple[Group, str], Progress], width: int) -> list[Table]:
    """Return finished cells of all, a row per method and a column per group; several tables if one is too wide."""
    methods = list(dict.fromkeys(method for _, method in progress))
    names = short_names(list(dict.fromkeys(group for group, _ in progress)))
    columns = [[Text(names[group]), *(_progress_text(progress.get((group, m))) for m in methods)] for group in names]
    room = width - max(map(len, ("method", *methods)))
    parts: list[list[list[Text]]] = [[]]
    used = 0
    for column in columns:
        needed = max(map(len, column)) + 2
        if parts[-1] and used + needed > room:
            parts.append([])
            used = 0
        parts[-1].append(column)
        used += needed
    tables = []
    for part in parts:
        headings, *rows = zip(*part, strict=True)
        tables.append(text_table(("method", *map(str, headings)), numeric=range(1, len(part) + 1)))
        for method, row in zip(methods, rows, strict=True):
            tables[-1].add_row(Text(method), *row)
    return tables


def _progress_text(progress: Progress | None) -> Text:
    if progress is None:
        return Text("-", style="dim")
    text = Text(f"{progress.num_finished} of {progress.num_cells}")
    if progress.num_failed:
        return text.append(f", {progress.num_failed} failed", style=COLOURS["failed"])
    text.stylize(COLOURS["finished"] if progress.num_finished == progress.num_cells else "")
    return text


def short_names(groups: Sequence[Group]) -> dict[Group, str]:
    """Return names of groups without what is the same in all of them; the world is always named."""
    differs = [len({group[place] for group in groups}) > 1 for place in range(len(Group._fields))]
    return {
        group: ", ".join(label for place, label in enumerate(group) if place == 0 or differs[place]) for group in groups
    }


def _cell_table(sweep: Sweep, statuses: Sequence[CellStatus]) -> Table:
    table = text_table(("cell", "what", "status", "answers"), numeric=(3,), gap=1)
    for item in statuses:
        status = Text(item.status, style=COLOURS[item.status])
        table.add_row(item.cell.id, Text(cell_name(sweep, item.cell)), status, str(item.num_steps))
    return table


def _print_running(console: Console, lines: Sequence[str]) -> None:
    console.print(Text("Running now", style="bold"))
    for line in lines[:MAX_LISTED]:
        console.print(Padding(Text(line), (0, 0, 0, 2)))
    if len(lines) > MAX_LISTED:
        console.print(Text(f"  and {len(lines) - MAX_LISTED} more", style="dim"))
    console.print()


def print_failures(
    console: Console, sweep: Sweep, statuses: Sequence[CellStatus], folder: Path, *, limit: int | None = MAX_LISTED
) -> None:
    """Print which cells failed, why, and where their tracebacks are; nothing if none did."""
    failed = [item for item in statuses if item.status == "failed"]
    if not failed:
        return
    console.print(Text(f"{counted(len(failed), 'cell')} failed", style="bold red"))
    for item in failed[:limit]:
        error = item.error if len(item.error) <= MAX_ERROR else f"{item.error[:MAX_ERROR]}..."
        console.print(Padding(Text.assemble((cell_name(sweep, item.cell), "bold"), f": {error}"), (0, 0, 0, 2)))
        console.print(Text(f"    traceback: {failure_path(folder, item.cell)}", style="dim"), soft_wrap=True)
    if limit is not None and len(failed) > limit:
        console.print(Text(f"  and {len(failed) - limit} more, in {folder / 'failures'}", style="dim"), soft_wrap=True)
    console.print()


def print_run(console: Console, sweep: Sweep, report: SweepReport) -> None:
    """Print how a run ended: cells finished, new and failed, and how long it took."""
    rows = {"finished": f"{report.num_finished} of {counted(report.num_cells, 'cell')}"}
    others = report.num_finished - report.num_new
    elsewhere = f"; {others} by earlier or other runs" if others and report.num_new else ""
    rows["in this run"] = f"{report.num_new or 'none'}{elsewhere}"
    if report.failed:
        rows["failed"] = str(len(report.failed))
    rows["time"] = duration(report.seconds)
    style = "bold green" if report.is_complete else "bold red"
    console.print(Text(f"{sweep.name}: {'complete' if report.is_complete else 'not complete'}", style=style))
    console.print(definitions(rows), "")


def print_summary(console: Console, rows: Sequence[SummaryRow], epsilon: float) -> None:
    """Print what methods reached: a table per group, a block per step, a line per method."""
    for group, members in groupby(rows, key=lambda row: Group(row.world, row.query, row.inference)):
        mine = list(members)
        console.print(Text(f"{group.world}, {query_words(group.query)}, {group.inference}", style="bold"))
        console.print(summary_table(mine, epsilon), "")
        if mine[0].entropy_estimate not in (None, "entropy_evidence"):
            console.print(Text(f"Entropy by the estimate: {ESTIMATES[str(mine[0].entropy_estimate)]}.\n", style="dim"))
        if len({row.n for row in mine}) > 1:
            console.print(Text(f"{UNEVEN_NOTE}\n", style="yellow"))
    console.print(Text(SUMMARY_NOTES, style="dim"))


def summary_table(rows: Sequence[SummaryRow], epsilon: float) -> Table:
    """Return the table of one group."""
    numbers = ("n", "entropy\n(nats)", "true\nregret", f"P[regret\n> {epsilon:g}]", "certi-\nfied")
    table = text_table(("step", "method", *numbers), numeric=(0, *range(2, 7)))
    for step, members in groupby(rows, key=lambda row: row.step):
        mine = list(members)
        if table.row_count:
            table.add_row()
        means = [mean_texts([getattr(row, name) for row in mine]) for name in MEANS]
        for index, row in enumerate(mine):
            certified = "-" if row.num_certified is None else f"{row.num_certified}/{row.n}"
            cells = (str(row.n), *(column[index] for column in means), certified)
            table.add_row("" if index else str(step), Text(row.method), *cells)
    return table


def mean_texts(means: Sequence[Mean]) -> list[str]:
    """Return means with their standard errors, all with as many decimals: two digits of the largest error or more."""
    errors = [mean.standard_error for mean in means if mean.standard_error > 0.0]
    others = [abs(mean.mean) / 10.0 for mean in means if math.isfinite(mean.mean) and not mean.standard_error > 0.0]
    sizes = [size for size in (*errors, *others) if size]
    digits = _decimals(max(errors or sizes, default=10.0))
    least = 2 if digits >= 1 else min(_decimals(min(sizes, default=10.0)), 2)  # small errors stand beside large ones
    decimals = min(max(digits, least, 0), 4)
    return [_mean_text(mean, decimals) for mean in means]


def _decimals(size: float) -> int:
    """Return the decimals that two digits of a number have; not positive from 10 on."""
    return 1 - math.floor(math.log10(size))


def _mean_text(mean: Mean, decimals: int) -> str:
    if not math.isfinite(mean.mean):
        return "-" if math.isnan(mean.mean) else f"{mean.mean:+}"
    value = "0" if mean.mean == 0.0 else f"{mean.mean:.{decimals}f}"
    if math.isnan(mean.standard_error) or (mean.mean == 0.0 and mean.standard_error == 0.0):
        return value
    return f"{value} ± {mean.standard_error:.{decimals}f}"
