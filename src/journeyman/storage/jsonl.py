"""Append-only files of JSON Lines: a header that says what they are, and then one record per line.

A process that is killed leaves at most one unfinished line, at the end; readers leave it out, and the next writer drops
it. One process writes at a time, and only if it has the settings that the file began with.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

from journeyman.errors import InputError
from journeyman.storage.files import lock


class Lines(NamedTuple):
    """What a file holds: its header, its records with their line numbers, and the bytes of its finished lines."""

    header: dict[str, Any]
    records: list[tuple[int, dict[str, Any]]]
    num_bytes: int


def read_lines(path: Path, form: str) -> Lines:
    """Return what a file of results holds, if its header says that it is of format `form`."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"results must be readable, got {str(path)!r}: {error.strerror}. Check the path.") from None
    whole = data[: data.rfind(b"\n") + 1]
    lines = whole.split(b"\n")[:-1]
    header = _record(lines[0]) if lines else None
    if header is None or header.get("format") != form:
        first = (lines[0] if lines else data)[:60]
        raise InputError(
            f"results must begin with a header of format {form}, got {first!r} in {str(path)!r}. "
            "Choose another file, or remove this one."
        )
    records = []
    for number, line in enumerate(lines[1:], start=2):
        record = _record(line)
        if record is None:
            raise broken_line(path, number, line)
        records.append((number, record))
    return Lines(header, records, len(whole))


def broken_line(path: Path, number: int, content: object) -> InputError:
    """Return the error for a line that is not what the file is made of."""
    return InputError(
        f"each line of results must be whole, got {str(content)[:60]} at line {number} of {str(path)!r}. "
        "Remove that line; what it held will be done again."
    )


@contextmanager
def appended(
    path: Path, header: Mapping[str, Any], settings: str
) -> Iterator[tuple[Lines, Callable[[Mapping[str, Any]], None]]]:
    """Open a file for appending, made if need be; gives what it holds, and a function that adds a record for good.

    Parameters
    ----------
    header
        First line of a new file, with its `format`.
    settings
        Key of the header under which the settings are that must be the same, as plain data by name.

    Raises
    ------
    InputError
        If the file has other settings, is not such a file, cannot be written, or another process is writing to it. A
        file to which nothing was added when an InputError ends the block is removed.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a+", encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"results must go where they can be written, got {str(path)!r}: {error.strerror}. Choose another place."
        ) from None
    form = str(header["format"])
    with file:
        lock(file, path, "results")
        if path.stat().st_size > 0:
            found = read_lines(path, form)
            _check_same(path, found.header.get(settings, {}), json.loads(json.dumps(header[settings])))
            os.truncate(path, found.num_bytes)
        else:
            _append(file, header)
            found = read_lines(path, form)
        size = found.num_bytes
        try:
            yield found, lambda record: _append(file, record)
        except InputError:
            if not found.records and path.stat().st_size == size:  # settings that nothing can be done with
                path.unlink()
            raise


def _append(file: IO[str], record: Mapping[str, Any]) -> None:
    """Write one line, and have the system keep it."""
    file.write(json.dumps(record, allow_nan=False) + "\n")
    file.flush()
    os.fsync(file.fileno())


def _record(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _check_same(path: Path, theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> None:
    """Refuse a file of other settings, and name one that differs."""
    for key in sorted({*theirs, *ours}):
        if theirs.get(key) != ours.get(key):
            raise InputError(
                f"results must be continued with the settings that they began with, got {key} = {ours.get(key)!r} "
                f"where {str(path)!r} has {theirs.get(key)!r}. Choose another file, or the old settings."
            )
