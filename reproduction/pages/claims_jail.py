"""Claim 1: the jail. Action entropy asks where there is nothing to learn; information about the reward is enough."""

import numpy as np
from pandas import DataFrame

from journeyman.worlds import make_world
from reproduction.pages.claim import Claim, Outcome, Part, decided, no_data
from reproduction.pages.close_calls import close_call_table, close_calls
from reproduction.pages.comparing import ENTROPY, Measure, difference_table, differences
from reproduction.pages.numbers import NumberTable, interval_cell, short, step_text, with_interval
from reproduction.pages.sources import NUM_STEPS, Sources, num_instances
from reproduction.pages.step_tables import goal_table
from reproduction.pages.steps import GOALS, at_step, change, goal_rows, mean_row

METHODS = ("random", "action entropy", "Reward-EIG", "PAC-EIG")
EARLY, LATER = 10, 50
PAPER_ENTROPY = Measure("entropy_knn", "entropy by nearest neighbours")
NOTHING = 0.1  # nats: less is the noise of the estimate
NEARLY, TINY = 0.1, 0.01  # epsilon; a ten-thousandth of what the goal pays
PAPER = (
    "On the structured grid with whole trajectories, action entropy queries the jail at every step and so learns "
    "nothing useful. Reward-EIG and PAC-EIG both learn an optimal policy within 10 steps in all 16 instances, with "
    "similar posterior entropies."
)


def jail_claim(sources: Sources) -> Claim:
    """Return claim 1."""
    table = sources.complete("jail", METHODS)
    asked = "every one of its queries, on every instance, is at the jail"
    nothing = f"the entropy after {NUM_STEPS} trajectories is within {NOTHING} nats of the prior's, on every instance"
    if table is None:
        parts = [no_data("action entropy asks at the jail every time", asked)]
        return Claim(1, "Jail, trajectories", PAPER, tuple(parts), seeds={"jail": 0})
    queries = _query_frame(table)
    goals = goal_rows(
        table, METHODS, EARLY, GOALS | {f"true regret <= {limit}": ("true_regret", limit) for limit in (TINY, NEARLY)}
    )
    entropies = _entropy_frame(table)
    calls = close_calls(table, "jail", ("Reward-EIG", "PAC-EIG"), EARLY)
    entropy = entropies.set_index("method")
    share = float(queries.set_index("method").loc["action entropy", "share_at_jail"])
    largest = float(entropy.loc["action entropy", "largest_change"])
    reached = goals[goals["goal"] == "no true regret"].set_index("method")
    parts = [
        Part("action entropy asks at the jail every time", asked, f"{share:.1%} of its queries", decided(share == 1.0)),
        Part("and learns nothing", nothing, f"largest change {short(largest)} nats", decided(largest < NOTHING)),
        *_optimal_parts(goals),
        _similar_part(table, -float(entropy.loc["Reward-EIG", "mean"])),
    ]
    quantities = {
        "jail_share": share,
        "jail_largest_change": largest,
        **{f"jail_optimal_{name}": float(reached.loc[name, "for_good"]) for name in METHODS},
        **{f"jail_once_{name}": float(reached.loc[name, "at_least_once"]) for name in METHODS},
        "jail_n": num_instances(table),
        **_late_quantities(table),
        **_call_quantities(calls),
    }
    return Claim(
        1,
        "Jail, trajectories",
        PAPER,
        tuple(parts),
        (
            _query_table(queries),
            goal_table("claim-01-goals", goals, EARLY),
            close_call_table("claim-01-close-calls", calls, EARLY),
            _entropy_table(entropies),
            _comparison(table),
        ),
        seeds={"jail": num_instances(table)},
        quantities=quantities,
    )


def _optimal_parts(goals: DataFrame) -> list[Part]:
    """Return whether both information gains reach an optimal policy, to the last digit and nearly."""
    parts = []
    for goal, words, limit in (
        ("no true regret", "an optimal policy", "0"),
        (f"true regret <= {NEARLY}", "", f"{NEARLY}"),
    ):
        for method in ("Reward-EIG", "PAC-EIG"):
            row = goals[(goals["goal"] == goal) & (goals["method"] == method)].iloc[0]
            parts.append(
                Part(
                    f"{method} reaches {words or 'one that is as good but for a regret of ' + limit} within {EARLY} "
                    "steps",
                    f"the true regret is {'0' if limit == '0' else 'at most ' + limit} from step {EARLY} or earlier "
                    "to the end, on every instance",
                    f"{row['for_good']} of {row['n']} for good, {row['at_least_once']} at least once; the latest at "
                    f"step {step_text(row['latest_step'], NUM_STEPS)}",
                    decided(bool(row["for_good"] == row["n"])),
                )
            )
    return parts


def _similar_part(table: DataFrame, learned: float) -> Part:
    """Return whether the final entropies of both information gains are similar."""
    final = differences(table, ENTROPY, ["PAC-EIG"], "Reward-EIG", steps=[NUM_STEPS])[-1]
    margin = 0.1 * learned
    holds, fails = -margin <= final.low and final.high <= margin, final.low > margin or final.high < -margin
    outcome = Outcome.HOLDS if holds else Outcome.FAILS if fails else Outcome.UNDECIDED
    return Part(
        "Reward-EIG and PAC-EIG end with similar entropies",
        "the 95 % interval of the difference is within a tenth of what Reward-EIG learned; fails if it is beyond",
        f"PAC-EIG minus Reward-EIG at step {NUM_STEPS}: {final.words} nats, a tenth is {short(margin)}",
        outcome if final.is_known else Outcome.NO_DATA,
    )


def jail_state() -> int:
    """Return the state that nobody leaves."""
    grid = make_world("jail", 0).problem.mdp.grid
    assert grid is not None and grid.kinds is not None  # it is a grid of named cells
    return grid.kinds.index("jail")


def _query_frame(table: DataFrame) -> DataFrame:
    asked = table[table["step"] >= 1].assign(is_jail=lambda rows: rows["state"] == jail_state())
    found = asked.groupby("method")["is_jail"].agg(num_queries="size", num_at_jail="sum").astype(int)
    shares = found["num_at_jail"] / found["num_queries"]
    return found.assign(share_at_jail=shares).loc[list(METHODS)].reset_index()


def _query_table(frame: DataFrame) -> NumberTable:
    shown = {"method": "method", "queries": "num_queries", "at the jail": "num_at_jail"}
    return NumberTable(
        "claim-01-queries", "Queries at the jail, all instances together", frame,
        shown | {"share": lambda row: f"{row['share_at_jail']:.1%}"},
    )  # fmt: skip


def _entropy_frame(table: DataFrame) -> DataFrame:
    rows = []
    for method in METHODS:
        fall = change(table, ENTROPY.column, method, 0, NUM_STEPS)
        end = at_step(table, ENTROPY.column, method, NUM_STEPS)
        rows.append(
            {
                "method": method,
                **mean_row(fall),
                "largest_change": float(fall.abs().max()),
                **{f"end_{key}": value for key, value in mean_row(end).items() if key != "n"},
            }
        )
    return DataFrame(rows)


def _entropy_table(frame: DataFrame) -> NumberTable:
    return NumberTable(
        "claim-01-entropies",
        f"Posterior entropy in nats (from the evidence) after {NUM_STEPS} trajectories",
        frame,
        {
            "method": "method",
            "n": "n",
            "entropy": lambda row: with_interval(row["end_mean"], row["end_low"], row["end_high"]),
            "change since the prior": interval_cell("mean", "low", "high"),
            "largest change": "largest_change",
        },
    )


def _comparison(table: DataFrame) -> NumberTable:
    found = [
        item
        for measure in (ENTROPY, PAPER_ENTROPY)
        for item in differences(table, measure, ["PAC-EIG"], "Reward-EIG", steps=[EARLY, LATER, NUM_STEPS])
    ]
    return difference_table("claim-01-pairs", "PAC-EIG against Reward-EIG on the same instances", found)


def _call_quantities(calls: DataFrame) -> dict[str, float]:
    """Return what is known about the choices that are left, for the reasons."""
    known = calls.dropna(subset=["state"])
    each = known.sort_values("true_regret").drop_duplicates("seed", keep="last")  # one per instance
    return {
        "jail_left": len(calls),
        "jail_left_seeds": int(calls["seed"].nunique()),
        "jail_left_known": len(known),
        "jail_left_most": float(calls["true_regret"].max()),
        "jail_left_gap": float(known["gap"].max()),
        "jail_left_answers": float(np.ceil(each["num_answers"].median())),
    }


def _late_quantities(table: DataFrame) -> dict[str, float]:
    """Return regret, what is still to learn, and how far apart entropies are, for the reasons."""
    found = {}
    for method in ("Reward-EIG", "PAC-EIG"):
        regret = at_step(table, "true_regret", method, EARLY)
        found[f"jail_worst_regret_{method}"] = float(regret.max()) if len(regret) else float("nan")
        for step in (EARLY, LATER):
            found[f"jail_score_{method}_{step}"] = float(at_step(table, "score", method, step).median())
    for step in (EARLY, LATER, NUM_STEPS):
        item = differences(table, ENTROPY, ["PAC-EIG"], "Reward-EIG", steps=[step])[-1]
        found |= {f"jail_entropy_{step}": item.difference, f"jail_entropy_{step}_low": item.low}
        found[f"jail_entropy_{step}_high"] = item.high
    return found
