"""Claim 2: the 10x10 grid with two initial states, where occupancy weights matter."""

from pandas import DataFrame

from reproduction.pages.claim import Claim, Part, decided, no_data
from reproduction.pages.comparing import (
    BELIEVED,
    ENTROPY,
    FAILURE,
    REGRET,
    alike,
    better_than,
    difference_quantities,
    difference_table,
    differences,
    not_behind,
)
from reproduction.pages.numbers import NumberTable, short, with_interval
from reproduction.pages.sources import NUM_STEPS, Sources, num_instances
from reproduction.pages.step_tables import goal_table, value_table
from reproduction.pages.steps import GOALS, at_step, goal_rows, mean_row
from reproduction.paper import PAPER_METHODS

BY = 50
SMALL = 0.1  # epsilon
LIMITS = (0.0, 0.001, 0.01, 0.1, 1.0)
BEHIND = ("Reward-EIG", "ActiveVaR", "PAC-EIG")
STEPS = (10, 20, 30, 50, 100, NUM_STEPS)
PAPER = (
    "With two initial states on the 10x10 grid, nuPAC-EIG does much better in true and in posterior regret: zero "
    "true regret, and a 0.1-0.1-PAC policy, by step 50. Reward-EIG and ActiveVaR fall behind in both, and plain "
    "PAC-EIG, which is not in the figure, is comparable with those two. In the entropy of the reward ActiveVaR keeps "
    "up with Reward-EIG."
)


def two_starts_claim(sources: Sources) -> Claim:
    """Return claim 2."""
    title = "10x10 with two initial states, annotations"
    table = sources.complete("random-10x10", PAPER_METHODS)
    if table is None:
        part = no_data("nuPAC-EIG has no true regret by step 50", "on every instance")
        return Claim(2, title, PAPER, (part,), seeds={"random-10x10": 0})
    goals = goal_rows(table, PAPER_METHODS, BY, GOALS | {f"true regret <= {SMALL}": ("true_regret", SMALL)})
    found = [
        item
        for measure in (ENTROPY, REGRET, BELIEVED, FAILURE)
        for item in differences(table, measure, BEHIND, "nuPAC-EIG", steps=[BY])
    ] + differences(table, ENTROPY, ["ActiveVaR"], "Reward-EIG", steps=[BY, NUM_STEPS])
    return Claim(
        2,
        title,
        PAPER,
        (*_goal_parts(table, goals), *_behind_parts(table)),
        (
            goal_table("claim-02-goals", goals, BY, [*BEHIND, "nuPAC-EIG"]),
            _limit_table(table),
            value_table("claim-02-values", table, PAPER_METHODS, STEPS),
            difference_table("claim-02-pairs", "On the same instances", found),
        ),
        seeds={"random-10x10": num_instances(table)},
        quantities=_quantities(table, goals) | difference_quantities("two_starts", found),
    )


def _goal_parts(table: DataFrame, goals: DataFrame) -> list[Part]:
    regret = at_step(table, "true_regret", "nuPAC-EIG", BY)
    chance = at_step(table, "failure_chance", "nuPAC-EIG", BY)
    mean = mean_row(chance)
    likely = goals[(goals["method"] == "nuPAC-EIG") & (goals["goal"] == "P[regret > 0.1] <= 0.1")].iloc[0]
    zero, small, n = int((regret == 0).sum()), int((regret <= SMALL).sum()), len(regret)
    return [
        Part(
            f"nuPAC-EIG has zero true regret by step {BY}",
            f"the true regret at step {BY} is 0 on every instance",
            f"{zero} of {n}; mean {short(float(regret.mean()))}, largest {short(float(regret.max()))}",
            decided(zero == n),
        ),
        Part(
            f"or hardly any, by step {BY}",
            f"the true regret at step {BY} is at most {SMALL} on every instance",
            f"{small} of {n}",
            decided(small == n),
        ),
        Part(
            f"and a 0.1-0.1-PAC policy by step {BY}",
            f"the mean over instances of P[regret > 0.1] at step {BY} is at most 0.1",
            f"{with_interval(mean['mean'], mean['low'], mean['high'])}; at most 0.1 at step {BY} in "
            f"{int((chance <= SMALL).sum())} of {n}, from then on in {likely['for_good']}",
            decided(mean["mean"] <= 0.1),
        ),
    ]


def _behind_parts(table: DataFrame) -> list[Part]:
    parts = [
        better_than(f"nuPAC-EIG beats {', '.join(BEHIND)} in {words}", table, measure, "nuPAC-EIG", BEHIND)
        for measure, words in ((REGRET, "true regret"), (FAILURE, "posterior regret"))
    ]
    competitive = "ActiveVaR stays competitive with Reward-EIG in entropy"
    parts.append(not_behind(competitive, table, ENTROPY, "ActiveVaR", "Reward-EIG"))
    for other in ("Reward-EIG", "ActiveVaR"):
        statement = f"plain PAC-EIG is comparable with {other} in true regret"
        parts.append(alike(statement, table, REGRET, "PAC-EIG", other))
    return parts


def _limit_table(table: DataFrame) -> NumberTable:
    """Return how many instances have a true regret of at most so much, at two steps."""
    rows = []
    for step in (BY, NUM_STEPS):
        for method in PAPER_METHODS:
            regret = at_step(table, "true_regret", method, step)
            counts = {f"at_most_{limit:g}": int((regret <= limit).sum()) for limit in LIMITS}
            rows.append({"step": step, "method": method, "n": len(regret), **counts})
    shown = {"step": "step", "method": "method", "n": "n"}
    shown |= {f"at most {limit:g}" if limit else "0": f"at_most_{limit:g}" for limit in LIMITS}
    return NumberTable("claim-02-limits", "Instances by their true regret", DataFrame(rows), shown)


def _quantities(table: DataFrame, goals: DataFrame) -> dict[str, float]:
    regret, chance = (at_step(table, column, "nuPAC-EIG", BY) for column in ("true_regret", "failure_chance"))
    reached = goals[goals["goal"] == "no true regret"].set_index("method")
    return {
        "two_starts_n": num_instances(table),
        "two_starts_zero": int((regret == 0).sum()),
        "two_starts_small": int((regret <= SMALL).sum()),
        "two_starts_regret": float(regret.mean()),
        "two_starts_worst": float(regret.max()),
        "two_starts_chance": float(chance.mean()),
        "two_starts_median_regret": float(regret.median()),
        **{
            f"two_starts_zero_at_end_{method}": int((at_step(table, "true_regret", method, NUM_STEPS) == 0).sum())
            for method in (*BEHIND, "nuPAC-EIG")
        },
        "two_starts_median": float(reached.loc["nuPAC-EIG", "median_step"]),
    }
