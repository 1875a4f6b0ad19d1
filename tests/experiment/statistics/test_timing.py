import numpy as np
import pandas as pd
import pytest
from experiment.statistics.made_tables import by_hand, made_table

from journeyman.experiment.statistics.timing import core_hours, core_hours_by, seconds_per_step


def timed():
    posterior = {("a", 0): [100, 1, 2], ("a", 1): [100, 3, 4], ("b", 0): [100, 5, np.nan]}
    acquisition = {("a", 0): [np.nan, 0.1, 0.1], ("a", 1): [np.nan, 0.1, 0.5], ("b", 0): [np.nan, 0.2, 0.2]}
    table = by_hand("posterior_seconds", posterior)
    choices = by_hand("acquisition_seconds", acquisition)["acquisition_seconds"]
    return table.assign(acquisition_seconds=choices, cpu_seconds=2 * table["posterior_seconds"])


def test_seconds_per_step_leave_out_step_0():
    found = seconds_per_step(timed()).set_index("method")
    assert found["num_cells"].to_dict() == {"a": 2, "b": 1}
    assert found["num_steps"].to_dict() == {"a": 4, "b": 2}
    assert found["posterior_median"].to_dict() == {"a": 2.5, "b": 5.0}
    assert found["posterior_mean"].to_dict() == {"a": 2.5, "b": 5.0}
    assert found.loc["a", "posterior_p95"] == pytest.approx(np.quantile([1, 2, 3, 4], 0.95))
    assert found["acquisition_median"].to_dict() == {"a": 0.1, "b": 0.2}
    assert found.loc["a", "acquisition_mean"] == pytest.approx(0.2)
    assert found["cpu_mean"].to_dict() == {"a": 5.0, "b": 10.0}


def test_seconds_by_other_columns():
    found = seconds_per_step(timed(), by=["world"])
    assert found[["world", "num_cells", "num_steps"]].to_numpy().tolist() == [["w", 3, 6]]
    assert found["posterior_median"].tolist() == [3.0]


def test_core_hours_have_every_step():
    assert core_hours(timed()) == pytest.approx(2 * (300 + 1 + 2 + 3 + 4 + 5) / 3600)


def test_core_hours_of_parts_add_up():
    table = pd.concat([made_table(num_steps=3), made_table(num_steps=3, inference="published")])
    parts = core_hours_by(table, by=["inference", "method"])
    assert len(parts) == 8
    assert parts.sum() == pytest.approx(core_hours(table))
