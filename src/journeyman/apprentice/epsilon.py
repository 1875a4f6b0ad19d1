"""Epsilon: the regret that is too much, in units of the reward or as a share of what is at stake.

The scale of a reward is often not known: demonstrations tell beta times the reward, hardly either by itself. A share
does not depend on it. What is at stake is the gap, in expected return from the initial states, between the best policy
and doing one of the available actions at random, always; every sample of a posterior has its own. A policy that loses
5 % of that is 5 % of the way from the best behaviour to none in particular.
"""

from typing import Any

from journeyman.checks import positive
from journeyman.errors import InputError
from journeyman.wording import percent, plain_number

ADVICE = "It is the regret that would be too much, in units of the reward, or a share of what is at stake such as '5%'."


class Share(float):
    """An epsilon that is a share of what is at stake: Share(0.05) is "5%", and is shown and written as that."""

    def __str__(self) -> str:
        return f"{100.0 * float(self):.15g}%"

    def __repr__(self) -> str:
        return repr(str(self))


def checked_epsilon(epsilon: Any) -> float:
    """Return an epsilon that is positive and finite: a number, or a Share, also from text such as '5%'."""
    if isinstance(epsilon, str):
        text = epsilon.strip()
        try:
            number = float(text.removesuffix("%"))
        except ValueError:
            raise InputError(f"epsilon must be a number or a share such as '5%', got {epsilon!r}. {ADVICE}") from None
        epsilon = Share(number / 100.0) if text.endswith("%") else number
    number = positive(epsilon, "epsilon", ADVICE)
    if not isinstance(epsilon, Share):
        return number
    if number > 1.0:
        raise InputError(
            f"a share of what is at stake must be at most 100%, which acting at random loses, got {epsilon}. "
            "'5%' is usual."
        )
    return Share(number)


def absolute_epsilon(epsilon: Any, what: str) -> float:
    """Return an epsilon in units of the reward; `what` cannot do with a share."""
    checked = checked_epsilon(epsilon)
    if isinstance(checked, Share):
        raise InputError(f"epsilon must be in units of the reward for {what}, got {checked}. Give a number.")
    return checked


def epsilon_record(epsilon: float) -> float | str:
    """Return an epsilon as plain data that `checked_epsilon` reads."""
    return str(epsilon) if isinstance(epsilon, Share) else epsilon


def epsilon_words(epsilon: float) -> str:
    """Return an epsilon for people: "0.1", or "5 % of what is at stake"."""
    return f"{percent(epsilon, 4)} of what is at stake" if isinstance(epsilon, Share) else plain_number(epsilon)


def regret_words(regret: float, epsilon: float, digits: int = 3) -> str:
    """Return a regret that is measured as epsilon is: "0.0331", or "1.7 %"."""
    return percent(regret, digits) if isinstance(epsilon, Share) else f"{regret:.{digits}g}"
