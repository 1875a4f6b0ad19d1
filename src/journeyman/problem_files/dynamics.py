"""The dynamics of a problem file: its [transitions], [states], [actions] and [grid], and the discount."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from journeyman.checks import real_number
from journeyman.errors import InputError
from journeyman.mdp import FiniteMDP, Grid, validation
from journeyman.mdp.edges import check_no_action_is_left_out, rows_from_edges
from journeyman.mdp.rows import Rows, rows_from_dense
from journeyman.mdp.validation import checked_discount
from journeyman.problem_files.tables import ROOT, TomlFile, TomlTable
from journeyman.types import BoolArray, FloatArray

LAYOUT_EXAMPLE = 'layout = ["..G", ".#."]'
TRANSITION_KEYS = ("file", "layout", "num_states", "num_actions", "missing_actions", "missing_mass")
MISSING_ACTIONS = ("error", "unavailable", "terminates")
EXAMPLE = 'file = "transitions.csv"'


def grid_of(table: TomlTable) -> Grid | None:
    """Return the grid that the table describes: drawn as lines of text, or by rows, columns and cells."""
    if not table.data:
        return None
    moves, kinds = table.data.get("moves"), table.data.get("kinds")
    if "layout" in table:
        table.check_left_out(("rows", "columns", "cells"), "where a layout is drawn", "Remove one of them.")
        with table.blamed("layout"):
            lines, marks = _drawn(table.data["layout"], str(table.data.get("wall", "#")))
            words = tuple(str(kinds.get(mark, "plain")) for *_, mark in marks) if isinstance(kinds, dict) else kinds
            cells: Any = [(row, column) for row, column, _ in marks]
            return Grid(len(lines), max(map(len, lines)), cells, moves, words)
    rows, columns = (table.require(key, f"{key} = 4") for key in ("rows", "columns"))
    with table.blamed():
        return Grid(rows, columns, table.data.get("cells"), moves, kinds)


def _drawn(layout: object, wall: str) -> tuple[list[str], list[tuple[int, int, str]]]:
    """Return the lines of a drawing, and (row, column, mark) of its cells in the order of states."""
    given = layout.splitlines() if isinstance(layout, str) else layout
    if not isinstance(given, list) or not all(isinstance(line, str) for line in given):
        raise InputError(f"layout must be lines of text, got {layout!r}. Example: {LAYOUT_EXAMPLE}")
    is_drawn_by_space = wall.isspace()  # then space at the ends of a line means walls
    lines = [line if is_drawn_by_space else line.strip() for line in given if line.strip()]
    marks = [(row, column, mark) for row, line in enumerate(lines) for column, mark in enumerate(line) if mark != wall]
    if not marks:
        raise InputError(
            f"layout must draw at least one cell, got none but walls ({wall!r}). Example: {LAYOUT_EXAMPLE}"
        )
    return lines, marks


class StateOptions(NamedTuple):
    """What a problem file says about states and actions beside their transitions; None: nothing."""

    state_labels: tuple[str, ...] | None = None
    action_labels: tuple[str, ...] | None = None
    grid: Grid | None = None
    initial: FloatArray | None = None
    terminal: BoolArray | None = None


def _from_tables(table: TomlTable, discount: float, options: StateOptions) -> FiniteMDP:
    """Return the dynamics that the table and the rest of its file describe."""
    table.check_keys(TRANSITION_KEYS)
    path = table.existing_file("file", EXAMPLE)
    if path.suffix.lower() == ".npz":
        return _from_arrays(table, path, discount, options)
    if "layout" in table:
        raise InputError(
            f"only an .npz file has a layout, got layout for {path.name} at {table.place('layout')}. Remove it."
        )
    with table.blamed("file"):
        rows = rows_from_edges(path, *_sizes(table, options))
    return _from_rows(table, rows, discount, options)


def _sizes(table: TomlTable, options: StateOptions) -> tuple[int | None, int | None]:
    """Return how many states and actions there are: as said, else as many as have labels."""
    labels = {"num_states": options.state_labels, "num_actions": options.action_labels}
    sizes = [table.data.get(key, None if names is None else len(names)) for key, names in labels.items()]
    return sizes[0], sizes[1]


def _from_rows(table: TomlTable, rows: Rows, discount: float, options: StateOptions) -> FiniteMDP:
    """Return the MDP of rows; actions without edges are what `missing_actions` says."""
    _check_fit(table.file, rows, options)
    rule = "error"
    if "missing_actions" in table:
        rule = table.choice("missing_actions", MISSING_ACTIONS, 'missing_actions = "unavailable"')
    available: Any = None
    if rule == "error":
        with table.blamed("file"):
            _check_complete(rows)
    elif rule == "unavailable":
        has_edges = (np.diff(rows.indptr) > 0).reshape(rows.num_states, rows.num_actions)
        available = has_edges | ~has_edges.any(axis=1, keepdims=True)
    missing_mass = "error"
    if "missing_mass" in table:
        missing_mass = table.choice("missing_mass", ("error", "terminates"), 'missing_mass = "terminates"')
    with table.blamed("file"):
        return FiniteMDP(
            rows=rows, discount=discount, available=available, missing_mass=missing_mass, **options._asdict()
        )


def _check_fit(file: TomlFile, rows: Rows, options: StateOptions) -> None:
    """Blame labels and grid for what is wrong with them, not the transitions."""
    with file.table("states").blamed("labels"):
        validation.checked_labels(options.state_labels, rows.num_states, "labels")
    with file.table("actions").blamed("labels"):
        validation.checked_labels(options.action_labels, rows.num_actions, "labels")
    with file.table("grid").blamed("layout"):
        validation.check_grid(options.grid, rows.num_states, rows.num_actions)


def _check_complete(rows: Rows) -> None:
    try:
        check_no_action_is_left_out(rows)
    except InputError as error:
        raise InputError(
            f"{str(error).partition(' Add them,')[0]} Add them, or say in [transitions] missing_actions = "
            '"unavailable" if that action does not exist there, "terminates" if it ends the episode.'
        ) from None


def _from_arrays(table: TomlTable, path: Path, discount: float, options: StateOptions) -> FiniteMDP:
    """Return the MDP of an `.npz` file: one that FiniteMDP.save wrote, or a dense array named transitions."""
    with table.blamed("file"):
        try:
            with np.load(path, allow_pickle=False) as file:
                names = list(file.files)
                dense = file["transitions"] if "transitions" in names else None
        except (OSError, ValueError, EOFError) as error:
            raise InputError(
                f"{path.name} must be an .npz file of numbers, but reading it failed: {error}. Save it again."
            ) from error
    if dense is not None:
        layout = table.choice("layout", ("SAS", "ASS", "SSA"), 'layout = "SAS": state, action, next state')
        with table.blamed("file"):
            return _from_rows(table, rows_from_dense(dense, layout), discount, options)
    saved_keys = ("layout", "num_states", "num_actions", "missing_actions", "missing_mass")
    table.check_left_out(saved_keys, "for a file that FiniteMDP.save wrote", "The file says it already.")
    with table.blamed("file"):
        saved = FiniteMDP.load(path)
        if saved.discount != discount:
            raise InputError(
                f"discount must be that of {path.name}, {saved.discount:g}, got {discount:g}. Make them equal."
            )
        return _changed(saved, options)


def _changed(mdp: FiniteMDP, options: StateOptions) -> FiniteMDP:
    """Return a saved MDP with what the problem file says instead."""
    names = ("state_labels", "action_labels", "grid", "initial", "terminal")
    kept: dict[str, Any] = {name: getattr(mdp, name) for name in names}
    given = {name: value for name, value in options._asdict().items() if value is not None}
    return FiniteMDP(
        rows=mdp.rows,
        discount=mdp.discount,
        available=mdp.available,
        missing_mass="terminates",
        **(kept | given),
    )


def dynamics_of(file: TomlFile) -> FiniteMDP:
    """Return the dynamics; initial and terminal states need its labels, so they are set in a second pass."""
    top, states = file.table(ROOT), file.table("states")
    with top.blamed("discount"):
        discount = checked_discount(top.require("discount", "discount = 0.9"))
    options = StateOptions(
        state_labels=_labels(states),
        action_labels=_labels(file.table("actions")),
        grid=grid_of(file.table("grid")),
    )
    plain = _from_tables(file.table("transitions"), discount, options)
    changes: dict[str, Any] = {}
    if "initial" in states:
        with states.blamed("initial"):
            changes["initial"] = initial_distribution(states.data["initial"], plain)
    if "terminal" in states:
        with states.blamed("terminal"):
            changes["terminal"] = state_mask(states.data["terminal"], plain, "terminal")
    if not changes:
        return plain
    with states.blamed("terminal" if "terminal" in changes else "initial"):
        return _from_tables(file.table("transitions"), discount, options._replace(**changes))


def _labels(table: TomlTable) -> tuple[str, ...] | None:
    labels = table.data.get("labels")
    if labels is None:
        return None
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise InputError(
            f"labels must be a list of words, got {labels!r} at {table.place('labels')}. "
            'Example: labels = ["home", "road"]'
        )
    return tuple(labels)


def state_index(name: object, mdp: FiniteMDP) -> int:
    """Return the state that a label or a number means.

    Raises
    ------
    InputError
        If there is no such state.
    """
    if isinstance(name, str) and mdp.state_labels and name in mdp.state_labels:
        return mdp.state_labels.index(name)
    if isinstance(name, int) and not isinstance(name, bool) and 0 <= name < mdp.num_states:
        return name
    known = f"or one of {', '.join(mdp.state_labels[:8])} ..." if mdp.state_labels else "(states have no labels here)"
    raise InputError(f"a state must be a number in 0..{mdp.num_states - 1} {known}, got {name!r}. Name one of these.")


def state_mask(value: Any, mdp: FiniteMDP, what: str) -> BoolArray:
    """Return `[S]` which states a list of names or numbers means; "all" and "reachable" are words for many."""
    if value == "all":
        return np.ones(mdp.num_states, dtype=bool)
    if value == "reachable":
        return mdp.reachable() & ~mdp.terminal
    if not isinstance(value, list):
        raise InputError(
            f'{what} must be a list of states, "all" or "reachable", got {value!r}. Example: {what} = [0, 3]'
        )
    mask = np.zeros(mdp.num_states, dtype=bool)
    mask[[state_index(name, mdp) for name in value]] = True
    return mask


def initial_distribution(value: Any, mdp: FiniteMDP) -> FloatArray:
    """Return `[S]` chances: of a list of states, equally likely, or of a table {state = chance}."""
    chances = np.zeros(mdp.num_states)
    if isinstance(value, list) and value:
        chances[[state_index(name, mdp) for name in value]] = 1.0
        return np.asarray(chances / chances.sum())
    if isinstance(value, dict) and value:
        for name, chance in value.items():
            is_number = name.isdigit() and not (mdp.state_labels and name in mdp.state_labels)
            chances[state_index(int(name) if is_number else name, mdp)] = real_number(
                chance, f"the chance of initial state {name}"
            )
        return chances
    raise InputError(
        f"initial must be a list of states or a table of chances, got {value!r}. "
        'Examples: initial = ["home"], initial = {0 = 0.5, 3 = 0.5}'
    )
