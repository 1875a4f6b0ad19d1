"""What a figure of one group of results is about: title, methods, what they are measured by, and how they look.

Methods differ in their lines as well as in their colours.
"""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from journeyman.checks import one_of
from journeyman.errors import InputError
from journeyman.experiment.statistics.curves import ESTIMATES, entropy_column, normalised_regret
from journeyman.experiment.statistics.table import (
    CELL,
    Group,
    checked_methods,
    checked_table,
    groups,
    method_names,
    numbers,
    with_methods,
)
from journeyman.extras import require
from journeyman.report.drawing.cells import plain
from journeyman.report.drawing.palette import COLOURS
from journeyman.wording import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame

DASHED, DOTTED, DASH_DOTTED = (0, (5, 1.8)), (0, (1.2, 1.2)), (0, (5, 1.5, 1.2, 1.5))


class Style(NamedTuple):
    """Colour and line of a method."""

    colour: str
    line: Any


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


@dataclass(frozen=True)
class FigureOptions:
    """What the figures of a sweep show, the same for all of them.

    Parameters
    ----------
    methods
        Which to show; default: all.
    order
        Labels of methods in the order of legends, such as that of the sweep file; others follow by name.
    baseline
        Method that others are compared with; default, and in groups without it: the first in order.
    reference
        Methods whose mean regret is 1; default, and in groups without any: all. Where there are more methods than a
        panel can show, these come first, and the others in a figure of their own.
    entropy
        Columns of entropies (keys of `ESTIMATES`), the first that every cell has is shown; default: the least biased.
    has_bars
        Whether regret is drawn as bars over groups of steps, with shares of zero and small regret below the axis, else
        as curves.
    styles
        Colours and lines of methods; those without one get spare ones, in order.
    epsilon, delta
        Of the guarantee that the sweep asked for.
    """

    methods: Sequence[str] | None = None
    order: Sequence[str] = ()
    baseline: str | None = None
    reference: Sequence[str] | None = None
    entropy: Sequence[str] = tuple(ESTIMATES)
    has_bars: bool = False
    styles: Mapping[str, Style] = field(default_factory=dict)
    epsilon: float = 0.1
    delta: float = 0.1

    def check(self, table: "DataFrame") -> None:
        """Refuse methods that a table does not have."""
        checked_methods(table, self.methods)
        checked_methods(table, self.reference, "reference methods")
        checked_methods(table, None if self.baseline is None else [self.baseline], "the baseline")

    def ordered(self, methods: Sequence[str]) -> tuple[str, ...]:
        """Return methods in the order of legends."""
        known = [name for name in self.order if name in methods]
        return (*known, *sorted(set(methods).difference(known)))

    def baseline_among(self, methods: Sequence[str]) -> str:
        """Return the method of a group that the others are compared with."""
        own = self.baseline
        return own if own is not None and own in methods else self.ordered(methods)[0]

    def reference_among(self, methods: Sequence[str]) -> tuple[str, ...]:
        """Return the methods of a group that regret is normalised by."""
        return tuple(name for name in self.reference or () if name in methods) or tuple(methods)


DEFAULTS = FigureOptions()


class FigureData(NamedTuple):
    """Results of one group and the methods that a figure shows, in the order of its legend."""

    group: Group
    table: "DataFrame"
    methods: tuple[str, ...]
    styles: dict[str, Style]

    @property
    def title(self) -> str:
        """World, kind of query and inference method in words."""
        return f"{self.group.world}, {query_words(self.group.query)}, {self.group.inference}"

    @property
    def num_instances(self) -> dict[str, int]:
        """On how many instances each method was run."""
        cells = self.table[list(CELL)].drop_duplicates()
        return {method: int((cells["method"] == method).sum()) for method in self.methods}

    def num_known(self, column: str) -> int:
        """Return on how many instances some method has some value of a column."""
        return int(self.table.loc[self.table[column].notna(), "seed"].nunique())

    def num_infinite(self, column: str) -> int:
        """Return on how many instances some method has an infinite value of a column."""
        return int(self.table.loc[np.isinf(numbers(self.table, column)), "seed"].nunique())

    @property
    def last_step(self) -> int:
        """The last step of any cell."""
        return int(self.table["step"].max())

    def instances_words(self) -> str:
        """Return how many instances there are: "16 instances", "12 to 16 instances per method"."""
        low, high = min(self.num_instances.values()), max(self.num_instances.values())
        return counted(high, "instance") if low == high else f"{low} to {high} instances per method"

    def labels(self) -> dict[str, str]:
        """Return what a legend calls each method; with its number of instances where these differ."""
        counts = self.num_instances
        if len(set(counts.values())) == 1:
            return {name: name for name in self.methods}
        return {name: f"{name} (n = {counts[name]})" for name in self.methods}

    def entropy_column(self, options: FigureOptions) -> tuple[str | None, str]:
        """Return the column of entropies to show, and why there may be none: not looked for, or not in all cells."""
        is_empty = bool(self.table[list(ESTIMATES)].isna().all(axis=None))
        reason = "not measured" if is_empty else "the samples give no estimate"
        return entropy_column(self.table, options.entropy), reason

    def no_regret_words(self) -> str:
        """Return why there is no mean of normalised regret to show."""
        if self.table["true_regret"].isna().all():
            return "not measured"
        return "infinite for every method" if self.num_infinite("normalised_regret") else "no instance is complete yet"


def figure_data(table: "DataFrame", options: FigureOptions = DEFAULTS, *also: str) -> FigureData:
    """Return the part of a table that a figure shows, if it is of one group, with the column `normalised_regret`.

    Styles are given out among all methods of the table, so that figures of some of them agree with each other. `also`:
    methods to show beside those of the options.
    """
    table = checked_table(table)
    found = [group for group, _ in groups(table)]
    if len(found) > 1:
        names = "; ".join(", ".join(group) for group in found[:3])
        raise InputError(
            f"a figure must be of one world, kind of query and inference method, got {len(found)}: {names}. "
            "Choose the rows of one of them, or use sweep_figures for all."
        )
    present = method_names(table)
    chosen = options.ordered((*checked_methods(table, options.methods), *also))
    styles = method_styles(options.ordered(present), options.styles)
    table = table.assign(normalised_regret=normalised_regret(table, options.reference_among(present)))
    return FigureData(found[0], with_methods(table, chosen), chosen, {name: styles[name] for name in chosen})


def query_words(query: str) -> str:
    """Return a kind of query in words, from its label."""
    kind, _, length = query.partition("-")
    if kind == "trajectory":
        return f"trajectories of up to {length} steps" if length else "trajectories"
    return "single annotations" if query == "state" else query


def estimates(kind: str | None) -> tuple[str, ...]:
    """Return columns of entropies from the name of an estimate, such as "knn": that one first; None: as they are."""
    kinds = {name.removeprefix("entropy_"): name for name in ESTIMATES}
    if kind is None:
        return tuple(ESTIMATES)
    return (kinds[one_of(kind, kinds, "an estimate of entropy")], *ESTIMATES)
