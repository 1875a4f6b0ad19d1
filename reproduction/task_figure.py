"""Figure 1 of the paper: the task, the belief, and what a demonstration from each start state would tell.

Beside Reward-EIG stands action entropy, which asks at the jail, where there is nothing to learn.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from journeyman.acquisition import Scores
from journeyman.errors import InputError
from journeyman.extras import require
from journeyman.report.drawing.cells import add_legend, plain
from journeyman.report.drawing.maps import checked_picture_path, save_figure, state_map
from journeyman.report.scores import draw_scores
from journeyman.report.world.summary import summarise_world
from journeyman.storage.files import made_folder
from journeyman.wording import counted
from journeyman.worlds.jail import OBSTACLES
from reproduction.result_table import ResultTable, Written, write_tables
from reproduction.task_belief import (
    NUM_HISTORIES,
    NUM_POINTS,
    StartSummary,
    Task,
    illustrate_task,
    summarise_start,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {"mud": "#8c6239", "water": "#2f77bd", "lava": "#c0392b"}  # as in the paper
NUM_BINS, RIDGE_HEIGHT = 40, 0.85
ROUNDING = 1e-9  # nats: less is a rounding error


def write_figure_1(
    folder: str | Path,
    seeds: Sequence[int] = range(16),
    *,
    num_demonstrations: int = 1,
    num_points: int = NUM_POINTS,
    num_histories: int = NUM_HISTORIES,
    formats: Sequence[str] = ("png",),
) -> Written:
    """Draw the task for the first of `seeds`, and tabulate for all of them which start tells most.

    Options as in `illustrate_task`; `formats` are the endings of the picture, one file each.

    Returns
    -------
    Paths of `figure-1.png`, `figure-1.md` and `figure-1.csv`, and the table as text.
    """
    if not len(seeds):
        raise InputError("figure 1 must have at least one seed, got none. Use range(16) for the paper's number.")
    accuracy = {"num_points": num_points, "num_histories": num_histories}
    place = made_folder(folder, "results")
    pictures = [checked_picture_path(place / f"figure-1.{ending}") for ending in formats]
    before = summarise_start(illustrate_task(seeds[0], 0, **accuracy))
    tasks = [illustrate_task(seed, num_demonstrations, **accuracy) for seed in seeds]
    for picture in pictures:
        save_figure(task_figure(tasks[0]), picture)
    written = write_tables(place, [start_table(before, [summarise_start(task) for task in tasks])])
    return Written([*pictures, *written.paths], written.text)


def start_table(before: StartSummary, after: Sequence[StartSummary]) -> ResultTable:
    """Return the best start before any demonstration, which does not depend on the seed, and for each seed after."""
    rows = [("all", *_row(before)), *((str(item.seed), *_row(item)) for item in after)]
    return ResultTable(
        "figure-1",
        "Figure 1: the most informative start",
        (
            "seed",
            "shown",
            "best start",
            "nats",
            "s.e.",
            "rivals",
            "bottom right",
            "fenced in",
            "nats at the jail",
            "entropy's start",
            "nats there",
        ),
        tuple(rows),
        start_notes(before, after),
    )


def _row(item: StartSummary) -> tuple[Any, ...]:
    return (
        item.num_demonstrations,
        item.best_start,
        item.information,
        item.standard_error,
        item.num_rivals,
        item.is_corner,
        item.is_fenced,
        without_rounding(item.jail_information),
        item.entropy_start,
        without_rounding(item.entropy_information),
    )


def without_rounding(information: float) -> float:
    """Return information, 0 where it is a rounding error."""
    return 0.0 if abs(information) < ROUNDING else information


def start_notes(before: StartSummary, after: Sequence[StartSummary]) -> tuple[str, ...]:
    """Return in words how the paper's claim fares."""
    size, shown, everyone = len(after), counted(after[0].num_demonstrations, "demonstration"), [before, *after]
    num_least = sum(item.jail_information <= item.least_information + ROUNDING for item in everyone)
    most = max(item.jail_information for item in everyone)
    num_wasted = sum(item.entropy_information < ROUNDING for item in everyone)
    corner = "is the bottom right cell, as in the paper" if before.is_corner else "is not the bottom right cell"
    return (
        "shown: demonstrations so far, trajectories that Reward-EIG asked for. nats: Reward-EIG of a trajectory from "
        "the best start, from the jail, and from the start that action entropy chooses. s.e.: Monte-Carlo error at the "
        "best start. rivals: other starts that are less than two standard errors of the difference below it.",
        f"Before any demonstration, when all seeds are alike, the best start {corner}: {before.information:.3f} nats, "
        f"standard error {before.standard_error:.3f}, {counted(before.num_rivals, 'rival')}.",
        f"After {shown}: the bottom right cell in {sum(item.is_corner for item in after)} of {size} seeds, a cell that "
        f"the obstacles fence in in {sum(item.is_fenced for item in after)} of {size}.",
        f"The jail tells {'nothing' if most < ROUNDING else f'up to {most:.1e} nats'}, and no start tells less, in "
        f"{num_least} of {len(everyone)} beliefs.",
        f"Action entropy asks where a demonstration tells nothing in {num_wasted} of {len(everyone)} beliefs.",
        "The layout is ours, for the paper's is in a figure only; that figure shows one belief, at a step which the "
        "paper does not name.",
    )


def task_figure(task: Task) -> "Figure":
    """Return four panels: the truth, the belief, Reward-EIG and action entropy of every start."""
    summary, belief = summarise_world(task.world), task.belief
    mdp = task.world.problem.mdp
    figure: Figure = require("matplotlib.figure", "plot").Figure(figsize=(11.5, 10.6), layout="constrained")
    truth, known, information, entropy = figure.subplots(2, 2).flat
    state_map(truth, mdp, summary.reward, label="true reward", optimal=summary.optimal)
    truth.set_title("(a) The task: true rewards, and what is optimal", loc="left", fontsize=11)
    draw_belief(known, task)
    shown = counted(len(belief.demonstrations), "demonstration")
    known.set_title(f"(b) Belief about the obstacles after {shown}", loc="left", fontsize=11)
    for ax, scores, title in (
        (information, belief.information, "(c) Reward-EIG: what a demonstration would tell"),
        (
            entropy,
            belief.action_entropy,
            f"(d) Action entropy: asks at {_kind_at(task, belief.action_entropy.best_state())}",
        ),
    ):
        _draw_start_scores(ax, task, scores)
        ax.set_title(title, loc="left", fontsize=11, pad=20)
    title = f"{task.world.name}, seed {task.world.seed}: demonstrations are trajectories of up to"
    figure.suptitle(plain(f"{title} {counted(task.world.max_length, 'step')}"))
    add_legend(figure, mdp, summary.optimal)
    return figure


def _kind_at(task: Task, state: int) -> str:
    """Return what kind of cell a state is, in words."""
    grid = task.world.problem.mdp.grid
    kinds = None if grid is None else grid.kinds
    return f"state {state}" if kinds is None or kinds[state] == "neutral" else f"the {kinds[state]}"


def _draw_start_scores(ax: "Axes", task: Task, scores: Scores) -> None:
    asked = np.array(sorted({item.start_state for item in task.belief.demonstrations}), dtype=np.int64)
    draw_scores(ax, task.world.problem.mdp, scores, asked, scores.best_state())


def draw_belief(ax: "Axes", task: Task) -> None:
    """Draw the distribution of each obstacle's reward, one above the other, with its truth."""
    belief = task.belief
    means, deviations = belief.posterior.mean_parameters(), belief.posterior.parameter_std()
    for index, name in enumerate(OBSTACLES):
        base = len(OBSTACLES) - 1 - index
        density, edges = np.histogram(
            belief.posterior.theta[:, index], NUM_BINS, (-100.0, 0.0), weights=belief.posterior.weights
        )
        heights = RIDGE_HEIGHT * density / density.max()
        ax.stairs(base + heights, edges, baseline=base, fill=True, color=COLOURS[name], alpha=0.55)
        ax.stairs(base + heights, edges, baseline=base, color=COLOURS[name], linewidth=1.2)
        truth = float(task.world.true_parameters[index])
        ax.plot([truth, truth], [base, base + RIDGE_HEIGHT], color="black", linewidth=1.6, linestyle="--")
        text = f"{name}\n{means[index]:.0f} ± {deviations[index]:.0f}"
        ax.text(-103.0, base + 0.35, text, ha="right", va="center", color=COLOURS[name], fontsize=10)
    ax.plot([], [], color="black", linewidth=1.6, linestyle="--", label="truth")
    ax.set_xlim(-100.0, 0.0)
    ax.set_ylim(0.0, len(OBSTACLES))
    ax.set_yticks([])
    ax.set_xlabel("reward (prior: uniform from -100 to 0); at the left mean ± standard deviation")
    ax.legend(loc="upper left", fontsize=9, frameon=False)
    for side in ("left", "right", "top"):
        ax.spines[side].set_visible(False)
