"""The [memory] of a problem file: what the expert remembers, one thing or several, and what that means for rewards."""

from collections.abc import Callable

from journeyman.checks import suggestion
from journeyman.errors import InputError
from journeyman.mdp import FiniteMDP
from journeyman.mdp.automata import Memory, automaton, clock, combined, last_action, visited
from journeyman.problem import QUESTIONS, REWARDS, Problem
from journeyman.problem_files.tables import TomlFile, TomlTable

NAME = "memory"
SHARED_KEYS = ("rewards", "questions")
KEYS = {
    "visited": ("kind", "place", "until", "on"),
    "last_action": ("kind",),
    "automaton": ("kind", "states", "start", "changes"),
    "clock": ("kind", "horizon"),
}
EXAMPLE = 'kind = "visited", with place = "water" and perhaps until = "home"'
SEVERAL = 'Several are tables with names of yours: [memory.thirst] with kind = "visited", [memory.move] with ...'


def with_memory_of(file: TomlFile, problem: Problem) -> Problem:
    """Return the problem with what its file says that the expert remembers, if anything."""
    given = file.data.get(NAME)
    if given is None:
        return problem
    if isinstance(given, list):
        raise InputError(f"memory must be one table, got a list in {file.path.name}. {SEVERAL}")
    table = file.table(NAME)
    named = [key for key, value in table.data.items() if isinstance(value, dict)]
    if named:
        _check_only_named(table, named)
        parts = [_memory(TomlTable(file, f"{NAME}.{key}", table.data[key]), problem.mdp) for key in named]
    else:
        parts = [_memory(table, problem.mdp)]
    rewards = table.choice("rewards", REWARDS, 'rewards = "per_memory"', default="per_memory")
    questions = table.choice("questions", QUESTIONS, 'questions = "anywhere"', default="anywhere")
    with table.blamed("rewards"):
        return problem.with_memory(combined(*parts), rewards=rewards, questions=questions)


def _check_only_named(table: TomlTable, named: list[str]) -> None:
    for key in table.data:
        if key not in named and key not in SHARED_KEYS:
            hint = suggestion(key, SHARED_KEYS, otherwise="Beside tables with names it has")
            raise InputError(
                f"{table.title} must have keys that it knows, got {key!r} at {table.place(key)}, where "
                f"[memory.{named[0]}] says what is remembered. {hint}"
            )


def _memory(table: TomlTable, mdp: FiniteMDP) -> Memory:
    kind = table.choice("kind", tuple(KEYS), EXAMPLE)
    table.check_keys((*KEYS[kind], *(SHARED_KEYS if table.name == NAME else ())))
    return MAKERS[kind](table, mdp)


def _visited(table: TomlTable, mdp: FiniteMDP) -> Memory:
    places = {"place": table.require("place", 'place = "water"')}
    if "until" in table:
        places["until"] = table.data["until"]
    for key, place in places.items():
        with table.blamed(key):
            mdp.state_names.index(place)
    on = table.choice("on", ("leaving", "entering"), 'on = "leaving"', default="leaving")
    with table.blamed("until"):
        return visited(mdp, places["place"], places.get("until"), on=on)


def _automaton(table: TomlTable, mdp: FiniteMDP) -> Memory:
    states = table.require("states", 'states = ["thirsty", "sated"]')
    example = '{ from = "thirsty", state = "water", to = "sated" }'
    changes = table.require("changes", f"changes = [{example}]")
    for key in ("states", "start"):  # one after the other, so that each complaint names its line
        if key in table:
            with table.blamed(key):
                start = table.data.get("start") if key == "start" else None
                automaton(mdp, states, [{"action": 0, "to": states[0] if states else ""}], start=start)
    with table.blamed("changes"):
        if not isinstance(changes, list) or not all(isinstance(change, dict | list) for change in changes):
            raise InputError(f"changes must be a list of tables, got {changes!r}. Example: changes = [{example}]")
        return automaton(mdp, states, changes, start=table.data.get("start"))


def _clock(table: TomlTable, mdp: FiniteMDP) -> Memory:
    horizon = table.require("horizon", "horizon = 20")
    with table.blamed("horizon"):
        return clock(mdp, horizon)


MAKERS: dict[str, Callable[[TomlTable, FiniteMDP], Memory]] = {
    "visited": _visited,
    "last_action": lambda _, mdp: last_action(mdp),
    "automaton": _automaton,
    "clock": _clock,
}
