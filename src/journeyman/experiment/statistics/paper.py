"""What the paper's figures show: its methods by label, and its estimates of entropy by world."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pandas import DataFrame

PAPER_METHODS = (
    "random",
    "action entropy",
    "policy entropy",
    "ActiveVaR",
    "Reward-EIG",
    "PAC-EIG",
    "nuPAC-EIG",
)
PAPER_TRAJECTORY_METHODS = ("random", "action entropy", "Reward-EIG", "PAC-EIG")
PAPER_ESTIMATE = {"jail": "entropy_knn", "random-8x8": "entropy_knn", "random-10x10": "entropy_gaussian"}


def paper_methods(query: str) -> tuple[str, ...]:
    """Return the methods that the paper has for a kind of query, given by its label."""
    return PAPER_TRAJECTORY_METHODS if query.startswith("trajectory") else PAPER_METHODS


def paper_estimates(table: "DataFrame", estimate: str = "paper") -> tuple[str, ...]:
    """Return columns for `entropy_column`: the paper's for the world of a table first, or second to the evidence."""
    published = PAPER_ESTIMATE.get(str(table["world_name"].iloc[0]), "entropy_knn")
    first = (published,) if estimate == "paper" else ("entropy_evidence", published)
    return (*first, "entropy_evidence", "entropy_knn", "entropy_gaussian")
