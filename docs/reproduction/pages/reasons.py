"""Why results differ from the paper, found by experiment: one text per claim, with numbers from the tables.

A text may use any number that any claim names: `{jail_share:.0%}`. All of them are in numbers/quantities.csv. One that
is not known yet reads "(no data)". A claim without a text here says that the reason is not known.
"""

from collections.abc import Mapping
from typing import Any

REASONS: dict[int, str] = {
    7: (
        "Learning is faster here because particles are carried on from answer to answer in compiled code, so that "
        "choosing becomes a larger part of a step. Choosing from trajectories samples answers for every start state; "
        "{cost_over:.0f} combinations of experiment and method take longer than the paper's 0.03 s."
    ),
    10: (
        "{examples_agree:.0f} of {examples_judged:.0f} numbers and choices agree. What differs is a slip of the pen, "
        "or "
        "holds for another apprentice than the deterministic one that the paper uses elsewhere; the notes in the "
        "table say "
        "which. The choices of the appendices all agree: each older function asks the worse question there."
    ),
}


class Numbers(dict[str, Any]):
    """Named numbers; one that is missing says so."""

    def __missing__(self, key: str) -> "Unknown":
        """Return what stands for a number that is not known."""
        return Unknown()


class Unknown:
    """A number that is not known yet, in any format."""

    def __format__(self, _: str) -> str:
        """Return words for it."""
        return "(no data)"


def reason(number: int, quantities: Mapping[str, float]) -> str | None:
    """Return why a claim comes out differently, with its numbers; None if nothing was written."""
    text = REASONS.get(number)
    return None if text is None else text.format_map(Numbers(quantities))
