"""Processor time of `infer` with a kernel prior: few directions of the kernel against independent rewards per state.

A slippery grid of N x N cells, discount 0.95, a squared exponential kernel whose length scale is a fifth of the side,
and 20 answers of an expert with beta 2 whose reward is drawn from the whole kernel. Both sides have the same answers
and the usual settings of `smc`, on one thread:

- "kernel": `kernel_rewards` with a share of 0.99 of the variance, or `--rank` directions;
- "independent": a reward of its own for each state, with the same standard deviation.

Each run is a process of its own. One with independent rewards is ended after `--limit` seconds of processor time: the
ratio is then a lower bound, and says so ("is_bound"). "ratios" are independent / kernel by number of states, "ratio" is
that at 484 states, "kernel_seconds" are those of the kernel prior.
"""

import argparse
import json
import multiprocessing
import resource
import time
from typing import Any

from _measure import duration, environment, finish, show

# isort: split
import numpy as np

from journeyman import Demonstration, Normal, PerState, Problem, SimulatedExpert, infer, kernel_rewards
from journeyman.rewards import kernel_covariance
from journeyman.worlds.gridworld import gridworld

SIDES = (16, 22, 32, 45)
BETA, STD, NUM_ANSWERS = 2.0, 3.0, 20
MAX_SECONDS = 600  # of the kernel prior
LOW, FULL = "kernel", "independent"
RATIO_STATES = 484


def problem_of(side: int, which: str, rank: int | None) -> tuple[Problem, list[Demonstration]]:
    """Return the problem of one side, and the answers that both get."""
    mdp = gridworld(side, side, discount=0.95)
    kernel: dict[str, Any] = {"length_scale": side / 5.0, "std": STD}
    covariance = kernel_covariance(mdp, **kernel)
    values, vectors = np.linalg.eigh(covariance)
    rng = np.random.default_rng(side)
    truth = vectors @ (np.sqrt(np.maximum(values, 0.0)) * rng.standard_normal(mdp.num_states))
    expert = SimulatedExpert(mdp, truth, BETA, seed=side)
    asked = rng.choice(mdp.num_states, size=NUM_ANSWERS, replace=False).tolist()
    answers = [Demonstration.annotation(s, int(rng.choice(5, p=expert.policy[s]))) for s in asked]
    if which == LOW:
        return Problem(mdp, *kernel_rewards(mdp, rank=rank, **kernel), BETA), answers
    return Problem(mdp, PerState(mdp), Normal(mdp.num_states, 0.0, STD), BETA), answers


def measure(side: int, which: str, rank: int | None, limit: int, results: Any) -> None:
    """Infer in a process that the system ends after its time, and put what came out."""
    small, some = problem_of(5, which, None)  # compiles, or loads what is compiled
    infer(small, some[:3], seed=0, num_threads=1, num_particles=200)
    problem, answers = problem_of(side, which, rank)
    used = int(time.process_time())
    resource.setrlimit(resource.RLIMIT_CPU, (used + limit, used + limit + 5))
    begin = time.process_time()
    posterior = infer(problem, answers, seed=0, num_threads=1)
    results.put(
        {
            "seconds": time.process_time() - begin,
            "parameters": problem.reward_model.num_parameters,
            "ess": posterior.diagnostics.particle_ess,
            "evaluations": posterior.diagnostics.num_gradients,
            "move_correlation": posterior.diagnostics.move_correlation,
            "log_evidence": posterior.log_evidence,
            "warnings": len(posterior.warnings),
        }
    )


def run(side: int, which: str, rank: int | None, limit: int) -> dict[str, Any]:
    """Return what one process found: its seconds, or the limit if that was not enough."""
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    process = context.Process(target=measure, args=(side, which, rank, limit, results))
    process.start()
    process.join()
    size = {"states": side * side, "side": which}
    if process.exitcode == 0:
        return size | {"is_bound": False} | results.get()
    return size | {"is_bound": True, "seconds": float(limit), "parameters": None, "ess": None, "log_evidence": None}


def main() -> None:
    """Print the table, and the result as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sides", type=int, nargs="+", default=list(SIDES), help="cells along an edge")
    parser.add_argument("--rank", type=int, help="directions to keep; default: those of 0.99 of the variance")
    parser.add_argument("--limit", type=int, default=150, help="seconds of processor time for independent rewards")
    options = parser.parse_args()
    rows = []
    for side in options.sides:
        for which in (LOW, FULL):
            rows.append(run(side, which, options.rank, options.limit if which == FULL else MAX_SECONDS))
            print(json.dumps(rows[-1]), flush=True)
    by_size = {(row["states"], row["side"]): row for row in rows}
    table = []
    for side in options.sides:
        low, full = (by_size[side * side, which] for which in (LOW, FULL))
        ratio = full["seconds"] / low["seconds"]
        times = [("> " if row["is_bound"] else "") + duration(row["seconds"]) for row in (low, full)]
        table.append(
            (side * side, low["parameters"] or "", *times, ("> " if full["is_bound"] else "") + f"{ratio:.1f}")
        )
    show("infer, 20 answers, processor time", ["states", "parameters", LOW, FULL, "ratio"], table)
    ratios = {
        str(side**2): {
            "ratio": by_size[side**2, FULL]["seconds"] / by_size[side**2, LOW]["seconds"],
            "is_bound": by_size[side**2, FULL]["is_bound"],
        }
        for side in options.sides
        if not by_size[side**2, LOW]["is_bound"]
    }
    finish(
        {
            "bench": "kernel_prior",
            "ratio": ratios.get(str(RATIO_STATES), {}).get("ratio"),
            "is_bound": ratios.get(str(RATIO_STATES), {}).get("is_bound"),
            "ratios": ratios,
            "kernel_seconds": {str(row["states"]): row["seconds"] for row in rows if row["side"] == LOW},
            "runs": rows,
            **environment("numpy", "numba"),
        }
    )


if __name__ == "__main__":
    main()
