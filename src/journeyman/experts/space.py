"""The unknown parameters of an expert as a vector: their names, their priors, and whose they are.

With annotators each of them has parameters of its own, independent under the prior: the vector then holds those of the
first annotator, then those of the second, and so on.
"""

from typing import Any

import numpy as np

from journeyman.errors import InputError
from journeyman.experts.priors import ParameterMap, ParameterPrior
from journeyman.types import AnyArray, FloatArray


class ExpertSpace:
    """The parameters of an expert model that are not known.

    Parameters
    ----------
    expert
        A model; `priors` are those of its parameters by name, none if it has none; `annotators` the names of those who
        have parameters of their own.

    Attributes
    ----------
    names
        Of all E parameters, such as "beta" or "beta of anna".
    maps
        Of the parameters of one annotator.
    annotators
        Names; empty if all answers come from one expert, or from experts who are alike.
    """

    def __init__(self, expert: Any) -> None:
        priors: dict[str, ParameterPrior] = dict(getattr(expert, "priors", {}))
        links = getattr(expert, "links", {})
        self.annotators: tuple[str, ...] = tuple(getattr(expert, "annotators", ())) if priors else ()
        self.single_names = tuple(priors)
        own = tuple(ParameterMap(prior, links.get(name)) for name, prior in priors.items())
        self.maps: tuple[ParameterMap, ...] = own
        self.names: tuple[str, ...] = (
            tuple(f"{name} of {who}" for who in self.annotators for name in priors)
            if self.annotators
            else tuple(priors)
        )

    @property
    def size(self) -> int:
        """Number of all parameters E."""
        return len(self.names)

    @property
    def num_groups(self) -> int:
        """Number of annotators G with parameters of their own; 1 where there are none."""
        return max(1, len(self.annotators))

    def group_of(self, annotator: str | None) -> int:
        """Return the number of an annotator."""
        if not self.annotators:
            return 0
        if annotator not in self.annotators:
            got = "an answer that does not say whose it is" if annotator is None else repr(annotator)
            raise InputError(
                f"every answer must be by one of the annotators {', '.join(self.annotators)}, who have parameters of "
                f"their own, got {got}. Name the annotator (on the command line: --by NAME), or add the name to "
                "annotators of the expert."
            )
        return self.annotators.index(annotator)

    def of_group(self, parameters: FloatArray, group: int) -> FloatArray:
        """Return the parameters `[M, E / G]` of one annotator from those of all `[M, E]`."""
        size = len(self.maps)
        return parameters[:, group * size : (group + 1) * size]

    def natural(self, z: AnyArray) -> FloatArray:
        """Return parameters `[..., E]` for coordinates `[..., E]`; standard normal ones give a draw of the prior."""
        return self._each(z, "natural")

    def slopes(self, z: AnyArray) -> FloatArray:
        """Return the slope of each parameter in its coordinate, `[..., E]`."""
        return self._each(z, "slope")

    def coordinates(self, parameters: AnyArray) -> FloatArray:
        """Return coordinates `[..., E]` of parameters."""
        return self._each(parameters, "coordinate")

    def log_density(self, parameters: AnyArray) -> FloatArray:
        """Return the log density `[...]` of the prior of parameters `[..., E]`."""
        return np.asarray(self._each(parameters, "log_density").sum(axis=-1))

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw `[size, E]` parameters from their priors."""
        return self.natural(rng.standard_normal((size, self.size)))

    def _each(self, array: AnyArray, what: str) -> FloatArray:
        array = np.asarray(array, dtype=np.float64)
        out = np.empty_like(array)
        for i in range(self.size):
            out[..., i] = getattr(self.maps[i % len(self.maps)], what)(array[..., i])
        return out
