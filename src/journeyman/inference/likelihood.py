"""The likelihood of demonstrated actions, straight from its formula.

log p(D | theta) = sum over s, a of n(s, a) log pi(a | s),   pi(. | s) given Q(s, .) by the expert's model
"""

from collections.abc import Iterator

import numpy as np

from journeyman.experts import Boltzmann
from journeyman.problem import Problem
from journeyman.types import AnyArray, FloatArray


def log_likelihoods(problem: Problem, counts: AnyArray, rewards: FloatArray, values: FloatArray) -> FloatArray:
    """Return the log likelihood `[M]` of counts `[S, A]` under rewards `[M, S]` or `[M, S, A]` with values `[M, S]`.

    Goes through states with data one by one: memory stays at `[M, A]`. Minus infinity only where a chance underflows.
    """
    total = np.zeros(len(values))
    for s, q in _q_of_states_with_data(problem, counts, rewards, values):
        used = counts[s] > 0
        total += problem.expert.log_policy(q)[:, used] @ counts[s, used]
    return total


def log_likelihood_error(
    problem: Problem, counts: AnyArray, rewards: FloatArray, values: FloatArray, value_error: float
) -> float:
    """Return a bound on the error of log likelihoods if action values are known within `value_error`.

    For a Boltzmann expert each action's moves by at most 2 beta times that; for another, to first order, by its slopes.
    """
    if type(problem.expert) is Boltzmann:  # a subclass may be steeper
        return 2.0 * problem.expert.beta * float(counts.sum()) * value_error
    slopes = np.zeros(len(values))
    for s, q in _q_of_states_with_data(problem, counts, rewards, values):
        pulled = np.where(np.isneginf(q), 0.0, problem.expert.pull_back(q, counts[s].astype(np.float64)))
        slopes += np.abs(pulled).sum(axis=1)
    return 2.0 * float(slopes.max()) * value_error


def _q_of_states_with_data(
    problem: Problem, counts: AnyArray, rewards: FloatArray, values: FloatArray
) -> Iterator[tuple[int, FloatArray]]:
    """Yield each state with data and its action values `[M, A]`."""
    mdp = problem.mdp
    for s in np.flatnonzero(counts.sum(axis=1) > 0).tolist():
        q = np.full((len(values), mdp.num_actions), -np.inf)
        for a in np.flatnonzero(mdp.available[s]).tolist():
            next_states, probabilities = mdp.next_states(s, a)
            reward = rewards[:, s] if rewards.ndim == 2 else rewards[:, s, a]
            q[:, a] = reward + mdp.discount * (values[:, next_states] @ probabilities)
        yield s, q
