"""The file of a run: JSON Lines, a header and then one line per replication, only ever appended to.

A process that is killed leaves at most one unfinished line, at the end: it is dropped, and that replication done again.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from journeyman.calibration.quantities import quantity_names
from journeyman.calibration.replication import Replication
from journeyman.calibration.spec import CalibrationSpec
from journeyman.errors import InputError
from journeyman.storage.files import lock

FORMAT = "journeyman-calibration-1"


class Run(NamedTuple):
    """What a file holds: the spec as plain data, names of the quantities, and replications by index."""

    spec: Mapping[str, Any]
    names: tuple[str, ...]
    replications: tuple[Replication, ...]

    @property
    def num_draws(self) -> int:
        """Draws that the truth was ranked among."""
        return int(self.spec["num_draws"])


def header_of(spec: CalibrationSpec) -> dict[str, Any]:
    """Return the first line of a file as plain data."""
    from importlib.metadata import version

    assert spec.parameters is not None
    return {
        "format": FORMAT,
        "journeyman": version("journeyman"),
        "fingerprint": spec.fingerprint(),
        "quantities": list(quantity_names(spec.example_problem(), spec.parameters)),
        "spec": spec.record(),
    }


def load_run(path: str | Path) -> Run:
    """Return what a file holds; an unfinished last line is left out, and so are repeated indices."""
    header, replications, _ = _read(Path(path))
    ordered = tuple(replications[index] for index in sorted(replications))
    return Run(header["spec"], tuple(header["quantities"]), ordered)


@contextmanager
def appended(spec: CalibrationSpec, path: Path) -> Iterator[tuple[dict[int, Replication], TextIO]]:
    """Open the file of a run for appending, made if need be; gives the replications it holds, and the open file.

    Raises
    ------
    InputError
        If the file belongs to another spec, is no such file, cannot be written, or another process is writing to it.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a+", encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"results must go where they can be written, got {str(path)!r}: {error.strerror}. Choose another place."
        ) from None
    with file:
        lock(file, path, "results")
        done: dict[int, Replication] = {}
        if path.stat().st_size > 0:
            header, done, num_bytes = _read(path)
            _check_same(header, spec, path)
            os.truncate(path, num_bytes)
        else:
            append(file, header_of(spec))
        try:
            yield done, file
        except InputError:
            if not done:  # settings that no replication can be done with: there is nothing to go on with
                path.unlink()
            raise


def append(file: TextIO, record: dict[str, Any]) -> None:
    """Write one line, and have the system keep it."""
    file.write(json.dumps(record, allow_nan=False) + "\n")
    file.flush()
    os.fsync(file.fileno())


def replication_record(replication: Replication) -> dict[str, Any]:
    """Return a replication as plain data, without what is empty."""
    return {name: value for name, value in asdict(replication).items() if value not in ((), None)}


def _read(path: Path) -> tuple[dict[str, Any], dict[int, Replication], int]:
    """Return header, replications by index, and the number of bytes in finished lines."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"results must be readable, got {str(path)!r}: {error.strerror}. Check the path.") from None
    whole = data[: data.rfind(b"\n") + 1]
    lines = whole.splitlines()
    header = _header(lines[0] if lines else b"", path)
    replications: dict[int, Replication] = {}
    for number, line in enumerate(lines[1:], start=2):
        try:
            replication = _replication(json.loads(line))
        except (ValueError, KeyError, TypeError):
            raise InputError(
                f"each line of results must be a replication, got {line[:60]!r} at line {number} of {str(path)!r}. "
                "Remove that line; its replication will be done again."
            ) from None
        replications.setdefault(replication.index, replication)
    return header, replications, len(whole)


def _header(line: bytes, path: Path) -> dict[str, Any]:
    try:
        header = json.loads(line)
        if header["format"] == FORMAT:
            return dict(header)
    except (ValueError, KeyError, TypeError):
        pass
    raise InputError(
        f"results must begin with a header of format {FORMAT}, got {line[:60]!r} in {str(path)!r}. "
        "Choose another file, or remove this one."
    )


def _replication(record: dict[str, Any]) -> Replication:
    return Replication(
        index=int(record["index"]),
        ranks=tuple(record.get("ranks", ())),
        levels=tuple(record.get("levels", ())),
        effective_draws=record.get("effective_draws"),
        seconds=float(record["seconds"]),
        warnings=tuple(record.get("warnings", ())),
        error=record.get("error"),
    )


def _check_same(header: dict[str, Any], spec: CalibrationSpec, path: Path) -> None:
    """Refuse a file of another spec, and say what is different."""
    if header["fingerprint"] == spec.fingerprint():
        return
    theirs, ours = header["spec"], spec.record()
    for key in sorted({*theirs, *ours}):
        if theirs.get(key) != ours.get(key):
            raise InputError(
                f"results must be continued with the settings that they began with, got {key} = {ours.get(key)!r} "
                f"where {str(path)!r} has {theirs.get(key)!r}. Choose another file, or the old settings."
            )
    raise InputError(
        f"results must keep their header as it was written, got a changed one in {str(path)!r}. Start anew."
    )
