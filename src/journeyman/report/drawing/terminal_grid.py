"""A grid in the terminal: rewards as coloured cells, optimal actions as arrows, and a legend.

Without colour nothing is lost: numbers carry their sign, cells have borders, terminal cells say so. Where the terminal
is too narrow for numbers, cells shrink to a sign, an arrow and a mark.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from rich.console import Console, Group, RenderableType
from rich.style import Style
from rich.text import Text

from journeyman.mdp import FiniteMDP, Grid
from journeyman.report.drawing.marks import (
    commonest_kind,
    has_initial_marks,
    has_row_numbering,
    named_kinds,
    states_without_preference,
)
from journeyman.report.world.summary import WorldSummary
from journeyman.wording import signed_number

MIN_CELL, MAX_CELL, SMALL_CELL = 6, 11, 3  # characters in a cell: sign and number must fit, small ones hold signs only
BELOW, ZERO, ABOVE = np.array([202, 60, 60]), np.array([247, 247, 247]), np.array([50, 110, 190])


class Glyphs(NamedTuple):
    """Characters to draw with.

    `arrows` by (row step, column step); `borders` above, between and below rows: left end, line, crossing, right end.
    """

    arrows: dict[tuple[int, int], str]
    borders: tuple[str, str, str]
    bar: str


_STEPS = [(0, 0), (-1, 0), (0, 1), (1, 0), (0, -1), (-1, 1), (1, 1), (1, -1), (-1, -1)]
UNICODE = Glyphs(dict(zip(_STEPS, "•↑→↓←↗↘↙↖", strict=True)), ("┌─┬┐", "├─┼┤", "└─┴┘"), "│")
ASCII = Glyphs(dict(zip(_STEPS, "o^>v</\\/\\", strict=True)), ("+-++", "+-++", "+-++"), "|")


@dataclass(frozen=True, eq=False)
class _Sheet:
    """What to draw and how large: `cell_width` characters per cell."""

    summary: WorldSummary
    grid: Grid
    glyphs: Glyphs
    cell_width: int

    @property
    def is_small(self) -> bool:
        """Whether cells hold signs instead of numbers, without borders."""
        return self.cell_width < MIN_CELL


def grid_drawing(console: Console, summary: WorldSummary) -> tuple[RenderableType, dict[str, str]]:
    """Return a world drawn on its grid, as detailed as the width of the console allows, and what the marks mean."""
    grid = summary.mdp.grid
    assert grid is not None
    cell_width = fitting_cell_width(console, summary.mdp)
    if cell_width is None:
        return Text(
            f"The grid has {grid.num_columns} columns, too many for {console.width} characters in a line; "
            f"{label_width(summary.mdp) + SMALL_CELL * grid.num_columns} would do. Or make a picture: --png FILE"
        ), {}
    sheet = _Sheet(summary, grid, glyphs_of(console), cell_width)
    has_colour = console.color_system is not None and not console.no_color
    limit = float(np.abs(summary.state_reward).max())
    styles = [cell_style(float(reward), limit) for reward in summary.state_reward]
    lines = grid_lines(summary.mdp, _cell_texts(sheet), styles, sheet.glyphs, cell_width)
    return Group(*lines), _legend(sheet, has_colour=has_colour)


def glyphs_of(console: Console) -> Glyphs:
    """Return the characters that a console can show."""
    return ASCII if console.options.ascii_only else UNICODE


def label_width(mdp: FiniteMDP) -> int:
    """Return how many characters the numbers of rows take, with the space after them."""
    return len(str(mdp.num_states)) + 1


def fitting_cell_width(console: Console, mdp: FiniteMDP) -> int | None:
    """Return how many characters a cell can have, `SMALL_CELL` where numbers do not fit, None where nothing does."""
    assert mdp.grid is not None
    room = (console.width - label_width(mdp) - 1) // mdp.grid.num_columns - 1
    if room >= MIN_CELL:
        return min(room, MAX_CELL)
    return SMALL_CELL if label_width(mdp) + SMALL_CELL * mdp.grid.num_columns <= console.width else None


def cell_style(value: float, limit: float) -> Style:
    """Return background and text colours for a value in -limit..limit: red below 0, white at 0, blue above."""
    share = min(abs(value) / limit, 1.0) ** 0.6 if limit > 0 else 0.0  # small values must still show their side
    mixed = ZERO + share * ((ABOVE if value > 0 else BELOW) - ZERO)
    red, green, blue = (round(float(part)) for part in mixed)
    is_dark = 0.299 * red + 0.587 * green + 0.114 * blue < 140
    return Style(color="#ffffff" if is_dark else "#000000", bgcolor=f"#{red:02x}{green:02x}{blue:02x}")


def grid_lines(
    mdp: FiniteMDP, texts: list[list[str]], styles: list[Style], glyphs: Glyphs, cell_width: int
) -> Iterator[Text]:
    """Yield the lines of a drawing: numbers of columns, borders, cells; cells without a state are walls.

    Parameters
    ----------
    texts
        Lines of text of every state's cell, equally many for all, each `cell_width` long.
    styles
        Colours of every state's cell.
    """
    grid = mdp.grid
    assert grid is not None
    margin = label_width(mdp)
    state_at = {(row, column): state for state, (row, column) in enumerate(grid.places.tolist())}
    is_numbered = has_row_numbering(mdp)
    is_small = cell_width < MIN_CELL
    bar = "" if is_small else glyphs.bar
    if is_numbered:
        numbers = (str(column).center(cell_width) for column in range(grid.num_columns))
        yield Text(" " * (margin + len(bar)) + (" " * len(bar)).join(numbers).rstrip(), style="dim")
    for row in range(grid.num_rows):
        if not is_small:
            yield _border(grid, glyphs.borders[0 if row == 0 else 1], cell_width, margin)
        for part in range(len(texts[0])):
            label = str(row * grid.num_columns) if is_numbered and part == 0 else ""
            line = Text.assemble((f"{label:>{margin - 1}} ", "dim"), bar)
            for column in range(grid.num_columns):
                state = state_at.get((row, column))
                if state is None:
                    line.append("#" * cell_width, style="dim")
                else:
                    line.append(texts[state][part], style=styles[state])
                line.append(bar)
            yield line
    if not is_small:
        yield _border(grid, glyphs.borders[2], cell_width, margin)


def _border(grid: Grid, characters: str, cell_width: int, margin: int) -> Text:
    """Return a line above, between or below the rows."""
    left, line, crossing, right = tuple(characters)
    return Text(" " * margin + left + crossing.join([line * cell_width] * grid.num_columns) + right)


def _cell_texts(sheet: _Sheet) -> list[list[str]]:
    """Return the lines of text of every cell, each `cell_width` long: [mark and kind], reward, optimal actions."""
    mdp, width = sheet.summary.mdp, sheet.cell_width
    is_marked = (mdp.initial > 0) & has_initial_marks(mdp)
    kinds = named_kinds(mdp)
    texts = []
    for state, actions in enumerate(_action_texts(sheet)):
        mark, reward = "*" if is_marked[state] else " ", float(sheet.summary.state_reward[state])
        if sheet.is_small:
            texts.append([("+" if reward > 0 else "-" if reward < 0 else "0") + actions[:1] + mark])
        elif kinds is None:
            texts.append([mark + signed_number(reward).center(width - 1), actions.center(width)])
        else:
            kind = kinds[state][: width - 2].center(width - 2)
            texts.append([f"{mark}{kind} ", signed_number(reward).center(width), actions.center(width)])
    return texts


def _action_texts(sheet: _Sheet) -> list[str]:
    """Return what stands for the optimal actions of every state: arrows, names, or that it ends or does not matter."""
    mdp, moves = sheet.summary.mdp, sheet.grid.moves
    is_any = states_without_preference(mdp, sheet.summary.optimal)
    texts = []
    for state in range(mdp.num_states):
        actions = np.flatnonzero(sheet.summary.optimal[state]).tolist()
        if mdp.terminal[state]:
            text = "#" if sheet.is_small else "end"
        elif is_any[state]:
            text = "any"
        elif moves is None:
            text = "/".join(mdp.action_name(action) for action in actions)
        else:
            text = "".join(_arrow(sheet, action) for action in actions)
        texts.append(text[: sheet.cell_width])
    return texts


def _arrow(sheet: _Sheet, action: int) -> str:
    row, column = np.sign(np.asarray(sheet.grid.moves)[action]).tolist()
    return sheet.glyphs.arrows[row, column]


def _legend(sheet: _Sheet, *, has_colour: bool) -> dict[str, str]:
    """Return what the marks of a drawing mean: all that occur, and no others."""
    mdp, grid = sheet.summary.mdp, sheet.grid
    colours = "; blue above 0, red below" if has_colour else ""
    if sheet.is_small:
        rows = {"+ - 0": f"sign of the reward{colours}; numbers need a wider terminal, --png or --json"}
    else:
        is_state_only = sheet.summary.reward.ndim == 1
        rows = {"+ -": f"reward{' of doing anything there' if is_state_only else ', averaged over actions'}{colours}"}
    rows |= _action_legend(sheet)
    if mdp.terminal.any():
        rows["#" if sheet.is_small else "end"] = "terminal cell: its reward is paid once, then the episode ends"
    if has_initial_marks(mdp):
        rows["*"] = "initial state"
    if grid.kinds is not None and not sheet.is_small:
        commonest = commonest_kind(grid.kinds)
        others = dict.fromkeys(kind for kind in grid.kinds if kind != commonest)
        rows["words"] = f"kind of cell ({', '.join(others)}); without a word: {commonest}"
    if mdp.num_states < grid.num_rows * grid.num_columns:
        rows["#" * sheet.cell_width] = "wall"
    if has_row_numbering(mdp):
        rows["numbers"] = "outside the grid: state = number at the left + number at the top"
    return rows


def _action_legend(sheet: _Sheet) -> dict[str, str]:
    """Return what arrows, the dot of staying and the word "any" mean, where they occur."""
    mdp, optimal = sheet.summary.mdp, sheet.summary.optimal
    is_any = states_without_preference(mdp, optimal)
    shown = np.flatnonzero(optimal[~mdp.terminal & ~is_any].any(axis=0)).tolist()
    which = "the first of those that are equally good" if sheet.is_small else "all that are equally good"
    rows: dict[str, str] = {}
    if sheet.grid.moves is None:
        rows |= {"names": f"optimal actions, {which}"} if shown else {}
    else:
        stay = sheet.glyphs.arrows[0, 0]
        arrows = dict.fromkeys(_arrow(sheet, action) for action in shown)
        if directed := [arrow for arrow in arrows if arrow != stay]:
            rows[" ".join(directed)] = f"optimal action, {which}"
        if stay in arrows:
            rows[stay] = "optimal action: stay"
    if is_any.any():
        rows["a" if sheet.is_small else "any"] = "all actions are equally good"
    return rows
