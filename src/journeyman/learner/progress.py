"""Live progress of a simulation, on the error stream, gone when it is done."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from journeyman.learner.records import StepRecord


@contextmanager
def answers_shown(total: int, *, is_shown: bool) -> Iterator[Callable[[StepRecord], None]]:
    """Give a function that takes the record of every answer; it draws how many there are, and how sure we are."""
    if not is_shown:
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("answers,"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("Asking the expert", total=total)
        yield lambda record: progress.update(task, advance=1, description=step_text(record))


def step_text(record: StepRecord) -> str:
    """Return a step in a few words: how likely the apprentice loses too much, and how much it loses on average."""
    if record.failure_chance is None or record.expected_regret is None:
        return "Asking the expert"
    return f"Chance of too much regret {record.failure_chance:.1%}, mean regret {record.expected_regret:.3g}"
