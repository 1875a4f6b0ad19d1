"""Array types used in signatures (shapes are given in the docstrings), and the conversion of what callers give."""

import operator
import reprlib
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from journeyman.errors import InputError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
AnyArray = NDArray[Any]


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
    except (TypeError, ValueError):
        pass  # said below
    if array.dtype.kind not in "biuf":
        raise InputError(f"{what} must be numbers, got {reprlib.repr(values)}. Convert them first.")
    return array.astype(np.float64, copy=False)


def real_number(value: Any, what: str) -> float:
    """Return one number as a float; refuses words, arrays and truth values. NaN and infinity pass."""
    if isinstance(value, Fraction | Decimal):
        return float(value)
    array = np.asarray(value) if not isinstance(value, list | tuple) else np.empty(0)
    if array.ndim != 0 or array.dtype.kind not in "iuf":
        raise InputError(f"{what} must be a number, got {reprlib.repr(value)}. Give one number.")
    return float(array)


def whole_number(value: Any, what: str, at_least: int, advice: str = "") -> int:
    """Return one integer that is not below `at_least`; refuses floats and truth values. `advice` ends the message."""
    try:
        number = None if isinstance(value, bool | np.bool_) else operator.index(value)
    except TypeError:
        number = None
    if number is None or number < at_least:
        raise InputError(
            f"{what} must be a whole number of at least {at_least}, got {reprlib.repr(value)}. "
            f"{advice or 'Correct it.'}"
        )
    return number


def read_only(array: ArrayLike) -> Any:
    """Return a contiguous copy that cannot be written to."""
    copy = np.array(array, order="C")
    copy.setflags(write=False)
    return copy
