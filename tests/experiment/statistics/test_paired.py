import numpy as np
import pandas as pd
import pytest
from experiment.statistics.made_tables import by_hand, made_table

from journeyman.errors import InputError
from journeyman.experiment.statistics.paired import paired_differences

CELLS = {
    ("base", 0): [9, 4, 8],
    ("base", 1): [9, 6, 2],
    ("base", 2): [9, 5, 5],
    ("a", 0): [9, 1, 3],
    ("a", 1): [9, 6, 2],
    ("a", 2): [9, 8, 5],
    ("a", 3): [0, 0, 0],  # an instance that the baseline has not met
}


def compared(cells=CELLS, **options):
    table = by_hand("x", cells)
    return paired_differences(table, "x", "base", **({"steps": (1, 2, 50)} | options)).set_index(["method", "span"])


def test_differences_by_hand():
    found = compared()
    assert found.index.tolist() == [("a", "average of steps 1 to 2"), ("a", "step 1"), ("a", "step 2")]
    assert found["n"].tolist() == [3, 3, 3]
    # Averages 2, 4, 6.5 against 6, 4, 5; step 1: -3, 0, 3; step 2: -5, 0, 0.
    np.testing.assert_allclose(found["difference"], [-2.5 / 3, 0.0, -5 / 3])
    np.testing.assert_allclose(found["method_mean"], [12.5 / 3, 5.0, 10 / 3])
    np.testing.assert_allclose(found["baseline_mean"], [5.0, 5.0, 5.0])
    assert found[["wins", "ties", "losses"]].to_numpy().tolist() == [[1, 1, 1], [1, 1, 1], [1, 2, 0]]
    # Standard error of -3, 0, 3 is sqrt(3); t of 0.975 with 2 degrees of freedom is 4.302653.
    half = 4.302653 * np.sqrt(3.0)
    assert found["student_high"].iloc[1] == pytest.approx(half, abs=1e-5)
    assert found["student_low"].iloc[1] == pytest.approx(-half, abs=1e-5)
    assert found["bootstrap_low"].isna().all()
    # Sums of +-4 +-1.5 are never nearer to 0 than -4 + 1.5, nor those of +-3 +-3 than 0, nor that of +-5 than 5.
    assert found["p"].tolist() == [1.0, 1.0, 1.0]
    assert found[["first_step", "last_step"]].to_numpy().tolist() == [[1, 2], [1, 1], [2, 2]]


def test_a_win_may_be_a_larger_value():
    found = compared(lower_is_better=False)
    assert found[["wins", "ties", "losses"]].to_numpy().tolist() == [[1, 1, 1], [1, 1, 1], [0, 2, 1]]


def test_average_over_fewer_steps():
    found = compared(average_to=1, steps=())
    assert found.index.tolist() == [("a", "step 1")]
    assert found["difference"].tolist() == [0.0]


def test_rounding_is_a_tie():
    found = compared({("base", 0): [0, 0.3], ("a", 0): [0, 0.1 + 0.2]})
    assert found["ties"].tolist() == [1, 1]
    assert found["difference"].tolist() == [0.0, 0.0]


def test_only_finite_pairs_count():
    cells = CELLS | {("a", 0): [9, np.nan, 3], ("base", 1): [9, np.inf, 2], ("a", 2): [9, 8]}
    assert compared(cells)["n"].tolist() == [0, 1, 2]
    assert compared(cells)["difference"].tolist()[1:] == [3.0, -2.5]
    assert np.isnan(compared(cells)["difference"].iloc[0])
    # Seed 1 is infinite at step 1 and so on average; missing values, as of seed 0, are not infinite.
    assert compared(cells)["num_infinite"].tolist() == [1, 1, 0]
    assert compared()["num_infinite"].tolist() == [0, 0, 0]


def test_p_values_are_corrected_for_the_number_of_methods():
    table = made_table(num_seeds=8)
    found = paired_differences(table, "failure_chance", "random", steps=())
    assert found["method"].tolist() == ["Reward-EIG", "action entropy", "nuPAC-EIG"]
    assert (found["p"] == 2 / 2**8).all()
    np.testing.assert_allclose(found["p_holm"], 3 * 2 / 2**8)
    assert (found["wins"] == 8).all()
    assert (found["bootstrap_high"] < 0).all()


def test_groups_without_the_baseline_are_left_out():
    table = pd.concat([by_hand("x", CELLS), by_hand("x", {("a", 0): [1, 2]}, query="trajectory-5")])
    assert set(paired_differences(table, "x", "base")["query"]) == {"state"}


def test_what_cannot_be_compared_is_said():
    with pytest.raises(InputError, match=r"the baseline must be in the table, got 'bass'\. It has: a, base"):
        paired_differences(by_hand("x", CELLS), "x", "bass")
    with pytest.raises(InputError, match="another method beside the baseline 'base'"):
        paired_differences(by_hand("x", {("base", 0): [1, 2]}), "x", "base")
    with pytest.raises(InputError, match="got 'b'"):
        paired_differences(by_hand("x", CELLS), "x", "base", methods=["b"])
    with pytest.raises(InputError, match="average_to must be at most 2, the last step, got 3"):
        paired_differences(by_hand("x", CELLS), "x", "base", average_to=3)


def test_steps_can_be_numpy_numbers():
    assert compared(steps=np.array([2]))["difference"].iloc[-1] == pytest.approx(-5 / 3)
