"""The calibration programme: every method on every world, and mutants that have to be caught.

    python docs/calibration/run.py run            # all that is missing, in runs/calibration; run again to resume
    python docs/calibration/run.py run --only smc-8x8 --replications 100 --workers 2
    python docs/calibration/run.py table          # table and figures from whatever is there
    python docs/calibration/run.py list           # how far each configuration is
    python docs/calibration/run.py run --programme experts   # experts of whom not everything is known

Raw results stay in the folder; the table (CSV, JSON, Markdown) and the figures are written next to this file, those of
the experts in the folder experts.
"""

import argparse
import sys
import time
from pathlib import Path

from programme import CONFIGURATIONS, EXPERTS, Configuration

from journeyman.calibration import load_run, run_calibration

HERE = Path(__file__).parent
FOLDER = HERE.parents[1] / "runs" / "calibration"
PROGRAMMES = {"methods": (CONFIGURATIONS, HERE), "experts": (EXPERTS, HERE / "experts")}
STAGES = (100, 250)  # every configuration gets so many before any gets more: a first answer comes early


def main() -> None:
    """Run the programme, or make its table, as the command line says."""
    arguments = _arguments()
    configurations, target = PROGRAMMES[arguments.programme]
    chosen = [item for item in configurations if not arguments.only or item.key in arguments.only]
    unknown = set(arguments.only or ()) - {item.key for item in configurations}
    if unknown:
        sys.exit(f"No configuration is called {', '.join(sorted(unknown))}. `list` names them.")
    if arguments.command == "run":
        run_all(chosen, arguments.folder, arguments.replications, arguments.workers)
    elif arguments.command == "list":
        for item in chosen:
            print(f"{item.key:22} {num_done(arguments.folder, item):4} of {item.num_replications}")
    else:
        from tables import write_all

        write_all(chosen, arguments.folder, target)


def run_all(chosen: list[Configuration], folder: Path, replications: int | None, workers: int) -> None:
    """Do what is missing, in stages, so that every configuration has a first answer early."""
    for stage in (*STAGES, max(item.num_replications for item in chosen)):
        for item in chosen:
            target = min(stage, item.num_replications, replications or item.num_replications)
            missing = target - num_done(folder, item)
            if missing <= 0:
                continue
            if not item.is_available:
                print(f"{item.key}: {item.settings['method']} cannot do this yet, left out", flush=True)
                continue
            begin = time.perf_counter()
            run_calibration(
                item.spec(), target, folder / f"{item.key}.jsonl", num_workers=workers, progress=sys.stderr.isatty()
            )
            print(f"{item.key}: {target} done, {(time.perf_counter() - begin) / missing:.2f} s each", flush=True)


def num_done(folder: Path, item: Configuration) -> int:
    """Return how many replications of a configuration the folder holds."""
    path = folder / f"{item.key}.jsonl"
    return len(load_run(path).replications) if path.exists() and path.stat().st_size else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("run", "table", "list"))
    parser.add_argument("--programme", choices=tuple(PROGRAMMES), default="methods", help="default methods")
    parser.add_argument("--only", nargs="+", metavar="KEY", help="configurations, by key; default all")
    parser.add_argument("--replications", type=int, help="at most so many of each; default 500, mutants 200")
    parser.add_argument("--workers", type=int, default=1, help="processes; default 1")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where raw results are; default runs/calibration")
    return parser.parse_args()


if __name__ == "__main__":
    main()
