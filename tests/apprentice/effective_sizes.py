"""Stated effective sizes against independent runs: `python tests/apprentice/effective_sizes.py 300` prints the table.

One policy, the same answers, other seeds of the sampler: the variance of the estimated chance of failure over runs
shows what it is worth, p (1 - p) / variance, with all that is random in it: tempering, resampling, moves. The stated
size is averaged as a variance, so that one lucky run cannot hide many others. Epsilons are such that chances are about
0.4, 0.1 and 0.02.
"""

import itertools
import sys
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from journeyman.apprentice import expected_return
from journeyman.apprentice.effective_size import effective_size_of, sample_set, upper_bound
from journeyman.apprentice.regret import failures_of
from journeyman.inference import infer, smc
from journeyman.inference.posterior import Posterior
from journeyman.worlds import make_world

CONFIDENCE = 0.95
CHANCES = (0.4, 0.1, 0.02)
LAST_ANSWERS = 4  # told one by one, as a learner does: they leave weights


class Case(NamedTuple):
    """A world, answers at random states of it, and with how many particles."""

    world: str
    options: dict
    seed: int
    num_answers: int
    num_particles: int = 1000


INDEPENDENT = {"terminals": "independent"}
CASES = {
    "jail": Case("jail", {}, 3, 10),
    "3x3": Case("random-grid", {"size": 3, **INDEPENDENT}, 0, 12),
    "4x4, 20 answers": Case("random-grid", {"size": 4, **INDEPENDENT}, 0, 20),
    "4x4, 40 answers": Case("random-grid", {"size": 4, **INDEPENDENT}, 4, 40),
    "10x10": Case("random-10x10", INDEPENDENT, 2, 14),
    "8x8": Case("random-8x8", {}, 1, 60),
}


class Run(NamedTuple):
    """What one run says: the chance of failure, what it is worth, and the upper bound."""

    chance: float
    size: float
    bound: float


class Row(NamedTuple):
    """Runs of one kind taken together.

    chance: their mean; true: the size that their variance shows; ratio: stated over true; error: the relative standard
    error of that; missed: the share of upper bounds below the chance that all kinds together show.
    """

    chance: float
    true: float
    ratio: float
    error: float
    missed: float


def posteriors_of(case: Case, problem, answers, seed: int) -> Iterator[tuple[str, Posterior]]:
    """Yield posteriors of every kind: particles, what is resampled from them, and chains that start from them."""
    particles = smc.start(problem, seed=seed, num_threads=1, num_particles=case.num_particles)
    particles = smc.update(particles, answers[:-LAST_ANSWERS], num_threads=1)
    for answer in answers[-LAST_ANSWERS:]:
        particles = smc.update(particles, answer, num_threads=1)
    posterior = smc.posterior_of(particles)
    yield "particles", posterior
    yield "resampled", posterior.resample(np.random.default_rng(seed), case.num_particles)
    for look, chains in enumerate(itertools.islice(smc.draw_more(particles, seed=10**6 + seed, num_threads=1), 3)):
        if look != 1:
            yield f"chains of {chains.chains[1]}", chains


def run_of(posterior: Posterior, policy, epsilon: float) -> Run:
    """Return what a posterior says of a policy."""
    found = failures_of(posterior, policy, epsilon, "initial")
    chance = float(posterior.mean(found.is_failing))
    size = effective_size_of(sample_set(posterior), found.is_failing, CONFIDENCE, found.regret).value
    return Run(chance, size, upper_bound(chance, size, CONFIDENCE))


def rows_of(case: Case, num_runs: int, *, kinds=None) -> dict[tuple[str, float], Row]:
    """Return a row for each kind of samples (in their order, all by default) and each epsilon."""
    world = make_world(case.world, case.seed, **case.options)
    states = np.random.default_rng(case.seed).choice(np.flatnonzero(world.problem.queryable), case.num_answers)
    answers = list(world.expert.answers(states))
    policy, pilot = (infer(world.problem, answers, seed=seed, num_threads=1) for seed in (999, 998))
    policy = expected_return(policy)
    regret = failures_of(pilot, policy, 0.1, "initial").regret
    epsilons = sorted({max(float(np.quantile(regret, 1.0 - chance)), 1e-3) for chance in CHANCES})
    runs = defaultdict(list)
    for seed in range(num_runs):
        for kind, posterior in posteriors_of(case, world.problem, answers, seed):
            if kinds is None or kind in kinds:
                for epsilon in epsilons:
                    runs[kind, epsilon].append(run_of(posterior, policy, epsilon))
            if kinds is not None and kind == kinds[-1]:
                break
    truths = {
        epsilon: np.mean([run.chance for key in runs if key[1] == epsilon for run in runs[key]]) for epsilon in epsilons
    }
    return {key: summary(found, truths[key[1]]) for key, found in runs.items() if 0.005 < truths[key[1]] < 0.7}


def summary(runs: list[Run], truth: float) -> Row:
    """Return what runs show together; the error of a variance is that of a mean of squares."""
    chances, sizes, bounds = (np.array(part) for part in zip(*runs, strict=True))
    squares = (chances - chances.mean()) ** 2 * len(runs) / (len(runs) - 1)
    true = truth * (1.0 - truth) / squares.mean()
    error = np.hypot(squares.std() / squares.mean(), (1.0 / sizes).std() * sizes.mean()) / np.sqrt(len(runs))
    ratio = 1.0 / np.mean(1.0 / sizes) / true
    return Row(float(truth), float(true), float(ratio), float(error), float(np.mean(bounds < truth)))


if __name__ == "__main__":
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    print("| world | samples | runs | chance | true size | stated / true | bounds that miss |")
    print("|---|---|---|---|---|---|---|")
    for name in sys.argv[2:] or CASES:
        for (kind, _), row in rows_of(CASES[name], number).items():
            ratio = f"{row.ratio:.2f} ± {row.ratio * row.error:.2f}"
            numbers = f"{row.chance:.3f} | {row.true:.0f} | {ratio} | {100 * row.missed:.1f} %"
            print(f"| {name} | {kind} | {number} | {numbers} |", flush=True)
