"""Tables of values at steps and of goals reached, which several claims show."""

from collections.abc import Sequence

from pandas import DataFrame

from reproduction.pages.numbers import Cell, NumberTable, Row, interval_cell, short, step_text
from reproduction.pages.steps import at_step, mean_row

COLUMNS = {"true regret": "true_regret", "P[regret > 0.1]": "failure_chance", "entropy": "entropy_evidence"}


def value_table(name: str, table: DataFrame, methods: Sequence[str], steps: Sequence[int]) -> NumberTable:
    """Return mean true regret, chance of regret and entropy at some steps: intervals are in the file."""
    rows = [
        {"measure": words, "method": method, "step": step, **mean_row(at_step(table, column, method, step))}
        for words, column in COLUMNS.items()
        for method in methods
        for step in steps
    ]
    frame = DataFrame(rows)
    page = frame.pivot(index=["measure", "method"], columns="step", values="mean").rename(columns=str)
    page = page.loc[[(words, method) for words in COLUMNS for method in methods]].reset_index()
    shown: dict[str, str | Cell] = {"measure": "measure", "method": "method", "n": lambda _: str(int(frame["n"].max()))}
    return NumberTable(
        name,
        "Means over instances after so many answers; true regret is not normalised, entropy is in nats from the "
        "evidence; 95 % intervals are in the file",
        frame,
        shown | {f"step {step}": _value_cell(step) for step in steps},
        page,
    )


def _value_cell(step: int) -> Cell:
    return lambda row: short(row[str(step)])


def goal_table(name: str, frame: DataFrame, by: int, methods: Sequence[str] | None = None) -> NumberTable:
    """Return what `goal_rows` gives as a table; the page shows `methods` only."""
    return NumberTable(
        name,
        f"Instances that have reached a goal for good by step {by}, and the step at which it is reached for good",
        frame,
        {
            "method": "method",
            "goal": "goal",
            f"by step {by}": lambda row: f"{row['for_good']} of {row['n']}",
            "share (95 %)": interval_cell("share_share", "share_low", "share_high"),
            "at least once by then": lambda row: f"{row['at_least_once']} of {row['n']}",
            "median step (95 %)": _median,
            "latest": lambda row: step_text(row["latest_step"], row["last_step"]),
        },
        frame if methods is None else frame[frame["method"].isin(methods)],
    )


def _median(row: Row) -> str:
    low, high = (step_text(row[name], row["last_step"]) for name in ("median_low", "median_high"))
    return f"{step_text(row['median_step'], row['last_step'])} ({low} to {high})"
