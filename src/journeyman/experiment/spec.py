"""Sweep: an experiment grid, checked down to every combination before any work."""

import reprlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from journeyman.apprentice.epsilon import absolute_epsilon
from journeyman.checks import whole_number
from journeyman.errors import InputError
from journeyman.experiment.cell import Cell, Choice, QueryKind
from journeyman.experiment.metrics import BUILT_IN, METRICS
from journeyman.worlds import make_world

MAX_SEED = 2**31 - 1  # that the column of results can hold
MAX_NUMBER = 1e18  # of an option


@dataclass(frozen=True)
class Sweep:
    """An experiment grid: every world x query x inference x acquisition x seed is a cell of `steps` answers.

    Parameters
    ----------
    name
        Of the sweep, for titles.
    worlds, queries, inference, acquisitions
        The axes; labels within an axis differ.
    seeds
        Instances of each world.
    steps
        Answers per cell.
    epsilon, delta
        Regret that is too much, and the chance of it that is acceptable.
    metrics
        Keys of `METRICS`; default: those of the package.
    num_histories
        Sampled trajectories per state, where scores are sampled.
    """

    name: str
    worlds: tuple[Choice, ...]
    acquisitions: tuple[Choice, ...]
    seeds: tuple[int, ...]
    steps: int
    queries: tuple[QueryKind, ...] = (QueryKind(),)
    inference: tuple[Choice, ...] = (Choice("smc", "smc"),)
    epsilon: float = 0.1
    delta: float = 0.1
    metrics: tuple[str, ...] = tuple(BUILT_IN)
    num_histories: int = 64

    def __post_init__(self) -> None:
        """Check all that can be checked before any work, down to every combination."""
        if not (isinstance(self.name, str) and self.name.strip()):
            raise InputError(f"name must be a word or two, got {self.name!r}. It goes into titles.")
        whole_number(self.steps, "steps", 1, "It is the number of answers per cell.")
        absolute_epsilon(self.epsilon, "sweeps, which compare it with true regrets")
        for seed in self.seeds:
            if whole_number(seed, "a seed", 0) > MAX_SEED:
                raise InputError(f"a seed must be at most {MAX_SEED}, got {seed}. Choose a smaller one.")
        for axis in ("worlds", "acquisitions", "seeds", "queries", "inference", "metrics"):
            _check_axis(axis, getattr(self, axis))
        for metric in self.metrics:
            METRICS.find(metric)
        for choice in (*self.worlds, *self.acquisitions, *self.inference):
            for option, value in choice.options.items():
                _check_finite(value, f"option {option!r} of {choice.name!r}")
        known: dict[str, Cell] = {}
        for world in self.worlds:
            problem = make_world(world.name, self.seeds[0], **world.options).problem
            for cell in self._cells(world, self.seeds[0]):
                cell.settings(seed=0).check_problem(problem)
                twin = known.setdefault(cell.id, cell)
                if twin is not cell:  # one thing by two names would be counted twice
                    raise InputError(
                        f"cells must differ in more than their labels, got {twin.text!r} and {cell.text!r}, which are "
                        "the same. Remove one of them."
                    )

    def cells(self) -> tuple[Cell, ...]:
        """Return all cells, all of one seed before the next: whenever one stops, the rest is a balanced table."""
        return tuple(cell for seed in self.seeds for world in self.worlds for cell in self._cells(world, seed))

    def _cells(self, world: Choice, seed: int) -> Iterable[Cell]:
        for query, inference, acquisition in product(self.queries, self.inference, self.acquisitions):
            yield Cell(world, seed, query, inference, acquisition, self.epsilon, self.delta, self.num_histories)

    def with_changes(self, **changes: Any) -> "Sweep":
        """Return a sweep with other values in some fields, checked again."""
        return replace(self, **changes)


def _check_axis(axis: str, entries: Sequence[Any]) -> None:
    if not entries:
        raise InputError(f"{axis} must not be empty. Give at least one.")
    seen: set[str] = set()
    for entry in entries:
        label = getattr(entry, "label", entry)
        if repr(label) in seen:
            hint = "Give each its own label." if axis in ("worlds", "acquisitions", "inference") else "Remove one."
            raise InputError(f"{axis} must differ from each other, got {label!r} twice. {hint}")
        seen.add(repr(label))


def _check_finite(value: Any, what: str) -> None:
    """Refuse NaN, infinity, and numbers that are too large."""
    for item in value if isinstance(value, list | tuple) else [value]:
        if isinstance(item, list | tuple):
            _check_finite(item, what)
        elif isinstance(item, float | int) and not abs(item) <= MAX_NUMBER:
            raise InputError(
                f"{what} must be a number below {MAX_NUMBER:g}, got {reprlib.repr(item)}. Give a finite one."
            )
