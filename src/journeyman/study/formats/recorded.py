"""What a table of steps says: which column means what, which rows belong together, and in which order they happened."""

import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property, partial
from typing import Any

import numpy as np

from journeyman.checks import nearest, one_of
from journeyman.demonstrations import ENDINGS, Demonstration
from journeyman.errors import InputError
from journeyman.mdp import FiniteMDP
from journeyman.mdp.names import whole_or_none
from journeyman.storage.tables import NO_INDEX, Table, is_missing
from journeyman.types import BoolArray, IntArray

ROLES = {
    "demonstration": "which rows belong together, with the annotator's; without it, those of one annotator do",
    "step": "whole number that counts the steps of a demonstration; a number that is left out is a gap",
    "time": "number or ISO time that puts the rows of a demonstration in order, with whatever distance",
    "state": "where it was, by label or number",
    "action": "what was done there, by label or number",
    "next_state": "where that led, by label or number; may stand in place of the action",
    "final_state": "where the demonstration ended, on its last row or on all",
    "ended": "how it ended: annotation, truncated or terminated",
    "query_id": "number of the question that it answers",
    "annotator": "who did it: person, animal, subject",
    "timestamp": "when, as ISO date and time; that of its first step counts",
}
MAX_NUMBER = 2**53  # of a state or an action where no problem is given
EXAMPLE = "Example: --columns state=node,action=move (in Python columns={'state': 'node', 'action': 'move'})"

IndexFn = Callable[[Any], int]


@dataclass(frozen=True)
class Recorded:
    """Rows of a table as numbers, each demonstration together and in order; `NO_INDEX` where a number is missing.

    Parameters
    ----------
    table
        Where they come from, its rows in this order.
    columns
        Column of each role that there is.
    demonstration
        `[n]` which demonstration each row belongs to, ascending.
    names
        What the table calls these demonstrations, or None.
    state, action, next_state, final_state, query_id
        `[n]` numbers.
    is_next
        `[n]` whether the row before is the step before, of the same demonstration.
    ended, annotator, timestamp
        `[n]` texts or None.
    num_moved
        How many rows stood before one that happened earlier.
    """

    table: Table
    columns: Mapping[str, str]
    demonstration: IntArray
    names: Sequence[Any]
    state: IntArray
    action: IntArray
    next_state: IntArray
    final_state: IntArray
    query_id: IntArray
    is_next: BoolArray
    ended: Sequence[str | None]
    annotator: Sequence[str | None]
    timestamp: Sequence[Any]
    num_moved: int = 0

    @cached_property
    def is_first(self) -> BoolArray:
        """`[n]` whether a row is the first of its demonstration."""
        is_first = np.ones(len(self.demonstration), dtype=bool)
        is_first[1:] = self.demonstration[1:] != self.demonstration[:-1]
        return is_first

    @cached_property
    def is_last(self) -> BoolArray:
        """`[n]` whether a row is the last of its demonstration."""
        return np.append(self.is_first[1:], True)[: len(self.is_first)]

    @property
    def is_sequence(self) -> bool:
        """Whether only states were recorded, one after the other, so that the next row says where a step led."""
        return "action" not in self.columns and self.columns.get("next_state", "") == self.columns.get("state")

    @property
    def ignored(self) -> tuple[str, ...]:
        """Columns that mean nothing here."""
        used = set(self.columns.values())
        return tuple(name for name in self.table.names if name not in used)


def column_map(table: Table, columns: Mapping[str, str | None] | None) -> dict[str, str]:
    """Return which column has which role: as said, and else columns that bear the name of a role.

    A role that is said to have no column ("" or None) is left out even if a column bears its name.
    """
    given = dict(columns or {})
    for role, column in given.items():
        if role not in ROLES:
            turned = f"Write {column}={role}." if column in ROLES else nearest(role, ROLES)
            raise InputError(
                f"columns must be given for what is known about steps, got {role!r}. "
                f"{turned or 'Known are ' + ', '.join(ROLES) + '.'} {EXAMPLE}"
            )
        if column and column not in table:
            if not table.names:
                raise InputError(f"{table.name} must be a table of steps, got an empty file. Check that it was saved.")
            hint = _separator_hint(table) or nearest(column, table.names) or EXAMPLE
            raise InputError(
                f"the column for {role} must be one of the table, got {column!r}; {table.name} has "
                f"{', '.join(table.names)}. {hint}"
            )
    chosen = {role: column for role, column in given.items() if column}
    for role, column in chosen.items():
        twin = next((other for other in chosen if chosen[other] == column and other != role), None)
        if twin is not None and {role, twin} != {"state", "next_state"}:  # these: the state of the next row
            raise InputError(f"a column must mean one thing, got {column!r} for {role} and {twin}. {EXAMPLE}")
    free = [role for role in ROLES if role not in given and role in table and role not in chosen.values()]
    found = {role: chosen.get(role, role) for role in ROLES if role in chosen or role in free}
    if "state" not in found or not {"action", "next_state"} & set(found):
        lacking = "state" if "state" not in found else "action (or next_state)"
        other = (
            ""
            if "state" not in found
            else (f", or where only states were recorded, one after the other, next_state={found['state']}")
        )
        hint = _separator_hint(table) or EXAMPLE
        raise InputError(
            f"a table of steps must have the columns state and action (or next_state), got "
            f"{', '.join(table.names) or 'none'} in {table.name}. Say which column is the {lacking}{other}. {hint}"
        )
    for column in found.values():
        table.check_has(column, what="a table of steps")
    return found


def _separator_hint(table: Table) -> str:
    """Return what to look at where a text has one column only: it hardly was meant so."""
    if len(table.names) != 1 or table.separator is None:
        return ""
    return (
        "Is it separated by a comma, semicolon or tab? No other separator is read. If it is, look for a quote that is "
        "never closed."
    )


def index_fns(mdp: FiniteMDP | None) -> tuple[IndexFn, IndexFn]:
    """Return what says which state and which action a name means; without a problem these are numbers."""
    if mdp is None:
        return _number_of("state"), _number_of("action")
    return mdp.state_names.index, mdp.action_names.index


def _number_of(kind: str) -> IndexFn:
    def index(name: Any) -> int:
        number = whole_or_none(name)
        if number is None or not 0 <= number <= MAX_NUMBER:
            raise InputError(
                f"{kind} must be a whole number from 0 where no problem is given, got {reprlib.repr(name)}. Give one."
            )
        return number

    return index


def read_recorded(
    table: Table, columns: Mapping[str, str | None] | None = None, mdp: FiniteMDP | None = None
) -> Recorded:
    """Read a table of steps; states and actions by label or number where the dynamics are given, else by number."""
    found = column_map(table, columns)
    state_index, action_index = index_fns(mdp)
    is_sequence = found.get("next_state") == found["state"]
    annotator = [_text(value) for value in _values(table, found, "annotator")]
    if "annotator" in found:
        table = replace(table, notes=[f"subject {name}" if name else "" for name in annotator])

    def indices(role: str, index_fn: IndexFn) -> IntArray:
        if role not in found or (role == "next_state" and is_sequence):
            return np.full(len(table), NO_INDEX, dtype=np.int64)
        return table.indices(found[role], index_fn, may_miss=True)

    ended = _endings(table, found)
    demonstration, names = _demonstrations(table, found, annotator)
    order, is_next, num_moved = _order(table, found, demonstration, names)
    timestamp = _values(table, found, "timestamp")
    state, next_state = indices("state", state_index)[order], indices("next_state", state_index)[order]
    if is_sequence:
        next_state[:-1] = np.where(is_next[1:], state[1:], NO_INDEX)
    return Recorded(
        table=_in_order(table, order),
        columns=found,
        demonstration=demonstration[order],
        names=names,
        state=state,
        action=indices("action", action_index)[order],
        next_state=next_state,
        final_state=indices("final_state", state_index)[order],
        query_id=indices("query_id", _number_of("query_id"))[order],
        is_next=is_next,
        ended=[ended[row] for row in order],
        annotator=[annotator[row] for row in order],
        timestamp=[timestamp[row] for row in order],
        num_moved=num_moved,
    )


def _values(table: Table, found: Mapping[str, str], role: str) -> Sequence[Any]:
    return table.values(found[role]) if role in found else [None] * len(table)


def _text(value: Any) -> str | None:
    """Return a name as text; "NA" may be one. A whole number is one that beside missing values became 1.0."""
    if isinstance(value, str):
        return value.strip() or None
    if is_missing(value):
        return None
    number = whole_or_none(value)
    return str(value if number is None else number)


def _endings(table: Table, found: Mapping[str, str]) -> list[str | None]:
    ended: list[str | None] = []
    for row, value in enumerate(_values(table, found, "ended")):
        if is_missing(value):
            ended.append(None)
            continue
        word = str(value).strip()
        if word not in ENDINGS:
            try:
                one_of(word, ENDINGS, "ended", "Leave it empty if it is not known.")
            except InputError as error:
                raise InputError(f"{table.place(row, found['ended'])}: {error}") from None
        ended.append(word)
    return ended


def _demonstrations(
    table: Table, found: Mapping[str, str], annotator: Sequence[str | None]
) -> tuple[IntArray, Sequence[Any]]:
    """Return which demonstration each row belongs to, numbered as they come, and what they are called."""
    given = _values(table, found, "demonstration")
    numbers: dict[tuple[str | None, Any], int] = {}
    owners: dict[Any, str | None] = {}
    demonstration = np.empty(len(table), dtype=np.int64)
    for row, (who, value) in enumerate(zip(annotator, given, strict=True)):
        if "demonstration" in found:
            if is_missing(value):
                raise InputError(
                    f"every row must say which demonstration it belongs to, got nothing ({value!r}) at "
                    f"{table.place(row, found['demonstration'])}. Fill it in, or leave this column out: --columns "
                    "demonstration="
                )
            if (owner := owners.setdefault(value, who)) != who and None in (owner, who):
                raise InputError(
                    f"an annotator must stand on all rows of a demonstration or on none, got {who or 'nothing'} at "
                    f"{table.place(row)} where demonstration {value} has {owner or 'nothing'} before. Fill it in."
                )
        demonstration[row] = numbers.setdefault((who, value), len(numbers))
    return demonstration, [value for _, value in numbers]


def _order(
    table: Table, found: Mapping[str, str], demonstration: IntArray, names: Sequence[Any]
) -> tuple[IntArray, BoolArray, int]:
    """Return the rows in order, whether each continues the one before, and how many were moved for that."""
    is_same = np.zeros(len(table), dtype=bool)
    key = _steps(table, found) if "step" in found else _times(table, found) if "time" in found else None
    if key is None:
        is_same[1:] = demonstration[1:] == demonstration[:-1]
        _check_together(table, found, demonstration, is_same, names)
        return np.arange(len(table)), is_same, 0
    order = np.lexsort((np.arange(len(table)), key, demonstration))
    before = np.lexsort((np.arange(len(table)), demonstration))
    later, earlier = order[1:], order[:-1]
    is_same[1:] = demonstration[later] == demonstration[earlier]
    if "step" in found:
        distance = np.zeros(len(table))
        distance[1:] = key[later] - key[earlier]
        _check_steps(table, found["step"], order, is_same, distance, key)
        is_same &= distance == 1
    in_file = key[before]
    num_moved = int(((in_file[1:] < in_file[:-1]) & (demonstration[before][1:] == demonstration[before][:-1])).sum())
    return order, is_same, num_moved


def _check_together(
    table: Table, found: Mapping[str, str], demonstration: IntArray, is_same: BoolArray, names: Sequence[Any]
) -> None:
    """Refuse demonstrations whose rows are mixed, unless something says in which order they happened."""
    begins = np.flatnonzero(~is_same)
    _, first = np.unique(demonstration[begins], return_index=True)
    again = np.setdiff1d(np.arange(len(begins)), first)
    if again.size:
        row = int(begins[again[0]])
        name = names[demonstration[row]]
        what = f"demonstration {name}" if "demonstration" in found else "one annotator"
        raise InputError(
            f"rows of {what} must stand together, got {table.place(row)} after rows of another. Sort the table, or "
            "name a column that says in which order they happened: --columns step=NAME or time=NAME."
        )


def _steps(table: Table, found: Mapping[str, str]) -> Any:
    steps = table.numbers(found["step"])
    wrong = np.flatnonzero(steps != np.floor(steps))  # NaN is refused by `numbers`
    if wrong.size:
        row = int(wrong[0])
        raise InputError(
            f"{found['step']} must be a whole number that counts steps, got {steps[row]:g} at {table.place(row)}. If "
            f"it is a time, say --columns step=,time={found['step']}."
        )
    return steps


def _check_steps(table: Table, column: str, order: IntArray, is_same: BoolArray, distance: Any, steps: Any) -> None:
    """Refuse a step that is there twice, and numbers that do not count by one."""
    twice = np.flatnonzero(is_same & (distance == 0))
    if twice.size:
        one, other = (int(order[place]) for place in (twice[0] - 1, twice[0]))
        raise InputError(
            f"each step of a demonstration must be there once, got {column} {steps[other]:g} at {table.place(one)} and "
            f"at {table.unit} {table.lines[other]}. Name the column that tells demonstrations apart: --columns "
            "demonstration=NAME."
        )
    if is_same.sum() > 1 and not (is_same & (distance == 1)).any():
        place = int(np.flatnonzero(is_same)[0])
        raise InputError(
            f"{column} must count steps by one, got {steps[order[place - 1]]:g} and then {steps[order[place]]:g} at "
            f"{table.place(int(order[place]))}, and no two steps in a row. If it is a time, say --columns "
            f"step=,time={column}."
        )


def _times(table: Table, found: Mapping[str, str]) -> Any:
    """Return times as numbers that have their order; texts must be ISO times."""
    column = found["time"]
    values = table.values(column)
    if not all(isinstance(value, str) and len(value.strip()) > 4 and "-" in value.strip()[1:] for value in values):
        numbers = table.numbers(column)
        for row in np.flatnonzero(np.isnan(numbers))[:1]:
            raise InputError(f"{column} must be a time, got nothing (nan) at {table.place(int(row))}. Fill it in.")
        return numbers
    times = [parsed_time(value, partial(table.place, row, column)) for row, value in enumerate(values)]
    try:
        ranks = {time: rank for rank, time in enumerate(sorted(set(times)))}
    except TypeError:
        raise InputError(
            f"times must all have a time zone or none of them, got both in column {column} of {table.name}. Write them "
            "alike."
        ) from None
    return np.array([ranks[time] for time in times], dtype=np.float64)


def parsed_time(value: Any, place_fn: Callable[[], str]) -> datetime:
    """Return an ISO time as a datetime, or say where it is not one."""
    if isinstance(value, datetime):
        return value.to_pydatetime() if hasattr(value, "to_pydatetime") else value
    try:
        return datetime.fromisoformat(value.strip())
    except (AttributeError, ValueError):
        raise InputError(
            f"a timestamp must be in ISO format, got {value!r} at {place_fn()}. Example: 2026-03-01T14:30:00+00:00. Or "
            "leave the column out: --columns timestamp="
        ) from None


def _in_order(table: Table, order: IntArray) -> Table:
    """Return the places of a table's rows in another order."""
    lines = [table.lines[row] for row in order]
    return replace(table, lines=lines, notes=None if table.notes is None else [table.notes[row] for row in order])


# Demonstrations that are written as such, not as rows of a table.


def recorded_demonstrations(
    name: str, items: Iterable[tuple[int, Mapping[str, Any]]], mdp: FiniteMDP | None = None, *, unit: str = "line"
) -> Recorded:
    """Return what records of demonstrations (as `Demonstration.to_record` gives them) say, row by row.

    Parameters
    ----------
    items
        Where each stands, and the record. States and actions are numbers, or labels where dynamics are given.
    unit
        What places count.
    """
    rows: list[dict[str, Any]] = []
    lines: list[int] = []
    notes: list[str] = []
    for number, (line, record) in enumerate(items):
        try:
            found = _rows_of_record(record, mdp)
        except InputError as error:
            raise InputError(
                f"each {unit} of {name} must be a demonstration, got {reprlib.repr(record)} at {unit} {line}: {error}"
            ) from None
        who = record.get("annotator")
        for step, row in enumerate(found):
            rows.append({"demonstration": number, **row})
            lines.append(line)
            notes.append(f"step {step}" + (f", subject {who}" if who else ""))
    table = Table(name, {}, lines, unit, notes=notes)

    def column(role: str) -> IntArray:
        return np.array([NO_INDEX if row[role] is None else row[role] for row in rows], dtype=np.int64).reshape(-1)

    demonstration = column("demonstration")
    is_next = np.zeros(len(rows), dtype=bool)
    is_next[1:] = demonstration[1:] == demonstration[:-1]
    return Recorded(
        table=table,
        columns={},
        demonstration=demonstration,
        names=range(int(demonstration[-1]) + 1 if rows else 0),
        state=column("state"),
        action=column("action"),
        next_state=np.full(len(rows), NO_INDEX, dtype=np.int64),
        final_state=column("final_state"),
        query_id=column("query_id"),
        is_next=is_next,
        ended=[row["ended"] for row in rows],
        annotator=[row["annotator"] for row in rows],
        timestamp=[row["timestamp"] for row in rows],
    )


def _rows_of_record(record: Any, mdp: FiniteMDP | None) -> list[dict[str, Any]]:
    known = Demonstration.__dataclass_fields__
    if not isinstance(record, Mapping) or not {"start_state", "steps"} <= set(record) <= set(known):
        raise InputError(
            f"a demonstration must have start_state and steps, and only {', '.join(known)}. Add or remove keys to "
            "match."
        )
    sizes = (None, None) if mdp is None else (mdp.num_states, mdp.num_actions)
    state_index, action_index = map(_of_record, index_fns(mdp), sizes)
    try:
        pairs = [(state, action) for state, action in record["steps"]]
    except (TypeError, ValueError):
        raise InputError(
            f"steps must be (state, action) pairs, got {reprlib.repr(record['steps'])}. Give a list of such pairs."
        ) from None
    start = state_index(record["start_state"])
    steps = [(state_index(state), action_index(action)) for state, action in pairs] or [(start, None)]
    if steps[0][0] is not None and steps[0][0] != start:
        raise InputError(
            f"the first step must be at the start state {record['start_state']}, got state {pairs[0][0]}. Start where "
            "the steps do."
        )
    if record.get("ended") is not None:
        one_of(record["ended"], ENDINGS, "ended", "Say how it ended.")
    if isinstance(record.get("timestamp"), str):
        parsed_time(record["timestamp"], lambda: "its end")
    who = record.get("annotator")
    if who is not None and not isinstance(who, str):
        raise InputError(f"an annotator must be a name, got {reprlib.repr(who)}. Write it in quotes.")
    shared = {
        "final_state": state_index(record.get("final_state")),
        "query_id": None if record.get("query_id") is None else _number_of("query_id")(record["query_id"]),
        "ended": record.get("ended"),
        "annotator": who,
        "timestamp": record.get("timestamp"),
    }
    return [{"state": state, "action": action, **shared} for state, action in steps]


def _of_record(index_fn: IndexFn, size: int | None) -> Callable[[Any], int | None]:
    """Return what reads a name in a record: whole numbers are numbers there, whatever labels look like."""

    def index(name: Any) -> int | None:
        if (
            isinstance(name, int)
            and not isinstance(name, bool)
            and 0 <= name <= MAX_NUMBER
            and (size is None or name < size)
        ):
            return name
        try:
            return index_fn(name)
        except InputError:
            if is_missing(name):
                return None
            raise

    return index
