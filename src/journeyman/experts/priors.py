"""Priors of single parameters of an expert, such as its beta, and the map from a standard normal coordinate to each.

A prior is known by its quantiles alone: x(z) = quantile(Phi(z)) is a draw of it if z is standard normal. Samplers move
z, so that every prior of every parameter is N(0, 1) to them. Compiled code cannot call a quantile function, so the map
is tabulated once, on a scale where it is smooth (its *link*: log for what is positive, logit for a chance), as a cubic
spline in z from -8 to 8; beyond, where a prior has 1e-15 of its mass, it goes on as a straight line. All code uses this
one map. Its error is about 1e-9 (a test compares it with the quantiles); that of a LogNormal is none but rounding.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import astuple, dataclass, fields
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.special import betaincinv, gammainccinv, gammaincinv, ndtr, ndtri

from journeyman.checks import any_array, known_name, positive, real_number
from journeyman.errors import InputError
from journeyman.types import AnyArray, FloatArray

LINKS = ("identity", "log", "logit")
REACH = 8.0  # of the table of a map, in units of z
NUM_NODES = 1601
LOG_2PI = float(np.log(2.0 * np.pi))


class ParameterPrior(ABC):
    """Base of priors of one number. A prior of your own is a frozen dataclass of numbers that defines `quantile`.

    support: the interval that the number lies in. Its ends say which link is used, unless the model of the expert does.
    """

    @property
    @abstractmethod
    def support(self) -> tuple[float, float]:
        """The interval that the number lies in."""

    @abstractmethod
    def quantile(self, chance: AnyArray) -> FloatArray:
        """Return the number below which the parameter lies with this chance, for an array of chances."""

    def upper_quantile(self, chance: AnyArray) -> FloatArray:
        """Return the number above which it lies with this chance; override it where tiny chances would be rounded."""
        return self.quantile(1.0 - chance)

    def upper_complement(self, chance: AnyArray) -> FloatArray:
        """Return 1 - upper_quantile(chance), for a prior of chances; override it where that would be rounded."""
        return np.asarray(1.0 - self.upper_quantile(chance))

    @property
    def link(self) -> str:
        """The scale on which the map is tabulated, by the support."""
        low, high = self.support
        return "identity" if low < 0.0 else ("logit" if high <= 1.0 else "log")

    @cached_property
    def numbers(self) -> tuple[float, ...]:
        """Its own parameters, in order."""
        return tuple(astuple(self))  # type: ignore[call-overload]

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the central interval of chance `level`."""
        tail = np.array((1.0 - level) / 2.0)
        return float(self.quantile(tail)), float(self.upper_quantile(tail))

    def describe(self) -> str:
        """Say it in a few words: "log-normal, median 4, 95 % between 1 and 16"."""
        low, high = self.interval()
        return f"{self.words()}, 95 % between {low:.3g} and {high:.3g}"

    def words(self) -> str:
        """Name the prior and its numbers."""
        return f"{type(self).__name__}({', '.join(f'{number:g}' for number in self.numbers)})"


@dataclass(frozen=True)
class LogNormal(ParameterPrior):
    """A positive number whose logarithm is normal: with chance 0.95 within a factor exp(1.96 sigma) of the median."""

    median: float
    sigma: float

    support: ClassVar[tuple[float, float]] = (0.0, np.inf)

    def __post_init__(self) -> None:
        """Check the numbers."""
        _set_positive(self, median="the median of a LogNormal", sigma="sigma of a LogNormal")

    def quantile(self, chance: AnyArray) -> FloatArray:
        """Return median exp(sigma Phi^-1(chance))."""
        with np.errstate(over="ignore"):  # infinite: refused where it is used
            return np.asarray(self.median * np.exp(self.sigma * ndtri(chance)))

    def upper_quantile(self, chance: AnyArray) -> FloatArray:
        """Return median exp(-sigma Phi^-1(chance))."""
        with np.errstate(over="ignore"):  # infinite: refused where it is used
            return np.asarray(self.median * np.exp(-self.sigma * ndtri(chance)))

    def words(self) -> str:
        """Name it."""
        return f"log-normal, median {self.median:g}"


@dataclass(frozen=True)
class Gamma(ParameterPrior):
    """A positive number with density proportional to x^(shape - 1) exp(-shape x / mean)."""

    shape: float
    mean: float

    support: ClassVar[tuple[float, float]] = (0.0, np.inf)

    def __post_init__(self) -> None:
        """Check the numbers."""
        _set_positive(self, shape="the shape of a Gamma", mean="the mean of a Gamma")

    def quantile(self, chance: AnyArray) -> FloatArray:
        """Invert the regularised incomplete gamma function."""
        return np.asarray(self.mean / self.shape * gammaincinv(self.shape, chance))

    def upper_quantile(self, chance: AnyArray) -> FloatArray:
        """Invert its complement."""
        return np.asarray(self.mean / self.shape * gammainccinv(self.shape, chance))

    def words(self) -> str:
        """Name it."""
        return f"gamma, shape {self.shape:g}, mean {self.mean:g}"


@dataclass(frozen=True)
class Beta(ParameterPrior):
    """A chance with density proportional to x^(a - 1) (1 - x)^(b - 1): of mean a / (a + b)."""

    a: float
    b: float

    support: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def __post_init__(self) -> None:
        """Check the numbers."""
        _set_positive(self, a="a of a Beta prior", b="b of a Beta prior")

    def quantile(self, chance: AnyArray) -> FloatArray:
        """Invert the regularised incomplete beta function."""
        return np.asarray(betaincinv(self.a, self.b, chance))

    def upper_quantile(self, chance: AnyArray) -> FloatArray:
        """Return 1 minus the lower quantile of the mirrored prior."""
        return np.asarray(1.0 - self.upper_complement(chance))

    def upper_complement(self, chance: AnyArray) -> FloatArray:
        """Return the lower quantile of the mirrored prior."""
        return np.asarray(betaincinv(self.b, self.a, chance))

    def words(self) -> str:
        """Name it."""
        return f"Beta({self.a:g}, {self.b:g})"


@dataclass(frozen=True)
class Uniform(ParameterPrior):
    """A number between low and high, all equally likely."""

    low: float
    high: float

    def __post_init__(self) -> None:
        """Check the numbers."""
        low, high = real_number(self.low, "low"), real_number(self.high, "high")
        if not -np.inf < low < high < np.inf:
            raise InputError(f"low must be less than high, both finite, got {low} and {high}. Swap them.")
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @property
    def support(self) -> tuple[float, float]:
        """From low to high."""
        return self.low, self.high

    def quantile(self, chance: AnyArray) -> FloatArray:
        """Return low + (high - low) chance."""
        return np.asarray(self.low + (self.high - self.low) * chance)

    def upper_quantile(self, chance: AnyArray) -> FloatArray:
        """Return high - (high - low) chance."""
        return np.asarray(self.high - (self.high - self.low) * chance)

    def upper_complement(self, chance: AnyArray) -> FloatArray:
        """Return 1 - high + (high - low) chance."""
        return np.asarray((1.0 - self.high) + (self.high - self.low) * chance)

    def describe(self) -> str:
        """Say it."""
        return f"uniform between {self.low:g} and {self.high:g}"


PARAMETER_PRIORS: Mapping[str, type[ParameterPrior]] = {
    "lognormal": LogNormal,
    "gamma": Gamma,
    "beta": Beta,
    "uniform": Uniform,
}


def _set_positive(prior: ParameterPrior, **names: str) -> None:
    for name, what in names.items():
        object.__setattr__(prior, name, positive(getattr(prior, name), what, "Use a number such as 1."))


def prior_to_record(prior: ParameterPrior) -> dict[str, Any]:
    """Return a prior as plain data, such as {"lognormal": [4.0, 0.7]}, which is also how a problem file says it."""
    for name, known in PARAMETER_PRIORS.items():
        if type(prior) is known:
            return {name: list(prior.numbers)}
    raise InputError(
        f"a prior of an expert's parameter must be one of {', '.join(PARAMETER_PRIORS)} to be stored, "
        f"got {type(prior).__name__}. Use one of these, or keep the learner in memory."
    )


def prior_from_record(record: Any, what: str) -> ParameterPrior:
    """Return the prior that a table with one name and its numbers describes."""
    example = f"Example: {what} = {{ {'beta = [1, 9]' if what == 'lapse' else 'lognormal = [4.0, 0.7]'} }}"
    if not isinstance(record, Mapping) or len(record) != 1:
        raise InputError(f"{what} must be a number, or one prior with its numbers, got {record!r}. {example}")
    ((name, numbers),) = record.items()
    known_name(name, PARAMETER_PRIORS, f"a prior of {what}", f"{example}.")
    cls = PARAMETER_PRIORS[name]
    names = [field.name for field in fields(cls)]  # type: ignore[arg-type]
    if not isinstance(numbers, list | tuple) or len(numbers) != len(names):
        raise InputError(
            f"the prior {name} of {what} must have {len(names)} numbers ({', '.join(names)}), got {numbers!r}. "
            f"{example}"
        )
    return cls(*numbers)


class ParameterMap:
    """The map from z, standard normal under the prior, to a parameter, and back.

    Parameters
    ----------
    prior
        Of the parameter.
    link
        One of `LINKS`: the scale of the table; default by the prior's support.

    Attributes
    ----------
    table
        `[nodes, 2]` values on the scale of the link, and their slopes in z, at evenly spaced z from -REACH to REACH.
    """

    def __init__(self, prior: ParameterPrior, link: str | None = None) -> None:
        self.prior, self.link = prior, prior.link if link is None else link
        z = np.linspace(-REACH, REACH, NUM_NODES)
        values = linked(prior, self.link, z)
        if not np.isfinite(values).all() or not (np.diff(values) >= 0.0).all():
            raise InputError(
                f"a prior of an expert's parameter must have finite quantiles in order, got {prior.describe()} "
                f"on the scale {self.link!r}. Use one that is less extreme."
            )
        from scipy.interpolate import CubicSpline  # slow to import

        self.table = np.ascontiguousarray(np.stack([values, CubicSpline(z, values)(z, 1)], axis=1))
        self.table.setflags(write=False)

    def on_link(self, z: AnyArray) -> tuple[FloatArray, FloatArray]:
        """Return the parameter on the scale of its link, and its slope in z, for any z."""
        z = np.asarray(z, dtype=np.float64)
        step = 2.0 * REACH / (NUM_NODES - 1)
        inside = np.clip(z, -REACH, REACH)
        k = np.minimum((inside + REACH) / step, NUM_NODES - 2).astype(np.int64)
        t = (inside + REACH) / step - k
        (y0, m0), (y1, m1) = self.table[k].T, self.table[k + 1].T
        y0, m0, y1, m1 = (part.T for part in (y0, m0, y1, m1))
        rise = y1 - y0
        c2, c3 = 3.0 * rise - step * (2.0 * m0 + m1), step * (m0 + m1) - 2.0 * rise
        slope = (step * m0 + t * (2.0 * c2 + 3.0 * t * c3)) / step
        return y0 + t * (step * m0 + t * (c2 + t * c3)) + slope * (z - inside), slope

    def natural(self, z: AnyArray) -> FloatArray:
        """Return the parameter for z."""
        return unlinked(self.link, self.on_link(z)[0])

    def slope(self, z: AnyArray) -> FloatArray:
        """Return the slope of the parameter in z."""
        value, slope = self.on_link(z)
        x = unlinked(self.link, value)
        factor = {"identity": np.ones_like(x), "log": x, "logit": x * unlinked("logit", -value)}[self.link]
        return np.asarray(factor * slope)

    def coordinate(self, parameter: AnyArray) -> FloatArray:
        """Return z for a parameter: where it is on the table, by Newton's method."""
        x = any_array(parameter, "a parameter of the expert").astype(np.float64)
        with np.errstate(divide="ignore"):
            wanted = x if self.link == "identity" else np.log(x)
            wanted = wanted - np.log1p(-x) if self.link == "logit" else wanted
        z = np.interp(wanted, self.table[:, 0], np.linspace(-REACH, REACH, NUM_NODES))
        for _ in range(4):
            value, slope = self.on_link(z)
            z = np.where(slope > 1e-9, z + (wanted - value) / np.maximum(slope, 1e-9), z)
        return np.asarray(z)

    def log_density(self, parameter: AnyArray) -> FloatArray:
        """Return the log density of the prior."""
        z = self.coordinate(parameter)
        return np.asarray(-0.5 * (z**2 + LOG_2PI) - np.log(self.slope(z)))


def linked(prior: ParameterPrior, link: str, z: FloatArray) -> FloatArray:
    """Return the quantiles of a prior at Phi(z) on the scale of a link."""
    tail, is_upper = ndtr(-np.abs(z)), z > 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        x = np.where(is_upper, prior.upper_quantile(tail), prior.quantile(tail))
        if link == "identity":
            return x
        if link == "log":
            return np.log(x)
        complement = np.where(is_upper, prior.upper_complement(tail), 1.0 - x)
        return np.asarray(np.log(x) - np.log(complement))


def unlinked(link: str, value: AnyArray) -> FloatArray:
    """Return a parameter from its value on the scale of a link."""
    if link == "identity":
        return np.asarray(value)
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(value) if link == "log" else 1.0 / (1.0 + np.exp(-value)))
