"""Priors over reward parameters.

Each continuous prior maps a standard normal vector z to parameters: theta = prior.from_unconstrained(z). So in
unconstrained space every prior is N(0, I) exactly,

    log p(theta(z)) + log |d theta / d z| = log N(z; 0, I),

which keeps samplers simple and well scaled, whatever the prior. A Discrete prior has no such map.
"""

from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from journeyman.errors import InputError, UnsupportedError
from journeyman.types import FloatArray

LOG_2PI = float(np.log(2.0 * np.pi))


@runtime_checkable
class Prior(Protocol):
    """What every prior can do; arrays have a last axis of `num_parameters` D."""

    @property
    def num_parameters(self) -> int:
        """Number of parameters D."""

    @property
    def is_discrete(self) -> bool:
        """Whether the prior is a list of atoms."""

    def log_density(self, theta: ArrayLike) -> FloatArray:
        """Return log p(theta), of shape theta.shape[:-1]."""

    def gradient(self, theta: ArrayLike) -> FloatArray:
        """Return the gradient of log p(theta), of the shape of theta."""

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw `[size, D]` parameters."""

    def from_unconstrained(self, z: ArrayLike) -> FloatArray:
        """Map z to theta; a standard normal z gives a draw of the prior."""

    def to_unconstrained(self, theta: ArrayLike) -> FloatArray:
        """Map theta back to z."""

    def log_jacobian(self, z: ArrayLike) -> FloatArray:
        """Return log |d theta / d z|."""


def _vector(value: ArrayLike, size: int, name: str) -> FloatArray:
    """Return a scalar or `[D]` array as a finite, frozen `[D]` array."""
    array = np.asarray(value, dtype=np.float64)
    if array.shape not in ((), (size,)):
        raise InputError(f"{name} must be a number or have shape {(size,)}, got {array.shape}.")
    vector = np.broadcast_to(array, (size,)).copy()
    if not np.isfinite(vector).all():
        i = int(np.argmax(~np.isfinite(vector)))
        raise InputError(f"{name} must be finite, got {vector[i]} at parameter {i}.")
    vector.setflags(write=False)
    return vector


def _checked_size(num_parameters: int) -> int:
    if num_parameters < 1:
        raise InputError(f"a prior must have at least one parameter, got {num_parameters}.")
    return int(num_parameters)


@dataclass(frozen=True, eq=False)
class Normal:
    """Independent normal parameters with means and standard deviations, numbers or `[D]`."""

    num_parameters: int
    mean: FloatArray | float = 0.0
    std: FloatArray | float = 1.0
    is_discrete = False

    def __post_init__(self) -> None:
        """Check and spread the arguments."""
        _checked_size(self.num_parameters)
        object.__setattr__(self, "mean", _vector(self.mean, self.num_parameters, "mean"))
        object.__setattr__(self, "std", _vector(self.std, self.num_parameters, "std"))
        if not (np.asarray(self.std) > 0).all():
            raise InputError(f"std must be positive, got {np.asarray(self.std).min()}.")

    def log_density(self, theta: ArrayLike) -> FloatArray:
        """Return log p(theta)."""
        z = self.to_unconstrained(theta)
        return np.asarray(-0.5 * (z**2).sum(-1) - np.log(self.std).sum() - 0.5 * self.num_parameters * LOG_2PI)

    def gradient(self, theta: ArrayLike) -> FloatArray:
        """Return the gradient of log p(theta)."""
        return -self.to_unconstrained(theta) / self.std

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw `[size, D]` parameters."""
        return self.from_unconstrained(rng.standard_normal((size, self.num_parameters)))

    def from_unconstrained(self, z: ArrayLike) -> FloatArray:
        """Return mean + std * z."""
        return np.asarray(self.mean + self.std * np.asarray(z))

    def to_unconstrained(self, theta: ArrayLike) -> FloatArray:
        """Return (theta - mean) / std."""
        return np.asarray((np.asarray(theta) - self.mean) / self.std)

    def log_jacobian(self, z: ArrayLike) -> FloatArray:
        """Return log |d theta / d z|, the same everywhere."""
        return np.full(np.asarray(z).shape[:-1], np.log(self.std).sum())


@dataclass(frozen=True, eq=False)
class Uniform:
    """Independent uniform parameters between low and high, numbers or `[D]`."""

    num_parameters: int
    low: FloatArray | float = 0.0
    high: FloatArray | float = 1.0
    is_discrete = False

    def __post_init__(self) -> None:
        """Check and spread the arguments."""
        _checked_size(self.num_parameters)
        object.__setattr__(self, "low", _vector(self.low, self.num_parameters, "low"))
        object.__setattr__(self, "high", _vector(self.high, self.num_parameters, "high"))
        bad = ~(np.asarray(self.low) < np.asarray(self.high))
        if bad.any():
            i = int(np.argmax(bad))
            low, high = np.asarray(self.low)[i], np.asarray(self.high)[i]
            raise InputError(f"low must be less than high, got {low} and {high} at parameter {i}.")

    @property
    def width(self) -> FloatArray:
        """Return high - low."""
        return np.asarray(self.high) - np.asarray(self.low)

    def log_density(self, theta: ArrayLike) -> FloatArray:
        """Return log p(theta): minus infinity outside."""
        array = np.asarray(theta)
        inside = ((array >= self.low) & (array <= self.high)).all(-1)
        return np.asarray(np.where(inside, -np.log(self.width).sum(), -np.inf))

    def gradient(self, theta: ArrayLike) -> FloatArray:
        """Return zero: the density is flat."""
        return np.zeros(np.asarray(theta).shape)

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw `[size, D]` parameters."""
        return np.asarray(self.low + self.width * rng.random((size, self.num_parameters)))

    def from_unconstrained(self, z: ArrayLike) -> FloatArray:
        """Return low + width * Phi(z), measured from the nearer end so that neither end loses digits."""
        array = np.asarray(z, dtype=np.float64)
        from_low, from_high = self.low + self.width * ndtr(array), self.high - self.width * ndtr(-array)
        return np.asarray(np.where(array < 0, from_low, from_high))

    def to_unconstrained(self, theta: ArrayLike) -> FloatArray:
        """Return the z with theta = low + width * Phi(z); refuses values on or outside the ends."""
        array = np.asarray(theta, dtype=np.float64)
        if not ((array > self.low) & (array < self.high)).all():
            raise InputError("theta must lie strictly between low and high, got a value outside. Check the parameters.")
        below, above = (array - self.low) / self.width, (self.high - array) / self.width
        return np.asarray(np.where(below < 0.5, ndtri(below), -ndtri(above)))

    def log_jacobian(self, z: ArrayLike) -> FloatArray:
        """Return log |d theta / d z| = sum of log width + log N(z)."""
        array = np.asarray(z)
        return np.asarray(np.log(self.width).sum() - 0.5 * (array**2).sum(-1) - 0.5 * self.num_parameters * LOG_2PI)


@dataclass(frozen=True, eq=False)
class MultivariateNormal:
    """Correlated normal parameters, for example with a kernel over states as covariance `[D, D]`."""

    mean: FloatArray
    covariance: FloatArray
    factor: FloatArray = field(init=False)
    is_discrete = False

    def __post_init__(self) -> None:
        """Check the arguments and factorise the covariance once."""
        covariance = np.array(self.covariance, dtype=np.float64)
        if covariance.ndim != 2 or covariance.shape[0] != covariance.shape[1] or covariance.shape[0] < 1:
            raise InputError(f"covariance must be a square matrix, got shape {covariance.shape}.")
        if not np.isfinite(covariance).all() or not np.allclose(covariance, covariance.T, rtol=1e-9, atol=1e-12):
            raise InputError("covariance must be finite and symmetric, and it is not. Average it with its transpose.")
        try:
            factor = np.linalg.cholesky(covariance)
        except np.linalg.LinAlgError:
            smallest = float(np.linalg.eigvalsh(covariance)[0])
            raise InputError(
                f"covariance must be positive definite, got a smallest eigenvalue of {smallest:.3g}. "
                "Add a small multiple of the identity."
            ) from None
        object.__setattr__(self, "covariance", covariance)
        object.__setattr__(self, "mean", _vector(self.mean, covariance.shape[0], "mean"))
        object.__setattr__(self, "factor", factor)

    @property
    def num_parameters(self) -> int:
        """Number of parameters D."""
        return int(self.covariance.shape[0])

    @property
    def std(self) -> FloatArray:
        """Standard deviation of each parameter."""
        return np.sqrt(np.diag(self.covariance))

    def log_density(self, theta: ArrayLike) -> FloatArray:
        """Return log p(theta)."""
        z = self.to_unconstrained(theta)
        log_det = np.log(np.diag(self.factor)).sum()
        return np.asarray(-0.5 * (z**2).sum(-1) - log_det - 0.5 * self.num_parameters * LOG_2PI)

    def gradient(self, theta: ArrayLike) -> FloatArray:
        """Return the gradient of log p(theta)."""
        return -np.linalg.solve(self.factor.T, self.to_unconstrained(theta)[..., None])[..., 0]

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw `[size, D]` parameters."""
        return self.from_unconstrained(rng.standard_normal((size, self.num_parameters)))

    def from_unconstrained(self, z: ArrayLike) -> FloatArray:
        """Return mean + factor z, with factor factor^T = covariance."""
        return np.asarray(self.mean + np.asarray(z) @ self.factor.T)

    def to_unconstrained(self, theta: ArrayLike) -> FloatArray:
        """Return the z with theta = mean + factor z."""
        return np.linalg.solve(self.factor, (np.asarray(theta) - self.mean)[..., None])[..., 0]

    def log_jacobian(self, z: ArrayLike) -> FloatArray:
        """Return log |d theta / d z|, the same everywhere."""
        return np.full(np.asarray(z).shape[:-1], np.log(np.diag(self.factor)).sum())


@dataclass(frozen=True, eq=False)
class Discrete:
    """Finitely many parameter vectors `atoms [K, D]`, all different, with joint probabilities `[K]`."""

    atoms: FloatArray
    probabilities: FloatArray | None = None
    is_discrete = True

    def __post_init__(self) -> None:
        """Check the arguments; no probabilities means equal ones."""
        atoms = np.array(self.atoms, dtype=np.float64)
        if atoms.ndim != 2 or 0 in atoms.shape or not np.isfinite(atoms).all():
            raise InputError(f"atoms must be finite, of shape [K, D] with K, D at least 1, got shape {atoms.shape}.")
        if len(np.unique(atoms, axis=0)) != len(atoms):
            raise InputError("atoms must all differ, got one twice. Merge them and add their probabilities.")
        size = len(atoms)
        weights = np.full(size, 1.0 / size) if self.probabilities is None else np.array(self.probabilities, dtype=float)
        if weights.shape != (size,) or not (weights > 0).all() or not abs(weights.sum() - 1.0) <= 1e-6:
            raise InputError(
                f"probabilities must be {size} positive numbers that sum to 1, "
                f"got shape {weights.shape} and sum {weights.sum():.9g}. Divide them by their sum."
            )
        object.__setattr__(self, "atoms", atoms)
        object.__setattr__(self, "probabilities", weights / weights.sum())

    @property
    def num_parameters(self) -> int:
        """Number of parameters D."""
        return int(self.atoms.shape[1])

    @property
    def weights(self) -> FloatArray:
        """Probabilities `[K]` of the atoms."""
        return np.asarray(self.probabilities)

    def log_density(self, theta: ArrayLike) -> FloatArray:
        """Return the log probability of theta: minus infinity where it is no atom."""
        array = np.asarray(theta, dtype=np.float64)
        is_atom = (array[..., None, :] == self.atoms).all(-1)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(is_atom @ self.weights))

    def gradient(self, theta: ArrayLike) -> FloatArray:
        """Refuse: atoms have no gradient."""
        raise UnsupportedError("a Discrete prior has no gradient. Use inference 'enumerate' or 'smc'.")

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw `[size, D]` atoms."""
        return np.asarray(self.atoms[rng.choice(len(self.atoms), size=size, p=self.weights)])

    def from_unconstrained(self, z: ArrayLike) -> FloatArray:
        """Refuse: atoms have no smooth map."""
        raise UnsupportedError("a Discrete prior has no unconstrained space. Use inference 'enumerate' or 'smc'.")

    to_unconstrained: Any = from_unconstrained
    log_jacobian: Any = from_unconstrained
