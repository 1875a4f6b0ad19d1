"""Conversion of what callers give."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from journeyman.checks import any_array, float_array, real_number, whole_number
from journeyman.errors import InputError
from journeyman.types import read_only


def test_float_array_takes_numbers_of_every_kind():
    for values in ([1, 2], (1.0, 2.0), np.array([1, 2], dtype=np.uint8), np.array([1.0, 2], dtype=object), range(1, 3)):
        array = float_array(values, "values")
        assert array.dtype == np.float64 and array.tolist() == [1.0, 2.0]
    assert float_array([Fraction(1, 2), Decimal("0.25")], "values").tolist() == [0.5, 0.25]
    assert float_array([True, False], "values").tolist() == [1.0, 0.0]


def test_float_array_does_not_copy_without_need():
    array = np.zeros(3)
    assert float_array(array, "values") is array


@pytest.mark.parametrize(
    "values",
    [
        "abc",
        ["1.0"],
        [b"1"],
        np.array(["1.0"], dtype=object),
        [1j],
        np.zeros(2, dtype=complex),
        object(),
        {"a": 1},
        np.array(["2020"], dtype="datetime64"),
        sparse.eye_array(2),
        [[1], [1, 2]],
        [None, "a"],
    ],
)
def test_float_array_refuses_the_rest(values):
    with pytest.raises(InputError, match=r"values must be .*, got .*\. \w+"):
        float_array(values, "values")


def test_any_array_refuses_ragged_lists():
    assert any_array([[1, 2]], "rows").shape == (1, 2)
    with pytest.raises(InputError, match=r"rows must be a regular array, got .* Make all its rows equally long"):
        any_array([[1], [1, 2]], "rows")


@pytest.mark.parametrize("value", [2, 2.0, np.float32(2), np.array(2.0), np.int8(2), Fraction(2), Decimal(2)])
def test_real_number(value):
    number = real_number(value, "beta")
    assert type(number) is float and number == 2.0


@pytest.mark.parametrize("value", ["2", None, [2.0], (2.0,), np.array([2.0]), True, np.bool_(True), 2j, object()])
def test_what_is_no_real_number(value):
    with pytest.raises(InputError, match=r"beta must be a number, got .*\. Give one number"):
        real_number(value, "beta")


@pytest.mark.parametrize("value", [3, np.int32(3), np.array(3), np.uint64(3)])
def test_whole_number(value):
    number = whole_number(value, "size", 3)
    assert type(number) is int and number == 3


@pytest.mark.parametrize("value", [2, -1, 3.0, "3", None, True, np.bool_(True), [3], np.nan])
def test_what_is_no_whole_number(value):
    with pytest.raises(InputError, match=r"size must be a whole number of at least 3, got .*\. Make it larger"):
        whole_number(value, "size", 3, "Make it larger.")


def test_read_only_copies():
    array = np.zeros((2, 3)).T
    frozen = read_only(array)
    array[:] = 1
    assert (frozen == 0).all() and frozen.flags.c_contiguous and not frozen.flags.writeable
