import numpy as np
import pandas as pd
import pytest
from experiment.statistics.made_tables import by_hand, made_table

from journeyman.errors import InputError
from journeyman.experiment.statistics.table import (
    by_step,
    checked_methods,
    checked_table,
    common_instances,
    groups,
    method_names,
    numbers,
)


def test_what_is_missing_is_said():
    table = made_table(num_steps=2)
    with pytest.raises(InputError, match="must have the column 'step'"):
        checked_table(table.drop(columns="step"))
    with pytest.raises(InputError, match="must have the column 'luck'"):
        checked_table(table, "luck")
    with pytest.raises(InputError, match=r"at least one row, got none\. Run the sweep first"):
        checked_table(table.iloc[:0])


def test_a_repeated_step_is_said():
    table = made_table(num_steps=2)
    twice = pd.concat([table, table.iloc[[4]]])
    with pytest.raises(InputError, match="method action entropy, seed 0, step 1"):
        checked_table(twice)


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pd.array([True, pd.NA, False], dtype="boolean"), [1, np.nan, 0]),
        (pd.array([3, pd.NA, 5], dtype="Int64"), [3, np.nan, 5]),
        (np.array([True, None, False], dtype=object), [1, np.nan, 0]),
        (np.array([True, True, False]), [1, 1, 0]),
        (np.array([np.inf, np.nan, -1.0]), [np.inf, np.nan, -1]),
    ],
)
def test_columns_become_numbers(column, expected):
    found = numbers(pd.DataFrame({"x": column}), "x")
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, expected)


def test_one_row_per_cell_and_one_column_per_step():
    table = by_hand("x", {("b", 0): [1, 2, 3], ("a", 1): [4, 5]}).sample(frac=1.0, random_state=0)
    wide = by_step(table, "x")
    assert wide.index.get_level_values("method").tolist() == ["a", "b"]
    np.testing.assert_array_equal(wide.to_numpy(), [[4, 5, np.nan], [1, 2, 3]])


def test_groups_and_methods_have_an_order():
    table = pd.concat([made_table(query="trajectory-5", num_steps=1), made_table(methods=("zoo", "nuPAC-EIG", "ant"))])
    assert [group.query for group, _ in groups(table)] == ["state", "trajectory-5"]
    assert method_names(table) == ("Reward-EIG", "action entropy", "ant", "nuPAC-EIG", "random", "zoo")
    assert method_names(table, ["zoo", "none", "random"])[:3] == ("zoo", "random", "Reward-EIG")


def test_methods_are_checked():
    table = made_table(num_steps=1)
    assert checked_methods(table, ["nuPAC-EIG", "random", "random"]) == ("nuPAC-EIG", "random")
    with pytest.raises(InputError, match=r"got 'rondom'\. It has: Reward-EIG, action entropy"):
        checked_methods(table, ["rondom"])
    with pytest.raises(InputError, match="must be a list"):
        checked_methods(table, "random")


def test_common_instances_are_those_that_all_methods_have_met():
    full = by_hand("x", {(method, seed): [0, 1] for method in "abc" for seed in range(3)})
    table = full[~((full["method"] == "b") & (full["seed"] == 1))]
    assert set(common_instances(table)["seed"]) == {0, 2}
    assert set(common_instances(table, ["a", "c"])["seed"]) == {0, 1, 2}
    # A group that never had a method is not asked for it.
    other = by_hand("x", {("a", 7): [0, 1]}, query="trajectory-5")
    assert set(common_instances(pd.concat([table, other]))["seed"]) == {0, 2, 7}
