"""How numbers per state become matplotlib objects: cells on a grid, bars without any order, marks and their legend."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from journeyman.extras import require
from journeyman.mdp import FiniteMDP, Grid
from journeyman.mdp.layouts import drawing_kind, layout_of, likely_moves
from journeyman.report.drawing.marks import describe_initial, has_initial_marks, has_row_numbering, named_kinds
from journeyman.types import AnyArray, BoolArray, FloatArray
from journeyman.wording import signed_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_NUMBERED_CELLS, MAX_MARKED_CELLS, MAX_BARS = 16, 50, 400  # in a row or column; bars in all
MAX_SIDE = 6.0  # inches of a graph beside another; wider ones go below each other
SMALL_SIDE, SMALL_PAIR_SIDE = 3.2, 2.6  # inches of a panel in a small picture, alone and beside another
SMALL_WIDTH, SMALL_HEIGHT = 6.2, 1.6  # of one that is wide
LEAST_FONT = 6.8  # points of text in a small picture: 9 pixels
LETTER = 0.58  # width of a letter, in font sizes
WALL, UNKNOWN = (0.35, 0.35, 0.35, 1.0), (0.85, 0.85, 0.85, 1.0)
NEVER = (0.97, 0.97, 0.94, 1.0)  # a place that is never met with what a panel remembers
TERMINAL: dict[str, Any] = {"fill": False, "hatch": "////", "linewidth": 1.2, "zorder": 2, "alpha": 0.6}
INITIAL: dict[str, Any] = {
    "linestyle": "none",
    "marker": "o",
    "markerfacecolor": "white",
    "markeredgecolor": "black",
    "zorder": 4,
}
STAY: dict[str, Any] = {"linestyle": "none", "marker": "o", "color": "black", "markersize": 4}
ARROW = np.array([(-1, 0), (0.5, 0), (0.5, -0.35), (1, 0), (0.5, 0.35), (0.5, 0)])  # outline of a marker
MOVE: dict[str, Any] = {"linestyle": "none", "marker": ARROW, "color": "black", "markersize": 11}
STAR: dict[str, Any] = {"linestyle": "none", "marker": "*", "color": "black", "markersize": 6}


def plain(text: str) -> str:
    """Return text that matplotlib takes as it is, not as a formula."""
    return text.replace("$", r"\$")


def has_marks(mdp: FiniteMDP) -> bool:
    """Whether a drawing of the MDP has room for marks and arrows."""
    return mdp.grid is None or max(mdp.grid.num_rows, mdp.grid.num_columns) <= MAX_MARKED_CELLS


def new_figure(width: float, height: float, layout: str = "constrained") -> "Figure":
    """Return an empty figure of a size in inches; layout "compressed" suits panels of a fixed shape."""
    figure: Figure = require("matplotlib.figure", "plot").Figure(figsize=(width, height), layout=layout)
    return figure


def lay_out(figure: "Figure") -> None:
    """Arrange the parts of a figure now, and for good: else matplotlib draws all of it once more to do so, per file."""
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
        figure.set_layout_engine(None)


def make_panels(mdp: FiniteMDP, num_panels: int = 1, *, is_small: bool = False) -> "tuple[Figure, list[Axes]]":
    """Return a figure of a size that suits grid, graph or number of bars, with axes beside or below each other.

    One that `is_small` has the size at which a notebook shows it, so that text keeps its size.
    """
    if drawing_kind(mdp) == "bars":
        width = min(max(7.0, 0.09 * mdp.num_states * (mdp.num_actions + 1)), 14.0)
        figure = new_figure(width, 1.0 + 3.2 * num_panels)
        return figure, list(figure.subplots(num_panels, 1, squeeze=False)[:, 0])
    width, height = _small_panel_size(mdp, num_panels) if is_small else _panel_size(mdp)
    is_below = width > SMALL_PAIR_SIDE if is_small else is_stacked(mdp)
    num_rows, num_columns = (num_panels, 1) if is_below else (1, num_panels)
    layout = "compressed" if mdp.grid is None else "constrained"
    figure = new_figure(num_columns * (width + 1.4), num_rows * (height + 0.5) + 0.9, layout)
    return figure, list(figure.subplots(num_rows, num_columns, squeeze=False).flat)


def is_stacked(mdp: FiniteMDP) -> bool:
    """Whether pictures of an MDP go below each other, because they are wide: bars, and large graphs."""
    return mdp.grid is None and (drawing_kind(mdp) == "bars" or _panel_size(mdp)[0] > MAX_SIDE)


def _panel_size(mdp: FiniteMDP) -> tuple[float, float]:
    """Return width and height of a grid or graph, in inches."""
    columns, rows = _extent(mdp)
    cell = min(8.5 / columns, 17.0 / rows, 1.0) if mdp.grid is None else min(8.0 / max(columns, rows), 0.85)
    if mdp.memory is not None and len(mdp.memory.panels.labels) > 1:
        cell = min(max(14.0 / columns, 0.2), 17.0 / rows, 0.85)  # panels need more room than one picture
    return max(cell * columns, 3.5), max(cell * rows, 2.0)


def _small_panel_size(mdp: FiniteMDP, num_panels: int) -> tuple[float, float]:
    """Return width and height of a grid or graph in a small picture, in inches."""
    columns, rows = _extent(mdp)
    side = SMALL_SIDE if num_panels == 1 else SMALL_PAIR_SIDE
    width, height = (SMALL_WIDTH, SMALL_HEIGHT) if columns > 1.6 * rows else (side, side)
    cell = min(width / columns, height / rows, 1.0)
    return max(cell * columns, side), max(cell * rows, 1.0)


def _extent(mdp: FiniteMDP) -> tuple[float, float]:
    """Return how many cells or nodes a grid or graph has room for beside and below each other."""
    return layout_of(mdp).extent if mdp.grid is None else (float(mdp.grid.num_columns), float(mdp.grid.num_rows))


def points_per_cell(ax: "Axes", columns: float, rows: float) -> float:
    """Return how many points cells or nodes lie apart on these axes, about: the figure is not laid out yet."""
    box, scale = ax.get_window_extent(), 72.0 / ax.figure.dpi
    return float(scale * min(0.9 * box.width / columns, 0.95 * box.height / rows))


def colour_scale(values: FloatArray, is_diverging: bool, limit: float | None) -> Any:
    """Return matplotlib's map from numbers to colours: symmetric around 0 if diverging, else from 0 or below."""
    finite = values[np.isfinite(values)]
    largest = float(np.abs(finite).max(initial=0.0)) if limit is None else float(limit)
    lowest = -largest if is_diverging else min(0.0, float(finite.min(initial=0.0)))
    if not lowest < largest:
        lowest, largest = (-1.0, 1.0) if is_diverging else (0.0, 1.0)
    norm = require("matplotlib.colors", "plot").Normalize(lowest, largest)
    return require("matplotlib.cm", "plot").ScalarMappable(norm, "RdBu" if is_diverging else "Purples")


def draw_cells(
    ax: "Axes",
    mdp: FiniteMDP,
    grid: Grid,
    values: FloatArray,
    scale: Any,
    *,
    is_signed: bool,
    optimal: BoolArray | None,
    least_font: float | None = None,
) -> None:
    """Draw one coloured cell per state, with number, kind, marks and arrows as far as there is room.

    With a `least_font`, in points, text that would have to be smaller is left out.
    """
    is_known = np.isfinite(values)
    colours = np.where(is_known[:, None], scale.to_rgba(np.where(is_known, values, 0.0)), UNKNOWN)
    picture = _ground(mdp, grid)
    picture[grid.places[:, 0], grid.places[:, 1]] = colours
    ax.imshow(picture, interpolation="nearest")
    for title, row, column in _titles(mdp):
        ax.text(column - 0.5, row - 0.6, plain(title), ha="left", va="bottom", fontsize=10, fontweight="bold")
    room = points_per_cell(ax, grid.num_columns, grid.num_rows)
    _label_axes(ax, mdp, grid, None if least_font is None else room)
    if not has_marks(mdp):
        return
    longest = max(grid.num_rows, grid.num_columns)
    size = 5.0 * min(1.0, 12 / longest)  # of marks, in points
    inks = np.where(colours[:, :3] @ [0.299, 0.587, 0.114] < 0.5, "white", "black")
    _mark_cells(ax, mdp, grid, inks, size)
    if optimal is not None and grid.moves is not None:
        _draw_arrows(ax, mdp, grid, optimal, inks, size)
    texts = [signed_number(float(value)) for value in values]
    texts = texts if is_signed else [text.lstrip("+") for text in texts]
    kinds = named_kinds(mdp) or [""] * mdp.num_states
    font_size = 7.5 * min(1.0, 10 / longest)
    if least_font is not None:
        font_size = min(7.5, 0.95 * room / (LETTER * max(map(len, texts))))
        has_kinds = max(LETTER * max(map(len, kinds)), 2.4) * font_size <= room
        kinds = kinds if has_kinds else [""] * mdp.num_states
    if longest <= MAX_NUMBERED_CELLS if least_font is None else font_size >= least_font:
        _write_cells(ax, mdp, grid, texts, kinds, colours, inks, font_size)


def _ground(mdp: FiniteMDP, grid: Grid) -> FloatArray:
    """Return what a grid looks like without its states `[rows, columns, 4]`: walls, and in panels what is never met."""
    if mdp.memory is None or len(mdp.memory.panels.labels) == 1:
        return np.tile(np.array(WALL), (grid.num_rows, grid.num_columns, 1))
    picture, world = np.ones((grid.num_rows, grid.num_columns, 4)), mdp.memory.panels.world.grid
    assert world is not None  # the grid is made of it
    own = np.tile(np.array(WALL), (world.num_rows, world.num_columns, 1))
    own[world.places[:, 0], world.places[:, 1]] = NEVER
    for row, column in mdp.memory.panels.corners().tolist():
        picture[row : row + world.num_rows, column : column + world.num_columns] = own
    return picture


def _titles(mdp: FiniteMDP) -> list[tuple[str, int, int]]:
    """Return what is remembered in each panel of a grid, and the row and column where it begins."""
    if mdp.memory is None:
        return []
    panels = mdp.memory.panels
    places = zip(panels.labels, panels.corners().tolist(), strict=True)
    return [(label, row, column) for label, (row, column) in places if label]


def _has_gaps(mdp: FiniteMDP) -> bool:
    """Return whether some place of the world is never met in some panel."""
    if mdp.memory is None:
        return False
    panels = mdp.memory.panels
    return len(panels.labels) * panels.world.num_states > mdp.num_states


def _label_axes(ax: "Axes", mdp: FiniteMDP, grid: Grid, room: float | None) -> None:
    """Put numbers at rows and columns that add up to the number of the state, and thin lines between cells.

    In a small picture, cells have `room`, in points.
    """
    ax.set_xticks([])
    ax.set_yticks([])
    ax.tick_params(length=0)
    if has_row_numbering(mdp):
        every = 1 + max(grid.num_rows, grid.num_columns) // 20
        if room is not None:
            every = max(every, int(np.ceil(16.0 / room)))
            ax.tick_params(labelsize=8)
        columns, rows = np.arange(0, grid.num_columns, every), np.arange(0, grid.num_rows, every)
        ax.set_xticks(columns, [str(column) for column in columns])
        ax.set_yticks(rows, [str(row * grid.num_columns) for row in rows])
        ax.set_xlabel("state = number at the left + number below", fontsize=None if room is None else 8)
    if mdp.memory is not None:
        for spine in ax.spines.values():
            spine.set_visible(False)
    if has_marks(mdp):
        for row, column, height, width in _blocks(mdp, grid):
            ends = column - 0.5, column + width - 0.5, row - 0.5, row + height - 0.5
            ax.vlines(np.arange(width + 1) + ends[0], *ends[2:], colors="0.6", linewidths=0.5)
            ax.hlines(np.arange(height + 1) + ends[2], *ends[:2], colors="0.6", linewidths=0.5)


def _blocks(mdp: FiniteMDP, grid: Grid) -> list[tuple[int, int, int, int]]:
    """Return first row and column, height and width of each panel of a grid; the grid itself without a memory."""
    if mdp.memory is None:
        return [(0, 0, grid.num_rows, grid.num_columns)]
    world = mdp.memory.panels.world.grid
    assert world is not None  # the grid is made of it
    return [(row, column, world.num_rows, world.num_columns) for row, column in mdp.memory.panels.corners().tolist()]


def _mark_cells(ax: "Axes", mdp: FiniteMDP, grid: Grid, inks: AnyArray, size: float) -> None:
    """Hatch terminal cells and put a ring into initial ones."""
    rectangle = require("matplotlib.patches", "plot").Rectangle
    for (row, column), ink in zip(grid.places[mdp.terminal], inks[mdp.terminal], strict=True):
        edge = "0.75" if ink == "white" else "0.25"
        ax.add_patch(rectangle((column - 0.5, row - 0.5), 1, 1, edgecolor=edge, **TERMINAL))
    if has_initial_marks(mdp):
        initial = grid.places[mdp.initial > 0]
        ax.plot(initial[:, 1] - 0.36, initial[:, 0] - 0.36, markersize=size, **INITIAL)


def _draw_arrows(ax: "Axes", mdp: FiniteMDP, grid: Grid, optimal: BoolArray, inks: AnyArray, size: float) -> None:
    """Draw an arrow for every optimal action that moves, a dot for one that stays."""
    states, actions = np.nonzero(optimal & ~mdp.terminal[:, None])
    moves = np.sign(np.asarray(grid.moves)[actions])
    is_alone = np.bincount(states, minlength=mdp.num_states)[states] == 1
    begin = np.where(is_alone, -0.13, 0.03)[:, None] * moves  # a single arrow is centred, several share their origin
    y, x = grid.places[states].T
    is_move = moves.any(axis=1)
    ax.scatter(x[~is_move], y[~is_move], s=(0.8 * size) ** 2, c=inks[states[~is_move]].tolist(), zorder=4)
    ax.quiver(
        (x + begin[:, 1])[is_move],
        (y + begin[:, 0])[is_move],
        0.25 * moves[is_move, 1],
        0.25 * moves[is_move, 0],
        color=inks[states[is_move]].tolist(),
        angles="xy",
        scale_units="xy",
        scale=1,
        units="xy",
        width=0.04,
        headwidth=4,
        headlength=4,
        headaxislength=3.5,
        zorder=4,
    )


def _write_cells(
    ax: "Axes",
    mdp: FiniteMDP,
    grid: Grid,
    texts: list[str],
    kinds: Sequence[str],
    colours: FloatArray,
    inks: AnyArray,
    font_size: float,
) -> None:
    """Write number and kind into every cell; in terminal cells on plain ground, for the hatching would hide them."""
    for state, (row, column) in enumerate(grid.places.tolist()):
        style: dict[str, Any] = {"color": inks[state], "ha": "center", "fontsize": font_size, "zorder": 5}
        if mdp.terminal[state]:
            style["bbox"] = {"facecolor": colours[state], "edgecolor": "none", "pad": 1.5}
            ax.text(column, row, texts[state], va="center", **style)
        else:
            ax.text(column, row + 0.44, texts[state], va="bottom", **style)
        if kinds[state]:
            ax.text(column + 0.05, row - 0.42, plain(kinds[state]), va="top", style="italic", **style)


def hide_unknown(ax: "Axes") -> None:
    """Take off the sign for what is not known, where nobody asks or chooses; names of nodes stay."""
    for text in ax.texts:
        shown = text.get_text()
        text.set_text("" if shown == "?" else shown.removesuffix("\n?"))


def draw_bars(ax: "Axes", mdp: FiniteMDP, values: FloatArray, optimal: BoolArray | None) -> None:
    """Draw a bar per state, or per state and action with a colour per action; lines where bars are too many."""
    table = np.where(np.isfinite(values), values, np.nan).reshape(mdp.num_states, -1)
    states, num_bars = np.arange(mdp.num_states), table.shape[1]
    gap = 0.03 * float(np.abs(values[np.isfinite(values)]).max(initial=0.0))
    for index, heights in enumerate(table.T):
        label = f"action {plain(mdp.action_name(index))}" if values.ndim == 2 else None
        if table.size > MAX_BARS:
            ax.plot(states, heights, linewidth=0.8, label=label)
            continue
        x = states + (index - (num_bars - 1) / 2) * 0.8 / num_bars
        ax.bar(x, heights, 0.8 / num_bars, label=label)
        if optimal is not None and values.ndim == 2:
            is_best = optimal[:, index] & ~mdp.terminal
            ax.plot(x[is_best], np.maximum(heights, 0.0)[is_best] + gap, **STAR)
    ax.axhline(0.0, color="black", linewidth=0.8)
    if mdp.num_states <= 20:
        ax.set_xticks(states, [plain(mdp.state_name(state)) for state in states.tolist()])
    ax.set_xlim(-0.6, mdp.num_states - 0.4)
    ax.set_xlabel("state")
    if values.ndim == 2:
        ax.legend(fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))


def add_legend(
    figure: "Figure",
    mdp: FiniteMDP,
    optimal: BoolArray | None,
    *,
    arrow: str = "optimal action (several: equally good)",
    stay: str | None = None,
) -> None:
    """Explain the marks that occur, below the picture: what arrows and dots mean, and which cells are special.

    `stay` says what dots mean; default: the names of the actions that do not move.
    """
    line = require("matplotlib.lines", "plot").Line2D
    rectangle = require("matplotlib.patches", "plot").Rectangle
    kind, handles = drawing_kind(mdp), []
    if kind == "bars":
        if optimal is not None and optimal.size <= MAX_BARS:
            handles.append(line([], [], label="optimal action", **STAR))
    elif has_marks(mdp):
        if optimal is not None:
            can_move, can_stay = _moves_and_stays(mdp, optimal)
            if can_move:
                handles.append(line([], [], label=arrow, **MOVE))
            if can_stay:
                handles.append(line([], [], label=stay or f"optimal action: {_staying(mdp)}", **STAY))
        if mdp.terminal.any():
            word = "terminal cell" if kind == "grid" else "terminal state"
            handles.append(rectangle((0, 0), 1, 1, label=word, edgecolor="0.25", **TERMINAL))
        if kind == "grid" and _has_gaps(mdp):
            style = {"facecolor": NEVER, "edgecolor": "0.6"}
            handles.append(rectangle((0, 0), 1, 1, label="never met with that memory", **style))
        if has_initial_marks(mdp):
            handles.append(line([], [], label="initial state", markersize=5, **INITIAL))
        else:
            handles.append(line([], [], linestyle="none", label=f"initial: {plain(describe_initial(mdp))}"))
    if handles:
        half = -(-len(handles) // 2)  # of them in the first of two columns
        letters = [
            max((len(str(item.get_label())) for item in part), default=0) for part in (handles[:half], handles[half:])
        ]
        has_room = 8.0 * (0.52 * sum(letters) + 8.0) <= 72.0 * figure.get_figwidth()
        ncols = 2 if has_room else 1
        figure.legend(handles=handles, loc="outside lower center", ncols=ncols, fontsize=8, frameon=False)


def _staying(mdp: FiniteMDP) -> str:
    """Return the names of the actions that do not move on the grid, or "stay"."""
    moves = None if mdp.grid is None or mdp.action_labels is None else mdp.grid.moves
    still = [] if moves is None else np.flatnonzero(~moves.any(axis=1)).tolist()
    return " or ".join(plain(mdp.action_name(action)) for action in still) or "stay"


def _moves_and_stays(mdp: FiniteMDP, optimal: BoolArray) -> tuple[bool, bool]:
    """Return whether arrows, and whether dots for staying, are drawn."""
    if mdp.grid is None:
        pairs = likely_moves(mdp, optimal)
        return bool((pairs[:, 0] != pairs[:, 1]).any()), bool((pairs[:, 0] == pairs[:, 1]).any())
    if mdp.grid.moves is None:
        return False, False
    return True, bool(optimal[~mdp.terminal][:, ~mdp.grid.moves.any(axis=1)].any())
