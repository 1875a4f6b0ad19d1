"""One picture of an MDP: numbers per state as cells, nodes or bars, in matplotlib and in the terminal."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

Result = TypeVar("Result")


def drawn_once(draw_fn: Callable[[Any], Result]) -> Callable[[Any], Result]:
    """Let a function return the same for the same object, without another drawing: pages and files share pictures."""
    drawn: WeakKeyDictionary[Any, Result] = WeakKeyDictionary()

    @wraps(draw_fn)
    def draw(shown: Any) -> Result:
        if shown not in drawn:
            drawn[shown] = draw_fn(shown)
        return drawn[shown]

    return draw
