"""Random gridworlds of the paper: an independent reward in every cell."""

import numpy as np

from journeyman.checks import one_of, whole_number
from journeyman.errors import InputError
from journeyman.problem import Problem
from journeyman.rewards import Normal, PerState
from journeyman.types import BoolArray, FloatArray
from journeyman.worlds.gridworld import check_size, gridworld
from journeyman.worlds.world import World, world_rng

TERMINAL_RULES = ("published", "independent")


def random_grid(
    seed: int = 0,
    *,
    size: int = 6,
    beta: float = 2.0,
    std: float = 3.0,
    terminals: str = "published",
    num_initial: int = 0,
    discount: float = 0.9,
    slip: float = 0.1,
) -> World:
    """Square grid with a N(0, std^2) reward in every cell, some of them terminal.

    Parameters
    ----------
    terminals
        "published": each cell with chance 0.1, and the tenth with the highest *true* rewards; the dynamics then tell
        about the reward, so no posterior can be calibrated. "independent": the same rule on rewards drawn apart.
    num_initial
        0: the initial state is uniform over all cells; else so many non-terminal cells, drawn uniformly (two draws may
        coincide).
    """
    size = whole_number(size, "size", 1, "It counts the rows, and the columns.")
    num_initial = whole_number(num_initial, "num_initial", 0, "0 means uniform over all cells.")
    one_of(terminals, TERMINAL_RULES, "terminals", "Use 'independent' where a posterior has to be calibrated.")
    check_size(size, size)
    num_states = size * size
    prior = Normal(num_states, 0.0, std)
    rng = world_rng(f"random-grid-{size}", seed)
    truth = prior.sample(rng, 1)[0]
    ranked = truth if terminals == "published" else prior.sample(rng, 1)[0]
    is_terminal = _terminal_cells(rng, ranked)
    initial = np.full(num_states, 1.0 / num_states)
    if num_initial > 0:
        ordinary = np.flatnonzero(~is_terminal)
        if ordinary.size == 0:
            raise InputError(
                f"a grid with initial states must have a cell that is not terminal, got none for seed {seed}. "
                "Use another seed or a larger size."
            )
        drawn = rng.choice(ordinary, size=num_initial)
        initial = np.bincount(drawn, minlength=num_states) / num_initial
    mdp = gridworld(size, size, discount=discount, slip=slip, terminal=is_terminal, initial=initial)
    problem = Problem(mdp, PerState(mdp), prior, beta)
    is_prior_exact = terminals != "published"
    return World(f"random-{size}x{size}", seed, problem, truth, max_length=5, is_prior_exact=is_prior_exact)


def _terminal_cells(rng: np.random.Generator, rewards: FloatArray) -> BoolArray:
    """Return a tenth of cells by chance, and the tenth with the highest of `rewards`."""
    is_terminal = rng.random(rewards.size) < 0.1
    num_goals = rewards.size // 10
    if num_goals:
        is_terminal[np.argsort(rewards)[-num_goals:]] = True
    return is_terminal


def random_8x8(seed: int = 0, *, beta: float = 2.0, terminals: str = "published") -> World:
    """8x8 random grid: uniform initial states, beta 2 (a fairly noisy expert)."""
    return random_grid(seed, size=8, beta=beta, terminals=terminals)


def random_10x10(seed: int = 0, *, beta: float = 4.0, terminals: str = "published") -> World:
    """10x10 random grid: two initial states, beta 4 (a nearly optimal expert)."""
    return random_grid(seed, size=10, beta=beta, terminals=terminals, num_initial=2)
