"""One vocabulary for checking what callers give: each function returns the checked value, or says what is wrong.

A message reads: "<what> must <rule>, got <value>. <What to do>." So `what` begins the sentence ("epsilon", "a query
id", "option 'beta' of world 'jail'") and `advice` ends it.
"""

import difflib
import operator
import reprlib
import unicodedata
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from journeyman.errors import InputError
from journeyman.types import AnyArray, FloatArray

T = TypeVar("T")


def any_array(values: Any, what: str) -> AnyArray:
    """Return `values` as an array of whatever they are; refuses ragged lists."""
    try:
        return np.asarray(values)
    except ValueError:
        raise InputError(
            f"{what} must be a regular array, got {reprlib.repr(values)}. Make all its rows equally long."
        ) from None


def float_array(values: Any, what: str) -> FloatArray:
    """Return `values` as a float64 array, not copied without need; refuses words, complex numbers and ragged lists.

    Shape, sign and finiteness are for the caller to check.
    """
    array = any_array(values, what)
    try:
        if array.dtype.kind == "O" and not any(isinstance(value, str | bytes) for value in array.flat):
            array = array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        pass  # said below
    if array.dtype.kind not in "biuf":
        raise InputError(f"{what} must be numbers, got {reprlib.repr(values)}. Convert them first.")
    return array.astype(np.float64, copy=False)


def check_name(name: str | None, what: str) -> None:
    """Refuse a name with control characters, line breaks or halves of characters: no table could give it back."""
    bad = [letter for letter in name or "" if unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp")]
    if bad:
        raise InputError(f"{what} must have a name of ordinary letters, got {bad[0]!r} in {name!r}. Leave it out.")


def real_number(value: Any, what: str) -> float:
    """Return one number as a float; refuses words, arrays and truth values. NaN and infinity pass."""
    if isinstance(value, Fraction | Decimal):
        return float(value)
    array = np.asarray(value) if not isinstance(value, list | tuple) else np.empty(0)
    if array.ndim != 0 or array.dtype.kind not in "iuf":
        raise InputError(f"{what} must be a number, got {reprlib.repr(value)}. Give one number.")
    return float(array)


def whole_number(value: Any, what: str, at_least: int, advice: str = "") -> int:
    """Return one integer that is not below `at_least`; refuses floats and truth values."""
    try:
        number = None if isinstance(value, bool | np.bool_) else operator.index(value)
    except TypeError:
        number = None
    if number is None or number < at_least:
        raise InputError(
            f"{what} must be a whole number of at least {at_least}, got {reprlib.repr(value)}. "
            f"{advice or f'Example: {max(at_least, 1)}.'}"
        )
    return number


def share(value: Any, what: str, advice: str) -> float:
    """Return a number strictly between 0 and 1."""
    number = real_number(value, what)
    if not 0.0 < number < 1.0:
        raise InputError(f"{what} must lie strictly between 0 and 1, got {number}. {advice}")
    return number


def positive(value: Any, what: str, advice: str) -> float:
    """Return a number that is finite and above 0."""
    number = real_number(value, what)
    if not 0.0 < number < np.inf:
        raise InputError(f"{what} must be positive and finite, got {number}. {advice}")
    return number


def one_of(value: T, known: Iterable[T], what: str, advice: str = "") -> T:
    """Return a word of a short, fixed list; `advice` says which is usual ("Leave it out for 'state'.")."""
    words = list(known)
    if value not in words:
        raise InputError(
            f"{what} must be one of {', '.join(map(str, words))}, got {reprlib.repr(value)}. "
            f"{advice or nearest(value, words) or 'Choose one of these.'}"
        )
    return value


def known_name(name: Any, known: Iterable[str], what: str, advice: str = "") -> str:
    """Return a name of a registry or another long list, or say which is meant; `advice` is for a name like no other."""
    names = list(known)
    if not isinstance(name, str) or name not in names:
        hint = nearest(name, names) or f"{suggestion(name, names)} {advice}".rstrip()
        raise InputError(f"{what} must be one that exists, got {reprlib.repr(name)}. {hint}")
    return name


def check_options(given: Iterable[str], known: Iterable[str], what: str) -> None:
    """Refuse options, keys or settings that `what` does not have, and say which is meant."""
    names = list(known)
    for option in given:
        if option not in names:
            hint = suggestion(option, names, otherwise="It has")
            raise InputError(f"{what} must get options it knows, got {reprlib.repr(option)}. {hint}")


def suggestion(name: object, known: Iterable[object], otherwise: str = "Choose from") -> str:
    """Return a sentence that names the nearest of the known names, or all of them."""
    names = [str(item) for item in known]
    return nearest(name, names) or f"{otherwise}: {', '.join(names) or 'none'}."


def nearest(name: object, known: Iterable[object]) -> str:
    """Return a sentence that names the nearest of the known names, or "" if none is near."""
    close = difflib.get_close_matches(str(name), [str(item) for item in known], n=1)
    return f"Did you mean {close[0]!r}?" if close else ""
