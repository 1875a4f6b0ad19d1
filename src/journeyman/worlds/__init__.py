"""The paper's environments and counter-examples, and Gymnasium's environments: factories of worlds by name.

A world from outside is one more factory, `factory(seed, *, option=default, ...) -> World`, added by
`WORLDS.register("mine", factory)`. The name "gym:ID" means Gymnasium's environment of that id; these are not listed.

>>> from journeyman import WORLDS
>>> sorted(WORLDS.builtin)
['bandit', 'brown-two-state', 'jail', 'lopes-two-state', 'random-10x10', 'random-8x8',
'random-grid', 'regret-eig-trap']
"""

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from journeyman.checks import check_options, whole_number
from journeyman.errors import InputError
from journeyman.registry import Registry
from journeyman.worlds.counterexamples import bandit, brown_two_state, lopes_two_state, regret_eig_trap
from journeyman.worlds.gridworld import gridworld
from journeyman.worlds.gymnasium import PREFIX, gymnasium_factory, gymnasium_world
from journeyman.worlds.jail import jail
from journeyman.worlds.random_grid import random_8x8, random_10x10, random_grid
from journeyman.worlds.world import World


def _complaint(factory: Any) -> str | None:
    """Say what is wrong with the factory of a world from outside: what it can be called with."""
    rule, advice = "must be a function of a seed", "Write def mine(seed=0, *, size=5): ... return World(...)."
    try:
        parameters = list(inspect.signature(factory).parameters.values())
    except (TypeError, ValueError):
        return f"{rule}, got {factory!r}. {advice}"
    if not parameters or parameters[0].name != "seed" or parameters[0].kind is inspect.Parameter.KEYWORD_ONLY:
        first = f"{parameters[0].name} as its first parameter" if parameters else "no parameters"
        return f"{rule}, got {first}. {advice}"
    bare = [parameter.name for parameter in parameters[1:] if parameter.default is parameter.empty]
    if bare:
        return f"must have a default for each option, got none for {', '.join(bare)}. {advice}"
    return None


class _Worlds(Registry[Callable[..., World]]):
    """Worlds by name, and those of Gymnasium by "gym:" and their id."""

    def find(self, name: str) -> Callable[..., World]:
        """Return a factory, or say which name is meant."""
        if isinstance(name, str) and name.startswith(PREFIX) and name not in self:
            return gymnasium_factory(name.removeprefix(PREFIX))
        return super().find(name)


WORLDS: Registry[Callable[..., World]] = _Worlds(
    "a world",
    "journeyman.worlds",
    object,
    {
        "jail": jail,
        "random-8x8": random_8x8,
        "random-10x10": random_10x10,
        "random-grid": random_grid,
        "lopes-two-state": lopes_two_state,
        "brown-two-state": brown_two_state,
        "regret-eig-trap": regret_eig_trap,
        "bandit": bandit,
    },
    _complaint,
)


def make_world(name: str, seed: int = 0, **options: Any) -> World:
    """Return world `name` with its truth drawn from the prior by `seed`; options as in its factory.

    A world from outside has the name that it is registered by. "gym:FrozenLake-v1" is Gymnasium's environment of that
    id (extra `gym`), with its own reward as the truth unless truth="prior".

    Examples
    --------
    >>> from journeyman import make_world
    >>> make_world("random-grid", seed=3, size=4).problem.mdp
    FiniteMDP(16 states, 5 actions, discount 0.9)
    """
    factory = WORLDS.find(name)
    check_options(options, [*world_options(name), "seed"], f"world {name!r}")
    world = factory(whole_number(seed, "seed", 0), **options)
    if not isinstance(world, World):
        raise InputError(
            f"the factory of world {name!r} must return a World, got {type(world).__name__}. Make one with World(...)."
        )
    # the package's own tell their size: random-grid makes random-6x6
    return world if name in WORLDS.builtin or world.name == name else replace(world, name=name)


def world_options(name: str) -> dict[str, Any]:
    """Return the options of a world with their defaults."""
    parameters = list(inspect.signature(WORLDS.find(name)).parameters.values())[1:]
    return {parameter.name: parameter.default for parameter in parameters}


__all__ = ["WORLDS", "World", "gridworld", "gymnasium_world", "make_world", "world_options"]
