"""Answer sheets: open questions that leave a study as a table or a form, and come back with answers.

A sheet is a .csv table with one line per question, or an .html form that works from a file, offline, and saves such a
table. `merging` takes the answers into the study again.

Identities and keys begin with a letter, since spreadsheets take 12e4 for a number.
"""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from journeyman.demonstrations import Demonstration
from journeyman.errors import InputError
from journeyman.learner import Query
from journeyman.mdp import FiniteMDP
from journeyman.problem import Problem
from journeyman.storage.tables import file_text
from journeyman.study.sheet_form import form_page
from journeyman.study.typed import parse_answer
from journeyman.study.writing import write_whole

COLUMNS = (
    "question", "situation", "actions", "answer", "final_state", "annotator", "answered_at", "state", "kind", "length",
    "study", "key",
)  # fmt: skip
NEEDED = ("question", "answer", "state", "kind", "study")
SEPARATORS = ",;\t"
SUFFIXES = (".csv", ".html")


@dataclass(frozen=True)
class SheetAnswer:
    """An answer in a sheet: its line, which question it answers by number and key, what that asked, and the answer."""

    line: int
    query: int
    key: str
    state: int
    kind: str
    length: int | None
    demonstration: Demonstration


@dataclass(frozen=True)
class FilledSheet:
    """What a sheet says: of which study it is, and its answers; lines without an answer are left out."""

    identity: str
    answers: tuple[SheetAnswer, ...]


def sheet_rows(problem: Problem, queries: Sequence[Query], identity: str, keys: Sequence[str]) -> list[dict[str, str]]:
    """Return one line for each question, with nothing answered; `keys` are those by which all copies know them."""
    mdp = problem.mdp
    return [
        {
            "question": str(query.id),
            "situation": query.text,
            "actions": " | ".join(allowed_actions(mdp, query.state)),
            "answer": "",
            "final_state": "",
            "annotator": "",
            "answered_at": "",
            "state": mdp.state_name(query.state),
            "kind": query.kind,
            "length": "" if query.length is None else str(query.length),
            "study": f"study-{identity}",
            "key": f"key-{key}",
        }
        for query, key in zip(queries, keys, strict=True)
    ]


def allowed_actions(mdp: FiniteMDP, state: int) -> list[str]:
    """Return the names of the actions that exist in a state."""
    return [mdp.action_name(action) for action in range(mdp.num_actions) if mdp.available[state, action]]


def write_sheet(
    problem: Problem, queries: Sequence[Query], identity: str, keys: Sequence[str], path: Path, *, title: str
) -> None:
    """Write a sheet, by the ending of the file: a .csv table, or an .html form."""
    check_sheet_place(path)
    rows = sheet_rows(problem, queries, identity, keys)
    if path.suffix.lower() == ".html":
        write_whole(path, form_page(problem, queries, rows, COLUMNS, title))
        return
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(rows)
    write_whole(path, "\ufeff" + text.getvalue())  # the mark by which spreadsheets know UTF-8


def check_sheet_place(path: Path) -> None:
    """Refuse a file that is neither a table nor a form."""
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(
            f"a sheet must be a table (.csv) or a form (.html), got {str(path)!r}. Example: --out sheet.html"
        )


def is_sheet(path: Path) -> bool:
    """Whether a text file begins as a sheet does, so that it is not a table of demonstrations."""
    header = file_text(path, "a sheet").partition("\n")[0].lower()
    return "study" in header and "question" in header and "answer" in header


def read_sheet(path: Path, problem: Problem) -> FilledSheet:
    """Read the answers of a sheet, as it was written or as a spreadsheet saved it: with commas, semicolons or tabs."""
    text = file_text(path, "a sheet")
    header = text.partition("\n")[0]
    separator = max(SEPARATORS, key=header.count)
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        return _filled(reader, path, problem)
    except csv.Error as error:
        raise InputError(
            f"a sheet must be a well-formed table, got {error} at line {reader.line_num} of {path.name}. Check its "
            "quotes."
        ) from None


def _filled(reader: "csv.DictReader[str]", path: Path, problem: Problem) -> FilledSheet:
    names = [name.strip().lower() for name in reader.fieldnames or ()]
    missing = [name for name in NEEDED if name not in names]
    if missing:
        raise InputError(
            f"a sheet must have the columns {', '.join(NEEDED)}, got {path.name} without {', '.join(missing)}. Leave "
            "the columns of the sheet as they were written."
        )
    reader.fieldnames = names
    identities: dict[str, int] = {}
    answers: list[SheetAnswer] = []
    for row in reader:
        cells = {name: (value or "").strip() for name, value in row.items() if isinstance(name, str)}
        if not any(cells.values()):
            continue
        line = reader.line_num
        identities.setdefault(cells["study"].removeprefix("study-"), line)
        try:
            found = _read_row(problem, cells, line)
        except InputError as error:
            raise InputError(f"{path.name} line {line}: {error}") from error
        if found is not None:
            answers.append(found)
    if len(identities) != 1:
        got = "no line" if not identities else f"{len(identities)} of them (lines {_listed(identities.values())})"
        raise InputError(f"a sheet must be of one study, got {path.name} with {got}. Merge one sheet at a time.")
    return FilledSheet(next(iter(identities)), tuple(answers))


def _listed(lines: Any) -> str:
    return ", ".join(map(str, lines))


def _read_row(problem: Problem, cells: dict[str, str], line: int) -> SheetAnswer | None:
    """Return the answer in a line, or None if there is none."""
    typed = cells["answer"]
    if not typed:
        return None
    mdp = problem.mdp
    query_id, length = _whole(cells["question"], "question"), cells.get("length", "")
    query = Query(
        query_id, mdp.state_names.index(cells["state"]), cells["kind"], _whole(length, "length") if length else None,
        0.0, "",
    )  # fmt: skip
    steps = [typed] if query.kind == "state" else _split_steps(mdp, typed)
    final = cells.get("final_state") or None
    demonstration = parse_answer(mdp, query, [step.strip() for step in steps if step.strip()], final, None)
    signed = Demonstration(
        demonstration.start_state, demonstration.steps, demonstration.final_state, demonstration.ended,
        annotator=cells.get("annotator") or None, timestamp=_time(cells.get("answered_at", "")),
    )  # fmt: skip
    key = cells.get("key", "").removeprefix("key-")
    return SheetAnswer(line, query_id, key, query.state, query.kind, query.length, signed)


def _split_steps(mdp: FiniteMDP, typed: str) -> list[str]:
    """Return the steps in a cell: between semicolons or on lines, or between spaces where no label has one."""
    labels = (*(mdp.state_labels or ()), *(mdp.action_labels or ()))
    is_spaced = any(" " in label for label in labels)
    lines = typed.replace("\n", ";")
    return lines.split(";") if ";" in lines or is_spaced else lines.split()


def _whole(text: str, name: str) -> int:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if number < 0 or not number.is_integer():
        raise InputError(f"{name} must be a whole number, got {text!r}. Leave that column as it was written.")
    return int(number)


def _time(text: str) -> datetime | None:
    if not text:
        return None
    try:
        return datetime.fromisoformat(text).replace(microsecond=0)
    except ValueError:
        raise InputError(
            f"answered_at must be a time as in 2026-03-01T14:30:00+00:00, got {text!r}. Correct it, or leave it empty."
        ) from None
