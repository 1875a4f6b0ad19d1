"""The figures of docs/kernel-priors.md.

What 15 answers tell on a 12x12 grid whose reward is drawn from the kernel, with a kernel prior and with independent
rewards; and how far a cell speaks for others beside a wall.
"""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from journeyman import Demonstration, Normal, PerState, Problem, SimulatedExpert, infer, kernel_rewards
from journeyman.problem_files import load_problem
from journeyman.report.drawing.cells import new_figure
from journeyman.report.drawing.palette import VERMILLION
from journeyman.rewards import kernel_covariance
from journeyman.worlds.gridworld import gridworld

SIDE, NUM_ANSWERS, BETA, SEED = 12, 15, 4.0, 3
KERNEL: dict[str, Any] = {"length_scale": 3.0, "std": 1.0}
ARROWS = {1: (0, -0.35), 2: (0.35, 0), 3: (0, 0.35), 4: (-0.35, 0)}
WALLED = """
map = '''
S........
.........
########.
.........
.........
'''
discount = 0.9
[reward]
model = "per_state"
[prior]
kind = "kernel"
kernel = "KERNEL"
over = "OVER"
length_scale = 2.0
std = 1.0
share = 1.0
[expert]
beta = 1.0
"""


def drawn(axes: Any, numbers: np.ndarray, title: str, low: float, high: float, colours: str) -> Any:
    """Draw numbers `[rows, columns]` as colours."""
    shown = axes.imshow(numbers, cmap=colours, vmin=low, vmax=high)
    axes.set_title(title)
    axes.set_xticks([])
    axes.set_yticks([])
    return shown


def posteriors() -> Figure:
    """Draw truth, means and standard deviations after the same answers."""
    mdp = gridworld(SIDE, SIDE, discount=0.9)
    values, vectors = np.linalg.eigh(kernel_covariance(mdp, **KERNEL))
    rng = np.random.default_rng(SEED)
    truth = vectors @ (np.sqrt(np.maximum(values, 0.0)) * rng.standard_normal(mdp.num_states))
    expert = SimulatedExpert(mdp, truth, BETA, seed=SEED)
    asked = rng.choice(mdp.num_states, size=NUM_ANSWERS, replace=False).tolist()
    answers = [Demonstration.annotation(s, int(rng.choice(5, p=expert.policy[s]))) for s in asked]
    problems = {
        "kernel prior": Problem(mdp, *kernel_rewards(mdp, **KERNEL), BETA),
        "independent rewards": Problem(mdp, PerState(mdp), Normal(mdp.num_states, 0.0, 1.0), BETA),
    }
    figure = new_figure(9.5, 6.2)
    axes = figure.subplots(2, 3)
    size = float(np.abs(truth).max())
    shape = (SIDE, SIDE)
    drawn(axes[0, 0], truth.reshape(shape), "true reward, and the answers", -size, size, "RdBu")
    for column, (name, problem) in enumerate(problems.items(), start=1):
        posterior = infer(problem, answers, seed=0, num_threads=1)
        mean, std = posterior.mean_reward(), posterior.reward_std()
        fit = float(np.corrcoef(mean, truth)[0, 1])
        title = f"{name}: mean\ncorrelation with the truth {fit:.2f}"
        means = drawn(axes[0, column], mean.reshape(shape), title, -size, size, "RdBu")
        stds = drawn(axes[1, column], std.reshape(shape), f"{name}: sd", 0.0, 1.0, "Purples")
    for panel, colour in [*((panel, "black") for panel in axes[0]), *((panel, "white") for panel in axes[1, 1:])]:
        look = {"arrowstyle": "->", "color": colour}
        for item in answers:
            state, action = item.steps[0]
            row, column = divmod(state, SIDE)
            if action in ARROWS:
                right, down = ARROWS[action]
                panel.annotate("", (column + right, row + down), (column - right, row - down), arrowprops=look)
            else:
                panel.plot(column, row, "o", color=colour, markersize=4)
    axes[1, 0].axis("off")
    figure.colorbar(means, ax=axes[0, 2], label="reward")
    figure.colorbar(stds, ax=axes[1, 2], label="sd (prior: 1)")
    return figure


def reach() -> Figure:
    """Draw how much a cell beside a wall tells about the others, over positions and over the graph."""
    figure = new_figure(9.5, 3.9)
    axes = figure.subplots(2, 3)
    with tempfile.TemporaryDirectory() as folder:
        for column, kernel in enumerate(("squared_exponential", "matern32", "matern12")):
            for row, over in enumerate(("positions", "graph")):
                path = Path(folder) / "problem.toml"
                path.write_text(WALLED.replace("KERNEL", kernel).replace("OVER", over), encoding="utf-8")
                problem = load_problem(path)
                mdp, features = problem.mdp, problem.reward_model.features
                covariance = np.asarray(features @ (features @ problem.prior.covariance).T)
                places = mdp.grid.places
                marked = int(np.flatnonzero((places == [1, 3]).all(axis=1))[0])
                picture = np.full((5, 9), np.nan)
                picture[tuple(places.T)] = covariance[marked]
                title = f"{kernel.replace('squared_exponential', 'squared exp.')}, over = {over}"
                shown = drawn(axes[row, column], picture, title, 0.0, 1.0, "Purples")
                axes[row, column].set_facecolor("0.75")
                axes[row, column].plot(3, 1, "x", color=VERMILLION, markersize=8, markeredgewidth=2)
    figure.colorbar(shown, ax=axes, label="correlation with the cell x")
    return figure
