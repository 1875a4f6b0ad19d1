"""Results over the steps of a sweep: entropy, regret and the chance of too much of it, and when goals are reached."""

from typing import TYPE_CHECKING

import numpy as np

from journeyman.experiment.statistics.curves import ESTIMATES, FIRST_STEPS, curves, step_groups
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
from journeyman.types import FloatArray
from journeyman.wording import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame

MAX_MARKED_STEPS = 8
LINEAR_BELOW = 0.1  # of normalised regret
REGRET_TICKS = (0.0, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
DEPTH = 0.35  # of the part of bars below the axis, relative to the part above
WIDTH = 0.86  # of a group of bars
ZERO, SMALL = 0.9, 0.35  # how opaque a share below the axis is
MAX_BANDS = 3  # more of them hide each other
MARGIN = 0.03  # of the steps, on both sides: shows what is reached at the last one


def results_figure(table: "DataFrame", options: FigureOptions = DEFAULTS) -> "Figure":
    """Return three panels for one group of results: means over instances, with bands of one standard error."""
    shown, epsilon, delta = figure_data(table, options), options.epsilon, options.delta
    has_bars = options.has_bars
    figure = new_figure(14.5 if has_bars else 13.0, 4.1 + 0.2 * legend_rows(len(shown.methods)))
    left, middle, right = figure.subplots(1, 3, width_ratios=(1.0, 1.5 if has_bars else 1.0, 1.0))
    _draw_entropy(left, shown, options)
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
    ax.set_ylim(-0.1 * LINEAR_BELOW, top)  # keeps a line at 0 from hiding behind the frame


def _regret_title(shown: FigureData, *, has_bars: bool) -> str:
    """Return what the regret is measured by, on how many instances if not on all, and on how many it is infinite."""
    title = f"true regret (1: average of methods and steps 1 to {min(FIRST_STEPS, shown.last_step)})"
    known, total = shown.num_known("normalised_regret"), shown.table["seed"].nunique()
    notes = [] if known in (0, total) else [f"{known} of {total} instances have all methods"]
    if num_infinite := shown.num_infinite("normalised_regret"):
        sign = "sign" if has_bars else "gap"
        notes.append(f"infinite on {counted(num_infinite, 'instance')}: a {sign} where the mean is")
    return "\n".join([title, *notes])


def _draw_entropy(ax: "Axes", shown: FigureData, options: FigureOptions) -> None:
    """Draw the entropy by the first estimate that every cell has."""
    column, reason = shown.entropy_column(options)
    ax.set_title(f"posterior entropy in nats{f' ({ESTIMATES[column]})' if column else ''}", fontsize=10)
    if column is not None:
        draw_curves(ax, shown, column)
        return
    step_axis(ax, shown.last_step)
    ax.set_yticks([])
    say_nothing_known(ax, reason)


def draw_curves(ax: "Axes", shown: FigureData, column: str) -> None:
    """Draw the mean of a column per method, with a band of one standard error where there are several instances."""
    found = curves(shown.table, column)
    step_axis(ax, shown.last_step)
    if not np.isfinite(found["mean"]).any():
        say_nothing_known(ax, shown.no_regret_words() if column == "normalised_regret" else "not measured")
        return
    marker = "o" if shown.last_step <= MAX_MARKED_STEPS else None
    for method in shown.methods:
        line = found[found["method"] == method]
        steps, mean, error = (line[name].to_numpy(dtype=np.float64) for name in ("step", "mean", "standard_error"))
        mean = np.where(np.isfinite(mean), mean, np.nan)
        colour, style = shown.styles[method]
        ax.plot(steps, mean, color=colour, linestyle=style, linewidth=1.6, marker=marker, markersize=3, zorder=3)
        ax.fill_between(steps, mean - error, mean + error, color=colour, alpha=0.13, linewidth=0)


def draw_step_bars(ax: "Axes", shown: FigureData, epsilon: float) -> None:
    """Draw the mean normalised regret over groups of steps, a bar per method, with its standard error.

    Below the axis bars show which share of the instances had no true regret during all steps of the group (dark), and
    which had at most `epsilon` (light). A mean that is infinite has no bar but a sign at the top.
    """
    known = shown.table[shown.table["normalised_regret"].notna()]
    if known.empty:
        say_nothing_known(ax, shown.no_regret_words())
        return
    found = step_groups(known, "normalised_regret")
    spans = list(dict.fromkeys(zip(found["first_step"].tolist(), found["last_step"].tolist(), strict=True)))
    tops = (found["mean"] + found["standard_error"].fillna(0.0)).to_numpy(dtype=np.float64)
    top = 1.06 * float(tops[np.isfinite(tops)].max(initial=0.0)) or 1.0
    below = ((SMALL, step_groups(known, "true_regret", limit=epsilon)), (ZERO, step_groups(known, "true_regret")))
    width = WIDTH / len(shown.methods)
    for index, method in enumerate(shown.methods):
        colour = shown.styles[method].colour
        offset = (index + 0.5) * width - WIDTH / 2
        part = found[found["method"] == method]
        _draw_means(ax, part, _places(part, spans) + offset, 0.92 * width, colour, top)
        for alpha, counts in below:
            part = counts[counts["method"] == method]
            depths = DEPTH * top * (part["num_within"] / part["n"]).to_numpy(dtype=np.float64)
            ax.bar(_places(part, spans) + offset, -depths, 0.92 * width, color=colour, alpha=alpha, linewidth=0)
    _label_bars(ax, spans, top, epsilon)


def _places(part: "DataFrame", spans: list[tuple[int, int]]) -> FloatArray:
    """Return where the groups of steps of some rows stand."""
    rows = zip(part["first_step"].tolist(), part["last_step"].tolist(), strict=True)
    return np.array([spans.index(span) for span in rows], dtype=np.float64)


def _draw_means(ax: "Axes", part: "DataFrame", x: FloatArray, width: float, colour: str, top: float) -> None:
    """Draw the bars of one method above the axis."""
    mean, error = (part[name].to_numpy(dtype=np.float64) for name in ("mean", "standard_error"))
    is_finite = np.isfinite(mean)
    ax.bar(x[is_finite], mean[is_finite], width, color=colour)
    has_error = np.isfinite(error)
    low, high = np.maximum(mean - error, 0.0), mean + error
    ax.vlines(x[has_error], low[has_error], high[has_error], color="0.15", linewidth=0.8)
    for place in x[~is_finite]:
        ax.text(place, top, r"$\infty$", color=colour, ha="center", va="top")


def _label_bars(ax: "Axes", spans: list[tuple[int, int]], top: float, epsilon: float) -> None:
    """Put numbers of steps at the bars, numbers of regret above the axis, and shares below it."""
    ax.axhspan(-DEPTH * top, 0.0, color="0.94", linewidth=0, zorder=0)
    ax.axhline(0.0, color="black", linewidth=0.8)
    ax.set_ylim(-DEPTH * top, top)
    above = [tick for tick in ax.get_yticks() if 0.0 <= tick <= top]
    ax.set_yticks([-DEPTH * top, -0.5 * DEPTH * top, *above], ["all", "half", *(f"{tick:.4g}" for tick in above)])
    ax.annotate(
        f"share of instances with\nregret 0 (dark), at most {epsilon:.4g} (light)",
        (0.008, -DEPTH * top * 0.95),
        xycoords=("axes fraction", "data"),
        fontsize=7.5,
        color="0.3",
        va="bottom",
    )
    ax.set_xticks(range(len(spans)), [f"{first}-{last}" if last > first else str(last) for first, last in spans])
    ax.tick_params(axis="x", labelsize=8.5, length=0)
    ax.set_xlim(-0.55, len(spans) - 0.45)
    ax.set_xlabel("steps")
    ax.grid(axis="y", alpha=0.25)
    ax.set_axisbelow(True)


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
