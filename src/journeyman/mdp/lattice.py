"""Lattice: a regular grid of points in a box, and continuous functions between them.

A function that is known at the points has the value

    f(x) = sum over k of w_k(x) f(point_k),   w_k >= 0,   sum of w_k = 1

anywhere in the box. The weights reproduce linear functions exactly, and f is continuous. *Multilinear*: the 2^d corners
of the cell of x. *Simplex*: the d + 1 corners of the one of its d! simplices that x lies in (Kuhn's triangulation,
found by sorting), which has fewer corners from two dimensions on. Weights that are not negative and sum to 1 are
chances: read so, a next state between points is a random one of its corners, and dynamics on the points are those of an
MDP (Kushner and Dupuis 2001; Munos and Moore 2002).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from journeyman.checks import any_array, float_array, one_of, whole_number
from journeyman.errors import InputError
from journeyman.types import AnyArray, BoolArray, FloatArray, IntArray, read_only

SCHEMES = ("multilinear", "simplex")
MAX_DIMENSIONS = 4
ROUNDING = 1e-12  # of a cell: a place this near to a point is the point


@dataclass(frozen=True, eq=False)
class Lattice:
    """Regular points in a box of one to four dimensions, numbered with the last dimension fastest.

    Parameters
    ----------
    low, high
        `[d]` the box.
    sizes
        `[d]` points along each dimension, at least 2; along a periodic one the first stands for the end as well.
    periodic
        `[d]` whether the end of a dimension is its beginning, as of an angle; default: none.
    scheme
        "multilinear" or "simplex".
    """

    low: FloatArray
    high: FloatArray
    sizes: IntArray
    periodic: BoolArray = None  # type: ignore[assignment]
    scheme: str = "multilinear"

    def __post_init__(self) -> None:
        """Check the parts, once, and freeze them."""
        low, high = (np.atleast_1d(float_array(side, "bounds")) for side in (self.low, self.high))
        if low.ndim != 1 or low.shape != high.shape or not 1 <= low.size <= MAX_DIMENSIONS:
            raise InputError(
                f"bounds must be a pair (low, high) for each of 1 to {MAX_DIMENSIONS} dimensions, got lows of shape "
                f"{low.shape} and highs of shape {high.shape}. Example: [(-1.2, 0.6), (-0.07, 0.07)]."
            )
        for i, (a, b) in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
            if not (np.isfinite(a) and np.isfinite(b) and a < b):
                raise InputError(
                    f"bounds must be finite and the low one below the high one, got ({a:g}, {b:g}) for dimension {i}. "
                    + ("Swap them." if a > b else "Give the part of the world that matters.")
                )
        sizes = any_array(self.sizes, "points")
        if sizes.ndim == 0:
            sizes = np.repeat(sizes, low.size)
        if sizes.shape != low.shape:
            raise InputError(
                f"points must be one number, or one for each of the {low.size} dimensions, got {sizes.tolist()}."
                " Give as many as there are bounds."
            )
        counts = [whole_number(n, f"points of dimension {i}", 2) for i, n in enumerate(sizes.tolist())]
        periodic = np.zeros(low.size, dtype=bool) if self.periodic is None else any_array(self.periodic, "periodic")
        if periodic.shape != low.shape or periodic.dtype.kind != "b":
            raise InputError(f"periodic must be True or False for each of {low.size} dimensions, got {periodic}.")
        one_of(self.scheme, SCHEMES, "scheme", "Leave it out for 'multilinear'.")
        checked: dict[str, Any] = {"low": low, "high": high, "sizes": np.array(counts), "periodic": periodic}
        for name, value in checked.items():
            object.__setattr__(self, name, read_only(value))

    @property
    def num_dimensions(self) -> int:
        """Number of dimensions d."""
        return self.low.size

    @property
    def num_points(self) -> int:
        """Number of points S."""
        return int(np.prod(self.sizes.astype(object)))

    @property
    def num_corners(self) -> int:
        """Number of points that a place between them is a mixture of."""
        return 2**self.num_dimensions if self.scheme == "multilinear" else self.num_dimensions + 1

    @property
    def spacing(self) -> FloatArray:
        """`[d]` distance of neighbouring points."""
        return np.asarray((self.high - self.low) / np.where(self.periodic, self.sizes, self.sizes - 1))

    @cached_property
    def axes(self) -> tuple[FloatArray, ...]:
        """The points of each dimension."""
        ends = self.low + self.spacing * (self.sizes - 1)
        ends = np.where(self.periodic, ends, self.high)
        return tuple(np.linspace(a, b, n) for a, b, n in zip(self.low, ends.tolist(), self.sizes.tolist(), strict=True))

    @cached_property
    def points(self) -> FloatArray:
        """`[S, d]` all points, in the order of their numbers."""
        mesh = np.meshgrid(*self.axes, indexing="ij")
        return np.asarray(read_only(np.stack([part.ravel() for part in mesh], axis=1)))

    @property
    def finer(self) -> "Lattice":
        """The lattice with half the spacing: it has all points of this one."""
        return Lattice(
            self.low, self.high, np.where(self.periodic, 2 * self.sizes, 2 * self.sizes - 1), self.periodic, self.scheme
        )

    def wrapped(self, states: FloatArray) -> FloatArray:
        """Return states with periodic dimensions inside the box, others as they are."""
        if not self.periodic.any():
            return states
        width = self.high - self.low
        return np.where(self.periodic, self.low + np.mod(states - self.low, width), states)

    def is_inside(self, states: FloatArray) -> BoolArray:
        """Return `[n]` whether states lie in the box, up to rounding; of periodic dimensions every number does."""
        slack = 1e-6 * self.spacing  # some worlds compute in float32
        inside = (states >= self.low - slack) & (states <= self.high + slack)
        return np.asarray((inside | self.periodic).all(axis=1))

    def weights(self, states: ArrayLike) -> tuple[IntArray, FloatArray]:
        """Return the points that each state is a mixture of, `[n, K]`, and their weights, `[n, K]`.

        Weights are at least 0 and sum to 1. A state outside of the box counts as the nearest one on its border.
        """
        cells, parts = self._cells(self.checked_states(states))
        return self._multilinear(cells, parts) if self.scheme == "multilinear" else self._simplex(cells, parts)

    def nearest(self, states: ArrayLike) -> IntArray:
        """Return the number of the point nearest to each state, `[n]`, distances counted in cells."""
        cells, parts = self._cells(self.checked_states(states))
        return self._numbers(cells + (parts > 0.5))

    def checked_states(self, states: ArrayLike, what: str = "states") -> FloatArray:
        """Return states as finite numbers `[n, d]`; a single one `[d]` is taken as well."""
        array = float_array(states, what)
        array = array[None] if array.ndim == 1 else array
        if array.ndim != 2 or array.shape[1] != self.num_dimensions:
            raise InputError(
                f"{what} must have shape [n, {self.num_dimensions}], got {array.shape}. "
                f"Give {self.num_dimensions} numbers for each."
            )
        if not np.isfinite(array).all():
            i = int(np.argmax(~np.isfinite(array).all(axis=1)))
            raise InputError(f"{what} must be finite, got {array[i].tolist()} at entry {i}. Remove or correct it.")
        return array

    def _cells(self, states: FloatArray) -> tuple[IntArray, FloatArray]:
        """Return the lower corner `[n, d]` of each state's cell, and its place in the cell, `[n, d]` in 0..1."""
        place = (self.wrapped(states) - self.low) / self.spacing
        last = np.where(self.periodic, self.sizes - 1, self.sizes - 2)
        place = np.where(self.periodic, place, np.clip(place, 0.0, self.sizes - 1))
        nearest = np.rint(place)
        place = np.where(np.abs(place - nearest) <= ROUNDING * self.sizes, nearest, place)
        place = np.where(self.periodic & (place >= self.sizes), 0.0, place)
        cells = np.minimum(np.floor(place), last).astype(np.int64)
        return cells, place - cells

    def _numbers(self, corners: AnyArray) -> IntArray:
        """Return the numbers `[n]` of points that are counted by dimension, `[n, d]`."""
        numbers = np.zeros(len(corners), dtype=np.int64)
        for i, size in enumerate(self.sizes.tolist()):
            numbers = numbers * size + (corners[:, i] % size if self.periodic[i] else corners[:, i])
        return numbers

    def _multilinear(self, cells: IntArray, parts: FloatArray) -> tuple[IntArray, FloatArray]:
        indices = np.empty((len(cells), self.num_corners), dtype=np.int64)
        weights = np.ones((len(cells), self.num_corners))
        for k in range(self.num_corners):
            steps = [(k >> i) & 1 for i in range(self.num_dimensions)]
            indices[:, k] = self._numbers(cells + np.array(steps))
            for i, step in enumerate(steps):
                weights[:, k] *= parts[:, i] if step else 1.0 - parts[:, i]
        return indices, weights

    def _simplex(self, cells: IntArray, parts: FloatArray) -> tuple[IntArray, FloatArray]:
        order = np.argsort(-parts, axis=1, kind="stable")
        falling = np.take_along_axis(parts, order, axis=1)
        edges = np.concatenate([np.ones((len(cells), 1)), falling, np.zeros((len(cells), 1))], axis=1)
        indices = np.empty((len(cells), self.num_corners), dtype=np.int64)
        corner, rows = cells.copy(), np.arange(len(cells))
        indices[:, 0] = self._numbers(corner)
        for k in range(self.num_dimensions):
            corner[rows, order[:, k]] += 1
            indices[:, k + 1] = self._numbers(corner)
        return indices, edges[:, :-1] - edges[:, 1:]
