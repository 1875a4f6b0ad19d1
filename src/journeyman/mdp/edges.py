"""Edge tables: one line per (state, action, next_state, probability), as CSV, Parquet or DataFrame.

States and actions are named by label or by number. Where labels are given, they say which state a name means. Where
none are given, a table of numbers counts states from 0, and a table of words brings its own labels: states in the order
of the column `state`, then those that occur only in `next_state`; actions in the order of their column. A column that
mixes words and numbers needs given labels: nobody could tell whether 3 is a label or counts states.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from journeyman.errors import InputError
from journeyman.mdp.names import Names, whole_or_none
from journeyman.mdp.rows import Rows, checked_counts, index_column, rows_from_columns
from journeyman.mdp.validation import ROW_SUM_TOLERANCE, checked_available, checked_labels, row_sums
from journeyman.storage.tables import Table, is_missing, read_table
from journeyman.types import BoolArray, FloatArray, IntArray
from journeyman.wording import listed

COLUMNS = ("state", "action", "next_state", "probability")
COLUMNS_OF = {"state": ("state", "next_state"), "action": ("action",)}
WHAT = "an edge table"
MAX_ROWS_PER_LINE = 10_000  # more states and actions than this, for the lines there are, come from a wrong number
MAX_LINES_NAMED = 4

Labels = tuple[str, ...] | None


@dataclass(frozen=True, eq=False)
class EdgeTable:
    """The rows of an edge table with the labels of its states and actions, and where each edge stands.

    state, action: `[lines]` of the table, in its order.
    """

    rows: Rows
    state_labels: Labels
    action_labels: Labels
    table: Table
    state: IntArray
    action: IntArray
    next_state: IntArray

    def name(self, state: int, action: int) -> str:
        """Name a state and an action by their labels, or numbers."""
        return f"state {_quoted(state, self.state_labels)}, action {_quoted(action, self.action_labels)}"

    def place(self, lines: Sequence[int]) -> str:
        """Say where some of the edges stand: "lines 2 and 5 of edges.csv"."""
        numbers = [str(self.table.lines[i]) for i in lines]
        shown = [*numbers[:MAX_LINES_NAMED], *(["..."] if len(numbers) > MAX_LINES_NAMED else [])]
        unit = self.table.unit if len(numbers) == 1 else {"line": "lines", "entry": "entries"}[self.table.unit]
        return f"{unit} {listed(shown)} of {self.table.name}"

    def check_no_action_is_left_out(self, advice: str) -> None:
        """Refuse a state where some actions have edges and others none: nobody said what the others do."""
        has_edges = edges_exist(self.rows)
        left_out = has_edges.any(axis=1, keepdims=True) & ~has_edges
        if left_out.any():
            state, action = (int(i) for i in np.argwhere(left_out)[0])
            others = self.place(np.flatnonzero(self.state == state).tolist())
            raise InputError(
                "an edge table must have edges for every action of a state that is not terminal, got none at "
                f"{self.name(state, action)} (others of that state at {others}). Add them, or say {advice}."
            )

    def check_sums(
        self, missing_mass: str = "error", available: ArrayLike | None = None, saying: str = "missing_mass='terminates'"
    ) -> None:
        """Refuse actions whose chances do not sum to 1, or with missing_mass "terminates" to at most 1, with lines.

        `saying`: how one says that the rest ends the episode.
        """
        shape = (self.rows.num_states, self.rows.num_actions)
        sums = row_sums(self.rows).reshape(shape)
        is_wrong = sums > 1.0 + ROW_SUM_TOLERANCE
        if missing_mass == "error":
            is_wrong |= (sums < 1.0 - ROW_SUM_TOLERANCE) & edges_exist(self.rows)
        is_wrong &= checked_available(available, *shape)
        if not is_wrong.any():
            return
        state, action = (int(i) for i in np.argwhere(is_wrong)[0])
        lines = np.flatnonzero((self.state == state) & (self.action == action))
        rule = "1" if missing_mass == "error" else "at most 1"
        raise InputError(
            f"transitions must sum to {rule} over next states, got {sums[state, action]:.9g} at "
            f"{self.name(state, action)} ({self.place(lines.tolist())}). "
            f"{self._advice(lines, float(sums[state, action]), saying)}"
        )

    def _advice(self, lines: IntArray, total: float, saying: str) -> str:
        """Say what would help where the chances on these lines sum to something else than 1."""
        if total < 1.0:
            return (
                f"Add the line that is missing, divide these chances by their sum, or say {saying} if the rest is the "
                "chance that the episode ends."
            )
        first: dict[int, int] = {}
        repeated = [int(i) for i in lines if first.setdefault(int(self.next_state[i]), int(i)) != i]
        if repeated:
            other = repeated[0]
            target = int(self.next_state[other])
            what = f"next state {_quoted(target, self.state_labels)}"
            where = self.place([other])
            return (
                f"{where[0].upper()}{where[1:]} repeats {what} of {self.table.unit} "
                f"{self.table.lines[first[target]]}, and repeated lines add up: remove it."
            )
        return "Divide these chances by their sum, or remove the line that does not belong there."


def edges_exist(rows: Rows) -> BoolArray:
    """Return `[S, A]` which actions have edges."""
    return np.asarray(np.diff(rows.indptr) > 0).reshape(rows.num_states, rows.num_actions)


def read_edges(
    edges: Any,
    num_states: int | None = None,
    num_actions: int | None = None,
    state_labels: Any = None,
    action_labels: Any = None,
) -> EdgeTable:
    """Read an edge table: a path to a CSV, TSV, JSON or Parquet file, a DataFrame, or a mapping of columns.

    States that only occur as `next_state` have no outgoing edges: they are terminal. Where the counts
    are not given, they are those of the labels, or one more than the largest number that occurs. Other columns are
    ignored.
    """
    if isinstance(edges, str | Path) and not _is_file(Path(edges)):
        raise InputError(f"the edge table must be an existing file, got {str(edges)!r}. Check the path.")
    table = read_table(edges, what=WHAT)
    table.check_has(*COLUMNS, what=WHAT)
    if not len(table):
        raise InputError(f"an edge table must have at least one line, got an empty one in {table.name}. Fill it in.")
    states = _names(table, "state", num_states, state_labels)
    actions = _names(table, "action", num_actions, action_labels)
    is_counted = (num_states is None and not states.labels) or (num_actions is None and not actions.labels)
    checked_counts(states.size, actions.size)
    if is_counted and states.size * actions.size > max(10**6, MAX_ROWS_PER_LINE * len(table)):
        raise InputError(
            f"states and actions must be numbered from 0 without wide gaps, got {states.size} states and "
            f"{actions.size} actions from {len(table)} lines of {table.name}. Say num_states and num_actions if this "
            "is meant."
        )
    state, next_state = (_column(table, name, states) for name in COLUMNS_OF["state"])
    action = _column(table, "action", actions)
    probability = _chances(table)
    rows = rows_from_columns(states.size, actions.size, state, action, next_state, probability)
    return EdgeTable(rows, states.labels, actions.labels, table, state, action, next_state)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except ValueError:  # a NUL in its name
        return False


def _chances(table: Table) -> FloatArray:
    chances = table.numbers("probability")
    is_wrong = ~((chances >= 0.0) & (chances <= 1.0 + ROW_SUM_TOLERANCE))
    if is_wrong.any():
        row = int(np.argmax(is_wrong))
        raise InputError(
            f"transition probabilities must lie in 0..1, got {chances[row]:g} at {table.place(row)}. Write 0.5 for "
            "50 %."
        )
    return chances


def _column(table: Table, name: str, names: Names) -> IntArray:
    """Return which states or actions a column means."""
    column = table.columns[name]
    if not names.labels and isinstance(column, np.ndarray) and column.dtype.kind in "iuf":  # no need to look at each
        return index_column(column, name, names.size, lambda row: table.place(row))
    return table.indices(name, names.index)


def _names(table: Table, kind: str, size: int | None, labels: Any) -> Names:
    """Return what states or actions of a table are called: given labels, numbers, or the words of the table itself."""
    columns = COLUMNS_OF[kind]
    if labels is not None:
        given = tuple(labels) if size is None and not isinstance(labels, str) else labels
        words = checked_labels(given, len(given) if size is None else size, f"{kind}_labels")
        return Names(kind, len(words or ()), words)
    numbers = [_whole_column(table, name) for name in columns]
    if all(found is not None for found in numbers):
        largest = max((float(found.max()) for found in numbers if found is not None), default=0.0)
        return Names(kind, max(1, 1 + int(largest)) if size is None else size)
    words = _collected(table, kind)
    if size is not None and size != len(words):
        raise InputError(
            f"the labels of an edge table must be as many as num_{kind}s says, {size}, got {len(words)} in "
            f"{table.name}: {_shown(words)}. Give all the labels, or leave num_{kind}s out."
        )
    return Names(kind, len(words), words)


def _whole_column(table: Table, name: str) -> FloatArray | None:
    """Return a column of numbers, or None if there are words in it; what is missing is refused."""
    column = table.columns[name]
    if isinstance(column, np.ndarray) and column.dtype.kind in "iuf":
        is_whole = np.isfinite(column) & (column == np.floor(column))
        if not is_whole.all():
            row = int(np.argmin(is_whole))
            _check_named(table, name, row, column[row].item())
        return column.astype(np.float64)
    distinct: dict[Any, int] = {}
    for row, value in enumerate(table.values(name)):
        if not isinstance(value, str | Real):
            _check_named(table, name, row, value)
        elif value not in distinct:
            _check_named(table, name, row, value)
            distinct[value] = row
    numbers = {row: whole_or_none(value) for value, row in distinct.items()}
    word = next((row for row, number in numbers.items() if number is None), None)
    number = next((row for row, number in numbers.items() if number is not None), None)
    if word is not None and number is not None:
        raise InputError(
            f"column {name} must hold labels, or numbers from 0, got both: {table.values(name)[word]!r} at "
            f"{table.place(word)} and {table.values(name)[number]!r} at {table.place(number)}. Correct the one that is "
            "wrong; if numbers are labels here, give the labels of all in their order."
        )
    return None if number is None else np.array(list(numbers.values()), dtype=np.float64)


def _collected(table: Table, kind: str) -> tuple[str, ...]:
    """Return the words that name states or actions, in the order in which they occur."""
    columns = COLUMNS_OF[kind]
    for name in columns:
        if _whole_column(table, name) is not None:
            other = next(column for column in columns if column != name)
            raise InputError(
                f"columns {' and '.join(columns)} must both hold labels, or both numbers, got "
                f"{table.values(name)[0]!r} in {name} and {table.values(other)[0]!r} in {other} of {table.name}. Give "
                "the labels of all states in their order."
            )
    words = tuple(dict.fromkeys(str(value).strip() for value in chain(*(table.values(name) for name in columns))))
    same: dict[str, str] = {}
    for word in words:
        if same.setdefault(word.casefold(), word) != word:
            raise InputError(
                f"labels that a table brings must differ by more than capital letters, got {same[word.casefold()]!r} "
                f"and {word!r} in {table.name}. Write them alike, or give the labels of all {kind}s if both are meant."
            )
    return words


def _check_named(table: Table, name: str, row: int, value: Any) -> None:
    if is_missing(value):
        raise InputError(
            f"column {name} must name something, got nothing ({value!r}) at {table.place(row)}. Fill it in."
        )
    if not isinstance(value, str) and whole_or_none(value) is None:
        raise InputError(
            f"column {name} must hold labels, or whole numbers from 0, got {value!r} at {table.place(row)}. Change it."
        )


def _quoted(index: int, labels: Labels) -> str:
    return repr(labels[index]) if labels else str(index)


def _shown(words: Sequence[str]) -> str:
    return ", ".join(words[:8]) + (" ..." if len(words) > 8 else "")
