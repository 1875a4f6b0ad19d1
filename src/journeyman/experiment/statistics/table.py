"""The tidy table of results: its key columns, and the checks that every statistic begins with.

A *group* is what is compared on its own: one world, one kind of query, one inference method. An *instance* is a seed in
a group: the same world and the same expert for every method. A *cell* is one method on one instance.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from journeyman.errors import InputError
from journeyman.types import FloatArray

if TYPE_CHECKING:
    from pandas import DataFrame

GROUP = ("world", "query", "inference")
LINE = (*GROUP, "method")
INSTANCE = (*GROUP, "seed")
CELL = (*GROUP, "method", "seed")


class Group(NamedTuple):
    """Labels of a world, a kind of query and an inference method."""

    world: str
    query: str
    inference: str


def checked_table(table: "DataFrame", *columns: str) -> "DataFrame":
    """Return a table of results if it has rows, the key columns and `columns`, and each cell has each step once."""
    for column in (*CELL, "step", *columns):
        if column not in table.columns:
            raise InputError(
                f"a table of results must have the column {column!r}, got {', '.join(map(str, table.columns))}. "
                "Make it with `journeyman sweep table`."
            )
    if table.empty:
        raise InputError("a table of results must have at least one row, got none. Run the sweep first.")
    keys = [*CELL, "step"]
    is_repeated = table.duplicated(keys).to_numpy()
    if is_repeated.any():
        first = table.loc[is_repeated, keys].iloc[0]
        where = ", ".join(f"{key} {first[key]}" for key in keys)
        raise InputError(
            f"a table of results must hold each step of a cell once, got a second row for {where}. "
            "Choose the rows of one sweep first, or give its worlds and methods labels of their own."
        )
    return table


def numbers(table: "DataFrame", column: str) -> FloatArray:
    """Return a column `[rows]` as floats: NaN where it is missing, 1 and 0 for truth values."""
    values: FloatArray = table[column].to_numpy(dtype=np.float64, na_value=np.nan)
    return values


def by_step(table: "DataFrame", column: str) -> "DataFrame":
    """Return a column as one row per cell and one column per step, both sorted; NaN where it is missing."""
    narrow = table[[*CELL, "step"]].assign(value=numbers(table, column))
    return narrow.pivot(index=list(CELL), columns="step", values="value").sort_index().sort_index(axis=1)


def groups(table: "DataFrame") -> Iterator[tuple[Group, "DataFrame"]]:
    """Yield the groups of a table with their rows, sorted by label."""
    for labels, part in table.groupby(list(GROUP), sort=True, observed=True):
        yield Group(*map(str, labels)), part


def method_names(table: "DataFrame", first: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the methods of a table by name, but those of `first` before the others, in their order."""
    present = set(table["method"].unique())
    known = [name for name in first if name in present]
    return (*known, *sorted(present.difference(known)))


def checked_methods(table: "DataFrame", methods: Sequence[str] | None, what: str = "methods") -> tuple[str, ...]:
    """Return `methods` if they all occur in the table; all of the table by default. `what` they are, for errors."""
    present = method_names(table)
    if methods is None:
        return present
    if isinstance(methods, str) or not methods:
        raise InputError(f"{what} must be a list of at least one name, got {methods!r}. Put it in brackets.")
    for method in methods:
        if method not in present:
            raise InputError(f"{what} must be in the table, got {method!r}. It has: {', '.join(present)}.")
    return tuple(dict.fromkeys(methods))


def with_methods(table: "DataFrame", methods: Iterable[str]) -> "DataFrame":
    """Return the rows of some methods."""
    return table[table["method"].isin(list(methods))]


def common_instances(table: "DataFrame", methods: Sequence[str] | None = None) -> "DataFrame":
    """Return the rows of `methods` on those instances that all of them have met.

    A method that a group lacks altogether is not asked for there: trajectories have fewer methods than annotations.
    """
    table = checked_table(table)
    chosen = with_methods(table, checked_methods(table, methods))
    num_here = chosen.groupby(list(INSTANCE), observed=True)["method"].transform("nunique")
    num_in_group = chosen.groupby(list(GROUP), observed=True)["method"].transform("nunique")
    return chosen[num_here == num_in_group]
