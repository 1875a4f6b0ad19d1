"""What it costs not to know the expert: one step of active learning with beta known, and with beta inferred.

Replays the same annotations one by one with SMC (1000 particles) on one thread, in turns: with beta known, with a prior
for beta, and with priors for beta and the lapse. The processor time of a step contains all rejuvenations. The last line
is JSON: "ratio" is a step with beta unknown over one with beta known, the median over worlds and seeds, "ratios" that
of each world; "ratio_lapse" the same with an unknown lapse as well.
"""

import argparse
import time
from dataclasses import replace
from typing import Any

from _measure import console, environment, finish, pinned, show

# isort: split
import numpy as np

from journeyman.experts import Beta, Boltzmann, LogNormal
from journeyman.inference import smc
from journeyman.problem import Problem
from journeyman.worlds import make_world

WORLDS = ("jail", "random-8x8", "random-10x10")


def experts(beta: float) -> dict[str, Boltzmann]:
    """Return the experts to compare, for worlds whose expert has this beta."""
    unknown = LogNormal(beta, 0.7)
    return {"known": Boltzmann(beta), "beta": Boltzmann(unknown), "beta and lapse": Boltzmann(unknown, Beta(1, 9))}


def seconds_per_step(problem: Problem, demonstrations: Any, seed: int) -> float:
    """Return the processor time per annotation."""
    particles = smc.start(problem, seed=seed, num_threads=1)
    start = time.process_time()
    for demonstration in demonstrations:
        particles = smc.update(particles, demonstration, num_threads=1)
    return (time.process_time() - start) / len(demonstrations)


def main() -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="30 annotations, one seed, two worlds")
    options = parser.parse_args()
    num_annotations, seeds = (30, (0,)) if options.quick else (40, (0, 1))
    rows, ratios, both = [], {}, {}
    for name in WORLDS[:2] if options.quick else WORLDS:
        world = make_world(name, 0)
        states = np.random.default_rng(0).choice(np.flatnonzero(world.problem.queryable), num_annotations)
        demonstrations = world.expert.answers(states)
        problems = {key: replace(world.problem, expert=one) for key, one in experts(world.problem.beta).items()}
        for problem in problems.values():
            seconds_per_step(problem, demonstrations[:3], 9)  # compile
        seconds: dict[str, list[float]] = {key: [] for key in problems}
        with pinned(1):
            for seed in seeds:
                for key in list(problems)[:: 1 if seed % 2 == 0 else -1]:
                    seconds[key].append(seconds_per_step(problems[key], demonstrations, seed))
        ratios[name] = [a / b for a, b in zip(seconds["beta"], seconds["known"], strict=True)]
        both[name] = [a / b for a, b in zip(seconds["beta and lapse"], seconds["known"], strict=True)]
        rows.append(
            (
                name,
                *(f"{1e3 * np.median(times):.1f} ms" for times in seconds.values()),
                f"{np.median(ratios[name]):.2f} ({min(ratios[name]):.2f}..{max(ratios[name]):.2f})",
                f"{np.median(both[name]):.2f}",
            )
        )
    show(
        f"SMC, processor time per annotation, {num_annotations} annotations",
        ["world", "beta known", "beta unknown", "and lapse", "ratio", "with lapse"],
        rows,
    )
    console.print("A ratio above 1 is what it costs not to know beta.")
    finish(
        {
            "benchmark": "experts",
            "ratio": float(np.median([one for some in ratios.values() for one in some])),
            "ratios": {name: float(np.median(some)) for name, some in ratios.items()},
            "ratio_lapse": float(np.median([one for some in both.values() for one in some])),
            "num_annotations": num_annotations,
            "num_seeds": len(seeds),
            **environment(),
        }
    )


if __name__ == "__main__":
    main()
