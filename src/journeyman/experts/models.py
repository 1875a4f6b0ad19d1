"""Models of an expert: the chance of each action, given the optimal action values Q*(s, .).

The likelihood of demonstrations, the posterior's predictions and the simulated expert all go through one of these, so a
model written outside the package (see `ExpertModel`) serves wherever the built-in one does. Register its class as
`EXPERTS.register("name", Class)` so that a study can store it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np

from journeyman.checks import real_number
from journeyman.errors import InputError
from journeyman.registry import Registry
from journeyman.types import AnyArray, FloatArray


@runtime_checkable
class ExpertModel(Protocol):
    """What inference needs to know about an expert. Frozen: a model never changes.

    Arrays of action values have a last axis of actions; minus infinity marks those that do not exist.
    """

    def log_policy(self, q: AnyArray) -> FloatArray:
        """Return log pi(a | s) `[..., A]` for action values `[..., A]`; minus infinity where an action does not exist.

        Adding a constant to all of a state's action values must not matter.
        """

    def pull_back(self, q: AnyArray, gradient: AnyArray) -> FloatArray:
        """Return the gradient in q of sum(gradient * log_policy(q)), `[..., A]`; 0 for actions that do not exist.

        `gradient` is 0 for actions that do not exist.
        """

    def assumption(self) -> str:
        """Return a clause for a certificate: "the expert does ..."."""

    def variants(self) -> tuple[tuple[str, "ExpertModel"], ...]:
        """Return models that a sceptic would try instead, each with a label such as "beta = 2"; may be empty."""

    def to_record(self) -> dict[str, Any]:
        """Return the model as plain data for JSON."""

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Return the model that `to_record` described."""


@dataclass(frozen=True)
class Boltzmann:
    """Better actions more often: pi(a | s) = exp(beta Q*(s, a)) / sum over available b of exp(beta Q*(s, b)).

    Parameters
    ----------
    beta
        Rationality: 0 is uniformly random, large is nearly optimal.
    """

    beta: float

    def __post_init__(self) -> None:
        """Check the rationality."""
        beta = real_number(self.beta, "beta")
        if not 0.0 <= beta < np.inf:
            raise InputError(f"beta must be finite and at least 0, got {beta}. 0 is random, large nearly optimal.")
        object.__setattr__(self, "beta", beta)

    def log_policy(self, q: AnyArray) -> FloatArray:
        """Return log pi `[..., A]`: exact for any size of beta q; beta 0 is uniform over the actions that exist."""
        gap = q - q.max(axis=-1, keepdims=True)
        with np.errstate(over="ignore"):  # a product beyond all numbers is a chance of 0
            scaled = np.where(np.isneginf(q), -np.inf, self.beta * np.where(np.isneginf(q), 0.0, gap))
        return np.asarray(scaled - np.log(np.exp(scaled).sum(axis=-1, keepdims=True)))

    def pull_back(self, q: AnyArray, gradient: AnyArray) -> FloatArray:
        """Return beta (gradient - pi sum(gradient))."""
        policy = np.exp(self.log_policy(q))
        return np.asarray(self.beta * (gradient - policy * gradient.sum(axis=-1, keepdims=True)))

    def assumption(self) -> str:
        """Say what is assumed."""
        return (
            f"the expert does an action with a chance proportional to exp(beta Q*), with beta = {self.beta:.4g}: "
            "better actions more often, every answer by itself"
        )

    def variants(self) -> tuple[tuple[str, "Boltzmann"], ...]:
        """Return half and twice the rationality."""
        return tuple((f"beta = {f * self.beta:.4g}", Boltzmann(f * self.beta)) for f in (0.5, 2.0))

    def to_record(self) -> dict[str, Any]:
        """Return the rationality."""
        return {"beta": self.beta}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Return the model of a record."""
        return cls(record["beta"])


EXPERT_METHODS = ("log_policy", "pull_back", "assumption", "variants", "to_record", "from_record")


def missing_methods(expert: object) -> list[str]:
    """Return the names of what an object or a class lacks to be an expert model."""
    return [name for name in EXPERT_METHODS if not callable(getattr(expert, name, None))]


def _complaint(cls: type[Any]) -> str | None:
    missing = missing_methods(cls)
    if not missing:
        return None
    return f"must have the methods of ExpertModel, got {cls.__name__} without {', '.join(missing)}. Add them."


EXPERTS: Registry[type[ExpertModel]] = Registry(
    "an expert model", "journeyman.experts", type, {"boltzmann": Boltzmann}, _complaint
)


def as_expert_model(expert: Any) -> ExpertModel:
    """Return a model as it is, and a number as a Boltzmann expert of that rationality."""
    if isinstance(expert, ExpertModel) and not isinstance(expert, type):
        return expert
    if hasattr(expert, "log_policy"):
        missing = missing_methods(expert)
        name = expert.__name__ if isinstance(expert, type) else type(expert).__name__
        raise InputError(
            f"expert must be a number (beta) or an ExpertModel, got {name}"
            + (f" without {', '.join(missing)}. Add what is missing." if missing else ", the class. Make one of it.")
        )
    return Boltzmann(expert)
