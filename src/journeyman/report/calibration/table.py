"""Calibration in the terminal: one line per quantity, and the verdict in words."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from journeyman.calibration.summary import CHANCES, SIGNIFICANCE, CalibrationSummary, Coverage
from journeyman.report.terminal import text_table
from journeyman.wording import counted

NOTES = (
    "mean rank: 0.5 if truths lie in the middle of the posterior on average; below, truths are lower than it says. "
    "p: small if ranks are not uniform. In intervals: how many of 100 central credible intervals hold the truth; a "
    "star marks those whose 95 % confidence interval does not hold the promised share."
)


def describe_spec(spec: Mapping[str, Any]) -> str:
    """Return in words what was run, from the record of a spec."""
    options = ", ".join(f"{key}={value}" for key, value in spec["method_options"].items())
    method = f"{spec['method']} ({options})" if options else spec["method"]
    if "problem" in spec:
        place = f"problem {spec['problem'][:8]}"
    else:
        world = ", ".join(f"{key}={value}" for key, value in spec["world_options"].items())
        place = f"{spec['world']} ({world})" if world else spec["world"]
    number = spec["num_demonstrations"]
    noun = "annotation" if spec["kind"] == "state" else f"trajectory of up to {spec['length']} steps"
    plural = noun if number == 1 else "annotations" if spec["kind"] == "state" else f"trajectories{noun[10:]}"
    factor = spec["assumed_beta_factor"]
    mistake = "" if factor == 1.0 else f", beta assumed {factor:g} times what it is"
    return f"{method} on {place}, {number} {plural}{mistake}"


def verdict(summary: CalibrationSummary) -> str:
    """Return in words what the replications say."""
    worst = summary.worst
    if summary.num_failed:
        return f"Miscalibrated: inference failed in {summary.num_failed} replications."
    if summary.is_calibrated:
        return (
            f"Nothing speaks against calibration: p = {summary.p_value:.2g} for all quantities and both tests together "
            f"(Bonferroni; below {SIGNIFICANCE} would be miscalibrated)."
        )
    return (
        f"Miscalibrated: p = {summary.p_value:.2g} for all quantities and both tests together (Bonferroni; below "
        f"{SIGNIFICANCE}). Worst: {worst.name}."
    )


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


def _p(value: float) -> str:
    return f"{value:.2f}" if value >= 0.01 else f"{value:.0e}"
