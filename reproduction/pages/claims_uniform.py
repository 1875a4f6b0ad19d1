"""Claims 3 and 4: the 8x8 grid with uniform initial states, by annotations and by trajectories."""

from collections.abc import Sequence
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
    return replace(claim, parts=(*claim.parts, *matches))


def trajectories_claim(sources: Sources) -> Claim:
    """Return claim 4."""
    paper = (
        "With trajectories of at most 5 steps on the same grids, both information gains are ahead of random and of "
        "action entropy (the paper shows it in a figure)."
    )
    methods = ("random", "action entropy", *EIG)
    title, name = "8x8, trajectories of length 5", "random-8x8-trajectories"
    return _beats(sources, 4, title, name, paper, methods, ("random", "action entropy"))


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
