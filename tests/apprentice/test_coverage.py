"""Among certified policies, those whose true regret reaches epsilon are no more than delta allows.

Truths are drawn from the prior, so that among certificates with p_hat the share of wrong ones is p_hat. A binomial test
with a level of 0.001 says when there are too many.
"""

import numpy as np
import pytest
from apprentice.coverage import DELTA, continuous_runs, discrete_runs, grid_runs, summary
from scipy.stats import binomtest


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
    runs = discrete_runs(250, seed=1)
    assert_covered(runs, min_certified=75)
    assert_reliable(runs, num_bins=5)
    assert 0.1 < np.mean([run.is_wrong for run in runs]) < 0.5  # there was something to be wrong about


def test_coverage_of_a_few_grids():
    assert_covered(grid_runs(6, seed=1), min_certified=2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("runs_fn", "num_draws", "min_certified"),
    [(discrete_runs, 2000, 600), (continuous_runs, 800, 100), (grid_runs, 400, 100)],
)
def test_coverage_in_full(runs_fn, num_draws, min_certified):
    runs = runs_fn(num_draws, seed=2)
    num_certified, num_wrong, mean_chance = summary(runs)
    print(
        f"{runs_fn.__doc__} {num_certified} of {num_draws} certified, {num_wrong} wrong, mean p_hat {mean_chance:.3f}"
    )
    assert_covered(runs, min_certified=min_certified)
    assert_reliable(runs, num_bins=10)
