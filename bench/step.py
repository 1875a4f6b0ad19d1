"""One step of active learning: a new annotation arrives, and the posterior has to follow.

Replays 150 annotations one by one on the 10x10 world with SMC (1000 particles) on one thread and on two, and compares
with restarting a sampler from scratch after each: NumPyro's NUTS as a user would write it (100 + 500 draws), and our
own `policywalk`. A restart is measured at a few of the steps and scaled to the effective sample size of SMC there.

Effective sizes mean the same for all: the number of independent draws whose means would be as good, averaged over
parameters. For SMC it comes from independent runs against a long reference, 1 / mean((mean - reference)^2 / variance);
for chains from ArviZ, 1 / mean(1 / ESS). Processor seconds are compared, so that others on the machine do not count.

NumPyro runs in the fastest form of its model, an implicit gradient on successor lists, so that this takes minutes and
not hours. The last line is JSON: "ratio_fastest_form" is that / ours, "ratio" the same for the plain program (see
posterior.py), scaled by its time per gradient, "ratio_policywalk" our own restarts / ours.
"""

import argparse
import time
from typing import Any, NamedTuple

from _measure import CORES, console, duration, environment, finish, pinned, show
from posterior import PLAIN_FORM, ess, other_process

# isort: split
import numpy as np

from journeyman.inference import infer, smc
from journeyman.inference.posterior import Posterior
from journeyman.worlds import make_world

NUM_ANNOTATIONS = 150
THEIR_WARMUP, THEIR_DRAWS = 100, 500


class Replay(NamedTuple):
    """Seconds per step `[steps]` on the clock, processor seconds in all, and posteriors after some steps."""

    seconds: np.ndarray
    cpu: float
    posteriors: dict[int, Posterior]


def replay(problem: Any, demonstrations: Any, looks: list[int], *, seed: int, num_threads: int) -> Replay:
    """Feed the demonstrations to SMC one by one."""
    seconds, posteriors = np.empty(len(demonstrations)), {}
    particles = smc.start(problem, seed=seed, num_threads=num_threads)
    cpu_start = time.process_time()
    for step, demonstration in enumerate(demonstrations):
        start = time.perf_counter()
        particles = smc.update(particles, demonstration, num_threads=num_threads)
        seconds[step] = time.perf_counter() - start
        if step + 1 in looks:
            posteriors[step + 1] = smc.posterior_of(particles)
    return Replay(seconds, time.process_time() - cpu_start, posteriors)


def errors(posteriors: list[Posterior], reference: Posterior) -> tuple[float, float, float]:
    """Return rms error of means in posterior standard deviations, its ESS, and rms error of standard deviations."""
    std = reference.parameter_std()
    squared = [((p.mean_parameters() - reference.mean_parameters()) / std) ** 2 for p in posteriors]
    ratios = [p.parameter_std() / std - 1.0 for p in posteriors]
    mean_square = float(np.mean(squared)) - 1.0 / effective_draws(reference)
    return float(np.sqrt(np.mean(squared))), 1.0 / max(mean_square, 1e-9), float(np.sqrt(np.mean(np.square(ratios))))


def effective_draws(posterior: Posterior) -> float:
    """Return the harmonic mean over parameters of the bulk ESS of chains."""
    return harmonic(ess(posterior.theta.reshape(*posterior.chains, -1)))


def harmonic(numbers: np.ndarray) -> float:
    """Return the harmonic mean."""
    return float(1.0 / np.mean(1.0 / numbers))


def main() -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="60 annotations, one look, fewer reference draws")
    parser.add_argument("--skip-numpyro", action="store_true", help="only ours")
    options = parser.parse_args()
    num_annotations = 60 if options.quick else NUM_ANNOTATIONS
    looks = [num_annotations] if options.quick else [50, 100, 150]
    world = make_world("random-10x10", 0)
    states = np.random.default_rng(0).choice(np.flatnonzero(world.problem.queryable), num_annotations)
    demonstrations = world.expert.answers(states)
    problem = world.problem
    replay(problem, demonstrations[:5], [], seed=9, num_threads=1)  # compile

    runs: dict[int, list[Replay]] = {1: [], 2: []}
    for num_threads in (1, 2):
        if num_threads > len(CORES):
            console.print("There is one core only: no run on two threads.")
            continue
        for seed in (0, 1):
            with pinned(num_threads):
                runs[num_threads].append(
                    replay(problem, demonstrations, looks, seed=10 * num_threads + seed, num_threads=num_threads)
                )
    cpu_per_step = float(np.mean([run.cpu for run in runs[1]])) / num_annotations
    rows = [
        (
            f"{n} thread{'s'[: n - 1]}",
            duration(np.mean([run.seconds.mean() for run in some])),
            duration(np.quantile(np.concatenate([run.seconds for run in some]), 0.95)),
            duration(np.mean([run.cpu for run in some]) / num_annotations),
        )
        for n, some in runs.items()
        if some
    ]
    show(f"SMC, {num_annotations} annotations", ["", "mean per step", "95 % of steps below", "processor"], rows)

    restarts: dict[str, list[float]] = {"numpyro": [], "policywalk": []}
    gain = 1.0  # of NumPyro's fastest form over the plain one, per gradient
    rows = []
    with other_process() as call:
        if not options.skip_numpyro:
            counts = problem.counts(demonstrations[: looks[-1]])
            fastest, seconds_of = call("choose_form", problem, counts)
            gain = seconds_of[PLAIN_FORM] / seconds_of[fastest]
            compile_seconds = call("prepare", "step", problem, THEIR_WARMUP, THEIR_DRAWS, fastest)
            console.print(f"NumPyro: {fastest}, compiled in {compile_seconds:.0f} s (not counted)")
        for look in looks:
            counts = problem.counts(demonstrations[:look])
            reference_draws = 1000 if options.quick else 4000
            reference = infer(
                problem, demonstrations[:look], "policywalk", sampler="hmc", num_draws=reference_draws, seed=77
            )
            ours = [run.posteriors[look] for some in runs.values() for run in some]
            rms, size, std_error = errors(ours, reference)
            row: list[str] = [str(look), f"{rms:.3f}", f"{std_error:.3f}", f"{size:.0f}"]
            with pinned(1):
                start = time.process_time()
                again = infer(problem, demonstrations[:look], "policywalk", sampler="hmc", num_chains=1, num_draws=500)
                seconds = time.process_time() - start
            restarts["policywalk"].append(seconds * size / effective_draws(again))
            row.append(f"{duration(seconds)}, {effective_draws(again):.0f}")
            if not options.skip_numpyro:
                chain = call("next_chain", "step", counts, 0, look)
                their_size = harmonic(ess(chain.draws[None]))
                seconds = chain.cpu_warmup + chain.cpu_draws
                restarts["numpyro"].append(seconds * size / their_size)
                row.append(f"{duration(seconds)}, {their_size:.0f}")
            rows.append(row)
    columns = ["annotations", "rms error of means", "of std", "ESS of SMC", "policywalk restart: time, ESS"]
    show(
        "Accuracy, and restarts from scratch",
        columns + ([] if options.skip_numpyro else ["NumPyro restart: time, ESS"]),
        rows,
        "errors in posterior standard deviations",
    )
    fastest_ratio = float(np.mean(restarts["numpyro"])) / cpu_per_step if restarts["numpyro"] else None
    result: dict[str, Any] = {
        "bench": "step",
        "ratio": fastest_ratio and fastest_ratio * gain,
        "ratio_fastest_form": fastest_ratio,
        "ratio_policywalk": float(np.mean(restarts["policywalk"])) / cpu_per_step,
        "seconds_per_step_1_thread": float(np.mean([run.seconds.mean() for run in runs[1]])),
        "seconds_per_step_2_threads": float(np.mean([run.seconds.mean() for run in runs[2]])) if runs[2] else None,
        "cpu_seconds_per_step": cpu_per_step,
        "num_annotations": num_annotations,
        "environment": environment(
            "journeyman", "numba", "numpy", *(() if options.skip_numpyro else ("numpyro", "jax"))
        ),
    }
    finish(result)


if __name__ == "__main__":
    main()
