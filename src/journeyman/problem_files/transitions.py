"""The [transitions] table of a problem file: an edge table, or a file of arrays."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from journeyman.errors import InputError
from journeyman.mdp import FiniteMDP, Grid, validation
from journeyman.mdp.edges import check_no_action_is_left_out, rows_from_edges
from journeyman.mdp.rows import Rows, rows_from_dense
from journeyman.problem_files.tables import TomlFile, TomlTable
from journeyman.types import BoolArray, FloatArray

KEYS = ("file", "layout", "num_states", "num_actions", "missing_actions", "missing_mass")
MISSING_ACTIONS = ("error", "unavailable", "terminates")
EXAMPLE = 'file = "transitions.csv"'


class StateOptions(NamedTuple):
    """What a problem file says about states and actions beside their transitions; None: nothing."""

    state_labels: tuple[str, ...] | None = None
    action_labels: tuple[str, ...] | None = None
    grid: Grid | None = None
    initial: FloatArray | None = None
    terminal: BoolArray | None = None


def mdp_of(table: TomlTable, discount: float, options: StateOptions) -> FiniteMDP:
    """Return the dynamics that the table and the rest of its file describe."""
    table.check_keys(KEYS)
    path = table.existing_file("file", EXAMPLE)
    if path.suffix.lower() == ".npz":
        return _from_arrays(table, path, discount, options)
    if "layout" in table:
        raise InputError(
            f"only an .npz file has a layout, got layout for {path.name} at {table.file.place(table.name, 'layout')}. "
            "Remove it."
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
    for key in ("layout", "num_states", "num_actions", "missing_actions", "missing_mass"):
        if key in table:
            raise InputError(
                f"{key} must be left out for a file that FiniteMDP.save wrote, got it at "
                f"{table.file.place(table.name, key)}. The file says it already."
            )
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
