"""Gymnasium environments as worlds (extra `gym`): their dynamics, reward models with names, and their own reward.

Features are numbers of a transition, and their expectation those of (state, action), exactly as for the reward:

| environment | features |
|---|---|
| FrozenLake | step; hole and goal, for falling in and for arriving, beside the step |
| CliffWalking | step; cliff and goal |
| Taxi | step; bump (a move that leads nowhere); picked up, illegal pick-up; delivered, set down, illegal drop-off |
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from journeyman.checks import one_of, whole_number
from journeyman.errors import InputError, UnsupportedError
from journeyman.extras import require
from journeyman.mdp import FiniteMDP
from journeyman.mdp.gymnasium_looks import LOOKS
from journeyman.mdp.gymnasium_tables import GymnasiumTables, make_environment, read_tables
from journeyman.problem import Problem
from journeyman.rewards import LinearFeatures, Normal, PerState, PerStateAction, RewardModel
from journeyman.types import FloatArray
from journeyman.worlds.world import World, world_rng

PREFIX = "gym:"
REWARDS = ("features", "per_state", "per_state_action")
TRUTHS = ("own", "prior")
MAX_LENGTH = 20
EXACT = 1e-9  # relative error of the environment's reward in the form of a model
DEFAULTS: dict[str | None, dict[str, Any]] = {  # in the units of each environment's rewards
    "FrozenLakeEnv": {"reward": "features", "beta": 50.0},
    "CliffWalkingEnv": {"reward": "features", "beta": 2.0},
    "TaxiEnv": {"reward": "features", "beta": 2.0},
    None: {"reward": "per_state_action", "beta": 1.0},
}
Features = dict[str, Any]  # numbers of each transition [n], by name
# What a feature may be worth, give or take, as somebody would guess who knows the game but not its rewards; for a
# reward per state, or per state and action, the largest of them.
SCALES: dict[str, dict[str, float]] = {
    "FrozenLake": {"step": 0.1, "hole": 1.0, "goal": 1.0},
    "CliffWalking": {"step": 1.0, "cliff": 100.0, "goal": 10.0},
    "Taxi": {
        "step": 1.0,
        "bump": 1.0,
        "picked up": 10.0,
        "illegal pick-up": 10.0,
        "delivered": 20.0,
        "set down": 10.0,
        "illegal drop-off": 10.0,
    },
}


def _lake_features(tables: GymnasiumTables) -> Features:
    kinds = _kinds_after(tables)
    return {"step": np.ones(kinds.size), "hole": kinds == "hole", "goal": kinds == "goal"}


def _cliff_features(tables: GymnasiumTables) -> Features:
    """Falling shows only in where one comes from: the next state is the start, and no step leads that far."""
    grid = tables.look.grid
    assert grid is not None and grid.kinds is not None
    kinds, far = np.array(grid.kinds), np.abs(grid.places[tables.next_state] - grid.places[tables.state]).sum(axis=1)
    is_back = kinds[tables.next_state] == "start"
    is_fall = is_back & ((far > 1) | (tables.reward < tables.reward[~is_back].min()))
    return {"step": np.ones(far.size), "cliff": is_fall, "goal": kinds[tables.next_state] == "goal"}


def _taxi_features(tables: GymnasiumTables) -> Features:
    is_same = tables.next_state == tables.state
    pick_up, drop_off = tables.action == 4, tables.action == 5
    return {
        "step": np.ones(is_same.size),
        "bump": is_same & (tables.action < 4),
        "picked up": pick_up & ~is_same,
        "illegal pick-up": pick_up & is_same,
        "delivered": drop_off & tables.is_done,
        "set down": drop_off & ~is_same & ~tables.is_done,
        "illegal drop-off": drop_off & is_same,
    }


FEATURES: dict[str, Callable[[GymnasiumTables], Features]] = {
    "FrozenLake": _lake_features,
    "CliffWalking": _cliff_features,
    "Taxi": _taxi_features,
}


def _kinds_after(tables: GymnasiumTables) -> Any:
    grid = tables.look.grid
    assert grid is not None and grid.kinds is not None
    return np.array(grid.kinds)[tables.next_state]


def environment_reward_model(tables: GymnasiumTables, mdp: FiniteMDP, reward: str = "features") -> RewardModel:
    """Return a reward model for an environment: its named features, or a parameter per state, or per state and action.

    Parameters
    ----------
    tables
        Of `read_tables(env)`.
    mdp
        Of `tables.mdp(...)`, not unrolled.
    reward
        "features", for FrozenLake, CliffWalking and Taxi; "per_state"; "per_state_action".
    """
    one_of(reward, REWARDS, "reward", "Say 'per_state_action' for any reward there is.")
    if reward == "per_state":
        return PerState(mdp)
    if reward == "per_state_action":
        return PerStateAction(mdp)
    if tables.look.kind is None:
        raise UnsupportedError(
            f"features must be known for an environment, got none for {tables.name}. Say reward='per_state_action', or "
            "make features [S, A, D] of your own with tables.expected(...) and LinearFeatures."
        )
    numbers = FEATURES[tables.look.kind](tables)
    expected = np.stack([tables.expected(values) for values in numbers.values()], axis=2)
    return LinearFeatures(expected, mdp, names=tuple(numbers))


def own_parameters(tables: GymnasiumTables, model: RewardModel, discount: float) -> FloatArray:
    """Return the parameters with which a model pays what the environment pays; refuses where there are none.

    A reward per state is paid in the state, Gymnasium's on entering it: a reward that depends on the next state alone,
    as in FrozenLake, becomes that reward / discount, which changes the value of a state by its own reward and nothing
    about what is optimal or lost.
    """
    if model.kind == "per_state":
        return _own_per_state(tables, discount)
    wanted = tables.expected_reward.ravel()
    if model.kind == "per_state_action":
        return wanted
    theta = np.linalg.lstsq(model.features.toarray(), wanted - model.offset, rcond=None)[0]
    theta = np.where(np.abs(theta - np.round(theta, 9)) < 1e-9, np.round(theta, 9) + 0.0, theta)
    error = float(np.abs(model.features @ theta + model.offset - wanted).max())
    if error > EXACT * (1.0 + np.abs(wanted).max()):
        raise UnsupportedError(
            f"the reward of {tables.name} must be linear in its features, got one that is off by {error:.3g}. "
            "Say reward='per_state_action', or truth='prior'."
        )
    return np.asarray(theta)


def _own_per_state(tables: GymnasiumTables, discount: float) -> FloatArray:
    is_acted = ~tables.terminal[tables.state]
    after, paid = tables.next_state[is_acted], tables.reward[is_acted]
    low, high = np.full(tables.num_states, np.inf), np.full(tables.num_states, -np.inf)
    np.minimum.at(low, after, paid)
    np.maximum.at(high, after, paid)
    is_unlike = (low < high) | ((low <= high) & ~tables.terminal & _is_end(tables))
    if is_unlike.any():
        state = int(np.argmax(is_unlike))
        name = tables.look.state_labels[state] if tables.look.state_labels else str(state)
        raise UnsupportedError(
            f"a reward per state must depend on nothing but the state that is entered, but {tables.name} pays "
            f"{low[state]:g} to {high[state]:g} on the way to {name}, or ends on the way to a state that goes on. "
            "Say reward='features' or 'per_state_action', or truth='prior'."
        )
    return np.where(low <= high, low, 0.0) / discount


def _is_end(tables: GymnasiumTables) -> Any:
    """`[S]` states that some transition enters as the end of an episode."""
    ends = np.zeros(tables.num_states, dtype=bool)
    ends[tables.next_state[tables.is_done]] = True
    return ends


def gymnasium_world(
    env: Any,
    seed: int = 0,
    *,
    reward: str = "features",
    truth: str = "own",
    beta: float = 1.0,
    discount: float = 0.95,
    std: float = 1.0,
    horizon: int = 0,
    env_options: Mapping[str, Any] | None = None,
) -> World:
    """Return a Gymnasium environment with a transition table as a world: a problem with its true reward.

    States that no episode visits are not asked about.

    Parameters
    ----------
    env
        The environment, or its id.
    seed
        Of the expert's noise, and of the true reward with truth="prior".
    reward
        What is unknown: "features" (see `environment_reward_model`), "per_state" or "per_state_action".
    truth
        "own": the environment's reward; "prior": a draw from the prior.
    beta
        Rationality of the simulated expert.
    std
        The prior of each parameter is normal around 0; std times its scale in `SCALES` (1 for other environments) is
        its standard deviation.
    horizon
        Steps of an episode, made states by `Problem.unrolled`; 0: episodes go on until they end by themselves.
    env_options
        Of `gymnasium.make`, where `env` is an id.
    """
    one_of(truth, TRUTHS, "truth", "Leave it out for the environment's own reward.")
    horizon = whole_number(horizon, "horizon", 0, "0 means none.")
    tables = read_tables(env, env_options=env_options)
    mdp = tables.mdp(discount=discount, time_limit="ignore")
    model = environment_reward_model(tables, mdp, reward)
    prior = Normal(model.num_parameters, 0.0, std * _scales(tables, model))
    problem = Problem(mdp, model, prior, beta, mdp.reachable() & ~mdp.terminal)
    name = f"{PREFIX}{tables.name}"
    is_own = truth == "own"
    theta = own_parameters(tables, model, mdp.discount) if is_own else prior.sample(world_rng(name, seed), 1)[0]
    notes = {"map": tables.look.note} if tables.look.note else {}
    if tables.time_limit is not None and not horizon:
        notes["time limit"] = (
            f"Gymnasium stops episodes after {tables.time_limit} steps; here they go on until they end by themselves. "
            f"To have the limit, with a state for each time: --world-set horizon={tables.time_limit}"
        )
    if is_own and model.kind != "features":
        notes["caution"] = (
            "the environment pays 0 or the same nearly everywhere, which the prior thinks all but impossible: "
            "certificates may be wrong. Say reward=features, or truth=prior"
        )
    return World(
        name,
        seed,
        problem.unrolled(horizon) if horizon else problem,
        theta,
        max_length=MAX_LENGTH,
        is_prior_exact=not is_own,
        truth_origin="the environment's own; prior" if is_own else "drawn from the prior",
        notes=notes,
    )


def _scales(tables: GymnasiumTables, model: RewardModel) -> FloatArray:
    scales = SCALES.get(tables.look.kind or "", {"": 1.0})
    if model.kind == "features" and model.names is not None:
        return np.array([scales[name] for name in model.names])
    return np.full(model.num_parameters, max(scales.values()))


@lru_cache(maxsize=32)
def gymnasium_factory(env_id: str) -> Callable[..., World]:
    """Return the factory of the world gym:ID: its options are those of `gymnasium_world` and of the environment."""
    gymnasium = require("gymnasium", "gym")
    own = _own_options(gymnasium, env_id)
    parameters = inspect.signature(gymnasium_world).parameters
    defaults = {name: parameters[name].default for name in ("reward", "truth", "beta", "discount", "std", "horizon")}
    names = [cls.__name__ for cls in own.classes if cls.__name__ in LOOKS]
    defaults |= DEFAULTS[names[0] if names else None]

    def factory(seed: int = 0, **options: Any) -> World:
        ours = {name: options.get(name, default) for name, default in defaults.items()}
        theirs = {name: value for name, value in options.items() if name not in defaults}
        world = gymnasium_world(env_id, seed, env_options=theirs, **ours)
        return replace(world, name=f"{PREFIX}{env_id}")

    kind = inspect.Parameter.KEYWORD_ONLY
    options = {name: value for name, value in own.options.items() if name not in defaults} | defaults
    factory.__doc__ = f"Gymnasium's {env_id}."
    factory.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter("seed", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=0),
            *(inspect.Parameter(name, kind, default=value) for name, value in options.items()),
        ]
    )
    return factory


class _OwnOptions:
    """The class of an environment with its ancestors, and the options that its constructor has, with their defaults."""

    def __init__(self, classes: tuple[type, ...], options: dict[str, Any]) -> None:
        self.classes, self.options = classes, options


def _own_options(gymnasium: Any, env_id: str) -> _OwnOptions:
    if not env_id:
        raise InputError("a world gym:ID must name an environment, got none. Example: gym:FrozenLake-v1.")
    env = make_environment(env_id)
    classes, spec = type(env.unwrapped).__mro__, env.spec
    env.close()
    parameters = inspect.signature(classes[0]).parameters.values()
    with_default = [p for p in parameters if p.default is not p.empty and p.name != "render_mode"]
    given = {} if spec is None else dict(spec.kwargs)
    return _OwnOptions(classes, {p.name: given.get(p.name, p.default) for p in with_default})
