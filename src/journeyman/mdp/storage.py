"""One `.npz` file per MDP, without pickle, written whole or not at all."""

import os
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from journeyman.errors import InputError
from journeyman.mdp.grid import Grid
from journeyman.mdp.model import FiniteMDP
from journeyman.mdp.rows import Rows

FORMAT = "journeyman-mdp-1"


def save_mdp(mdp: FiniteMDP, path: str | Path) -> None:
    """Write `mdp` to `path`; an existing file is replaced only once the new one is complete."""
    path = Path(path)
    if path.suffix != ".npz":
        raise InputError(f"an MDP file must end in .npz, got {path.name!r}. Rename it.")
    if not path.parent.is_dir():
        raise InputError(f"the folder of an MDP file must exist, got {str(path.parent)!r}. Create it first.")
    arrays: dict[str, Any] = {
        "format": np.array(FORMAT),
        "shape": np.array([mdp.num_states, mdp.num_actions]),
        "discount": np.array(mdp.discount),
        "initial": mdp.initial,
        "available": mdp.available,
        "terminal": mdp.terminal,
        "indptr": mdp.rows.indptr,
        "next_states": mdp.rows.next_states,
        "probabilities": mdp.rows.probabilities,
    }
    if mdp.state_labels is not None:
        arrays["state_labels"] = np.array(mdp.state_labels)
    if mdp.action_labels is not None:
        arrays["action_labels"] = np.array(mdp.action_labels)
    if mdp.grid is not None:
        arrays["grid_shape"] = np.array([mdp.grid.num_rows, mdp.grid.num_columns])
        arrays["grid_cells"] = mdp.grid.places
        if mdp.grid.moves is not None:
            arrays["grid_moves"] = mdp.grid.moves
        if mdp.grid.kinds is not None:
            arrays["grid_kinds"] = np.array(mdp.grid.kinds)
    handle, temporary = tempfile.mkstemp(suffix=".npz.part", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez_compressed(file, **arrays)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def load_mdp(path: str | Path) -> FiniteMDP:
    """Read an MDP written by `save_mdp`; the checks of construction run again."""
    path = Path(path)
    if not path.exists():
        raise InputError(f"the MDP file must exist, got {str(path)!r}. Check the path.")
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        if str(arrays.get("format")) != FORMAT:
            raise InputError(f"{path.name} must be an MDP file of format {FORMAT!r}, got {arrays.get('format')!s}.")
        return _mdp_from_arrays(arrays)
    except (zipfile.BadZipFile, EOFError, KeyError, OSError, AttributeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"{path.name} must be an MDP file written by FiniteMDP.save, but reading it failed: {error}. "
            "Write it again from its source."
        ) from error


def _mdp_from_arrays(arrays: dict[str, Any]) -> FiniteMDP:
    num_states, num_actions = (int(size) for size in arrays["shape"])
    indptr, next_states = arrays["indptr"], arrays["next_states"]
    lengths = np.diff(indptr)
    is_packed = indptr.shape == (num_states * num_actions + 1,) and indptr[0] == 0 and (lengths >= 0).all()
    if not is_packed or indptr[-1] != next_states.size or next_states.size != arrays["probabilities"].size:
        raise InputError("the rows of an MDP file must fit its shape, but they do not. Write it again from its source.")
    if next_states.size and not (next_states.min() >= 0 and next_states.max() < num_states):
        raise InputError(f"next states of an MDP file must lie in 0..{num_states - 1}. Write it again from its source.")
    probabilities = arrays["probabilities"]
    if not (np.isfinite(probabilities) & (probabilities >= 0)).all():
        raise InputError("probabilities of an MDP file must be finite and at least 0. Write it again from its source.")
    grid = None
    if "grid_shape" in arrays:
        num_rows, num_columns = (int(size) for size in arrays["grid_shape"])
        kinds = tuple(arrays["grid_kinds"].tolist()) if "grid_kinds" in arrays else None
        grid = Grid(num_rows, num_columns, arrays["grid_cells"], arrays.get("grid_moves"), kinds)
    return FiniteMDP(
        rows=Rows(num_states, num_actions, indptr, next_states, probabilities),
        discount=float(arrays["discount"]),
        initial=arrays["initial"],
        available=arrays["available"],
        terminal=arrays["terminal"],
        missing_mass="terminates",
        state_labels=arrays["state_labels"].tolist() if "state_labels" in arrays else None,
        action_labels=arrays["action_labels"].tolist() if "action_labels" in arrays else None,
        grid=grid,
    )
