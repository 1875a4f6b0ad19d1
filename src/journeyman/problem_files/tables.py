"""Reading TOML files and CSV tables so that every complaint names its place: file, table, key and line."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from journeyman.checks import nearest, suggestion
from journeyman.errors import InputError, JourneymanError
from journeyman.storage.files import number_table, read_arrays, read_csv
from journeyman.storage.tables import Table, file_text, found_separator, parsed_toml, read_table, toml_lines
from journeyman.types import AnyArray, FloatArray

T = TypeVar("T")
SQLITE = b"SQLite format 3\0"  # how studies begin
ROOT = ""  # the table of the keys before any [table]


@dataclass(frozen=True)
class TomlFile:
    """A parsed TOML file with its text, for finding lines.

    `is_confined`: whether the files that it names must lie right beside it, since nobody knows who wrote it.
    """

    path: Path
    text: str
    data: dict[str, Any]
    is_confined: bool = False

    def table(self, name: str) -> "TomlTable":
        """Return a table by name ("" for the top of the file), empty if it is not there."""
        content = self.data if name == ROOT else self.data.get(name, {})
        if name == "map" and isinstance(content, str):
            content = {"drawing": content}  # the short form: map = """..."""
        if not isinstance(content, dict):
            raise InputError(
                f"{name} must be a table, got {content!r} at {self.place(ROOT, name)}. Write [{name}] on a line of its "
                "own, and its keys below."
            )
        return TomlTable(self, name, content)

    def place(self, table: str, key: str | None = None) -> str:
        """Say where a table or one of its keys stands."""
        line = self.line_of(table, key)
        return f"line {line} of {self.path.name}" if line else self.path.name

    def line_of(self, table: str, key: str | None = None) -> int | None:
        """Return the line number of a table's header or of a key in it, or None if it cannot be found."""
        current = ROOT
        for number, line in enumerate(toml_lines(self.text), start=1):
            header = re.match(r"\s*\[\s*\"?([^\]\"]+?)\"?\s*\]\s*(#.*)?$", line)
            if header:
                current = header.group(1)
                if key is None and current == table:
                    return number
            elif key is not None and current == table and re.match(rf"\s*\"?{re.escape(key)}\"?\s*[.=]", line):
                return number
            if key is not None and current == ROOT and table and re.match(rf"\s*{re.escape(table)}\s*[.=]", line):
                return number
            if key is not None and table == ROOT and header and current == key:
                return number
        return None


@dataclass(frozen=True)
class TomlTable:
    """One table of a file; every getter complains with the line."""

    file: TomlFile
    name: str
    data: dict[str, Any]

    def __contains__(self, key: str) -> bool:
        return key in self.data

    @property
    def title(self) -> str:
        """Name the table for people."""
        return f"[{self.name}]" if self.name else "the top of the file"

    def place(self, key: str | None = None) -> str:
        """Say where the table or one of its keys stands."""
        return self.file.place(self.name, key)

    def check_left_out(self, keys: tuple[str, ...], where: str, advice: str) -> None:
        """Refuse keys that say what something else says already."""
        for key in keys:
            if key in self:
                raise InputError(f"{key} must be left out {where}, got it at {self.place(key)}. {advice}")

    def check_keys(self, known: tuple[str, ...]) -> None:
        """Refuse keys that mean nothing here, and suggest what is meant."""
        for key in self.data:
            if key not in known:
                hint = suggestion(key, known, otherwise="It has")
                raise InputError(f"{self.title} must have keys that it knows, got {key!r} at {self.place(key)}. {hint}")

    def require(self, key: str, example: str) -> Any:
        """Return a value that must be there."""
        if key not in self.data:
            where = f"in {self.title}" if self.name else f"at {self.title}"
            raise InputError(f"{key} must be given {where}, got none in {self.place()}. Example: {example}")
        return self.data[key]

    def choice(
        self, key: str, known: tuple[str, ...], example: str, advice: str = "", default: str | None = None
    ) -> str:
        """Return a word that must be one of the known ones; `advice` is for a word that is like none of them."""
        word = self.require(key, example) if default is None else self.data.get(key, default)
        if word not in known:
            hint = nearest(word, known) or f"Example: {example}. {advice}".rstrip()
            raise InputError(f"{key} must be one of {', '.join(known)}, got {word!r} at {self.place(key)}. {hint}")
        return str(word)

    def flag(self, key: str, default: bool) -> bool:
        """Return true or false."""
        value = self.data.get(key, default)
        if not isinstance(value, bool):
            raise InputError(
                f"{key} must be true or false, got {value!r} at {self.place(key)}. Example: {key} = "
                f"{str(not default).lower()}"
            )
        return value

    def chance(self, key: str, default: float) -> float:
        """Return a number between 0 and 1."""
        value = self.data.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value <= 1.0:
            raise InputError(
                f"{key} must be a chance between 0 and 1, got {value!r} at {self.place(key)}. Example: {key} = 0.1"
            )
        return float(value)

    def existing_file(self, key: str, example: str) -> Path:
        """Return the path of a file that is named relative to the TOML file."""
        name = self.require(key, example)
        if not isinstance(name, str):
            raise InputError(f"{key} must be a file name, got {name!r} at {self.place(key)}. Example: {example}")
        path = self.file.path.parent / name
        if self.file.is_confined and (Path(name).name != name or os.path.islink(path) or "\\" in name):
            raise InputError(
                f"{key} must name a file that comes with the problem, without a folder, got {name!r} at "
                f"{self.place(key)}. Put it beside the problem."
            )
        if not os.path.isfile(path):  # which Path.is_file says by an error where a name is too long
            raise InputError(
                f"{key} must name a file that exists, got {name!r} at {self.place(key)}. "
                "It is looked for beside the problem file."
            )
        return path

    def made(self, cls: type[T], record: dict[str, Any]) -> T:
        """Return what a registered class makes of this table; whatever it raises is said with the place."""
        keys = ", ".join(key for key in self.data if key != "kind") or "no keys"
        with self.blamed("kind"):
            try:
                made: T = cls.from_record(record)  # type: ignore[attr-defined]
            except JourneymanError:
                raise
            except Exception as error:  # the class is not ours, and may raise anything
                raise InputError(
                    f"{cls.__name__} must get keys that it can read, got {keys}, which failed with "
                    f"{type(error).__name__}: {error}. Compare them with its from_record."
                ) from error
            return made

    @contextmanager
    def blamed(self, key: str | None = None) -> Iterator[None]:
        """Add the place of this table, or of one of its keys, to errors about what stands there."""
        try:
            yield
        except InputError as error:
            place = self.place(key if key in self.data else None)
            where = f"{self.title}, {place}" if self.name else place
            raise type(error)(f"{where}: {error}") from None


def read_toml(path: str | Path, *, is_confined: bool = False) -> TomlFile:
    """Read and parse a TOML file, or say where it is not one; `is_confined` as in `TomlFile`."""
    path = Path(path)
    if os.path.isdir(path):
        raise InputError(f"a problem must be a file, got the folder {str(path)!r}. Name the problem.toml in it.")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InputError(
            f"the problem file must exist, got {str(path)!r}. Check the path, or write an example: journeyman init"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        if isinstance(error, UnicodeDecodeError) and error.object.startswith(SQLITE):
            raise InputError(
                f"a problem must be a text file, got {path.name}, which is a study. Look at that with: journeyman "
                f"study status {path}"
            ) from None
        raise InputError(f"{path.name} must be UTF-8 text, but reading it failed: {error}. Save it again.") from error
    return TomlFile(path, text, parsed_toml(text, path.name), is_confined)


def read_columns(path: Path, what: str = "a table") -> Table:
    """Read a table with a header and at least one line, whose columns have different names."""
    table = read_table(path, what=what)
    if table.repeated:
        raise InputError(
            f"the columns of {path.name} must have different names, got {table.repeated[0]} twice. Rename one of them."
        )
    if not len(table):
        raise InputError(f"{path.name} must have a header and at least one line below it, got none. Fill it in.")
    return table


def read_matrix(path: Path) -> FloatArray:
    """Read a file of numbers without a header, separated by comma, semicolon or tab."""
    lines = read_csv(path, found_separator(path.name, file_text(path)))
    if not lines:
        raise InputError(f"{path.name} must have at least one line, got an empty file. Fill it in.")
    return number_table(path, lines, len(lines[0][1]))


def read_numbers(path: Path, *names: str) -> dict[str, AnyArray]:
    """Read arrays of an `.npz` file, all by default."""
    try:
        return read_arrays(path, *names)
    except ValueError as error:
        raise InputError(
            f"{path.name} must be an .npz file of numbers, but reading it failed: {error}. Save it again."
        ) from error
