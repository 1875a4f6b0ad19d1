"""Reward models and priors over their parameters."""

from journeyman.rewards.discrete import Discrete
from journeyman.rewards.models import LinearFeatures, PerState, PerStateAction, RewardModel, Size
from journeyman.rewards.priors import MultivariateNormal, Normal, Prior, Uniform

__all__ = [
    "Discrete",
    "LinearFeatures",
    "MultivariateNormal",
    "Normal",
    "PerState",
    "PerStateAction",
    "Prior",
    "RewardModel",
    "Size",
    "Uniform",
]
