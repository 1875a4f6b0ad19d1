"""Checkpoints as files: rows and the learner's snapshot, in NumPy's own format, with plain data as JSON."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np

from journeyman.experiment.cell_run import Checkpoint
from journeyman.storage.files import whole_file

PLAIN = "plain"


def save_checkpoint(path: Path, checkpoint: Checkpoint, metrics: tuple[str, ...]) -> None:
    """Write a checkpoint, whole or not at all."""
    snapshot = dict(checkpoint.snapshot or {})
    state = snapshot.pop("state", None)
    text = json.dumps({"cell": path.stem, "rows": checkpoint.rows, "metrics": metrics, "state": state})
    arrays: dict[str, Any] = {PLAIN: np.frombuffer(text.encode(), dtype=np.uint8), **snapshot}
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    with whole_file(path, "a checkpoint", advice="Make room, then run the same command again.") as temporary:
        temporary.write_bytes(buffer.getvalue())


def load_checkpoint(path: Path, metrics: tuple[str, ...]) -> Checkpoint:
    """Return what a file holds; an empty one where there is none, it is damaged, or it lacks some of the metrics.

    Every part of the file has a checksum, so that damage is noticed.
    """
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as kept:
            arrays = {name: kept[name] for name in kept.files}
        plain = json.loads(arrays.pop(PLAIN).tobytes())
        if plain.get("cell", path.stem) != path.stem or not set(metrics) <= set(plain["metrics"]):
            return Checkpoint()
        state = plain["state"]
        return Checkpoint(tuple(plain["rows"]), None if state is None else {"state": state, **arrays})
    except Exception:  # a damaged file can raise nearly anything; to begin anew loses time, and nothing else
        return Checkpoint()
