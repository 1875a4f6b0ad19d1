"""What a posterior knows: each parameter against its prior, each reward with its interval, each optimal action."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from journeyman.apprentice.epsilon import Share
from journeyman.apprentice.regret import regret_unit
from journeyman.checks import share
from journeyman.inference.posterior import Posterior
from journeyman.problem import parameter_label
from journeyman.types import FloatArray, IntArray

LEVEL = 0.95
HARDLY_LEARNED = 0.9  # share of the prior's standard deviation that is left


@dataclass(frozen=True, eq=False)
class ParameterKnowledge:
    """What is known about each of D parameters.

    names; mean, std `[D]` and intervals `[D, 2]` of chance `level` of the posterior; prior_std `[D]` and
    prior_intervals `[D, 2]`; remaining `[D]`: posterior over prior standard deviation, 1 where nothing was learned (1
    too where the prior knew); shares `[D]` and share_intervals `[D, 2]`: mean and interval of the parameter in units of
    what is at stake, which do not depend on the scale of the reward.
    """

    names: tuple[str, ...]
    mean: FloatArray
    std: FloatArray
    intervals: FloatArray
    prior_intervals: FloatArray
    prior_std: FloatArray
    remaining: FloatArray
    shares: FloatArray
    share_intervals: FloatArray
    level: float

    @property
    def hardly_learned(self) -> IntArray:
        """Indices of parameters that are nearly as unsure as before, least learned first."""
        order = np.argsort(-self.remaining, kind="stable")
        return order[(self.remaining[order] > HARDLY_LEARNED) & (self.prior_std[order] > 0.0)]


class ExpertKnowledge(NamedTuple):
    """What is known about one unknown parameter of the expert; intervals of the same chance after and before."""

    name: str
    mean: float
    std: float
    interval: tuple[float, float]
    prior_interval: tuple[float, float]


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
    before, std = np.asarray(problem.prior.std), posterior.parameter_std()
    is_open = before > 0.0
    remaining = np.ones(len(std))
    remaining[is_open] = std[is_open] / before[is_open]
    scaled = posterior.theta / regret_unit(posterior, Share(1.0))[:, None]
    return ParameterKnowledge(
        names=tuple(parameter_label(problem, i) for i in range(problem.reward_model.num_parameters)),
        mean=posterior.mean_parameters(),
        std=std,
        intervals=posterior.credible_intervals(level),
        prior_intervals=problem.prior.interval(level),
        prior_std=before,
        remaining=remaining,
        shares=posterior.mean(scaled),
        share_intervals=posterior.intervals(scaled, level),
        level=level,
    )


def expert_knowledge(posterior: Posterior, level: float = LEVEL) -> tuple[ExpertKnowledge, ...]:
    """Return what is known about the expert's parameters; none where the model of the expert has no unknown ones."""
    space, values = posterior.problem.expert_space, posterior.expert_parameters
    std = np.sqrt(posterior.mean((values - posterior.mean(values)) ** 2))
    return tuple(
        ExpertKnowledge(name, mean, float(std[i]), (low, high), space.maps[i % len(space.maps)].prior.interval(level))
        for i, (name, (mean, low, high)) in enumerate(posterior.expert_knowledge(level).items())
    )


def reward_intervals(posterior: Posterior, level: float = LEVEL) -> RewardIntervals:
    """Return central intervals of each reward, by weighted quantiles of posterior chance `level`."""
    level = share(level, "level", "0.95 is usual.")
    mdp, rewards = posterior.problem.mdp, posterior.rewards
    states, actions = np.arange(mdp.num_states), None
    if rewards.ndim == 3:
        states, actions = np.nonzero(mdp.available)
        rewards = rewards[:, states, actions]
    mean = posterior.mean(rewards)
    return RewardIntervals(
        states=states,
        actions=actions,
        mean=mean,
        std=np.sqrt(posterior.mean((rewards - mean) ** 2)),
        intervals=posterior.intervals(rewards, level),
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
