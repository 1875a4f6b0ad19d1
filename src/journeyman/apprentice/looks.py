"""Looks at samples that grow: what each may spend of the error, and when to end the drawing.

Samples are drawn for a claim that the chance of failure is at most delta, twice as many at each look. Ending early can
make a certificate miss what it might have shown, never show what is not so: only the bound at a look can do that.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import bdtr, betaincinv

from journeyman.apprentice.effective_size import upper_bound
from journeyman.checks import positive, whole_number
from journeyman.wording import counted

FUTILE = 0.02  # chance of a certificate that holds in the end, below which no more is drawn
ENDINGS = ("decision", "futility", "doubt", "max_samples", "max_seconds", "exhaustion")
NUM_QUANTILES = 200  # of the belief about the chance, which predictions are averaged over


def look_confidence(confidence: float, look: int) -> float:
    """Return the confidence of the bound at a look, counted from 1, that keeps `confidence` over all of them.

    Looking again and again would make an ordinary bound too low too often. Of 1 - confidence, look k may spend
    1 / (k (k + 1)), which adds up to all of it however many looks there are.
    """
    return 1.0 - (1.0 - confidence) / (look * (look + 1))


class Budget(NamedTuple):
    """What may be drawn for a certificate: samples, and seconds on the clock (None: as long as the samples take)."""

    max_samples: int
    max_seconds: float | None = None

    @classmethod
    def checked(cls, max_samples: int, max_seconds: float | None) -> "Budget":
        """Return a budget whose numbers make sense."""
        return cls(whole_number(max_samples, "max_samples", 1, "16000 are usual."), checked_seconds(max_seconds))

    def is_out_of_time(self, look: int, seconds: float, last_seconds: float) -> bool:
        """Whether another look would end too late, after `seconds` in all and `last_seconds` since the look before.

        A look takes twice as long as the one before, but the second one no longer than the first.
        """
        if self.max_seconds is None:
            return False
        return seconds + (2.0 * last_seconds if look > 1 else 0.0) >= self.max_seconds


def checked_seconds(max_seconds: float | None) -> float | None:
    """Return a limit in seconds, or None for no limit."""
    if max_seconds is None:
        return None
    return positive(
        max_seconds, "max_seconds", "10 are usual where somebody waits; None is no limit (on the command line: 0)."
    )


def chance_to_hold(
    chance: float, size: float, num_samples: int, look: int, max_samples: int, *, delta: float, confidence: float
) -> float:
    """Return an upper bound of the chance that the claim is shown at a later look, by what is seen at this one.

    The chance of failure is believed to have the Beta distribution that its estimate, from `size` effective samples of
    `num_samples`, makes of Jeffreys' prior; later samples are as effective, and binomial. The chances of all looks that
    are left are added up (Boole): 1 at most, and 0 if none is left.
    """
    hits = chance * size
    levels = (np.arange(NUM_QUANTILES) + 0.5) / NUM_QUANTILES
    believed = betaincinv(hits + 0.5, size - hits + 0.5, levels)
    total, factor = 0.0, 1
    while num_samples * factor < max_samples:
        factor, look = 2 * factor, look + 1
        allowed = factor * size * most_allowed(factor * size, delta, look_confidence(confidence, look)) - hits
        if allowed >= 0.0:
            total += float(bdtr(np.floor(allowed), round((factor - 1) * size), believed).mean())
    return min(1.0, total)


def ending_after(
    chance: float,
    size: float | None,
    num_samples: int,
    look: int,
    budget: Budget,
    *,
    is_decided: bool,
    is_doubtful: bool,
    delta: float,
    confidence: float,
    seconds: float,
    last_seconds: float,
) -> str:
    """Return which of `ENDINGS` ends the drawing after a look; "" if there is to be another one.

    Given are the chance of failure, from `size` effective samples of `num_samples` (None: exact, which is decided), and
    how long all looks took, and the last one.
    """
    if is_decided or size is None:
        return "decision"
    if is_doubtful:
        return "doubt"
    if num_samples >= budget.max_samples:
        return "max_samples"
    hope = chance_to_hold(chance, size, num_samples, look, budget.max_samples, delta=delta, confidence=confidence)
    if hope < FUTILE:
        return "futility"
    return "max_seconds" if budget.is_out_of_time(look, seconds, last_seconds) else ""


def most_allowed(size: float, delta: float, confidence: float) -> float:
    """Return the largest estimate, from `size` effective samples, whose upper bound is at most delta; -inf if none."""
    if upper_bound(0.0, size, confidence) > delta:
        return -np.inf
    low, high = 0.0, delta
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if upper_bound(middle, size, confidence) <= delta else (low, middle)
    return low


def ending_words(ended_by: str, num_looks: int, max_seconds: float | None) -> str:
    """Say after "samples" why no more were drawn; "" where there is nothing to say."""
    looks = f"in {counted(num_looks, 'look')}"
    return {
        "decision": f", drawn until this was decided, {looks}" if num_looks > 1 else "",
        "futility": f", drawn {looks}, until more would hardly have made it hold",
        "max_samples": f", drawn {looks}, all that its budget of samples allows",
        "max_seconds": f", drawn {looks}, all that {max_seconds:g} s allow" if max_seconds is not None else "",
        "exhaustion": f", drawn {looks}, all that there were",
    }.get(ended_by, "")
