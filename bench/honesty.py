"""Is it true? Adaptive runs on worlds whose truth is a draw from the prior: how many certificates are wrong?

A learner with default settings asks a simulated expert until its certificate is confirmed, or 40 times. Then the true
regret of its policy is looked at. Families of worlds are in `bench/_families.py`. Of the certificates of a family, a
share of at most delta may be wrong; a family fails if the exact 95 % interval of its share lies above delta.

Without options this prints what the committed table `bench/honesty.jsonl` says. `--run` computes what is missing in it,
on all cores, and can be stopped and continued at any time (about 40 minutes of a core in all).

"ratio" is the number of wrong certificates / what their deltas allow: 1 or less is honest.
"""

import argparse
import json
from pathlib import Path
from typing import Any

from _measure import show

# isort: split
import numpy as np
from _families import FAMILIES, LIMIT, run_family

from journeyman.calibration import exact_interval
from journeyman.storage.run_tables import continue_table, read_table
from journeyman.threads import default_num_threads

TABLE = Path(__file__).with_suffix(".jsonl")
FORMAT = "journeyman-bench-honesty-1"
NUM_SEEDS = 80
COLUMNS = ["family", "runs", "answers", "certified", "wrong", "share (95 %)", "stated", "delta", "first wrong"]


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Count the certificates of some runs, and the wrong ones among them."""
    certified = [row for row in rows if row["is_certified"]]
    first = [row for row in rows if row["first_answers"] is not None]
    num_wrong = sum(row["is_wrong"] for row in certified)
    low, high = exact_interval(num_wrong, len(certified))
    allowed = float(np.mean([row["delta"] for row in certified])) if certified else None
    return {
        "runs": len(rows),
        "certified": len(certified),
        "wrong": num_wrong,
        "interval": [low, high],
        "delta": allowed,
        "is_honest": None if allowed is None else low <= allowed,  # without a certificate there is nothing to judge
        "mean_chance": float(np.mean([row["chance"] for row in certified])) if certified else None,
        "first": len(first),
        "first_wrong": sum(row["first_is_wrong"] for row in first),
        "mean_answers": float(np.mean([row["answers"] for row in rows])) if rows else None,
        "cpu_seconds": float(np.sum([row["cpu_seconds"] for row in rows])),
    }


def line(name: str, found: dict[str, Any]) -> tuple[str, ...]:
    """Return a row of the printed table."""
    low, high = found["interval"]
    share = found["wrong"] / max(found["certified"], 1)
    return (
        name,
        str(found["runs"]),
        "" if found["mean_answers"] is None else f"{found['mean_answers']:.1f}",
        str(found["certified"]),
        str(found["wrong"]),
        f"{share:.1%} ({low:.1%} to {high:.1%})",
        "" if found["mean_chance"] is None else f"{found['mean_chance']:.1%}",
        "" if found["delta"] is None else f"{found['delta']:.1%}",
        f"{found['first_wrong']} of {found['first']}",
    )


def main() -> None:
    """Print what the table says, after adding to it if that is wanted."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--run", action="store_true", help="compute what is missing in the table first")
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=list(FAMILIES), help="which to run")
    parser.add_argument("--seeds", type=int, default=NUM_SEEDS, help="worlds of each to run")
    parser.add_argument("--workers", type=int, default=default_num_threads(), help="runs at a time")
    parser.add_argument("--table", type=Path, default=TABLE, help="another table than the committed one")
    parser.add_argument("--markdown", action="store_true", help="print the table as docs/certificate.md has it")
    options = parser.parse_args()
    if options.run:
        cells = [(name, seed) for seed in range(options.seeds) for name in options.families]
        continue_table(
            options.table, FORMAT, {"limit": LIMIT}, ("family", "seed"), cells, run_family, num_workers=options.workers
        )
    rows = read_table(options.table, FORMAT)
    by_family = {name: [row for row in rows if row["family"] == name] for name in FAMILIES}
    found = {name: summary(runs) for name, runs in by_family.items() if runs}
    total = summary(rows)
    lines = [line(name, family) for name, family in found.items()] + [line("all", total)]
    if options.markdown:
        for cells in (COLUMNS, ["---"] * len(COLUMNS), *lines):
            print(f"| {' | '.join(cells)} |")
        return
    show(f"Certificates that are wrong, after at most {LIMIT} answers", COLUMNS, lines)
    above = [name for name, family in found.items() if family["is_honest"] is False]
    allowed = sum(row["delta"] for row in rows if row["is_certified"])
    result = {
        "bench": "honesty",
        "ratio": total["wrong"] / allowed if allowed else None,
        "is_honest": total["is_honest"] and not above,
        "above_delta": above,
        "all": total,
        "families": found,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
