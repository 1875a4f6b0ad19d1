"""Claim 9: which form of PAC-EIG gives the published behaviour on 10x10: scope, edges, occupancy."""

from typing import NamedTuple

from pandas import DataFrame, concat

from journeyman.experiment.statistics import mean_overlap, query_overlap
from reproduction.pages.claim import Claim, Outcome, Part, no_data
from reproduction.pages.comparing import (
    FAILURE,
    MIN_INSTANCES,
    REGRET,
    Difference,
    alike,
    difference_table,
    differences,
)
from reproduction.pages.numbers import Cell, NumberTable, short
from reproduction.pages.sources import FEW_STEPS, Sources, num_instances
from reproduction.pages.steps import at_step, mean_row
from reproduction.paper import PAPER_METHODS

NAME = "random-10x10"
STEPS, FIRST = (10, 20, 30, 50), (30, 50)
PAPER = (
    "The paper prints PAC-EIG with one ternary variable for every state and action together, of which the first "
    "value is exactly zero regret; its appendix speaks of [0, epsilon/2]. nuPAC-EIG weights regret by occupancy. "
    "Which form was run is not said. Published behaviour: nuPAC-EIG has zero true regret and is 0.1-0.1-PAC by step "
    "50; plain PAC-EIG is comparable with Reward-EIG."
)


class Form(NamedTuple):
    """A form of PAC-EIG by its label in the tables."""

    method: str
    scope: str
    edges: str
    is_weighted: bool


FORMS = (
    Form("PAC-EIG joint", "joint", "0, 1 (as printed)", False),
    Form("PAC-EIG", "local", "0, 1 (as proved)", False),
    Form("PAC-EIG joint (1/2, 1)", "joint", "1/2, 1", False),
    Form("PAC-EIG (1/2, 1)", "local", "1/2, 1", False),
    Form("nuPAC-EIG joint (0, 1)", "joint", "0, 1", True),
    Form("nuPAC-EIG (0, 1)", "local", "0, 1", True),
    Form("nuPAC-EIG joint", "joint", "1/2, 1", True),
    Form("nuPAC-EIG", "local", "1/2, 1 (default)", True),
)
OTHERS = ("Reward-EIG", "ActiveVaR", "random")


def forms_claim(sources: Sources) -> Claim:
    """Return claim 9."""
    title = "Which form of PAC-EIG"
    methods = [form.method for form in FORMS]
    table = sources.complete(NAME, list(dict.fromkeys([*methods, *PAPER_METHODS])), FEW_STEPS)
    if table is None:
        part = no_data("a weighted form has the published behaviour", "by step 50, as in claim 2")
        return Claim(9, title, PAPER, (part,), seeds={NAME: 0})
    frame = _form_frame(table)
    overlaps = _overlap_frame(table)
    found = [
        item for measure in (REGRET, FAILURE) for item in differences(table, measure, methods, "Reward-EIG", steps=[50])
    ]
    return Claim(
        9,
        title,
        PAPER,
        _parts(frame, table),
        (
            _form_table(frame),
            difference_table("claim-09-pairs", "Forms against Reward-EIG on the same instances", found),
            _overlap_table(overlaps),
        ),
        seeds={NAME: num_instances(table)},
        quantities=_quantities(frame, overlaps),
    )


def _form_frame(table: DataFrame) -> DataFrame:
    labels = {form.method: form for form in FORMS}
    rows = []
    for method in [*labels, *OTHERS]:
        form = labels.get(method, Form(method, "-", "-", False))
        row = {**form._asdict(), "n": int(table[table["method"] == method]["seed"].nunique())}
        for words, column in (("regret", "true_regret"), ("chance", "failure_chance")):
            for step in STEPS:
                found = mean_row(at_step(table, column, method, step))
                row |= {f"{words}_{step}": found["mean"], f"{words}_{step}_low": found["low"]}
                row[f"{words}_{step}_high"] = found["high"]
        row["num_zero_50"] = int((at_step(table, "true_regret", method, 50) == 0).sum())
        rows.append(row)
    return DataFrame(rows)


def _parts(frame: DataFrame, table: DataFrame) -> tuple[Part, ...]:
    weighted = frame[frame["is_weighted"]]
    likely = [row["method"] for row in weighted.to_dict("records") if row["chance_50"] <= 0.1]
    ahead = [method for method in weighted["method"] if all(part.is_better for part in _against_reward(table, method))]
    good = [method for method in likely if method in ahead]
    is_known = num_instances(table) >= MIN_INSTANCES
    plain = [form.method for form in FORMS if not form.is_weighted]
    comparisons = {method: alike("", table, REGRET, method, "Reward-EIG") for method in plain}
    comparable = [method for method, part in comparisons.items() if part.outcome is Outcome.HOLDS]
    undecided = [method for method, part in comparisons.items() if part.outcome is Outcome.UNDECIDED]
    return (
        Part(
            "a weighted form is 0.1-0.1-PAC by step 50 and ahead of Reward-EIG",
            "mean P[regret > 0.1] at most 0.1 at step 50, and better than Reward-EIG in true regret and in P[regret "
            f"> 0.1], on average over steps 1 to {FEW_STEPS}",
            f"{', '.join(good) or 'none'} (P[regret > 0.1] at 50: "
            + ", ".join(f"{row['method']} {short(row['chance_50'])}" for row in weighted.to_dict("records"))
            + f"; ahead: {', '.join(ahead) or 'none'})",
            Outcome.NO_DATA if not is_known else Outcome.HOLDS if good else Outcome.FAILS,
        ),
        Part(
            "a plain form is comparable with Reward-EIG",
            f"alike in true regret on average over steps 1 to {FEW_STEPS}, for at least one form",
            f"alike: {', '.join(comparable) or 'none'}; undecided: {', '.join(undecided) or 'none'}",
            Outcome.NO_DATA
            if not is_known
            else Outcome.HOLDS
            if comparable
            else Outcome.UNDECIDED
            if undecided
            else Outcome.FAILS,
        ),
    )


def _against_reward(table: DataFrame, method: str) -> list[Difference]:
    """Compare a method with Reward-EIG in true regret and in the chance of regret, over all steps."""
    return [differences(table, measure, [method], "Reward-EIG")[0] for measure in (REGRET, FAILURE)]


def _form_table(frame: DataFrame) -> NumberTable:
    def values(words: str) -> Cell:
        return lambda row: " / ".join(short(row[f"{words}_{step}"]) for step in STEPS)

    return NumberTable(
        "claim-09-forms",
        "Mean true regret and P[regret > 0.1] at steps 10 / 20 / 30 / 50, and instances without regret at step 50; "
        "intervals are in the file",
        frame,
        {
            "method": "method",
            "scope": "scope",
            "edges": "edges",
            "occupancy": lambda row: "yes" if row["is_weighted"] else "-",
            "true regret": values("regret"),
            "P[regret > 0.1]": values("chance"),
            "zero regret": lambda row: f"{row['num_zero_50']} of {row['n']}",
        },
    )


def _overlap_frame(table: DataFrame) -> DataFrame:
    shown = [form.method for form in FORMS] + [method for method in OTHERS if method != "Reward-EIG"]
    parts = [
        mean_overlap(query_overlap(table, "Reward-EIG", methods=shown, first=first)).assign(first=first)
        for first in FIRST
    ]
    frame = concat(parts, ignore_index=True)
    order = [form.method for form in FORMS] + list(OTHERS)
    ranks = frame["method"].map(order.index)
    return frame.assign(rank=ranks).sort_values(["rank", "first"]).drop(columns="rank")


def _overlap_table(frame: DataFrame) -> NumberTable:
    return NumberTable(
        "claim-09-overlap",
        "How much the first queries are those of Reward-EIG on the same instance: queries before the first that "
        "differs, share at the same step, share asked at any step, common states among all that either asks",
        frame,
        {
            "method": "method",
            "first queries": "first",
            "n": "n",
            "same start": "same_start",
            "same step": lambda row: f"{row['same_step']:.0%}",
            "shared": lambda row: f"{row['shared']:.0%}",
            "states in common": lambda row: f"{row['jaccard']:.0%}",
        },
    )


def _quantities(frame: DataFrame, overlaps: DataFrame) -> dict[str, float]:
    found = {"forms_n": float(frame["n"].min())}
    for row in frame.to_dict("records"):
        for key in ("regret_50", "chance_30", "chance_50", "num_zero_50"):
            found[f"forms_{row['method']}_{key}"] = row[key]
    for row in overlaps.to_dict("records"):
        found[f"forms_{row['method']}_shared_{row['first']}"] = row["shared"]
        found[f"forms_{row['method']}_same_{row['first']}"] = row["same_start"]
    return found
