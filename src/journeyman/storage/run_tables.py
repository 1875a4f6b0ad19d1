"""Tables of runs that take hours: one line per run, continued where they are incomplete."""

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

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
    report_fn: Callable[[str], object] = print,
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
    report_fn
        Told how many runs are missing, and then each row.
    """
    with appended(table, {"format": form, "settings": settings}, "settings") as (found, add):
        done = {tuple(row[name] for name in columns) for _, row in found.records}
        wanted = list(cells)
        missing = [cell for cell in wanted if cell not in done]
        report_fn(f"{len(missing)} of {len(wanted)} runs are missing")

        def keep(row: dict[str, Any]) -> None:
            add(row)
            report_fn(json.dumps(row))

        run_each(run_fn, missing, keep, num_workers=num_workers)


def read_table(table: Path, form: str) -> list[dict[str, Any]]:
    """Return the rows of a table, none if there is no such file yet."""
    return [row for _, row in read_lines(table, form).records] if table.exists() else []
