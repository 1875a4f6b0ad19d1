import numpy as np
import pytest
from scipy import stats

from journeyman.calibration import coverage, exact_interval, pooled_coverage


def test_share_and_exact_interval():
    """Levels 0.1, 0.2, ..., 0.9: the middle 50 % (0.25 to 0.75) holds five of nine."""
    found = coverage(np.linspace(0.1, 0.9, 9), 0.5)
    exact = stats.binomtest(5, 9).proportion_ci(0.95, method="exact")
    assert found.share == 5 / 9
    assert (found.low, found.high) == pytest.approx((exact.low, exact.high))
    assert found.is_nominal


def test_nothing_counted_says_nothing():
    assert exact_interval(0, 0) == (0.0, 1.0)


def test_all_and_none():
    assert coverage(np.full(20, 0.5), 0.8)[1:] == (1.0, pytest.approx(0.025 ** (1 / 20)), 1.0)
    assert coverage(np.full(20, 0.99), 0.8)[1:3] == (0.0, 0.0)
    assert not coverage(np.full(20, 0.99), 0.8).is_nominal


def test_pooled_interval_knows_that_quantities_depend_on_each_other():
    levels = np.random.default_rng(0).random((400, 1))
    twice = pooled_coverage(np.repeat(levels, 2, axis=1), 0.8)
    copied = pooled_coverage(np.repeat(levels, 5, axis=1), 0.8)
    independent = pooled_coverage(np.random.default_rng(1).random((400, 5)), 0.8)
    assert tuple(copied) == pytest.approx(tuple(twice))
    assert independent.high - independent.low < 0.6 * (twice.high - twice.low)  # 1 / sqrt(5) = 0.45


def test_pooled_interval_has_its_level():
    """95 % of intervals from uniform levels hold 0.8; 4.5 standard errors over 400 runs are 0.05."""
    rng = np.random.default_rng(2)
    hits = [pooled_coverage(rng.random((200, 3)), 0.8).is_nominal for _ in range(400)]
    assert abs(np.mean(hits) - 0.95) < 0.05


def test_few_replications_that_all_hold_the_truth_prove_nothing():
    """5 replications of 3 parameters: 15 of 15 is what chance does to 95 % intervals in 46 of 100 cases."""
    found = pooled_coverage(np.full((5, 3), 0.5), 0.95)
    assert found[1:] == (1.0, pytest.approx(0.025 ** (1 / 15)), 1.0)
    assert found.is_nominal
    assert pooled_coverage(np.full((1, 3), 0.5), 0.5)[2:] == (0.0, 1.0)
    assert not pooled_coverage(np.full((20, 3), 0.99), 0.5).is_nominal
