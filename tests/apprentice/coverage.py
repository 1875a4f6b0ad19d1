"""Certificates on many worlds whose truth is drawn from the prior: how often is what they say not so?

Run as a script, with the number of draws per family, it prints counts and draws the reliability curve of docs:
    python tests/apprentice/coverage.py 3000 docs/images/certificate-reliability.png
"""

import sys
from typing import NamedTuple

import numpy as np

from journeyman.apprentice import certify
from journeyman.experts import SimulatedExpert
from journeyman.inference import infer
from journeyman.mdp import FiniteMDP, evaluate_policy, solve
from journeyman.problem import Problem
from journeyman.rewards import Discrete, LinearFeatures, Normal
from journeyman.worlds import make_world

DELTA = 0.1


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


def discrete_runs(count: int, seed: int = 0) -> list[Run]:
    """Two states, 200 atoms, enumerated: the posterior is exact."""
    problem = two_state_problem(Discrete(np.random.default_rng(0).normal(size=(200, 2))))
    rngs = (np.random.default_rng([seed, 1, i]) for i in range(count))
    return [
        run_of(problem, problem.prior.sample(rng, 1)[0], rng.integers(2, size=rng.integers(31)), 0.3, i, "enumerate")
        for i, rng in enumerate(rngs)
    ]


def continuous_runs(count: int, seed: int = 0) -> list[Run]:
    """Two states, Normal prior, enumerated on a net."""
    problem = two_state_problem(Normal(2, 0.0, 1.0))
    rngs = (np.random.default_rng([seed, 2, i]) for i in range(count))
    return [
        run_of(
            problem, problem.prior.sample(rng, 1)[0], rng.integers(2, size=rng.integers(31)), 0.3, i, "enumerate",
            num_points=8192,
        )
        for i, rng in enumerate(rngs)
    ]  # fmt: skip


def grid_runs(count: int, seed: int = 0) -> list[Run]:
    """4x4 grids with independent terminals, sampled by SMC."""
    runs = []
    for i in range(count):
        rng = np.random.default_rng([seed, 3, i])
        world = make_world("random-grid", 10_000 * seed + i, size=4, terminals="independent")
        states = rng.choice(np.flatnonzero(world.problem.queryable), rng.integers(20, 60))
        runs.append(run_of(world.problem, world.true_parameters, states, 1.0, i, "smc", num_particles=600))
    return runs


FAMILIES = {
    "two states, 200 atoms, exact": discrete_runs,
    "two states, Normal prior, net": continuous_runs,
    "4x4 grids, SMC": grid_runs,
}


def summary(runs: list[Run]) -> tuple[int, int, float]:
    """Return the number of certified runs, how many of these were wrong, and their mean p_hat."""
    certified = [run for run in runs if run.holds]
    return len(certified), sum(run.is_wrong for run in certified), float(np.mean([run.p_hat for run in certified]))


def draw_reliability(families: dict[str, list[Run]], path: str) -> None:
    """Draw shares of wrong runs against their stated chances."""
    from journeyman.report import save_figure
    from journeyman.report.drawing.cells import new_figure
    from journeyman.report.sweep.figure_data import COLOURS

    figure = new_figure(5.4, 5.0)
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1], color="0.6", linewidth=1, label="perfectly calibrated")
    for (name, runs), marker, shift in zip(families.items(), ("o", "s", "^"), (-0.006, 0.0, 0.006), strict=True):
        chances, wrong = np.array([run.p_hat for run in runs]), np.array([run.is_wrong for run in runs])
        order = np.argsort(chances, kind="stable")
        points = []
        for part in np.array_split(order, 10):
            rate = wrong[part].mean()
            error = np.sqrt(max(rate * (1 - rate), 1 / len(part)) / len(part))
            points.append((chances[part].mean() + shift, rate, 2 * error))
        x, y, bars = np.array(points).T
        style = {"marker": marker, "color": COLOURS["os^".index(marker)], "linestyle": "none", "capsize": 2}
        axes.errorbar(x, y, yerr=bars, label=f"{name} ({len(runs)} runs)", **style)
    axes.set(xlabel="p_hat: estimated chance of a regret of epsilon or more", xlim=(-0.03, 1.0), ylim=(-0.03, 1.0))
    axes.set(ylabel="share of runs whose true regret was so large", title="Reliability of certificates")
    axes.legend(loc="upper left", frameon=False)
    save_figure(figure, path)


if __name__ == "__main__":
    draws = int(sys.argv[1])
    results = {}
    for family, runs_fn in FAMILIES.items():
        results[family] = runs_fn(draws if runs_fn is not grid_runs else max(1, draws // 3), seed=7)
        num_certified, num_wrong, mean_chance = summary(results[family])
        print(
            f"{family}: {len(results[family])} draws, {num_certified} certified, {num_wrong} of them wrong "
            f"({num_wrong / max(num_certified, 1):.3f}; mean p_hat {mean_chance:.3f}, delta {DELTA})",
            flush=True,
        )
    draw_reliability(results, sys.argv[2])
