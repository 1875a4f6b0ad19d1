"""The [reward] table of a problem file: how parameters become a reward."""

from pathlib import Path
from typing import Any

import numpy as np

from journeyman.errors import InputError
from journeyman.mdp import FiniteMDP
from journeyman.problem_files.csv_tables import NamedColumns, read_named_columns
from journeyman.problem_files.tables import TomlTable
from journeyman.rewards import LinearFeatures, PerState, PerStateAction, RewardModel
from journeyman.types import FloatArray

KEYS = ("model", "features")
MODELS = ("per_state", "per_state_action", "features")


def reward_model_of(table: TomlTable, mdp: FiniteMDP) -> RewardModel:
    """Return the reward model that the table describes."""
    table.check_keys(KEYS)
    model = table.choice("model", MODELS, 'model = "per_state"')
    if model == "features":
        path = table.existing_file("features", 'features = "features.csv"')
        with table.blamed("features"):
            return _read_arrays(path, mdp) if path.suffix.lower() == ".npz" else _read_csv(path, mdp)
    if "features" in table:
        raise InputError(
            f'features must come with model = "features", got model = {model!r} at '
            f"{table.file.place(table.name, 'features')}. Change the model, or remove the features."
        )
    return PerState(mdp) if model == "per_state" else PerStateAction(mdp)


def _read_csv(path: Path, mdp: FiniteMDP) -> RewardModel:
    """Return the model of a table with columns state, perhaps action and offset, and one per parameter.

    States, or states and actions, that it leaves out have features and offset 0.
    """
    table = read_named_columns(path)
    names = tuple(name for name in table.columns if name not in ("state", "action", "offset"))
    if "state" not in table.columns or not names:
        raise InputError(
            f"{path.name} must have a column state and one column per parameter, got {', '.join(table.columns)}. "
            "Columns action and offset are optional."
        )
    has_actions = "action" in table.columns
    shape = (mdp.num_states, mdp.num_actions) if has_actions else (mdp.num_states,)
    place: Any = table.indices("state", mdp.num_states)
    if has_actions:
        place = (place, table.indices("action", mdp.num_actions))
    _check_once(table, shape, place)
    features = np.zeros((*shape, len(names)))
    features[place] = np.stack([table.columns[name] for name in names], axis=1)
    offset = np.zeros(shape)
    if "offset" in table.columns:
        offset[place] = table.columns["offset"]
    return LinearFeatures(features, mdp, offset=offset, names=names)


def _check_once(table: NamedColumns, shape: tuple[int, ...], place: Any) -> None:
    counts = np.zeros(shape, dtype=np.int64)
    np.add.at(counts, place, 1)
    if (counts > 1).any():
        where = tuple(int(index) for index in np.argwhere(counts > 1)[0])
        what = f"state {where[0]}" + (f", action {where[1]}" if len(where) > 1 else "")
        raise InputError(f"{table.name} must have at most one line for each place, got {what} again. Remove one.")


def _read_arrays(path: Path, mdp: FiniteMDP) -> RewardModel:
    """Return the model of an `.npz` file with arrays features `[S, D]` or `[S, A, D]`, and perhaps offset and names."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (OSError, ValueError, EOFError) as error:
        raise InputError(
            f"{path.name} must be an .npz file of numbers, but reading it failed: {error}. Save it again."
        ) from error
    if "features" not in arrays or set(arrays) - {"features", "offset", "names"}:
        raise InputError(
            f"{path.name} must have an array features, and may have offset and names, got {', '.join(arrays)}. "
            "Rename them."
        )
    features: FloatArray = arrays["features"]
    names = tuple(str(name) for name in arrays["names"]) if "names" in arrays else None
    return LinearFeatures(features, mdp, offset=arrays.get("offset"), names=names)
