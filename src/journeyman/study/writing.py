"""Writing files whole or not at all."""

from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from journeyman.errors import InputError
from journeyman.storage.files import whole_file


def check_place(path: Path) -> None:
    """Refuse a place where no file can be."""
    if path.is_dir():
        raise InputError(f"an export must go to a file, got the folder {str(path)!r}. Add a file name.")
    if not path.parent.is_dir():
        raise InputError(f"the folder of an export must exist, got {str(path.parent)!r}. Create it first.")


def write_whole(path: Path, write_fn: Callable[[BinaryIO], object]) -> None:
    """Write beside `path`, then move over it; on failure nothing is left behind and what was there stays."""
    check_place(path)
    with whole_file(path, "an export") as temporary, temporary.open("xb") as file:
        write_fn(file)


def write_text_whole(path: Path, text: str) -> None:
    """Write a text file whole or not at all."""
    write_whole(path, lambda file: file.write(text.encode("utf-8")))


def readable_bytes(path: Path) -> bytes:
    """Return what a file holds, or say why it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(
            f"demonstrations must be in a file that can be read, got {str(path)!r}: {error.strerror or error}. "
            "Check the path."
        ) from None


def readable_text(path: Path) -> str:
    """Return the text of a UTF-8 file."""
    try:
        return readable_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path.name} must be UTF-8 text, but: {error}. Save it again.") from None
