"""Demonstrations as text: JSON Lines, and a CSV table with one line per step for spreadsheets. Nothing is lost."""

import csv
import io
import json
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from journeyman.demonstrations import Demonstration
from journeyman.errors import InputError
from journeyman.study.writing import readable_text, write_whole

REQUIRED = ("demonstration", "state", "action")
COLUMNS = (*REQUIRED, "final_state", "ended", "query_id", "annotator", "timestamp")
ABOUT_ALL = COLUMNS[3:]  # the same on every line of a demonstration


def write_jsonl(demonstrations: Sequence[Demonstration], path: Path) -> None:
    """Write one JSON object per demonstration."""
    lines = [json.dumps(item.to_record(), ensure_ascii=False) + "\n" for item in demonstrations]
    write_whole(path, "".join(lines))


def read_jsonl(path: Path) -> tuple[Demonstration, ...]:
    """Read what `write_jsonl` wrote, or lines of the same keys."""
    found = []
    for number, line in enumerate(readable_text(path).splitlines(), start=1):
        if not line.strip():
            continue
        try:
            found.append(Demonstration.from_record(json.loads(line)))
        except (InputError, ValueError) as error:
            raise InputError(
                f"each line of {path.name} must be a demonstration, got {line[:60]!r} at line {number}: {error}"
            ) from None
    return tuple(found)


def write_csv(demonstrations: Sequence[Demonstration], path: Path) -> None:
    """Write one line per step; a demonstration without steps has one line without an action."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for number, item in enumerate(demonstrations):
        record = item.to_record()
        shared = {name: record.get(name) for name in ABOUT_ALL}
        for state, action in item.steps or ((item.start_state, None),):
            writer.writerow({"demonstration": number, "state": state, "action": action, **shared})
    write_whole(path, buffer.getvalue())


def read_csv(path: Path) -> tuple[Demonstration, ...]:
    """Read what `write_csv` wrote, or a table with the columns demonstration, state and action.

    Lines of one demonstration stand together. Where `ended` is missing, one step is an annotation and several are a
    trajectory that was stopped.
    """
    reader = csv.DictReader(io.StringIO(readable_text(path), newline=""), strict=True)
    names = reader.fieldnames or []
    if not set(REQUIRED) <= set(names) <= set(COLUMNS):
        raise InputError(
            f"{path.name} must have the columns {', '.join(REQUIRED)}, and may have {', '.join(ABOUT_ALL)}, "
            f"got {', '.join(names) or 'none'}. Rename or remove columns."
        )
    try:
        lines = [(reader.line_num, line) for line in reader if any(line.values())]
    except csv.Error as error:
        raise InputError(
            f"{path.name} must be a well-formed table, but: {error}. Save it again as CSV, or fix that line."
        ) from None
    found: list[Demonstration] = []
    seen: set[str] = set()
    for name, group in groupby(lines, key=lambda entry: entry[1]["demonstration"]):
        members = list(group)
        try:
            if name in seen:
                raise InputError(f"lines of demonstration {name} must stand together. Sort the table.")
            found.append(_demonstration([line for _, line in members]))
        except (InputError, ValueError, TypeError) as error:
            raise InputError(f"{path.name}, line {members[0][0]}: {error}") from None
        seen.add(name)
    return tuple(found)


def _demonstration(lines: list[dict[str, Any]]) -> Demonstration:
    steps = [[_whole(line, "state"), _whole(line, "action")] for line in lines if line["action"]]
    if len(steps) not in (0, len(lines)) or (not steps and len(lines) > 1):
        raise InputError("every step must have an action, got a line without one. Fill it in.")
    shared = {name: lines[0].get(name) or None for name in ABOUT_ALL}
    default = "annotation" if len(steps) == 1 and shared["final_state"] is None else "truncated"
    record = {
        name: int(value) if name in ("final_state", "query_id") else value for name, value in shared.items() if value
    }
    return Demonstration.from_record(
        {"start_state": _whole(lines[0], "state"), "steps": steps, "ended": default} | record
    )


def _whole(line: dict[str, Any], name: str) -> int:
    try:
        return int(line[name])
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a whole number, got {line[name]!r}. Give numbers, not labels.") from None
