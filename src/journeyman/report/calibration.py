"""Calibration as pictures (extra `plot`) and in the terminal: ECDF differences of ranks, coverage, and the verdict.

A line is the share of ranks below a point, minus what it would be if ranks were uniform. Wandering around 0 within the
band is what chance does. Above 0 on the left and below on the right (or the reverse at a distance from the middle)
tells how a posterior is wrong: see `READING`.
"""

from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.text import Text

from journeyman.calibration.replication import DERIVED
from journeyman.calibration.summary import CHANCES, SIGNIFICANCE, CalibrationSummary, Coverage, QuantitySummary
from journeyman.calibration.uniformity import ecdf_band, ecdf_difference
from journeyman.errors import InputError
from journeyman.report.drawing.cells import new_figure, plain
from journeyman.report.terminal import text_table
from journeyman.wording import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LINE, WRONG, BAND = "#1f5fa8", "#c0392b", "#8a94a0"
COVERAGE_COLOURS = ("#7fb0de", "#2f77bd", "#123f6d")
LABEL_WIDTH = 22  # characters
SMALLEST_LIMIT = 0.12
LARGEST_LIMIT = 0.35
READING = (
    "Lines within the grey band: what chance does to a correct posterior (dark: 95 % per line; light: all lines "
    "together, 99 %).  Red: outside; cut off at the frame.\n"
    "Bump up: truths lie lower than the posterior says; down: higher.  Up, then down: the posterior is too narrow; "
    "down, then up: too wide."
)
NOTES = (
    "mean rank: 0.5 if truths lie in the middle of the posterior on average; below, truths are lower than it says. "
    "p: small if ranks are not uniform. In intervals: how many of 100 central credible intervals hold the truth; a "
    "star marks those whose 95 % confidence interval does not hold the promised share."
)


def calibration_figure(summary: CalibrationSummary, title: str) -> "Figure":
    """Return one panel per quantity: the ECDF difference of its ranks, with the band that chance allows."""
    num_columns = min(4, len(summary.quantities))
    num_rows = -(-len(summary.quantities) // num_columns)
    figure = new_figure(2.9 * num_columns, 2.5 * num_rows + 1.3)
    axes = figure.subplots(num_rows, num_columns, sharex=True, sharey=True, squeeze=False)
    limit = _limit([summary])
    for ax, item in zip(axes.flat, summary.quantities, strict=False):
        _draw(ax, summary, [item], limit)
        ax.set_title(plain(f"{item.name}\nchi-square p {_p(item.chi_square_p)}, ECDF p {_p(item.ecdf_p)}"), fontsize=9)
    for ax in axes.flat[len(summary.quantities) :]:
        ax.set_visible(False)
    for ax in axes[:, 0]:
        ax.set_ylabel("ECDF difference", fontsize=9)
    words = "nothing speaks against calibration" if summary.is_calibrated else "miscalibrated"
    found = f"{words} (p {_p(summary.p_value)} for all quantities together)"
    _explain(figure, f"{title}\n{summary.num_replications} replications: {found}")
    return figure


def comparison_figure(rows: Sequence[tuple[str, CalibrationSummary]], title: str) -> "Figure":
    """Return one row per method: log likelihood, V*(rho), regret, and all parameters in one panel."""
    if not rows:
        raise InputError("a comparison must have at least one method, got none. Run one first.")
    figure = new_figure(12.0, 1.45 * len(rows) + 1.6)
    axes = figure.subplots(len(rows), len(DERIVED) + 1, sharex=True, sharey=True, squeeze=False)
    limit = _limit([summary for _, summary in rows])
    for line, (label, summary) in zip(axes, rows, strict=True):
        groups = [[item] for item in summary.quantities[: len(DERIVED)]] + [list(summary.quantities[len(DERIVED) :])]
        for ax, items in zip(line, groups, strict=True):
            _draw(ax, summary, items, limit)
        words = [*wrap(label, LABEL_WIDTH), f"p {_p(summary.p_value)}"]
        line[0].set_ylabel(plain("\n".join(words)), fontsize=9, rotation=0, ha="right", va="center")
    for ax, name in zip(axes[0], (*DERIVED, "parameters"), strict=True):
        ax.set_title(plain(name), fontsize=10)
    _explain(figure, title)
    return figure


def coverage_figure(rows: Sequence[tuple[str, CalibrationSummary]], title: str) -> "Figure":
    """Return the share of 50, 80 and 95 % intervals of the parameters that hold the truth, one line per method."""
    if not rows:
        raise InputError("a comparison must have at least one method, got none. Run one first.")
    figure = new_figure(9.0, 0.4 * len(rows) + 1.7)
    ax = figure.subplots()
    heights = np.arange(len(rows))[::-1]
    for index, (chance, colour) in enumerate(zip(CHANCES, COVERAGE_COLOURS, strict=True)):
        parts = [summary.parameter_coverage[index] for _, summary in rows]
        shares = np.array([part.share for part in parts])
        errors = np.array([[part.share - part.low, part.high - part.share] for part in parts]).T
        ax.axvline(chance, color=colour, linewidth=1, linestyle=":")
        label = f"{100 * chance:.0f} % intervals"
        ax.errorbar(shares, heights, xerr=errors, fmt="o", color=colour, markersize=5, capsize=2, label=label)
    ax.set_yticks(heights, [plain("\n".join(wrap(label, 2 * LABEL_WIDTH))) for label, _ in rows], fontsize=9)
    ax.set_xlim(0.0, 1.0)
    ax.set_ylim(-0.7, len(rows) - 0.3)
    ax.set_xticks(np.linspace(0.0, 1.0, 11), [f"{share} %" for share in range(0, 101, 10)])
    ax.set_xlabel("share of intervals that hold the truth (bars: 95 % confidence); dotted: what was promised")
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(CHANCES), fontsize=8, frameon=False)
    ax.grid(axis="y", alpha=0.2)
    figure.suptitle(plain(title), fontsize=11)
    return figure


def _draw(ax: "Axes", summary: CalibrationSummary, items: Sequence[QuantitySummary], limit: float) -> None:
    """Draw the lines of some quantities over the bands; red where a line leaves the outer one."""
    num_lines = 2 * len(summary.quantities)  # each is tested twice
    for level, alpha in ((1.0 - SIGNIFICANCE / num_lines, 0.22), (0.95, 0.3)):
        band = ecdf_band(summary.num_replications, summary.num_draws, level)
        ax.fill_between(band.points, band.low, band.high, color=BAND, alpha=alpha, linewidth=0, step="mid")
    for item in items:
        is_wrong = item.ecdf_p < SIGNIFICANCE / num_lines
        difference = ecdf_difference(item.ranks, summary.num_draws)
        x = np.concatenate([[0.0], np.arange(1, summary.num_draws + 1) / (summary.num_draws + 1), [1.0]])
        y = np.clip(np.concatenate([[0.0], difference, [0.0]]), -limit, limit)
        ax.plot(x, y, color=WRONG if is_wrong else LINE, linewidth=1.3, alpha=0.9)
    ax.axhline(0.0, color="black", linewidth=0.5)
    ax.set_xlim(0.0, 1.0)
    ax.set_ylim(-limit, limit)
    ax.set_xticks([0.0, 0.5, 1.0], ["0", "0.5", "1"])
    ax.tick_params(labelsize=8)


def _limit(summaries: Sequence[CalibrationSummary]) -> float:
    """Return the largest difference or band of all, within limits: beyond, lines are cut off."""
    largest = SMALLEST_LIMIT
    for summary in summaries:
        level = 1.0 - SIGNIFICANCE / (2 * len(summary.quantities))
        band = ecdf_band(summary.num_replications, summary.num_draws, level)
        lines = [np.abs(ecdf_difference(item.ranks, summary.num_draws)).max() for item in summary.quantities]
        largest = max(largest, float(band.high.max()), *map(float, lines))
    return min(1.05 * largest, LARGEST_LIMIT)


def _explain(figure: "Figure", title: str) -> None:
    """Put the title above all panels, and how to read them below."""
    figure.suptitle(plain(title), fontsize=11)
    figure.supxlabel(f"rank of the truth among posterior draws (0: below all, 1: above all)\n{READING}", fontsize=8)


def _p(value: float) -> str:
    if value < 1e-10:
        return "below 1e-10"
    return f"{value:.2f}" if value >= 0.01 else f"{value:.0e}"


def describe_spec(spec: Mapping[str, Any]) -> str:
    """Return in words what was run, from the record of a spec."""
    method = _with_options(spec["method"], spec["method_options"])
    if "problem" in spec:
        place = f"problem {spec['problem'][:8]}"
    else:
        place = _with_options(spec["world"], spec["world_options"])
    number, factor = spec["num_demonstrations"], spec["assumed_beta_factor"]
    answers = counted(number, "annotation")
    if spec["kind"] != "state":
        answers = f"{number} {'trajectory' if number == 1 else 'trajectories'} of up to {spec['length']} steps"
    mistake = "" if factor == 1.0 else f", beta assumed {factor:g} times what it is"
    return f"{method} on {place}, {answers}{mistake}"


def _with_options(name: str, options: Mapping[str, Any]) -> str:
    pairs = ", ".join(f"{key}={value}" for key, value in options.items())
    return f"{name} ({pairs})" if pairs else name


def verdict(summary: CalibrationSummary) -> str:
    """Return in words what the replications say."""
    if summary.num_failed:
        return f"Miscalibrated: inference failed in {summary.num_failed} replications."
    chance = f"p = {summary.p_value:.2g} for all quantities and both tests together (Bonferroni; below {SIGNIFICANCE}"
    if summary.is_calibrated:
        return f"Nothing speaks against calibration: {chance} would be miscalibrated)."
    return f"Miscalibrated: {chance}). Worst: {summary.worst.name}."


def print_calibration(console: Console, summary: CalibrationSummary, title: str) -> None:
    """Print the table of quantities, what it means, and the verdict; fits 80 columns."""
    console.print(Text(title, style="bold"))
    console.print(
        f"{counted(summary.num_replications, 'replication')}, rank among {summary.num_draws} draws, "
        f"{summary.mean_seconds:.2g} s each\n"
    )
    shares = [f"in {chance:.0%}\nintervals" for chance in CHANCES]
    table = text_table(("quantity", "mean\nrank", "chi-sq.\np", "ECDF\np", *shares), numeric=range(1, 10), gap=1)
    for item in summary.quantities:
        numbers = (f"{item.mean_rank:.2f}", _p(item.chi_square_p), _p(item.ecdf_p))
        table.add_row(Text(item.name), *numbers, *map(_share, item.coverage))
    table.add_row("all parameters", "", "", "", *map(_share, summary.parameter_coverage), style="bold")
    console.print(table)
    console.print(Text(f"\n{NOTES}\n", style="dim"))
    for doubt in _doubts(summary):
        console.print(Text(doubt, style="yellow"))
    console.print(Text(verdict(summary), style="bold green" if summary.is_calibrated else "bold red"))


def _doubts(summary: CalibrationSummary) -> list[str]:
    """Say what limits the verdict."""
    doubts = []
    if summary.num_replications < 100:
        doubts.append(
            f"{counted(summary.num_replications, 'replication')} can show gross mistakes only. Use --replications 500."
        )
    if summary.num_short:
        doubts.append(
            f"{counted(summary.num_short, 'posterior')} had an effective sample size below {summary.num_draws}: ranks "
            "tend to both ends then, even if the model is right. Use more particles or draws."
        )
    if summary.num_warned:
        doubts.append(f"{counted(summary.num_warned, 'posterior')} carried a warning.")
    return doubts


def _share(part: Coverage) -> str:
    return f"{100.0 * part.share:.1f}{' ' if part.is_nominal else '*'}"
