"""Connections to study files that keep their locks, whatever else this process does with the files.

Where a process closes any descriptor of a file, POSIX ends all locks that the process has on it: another process could
then write in the middle of a transaction. SQLite takes care of its own descriptors. So whoever else looks into a study
that is open here does so through a descriptor that stays open as long as there is a connection.
"""

import os
import sqlite3
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass
class _Held:
    """A descriptor of a file, and how many connections to it there are."""

    descriptor: int
    num_connections: int = 0


_lock = threading.Lock()
_held: dict[tuple[int, int], _Held] = {}  # by device and number of the file


class HeldConnection(sqlite3.Connection):
    """A connection that holds a descriptor of its file until it is closed."""

    key: tuple[int, int] | None = None

    def close(self) -> None:
        """Close the connection, and then the descriptor if no other connection needs it."""
        super().close()
        key, self.key = self.key, None
        _let_go(key)


def held_connection(path: Path, address: str, **options: Any) -> HeldConnection:
    """Return a connection to the file at `path`, which `address` names in SQLite's way."""
    with _lock:
        key = _key_of(path)
        if key is not None:
            if key not in _held:
                _held[key] = _Held(os.open(path, os.O_RDONLY))
            _held[key].num_connections += 1
    try:
        connection = sqlite3.connect(address, factory=HeldConnection, **options)
    except BaseException:
        _let_go(key)
        raise
    connection.key = key
    return connection


def first_bytes(path: Path, count: int) -> bytes:
    """Return how a file begins; if this process has a connection to it, without closing a descriptor."""
    with _lock:
        key = _key_of(path)
        if key in _held:
            return os.pread(_held[key].descriptor, count, 0)
        with path.open("rb") as file:
            return file.read(count)


def _key_of(path: Path) -> tuple[int, int] | None:
    """Return what names a file whatever its path, None where it cannot be read: SQLite says why."""
    if not os.access(path, os.R_OK):
        return None
    found = path.stat()
    return found.st_dev, found.st_ino


def _let_go(key: tuple[int, int] | None) -> None:
    if key is None:
        return
    with _lock:
        held = _held[key]
        held.num_connections -= 1
        if held.num_connections == 0:
            os.close(_held.pop(key).descriptor)
