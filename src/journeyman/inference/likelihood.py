"""The likelihood of demonstrated actions, straight from its formula, and the chances of actions that it is made of.

log p(D | theta, x) = sum over s, a of n(s, a) log pi(a | s),   pi(. | s) given Q(s, .) and x by the expert's model

for parameters x of the expert, where it has any that are not known. Q are the action values that the expert acts on:
optimal ones, or soft ones, which depend on x. With annotators n and x are those of each, and the sum goes over them.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from journeyman.experts import known_beta
from journeyman.mdp.soft import solve_soft
from journeyman.problem import Problem
from journeyman.types import AnyArray, FloatArray, IntArray


def is_soft(problem: Problem) -> bool:
    """Return whether the expert acts on soft values."""
    return getattr(problem.expert, "values", "optimal") == "soft"


def expert_values(
    problem: Problem, rewards: FloatArray, parameters: FloatArray, *, num_threads: int | None = None
) -> FloatArray:
    """Return the soft values `[M, G, S]` that each annotator acts on, for rewards and parameters `[M, E]`."""
    space, expert = problem.expert_space, problem.expert
    values: list[FloatArray] = []
    for group in range(space.num_groups):
        betas = np.ravel(expert.split(space.of_group(parameters, group))[0])  # type: ignore[attr-defined]
        start = values[-1] if values else None
        values.append(solve_soft(problem.mdp, rewards, betas, initial_values=start, num_threads=num_threads))
    return np.stack(values, axis=1)


def acted_on(problem: Problem, flat: FloatArray) -> FloatArray:
    """Return values that experts act on as likelihoods take them: soft ones `[M, G * S]` as `[M, G, S]`."""
    return flat.reshape(len(flat), -1, problem.mdp.num_states) if is_soft(problem) else flat


def action_values(problem: Problem, states: IntArray, theta: FloatArray, values: FloatArray) -> FloatArray:
    """Return Q `[M, K, A]` in some states, for parameters `[M, D]` and values `[M, S]`; minus infinity where no action.

    Only the values of next states are looked at: nothing else of size `[M, S]` is made.
    """
    mdp, model = problem.mdp, problem.reward_model
    rows = (states[:, None] * mdp.num_actions + np.arange(mdp.num_actions)).ravel()
    matrix = mdp.transition_matrix[rows]
    if 4 * matrix.nnz < mdp.num_states:
        needed, columns = np.unique(matrix.indices, return_inverse=True)
        matrix = sparse.csr_array((matrix.data, columns.ravel(), matrix.indptr), shape=(len(rows), len(needed)))
        values = values[:, needed].astype(np.float64, copy=False)
    expected = (matrix @ values.T).T.reshape(len(values), states.size, mdp.num_actions)
    paying = states if model.is_state_only else rows  # rewards of these states only: memory stays bounded
    flat = (model.features[paying] @ theta.T).T + model.offset[paying]
    rewards = flat.reshape(len(values), states.size, 1 if model.is_state_only else mdp.num_actions)
    return np.where(mdp.available[states], rewards + mdp.discount * expected, -np.inf)


def log_policies(problem: Problem, q: FloatArray, parameters: FloatArray, group: int = 0) -> FloatArray:
    """Return log pi `[M, ..., A]` of one annotator for action values `[M, ..., A]` and parameters `[M, E]` of all.

    Every chance of an action goes through here: each sample has its own parameters of the expert.
    """
    space = problem.expert_space
    if space.size == 0:
        return np.asarray(problem.expert.log_policy(q))
    own = _spread(space.of_group(parameters, group), q)
    return np.asarray(problem.expert.log_policy(q, own))  # type: ignore[call-arg]


def policy_slopes(
    problem: Problem, q: FloatArray, gradient: FloatArray, parameters: FloatArray, group: int = 0
) -> FloatArray:
    """Return the gradient `[M, ..., A]` in q of sum(gradient * log_policies(...)); 0 where an action does not exist."""
    space = problem.expert_space
    if space.size == 0:
        pulled = problem.expert.pull_back(q, gradient)
    else:
        own = _spread(space.of_group(parameters, group), q)
        pulled = problem.expert.pull_back(q, gradient, own)  # type: ignore[call-arg]
    return np.where(np.isneginf(q), 0.0, pulled)


def _spread(parameters: FloatArray, q: FloatArray) -> FloatArray:
    """Return parameters `[M, E]` with axes of length 1 for those of q `[M, ..., A]`."""
    return parameters.reshape(len(parameters), *(1,) * (q.ndim - 2), -1)


def no_parameters(size: int) -> FloatArray:
    """Return the parameters `[M, 0]` of experts that have none."""
    return np.zeros((size, 0))


class RewardsWhereAsked:
    """Rewards of parameters `[M, D]` in place of an array `[M, S]` or `[M, S, A]`: computed where one looks."""

    def __init__(self, problem: Problem, theta: FloatArray) -> None:
        self.model, self.theta = problem.reward_model, theta
        self.ndim = 2 if self.model.is_state_only else 3

    def __getitem__(self, place: tuple[Any, ...]) -> FloatArray:
        """Return the rewards `[M]` at `[:, s]` or `[:, s, a]`."""
        row = place[1] if self.ndim == 2 else place[1] * self.model.num_actions + place[2]
        return np.asarray((self.model.features[[row]] @ self.theta.T)[0] + self.model.offset[row])


def log_likelihoods(
    problem: Problem,
    counts: AnyArray,
    rewards: FloatArray | RewardsWhereAsked,
    values: FloatArray,
    parameters: FloatArray | None = None,
) -> FloatArray:
    """Return the log likelihood `[M]` of counts under rewards `[M, S]` or `[M, S, A]`.

    Goes through states with data one by one: memory stays at `[M, A]`. Minus infinity only where a chance underflows.

    Parameters
    ----------
    counts
        `[S, A]`, with annotators `[G, S, A]`.
    values
        That the expert acts on: `[M, S]`, soft ones `[M, G, S]`.
    parameters
        Of the expert, `[M, E]`; left out if it has none that are unknown.
    """
    total = np.zeros(len(values))
    parameters = no_parameters(len(values)) if parameters is None else parameters
    for group, _, answers, q in _q_of_states_with_data(problem, counts, rewards, values):
        used = answers != 0
        total += log_policies(problem, q, parameters, group)[:, used] @ answers[used]
    return total


def log_likelihood_error(
    problem: Problem,
    counts: AnyArray,
    rewards: FloatArray,
    values: FloatArray,
    value_error: float,
    parameters: FloatArray | None = None,
) -> float:
    """Return a bound on the error of log likelihoods if action values are known within `value_error`.

    For a Boltzmann expert each action's moves by at most 2 beta times that; for another, to first order, by its slopes.
    """
    beta = known_beta(problem.expert)
    if beta is not None:
        return 2.0 * beta * float(counts.sum()) * value_error
    slopes = np.zeros(len(values))
    parameters = no_parameters(len(values)) if parameters is None else parameters
    for group, _, answers, q in _q_of_states_with_data(problem, counts, rewards, values):
        gradient = np.broadcast_to(answers.astype(np.float64), q.shape)
        slopes += np.abs(policy_slopes(problem, q, gradient, parameters, group)).sum(axis=1)
    return 2.0 * float(slopes.max()) * value_error


def _q_of_states_with_data(
    problem: Problem, counts: AnyArray, rewards: FloatArray | RewardsWhereAsked, values: FloatArray
) -> Iterator[tuple[int, int, AnyArray, FloatArray]]:
    """Yield annotator, state, its answers `[A]` and action values `[M, A]`, for each annotator and state with data."""
    mdp = problem.mdp
    by_group = counts.reshape(-1, *counts.shape[-2:])
    for group, s in np.argwhere((by_group != 0).any(axis=2)).tolist():
        own = values if values.ndim == 2 else values[:, group]
        q = np.full((len(values), mdp.num_actions), -np.inf)
        for a in np.flatnonzero(mdp.available[s]).tolist():
            next_states, probabilities = mdp.next_states(s, a)
            reward = rewards[:, s] if rewards.ndim == 2 else rewards[:, s, a]
            q[:, a] = reward + mdp.discount * (own[:, next_states] @ probabilities)
        yield group, s, by_group[group, s], q
