"""Demonstrations as JSON Lines: one record per line, nothing lost."""

import json
from collections.abc import Sequence
from pathlib import Path

from journeyman.demonstrations import Demonstration
from journeyman.errors import InputError
from journeyman.study.writing import readable_text, write_text_whole


def write_jsonl(demonstrations: Sequence[Demonstration], path: Path) -> None:
    """Write one JSON object per demonstration."""
    lines = [json.dumps(item.to_record(), ensure_ascii=False) + "\n" for item in demonstrations]
    write_text_whole(path, "".join(lines))


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
