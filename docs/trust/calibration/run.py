"""Do certificates keep their promise? Thousands of runs on problems drawn from the prior, and what became of them.

    python docs/trust/calibration/run.py run       # all that is missing in runs.jsonl; run again to resume
    python docs/trust/calibration/run.py run --families 4x4 jail --workers 2
    python docs/trust/calibration/run.py table     # summary, figures and the table of docs/trust.md from runs.jsonl
    python docs/trust/calibration/run.py list      # how far each configuration is

`runs.jsonl` has a line for each run; everything else is made from it.
"""

import argparse
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from programme import COLUMNS, CONFIGURATIONS, EPSILON, FAMILIES, LIMIT, UNKNOWN_WIDTH, Configuration, run_problem

from journeyman.storage.run_tables import continue_table, read_table

HERE = Path(__file__).parent
TABLE = HERE / "runs.jsonl"
FORMAT = "journeyman-trust-calibration-1"
SETTINGS = {"epsilon": EPSILON, "limit": LIMIT, "unknown_width": UNKNOWN_WIDTH}
STAGES = (0.15, 0.5, 1.0)  # of what is wanted: every configuration gets so much before any gets more
Cell = tuple[str, float, str, str, int]


def main() -> None:
    """Run the programme, or make its summary, as the command line says."""
    arguments = _arguments()
    chosen = [item for item in CONFIGURATIONS.values() if item.family in arguments.families]
    if arguments.command == "run":
        continue_table(
            arguments.table, FORMAT, SETTINGS, COLUMNS, cells_of(chosen), run_problem, num_workers=arguments.workers
        )
        return
    rows = read_table(arguments.table, FORMAT)
    if arguments.command == "list":
        done = Counter(tuple(row[name] for name in COLUMNS[:-1]) for row in rows)
        for item in chosen:
            words = f"{item.family:6} delta {item.delta:<5} beta {item.beta:8} wrong: {item.wrong}"
            print(f"{words:70} {done[item.key]:4} of {item.wanted}")
    else:
        from tables import write_all

        write_all(rows, arguments.folder, arguments.page)


def cells_of(chosen: Iterable[Configuration]) -> list[Cell]:
    """Return all runs of some configurations, in stages, so that each has a first answer early."""
    listed, found = list(chosen), dict[Cell, None]()
    for stage in STAGES:
        for item in listed:
            found |= dict.fromkeys((*item.key, number) for number in range(round(stage * item.wanted)))
    return list(found)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("run", "table", "list"))
    parser.add_argument("--families", nargs="+", choices=tuple(FAMILIES), default=tuple(FAMILIES), help="default all")
    parser.add_argument("--workers", type=int, default=1, help="processes; default 1")
    parser.add_argument("--table", type=Path, default=TABLE, help="another table than the committed one")
    parser.add_argument("--folder", type=Path, default=HERE, help="where summary and figures go")
    parser.add_argument("--page", type=Path, default=HERE.parents[1] / "trust.md", help="whose table is rewritten")
    return parser.parse_args()


if __name__ == "__main__":
    main()
