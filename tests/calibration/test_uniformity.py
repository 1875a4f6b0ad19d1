import itertools

import numpy as np
import pytest
from scipy import stats

from journeyman.calibration import chi_square_p_value, ecdf_band, ecdf_difference, ecdf_p_value
from journeyman.calibration.uniformity import _bounds, _chance_inside
from journeyman.errors import InputError


def test_chi_square_is_that_of_scipy():
    ranks = np.random.default_rng(0).integers(0, 100, 500)
    counts, _ = np.histogram(ranks, bins=np.arange(0, 101, 5))
    assert chi_square_p_value(ranks, 99) == stats.chisquare(counts).pvalue
    assert chi_square_p_value(ranks, 99, 4) == stats.chisquare(counts.reshape(4, 5).sum(axis=1)).pvalue


def test_few_ranks_get_few_bins():
    """Each bin expects at least five ranks; 23 ranks allow four bins, and 9 allow none."""
    ranks = np.random.default_rng(0).integers(0, 100, 23)
    assert chi_square_p_value(ranks, 99) == chi_square_p_value(ranks, 99, 4)
    assert chi_square_p_value(ranks[:9], 99) == 1.0


@pytest.mark.parametrize(
    ("ranks", "num_draws", "num_bins", "message"),
    [
        ([0, 100], 99, None, r"ranks must lie in 0..99, got 100"),
        ([-1, 5], 99, None, r"ranks must lie in 0..99, got -1"),
        ([0.5, 1.0], 99, None, "ranks must be a list of whole numbers"),
        ([], 99, None, "ranks must be a list of whole numbers"),
        ([1, 2, 3], 99, 7, "num_bins must divide num_draws"),
    ],
)
def test_bad_ranks_are_refused(ranks, num_draws, num_bins, message):
    with pytest.raises(InputError, match=message):
        chi_square_p_value(ranks, num_draws, num_bins)


def test_difference_of_known_ranks():
    """Ranks 0, 0, 3 on 0..3: shares below 1, 2, 3 are 2/3 each."""
    np.testing.assert_allclose(ecdf_difference([0, 0, 3], 3), [2 / 3 - 1 / 4, 2 / 3 - 1 / 2, 2 / 3 - 3 / 4])


def test_chance_inside_equals_enumeration():
    """Every one of 4^5 equally likely lists of ranks, against bounds of all kinds."""
    num_ranks, num_values = 5, 4
    lists = np.array(list(itertools.product(range(num_values), repeat=num_ranks)))
    below = np.stack([(lists < i).sum(axis=1) for i in range(1, num_values)], axis=1)
    for low, high in [([0, 1, 2], [3, 4, 5]), ([1, 1, 1], [2, 3, 5]), ([0, 0, 0], [5, 5, 5]), ([2, 1, 3], [3, 5, 4])]:
        exact = ((below >= low) & (below <= high)).all(axis=1).mean()
        found = _chance_inside(num_ranks, num_values, np.array(low), np.array(high))
        assert found == pytest.approx(exact, abs=1e-12)
    assert _chance_inside(num_ranks, num_values, np.array([2, 0, 0]), np.array([1, 5, 5])) == 0.0


def test_bounds_hold_the_counts_with_tails_above():
    low, high = _bounds(30, 10, 0.02)
    for i, (lowest, highest) in enumerate(zip(low, high, strict=True), start=1):
        binomial = stats.binom(30, i / 10)
        inside = [x for x in range(31) if binomial.cdf(x) > 0.02 and binomial.sf(x - 1) > 0.02]
        assert (lowest, highest) == (inside[0], inside[-1])


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_the_band_has_its_simultaneous_level(level):
    """By simulation, within 4.5 standard errors; the binomial's steps add at most 0.02 to the level."""
    num_ranks, num_draws, num_runs = 200, 39, 3000
    rng = np.random.default_rng(1)
    band = ecdf_band(num_ranks, num_draws, level)
    runs = [ecdf_difference(rng.integers(0, num_draws + 1, num_ranks), num_draws) for _ in range(num_runs)]
    inside = np.mean([((run >= band.low - 1e-12) & (run <= band.high + 1e-12)).all() for run in runs])
    error = 4.5 * np.sqrt(level * (1 - level) / num_runs)
    assert level - error < inside < level + 0.02 + error


def test_p_values_of_uniform_ranks_are_uniform_and_agree_with_the_band():
    rng = np.random.default_rng(2)
    num_runs, num_draws, num_ranks = 600, 19, 100
    band = ecdf_band(num_ranks, num_draws, 0.9)
    p_values, is_outside = [], []
    for _ in range(num_runs):
        ranks = rng.integers(0, num_draws + 1, num_ranks)
        difference = ecdf_difference(ranks, num_draws)
        is_outside.append(((difference < band.low - 1e-12) | (difference > band.high + 1e-12)).any())
        p_values.append(ecdf_p_value(ranks, num_draws))
    p_values, is_outside = np.array(p_values), np.array(is_outside)
    assert (is_outside[p_values > 0.1 + 1e-9] == 0).all()
    assert is_outside[p_values < 0.05].all()
    for level in (0.05, 0.2, 0.5):  # never more often than promised: 4.5 standard errors
        assert (p_values <= level).mean() < level + 4.5 * np.sqrt(level * (1 - level) / num_runs)
        assert (p_values <= level).mean() > 0.7 * level - 4.5 * np.sqrt(level * (1 - level) / num_runs)


@pytest.mark.parametrize(
    "skew",
    [lambda u: u**1.5, lambda u: 1 - u**1.5, lambda u: stats.beta.ppf(u, 0.6, 0.6), lambda u: stats.beta.ppf(u, 2, 2)],
    ids=["low", "high", "too narrow", "too wide"],
)
def test_ranks_that_are_not_uniform_are_found(skew):
    ranks = np.minimum((100 * skew(np.random.default_rng(3).random(500))).astype(int), 99)
    assert chi_square_p_value(ranks, 99) < 1e-4
    assert ecdf_p_value(ranks, 99) < 1e-4


def test_p_values_stay_positive_and_small_for_ranks_that_are_far_off():
    """All 500 ranks 0: at i = 1 a chance of 1e-1000 underflows, but that of a single high rank among 40 does not."""
    assert ecdf_p_value([0] * 500, 99) == 0.0
    assert 0.0 < ecdf_p_value([0] * 20, 99) < 1e-20
    ranks = [0] * 7 + [50] * 3
    tail = stats.binom(10, 0.01).sf(6)
    assert ecdf_p_value(ranks, 99) == pytest.approx(2 * 99 * tail)  # below 1e-11, an upper bound


def test_uniform_ranks_pass():
    ranks = np.random.default_rng(4).integers(0, 100, 500)
    assert chi_square_p_value(ranks, 99) > 0.01
    assert ecdf_p_value(ranks, 99) > 0.01


@pytest.mark.parametrize("level", [0.0, 1.0, 1.5])
def test_bad_levels_are_refused(level):
    with pytest.raises(InputError, match="level must lie strictly between 0 and 1"):
        ecdf_band(100, 99, level)
