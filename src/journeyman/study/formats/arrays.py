"""Demonstrations as arrays in one `.npz` file: steps one after the other, and where each demonstration begins."""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from journeyman.demonstrations import ENDINGS, Demonstration
from journeyman.errors import InputError
from journeyman.storage.files import read_arrays
from journeyman.storage.tables import file_bytes
from journeyman.study.writing import write_whole
from journeyman.types import AnyArray

NOTHING = -1  # stands for a number that is not known
ABOUT = ("ended", "final_state", "query_id", "annotator", "timestamp")


def about_arrays(demonstrations: Sequence[Demonstration]) -> dict[str, AnyArray]:
    """Return what is known of each demonstration besides its steps, one entry each."""
    stamps = ["" if item.timestamp is None else item.timestamp.isoformat() for item in demonstrations]
    return {
        "ended": np.array([ENDINGS.index(item.ended) for item in demonstrations], dtype=np.int8),
        "final_state": _numbers([item.final_state for item in demonstrations]),
        "query_id": _numbers([item.query_id for item in demonstrations]),
        "annotator": np.array([item.annotator or "" for item in demonstrations], dtype=np.str_),
        "timestamp": np.array(stamps, dtype=np.str_),
    }


def _numbers(values: Sequence[int | None]) -> AnyArray:
    return np.array([NOTHING if value is None else value for value in values], dtype=np.int64)


def about_record(arrays: Mapping[str, AnyArray], index: int) -> dict[str, Any]:
    """Return what `about_arrays` says of one demonstration; what is not among the arrays is not known."""
    values = {name: np.asarray(arrays[name])[index].item() for name in ABOUT if name in arrays}
    known = {name: value for name, value in values.items() if value not in (NOTHING, "")}
    return known | {"ended": ENDINGS[values["ended"]]}


def write_npz(demonstrations: Sequence[Demonstration], path: Path) -> None:
    """Write arrays: states and actions of all steps, `begin [n + 1]` where each demonstration starts in them, ..."""
    steps = [step for item in demonstrations for step in item.steps]
    arrays = {
        "start_state": np.array([item.start_state for item in demonstrations], dtype=np.int64),
        "begin": np.cumsum([0, *(len(item) for item in demonstrations)]),
        "states": np.array([state for state, _ in steps], dtype=np.int64),
        "actions": np.array([action for _, action in steps], dtype=np.int64),
        **about_arrays(demonstrations),
    }
    write_arrays(path, arrays)


def write_arrays(path: Path, arrays: Mapping[str, AnyArray]) -> None:
    """Write an `.npz` file whole or not at all."""
    if path.suffix != ".npz":
        raise InputError(f"a file of arrays must end in .npz, got {path.name!r}. Rename it.")
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **dict(arrays))  # type: ignore[arg-type]
    write_whole(path, buffer.getvalue())


def required_arrays(path: Path, required: tuple[str, ...]) -> dict[str, AnyArray]:
    """Return the arrays of an `.npz` file, which must have those that are required."""
    data = file_bytes(path, "demonstrations")
    try:
        arrays = read_arrays(data)
    except ValueError as error:
        raise InputError(f"{path.name} must be an .npz file without objects, but: {error}. Save it again.") from None
    missing = [name for name in required if name not in arrays]
    if missing:
        raise InputError(
            f"{path.name} must have the arrays {', '.join(required)}, but lacks {', '.join(missing)}. "
            f"It has: {', '.join(arrays) or 'none'}."
        )
    return arrays


def read_npz(path: Path) -> tuple[Demonstration, ...]:
    """Read what `write_npz` wrote."""
    arrays = required_arrays(path, ("start_state", "begin", "states", "actions", *ABOUT))
    try:
        begin = arrays["begin"]
        pairs = np.stack([arrays["states"], arrays["actions"]], axis=1).tolist()
        return tuple(
            Demonstration.from_record(
                {"start_state": int(start), "steps": pairs[begin[i] : begin[i + 1]], **about_record(arrays, i)}
            )
            for i, start in enumerate(arrays["start_state"])
        )
    except (IndexError, ValueError, TypeError) as error:
        raise InputError(f"{path.name} must hold demonstrations as journeyman writes them, but: {error}") from None
