"""When goals are reached: an optimal policy, a nearly optimal one, a small chance of failure, a certificate."""

from typing import TYPE_CHECKING

import numpy as np

from journeyman.experiment.statistics.steps_to import Share, exact_share, share_reached, steps_to
from journeyman.experiment.statistics.table import numbers
from journeyman.report.drawing.cells import new_figure, plain
from journeyman.report.sweep.figure_data import (
    DEFAULTS,
    FigureData,
    FigureOptions,
    figure_data,
    legend_rows,
    method_legend,
    say_nothing_known,
    step_axis,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame

MAX_BANDS = 3  # more of them hide each other
MARGIN = 0.03  # of the steps, on both sides: shows what is reached at the last one


def goals_figure(table: "DataFrame", options: FigureOptions = DEFAULTS, *, stays: bool = True) -> "Figure":
    """Return the share of instances, of one group of results, that have reached each of four goals by a step.

    The goals: no true regret; true regret of at most epsilon; a posterior chance of at most delta that the regret is
    above epsilon; a certificate that holds. The second is what the last two promise. Bands are exact 95 % intervals;
    for more than three methods one example of them stands in the title. `stays`: whether a goal must be kept until the
    end of the cell; else the first time counts.
    """
    shown, epsilon, delta = figure_data(table, options), options.epsilon, options.delta
    figure = new_figure(15.0, 4.1 + 0.2 * legend_rows(len(shown.methods)))
    axes = figure.subplots(1, 4, sharey=True)
    goals = (
        ("true_regret", 0.0, "true regret 0: an optimal policy"),
        ("true_regret", epsilon, f"true regret at most {epsilon:.4g}"),
        ("failure_chance", delta, f"P[regret > {epsilon:.4g}] at most {delta:.4g}"),
        ("certificate_holds", None, "the certificate holds"),
    )
    for ax, (column, limit, title) in zip(axes, goals, strict=True):
        _draw_shares(ax, shown, column, limit, stays=stays)
        ax.set_title(title, fontsize=10)
    axes[0].set_ylabel("share of instances")
    axes[0].set_ylim(-0.03, 1.03)
    what = "reached for good" if stays else "reached at least once"
    title = f"{shown.title}: {what}, {shown.instances_words()}{_interval_words(shown)}"
    figure.suptitle(plain(title), fontsize=11)
    method_legend(figure, shown.styles, shown.labels())
    return figure


def _draw_shares(ax: "Axes", shown: FigureData, column: str, limit: float | None, *, stays: bool) -> None:
    """Draw the share of instances that have reached one goal, a line of steps per method."""
    step_axis(ax, shown.last_step)
    margin = MARGIN * max(shown.last_step, 1)
    ax.set_xlim(-margin, max(shown.last_step, 1) + margin)
    known = shown.table[~np.isnan(numbers(shown.table, column))]
    if known.empty:
        say_nothing_known(ax, "not measured")
        return
    found = share_reached(steps_to(known, column, limit, stays=stays))
    for method in shown.methods:
        line = found[found["method"] == method]
        colour, style = shown.styles[method]
        steps = np.append(line["step"], line["step"].max() + margin)
        share, low, high = (np.append(line[name], line[name].iloc[-1]) for name in Share._fields)
        ax.step(steps, share, where="post", color=colour, linestyle=style, linewidth=1.8, zorder=3)
        if _has_bands(shown):
            ax.fill_between(steps, low, high, step="post", color=colour, alpha=0.13, linewidth=0)


def _has_bands(shown: FigureData) -> bool:
    """Whether bands can be told apart, and say anything: those of a single instance fill the panel."""
    return len(shown.methods) <= MAX_BANDS and max(shown.num_instances.values()) > 1


def _interval_words(shown: FigureData) -> str:
    """Return what the bands are, or how wide the interval of a middling share is where there are none."""
    total = max(shown.num_instances.values())
    if total == 1:
        return ""
    if _has_bands(shown):
        return " (bands: 95 % intervals)"
    _, low, high = exact_share(total // 2, total)
    return f" (95 % interval of {total // 2} of {total}: {low:.2f} to {high:.2f})"
