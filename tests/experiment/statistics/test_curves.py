import numpy as np
import pandas as pd
import pytest
from experiment.statistics.made_tables import by_hand, made_table
from scipy import stats

from journeyman.errors import InputError
from journeyman.experiment.statistics.curves import curves, step_groups


def test_mean_and_standard_error_by_hand():
    found = curves(by_hand("x", {("a", 0): [1, 2], ("a", 1): [3, 2], ("a", 2): [5], ("b", 0): [7]}), "x")
    assert found["method"].tolist() == ["a", "a", "b"]
    assert found["step"].tolist() == [0, 1, 0]
    assert found["mean"].tolist() == [3, 2, 7]
    assert found["n"].tolist() == [3, 2, 1]
    # Variance of 1, 3, 5 with n - 1: 4; divided by 3.
    np.testing.assert_allclose(found["standard_error"], [np.sqrt(4 / 3), 0, np.nan])


def test_agrees_with_scipy():
    table = made_table(num_seeds=7, num_steps=3)
    found = curves(table, "entropy_knn").set_index(["method", "step"])
    values = table[(table["method"] == "random") & (table["step"] == 2)]["entropy_knn"]
    assert found.loc[("random", 2), "standard_error"] == pytest.approx(stats.sem(values))
    assert found.loc[("random", 2), "mean"] == pytest.approx(values.mean())


def test_missing_and_infinite_values():
    found = curves(by_hand("x", {("a", 0): [np.nan, np.nan, 1], ("a", 1): [4, np.nan, np.inf]}), "x")
    np.testing.assert_array_equal(found["mean"], [4, np.nan, np.inf])
    assert found["n"].tolist() == [1, 0, 2]
    assert found["standard_error"].isna().all()


def test_truth_values_give_shares():
    table = by_hand("x", {("a", 0): [False, True], ("a", 1): [False, False]})
    table["x"] = table["x"].astype("boolean")
    assert curves(table, "x")["mean"].tolist() == [0.0, 0.5]


def test_groups_stay_apart():
    table = pd.concat([made_table(num_steps=1), made_table(num_steps=1, inference="published")])
    assert len(curves(table, "true_regret")) == 2 * 4 * 2


def test_groups_of_steps_by_hand():
    cells = {("a", 0): [9, 2, 4, 0, 0], ("a", 1): [9, 0, 0, 0, 6], ("a", 2): [9, 0, 0]}
    found = step_groups(by_hand("x", cells), "x", [2, 4])
    assert found[["first_step", "last_step"]].to_numpy().tolist() == [[1, 2], [3, 4]]
    assert found["mean"].tolist() == [1.0, 1.5]  # of 3, 0, 0 and of 0, 3
    np.testing.assert_allclose(found["standard_error"], [1.0, 1.5])
    assert found["n"].tolist() == [3, 2]  # the third went half way only
    assert found["num_within"].tolist() == [2, 1]
    assert step_groups(by_hand("x", cells), "x", [2, 4], limit=4.0)["num_within"].tolist() == [3, 1]


def test_groups_of_steps_by_default_end_with_the_results():
    found = step_groups(made_table(num_steps=40, num_seeds=1, methods=("a",)), "true_regret")
    assert found["last_step"].tolist() == [10, 20, 30, 40]
    found = step_groups(made_table(num_steps=6, num_seeds=1, methods=("a",)), "true_regret")
    assert found["last_step"].tolist() == [6]


@pytest.mark.parametrize("ends", [[], [2, 2], [0, 2], [3, 1], [50]])
def test_wrong_groups_of_steps_are_said(ends):
    with pytest.raises(InputError, match="must increase from 1 to at most 40"):
        step_groups(made_table(), "true_regret", ends)


def test_step_0_alone_makes_no_groups():
    with pytest.raises(InputError, match="must have steps after 0"):
        step_groups(made_table(num_steps=0), "true_regret")
