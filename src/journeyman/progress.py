"""Progress of long work: a bar on the error stream or below a notebook's cell, gone when the work is done.

Work that is begun inside of other work has no bar of its own: it tells the bar that is there. So each function says how
far it is, without knowing who called it.
"""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import copy_context
from html import escape
from multiprocessing import parent_process
from threading import Lock, Timer, current_thread, local, main_thread
from typing import Any, Protocol

DELAY = 1.0  # seconds after which a bar appears that nobody asked for
MIN_SECONDS = 0.2  # between two looks of a notebook's bar
LEAST_DONE, LEAST_SECONDS = 0.03, 1.0  # of work on which a forecast of the rest can rest
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
        with bar.shown(is_watched() if is_shown is None else is_shown, 0.0 if is_shown else DELAY):
            yield bar.report
    finally:
        _here.bar = None


@contextmanager
def no_progress_bar(_: str) -> Iterator[Report]:
    """Give a function that takes how far the work is, and shows nothing: for work that is over at once."""
    yield lambda done, description=None: None


def is_watched() -> bool:
    """Whether what this thread writes is seen while it works: not in workers, and not in the background."""
    if parent_process() is not None or current_thread() is not main_thread():
        return False
    return is_notebook() or (sys.stderr is not None and sys.stderr.isatty())


def is_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    if "ipykernel" not in sys.modules:
        return False
    from IPython import get_ipython

    return hasattr(get_ipython(), "kernel")


class _NotebookBar:
    """A bar as one output of a cell, which is replaced as the work goes on: rich would need widgets for that."""

    def __init__(self, description: str, done: float, left: str) -> None:
        from IPython import display

        show: Any = display.display  # has no type hints
        self.last_look = time.monotonic()
        html = self._html(description, done, left)
        self.handle = show({"text/plain": "", "text/html": html}, raw=True, display_id=True)

    def update(self, _: None, *, completed: float, description: str, left: str) -> None:
        """Show how far the work is, unless that was just done."""
        now = time.monotonic()
        if now - self.last_look >= MIN_SECONDS:
            self.last_look = now
            self._replace(self._html(description, completed, left))

    def stop(self) -> None:
        """Leave nothing visible behind."""
        self._replace("")

    def _replace(self, html: str) -> None:
        self.handle.update({"text/plain": "", "text/html": html}, raw=True)

    def _html(self, description: str, done: float, left: str) -> str:
        bar = f'<progress max="1" value="{done:.3f}"></progress>'
        return f"<div>{escape(description)} {bar} {100.0 * done:.0f} %{left and f', {left}'}</div>"


class _Clock:
    """How long work will still take, if it goes on as it went.

    Where it falls back, another part of it has begun, which tells nothing of the time that the last one took.
    """

    def __init__(self) -> None:
        self.done, self.begin_done, self.begin = 0.0, 0.0, time.monotonic()

    def left(self, done: float) -> str:
        """Return it in words, when so much is done; "" where too little is to tell, or nothing is left."""
        now = time.monotonic()
        if done < self.done:
            self.begin_done, self.begin = done, now
        self.done = done
        part, seconds = done - self.begin_done, now - self.begin
        if part < LEAST_DONE or seconds < LEAST_SECONDS or done >= 1.0:
            return ""
        return f"about {seconds * (1.0 - done) / part:.0f} s left"


class _Bar:
    """What is known about work under way, and the bar that shows it, if there is one."""

    def __init__(self, description: str) -> None:
        self.descriptions, self.clock = [description], _Clock()
        self.done, self.left, self.has_said = 0.0, "", False  # whether the outer work itself says how far it is
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
        if not self.has_said:
            self.clock, self.done = _Clock(), 0.0

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
        timer = Timer(delay, copy_context().run, (self._begin,))  # a notebook's cell is in the context
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
        with self.lock:
            if self.is_over:
                return
            if is_notebook():
                self.progress = _NotebookBar(self._words(), self.done, self.left)
            else:
                self._begin_on_terminal()

    def _begin_on_terminal(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        words, part = TextColumn("{task.description}"), TextColumn("{task.percentage:>3.0f} %")
        columns = (words, BarColumn(), part, TimeElapsedColumn(), TextColumn("{task.fields[left]}"))
        progress: Any = Progress(*columns, console=Console(stderr=True), transient=True)
        self.task = progress.add_task(self._words(), total=1.0, completed=self.done, left=self.left)
        progress.start()
        self.progress = progress

    def _words(self) -> str:
        return ": ".join((self.descriptions[0], *self.descriptions[-1:][: len(self.descriptions) - 1]))

    def _show(self, done: float) -> None:
        self.done, self.left = done, self.clock.left(done)
        if self.progress is not None and not self.is_over:
            self.progress.update(self.task, completed=done, description=self._words(), left=self.left)
