"""What a user waits for: the time from `tell` to the next `ask`, on the 10x10 world with 1000 particles.

After 100 annotations, answers of the expert come in one by one: each updates the posterior, is measured (entropy,
regret), and then the best next query is chosen. Three learners take turns, a few answers at a time. One rejuvenates its
particles at once (`lag=0`, the rule of 0.1: keys "..._at_once"). Two do so as learners do by default, one answer later,
in the background: one is told by an expert who thinks for some seconds before each answer (what a person waits for:
"p50_seconds", "p95_seconds"), the other by one who does not, as in a simulation ("..._no_thinking"). The median and the
95 % quantile are on the clock, on all cores, without the thinking. "ess" is the mean effective size of the weights that
queries were chosen from. The ratio compares processor seconds, so that others on the machine do not count.

"ratio" is what a restart of NumPyro's NUTS costs as a user would write it (100 + 500 draws, after the same 100
annotations, measured once and scaled to the effective sample size that our posterior has) / ours. NumPyro runs in the
fastest form of its model and is scaled by the time per gradient of the plain one, as in step.py, whose effective sizes
these are. "ratio_fastest_form" leaves that out. Choosing a query is in our time, not in NumPyro's.

Also measured: how long it takes to restore the learner, from a snapshot and by replay.
"""

import argparse
import threading
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
STEPS_PER_TURN = 5
TITLES = {"At once": "at_once", "In the background, no thinking": "no_thinking", "The same, with thinking": "thinking"}
RULES: dict[str, dict[str, Any]] = {"at_once": {"lag": 0}, "no_thinking": {}, "thinking": {}}


class Waits(NamedTuple):
    """Seconds per step `[steps]` on the clock, in the update and in the choice; processor seconds, effective sizes."""

    wall: np.ndarray
    update: np.ndarray
    choice: np.ndarray
    cpu: np.ndarray
    ess: np.ndarray


def measure_waits(learner: ActiveLearner, world: World, num_steps: int, thinking: float) -> np.ndarray:
    """Answer `num_steps` queries, and time each from the answer to the next query; the rows are those of `Waits`."""
    times = np.empty((5, num_steps))
    expert = world.make_expert(1)
    for step in range(num_steps):
        cpu = time.process_time()
        (query,) = learner.pending or (learner.ask(),)
        time.sleep(thinking)
        answer = expert.demonstrate(Question(query.state, len(learner.answers)))
        start = time.perf_counter()
        learner.tell(query, answer)
        middle = time.perf_counter()
        learner.ask()
        end = time.perf_counter()
        if step == num_steps - 1:  # what is under way belongs to this turn
            for thread in threading.enumerate():
                if thread.name == "journeyman-ahead":
                    thread.join()
        size = learner.posterior().diagnostics.particle_ess
        times[:, step] = end - start, middle - start, end - middle, time.process_time() - cpu, size
    return times


def take_turns(learners: dict[str, ActiveLearner], world: World, num_steps: int, thinking: float) -> dict[str, Waits]:
    """Return what each learner needed for `num_steps` answers."""
    parts: dict[str, list[np.ndarray]] = {name: [] for name in learners}
    for turn in range(num_steps // STEPS_PER_TURN):
        for name in list(learners)[:: 1 if turn % 2 else -1]:
            seconds = thinking if name == "thinking" else 0.0
            parts[name].append(measure_waits(learners[name], world, STEPS_PER_TURN, seconds))
    return {name: Waits(*np.concatenate(found, axis=1)) for name, found in parts.items()}


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
    parser.add_argument("--thinking", type=float, default=3.0, help="seconds that the expert thinks before an answer")
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

    learners = {
        name: ActiveLearner(problem, **settings | {"inference_options": settings["inference_options"] | extra})
        for name, extra in RULES.items()
    }
    others = [ActiveLearner(problem, seed=seed, **settings) for seed in range(1, 2 if options.quick else 3)]
    for learner in (*learners.values(), *others):
        learner.attach(demonstrations)
    before = [learner.posterior() for learner in (learners["no_thinking"], *others)]
    waits = take_turns(learners, world, num_steps, options.thinking)
    for title, name in TITLES.items():
        rows = [
            (part, *(duration(float(np.quantile(seconds, level))) for level in (0.5, 0.95)))
            for part, seconds in (
                ("tell to next ask", waits[name].wall),
                ("of which the update", waits[name].update),
                ("of which the choice", waits[name].choice),
            )
        ]
        show(f"{title}: after {NUM_DEMONSTRATIONS} annotations, {num_steps} steps", ["", "median", "95 % below"], rows)
        console.print(
            f"{duration(float(waits[name].cpu.mean()))} of processor time per step, "
            f"{waits[name].ess.mean():.0f} of 1000 particles effective on average"
        )
    restored = restore_seconds(learners["thinking"], world)
    console.print(
        f"Restored from a snapshot in {duration(restored['snapshot'])}, by replay in {duration(restored['replay'])}"
    )
    cpu = float(waits["no_thinking"].cpu.mean())

    ratios: dict[str, float | None] = {"ratio": None, "ratio_fastest_form": None}
    if not options.skip_numpyro:
        reference = infer(problem, demonstrations, "policywalk", sampler="hmc", num_draws=reference_draws, seed=77)
        size = errors(before, reference)[1]
        seconds, their_size, gain = numpyro_restart(problem, problem.counts(demonstrations))
        restart = seconds * size / their_size
        ratios = {"ratio": gain * restart / cpu, "ratio_fastest_form": restart / cpu}
        console.print(
            f"NumPyro restart {duration(seconds)} for {their_size:.0f} effective draws; ours are {size:.0f}: "
            f"{duration(restart)} scaled, {duration(gain * restart)} in the plain form; ours {duration(cpu)}"
        )
    finish(
        {
            "bench": "learner",
            **ratios,
            **{
                f"p{level}_seconds{suffix}": float(np.quantile(waits[name].wall, level / 100.0))
                for name, suffix in (("thinking", ""), ("no_thinking", "_no_thinking"), ("at_once", "_at_once"))
                for level in (50, 95)
            },
            "thinking_seconds": options.thinking,
            "cpu_seconds_per_step": cpu,
            "cpu_seconds_per_step_at_once": float(waits["at_once"].cpu.mean()),
            "ess": float(waits["thinking"].ess.mean()),
            "ess_at_once": float(waits["at_once"].ess.mean()),
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
