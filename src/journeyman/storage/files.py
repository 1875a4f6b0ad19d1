"""Files that are written whole or not at all, and by one process at a time."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from journeyman.errors import InputError


@contextmanager
def whole_file(path: Path, what: str, *, advice: str = "Choose another place.") -> Iterator[Path]:
    """Give the path of a new file to write; when that is done it is flushed to disk and takes the place of `path`.

    On failure nothing is left behind and what was at `path` stays. An OSError becomes an InputError in which `what`
    names the thing that was to be written: "a picture must go where it can be written, ...".
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        raise InputError(
            f"{what} must go where it can be written, got {str(path)!r}: {error.strerror or error}. {advice}"
        ) from None
    finally:
        with suppress(OSError):
            temporary.unlink()


def lock(file: IO[Any], path: Path, what: str) -> None:
    """Refuse an open file that another process has locked; where the system has no such locks, trust the caller."""
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise InputError(
            f"{what} must be written by one process at a time, got {str(path)!r}, which another one has open. "
            "Wait for it, or choose another place."
        ) from None


def made_folder(path: str | Path, what: str, *, advice: str = "Choose another place.") -> Path:
    """Return a folder, made if need be; `what` names the things that go there: "pictures must go to a folder ..."."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{what} must go to a folder that can be made, got {str(folder)!r}: {error.strerror or error}. {advice}"
        ) from None
    return folder
