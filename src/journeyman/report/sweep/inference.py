"""Inference methods side by side: the same instances and acquisition functions, learned from by each of them."""

from typing import TYPE_CHECKING

import numpy as np

from journeyman.errors import InputError
from journeyman.experiment.statistics.curves import ESTIMATES, curves, entropy_column
from journeyman.experiment.statistics.table import INSTANCE, checked_methods, checked_table, numbers, with_methods
from journeyman.report.drawing.cells import new_figure, plain
from journeyman.report.drawing.palette import COLOURS
from journeyman.report.sweep.figure_data import (
    DASHED,
    DEFAULTS,
    DOTTED,
    FigureOptions,
    Style,
    method_legend,
    query_words,
    step_axis,
    wrapped_title,
)
from journeyman.wording import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame

STYLES = tuple(map(Style, COLOURS[:4], ("-", DASHED, DOTTED, "-")))


def common_to_inferences(table: "DataFrame") -> "DataFrame":
    """Return the rows, of one world and kind of query, with a method and seed that every inference method has met."""
    table = checked_table(table)
    keys = ["world", "query", "method", "seed"]
    num_here = table.groupby(keys, observed=True)["inference"].transform("nunique")
    return table[num_here == table["inference"].nunique()]


def inference_figure(table: "DataFrame", options: FigureOptions = DEFAULTS) -> "Figure":
    """Return how inference methods compare, a column of panels per acquisition function, on common instances only.

    The table has results of one world and kind of query, by at least two inference methods.
    """
    table = with_methods(checked_table(table), checked_methods(table, options.methods))
    _check_comparable(table)
    common = common_to_inferences(table)
    names = options.ordered(common["method"].unique().tolist())
    inferences = sorted(common["inference"].unique())
    styles = {name: STYLES[index % len(STYLES)] for index, name in enumerate(inferences)}
    column = entropy_column(common, options.entropy)
    rows = [("true_regret", "true regret"), ("failure_chance", f"P[regret > {options.epsilon:.4g}]")]
    if column is not None:
        rows.insert(0, (column, f"entropy in nats\n({ESTIMATES[column]})"))
    figure = new_figure(1.0 + 2.4 * max(len(names), 3), 1.0 + 1.9 * len(rows))
    axes = figure.subplots(len(rows), len(names), sharex=True, sharey="row", squeeze=False)
    for line, (metric, title) in zip(axes, rows, strict=True):
        for ax, method in zip(line, names, strict=True):
            _draw(ax, with_methods(common, [method]), metric, styles)
        line[0].set_ylabel(title, fontsize=9)
    for ax, method in zip(axes[0], names, strict=True):
        ax.set_title(plain(method), fontsize=10)
    for ax in axes[:-1].flat:
        ax.set_xlabel("")
    first = common.iloc[0]
    instances = counted(common[list(INSTANCE)].drop_duplicates()["seed"].nunique(), "instance")
    title = f"{first['world']}, {query_words(first['query'])}: inference methods on the same instances ({instances})"
    wrapped_title(figure, title)
    method_legend(figure, styles, {})
    return figure


def _check_comparable(table: "DataFrame") -> None:
    """Refuse a table of several worlds or kinds of query, or with nothing in common."""
    if table[["world", "query"]].drop_duplicates().shape[0] > 1:
        raise InputError(
            "a comparison of inference methods must be of one world and kind of query, got several. Choose one."
        )
    if table["inference"].nunique() < 2:
        raise InputError(
            f"a comparison of inference methods must have at least two, got {table['inference'].iloc[0]!r} alone. "
            "Run another one."
        )
    if common_to_inferences(table).empty:
        raise InputError(
            "inference methods must have met a common instance with a common method, got none. Run the same seeds."
        )


def _draw(ax: "Axes", table: "DataFrame", column: str, styles: dict[str, Style]) -> None:
    """Draw a column for each inference method: thin lines for instances, a thick one for their mean."""
    step_axis(ax, int(table["step"].max()))
    ax.tick_params(labelsize=8)
    found = curves(table, column)
    for inference, (colour, style) in styles.items():
        part = table[table["inference"] == inference]
        for _, one in part.groupby("seed", observed=True):
            ax.plot(one["step"], numbers(one, column), color=colour, linewidth=0.6, alpha=0.4)
        line = found[found["inference"] == inference]
        mean = np.where(np.isfinite(line["mean"]), line["mean"], np.nan)
        ax.plot(line["step"], mean, color=colour, linestyle=style, linewidth=1.8, zorder=3)
