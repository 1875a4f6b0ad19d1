"""Is the model doubted when it is wrong, and left alone when it is right?

An expert answers about states drawn at random (or shows trajectories from them), and the model is checked in full. In
well specified runs the truth comes from the prior and answers from the model; after 40 and 160 answers one looks, and a
run counts as a false alarm if the model is doubtful at any of these looks, for whatever reason. Of these, at most
5 % are allowed. In the other runs something is wrong, and one looks once:

- "beta 4 times lower", "beta 4 times higher": than the model says;
- "20 % lapses": in one of five answers, an action at random;
- "goal switches": after half of the answers the expert has another reward, also drawn from the prior;
- "wrong slip": moves slip with a chance of 0.6 and the expert knows, while the model says 0.1;
- "prior 8 times too narrow": rewards are 8 times as large as the prior says.

Without options this prints what the committed table `bench/criticism.jsonl` says. `--run` computes what is missing in
it, and can be stopped and continued at any time (about 12 minutes of a core in all).

"ratio" is the share of false alarms / 5 %: 1 or less is honest.
"""

import argparse
import json
import time
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

from _measure import show

# isort: split
import numpy as np
from _families import FAMILIES

from journeyman.calibration import exact_interval
from journeyman.criticism import criticise
from journeyman.demonstrations import Demonstration
from journeyman.experts import Boltzmann, SimulatedExpert
from journeyman.inference import infer
from journeyman.mdp import FiniteMDP
from journeyman.storage.run_tables import continue_table, read_table
from journeyman.types import FloatArray
from journeyman.worlds import World, make_world
from journeyman.worlds.gridworld import gridworld

TABLE = Path(__file__).with_suffix(".jsonl")
FORMAT = "journeyman-bench-criticism-1"
LEVEL, LOOKS = 0.05, (40, 160)
NUM_PARTICLES = 500
RIGHT = "well specified"
MISFITS = (
    "beta 4 times lower", "beta 4 times higher", "20 % lapses", "goal switches", "wrong slip",
    "prior 8 times too narrow",
)  # fmt: skip
RIGHT_WORLDS = {  # and how many runs of each
    "3x3 grids": 80,
    "4x4 grids": 30,
    "4x4 grids, trajectories of 5": 30,
    "jail": 25,
    "two states, Normal prior": 120,
    "two states, 200 atoms (exact)": 120,
}
WRONG_WORLDS = ("3x3 grids", "4x4 grids")
NUM_WRONG = 8
WRONG_SLIP = 0.6


def world_of(name: str, seed: int) -> World:
    """Return a world whose truth is a draw from the prior."""
    return make_world("jail", seed) if name == "jail" else FAMILIES[name].world_fn(seed)


def policy_of(world: World, parameters: FloatArray, misfit: str) -> FloatArray:
    """Return what an expert with these parameters does, `[S, A]`, if the model is wrong in one way."""
    problem = world.problem
    mdp, beta = problem.mdp, problem.beta
    beta *= {"beta 4 times lower": 0.25, "beta 4 times higher": 4.0}.get(misfit, 1.0)
    if misfit == "prior 8 times too narrow":
        parameters = 8.0 * parameters
    if misfit == "wrong slip":
        mdp = slippery(mdp)
    expert = SimulatedExpert(mdp, problem.reward_model.reward(parameters), Boltzmann(beta))
    policy = expert.policy
    if misfit == "20 % lapses":
        policy = 0.8 * policy + 0.2 * mdp.available / mdp.available.sum(axis=1, keepdims=True)
    return policy


def slippery(mdp: FiniteMDP) -> FiniteMDP:
    """Return the same grid where moves slip more often."""
    assert mdp.grid is not None
    grid = mdp.grid
    return gridworld(
        grid.num_rows, grid.num_columns, discount=mdp.discount, slip=WRONG_SLIP, terminal=mdp.terminal,
        initial=mdp.initial,
    )  # fmt: skip


def answers_of(world: World, misfit: str, size: int, length: int, rng: np.random.Generator) -> list[Demonstration]:
    """Return `size` answers, or as many steps of trajectories; of "goal switches", the second half has a new goal."""
    mdp, states = world.problem.mdp, np.flatnonzero(world.problem.queryable)
    policy = policy_of(world, world.true_parameters, misfit)
    later = policy
    if misfit == "goal switches":
        later = policy_of(world, world.problem.prior.sample(rng, 1)[0], misfit)
    found: list[Demonstration] = []
    num_steps = 0
    while num_steps < size:
        state, steps = int(rng.choice(states)), []
        for _ in range(min(length, size - num_steps)):
            chances = (policy if num_steps + len(steps) < size // 2 else later)[state]
            action = int(rng.choice(len(chances), p=chances / chances.sum()))
            steps.append((state, action))
            next_states, probabilities = mdp.next_states(state, action)
            if not len(next_states) or mdp.terminal[state]:
                break
            state = int(rng.choice(next_states, p=probabilities / probabilities.sum()))
            if mdp.terminal[state]:
                break
        ended = "annotation" if length == 1 else "truncated"
        found.append(Demonstration(steps[0][0], tuple(steps), ended=ended))
        num_steps += len(steps)
    return found


def first_steps(demonstrations: list[Demonstration], size: int) -> list[Demonstration]:
    """Return the first so many steps of demonstrations."""
    found: list[Demonstration] = []
    left = size
    for item in demonstrations:
        if left > 0:
            found.append(item if len(item) <= left else replace(item, steps=item.steps[:left]))
            left -= len(found[-1])
    return found


def run_cell(world_name: str, misfit: str, size: int, seed: int) -> dict[str, Any]:
    """Let an expert answer, look at the model, and say whether it is doubtful."""
    begin = time.process_time()
    world = world_of(world_name, seed)
    rng = np.random.default_rng([zlib.crc32(f"{world_name}, {misfit}".encode()), size, seed])
    length = FAMILIES[world_name].options.get("length", 1) if world_name in FAMILIES else 1
    given = answers_of(world, misfit, size, length, rng)
    looks = []
    for look in LOOKS if misfit == RIGHT else (size,):
        seen = first_steps(given, look)
        posterior = infer(world.problem, seen, seed=seed, num_threads=1, num_particles=NUM_PARTICLES)
        looks.append(criticise(posterior, seen, seed=seed, num_threads=1))
    return {
        "world": world_name,
        "misfit": misfit,
        "answers": size,
        "seed": seed,
        "is_doubtful": any(look.is_doubtful for look in looks),
        "is_surprising": any(look.is_surprising for look in looks),
        "has_contradictions": any(look.contradictions for look in looks),
        "log_evidence": [round(look.log_evidence, 3) for look in looks],
        "best": looks[-1].rivals[0].kind,
        "cpu_seconds": round(time.process_time() - begin, 2),
    }


def cells_of(num_wrong: int) -> list[tuple[str, str, int, int]]:
    """Return all cells, by seed, so that a table that is not finished is even."""
    found = []
    for seed in range(max(num_wrong, *RIGHT_WORLDS.values())):
        found += [(world, RIGHT, LOOKS[-1], seed) for world, count in RIGHT_WORLDS.items() if seed < count]
        if seed < num_wrong:
            found += [(world, misfit, size, seed) for misfit in MISFITS for world in WRONG_WORLDS for size in LOOKS]
    return found


def share_of(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return how many of some runs end in doubt, and why."""
    num_doubtful = sum(row["is_doubtful"] for row in rows)
    return {
        "runs": len(rows),
        "doubtful": num_doubtful,
        "share": num_doubtful / max(len(rows), 1),
        "interval": list(exact_interval(num_doubtful, len(rows))),
        "surprising": sum(row["is_surprising"] for row in rows),
        "contradictions": sum(row["has_contradictions"] for row in rows),
    }


def words(found: dict[str, Any]) -> str:
    """Return a share with its interval."""
    low, high = found["interval"]
    return f"{found['share']:.1%} ({low:.1%} to {high:.1%})" if found["runs"] else ""


def main() -> None:
    """Print what the table says, after adding to it if that is wanted."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--run", action="store_true", help="compute what is missing in the table first")
    parser.add_argument("--wrong", type=int, default=NUM_WRONG, help="other runs of each kind, world and size")
    parser.add_argument("--workers", type=int, default=1, help="runs at a time")
    parser.add_argument("--table", type=Path, default=TABLE, help="another table than the committed one")
    parser.add_argument("--markdown", action="store_true", help="print the tables as docs/criticism.md has them")
    options = parser.parse_args()
    if options.run:
        cells = cells_of(options.wrong)
        settings = {"looks": list(LOOKS), "num_particles": NUM_PARTICLES, "slip": WRONG_SLIP}
        columns = ("world", "misfit", "answers", "seed")
        continue_table(options.table, FORMAT, settings, columns, cells, run_cell, num_workers=options.workers)
    rows = read_table(options.table, FORMAT)
    right = {
        world: share_of([row for row in rows if (row["misfit"], row["world"]) == (RIGHT, world)])
        for world in RIGHT_WORLDS
    }
    total = share_of([row for row in rows if row["misfit"] == RIGHT])
    power = {
        misfit: {
            size: share_of([row for row in rows if (row["misfit"], row["answers"]) == (misfit, size)]) for size in LOOKS
        }
        for misfit in MISFITS
    }
    false_columns = ["world", "runs", "doubtful", "share (95 %)", "by surprise", "by contradictions"]
    false_lines = [
        (name, str(found["runs"]), str(found["doubtful"]), words(found), str(found["surprising"]),
         str(found["contradictions"]))
        for name, found in (right | {"all": total}).items()
    ]  # fmt: skip
    power_columns = ["what is wrong", "runs of each", *(f"{size} answers" for size in LOOKS)]
    power_lines = [
        (misfit, str(min(found[size]["runs"] for size in LOOKS)), *(words(found[size]) for size in LOOKS))
        for misfit, found in power.items()
    ]
    if options.markdown:
        for columns, lines in ((false_columns, false_lines), (power_columns, power_lines)):
            for line in (columns, ["---"] * len(columns), *lines):
                print(f"| {' | '.join(line)} |")
            print()
        return
    show("The model is right: doubtful at one of two looks", false_columns, false_lines)
    show("The model is wrong: doubtful after so many answers", power_columns, power_lines)
    result = {
        "bench": "criticism",
        "ratio": total["share"] / LEVEL if total["runs"] else None,
        "is_honest": total["interval"][0] <= LEVEL,
        "false_alarms": total,
        "worlds": right,
        "power": power,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
