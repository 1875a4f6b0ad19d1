"""`problem.toml`: one's own problem as a text file, with its tables of numbers beside it.

Every complaint names the table, the key and the line, and suggests what is meant.
"""

from pathlib import Path
from typing import Any

import numpy as np

from journeyman.errors import InputError
from journeyman.experts import EXPERTS
from journeyman.mdp import FiniteMDP
from journeyman.mdp.validation import checked_discount
from journeyman.problem import Problem
from journeyman.problem_files.grids import grid_of
from journeyman.problem_files.priors import prior_of
from journeyman.problem_files.rewards import reward_model_of
from journeyman.problem_files.tables import ROOT, TomlFile, TomlTable, read_toml
from journeyman.problem_files.transitions import StateOptions, mdp_of
from journeyman.types import BoolArray, FloatArray

TABLES = ("transitions", "states", "actions", "reward", "prior", "expert", "grid")
KEYS = {
    ROOT: ("discount", *TABLES),
    "states": ("labels", "initial", "terminal", "queryable"),
    "actions": ("labels",),
    "expert": ("kind", "beta"),
    "grid": ("layout", "wall", "rows", "columns", "cells", "moves", "kinds"),
}


def load_problem(path: str | Path) -> Problem:
    """Return the problem that a `problem.toml` describes; docs/problem-file.md lists its keys.

    Files that it names are looked for beside it.

    Raises
    ------
    InputError
        If anything in it is missing, unknown or wrong: with file, line and key.
    """
    file = read_toml(path)
    for name, keys in KEYS.items():
        if name != "expert":
            file.table(name).check_keys(keys)
    mdp = _mdp(file)
    model = reward_model_of(file.table("reward"), mdp)
    prior = prior_of(file.table("prior"), model, mdp)
    expert, states = file.table("expert"), file.table("states")
    model_of_expert = _expert(expert)
    queryable = None
    if "queryable" in states:
        with states.blamed("queryable"):
            queryable = state_mask(states.data["queryable"], mdp, "queryable")
    with expert.blamed("beta"):
        return Problem(mdp, model, prior, model_of_expert, queryable)


def _expert(table: TomlTable) -> Any:
    """Return the rationality of a Boltzmann expert, or the model of another kind, made of the other keys."""
    kind = table.choice("kind", tuple(EXPERTS), 'kind = "boltzmann"') if "kind" in table else "boltzmann"
    if kind == "boltzmann":
        table.check_keys(KEYS["expert"])
        return table.require("beta", "beta = 4.0, larger is closer to optimal")
    with table.blamed("kind"):
        return EXPERTS[kind].from_record({name: value for name, value in table.data.items() if name != "kind"})


def _mdp(file: TomlFile) -> FiniteMDP:
    """Return the dynamics; initial and terminal states need its labels, so they are set in a second pass."""
    top, states = file.table(ROOT), file.table("states")
    with top.blamed("discount"):
        discount = checked_discount(top.require("discount", "discount = 0.9"))
    options = StateOptions(
        state_labels=_labels(states),
        action_labels=_labels(file.table("actions")),
        grid=grid_of(file.table("grid")),
    )
    plain = mdp_of(file.table("transitions"), discount, options)
    changes: dict[str, Any] = {}
    if "initial" in states:
        with states.blamed("initial"):
            changes["initial"] = initial_distribution(states.data["initial"], plain)
    if "terminal" in states:
        with states.blamed("terminal"):
            changes["terminal"] = state_mask(states.data["terminal"], plain, "terminal")
    if not changes:
        return plain
    with states.blamed("terminal" if "terminal" in changes else "initial"):
        return mdp_of(file.table("transitions"), discount, options._replace(**changes))


def _labels(table: TomlTable) -> tuple[str, ...] | None:
    labels = table.data.get("labels")
    if labels is None:
        return None
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise InputError(
            f"labels must be a list of words, got {labels!r} at {table.file.place(table.name, 'labels')}. "
            'Example: labels = ["home", "road"]'
        )
    return tuple(labels)


def state_index(name: object, mdp: FiniteMDP) -> int:
    """Return the state that a label or a number means.

    Raises
    ------
    InputError
        If there is no such state.
    """
    if isinstance(name, str) and mdp.state_labels and name in mdp.state_labels:
        return mdp.state_labels.index(name)
    if isinstance(name, int) and not isinstance(name, bool) and 0 <= name < mdp.num_states:
        return name
    known = f"or one of {', '.join(mdp.state_labels[:8])} ..." if mdp.state_labels else "(states have no labels here)"
    raise InputError(f"a state must be a number in 0..{mdp.num_states - 1} {known}, got {name!r}. Correct it.")


def state_mask(value: Any, mdp: FiniteMDP, what: str) -> BoolArray:
    """Return `[S]` which states a list of names or numbers means; "all" and "reachable" are words for many."""
    if value == "all":
        return np.ones(mdp.num_states, dtype=bool)
    if value == "reachable":
        return mdp.reachable() & ~mdp.terminal
    if not isinstance(value, list):
        raise InputError(
            f'{what} must be a list of states, "all" or "reachable", got {value!r}. Example: {what} = [0, 3]'
        )
    mask = np.zeros(mdp.num_states, dtype=bool)
    mask[[state_index(name, mdp) for name in value]] = True
    return mask


def initial_distribution(value: Any, mdp: FiniteMDP) -> FloatArray:
    """Return `[S]` chances: of a list of states, equally likely, or of a table {state = chance}."""
    chances = np.zeros(mdp.num_states)
    if isinstance(value, list) and value:
        chances[[state_index(name, mdp) for name in value]] = 1.0
        return np.asarray(chances / chances.sum())
    if isinstance(value, dict) and value:
        for name, chance in value.items():
            is_number = name.isdigit() and not (mdp.state_labels and name in mdp.state_labels)
            chances[state_index(int(name) if is_number else name, mdp)] = _chance(name, chance)
        return chances
    raise InputError(
        f"initial must be a list of states or a table of chances, got {value!r}. "
        'Examples: initial = ["home"], initial = {0 = 0.5, 3 = 0.5}'
    )


def _chance(name: str, chance: object) -> float:
    if isinstance(chance, bool) or not isinstance(chance, int | float):
        raise InputError(f"chances of initial states must be numbers, got {chance!r} at {name}. Correct it.")
    return float(chance)
