"""Make the table of docs/trust/fuzz.md from docs/trust/fuzz.jsonl, which the fuzzer writes.

python docs/trust/fuzz.py        prints it, and puts it into the page
"""

import json
from pathlib import Path

FOLDER = Path(__file__).parent
BEGIN, END = "<!-- table -->\n", "<!-- end of table -->\n"
COLUMNS = ("inputs", "values", "refused", "stopped", "findings", "seconds")


def table() -> str:
    """Return the counts of each parser, summed over runs, as Markdown."""
    sums: dict[str, dict[str, float]] = {}
    for line in (FOLDER / "fuzz.jsonl").read_text("utf-8").splitlines():
        record = json.loads(line)
        counts = sums.setdefault(record["parser"], dict.fromkeys(COLUMNS, 0.0))
        for column in COLUMNS:
            counts[column] += record[column]
    sums["all"] = {column: sum(counts[column] for counts in sums.values()) for column in COLUMNS}
    lines = [f"| parser | {' | '.join(COLUMNS)} |", "|---|" + "---:|" * len(COLUMNS)]
    lines += [
        f"| {name} | {' | '.join(f'{round(counts[column]):,}' for column in COLUMNS)} |"
        for name, counts in sums.items()
    ]
    return "\n".join(lines) + "\n"


def written(page: str) -> str:
    """Return the page with the table of now."""
    before, _, rest = page.partition(BEGIN)
    return before + BEGIN + "\n" + table() + "\n" + END + rest.partition(END)[2]


if __name__ == "__main__":
    path = FOLDER / "fuzz.md"
    path.write_text(written(path.read_text("utf-8")), "utf-8")
    print(table())
