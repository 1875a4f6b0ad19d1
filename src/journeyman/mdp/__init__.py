"""Finite Markov decision processes: model, solvers, policies, simulation."""

from journeyman.mdp.discretised import Discretised
from journeyman.mdp.episodes import Episode, sample_episode
from journeyman.mdp.estimation import EstimatedDynamics, estimate_dynamics
from journeyman.mdp.grid import Grid
from journeyman.mdp.lattice import Lattice
from journeyman.mdp.model import FiniteMDP
from journeyman.mdp.policies import action_probabilities, evaluate_policy, occupancy
from journeyman.mdp.solvers import Solution, q_values, solve, solve_batch

__all__ = [
    "Discretised",
    "Episode",
    "EstimatedDynamics",
    "FiniteMDP",
    "Grid",
    "Lattice",
    "Solution",
    "action_probabilities",
    "estimate_dynamics",
    "evaluate_policy",
    "occupancy",
    "q_values",
    "sample_episode",
    "solve",
    "solve_batch",
]
