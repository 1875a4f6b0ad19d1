"""Values at steps, and steps to goals, of the instances of a method: means and shares with their intervals."""

from collections.abc import Mapping, Sequence

import numpy as np
from pandas import DataFrame, Series

from journeyman.experiment.statistics import median_steps, steps_to
from journeyman.experiment.statistics.paired import student_interval
from journeyman.experiment.statistics.steps_to import ROUNDING, exact_share

GOALS = {
    "no true regret": ("true_regret", 0.0),
    "P[regret > 0.1] <= 0.1": ("failure_chance", 0.1),
    "certificate": ("certificate_holds", None),
}


def at_most(values: Series, limit: float) -> Series:
    """Return which values are at most a limit, as far as tables tell: they hold float32, in which 0.1 is above 0.1."""
    return values <= limit * (1.0 + ROUNDING)


def at_step(table: DataFrame, column: str, method: str, step: int) -> Series:
    """Return the values of a column at a step, by seed; empty if the table ends before."""
    rows = table[(table["method"] == method) & (table["step"] == step)]
    return rows.set_index("seed")[column].astype(float).sort_index()


def change(table: DataFrame, column: str, method: str, first: int, last: int) -> Series:
    """Return by how much a column grew from one step to another, by seed."""
    return at_step(table, column, method, last) - at_step(table, column, method, first)


def mean_row(values: Series) -> dict[str, float]:
    """Return mean and Student's 95 % interval of one value per instance; NaN without any."""
    numbers = values.dropna().to_numpy(dtype=np.float64)
    low, high = student_interval(numbers)
    return {"n": len(numbers), "mean": float(numbers.mean()) if len(numbers) else np.nan, "low": low, "high": high}


def goal_rows(
    table: DataFrame, methods: Sequence[str], by: int, goals: Mapping[str, tuple[str, float | None]] = GOALS
) -> DataFrame:
    """Return per method and goal: how many instances have reached it for good by a step, and the median step."""
    rows = []
    for goal, (column, limit) in goals.items():
        known = table[table[column].notna()]
        for method in methods:
            part = known[known["method"] == method]
            if part.empty:
                continue
            for_good, once = (steps_to(part, column, limit, stays=stays) for stays in (True, False))
            hits, n = int((for_good["reached"] <= by).sum()), len(for_good)
            median = median_steps(for_good).iloc[0]
            rows.append(
                {
                    "method": method,
                    "goal": goal,
                    "n": n,
                    "by_step": by,
                    "for_good": hits,
                    **{f"share_{key}": value for key, value in exact_share(hits, n)._asdict().items()},
                    "at_least_once": int((once["reached"] <= by).sum()),
                    "median_step": float(median["median"]),
                    "median_low": float(median["low"]),
                    "median_high": float(median["high"]),
                    "latest_step": float(for_good["reached"].fillna(np.inf).max()),
                    "last_step": int(for_good["last_step"].max()),
                }
            )
    return DataFrame(rows)
