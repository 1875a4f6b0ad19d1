"""What the paper's figures show: methods by label and how they look, estimates of entropy, and where it has bars."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from journeyman.report.sweep.figure_data import DASH_DOTTED, DASHED, DOTTED, FigureOptions, Style

if TYPE_CHECKING:
    from pandas import DataFrame

STYLES = {
    "random": Style("#7f7f7f", DOTTED),
    "action entropy": Style("#e69f00", DASHED),
    "policy entropy": Style("#cc79a7", DASH_DOTTED),
    "ActiveVaR": Style("#009e73", DASHED),
    "Reward-EIG": Style("#0072b2", "-"),
    "PAC-EIG": Style("#56b4e9", DASH_DOTTED),
    "nuPAC-EIG": Style("#d55e00", "-"),
    "expected_regret": Style("#882255", DASHED),
    "regret_pac": Style("#000000", "-"),
    "optimal_action_value": Style("#332288", DASH_DOTTED),
    "nuPAC-EIG joint": Style("#117733", "-"),
    "PAC-EIG joint": Style("#aa4499", DASHED),
    "PAC-EIG (1/2, 1)": Style("#999933", DASH_DOTTED),
    "PAC-EIG joint (1/2, 1)": Style("#661100", DOTTED),
    "nuPAC-EIG (0, 1)": Style("#44aa99", DASHED),
    "nuPAC-EIG joint (0, 1)": Style("#cc6677", DASH_DOTTED),
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
