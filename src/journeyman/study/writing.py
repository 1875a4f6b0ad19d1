"""Exports are written whole or not at all."""

import os
from pathlib import Path

from journeyman.errors import InputError
from journeyman.storage.files import remove_leftovers, whole_file


def check_place(path: Path) -> None:
    """Refuse a place where no file can be; remove what an export that was killed left half written there."""
    if os.path.isdir(path):
        raise InputError(f"an export must go to a file, got the folder {str(path)!r}. Add a file name.")
    if not os.path.isdir(path.parent):
        raise InputError(f"the folder of an export must exist, got {str(path.parent)!r}. Create it first.")
    remove_leftovers(path.parent, path.name)


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file whole or not at all, text as UTF-8."""
    check_place(path)
    with whole_file(path, "an export") as temporary:
        temporary.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "backslashreplace"))
