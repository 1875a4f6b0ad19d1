"""Results in the paper's form: posterior entropy, normalised true regret, and the chance of too much regret."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from journeyman.errors import InputError
from journeyman.experiment.statistics.curves import curves
from journeyman.experiment.statistics.entropies import ESTIMATES, entropy_column
from journeyman.experiment.statistics.paper import paper_estimates
from journeyman.experiment.statistics.regret import FIRST_STEPS
from journeyman.report.drawing.cells import plain
from journeyman.report.sweep.bars import draw_step_bars
from journeyman.report.sweep.group import (
    DELTA,
    EPSILON,
    FigureData,
    figure_data,
    no_entropy_words,
    no_regret_words,
    with_normalised_regret,
)
from journeyman.report.sweep.styles import legend_rows, method_legend, new_figure, say_nothing_known, step_axis
from journeyman.wording import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame

BAR_WORLDS = ("random-10x10",)  # where the paper draws bars
FORMS = ("curves", "bars")
MAX_MARKED_STEPS = 8
LINEAR_BELOW = 0.1  # of normalised regret
REGRET_TICKS = (0.0, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)


def results_figure(
    table: "DataFrame",
    *,
    methods: Sequence[str] | None = None,
    reference: Sequence[str] | None = None,
    epsilon: float = EPSILON,
    delta: float = DELTA,
    entropy: str = "evidence",
    regret: str | None = None,
) -> "Figure":
    """Return the three panels of the paper: mean over instances with a band of one standard error on both sides.

    Parameters
    ----------
    table
        Results of one world, kind of query and inference method.
    methods
        Which to show; default: all.
    reference
        Methods whose mean regret is 1; default: the paper's that the table has, or all if it has none.
    epsilon, delta
        Of the guarantee that the sweep asked for.
    entropy
        Estimate to show, "evidence" or "paper"; see `entropy_column`.
    regret
        "curves" or "bars" (averages over groups of steps, with shares of zero and small regret below the axis);
        default: bars where the paper has them.
    """
    shown = figure_data(with_normalised_regret(table, reference), methods)
    if regret is not None and regret not in FORMS:
        raise InputError(f'regret must be drawn as "curves" or "bars", got {regret!r}. Choose one of them.')
    has_bars = regret == "bars" or (regret is None and shown.table["world_name"].iloc[0] in BAR_WORLDS)
    figure = new_figure(14.5 if has_bars else 13.0, 4.1 + 0.2 * legend_rows(len(shown.methods)))
    left, middle, right = figure.subplots(1, 3, width_ratios=(1.0, 1.5 if has_bars else 1.0, 1.0))
    _draw_entropy(left, shown, entropy)
    if has_bars and shown.last_step > 0:
        draw_step_bars(middle, shown, epsilon)
    else:
        draw_curves(middle, shown, "normalised_regret")
        _stretch_small_regrets(middle)
    middle.set_title(_regret_title(shown, has_bars=has_bars), fontsize=10)
    draw_curves(right, shown, "failure_chance")
    right.axhline(delta, color="0.4", linewidth=1, linestyle="--")
    right.annotate("delta", (1.01, delta), xycoords=("axes fraction", "data"), va="center", fontsize=8)
    right.set_ylim(-0.03, 1.03)
    right.set_title(f"posterior chance of a regret above {epsilon:.4g}", fontsize=10)
    spread = ", mean and standard error" if max(shown.num_instances.values()) > 1 else ""
    figure.suptitle(plain(f"{shown.title}: {shown.instances_words()}{spread}"), fontsize=11)
    method_legend(figure, shown.styles, shown.labels())
    return figure


def _stretch_small_regrets(ax: "Axes") -> None:
    """Make the axis of regret logarithmic above 0.1 and linear below: it falls by orders of magnitude, down to 0."""
    ax.set_yscale("symlog", linthresh=LINEAR_BELOW, linscale=0.5)
    top = max(ax.get_ylim()[1], 1.0)
    ticks = [tick for tick in REGRET_TICKS if tick <= top]
    ax.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.set_yticks([], minor=True)
    ax.set_ylim(-0.1 * LINEAR_BELOW, top)  # a line at 0 shall not hide behind the frame


def _regret_title(shown: FigureData, *, has_bars: bool) -> str:
    """Return what the regret is measured by, on how many instances if not on all, and on how many it is infinite."""
    title = f"true regret (1: average of methods and steps 1 to {min(FIRST_STEPS, shown.last_step)})"
    known, total = shown.num_known("normalised_regret"), shown.table["seed"].nunique()
    notes = [] if known in (0, total) else [f"{known} of {total} instances have all methods"]
    if num_infinite := shown.num_infinite("normalised_regret"):
        sign = "sign" if has_bars else "gap"
        notes.append(f"infinite on {counted(num_infinite, 'instance')}: a {sign} where the mean is")
    return "\n".join([title, *notes])


def _draw_entropy(ax: "Axes", shown: FigureData, estimate: str) -> None:
    """Draw the entropy by the estimate that suits the world."""
    column = entropy_column(shown.table, paper_estimates(shown.table, estimate))
    ax.set_title(f"posterior entropy in nats{f' ({ESTIMATES[column]})' if column else ''}", fontsize=10)
    if column is not None:
        draw_curves(ax, shown, column)
        return
    step_axis(ax, shown.last_step)
    ax.set_yticks([])
    say_nothing_known(ax, no_entropy_words(shown.table))


def draw_curves(ax: "Axes", shown: FigureData, column: str) -> None:
    """Draw the mean of a column per method, with a band of one standard error where there are several instances."""
    found = curves(shown.table, column)
    step_axis(ax, shown.last_step)
    if not np.isfinite(found["mean"]).any():
        say_nothing_known(ax, no_regret_words(shown) if column == "normalised_regret" else "not measured")
        return
    marker = "o" if shown.last_step <= MAX_MARKED_STEPS else None
    for method in shown.methods:
        line = found[found["method"] == method]
        steps, mean, error = (line[name].to_numpy(dtype=np.float64) for name in ("step", "mean", "standard_error"))
        mean = np.where(np.isfinite(mean), mean, np.nan)
        colour, style = shown.styles[method]
        ax.plot(steps, mean, color=colour, linestyle=style, linewidth=1.6, marker=marker, markersize=3, zorder=3)
        ax.fill_between(steps, mean - error, mean + error, color=colour, alpha=0.13, linewidth=0)
