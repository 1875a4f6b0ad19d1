"""The [reward] and [prior] tables of a problem file: how parameters become a reward, and the belief about them."""

from pathlib import Path
from typing import Any

import numpy as np

from journeyman.checks import nearest
from journeyman.errors import InputError
from journeyman.mdp import FiniteMDP
from journeyman.problem_files.tables import TomlTable, read_columns, read_matrix, read_numbers
from journeyman.registry import OUTSIDE
from journeyman.rewards import (
    PRIORS,
    Discrete,
    KernelRewards,
    LinearFeatures,
    MultivariateNormal,
    Normal,
    PerState,
    PerStateAction,
    Prior,
    RewardModel,
    Uniform,
    kernel_rewards,
)
from journeyman.rewards.kernel_prior import OVER, positions_of
from journeyman.types import FloatArray

REWARD_KEYS = ("model", "features")
PRIOR_KEYS = {
    "normal": ("kind", "mean", "std"),
    "uniform": ("kind", "low", "high"),
    "multivariate_normal": ("kind", "mean", "covariance", "std", "length_scale"),
    "kernel": ("kind", "mean", "std", "kernel", "length_scale", "over", "share", "rank", "nugget"),
    "discrete": ("kind", "atoms", "probabilities"),
}
JITTER = 1e-6  # part of the variance that is added to the diagonal, so that a smooth kernel stays invertible
PLAIN = "plain"  # the kind of cells of which nothing is said
OTHERS = "others"  # in a table by name: all that it does not name
MODELS = ("per_state", "per_state_action", "features")


def rewards_of(reward: TomlTable, prior: TomlTable, mdp: FiniteMDP) -> tuple[RewardModel, Prior]:
    """Return reward model and prior; a kernel makes both, since it says which rewards follow from which."""
    model = reward_model_of(reward, mdp)
    if prior.data.get("kind") == "kernel":
        return _smooth(prior, model, mdp)
    return model, prior_of(prior, model, mdp)


def reward_model_of(table: TomlTable, mdp: FiniteMDP) -> RewardModel:
    """Return the reward model that the table describes."""
    table.check_keys(REWARD_KEYS)
    model = table.choice("model", MODELS, 'model = "per_state"')
    if model == "features" and "features" not in table and mdp.grid is not None and mdp.grid.kinds is not None:
        with table.blamed("model"):
            return terrain_features(mdp)
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
    table = read_columns(path, "a table of features")
    names = tuple(name for name in table.names if name not in ("state", "action", "offset"))
    if "state" not in table or not names:
        raise InputError(
            f"{path.name} must have a column state and one column per parameter, got {', '.join(table.names)}. "
            "Columns action and offset are optional."
        )
    finders = {"state": mdp.state_names, "action": mdp.action_names}
    keys = [key for key in finders if key in table]
    shape = tuple(finders[key].size for key in keys)
    place = tuple(table.indices(key, finders[key].index) for key in keys)
    flat = np.ravel_multi_index(place, shape)
    first = np.unique(flat, return_index=True)[1]
    if len(first) < len(table):
        again = int(np.setdiff1d(np.arange(len(table)), first)[0])
        before = int(np.flatnonzero(flat == flat[again])[0])
        where = ", ".join(f"{key} {table.values(key)[again]}" for key in keys)
        raise InputError(
            f"{path.name} must have at most one line for each place, got {where} at line {table.lines[before]} and "
            f"again at line {table.lines[again]}. Remove one."
        )
    features = np.zeros((*shape, len(names)))
    features[place] = np.stack([table.numbers(name) for name in names], axis=1)
    offset = np.zeros(shape)
    if "offset" in table:
        offset[place] = table.numbers("offset")
    return LinearFeatures(features, mdp, offset=offset, names=names)


def terrain_features(mdp: FiniteMDP) -> RewardModel:
    """Return the model with one unknown number per kind of cell, such as a terrain of a map; plain cells have none."""
    kinds = () if mdp.grid is None or mdp.grid.kinds is None else mdp.grid.kinds
    names = tuple(dict.fromkeys(kind for kind in kinds if kind != PLAIN))
    if not names:
        raise InputError(
            'model = "features" must have terrains or a features table, got neither. Name a terrain, such as '
            'terrains = { "~" = "water" }, or say model = "per_state".'
        )
    features = np.array([[float(kind == name) for name in names] for kind in kinds])
    return LinearFeatures(features, mdp, names=names)


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
        mean, std = _per_parameter(table, "mean", model, mdp, 0.0), _per_parameter(table, "std", model, mdp)
        with table.blamed("std"):
            Normal(model.num_parameters, 0.0, std)
        return Normal(model.num_parameters, mean, std)
    if kind == "uniform":
        low, high = (_per_parameter(table, key, model, mdp) for key in ("low", "high"))
        with table.blamed("low"):
            return Uniform(model.num_parameters, low, high)
    if kind == "discrete":
        return _discrete(table, model, mdp)
    return _correlated(table, model, mdp)


def _per_parameter(table: TomlTable, key: str, model: RewardModel, mdp: FiniteMDP, default: float | None = None) -> Any:
    """Return a number for all parameters, a list with one each, or a table by name as a list.

    Names are those of parameters; where there is one parameter per state, those of states, and where there is one per
    state and action, tables by state hold tables by action. `others` is for all that are not named.
    """
    value = table.data.get(key, default) if default is not None else table.require(key, f"{key} = 1.0")
    with table.blamed(key):
        if not isinstance(value, dict):
            return _numbers(value, key)
        given = {name: number for name, number in value.items() if name != OTHERS or _is_name(name, model, mdp)}
        others = value.get(OTHERS) if OTHERS not in given else None
        found: list[Any] = [others] * model.num_parameters
        named: dict[int, str] = {}
        for name, index, number in _flattened(given, model, mdp, key):
            if index in named:
                raise InputError(f"{key} must name a parameter once, got {named[index]} and {name}. Remove one.")
            named[index] = name
            found[index] = number
        if None in found:
            missing = [parameter_title(i, model, mdp) for i, number in enumerate(found) if number is None]
            raise InputError(
                f"{key} must have one number for each of {model.num_parameters} parameters, got none for "
                f"{', '.join(missing[:8])}{' ...' if len(missing) > 8 else ''}. Name each of them, or add "
                f"{OTHERS} = 1.0 for the rest."
            )
        return _numbers(found, key)


def _flattened(given: dict[str, Any], model: RewardModel, mdp: FiniteMDP, key: str) -> list[tuple[str, int, Any]]:
    """Return (name, parameter, number) of a table by name."""
    found = []
    for name, number in given.items():
        if isinstance(number, dict) and model.kind == "per_state_action":
            first = mdp.state_names.index(name) * mdp.num_actions
            found += [(f"{name}.{word}", first + mdp.action_names.index(word), one) for word, one in number.items()]
        elif model.kind == "per_state_action" and name not in _parameter_names(model):
            first = mdp.state_names.index(name) * mdp.num_actions
            found += [(name, first + action, number) for action in range(mdp.num_actions)]
        else:
            found.append((name, parameter_index(name, model, mdp), number))
    return found


def parameter_index(name: str, model: RewardModel, mdp: FiniteMDP) -> int:
    """Return which parameter a name means: its own, or where there is one per state, that of the state."""
    names = _parameter_names(model)
    if name in names:
        return names.index(name)
    if model.kind == "per_state":
        return mdp.state_names.index(name)
    hint = nearest(name, names) or f"There are {', '.join(names[:8])}{' ...' if len(names) > 8 else ''}."
    raise InputError(f"a parameter must be one of the reward model, got {name!r}. {hint}")


def _parameter_names(model: RewardModel) -> list[str]:
    return [model.parameter_name(i) for i in range(model.num_parameters)]


def parameter_title(index: int, model: RewardModel, mdp: FiniteMDP) -> str:
    """Name a parameter for people: by its state, or state and action, where there is one for each."""
    if model.kind == "per_state_action" and model.names is None and mdp.state_labels:
        state, action = divmod(index, mdp.num_actions)
        return f"{mdp.action_name(action)} in {mdp.state_name(state)}"
    return mdp.state_name(index) if model.kind == "per_state" else model.parameter_name(index)


def _is_name(name: str, model: RewardModel, mdp: FiniteMDP) -> bool:
    return name in (model.names or ()) or (model.names is None and name in (mdp.state_labels or ()))


def _numbers(value: Any, key: str) -> Any:
    """Refuse what is not made of numbers; TOML's true is not 1."""
    if isinstance(value, list):
        return [_numbers(item, key) for item in value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{key} must be a number or a list of numbers, got {value!r}. Example: {key} = 1.0")
    try:
        return float(value)
    except OverflowError:
        raise InputError(f"{key} must be a number below 1.8e308, got a whole number beyond. Shorten it.") from None


def _discrete(table: TomlTable, model: RewardModel, mdp: FiniteMDP) -> Prior:
    """Return the prior over atoms: a list of lists, or a CSV file with a column per parameter and a probability."""
    atoms = table.require("atoms", 'atoms = [[0.0, 1.0], [1.0, 0.0]], or atoms = "atoms.csv"')
    probabilities = table.data.get("probabilities")
    if isinstance(atoms, str):
        path = table.existing_file("atoms", 'atoms = "atoms.csv"')
        with table.blamed("atoms"):
            columns = read_columns(path, "a table of atoms")
            given = [name for name in columns.names if name != "probability"]
            places = [parameter_index(name, model, mdp) for name in given]
            if sorted(places) != list(range(model.num_parameters)):
                names = [parameter_title(i, model, mdp) for i in range(model.num_parameters)]
                raise InputError(
                    f"{path.name} must have a column for each parameter ({', '.join(names[:8])}), and may have "
                    f"probability, got {', '.join(columns.names)}. Rename them."
                )
            if probabilities is not None and "probability" in columns:
                raise InputError(f"probabilities must be given once, got them in {path.name} too. Remove one.")
            if "probability" in columns:
                probabilities = columns.numbers("probability")
            by_place = dict(zip(places, given, strict=True))
            atoms = np.stack([columns.numbers(by_place[i]) for i in range(model.num_parameters)], axis=1)
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
    """Return the correlated Normal: by its covariance, or by a smooth kernel over the places of states."""
    mean = _per_parameter(table, "mean", model, mdp, 0.0)
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


def _smooth(table: TomlTable, model: RewardModel, mdp: FiniteMDP) -> KernelRewards:
    """Return the rewards of states under a kernel over positions, graph, or a table of features."""
    table.check_keys(PRIOR_KEYS["kernel"])
    if model.kind != "per_state":
        raise InputError(
            f'kind = "kernel" must come with model = "per_state", got model = {model.kind!r} at {table.place("kind")}. '
            "Change one of them."
        )
    mean, std = _per_parameter(table, "mean", model, mdp, 0.0), _per_parameter(table, "std", model, mdp)
    scale = table.require("length_scale", "length_scale = 3.0, in cells of the grid, or steps of the graph")
    with table.blamed("length_scale"):
        scale = _numbers(scale, "length_scale")
    given = {name: table.data[name] for name in ("kernel", "share", "rank", "nugget") if name in table}
    over = table.data.get("over", OVER[0])
    if isinstance(over, str) and over not in OVER and Path(over).suffix:
        path = table.existing_file("over", 'over = "features.csv"')
        with table.blamed("over"):
            over = _alike(path, mdp)
    try:
        return kernel_rewards(mdp, length_scale=scale, std=std, mean=mean, over=over, **given)
    except InputError as error:
        said = str(error).partition(" must ")[0].split()
        with table.blamed(next((key for key in ("over", *PRIOR_KEYS["kernel"]) if key in said), None)):
            raise


def _alike(path: Path, mdp: FiniteMDP) -> FloatArray:
    """Return the features `[S, F]` of a table with a column state and one per feature, for every state once."""
    table = read_columns(path, "a table of features")
    names = [name for name in table.names if name != "state"]
    if "state" not in table or not names:
        raise InputError(
            f"{path.name} must have a column state and one column per feature, got {', '.join(table.names)}. "
            "States with like features have like rewards."
        )
    states = table.indices("state", mdp.state_names.index)
    times = np.bincount(states, minlength=mdp.num_states)
    if (times != 1).any():
        state = int(np.argmax(times != 1))
        raise InputError(
            f"{path.name} must have one line for each state, got {times[state]} for {mdp.state_name(state)}. "
            f"{'Add it.' if times[state] == 0 else 'Remove the others.'}"
        )
    features = np.empty((mdp.num_states, len(names)))
    features[states] = np.stack([table.numbers(name) for name in names], axis=1)
    return features


def _spread(mean: Any, model: RewardModel) -> Any:
    return np.full(model.num_parameters, mean) if isinstance(mean, float) else mean


def _kernel(std: Any, scale: Any, model: RewardModel, mdp: FiniteMDP) -> FloatArray:
    """Return std^2 exp(-d^2 / (2 scale^2)) `[S, S]` for distances d between cells, or between coordinates."""
    where = positions_of(mdp)
    if model.kind != "per_state" or where is None:
        raise InputError(
            'length_scale must come with model = "per_state" and states that lie somewhere (a map, a [grid], or a '
            "graph with coordinates), got another problem. Give a covariance."
        )
    if not (isinstance(std, float) and isinstance(scale, float) and std > 0 and scale > 0):
        raise InputError(f"std and length_scale must be positive numbers, got {std} and {scale}. Example: std = 1.0")
    squared = ((where[:, None, :] - where[None, :, :]) ** 2).sum(axis=-1)
    covariance = std**2 * (np.exp(-squared / (2.0 * scale**2)) + JITTER * np.eye(len(where)))
    return np.asarray(covariance)
