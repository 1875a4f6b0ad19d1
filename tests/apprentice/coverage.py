"""Certificates on many worlds whose truth is drawn from the prior: how often is what they say not so?

As a script it makes the table of docs/certificate.md and the runs behind its reliability curve, reliability.jsonl:

    python tests/apprentice/coverage.py run      # all runs that are missing (half an hour); run again to resume
    python tests/apprentice/coverage.py table    # what they say
"""

import argparse
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from journeyman.apprentice import certify
from journeyman.experts import SimulatedExpert
from journeyman.inference import infer
from journeyman.mdp import FiniteMDP, evaluate_policy, solve
from journeyman.problem import Problem
from journeyman.rewards import Discrete, LinearFeatures, Normal
from journeyman.storage.run_tables import continue_table, read_table
from journeyman.worlds import make_world

DELTA = 0.1
TABLE = Path(__file__).with_name("reliability.jsonl")
FORMAT = "journeyman-reliability-1"
SEED, PART = 7, 50  # of the committed runs, which are kept so many to a line


class Run(NamedTuple):
    """One certificate: whether it holds, its p_hat, and whether the policy's true regret reaches epsilon."""

    holds: bool
    p_hat: float
    is_wrong: bool


def two_state_problem(prior) -> Problem:
    """Two states in turn; in each, action 0 pays an unknown reward and action 1 pays none, with some slip between."""
    mdp = FiniteMDP.from_function(
        lambda s, a: [(0.8, 1 - s), (0.2, s)] if a == 0 else [(0.3, 1 - s), (0.7, s)],
        num_states=2,
        num_actions=2,
        discount=0.8,
    )
    features = np.zeros((2, 2, 2))
    features[[0, 1], 0, [0, 1]] = 1.0
    return Problem(mdp, LinearFeatures(features, mdp), prior, 2.0)


def run_of(problem, truth, queries, epsilon, seed, method, **options) -> Run:
    expert = SimulatedExpert(problem.mdp, problem.reward_model.reward(truth), problem.expert, seed=seed)
    posterior = infer(problem, expert.answers(queries), method, seed=seed, num_threads=1, **options)
    certificate = certify(posterior, epsilon, DELTA)
    reward = problem.reward_model.reward(truth)
    lost = solve(problem.mdp, reward).values - evaluate_policy(problem.mdp, certificate.policy, reward)
    return Run(certificate.holds, certificate.p_hat, float(problem.mdp.initial @ lost) >= epsilon)


@cache
def discrete_problem() -> Problem:
    """Two states, 200 atoms."""
    return two_state_problem(Discrete(np.random.default_rng(0).normal(size=(200, 2))))


@cache
def continuous_problem() -> Problem:
    """Two states, Normal prior."""
    return two_state_problem(Normal(2, 0.0, 1.0))


def discrete_run(number: int, seed: int) -> Run:
    """Two states, 200 atoms, enumerated: the posterior is exact."""
    problem, rng = discrete_problem(), np.random.default_rng([seed, 1, number])
    truth, queries = problem.prior.sample(rng, 1)[0], rng.integers(2, size=rng.integers(31))
    return run_of(problem, truth, queries, 0.3, number, "enumerate")


def continuous_run(number: int, seed: int) -> Run:
    """Two states, Normal prior, enumerated on a net."""
    problem, rng = continuous_problem(), np.random.default_rng([seed, 2, number])
    truth, queries = problem.prior.sample(rng, 1)[0], rng.integers(2, size=rng.integers(31))
    return run_of(problem, truth, queries, 0.3, number, "enumerate", num_points=8192)


def grid_run(number: int, seed: int) -> Run:
    """4x4 grids with independent terminals, sampled by SMC."""
    rng = np.random.default_rng([seed, 3, number])
    world = make_world("random-grid", 10_000 * seed + number, size=4, terminals="independent")
    states = rng.choice(np.flatnonzero(world.problem.queryable), rng.integers(20, 60))
    return run_of(world.problem, world.true_parameters, states, 1.0, number, "smc", num_particles=600)


def runs_of(run_fn: Callable[[int, int], Run], count: int, *, seed: int) -> list[Run]:
    """Return that many runs of a family."""
    return [run_fn(number, seed) for number in range(count)]


class Family(NamedTuple):
    """How a run is made, and how many the committed table has."""

    run_fn: Callable[[int, int], Run]
    num_runs: int


FAMILIES = {
    "two states, 200 atoms, exact": Family(discrete_run, 2400),
    "two states, Normal prior, net": Family(continuous_run, 2400),
    "4x4 grids, SMC": Family(grid_run, 800),
}


def run_part(family: str, part: int) -> dict[str, Any]:
    """Return a line of the table: some runs of a family, one after the other."""
    numbers = range(PART * part, PART * (part + 1))
    runs = [FAMILIES[family].run_fn(number, SEED) for number in numbers]
    kept = [[round(run.p_hat, 6), int(run.holds), int(run.is_wrong)] for run in runs]
    return {"family": family, "part": part, "runs": kept}


def committed_runs(table: Path = TABLE) -> dict[str, list[Run]]:
    """Return the runs of the table by their family, in order."""
    rows = sorted(read_table(table, FORMAT), key=lambda row: row["part"])
    return {
        family: [
            Run(bool(holds), p_hat, bool(is_wrong))
            for row in rows
            if row["family"] == family
            for p_hat, holds, is_wrong in row["runs"]
        ]
        for family in FAMILIES
    }


def summary(runs: list[Run]) -> tuple[int, int, float]:
    """Return the number of certified runs, how many of these were wrong, and their mean p_hat."""
    certified = [run for run in runs if run.holds]
    return len(certified), sum(run.is_wrong for run in certified), float(np.mean([run.p_hat for run in certified]))


def reliability_figure(families: dict[str, list[Run]]):
    """Return shares of wrong runs against their stated chances."""
    from journeyman.report.drawing.cells import new_figure
    from journeyman.report.drawing.palette import COLOURS

    figure = new_figure(5.4, 5.0)
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1], color="0.6", linewidth=1, label="perfectly calibrated")
    looks = zip(COLOURS, ("o", "s", "^"), (-0.006, 0.0, 0.006), strict=False)
    for (name, runs), (colour, marker, shift) in zip(families.items(), looks, strict=True):
        chances, wrong = np.array([run.p_hat for run in runs]), np.array([run.is_wrong for run in runs])
        order = np.argsort(chances, kind="stable")
        points = []
        for part in np.array_split(order, 10):
            rate = wrong[part].mean()
            error = np.sqrt(max(rate * (1 - rate), 1 / len(part)) / len(part))
            points.append((chances[part].mean() + shift, rate, 2 * error))
        x, y, bars = np.array(points).T
        style = {"marker": marker, "color": colour, "linestyle": "none", "capsize": 2}
        axes.errorbar(x, y, yerr=bars, label=f"{name} ({len(runs)} runs)", **style)
    axes.set(xlabel="p_hat: estimated chance of a regret of epsilon or more", xlim=(-0.03, 1.0), ylim=(-0.03, 1.0))
    axes.set(ylabel="share of runs whose true regret was so large", title="Reliability of certificates")
    axes.legend(loc="upper left", frameon=False)
    return figure


def main() -> None:
    """Run what is missing, or say what the runs say."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("command", choices=("run", "table"))
    parser.add_argument("--workers", type=int, default=1, help="processes; default 1")
    options = parser.parse_args()
    if options.command == "run":
        cells = [(name, part) for name, family in FAMILIES.items() for part in range(family.num_runs // PART)]
        settings = {"seed": SEED, "part": PART, "delta": DELTA}
        continue_table(
            TABLE,
            FORMAT,
            settings,
            ("family", "part"),
            cells,
            run_part,
            num_workers=options.workers,
            report_fn=lambda line: print(line[:70], flush=True),
        )
    for family, runs in committed_runs().items():
        if runs:
            num_certified, num_wrong, mean_chance = summary(runs)
            print(
                f"{family}: {len(runs)} draws, {num_certified} certified, {num_wrong} of them wrong "
                f"({num_wrong / max(num_certified, 1):.3f}; mean p_hat {mean_chance:.3f}, delta {DELTA})"
            )


if __name__ == "__main__":
    main()
