"""Methods against a baseline on the same instances: mean differences with their intervals, as a forest plot."""

from typing import TYPE_CHECKING, Any

import numpy as np

from journeyman.errors import InputError
from journeyman.experiment.statistics.paired import paired_differences
from journeyman.experiment.statistics.table import method_names
from journeyman.extras import require
from journeyman.report.drawing.cells import new_figure, plain
from journeyman.report.sweep.figure_data import DEFAULTS, FigureData, FigureOptions, figure_data, say_nothing_known
from journeyman.wording import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame

SIGNIFICANCE = 0.05
MAX_INTERVALS = 4  # between ticks: numbers with three decimals have room


def pairs_figure(table: "DataFrame", options: FigureOptions = DEFAULTS) -> "Figure":
    """Return mean differences to the baseline, averaged over steps: of entropy, normalised regret, and failure chance.

    The table is one group of results.
    """
    baseline = options.baseline_among(method_names(table))
    shown = figure_data(table, options, baseline)
    if len(shown.methods) < 2:
        raise InputError(
            f"a comparison needs at least one method beside the baseline {baseline!r}, got none. Run more methods."
        )
    figure = new_figure(13.0, 1.9 + 0.36 * (len(shown.methods) - 1))
    axes = figure.subplots(1, 3, sharey=True)
    column, reason = shown.entropy_column(options)
    _draw_column(axes[0], shown, column or reason, baseline, "posterior entropy (nats)")
    _draw_column(axes[1], shown, "normalised_regret", baseline, "normalised true regret")
    _draw_column(axes[2], shown, "failure_chance", baseline, f"P[regret > {options.epsilon:.4g}]")
    others = [name for name in shown.methods if name != baseline]
    axes[0].set_yticks(range(len(others)), [plain(name) for name in others])
    axes[0].set_ylim(len(others) - 0.4, -0.6)
    span = f"averaged over steps 1 to {shown.last_step}" if shown.last_step > 1 else "at step 1"
    figure.suptitle(plain(f"{shown.title}: difference to {baseline} on the same instances, {span}"), fontsize=11)
    _explain(figure)
    return figure


def _draw_column(ax: "Axes", shown: FigureData, column: str, baseline: str, title: str) -> None:
    """Draw the differences of one column, a row per method; without such a column, `column` says why there is none."""
    ax.set_title(title, fontsize=10)
    ax.tick_params(axis="y", length=0)
    ax.axvline(0.0, color="black", linewidth=0.8)
    ax.grid(axis="x", alpha=0.25)
    ax.set_xlabel("difference (left: better than the baseline)", fontsize=8.5)
    if column not in shown.table:
        ax.set_xticks([])
        say_nothing_known(ax, column)
        return
    found = paired_differences(shown.table, column, baseline, steps=(), average_to=shown.last_step).set_index("method")
    ax.set_title(f"{title}{_infinite_words(found)}", fontsize=10)
    others = [name for name in shown.methods if name != baseline]
    for row, method in enumerate(others):
        if method not in found.index or found.loc[method, "n"] == 0:
            is_infinite = method in found.index and found.loc[method, "num_infinite"] > 0
            words = "infinite on every common instance" if is_infinite else "no common instance"
            ax.annotate(words, (0.5, row), xycoords=("axes fraction", "data"), ha="center", fontsize=8, color="0.5")
            continue
        _draw_row(ax, row, found.loc[method], shown.styles[method].colour)
    ax.use_sticky_edges = False
    ax.margins(x=0.08)
    ax.xaxis.set_major_locator(require("matplotlib.ticker", "plot").MaxNLocator(MAX_INTERVALS))


def _infinite_words(found: "DataFrame") -> str:
    """Return how many instances were left out because a value is infinite, as a line below a title; "" if none."""
    fewest, most = int(found["num_infinite"].min()), int(found["num_infinite"].max())
    if most == 0:
        return ""
    left_out = counted(most, "instance") if fewest == most else f"{fewest} to {most} instances per method"
    return f"\nleft out because it is infinite: {left_out}"


def _draw_row(ax: "Axes", row: int, found: Any, colour: str) -> None:
    """Draw one difference: a filled dot where the corrected p-value is below 5 %, and both intervals."""
    if not np.isnan(found["bootstrap_low"]):
        width = found["bootstrap_high"] - found["bootstrap_low"]
        ax.barh(row, width, 0.46, found["bootstrap_low"], color=colour, alpha=0.22, linewidth=0)
    if not np.isnan(found["student_low"]):
        ax.hlines(row, found["student_low"], found["student_high"], color=colour, linewidth=2)
    face = colour if found["p_holm"] < SIGNIFICANCE else "white"
    ax.plot(found["difference"], row, "o", markersize=6.5, markerfacecolor=face, markeredgecolor=colour, zorder=4)
    score = f"{found['wins']:.0f}-{found['ties']:.0f}-{found['losses']:.0f}"
    ax.annotate(
        score,
        (1.0, row),
        xytext=(4, 0),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        va="center",
        fontsize=8,
        color="0.25",
    )


def _explain(figure: "Figure") -> None:
    """Explain dots, lines and numbers below the panels."""
    line = require("matplotlib.lines", "plot").Line2D
    patch = require("matplotlib.patches", "plot").Patch
    dot = {"linestyle": "none", "marker": "o", "markersize": 6.5, "markeredgecolor": "0.3"}
    handles = [
        line([], [], color="0.3", linewidth=2, label="95 % interval (Student's t)"),
        patch(facecolor="0.3", alpha=0.22, label="95 % interval (bootstrap)"),
        line([], [], markerfacecolor="0.3", label="p < 0.05 by random signs, corrected for all methods", **dot),
        line([], [], markerfacecolor="white", label="p larger", **dot),
        line([], [], linestyle="none", label="at the right: wins-ties-losses"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=5, fontsize=8, frameon=False)
