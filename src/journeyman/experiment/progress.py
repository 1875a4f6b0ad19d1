"""Live progress of a sweep: how far, what runs, how fast, when it ends. On the error stream or in a notebook."""

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from journeyman.experiment.cell_run import Job
from journeyman.progress import Report, is_notebook, progress_bar

BAR_WIDTH = 24  # with the words beside it, a line of 80
MAX_SHOWN = 8  # running cells below the bar


class Display:
    """Takes what happens, and says a line per cell: for log files."""

    def __init__(self, missing: Sequence[Job], num_cells: int) -> None:
        self.num_cells, self.num_done = num_cells, num_cells - len(missing)
        self.steps_left = sum(job.num_steps for job in missing)
        self.begin, self.steps_done, self.trouble = time.perf_counter(), 0, ""

    def say(self, text: str) -> None:
        """Say a line."""
        print(text, file=sys.stderr, flush=True)

    def resumed(self, num_steps: int) -> None:
        """Count what need not be done again."""
        self.steps_left -= num_steps

    def advanced(self, num_steps: int) -> None:
        """Count steps."""
        self.steps_done += num_steps
        self.steps_left -= num_steps

    def finished(self, job: Job, seconds: float) -> None:
        """Say which cell was finished, and how long the rest will take."""
        self.num_done += 1
        left = self.seconds_left()
        outlook = "" if left is None or self.num_done == self.num_cells else f", about {duration(left)} left"
        self.say(f"[{self.num_done}/{self.num_cells}] {job.cell.text}: {seconds:.1f} s{outlook}")

    def finished_elsewhere(self, job: Job) -> None:
        """Count a cell that another process finished."""
        self.num_done += 1
        self.steps_left -= job.num_steps

    def failed(self, job: Job, error: str, num_left: int) -> None:
        """Say which cell failed, and why."""
        self.num_done += 1
        self.steps_left -= num_left
        self.say(f"[{self.num_done}/{self.num_cells}] {job.cell.text}: FAILED, {error}")

    def stopping(self) -> None:
        """Say that it takes a moment."""
        self.say("Stopping after the steps in progress, which are kept. Press Ctrl-C again to stop at once.")

    def refresh(self, running: Sequence[str], num_waiting: int, trouble: str = "") -> None:
        """Say once why cells have to wait."""
        if trouble and trouble != self.trouble:
            self.say(f"Waiting: {trouble}")
        self.trouble = trouble

    @property
    def rate(self) -> float:
        """Steps per second so far."""
        return self.steps_done / max(time.perf_counter() - self.begin, 1e-9)

    def seconds_left(self) -> float | None:
        """Return how long the rest will take at the speed so far, None if nothing was done yet."""
        return self.steps_left / self.rate if self.steps_done else None


class Silent(Display):
    """Says nothing."""

    def say(self, text: str) -> None:
        """Say nothing."""


class Bar(Display):
    """A bar, and what runs below it: for terminals."""

    def __init__(self, missing: Sequence[Job], num_cells: int, name: str, live: Any) -> None:
        super().__init__(missing, num_cells)
        self.name, self.live, self.total = name, live, max(self.steps_left, 1)

    def say(self, text: str) -> None:
        """Say a line above the bar."""
        self.live.console.print(text, highlight=False, markup=False)

    def refresh(self, running: Sequence[str], num_waiting: int, trouble: str = "") -> None:
        """Draw how far it is."""
        super().refresh(running, num_waiting, trouble)
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        left = self.seconds_left()
        pace = "" if left is None else f", {self.rate:.1f} steps/s, about {duration(left)} left, until {clock(left)}"
        bar = Table.grid(padding=(0, 1))
        bar.add_row(
            ProgressBar(total=self.total, completed=self.total - self.steps_left, width=BAR_WIDTH),
            Text(f"{self.num_done}/{self.num_cells} cells{pace}"),
        )
        title = Text(self.name, style="bold", overflow="ellipsis", no_wrap=True)
        now = [f"running: {text}" for text in running[:MAX_SHOWN]]
        if len(running) > MAX_SHOWN:
            now.append(f"and {len(running) - MAX_SHOWN} more")
        if trouble:
            now = [f"waiting: {trouble}"]
        elif not running and num_waiting:
            now = [f"{num_waiting} cells are run by other processes"]
        lines = [Text(f"  {text}", style="dim", overflow="ellipsis", no_wrap=True) for text in now]
        self.live.update(Group(title, bar, *lines))


class NotebookBar(Display):
    """A bar below the cell of a notebook; lines only for what went wrong."""

    def __init__(self, missing: Sequence[Job], num_cells: int, name: str, report_fn: Report) -> None:
        super().__init__(missing, num_cells)
        self.name, self.report_fn, self.total = name, report_fn, max(self.steps_left, 1)

    def finished(self, job: Job, seconds: float) -> None:
        """Count a cell."""
        self.num_done += 1

    def refresh(self, running: Sequence[str], num_waiting: int, trouble: str = "") -> None:
        """Draw how far it is."""
        super().refresh(running, num_waiting, trouble)
        self.report_fn(1.0 - self.steps_left / self.total, f"{self.name}, {self.num_done} of {self.num_cells} cells")


def duration(seconds: float) -> str:
    """Return seconds as "40 s", "12 min" or "3.5 h"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def clock(seconds: float) -> str:
    """Return the time of day in this many seconds, with the day if it is not today."""
    end, now = datetime.now() + timedelta(seconds=seconds), datetime.now()
    return end.strftime("%H:%M" if end.date() == now.date() else "%a %H:%M")


@contextmanager
def shown(name: str, missing: Sequence[Job], num_cells: int, *, is_shown: bool) -> Iterator[Display]:
    """Give a display: a bar on a terminal and in a notebook, lines in a log, nothing if it is not wanted."""
    if not is_shown:
        yield Silent(missing, num_cells)
        return
    if is_notebook():
        with progress_bar(name, is_shown=True) as report:
            yield NotebookBar(missing, num_cells, name, report)
        return
    if not sys.stderr.isatty():
        yield Display(missing, num_cells)
        return
    from rich.console import Console
    from rich.live import Live

    live = Live(console=Console(stderr=True), transient=True, refresh_per_second=4)
    with progress_bar(name, is_shown=False), live:  # what is computed here shows no bars of its own
        yield Bar(missing, num_cells, name, live)
