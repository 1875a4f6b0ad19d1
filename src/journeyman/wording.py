"""Numbers and lists in words, the same wherever people read them: messages, terminal, pictures, pages."""

from collections.abc import Sequence

import numpy as np


def signed_number(value: float, width: int = 5) -> str:
    """Return a number with its sign in at most `width` (5 or more) characters: +100, -57.3, +0.42, and 0.

    Whole numbers have no decimals, others at most two.
    """
    if not np.isfinite(value):
        return {np.inf: "+inf", -np.inf: "-inf"}.get(value, "?")
    if value == 0:
        return "0"
    for decimals in [0] if float(value).is_integer() else [2, 1, 0]:
        text = f"{value:+.{decimals}f}"
        if len(text) <= width:
            return text
    return f"{value:+.0e}".replace("e+0", "e").replace("e+", "e")


def plain_number(value: float) -> str:
    """Return a number with at most four significant digits."""
    return f"{value:.4g}"


def nats(value: float, error: float | None) -> str:
    """Return a number of nats with its standard error: "-31.25 +- 0.14 nats"; without one that is 0 or not known."""
    return f"{value:.2f} +- {error:.2g} nats" if error else f"{value:.2f} nats"


def counted(count: int, word: str) -> str:
    """Return a count with its word: "1 state", "2 states"."""
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def listed(words: Sequence[str]) -> str:
    """Return words as they are listed in a sentence: "a, b and c"."""
    return ", ".join(words) if len(words) < 2 else f"{', '.join(words[:-1])} and {words[-1]}"


def below(lines: Sequence[str], most: int) -> str:
    """Return lines to stand below a sentence, indented, at most so many of them, and how many more there are."""
    rest = [f"and {len(lines) - most} more"] if len(lines) > most else []
    return "\n".join(f"  {line}" for line in [*lines[:most], *rest])


JSON_KINDS = {  # what the types of JSON are called: one, and several
    "string": ("text", "texts"),
    "integer": ("whole number", "whole numbers"),
    "number": ("number", "numbers"),
    "boolean": ("true or false", "(true or false)"),
    "object": ("record", "records"),
    "array": ("list", "lists"),
    "null": ("null", "null"),
}
LEAST_CHANCE = 0.001  # smaller ones are not told apart, unless a limit is smaller too


def percent(chance: float, digits: int | None = None) -> str:
    """Return a chance as a percentage: whole and never rounded to certainty ("93 %", "> 99 %"), or to some digits."""
    if digits is not None:
        return f"{100.0 * chance:.{digits}g} %"
    if 0.995 <= chance < 1.0:
        return "100 %" if chance > 1.0 - 1e-12 else "> 99 %"
    if 0.0 < chance < 0.005:
        return "< 1 %"
    return f"{100 * chance:.0f} %"


def chance_words(chance: float, limit: float = 1.0) -> str:
    """Return a chance to three digits, beside a limit to it if there is one: "4.06 %", "below 0.1 %"."""
    return f"below {percent(LEAST_CHANCE, 3)}" if 0.0 < chance < LEAST_CHANCE <= limit else percent(chance, 3)


def about_chance(chance: float, limit: float = 1.0) -> str:
    """Return an estimated chance as `chance_words` does: "about 4.06 %", "below 0.1 %"."""
    words = chance_words(chance, limit)
    return words if words.startswith("below") else f"about {words}"


def bound_words(bound: float, limit: float = 1.0) -> str:
    """Return what a chance is at most, as `chance_words` does: "4.06 %", "0.1 %" where it is less."""
    return chance_words(bound, limit).removeprefix("below ")
