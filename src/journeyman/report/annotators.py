"""Several people compared: the table in the terminal, as CSV, and the figure."""

import csv
import io
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.text import Text

from journeyman.criticism.annotators import AnnotatorComparison, AnnotatorScore
from journeyman.report.drawing.cells import new_figure, plain
from journeyman.report.drawing.palette import BLUE, PALE_GREY, VERMILLION
from journeyman.report.terminal import print_warnings, text_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FINE, ODD, EXPECTED = BLUE, VERMILLION, PALE_GREY
MAX_NAMED = 30  # cells of the matrix that get numbers, per side
NOTES = (
    "free: decisions where several actions are available. beta, lapse: 95 % intervals if all want the same and each "
    "has an own beta and lapse. bits: per free decision, by a fit to the others. expected: 95 % of what it expects. "
    "p: the chance of answers that fit the others as badly, among simulated people who are as noisy."
)


def print_annotators(console: Console, found: AnnotatorComparison, title: str) -> None:
    """Print one line per annotator, the ways to pool them, and who is named."""
    console.print(Text(title, style="bold"))
    parameters = list(found.scores[0].expert)
    headings = ("annotator", "free", *parameters, "bits", "expected", "p")
    table = text_table(headings, numeric=range(1, len(headings)), gap=2)
    for score in found.scores:
        table.add_row(Text(score.name), *_cells(score, parameters), style="bold red" if score.is_odd else "")
    console.print(table)
    console.print()
    table = text_table(("fitted", "log evidence"), numeric=[1])
    for pooling in found.poolings:
        error = "" if pooling.log_evidence_error is None else f" ± {pooling.log_evidence_error:.1f}"
        text = "-" if pooling.log_evidence is None else f"{pooling.log_evidence:.1f}{error}"
        table.add_row(Text(pooling.name), text, style="bold" if pooling is found.best_pooling else "")
    console.print(table)
    console.print(Text(f"\n{NOTES}\n", style="dim"))
    print_warnings(console, found.warnings)
    console.print(Text(found.verdict(), style="bold red" if found.odd else "bold green"))


def _cells(score: AnnotatorScore, parameters: list[str]) -> list[str]:
    own = [f"{low:.2g} to {high:.2g}" for _, low, high in (score.expert[name] for name in parameters)]
    misfit = score.misfit
    expected = f"{misfit.low:.2f} to {misfit.high:.2f}"
    return [f"{score.num_decisions:,}", *own, f"{misfit.bits:.2f}", expected, f"{misfit.p_value:.3f}"]


def annotators_csv(found: AnnotatorComparison) -> str:
    """Return one line per annotator."""
    rows: list[dict[str, Any]] = []
    for score in found.scores:
        row: dict[str, Any] = {
            "annotator": score.name,
            "demonstrations": score.num_demonstrations,
            "free_decisions": score.num_decisions,
            "is_odd": score.is_odd,
            **score.misfit._asdict(),
            "log_evidence": score.log_evidence,
        }
        for name, (mean, low, high) in score.expert.items():
            row |= {name: mean, f"{name}_low": low, f"{name}_high": high}
        rows.append(row)
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue()


def annotators_figure(found: AnnotatorComparison, title: str) -> "Figure":
    """Return what each is like (beta, lapse), how well the others explain them, and how differently they act."""
    parameters = list(found.scores[0].expert)
    size = len(found.scores)
    widths = [1.0] * len(parameters) + [1.5, 1.5]
    figure = new_figure(2.7 * sum(widths), 0.42 * size + 2.1)
    axes = figure.subplots(1, len(widths), width_ratios=widths)
    heights = np.arange(size)[::-1]
    colours = [ODD if score.is_odd else FINE for score in found.scores]
    for ax, name in zip(axes, parameters, strict=False):
        for score, height, colour in zip(found.scores, heights, colours, strict=True):
            mean, low, high = score.expert[name]
            ax.plot([low, high], [height, height], color=colour, linewidth=2, alpha=0.5)
            ax.plot(mean, height, "o", color=colour)
        if name == "beta":
            ax.set_xscale("log")
            ax.xaxis.set_major_formatter("{x:g}")
        ax.set_title(plain(f"{name}, 95 % interval"), fontsize=9)
    _draw_bits(axes[len(parameters)], found, heights, colours)
    _draw_differences(axes[-1], found)
    for index, ax in enumerate(axes[:-1]):
        ax.set_yticks(heights, [plain(score.name) for score in found.scores] if index == 0 else [""] * size, fontsize=9)
        ax.set_ylim(-0.6, size - 0.4)
        ax.tick_params(axis="x", labelsize=8, which="both")
        ax.grid(axis="y", alpha=0.2)
    figure.suptitle(plain(f"{title}\n{found.verdict()}"), fontsize=10.5)
    return figure


def _draw_bits(ax: "Axes", found: AnnotatorComparison, heights: Any, colours: list[str]) -> None:
    """Draw bits by the fit to the others over what it expects."""
    for score, height, colour in zip(found.scores, heights, colours, strict=True):
        misfit = score.misfit
        ax.plot([misfit.low, misfit.high], [height, height], color=EXPECTED, linewidth=7, solid_capstyle="butt")
        ax.plot(misfit.bits, height, "o", color=colour)
        place = (misfit.bits, height)
        ax.annotate(f"p {misfit.p_value:.3f}", place, xytext=(0, 6), textcoords="offset points", ha="center",
                    fontsize=7.5, color=colour)  # fmt: skip
    ax.margins(x=0.12)
    ax.set_title("bits per decision by a fit to the others\n(grey: 95 % of what it expects)", fontsize=9)


def _draw_differences(ax: "Axes", found: AnnotatorComparison) -> None:
    """Draw how differently each two of them act."""
    size = len(found.scores)
    ax.imshow(found.differences, cmap="Blues", vmin=0.0, vmax=1.0)
    if size <= MAX_NAMED:
        for j in range(size):
            for k in range(size):
                value = found.differences[j, k]
                colour = "white" if value > 0.55 else "black"
                ax.text(k, j, "" if j == k else f"{value:.2f}", ha="center", va="center", fontsize=7, color=colour)
    names = [plain(score.name) for score in found.scores]
    ax.set_xticks(range(size), names, fontsize=8, rotation=45, ha="right")
    ax.set_yticks(range(size), names, fontsize=8)
    ax.set_title("how differently they act (0 alike, 1 never\nthe same), by fits to each alone", fontsize=9)
