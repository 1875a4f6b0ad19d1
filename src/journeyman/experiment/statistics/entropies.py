"""Which estimate of the posterior's entropy to show: the paper's for its worlds, or ours.

The paper takes nearest neighbours on the jail and on 8x8, and a Gaussian on 10x10. Both are biased in so many
dimensions, and the bias changes as the posterior narrows. The estimate from the evidence has none to speak of, but only
sequential Monte Carlo (and a sum over a discrete prior) gives it.
"""

from typing import TYPE_CHECKING

import numpy as np

from journeyman.errors import InputError
from journeyman.experiment.statistics.table import CELL, checked_table, numbers

if TYPE_CHECKING:
    from pandas import DataFrame

ESTIMATES = {
    "entropy_evidence": "from the evidence",
    "entropy_knn": "5 nearest neighbours",
    "entropy_gaussian": "Gaussian",
}
PAPER_ESTIMATE = {"jail": "entropy_knn", "random-8x8": "entropy_knn", "random-10x10": "entropy_gaussian"}


def entropy_column(table: "DataFrame", estimate: str = "evidence") -> str | None:
    """Return the column of entropies to show for one group of results.

    Parameters
    ----------
    table
        Rows of one world.
    estimate
        "evidence": ours, if every cell has it, else the paper's. "paper": the paper's for its worlds; nearest
        neighbours elsewhere.

    Returns
    -------
    A key of `ESTIMATES` that every cell has, at some step at least; None if there is no such column.
    """
    if estimate not in ("evidence", "paper"):
        raise InputError(f'estimate must be "evidence" or "paper", got {estimate!r}. Choose one of them.')
    table = checked_table(table, *ESTIMATES, "world_name")
    published = PAPER_ESTIMATE.get(str(table["world_name"].iloc[0]), "entropy_knn")
    wanted = [published] if estimate == "paper" else ["entropy_evidence", published]
    return next((column for column in [*wanted, *ESTIMATES] if _is_known(table, column)), None)


def _is_known(table: "DataFrame", column: str) -> bool:
    """Whether every cell has a finite value of a column."""
    is_finite = table[list(CELL)].assign(known=np.isfinite(numbers(table, column)))
    return bool(is_finite.groupby(list(CELL), observed=True)["known"].any().all())
