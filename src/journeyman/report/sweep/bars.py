"""Regret as bars over groups of steps, with instances of zero regret below the axis, where they can be seen."""

from typing import TYPE_CHECKING

import numpy as np

from journeyman.experiment.statistics.curves import step_groups
from journeyman.report.sweep.group import FigureData, no_regret_words
from journeyman.report.sweep.styles import say_nothing_known
from journeyman.types import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

DEPTH = 0.35  # of the part below the axis, relative to the part above
WIDTH = 0.86  # of a group of bars
ZERO, SMALL = 0.9, 0.35  # how opaque a share below the axis is


def draw_step_bars(ax: "Axes", shown: FigureData, epsilon: float) -> None:
    """Draw the mean normalised regret over groups of steps, a bar per method, with its standard error.

    Below the axis bars show which share of the instances had no true regret during all steps of the group (dark), and
    which had at most `epsilon` (light). A mean that is infinite has no bar but a sign at the top.
    """
    known = shown.table[shown.table["normalised_regret"].notna()]
    if known.empty:
        say_nothing_known(ax, no_regret_words(shown))
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
    _label(ax, spans, top, epsilon)


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


def _label(ax: "Axes", spans: list[tuple[int, int]], top: float, epsilon: float) -> None:
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
