"""The bounds of the paper's theorems beside the steps that it took: what is proved, and what happens."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from journeyman.apprentice.bounds import Bound, all_bounds, h_max, states_within_effective_horizon
from journeyman.experiment.statistics.steps_to import median_steps, steps_to
from journeyman.experiment.statistics.table import GROUP, checked_table, method_names
from journeyman.worlds import make_world
from reproduction.paper import PAPER_METHODS
from reproduction.result_table import ResultTable, Value, Written, write_tables

if TYPE_CHECKING:
    from pandas import DataFrame

EPSILON = DELTA = 0.1  # of the paper's experiments
SEEDS = tuple(range(16))
ALL_METHODS = "all methods"
CERTIFIED, LIKELY = "certified", "chance <= delta"
BOUND_COLUMNS = ("world", "form", "proved", "states", "EIG_min (nats)", "h_max (nats)", "answers at most")
NOTES = (
    "The bound is on the expected number of answers until P[regret >= epsilon] <= delta, if PAC-EIG as printed asks "
    "and the apprentice does what is most likely optimal. A trajectory tells at least as much as its first action, so "
    "it bounds the number of trajectories too.",
    "states: those in which regret can arise. published: all of them; support: those that can be reached and are not "
    "terminal, the most over all seeds; heuristic: those within 1 / (1 - discount) steps, which is not proved.",
    "The numbers show that asking never gets stuck; they do not plan an experiment.",
)
SEEN_NOTES = ("median, certified: observed steps to the certificate, of all methods together.",)
OBSERVED_NOTES = (
    "median: of the first steps from which the goal is kept to the end, over cells (one method on one seed). A cell "
    "that never gets there counts as later than all others; if half of them never do, the median lies beyond the last "
    "step. low, high: its 95 % interval; not for all methods together, whose cells share seeds.",
    "chance <= delta: the posterior chance of a regret above epsilon, which the bound is about. certified: a bound on "
    "that chance which allows for the Monte-Carlo error, on samples that did not choose the policy. Both are about the "
    "apprentice of largest expected return.",
)


class BoundedWorld(NamedTuple):
    """A world of the table: its label, and the name and options that make it."""

    label: str
    name: str
    options: Mapping[str, Any]


class BoundRow(NamedTuple):
    """One form of the bound in one world; h_max in nats."""

    world: str
    h_max: float
    bound: Bound


class ObservedRow(NamedTuple):
    """Steps to a goal over the `n` cells of a method: their median, infinite where half of them never got there.

    low, high: 95 % interval of the median, None for all methods together, whose cells share seeds. num_steps is how far
    every cell went.
    """

    world: str
    query: str
    inference: str
    method: str
    goal: str
    n: int
    num_reached: int
    median: float
    low: float | None
    high: float | None
    num_steps: int


PAPER_WORLDS = tuple(BoundedWorld(name, name, {}) for name in ("jail", "random-8x8", "random-10x10"))


def write_bounds(
    folder: str | Path, table: "DataFrame | None" = None, *, epsilon: float = EPSILON, delta: float = DELTA
) -> Written:
    """Write the bounds, and the steps that were observed if a sweep's table is given.

    Parameters
    ----------
    table
        As `sweep_table` gives it, for one epsilon and delta: these.

    Returns
    -------
    Paths of `bounds.md`, `bounds.csv` and, with a table, `bounds-observed.csv`; and the same as text.
    """
    bounds = [row for world in worlds_of(table) for row in bound_rows(world, epsilon=epsilon, delta=delta)]
    observed = [] if table is None else observed_rows(table, delta)
    tables = [bounds_table(bounds, observed, epsilon, delta)]
    if observed:
        tables.append(observed_table(observed))
    return write_tables(folder, tables)


def worlds_of(table: "DataFrame | None") -> tuple[BoundedWorld, ...]:
    """Return the worlds of a table, and those of the paper's that it lacks."""
    if table is None:
        return PAPER_WORLDS
    checked_table(table, "world_name", "world_options")
    found = table[["world", "world_name", "world_options"]].drop_duplicates("world")
    present = tuple(
        BoundedWorld(str(label), str(name), json.loads(options))
        for label, name, options in found.itertuples(index=False)
    )
    names = {world.name for world in present}
    return (*present, *(world for world in PAPER_WORLDS if world.name not in names))


def bound_rows(
    world: BoundedWorld, seeds: Sequence[int] = SEEDS, *, epsilon: float = EPSILON, delta: float = DELTA
) -> tuple[BoundRow, ...]:
    """Return all forms of the bound for a world, valid for each of `seeds`."""
    problems = [make_world(world.name, seed, **world.options).problem for seed in seeds]
    mdps = [problem.mdp for problem in problems]
    support = max(int((mdp.reachable() & ~mdp.terminal).sum()) for mdp in mdps)
    near = max(int((states_within_effective_horizon(mdp) & ~mdp.terminal).sum()) for mdp in mdps)
    size = (mdps[0].num_states, mdps[0].num_actions)
    bounds = all_bounds(
        *size, problems[0].beta, mdps[0].discount, epsilon, delta, support=max(support, 1), near_states=max(near, 1)
    )
    return tuple(BoundRow(world.label, h_max(*size), bound) for bound in bounds)


def observed_rows(table: "DataFrame", delta: float = DELTA) -> list[ObservedRow]:
    """Return steps to the certificate, and to a small enough chance of regret, for all methods and for each."""
    rows = []
    for goal, column, limit in ((CERTIFIED, "certificate_holds", None), (LIKELY, "failure_chance", delta)):
        reached = steps_to(table, column, limit)
        num_steps = reached.groupby(list(GROUP), observed=True)["last_step"].min()
        for cells in (reached.assign(method=ALL_METHODS), reached):
            for found in median_steps(cells).to_dict("records"):
                if found["method"] == ALL_METHODS:
                    found |= {"low": None, "high": None}
                went = int(num_steps[tuple(found[key] for key in GROUP)])
                rows.append(ObservedRow(**found, goal=goal, num_steps=went))
    methods = (ALL_METHODS, *method_names(table, PAPER_METHODS))
    return sorted(rows, key=lambda row: (*row[:3], row.goal != CERTIFIED, methods.index(row.method)))


def bounds_table(
    bounds: Sequence[BoundRow], observed: Sequence[ObservedRow], epsilon: float, delta: float
) -> ResultTable:
    """Return the bounds as a table, with the median of all observed certificates beside them."""
    rows = [(*_bound_values(row), *seen) for row in bounds for seen in _seen(row.world, observed)]
    columns = (*BOUND_COLUMNS, "seen with", "median", "certified") if observed else BOUND_COLUMNS
    thresholds = " or ".join(sorted({f"{row.bound.threshold:g}" for row in bounds}))
    words = f"An immediate regret of (1 - discount) epsilon = {thresholds} in some state counts as not correct."
    title = f"Bounds: answers for a regret below {epsilon:g} with a chance of at least {1.0 - delta:.4g}"
    return ResultTable("bounds", title, columns, tuple(rows), (*NOTES, words, *(SEEN_NOTES if observed else ())))


def _bound_values(row: BoundRow) -> tuple[Value, ...]:
    bound = row.bound
    return (row.world, bound.name, bound.is_valid, bound.num_states, bound.eig_min, row.h_max, bound.expected_steps)


def _seen(world: str, observed: Sequence[ObservedRow]) -> Iterator[tuple[Value, ...]]:
    """Yield what was seen in a world, for each query and inference; blanks if nothing was."""
    own = [item for item in observed if item.world == world and item.goal == CERTIFIED and item.method == ALL_METHODS]
    for item in own:
        certified = f"{item.num_reached} of {item.n}"
        yield (f"{item.query}, {item.inference}", step_text(item.median, item.num_steps), certified)
    if not own:
        yield (None,) * 3 if observed else ()


def observed_table(observed: Sequence[ObservedRow]) -> ResultTable:
    """Return the observed steps as a table, a row per goal and method."""
    columns = ("world", "query", "inference", "goal", "method", "median", "low", "high", "reached", "cells", "steps")
    rows: list[tuple[Value, ...]] = []
    for item in observed:
        steps = (step_text(value, item.num_steps) for value in (item.median, item.low, item.high))
        counts = (item.num_reached, item.n, item.num_steps)
        rows.append((item.world, item.query, item.inference, item.goal, item.method, *steps, *counts))
    return ResultTable("bounds-observed", "Observed steps", columns, tuple(rows), OBSERVED_NOTES)


def step_text(step: float | None, num_steps: int) -> str | None:
    """Return a step that may lie beyond the last one."""
    return None if step is None else f"{step:g}" if math.isfinite(step) else f"> {num_steps}"
