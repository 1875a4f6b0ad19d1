"""From a thousand states to a million: time per gradient, per batch of solves, per active step, and peak memory.

A slippery gridworld with 5 actions and rewards linear in a few features: half of them bumps around random places, half
noise that differs from cell to cell. A *gradient* is that of the log posterior given 20 demonstrations, at points that
a sampler would go through, each from the values of the last. A *batch* are 32 rewards from the prior, solved from
nothing. An *active step* is a `tell` and the `ask` after it, with 200 states that may be asked about and 5 features.
All of it on one thread and in processor seconds, but active steps: those are on the clock, and on all cores.

The last line is JSON: "slope" of the logarithm of time per gradient against that of edges (the steeper of the two
discounts), "ratio" of a policy iteration with scipy's sparse solver to ours at 1e5 states, both from nothing (the
smaller of the two discounts), and "ratio_warm" the same where both know the solution of a reward nearby;
"step_1e6_seconds" (discount 0.95; "step_1e6_by_discount" has both); "cliff": the largest ratio between the times of
`infer` at neighbouring sizes from 100 to 4096 states, with 20 demonstrations and 8 features; "speedup_484": version
0.1.0 / ours at 484 states. The former was measured once as 74 to 80 processor seconds, of which the middle is taken;
with --baseline it is measured again.

    python bench/scale.py --quick
    python bench/scale.py --baseline ~/journeyman-0.1.0/src
"""

import argparse
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

from _measure import console, duration, environment, finish, show

# isort: split
import numpy as np
from scipy import sparse
from scipy.sparse.linalg import spsolve

from journeyman.demonstrations import Demonstration
from journeyman.inference import infer
from journeyman.mdp import FiniteMDP, solve, solve_batch
from journeyman.problem import Problem
from journeyman.rewards import LinearFeatures, Normal
from journeyman.worlds.gridworld import gridworld

WIDTHS = {"1e3": 32, "1e4": 100, "1e5": 316, "1e6": 1000}
CLIFF_WIDTHS = (10, 15, 22, 31, 45, 64)
DISCOUNTS = (0.95, 0.99)
NUM_FEATURES, NUM_STEP_FEATURES = 8, 5
NUM_DEMONSTRATIONS, NUM_CANDIDATES = 20, 200
BETA = 2.0
STEP_SIZE = 0.05  # of the points at which gradients are taken, in standard deviations of the prior
SECONDS_0_1_0 = 77.0  # `infer` of version 0.1.0 at 484 states: measured once as 74 to 80


def draw_problem(width: int, discount: float, num_features: int = NUM_FEATURES) -> tuple[Problem, np.ndarray]:
    """Return the problem on a grid of width x width cells, and true parameters."""
    rng = np.random.default_rng(width)
    mdp = gridworld(width, width, discount=discount)
    y, x = np.divmod(np.arange(width * width), width)
    features = rng.standard_normal((width * width, num_features))
    for d in range(num_features // 2):
        (top, left), spread = width * rng.random(2), width * (0.05 + 0.15 * rng.random())
        features[:, d] = np.exp(-((y - top) ** 2 + (x - left) ** 2) / (2.0 * spread**2))
    queryable = np.zeros(width * width, dtype=bool)
    queryable[rng.choice(width * width, min(NUM_CANDIDATES, width * width), replace=False)] = True
    problem = Problem(mdp, LinearFeatures(features, mdp), Normal(num_features), BETA, queryable=queryable)
    return problem, rng.standard_normal(num_features)


def demonstrations_of(problem: Problem, theta: np.ndarray) -> list[Demonstration]:
    """Return the best action in some states, for true parameters."""
    policy = solve(problem.mdp, problem.reward_model.reward(theta), num_threads=1).policy
    states = np.random.default_rng(1).integers(problem.mdp.num_states, size=NUM_DEMONSTRATIONS)
    return [Demonstration(int(s), ((int(s), int(policy[s])),)) for s in states]


def cpu_seconds(task_fn: Callable[..., Any], *arguments: Any, **options: Any) -> float:
    """Return the processor time of one call."""
    start = time.process_time()
    task_fn(*arguments, **options)
    return time.process_time() - start


def peak_gigabytes() -> float:
    """Return the most memory that this process has had so far."""
    unit = 1.0 if sys.platform == "darwin" else 1024.0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9


def gradient_seconds(problem: Problem, theta: np.ndarray, num_points: int) -> tuple[float, float]:
    """Return the time of the first gradient, from nothing, and the median of those at the points that follow."""
    from journeyman.inference.target import Target

    target = Target(problem, demonstrations_of(problem, theta), engine="sparse")
    target.log_density_and_gradient(theta)  # compiles
    work, rng, point = target.new_work(), np.random.default_rng(2), theta.copy()
    cold = cpu_seconds(target.log_density_and_gradient, point, work)
    warm = np.empty(num_points)
    for i in range(num_points):
        point += STEP_SIZE * rng.standard_normal(point.size)
        warm[i] = cpu_seconds(target.log_density_and_gradient, point, work)
    return cold, float(np.median(warm))


def batch_seconds(problem: Problem, num_rewards: int) -> float:
    """Return the time to solve for so many draws from the prior, from nothing."""
    theta = np.random.default_rng(3).standard_normal((num_rewards, problem.reward_model.num_parameters))
    rewards = problem.reward_model.reward(theta)
    return cpu_seconds(solve_batch, problem.mdp, rewards, num_threads=1)


def step_seconds(width: int, discount: float, num_particles: int | None, num_steps: int) -> tuple[float, int]:
    """Return the time of the slowest of some steps, on the clock, and the number of particles.

    A step is telling an answer and being asked the next question.
    """
    from journeyman import ActiveLearner

    problem, theta = draw_problem(width, discount, NUM_STEP_FEATURES)
    policy = solve(problem.mdp, problem.reward_model.reward(theta)).policy
    given = {} if num_particles is None else {"num_particles": num_particles}
    learner = ActiveLearner(problem, inference_options=given, is_checked=False)
    query, seconds = learner.ask(), np.empty(num_steps)
    for step in range(num_steps):
        start = time.perf_counter()
        learner.tell(query, int(policy[query.state]))
        query = learner.ask()
        seconds[step] = time.perf_counter() - start
    return float(seconds.max()), learner.posterior().num_samples


def scipy_values(mdp: FiniteMDP, reward: np.ndarray, policy: np.ndarray) -> np.ndarray:
    """Return optimal values by policy iteration with sparse factorisation, from a policy.

    Columns are ordered by COLAMD, as by default: MMD_AT_PLUS_A took a hundred times as long at 1e5 states.
    """
    num_states, num_actions = mdp.num_states, mdp.num_actions
    states, identity, P = np.arange(num_states), sparse.identity(num_states, format="csc"), mdp.transition_matrix
    while True:
        system = identity - mdp.discount * P[states * num_actions + policy]
        values = spsolve(sparse.csc_matrix(system), reward)
        q = reward[:, None] + mdp.discount * (P @ values).reshape(num_states, num_actions)
        best = q.argmax(axis=1)
        is_better = q[states, best] > q[states, policy] + 1e-9 * np.abs(q).max()
        if not is_better.any():
            return np.asarray(values)
        policy = np.where(is_better, best, policy)


def compare_with_scipy(width: int, discount: float, *, is_warm: bool) -> dict[str, Any]:
    """Time both from nothing, or on a reward near one whose solution is known."""
    problem, theta = draw_problem(width, discount)
    mdp, model = problem.mdp, problem.reward_model
    known = solve(mdp, model.reward(theta), num_threads=1)
    reward = model.reward(theta + STEP_SIZE * np.random.default_rng(4).standard_normal(theta.size))
    greedy = (mdp.transition_matrix @ reward).reshape(mdp.num_states, mdp.num_actions).argmax(axis=1)
    first = known.policy if is_warm else greedy  # the best for one step more: better than any fixed action
    found: dict[str, np.ndarray] = {}

    def ours() -> None:
        start = {"initial_values": known.values} if is_warm else {}
        found["ours"] = solve(mdp, reward, num_threads=1, **start).values

    def theirs() -> None:
        found["theirs"] = scipy_values(mdp, reward, first)

    seconds = float(np.median([cpu_seconds(ours) for _ in range(3)]))
    scipy_seconds = cpu_seconds(theirs)
    return {
        "states": width * width,
        "discount": discount,
        "is_warm": is_warm,
        "ours_seconds": seconds,
        "scipy_seconds": scipy_seconds,
        "ratio": scipy_seconds / seconds,
        "max_difference": float(np.abs(found["theirs"] - found["ours"]).max()),
    }


def infer_seconds(width: int, num_repeats: int) -> float:
    """Return the median time of `infer` on one thread."""
    problem, theta = draw_problem(width, 0.95)
    demonstrations = demonstrations_of(problem, theta)
    return float(
        np.median([cpu_seconds(infer, problem, demonstrations, seed=i, num_threads=1) for i in range(num_repeats)])
    )


def baseline_seconds(source: Path | None) -> tuple[float, str]:
    """Return the time of `infer` at 484 states of an older version, and how it is known."""
    if source is None:
        return SECONDS_0_1_0, "version 0.1.0, as measured once (74 to 80 s)"
    command = [sys.executable, __file__, "--infer-only", "22"]
    environ = os.environ | {"PYTHONPATH": str(source)}
    found = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    return float(found.stdout.split()[-1]), f"measured from {source}"


def measure(name: str, discount: float, options: argparse.Namespace) -> dict[str, Any]:
    """Return the row of one size and discount."""
    width = WIDTHS[name]
    problem, theta = draw_problem(width, discount)
    num_rewards = 8 if options.quick else 32
    is_large = width >= WIDTHS["1e6"]
    row: dict[str, Any] = {"states": width * width, "edges": int(problem.mdp.rows.indptr[-1]), "discount": discount}
    row["gradient_cold_seconds"], row["gradient_seconds"] = gradient_seconds(problem, theta, 5 if is_large else 15)
    row["batch_seconds"], row["batch_rewards"] = batch_seconds(problem, num_rewards), num_rewards
    row["solving_peak_gigabytes"] = peak_gigabytes()
    del problem
    row["step_seconds"] = row["particles"] = None
    if not options.no_steps:
        found = step_seconds(width, discount, options.particles, 2 if is_large else 3)
        row["step_seconds"], row["particles"] = found
    row["peak_gigabytes"] = peak_gigabytes()
    console.print(f"{name} states, discount {discount}: gradient {duration(row['gradient_seconds'])}", style="dim")
    return row


def _is_largest(row: dict[str, Any]) -> bool:
    """Whether a row is of 1e6 states, with active steps."""
    return row["states"] == WIDTHS["1e6"] ** 2 and row["step_seconds"] is not None


def slope_of(rows: list[dict[str, Any]], discount: float) -> float:
    """Return the slope of log time per gradient against log edges, by least squares."""
    chosen = [row for row in rows if row["discount"] == discount]
    edges, seconds = (np.log([row[key] for row in chosen]) for key in ("edges", "gradient_seconds"))
    return float(np.polyfit(edges, seconds, 1)[0])


def main() -> None:
    """Run all parts."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a minute or two: up to 1e4 states, few rewards")
    parser.add_argument("--no-steps", action="store_true", help="leave active steps out")
    parser.add_argument("--no-cliff", action="store_true", help="leave the times of infer out")
    parser.add_argument("--particles", type=int, help="of active steps (default: as many as the library takes)")
    parser.add_argument("--baseline", type=Path, help="folder of an older version's source, to time its infer")
    parser.add_argument("--infer-only", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.infer_only:
        infer_seconds(6, 1)  # compiles
        print(infer_seconds(options.infer_only, 1))
        return
    names = ("1e3", "1e4") if options.quick else tuple(WIDTHS)
    rows = [measure(name, discount, options) for name in names for discount in DISCOUNTS]
    show(
        "Growth with states",
        ("states", "discount", "gradient", "the first", "batch / reward", "active step", "particles", "peak memory"),
        (
            (
                f"{row['states']:.0e}",
                row["discount"],
                duration(row["gradient_seconds"]),
                duration(row["gradient_cold_seconds"]),
                duration(row["batch_seconds"] / row["batch_rewards"]),
                "-" if row["step_seconds"] is None else duration(row["step_seconds"]),
                "-" if row["particles"] is None else row["particles"],
                f"{row['peak_gigabytes']:.2g} GB",
            )
            for row in rows
        ),
        f"{NUM_FEATURES} features, one thread, processor time; active steps: {NUM_STEP_FEATURES} features, "
        "the slowest of three (of two at 1e6), all cores, on the clock",
    )
    width = WIDTHS["1e4" if options.quick else "1e5"]
    compared = [compare_with_scipy(width, g, is_warm=is_warm) for is_warm in (False, True) for g in DISCOUNTS]
    show(
        "Values of one reward",
        ("states", "discount", "from", "ours", "scipy's spsolve", "ratio", "difference"),
        (
            (
                f"{one['states']:.0e}",
                one["discount"],
                "a reward nearby" if one["is_warm"] else "nothing",
                duration(one["ours_seconds"]),
                duration(one["scipy_seconds"]),
                f"{one['ratio']:.3g}",
                f"{one['max_difference']:.1e}",
            )
            for one in compared
        ),
    )
    result: dict[str, Any] = {
        "benchmark": "scale",
        "slope": max(slope_of(rows, discount) for discount in DISCOUNTS),
        "ratio": min(one["ratio"] for one in compared if not one["is_warm"]),
        "ratio_warm": min(one["ratio"] for one in compared if one["is_warm"]),
        "step_1e6_seconds": next((row["step_seconds"] for row in rows if _is_largest(row)), None),
        "step_1e6_by_discount": {str(row["discount"]): row["step_seconds"] for row in rows if _is_largest(row)},
    }
    if not options.no_cliff:
        result |= measure_cliff(options)
    finish(
        result
        | {
            "rows": rows,
            "scipy": compared,
            "is_quick": options.quick,
            "environment": environment("journeyman", "numpy", "scipy", "numba"),
        }
    )


def measure_cliff(options: argparse.Namespace) -> dict[str, Any]:
    """Time `infer` at growing sizes; returns what goes into the last line."""
    infer_seconds(6, 1), infer_seconds(45, 1)  # compile both engines
    widths = CLIFF_WIDTHS[:3] if options.quick else CLIFF_WIDTHS
    seconds = [infer_seconds(width, 1 if options.quick else 3) for width in widths]
    before, known = baseline_seconds(options.baseline)
    show(
        f"infer: {NUM_DEMONSTRATIONS} demonstrations, {NUM_FEATURES} features, discount 0.95, one thread",
        ("states", "seconds", "to the next smaller"),
        (
            (width * width, duration(now), "" if i == 0 else f"{now / seconds[i - 1]:.2f}")
            for i, (width, now) in enumerate(zip(widths, seconds, strict=True))
        ),
        f"484 states: {before:.3g} s before ({known})",
    )
    return {
        "cliff": max(now / last for last, now in pairwise(seconds)),
        "speedup_484": before / seconds[CLIFF_WIDTHS.index(22)],
        "baseline": {"seconds": before, "known": known},
        "infer_seconds": {str(width * width): now for width, now in zip(widths, seconds, strict=True)},
    }


if __name__ == "__main__":
    main()
