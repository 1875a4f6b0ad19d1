"""The [prior] table of a problem file: the belief about the parameters before any demonstration."""

from typing import Any

import numpy as np

from journeyman.errors import InputError
from journeyman.mdp import FiniteMDP
from journeyman.problem_files.csv_tables import read_matrix, read_named_columns
from journeyman.problem_files.tables import TomlTable
from journeyman.rewards import PRIORS, Discrete, MultivariateNormal, Normal, Prior, RewardModel, Uniform
from journeyman.types import FloatArray

KEYS = {
    "normal": ("kind", "mean", "std"),
    "uniform": ("kind", "low", "high"),
    "multivariate_normal": ("kind", "mean", "covariance", "std", "length_scale"),
    "discrete": ("kind", "atoms", "probabilities"),
}
JITTER = 1e-6  # part of the variance that is added to the diagonal, so that a smooth kernel stays invertible


def prior_of(table: TomlTable, model: RewardModel, mdp: FiniteMDP) -> Prior:
    """Return the prior that the table describes, over the parameters of `model`."""
    kind = table.choice("kind", tuple(PRIORS), 'kind = "normal"')
    if kind not in KEYS:
        with table.blamed("kind"):
            given = {name: value for name, value in table.data.items() if name != "kind"}
            return PRIORS[kind].from_record({"num_parameters": model.num_parameters, **given})
    table.check_keys(KEYS[kind])
    if kind == "normal":
        return Normal(
            model.num_parameters,
            _per_parameter(table, "mean", model, 0.0),
            _checked_by(Normal, table, "std", model, _per_parameter(table, "std", model)),
        )
    if kind == "uniform":
        low, high = (_per_parameter(table, key, model) for key in ("low", "high"))
        with table.blamed("low"):
            return Uniform(model.num_parameters, low, high)
    if kind == "discrete":
        return _discrete(table, model)
    return _correlated(table, model, mdp)


def _checked_by(prior_type: type[Normal], table: TomlTable, key: str, model: RewardModel, value: Any) -> Any:
    with table.blamed(key):
        prior_type(model.num_parameters, 0.0, value)
    return value


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
            columns = read_named_columns(path).columns
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
        for key in ("std", "length_scale"):
            if key in table:
                raise InputError(
                    f"{key} must be left out where covariance is given, got both at "
                    f"{table.file.place(table.name, key)}. Remove one."
                )
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
