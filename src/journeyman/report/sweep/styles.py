"""How methods look in every figure of a sweep: a colour and a line of their own, and one legend for all panels.

Colours are those of Okabe and Ito and of Tol, which people with any colour vision tell apart; lines differ too.
"""

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from journeyman.extras import require
from journeyman.report.drawing.cells import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DASHED, DOTTED, DASH_DOTTED = (0, (5, 1.8)), (0, (1.2, 1.2)), (0, (5, 1.5, 1.2, 1.5))


class Style(NamedTuple):
    """Colour and line of a method."""

    colour: str
    line: Any


COLOURS = (
    *("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f", "#882255"),
    *("#332288", "#117733", "#aa4499", "#999933", "#661100", "#44aa99", "#cc6677", "#000000"),
)
LINES = ("-", DASHED, DASH_DOTTED, DOTTED)
LEGEND_COLUMNS = 7
CHARACTERS_PER_INCH = 11.5  # of titles, in letters of their size and usual width


def method_styles(methods: Sequence[str], own: Mapping[str, Style] | None = None) -> dict[str, Style]:
    """Return the style of each method: its own, or else the next of those whose colours nobody has."""
    styles = dict(own or {})
    taken = {style.colour for style in styles.values()}
    colours = [colour for colour in COLOURS if colour not in taken] or list(COLOURS)
    others = [name for name in methods if name not in styles]
    for number, name in enumerate(others):
        line = LINES[(number + number // len(colours)) % len(LINES)]
        styles[name] = Style(colours[number % len(colours)], line)
    return {name: styles[name] for name in methods}


def legend_rows(num_methods: int) -> int:
    """Return how many rows a legend of methods has."""
    return -(-num_methods // LEGEND_COLUMNS)


def method_legend(figure: "Figure", styles: dict[str, Style], labels: dict[str, str]) -> None:
    """Explain the lines of methods once, below all panels, in rows that are equally long."""
    line = require("matplotlib.lines", "plot").Line2D
    handles = [
        line([], [], color=style.colour, linestyle=style.line, linewidth=2.2, label=plain(labels.get(name, name)))
        for name, style in styles.items()
    ]
    figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=-(-len(handles) // legend_rows(len(handles))),
        fontsize=9,
        frameon=False,
        handlelength=3.0,
    )


def step_axis(ax: "Axes", last_step: int) -> None:
    """Label an axis of steps, from 0 to the last one."""
    ax.set_xlabel("step")
    ax.set_xlim(0, max(last_step, 1))
    ax.xaxis.set_major_locator(require("matplotlib.ticker", "plot").MaxNLocator(integer=True, nbins=6))
    ax.grid(alpha=0.25)


def say_nothing_known(ax: "Axes", text: str) -> None:
    """Write into an empty panel why it is empty."""
    ax.text(0.5, 0.5, plain(text), transform=ax.transAxes, ha="center", va="center", fontsize=9, color="0.4")


def wrapped_title(figure: "Figure", title: str) -> None:
    """Put a title above all panels, in as many lines as the width of the figure asks for."""
    width = int(CHARACTERS_PER_INCH * figure.get_figwidth())
    figure.suptitle("\n".join(textwrap.wrap(plain(title), width)), fontsize=11)
