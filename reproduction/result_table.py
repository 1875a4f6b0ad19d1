"""Tables of results: one set of numbers for the terminal, for Markdown and for CSV files."""

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

from journeyman.storage.files import made_folder, whole_file
from journeyman.wording import plain_number

Value = bool | int | float | str | None
TEXT_WIDTH, GAP = 110, 2
MAX_UNBROKEN = 24  # characters: longer cells are broken into lines where there is no room


@dataclass(frozen=True)
class ResultTable:
    """A table of results.

    Parameters
    ----------
    name
        Of its files, without ending.
    title
        What it shows.
    columns
        Headings, with units.
    rows
        One value per column each; None where there is none.
    notes
        Sentences that belong below it.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    notes: tuple[str, ...] = ()


class Written(NamedTuple):
    """Files that were written, and the same results as text for the terminal."""

    paths: list[Path]
    text: str


def value_text(value: Value) -> str:
    """Return a value for people: four significant digits, yes or no, and a dash where there is none."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if isinstance(value, float):
        return plain_number(value)
    return str(value)


def markdown_text(tables: Sequence[ResultTable]) -> str:
    """Return tables as Markdown, each with a heading and its notes as a list."""
    return "\n\n".join(_markdown(table) for table in tables) + "\n"


def _markdown(table: ResultTable) -> str:
    lines = [_markdown_row(table.columns), "|" + "|".join("---" for _ in table.columns) + "|"]
    lines += [_markdown_row([value_text(value) for value in row]) for row in table.rows]
    parts = [f"## {table.title}", "\n".join(lines)]
    if table.notes:
        parts.append("\n".join(f"- {note}" for note in table.notes))
    return "\n\n".join(parts)


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"


def csv_text(table: ResultTable) -> str:
    """Return a table as CSV, numbers in full; an empty field where there is no value."""
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows(["" if value is None else value for value in row] for row in table.rows)
    return out.getvalue()


def terminal_text(tables: Sequence[ResultTable], width: int = TEXT_WIDTH) -> str:
    """Return tables as text, `width` characters wide, or wider where columns would not fit otherwise."""
    return "\n".join(_terminal_text(table, width) for table in tables)


def _terminal_text(table: ResultTable, width: int) -> str:
    widths, out = column_widths(table, width), StringIO()
    shown = Table(box=None, padding=(0, GAP, 0, 0), pad_edge=False)
    for index, (heading, column_width) in enumerate(zip(table.columns, widths, strict=True)):
        is_number = all(isinstance(row[index], int | float | None) for row in table.rows)
        shown.add_column(Text(heading), justify="right" if is_number else "left", width=column_width)
    for row in table.rows:
        shown.add_row(*(Text(value_text(value)) for value in row))
    console = Console(file=out, width=max(width, sum(widths) + GAP * len(widths)), color_system=None)
    console.print(Text(table.title), "", shown, *([""] if table.notes else []), *map(Text, table.notes), sep="\n")
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()).rstrip() + "\n"


def column_widths(table: ResultTable, width: int) -> list[int]:
    """Return the widths of columns: values fit, headings are broken between words, and sentences share what is left."""
    longest = [max([0, *(len(value_text(row[index])) for row in table.rows)]) for index in range(len(table.columns))]
    words = [max(-(-len(heading) // 2), *map(len, heading.split())) for heading in table.columns]  # two lines or so
    is_sentence = [size > MAX_UNBROKEN for size in longest]
    fixed = sum(max(pair) for pair, long in zip(zip(longest, words, strict=True), is_sentence, strict=True) if not long)
    left = (width - fixed - GAP * len(words)) // max(1, sum(is_sentence))
    return [
        min(size, max(left, MAX_UNBROKEN)) if long else max(size, word)
        for size, word, long in zip(longest, words, is_sentence, strict=True)
    ]


def write_tables(folder: str | Path, tables: Sequence[ResultTable]) -> Written:
    """Write one Markdown file with all tables, named as the first, and a CSV file for each; replaces older ones."""
    place = made_folder(folder, "results")
    contents = {f"{tables[0].name}.md": markdown_text(tables)}
    contents |= {f"{table.name}.csv": csv_text(table) for table in tables}
    paths = []
    for name, content in contents.items():
        paths.append(place / name)
        with whole_file(paths[-1], "a table") as temporary:
            temporary.write_text(content, encoding="utf-8")
    return Written(paths, terminal_text(tables))
