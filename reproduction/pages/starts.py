"""Beliefs of Figure 1: before any demonstration, and after one, on every instance."""

from typing import NamedTuple

from matplotlib.figure import Figure

from reproduction.task_belief import StartSummary, Task, illustrate_task, summarise_start
from reproduction.task_figure import task_figure

NUM_HISTORIES = 4096  # before any demonstration, where the two best starts are close
START_CAPTION = (
    "**Figure 1 of the paper: the task, on our layout (seed 0, after one demonstration).** (a) true rewards and "
    "optimal actions; (b) what is believed about the three obstacles; (c) Reward-EIG of a demonstration from each "
    "start; (d) action entropy. What to see: in (c) the starts behind the obstacles tell most and the jail tells "
    "nothing; in (d) the jail has the highest score."
)


class Starts(NamedTuple):
    """What every start tells: the task that is drawn, and summaries before and after a demonstration."""

    task: Task
    before: StartSummary
    after: tuple[StartSummary, ...]


def beliefs(num_seeds: int) -> Starts:
    """Return the beliefs of so many instances."""
    before = summarise_start(illustrate_task(0, 0, num_histories=NUM_HISTORIES))
    tasks = [illustrate_task(seed, 1) for seed in range(num_seeds)]
    return Starts(tasks[0], before, tuple(summarise_start(task) for task in tasks))


def start_picture(starts: Starts) -> Figure:
    """Return the drawing of the task."""
    return task_figure(starts.task)
