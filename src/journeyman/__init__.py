"""Bayesian active inverse reinforcement learning with a stated guarantee.

The public names are below. Each is imported when it is first used, so that
`import journeyman` and `journeyman --help` do not wait for compilers and solvers.
"""

import importlib as _importlib

TYPE_CHECKING = False  # typing.TYPE_CHECKING, without importing typing
if TYPE_CHECKING:
    from journeyman.acquisition import (
        ACQUISITIONS as ACQUISITIONS,
        score as score,
    )
    from journeyman.apprentice import (
        certify as certify,
        certify_over_dynamics as certify_over_dynamics,
    )
    from journeyman.continuous import discretise as discretise
    from journeyman.demonstrations import Demonstration as Demonstration
    from journeyman.errors import JourneymanError as JourneymanError
    from journeyman.experts import (
        Boltzmann as Boltzmann,
        SimulatedExpert as SimulatedExpert,
    )
    from journeyman.inference import (
        INFERENCE as INFERENCE,
        Posterior as Posterior,
        infer as infer,
    )
    from journeyman.learner import (
        ActiveLearner as ActiveLearner,
        Query as Query,
        simulate as simulate,
    )
    from journeyman.mdp import (
        FiniteMDP as FiniteMDP,
        Grid as Grid,
        estimate_dynamics as estimate_dynamics,
        evaluate_policy as evaluate_policy,
        occupancy as occupancy,
        solve as solve,
        solve_batch as solve_batch,
    )
    from journeyman.problem import Problem as Problem
    from journeyman.rewards import (
        Discrete as Discrete,
        LinearFeatures as LinearFeatures,
        MultivariateNormal as MultivariateNormal,
        Normal as Normal,
        PerState as PerState,
        PerStateAction as PerStateAction,
        Uniform as Uniform,
        kernel_rewards as kernel_rewards,
    )
    from journeyman.study import Study as Study
    from journeyman.worlds import (
        WORLDS as WORLDS,
        World as World,
        make_world as make_world,
    )

    __version__: str

_MODULE_OF = {
    "ACQUISITIONS": "journeyman.acquisition",
    "score": "journeyman.acquisition",
    "certify": "journeyman.apprentice",
    "certify_over_dynamics": "journeyman.apprentice",
    "discretise": "journeyman.continuous",
    "Demonstration": "journeyman.demonstrations",
    "JourneymanError": "journeyman.errors",
    "Boltzmann": "journeyman.experts",
    "SimulatedExpert": "journeyman.experts",
    "INFERENCE": "journeyman.inference",
    "Posterior": "journeyman.inference",
    "infer": "journeyman.inference",
    "ActiveLearner": "journeyman.learner",
    "Query": "journeyman.learner",
    "simulate": "journeyman.learner",
    "FiniteMDP": "journeyman.mdp",
    "Grid": "journeyman.mdp",
    "estimate_dynamics": "journeyman.mdp",
    "evaluate_policy": "journeyman.mdp",
    "occupancy": "journeyman.mdp",
    "solve": "journeyman.mdp",
    "solve_batch": "journeyman.mdp",
    "Problem": "journeyman.problem",
    "Discrete": "journeyman.rewards",
    "LinearFeatures": "journeyman.rewards",
    "MultivariateNormal": "journeyman.rewards",
    "Normal": "journeyman.rewards",
    "PerState": "journeyman.rewards",
    "PerStateAction": "journeyman.rewards",
    "Uniform": "journeyman.rewards",
    "kernel_rewards": "journeyman.rewards",
    "Study": "journeyman.study",
    "WORLDS": "journeyman.worlds",
    "World": "journeyman.worlds",
    "make_world": "journeyman.worlds",
}
__all__ = sorted(_MODULE_OF)


def _import_public(name: str) -> object:
    """Find a public name in its module, the first time that it is used."""
    if name == "__version__":
        from importlib.metadata import version

        value: object = version("journeyman")
    elif name in _MODULE_OF:
        value = getattr(_importlib.import_module(_MODULE_OF[name]), name)
    else:
        raise AttributeError(f"module 'journeyman' has no attribute {name!r}")
    globals()[name] = value
    return value


if not TYPE_CHECKING:  # a type checker would take any name at all for a public one
    __getattr__ = _import_public


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
