"""What is attacked, how often, and what must hold: the one list, from which tests take their number of repetitions.

`make faults` runs all of it, and keeps in docs/trust/faults.jsonl what happened; docs/trust/faults.py makes the page.
"""

import json
import os
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from journeyman.storage.files import whole_file
from journeyman.study.store import program_version

RESULT = ("times", "result", "seconds", "version", "commit")
TABLE = "JOURNEYMAN_FAULTS"  # names the file in which results are kept, if they are to be kept


class Fault(NamedTuple):
    """What is done to what, what must hold, and how often it is done: by `make test`, and by `make test-all`."""

    fault: str
    to: str
    holds: str
    quick: int
    many: int = 0
    is_kill: bool = False


NOTHING_LOST = "every acknowledged answer is there, none twice; the next question is that of an undisturbed learner"
NO_CHANGE = "the table equals, bit by bit, that of a run in peace; what was finished is not done again"
NAMED = "a message that says what was not stored and what to do; all before it is kept"
NO_SILENCE = "refused by name, or everything that is read equals what was written"

FAULTS = {
    "answers-kill": Fault("kill -9", "a process that answers in a loop", NOTHING_LOST, 15, 300, True),
    "commands-kill": Fault(
        "kill -9", "study commands (ask, tell, undo, correct, attach, import, export, clone, backup), 1 or 2 at once",
        "each acknowledged command is in the history once; exports are whole; replay is bit-equal", 6, 200, True,
    ),
    "commands-term": Fault(
        "SIGTERM", "the same commands", "the same; no traceback", 3, 120, True,
    ),
    "commands-interrupt": Fault("Ctrl-C", "the same commands", "the same; no traceback, exit code 130", 3, 120, True),
    "start-interrupt": Fault(
        "Ctrl-C", "a command while it is being loaded", "no traceback; nothing half done", 3, 40, True
    ),
    "sweep-kill": Fault("kill -9", "a sweep: its process alone, or its group", NO_CHANGE, 3, 100, True),
    "sweep-term": Fault("SIGTERM", "a sweep", NO_CHANGE, 1, 40, True),
    "sweep-interrupt": Fault("Ctrl-C", "a sweep", f"{NO_CHANGE}; steps in progress are kept", 1, 40, True),
    "studio-kill": Fault(
        "kill -9", "the studio's server while three people answer",
        "every answer that a browser saw acknowledged is there, none twice; it starts again at once", 3, 100, True,
    ),
    "studio-term": Fault("SIGTERM", "the same", "the same; it ends within seconds", 1, 30, True),
    "studio-interrupt": Fault("Ctrl-C", "the same", "the same; no traceback", 1, 30, True),
    "disk-full-study": Fault("disk full", "a study", NAMED, 1, 20),
    "disk-full-output": Fault(
        "disk full", "what a command prints", "stored is stored; a message, no traceback", 2, 4
    ),
    "disk-full-export": Fault(
        "disk full", "exports (csv, parquet, nc)", "the old file stays, nothing half written", 1, 10
    ),
    "disk-full-sweep": Fault("disk full", "a sweep", f"{NO_CHANGE}; a message says to make room", 1, 10),
    "io-error": Fault("I/O errors of the disk", "a study", "not called damage; nothing stored is lost", 1, 10),
    "read-only-folder": Fault("read-only folder", "a study, a sweep", "looked at, not changed; the message says so", 1),
    "read-only-file": Fault("read-only file", "a study", "the same, and once it may be written again, it is", 1),
    "clock": Fault("clock going back", "a study", "order and numbers are those of what happened", 3, 50),
    "study-bits": Fault("bit flips", "a study", NO_SILENCE, 20, 1000),
    "study-cut": Fault("parts cut off or zeroed", "a study", NO_SILENCE, 20, 300),
    "checkpoint-bits": Fault("bit flips", "checkpoints of a sweep", NO_SILENCE, 120, 3000),
    "checkpoint-cut": Fault("parts cut off or zeroed", "checkpoints of a sweep", NO_SILENCE, 20, 500),
    "results-bits": Fault("bit flips", "results of a sweep", NO_SILENCE, 40, 1000),
    "copied": Fault(
        "copied with cp while it is written", "a study", "refused by name, or whole up to an earlier answer", 15, 300
    ),
    "backup": Fault(
        "backed up while it is written", "a study", "whole, with all that was acknowledged before it began", 5, 30
    ),
    "newer": Fault("a newer version's file", "a study", "refused, not touched; says to update", 1),
    "older": Fault("an older version's file", "a study", "brought up to date; all answers are there", 1),
    "old-program": Fault("a program of an older schema", "a study of now", "refused, not touched", 1),
    "long": Fault("2,000 answers", "a study", "opening, asking and telling stay quick; memory stays flat", 0, 1),
    "dask": Fault(
        "kill -9", "a Dask worker, then the scheduler, in mid-sweep",
        f"{NO_CHANGE}; a lost scheduler is said, kept steps stay, a local run resumes", 0, 2,
    ),
}  # fmt: skip


def attack(name):
    """Return a decorator for the test of a fault: it is called with `times`, how often to do it."""
    fault = FAULTS[name]
    counts = [pytest.param(fault.quick, id="few")] if fault.quick else []
    counts += [pytest.param(fault.many, id="many", marks=pytest.mark.slow)] if fault.many else []

    def decorate(test_fn):
        return pytest.mark.fault(name)(pytest.mark.parametrize("times", counts)(test_fn))

    return decorate


def commit():
    """Return the short name of the commit that is attacked; nothing outside of a repository."""
    found = subprocess.run(
        ["git", "rev-parse", "--short=7", "HEAD"],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    )
    return found.stdout.strip()


def keep_result(name, times, has_held, seconds):
    """Keep how an attack ended, in the file that the environment names; the most repetitions count."""
    if TABLE not in os.environ:
        return
    path = Path(os.environ[TABLE])
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    results = {row["name"]: {key: row.get(key, "") for key in RESULT} for row in map(json.loads, lines)}
    if has_held and name in results and results[name]["times"] > times and results[name]["result"] == "held":
        return
    outcome = times, "held" if has_held else "failed", round(seconds, 1), program_version(), commit()
    results[name] = dict(zip(RESULT, outcome, strict=True))
    rows = [
        {"name": known, "fault": fault.fault, "to": fault.to, "holds": fault.holds, "is_kill": fault.is_kill}
        | results[known]
        for known, fault in FAULTS.items()
        if known in results
    ]
    with whole_file(path, "a table") as temporary:
        temporary.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
