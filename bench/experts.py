"""What it costs not to know the expert: one step of active learning with beta known, and with beta inferred.

Each on one thread, in turns: with beta known, with a prior for beta, and with priors for beta and the lapse. First
inference alone: the same annotations, one by one, by SMC (1000 particles); the processor time of an annotation contains
all rejuvenations. Then whole steps: a learner chooses a question, is answered, and updates its belief. The last line is
JSON: "ratio" is inference with beta unknown over that with beta known, the median over worlds and seeds, "ratios" that
of each world, "ratio_lapse" the same with an unknown lapse as well; "ratio_steps", "ratios_steps" are of whole steps.
"""

import argparse
import time
from dataclasses import replace
from functools import partial
from typing import Any

from _measure import console, environment, finish, pinned, show

# isort: split
import numpy as np

from journeyman.experts import Beta, Boltzmann, LogNormal
from journeyman.inference import smc
from journeyman.learner import ActiveLearner
from journeyman.problem import Problem
from journeyman.worlds import World, make_world

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


def seconds_per_whole_step(world: World, problem: Problem, num_steps: int, seed: int) -> float:
    """Return the processor time of choosing a question and taking its answer."""
    learner = ActiveLearner(problem, seed=seed, num_threads=1, is_checked=False)
    learner.posterior()
    expert, start = world.make_expert(seed), time.process_time()
    for _ in range(num_steps):
        query = learner.ask()
        learner.tell(query, expert.demonstrate(query))
    return (time.process_time() - start) / num_steps


def compared(problems: dict[str, Problem], seeds: tuple[int, ...], measure_fn: Any) -> dict[str, list[float]]:
    """Return the seconds of each expert and seed, measured in turns."""
    seconds: dict[str, list[float]] = {key: [] for key in problems}
    with pinned(1):
        for seed in seeds:
            for key in list(problems)[:: 1 if seed % 2 == 0 else -1]:
                seconds[key].append(measure_fn(problems[key], seed))
    return seconds


def main() -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="30 annotations, one seed, two worlds")
    options = parser.parse_args()
    num_annotations, seeds = (30, (0,)) if options.quick else (40, (0, 1))
    tables: dict[str, list[Any]] = {"annotation": [], "step": []}
    ratios: dict[str, dict[str, list[float]]] = {"annotation": {}, "step": {}}
    lapses: list[float] = []
    for name in WORLDS[:2] if options.quick else WORLDS:
        world = make_world(name, 0)
        states = np.random.default_rng(0).choice(np.flatnonzero(world.problem.queryable), num_annotations)
        answers = world.expert.answers(states)
        problems = {key: replace(world.problem, expert=one) for key, one in experts(world.problem.beta).items()}
        for problem in problems.values():
            seconds_per_step(problem, answers[:3], 9)  # compile
        measures = {
            "annotation": partial(_of_annotations, answers),
            "step": lambda problem, seed, world=world: seconds_per_whole_step(world, problem, num_annotations, seed),
        }
        for what, measure_fn in measures.items():
            seconds = compared(problems, seeds, measure_fn)
            own = [a / b for a, b in zip(seconds["beta"], seconds["known"], strict=True)]
            with_lapse = [a / b for a, b in zip(seconds["beta and lapse"], seconds["known"], strict=True)]
            ratios[what][name] = own
            lapses += with_lapse if what == "annotation" else []
            times = (f"{1e3 * np.median(some):.1f} ms" for some in seconds.values())
            spread = f"{np.median(own):.2f} ({min(own):.2f}..{max(own):.2f})"
            tables[what].append((name, *times, spread, f"{np.median(with_lapse):.2f}"))
    titles = {
        "annotation": "Inference alone (SMC), the same annotations",
        "step": "Whole steps: a question, its answer",
    }
    for what, rows in tables.items():
        columns = ["world", "beta known", "beta unknown", "and lapse", "ratio", "with lapse"]
        show(f"{titles[what]}; processor time of each of {num_annotations}", columns, rows)
    console.print("A ratio above 1 is what it costs not to know beta.")

    def median(some: dict[str, list[float]]) -> float:
        return float(np.median([one for own in some.values() for one in own]))

    finish(
        {
            "benchmark": "experts",
            "ratio": median(ratios["annotation"]),
            "ratios": {name: float(np.median(some)) for name, some in ratios["annotation"].items()},
            "ratio_steps": median(ratios["step"]),
            "ratios_steps": {name: float(np.median(some)) for name, some in ratios["step"].items()},
            "ratio_lapse": float(np.median(lapses)),
            "num_annotations": num_annotations,
            "num_seeds": len(seeds),
            **environment(),
        }
    )


def _of_annotations(answers: Any, problem: Problem, seed: int) -> float:
    return seconds_per_step(problem, answers, seed)


if __name__ == "__main__":
    main()
