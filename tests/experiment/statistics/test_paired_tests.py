import math
from itertools import product

import numpy as np
import pytest
from scipy import stats

from journeyman.experiment.statistics.paired import bootstrap_interval, holm, sign_flip_p, student_interval


def test_student_interval_by_hand_and_as_scipy_has_it():
    # Mean 2, standard error 1, and t of 0.975 with 2 degrees of freedom is 4.302653.
    differences = np.array([2.0 - math.sqrt(3.0), 2.0, 2.0 + math.sqrt(3.0)])
    assert student_interval(differences) == pytest.approx((2.0 - 4.302653, 2.0 + 4.302653), abs=1e-6)
    differences = np.random.default_rng(0).normal(1.0, 2.0, 16)
    expected = stats.ttest_1samp(differences, 0.0).confidence_interval(0.95)
    assert student_interval(differences) == pytest.approx((expected.low, expected.high))


def test_one_difference_has_no_interval():
    assert all(math.isnan(end) for end in student_interval(np.array([1.0])))
    assert all(math.isnan(end) for end in bootstrap_interval(np.arange(5.0)))


def test_equal_differences_have_an_interval_without_width():
    assert student_interval(np.full(8, 2.0)) == (2.0, 2.0)
    assert bootstrap_interval(np.full(8, 2.0)) == (2.0, 2.0)


def test_bootstrap_is_repeatable_and_near_the_normal_interval_of_a_normal_sample():
    # Quantiles of the bootstrap are those of N(mean, sd (n - 1) / n / sqrt(n)) but for Monte-Carlo error and
    # corrections of order 1 / n; both are well below a tenth of the half width here.
    differences = stats.norm.ppf((np.arange(200) + 0.5) / 200)
    found = bootstrap_interval(differences)
    assert found == bootstrap_interval(differences)
    half = 1.96 * differences.std() / math.sqrt(200)
    assert found == pytest.approx((-half, half), abs=0.1 * half)


def test_bootstrap_leans_to_the_long_tail():
    found = bootstrap_interval(np.r_[np.zeros(12), 4.0, 4.0, 4.0, 20.0])
    assert found.high - 2.0 > 2.0 - found.low > 0.0


def test_signs_by_hand():
    # Sums of +-1 +-2 +-3: 6, 4, 2, 0, 0, -2, -4, -6. Two of eight are as far as 6.
    assert sign_flip_p(np.array([1.0, 2.0, 3.0])) == 0.25
    assert sign_flip_p(np.array([1.0, 2.0, -3.0])) == 1.0
    assert sign_flip_p(np.array([1.0, -2.0, 3.0])) == 0.75
    assert sign_flip_p(np.array([5.0])) == 1.0
    assert sign_flip_p(np.zeros(16)) == 1.0
    assert sign_flip_p(np.ones(16)) == 2.0 / 2**16
    assert math.isnan(sign_flip_p(np.empty(0)))


@pytest.mark.parametrize("seed", range(4))
def test_signs_as_scipy_has_them(seed):
    differences = np.random.default_rng(seed).normal(0.5, 1.0, 10).round(1)
    expected = stats.permutation_test(
        (differences, np.zeros(10)),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples",
        n_resamples=np.inf,
        vectorized=True,
    )
    assert sign_flip_p(differences) == pytest.approx(expected.pvalue, abs=1e-12)


def test_rounding_does_not_break_ties():
    differences = np.array([0.1, 0.2, 0.3, -0.1, 0.7])
    exact = np.array([1, 2, 3, -1, 7])
    hits = sum(abs(np.dot(signs, exact)) >= exact.sum() for signs in product([-1, 1], repeat=5))
    assert sign_flip_p(differences) == hits / 32


def test_random_signs_of_many_differences():
    differences = np.random.default_rng(3).normal(0.3, 1.0, 40)
    # The sum under random signs is nearly normal with variance sum of squares; Monte-Carlo error of a chance p from
    # 20,000 patterns is at most 0.0036, four times that is allowed, and 0.005 for the normal approximation.
    expected = 2.0 * stats.norm.sf(abs(differences.sum()) / np.sqrt((differences**2).sum()))
    assert sign_flip_p(differences) == pytest.approx(expected, abs=0.0194)
    assert sign_flip_p(np.ones(40)) == 1.0 / 20_001


def test_holm_by_hand():
    # Sorted .01 .02 .03 .04 times 4 3 2 1 = .04 .06 .06 .04, made monotone .04 .06 .06 .06.
    np.testing.assert_allclose(holm([0.03, 0.01, 0.04, 0.02]), [0.06, 0.04, 0.06, 0.06])
    np.testing.assert_allclose(holm([0.8, 0.9]), [1.0, 1.0])
    np.testing.assert_array_equal(holm([0.02, np.nan]), [0.02, np.nan])
    assert holm([]).shape == (0,)
