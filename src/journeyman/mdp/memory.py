"""Memory: worlds where what happened before matters, as products of a world with a small automaton.

The automaton watches the steps. If it is in m, and doing a in s led to s', then it goes on in

    m' = entering[following[m, s, a], s']

so that it may react to what is done where, and to what is entered. The pairs (m, s) are the states of another world, to
which every algorithm applies unchanged: there the reward, and so what the expert does, may depend on m.

*What is kept.* Episodes and questions may begin in any state s of the world, in the state m0(s) in which the memory
then is. These S pairs keep the numbers 0 .. S - 1; after them come all other pairs that can be reached from there, by
m and then s. What cannot be reached does not exist.

*Why these numbers.* What follows (m, s) has, for each s', one m'. So the number s' < S after it can only mean the
state s' of the world, whatever is remembered: if it is meant as the pair (m0(s'), s') and that can follow, then m' is
m0(s'), and both are the same. Demonstrations of the world are therefore never mistaken for ones of the product, and
`lift` leaves those of the product as they are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from journeyman.errors import InputError
from journeyman.mdp.automata import Memory, check_number, clock
from journeyman.mdp.grid import Grid
from journeyman.mdp.origin import check_simply_known
from journeyman.mdp.rows import Rows
from journeyman.types import BoolArray, FloatArray, IntArray, read_only

if TYPE_CHECKING:
    from journeyman.mdp.model import FiniteMDP

SHAPE = 1.3  # width over height of all panels of a drawing, about


@dataclass(frozen=True, eq=False)
class Panels:
    """How a world with memories is drawn: once for each state that its memories can be in, side by side and below.

    Parameters
    ----------
    world
        The innermost world.
    labels
        Title of each panel: what is remembered there; one panel has none.
    places, numbers
        `[N]` state of the world, and panel, of each state.
    """

    world: "FiniteMDP"
    labels: tuple[str, ...]
    places: IntArray
    numbers: IntArray

    def tiles(self, width: float, height: float, num_columns: int | None = None) -> IntArray:
        """Return `[P, 2]` row and column of each panel of this size; by default all are about as high as wide."""
        count = len(self.labels)
        sizes = [(max(c * width / SHAPE, -(-count // c) * height), c) for c in range(1, count + 1)]
        columns = min(sizes)[1] if num_columns is None else num_columns
        return np.stack(np.divmod(np.arange(count), columns), axis=1)

    def corners(self, num_columns: int | None = None) -> IntArray:
        """Return `[P, 2]` row and column where the grid of each panel begins: a row for its title is left above it."""
        grid = self.world.grid
        assert grid is not None  # else nobody asks
        if len(self.labels) == 1:
            return np.zeros((1, 2), dtype=np.int64)
        tiles = self.tiles(grid.num_columns + 1, grid.num_rows + 1, num_columns)
        return np.asarray(tiles * [grid.num_rows + 1, grid.num_columns + 1] + [1, 0])

    def grid(self, num_columns: int | None = None) -> Grid:
        """Return the grid of all panels."""
        grid, corners = self.world.grid, self.corners(num_columns)
        assert grid is not None  # else nobody asks
        rows, columns = (corners + np.array([grid.num_rows, grid.num_columns])).max(axis=0)
        cells = grid.places[self.places] + corners[self.numbers]
        kinds = None if grid.kinds is None else tuple(grid.kinds[place] for place in self.places.tolist())
        return Grid(int(rows), int(columns), cells, grid.moves, kinds)

    def offsets(self, coordinates: FloatArray) -> FloatArray:
        """Return `[P, 2]` by how much a drawing of the world at these coordinates is moved for each panel."""
        room = max(2.0, 0.1 * float(np.ptp(coordinates)))
        width, height = np.ptp(coordinates, axis=0) + room
        tiles = self.tiles(float(width), float(height))
        return np.asarray(tiles[:, ::-1] * [width, -height])

    def coordinates(self, coordinates: FloatArray) -> FloatArray:
        """Return `[N, 2]` where all states lie, given where those of the world do."""
        return np.asarray(coordinates[self.places] + self.offsets(coordinates)[self.numbers])


@dataclass(frozen=True, eq=False)
class Remembered:
    """What the states of a product are: which state of the world, with which state of the memory.

    Parameters
    ----------
    world
        The MDP that the memory was added to.
    automaton
        The memory.
    places, memories
        `[N]` state of the world and of the memory of each state of the product.
    """

    world: "FiniteMDP"
    automaton: Memory
    places: IntArray
    memories: IntArray

    def __post_init__(self) -> None:
        """Freeze the arrays."""
        for name in ("places", "memories"):
            object.__setattr__(self, name, read_only(np.asarray(getattr(self, name), dtype=np.int64)))

    @cached_property
    def _numbers(self) -> dict[tuple[int, int], int]:
        pairs = zip(self.memories.tolist(), self.places.tolist(), strict=True)
        return {pair: number for number, pair in enumerate(pairs)}

    @property
    def labels(self) -> tuple[str, ...]:
        """What is remembered in each state of the memory."""
        return self.automaton.labels

    @cached_property
    def panels(self) -> Panels:
        """How the product is drawn: one panel for each of its memories."""
        inner = self.world.memory
        if inner is None:
            world, places, marks, labels = self.world, self.places, self.memories, self.labels
        else:
            below = inner.panels
            world, places = below.world, below.places[self.places]
            marks = self.memories * len(below.labels) + below.numbers[self.places]
            labels = tuple(", ".join(word for word in (b, a) if word) for a in self.labels for b in below.labels)
        used, numbers = np.unique(marks, return_inverse=True)
        titles = tuple(labels[mark] for mark in used.tolist()) if len(used) > 1 else ("",)
        return Panels(world, titles, places, numbers.ravel())

    def label(self, state: int) -> str:
        """Return what is remembered in a state of the product."""
        return self.labels[int(self.memories[state])]

    def number(self, memory: int, place: int) -> int | None:
        """Return the state of the product with a state of the memory and of the world; None if it cannot be reached."""
        return self._numbers.get((memory, place))

    def lifted(
        self, start: int, steps: Sequence[tuple[int, int]], final: int | None
    ) -> tuple[int, tuple[tuple[int, int], ...], int | None]:
        """Return start, steps and final state as states of the product, given as ones of the world or of the product.

        What cannot follow stays as it is, for those who check it to refuse.
        """
        if self.world.memory is not None and self._is_of_world(start, steps, final):
            start, steps, final = self.world.memory.lifted(start, steps, final)
        found: list[tuple[int, int]] = []
        before: tuple[int, int] | None = None  # state of the product, and action
        for state, action in steps:
            number = state if before is None else self._next(*before, state)
            found.append((number, action))
            before = (number, action)
        if final is not None and before is not None:
            final = self._next(*before, final)
        return start, tuple(found), final

    def _is_of_world(self, start: int, steps: Sequence[tuple[int, int]], final: int | None) -> bool:
        states = (start, *(state for state, _ in steps), *(() if final is None else (final,)))
        return bool(max(states) < self.world.num_states)

    def _next(self, before: int, action: int, state: int) -> int:
        """Return the number of what was given as `state` after an action in `before`."""
        num_states, num_actions = self.world.num_states, self.world.num_actions
        if state >= num_states or before >= len(self.places) or action >= num_actions:
            return state
        where = (int(self.memories[before]), int(self.places[before]), action)
        memory = int(self.automaton.following[where])
        if memory >= 0 and self.automaton.entering is not None:
            memory = int(self.automaton.entering[memory, state])
        number = self.number(memory, state)
        return state if number is None else number


def with_memory(mdp: "FiniteMDP", memory: Memory, *, is_whole: bool = False) -> "FiniteMDP":
    """Return the product of an MDP with a memory; see the top of this file for its states.

    `is_whole` keeps what cannot be reached, too.
    """
    if not isinstance(memory, Memory):
        raise InputError(
            f"a memory must be a Memory automaton, got {type(memory).__name__}. Make one with journeyman.memory: "
            "visited(mdp, state), last_action(mdp), automaton(mdp, states, changes)."
        )
    check_simply_known(mdp, "a memory")
    memory.check_size(mdp)
    check_number(mdp, memory.num_states, "those of the memory", "Use a smaller memory or aggregate states.")
    keys = _kept(mdp, memory, is_whole)
    places, memories = keys % mdp.num_states, keys // mdp.num_states
    labels = tuple(f"{mdp.state_name(s)} ({memory.labels[m]})" for m, s in zip(memories, places, strict=True))
    return _product(mdp, memory, places, memories, labels)


def unrolled(mdp: "FiniteMDP", horizon: int) -> "FiniteMDP":
    """Return the MDP over (t, s), t = 0 .. horizon - 1, numbered t * S + s, whose episodes end after `horizon` steps.

    It is the product with a clock, of which nothing is left out. Any algorithm for the infinite horizon then solves the
    finite one: the value at (t, s) is the best discounted return of the horizon - t steps that are left. Terminal cells
    stay terminal; in the last layer actions are still chosen and paid, and then the episode ends.
    """
    time = clock(mdp, horizon)
    check_simply_known(mdp, "unrolling")
    places, times = np.tile(np.arange(mdp.num_states), horizon), np.repeat(np.arange(horizon), mdp.num_states)
    labels = None
    if mdp.state_labels is not None:
        labels = tuple(f"{label} at {t}" for t in range(horizon) for label in mdp.state_labels)
    return _product(mdp, time, places, times, labels)


def _kept(mdp: "FiniteMDP", memory: Memory, is_whole: bool) -> IntArray:
    """Return the pairs (m, s) that are kept, as m * S + s: where episodes begin, then all others in order."""
    first = memory.starts * mdp.num_states + np.arange(mdp.num_states)
    is_kept = np.zeros(memory.num_states * mdp.num_states, dtype=bool)
    is_kept[:] = is_whole
    is_kept[first] = True
    found = first if not is_whole else first[:0]
    actions = _actions_of_entries(mdp)
    while found.size:
        found = np.unique(_entries(mdp, memory, found, actions)[2])
        found = found[~is_kept[found]]
        is_kept[found] = True
    is_kept[first] = False
    return np.concatenate([first, np.flatnonzero(is_kept)])


def _actions_of_entries(mdp: "FiniteMDP") -> IntArray:
    """Return the action of each transition."""
    sizes = np.diff(mdp.rows.indptr)
    return np.repeat(np.arange(sizes.size) % mdp.num_actions, sizes)


def _entries(
    mdp: "FiniteMDP", memory: Memory, keys: IntArray, actions: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Return the transitions of pairs (m, s), without those where the memory ends the episode.

    `actions` are those of all transitions of the world. Which row of those of `keys` each is in, which entry of the
    world it is, and the pair that follows.
    """
    num_states, num_actions, indptr = mdp.num_states, mdp.num_actions, mdp.rows.indptr
    memories, places = np.divmod(keys, num_states)
    begin = indptr[places * num_actions]
    sizes = indptr[(places + 1) * num_actions] - begin
    pair = np.repeat(np.arange(keys.size), sizes)
    entry = np.arange(pair.size) - np.repeat(np.cumsum(sizes) - sizes, sizes) + begin[pair]
    action = actions[entry]
    next_state = mdp.rows.next_states[entry].astype(np.int64)
    following = memory.after(memories[pair], places[pair], action, next_state)
    goes_on = following >= 0
    after = following[goes_on] * num_states + next_state[goes_on]
    return (pair * num_actions + action)[goes_on], entry[goes_on], after


def _product(
    mdp: "FiniteMDP", memory: Memory, places: IntArray, memories: IntArray, labels: tuple[str, ...] | None
) -> "FiniteMDP":
    from journeyman.mdp.model import FiniteMDP

    keys, size = memories * mdp.num_states + places, places.size
    row, entry, after = _entries(mdp, memory, keys, _actions_of_entries(mdp))
    number = np.argsort(keys)
    after = number[np.searchsorted(keys[number], after)]
    order = np.argsort(row * size + after, kind="stable")
    counts = np.bincount(row, minlength=size * mdp.num_actions)
    rows = Rows(
        num_states=size,
        num_actions=mdp.num_actions,
        indptr=np.concatenate([[0], np.cumsum(counts)]),
        next_states=after[order].astype(np.int32),
        probabilities=mdp.rows.probabilities[entry[order]],
        is_checked=True,
    )
    initial = np.zeros(size)
    initial[: mdp.num_states] = mdp.initial
    remembered = Remembered(mdp, memory, places, memories)
    panels = remembered.panels
    world = panels.world
    return FiniteMDP(
        rows=rows,
        discount=mdp.discount,
        initial=initial,
        available=mdp.available[places],
        terminal=mdp.terminal[places],
        state_labels=labels,
        action_labels=mdp.action_labels,
        grid=None if world.grid is None else panels.grid(),
        coordinates=None if world.coordinates is None else panels.coordinates(world.coordinates),
        memory=remembered,
    )


def memory_to_arrays(remembered: Remembered) -> dict[str, Any]:
    """Return a memory as arrays of numbers and words; the world is stored beside it."""
    memory = remembered.automaton
    parts = {
        "name": memory.name,
        "words": list(memory.labels),
        "initial": memory.initial,
        "shape": memory.following.shape,
        "following": _shortened(memory.following),
        "entering": None if memory.entering is None else _shortened(memory.entering),
        "places": remembered.places,
        "memories": remembered.memories,
    }
    return {name: np.asarray(part) for name, part in parts.items() if part is not None}


def memory_from_arrays(arrays: dict[str, Any], world: "FiniteMDP") -> Remembered:
    """Return the memory that `memory_to_arrays` took apart."""
    shape = tuple(arrays["shape"].tolist())
    entering = arrays.get("entering")
    memory = Memory(
        str(arrays["name"].item()),
        np.broadcast_to(arrays["following"], shape),
        tuple(arrays["words"].tolist()),
        int(arrays["initial"].item()),
        None if entering is None else np.broadcast_to(entering, shape[:2]),
    )
    return Remembered(world, memory, arrays["places"], arrays["memories"])


def _shortened(table: IntArray) -> IntArray:
    """Return a table with length 1 along axes on which it does not depend."""
    for axis in range(1, table.ndim):
        first = table.take([0], axis=axis)
        if (table == first).all():
            table = first
    return np.ascontiguousarray(table)


def innermost(mdp: "FiniteMDP") -> "FiniteMDP":
    """Return the world to which memories were added; the MDP itself where there are none."""
    return mdp if mdp.memory is None else innermost(mdp.memory.world)


def places_in(mdp: "FiniteMDP") -> IntArray:
    """Return `[N]` which state of the innermost world each state is."""
    if mdp.memory is None:
        return np.arange(mdp.num_states)
    return places_in(mdp.memory.world)[mdp.memory.places]


def remembered_words(mdp: "FiniteMDP", state: int) -> str:
    """Return what is remembered in a state, that of inner memories first; "" where there is no memory."""
    if mdp.memory is None:
        return ""
    inner = remembered_words(mdp.memory.world, int(mdp.memory.places[state]))
    return ", ".join(word for word in (inner, mdp.memory.label(state)) if word)


def check_memory(memory: Any, num_states: int) -> None:
    """Refuse what an MDP with so many states cannot have as its memory."""
    if memory is not None and (not isinstance(memory, Remembered) or len(memory.places) != num_states):
        raise InputError(
            f"memory must say what each of {num_states} states remembers, got {type(memory).__name__}. Make the MDP "
            "with mdp.with_memory(automaton)."
        )


def world_mask(mdp: "FiniteMDP", mask: BoolArray) -> BoolArray:
    """Return `[S]` which states of the innermost world are in a mask `[N]` where an episode begins there."""
    return mask if mdp.memory is None else world_mask(mdp.memory.world, mask[: mdp.memory.world.num_states])
