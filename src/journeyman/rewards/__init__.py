"""Reward models and priors over their parameters."""

from journeyman.registry import Registry
from journeyman.rewards.continuous import MultivariateNormal, Normal, Uniform, widened
from journeyman.rewards.discrete import Discrete
from journeyman.rewards.kernel_prior import KernelPrior, KernelRewards, kernel_covariance, kernel_rewards
from journeyman.rewards.models import LinearFeatures, PerState, PerStateAction, RewardModel, Size
from journeyman.rewards.priors import (
    AffineMap,
    ContinuousPrior,
    DiscretePrior,
    Prior,
    continuous,
    has_atoms,
    prior_complaint,
)

PRIORS: Registry[type[Prior]] = Registry(
    "a prior",
    "journeyman.priors",
    type,
    {
        "normal": Normal,
        "uniform": Uniform,
        "multivariate_normal": MultivariateNormal,
        "kernel": KernelPrior,
        "discrete": Discrete,
    },
    prior_complaint,
)

__all__ = [
    "PRIORS",
    "AffineMap",
    "ContinuousPrior",
    "Discrete",
    "DiscretePrior",
    "KernelPrior",
    "KernelRewards",
    "LinearFeatures",
    "MultivariateNormal",
    "Normal",
    "PerState",
    "PerStateAction",
    "Prior",
    "RewardModel",
    "Size",
    "Uniform",
    "continuous",
    "has_atoms",
    "kernel_covariance",
    "kernel_rewards",
    "widened",
]
