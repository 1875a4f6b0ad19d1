"""A progress bar for long work, on the error stream, gone when the work is done."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(description: str, *, is_shown: bool) -> Iterator[Callable[[float], None]]:
    """Give a function that takes the part done, in 0..1; it draws a bar if `is_shown`."""
    if not is_shown:
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(description, total=1.0)
        yield lambda done: progress.update(task, completed=done)
