"""Claims 10 to 12: counter-examples, the most informative start of Figure 1, and the bounds."""

import math
from collections.abc import Sequence

from pandas import DataFrame

from journeyman.wording import counted
from reproduction.bounds_table import LIKELY, bound_rows, observed_rows, worlds_of
from reproduction.comparison import Comparison
from reproduction.failure_modes import all_comparisons
from reproduction.pages.claim import Claim, Outcome, Part, decided, no_data
from reproduction.pages.numbers import NumberTable, short, step_text
from reproduction.pages.sources import Sources
from reproduction.task_belief import StartSummary
from reproduction.task_figure import without_rounding

PAC_FORMS = ("PAC-EIG", "PAC-EIG joint", "nuPAC-EIG")
SHOWN = ("PAC-EIG", "nuPAC-EIG")


def failure_modes_claim(comparisons: Sequence[Comparison] | None = None) -> Claim:
    """Return claim 10: the counter-examples of Appendices A and C."""
    paper = (
        "Small worlds in which each older function asks a plainly worse question (Appendix A), and one in which "
        "information about the total regret is zero although there is something to learn (Appendix C), with numbers."
    )
    found = all_comparisons() if comparisons is None else comparisons
    parts = []
    for example in dict.fromkeys(item.example for item in found):
        judged = [item for item in found if item.example == example and item.agrees is not None]
        differing = [item.quantity for item in judged if not item.agrees]
        agreeing = len(judged) - len(differing)
        measured = f"{agreeing} of {len(judged)}" + (f"; not: {'; '.join(differing)}" if differing else "")
        parts.append(
            Part(example, "all numbers and choices agree to the printed digits", measured, decided(not differing))
        )
    table = NumberTable(
        "claim-10-counter-examples",
        "The paper's numbers and choices beside ours",
        DataFrame([item._asdict() for item in found]),
        {
            "example": "example",
            "quantity": "quantity",
            "paper": lambda row: _value(row["paper"]),
            "ours": lambda row: _value(row["ours"]),
            "agrees": lambda row: "-" if row["agrees"] is None else "yes" if row["agrees"] else "**no**",
            "note": "note",
        },
    )
    quantities = {
        "examples_agree": sum(bool(item.agrees) for item in found),
        "examples_judged": sum(item.agrees is not None for item in found),
    }
    note = (
        "Slips that these differences come from are listed in [errata](../errata.md), each with the test that shows it."
    )
    return Claim(10, "Counter-examples of Appendices A and C", paper, tuple(parts), (table,), (note,), {}, quantities)


def _value(value: float | str | None) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    return value if isinstance(value, str) else f"{value:.4g}"


def start_claim(before: StartSummary, after: Sequence[StartSummary]) -> Claim:
    """Return claim 11: the most informative start of Figure 1."""
    paper = (
        "For the belief in Figure 1 a demonstration from the bottom right cell tells most about the unknown rewards. "
        "(One belief, at a step that is not named, on a layout that is only in the picture.)"
    )
    everyone = [before, *after]
    corner, fenced = sum(item.is_corner for item in after), sum(item.is_fenced for item in after)
    telling = max(without_rounding(item.jail_information) for item in everyone)
    parts = (
        Part(
            "the bottom right cell tells most, before any demonstration",
            "it has the highest Reward-EIG, and no rival; undecided with rivals",
            f"state {before.best_start}: {short(before.information)} nats (s.e. {short(before.standard_error)}), "
            f"{counted(before.num_rivals, 'rival')}",
            Outcome.UNDECIDED if before.num_rivals else decided(before.is_corner),
        ),
        Part(
            "after one demonstration, a cell in that corner, fenced in by the obstacles, tells most",
            "in more than half of the instances",
            f"fenced in {fenced} of {len(after)}; the very corner {corner} of {len(after)}",
            decided(2 * fenced > len(after)),
        ),
        Part(
            "the jail tells nothing",
            "Reward-EIG there is 0 in every belief",
            f"largest {short(telling)} nats in {len(everyone)} beliefs",
            decided(telling == 0.0),
        ),
    )
    frame = DataFrame([item._asdict() for item in everyone])
    for name in ("jail_information", "least_information", "entropy_information"):
        frame[name] = frame[name].map(without_rounding)
    table = NumberTable(
        "claim-11-starts",
        "The best start by Reward-EIG, before any demonstration (first row, the same for all seeds) and after one",
        frame,
        {
            "seed": lambda row: "all" if row["num_demonstrations"] == 0 else str(row["seed"]),
            "shown": "num_demonstrations",
            "best start": "best_start",
            "nats (s.e.)": lambda row: f"{short(row['information'])} ({short(row['standard_error'])})",
            "rivals": "num_rivals",
            "bottom right": "is_corner",
            "fenced in": "is_fenced",
            "action entropy asks": "entropy_start",
            "nats there": "entropy_information",
        },
    )
    note = (
        "Rivals: other starts less than two standard errors of the difference below the best. State 35 is the "
        "corner, 30 the jail."
    )
    quantities = {
        "start_corner": corner,
        "start_fenced": fenced,
        "start_n": len(after),
        "start_rivals": before.num_rivals,
    }
    return Claim(
        11,
        "Figure 1: the most informative start",
        paper,
        parts,
        (table,),
        (note,),
        {"jail": len(after)},
        quantities,
        caveat="The layout is ours, made to look like the description of a picture that we do not have: that the "
        "same corner comes out shows that the claim can be true, not that it was.",
        is_circular=True,
    )


def bounds_claim(sources: Sources) -> Claim:
    """Return claim 12: observed steps to the certificate beside the bound."""
    paper = (
        "The expected number of answers until the apprentice is approximately correct is at most h_max / EIG_min, "
        "for PAC-EIG and any prior."
    )
    table = sources.everything()
    bounds = [row for world in worlds_of(table) for row in bound_rows(world)]
    frame = DataFrame([{"world": row.world, "h_max": row.h_max, **row.bound._asdict()} for row in bounds])
    observed = DataFrame([row._asdict() for row in observed_rows(table)])
    seen = observed[observed["method"].isin(PAC_FORMS) & (observed["goal"] == LIKELY)]
    criterion = (
        "no run needs more answers than the published bound: those that do not get there within 150 contradict nothing"
    )
    statement = "the bound holds"
    if seen.empty:
        return Claim(12, "Bounds", paper, (no_data(statement, criterion),))
    published = frame[frame["name"] == "published"]
    smallest = float(published["expected_steps"].min())
    longest = float(seen["num_steps"].max())
    reached, cells = int(seen["num_reached"].sum()), int(seen["n"].sum())
    part = Part(
        statement,
        criterion,
        f"bounds from {smallest:.1e} answers; {reached} of {cells} runs got there for good within {longest:g}",
        decided(longest < smallest),
    )
    return Claim(
        12,
        "Bounds",
        paper,
        (part,),
        (_bound_table(frame), _observed_table(observed)),
        (
            "The bound is for the apprentice that does what is most likely optimal; observed is the one of largest "
            "expected return. It is true by a factor of 1e10 and more, so that this agreement says little. How tight "
            "each step of the proof is, is measured in [bounds](../bounds.md).",
        ),
        quantities={"bounds_smallest": smallest, "bounds_reached": reached, "bounds_cells": cells},
    )


def _bound_table(frame: DataFrame) -> NumberTable:
    return NumberTable(
        "claim-12-bounds",
        "Bounds for epsilon = delta = 0.1",
        frame,
        {
            "world": "world",
            "form": "name",
            "proved": "is_valid",
            "states": "num_states",
            "EIG_min (nats)": lambda row: f"{row['eig_min']:.1e}",
            "h_max (nats)": lambda row: f"{row['h_max']:.0f}",
            "answers at most": lambda row: f"{row['expected_steps']:.1e}",
        },
    )


def _observed_table(frame: DataFrame) -> NumberTable:
    return NumberTable(
        "claim-12-observed",
        "Steps from which a goal is kept to the end: the chance of regret at most delta, and the certificate, which "
        "allows for Monte-Carlo error; other methods are in the file",
        frame,
        {
            "world": "world",
            "query": "query",
            "goal": "goal",
            "method": "method",
            "reached": lambda row: f"{row['num_reached']} of {row['n']}",
            "median (95 %)": lambda row: (
                f"{step_text(row['median'], row['num_steps'])} ({step_text(row['low'], row['num_steps'])} to "
                f"{step_text(row['high'], row['num_steps'])})"
            ),
        },
        frame[frame["method"].isin(SHOWN)],
    )
