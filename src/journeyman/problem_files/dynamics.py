"""The dynamics of a problem file: its [transitions], [map] or [graph], its [states], [actions] and [grid]."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from journeyman.checks import real_number
from journeyman.errors import InputError
from journeyman.mdp import EstimatedDynamics, FiniteMDP, Grid, estimate_dynamics, validation
from journeyman.mdp.edges import EdgeTable, edges_exist, read_edges
from journeyman.mdp.names import Names
from journeyman.mdp.rows import Rows, rows_from_dense
from journeyman.mdp.validation import checked_discount
from journeyman.problem_files.graphs import mdp_of_graph
from journeyman.problem_files.maps import mdp_of_map
from journeyman.problem_files.tables import ROOT, TomlFile, TomlTable, read_numbers
from journeyman.types import BoolArray, FloatArray

LAYOUT_EXAMPLE = 'layout = ["..G", ".#."]'
TRANSITION_KEYS = (
    "file",
    "layout",
    "num_states",
    "num_actions",
    "missing_actions",
    "missing_mass",
    "estimated",
    "prior",
)
MISSING_ACTIONS = ("error", "unavailable", "terminates")
MISSING_ADVICE = (
    'in [transitions] missing_actions = "unavailable" if that action does not exist there, "terminates" if it ends the '
    "episode"
)
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


SOURCES = ("transitions", "map", "graph")


def dynamics_of(file: TomlFile) -> FiniteMDP:
    """Return the dynamics; initial and terminal states may be named by their labels, so they are set last."""
    top, states = file.table(ROOT), file.table("states")
    with top.blamed("discount"):
        discount = checked_discount(top.require("discount", "discount = 0.9"))
    source = _source(file)
    labels = {"state_labels": _labels(states), "action_labels": _labels(file.table("actions"))}
    if source == "transitions":
        about = {**labels, "grid": grid_of(file.table("grid"))}
        mdp = _from_transitions(file.table("transitions"), discount, about)
    else:
        mdp = _made(file, source, discount, labels)
    if "initial" in states:
        with states.blamed("initial"):
            mdp = replace(mdp, initial=initial_distribution(states.data["initial"], mdp))
    is_estimated = isinstance(mdp.origin, EstimatedDynamics)  # then it had to be known before
    if "terminal" in states and source == "transitions" and not is_estimated:
        with states.blamed("terminal"):
            mdp = replace(mdp, terminal=state_mask(states.data["terminal"], mdp, "terminal"))
    return mdp


def _source(file: TomlFile) -> str:
    """Return which table says what actions do: there must be one."""
    given = [name for name in SOURCES if name in file.data]
    if len(given) != 1:
        got = " and ".join(f"[{name}] ({file.place(ROOT, name)})" for name in given) or "none"
        raise InputError(
            f"a problem must have one of [transitions], [map] and [graph], got {got} in {file.path.name}. "
            f"{'Remove one of them.' if given else 'Example: ' + EXAMPLE + ' in [transitions]'}"
        )
    return given[0]


def _made(file: TomlFile, source: str, discount: float, labels: dict[str, Any]) -> FiniteMDP:
    """Return the MDP of a map or a graph."""
    file.table("grid").check_left_out(tuple(file.table("grid").data), f"where a {source} is given", "It draws itself.")
    states, terminal = file.table("states"), None
    if "terminal" in states:

        def terminal(names: Names) -> BoolArray:
            with states.blamed("terminal"):
                return named_states(states.data["terminal"], names, "terminal")

    make: Any = mdp_of_map if source == "map" else mdp_of_graph
    made: FiniteMDP = make(file.table(source), discount, **labels, terminal=terminal, has_initial="initial" in states)
    return made


def _from_transitions(table: TomlTable, discount: float, about: dict[str, Any]) -> FiniteMDP:
    """Return the MDP of an edge table, of a dense array named transitions, or of what FiniteMDP.save wrote."""
    table.check_keys(TRANSITION_KEYS)
    path = table.existing_file("file", EXAMPLE)
    if table.data.get("estimated", False) is not False:
        return _estimated(table, path, discount, about)
    if path.suffix.lower() != ".npz":
        if "layout" in table:
            raise InputError(
                f"only an .npz file has a layout, got layout for {path.name} at {table.place('layout')}. Remove it."
            )
        with table.blamed("file"):
            sizes = (table.data.get("num_states"), table.data.get("num_actions"))
            edges = read_edges(path, *sizes, about["state_labels"], about["action_labels"])
        about |= {"state_labels": edges.state_labels, "action_labels": edges.action_labels}
        return _from_rows(table, edges.rows, discount, about, edges)
    with table.blamed("file"):
        arrays = read_numbers(path, "transitions")
    if arrays:
        layout = table.choice("layout", ("SAS", "ASS", "SSA"), 'layout = "SAS": state, action, next state')
        with table.blamed("file"):
            rows = rows_from_dense(arrays["transitions"], layout)
        return _from_rows(table, rows, discount, about)
    table.check_left_out(TRANSITION_KEYS[1:], "for a file that FiniteMDP.save wrote", "The file says it already.")
    with table.blamed("file"):
        saved = FiniteMDP.load(path)
        if saved.discount != discount:
            raise InputError(
                f"discount must be that of {path.name}, {saved.discount:g}, got {discount:g}. Make them equal."
            )
        return replace(saved, **{name: value for name, value in about.items() if value is not None})


def _estimated(table: TomlTable, path: Path, discount: float, about: dict[str, Any]) -> FiniteMDP:
    """Return the mean of dynamics estimated from a table of observed steps, one per line."""
    if table.data["estimated"] is not True:
        raise InputError(
            f"estimated must be true or false, got {table.data['estimated']!r} at {table.place('estimated')}. Say true "
            "if the file has one observed step per line: state, action, next_state, and done if there is one."
        )
    table.check_left_out(("layout", "missing_actions", "missing_mass"), "for observed steps", "They say it already.")
    sizes: dict[str, Any] = {name: table.data.get(name) for name in ("num_states", "num_actions", "prior")}
    with table.blamed("file"):
        terminal = table.file.table("states").data.get("terminal")
        return estimate_dynamics(path, discount=discount, terminal=terminal, **sizes, **about).mdp


def _from_rows(
    table: TomlTable, rows: Rows, discount: float, about: dict[str, Any], edges: EdgeTable | None = None
) -> FiniteMDP:
    """Return the MDP of rows; actions without edges are what `missing_actions` says."""
    # Labels and grid are blamed for what is wrong with them, not the transitions.
    with table.file.table("states").blamed("labels"):
        validation.checked_labels(about["state_labels"], rows.num_states, "labels")
    with table.file.table("actions").blamed("labels"):
        validation.checked_labels(about["action_labels"], rows.num_actions, "labels")
    with table.file.table("grid").blamed("layout"):
        validation.check_grid(about["grid"], rows.num_states, rows.num_actions)
    rule = table.choice("missing_actions", MISSING_ACTIONS, 'missing_actions = "unavailable"', default="error")
    missing_mass = table.choice(
        "missing_mass", validation.MISSING_MASS_RULES, 'missing_mass = "terminates"', default="error"
    )
    available: Any = None
    if rule == "unavailable":
        has_edges = edges_exist(rows)
        available = has_edges | ~has_edges.any(axis=1, keepdims=True)
    with table.blamed("file"):
        if edges is not None:
            edges.check_sums(missing_mass, saying='missing_mass = "terminates" in [transitions]')
        if edges is not None and rule == "error":
            edges.check_no_action_is_left_out(MISSING_ADVICE)
        return FiniteMDP(rows=rows, discount=discount, available=available, missing_mass=missing_mass, **about)


def _labels(table: TomlTable) -> tuple[str, ...] | None:
    labels = table.data.get("labels")
    if labels is None:
        return None
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise InputError(
            f"labels must be a list of words, got {labels!r} at {table.place('labels')}. "
            'Example: labels = ["home", "road"]'
        )
    with table.blamed("labels"):
        return validation.checked_labels(labels, len(labels), "labels")


def state_mask(value: Any, mdp: FiniteMDP, what: str) -> BoolArray:
    """Return `[S]` which states a list of names or numbers means; "all" and "reachable" are words for many."""
    if value == "all":
        return np.ones(mdp.num_states, dtype=bool)
    if value == "reachable":
        return mdp.reachable() & ~mdp.terminal
    return named_states(value, mdp.state_names, what)


def named_states(value: Any, names: Names, what: str) -> BoolArray:
    """Return `[S]` which states a list of names or numbers means."""
    if not isinstance(value, list):
        words = "" if what == "terminal" else ', "all" or "reachable"'
        raise InputError(f"{what} must be a list of states{words}, got {value!r}. Example: {what} = [0, 3]")
    mask = np.zeros(names.size, dtype=bool)
    mask[[names.index(name) for name in value]] = True
    return mask


def initial_distribution(value: Any, mdp: FiniteMDP) -> FloatArray:
    """Return `[S]` chances: of a list of states, equally likely, "all" but terminal ones, or {state = chance}."""
    chances = np.zeros(mdp.num_states)
    if value == "all":
        value = np.flatnonzero(~mdp.terminal).tolist()
        chances[value] = 1.0 / max(1, len(value))
        return chances
    if isinstance(value, list) and value:
        chances[[mdp.state_names.index(name) for name in value]] = 1.0
        return np.asarray(chances / chances.sum())
    if isinstance(value, dict) and value:
        for name, chance in value.items():
            chances[mdp.state_names.index(name)] = real_number(chance, f"the chance of initial state {name}")
        return chances
    raise InputError(
        f'initial must be a list of states, "all" or a table of chances, got {value!r}. '
        'Examples: initial = ["home"], initial = {0 = 0.5, 3 = 0.5}'
    )
