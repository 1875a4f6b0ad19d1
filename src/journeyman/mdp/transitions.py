"""Transitions: steps that were seen in a real task, whatever they come as.

A simulator is a step function or an environment of Gymnasium's kind; what was recorded is a table, arrays or
demonstrations. All become parallel columns (state, action, next state, done) in the order in which they were seen.
"""

import operator
import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from journeyman.checks import any_array, whole_number
from journeyman.errors import InputError
from journeyman.mdp.gymnasium_tables import environment_name
from journeyman.mdp.names import Names
from journeyman.mdp.rows import index_column
from journeyman.progress import Report
from journeyman.storage.tables import Table, read_table
from journeyman.types import BoolArray, FloatArray, IntArray
from journeyman.wording import counted

NUM_REPORTS = 100  # of progress, over all steps
COLUMNS = ("state", "action", "next_state")
EXAMPLES = (
    "Give a step function (state, action, rng) -> next state, an environment with reset and step, a table with the "
    "columns state, action, next_state, and done if there is one, or demonstrations."
)


class Transitions(NamedTuple):
    """Steps in the order in which they were seen.

    state, action, next_state `[n]`; done `[n]`: whether the episode ended with this step; follows `[n]`: whether it
    came right after the step before it; has_done: whether anybody said how steps end; source: in words that follow
    "20 steps".
    """

    state: IntArray
    action: IntArray
    next_state: IntArray
    done: BoolArray
    follows: BoolArray
    has_done: bool
    source: str

    @property
    def size(self) -> int:
        """Number of steps."""
        return len(self.state)

    @property
    def words(self) -> str:
        """How many steps, and where they come from."""
        return f"{counted(self.size, 'step')} {self.source}"

    def only(self, is_kept: BoolArray) -> "Transitions":
        """Return some of the steps."""
        follows = self.follows & np.concatenate([[False], is_kept[:-1]])
        return self._replace(
            state=self.state[is_kept],
            action=self.action[is_kept],
            next_state=self.next_state[is_kept],
            done=self.done[is_kept],
            follows=follows[is_kept],
        )


class Sizes(NamedTuple):
    """Numbers of states and actions with their labels, and which actions exist `[S, A]`."""

    states: Names
    actions: Names
    available: BoolArray


def recorded_transitions(source: Any, sizes: Sizes) -> Transitions:
    """Return what a table, a mapping of columns, or (state, action, next_state[, done]) arrays hold."""
    if isinstance(source, str | Path | Table | Mapping) or hasattr(source, "columns"):
        return _of_table(read_table(source, what="a table of transitions"), sizes)
    if isinstance(source, np.ndarray) and source.ndim == 2 and source.shape[1] in (3, 4):
        columns: Sequence[Any] = list(source.T)
    elif isinstance(source, tuple | list) and len(source) in (3, 4) and all(np.ndim(column) == 1 for column in source):
        columns = source
    else:
        raise InputError(f"transitions must be a table or parallel arrays, got {reprlib.repr(source)}. {EXAMPLES}")
    lengths = {len(column) for column in columns}
    if len(lengths) != 1:
        raise InputError(
            f"the columns of transitions must be equally long, got {', '.join(str(len(one)) for one in columns)}. "
            "Give one state, action and next state per step."
        )
    uppers = (sizes.states.size, sizes.actions.size, sizes.states.size)
    state, action, next_state = (
        index_column(column, name, upper) for column, name, upper in zip(columns[:3], COLUMNS, uppers, strict=True)
    )
    done = _truths(columns[3]) if len(columns) == 4 else None
    return _recorded(state, action, next_state, done, "recorded")


def _of_table(table: Table, sizes: Sizes) -> Transitions:
    table.check_has(*COLUMNS, what="a table of transitions")
    names = (sizes.states, sizes.actions, sizes.states)
    state, action, next_state = (table.indices(name, one.index) for name, one in zip(COLUMNS, names, strict=True))
    done = None
    if "done" in table:
        done = np.array(
            [_truth(value, table.place(row, "done")) for row, value in enumerate(table.values("done"))], bool
        )
    return _recorded(state, action, next_state, done, f"recorded in {table.name}")


def _recorded(state: IntArray, action: IntArray, next_state: IntArray, done: BoolArray | None, how: str) -> Transitions:
    ended = np.zeros(len(state), dtype=bool) if done is None else done
    follows = np.zeros(len(state), dtype=bool)
    follows[1:] = (next_state[:-1] == state[1:]) & ~ended[:-1]
    return Transitions(state, action, next_state, ended, follows, done is not None, how)


def _truths(column: Any) -> BoolArray:
    return np.array([_truth(value, f"entry {i}") for i, value in enumerate(any_array(column, "done").tolist())], bool)


def _truth(value: Any, where: str) -> bool:
    word = value.strip().lower() if isinstance(value, str) else value
    if word in (True, 1, "true", "1", "yes", "1.0"):
        return True
    if word in (False, 0, "false", "0", "no", "0.0"):
        return False
    raise InputError(f"done must be true or false, got {value!r} at {where}. Write 1 where the episode ended, else 0.")


def demonstrated_transitions(demonstrations: Iterable[Any], sizes: Sizes) -> Transitions:
    """Return the steps of demonstrations: what followed each action, where that was seen."""
    rows: list[tuple[int, int, int, bool, bool]] = []
    num_items = 0
    for item in demonstrations:
        num_items += 1
        after: list[int | None] = [state for state, _ in item.steps[1:]]
        for t, ((state, action), next_state) in enumerate(zip(item.steps, [*after, item.final_state], strict=True)):
            if next_state is not None:
                is_end = item.ended == "terminated" and t == len(item.steps) - 1
                rows.append((state, action, next_state, is_end, t > 0))
    columns = np.array(rows, dtype=np.int64).reshape(-1, 5).T
    uppers = (sizes.states.size, sizes.actions.size, sizes.states.size)
    state, action, next_state = (
        index_column(column, name, upper) for column, name, upper in zip(columns[:3], COLUMNS, uppers, strict=True)
    )
    words = f"of {counted(num_items, 'demonstration')}"
    return Transitions(state, action, next_state, columns[3].astype(bool), columns[4].astype(bool), True, words)


StepFn = Callable[[int, int, np.random.Generator], Any]


class Seen:
    """Columns that grow by a step at a time, each checked."""

    def __init__(self, sizes: Sizes, what: str) -> None:
        self.sizes, self.what = sizes, what
        self.rows: list[tuple[int, int, int, bool, bool]] = []
        self.has_done: bool | None = None

    def add(self, state: int, action: int, found: Any, follows: bool) -> tuple[int, bool]:
        """Take what a step function gave: next state, or (next state, done); return both."""
        where = f"at state {self.sizes.states.labels[state] if self.sizes.states.labels else state}, action {action}"
        has_done = isinstance(found, tuple | list)
        if has_done and len(found) != 2:
            raise InputError(
                f"{self.what} must give a next state, or a pair (next state, done), got {reprlib.repr(found)} {where}. "
                "Return one of these."
            )
        if self.has_done is None:
            self.has_done = has_done
        if has_done != self.has_done:
            raise InputError(
                f"{self.what} must always say whether the episode is done, or never, got {reprlib.repr(found)} {where}."
                " Return (next state, done) each time."
            )
        next_state = self.state(found[0] if has_done else found, where)
        done = has_done and _truth(_plain(found[1]), where)
        self.rows.append((state, action, next_state, done, follows))
        return next_state, done

    def state(self, value: Any, where: str) -> int:
        """Return a state that a simulator gave, as a number in range."""
        size = self.sizes.states.size
        try:
            found = None if isinstance(value, bool | np.bool_) else operator.index(_plain(value))
        except TypeError:
            found = None
        if found is None:
            raise InputError(
                f"states must be whole numbers from 0 to {size - 1}, got {reprlib.repr(value)} from {self.what} "
                f"{where}. Number the states, or give state_fn, which turns an observation into such a number; where "
                "they are continuous, use journeyman.discretise."
            )
        if not 0 <= found < size:
            raise InputError(
                f"states must lie in 0..{size - 1}, got {found} from {self.what} {where}. "
                "Say num_states, or number the states from 0."
            )
        return found

    def transitions(self, how: str) -> Transitions:
        """Return all steps."""
        columns = np.array(self.rows, dtype=np.int64).reshape(-1, 5).T
        ends, follows = columns[3].astype(bool), columns[4].astype(bool)
        return Transitions(columns[0], columns[1], columns[2], ends, follows, bool(self.has_done), how)


def _plain(value: Any) -> Any:
    """Return a number out of an array without axes, as some environments give them."""
    return value.item() if isinstance(value, np.ndarray | np.generic) and np.ndim(value) == 0 else value


def sampled_pairs(
    rng: np.random.Generator,
    step_fn: StepFn,
    sizes: Sizes,
    samples_per_pair: int,
    terminal: BoolArray | None,
    report: Report,
) -> Transitions:
    """Return so many steps from every pair of a state and an action; none from states known to be terminal."""
    seen = Seen(sizes, "step_fn")
    pairs = np.argwhere(sizes.available if terminal is None else sizes.available & ~terminal[:, None])
    every = max(1, samples_per_pair * len(pairs) // NUM_REPORTS)
    for _ in range(samples_per_pair):  # rounds, so that what changes with time changes for all pairs
        for state, action in pairs.tolist():
            seen.add(state, action, step_fn(state, action, rng), False)
            if len(seen.rows) % every == 0:
                report(len(seen.rows) / (samples_per_pair * len(pairs)))
    return seen.transitions(f"of a step function, {samples_per_pair} per state and action")


class Walk(NamedTuple):
    """How to walk: steps in all, steps after which to start again, and how to act.

    action_fn(state, rng) gives an action; None: any that exists, with equal chances.
    """

    num_steps: int
    max_length: int
    action_fn: Callable[[int, np.random.Generator], int] | None


def walked(
    rng: np.random.Generator, step_fn: StepFn, sizes: Sizes, walk: Walk, initial: FloatArray | None, report: Report
) -> Transitions:
    """Return the steps of random walks, which begin again in an initial state when they end."""
    seen = Seen(sizes, "step_fn")
    starts = None if initial is None else np.asarray(initial)

    def reset() -> int:
        return int(rng.choice(sizes.states.size, p=starts))

    _walk(rng, seen, walk, reset, lambda state, action: step_fn(state, action, rng), report)
    return seen.transitions("of random walks by a step function")


def environment_walked(
    rng: np.random.Generator, env: Any, sizes: Sizes, walk: Walk, state_fn: Callable[[Any], Any], report: Report
) -> Transitions:
    """Return the steps of random walks in an environment with Gymnasium's reset and step, or the older kind's."""
    seen = Seen(sizes, "the environment")
    first = [int(rng.integers(2**31))]

    def reset() -> int:
        try:
            found = env.reset(seed=first.pop()) if first else env.reset()
        except TypeError:  # an environment that takes no seed
            found = env.reset()
        is_pair = isinstance(found, tuple) and len(found) == 2 and isinstance(found[1], dict)
        return seen.state(state_fn(found[0] if is_pair else found), "after reset")

    is_cut = [False]

    def step(state: int, action: int) -> tuple[Any, bool]:
        found = env.step(action)
        if not isinstance(found, tuple) or len(found) not in (4, 5):
            raise InputError(
                "an environment's step must give (observation, reward, terminated, truncated, info), or (observation, "
                f"reward, done, info), got {reprlib.repr(found)}. Wrap it so."
            )
        is_cut[0] = bool(found[3]) if len(found) == 5 else bool(dict(found[3]).get("TimeLimit.truncated", False))
        return state_fn(found[0]), bool(found[2]) and not (len(found) == 4 and is_cut[0])

    _walk(rng, seen, walk, reset, step, report, lambda: is_cut[0])
    return seen.transitions(f"of random walks in {environment_name(env)}")


def _walk(
    rng: np.random.Generator,
    seen: Seen,
    walk: Walk,
    reset_fn: Callable[[], int],
    step_fn: Callable[[int, int], Any],
    report: Report,
    is_cut_fn: Callable[[], bool] = lambda: False,
) -> None:
    state, length = reset_fn(), 0
    every = max(1, walk.num_steps // NUM_REPORTS)
    existing = [np.flatnonzero(row) for row in seen.sizes.available]
    for number in range(walk.num_steps):
        action = (
            int(rng.choice(existing[state])) if walk.action_fn is None else _acted(walk.action_fn, state, rng, seen)
        )
        state, done = seen.add(state, action, step_fn(state, action), length > 0)
        length += 1
        if done or is_cut_fn() or length >= walk.max_length:
            state, length = reset_fn(), 0
        if (number + 1) % every == 0:
            report((number + 1) / walk.num_steps)


def _acted(
    action_fn: Callable[[int, np.random.Generator], int], state: int, rng: np.random.Generator, seen: Seen
) -> int:
    action = whole_number(action_fn(state, rng), f"what action_fn gives in state {state}", 0, "Number actions from 0.")
    if action >= seen.sizes.actions.size or not seen.sizes.available[state, action]:
        raise InputError(
            f"action_fn must give an action that exists, got {action} in state {state}. Choose among the available."
        )
    return action


def state_mask(states: ArrayLike, names: Names, what: str) -> BoolArray:
    """Return `[S]` which states are meant by a mask, or by a list of names."""
    array = any_array(states, what)
    if array.dtype.kind == "b":
        if array.shape != (names.size,):
            raise InputError(f"{what} must have {names.size} entries, got shape {array.shape}. Give one per state.")
        return array.copy()
    mask = np.zeros(names.size, dtype=bool)
    mask[[names.index(name) for name in array.ravel().tolist()]] = True
    return mask
