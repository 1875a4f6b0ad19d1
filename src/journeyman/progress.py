"""A progress bar for long work, on the error stream, gone when the work is done."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Report(Protocol):
    """Takes the part of the work that is done, in 0..1, and perhaps a new description."""

    def __call__(self, done: float, description: str | None = None) -> None:
        """Take it."""


@contextmanager
def progress_bar(description: str, *, is_shown: bool) -> Iterator[Report]:
    """Give a function that takes how far the work is; it draws a bar if `is_shown`."""
    if not is_shown:
        yield lambda done, description=None: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(description, total=1.0)
        yield lambda done, description=None: progress.update(task, completed=done, description=description)
