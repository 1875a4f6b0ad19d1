"""Plain data and arrays as text and bytes: JSON, and NumPy's .npz without pickle."""

import io
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from journeyman.errors import StudyError
from journeyman.types import AnyArray


def arrays_to_bytes(arrays: Mapping[str, AnyArray]) -> bytes:
    """Return arrays as the bytes of an .npz file, not compressed: speed counts here, and noise hardly compresses."""
    for name, array in arrays.items():
        if array.dtype.hasobject:
            raise StudyError(f"stored arrays must hold numbers or words, got objects in {name!r}. Convert them.")
    buffer = io.BytesIO()
    np.savez(buffer, **dict(arrays))  # type: ignore[arg-type]
    return buffer.getvalue()


def arrays_from_bytes(data: bytes, what: str) -> dict[str, AnyArray]:
    """Return the arrays of `arrays_to_bytes`, or say that they are damaged."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except Exception as error:  # damaged bytes may raise nearly anything: zip, zlib, header and memory errors
        raise StudyError(f"{what} must be arrays that journeyman stored, but they are damaged: {error}.") from error


def to_json(data: Any) -> str:
    """Return plain data as compact JSON."""
    return json.dumps(data, separators=(",", ":"), sort_keys=True)


def from_json(text: str, what: str) -> Any:
    """Return what JSON says, or say that it is damaged."""
    try:
        return json.loads(text)
    except (TypeError, ValueError) as error:
        raise StudyError(f"{what} must be JSON that journeyman stored, but it is damaged: {error}.") from error


def split_snapshot(snapshot: Mapping[str, Any]) -> tuple[str, bytes]:
    """Return a snapshot as JSON of what is plain data, and bytes of what are arrays."""
    arrays = {name: value for name, value in snapshot.items() if isinstance(value, np.ndarray)}
    plain = {name: value for name, value in snapshot.items() if name not in arrays}
    return to_json(plain), arrays_to_bytes(arrays)


def join_snapshot(facts: str, arrays: bytes) -> dict[str, Any]:
    """Return the snapshot that `split_snapshot` took apart."""
    return dict(from_json(facts, "a snapshot")) | arrays_from_bytes(arrays, "a snapshot")
