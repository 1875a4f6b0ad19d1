"""Which estimate of the posterior's entropy to show.

Nearest neighbours and a Gaussian fit are biased in many dimensions, and the bias changes as the posterior narrows. The
estimate from the evidence has none to speak of, but only sequential Monte Carlo and sums over a discrete prior give it.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from journeyman.checks import one_of
from journeyman.experiment.statistics.table import CELL, checked_table, numbers

if TYPE_CHECKING:
    from pandas import DataFrame

ESTIMATES = {
    "entropy_evidence": "from the evidence",
    "entropy_knn": "5 nearest neighbours",
    "entropy_gaussian": "Gaussian",
}


def entropy_column(table: "DataFrame", estimates: Sequence[str] = tuple(ESTIMATES)) -> str | None:
    """Return the first of some columns of entropies (keys of `ESTIMATES`) that every cell has, at some step at least.

    Default: all of them, the least biased first. None if there is no such column.
    """
    table = checked_table(table, *ESTIMATES)
    for column in estimates:
        one_of(column, ESTIMATES, "an estimate of entropy")
    return next((column for column in estimates if _is_known(table, column)), None)


def _is_known(table: "DataFrame", column: str) -> bool:
    """Whether every cell has a finite value of a column."""
    is_finite = table[list(CELL)].assign(known=np.isfinite(numbers(table, column)))
    return bool(is_finite.groupby(list(CELL), observed=True)["known"].any().all())
