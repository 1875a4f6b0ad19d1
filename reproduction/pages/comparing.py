"""Methods compared on the same instances: who is better, who is worse, who is alike, by stated rules."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from pandas import DataFrame
from scipy import stats

from journeyman.experiment.statistics import paired_differences
from journeyman.types import FloatArray
from reproduction.pages.claim import Outcome, Part, no_data
from reproduction.pages.numbers import NumberTable, interval_cell, short, with_interval

MIN_INSTANCES = 6  # with fewer, no pattern of signs has a chance below 5 %
MARGIN, BEATEN = 0.25, ("random", "action entropy", "policy entropy")
NUM_RESAMPLES = 99  # of an interval that is not used here
RULES = (
    "Methods are compared on the same instances: difference of the averages over steps 1 to 150, mean over "
    "instances, with Student's 95 % interval. *Better*: the interval lies below 0 (all measures are the smaller the "
    "better); *worse*: above 0. The *margin* is a quarter of what Reward-EIG gains over the mean of random, action "
    "entropy and policy entropy (those that the experiment has), by the same measure on the same instances. *Alike*: "
    "the interval lies within the margin on both sides, which is a pair of one-sided tests at 2.5 % that the "
    "difference is smaller than the margin; that no difference was found is never enough; *apart*: wholly beyond it. "
    "*Not clearly behind*: it ends "
    "below the margin. *Believed regret* is the mean of the regret under the posterior, normalised in the same way: "
    "if beliefs are right it is the true regret on average, without the luck of one truth. Verdicts do not use it. "
    "Where an interval decides neither way, the part is undecided; with fewer than 6 instances there is no statement."
)


class Measure(NamedTuple):
    """What methods are compared by, the smaller the better: a column and its name."""

    column: str
    words: str


ENTROPY = Measure("entropy_evidence", "entropy")
REGRET = Measure("normalised_regret", "regret")
FAILURE = Measure("failure_chance", "P[regret > 0.1]")
BELIEVED = Measure("normalised_belief", "believed regret")
MEASURES = (ENTROPY, REGRET, FAILURE)
KEYS = {"entropy": ENTROPY, "regret": REGRET, "chance": FAILURE, "believed": BELIEVED}  # in names of numbers


class Difference(NamedTuple):
    """A method minus a baseline, averaged over steps and instances, with Student's 95 % interval.

    p: of random signs, both sides; margin: below which a difference counts as none.
    """

    measure: str
    method: str
    baseline: str
    span: str
    n: int
    method_mean: float
    baseline_mean: float
    difference: float
    low: float
    high: float
    p: float
    wins: int
    ties: int
    losses: int
    margin: float = np.nan

    @property
    def is_known(self) -> bool:
        """Whether there are instances enough for a statement."""
        return self.n >= MIN_INSTANCES

    @property
    def is_better(self) -> bool:
        """Whether the method has smaller values for certain."""
        return self.is_known and self.high < 0.0

    @property
    def is_worse(self) -> bool:
        """Whether the method has larger values for certain."""
        return self.is_known and self.low > 0.0

    @property
    def is_alike(self) -> bool:
        """Whether the whole interval lies within the margin."""
        return self.is_known and -self.margin <= self.low and self.high <= self.margin

    @property
    def is_apart(self) -> bool:
        """Whether the whole interval lies beyond the margin, on either side."""
        return self.is_known and (self.low > self.margin or self.high < -self.margin)

    @property
    def words(self) -> str:
        """The difference with its interval."""
        return with_interval(self.difference, self.low, self.high)


def equivalence_p(values: FloatArray, margin: float) -> float:
    """Return the p-value of the two one-sided t tests that the mean of values `[n]` lies within +-margin.

    It is the larger one of both tests: a small one shows that the mean is neither above nor below. NaN if there are
    fewer than two values.
    """
    size = len(values)
    if size < 2:
        return float("nan")
    error, mean = float(values.std(ddof=1)) / size**0.5, float(values.mean())
    if error == 0.0:
        return 0.0 if abs(mean) < margin else 1.0
    return float(max(stats.t.sf((mean + margin) / error, size - 1), stats.t.cdf((mean - margin) / error, size - 1)))


def differences(
    table: DataFrame, measure: Measure, methods: Sequence[str], baseline: str, *, steps: Sequence[int] = ()
) -> list[Difference]:
    """Compare methods with a baseline: on average over all steps, and at some steps."""
    margin = margin_of(table, measure)
    found = paired_differences(
        table, measure.column, baseline, methods=list(methods), steps=list(steps), num_resamples=NUM_RESAMPLES
    )
    return [
        Difference(
            measure.words,
            row["method"],
            baseline,
            row["span"],
            n=int(row["n"]),
            method_mean=float(row["method_mean"]),
            baseline_mean=float(row["baseline_mean"]),
            difference=float(row["difference"]),
            low=float(row["student_low"]),
            high=float(row["student_high"]),
            p=float(row["p"]),
            wins=int(row["wins"]),
            ties=int(row["ties"]),
            losses=int(row["losses"]),
            margin=margin if row["first_step"] == 1 and row["last_step"] > 1 else np.nan,
        )
        for row in found.to_dict("records")
    ]


def margin_of(table: DataFrame, measure: Measure) -> float:
    """Return the difference that counts as none, on average over steps: see `RULES`; NaN without these methods."""
    rows = table[table["step"] >= 1]
    means = rows.groupby("method")[measure.column].mean()
    beaten = [method for method in BEATEN if method in means.index]
    if not beaten or "Reward-EIG" not in means.index:
        return float("nan")
    return MARGIN * max(0.0, float(means[beaten].mean() - means["Reward-EIG"]))


def on_average(found: Sequence[Difference]) -> dict[str, Difference]:
    """Return the differences over all steps, by method."""
    return {item.method: item for item in found if item.span.startswith("average")}


def difference_quantities(prefix: str, found: Sequence[Difference]) -> dict[str, float]:
    """Return the differences over all steps with their intervals as named numbers."""
    keys = {measure.words: key for key, measure in KEYS.items()}
    return {
        f"{prefix} {keys[item.measure]} {item.method} minus {item.baseline}{ending}": value
        for item in found
        if item.span.startswith("average")
        for ending, value in (("", item.difference), (" low", item.low), (" high", item.high))
    }


def difference_table(name: str, caption: str, found: Sequence[Difference]) -> NumberTable:
    """Return differences as a table."""
    return NumberTable(
        name,
        caption,
        DataFrame(found, columns=list(Difference._fields)),
        {
            "measure": "measure",
            "method": "method",
            "against": "baseline",
            "over": "span",
            "mean": lambda row: f"{short(row['method_mean'])} against {short(row['baseline_mean'])}",
            "difference (95 %)": interval_cell("difference", "low", "high"),
            "wins-ties-losses": lambda row: f"{row['wins']}-{row['ties']}-{row['losses']}",
        },
    )


def better_than(statement: str, table: DataFrame | None, measure: Measure, method: str, others: Sequence[str]) -> Part:
    """Return the part of a claim that a method is better than each of some others; fails if one of them is better."""
    criterion = "better than each" if len(others) > 1 else f"better than {others[0]}"
    if table is None:
        return no_data(statement, criterion)
    found = [on_average(differences(table, measure, [method], other))[method] for other in others]
    measured = "; ".join(f"minus {item.baseline}: {item.words}" for item in found)
    holds, fails = all(item.is_better for item in found), any(item.is_worse for item in found)
    return Part(statement, criterion, measured, _outcome(found, holds, fails))


def alike(statement: str, table: DataFrame | None, measure: Measure, method: str, baseline: str) -> Part:
    """Return the part of a claim that two methods are alike; fails if they are apart."""
    criterion = f"{method} and {baseline} alike"
    if table is None:
        return no_data(statement, criterion)
    found = on_average(differences(table, measure, [method], baseline))[method]
    measured = f"{found.words}, margin {short(found.margin)}"
    return Part(statement, criterion, measured, _outcome([found], found.is_alike, found.is_apart))


def not_behind(statement: str, table: DataFrame | None, measure: Measure, method: str, baseline: str) -> Part:
    """Return the part of a claim that a method is nearly as good as another, or better."""
    criterion = f"{method} not clearly behind {baseline}"
    if table is None:
        return no_data(statement, criterion)
    found = on_average(differences(table, measure, [method], baseline))[method]
    measured = f"{found.words}, margin {short(found.margin)}"
    return Part(statement, criterion, measured, _outcome([found], found.high <= found.margin, found.low > found.margin))


def _outcome(found: Sequence[Difference], holds: bool, fails: bool) -> Outcome:
    """Return what comparisons say; no data if one of them has too few instances."""
    if not all(item.is_known for item in found):
        return Outcome.NO_DATA
    return Outcome.HOLDS if holds else Outcome.FAILS if fails else Outcome.UNDECIDED
