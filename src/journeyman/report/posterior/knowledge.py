"""What a posterior knows: each parameter against its prior, each reward with its interval, each optimal action."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from journeyman.checks import share
from journeyman.inference.posterior import Posterior, weighted_quantile
from journeyman.problem import Problem
from journeyman.rewards import Discrete, MultivariateNormal, Prior, Uniform
from journeyman.types import FloatArray, IntArray

LEVEL = 0.95
HARDLY_LEARNED = 0.9  # share of the prior's standard deviation that is left


@dataclass(frozen=True, eq=False)
class ParameterKnowledge:
    """What is known about each of D parameters.

    names; mean, std `[D]` and intervals `[D, 2]` of chance `level` of the posterior; prior_std `[D]` and
    prior_intervals `[D, 2]`; remaining `[D]`: posterior over prior standard deviation, 1 where nothing was learned (1
    too where the prior knew).
    """

    names: tuple[str, ...]
    mean: FloatArray
    std: FloatArray
    intervals: FloatArray
    prior_intervals: FloatArray
    prior_std: FloatArray
    remaining: FloatArray
    level: float

    @property
    def hardly_learned(self) -> IntArray:
        """Indices of parameters that are nearly as unsure as before, least learned first."""
        order = np.argsort(-self.remaining, kind="stable")
        return order[(self.remaining[order] > HARDLY_LEARNED) & (self.prior_std[order] > 0.0)]


@dataclass(frozen=True, eq=False)
class RewardIntervals:
    """Mean, standard deviation `[N]` and interval `[N, 2]` of each reward.

    N = S where the reward depends on the state only; else one entry per available (state, action).
    """

    states: IntArray
    actions: IntArray | None
    mean: FloatArray
    std: FloatArray
    intervals: FloatArray
    level: float


@dataclass(frozen=True, eq=False)
class ActionCertainty:
    """How sure the best action is in the N states where there is a choice.

    states `[N]`; actions `[N]` of the apprentice; chances `[N]` that this action is optimal, ties included; rivals
    `[N]`: the other action that is most likely optimal; rival_chances `[N]`.
    """

    states: IntArray
    actions: IntArray
    chances: FloatArray
    rivals: IntArray
    rival_chances: FloatArray

    @property
    def order(self) -> IntArray:
        """Positions, least sure first."""
        return np.argsort(self.chances, kind="stable")


def parameter_knowledge(posterior: Posterior, level: float = LEVEL) -> ParameterKnowledge:
    """Compare the posterior of each parameter with its prior."""
    problem = posterior.problem
    before, std = prior_std(problem.prior), posterior.parameter_std()
    is_open = before > 0.0
    remaining = np.ones(len(std))
    remaining[is_open] = std[is_open] / before[is_open]
    return ParameterKnowledge(
        names=tuple(parameter_label(problem, i) for i in range(problem.reward_model.num_parameters)),
        mean=posterior.mean_parameters(),
        std=std,
        intervals=posterior.credible_intervals(level),
        prior_intervals=prior_intervals(problem.prior, level),
        prior_std=before,
        remaining=remaining,
        level=level,
    )


def parameter_label(problem: Problem, index: int) -> str:
    """Return the name of a parameter for people: by the names of state and action where it is the reward of one."""
    mdp, model = problem.mdp, problem.reward_model
    if model.names is None and model.kind == "per_state":
        return f"reward of {mdp.state_name(index)}"
    if model.names is None and model.kind == "per_state_action":
        state, action = divmod(index, model.num_actions)
        return f"reward of {mdp.state_name(state)}, {mdp.action_name(action)}"
    return model.parameter_name(index)


def prior_std(prior: Prior) -> FloatArray:
    """Return the standard deviation of each parameter before any data `[D]`."""
    if isinstance(prior, Discrete):
        mean = prior.weights @ prior.atoms
        return np.asarray(np.sqrt(prior.weights @ (prior.atoms - mean) ** 2))
    if isinstance(prior, Uniform):
        return np.asarray(prior.width / np.sqrt(12.0))
    return np.asarray(prior.std)  # type: ignore[attr-defined]


def prior_covariance(prior: Prior) -> FloatArray:
    """Return the covariance of the parameters before any data `[D, D]`."""
    if isinstance(prior, MultivariateNormal):
        return np.asarray(prior.covariance)
    if isinstance(prior, Discrete):
        centred = prior.atoms - prior.weights @ prior.atoms
        return np.asarray(centred.T @ (prior.weights[:, None] * centred))
    return np.asarray(np.diag(prior_std(prior) ** 2))


def prior_intervals(prior: Prior, level: float) -> FloatArray:
    """Return central intervals `[D, 2]` of the parameters before any data, of prior chance `level`."""
    tails = np.array([(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    if isinstance(prior, Discrete):
        return np.stack([weighted_quantile(prior.atoms, prior.weights, tail) for tail in tails], axis=1)
    if isinstance(prior, Uniform):
        return np.asarray(np.asarray(prior.low)[:, None] + prior.width[:, None] * tails)
    centre = np.broadcast_to(np.asarray(prior.mean), (prior.num_parameters,))  # type: ignore[attr-defined]
    return np.asarray(centre[:, None] + prior_std(prior)[:, None] * ndtri(tails))


def reward_intervals(posterior: Posterior, level: float = LEVEL) -> RewardIntervals:
    """Return central intervals of each reward, by weighted quantiles of posterior chance `level`."""
    level = share(level, "level", "0.95 is usual.")
    mdp, rewards = posterior.problem.mdp, posterior.rewards
    states, actions = np.arange(mdp.num_states), None
    if rewards.ndim == 3:
        states, actions = np.nonzero(mdp.available)
        rewards = rewards[:, states, actions]
    tails = ((1.0 - level) / 2.0, (1.0 + level) / 2.0)
    mean = posterior.mean(rewards)
    return RewardIntervals(
        states=states,
        actions=actions,
        mean=mean,
        std=np.sqrt(posterior.mean((rewards - mean) ** 2)),
        intervals=np.stack([weighted_quantile(rewards, posterior.weights, tail) for tail in tails], axis=1),
        level=level,
    )


def action_certainty(posterior: Posterior, policy: IntArray) -> ActionCertainty:
    """Return how likely the actions of a policy `[S]` are optimal, where there is a choice."""
    mdp = posterior.problem.mdp
    states = np.flatnonzero(~mdp.terminal & (mdp.available.sum(axis=1) > 1))
    chances = posterior.optimal_action_probabilities()[states]
    rows, actions = np.arange(len(states)), np.asarray(policy)[states]
    others = np.where(mdp.available[states], chances, -1.0)
    others[rows, actions] = -1.0
    rivals = others.argmax(axis=1) if len(states) else np.zeros(0, dtype=np.int64)
    return ActionCertainty(
        states=states,
        actions=actions,
        chances=np.minimum(chances[rows, actions], 1.0),
        rivals=rivals,
        rival_chances=np.clip(others[rows, rivals], 0.0, 1.0),
    )
