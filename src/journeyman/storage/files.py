"""Files that are written whole or not at all, and by one process at a time; arrays and tables that are read whole."""

import csv
import glob
import io
import os
import re
import secrets
import stat
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np

from journeyman.errors import InputError
from journeyman.types import AnyArray, FloatArray

LEFTOVER_SECONDS = 3600.0  # age of a half-written file that nobody writes any more


@contextmanager
def whole_file(path: Path, what: str, *, advice: str = "Choose another place.") -> Iterator[Path]:
    """Give the path of a new file to write; when that is done it is flushed to disk and takes the place of `path`.

    On failure nothing is left behind and what was at `path` stays. Whoever might read and write the old file, and
    nobody else, may do so with the new one. An OSError becomes an InputError in which `what` names the thing that was
    to be written: "a picture must go where it can be written, ...".
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with suppress(FileNotFoundError):
            mode = stat.S_IMODE(path.stat().st_mode)
            os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            temporary.chmod(mode | stat.S_IWUSR)
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


def remove_leftovers(folder: Path, name: str = "*") -> None:
    """Remove what processes that were killed left half written in place of some file, or of any."""
    for leftover in folder.glob(f".{name if name == '*' else glob.escape(name)}.*.part"):
        with suppress(OSError):
            if time.time() - leftover.stat().st_mtime > LEFTOVER_SECONDS:
                leftover.unlink()


def write_block(path: Path, name: str, lines: Sequence[str]) -> None:
    """Replace what a page has between "<!-- NAME: made by ... -->" and "<!-- end of NAME -->", and leave the rest."""
    text = path.read_text("utf-8")
    begin, end = re.search(rf"<!-- {re.escape(name)}: made by [^>]* -->", text), f"<!-- end of {name} -->"
    if begin is None or end not in text[begin.end() :]:
        raise InputError(
            f"the page must say where its {name} is, got no marks in {str(path)!r}. Write <!-- {name}: made by run.py "
            f"--> on a line of its own, and {end} below."
        )
    with whole_file(path, "a page") as temporary:
        after = text.index(end, begin.end())
        temporary.write_text("\n".join([text[: begin.end()], *lines, text[after:]]), "utf-8")


def try_lock(file: IO[Any]) -> bool:
    """Lock an open file, or return False if another process has it; where the system has no locks, trust the caller."""
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def lock(file: IO[Any], path: Path, what: str) -> None:
    """Lock an open file; refuses one that another process has locked."""
    if not try_lock(file):
        raise InputError(
            f"{what} must be written by one process at a time, got {str(path)!r}, which another one has open. "
            "Wait for it, or choose another place."
        )


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


def read_arrays(source: Path | bytes, *names: str) -> dict[str, AnyArray]:
    """Return the arrays of an `.npz` file or of its bytes: those of `names` that there are, by default all.

    Raises ValueError for whatever is wrong with it: objects, which need pickle, or damage, which may raise anything.
    """
    try:
        data = source if isinstance(source, bytes) else source.read_bytes()
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files if name in names or not names}
    except Exception as error:
        raise ValueError(str(error)) from error
    other = next((name for name, array in arrays.items() if not isinstance(array, np.ndarray)), None)
    if other is not None:
        raise ValueError(f"{other} is not an array")
    damaged = next((name for name, array in arrays.items() if not _has_letters(array)), None)
    if damaged is not None:
        raise ValueError(f"{damaged} has words with letters that are none")
    return arrays


def _has_letters(array: AnyArray) -> bool:
    """Whether words of an array have letters only; NumPy would make strings of others that Python does not survive."""
    if array.dtype.kind != "U" or not array.nbytes:
        return True
    codes = np.ascontiguousarray(array).view(array.dtype.str[0] + "u4")
    return int(codes.max()) <= sys.maxunicode


def read_csv(path: Path, delimiter: str = ",") -> list[tuple[int, list[str]]]:
    """Return the line numbers and fields of those lines of a table that are not empty."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, delimiter=delimiter, strict=True)
            return [(reader.line_num, fields) for fields in reader if any(field.strip() for field in fields)]
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path.name} must be UTF-8 text, but reading it failed: {error}. Save it again.") from error
    except csv.Error as error:
        raise InputError(
            f"{path.name} must be a well-formed table, got {error} at line {reader.line_num}. Check its quotes."
        ) from error


def number_table(
    path: Path, lines: Sequence[tuple[int, list[str]]], num_fields: int, used: Mapping[str, int] | None = None
) -> FloatArray:
    """Return fields of lines that `read_csv` found as numbers `[lines, used]`; `used`: names and places, or all."""
    places = range(num_fields) if used is None else used.values()
    rule = "all numbers" if used is None else f"numbers in {', '.join(used)}"
    values = []
    for number, fields in lines:
        try:
            if len(fields) != num_fields:  # a decimal comma would shift the columns
                raise ValueError
            values.append([float(fields[place]) for place in places])
        except ValueError:
            raise InputError(
                f"every line of a table must hold {num_fields} fields, {rule}, got {','.join(fields)!r} "
                f"at line {number} of {path.name}. Give one number per column."
            ) from None
    return np.array(values, dtype=np.float64).reshape(-1, len(places))
