"""The prior over finitely many parameter vectors: exact, and without a gradient."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from journeyman.checks import float_array
from journeyman.errors import InputError, UnsupportedError
from journeyman.rewards.priors import checked_parameters
from journeyman.types import FloatArray, read_only

NO_SPACE = "a Discrete prior has no unconstrained space. Use inference 'enumerate' or 'smc'."


@dataclass(frozen=True, eq=False)
class Discrete:
    """Finitely many parameter vectors `atoms [K, D]`, all different, with joint probabilities `[K]`."""

    atoms: FloatArray
    probabilities: FloatArray | None = None
    is_discrete = True

    def __post_init__(self) -> None:
        """Check the arguments; no probabilities means equal ones."""
        atoms = float_array(self.atoms, "atoms")
        if atoms.ndim != 2 or 0 in atoms.shape:
            raise InputError(
                f"atoms must have shape [K, D] with K and D at least 1, got {atoms.shape}. Give one row per atom."
            )
        if not np.isfinite(atoms).all():
            k, i = (int(index) for index in np.argwhere(~np.isfinite(atoms))[0])
            raise InputError(f"atoms must be finite, got {atoms[k, i]} at atom {k}, parameter {i}. Correct it.")
        _, first, counts = np.unique(atoms, axis=0, return_index=True, return_counts=True)
        if (counts > 1).any():
            k = int(first[counts > 1].min())
            raise InputError(f"atoms must all differ, got atom {k} again. Merge them and add their probabilities.")
        object.__setattr__(self, "atoms", read_only(atoms))
        object.__setattr__(self, "probabilities", read_only(_checked_weights(self.probabilities, len(atoms))))

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
        array = checked_parameters(theta, self.num_parameters, "theta")
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
        raise UnsupportedError(NO_SPACE)

    def to_unconstrained(self, theta: ArrayLike) -> FloatArray:
        """Refuse: atoms have no smooth map."""
        raise UnsupportedError(NO_SPACE)

    def log_jacobian(self, z: ArrayLike) -> FloatArray:
        """Refuse: atoms have no smooth map."""
        raise UnsupportedError(NO_SPACE)


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
