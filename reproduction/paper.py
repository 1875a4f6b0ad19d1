"""What the paper's figures show: methods by label and how they look, estimates of entropy, and where it has bars."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from journeyman.report.drawing import palette as colour
from journeyman.report.sweep.figure_data import DASH_DOTTED, DASHED, DOTTED, FigureOptions, Style

if TYPE_CHECKING:
    from pandas import DataFrame

STYLES = {
    "random": Style(colour.GREY, DOTTED),
    "action entropy": Style(colour.ORANGE, DASHED),
    "policy entropy": Style(colour.PINK, DASH_DOTTED),
    "ActiveVaR": Style(colour.GREEN, DASHED),
    "Reward-EIG": Style(colour.BLUE, "-"),
    "PAC-EIG": Style(colour.SKY, DASH_DOTTED),
    "nuPAC-EIG": Style(colour.VERMILLION, "-"),
    "expected_regret": Style(colour.WINE, DASHED),
    "regret_pac": Style(colour.BLACK, "-"),
    "optimal_action_value": Style(colour.INDIGO, DASH_DOTTED),
    "nuPAC-EIG joint": Style(colour.FOREST, "-"),
    "PAC-EIG joint": Style(colour.PURPLE, DASHED),
    "PAC-EIG (1/2, 1)": Style(colour.OLIVE, DASH_DOTTED),
    "PAC-EIG joint (1/2, 1)": Style(colour.BROWN, DOTTED),
    "nuPAC-EIG (0, 1)": Style(colour.TEAL, DASHED),
    "nuPAC-EIG joint (0, 1)": Style(colour.ROSE, DASH_DOTTED),
}
PAPER_METHODS = tuple(STYLES)[:7]  # the rest are other functions and forms
PAPER_TRAJECTORY_METHODS = ("random", "action entropy", "Reward-EIG", "PAC-EIG")
BASELINES = ("nuPAC-EIG", "PAC-EIG", "Reward-EIG", "random")  # the first that there is
PAPER_ESTIMATE = {"jail": "entropy_knn", "random-8x8": "entropy_knn", "random-10x10": "entropy_gaussian"}
BAR_WORLDS = ("random-10x10",)  # where the paper draws bars
ALL_ESTIMATES = ("entropy_evidence", "entropy_knn", "entropy_gaussian")


def paper_methods(query: str) -> tuple[str, ...]:
    """Return the methods that the paper has for a kind of query, given by its label."""
    return PAPER_TRAJECTORY_METHODS if query.startswith("trajectory") else PAPER_METHODS


def paper_estimates(table: "DataFrame") -> tuple[str, ...]:
    """Return columns of entropies: the paper's for the world of a table first."""
    published = PAPER_ESTIMATE.get(str(table["world_name"].iloc[0]), "entropy_knn")
    return (published, *ALL_ESTIMATES)


def paper_options(
    table: "DataFrame", methods: Sequence[str] | None = None, *, entropy: str = "evidence", **changes: Any
) -> FigureOptions:
    """Return how an experiment of the paper is drawn: with its references, its baseline, its styles, and its bars.

    Parameters
    ----------
    methods
        Which to show; default: all.
    entropy
        "evidence", or "paper" for its own estimate, which comes second otherwise.
    """
    present, estimates = set(table["method"]), paper_estimates(table)
    reference = [name for name in paper_methods(str(table["query"].iloc[0])) if name in present]
    options = FigureOptions(
        methods=methods,
        order=tuple(STYLES),
        baseline=next((name for name in BASELINES if name in present), None),
        reference=reference or None,
        entropy=estimates if entropy == "paper" else ("entropy_evidence", *estimates),
        has_bars=table["world_name"].iloc[0] in BAR_WORLDS,
        styles=STYLES,
    )
    return replace(options, **changes)
