"""Array types used in signatures; shapes are given in the docstrings."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
AnyArray = NDArray[Any]


def read_only(array: ArrayLike) -> Any:
    """Return a contiguous copy that cannot be written to."""
    copy = np.array(array, order="C")
    copy.setflags(write=False)
    return copy
