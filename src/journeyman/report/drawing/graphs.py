"""Numbers per state on a graph: coloured nodes with names, numbers and marks, joined by lines, policies as arrows."""

from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from journeyman.extras import require
from journeyman.mdp import FiniteMDP
from journeyman.mdp.layouts import Layout, layout_of, likely_moves
from journeyman.report.drawing.cells import INITIAL, LETTER, TERMINAL, UNKNOWN, plain, points_per_cell
from journeyman.report.drawing.marks import has_initial_marks
from journeyman.types import AnyArray, BoolArray, FloatArray
from journeyman.wording import signed_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RADIUS = 0.36  # of a node, where neighbours are 1 apart
SMALLEST_FONT, LARGEST_FONT = 4.6, 9.0
MAX_ARROW = 1.1  # length
MAX_CHEVRONS = 200  # one-way links that get a sign of their direction
ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"
LINK, ARROW_COLOUR = "0.62", "#16324f"


def points_per_unit(ax: "Axes", layout: Layout) -> float:
    """Return how many points neighbours lie apart on these axes, about: the figure is not laid out yet."""
    return points_per_cell(ax, *layout.extent)


def draw_nodes(
    ax: "Axes",
    mdp: FiniteMDP,
    values: FloatArray,
    scale: Any,
    *,
    is_signed: bool,
    optimal: BoolArray | None,
    certainty: FloatArray | None = None,
    has_names: bool = True,
    least_font: float = SMALLEST_FONT,
) -> None:
    """Draw one coloured node per state, with name, number, marks and arrows as far as there is room.

    Parameters
    ----------
    certainty
        `[S]` in 0..1: the surer, the stronger a state's arrows are; default: all are sure.
    has_names
        Whether names of states are written too.
    least_font
        In points: names are cut, and text is left out, rather than smaller.
    """
    layout = layout_of(mdp)
    is_known = np.isfinite(values)
    colours = np.where(is_known[:, None], scale.to_rgba(np.where(is_known, values, 0.0)), UNKNOWN)
    inks = np.where(colours[:, :3] @ [0.299, 0.587, 0.114] < 0.5, "white", "black")
    unit = points_per_unit(ax, layout)
    _frame(ax, layout)
    _draw_links(ax, layout, unit)
    _draw_circles(ax, mdp, layout, colours, inks, unit)
    if optimal is not None:
        sure = np.ones(mdp.num_states) if certainty is None else np.nan_to_num(certainty, nan=1.0)
        _draw_arrows(ax, mdp, layout, optimal, sure, inks, unit)
    texts = [signed_number(float(value)) for value in values]
    texts = texts if is_signed else [text.lstrip("+") for text in texts]
    names = layout.names if has_names else ("",) * mdp.num_states
    has_numbers = _has_numbers(texts, unit, least_font)
    if has_numbers and least_font > SMALLEST_FONT:  # a small picture, in which names go before numbers
        fitted = [_fitted(*both, 2.0 * RADIUS * unit, least_font)[0] for both in zip(names, texts, strict=False)]
        has_numbers = not any(ELLIPSIS in text for text in fitted)
    _write_nodes(ax, mdp, layout, names, texts if has_numbers else None, colours, inks, unit, least_font)
    if has_names and not has_numbers:
        _write_extremes(ax, mdp, layout, texts, values)


def _frame(ax: "Axes", layout: Layout) -> None:
    """Give the axes the size of the drawing, with equal scales and no ticks."""
    low, high = layout.places.min(axis=0) - 0.6, layout.places.max(axis=0) + 0.6
    high[1] += 0.5 * bool(layout.panels)  # room for the titles of the first panels
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal", xticks=[], yticks=[])
    for spine in ax.spines.values():
        spine.set_visible(False)


def _draw_links(ax: "Axes", layout: Layout, unit: float) -> None:
    """Draw a thin line per link, below the nodes; one-way links have a chevron in the middle."""
    lines = require("matplotlib.collections", "plot").LineCollection
    links = layout.links
    is_dense = len(links.pairs) > 3 * len(layout.places)
    width = float(np.clip(unit / 22.0, 0.5, 1.8))
    ends = layout.places[links.pairs]
    ax.add_collection(lines(ends, colors=LINK, linewidths=width, alpha=0.4 if is_dense else 1.0, zorder=1))
    one_way = ends[links.is_one_way]
    if 0 < len(one_way) <= MAX_CHEVRONS * len(layout.numbers):
        middle, step = one_way.mean(axis=1), one_way[:, 1] - one_way[:, 0]
        step = 0.1 * step / np.linalg.norm(step, axis=1, keepdims=True)
        side = step[:, ::-1] * [-1.0, 1.0]
        corners = [middle - 0.5 * step + 0.7 * side, middle + 0.5 * step, middle - 0.5 * step - 0.7 * side]
        ax.add_collection(lines(np.stack(corners, axis=1), colors=LINK, linewidths=min(width, 1.0), zorder=1))


def _draw_circles(ax: "Axes", mdp: FiniteMDP, layout: Layout, colours: FloatArray, inks: AnyArray, unit: float) -> None:
    """Draw the nodes; terminal ones are hatched, initial ones have a ring."""
    circles = require("matplotlib.collections", "plot").EllipseCollection
    size = 2.0 * RADIUS

    def add(which: AnyArray, **style: Any) -> None:
        count = len(which)
        ax.add_collection(
            circles(
                [size] * count, [size] * count, [0.0] * count, units="xy", offsets=layout.places[which],
                offset_transform=ax.transData, **style,
            )
        )  # fmt: skip

    add(np.arange(mdp.num_states), facecolors=colours, edgecolors="0.35", linewidths=min(0.8, unit / 40.0), zorder=2)
    for ink, edge in (("white", "0.75"), ("black", "0.25")):
        which = np.flatnonzero(mdp.terminal & (inks == ink))
        if which.size:
            hatch = {key: TERMINAL[key] for key in ("hatch", "alpha")}
            add(which, facecolors="none", edgecolors=edge, linewidths=1.2, zorder=2.5, **hatch)
    if has_initial_marks(mdp):
        x, y = (layout.places[np.flatnonzero(mdp.initial > 0)] + RADIUS * np.array([-0.9, 0.9])).T
        ax.plot(x, y, markersize=float(np.clip(unit / 7.0, 2.0, 6.0)), **INITIAL)


def _draw_arrows(
    ax: "Axes", mdp: FiniteMDP, layout: Layout, optimal: BoolArray, sure: FloatArray, inks: AnyArray, unit: float
) -> None:
    """Draw an arrow to where each chosen action most likely leads, a dot at the node where that is no other state."""
    pairs = likely_moves(mdp, optimal)
    colour = np.array(require("matplotlib.colors", "plot").to_rgba(ARROW_COLOUR))
    colours = np.tile(colour, (len(pairs), 1))
    colours[:, 3] = 0.15 + 0.85 * np.clip(sure[pairs[:, 0]], 0.0, 1.0) ** 1.5
    begin, end = layout.places[pairs[:, 0]], layout.places[pairs[:, 1]]
    is_move = np.abs(end - begin).max(axis=1) > 1e-9
    known = set(map(tuple, pairs.tolist()))
    is_met = np.array([(second, first) in known for first, second in pairs.tolist()], dtype=bool)[is_move]
    x, y = (begin[~is_move] + RADIUS * np.array([0.72, -0.72])).T
    size = float(np.clip(unit / 9.0, 2.0, 5.0))
    ax.scatter(x, y, s=size**2, c=colours[~is_move], edgecolors="white", linewidths=0.4, zorder=4)
    if not is_move.any():
        return
    start, step = begin[is_move], (end - begin)[is_move]
    far = np.linalg.norm(step, axis=1, keepdims=True)
    gap = np.maximum(far - 2.0 * RADIUS, 0.3)
    length = np.minimum(gap, MAX_ARROW)
    way = step / far
    aside = 0.12 * way[:, ::-1] * [1.0, -1.0] * is_met[:, None]  # arrows that meet pass each other
    tail = start + RADIUS * way + aside
    x, y = tail.T
    u, v = (length * way).T
    ax.quiver(
        x, y, u, v, color=colours[is_move], angles="xy", scale_units="xy", scale=1, units="xy",
        width=min(0.07, 2.4 / unit), headwidth=3.2, headlength=3.0, headaxislength=2.7, minlength=0.0, minshaft=1.0,
        zorder=1.5,
    )  # fmt: skip


def _write_nodes(
    ax: "Axes",
    mdp: FiniteMDP,
    layout: Layout,
    names: tuple[str, ...],
    texts: list[str] | None,
    colours: FloatArray,
    inks: AnyArray,
    unit: float,
    least_font: float,
) -> None:
    """Write name and number into nodes; for want of room the name alone, or nothing; and what each copy stands for."""
    room = 2.0 * RADIUS * unit
    if texts is not None or 0.5 * room >= SMALLEST_FONT:
        for state, (x, y) in enumerate(layout.places[: mdp.num_states].tolist()):
            shown, font = _fitted(names[state], "" if texts is None else texts[state], room, least_font)
            if font < 0.95 * least_font:
                continue
            style: dict[str, Any] = {"ha": "center", "va": "center", "zorder": 5, "linespacing": 1.05}
            if mdp.terminal[state]:
                style["bbox"] = {"facecolor": colours[state], "edgecolor": "none", "pad": 0.5}
            ax.text(x, y, plain(shown), color=inks[state], fontsize=font, **style)
    for title, x, y in layout.panels:
        ax.text(x, y, plain(title), ha="left", va="bottom", fontsize=10, fontweight="bold")


def _has_numbers(texts: list[str], unit: float, least_font: float) -> bool:
    """Whether nodes have room for these texts below a name."""
    room = 2.0 * RADIUS * unit  # points
    return min(0.86 * room / (LETTER * max(map(len, texts))), 0.36 * room) >= least_font


def _fitted(name: str, number: str, room: float, least_font: float) -> tuple[str, float]:
    """Return the text of a node and its font size: the name in one line or two (or cut) and the number."""
    letters = 0.88 * room / (LETTER * least_font)
    splits = [[name], *([name[:i], name[i + 1 :]] for i, letter in enumerate(name) if letter == " ")]
    found = []
    for lines in splits:
        shown = [text for text in (*(_shortened(line, letters) for line in lines), number) if text] or [""]
        font = min(0.86 * room / (LETTER * max(1, *map(len, shown))), 0.75 * room / len(shown), LARGEST_FONT)
        found.append((font, "\n".join(shown)))
    font, shown_text = max(found, key=lambda item: (item[0], -item[1].count("\n")))
    return shown_text, font


def _shortened(name: str, num_letters: float) -> str:
    """Return a name that has at most so many letters."""
    room = max(int(num_letters), 2)
    return name if len(name) <= room else f"{name[: room - 1]}{ELLIPSIS}"


def _write_extremes(ax: "Axes", mdp: FiniteMDP, layout: Layout, texts: list[str], values: FloatArray) -> None:
    """Write name and number of the largest and the smallest value beside their nodes."""
    finite = np.flatnonzero(np.isfinite(values))
    if not len(finite) or np.ptp(values[finite]) == 0.0:
        return
    middle = layout.places.mean(axis=0)
    for state in (int(finite[values[finite].argmax()]), int(finite[values[finite].argmin()])):
        x, y = layout.places[state]
        is_right, is_up = x > middle[0], y > middle[1]
        ax.annotate(
            plain("\n".join([*wrap(mdp.state_name(state), 24), texts[state]])), (x, y),
            xytext=(-14 if is_right else 14, -12 if is_up else 12), textcoords="offset points", fontsize=7.5,
            ha="right" if is_right else "left", va="top" if is_up else "bottom", zorder=7,
            bbox={"boxstyle": "round,pad=0.25", "facecolor": "white", "edgecolor": "0.5", "alpha": 0.9},
            arrowprops={"arrowstyle": "-", "color": "0.3", "linewidth": 0.8},
        )  # fmt: skip
