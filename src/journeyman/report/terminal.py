"""What every report in the terminal is made of: tables, words with their meaning, warnings.

Names that users give are printed as they are, never as markup.
"""

from collections.abc import Container, Iterable, Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text


def text_table(headings: Sequence[str], numeric: Container[int] = (), *, gap: int = 2) -> Table:
    """Return an empty table without lines; columns in `numeric` are aligned to the right and never broken."""
    table = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0), header_style="bold")
    for index, heading in enumerate(headings):
        is_number = index in numeric
        table.add_column(Text(heading), justify="right" if is_number else "left", no_wrap=is_number, overflow="fold")
    return table


def definitions(rows: Mapping[str, str]) -> Table:
    """Return words and what they mean, in two columns."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for word, meaning in rows.items():
        table.add_row(Text(word), Text(meaning))
    return table


def print_warnings(console: Console, warnings: Iterable[str]) -> None:
    """Print what is doubtful."""
    for warning in warnings:
        console.print(Text.assemble(("Warning: ", "bold yellow"), warning))
