"""Many rewards on one set of dynamics: `solve_batch` against a loop over QuantEcon's DiscreteDP.

Both run pinned to one core, in one process, after a warm-up. QuantEcon gets every fair advantage: building its objects
is not counted, they are reused with only R changed in place, and the fastest of its forms counts. It knows no episodes
that end, so a terminal cell leads to a sink without reward, or is kept for ever with its reward times (1 - discount).

The ratios are against its policy iteration, which is exact. Modified policy iteration is shown beside it, asked for the
error bound that `solve_batch` returned.
"""

import argparse
import sys
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

from _measure import CORES, Spread, Times, duration, environment, finish, pinned, show, spread, take_turns

# isort: split
import numpy as np
from scipy import sparse

from journeyman.mdp import FiniteMDP, Solution, solve_batch
from journeyman.mdp.ordering import band_order
from journeyman.worlds.random_grid import random_grid

try:
    from quantecon.markov import DiscreteDP
except ImportError:
    sys.exit("bench/solve.py needs QuantEcon. `make bench` installs it.")

MAX_DIFFERENCE = 1e-8
OURS = "solve_batch"
EXACT = "policy iteration"
MODIFIED = "modified PI"


class QuantEconLoop:
    """Each call solves the next `part` rewards `[M, S]` one by one; `values` and `num_iterations` keep the answers."""

    def __init__(self, form: "Form", rewards: np.ndarray, part: int, **options: Any) -> None:
        self.ddp, self.states, scale = form
        self.rewards, self.part, self.options = rewards * scale, part, options
        self.num_written = len(self.states)  # what follows in R belongs to the sink
        self.values = np.full(rewards.shape, np.nan)
        self.num_iterations = np.zeros(len(rewards), dtype=int)
        self.next = 0

    def __call__(self) -> None:
        self.solve(range(self.next, self.next + self.part))
        self.next = (self.next + self.part) % len(self.rewards)

    def solve(self, rewards: range) -> None:
        for m in rewards:
            self.ddp.R[: self.num_written] = self.rewards[m][self.states]
            result = self.ddp.solve(**self.options)
            self.values[m] = result.v[: self.values.shape[1]]
            self.num_iterations[m] = result.num_iter

    def difference(self, values: np.ndarray) -> float:
        """Return the largest difference to `values`, over the rewards solved so far."""
        is_solved = self.num_iterations > 0
        return float(np.abs(self.values - values)[is_solved].max())


Form = tuple[DiscreteDP, np.ndarray, np.ndarray]  # object, state of each entry of R, factor of each state's reward


def sparse_form(mdp: FiniteMDP, has_sink: bool) -> Form:
    """Return `mdp` as sparse rows, one per action of a cell, and a single one where nothing can be chosen."""
    num_states, num_actions = mdp.num_states, mdp.num_actions
    rows = sparse.csr_matrix(
        (mdp.rows.probabilities, mdp.rows.next_states, mdp.rows.indptr), (num_states * num_actions, num_states)
    )
    state, action = np.divmod(np.arange(num_states * num_actions), num_actions)
    is_kept = ~mdp.terminal[state] | (action == 0)
    rows, state, action = rows[is_kept], state[is_kept], action[is_kept]
    ends = mdp.terminal[state]
    if not has_sink:
        stays = sparse.csr_matrix((np.ones(ends.sum()), (np.flatnonzero(ends), state[ends])), rows.shape)
        ddp = DiscreteDP(np.zeros(state.size), rows + stays, mdp.discount, state, action)
        return ddp, state, np.where(mdp.terminal, 1.0 - mdp.discount, 1.0)
    to_sink = sparse.csr_matrix(ends[:, None].astype(float))
    sink_row = sparse.csr_matrix(([1.0], ([0], [num_states])), (1, num_states + 1))
    with_sink = sparse.vstack([sparse.hstack([rows, to_sink]), sink_row], format="csr")
    ddp = DiscreteDP(
        np.zeros(state.size + 1), with_sink, mdp.discount, np.append(state, num_states), np.append(action, 0)
    )
    return ddp, state, np.ones(num_states)


def dense_form(mdp: FiniteMDP, has_sink: bool) -> Form:
    """Return `mdp` as one `[S, A, S]` array."""
    size = mdp.num_states + has_sink
    transitions = np.zeros((size, mdp.num_actions, size))
    transitions[: mdp.num_states, :, : mdp.num_states] = mdp.dense_transitions()
    ends = np.flatnonzero(mdp.terminal)
    scale = np.ones(mdp.num_states)
    if has_sink:
        transitions[np.append(ends, mdp.num_states), :, mdp.num_states] = 1.0
    else:
        transitions[ends, :, ends] = 1.0
        scale[ends] = 1.0 - mdp.discount
    return (
        DiscreteDP(np.zeros((size, mdp.num_actions)), transitions, mdp.discount),
        np.arange(len(scale))[:, None],
        scale,
    )


def draw_problem(size: int, num_rewards: int) -> tuple[FiniteMDP, np.ndarray]:
    """Return the dynamics of a random size x size grid, and N(0, 3^2) rewards `[M, S]`."""
    return random_grid(0, size=size).problem.mdp, np.random.default_rng(1).normal(0.0, 3.0, (num_rewards, size * size))


def compare(size: int, num_rewards: int, part: int, num_repeats: int, num_calls: int) -> dict[str, Any]:
    """Time both on one core; QuantEcon solves another `part` of the rewards in each repeat."""
    mdp, rewards = draw_problem(size, num_rewards)
    forms = {"sparse, sink": sparse_form(mdp, True), "sparse, no sink": sparse_form(mdp, False)}
    is_large = size > 20  # for dense arrays; small ones need no modified policy iteration, it is twice as slow there
    if not is_large:
        forms |= {"dense, sink": dense_form(mdp, True), "dense, no sink": dense_form(mdp, False)}
    solution = solve_batch(mdp, rewards, num_threads=1)  # also the warm-up
    loops = {f"{EXACT}, {name}": QuantEconLoop(form, rewards, part, method="pi") for name, form in forms.items()}
    if is_large:
        options = {
            "method": "mpi",
            "epsilon": 2.0 * solution.error_bound.max(),
            "max_iter": 10**6,
        }  # promises half of it
        loops |= {f"{MODIFIED}, {name}": QuantEconLoop(form, rewards, part, **options) for name, form in forms.items()}
    with pinned(1):
        for loop in loops.values():
            loop.solve(range(2))  # compiles
        tasks = {OURS: lambda: solve_batch(mdp, rewards, num_threads=1), **loops}
        times = take_turns(tasks, num_repeats, {OURS: num_calls})
    per_reward = {name: times[name].wall / (num_rewards if name == OURS else part) for name in times}
    ratios = {name: spread(seconds / per_reward[OURS]) for name, seconds in per_reward.items()}
    show(
        f"{size} x {size} grid, {num_rewards} rewards",
        ("one core", "per reward", "times ours (range)", "max iterations", "max difference", "cores had"),
        comparison_rows(solution, loops, times, per_reward, ratios),
        f"{num_repeats} repeats in turn; medians. QuantEcon: {part} rewards in each repeat, "
        f"{min(part * num_repeats, num_rewards)} of {num_rewards} in all.  * the ratio reported",
    )
    exact = fastest(ratios, EXACT)
    return {
        "ratio": ratios[exact],
        "ratio_modified": ratios[fastest(ratios, MODIFIED)] if is_large else None,
        "fastest": exact,
        "seconds_per_reward": spread(per_reward[OURS]),
        "error_bound": float(solution.error_bound.max()),
        "cores": {name: round(had.cores, 3) for name, had in times.items()},
        "max_difference": max(loop.difference(solution.values) for loop in loops.values()),
    }


def comparison_rows(
    solution: Solution,
    loops: dict[str, QuantEconLoop],
    times: dict[str, Times],
    per_reward: dict[str, np.ndarray],
    ratios: dict[str, Spread],
) -> Iterator[tuple[object, ...]]:
    """Yield the rows of the table, ours first."""
    accuracy = {OURS: f"bound {solution.error_bound.max():.1e}"}
    accuracy |= {name: f"{loop.difference(solution.values):.1e}" for name, loop in loops.items()}
    num_iterations = {OURS: solution.iterations.max()}
    num_iterations |= {name: loop.num_iterations.max() for name, loop in loops.items()}
    for name in times:
        ratio = "1  " if name == OURS else f"{ratios[name]} {'*' if name == fastest(ratios, EXACT) else ' '}"
        seconds = duration(np.median(per_reward[name]))
        yield name, seconds, ratio, num_iterations[name], accuracy[name], f"{times[name].cores:.2f}"


def fastest(ratios: dict[str, Spread], method: str) -> str:
    """Return the name of QuantEcon's fastest form with that method."""
    return min((name for name in ratios if name.startswith(method)), key=lambda name: ratios[name].median)


def compare_threads(problems: list[tuple[int, int, int]], num_repeats: int) -> dict[str, Spread] | None:
    """Time one thread against two, both free to use two cores; problems are (size, rewards, calls in a row)."""
    if len(CORES) < 2:
        print("Threads: skipped, this process may only use one core.")
        return None
    speedups, rows = {}, []
    with pinned(2):
        for size, num_rewards, num_calls in problems:
            mdp, rewards = draw_problem(size, num_rewards)
            tasks = {str(n): partial(solve_batch, mdp, rewards, num_threads=n) for n in (1, 2)}
            for task in tasks.values():
                task()
            times = take_turns(tasks, num_repeats, dict.fromkeys(tasks, num_calls))
            name = f"{size} x {size} grid, {num_rewards} rewards"
            speedups[name] = spread(times["1"].wall / times["2"].wall)
            medians = (duration(np.median(times[n].wall)) for n in tasks)
            rows.append((name, *medians, speedups[name], f"{times['2'].cores:.2f}"))
    show("Threads", ("two cores", "1 thread", "2 threads", "speed-up (range)", "cores had by 2"), rows)
    return speedups


def measure_growth(sizes: dict[int, int], batch_size: int) -> list[dict[str, float]]:
    """Time one reward and a small batch on grids of growing size, on one core; `sizes` says the number of repeats."""
    growth: list[dict[str, float]] = []
    with pinned(1):
        for size, num_repeats in sizes.items():
            mdp, rewards = draw_problem(size, batch_size)
            start = time.perf_counter()
            band_order(mdp)
            prepare = time.perf_counter() - start
            bounds: list[float] = []
            tasks = {
                "one": partial(solve_and_note, bounds, mdp, rewards[:1]),
                "batch": partial(solve_and_note, bounds, mdp, rewards),
            }
            seconds = {name: float(np.median(times.wall)) for name, times in take_turns(tasks, num_repeats).items()}
            growth.append({"states": size * size, "prepare": prepare, **seconds, "error_bound": max(bounds)})
    show(
        "Growth with states",
        ("states", "prepare once", "one reward", f"{batch_size} rewards", "ns per state and reward", "error bound"),
        (
            (
                f"{g['states']:.0e}",
                *(duration(g[name]) for name in ("prepare", "one", "batch")),
                f"{1e9 * g['batch'] / g['states'] / batch_size:.0f}",
                f"{g['error_bound']:.1e}",
            )
            for g in growth
        ),
        "one core, one thread",
    )
    return growth


def solve_and_note(bounds: list[float], mdp: FiniteMDP, rewards: np.ndarray) -> None:
    """Solve on one thread, and add the largest error bound to `bounds`."""
    bounds.append(float(solve_batch(mdp, rewards, num_threads=1).error_bound.max()))


def main() -> None:
    """Run all parts; the exit code is 1 where the values disagree."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="seconds instead of minutes: fewer rewards, no 1e6 states")
    is_quick = parser.parse_args().quick
    if is_quick:
        small = compare(10, 200, part=50, num_repeats=3, num_calls=5)
        large = compare(100, 32, part=2, num_repeats=2, num_calls=1)
        speedups = compare_threads([(10, 256, 5), (100, 64, 1)], num_repeats=3)
        growth = measure_growth({10: 20, 100: 3}, batch_size=8)
    else:
        small = compare(10, 1000, part=1000, num_repeats=7, num_calls=10)
        large = compare(100, 100, part=20, num_repeats=5, num_calls=2)
        speedups = compare_threads([(10, 1000, 10), (100, 100, 1), (100, 128, 1)], num_repeats=7)
        growth = measure_growth({10: 100, 100: 7, 1000: 2}, batch_size=8)
    max_difference = max(small["max_difference"], large["max_difference"])
    finish(
        {
            "benchmark": "solve",
            "ratio": small["ratio"].median,
            "ratio_range": small["ratio"][1:],
            "ratio_large": large["ratio"].median,
            "ratio_large_range": large["ratio"][1:],
            "max_difference": max_difference,
            "is_quick": is_quick,
            "small": small,
            "large": large,
            "threads": speedups,
            "growth": growth,
            "environment": environment("numpy", "scipy", "numba", "quantecon"),
        }
    )
    if not max_difference <= MAX_DIFFERENCE:
        sys.exit(f"values differ by {max_difference:.1e}, more than {MAX_DIFFERENCE:.0e}")


if __name__ == "__main__":
    main()
