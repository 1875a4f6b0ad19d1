"""Tables of runs that take hours: one line per run, committed, continued where they are incomplete."""

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from scipy.stats import binomtest

from journeyman.storage.jsonl import appended, read_lines
from journeyman.storage.workers import run_each


def continue_table(
    table: Path,
    form: str,
    settings: dict[str, Any],
    columns: Sequence[str],
    cells: Iterable[tuple[Any, ...]],
    run_fn: Callable[..., dict[str, Any]],
    *,
    num_workers: int,
) -> None:
    """Run the cells that a table lacks, in their order, and add each row to it when it is there.

    Parameters
    ----------
    form, settings
        Of the table's header: a table with others is not continued.
    columns
        Of a row, that say which cell it is of.
    cells
        Values of these columns, which are the arguments of `run_fn`.
    """
    console = Console(highlight=False, soft_wrap=True)
    with appended(table, {"format": form, "settings": settings}, "settings") as (found, add):
        done = {tuple(row[name] for name in columns) for _, row in found.records}
        wanted = list(cells)
        missing = [cell for cell in wanted if cell not in done]
        console.print(f"{len(missing)} of {len(wanted)} runs are missing")

        def keep(row: dict[str, Any]) -> None:
            add(row)
            console.print(json.dumps(row))

        run_each(run_fn, missing, keep, num_workers=num_workers)


def read_table(table: Path, form: str) -> list[dict[str, Any]]:
    """Return the rows of a table, none if there is no such file yet."""
    return [row for _, row in read_lines(table, form).records] if table.exists() else []


def exact_interval(hits: int, total: int) -> tuple[float, float]:
    """Return Clopper and Pearson's 95 % interval of a share; all of [0, 1] if there is nothing to count."""
    if total == 0:
        return 0.0, 1.0
    found = binomtest(hits, total).proportion_ci(method="exact")
    return float(found.low), float(found.high)
