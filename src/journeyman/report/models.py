"""Models compared: the table in the terminal, as CSV, and the figure."""

import csv
import io
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.text import Text

from journeyman.criticism.comparison import EMPIRICAL, ModelComparison, Score
from journeyman.report.drawing.cells import new_figure, plain
from journeyman.report.drawing.palette import BLUE, GREY, INDIGO
from journeyman.report.terminal import print_warnings, text_table
from journeyman.wording import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

OURS, BEST, REFERENCE = BLUE, INDIGO, GREY
LABEL_WIDTH = 34  # characters
NOTES = (
    "bits: log2 of the chance that the mean policy gave what was done, per free decision (where several actions are "
    "available). share: of what the smoothed empirical policy gains over chance. behind: the best variant, in bits, "
    "with the standard error over demonstrations. log evidence: of the demonstrations that were fitted, in nats, with "
    "its Monte-Carlo error. Files of --out have all errors."
)


def verdict(comparison: ModelComparison) -> str:
    """Say which variant predicts best, by how much, and whether the evidence agrees."""
    best, likely = comparison.best, comparison.best_by_evidence
    text = f"Best prediction: {best.name}, {best.bits:.4f} bits per free decision"
    text += "." if best.share is None else f", {100 * best.share:.1f} % of the explainable."
    others = sorted((score for score in comparison.scores if score is not best), key=lambda score: score.behind or 0.0)
    near = [score for score in others if (score.behind or 0.0) <= 2.0 * (score.behind_error or 0.0)]
    if near:
        text += f" Within two standard errors of it: {'; '.join(score.name for score in near)}."
    if likely is None:
        return text
    if likely is best:
        return f"{text} It also has the largest evidence of these."
    gain = (likely.log_evidence or 0.0) - (best.log_evidence if best.log_evidence is not None else -np.inf)
    return f"{text} Largest evidence: {likely.name}, by {gain:.1f} nats over the best predictor."


def print_comparison(console: Console, comparison: ModelComparison, title: str) -> None:
    """Print one line per model, what the columns mean, and the verdict."""
    console.print(Text(title, style="bold"))
    decisions = int(comparison.decisions.sum())
    console.print(
        Text(f"{comparison.split}. {decisions:,} free decisions predicted, inference by {comparison.method}.\n")
    )
    table = text_table(("model", "bits", "share", "behind", "log evidence"), numeric=range(1, 5), gap=2)
    for score in comparison.rows:
        style = "bold" if score is comparison.best else ("dim" if score.is_reference else "")
        table.add_row(Text(score.name), *_cells(score), style=style)
    console.print(table)
    console.print(Text(f"\n{NOTES}\n", style="dim"))
    for score in comparison.scores:
        print_warnings(console, (f"{score.name}: {warning}" for warning in score.warnings))
    console.print(Text(verdict(comparison), style="bold"))


def _cells(score: Score) -> tuple[str, str, str, str]:
    return (
        f"{score.bits:.4f}",
        "-" if score.share is None else f"{score.share:.3f}",
        "" if score.behind is None else _with_error(score.behind, score.behind_error, 4),
        "-" if score.log_evidence is None else _with_error(score.log_evidence, score.log_evidence_error or None, 1),
    )


def _with_error(value: float, error: float | None, digits: int) -> str:
    text = f"{value:.{digits}f}"
    return text if error is None else f"{text} ± {error:.{digits}f}"


def comparison_csv(comparison: ModelComparison) -> str:
    """Return one line per model."""
    names = (
        "name", "bits", "bits_error", "whole_bits", "share", "share_error", "behind", "behind_error", "log_evidence",
        "log_evidence_error", "seconds", "is_reference",
    )  # fmt: skip
    rows = [{name: getattr(score, name) for name in names} for score in comparison.rows]
    return _table(("model", *names[1:]), [{"model": row.pop("name"), **row} for row in rows])


def demonstrations_csv(comparison: ModelComparison) -> str:
    """Return one line per model and predicted demonstration: its free decisions, and bits of all of them together."""
    rows = [
        {"model": score.name, "demonstration": number, "free_decisions": size, "bits": bits, "whole_bits": whole}
        for score in comparison.rows
        for number, size, bits, whole in zip(
            comparison.predicted.tolist(),
            comparison.decisions.tolist(),
            score.demonstration_bits.tolist(),
            score.whole_demonstration_bits.tolist(),
            strict=True,
        )
    ]
    return _table(("model", "demonstration", "free_decisions", "bits", "whole_bits"), rows)


def _table(names: tuple[str, ...], rows: list[dict[str, Any]]) -> str:
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue()


def comparison_figure(comparison: ModelComparison, title: str) -> "Figure":
    """Return bits per free decision of all models, and log evidence relative to the largest, one line per model."""
    rows = [*comparison.scores, *comparison.references[1:], comparison.references[0]]
    has_evidence = comparison.best_by_evidence is not None
    figure = new_figure(11.0 if has_evidence else 7.5, 0.42 * len(rows) + 1.9)
    axes = figure.subplots(1, 2 if has_evidence else 1, sharey=True, squeeze=False)[0]
    heights = np.arange(len(rows))[::-1]
    _draw_bits(axes[0], comparison, rows, heights)
    labels = [plain("\n".join(wrap(score.name, LABEL_WIDTH))) for score in rows]
    axes[0].set_yticks(heights, labels, fontsize=8.5)
    if has_evidence:
        _draw_evidence(axes[1], rows, heights)
    for ax in axes:
        ax.set_ylim(-0.7, len(rows) - 0.3)
        ax.grid(axis="y", alpha=0.2)
        ax.axhline(heights[len(comparison.scores) - 1] - 0.5, color=REFERENCE, linewidth=0.6)
        ax.tick_params(axis="x", labelsize=8)
    words = f"{comparison.split}; {int(comparison.decisions.sum()):,} free decisions"
    figure.suptitle(plain(f"{title}\n{words}"), fontsize=10.5)
    return figure


def _draw_bits(ax: "Axes", comparison: ModelComparison, rows: list[Score], heights: Any) -> None:
    """Draw bits with standard errors of the difference to the best, and the share of the explainable as numbers."""
    for score, height in zip(rows, heights, strict=True):
        colour = REFERENCE if score.is_reference else (BEST if score is comparison.best else OURS)
        ax.errorbar(score.bits, height, xerr=score.behind_error, fmt="o", color=colour, markersize=6, capsize=2)
        if score.share is not None and not score.is_reference:
            ax.annotate(
                f"{100 * score.share:.1f} %",
                (score.bits, height),
                xytext=(0, 6),
                textcoords="offset points",
                ha="center",
                fontsize=7.5,
                color=colour,
            )
    for name in (comparison.references[0].name, EMPIRICAL):
        ax.axvline(comparison[name].bits, color=REFERENCE, linewidth=0.9, linestyle=":")
    ax.margins(x=0.12)
    tested = counted(len(comparison.predicted), "demonstration")
    numbers = "" if all(score.share is None for score in rows) else "; numbers: share of the explainable"
    ax.set_xlabel(
        f"bits per free decision (larger is better{numbers};\n"
        f"bars: standard error of the difference to the best, over {tested})",
        fontsize=8,
    )


def _draw_evidence(ax: "Axes", rows: list[Score], heights: Any) -> None:
    """Draw how far each log evidence is below the largest, on a scale that shows small and large differences."""
    known = [score.log_evidence for score in rows if score.log_evidence is not None]
    largest = max(known)
    for score, height in zip(rows, heights, strict=True):
        if score.log_evidence is None:
            continue
        colour = REFERENCE if score.is_reference else OURS
        gap = largest - score.log_evidence
        error = score.log_evidence_error or None
        ax.errorbar(gap, height, xerr=error, fmt="s", color=colour, markersize=5, capsize=2)
        ax.annotate(f"{score.log_evidence:.1f}", (gap, height), xytext=(0, 6), textcoords="offset points",
                    ha="center", fontsize=7.5, color=colour)  # fmt: skip
    ax.set_xscale("symlog", linthresh=10.0)
    ax.set_xlim(-3.0, 3.0 * max(10.0, largest - min(known)))
    ax.invert_xaxis()
    ax.set_xlabel("log evidence below the largest, in nats\n(right is better; bars: Monte-Carlo error)", fontsize=8)
