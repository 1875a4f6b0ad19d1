"""A problem, its data and a thread's memory in five flat arrays.

Handing a compiled function thirty arrays costs more than the gradient itself. A sampler that calls back for every
gradient passes these five instead; `kernels.log_density_gradient_packed` takes them apart again without copying.
"""

from typing import Any, NamedTuple

import numpy as np

from journeyman.types import AnyArray, BoolArray, FloatArray, IntArray

INT_FIELDS = (
    ("model", "common_indptr"),
    ("model", "extra_indptr"),
    ("model", "choice_states"),
    ("model", "feature_indptr"),
    ("model", "feature_columns"),
    ("data", "states"),
    ("work", "pi"),
    ("work", "num_updates"),
    ("work", "num_gradients"),
)
FLOAT_FIELDS = (
    ("model", "common_weights"),
    ("model", "extra_weights"),
    ("model", "loops"),
    ("model", "feature_values"),
    ("model", "offset"),
    ("data", "counts"),
    ("data", "totals"),
    ("work", "V"),
    ("work", "inverse"),
    ("work", "y"),
    ("work", "g"),
    ("work", "g_reward"),
    ("work", "reward"),
    ("work", "scratch"),
    ("work", "u"),
    ("work", "slope"),
    ("work", "q"),
    ("work", "powers"),
    ("work", "pending"),
)
NUM_FLAGS = 3
NEXT_FIELDS = (("model", "common_next"), ("model", "extra_next"))


class Packed(NamedTuple):
    """header: sizes and flags, then the offsets of the fields in ints, floats and next states, in the order above."""

    header: IntArray
    ints: IntArray
    floats: FloatArray
    next_states: AnyArray
    available: BoolArray

    @property
    def num_gradients(self) -> int:
        """Gradients computed in this memory so far."""
        return int(self.ints[self.header[NUM_FLAGS + INT_FIELDS.index(("work", "num_gradients"))]])


def pack(model: Any, data: Any, work: Any) -> Packed:
    """Copy model, data and work into flat arrays; beta is the first of the floats."""
    parts = {"model": model, "data": data, "work": work}

    def gather(fields: tuple[tuple[str, str], ...], first: AnyArray) -> tuple[list[int], AnyArray]:
        arrays = [first, *(np.ravel(getattr(parts[owner], name)) for owner, name in fields)]
        return np.cumsum([array.size for array in arrays]).tolist(), np.concatenate(arrays)

    int_offsets, ints = gather(INT_FIELDS, np.zeros(0, dtype=np.int64))
    float_offsets, floats = gather(FLOAT_FIELDS, np.array([model.beta]))
    next_offsets, next_states = gather(NEXT_FIELDS, np.zeros(0, dtype=np.int32))
    flags = [int(model.is_state_only), int(model.is_uniform), int(work.inverse.size > 0)]
    header = np.array([*flags, *int_offsets, *float_offsets, *next_offsets], dtype=np.int64)
    return Packed(header, ints, floats, next_states, np.array(model.available))
