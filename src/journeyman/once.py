"""A result that is computed once for each object, and forgotten with it."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

Result = TypeVar("Result")


def once_for_each(compute_fn: Callable[[Any], Result]) -> Callable[[Any], Result]:
    """Let a function return the same for the same object, without computing it again: pages and files share it."""
    known: WeakKeyDictionary[Any, Result] = WeakKeyDictionary()

    @wraps(compute_fn)
    def compute(given: Any) -> Result:
        if given not in known:
            known[given] = compute_fn(given)
        return known[given]

    return compute
