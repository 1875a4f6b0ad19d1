"""The continuous priors that the package brings: Normal, Uniform, MultivariateNormal."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular
from scipy.special import ndtr, ndtri

from journeyman.checks import float_array
from journeyman.errors import InputError
from journeyman.rewards.priors import (
    LOG_2PI,
    AffineMap,
    ContinuousPrior,
    Prior,
    checked_parameters,
    checked_size,
    checked_vector,
    tails,
)
from journeyman.types import FloatArray, read_only
from journeyman.wording import plain_number

LARGEST_HALF_WIDTH = 8e307  # beyond it the width overflows


@dataclass(frozen=True, eq=False, repr=False)
class Normal(ContinuousPrior):
    """Independent normal parameters with means and standard deviations, numbers or `[D]`.

    num_parameters: D; mean, std: of each.

    Examples
    --------
    >>> from journeyman import Normal
    >>> prior = Normal(3, mean=1.0, std=2.0)
    >>> prior.interval(0.95)[0].round(2).tolist()
    [-2.92, 4.92]
    """

    num_parameters: int
    mean: FloatArray | float = 0.0
    std: FloatArray | float = 1.0

    def __post_init__(self) -> None:
        """Check and spread the arguments."""
        object.__setattr__(self, "num_parameters", checked_size(self.num_parameters))
        object.__setattr__(self, "mean", checked_vector(self.mean, self.num_parameters, "mean"))
        object.__setattr__(self, "std", checked_vector(self.std, self.num_parameters, "std"))
        std = np.asarray(self.std)
        if not (std > 0).all():
            i = int(np.argmin(std > 0))
            raise InputError(f"std must be positive, got {std[i]} at parameter {i}. Put what is known into the offset.")

    @property
    def covariance(self) -> FloatArray:
        """Covariance `[D, D]`, diagonal."""
        return np.diag(np.asarray(self.std) ** 2)

    def log_density(self, theta: ArrayLike) -> FloatArray:
        """Return log p(theta)."""
        z = self.to_unconstrained(theta)
        return np.asarray(-0.5 * (z**2).sum(-1) - np.log(self.std).sum() - 0.5 * self.num_parameters * LOG_2PI)

    def from_unconstrained(self, z: ArrayLike) -> FloatArray:
        """Return mean + std * z."""
        return np.asarray(self.mean + self.std * checked_parameters(z, self.num_parameters, "z"))

    def to_unconstrained(self, theta: ArrayLike) -> FloatArray:
        """Return (theta - mean) / std."""
        return np.asarray((checked_parameters(theta, self.num_parameters, "theta") - self.mean) / self.std)

    def pull_back(self, z: ArrayLike, gradient: ArrayLike) -> FloatArray:
        """Return std * gradient."""
        return np.asarray(self.std * checked_parameters(gradient, self.num_parameters, "gradient"))

    def affine_map(self) -> AffineMap:
        """Return mean and std."""
        return AffineMap(np.asarray(self.mean), np.asarray(self.std))

    def interval(self, level: float) -> FloatArray:
        """Return mean + std * quantiles."""
        return np.asarray(np.asarray(self.mean)[:, None] + np.asarray(self.std)[:, None] * ndtri(tails(level)))

    def describe(self) -> str:
        """Return "normal, mean 0, sd 3"."""
        return f"normal, mean {_span(np.asarray(self.mean))}, sd {_span(np.asarray(self.std))}"

    def to_record(self) -> dict[str, Any]:
        """Return mean and std."""
        return {"mean": self.mean, "std": self.std}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Return the prior of a record."""
        return cls(len(record["mean"]), record["mean"], record["std"])


@dataclass(frozen=True, eq=False, repr=False)
class Uniform(ContinuousPrior):
    """Independent uniform parameters between low and high, numbers or `[D]`.

    num_parameters: D.

    Examples
    --------
    >>> from journeyman import Uniform
    >>> Uniform(2, low=-1.0, high=1.0).interval(0.9).round(2).tolist()
    [[-0.9, 0.9], [-0.9, 0.9]]
    """

    num_parameters: int
    low: FloatArray | float = 0.0
    high: FloatArray | float = 1.0

    def __post_init__(self) -> None:
        """Check and spread the arguments."""
        object.__setattr__(self, "num_parameters", checked_size(self.num_parameters))
        object.__setattr__(self, "low", checked_vector(self.low, self.num_parameters, "low"))
        object.__setattr__(self, "high", checked_vector(self.high, self.num_parameters, "high"))
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

    @property
    def std(self) -> FloatArray:
        """Standard deviation of each parameter."""
        return np.asarray(self.width / np.sqrt(12.0))

    @property
    def covariance(self) -> FloatArray:
        """Covariance `[D, D]`, diagonal."""
        return np.diag(self.std**2)

    def log_density(self, theta: ArrayLike) -> FloatArray:
        """Return log p(theta): minus infinity outside."""
        array = checked_parameters(theta, self.num_parameters, "theta")
        inside = ((array >= self.low) & (array <= self.high)).all(-1)
        return np.asarray(np.where(inside, -np.log(self.width).sum(), -np.inf))

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

    def pull_back(self, z: ArrayLike, gradient: ArrayLike) -> FloatArray:
        """Return width * phi(z) * gradient, with phi the density of the standard normal."""
        array = checked_parameters(z, self.num_parameters, "z")
        slope = self.width * np.exp(-0.5 * (array**2 + LOG_2PI))
        return np.asarray(slope * checked_parameters(gradient, self.num_parameters, "gradient"))

    def affine_map(self) -> AffineMap:
        """Return low and width, for Phi(z)."""
        return AffineMap(np.asarray(self.low), self.width, is_uniform=True)

    def interval(self, level: float) -> FloatArray:
        """Return low + width * tails."""
        return np.asarray(np.asarray(self.low)[:, None] + self.width[:, None] * np.array(tails(level)))

    def describe(self) -> str:
        """Return "uniform, -100 to 0"."""
        low, high = np.asarray(self.low), np.asarray(self.high)
        return f"uniform, {plain_number(low.min())} to {plain_number(high.max())}"

    def to_record(self) -> dict[str, Any]:
        """Return low and high."""
        return {"low": self.low, "high": self.high}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Return the prior of a record."""
        return cls(len(record["low"]), record["low"], record["high"])


@dataclass(frozen=True, eq=False, repr=False)
class MultivariateNormal(ContinuousPrior):
    """Correlated normal parameters, for example with a kernel over states as covariance `[D, D]`.

    mean: a number or `[D]`; factor `[D, D]`: computed, with factor factor^T = covariance.

    Examples
    --------
    >>> from journeyman import MultivariateNormal
    >>> prior = MultivariateNormal([0.0, 1.0], [[4.0, 0.0], [0.0, 1.0]])
    >>> prior.num_parameters, prior.std.tolist()
    (2, [2.0, 1.0])
    """

    mean: FloatArray
    covariance: FloatArray = field()  # not the property of the base class
    factor: FloatArray = field(init=False)

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
        object.__setattr__(self, "mean", checked_vector(self.mean, covariance.shape[0], "mean"))
        object.__setattr__(self, "factor", read_only(factor))

    @property
    def num_parameters(self) -> int:  # type: ignore[override]
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

    def from_unconstrained(self, z: ArrayLike) -> FloatArray:
        """Return mean + factor z, with factor factor^T = covariance."""
        return np.asarray(self.mean + checked_parameters(z, self.num_parameters, "z") @ self.factor.T)

    def to_unconstrained(self, theta: ArrayLike) -> FloatArray:
        """Return the z with theta = mean + factor z."""
        shifted = checked_parameters(theta, self.num_parameters, "theta") - self.mean
        flat = shifted.reshape(-1, self.num_parameters).T
        solved = solve_triangular(self.factor, flat, lower=True, check_finite=False)
        return np.asarray(solved.T.reshape(shifted.shape))

    def pull_back(self, z: ArrayLike, gradient: ArrayLike) -> FloatArray:
        """Return factor^T gradient."""
        return np.asarray(checked_parameters(gradient, self.num_parameters, "gradient") @ self.factor)

    def affine_map(self) -> AffineMap:
        """Return mean and factor."""
        return AffineMap(self.mean, self.factor)

    def interval(self, level: float) -> FloatArray:
        """Return mean + std * quantiles."""
        return np.asarray(self.mean[:, None] + self.std[:, None] * ndtri(tails(level)))

    def describe(self) -> str:
        """Return "normal, correlated"."""
        return "normal, correlated"

    def to_record(self) -> dict[str, Any]:
        """Return mean and covariance."""
        return {"mean": self.mean, "covariance": self.covariance}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Return the prior of a record."""
        return cls(record["mean"], record["covariance"])


def widened(prior: Prior, factor: float) -> Prior | None:
    """Return a prior `factor` times as wide around the same centre; None if it is not one that can be widened.

    A prior with a method `widened` says itself what that is.
    """
    own: Any = getattr(prior, "widened", None)
    if own is not None:
        wider: Prior = own(factor)
        return wider
    if type(prior) is Normal:
        return replace(prior, std=factor * np.asarray(prior.std))
    if type(prior) is MultivariateNormal:
        return MultivariateNormal(prior.mean, factor**2 * prior.covariance)
    if type(prior) is Uniform:
        centre, half = 0.5 * (np.asarray(prior.low) + np.asarray(prior.high)), 0.5 * factor * prior.width
        return Uniform(prior.num_parameters, centre - half, centre + half)
    return None


def _span(values: FloatArray) -> str:
    low, high = plain_number(values.min()), plain_number(values.max())
    return low if low == high else f"{low} to {high}"
