"""Tables of numbers: in full as CSV files, and the columns that matter as Markdown that names its file."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pandas import DataFrame

FOLDER = "numbers"
Row = Mapping[str, Any]
Cell = Callable[[Row], str]


@dataclass(frozen=True, eq=False)
class NumberTable:
    """A table that a page shows.

    Parameters
    ----------
    name
        Of its file, without ending.
    caption
        What it shows, in a sentence without its full stop.
    frame
        All columns, for the file.
    shown
        Headings of the columns on the page, each with a column of the frame or with what makes a cell of a row.
    page
        Rows of the page, where they are not those of the file.
    """

    name: str
    caption: str
    frame: DataFrame
    shown: Mapping[str, str | Cell]
    page: DataFrame | None = None

    @property
    def file(self) -> str:
        """Path of the file from the page."""
        return f"{FOLDER}/{self.name}.csv"

    def markdown(self) -> str:
        """Return the shown columns with a caption that links to the file."""
        frame = self.frame if self.page is None else self.page
        rows = [[_cell(row, column) for column in self.shown.values()] for row in frame.to_dict("records")]
        return f"{self.caption} ([{self.name}.csv]({self.file})):\n\n{markdown_table(list(self.shown), rows)}"

    def write(self, folder: Path) -> Path:
        """Write all columns, with six digits."""
        path = folder / self.file
        path.parent.mkdir(parents=True, exist_ok=True)
        self.frame.to_csv(path, index=False, float_format="%.6g", lineterminator="\n")
        return path


def markdown_table(headings: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |" for line in lines)


def _cell(row: Row, column: str | Cell) -> str:
    return column(row) if callable(column) else value_text(row[column])


def value_text(value: Any) -> str:
    """Return a value for people: numbers in short, yes or no, and a dash where there is none."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or type(value).__name__ == "bool":
        return "yes" if value else "no"
    return "-" if value is None else short(float(value))


def short(value: float) -> str:
    """Return a number with three significant digits: 0.0312, 4.57, 213; a dash for NaN."""
    if math.isnan(value):
        return "-"
    if not math.isfinite(value):
        return "infinite" if value > 0 else "-infinite"
    if value == 0:
        return "0"
    if float(value).is_integer() and abs(value) < 1e6:
        return f"{value:.0f}"
    if not 1e-4 <= abs(value) < 1e6:
        return f"{value:.1e}"
    decimals = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:.{min(decimals, 4)}f}"


def p_text(p: float) -> str:
    """Return a p-value: in full while it is not tiny."""
    return "below 1e-10" if p < 1e-10 else f"{p:.1e}" if p < 1e-3 else short(p)


def with_interval(value: float, low: float, high: float) -> str:
    """Return a number with its 95 % interval: "0.21 (0.05 to 0.37)"; the number alone without an interval."""
    return short(value) if math.isnan(low) else f"{short(value)} ({short(low)} to {short(high)})"


def interval_cell(value: str, low: str, high: str) -> Cell:
    """Return what makes a cell of a number and its interval, from their columns."""
    return lambda row: with_interval(float(row[value]), float(row[low]), float(row[high]))


def step_text(step: float, last: int) -> str:
    """Return a step; one that was not reached lies beyond the last."""
    return f"{step:g}" if math.isfinite(step) else f"> {last}"
