"""Claims 3 and 4: the 8x8 grid with uniform initial states, by annotations and by trajectories."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from reproduction.pages.claim import Claim
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
)
from reproduction.pages.numbers import with_interval
from reproduction.pages.sources import NUM_STEPS, Sources, num_instances
from reproduction.pages.step_tables import value_table
from reproduction.paper import PAPER_METHODS

EIG = ("Reward-EIG", "PAC-EIG")
STEPS = (10, 20, 30, 50, 100, NUM_STEPS)


def annotations_claim(sources: Sources) -> Claim:
    """Return claim 3."""
    paper = (
        "On the 8x8 grid with uniform initial states both information gains give a lower entropy of the reward and a "
        "lower regret than random, action entropy and policy entropy. ActiveVaR roughly matches them."
    )
    others = ("random", "action entropy", "policy entropy")
    claim = _beats(sources, 3, "8x8, annotations", "random-8x8", paper, PAPER_METHODS, others)
    table = sources.complete("random-8x8", PAPER_METHODS)
    matches = [
        alike(f"ActiveVaR roughly matches {method} in {measure.words}", table, measure, "ActiveVaR", method)
        for method in EIG
        for measure in (ENTROPY, REGRET)
    ]
    return replace(claim, parts=(*claim.parts, *matches), caveat=_believed(claim.quantities))


def _believed(quantities: Mapping[str, float]) -> str:
    """Say what believed regret makes of ActiveVaR, if its interval decides."""
    found = []
    for method in EIG:
        key = f"uniform3 believed ActiveVaR minus {method}"
        if key in quantities and quantities[f"{key} high"] < 0.0:
            interval = with_interval(*(quantities[f"{key}{ending}"] for ending in ("", " low", " high")))
            found.append(f"{method} ({interval})")
    return f"By believed regret, which no part uses, ActiveVaR is ahead of {' and of '.join(found)}." if found else ""


def trajectories_claim(sources: Sources) -> Claim:
    """Return claim 4."""
    paper = (
        "With trajectories of at most 5 steps on the same grids, results are in a figure, of which the text says "
        "nothing more, and the source that we have does not hold its pictures. We take it to show what the text says "
        "of single annotations: both information gains are ahead of random and of action entropy."
    )
    methods = ("random", "action entropy", *EIG)
    title, name = "8x8, trajectories of length 5", "random-8x8-trajectories"
    caveat = "The claim is our guess at a figure that is absent from the text."
    return replace(_beats(sources, 4, title, name, paper, methods, ("random", "action entropy")), caveat=caveat)


def _beats(
    sources: Sources, number: int, title: str, name: str, paper: str, methods: Sequence[str], others: Sequence[str]
) -> Claim:
    """Return the claim that both information gains beat others in entropy and regret."""
    table = sources.complete(name, methods)
    parts = [
        better_than(f"{method} beats {', '.join(others)} in {measure.words}", table, measure, method, others)
        for method in EIG
        for measure in (ENTROPY, REGRET)
    ]
    if table is None:
        return Claim(number, title, paper, tuple(parts), seeds={name: 0})
    rivals = [method for method in methods if method not in EIG and method != "nuPAC-EIG"]
    found = [
        item
        for baseline in EIG
        for measure in (ENTROPY, REGRET, BELIEVED, FAILURE)
        for item in differences(table, measure, rivals, baseline)
    ]
    tables = (
        difference_table(f"claim-{number:02}-pairs", "Other methods against both information gains", found),
        value_table(f"claim-{number:02}-values", table, methods, STEPS),
    )
    quantities = difference_quantities(f"uniform{number}", found)
    n = num_instances(table)
    return Claim(number, title, paper, tuple(parts), tables, seeds={name: n}, quantities=quantities)
