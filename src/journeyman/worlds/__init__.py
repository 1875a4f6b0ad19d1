"""The paper's environments and counter-examples: factories of worlds by name."""

import difflib
import inspect
from collections.abc import Callable
from typing import Any

from journeyman.errors import InputError
from journeyman.worlds.counterexamples import bandit, brown_two_state, lopes_two_state, regret_eig_trap
from journeyman.worlds.gridworld import gridworld
from journeyman.worlds.jail import jail
from journeyman.worlds.random_grid import random_8x8, random_10x10, random_grid
from journeyman.worlds.world import World

WORLDS: dict[str, Callable[..., World]] = {
    "jail": jail,
    "random-8x8": random_8x8,
    "random-10x10": random_10x10,
    "random-grid": random_grid,
    "lopes-two-state": lopes_two_state,
    "brown-two-state": brown_two_state,
    "regret-eig-trap": regret_eig_trap,
    "bandit": bandit,
}


def make_world(name: str, seed: int = 0, **options: Any) -> World:
    """Return world `name` with its truth drawn from the prior by `seed`; options as in its factory."""
    if name not in WORLDS:
        close = difflib.get_close_matches(str(name), WORLDS, n=1)
        hint = f"Did you mean {close[0]!r}?" if close else f"Choose from {', '.join(WORLDS)}."
        raise InputError(f"world must be one that exists, got {name!r}. {hint}")
    known = list(inspect.signature(WORLDS[name]).parameters)[1:]
    for option in options:
        if option not in known:
            raise InputError(f"world {name!r} must get options it knows, got {option!r}. It has: {', '.join(known)}.")
    return WORLDS[name](seed, **options)


__all__ = ["WORLDS", "World", "gridworld", "make_world"]
