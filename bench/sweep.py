"""What the engine of sweeps costs, and what a second worker gains.

The same cells (random 8x8 grids, default settings) run in a bare loop and through `run_sweep` with one worker, in
turns, in this process, on one core. The bare loop asks, has the expert answer, learns and measures, as the engine does,
and keeps its rows in a list: no files, no checkpoints, nothing to go on from. Both must give the same rows.

"ratio" is the time of the bare loop / the time through the engine. "scaling" is the time through the engine with one
worker / with two, on the clock, with the start of the processes. Compiled code is loaded before anything is timed.
"""

import argparse
import tempfile
import time
from typing import Any

from _measure import CORES, console, duration, environment, finish, pinned, show, spread, take_turns

# isort: split
import numpy as np

from journeyman.experiment import METRICS, Cell, Sweep, run_sweep, sweep_from_toml, sweep_table
from journeyman.experiment.metrics import measure
from journeyman.experts import Question
from journeyman.learner import ActiveLearner
from journeyman.mdp import occupancy

SPEC = """
name = "bench"
steps = 12
seeds = 2
worlds = ["random-8x8"]
acquisitions = ["random", "pac_eig"]
"""
COMPARED = ("entropy_evidence", "log_posterior_truth", "true_regret", "failure_chance", "state", "occupancy")


def bare_cell(cell: Cell, num_steps: int) -> list[dict[str, Any]]:
    """Run a cell as one would without an engine."""
    world = cell.make_world()
    mdp = world.problem.mdp
    learner = ActiveLearner.from_settings(world.problem, cell.settings(), num_threads=1)
    rows = [dict(measure(learner, world, tuple(METRICS)))]
    for _ in range(num_steps):
        shares = (1.0 - mdp.discount) * occupancy(mdp, learner.apprentice())
        query = learner.ask()
        visit = sum(earlier.state == query.state for earlier in learner.queries[:-1])
        learner.tell(query, world.make_expert(cell.expert_seed).demonstrate(Question(query.state, visit)))
        asked = {"state": query.state, "occupancy": float(shares[query.state])}
        rows.append({**measure(learner, world, tuple(METRICS)), **asked})
    return rows


def bare_loop(sweep: Sweep) -> list[dict[str, Any]]:
    """Run all cells, one after the other."""
    return [row for cell in sweep.cells() for row in bare_cell(cell, sweep.steps)]


def engine(sweep: Sweep, num_workers: int = 1) -> None:
    """Run all cells through the engine, into a new folder."""
    with tempfile.TemporaryDirectory() as folder:
        report = run_sweep(sweep, folder, num_workers=num_workers, progress=False)
    if not report.is_complete:
        raise RuntimeError(f"{len(report.failed)} cells failed")


def check_same(sweep: Sweep) -> None:
    """Make sure that both do the same; this also loads compiled code."""
    rows = bare_loop(sweep)
    with tempfile.TemporaryDirectory() as folder:
        run_sweep(sweep, folder, progress=False)
        table = sweep_table(sweep, folder)
    for column in COMPARED:
        bare = np.array([row.get(column, np.nan) for row in rows], dtype=float)
        if not np.array_equal(bare, table[column].astype(float).to_numpy(), equal_nan=True):
            raise RuntimeError(f"the bare loop and the engine differ in {column}")


def measure_overhead(sweep: Sweep, num_repeats: int) -> dict[str, Any]:
    """Compare the engine with a bare loop on one core; on the clock, and in processor seconds."""
    with pinned(1):
        check_same(sweep)
        times = take_turns({"bare loop": lambda: bare_loop(sweep), "engine": lambda: engine(sweep)}, num_repeats)
    bare, through = times["bare loop"], times["engine"]
    ratio, cpu_ratio = spread(bare.wall / through.wall), spread(bare.cpu / through.cpu)
    rows = [
        (name, duration(np.median(t.wall)), duration(np.median(t.cpu)), f"{t.cores:.2f}") for name, t in times.items()
    ]
    show(
        f"{len(sweep.cells())} cells of {sweep.steps} steps, {num_repeats} repeats",
        ["", "clock", "processor", "cores had"],
        rows,
    )
    console.print(f"bare loop / engine: {ratio} on the clock, {cpu_ratio} in processor seconds")
    return {"ratio": ratio.median, "ratio_range": ratio[1:], "cpu_ratio": cpu_ratio.median}


def measure_scaling(sweep: Sweep, num_repeats: int) -> dict[str, Any]:
    """Compare one worker with two, on the clock."""
    walls: dict[int, list[float]] = {1: [], 2: []}
    for repeat in range(num_repeats):
        for num_workers in (1, 2) if repeat % 2 == 0 else (2, 1):
            start = time.perf_counter()
            engine(sweep, num_workers)
            walls[num_workers].append(time.perf_counter() - start)
    scaling = spread(np.array(walls[1]) / np.array(walls[2]))
    show(
        f"{len(sweep.cells())} cells of {sweep.steps} steps, {num_repeats} repeats, {len(CORES)} cores",
        ["workers", "clock"],
        [(count, duration(float(np.median(seconds)))) for count, seconds in walls.items()],
    )
    console.print(f"one worker / two: {scaling}, with the start of the processes")
    return {"scaling": scaling.median, "scaling_range": scaling[1:], "seconds": {str(k): v for k, v in walls.items()}}


def main() -> None:
    """Run both comparisons."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few steps: shows that it runs, not how fast")
    parser.add_argument("--repeats", type=int, default=3, help="of the bare loop and the engine")
    options = parser.parse_args()
    overhead = sweep_from_toml(SPEC)
    # Enough cells that the start of processes, and the end, when one waits for the other, are small beside them.
    longer = overhead.with_changes(steps=30, seeds=tuple(range(16)), acquisitions=overhead.acquisitions[1:])
    if options.quick:
        overhead, longer = (sweep.with_changes(steps=2, seeds=(0,)) for sweep in (overhead, longer))
    result = measure_overhead(overhead, options.repeats)
    console.print()
    result |= measure_scaling(longer, 1)
    finish({"bench": "sweep", **result, "environment": environment("journeyman", "numba", "numpy", "pyarrow")})


if __name__ == "__main__":
    main()
