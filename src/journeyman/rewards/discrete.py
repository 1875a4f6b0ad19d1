"""The prior over finitely many parameter vectors: exact, and without a gradient."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from journeyman.checks import float_array
from journeyman.errors import InputError
from journeyman.rewards.priors import checked_parameters, tails
from journeyman.types import FloatArray, read_only
from journeyman.wording import counted


@dataclass(frozen=True, eq=False)
class Discrete:
    """Finitely many parameter vectors `atoms [K, D]`, all different, with joint probabilities `[K]`.

    Examples
    --------
    >>> from journeyman import Discrete
    >>> prior = Discrete([[1.0, 0.0], [0.0, 1.0]], [0.75, 0.25])
    >>> prior.num_parameters, prior.std.round(3).tolist()
    (2, [0.433, 0.433])
    """

    atoms: FloatArray
    probabilities: FloatArray | None = None
    is_discrete: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the arguments; no probabilities means equal ones."""
        atoms = float_array(self.atoms, "atoms")
        if atoms.ndim != 2 or 0 in atoms.shape:
            raise InputError(
                f"atoms must have shape [K, D] with K and D at least 1, got {atoms.shape}. Give one row per atom."
            )
        if not np.isfinite(atoms).all():
            k, i = (int(index) for index in np.argwhere(~np.isfinite(atoms))[0])
            raise InputError(f"atoms must be finite, got {atoms[k, i]} at atom {k}, parameter {i}. Give a number.")
        _, first, counts = np.unique(atoms, axis=0, return_index=True, return_counts=True)
        if (counts > 1).any():
            k = int(first[counts > 1].min())
            raise InputError(f"atoms must all differ, got atom {k} again. Merge them and add their probabilities.")
        object.__setattr__(self, "atoms", read_only(atoms))
        object.__setattr__(self, "probabilities", read_only(_checked_weights(self.probabilities, len(atoms))))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({counted(self.num_parameters, 'parameter')}: {self.describe()})"

    @property
    def num_parameters(self) -> int:
        """Number of parameters D."""
        return int(self.atoms.shape[1])

    @property
    def weights(self) -> FloatArray:
        """Probabilities `[K]` of the atoms."""
        return np.asarray(self.probabilities)

    @property
    def std(self) -> FloatArray:
        """Standard deviation of each parameter `[D]`."""
        return np.asarray(np.sqrt(self.weights @ (self.atoms - self.weights @ self.atoms) ** 2))

    @property
    def covariance(self) -> FloatArray:
        """Covariance of the parameters `[D, D]`."""
        centred = self.atoms - self.weights @ self.atoms
        return np.asarray(centred.T @ (self.weights[:, None] * centred))

    def log_density(self, theta: ArrayLike) -> FloatArray:
        """Return the log probability of theta: minus infinity where it is no atom."""
        array = checked_parameters(theta, self.num_parameters, "theta")
        is_atom = (array[..., None, :] == self.atoms).all(-1)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(is_atom @ self.weights))

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw `[size, D]` atoms."""
        return np.asarray(self.atoms[rng.choice(len(self.atoms), size=size, p=self.weights)])

    def interval(self, level: float) -> FloatArray:
        """Return central intervals `[D, 2]` of the parameters, between atoms."""
        return np.stack([weighted_quantile(self.atoms, self.weights, tail) for tail in tails(level)], axis=1)

    def describe(self) -> str:
        """Return "4 equally likely atoms"."""
        percents = 100.0 * self.weights
        if np.ptp(percents) < 1e-9:
            return f"{len(percents)} equally likely atoms"
        return f"{len(percents)} atoms, {percents.min():.2g} to {percents.max():.2g} %"

    def to_record(self) -> dict[str, Any]:
        """Return atoms and probabilities."""
        return {"atoms": self.atoms, "probabilities": self.weights}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Return the prior of a record, its probabilities bit by bit.

        They were normalised once; doing it again could change their last bits, and with them every later query.
        """
        prior = cls(record["atoms"], record["probabilities"])
        object.__setattr__(prior, "probabilities", read_only(record["probabilities"]))
        return prior


def _checked_weights(probabilities: ArrayLike | None, size: int) -> FloatArray:
    """Return `[K]` positive probabilities that sum to 1, equal ones for None."""
    if probabilities is None:
        return np.full(size, 1.0 / size)
    weights = float_array(probabilities, "probabilities")
    if weights.shape != (size,):
        raise InputError(f"probabilities must have shape {(size,)}, got {weights.shape}. Give one per atom.")
    if not (weights > 0).all():
        k = int(np.argmin(weights > 0))
        raise InputError(f"probabilities must be positive, got {weights[k]} at atom {k}. Leave that atom out.")
    total = float(weights.sum())
    if not abs(total - 1.0) <= 1e-6:
        raise InputError(f"probabilities must sum to 1, got {total:.9g}. Divide them by their sum.")
    return np.asarray(weights / total)


def weighted_quantile(samples: FloatArray, weights: FloatArray, level: float) -> FloatArray:
    """Return the smallest value with at least `level` of the weight at or below it, per column of `[M, D]`."""
    order = np.argsort(samples, axis=0, kind="stable")
    cumulative = np.cumsum(weights[order], axis=0)
    index = np.minimum((cumulative < level * cumulative[-1] - 1e-12).sum(axis=0), len(samples) - 1)
    return np.asarray(np.take_along_axis(samples, order, axis=0)[index, np.arange(samples.shape[1])])
