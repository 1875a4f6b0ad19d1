"""Progress of long work: a bar on the error stream, gone when the work is done.

Work that is begun inside of other work has no bar of its own: it tells the bar that is there. So each function says how
far it is, without knowing who called it.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import parent_process
from threading import Lock, Timer, current_thread, local, main_thread
from typing import Any, Protocol

DELAY = 1.0  # seconds after which a bar appears that nobody asked for
_here = local()  # `bar` is the one that is open in this thread


class Report(Protocol):
    """Takes the part of the work that is done, in 0..1, and perhaps a new description."""

    def __call__(self, done: float, description: str | None = None) -> None:
        """Take it."""


@contextmanager
def progress_bar(description: str, *, is_shown: bool | None = None) -> Iterator[Report]:
    """Give a function that takes how far the work is, and draws a bar.

    Parameters
    ----------
    description
        What is being done.
    is_shown
        Whether to show it. Default: if it takes more than a second, and somebody watches a terminal or a notebook.
        Inside of other work this is for the outer one to say.
    """
    outer: _Bar | None = getattr(_here, "bar", None)
    if outer is not None:
        with outer.inner(description) as report:
            yield report
        return
    bar = _Bar(description)
    _here.bar = bar
    try:
        with bar.shown(_is_watched() if is_shown is None else is_shown, 0.0 if is_shown else DELAY):
            yield bar.report
    finally:
        _here.bar = None


@contextmanager
def no_progress_bar(_: str) -> Iterator[Report]:
    """Give a function that takes how far the work is, and shows nothing: for work that is over at once."""
    yield lambda done, description=None: None


def _is_watched() -> bool:
    """Whether what this thread writes is seen while it works: not in workers, and not in the background."""
    if parent_process() is not None or current_thread() is not main_thread():
        return False
    return "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())


class _Bar:
    """What is known about work under way, and the bar that shows it, if there is one."""

    def __init__(self, description: str) -> None:
        self.descriptions = [description]
        self.done, self.has_said = 0.0, False  # whether the outer work itself says how far it is
        self.lock, self.is_over = Lock(), False
        self.progress: Any = None
        self.task: Any = None

    def report(self, done: float, description: str | None = None) -> None:
        """Take how far the work is."""
        self.has_said = True
        if description is not None:
            self.descriptions[0] = description
        self._show(done)

    @contextmanager
    def inner(self, description: str) -> Iterator[Report]:
        """Give the function that takes how far some part of the work is."""
        level = len(self.descriptions)
        self.descriptions.append(description)

        def report(done: float, description: str | None = None) -> None:
            if description is not None and len(self.descriptions) > level:
                self.descriptions[level] = description
            self._show(self.done if self.has_said else done)

        try:
            self._show(self.done)
            yield report
        finally:
            del self.descriptions[level:]
            self._show(self.done)

    @contextmanager
    def shown(self, is_shown: bool, delay: float) -> Iterator[None]:
        """Show the bar after a delay, if it is to be shown and the work is not over by then."""
        if not is_shown:
            yield
            return
        timer = Timer(delay, self._begin)
        timer.daemon = True
        if delay > 0.0:
            timer.start()
        else:
            self._begin()
        try:
            yield
        finally:
            timer.cancel()
            with self.lock:
                self.is_over = True
                if self.progress is not None:
                    self.progress.stop()

    def _begin(self) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            Progress,
            TaskProgressColumn,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        with self.lock:
            if self.is_over:
                return
            words, left = TextColumn("{task.description}"), (TimeRemainingColumn(), TextColumn("left"))
            columns = (words, BarColumn(), TaskProgressColumn(), TimeElapsedColumn(), *left)
            self.progress = Progress(*columns, console=Console(stderr=True), transient=True)
            self.task = self.progress.add_task(self._words(), total=1.0, completed=self.done)
            self.progress.start()

    def _words(self) -> str:
        return ": ".join((self.descriptions[0], *self.descriptions[-1:][: len(self.descriptions) - 1]))

    def _show(self, done: float) -> None:
        self.done = done
        if self.progress is not None:
            self.progress.update(self.task, completed=done, description=self._words())
