"""Test quantities: what the truth is compared with posterior draws by.

The log likelihood depends on parameters and data together; it finds mistakes that single parameters hide (Modrak et al.
2023). V*(rho) and the regret of a fixed policy are what certificates are made of.
"""

import numpy as np

from journeyman.inference.likelihood import log_likelihoods
from journeyman.mdp import occupancy, solve
from journeyman.problem import Problem
from journeyman.types import FloatArray, IntArray

TIE_TOLERANCE = 1e-7  # above what rounding leaves in tracked values, far below what data can tell
DERIVED = ("log likelihood", "V*(rho)", "regret")


def quantity_names(problem: Problem, parameters: tuple[int, ...]) -> tuple[str, ...]:
    """Return the names of the quantities: three derived ones, then the parameters."""
    return (*DERIVED, *(problem.reward_model.parameter_name(index) for index in parameters))


def fixed_policy(rng: np.random.Generator, problem: Problem) -> IntArray:
    """Return the policy `[S]` whose regret is tested: optimal for one draw of the prior, apart from truth and data."""
    drawn = problem.prior.sample(rng, 1)[0]
    return solve(problem.mdp, problem.reward_model.reward(drawn)).policy


def quantities(
    problem: Problem,
    counts: IntArray,
    policy: IntArray,
    parameters: tuple[int, ...],
    theta: FloatArray,
    values: FloatArray,
) -> FloatArray:
    """Return the quantities `[M, Q]` of parameters `[M, D]` with optimal values `[M, S]`.

    Regret is that of `policy` from the initial states: never negative, exactly 0 where it is 0 up to rounding.
    """
    mdp = problem.mdp
    rewards = problem.reward_model.reward(theta)
    visits = occupancy(mdp, policy)
    of_policy = rewards if rewards.ndim == 2 else rewards[:, np.arange(mdp.num_states), policy]
    best = values @ mdp.initial
    regret = best - of_policy @ visits
    regret[regret <= TIE_TOLERANCE * (1.0 + np.abs(best))] = 0.0
    likelihood = log_likelihoods(problem, counts, rewards, values)
    return np.column_stack([likelihood, best, regret, theta[:, list(parameters)]])
