"""Worlds in numbers: what each is like before its truth is drawn, and what is true in one. No drawing."""

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from journeyman.errors import InputError
from journeyman.mdp import FiniteMDP, evaluate_policy
from journeyman.problem import beta_of
from journeyman.types import BoolArray, FloatArray
from journeyman.worlds import WORLDS, World, make_world, world_options

TIE_TOLERANCE = 1e-9


def world_entries(on_failure: Callable[[str, Exception], None] | None = None) -> list[dict[str, Any]]:
    """Return what each world of `WORLDS` is like with its default options, in their order, as plain data for JSON.

    A world that cannot be made is left out and given to `on_failure` by name with its error, which is raised without.
    """
    entries = []
    for name in WORLDS:
        try:
            entries.append(_world_entry(name))
        except Exception as error:  # a factory from outside may raise anything
            if on_failure is None:
                raise
            on_failure(name, error)
    return entries


def _world_entry(name: str) -> dict[str, Any]:
    """Return one world: its prior in words, states that may be asked about, and the most steps of a trajectory."""
    world = make_world(name)
    problem, mdp = world.problem, world.problem.mdp
    return {
        "name": name,
        "summary": (inspect.getdoc(WORLDS[name]) or "").partition("\n")[0],
        "num_states": mdp.num_states,
        "num_actions": mdp.num_actions,
        "discount": mdp.discount,
        "num_parameters": problem.reward_model.num_parameters,
        "reward_model": problem.reward_model.kind,
        "prior": problem.prior.describe(),
        "beta": beta_of(problem),
        "num_queryable": int(problem.queryable.sum()),
        "max_length": world.max_length,
        "has_grid": mdp.grid is not None,
        "options": world_options(name),
    }


@dataclass(frozen=True, eq=False)
class WorldSummary:
    """A world and what follows from its truth.

    Parameters
    ----------
    reward
        `[S]` if it depends on the state only, else `[S, A]`.
    state_reward
        `[S]` reward per state, averaged over the available actions where it depends on the action.
    optimal
        `[S, A]` actions whose q is within 1e-9 (1 + max |q|) of the best; at least one per state.
    expert_optimal
        `[S]` chance that the expert takes an optimal action; in terminal states, where nobody chooses, NaN.
    optimal_return, expert_return
        Expected discounted reward from the initial states, of an optimal policy and of the expert.
    """

    world: World
    reward: FloatArray
    state_reward: FloatArray
    optimal: BoolArray
    expert_optimal: FloatArray
    optimal_return: float
    expert_return: float

    @property
    def mdp(self) -> FiniteMDP:
        """The dynamics."""
        return self.world.problem.mdp

    @property
    def q(self) -> FloatArray:
        """`[S, A]` optimal values of actions; minus infinity where an action does not exist."""
        return self.world.expert.q

    @property
    def expert_policy(self) -> FloatArray:
        """`[S, A]` how often the expert takes each action; rows sum to one."""
        return self.world.expert.policy


def summarise_world(world: World) -> WorldSummary:
    """Solve a world under its true reward, and see how its expert does."""
    mdp, expert, reward = world.problem.mdp, world.expert, world.reward
    optimal = optimal_actions(expert.q)
    return WorldSummary(
        world=world,
        reward=reward,
        state_reward=per_state(mdp, reward),
        optimal=optimal,
        expert_optimal=np.where(mdp.terminal, np.nan, (expert.policy * optimal).sum(axis=1)),
        optimal_return=float(mdp.initial @ expert.values),
        expert_return=float(mdp.initial @ evaluate_policy(mdp, expert.policy, reward)),
    )


def optimal_actions(q: FloatArray) -> BoolArray:
    """Return `[S, A]` whether an action's q is within 1e-9 (1 + max |q|) of the best of its state."""
    largest = np.abs(q[np.isfinite(q)]).max()
    return np.asarray(q >= q.max(axis=1, keepdims=True) - TIE_TOLERANCE * (1.0 + largest))


def per_state(mdp: FiniteMDP, values: ArrayLike) -> FloatArray:
    """Return one number per state `[S]` of `[S]` or `[S, A]` values: the average over the available actions."""
    array = checked_values(mdp, values)
    if array.ndim == 1:
        return array
    return np.asarray(np.where(mdp.available, array, 0.0).sum(axis=1) / mdp.available.sum(axis=1))


def checked_values(mdp: FiniteMDP, values: ArrayLike) -> FloatArray:
    """Return values of shape `[S]` or `[S, A]` as floats."""
    array = np.asarray(values, dtype=np.float64)
    if array.shape not in ((mdp.num_states,), (mdp.num_states, mdp.num_actions)):
        raise InputError(
            f"values to draw must have shape {(mdp.num_states,)} or {(mdp.num_states, mdp.num_actions)}, "
            f"got {array.shape}. Check that they belong to this problem."
        )
    return array


def world_record(summary: WorldSummary) -> dict[str, Any]:
    """Return the summary as plain data for JSON; infinite and undefined numbers become None."""
    world, mdp, grid = summary.world, summary.mdp, summary.mdp.grid
    model = world.problem.reward_model
    names = [model.parameter_name(index) for index in range(model.num_parameters)]
    return {
        "name": world.name,
        "seed": world.seed,
        "num_states": mdp.num_states,
        "num_actions": mdp.num_actions,
        "action_names": [mdp.action_name(action) for action in range(mdp.num_actions)],
        "discount": mdp.discount,
        "beta": beta_of(world.problem),
        "expert": world.problem.expert.to_record(),
        "prior": world.problem.prior.describe(),
        "true_parameters": dict(zip(names, world.true_parameters.tolist(), strict=True)),
        "initial": mdp.initial.tolist(),
        "terminal": mdp.terminal.tolist(),
        "queryable": world.problem.queryable.tolist(),
        "reward": summary.reward.tolist(),
        "values": world.expert.values.tolist(),
        "q": without_nonfinite(summary.q.tolist()),
        "optimal_actions": [np.flatnonzero(row).tolist() for row in summary.optimal],
        "expert_policy": summary.expert_policy.tolist(),
        "expert_optimal": without_nonfinite(summary.expert_optimal.tolist()),
        "optimal_return": summary.optimal_return,
        "expert_return": summary.expert_return,
        "grid": None
        if grid is None
        else {
            "num_rows": grid.num_rows,
            "num_columns": grid.num_columns,
            "cells": grid.places.tolist(),
            "kinds": None if grid.kinds is None else list(grid.kinds),
        },
    }


def without_nonfinite(values: Any) -> Any:
    """Return nested lists and dicts with None for NaN and infinities, which JSON has no words for."""
    if isinstance(values, dict):
        return {key: without_nonfinite(value) for key, value in values.items()}
    if isinstance(values, list | tuple):
        return [without_nonfinite(value) for value in values]
    return None if isinstance(values, float) and not math.isfinite(values) else values
