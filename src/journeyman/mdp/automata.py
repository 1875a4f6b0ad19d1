"""Automata that remember: what is to be known of the past, in a few states that steps move.

Each is made for the states and actions of one world; `mdp.with_memory` makes the product of both.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from journeyman.checks import nearest, whole_number
from journeyman.errors import InputError
from journeyman.mdp.names import Names
from journeyman.mdp.rows import MAX_STATES
from journeyman.types import IntArray, read_only

if TYPE_CHECKING:
    from journeyman.mdp.model import FiniteMDP

ENDS = -1  # in place of the next state of an automaton: the episode ends after this step
CHANGE_KEYS = ("from", "state", "action", "enters", "to")
CHANGE_EXAMPLE = '{"from": "thirsty", "state": "water", "to": "sated"}'


@dataclass(frozen=True, eq=False)
class Memory:
    """An automaton with a few states that is moved by what is met and done.

    Made by `visited`, `last_action`, `automaton`, `clock` or `combined`, or from tables of one's own.

    Parameters
    ----------
    name
        What it remembers, in words.
    following
        `[M, S, A]` its state after doing a in s, if it was m; -1: the episode ends after this step.
    labels
        One word per state of the automaton.
    initial
        Its state when a demonstration begins, before it enters the first state of the world.
    entering
        `[M, S]` its state after entering s, if it was m by then; default: it stays.
    """

    name: str
    following: IntArray
    labels: tuple[str, ...]
    initial: int = 0
    entering: IntArray | None = None

    def __post_init__(self) -> None:
        """Check the tables, once."""
        labels = tuple(str(label) for label in self.labels)
        size = len(labels)
        table = np.asarray(self.following)
        if table.ndim != 3 or table.shape[0] != size or table.dtype.kind not in "iu":
            raise InputError(
                f"following must be whole numbers [{size}, S, A], one block for each of {', '.join(labels)}, got "
                f"{table.dtype} of shape {table.shape}. Give the next state of the automaton for each m, s and a."
            )
        again = next((label for i, label in enumerate(labels) if label in labels[:i]), None)
        if again is not None:
            raise InputError(f"states of a memory must have different labels, got {again!r} twice. Rename one.")
        if size == 0 or table.size == 0 or table.min() < ENDS or table.max() >= size or not 0 <= self.initial < size:
            got = f"{table.min()} to {table.max()}" if table.size else "none"
            raise InputError(
                f"states of a memory must lie in 0..{size - 1}, got {got} and initial {self.initial}. Give one label "
                f"for each state; {ENDS} says that the episode ends."
            )
        checked: dict[str, Any] = {"labels": labels, "initial": int(self.initial), "following": _frozen(table)}
        if self.entering is not None:
            checked["entering"] = _frozen(self._checked_entering(np.asarray(self.entering)))
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def _checked_entering(self, table: Any) -> Any:
        size, num_states, _ = self.following.shape
        if table.shape != (size, num_states) or table.dtype.kind not in "iu":
            raise InputError(
                f"entering must be whole numbers [{size}, {num_states}], got {table.dtype} of shape {table.shape}. "
                "Give the state of the automaton after entering s, for each m and s."
            )
        if table.min() < 0 or table.max() >= size:
            raise InputError(
                f"entering must lead to states 0..{size - 1} of the memory, got {table.min()} to {table.max()}. "
                "Give one label for each state."
            )
        return table

    @property
    def num_states(self) -> int:
        """Number of its own states M."""
        return len(self.labels)

    @cached_property
    def starts(self) -> IntArray:
        """`[S]` its state m0(s) where an episode begins in s."""
        num_states = self.following.shape[1]
        if self.entering is None:
            return np.full(num_states, self.initial, dtype=np.int64)
        return np.asarray(self.entering[self.initial])

    def after(self, memory: IntArray, state: IntArray, action: IntArray, next_state: IntArray) -> IntArray:
        """Return its states after steps, -1 where the episode ends; all arguments are arrays of one shape."""
        found = self.following[memory, state, action]
        return found if self.entering is None else np.where(found < 0, ENDS, self.entering[found, next_state])

    def product(self, problem: Any) -> Any:
        """Return `problem.with_memory(self)`: each state of the memory has reward parameters of its own."""
        return problem.with_memory(self)

    def check_size(self, mdp: "FiniteMDP") -> None:
        """Refuse a world that it was not made for."""
        num_states, num_actions = self.following.shape[1:]
        if (num_states, num_actions) != (mdp.num_states, mdp.num_actions):
            raise InputError(
                f"a memory must be made for {mdp.num_states} states and {mdp.num_actions} actions, got "
                f"{num_states} and {num_actions}. Make it for this problem."
            )


def _frozen(table: Any) -> IntArray:
    """Return whole numbers that cannot be written to; a view that repeats a few numbers stays one."""
    numbers = table.astype(np.int64, copy=False)
    return numbers if not numbers.flags.writeable else np.asarray(read_only(numbers))


def visited(mdp: "FiniteMDP", state: Any, until: Any = None, *, on: str = "leaving") -> Memory:
    """Return the memory of having been in a state, since the start or since another state was met last.

    Parameters
    ----------
    state, until
        Where it is made and where it is undone, by label or number.
    on
        "leaving": it changes with the step that leaves the place, so that at the place itself it still says what was
        before: coming there for the first time is told from coming again, and may be worth something else. "entering":
        it changes on arrival, also where an episode begins there.
    """
    places = [mdp.state_names.index(place) for place in (state, *(() if until is None else (until,)))]
    if on not in ("leaving", "entering"):
        raise InputError(f"on must be leaving or entering, got {on!r}. {nearest(on, ('leaving', 'entering'))}".strip())
    where = mdp.state_name(places[0])
    name = f"has visited {where}"
    if until is not None:
        if places[0] == places[1]:
            raise InputError(
                f"a memory must be undone in another state than it is made in, got {where} for both. Choose another."
            )
        name += f" since {mdp.state_name(places[1])}"
    table = np.repeat(np.arange(2)[:, None], mdp.num_states, axis=1)
    for place, becomes in zip(places, (1, 0), strict=False):
        table[:, place] = becomes
    labels = (f"before {where}", f"after {where}")
    shape = (2, mdp.num_states, mdp.num_actions)
    if on == "leaving":
        return Memory(name, np.broadcast_to(table[:, :, None], shape), labels)
    return Memory(f"{name} (on entering)", _staying(shape), labels, entering=table)


def last_action(mdp: "FiniteMDP") -> Memory:
    """Return the memory of the action before this one; none at the start."""
    shape = (mdp.num_actions + 1, mdp.num_states, mdp.num_actions)
    following = np.broadcast_to(1 + np.arange(mdp.num_actions), shape)
    labels = ("first", *(f"after {mdp.action_name(a)}" for a in range(mdp.num_actions)))
    return Memory("last action", following, labels)


def clock(mdp: "FiniteMDP", horizon: int) -> Memory:
    """Return the memory of how many actions were done, up to a horizon: then the episode ends."""
    horizon = whole_number(horizon, "horizon", 1, "It counts the actions of an episode.")
    check_number(mdp, horizon, "horizon", "Shorten the horizon or aggregate states.")
    following = np.append(np.arange(1, horizon), ENDS)
    labels = tuple(f"at {time}" for time in range(horizon))
    shape = (horizon, mdp.num_states, mdp.num_actions)
    return Memory("time", np.broadcast_to(following[:, None, None], shape), labels)


def automaton(
    mdp: "FiniteMDP", states: Sequence[str], changes: Sequence[Any], *, start: str | None = None, name: str = ""
) -> Memory:
    """Return a memory of one's own: its states by name, and what changes it.

    Parameters
    ----------
    states
        Names of its states.
    changes
        Each `{"from": m, "state": s, "action": a, "to": m'}`, or `{"from": m, "enters": s, "to": m'}` for what
        happens on arrival. A key that is left out means any (`from`: whatever it was before; `action` alone: that
        action anywhere); names may be lists. Or short: `(m, state or action or (state, action), m')`. Where nothing is
        said it stays as it is. Two changes that disagree about the same are refused.
    start
        Its state when a demonstration begins; default: the first.

    Examples
    --------
    `automaton(mdp, ["thirsty", "sated"], [{"state": "water", "to": "sated"}, {"state": "home", "to": "thirsty"}])`
    is `visited(mdp, "water", until="home")` with names of one's own.
    """
    names = _own_names(states)
    shape = (names.size, mdp.num_states, mdp.num_actions)
    following, entering = np.array(_staying(shape)), np.repeat(np.arange(shape[0])[:, None], shape[1], axis=1)
    by_step, by_entry = np.full(shape, -1, dtype=np.int64), np.full(shape[:2], -1, dtype=np.int64)  # which change
    if isinstance(changes, dict | str) or not isinstance(changes, Sequence) or not changes:
        raise InputError(f"changes must be a list with at least one change, got {changes!r}. Example: {CHANGE_EXAMPLE}")
    for number, change in enumerate(changes):
        try:
            before, place, action, entered, becomes = _parsed(mdp, names, change)
        except InputError as error:
            raise InputError(f"change {number} of a memory: {error}") from None
        table, said = (following, by_step) if entered is None else (entering, by_entry)
        where: Any = np.ix_(before, place, action) if entered is None else np.ix_(before, entered)
        clash = said[where][(said[where] >= 0) & (table[where] != becomes)]
        if clash.size:
            raise InputError(
                f"change {number} of a memory must not contradict another, got {change!r} after change "
                f"{int(clash[0])}, {changes[int(clash[0])]!r}. Say more exactly when each of them happens."
            )
        table[where], said[where] = becomes, number
    words = name or f"phase ({', '.join(names.labels or ())})"
    initial = 0 if start is None else names.index(start)
    return Memory(words, following, names.labels or (), initial, entering if (by_entry >= 0).any() else None)


def combined(*memories: Memory) -> Memory:
    """Return one memory that remembers what several do: its states are all combinations of theirs."""
    if not memories or not all(isinstance(memory, Memory) for memory in memories):
        got = next((type(memory).__name__ for memory in memories if not isinstance(memory, Memory)), "none")
        raise InputError(f"memories to combine must be Memory automata, got {got}. Example: combined(first, second)")
    found = memories[0]
    for other in memories[1:]:
        if found.following.shape[1:] != other.following.shape[1:]:
            raise InputError(
                f"memories to combine must be made for one world, got {found.following.shape[1:]} and "
                f"{other.following.shape[1:]} states and actions. Make both for the same MDP."
            )
        found = _pair(found, other)
    return found


def _pair(first: Memory, second: Memory) -> Memory:
    count = second.num_states
    one, two = np.repeat(first.following, count, axis=0), np.tile(second.following, (first.num_states, 1, 1))
    following = np.where((one < 0) | (two < 0), ENDS, one * count + two)
    entering = None
    if first.entering is not None or second.entering is not None:
        tables = [
            _staying((*memory.following.shape[:2], 1))[..., 0] if memory.entering is None else memory.entering
            for memory in (first, second)
        ]
        entering = np.repeat(tables[0], count, axis=0) * count + np.tile(tables[1], (first.num_states, 1))
    labels = tuple(f"{a}, {b}" for a in first.labels for b in second.labels)
    return Memory(
        f"{first.name} and {second.name}", following, labels, first.initial * count + second.initial, entering
    )


def _staying(shape: tuple[int, ...]) -> IntArray:
    """Return the table of an automaton that never moves."""
    return np.broadcast_to(np.arange(shape[0]).reshape(-1, *[1] * (len(shape) - 1)), shape)


def _own_names(states: Any) -> Names:
    listed = list(states) if isinstance(states, Sequence) and not isinstance(states, str) else []
    if not listed or not all(isinstance(state, str) and state.strip() for state in listed):
        raise InputError(
            f'states of a memory must be a list of words, got {states!r}. Example: states = ["thirsty", "sated"]'
        )
    if len(set(listed)) < len(listed):
        again = next(state for i, state in enumerate(listed) if state in listed[:i])
        raise InputError(f"states of a memory must have different labels, got {again!r} twice. Rename one.")
    return Names("state of the memory", len(listed), tuple(listed))


def _parsed(mdp: "FiniteMDP", names: Names, change: Any) -> tuple[Any, Any, Any, Any, int]:
    """Return when a change happens and what the memory then is: lists of m, s, a, of s entered or None, and m'."""
    if not isinstance(change, dict):
        change = _written_out(mdp, change)
    for key in change:
        if key not in CHANGE_KEYS:
            hint = nearest(key, CHANGE_KEYS) or f"Keys are {', '.join(CHANGE_KEYS)}."
            raise InputError(f"a change must have keys that it knows, got {key!r}. {hint}")
    if "to" not in change:
        raise InputError(
            f'a change must say what the memory becomes, got {change!r}. Add "to". Example: {CHANGE_EXAMPLE}'
        )
    if not {"state", "action", "enters"} & set(change):
        raise InputError(f"a change must say when it happens, got {change!r}. Add state, action or enters.")
    if "enters" in change and {"state", "action"} & set(change):
        raise InputError(
            f"a change on entering must not name what was done before, got {change!r}. Use state and action for what "
            "is done, and remember the rest in a state of the memory."
        )
    kinds = {"from": names, "state": mdp.state_names, "action": mdp.action_names, "enters": mdp.state_names}
    found = {key: _indices(change.get(key), kinds[key]) for key in kinds}
    entered = found["enters"] if "enters" in change else None
    return found["from"], found["state"], found["action"], entered, names.index(change["to"])


def _written_out(mdp: "FiniteMDP", change: Any) -> dict[str, Any]:
    """Return the change that (m, what, m') means: what is a state, an action, or both."""
    if not isinstance(change, Sequence) or isinstance(change, str) or len(change) != 3:
        raise InputError(f"a change must be a table or a triple, got {change!r}. Example: {CHANGE_EXAMPLE}")
    before, what, becomes = change
    if isinstance(what, Sequence) and not isinstance(what, str):
        if len(what) != 2:
            raise InputError(f"what changes a memory must be a state, an action or (state, action), got {what!r}.")
        return {"from": before, "state": what[0], "action": what[1], "to": becomes}
    is_state, is_action = mdp.state_names.knows(what), mdp.action_names.knows(what)
    if is_state and is_action:
        raise InputError(
            f"what changes a memory must be a state or an action, got {what!r}, which is both. Write it out: "
            f'{{"from": ..., "state": {what!r}, "to": ...}}'
        )
    if not is_state and not is_action:
        mdp.state_names.index(what)  # says which names there are
    return {"from": before, "state" if is_state else "action": what, "to": becomes}


def _indices(given: Any, names: Names) -> list[int]:
    """Return which ones a name, a list of names, or nothing (all) means."""
    if given is None:
        return list(range(names.size))
    return [names.index(name) for name in (given if isinstance(given, list | tuple) else [given])]


def check_number(mdp: "FiniteMDP", times: int, what: str, advice: str) -> None:
    """Refuse more states than an MDP can have, before any of them is made."""
    if mdp.num_states * times > MAX_STATES:
        raise InputError(f"states times {what} must be at most {MAX_STATES}, got {mdp.num_states} x {times}. {advice}")
