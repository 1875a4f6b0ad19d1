"""Claims 5 and 6: when reward and regret ask for different queries, and when action entropy stops learning."""

import numpy as np
from pandas import DataFrame, Series

from journeyman.experiment.statistics.paired import student_interval
from journeyman.experiment.statistics.queries import query_counts
from reproduction.pages.claim import Claim, Outcome, Part, Printed, no_data
from reproduction.pages.comparing import (
    BELIEVED,
    ENTROPY,
    MEASURES,
    MIN_INSTANCES,
    REGRET,
    alike,
    better_than,
    difference_quantities,
    difference_table,
    differences,
)
from reproduction.pages.forms import PRINTED, PRINTED_NU, PRINTED_WORDS, RUN_WORDS, extent_words, form_table
from reproduction.pages.numbers import NumberTable, interval_cell, short, with_interval
from reproduction.pages.sources import NUM_STEPS, TITLES, Sources, num_instances
from reproduction.pages.steps import at_step, change, mean_row
from reproduction.paper import PAPER_METHODS

BREAK = 50
GRIDS = ("random-8x8", "random-10x10", "random-8x8-trajectories")


def objectives_claim(sources: Sources) -> Claim:
    """Return claim 5: reward- and regret-based functions are alike on 8x8, and come apart on 10x10."""
    paper = (
        "With uniform initial states (8x8) the function that is about the reward and those that are about regret do "
        "equally well by both measures. With two initial states (10x10) the two objectives come apart."
    )
    uniform, two = (sources.complete(name, PAPER_METHODS) for name in ("random-8x8", "random-10x10"))
    parts = _objective_parts(uniform, two, "PAC-EIG", "nuPAC-EIG")
    tables: list[NumberTable] = []
    quantities: dict[str, float] = {}
    for name, table in (("random-8x8", uniform), ("random-10x10", two)):
        if table is None:
            continue
        found = [
            item
            for measure in (*MEASURES, BELIEVED)
            for item in differences(
                table, measure, ["PAC-EIG", "nuPAC-EIG"], "Reward-EIG", steps=[30, BREAK, NUM_STEPS]
            )
        ]
        tables.append(difference_table(f"claim-05-{name}", f"{TITLES[name]}: against Reward-EIG", found))
        tables.append(form_table(f"claim-05-forms-{name}", sources, name))
        quantities |= difference_quantities(f"goals_{name}", found)
    seeds = {"random-8x8": num_instances(uniform), "random-10x10": num_instances(two)}
    return Claim(
        5,
        "Reward and regret",
        paper,
        parts,
        tuple(tables),
        seeds=seeds,
        quantities=quantities,
        form=RUN_WORDS,
        printed=_printed_objectives(sources),
    )


def _objective_parts(uniform: DataFrame | None, two: DataFrame | None, plain: str, weighted: str) -> tuple[Part, ...]:
    parts = [
        alike(f"8x8: {method} and Reward-EIG perform alike in {measure.words}", uniform, measure, method, "Reward-EIG")
        for method in (plain, weighted)
        for measure in (ENTROPY, REGRET)
    ]
    for measure, best, other in ((REGRET, weighted, "Reward-EIG"), (ENTROPY, "Reward-EIG", weighted)):
        parts.append(better_than(f"10x10: {best} is ahead of {other} in {measure.words}", two, measure, best, [other]))
    return tuple(parts)


def _printed_objectives(sources: Sources) -> Printed | None:
    """Return the same parts for the forms that the paper prints, on as many instances as there are."""
    methods = [*PAPER_METHODS, PRINTED, PRINTED_NU]
    uniform, two = (sources.most_complete(name, methods) for name in ("random-8x8", "random-10x10"))
    if uniform is None and two is None:
        return None
    parts = _objective_parts(uniform, two, PRINTED, PRINTED_NU)
    extent = ", ".join(extent_words(sources, name) for name in ("random-8x8", "random-10x10"))
    return Printed(PRINTED_WORDS, parts, extent)


def stalling_claim(sources: Sources) -> Claim:
    """Return claim 6: action entropy stops improving after about step 50."""
    paper = (
        "Action entropy gives no significant improvement after about step 50: it gets stuck at states where several "
        "actions are about equally good, although these tell nothing more."
    )
    frames = {name: _stall_frame(sources, name) for name in GRIDS}
    known = {name: frame for name, frame in frames.items() if frame is not None}
    parts = _stall_parts(known.get("random-8x8"))
    tables = tuple(_stall_table(name, frame) for name, frame in known.items())
    seeds = {name: int(frame["n"].max()) for name, frame in known.items()} or {"random-8x8": 0}
    quantities = {}
    for name, frame in known.items():
        for row in frame.to_dict("records"):
            for key in ("early_fall", "late_fall", "regret_change", "num_states"):
                quantities[f"stall_{name}_{row['method']}_{key}"] = row[key]
    return Claim(6, "Action entropy stalls", paper, parts, tables, seeds=seeds, quantities=quantities)


def _stall_parts(frame: DataFrame | None) -> tuple[Part, ...]:
    stops, regret, stuck = (
        "8x8, annotations: its entropy stops falling",
        "and its true regret stops falling",
        "because it asks in the same few states",
    )
    slow = f"per step, entropy falls after step {BREAK} by less than a tenth of what it fell before"
    still = (
        f"the 95 % interval of the change of regret from step {BREAK} to {NUM_STEPS} lies within a tenth of the regret "
        f"at step {BREAK}, on both sides"
    )
    few = f"after step {BREAK} it asks in fewer states (effective number) than Reward-EIG, 95 % interval"
    if frame is None or frame["n"].max() < MIN_INSTANCES:
        return tuple(no_data(*pair) for pair in ((stops, slow), (regret, still), (stuck, few)))
    rows = frame.set_index("method")
    own, other = rows.loc["action entropy"], rows.loc["Reward-EIG"]
    ratio, tenth = own["late_fall"] / own["early_fall"], 0.1 * own["regret_at_break"]
    return (
        Part(
            stops,
            slow,
            f"{short(own['early_fall'])} nats per step before, {short(own['late_fall'])} after: {ratio:.0%} "
            f"(Reward-EIG {other['late_fall'] / other['early_fall']:.0%}, random "
            f"{rows.loc['random', 'late_fall'] / rows.loc['random', 'early_fall']:.0%})",
            Outcome.HOLDS if ratio < 0.1 else Outcome.FAILS,
        ),
        Part(
            regret,
            still,
            f"{with_interval(own['regret_change'], own['regret_low'], own['regret_high'])}, a tenth is "
            f"{short(tenth)}; Reward-EIG changes by {short(other['regret_change'])}",
            Outcome.HOLDS
            if -tenth <= own["regret_low"] and own["regret_high"] <= tenth
            else Outcome.FAILS
            if own["regret_high"] < -tenth
            else Outcome.UNDECIDED,
        ),
        Part(
            stuck,
            few,
            f"{short(own['num_states'])} states against {short(other['num_states'])}; difference "
            f"{with_interval(own['states_difference'], own['states_low'], own['states_high'])}",
            Outcome.HOLDS if own["states_high"] < 0 else Outcome.FAILS if own["states_low"] > 0 else Outcome.UNDECIDED,
        ),
    )


def _stall_frame(sources: Sources, name: str) -> DataFrame | None:
    """Return per method how fast entropy and regret fall before and after step 50, and in how many states it asks."""
    methods = sources.paper_methods(name)
    table = sources.complete(name, methods) if "action entropy" in methods and "Reward-EIG" in methods else None
    if table is None:
        return None
    states = {method: effective_states(table, method) for method in methods}
    rows = []
    for method in methods:
        early = -change(table, "entropy_evidence", method, 0, BREAK) / BREAK
        late = -change(table, "entropy_evidence", method, BREAK, NUM_STEPS) / (NUM_STEPS - BREAK)
        regret = mean_row(change(table, "normalised_regret", method, BREAK, NUM_STEPS))
        low, high = student_interval((states[method] - states["Reward-EIG"]).to_numpy(dtype=float))
        rows.append(
            {
                "method": method,
                "n": len(early),
                **{f"early_{key}": value for key, value in _fall(early).items()},
                **{f"late_{key}": value for key, value in _fall(late).items()},
                "regret_at_break": float(at_step(table, "normalised_regret", method, BREAK).mean()),
                "regret_change": regret["mean"],
                "regret_low": regret["low"],
                "regret_high": regret["high"],
                "num_states": float(states[method].mean()),
                "states_difference": float((states[method] - states["Reward-EIG"]).mean()),
                "states_low": low,
                "states_high": high,
            }
        )
    return DataFrame(rows)


def _fall(values: Series) -> dict[str, float]:
    found = mean_row(values)
    return {"fall": found["mean"], "low": found["low"], "high": found["high"]}


def effective_states(table: DataFrame, method: str, after: int = BREAK) -> Series:
    """Return in how many states a method asks after a step, by seed: exp of the entropy of its queries."""
    late = table[(table["method"] == method) & (table["step"] > after)]
    counts = query_counts(late)
    shares = counts["count"] / counts.groupby("seed")["count"].transform("sum")
    entropy = -(shares * np.log(shares)).groupby(counts["seed"]).sum()
    return np.exp(entropy)


def _stall_table(name: str, frame: DataFrame) -> NumberTable:
    return NumberTable(
        f"claim-06-{name}",
        f"{TITLES[name]}: nats per step by which entropy falls before and after step {BREAK}, change of normalised "
        f"regret from step {BREAK} to {NUM_STEPS}, and effective number of states asked in after step {BREAK}",
        frame,
        {
            "method": "method",
            "n": "n",
            "fall before": interval_cell("early_fall", "early_low", "early_high"),
            "fall after": interval_cell("late_fall", "late_low", "late_high"),
            "regret at 50": "regret_at_break",
            "change": interval_cell("regret_change", "regret_low", "regret_high"),
            "states": "num_states",
        },
    )
