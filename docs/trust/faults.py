"""Make the page of faults (faults.md) from what was found (faults.jsonl): `python docs/trust/faults.py`."""

import json
from pathlib import Path

HERE = Path(__file__).parent
FIRST = "40afc72"  # rows that name no commit are of one before it
HEAD = """# Faults: what was done to it, how often, and what held

Made by `docs/trust/faults.py` from `faults.jsonl`, which `make faults` writes. What is attacked, how often and what
must hold is one list, `tests/faults/matrix.py`; `make test` does a few repetitions of each, `make test-all` all.
Times and places are random, with fixed seeds. "Held" means that no repetition broke what must hold; "commit" is the
state of the program that was attacked.

Two rows are from a second run. One Ctrl-C of 120 on study commands was lost, because it came while Python finalised an
object; the row is from after the fix. And in the first run the processes of the first row had done too little before
they were killed, on a busy machine.
"""


def page(rows):
    """Return the page: what was done, in one table."""
    kills = sum(row["times"] for row in rows if row["is_kill"])
    lost = [row["name"] for row in rows if row["result"] != "held"]
    said = "What must hold held in all of them." if not lost else f"It did not hold in: {', '.join(lost)}."
    lines = [HEAD, f"{kills:,} times a process was killed, ended or interrupted. {said}", ""]
    lines += ["| what | done to | times | must hold | result | seconds | commit |", "|---|---|--:|---|---|--:|---|"]
    lines += [
        f"| {row['fault']} | {row['to']} | {row['times']:,} | {row['holds']} | {row['result']} | "
        f"{row['seconds']:.0f} | {row.get('commit') or 'before ' + FIRST} |"
        for row in rows
    ]
    return "\n".join(lines) + "\n"


def read_rows():
    """Return what was found, a row for each fault."""
    return [json.loads(line) for line in (HERE / "faults.jsonl").read_text("utf-8").splitlines()]


if __name__ == "__main__":
    (HERE / "faults.md").write_text(page(read_rows()), encoding="utf-8")
