"""CSV tables of numbers: with named columns, or as a plain matrix. Complaints name the line."""

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from journeyman.errors import InputError
from journeyman.mdp.rows import index_column
from journeyman.types import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class NamedColumns:
    """Columns `[n]` by name, as they stand in a file."""

    name: str
    columns: dict[str, FloatArray]

    def indices(self, column: str, upper: int) -> IntArray:
        """Return a column as numbers in 0..upper-1."""
        return index_column(self.columns[column], column, upper, lambda i: f"entry {i} of {self.name}")


def read_named_columns(path: Path) -> NamedColumns:
    """Read a CSV file with a header and numbers below it."""
    header, *lines = _read_lines(path)
    names = [name.strip() for name in header[1]]
    if len(set(names)) < len(names) or not all(names):
        raise InputError(f"the columns of {path.name} must have different names, got {', '.join(names)}. Rename them.")
    values = _numbers(path, lines, len(names))
    return NamedColumns(path.name, {name: values[:, i] for i, name in enumerate(names)})


def read_matrix(path: Path) -> FloatArray:
    """Read a CSV file of numbers without a header."""
    lines = _read_lines(path)
    return _numbers(path, lines, len(lines[0][1]))


def _read_lines(path: Path) -> list[tuple[int, list[str]]]:
    """Return line numbers and fields of the lines that are not empty; there is at least one."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            lines = [(reader.line_num, fields) for fields in reader if any(field.strip() for field in fields)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path.name} must be a CSV table, but reading it failed: {error}. Save it again.") from error
    if not lines:
        raise InputError(f"{path.name} must have at least one line, got an empty file. Fill it in.")
    return lines


def _numbers(path: Path, lines: list[tuple[int, list[str]]], num_columns: int) -> FloatArray:
    values = []
    for number, fields in lines:
        try:
            if len(fields) != num_columns:
                raise ValueError
            values.append([float(field) for field in fields])
        except ValueError:
            raise InputError(
                f"every line of {path.name} must hold {num_columns} numbers, got {','.join(fields)!r} at line "
                f"{number}. Correct that line."
            ) from None
    return np.array(values, dtype=np.float64).reshape(-1, num_columns)
