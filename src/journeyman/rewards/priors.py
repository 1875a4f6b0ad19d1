"""Priors over reward parameters.

Each continuous prior maps a standard normal vector z to parameters: theta = prior.from_unconstrained(z). So in
unconstrained space every prior is N(0, I) exactly,

    log p(theta(z)) + log |d theta / d z| = log N(z; 0, I),

which keeps samplers simple and well scaled, whatever the prior. A Discrete prior has no such map.
"""

from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular
from scipy.special import ndtr, ndtri

from journeyman.checks import float_array, whole_number
from journeyman.errors import InputError
from journeyman.types import FloatArray, read_only

LOG_2PI = float(np.log(2.0 * np.pi))
LARGEST_HALF_WIDTH = 8e307  # beyond it the width overflows


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
    array = float_array(value, name)
    if array.shape not in ((), (size,)):
        raise InputError(f"{name} must be a number or have shape {(size,)}, got {array.shape}. Give one per parameter.")
    vector = np.broadcast_to(array, (size,)).copy()
    if not np.isfinite(vector).all():
        i = int(np.argmax(~np.isfinite(vector)))
        raise InputError(f"{name} must be finite, got {vector[i]} at parameter {i}. Correct it.")
    vector.setflags(write=False)
    return vector


def _checked_size(num_parameters: int) -> int:
    return whole_number(num_parameters, "num_parameters of a prior", 1, "Give one per parameter of the reward model.")


def checked_parameters(values: ArrayLike, size: int, name: str) -> FloatArray:
    """Return `values` as `[..., D]`; a shorter last axis would be spread silently."""
    array = float_array(values, name)
    if array.shape[-1:] != (size,):
        raise InputError(
            f"{name} must have a last axis of {size} parameters, got shape {array.shape}. Check the model."
        )
    return array


@dataclass(frozen=True, eq=False)
class Normal:
    """Independent normal parameters with means and standard deviations, numbers or `[D]`."""

    num_parameters: int
    mean: FloatArray | float = 0.0
    std: FloatArray | float = 1.0
    is_discrete = False

    def __post_init__(self) -> None:
        """Check and spread the arguments."""
        object.__setattr__(self, "num_parameters", _checked_size(self.num_parameters))
        object.__setattr__(self, "mean", _vector(self.mean, self.num_parameters, "mean"))
        object.__setattr__(self, "std", _vector(self.std, self.num_parameters, "std"))
        std = np.asarray(self.std)
        if not (std > 0).all():
            i = int(np.argmin(std > 0))
            raise InputError(f"std must be positive, got {std[i]} at parameter {i}. Put what is known into the offset.")

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
        return np.asarray(self.mean + self.std * checked_parameters(z, self.num_parameters, "z"))

    def to_unconstrained(self, theta: ArrayLike) -> FloatArray:
        """Return (theta - mean) / std."""
        return np.asarray((checked_parameters(theta, self.num_parameters, "theta") - self.mean) / self.std)

    def log_jacobian(self, z: ArrayLike) -> FloatArray:
        """Return log |d theta / d z|, the same everywhere."""
        return np.full(checked_parameters(z, self.num_parameters, "z").shape[:-1], np.log(self.std).sum())


@dataclass(frozen=True, eq=False)
class Uniform:
    """Independent uniform parameters between low and high, numbers or `[D]`."""

    num_parameters: int
    low: FloatArray | float = 0.0
    high: FloatArray | float = 1.0
    is_discrete = False

    def __post_init__(self) -> None:
        """Check and spread the arguments."""
        object.__setattr__(self, "num_parameters", _checked_size(self.num_parameters))
        object.__setattr__(self, "low", _vector(self.low, self.num_parameters, "low"))
        object.__setattr__(self, "high", _vector(self.high, self.num_parameters, "high"))
        low, high = np.asarray(self.low), np.asarray(self.high)
        is_fine = (np.nextafter(low, high) < high) & (low < high) & (0.5 * high - 0.5 * low < LARGEST_HALF_WIDTH)
        if not is_fine.all():
            i = int(np.argmin(is_fine))
            raise InputError(
                f"low must be less than high, with room between them, got {low[i]} and {high[i]} at parameter {i}. "
                "Swap them, or put what is known into the offset."
            )

    @property
    def width(self) -> FloatArray:
        """Return high - low."""
        return np.asarray(np.asarray(self.high) - np.asarray(self.low))

    def log_density(self, theta: ArrayLike) -> FloatArray:
        """Return log p(theta): minus infinity outside."""
        array = checked_parameters(theta, self.num_parameters, "theta")
        inside = ((array >= self.low) & (array <= self.high)).all(-1)
        return np.asarray(np.where(inside, -np.log(self.width).sum(), -np.inf))

    def gradient(self, theta: ArrayLike) -> FloatArray:
        """Return zero: the density is flat."""
        return np.zeros(checked_parameters(theta, self.num_parameters, "theta").shape)

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw `[size, D]` parameters."""
        return np.asarray(self.low + self.width * rng.random((size, self.num_parameters)))

    def from_unconstrained(self, z: ArrayLike) -> FloatArray:
        """Return low + width * Phi(z), measured from the nearer end so that neither end loses digits.

        Always strictly between low and high, so that `to_unconstrained` takes it back.
        """
        array = checked_parameters(z, self.num_parameters, "z")
        from_low, from_high = self.low + self.width * ndtr(array), self.high - self.width * ndtr(-array)
        theta = np.where(array < 0, from_low, from_high)
        return np.asarray(np.clip(theta, np.nextafter(self.low, self.high), np.nextafter(self.high, self.low)))

    def to_unconstrained(self, theta: ArrayLike) -> FloatArray:
        """Return the z with theta = low + width * Phi(z); refuses values on or outside the ends."""
        array = checked_parameters(theta, self.num_parameters, "theta")
        inside = (array > self.low) & (array < self.high)
        if not inside.all():
            where = tuple(np.argwhere(~inside)[0])
            i = int(where[-1])
            raise InputError(
                f"theta must lie strictly between {np.asarray(self.low)[i]} and {np.asarray(self.high)[i]}, "
                f"got {array[where]} at parameter {i}. Check the parameters."
            )
        below, above = (array - self.low) / self.width, (self.high - array) / self.width
        return np.asarray(np.where(below < 0.5, ndtri(below), -ndtri(above)))

    def log_jacobian(self, z: ArrayLike) -> FloatArray:
        """Return log |d theta / d z| = sum of log width + log N(z)."""
        array = checked_parameters(z, self.num_parameters, "z")
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
        covariance = float_array(self.covariance, "covariance")
        if covariance.ndim != 2 or covariance.shape[0] != covariance.shape[1] or covariance.shape[0] < 1:
            raise InputError(f"covariance must be a square matrix, got shape {covariance.shape}. Give [D, D].")
        is_fine = np.isfinite(covariance) & np.isclose(covariance, covariance.T, rtol=1e-9, atol=1e-12)
        if not is_fine.all():
            i, j = (int(index) for index in np.argwhere(~is_fine)[0])
            raise InputError(
                f"covariance must be finite and symmetric, got {covariance[i, j]} at ({i}, {j}) and "
                f"{covariance[j, i]} at ({j}, {i}). Average it with its transpose."
            )
        try:
            factor = np.linalg.cholesky(covariance)
        except np.linalg.LinAlgError:
            smallest = float(np.linalg.eigvalsh(covariance)[0])
            raise InputError(
                f"covariance must be positive definite, got a smallest eigenvalue of {smallest:.3g}. "
                "Add a small multiple of the identity."
            ) from None
        object.__setattr__(self, "covariance", read_only(covariance))
        object.__setattr__(self, "mean", _vector(self.mean, covariance.shape[0], "mean"))
        object.__setattr__(self, "factor", read_only(factor))

    @property
    def num_parameters(self) -> int:
        """Number of parameters D."""
        return int(self.covariance.shape[0])

    @property
    def std(self) -> FloatArray:
        """Standard deviation of each parameter."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))

    def log_density(self, theta: ArrayLike) -> FloatArray:
        """Return log p(theta)."""
        z = self.to_unconstrained(theta)
        log_det = np.log(np.diag(self.factor)).sum()
        return np.asarray(-0.5 * (z**2).sum(-1) - log_det - 0.5 * self.num_parameters * LOG_2PI)

    def gradient(self, theta: ArrayLike) -> FloatArray:
        """Return the gradient of log p(theta)."""
        return -self._solved(self.to_unconstrained(theta), is_transposed=True)

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw `[size, D]` parameters."""
        return self.from_unconstrained(rng.standard_normal((size, self.num_parameters)))

    def from_unconstrained(self, z: ArrayLike) -> FloatArray:
        """Return mean + factor z, with factor factor^T = covariance."""
        return np.asarray(self.mean + checked_parameters(z, self.num_parameters, "z") @ self.factor.T)

    def to_unconstrained(self, theta: ArrayLike) -> FloatArray:
        """Return the z with theta = mean + factor z."""
        return self._solved(checked_parameters(theta, self.num_parameters, "theta") - self.mean, is_transposed=False)

    def log_jacobian(self, z: ArrayLike) -> FloatArray:
        """Return log |d theta / d z|, the same everywhere."""
        return np.full(checked_parameters(z, self.num_parameters, "z").shape[:-1], np.log(np.diag(self.factor)).sum())

    def _solved(self, right_sides: FloatArray, *, is_transposed: bool) -> FloatArray:
        """Solve factor x = b, or its transpose, for each b in the last axis."""
        flat = right_sides.reshape(-1, self.num_parameters).T
        solved = solve_triangular(self.factor, flat, lower=True, trans=int(is_transposed), check_finite=False)
        return np.asarray(solved.T.reshape(right_sides.shape))
