"""`problem.toml`: one's own problem as a text file, with its tables of numbers beside it.

Every complaint names the table, the key and the line, and suggests what is meant.
"""

import shlex
from pathlib import Path
from typing import Any

from journeyman.errors import InputError
from journeyman.experts import EXPERTS, Boltzmann
from journeyman.experts.models import BOLTZMANN_KEYS
from journeyman.problem import Problem
from journeyman.problem_files.dynamics import dynamics_of, state_mask
from journeyman.problem_files.memory import with_memory_of
from journeyman.problem_files.rewards import rewards_of
from journeyman.problem_files.tables import ROOT, TomlFile, TomlTable, read_toml
from journeyman.registry import OUTSIDE

TABLES = ("transitions", "map", "graph", "states", "actions", "reward", "prior", "expert", "grid", "memory")
KEYS = {
    ROOT: ("discount", *TABLES),
    "states": ("labels", "initial", "terminal", "queryable"),
    "actions": ("labels",),
    "expert": ("kind", *BOLTZMANN_KEYS),
    "grid": ("layout", "wall", "rows", "columns", "cells", "moves", "kinds"),
}
UNKNOWN = {"lognormal": [1.0, 1.0]}  # a beta that every other key fits


def load_problem(path: str | Path, *, is_confined: bool = False) -> Problem:
    """Return the problem that a `problem.toml` describes; docs/problem-file.md lists its keys.

    Files that it names are looked for beside it; with `is_confined` nowhere else, for problems of strangers. What is
    missing, unknown or wrong is said with file, line and key.
    """
    try:
        return problem_of(read_toml(path, is_confined=is_confined))
    except InputError as error:
        if Path(path).suffix.lower() != ".txt":
            raise
        command = shlex.join(["journeyman", "init", Path(path).stem, "--from-map", str(path)])
        raise InputError(f"{error} If it is a drawn map, make a problem of it: {command}") from None


def problem_of(file: TomlFile) -> Problem:
    """Return the problem of a file that was read, or is still to be written."""
    for name, keys in KEYS.items():
        if name != "expert":
            file.table(name).check_keys(keys)
    mdp = dynamics_of(file)
    model, prior = rewards_of(file.table("reward"), file.table("prior"), mdp)
    expert, states = file.table("expert"), file.table("states")
    model_of_expert = _expert(expert)
    queryable = None
    if "queryable" in states:
        with states.blamed("queryable"):
            queryable = state_mask(states.data["queryable"], mdp, "queryable")
    with expert.blamed("beta"):
        problem = Problem(mdp, model, prior, model_of_expert, queryable)
    return with_memory_of(file, problem)


def _expert(table: TomlTable) -> Any:
    """Return the rationality of a Boltzmann expert, or the model of another kind, made of the other keys."""
    kind = table.choice("kind", tuple(EXPERTS), 'kind = "boltzmann"', OUTSIDE, default="boltzmann")
    if kind == "boltzmann":
        table.check_keys(KEYS["expert"])
        beta = table.require("beta", "beta = 4.0, larger is closer to optimal")
        given = {name: value for name, value in table.data.items() if name != "kind"}
        if set(given) == {"beta"} and not isinstance(beta, dict):
            return beta
        for key in given:  # one after the other, so that each complaint names its line
            with table.blamed(key):
                first = {"beta": UNKNOWN} if key != "beta" else {}
                Boltzmann.from_record({**first, key: given[key]})
        with table.blamed():
            return Boltzmann.from_record(given)
    return table.made(EXPERTS[kind], {name: value for name, value in table.data.items() if name != "kind"})
