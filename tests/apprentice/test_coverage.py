"""Among certified policies, those whose true regret reaches epsilon are no more than delta allows.

Truths are drawn from the prior, so that among certificates with p_hat the share of wrong ones is p_hat. A binomial test
with a level of 0.001 says when there are too many. `bench/honesty.py` does the same in full for adaptive runs.
"""

from pathlib import Path

import numpy as np
import pytest
from apprentice.coverage import (
    DELTA,
    FAMILIES,
    SEED,
    committed_runs,
    continuous_run,
    discrete_run,
    grid_run,
    runs_of,
    summary,
)
from scipy.stats import binomtest

from bench import _families
from journeyman.experts import SimulatedExpert


def assert_covered(runs, *, min_certified):
    num_certified, num_wrong, _ = summary(runs)
    assert num_certified >= min_certified
    assert binomtest(num_wrong, num_certified, DELTA, alternative="greater").pvalue > 0.001


def assert_reliable(runs, *, num_bins):
    """In each bin of p_hat the share of wrong runs is the mean p_hat, within 4.5 binomial standard errors."""
    chances, wrong = np.array([run.p_hat for run in runs]), np.array([run.is_wrong for run in runs])
    for part in np.array_split(np.argsort(chances, kind="stable"), num_bins):
        expected = chances[part].mean()
        error = np.sqrt(max(expected * (1.0 - expected), 1.0 / len(part)) / len(part))
        assert abs(wrong[part].mean() - expected) < 4.5 * error


def test_coverage_with_an_exact_posterior():
    runs = runs_of(discrete_run, 250, seed=1)
    assert_covered(runs, min_certified=75)
    assert_reliable(runs, num_bins=5)
    assert 0.1 < np.mean([run.is_wrong for run in runs]) < 0.5  # there was something to be wrong about


def test_coverage_of_a_few_grids():
    assert_covered(runs_of(grid_run, 6, seed=1), min_certified=2)


def test_the_committed_runs_are_reliable_and_their_table_is_that_of_the_page():
    page = (Path(__file__).parents[2] / "docs" / "certificate.md").read_text("utf-8")
    for name, runs in committed_runs().items():
        assert len(runs) == FAMILIES[name].num_runs
        assert_covered(runs, min_certified=500)
        assert_reliable(runs, num_bins=10)
        num_certified, num_wrong, mean_chance = summary(runs)
        share = f"{100 * num_wrong / num_certified:.1f} %"
        row = f"| {name} | {len(runs)} | {num_certified} | {num_wrong} ({share}) | {mean_chance:.3f} |"
        assert row in page, row


def test_a_committed_run_is_made_again():
    name = "two states, 200 atoms, exact"
    made = [FAMILIES[name].run_fn(number, SEED) for number in range(5)]
    assert [run._replace(p_hat=round(run.p_hat, 6)) for run in made] == committed_runs()[name][:5]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("run_fn", "num_draws", "min_certified"),
    [(discrete_run, 2000, 600), (continuous_run, 800, 100), (grid_run, 400, 100)],
)
def test_coverage_in_full(run_fn, num_draws, min_certified):
    runs = runs_of(run_fn, num_draws, seed=2)
    num_certified, num_wrong, mean_chance = summary(runs)
    print(f"{run_fn.__doc__} {num_certified} of {num_draws} certified, {num_wrong} wrong, mean p_hat {mean_chance:.3f}")
    assert_covered(runs, min_certified=min_certified)
    assert_reliable(runs, num_bins=10)


ATOMS, TIES, NEEDLES = "two states, 200 atoms (exact)", "ties", "needles, delta 0.05"
FIRST_SEED = 1000  # of worlds that the committed table does not have


def adaptive_runs(name, count):
    """Return how many of the runs of a family were certified, how many of these were wrong, and the chance of as many.

    That chance is of at least so many wrong ones, if each is wrong with a chance of delta.
    """
    runs = [_families.run_family(name, FIRST_SEED + seed) for seed in range(count)]
    certified = [run for run in runs if run["is_certified"]]
    num_wrong = sum(run["is_wrong"] for run in certified)
    allowed = _families.FAMILIES[name].delta
    return len(certified), num_wrong, binomtest(num_wrong, len(certified), allowed, alternative="greater").pvalue


@pytest.mark.parametrize(("name", "count", "min_certified"), [(ATOMS, 20, 14), (TIES, 4, 2), (NEEDLES, 12, 8)])
def test_adaptive_runs_are_honest(name, count, min_certified):
    num_certified, _, chance = adaptive_runs(name, count)
    assert num_certified >= min_certified
    assert chance > 0.001


def test_runs_with_an_expert_who_is_worse_than_assumed_are_found_out(monkeypatch):
    """The same, with answers that are noise: what makes honest runs pass would not pass for others."""

    def noisy(seed):
        world = family.world_fn(seed)
        vars(world)["expert"] = SimulatedExpert(world.problem.mdp, world.reward, 0.05, seed=seed)
        return world

    family = _families.FAMILIES[ATOMS]
    monkeypatch.setitem(_families.FAMILIES, ATOMS, family._replace(world_fn=noisy))
    num_certified, _, chance = adaptive_runs(ATOMS, 16)
    assert num_certified >= 6
    assert chance < 0.001


@pytest.mark.slow
@pytest.mark.parametrize("name", _families.FAMILIES)
def test_adaptive_runs_of_every_family(name):
    num_certified, num_wrong, chance = adaptive_runs(name, 16)
    print(f"{name}: {num_wrong} of {num_certified} wrong")
    assert num_certified >= 4
    assert chance > 0.001


def test_every_state_is_judged_by_its_worst_choice():
    world = _families.grid(3)(1)
    best = world.expert.q.argmax(axis=1)
    assert _families.lost(world, best, "every_state") == _families.lost(world, best, "initial") == 0.0
    state = int(np.ptp(world.expert.q, axis=1).argmax())
    worst = best.copy()
    worst[state] = world.expert.q[state].argmin()
    immediate = float(np.ptp(world.expert.q[state]))
    assert _families.lost(world, worst, "every_state") == pytest.approx(immediate / (1 - world.problem.mdp.discount))
    assert 0.0 < _families.lost(world, worst, "initial") < _families.lost(world, worst, "every_state")
