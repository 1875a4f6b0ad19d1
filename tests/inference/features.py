"""Slippery grids whose reward is linear in a few features: the problems that proposals are for."""

import numpy as np
from scipy import sparse

from journeyman.demonstrations import Demonstration
from journeyman.experts import SimulatedExpert
from journeyman.mdp import FiniteMDP
from journeyman.problem import Problem
from journeyman.rewards import LinearFeatures, Normal


def feature_grid(
    side: int, num_features: int, *, discount: float = 0.9, beta: float = 2.0, seed: int = 0, slip: float = 0.1
) -> Problem:
    """Return a problem on a square grid, four moves, each cell of one of some kinds that have unknown rewards."""
    num_states = side * side
    rows, columns = np.divmod(np.arange(num_states), side)
    moved = [
        sparse.csr_array(
            (np.ones(num_states), (np.arange(num_states), _clipped(rows + d, side) * side + _clipped(columns + e, side))),
            shape=(num_states, num_states),
        )
        for d, e in ((-1, 0), (1, 0), (0, -1), (0, 1))
    ]
    anywhere = slip / 4.0 * (moved[0] + moved[1] + moved[2] + moved[3])
    mdp = FiniteMDP.from_matrices([(1.0 - slip) * matrix + anywhere for matrix in moved], discount=discount)
    kinds = np.random.default_rng(seed).integers(num_features, size=num_states)
    return Problem(mdp, LinearFeatures(np.eye(num_features)[kinds], mdp), Normal(num_features), beta)


def _clipped(places: np.ndarray, side: int) -> np.ndarray:
    return np.clip(places, 0, side - 1)


def answers(problem: Problem, count: int, seed: int = 0, theta: np.ndarray | None = None) -> tuple[Demonstration, ...]:
    """Return what an expert with a reward from the prior does in `count` states."""
    rng = np.random.default_rng(seed)
    drawn = rng.standard_normal(problem.reward_model.num_parameters)
    reward = problem.reward_model.reward(drawn if theta is None else theta)
    expert = SimulatedExpert(problem.mdp, reward, problem.expert, seed=seed)
    return expert.answers(rng.integers(problem.mdp.num_states, size=count))
