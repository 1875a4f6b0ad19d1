"""A grid in the terminal: coloured cells with lines of text, and what to draw arrows and borders with.

Without colour nothing is lost: numbers carry their sign, cells have borders, terminal cells say so. Where the terminal
is too narrow for numbers, cells shrink to a few signs without borders.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from rich.console import Console, Group, RenderableType
from rich.style import Style
from rich.text import Text

from journeyman.mdp import FiniteMDP, Grid
from journeyman.report.drawing.marks import has_row_numbering
from journeyman.types import FloatArray

MIN_CELL, MAX_CELL, SMALL_CELL = 6, 11, 3  # characters in a cell: sign and number must fit, small ones hold signs only
BELOW, ZERO, ABOVE = np.array([202, 60, 60]), np.array([247, 247, 247]), np.array([50, 110, 190])
END_WORDS = "terminal cell: its reward is paid once, then the episode ends"
NUMBERS_WORDS = "outside the grid: state = number at the left + number at the top"


class Glyphs(NamedTuple):
    """Characters to draw with.

    `arrows` by (row step, column step); `borders` above, between and below rows: left end, line, crossing, right end.
    """

    arrows: dict[tuple[int, int], str]
    borders: tuple[str, str, str]
    bar: str
    plus_minus: str


_STEPS = [(0, 0), (-1, 0), (0, 1), (1, 0), (0, -1), (-1, 1), (1, 1), (1, -1), (-1, -1)]
UNICODE = Glyphs(dict(zip(_STEPS, "•↑→↓←↗↘↙↖", strict=True)), ("┌─┬┐", "├─┼┤", "└─┴┘"), "│", "±")
ASCII = Glyphs(dict(zip(_STEPS, "o^>v</\\/\\", strict=True)), ("+-++", "+-++", "+-++"), "|", "~")


@dataclass(frozen=True, eq=False)
class Sheet:
    """Room for the grid of an MDP on a console: `cell_width` characters per cell; `colours` in words, if it has any."""

    mdp: FiniteMDP
    grid: Grid
    glyphs: Glyphs
    cell_width: int
    colours: str

    @property
    def is_small(self) -> bool:
        """Whether cells hold signs instead of numbers, without borders."""
        return self.cell_width < MIN_CELL

    def actions_text(self, actions: Sequence[int]) -> str:
        """Return arrows for actions, or their names if they are not moves on the grid."""
        if self.grid.moves is None:
            return "/".join(self.mdp.action_name(action) for action in actions)
        steps = np.sign(self.grid.moves)[list(actions)].tolist()
        return "".join(self.glyphs.arrows[row, column] for row, column in steps)

    def drawing(self, texts: Sequence[Sequence[str]], values: FloatArray, limit: float) -> RenderableType:
        """Return the grid with numbers of rows and columns; cells without a state are walls.

        Parameters
        ----------
        texts
            Lines of text of every state's cell, equally many for all, each `cell_width` long.
        values
            `[S]` what cells are coloured by, see `cell_style`; NaN: not at all.
        """
        styles = [Style(dim=True) if np.isnan(value) else cell_style(value, limit) for value in values.tolist()]
        return Group(*self._lines(texts, styles))

    def _lines(self, texts: Sequence[Sequence[str]], styles: Sequence[Style]) -> Iterator[Text]:
        grid, margin = self.grid, label_width(self.mdp)
        state_at = {(row, column): state for state, (row, column) in enumerate(grid.places.tolist())}
        titles = _titles(self.mdp)
        is_numbered = has_row_numbering(self.mdp)
        bar = "" if self.is_small else self.glyphs.bar
        if is_numbered:
            numbers = (str(column).center(self.cell_width) for column in range(grid.num_columns))
            yield Text(" " * (margin + len(bar)) + (" " * len(bar)).join(numbers).rstrip(), style="dim")
        for row in range(grid.num_rows):
            if row in titles:
                yield from self._border(2) if row else ()
                yield Text(" " * margin + titles[row], style="bold")
                continue
            yield from self._border(0 if row == 0 or row - 1 in titles else 1)
            for part in range(len(texts[0])):
                label = str(row * grid.num_columns) if is_numbered and part == 0 else ""
                line = Text.assemble((f"{label:>{margin - 1}} ", "dim"), bar)
                for column in range(grid.num_columns):
                    state = state_at.get((row, column))
                    if state is None:
                        line.append("#" * self.cell_width, style="dim")
                    else:
                        line.append(texts[state][part], style=styles[state])
                    line.append(bar)
                yield line
        yield from self._border(2)

    def _border(self, place: int) -> Iterator[Text]:
        """Yield the line above (0), between (1) or below (2) rows; none in small drawings."""
        if not self.is_small:
            left, line, crossing, right = tuple(self.glyphs.borders[place])
            cells = crossing.join([line * self.cell_width] * self.grid.num_columns)
            yield Text(" " * label_width(self.mdp) + left + cells + right)


def fitting_sheet(console: Console, mdp: FiniteMDP) -> Sheet | None:
    """Return room for the grid of an MDP, as large as the console allows; None without a grid, or if it is too wide."""
    grid = mdp.grid
    if grid is None:
        return None
    width = min((console.width - label_width(mdp) - 1) // num_columns(mdp) - 1, MAX_CELL)
    if width < MIN_CELL:
        width = SMALL_CELL
        if small_width(mdp) > console.width:
            return None
    has_colour = console.color_system is not None and not console.no_color
    glyphs = ASCII if console.options.ascii_only else UNICODE
    if mdp.memory is not None:
        grid = mdp.memory.panels.grid(num_columns=1)  # panels below each other
    return Sheet(mdp, grid, glyphs, width, "; blue above 0, red below" if has_colour else "")


def label_width(mdp: FiniteMDP) -> int:
    """Return how many characters the numbers of rows take, with the space after them."""
    return len(str(mdp.num_states)) + 1


def small_width(mdp: FiniteMDP) -> int:
    """Return how many characters wide the smallest drawing of an MDP's grid is."""
    assert mdp.grid is not None
    return label_width(mdp) + SMALL_CELL * num_columns(mdp)


def num_columns(mdp: FiniteMDP) -> int:
    """Return how many columns the drawing of a grid has; panels of a memory lie below each other."""
    grid = mdp.grid if mdp.memory is None else mdp.memory.panels.world.grid
    assert grid is not None  # else it is not drawn
    return grid.num_columns


def _titles(mdp: FiniteMDP) -> dict[int, str]:
    """Return what is remembered in each panel, by the row that has its title."""
    if mdp.memory is None or len(mdp.memory.panels.labels) == 1:
        return {}
    panels = mdp.memory.panels
    return {row - 1: label for label, (row, _) in zip(panels.labels, panels.corners(num_columns=1), strict=True)}


def cell_style(value: float, limit: float) -> Style:
    """Return background and text colours for a value in -limit..limit: red below 0, white at 0, blue above."""
    share = min(abs(value) / limit, 1.0) ** 0.6 if limit > 0 else 0.0  # small values must still show their side
    mixed = ZERO + share * ((ABOVE if value > 0 else BELOW) - ZERO)
    red, green, blue = (round(float(part)) for part in mixed)
    is_dark = 0.299 * red + 0.587 * green + 0.114 * blue < 140
    return Style(color="#ffffff" if is_dark else "#000000", bgcolor=f"#{red:02x}{green:02x}{blue:02x}")
