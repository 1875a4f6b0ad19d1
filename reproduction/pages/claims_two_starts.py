"""Claim 2: the 10x10 grid with two initial states, where occupancy weights matter."""

from pandas import DataFrame

from reproduction.pages.claim import Claim, Part, Printed, decided, no_data
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
from reproduction.pages.forms import PRINTED, PRINTED_NU, PRINTED_WORDS, RUN_WORDS, extent_words, form_table
from reproduction.pages.numbers import NumberTable, short, with_interval
from reproduction.pages.sources import NUM_STEPS, Sources, num_instances
from reproduction.pages.step_tables import goal_table, value_table
from reproduction.pages.steps import GOALS, at_most, at_step, goal_rows, mean_row
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
    "up with Reward-EIG. (As printed, both have one variable for all states together and the thresholds 0 and "
    "epsilon, nuPAC-EIG the same ones; which form was run is not said: claim 9.)"
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
        (*_goal_parts(table), *_behind_parts(table)),
        (
            goal_table("claim-02-goals", goals, BY, [*BEHIND, "nuPAC-EIG"]),
            _limit_table(table),
            value_table("claim-02-values", table, PAPER_METHODS, STEPS),
            difference_table("claim-02-pairs", "On the same instances", found),
            form_table("claim-02-forms", sources, "random-10x10"),
        ),
        seeds={"random-10x10": num_instances(table)},
        quantities=_quantities(table, goals) | difference_quantities("two_starts", found),
        form=RUN_WORDS,
        printed=_printed(sources),
    )


def _printed(sources: Sources) -> Printed | None:
    """Return the same parts for the forms that the paper prints, on as many instances as there are."""
    table = sources.most_complete("random-10x10", [*PAPER_METHODS, PRINTED, PRINTED_NU])
    if table is None:
        return None
    parts = (*_goal_parts(table, PRINTED_NU), *_behind_parts(table, PRINTED_NU, PRINTED))
    return Printed(PRINTED_WORDS, parts, extent_words(sources, "random-10x10"))


def _goal_parts(table: DataFrame, method: str = "nuPAC-EIG") -> list[Part]:
    regret = at_step(table, "true_regret", method, BY)
    chance = at_step(table, "failure_chance", method, BY)
    mean = mean_row(chance)
    likely = goal_rows(table, [method], BY, {"likely": ("failure_chance", SMALL)}).iloc[0]
    last = int(table["step"].max())
    zero, small, n = int((regret == 0).sum()), int(at_most(regret, SMALL).sum()), len(regret)
    return [
        Part(
            f"{method} has zero true regret by step {BY}",
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
            f"and a 0.1-0.1-PAC policy by step {BY}, on average",
            f"the mean over instances of P[regret > 0.1] at step {BY} is at most 0.1",
            with_interval(mean["mean"], mean["low"], mean["high"]),
            decided(mean["mean"] <= SMALL),
        ),
        Part(
            "and a 0.1-0.1-PAC policy on each instance, for good",
            f"P[regret > 0.1] is at most 0.1 on every instance from step {BY} or earlier to the end (step {last})",
            f"{likely['for_good']} of {n}; at step {BY} itself {int(at_most(chance, SMALL).sum())} of {n}",
            decided(likely["for_good"] == n),
        ),
    ]


def _behind_parts(table: DataFrame, method: str = "nuPAC-EIG", plain: str = "PAC-EIG") -> list[Part]:
    behind = ("Reward-EIG", "ActiveVaR", plain)
    parts = [
        better_than(f"{method} beats {', '.join(behind)} in {words}", table, measure, method, behind)
        for measure, words in ((REGRET, "true regret"), (FAILURE, "posterior regret"))
    ]
    competitive = "ActiveVaR stays competitive with Reward-EIG in entropy"
    parts.append(not_behind(competitive, table, ENTROPY, "ActiveVaR", "Reward-EIG"))
    for other in ("Reward-EIG", "ActiveVaR"):
        statement = f"plain {plain} is comparable with {other} in true regret"
        parts.append(alike(statement, table, REGRET, plain, other))
    return parts


def _limit_table(table: DataFrame) -> NumberTable:
    """Return how many instances have a true regret of at most so much, at two steps."""
    rows = []
    for step in (BY, NUM_STEPS):
        for method in PAPER_METHODS:
            regret = at_step(table, "true_regret", method, step)
            counts = {f"at_most_{limit:g}": int(at_most(regret, limit).sum()) for limit in LIMITS}
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
        "two_starts_small": int(at_most(regret, SMALL).sum()),
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
