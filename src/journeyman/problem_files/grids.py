"""The [grid] table of a problem file: where states lie, for drawing only."""

from typing import Any

from journeyman.errors import InputError
from journeyman.mdp import Grid
from journeyman.problem_files.tables import TomlTable

LAYOUT_EXAMPLE = 'layout = ["..G", ".#."]'


def grid_of(table: TomlTable) -> Grid | None:
    """Return the grid that the table describes: drawn as lines of text, or by rows, columns and cells."""
    if not table.data:
        return None
    moves, kinds = table.data.get("moves"), table.data.get("kinds")
    if "layout" in table:
        for key in ("rows", "columns", "cells"):
            if key in table:
                raise InputError(
                    f"{key} must be left out where a layout is drawn, got it at "
                    f"{table.file.place(table.name, key)}. Remove one of them."
                )
        with table.blamed("layout"):
            lines, marks = _drawn(table.data["layout"], str(table.data.get("wall", "#")))
            words = tuple(str(kinds.get(mark, "plain")) for *_, mark in marks) if isinstance(kinds, dict) else kinds
            cells: Any = [(row, column) for row, column, _ in marks]
            return Grid(len(lines), max(map(len, lines)), cells, moves, words)
    rows, columns = (table.require(key, f"{key} = 4") for key in ("rows", "columns"))
    with table.blamed():
        return Grid(rows, columns, table.data.get("cells"), moves, kinds)


def _drawn(layout: object, wall: str) -> tuple[list[str], list[tuple[int, int, str]]]:
    """Return the lines of a drawing, and (row, column, mark) of its cells in the order of states."""
    given = layout.splitlines() if isinstance(layout, str) else layout
    if not isinstance(given, list) or not all(isinstance(line, str) for line in given):
        raise InputError(f"layout must be lines of text, got {layout!r}. Example: {LAYOUT_EXAMPLE}")
    is_drawn_by_space = wall.isspace()  # then space at the ends of a line means walls
    lines = [line if is_drawn_by_space else line.strip() for line in given if line.strip()]
    marks = [(row, column, mark) for row, line in enumerate(lines) for column, mark in enumerate(line) if mark != wall]
    if not marks:
        raise InputError(
            f"layout must draw at least one cell, got none but walls ({wall!r}). Example: {LAYOUT_EXAMPLE}"
        )
    return lines, marks
