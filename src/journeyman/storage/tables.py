"""Tables with named columns, whatever they come as: CSV, TSV, JSON, JSON Lines, Parquet, gz of these, data frames.

A `Table` holds the columns as they stand, texts or values, and knows where each row stands, so that every complaint can
name file, line and column. What a column means is for the reader of the table to say: `numbers` reads numbers, and
`indices` the names of states, actions or whatever else has names.
"""

import csv
import gzip
import io
import json
import math
import re
import reprlib
import tomllib
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from journeyman.checks import any_array, nearest, suggestion
from journeyman.errors import InputError
from journeyman.extras import require
from journeyman.types import AnyArray, FloatArray, IntArray

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab"}
TEXT_ENDINGS = (".csv", ".tsv", ".tab", ".txt")
JSON_ENDINGS = (".json", ".jsonl", ".ndjson")
PARQUET_ENDINGS = (".parquet", ".pq")
MISSING_WORDS = frozenset(("", "NA", "N/A", "#N/A", "<NA>", "NaN", "nan", "None", "null", "NULL", "."))
NO_INDEX = -1  # stands for a value that is missing
MAX_PARTS = 100  # of a key of TOML
NUM_SNIFFED = 200  # lines that the separator must fit


@dataclass(frozen=True)
class Table:
    """Columns by name, all of one length, and where they come from.

    Parameters
    ----------
    name
        Of the file, or "the table".
    columns
        Values as they stand: text of CSV files, whatever they are in other tables.
    lines
        Where each row stands.
    unit
        What `lines` count: "line" (of a text, from 1) or "entry" (of a list or a data frame, from 0).
    repeated
        Names that stand over several columns; only the first of each is among `columns`.
    separator
        What stands between the columns of a text.
    notes
        What else to say of the place of each row, such as "subject m1"; none by default.
    """

    name: str
    columns: Mapping[str, Sequence[Any] | AnyArray]
    lines: Sequence[int]
    unit: str = "line"
    repeated: tuple[str, ...] = ()
    separator: str | None = None
    notes: Sequence[str] | None = None

    def __len__(self) -> int:
        return len(self.lines)

    def __contains__(self, name: object) -> bool:
        return name in self.columns

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        return tuple(self.columns)

    @cached_property
    def _listed(self) -> dict[str, Sequence[Any]]:
        return {}

    def values(self, name: str) -> Sequence[Any]:
        """Return a column as plain values; refuses one that is not there, or there twice."""
        self.check_has(name)
        if name not in self._listed:
            column = self.columns[name]
            self._listed[name] = column.tolist() if isinstance(column, np.ndarray) else column
        return self._listed[name]

    def check_has(self, *names: str, what: str = "a table") -> None:
        """Refuse a table that lacks one of these columns, or has it twice."""
        missing = [name for name in names if name not in self.columns]
        if missing:
            got = ", ".join(self.names) or "none"
            hint = (
                nearest(missing[0], [name for name in self.names if name not in names])
                or f"Add or rename: {', '.join(missing)}."
            )
            if len(self.names) == 1 and self.separator is not None:
                hint = "Is it separated by comma, semicolon or tab? Say which, or save it so."
            raise InputError(f"{what} must have the columns {', '.join(names)}, got {got} in {self.name}. {hint}")
        for name in names:
            if name in self.repeated:
                raise InputError(
                    f"{what} must have the columns {', '.join(names)} once each, got {name} twice in {self.name}. "
                    f"Remove or rename the second {name}."
                )

    def place(self, row: int, column: str | None = None) -> str:
        """Say where a row stands: "line 82 of runs.csv", "column state, line 82 of runs.csv"."""
        where = f"{self.unit} {self.lines[row]} of {self.name}"
        if self.notes is not None and self.notes[row]:
            where += f", {self.notes[row]}"
        return where if column is None else f"column {column}, {where}"

    def numbers(self, name: str) -> FloatArray:
        """Return a column as numbers `[rows]`; refuses words, what is missing, and decimal commas.

        NaN among numbers, or as the text "nan" among numbers, is for the caller to judge.
        """
        self.check_has(name)
        column, found = self.columns[name], None
        if isinstance(column, np.ndarray) and column.dtype.kind in "iuf":
            found = column.astype(np.float64)
        elif all(isinstance(value, str) for value in column):
            with suppress(ValueError):  # said below, with its place
                found = np.array([float(value) for value in column], dtype=np.float64)
        if found is not None:
            return found
        return np.array([self._number(value, row, name) for row, value in enumerate(self.values(name))])

    def _number(self, value: Any, row: int, name: str) -> float:
        if is_missing(value):
            raise InputError(f"{name} must be a number, got nothing ({value!r}) at {self.place(row)}. Fill it in.")
        try:
            if not isinstance(value, bool):
                return float(value)
        except (TypeError, ValueError, OverflowError):
            pass
        advice = "Give one number."
        if isinstance(value, str) and has_decimal_comma(value):
            advice = (
                f"A comma may separate columns, decimals or thousands, so that it is never guessed: write "
                f"{value.strip().replace(',', '.')} with a decimal point (in a spreadsheet, change the language of the "
                "numbers, then save again)."
            )
        raise InputError(f"{name} must be a number, got {value!r} at {self.place(row)}. {advice}")

    def indices(self, name: str, index_fn: Callable[[Any], int], *, may_miss: bool = False) -> IntArray:
        """Return what the names in a column mean `[rows]`, with `index_fn`, which says so for one of them.

        Where a value is missing, it is refused, or with `may_miss` given as `NO_INDEX`. A label wins: "NA" is missing
        only where `index_fn` does not know it. Errors of `index_fn` are said with the place of the row.
        """
        known: dict[Any, int] = {}
        found = np.empty(len(self), dtype=np.int64)
        for row, value in enumerate(self.values(name)):
            try:
                index = known.get(value)
            except TypeError:  # a list, or another thing that is no name
                raise InputError(f"{name} must be a name, got {value!r} at {self.place(row)}. Give one.") from None
            if index is None:
                index = known[value] = self._index(value, row, name, index_fn, may_miss)
            found[row] = index
        return found

    def _index(self, value: Any, row: int, name: str, index_fn: Callable[[Any], int], may_miss: bool) -> int:
        try:
            return index_fn(value)
        except InputError as error:
            if not is_missing(value):
                comma = isinstance(value, str) and has_decimal_comma(value)
                more = " Write whole numbers without decimals, and not with a comma." if comma else ""
                raise type(error)(f"{self.place(row, name)}: {error}{more}") from None
        if may_miss:
            return NO_INDEX
        raise InputError(f"{name} must be given, got nothing ({value!r}) at {self.place(row)}. Fill it in.")


def is_missing(value: Any) -> bool:
    """Return whether a value says that there is none: empty, NA, NaN, None, null, a single dot, and their kin."""
    if value is None:
        return True
    if isinstance(value, str):
        return value.strip() in MISSING_WORDS
    if isinstance(value, float | np.floating):
        return math.isnan(value)
    return type(value).__name__ in ("NAType", "NaTType")  # as pandas writes it, which need not be installed


def has_decimal_comma(text: str) -> bool:
    """Return whether a text is a number but for its comma: "0,5"."""
    whole, comma, rest = text.strip().partition(",")
    return bool(comma) and whole.lstrip("+-").isdigit() and rest[:1].isdigit()


def file_kind(path: str | Path) -> str:
    """Return the ending of a file that says what it holds, in small letters: ".csv" of "Runs.CSV.gz"."""
    path = Path(path)
    return Path(path.stem).suffix.lower() if path.suffix.lower() == ".gz" else path.suffix.lower()


def read_table(source: Any, *, separator: str | None = None, what: str = "a table") -> Table:
    """Read a table with named columns.

    Parameters
    ----------
    source
        A path to CSV, TSV or other text with a header (.csv, .tsv, .tab, .txt), to a JSON list of objects (.json), to
        JSON Lines (.jsonl, .ndjson), to Parquet (.parquet, .pq; needs the extra `tables`), or to any of these with .gz
        after it; or a pandas DataFrame; or a mapping of columns.
    separator
        What stands between the columns of a text: ",", ";" or a tab. By default the one that fits the header and the
        lines after it.
    what
        Begins the sentence of an error: "an edge table".

    Raises
    ------
    InputError
        If it cannot be read, naming file and line.
    """
    if isinstance(source, Table):
        return source
    if not isinstance(source, str | Path):
        return _table_of_columns(source, what)
    path, kind = Path(source), file_kind(source)
    if kind in PARQUET_ENDINGS:
        return table_of_parquet(path.name, file_bytes(path, what))
    if kind == ".json":
        return table_of_records(path.name, parsed_json(file_text(path, what), path.name), what=what)
    if kind in JSON_ENDINGS:
        return table_of_records(path.name, *json_lines(file_text(path, what), path.name), what=what)
    if kind in TEXT_ENDINGS:
        return table_of_text(
            path.name, file_text(path, what), separator=separator, usual="\t" if kind == ".tsv" else None
        )
    endings = (*TEXT_ENDINGS, *JSON_ENDINGS, *PARQUET_ENDINGS)
    raise InputError(
        f"{what} must be a file that ends in {', '.join(endings)}, or one of these and .gz, got {path.name!r}. "
        "Rename or convert it."
    )


def file_bytes(path: Path, what: str = "a table") -> bytes:
    """Return what a file holds, unpacked if it is packed with gzip, or say why it cannot be read."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(
            f"{what} must be in a file that can be read, got {str(path)!r}: {error.strerror or error}. Check the path."
        ) from None
    if path.suffix.lower() != ".gz":
        return data
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path.name} must be a gzip file, but: {error}. Pack it again, or rename it.") from None


def file_text(path: Path, what: str = "a table") -> str:
    """Return the text of a file, UTF-8, or UTF-16 with its mark, as spreadsheets write it; unpacked if need be."""
    data = file_bytes(path, what)
    try:
        return data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InputError(
            f"{path.name} must be UTF-8 text, got the byte {data[error.start : error.start + 1]!r} at line {line}. "
            "Save it again as UTF-8 (in a spreadsheet: CSV UTF-8)."
        ) from None


def table_of_text(name: str, text: str, *, separator: str | None = None, usual: str | None = None) -> Table:
    """Return the table of a text with a header; lines without any value are left out."""
    if separator is not None and separator not in SEPARATORS:
        raise InputError(
            f"a separator must be a comma, a semicolon or a tab, got {separator!r}. Leave it out to find it."
        )
    chosen = separator or found_separator(name, text, usual)
    rows, lines = _split(name, text, chosen)
    header = [field.strip() or f"column {number}" for number, field in enumerate(rows[0], start=1)] if rows else []
    for row, (fields, line) in enumerate(zip(rows[1:], lines[1:], strict=True), start=1):
        if len(fields) != len(header):
            if len(fields) < len(header) or any(field.strip() for field in fields[len(header) :]):
                raise _wrong_width(name, fields, line, len(header), chosen)
            rows[row] = fields[: len(header)]
    columns = dict(
        zip(reversed(header), reversed(list(zip(*rows[1:], strict=True)) or [()] * len(header)), strict=True)
    )
    repeated = tuple(dict.fromkeys(field for field in header if header.count(field) > 1))
    return Table(name, {field: columns[field] for field in header}, lines[1:], "line", repeated, chosen)


def _split(name: str, text: str, separator: str, most: int | None = None) -> tuple[list[list[str]], list[int]]:
    """Return the fields of all lines that are not empty, and the number of the line at which each begins."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    rows, lines, last = [], [], 0
    try:
        for fields in islice(reader, most):
            if any(map(str.strip, fields)):
                rows.append(fields)
                lines.append(last + 1)
            last = reader.line_num
    except csv.Error as error:
        raise InputError(
            f"{name} must be a well-formed table, got {error} at line {last + 1}. Check its quotes."
        ) from None
    return rows, lines


def _wrong_width(name: str, fields: list[str], line: int, width: int, separator: str) -> InputError:
    got = separator.join(fields)
    advice = "Give one value per column."
    if len(fields) > width:
        advice = f"A {SEPARATORS[separator]} inside of a value must stand in quotes."
        if separator == ",":
            advice = "If it is a decimal comma, write a decimal point; a comma inside of a label must stand in quotes."
    return InputError(
        f"every line of a table must hold {width} fields, as its header does, got {len(fields)} ({got!r}) at line "
        f"{line} of {name}, separated by {SEPARATORS[separator]}. {advice}"
    )


def found_separator(name: str, text: str, usual: str | None = None) -> str:
    """Return what separates the columns of a text: what gives header and lines the same number of fields, above one.

    Quotes are heeded. Where none fits all the first lines, the header decides; where two do, it must be said.
    """
    widths: dict[str, tuple[bool, int]] = {}
    for separator in SEPARATORS:
        try:
            rows, _ = _split(name, text, separator, NUM_SNIFFED)
        except InputError:
            continue
        if rows and len(rows[0]) > 1:
            widths[separator] = (all(len(fields) == len(rows[0]) for fields in rows), len(rows[0]))
    if usual in widths or not widths:
        return usual or ","
    best = max(widths.values())
    found = [separator for separator, width in widths.items() if width == best]
    if len(found) > 1:
        both = " and ".join(SEPARATORS[separator] for separator in found)
        raise InputError(f"the columns of {name} must be separated by one sign, but {both} would fit. Say which it is.")
    return found[0]


def parsed_json(text: str, name: str) -> Any:
    """Return the data of a JSON text; NaN, which some programs write, is read."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise InputError(f"{name} must be JSON, but: {error}. Write it again.") from None
    except RecursionError:
        raise InputError(f"{name} must not be nested so deeply. Write it with fewer brackets.") from None


def parsed_toml(text: str, name: str) -> dict[str, Any]:
    """Return the data of a TOML text."""
    try:
        _check_dots(text, name)
        return tomllib.loads(text)
    except InputError:
        raise
    except ValueError as error:  # of TOML, or of a number with thousands of digits
        raise InputError(
            f"{name} must be TOML, but: {error}. Text stands in quotes, lists in [brackets], one key = value per line."
        ) from None
    except RecursionError:
        raise InputError(f"{name} must not be nested so deeply. Write it with fewer brackets.") from None


def _check_dots(text: str, name: str) -> None:
    """Refuse keys of many parts, a.a.a.a.a = 1: Python's parser takes minutes and gigabytes for thousands of them."""
    for number, line in enumerate(toml_lines(text), start=1):
        if line.count(".") > MAX_PARTS:
            parts = re.split(r"[^\w. \t-]", re.sub(r"\"[^\"]*\"|'[^']*'", "", line))
            if max(part.count(".") for part in parts) > MAX_PARTS:
                raise InputError(
                    f"a key of {name} must have at most {MAX_PARTS} parts, got more at line {number}. Remove its dots."
                )


def toml_lines(text: str) -> Iterator[str]:
    """Yield the lines of a TOML file, empty where they lie inside of a text of several lines, such as a map."""
    delimiter = None
    for line in text.splitlines():
        yield line if delimiter is None else ""
        rest = line
        while True:
            if delimiter is None:
                found = re.search(r"\"{3}|'{3}", rest)
                if found is None:
                    break
                delimiter, rest = found.group(), rest[found.end() :]
            _, closing, rest = rest.partition(delimiter)
            if not closing:
                break
            delimiter = None


def json_lines(text: str, name: str) -> tuple[list[Any], list[int]]:
    """Return the data of a text with one JSON value per line, and their line numbers."""
    records, lines = [], []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            records.append(parsed_json(line, f"line {number} of {name}"))
            lines.append(number)
    return records, lines


def table_of_records(name: str, records: Any, lines: Sequence[int] | None = None, *, what: str = "a table") -> Table:
    """Return the table of a list of objects with the same keys; a key that one of them lacks is missing there."""
    unit = "entry" if lines is None else "line"
    if not isinstance(records, list):
        raise InputError(
            f"{what} in JSON must be a list of objects, one for each row, got {reprlib.repr(records)} in {name}. "
            'Example: [{"state": "home", "action": "left"}]'
        )
    places = range(len(records)) if lines is None else lines
    for place, record in zip(places, records, strict=True):
        if not isinstance(record, dict):
            raise InputError(
                f"each row of {what} in JSON must be an object, got {reprlib.repr(record)} at {unit} {place} of "
                f'{name}. Example: {{"state": "home", "action": "left"}}'
            )
    names = list(dict.fromkeys(key for record in records for key in record))
    return Table(name, {key: [record.get(key) for record in records] for key in names}, list(places), unit)


def table_of_parquet(name: str, data: bytes) -> Table:
    """Return the table of a Parquet file, by its content; needs the extra `tables`."""
    require("pyarrow", "tables")
    pandas = require("pandas", "tables")
    try:
        return _table_of_columns(pandas.read_parquet(io.BytesIO(data)), "a table", name)
    except InputError:
        raise
    except Exception as error:  # a damaged file can raise nearly anything
        raise InputError(f"{name} must be a Parquet file, but reading it failed: {error}. Write it again.") from error


def _table_of_columns(source: Any, what: str, name: str = "the table") -> Table:
    """Return the table of a data frame or of a mapping of columns."""
    if not (isinstance(source, Mapping) or hasattr(source, "columns")):
        raise InputError(f"{what} must be a path, a DataFrame or a mapping of columns, got {reprlib.repr(source)}.")
    given: Iterable[Any] = source.columns if hasattr(source, "columns") else source
    present = [str(key) for key in given]
    repeated = tuple(dict.fromkeys(key for key in present if present.count(key) > 1))
    columns = {str(key): _column(source[key], str(key)) for key in given if str(key) not in repeated} | {
        key: () for key in repeated
    }
    lengths = {key: len(column) for key, column in columns.items() if key not in repeated}
    if len(set(lengths.values())) > 1:
        raise InputError(f"the columns of {what} must have one length, got {lengths}. Check the table.")
    return Table(name, columns, range(next(iter(lengths.values()), 0)), "entry", repeated)


def _column(column: Any, name: str) -> Sequence[Any] | AnyArray:
    if isinstance(column, list | tuple):
        values: Sequence[Any] | AnyArray = column
        is_nested = bool(column) and isinstance(column[0], list | tuple)
        shape: tuple[int, ...] = any_array(column, f"column {name}").shape if is_nested else (len(column),)
    else:
        values = array = any_array(column, f"column {name}")
        shape = array.shape
        if array.dtype.kind == "M":  # times as the text that people write
            values = [None if text == "NaT" else text for text in np.datetime_as_string(array, unit="us").tolist()]
    if len(shape) != 1:
        raise InputError(f"column {name} must be a list of values, got shape {shape}. Give one per row.")
    return values


def separator_of(word: str | None) -> str | None:
    """Return the separator that a word names: ",", ";", "tab", "comma", "semicolon"."""
    words = {name: sign for sign, name in SEPARATORS.items()} | {sign: sign for sign in SEPARATORS} | {"\\t": "\t"}
    if word is not None and word not in words:
        raise InputError(
            f"a separator must be comma, semicolon or tab, got {word!r}. "
            f"{suggestion(word, SEPARATORS.values(), 'Leave it out, or say')}"
        )
    return None if word is None else words[word]
