"""Priors over reward parameters: what one must be able to do, and a base class that does most of it.

Each continuous prior maps a standard normal vector z to parameters: theta = prior.from_unconstrained(z). So in
unconstrained space every prior is N(0, I) exactly,

    log p(theta(z)) + log |d theta / d z| = log N(z; 0, I),

which keeps samplers simple and well scaled, whatever the prior; parameters may depend on each other. A discrete prior
has atoms and their weights instead.

A prior from outside the package derives from `ContinuousPrior` (or offers the same members), and its class is
registered as `PRIORS.register("name", Class)` so that studies and problem files can hold it.
`journeyman.testing.check_prior` says whether its parts agree.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Protocol, Self, TypeGuard, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from journeyman.checks import float_array, share, whole_number
from journeyman.errors import InputError, UnsupportedError
from journeyman.types import FloatArray
from journeyman.wording import counted

LOG_2PI = float(np.log(2.0 * np.pi))
METHODS = ("log_density", "sample", "interval", "describe", "to_record", "from_record")
MAP_METHODS = ("from_unconstrained", "to_unconstrained", "pull_back")  # of continuous priors
NUM_MOMENT_DRAWS = 20_000  # behind standard deviations and intervals that have no formula


@runtime_checkable
class Prior(Protocol):
    """What every prior can do; arrays have a last axis of `num_parameters` D.

    One with `is_discrete` False also has from_unconstrained, to_unconstrained and pull_back, as in `ContinuousPrior`;
    one with `is_discrete` True has `atoms` and `weights`, as in `DiscretePrior`.
    """

    @property
    def num_parameters(self) -> int:
        """Number of parameters D."""

    @property
    def is_discrete(self) -> bool:
        """Whether the prior is a list of atoms."""

    @property
    def std(self) -> Any:
        """Standard deviation of each parameter `[D]`."""

    @property
    def covariance(self) -> FloatArray:
        """Covariance of the parameters `[D, D]`."""

    def log_density(self, theta: ArrayLike) -> FloatArray:
        """Return log p(theta), of shape theta.shape[:-1]; of an atom, its log probability."""

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw `[size, D]` parameters."""

    def interval(self, level: float) -> FloatArray:
        """Return central intervals `[D, 2]` of the parameters, of chance `level`."""

    def describe(self) -> str:
        """Return the prior in a few words, such as "normal, mean 0, sd 3"."""

    def to_record(self) -> dict[str, Any]:
        """Return the prior as arrays and plain data by name."""

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Return the prior that `to_record` described.

        For a table of a problem file the record is that table and the `num_parameters` of the reward model.
        """


@runtime_checkable
class DiscretePrior(Prior, Protocol):
    """A prior over finitely many parameter vectors."""

    @property
    def atoms(self) -> FloatArray:
        """`[K, D]` parameter vectors, all different."""

    @property
    def weights(self) -> FloatArray:
        """`[K]` their probabilities."""


class AffineMap(NamedTuple):
    """The map theta = location + matrix u with u = z, or u = Phi(z) if `is_uniform`, which compiled code knows.

    location `[D]`; matrix `[D]` if it is diagonal, else `[D, D]`.
    """

    location: FloatArray
    matrix: FloatArray
    is_uniform: bool = False

    def apply(self, z: FloatArray) -> FloatArray:
        """Return theta for points z `[..., D]`."""
        from scipy.special import ndtr

        u = ndtr(z) if self.is_uniform else z
        return self.location + (u * self.matrix if self.matrix.ndim == 1 else u @ self.matrix.T)


class ContinuousPrior(ABC):
    """Base of continuous priors.

    A prior of your own defines num_parameters, from_unconstrained, to_unconstrained, pull_back and log_density, and
    to_record and from_record where it is to be stored. All else follows from these; override what has a formula.
    """

    is_discrete: ClassVar[bool] = False
    num_parameters: int

    def __repr__(self) -> str:
        return f"{type(self).__name__}({counted(self.num_parameters, 'parameter')}: {self.describe()})"

    @abstractmethod
    def from_unconstrained(self, z: ArrayLike) -> FloatArray:
        """Map z `[..., D]` to theta; a standard normal z gives a draw of the prior."""

    @abstractmethod
    def to_unconstrained(self, theta: ArrayLike) -> FloatArray:
        """Map theta `[..., D]` back to z."""

    @abstractmethod
    def pull_back(self, z: ArrayLike, gradient: ArrayLike) -> FloatArray:
        """Return the gradient in z of gradient . from_unconstrained(z), for z and gradient `[..., D]`.

        That is the transposed Jacobian of the map times `gradient`.
        """

    @abstractmethod
    def log_density(self, theta: ArrayLike) -> FloatArray:
        """Return log p(theta), of shape theta.shape[:-1]."""

    def affine_map(self) -> AffineMap | None:
        """Return the map from z to theta if it has the form that compiled code knows; None goes the general way."""
        return None

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw `[size, D]` parameters."""
        return self.from_unconstrained(rng.standard_normal((size, self.num_parameters)))

    @cached_property
    def std(self) -> Any:
        """Standard deviation of each parameter `[D]`, estimated from draws unless overridden."""
        return self._draws().std(axis=0)

    @cached_property
    def covariance(self) -> FloatArray:
        """Covariance of the parameters `[D, D]`, estimated from draws unless overridden."""
        return np.atleast_2d(np.cov(self._draws().T))

    def interval(self, level: float) -> FloatArray:
        """Return central intervals `[D, 2]`, estimated from draws unless overridden."""
        return np.asarray(np.quantile(self._draws(), tails(level), axis=0).T)

    def describe(self) -> str:
        """Return the name of the class."""
        return type(self).__name__

    def to_record(self) -> dict[str, Any]:
        """Refuse: the class does not say how it is stored."""
        raise UnsupportedError(
            f"a prior must have to_record and from_record to be stored, got {type(self).__name__} without them. "
            "Add them, or keep the learner in memory."
        )

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Refuse: the class does not say how it is stored."""
        raise UnsupportedError(f"a prior must have from_record to be restored, got {cls.__name__} without. Add it.")

    def _draws(self) -> FloatArray:
        return self.sample(np.random.default_rng(0), NUM_MOMENT_DRAWS)


def has_atoms(prior: Prior) -> TypeGuard[DiscretePrior]:
    """Return whether a prior is a list of atoms."""
    return prior.is_discrete


def continuous(prior: Prior) -> ContinuousPrior:
    """Return a prior that is not discrete, by the type that says so."""
    if prior.is_discrete:
        raise UnsupportedError(
            f"a {type(prior).__name__} prior has no unconstrained space: it is a list of atoms. "
            "Use inference 'enumerate' or 'smc'."
        )
    return prior  # type: ignore[return-value]


def missing_members(prior: object) -> list[str]:
    """Return the names of what an object lacks to be a prior."""
    more = ("atoms", "weights") if getattr(prior, "is_discrete", False) else MAP_METHODS
    known = {*dir(type(prior)), *getattr(prior, "__dict__", {})}
    names = ("num_parameters", "is_discrete", "std", "covariance", *METHODS, *more)
    return [name for name in names if name not in known]


def prior_complaint(cls: type[Any]) -> str | None:
    """Say which methods a class of priors lacks; what else belongs to a prior, its instances may bring."""
    names = METHODS + (MAP_METHODS if getattr(cls, "is_discrete", None) is False else ())
    undefined = getattr(cls, "__abstractmethods__", ())
    missing = [name for name in names if name in undefined or not callable(getattr(cls, name, None))]
    if not missing:
        return None
    return f"must have the methods of Prior, got {cls.__name__} without {', '.join(missing)}. Add them."


def tails(level: float) -> tuple[float, float]:
    """Return the lower and upper tail of a central interval."""
    level = share(level, "level", "0.95 is usual.")
    return (1.0 - level) / 2.0, (1.0 + level) / 2.0


def checked_parameters(values: ArrayLike, size: int, name: str) -> FloatArray:
    """Return `values` as `[..., D]`; a shorter last axis would be spread silently."""
    array = float_array(values, name)
    if array.shape[-1:] != (size,):
        raise InputError(
            f"{name} must have a last axis of {size} parameters, got shape {array.shape}. Check the model."
        )
    return array


def checked_size(num_parameters: int) -> int:
    """Return a number of parameters."""
    return whole_number(num_parameters, "num_parameters of a prior", 1, "Give one per parameter of the reward model.")


def checked_vector(value: ArrayLike, size: int, name: str) -> FloatArray:
    """Return a scalar or `[D]` array as a finite, frozen `[D]` array."""
    array = float_array(value, name)
    if array.shape not in ((), (size,)):
        raise InputError(f"{name} must be a number or have shape {(size,)}, got {array.shape}. Give one per parameter.")
    vector = np.broadcast_to(array, (size,)).copy()
    if not np.isfinite(vector).all():
        i = int(np.argmax(~np.isfinite(vector)))
        raise InputError(f"{name} must be finite, got {vector[i]} at parameter {i}. Give a number.")
    vector.setflags(write=False)
    return vector
