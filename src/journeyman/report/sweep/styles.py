"""How methods look in every figure of a sweep: a colour and a line of their own, and one legend for all panels.

Colours are those of Okabe and Ito and of Tol, which people with any colour vision tell apart; lines differ too.
"""

import textwrap
from collections.abc import Sequence
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


STYLES = {
    "random": Style("#7f7f7f", DOTTED),
    "action entropy": Style("#e69f00", DASHED),
    "policy entropy": Style("#cc79a7", DASH_DOTTED),
    "ActiveVaR": Style("#009e73", DASHED),
    "Reward-EIG": Style("#0072b2", "-"),
    "PAC-EIG": Style("#56b4e9", DASH_DOTTED),
    "nuPAC-EIG": Style("#d55e00", "-"),
    "expected_regret": Style("#882255", DASHED),
    "regret_pac": Style("#000000", "-"),
    "optimal_action_value": Style("#332288", DASH_DOTTED),
    "nuPAC-EIG joint": Style("#117733", "-"),
    "PAC-EIG joint": Style("#aa4499", DASHED),
    "PAC-EIG (1/2, 1)": Style("#999933", DASH_DOTTED),
    "PAC-EIG joint (1/2, 1)": Style("#661100", DOTTED),
    "nuPAC-EIG (0, 1)": Style("#44aa99", DASHED),
    "nuPAC-EIG joint (0, 1)": Style("#cc6677", DASH_DOTTED),
}
SPARE = ("#6699cc", "#b8860b", "#8c6bb1", "#b15928", "#1b7837", "#dd3497")
LEGEND_COLUMNS = 7
CHARACTERS_PER_INCH = 11.5  # of titles, in letters of their size and usual width
SPARE_LINES = ("-", DASHED, DASH_DOTTED, DOTTED)


def ordered_methods(methods: Sequence[str]) -> tuple[str, ...]:
    """Return methods in the order of legends: those with a style of their own first, then the others by name."""
    known = [name for name in STYLES if name in methods]
    return (*known, *sorted(set(methods).difference(known)))


def method_styles(methods: Sequence[str]) -> dict[str, Style]:
    """Return the style of each method; those without one of their own get spare ones, by name."""
    styles = {}
    num_spare = 0
    for name in ordered_methods(methods):
        if name in STYLES:
            styles[name] = STYLES[name]
            continue
        line = SPARE_LINES[(num_spare + num_spare // len(SPARE)) % len(SPARE_LINES)]
        styles[name] = Style(SPARE[num_spare % len(SPARE)], line)
        num_spare += 1
    return styles


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


def new_figure(width: float, height: float, layout: str = "constrained") -> "Figure":
    """Return an empty figure of a size in inches; layout "compressed" suits panels of a fixed shape."""
    figure_class: Any = require("matplotlib.figure", "plot").Figure
    figure: Figure = figure_class(figsize=(width, height), layout=layout)
    return figure
