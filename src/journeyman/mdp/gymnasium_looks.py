"""What the states and actions of Gymnasium's tables are called, and where they lie: FrozenLake, CliffWalking and Taxi.

Environments are known by the names of their classes, so that Gymnasium need not be imported, and subclasses are known
too. Others have numbers, and no grid.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from journeyman.mdp.grid import Grid

LAKE_KINDS = {"S": "start", "F": "frozen", "H": "hole", "G": "goal"}
LAKE_ACTIONS = ("left", "down", "right", "up")
LAKE_MOVES = ((0, -1), (1, 0), (0, 1), (-1, 0))
CLIFF_ACTIONS = ("up", "right", "down", "left")
CLIFF_MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))
TAXI_ACTIONS = ("south", "north", "east", "west", "pick up", "drop off")
TAXI_MOVES = ((1, 0), (-1, 0), (0, 1), (0, -1), (0, 0), (0, 0))
TAXI_PLACES = ("red", "green", "yellow", "blue", "taxi")  # where a passenger is; all but the last are destinations
TAXI_SIZE = 5


class Look(NamedTuple):
    """Labels of states and actions, and a grid to draw them on; None where they are not known. note: how to read it."""

    kind: str | None = None
    state_labels: tuple[str, ...] | None = None
    action_labels: tuple[str, ...] | None = None
    grid: Grid | None = None
    note: str = ""


def look_of(core: Any, num_states: int, num_actions: int) -> Look:
    """Return the look of an environment without wrappers; numbers and no grid if it is none that is known."""
    for cls in type(core).__mro__:
        if cls.__name__ in LOOKS:
            look = LOOKS[cls.__name__](core)
            fits = look.state_labels is not None and len(look.state_labels) == num_states
            return look if fits and len(look.action_labels or ()) == num_actions else Look()
    return Look()


def cell_labels(num_rows: int, num_columns: int) -> tuple[str, ...]:
    """Return "r0c0", "r0c1", ...: row and column of each cell of a grid, counted from 0."""
    return tuple(f"r{row}c{column}" for row in range(num_rows) for column in range(num_columns))


def _frozen_lake(core: Any) -> Look:
    letters = np.asarray(core.desc).astype(str)
    num_rows, num_columns = letters.shape
    kinds = tuple(LAKE_KINDS.get(letter, letter) for letter in letters.ravel().tolist())
    grid = Grid(num_rows, num_columns, moves=np.array(LAKE_MOVES), kinds=kinds)
    return Look("FrozenLake", cell_labels(num_rows, num_columns), LAKE_ACTIONS, grid)


def _cliff_walking(core: Any) -> Look:
    num_rows, num_columns = core.shape
    kinds = np.full((num_rows, num_columns), "ground", dtype=object)
    kinds[np.asarray(core._cliff)] = "cliff"
    kinds[np.unravel_index(core.start_state_index, core.shape)] = "start"
    kinds[-1, -1] = "goal"
    grid = Grid(num_rows, num_columns, moves=np.array(CLIFF_MOVES), kinds=tuple(kinds.ravel().tolist()))
    return Look("CliffWalking", cell_labels(num_rows, num_columns), CLIFF_ACTIONS, grid)


def _taxi(core: Any) -> Look:
    """One small map for each place of the passenger (across) and destination (down), with walls between them."""
    labels, cells = [], []
    for state in range(TAXI_SIZE * TAXI_SIZE * len(TAXI_PLACES) * (len(TAXI_PLACES) - 1)):
        row, column, passenger, destination = (int(part) for part in core.decode(state))
        labels.append(f"r{row}c{column}, {TAXI_PLACES[passenger]} to {TAXI_PLACES[destination]}")
        cells.append((destination * (TAXI_SIZE + 1) + row, passenger * (TAXI_SIZE + 1) + column))
    num_rows, num_columns = (TAXI_SIZE + 1) * (len(TAXI_PLACES) - 1) - 1, (TAXI_SIZE + 1) * len(TAXI_PLACES) - 1
    grid = Grid(num_rows, num_columns, cells=np.array(cells), moves=np.array(TAXI_MOVES))
    places = ", ".join(TAXI_PLACES[:-1])
    note = f"one for each place of the passenger (across: {places}, in the taxi) and destination (down: {places})"
    return Look("Taxi", tuple(labels), TAXI_ACTIONS, grid, note)


LOOKS: dict[str, Callable[[Any], Look]] = {
    "FrozenLakeEnv": _frozen_lake,
    "CliffWalkingEnv": _cliff_walking,
    "TaxiEnv": _taxi,
}
