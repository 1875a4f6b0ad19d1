"""What a figure of one group of results is about: its title, its methods, and which of them it is measured by."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from journeyman.errors import InputError
from journeyman.experiment.statistics.entropies import ESTIMATES
from journeyman.experiment.statistics.paper import PAPER_METHODS, paper_methods
from journeyman.experiment.statistics.regret import normalised_regret
from journeyman.experiment.statistics.table import (
    CELL,
    Group,
    checked_methods,
    checked_table,
    groups,
    method_names,
    numbers,
    with_methods,
)
from journeyman.report.sweep.styles import Style, method_styles, ordered_methods
from journeyman.wording import counted

if TYPE_CHECKING:
    from pandas import DataFrame

BASELINES = ("nuPAC-EIG", "PAC-EIG", "Reward-EIG", "random")
EPSILON, DELTA = 0.1, 0.1


class FigureData(NamedTuple):
    """Results of one group and the methods that a figure shows, in the order of its legend."""

    group: Group
    table: "DataFrame"
    methods: tuple[str, ...]
    styles: dict[str, Style]

    @property
    def title(self) -> str:
        """World, kind of query and inference method in words."""
        return f"{self.group.world}, {query_words(self.group.query)}, {self.group.inference}"

    @property
    def num_instances(self) -> dict[str, int]:
        """On how many instances each method was run."""
        cells = self.table[list(CELL)].drop_duplicates()
        return {method: int((cells["method"] == method).sum()) for method in self.methods}

    def num_known(self, column: str) -> int:
        """Return on how many instances some method has some value of a column."""
        return int(self.table.loc[self.table[column].notna(), "seed"].nunique())

    def num_infinite(self, column: str) -> int:
        """Return on how many instances some method has an infinite value of a column."""
        return int(self.table.loc[np.isinf(numbers(self.table, column)), "seed"].nunique())

    @property
    def last_step(self) -> int:
        """The last step of any cell."""
        return int(self.table["step"].max())

    def instances_words(self) -> str:
        """Return how many instances there are: "16 instances", "12 to 16 instances per method"."""
        low, high = min(self.num_instances.values()), max(self.num_instances.values())
        return counted(high, "instance") if low == high else f"{low} to {high} instances per method"

    def labels(self) -> dict[str, str]:
        """Return what a legend calls each method; with its number of instances where these differ."""
        counts = self.num_instances
        if len(set(counts.values())) == 1:
            return {name: name for name in self.methods}
        return {name: f"{name} (n = {counts[name]})" for name in self.methods}


def figure_data(table: "DataFrame", methods: Sequence[str] | None = None) -> FigureData:
    """Return the part of a table that a figure shows, if it is of one group.

    Styles are given out among all methods of the table, so that figures of some of them agree with each other.
    """
    table = checked_table(table)
    found = [group for group, _ in groups(table)]
    if len(found) > 1:
        names = "; ".join(", ".join(group) for group in found[:3])
        raise InputError(
            f"a figure must be of one world, kind of query and inference method, got {len(found)}: {names}. "
            "Choose the rows of one of them, or use sweep_figures for all."
        )
    chosen = ordered_methods(checked_methods(table, methods))
    styles = method_styles(method_names(table, PAPER_METHODS))
    part = with_methods(table, chosen)
    return FigureData(found[0], part, chosen, {name: styles[name] for name in chosen})


def with_normalised_regret(table: "DataFrame", reference: Sequence[str] | None) -> "DataFrame":
    """Return the results of one group with a column `normalised_regret`; see `reference_methods` for the default."""
    table = figure_data(table).table
    return table.assign(normalised_regret=normalised_regret(table, reference or reference_methods(table)))


def no_entropy_words(table: "DataFrame") -> str:
    """Return why there is no entropy to show: nobody looked, or no estimate could be made for all cells."""
    return "not measured" if table[list(ESTIMATES)].isna().all(axis=None) else "the samples give no estimate"


def no_regret_words(shown: FigureData) -> str:
    """Return why there is no mean of normalised regret to show."""
    if shown.table["true_regret"].isna().all():
        return "not measured"
    return "infinite for every method" if shown.num_infinite("normalised_regret") else "no instance is complete yet"


def query_words(query: str) -> str:
    """Return a kind of query in words, from its label."""
    kind, _, length = query.partition("-")
    if kind == "trajectory":
        return f"trajectories of up to {length} steps" if length else "trajectories"
    return "single annotations" if query == "state" else query


def reference_methods(table: "DataFrame") -> tuple[str, ...]:
    """Return the methods of one group that regret is normalised by: the paper's, or all if there is none of them."""
    present, published = method_names(table, PAPER_METHODS), paper_methods(str(table["query"].iloc[0]))
    return tuple(name for name in present if name in published) or present


def default_baseline(methods: Sequence[str]) -> str:
    """Return the method that others are compared with: the paper's best if it is there."""
    return next((name for name in BASELINES if name in methods), methods[0])
