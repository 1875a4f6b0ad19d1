import numpy as np
import pandas as pd
import pytest
from experiment.statistics.made_tables import by_hand, made_table

from journeyman.errors import InputError
from journeyman.experiment.statistics.curves import normalised_regret


def normalised(cells, **options):
    table = by_hand("true_regret", cells)
    return table.assign(y=normalised_regret(table, **options)).groupby(["method", "seed"])["y"].agg(list)


def test_each_instance_is_divided_by_its_own_mean_without_step_0():
    found = normalised({("a", 0): [9, 4, 2], ("b", 0): [9, 6, 0], ("a", 1): [1, 40, 20], ("b", 1): [1, 60, 0]})
    # Means of steps 1 and 2 over both methods: 3 and 30.
    assert found["a", 0] == pytest.approx([3, 4 / 3, 2 / 3])
    assert found["b", 0] == pytest.approx([3, 2, 0])
    assert found["a", 1] == pytest.approx([1 / 30, 4 / 3, 2 / 3])
    assert found["b", 1] == pytest.approx([1 / 30, 2, 0])


def test_only_the_first_steps_count():
    found = normalised({("a", 0): [5, 2, 4, 100]}, first_steps=2)
    assert found["a", 0] == pytest.approx([5 / 3, 2 / 3, 4 / 3, 100 / 3])


def test_first_32_steps_by_default():
    values = [0.0] + [2.0] * 32 + [50.0] * 8
    assert normalised({("a", 0): values})["a", 0] == pytest.approx([0.0] + [1.0] * 32 + [25.0] * 8)


def test_only_reference_methods_count():
    found = normalised({("a", 0): [0, 2, 4], ("ours", 0): [0, 1, 1]}, methods=["a"])
    assert found["a", 0] == pytest.approx([0, 2 / 3, 4 / 3])
    assert found["ours", 0] == pytest.approx([0, 1 / 3, 1 / 3])


def test_without_any_regret_of_the_reference_zero_stays_zero_and_the_rest_is_infinite():
    found = normalised(
        {("a", 0): [3, 0, 0, 0, 1], ("b", 0): [0, 0, 0, 0, 0], ("ours", 0): [0, 2, 0, 0, 0]},
        methods=["a", "b"],
        first_steps=3,
    )
    assert found["a", 0] == [np.inf, 0, 0, 0, np.inf]
    assert found["b", 0] == [0] * 5
    assert found["ours", 0] == [0, np.inf, 0, 0, 0]


def test_incomplete_instances_have_none():
    cells = {("a", 0): [1, 2, 3], ("b", 0): [1, 2, 3], ("a", 1): [1, 2, 3], ("a", 2): [1, 2, 3], ("b", 2): [1, 2]}
    found = normalised(cells | {("a", 3): [1, 2, 3], ("b", 3): [1, np.nan, 3]})
    assert np.isfinite(found["a", 0]).all()
    for seed in (1, 2, 3):  # a method is missing, one of its steps is missing, one of its values is missing
        assert np.isnan(found["a", seed]).all()
    # The instance without b is complete if b is no reference.
    assert np.isfinite(normalised(cells, methods=["a"])["a", 1]).all()


def test_each_group_has_its_own_reference_methods():
    states = by_hand("true_regret", {("a", 0): [1, 2], ("b", 0): [1, 4]})
    trajectories = by_hand("true_regret", {("a", 0): [1, 5], ("c", 0): [1, 9]}, query="trajectory-5")
    others = by_hand("true_regret", {("c", 0): [1, 2]}, query="trajectory-9")
    table = pd.concat([states, trajectories, others])  # with an index that repeats itself
    found = normalised_regret(table, methods=["a", "b"])
    np.testing.assert_allclose(found, [1 / 3, 2 / 3, 1 / 3, 4 / 3, 1 / 5, 1, 1 / 5, 9 / 5, np.nan, np.nan])


def test_the_mean_over_reference_methods_and_first_steps_is_1():
    table = made_table(num_steps=50)
    shuffled = table.sample(frac=1.0, random_state=1)
    shuffled["y"] = normalised_regret(shuffled)
    first = shuffled[shuffled["step"].between(1, 32)]
    np.testing.assert_allclose(first.groupby("seed")["y"].mean(), 1.0)


def test_a_wrong_method_is_said():
    with pytest.raises(InputError, match="got 'luck'"):
        normalised_regret(made_table(num_steps=1), methods=["luck"])
