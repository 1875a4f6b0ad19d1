"""Numbers of Figure 1: what is believed after some answers, and where the next demonstration tells most.

The world is `jail`: three obstacles of unknown reward fence in the lower right, and from one cell nobody leaves. The
belief is exact up to the error of a fine net (`enumerate`), and questions are asked by Reward-EIG, so that the picture
is a step of active learning as in the paper. The layout is ours, for the paper's is in a figure only.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy import ndimage

from journeyman.acquisition import Scores, score
from journeyman.checks import whole_number
from journeyman.demonstrations import Demonstration
from journeyman.errors import InputError
from journeyman.experts import Question
from journeyman.inference import Posterior, infer
from journeyman.problem import Problem
from journeyman.types import BoolArray
from journeyman.worlds import World, make_world

NUM_POINTS, NUM_HISTORIES = 4096, 1024  # errors of about 0.01 nats where the best start tells 1.8
NEGLIGIBLE = 1e-6  # chance of all points together that are left out: changes information by far less than its error
CLEAR = 2.0  # standard errors by which a start must tell less than the best to be worse for certain


@dataclass(frozen=True, eq=False)
class Belief:
    """What is believed after some demonstrations, and how start states rate as the next query.

    information: Reward-EIG, action_entropy: the older function; both for trajectories.
    """

    demonstrations: tuple[Demonstration, ...]
    posterior: Posterior
    information: Scores
    action_entropy: Scores


@dataclass(frozen=True, eq=False)
class Task:
    """A jail world and the belief after demonstrations that Reward-EIG asked for."""

    world: World
    belief: Belief


class StartSummary(NamedTuple):
    """Where to ask next, for one belief.

    Parameters
    ----------
    seed, num_demonstrations
        Which world, and how much was shown.
    best_start, information, standard_error
        The start of highest Reward-EIG in nats, with the Monte-Carlo error.
    num_rivals
        Other starts that are not clearly worse: by less than 2 standard errors of the difference.
    is_corner, is_fenced
        Whether the best start is the bottom right cell, and whether it is one of those that the obstacles fence in.
    jail_information, least_information
        Reward-EIG at the jail, and the least of all starts.
    entropy_start, entropy, entropy_information
        The start that action entropy chooses, its score, and what a demonstration from there tells (Reward-EIG).
    """

    seed: int
    num_demonstrations: int
    best_start: int
    information: float
    standard_error: float
    num_rivals: int
    is_corner: bool
    is_fenced: bool
    jail_information: float
    least_information: float
    entropy_start: int
    entropy: float
    entropy_information: float


def illustrate_task(
    seed: int = 0, num_demonstrations: int = 1, *, num_points: int = NUM_POINTS, num_histories: int = NUM_HISTORIES
) -> Task:
    """Return the jail world of a seed and the belief after so many trajectories, each asked for by Reward-EIG.

    Parameters
    ----------
    num_points
        Size of the net that carries the belief.
    num_histories
        Sampled trajectories per start state.
    """
    whole_number(num_demonstrations, "num_demonstrations", 0, "0 shows the prior.")
    world = make_world("jail", seed)
    belief = first_belief(num_points, num_histories)
    for _ in range(num_demonstrations):
        shown, start = belief.demonstrations, belief.information.best_state()
        visit = sum(item.start_state == start for item in shown)
        answer = world.make_expert(seed).demonstrate(Question(start, visit, "trajectory", world.max_length))
        belief = belief_after(world.problem, (*shown, answer), world.max_length, num_points, num_histories)
    return Task(world, belief)


@lru_cache(maxsize=4)
def first_belief(num_points: int = NUM_POINTS, num_histories: int = NUM_HISTORIES) -> Belief:
    """Return the belief before any demonstration, which is the same for all seeds."""
    world = make_world("jail", 0)
    return belief_after(world.problem, (), world.max_length, num_points, num_histories)


def belief_after(
    problem: Problem, shown: tuple[Demonstration, ...], length: int, num_points: int, num_histories: int
) -> Belief:
    """Return the belief after some demonstrations, with the scores of trajectories of at most `length` steps."""
    posterior = without_negligible(infer(problem, shown, "enumerate", num_points=num_points))
    information, entropy = (
        score(posterior, name, kind="trajectory", length=length, num_histories=num_histories)
        for name in ("reward_eig", "action_entropy")
    )
    return Belief(shown, posterior, information, entropy)


def without_negligible(posterior: Posterior, chance: float = NEGLIGIBLE) -> Posterior:
    """Return the posterior without the lightest samples, which together have at most this chance: scoring is faster."""
    order = np.argsort(posterior.weights)
    kept = np.sort(order[np.cumsum(posterior.weights[order]) > chance])
    weights = posterior.weights[kept]
    return replace(
        posterior, theta=posterior.theta[kept], values=posterior.values[kept], weights=weights / weights.sum()
    )


def fenced_in(problem: Problem) -> BoolArray:
    """Return `[S]` ordinary cells from which every way to the goal leads through an obstacle."""
    grid = problem.mdp.grid
    if grid is None or grid.kinds is None:
        raise InputError("a fence needs a grid whose cells have kinds, got none. Use the jail world.")
    kinds = np.array(grid.kinds)
    is_free = np.zeros((grid.num_rows, grid.num_columns), dtype=bool)
    is_free[grid.places[:, 0], grid.places[:, 1]] = (kinds == "neutral") | (kinds == "goal")
    regions = ndimage.label(is_free)[0][grid.places[:, 0], grid.places[:, 1]]
    return np.asarray((kinds == "neutral") & ~np.isin(regions, regions[kinds == "goal"]))


def summarise_start(task: Task) -> StartSummary:
    """Say which start tells most, how surely, and what the jail tells."""
    problem, belief = task.world.problem, task.belief
    values, errors = belief.information.values, belief.information.standard_error
    if errors is None or problem.mdp.grid is None or problem.mdp.grid.kinds is None:
        raise InputError("a summary of starts needs trajectories on a grid with kinds. Use illustrate_task.")
    best, jail = belief.information.best_state(), problem.mdp.grid.kinds.index("jail")
    asked = np.flatnonzero(problem.queryable)
    margin = CLEAR * np.hypot(errors[asked], errors[best])
    entropy_start = belief.action_entropy.best_state()
    return StartSummary(
        seed=task.world.seed,
        num_demonstrations=len(belief.demonstrations),
        best_start=best,
        information=float(values[best]),
        standard_error=float(errors[best]),
        num_rivals=int((values[asked] >= values[best] - margin).sum()) - 1,
        is_corner=best == problem.mdp.num_states - 1,
        is_fenced=bool(fenced_in(problem)[best]),
        jail_information=float(values[jail]),
        least_information=float(values[asked].min()),
        entropy_start=entropy_start,
        entropy=float(belief.action_entropy.values[entropy_start]),
        entropy_information=float(values[entropy_start]),
    )
