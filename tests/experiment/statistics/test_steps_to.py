import numpy as np
import pytest
from experiment.statistics.made_tables import by_hand
from scipy import stats

from journeyman.experiment.statistics.steps_to import exact_share, median_steps, share_reached, steps_to

CELLS = {
    ("a", 0): [0.9, 0.1, 0.5, 0.05, 0.1],  # dips at 1, stays from 3
    ("a", 1): [0.1, 0.1, 0.1, 0.1, 0.1],  # from the start
    ("a", 2): [0.9, 0.1, 0.1, 0.1, 0.9],  # in between only
    ("a", 3): [0.9, 0.9, 0.1],  # shorter, reached at its last step
    ("a", 4): [0.9, 0.9, np.nan, 0.1, np.nan],  # a missing value reaches nothing
}


@pytest.mark.parametrize(("stays", "expected"), [(True, [3, 0, np.nan, 2, np.nan]), (False, [1, 0, 1, 2, 3])])
def test_first_steps_by_hand(stays, expected):
    found = steps_to(by_hand("x", CELLS), "x", 0.1, stays=stays)
    assert found["seed"].tolist() == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(found["reached"], expected)
    assert found["last_step"].tolist() == [4, 4, 4, 2, 4]


def test_half_the_digits_do_not_move_a_limit():
    table = by_hand("x", {("a", 0): [0.9, 0.1], ("a", 1): [0.9, 0.1001]}).astype({"x": np.float32})
    np.testing.assert_array_equal(steps_to(table, "x", 0.1)["reached"], [1, np.nan])


def test_truth_values():
    table = by_hand("x", {("a", 0): [False, True, True], ("a", 1): [True, True, False], ("a", 2): [None, None, True]})
    table["x"] = table["x"].astype("boolean")
    np.testing.assert_array_equal(steps_to(table, "x", None)["reached"], [1, np.nan, 2])


def test_shares_count_a_cell_up_to_its_own_length():
    shares = share_reached(steps_to(by_hand("x", CELLS), "x", 0.1))
    assert shares["step"].tolist() == [0, 1, 2, 3, 4]
    assert shares["n"].tolist() == [5, 5, 5, 4, 4]
    assert shares["num_reached"].tolist() == [1, 1, 2, 2, 2]
    np.testing.assert_allclose(shares["share"], [0.2, 0.2, 0.4, 0.5, 0.5])
    assert ((shares["low"] <= shares["share"]) & (shares["share"] <= shares["high"])).all()


def test_exact_interval_in_closed_form():
    # None of n: the upper end u solves (1 - u)^n = 0.025.
    assert exact_share(0, 16) == pytest.approx((0.0, 0.0, 1.0 - 0.025 ** (1 / 16)))
    assert exact_share(16, 16) == pytest.approx((1.0, 0.025 ** (1 / 16), 1.0))
    _, low, high = exact_share(5, 16)
    assert stats.binom.sf(4, 16, low) == pytest.approx(0.025)
    assert stats.binom.cdf(5, 16, high) == pytest.approx(0.025)


def medians(reached):
    table = by_hand("x", {("a", seed): [1.0] * step + [0.0] * (60 - step) for seed, step in enumerate(reached)})
    return median_steps(steps_to(table, "x", 0.0)).iloc[0]


def test_median_by_hand():
    found = medians([10, 30, 20])
    assert (found["n"], found["num_reached"], found["median"]) == (3, 3, 20)
    assert (found["low"], found["high"]) == (0, np.inf)  # three are too few for an interval
    found = medians([10, 60, 20, 60])
    assert (found["num_reached"], found["median"]) == (2, np.inf)
    assert medians([10, 60, 20])["median"] == 20


def test_interval_of_the_median_is_that_of_order_statistics():
    # Of 16, the 4th and the 13th enclose the median with chance 1 - 2 P[Binomial(16, 1/2) <= 3] = 0.979.
    found = medians(range(1, 17))
    assert (found["low"], found["high"]) == (4, 13)
    found = medians([*range(1, 11), *[60] * 6])
    assert (found["low"], found["high"]) == (4, np.inf)


def test_groups_and_methods_stay_apart():
    table = by_hand("x", {("b", 0): [1.0, 0.0], ("a", 0): [1.0, 1.0], ("b", 1): [0.0, 0.0]})
    found = median_steps(steps_to(table, "x", 0.0)).set_index("method")
    assert found["num_reached"].to_dict() == {"a": 0, "b": 2}
    assert found["median"].to_dict() == {"a": np.inf, "b": 0.5}
    shares = share_reached(steps_to(table, "x", 0.0)).set_index(["method", "step"])["share"]
    assert shares.to_dict() == {("a", 0): 0, ("a", 1): 0, ("b", 0): 0.5, ("b", 1): 1}
