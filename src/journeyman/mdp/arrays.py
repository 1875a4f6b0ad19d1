"""One `.npz` file per MDP, without pickle, written whole or not at all."""

import os
from pathlib import Path
from typing import Any

import numpy as np

from journeyman.errors import InputError
from journeyman.mdp.grid import Grid
from journeyman.mdp.memory import Remembered, memory_from_arrays, memory_to_arrays
from journeyman.mdp.model import FiniteMDP
from journeyman.mdp.origin import ORIGINS, Origin, origin_name
from journeyman.mdp.rows import Rows
from journeyman.storage.files import read_arrays, whole_file

FORMAT = "journeyman-mdp-1"


def save_mdp(mdp: FiniteMDP, path: str | Path) -> None:
    """Write `mdp` to `path`; an existing file is replaced only once the new one is complete."""
    path = Path(path)
    if path.suffix != ".npz":
        raise InputError(f"an MDP file must end in .npz, got {path.name!r}. Rename it.")
    if not os.path.isdir(path.parent):
        raise InputError(f"the folder of an MDP file must exist, got {str(path.parent)!r}. Create it first.")
    advice = "Check the place, its permissions and the free space."
    with whole_file(path, "an MDP", advice=advice) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, format=np.array(FORMAT), **mdp_to_arrays(mdp))


def mdp_to_arrays(mdp: FiniteMDP) -> dict[str, Any]:
    """Return all of `mdp` as arrays of numbers and words, which `mdp_from_arrays` takes back bit by bit."""
    parts: dict[str, Any] = {
        "shape": [mdp.num_states, mdp.num_actions],
        "discount": mdp.discount,
        "initial": mdp.initial,
        "available": mdp.available,
        "terminal": mdp.terminal,
        "indptr": mdp.rows.indptr,
        "next_states": mdp.rows.next_states,
        "probabilities": mdp.rows.probabilities,
        "state_labels": mdp.state_labels,
        "action_labels": mdp.action_labels,
        "coordinates": mdp.coordinates,
    }
    if mdp.grid is not None:
        parts |= {
            "grid_shape": [mdp.grid.num_rows, mdp.grid.num_columns],
            "grid_cells": mdp.grid.places,
            "grid_moves": mdp.grid.moves,
            "grid_kinds": mdp.grid.kinds,
        }
    if mdp.origin is not None:
        parts["origin"] = origin_name(mdp.origin)
        parts |= {f"origin_{name}": part for name, part in mdp.origin.to_record().items()}
    if mdp.memory is not None:
        parts |= {f"memory_{name}": part for name, part in memory_to_arrays(mdp.memory).items()}
        parts |= {f"memory_world_{name}": part for name, part in mdp_to_arrays(mdp.memory.world).items()}
    return {name: np.asarray(part) for name, part in parts.items() if part is not None}


def load_mdp(path: str | Path) -> FiniteMDP:
    """Read an MDP written by `save_mdp`; the checks of construction run again."""
    path = Path(path)
    if not os.path.exists(path):
        raise InputError(f"the MDP file must exist, got {str(path)!r}. Check the path.")
    try:
        arrays = read_arrays(path)
    except ValueError as error:
        raise InputError(
            f"{path.name} must be an MDP file written by FiniteMDP.save, but reading it failed: {error}. "
            "Write it again from its source."
        ) from error
    if str(arrays.get("format")) != FORMAT:
        raise InputError(
            f"{path.name} must be an MDP file of format {FORMAT!r}, got {arrays.get('format', 'none')!s}. "
            "Write it again with FiniteMDP.save of this version."
        )
    try:
        return mdp_from_arrays(arrays)
    except (InputError, KeyError, TypeError, ValueError, IndexError) as error:
        raise InputError(
            f"{path.name} must hold a whole MDP, but it does not: {error}. Write it again from its source."
        ) from error


def mdp_from_arrays(arrays: dict[str, Any]) -> FiniteMDP:
    """Return the MDP that `mdp_to_arrays` took apart; the checks of construction run again."""
    words = {name: arrays[name].tolist() for name in arrays if name.endswith(("_labels", "_kinds"))}
    grid = None
    if "grid_shape" in arrays:
        num_rows, num_columns = arrays["grid_shape"].tolist()
        grid = Grid(num_rows, num_columns, arrays["grid_cells"], arrays.get("grid_moves"), words.get("grid_kinds"))
    num_states, num_actions = arrays["shape"].tolist()
    packed = (arrays["indptr"], arrays["next_states"], arrays["probabilities"])
    return FiniteMDP(
        rows=Rows(num_states, num_actions, *packed, is_checked=True),
        discount=arrays["discount"].item(),
        initial=arrays["initial"],
        available=arrays["available"],
        terminal=arrays["terminal"],
        state_labels=words.get("state_labels"),
        action_labels=words.get("action_labels"),
        grid=grid,
        coordinates=arrays.get("coordinates"),
        origin=_origin(arrays),
        memory=_memory(arrays),
    )


def _memory(arrays: dict[str, Any]) -> Remembered | None:
    if "memory_following" not in arrays:
        return None
    stored = {name[7:]: array for name, array in arrays.items() if name.startswith("memory_")}
    world = {name[6:]: array for name, array in stored.items() if name.startswith("world_")}
    return memory_from_arrays(stored, mdp_from_arrays(world))


def _origin(arrays: dict[str, Any]) -> Origin | None:
    if "origin" not in arrays:
        return None
    stored = {name[7:]: array for name, array in arrays.items() if name.startswith("origin_")}
    return ORIGINS.find(arrays["origin"].item()).from_record(stored)
