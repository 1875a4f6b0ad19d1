"""The [reward] and [prior] tables of a problem file: how parameters become a reward, and the belief about them."""

from pathlib import Path
from typing import Any

import numpy as np

from journeyman.errors import InputError
from journeyman.mdp import FiniteMDP
from journeyman.mdp.rows import index_column
from journeyman.problem_files.tables import TomlTable, read_matrix, read_named_columns, read_numbers
from journeyman.registry import OUTSIDE
from journeyman.rewards import (
    PRIORS,
    Discrete,
    LinearFeatures,
    MultivariateNormal,
    Normal,
    PerState,
    PerStateAction,
    Prior,
    RewardModel,
    Uniform,
)
from journeyman.types import FloatArray

REWARD_KEYS = ("model", "features")
PRIOR_KEYS = {
    "normal": ("kind", "mean", "std"),
    "uniform": ("kind", "low", "high"),
    "multivariate_normal": ("kind", "mean", "covariance", "std", "length_scale"),
    "discrete": ("kind", "atoms", "probabilities"),
}
JITTER = 1e-6  # part of the variance that is added to the diagonal, so that a smooth kernel stays invertible
MODELS = ("per_state", "per_state_action", "features")


def reward_model_of(table: TomlTable, mdp: FiniteMDP) -> RewardModel:
    """Return the reward model that the table describes."""
    table.check_keys(REWARD_KEYS)
    model = table.choice("model", MODELS, 'model = "per_state"')
    if model == "features":
        path = table.existing_file("features", 'features = "features.csv"')
        with table.blamed("features"):
            return _read_arrays(path, mdp) if path.suffix.lower() == ".npz" else _read_csv(path, mdp)
    if "features" in table:
        raise InputError(
            f'features must come with model = "features", got model = {model!r} at '
            f"{table.place('features')}. Change the model, or remove the features."
        )
    return PerState(mdp) if model == "per_state" else PerStateAction(mdp)


def _read_csv(path: Path, mdp: FiniteMDP) -> RewardModel:
    """Return the model of a table with columns state, perhaps action and offset, and one per parameter.

    States, or states and actions, that it leaves out have features and offset 0.
    """
    columns = read_named_columns(path)
    names = tuple(name for name in columns if name not in ("state", "action", "offset"))
    if "state" not in columns or not names:
        raise InputError(
            f"{path.name} must have a column state and one column per parameter, got {', '.join(columns)}. "
            "Columns action and offset are optional."
        )
    sizes = {"state": mdp.num_states, "action": mdp.num_actions}
    keys = [key for key in sizes if key in columns]
    shape = tuple(sizes[key] for key in keys)
    place = tuple(index_column(columns[key], key, sizes[key], lambda i: f"entry {i} of {path.name}") for key in keys)
    counts = np.zeros(shape, dtype=np.int64)
    np.add.at(counts, place, 1)
    if (counts > 1).any():
        where = ", ".join(f"{key} {i}" for key, i in zip(keys, np.argwhere(counts > 1)[0], strict=True))
        raise InputError(f"{path.name} must have at most one line for each place, got {where} again. Remove one.")
    features = np.zeros((*shape, len(names)))
    features[place] = np.stack([columns[name] for name in names], axis=1)
    offset = np.zeros(shape)
    offset[place] = columns.get("offset", 0.0)
    return LinearFeatures(features, mdp, offset=offset, names=names)


def _read_arrays(path: Path, mdp: FiniteMDP) -> RewardModel:
    """Return the model of an `.npz` file with arrays features `[S, D]` or `[S, A, D]`, and perhaps offset and names."""
    arrays = read_numbers(path)
    if "features" not in arrays or set(arrays) - {"features", "offset", "names"}:
        raise InputError(
            f"{path.name} must have an array features, and may have offset and names, got {', '.join(arrays)}. "
            "Rename them."
        )
    names = tuple(str(name) for name in arrays["names"]) if "names" in arrays else None
    return LinearFeatures(arrays["features"], mdp, offset=arrays.get("offset"), names=names)


def prior_of(table: TomlTable, model: RewardModel, mdp: FiniteMDP) -> Prior:
    """Return the prior that the table describes, over the parameters of `model`."""
    kind = table.choice("kind", tuple(PRIORS), 'kind = "normal"', OUTSIDE)
    if kind not in PRIOR_KEYS:
        given = {name: value for name, value in table.data.items() if name != "kind"}
        return table.made(PRIORS[kind], {"num_parameters": model.num_parameters, **given})
    table.check_keys(PRIOR_KEYS[kind])
    if kind == "normal":
        mean, std = _per_parameter(table, "mean", model, 0.0), _per_parameter(table, "std", model)
        with table.blamed("std"):
            Normal(model.num_parameters, 0.0, std)
        return Normal(model.num_parameters, mean, std)
    if kind == "uniform":
        low, high = (_per_parameter(table, key, model) for key in ("low", "high"))
        with table.blamed("low"):
            return Uniform(model.num_parameters, low, high)
    if kind == "discrete":
        return _discrete(table, model)
    return _correlated(table, model, mdp)


def _per_parameter(table: TomlTable, key: str, model: RewardModel, default: float | None = None) -> Any:
    """Return a number for all parameters, a list with one each, or a table by parameter name as a list."""
    value = table.data.get(key, default) if default is not None else table.require(key, f"{key} = 1.0")
    with table.blamed(key):
        if not isinstance(value, dict):
            return _numbers(value, key)
        names = [model.parameter_name(i) for i in range(model.num_parameters)]
        if sorted(value) != sorted(names):
            raise InputError(
                f"{key} must have one number for each parameter ({', '.join(names[:8])}), got {', '.join(value)}. "
                "Name each of them once."
            )
        return _numbers([value[name] for name in names], key)


def _numbers(value: Any, key: str) -> Any:
    """Refuse what is not made of numbers; TOML's true is not 1."""
    if isinstance(value, list):
        return [_numbers(item, key) for item in value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{key} must be a number or a list of numbers, got {value!r}. Example: {key} = 1.0")
    return float(value)


def _discrete(table: TomlTable, model: RewardModel) -> Prior:
    """Return the prior over atoms: a list of lists, or a CSV file with a column per parameter and a probability."""
    atoms = table.require("atoms", 'atoms = [[0.0, 1.0], [1.0, 0.0]], or atoms = "atoms.csv"')
    probabilities = table.data.get("probabilities")
    if isinstance(atoms, str):
        path = table.existing_file("atoms", 'atoms = "atoms.csv"')
        with table.blamed("atoms"):
            columns = read_named_columns(path)
            names = [model.parameter_name(i) for i in range(model.num_parameters)]
            given = [name for name in columns if name != "probability"]
            if sorted(given) != sorted(names):
                raise InputError(
                    f"{path.name} must have a column for each parameter ({', '.join(names[:8])}), and may have "
                    f"probability, got {', '.join(columns)}. Rename them."
                )
            if probabilities is not None and "probability" in columns:
                raise InputError(f"probabilities must be given once, got them in {path.name} too. Remove one.")
            probabilities = columns.get("probability", probabilities)
            atoms = np.stack([columns[name] for name in names], axis=1)
    with table.blamed("atoms"):
        atoms = atoms if isinstance(atoms, np.ndarray) else _numbers(atoms, "atoms")
        if isinstance(probabilities, list):
            probabilities = _numbers(probabilities, "probabilities")
        prior = Discrete(atoms, probabilities)
        if prior.num_parameters != model.num_parameters:
            raise InputError(
                f"atoms must have {model.num_parameters} numbers each, one per parameter, got {prior.num_parameters}. "
                "Check the reward model."
            )
        return prior


def _correlated(table: TomlTable, model: RewardModel, mdp: FiniteMDP) -> Prior:
    """Return the correlated Normal: by its covariance, or by a smooth kernel over the cells of a grid."""
    mean = _per_parameter(table, "mean", model, 0.0)
    if "covariance" in table:
        table.check_left_out(("std", "length_scale"), "where covariance is given", "Remove one.")
        given = table.data["covariance"]
        with table.blamed("covariance"):
            if isinstance(given, str):
                covariance: Any = read_matrix(table.existing_file("covariance", 'covariance = "covariance.csv"'))
            else:
                covariance = _numbers(given, "covariance")
            return MultivariateNormal(_spread(mean, model), covariance)
    std = _numbers(table.require("std", "std = 1.0, with length_scale = 2.0"), "std")
    scale = _numbers(table.require("length_scale", "length_scale = 2.0, in cells of the grid"), "length_scale")
    with table.blamed("length_scale"):
        return MultivariateNormal(_spread(mean, model), _kernel(std, scale, model, mdp))


def _spread(mean: Any, model: RewardModel) -> Any:
    return np.full(model.num_parameters, mean) if isinstance(mean, float) else mean


def _kernel(std: Any, scale: Any, model: RewardModel, mdp: FiniteMDP) -> FloatArray:
    """Return std^2 exp(-d^2 / (2 scale^2)) `[S, S]` for distances d between cells."""
    if model.kind != "per_state" or mdp.grid is None:
        raise InputError(
            'length_scale must come with model = "per_state" and a [grid], got another problem. Give a covariance.'
        )
    if not (isinstance(std, float) and isinstance(scale, float) and std > 0 and scale > 0):
        raise InputError(f"std and length_scale must be positive numbers, got {std} and {scale}. Example: std = 1.0")
    places = mdp.grid.places.astype(np.float64)
    squared = ((places[:, None, :] - places[None, :, :]) ** 2).sum(axis=-1)
    covariance = std**2 * (np.exp(-squared / (2.0 * scale**2)) + JITTER * np.eye(len(places)))
    return np.asarray(covariance)
