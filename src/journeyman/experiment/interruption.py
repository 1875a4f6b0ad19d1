"""Ctrl-C: the first is a wish to stop, which leaves time to keep what was done; the second stops at once."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class Interruption:
    """Whether somebody wants to stop."""

    is_wanted = False


@contextmanager
def first_interruption(on_first_fn: Callable[[], None]) -> Iterator[Interruption]:
    """Take the first Ctrl-C in this block as a wish, told to `on_first_fn`; the second one is as usual.

    Where somebody else takes care of it, or in a thread, nothing changes.
    """
    found = Interruption()
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    ):
        yield found
        return

    def take(number: int, frame: Any) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        found.is_wanted = True
        on_first_fn()

    signal.signal(signal.SIGINT, take)
    try:
        yield found
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
