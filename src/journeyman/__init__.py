"""Bayesian active inverse reinforcement learning with a stated guarantee.

The public names are below. Each is imported when it is first used, so that
`import journeyman` and `journeyman --help` do not wait for compilers and solvers.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from journeyman.acquisition import ACQUISITIONS, score
    from journeyman.apprentice import certify
    from journeyman.demonstrations import Demonstration
    from journeyman.errors import JourneymanError
    from journeyman.expert import BoltzmannExpert
    from journeyman.inference import INFERENCE, Posterior, infer
    from journeyman.learner import ActiveLearner, Query, simulate
    from journeyman.mdp import FiniteMDP, Grid, evaluate_policy, occupancy, solve, solve_batch
    from journeyman.problem import Problem
    from journeyman.rewards import (
        Discrete,
        LinearFeatures,
        MultivariateNormal,
        Normal,
        PerState,
        PerStateAction,
        Uniform,
    )
    from journeyman.study import Study
    from journeyman.worlds import WORLDS, World, make_world

    __version__: str

__all__ = [
    "ACQUISITIONS",
    "INFERENCE",
    "WORLDS",
    "ActiveLearner",
    "BoltzmannExpert",
    "Demonstration",
    "Discrete",
    "FiniteMDP",
    "Grid",
    "JourneymanError",
    "LinearFeatures",
    "MultivariateNormal",
    "Normal",
    "PerState",
    "PerStateAction",
    "Posterior",
    "Problem",
    "Query",
    "Study",
    "Uniform",
    "World",
    "certify",
    "evaluate_policy",
    "infer",
    "make_world",
    "occupancy",
    "score",
    "simulate",
    "solve",
    "solve_batch",
]

_MODULE_OF = {
    "ACQUISITIONS": "journeyman.acquisition",
    "score": "journeyman.acquisition",
    "certify": "journeyman.apprentice",
    "JourneymanError": "journeyman.errors",
    "FiniteMDP": "journeyman.mdp",
    "Grid": "journeyman.mdp",
    "evaluate_policy": "journeyman.mdp",
    "occupancy": "journeyman.mdp",
    "solve": "journeyman.mdp",
    "solve_batch": "journeyman.mdp",
    "Discrete": "journeyman.rewards",
    "LinearFeatures": "journeyman.rewards",
    "MultivariateNormal": "journeyman.rewards",
    "Normal": "journeyman.rewards",
    "PerState": "journeyman.rewards",
    "PerStateAction": "journeyman.rewards",
    "Uniform": "journeyman.rewards",
    "Demonstration": "journeyman.demonstrations",
    "Problem": "journeyman.problem",
    "BoltzmannExpert": "journeyman.expert",
    "WORLDS": "journeyman.worlds",
    "World": "journeyman.worlds",
    "make_world": "journeyman.worlds",
    "INFERENCE": "journeyman.inference",
    "Posterior": "journeyman.inference",
    "infer": "journeyman.inference",
    "ActiveLearner": "journeyman.learner",
    "Query": "journeyman.learner",
    "simulate": "journeyman.learner",
    "Study": "journeyman.study",
}


def _import_public(name: str) -> object:
    """Find a public name in its module, the first time that it is used."""
    if name == "__version__":
        from importlib.metadata import version

        value: object = version("journeyman")
    elif name in _MODULE_OF:
        value = getattr(import_module(_MODULE_OF[name]), name)
    else:
        raise AttributeError(f"module 'journeyman' has no attribute {name!r}")
    globals()[name] = value
    return value


if not TYPE_CHECKING:  # a type checker would take any name at all for a public one
    __getattr__ = _import_public


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
