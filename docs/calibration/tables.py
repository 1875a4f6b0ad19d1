"""The table and the figures of the calibration programme, from the raw results that there are."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from programme import Configuration

from journeyman.calibration import CalibrationSummary, load_run, summarise_run, summary_record
from journeyman.report import save_figure
from journeyman.report.calibration import comparison_figure, coverage_figure
from journeyman.storage.files import write_block

MIN_REPLICATIONS = 20
Row = tuple[Configuration, CalibrationSummary]
HEADINGS = (
    "world", "method", "role", "replications", "p", "chi-square p", "ECDF p", "worst quantity",
    "in 50 %", "in 80 %", "in 95 %", "warned", "short", "failed", "s each",
)  # fmt: skip
FIGURES = {
    "8x8.png": (("8x8",), "8x8 grid, 20 annotations: methods, then what is wrong on purpose and must be found"),
    "4x4-and-jail.png": (("4x4", "jail"), "4x4 grid and jail, 20 annotations"),
}
EXPERTS_TITLE = "Experts of whom not everything is known, 20 annotations: then what is wrong on purpose"


def write_all(configurations: Sequence[Configuration], folder: Path, target: Path) -> None:
    """Write table.csv, table.json, the table in README.md, and figures, of all that has results."""
    rows = [(item, summary) for item in configurations if (summary := _summary(folder, item)) is not None]
    if not rows:
        raise SystemExit(f"There are no results in {folder}. Make some: python docs/calibration/run.py run")
    _write_csv(rows, target / "table.csv")
    records = [_record(item, summary) for item, summary in rows]
    (target / "table.json").write_text(json.dumps(records, indent=1, allow_nan=False) + "\n", "utf-8")
    _write_markdown(rows, target / "README.md")
    figures = FIGURES if (target / "8x8.png").exists() else {"experts.png": (("jail", "4x4", "8x8"), EXPERTS_TITLE)}
    for name, (worlds, title) in figures.items():
        shown = [
            (item.label if len(worlds) == 1 else label(item), summary) for item, summary in rows if item.world in worlds
        ]
        if shown:
            save_figure(comparison_figure(shown, title), target / name)
    named = [(label(item), summary) for item, summary in rows]
    save_figure(
        coverage_figure(named, "Coverage of central credible intervals, all parameters"), target / "coverage.png"
    )
    for item, summary in rows:
        print(f"{label(item):60} {summary.num_replications:4} replications, p {short(summary.p_value)}")


def label(item: Configuration) -> str:
    """Return the name of a configuration with its world."""
    return f"{item.label} ({item.world})"


def short(p_value: float) -> str:
    """Return a p-value in few characters."""
    return f"{p_value:.2f}" if p_value >= 0.01 else "below 1e-10" if p_value < 1e-10 else f"{p_value:.0e}"


def _summary(folder: Path, item: Configuration) -> CalibrationSummary | None:
    path = folder / f"{item.key}.jsonl"
    if not path.exists():
        return None
    run = load_run(path)
    if run.spec != item.spec().record():
        raise SystemExit(f"{path} was made with other settings than {item.key} has now. Remove it, and run it again.")
    return summarise_run(run) if len(run.replications) >= MIN_REPLICATIONS else None


def _cells(item: Configuration, summary: CalibrationSummary) -> list[Any]:
    return [
        item.world, item.label, item.role, summary.num_replications, summary.p_value, summary.chi_square_p,
        summary.ecdf_p, summary.worst.name, *(part.share for part in summary.parameter_coverage), summary.num_warned,
        summary.num_short, summary.num_failed, summary.mean_seconds,
    ]  # fmt: skip


def _record(item: Configuration, summary: CalibrationSummary) -> dict[str, Any]:
    names = {"key": item.key, "world": item.world, "method": item.label, "role": item.role}
    return names | {"spec": item.spec().record()} | summary_record(summary)


def _write_csv(rows: Sequence[Row], path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADINGS)
        for item, summary in rows:
            writer.writerow([f"{cell:.4g}" if isinstance(cell, float) else cell for cell in _cells(item, summary)])


def _write_markdown(rows: Sequence[Row], path: Path) -> None:
    """Replace the table in the page, between its two marks."""
    lines = [
        "| world | what was run | replications | p | chi-square | ECDF | worst | 50 % | 80 % | 95 % | s each |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for item, summary in rows:
        name = item.label if item.role == "method" else f"*{item.label}*"
        p = short(summary.p_value) if summary.is_calibrated else f"**{short(summary.p_value)}**"
        shares = [f"{100 * part.share:.1f} ± {50 * (part.high - part.low):.1f}" for part in summary.parameter_coverage]
        cells = [
            item.world, name, str(summary.num_replications), p, short(summary.chi_square_p), short(summary.ecdf_p),
            summary.worst.name, *shares, f"{summary.mean_seconds:.2f}",
        ]  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    write_block(path, "table", lines)
