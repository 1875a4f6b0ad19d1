"""Many data at once: the posterior of 1,016 rewards from 160 trajectories of 22 steps, by two ways.

Mice in a labyrinth (`labyrinth.csv`, real data): a binary maze of 127 places, times whether the mouse has drunk, with
an unknown reward per state and move (254 states, 4 moves, prior N(0, 1), beta 2, discount 0.9). `infer` gets all 3,520
decisions at once, by tempering from the prior (`path="prior"`) and by the bridge from a Gaussian near the posterior
(`path="auto"`). Processor seconds on one thread.

Errors are those of the posterior means of the parameters against long chains (Hamiltonian, on the same density, from
the same starts as the pilot chains of the bridge, but neither weighted nor resampled), in posterior standard
deviations, over the parameters of moves that exist: "rms" and "worst". The error of the long chains themselves is in
them, and printed beside them. The log evidence of both ways should agree within their stated errors.

"ratio" is (seconds of the old way / seconds of the new one) where the new one's rms error is no larger; else that times
(old rms / new rms)^2, as errors fall with the square root of the work.

With --decisions, also the time for 95,200 decisions on the 127 places without memory (simulated, by an expert of
rewards drawn at random), with 127 rewards of places and 508 of places and moves.
"""

import argparse
import csv
import time
from pathlib import Path
from typing import Any

from _measure import console, duration, environment, finish, show

# isort: split
import numpy as np

from journeyman.demonstrations import Demonstration
from journeyman.inference import Posterior, infer
from journeyman.inference.batch import explored, gaussian
from journeyman.inference.batch.gaussian import Chains
from journeyman.inference.target import Target
from journeyman.mdp import FiniteMDP, solve
from journeyman.problem import Problem
from journeyman.rewards import Normal, PerState, PerStateAction

NUM_PLACES, NUM_FORKS, WATER = 127, 63, 116
MOVES = ("left", "right", "back", "stay")
BETA, DISCOUNT = 2.0, 0.9


def maze(*, has_memory: bool) -> FiniteMDP:
    """Return the labyrinth: states are places, and again those of a mouse that has drunk since the entrance."""
    num_copies = 2 if has_memory else 1
    transitions = np.zeros((num_copies * NUM_PLACES, len(MOVES), num_copies * NUM_PLACES))
    for drunk in range(num_copies):
        for place in range(NUM_PLACES):
            forks = [(0, 2 * place + 1), (1, 2 * place + 2)] if place < NUM_FORKS else []
            for move, to in [*forks, (3, 0) if place == 0 else (2, (place - 1) // 2)]:
                has_drunk = has_memory and to != 0 and (drunk or to == WATER)
                transitions[drunk * NUM_PLACES + place, move, has_drunk * NUM_PLACES + to] = 1.0
    available = transitions.any(axis=2)
    return FiniteMDP.from_dense(transitions, layout="SAS", discount=DISCOUNT, available=available)


def labyrinth() -> tuple[Problem, list[Demonstration]]:
    """Return the problem of the labyrinth with memory, and what the mice did, one decision at a time."""
    mdp = maze(has_memory=True)
    model = PerStateAction(mdp)
    lines = (Path(__file__).parent / "labyrinth.csv").read_text().splitlines()
    data = []
    for row in csv.DictReader(line for line in lines if not line.startswith("#")):
        state, move = int(row["drunk"]) * NUM_PLACES + int(row["place"]), MOVES.index(row["move"])
        data += [Demonstration.annotation(state, move)] * int(row["count"])
    return Problem(mdp, model, Normal(model.num_parameters), BETA), data


def many_decisions(num_decisions: int, *, per_move: bool) -> tuple[Problem, list[Demonstration]]:
    """Return the labyrinth without memory, and a walk of a simulated mouse with rewards drawn from the prior."""
    rng = np.random.default_rng(0)
    mdp = maze(has_memory=False)
    model = PerStateAction(mdp) if per_move else PerState(mdp)
    problem = Problem(mdp, model, Normal(model.num_parameters), BETA)
    solution = solve(mdp, model.reward(0.3 * rng.standard_normal(model.num_parameters)))
    chances = np.cumsum(np.exp(problem.expert.log_policy(solution.q[None])[0]), axis=1)
    next_states = np.asarray(mdp.transition_matrix.argmax(axis=1)).reshape(mdp.num_states, mdp.num_actions)
    steps, state = [], 0
    for number in rng.random(num_decisions):
        move = int(np.searchsorted(chances[state], number * chances[state, -1]))
        steps.append((state, move))
        state = int(next_states[state, move])
    return problem, [Demonstration(0, tuple(steps), state, "truncated")]


def timed(problem: Problem, data: list[Demonstration], **options: Any) -> tuple[Posterior, float]:
    """Return a posterior and the processor seconds that it took."""
    start = time.process_time()
    posterior = infer(problem, data, num_threads=1, **options)
    return posterior, time.process_time() - start


def long_chains(problem: Problem, data: list[Demonstration], num_moves: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Return posterior means and standard deviations `[D]` by long chains, and the rms error of these means."""
    rng = np.random.default_rng(1000)
    target = Target(problem, data)
    pilot = explored(rng, target, 0.75, 1, lambda part: None)
    first = pilot.positions[:: len(pilot.positions) // 40][:40]
    found = target.evaluate(first)
    chains, parts = Chains(first, found.values, found.policies), []
    for _ in range(num_moves // 20):
        moved = gaussian.move(
            rng, target, pilot.q, 1.0, chains, step=0.8 * pilot.step, num_leapfrog=80, num_moves=20, num_threads=1
        )
        chains = moved.last
        parts.append(moved.positions)
    theta = target.parameters(np.concatenate(parts[1:], axis=1).reshape(-1, target.dimension))
    by_chain = theta.reshape(40, -1, target.dimension).mean(axis=1)
    std = theta.std(axis=0)
    error = by_chain.std(axis=0, ddof=1) / np.sqrt(40) / std
    return theta.mean(axis=0), std, float(np.sqrt(np.mean(error[used(problem)] ** 2)))


def used(problem: Problem) -> np.ndarray:
    """Return which parameters belong to moves that exist."""
    return problem.mdp.available.ravel() if not problem.reward_model.is_state_only else np.full(NUM_PLACES, True)


def main() -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--particles", type=int, default=1000, help="of both ways")
    parser.add_argument("--repeats", type=int, default=1, help="of both ways, with seeds of their own")
    parser.add_argument("--moves", type=int, default=400, help="of each of 40 long chains")
    parser.add_argument("--decisions", action="store_true", help="also the time for 95,200 decisions")
    options = parser.parse_args()
    problem, data = labyrinth()
    mean, std, own_error = long_chains(problem, data, options.moves)
    at = used(problem)
    runs: dict[str, list[dict[str, float]]] = {"prior": [], "auto": []}
    for seed in range(options.repeats):
        for path in ("auto", "prior") if seed % 2 == 0 else ("prior", "auto"):
            posterior, seconds = timed(problem, data, seed=seed, path=path, num_particles=options.particles)
            gaps = ((posterior.mean_parameters() - mean) / std)[at]
            assert posterior.log_evidence is not None and posterior.log_evidence_error is not None
            runs[path].append(
                {
                    "seconds": seconds,
                    "rms": float(np.sqrt(np.mean(gaps**2))),
                    "worst": float(np.abs(gaps).max()),
                    "log_evidence": posterior.log_evidence,
                    "log_evidence_error": posterior.log_evidence_error,
                    "stages": float(posterior.diagnostics.num_rejuvenations or 0),
                    "gradients": float(posterior.diagnostics.num_gradients),
                }
            )
            console.print(path, runs[path][-1], *posterior.warnings)
    old, new = ({name: float(np.mean([run[name] for run in runs[path]])) for name in runs[path][0]} for path in runs)
    show(
        f"1,016 rewards from {len(data)} decisions, {options.particles} particles",
        ("way", "processor time", "stages", "rms error", "worst error", "log evidence"),
        [
            (
                title,
                duration(run["seconds"]),
                f"{run['stages']:.0f}",
                f"{run['rms']:.3f}",
                f"{run['worst']:.2f}",
                f"{run['log_evidence']:.2f} +- {run['log_evidence_error']:.2f}",
            )
            for title, run in (("from the prior", old), ("by the bridge", new))
        ],
        f"errors in posterior standard deviations; those of the long chains: {own_error:.3f} rms",
    )
    times = {}
    if options.decisions:
        for per_move in (False, True):
            posterior, seconds = timed(*many_decisions(95_200, per_move=per_move))
            times[posterior.theta.shape[1]] = seconds
            console.print(
                f"95,200 decisions, {posterior.theta.shape[1]} rewards: {duration(seconds)}", posterior.warnings
            )
    plain = old["seconds"] / new["seconds"]
    finish(
        {
            "benchmark": "batch",
            "ratio": plain * min(1.0, (old["rms"] / new["rms"]) ** 2),
            "ratio_of_seconds": plain,
            "prior": old,
            "auto": new,
            "reference_rms": own_error,
            "seconds_of_95200_decisions": times,
            "environment": environment("numpy", "numba", "scipy"),
        }
    )


if __name__ == "__main__":
    main()
