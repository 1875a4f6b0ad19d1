"""What a user waits for: the time from `tell` to the next `ask`, on the 10x10 world with 1000 particles.

After 100 annotations, answers of the expert come in one by one: each updates the posterior, is measured (entropy,
regret), and then the best next query is chosen by PAC-EIG. The median and the 95 % quantile are on the clock, on all
cores; the ratio compares processor seconds, so that others on the machine do not count.

"ratio" is what a restart of NumPyro's NUTS costs as a user would write it (100 + 500 draws, after the same 100
annotations, measured once and scaled to the effective sample size that our posterior has) / ours. NumPyro runs in the
fastest form of its model and is scaled by the time per gradient of the plain one, as in step.py, whose effective sizes
these are. "ratio_fastest_form" leaves that out. Choosing a query is in our time, not in NumPyro's.

Also measured: how long it takes to restore the learner, from a snapshot and by replay.
"""

import argparse
import time
from typing import Any, NamedTuple

from _measure import console, duration, environment, finish, show
from posterior import PLAIN_FORM, ess, other_process

# isort: split
import numpy as np
from step import THEIR_DRAWS, THEIR_WARMUP, errors, harmonic

from journeyman.experts import Question
from journeyman.inference import infer
from journeyman.learner import ActiveLearner
from journeyman.worlds import World, make_world

NUM_DEMONSTRATIONS = 100
EPSILON = 0.1


class Waits(NamedTuple):
    """Seconds per step `[steps]` on the clock, in the update and in the choice, and processor seconds per step."""

    wall: np.ndarray
    update: np.ndarray
    choice: np.ndarray
    cpu: float


def measure_waits(learner: ActiveLearner, world: World, num_steps: int) -> Waits:
    """Answer `num_steps` queries, and time each from the answer to the next query."""
    times = np.empty((num_steps, 3))
    query = learner.ask()
    cpu_start = time.process_time()
    for step in range(num_steps):
        answer = world.make_expert(1).demonstrate(Question(query.state, step))
        start = time.perf_counter()
        learner.tell(query, answer)
        middle = time.perf_counter()
        query = learner.ask()
        end = time.perf_counter()
        times[step] = end - start, middle - start, end - middle
    return Waits(times[:, 0], times[:, 1], times[:, 2], (time.process_time() - cpu_start) / num_steps)


def numpyro_restart(problem: Any, counts: np.ndarray) -> tuple[float, float, float]:
    """Return processor seconds and effective draws of one restart in the fastest form, and what the plain form costs.

    The last number is the time per gradient of the plain form in units of the fastest one's.
    """
    with other_process() as call:
        fastest, seconds_of = call("choose_form", problem, counts)
        compile_seconds = call("prepare", "step", problem, THEIR_WARMUP, THEIR_DRAWS, fastest)
        console.print(f"NumPyro: {fastest}, compiled in {compile_seconds:.0f} s (not counted)")
        chain = call("next_chain", "step", counts, 0, NUM_DEMONSTRATIONS)
    size = harmonic(ess(chain.draws[None]))
    return chain.cpu_warmup + chain.cpu_draws, size, seconds_of[PLAIN_FORM] / seconds_of[fastest]


def restore_seconds(learner: ActiveLearner, world: World) -> dict[str, float]:
    """Return seconds to restore the learner from its snapshot, and by replay of all its events."""
    found = {}
    for name, snapshot in (("snapshot", learner.snapshot()), ("replay", None)):
        start = time.perf_counter()
        again = ActiveLearner.restore(world.problem, learner.settings, learner.events, snapshot)
        found[name] = time.perf_counter() - start
        assert again.posterior().weights.tobytes() == learner.posterior().weights.tobytes()
    return found


def main() -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer steps and reference draws")
    parser.add_argument("--skip-numpyro", action="store_true", help="only ours")
    options = parser.parse_args()
    num_steps, reference_draws = (10, 300) if options.quick else (50, 2000)
    world = make_world("random-10x10", 0)
    problem = world.problem
    asked = np.random.default_rng(0).choice(np.flatnonzero(problem.queryable), NUM_DEMONSTRATIONS)
    demonstrations = world.expert.answers(asked)
    settings: dict[str, Any] = {"epsilon": EPSILON, "inference_options": {"num_particles": 1000}}
    warm = ActiveLearner(problem, **settings)  # compiles
    warm.attach(demonstrations[:3])
    warm.tell(warm.ask(), 0)

    learners = [ActiveLearner(problem, seed=seed, **settings) for seed in range(2 if options.quick else 3)]
    for learner in learners:
        learner.attach(demonstrations)
    before = [learner.posterior() for learner in learners]
    waits = measure_waits(learners[0], world, num_steps)
    rows = [
        (name, *(duration(float(np.quantile(seconds, level))) for level in (0.5, 0.95)))
        for name, seconds in (
            ("tell to next ask", waits.wall),
            ("of which the update", waits.update),
            ("of which the choice", waits.choice),
        )
    ]
    show(f"After {NUM_DEMONSTRATIONS} annotations, {num_steps} steps", ["", "median", "95 % below"], rows)
    restored = restore_seconds(learners[0], world)
    console.print(
        f"Restored from a snapshot in {duration(restored['snapshot'])}, by replay in {duration(restored['replay'])}"
    )

    ratios: dict[str, float | None] = {"ratio": None, "ratio_fastest_form": None}
    if not options.skip_numpyro:
        reference = infer(problem, demonstrations, "policywalk", sampler="hmc", num_draws=reference_draws, seed=77)
        size = errors(before, reference)[1]
        seconds, their_size, gain = numpyro_restart(problem, problem.counts(demonstrations))
        restart = seconds * size / their_size
        ratios = {"ratio": gain * restart / waits.cpu, "ratio_fastest_form": restart / waits.cpu}
        console.print(
            f"NumPyro restart {duration(seconds)} for {their_size:.0f} effective draws; ours are {size:.0f}: "
            f"{duration(restart)} scaled, {duration(gain * restart)} in the plain form; ours {duration(waits.cpu)}"
        )
    finish(
        {
            "bench": "learner",
            **ratios,
            "p50_seconds": float(np.quantile(waits.wall, 0.5)),
            "p95_seconds": float(np.quantile(waits.wall, 0.95)),
            "cpu_seconds_per_step": waits.cpu,
            "restore_from_snapshot_seconds": restored["snapshot"],
            "restore_by_replay_seconds": restored["replay"],
            "num_demonstrations": NUM_DEMONSTRATIONS,
            "num_steps": num_steps,
            "environment": environment(
                "journeyman", "numba", "numpy", *(() if options.skip_numpyro else ("numpyro", "jax"))
            ),
        }
    )


if __name__ == "__main__":
    main()
