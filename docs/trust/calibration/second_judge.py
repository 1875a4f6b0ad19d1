"""Is the chance of failure that certificates state the right one? Another sampler judges the same policies.

    python docs/trust/calibration/second_judge.py run      # what is missing in judged.jsonl; run again to resume
    python docs/trust/calibration/second_judge.py table    # what it says, into docs/trust.md

A certificate is wrong or not, so that the share that is wrong stays uncertain by several percent after hundreds of
runs. But each certified policy also has a chance to fail given the answers, and the mean of these chances, which is the
share that is wrong in the long run, is known far better. So problems of the programme are run again, and the posterior
after their answers is found anew: by NUTS instead of particles, or, with few unknowns, by a sum over a grid.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from programme import COLUMNS, CONFIGURATIONS, EPSILON, FAMILIES, NOTHING, run_problem, truth_and_told
from run import SETTINGS
from tables import Share

from journeyman.apprentice.regret import failures_of
from journeyman.demonstrations import Demonstration
from journeyman.inference import infer
from journeyman.learner import ActiveLearner
from journeyman.problem import Problem
from journeyman.storage.files import write_block
from journeyman.storage.run_tables import continue_table, read_table
from journeyman.types import IntArray

HERE = Path(__file__).parent
TABLE, PAGE = HERE / "judged.jsonl", HERE.parents[1] / "trust.md"
FORMAT = "journeyman-second-judge-1"
CHAINS = {"num_chains": 4, "num_warmup": 500, "num_draws": 1000}
NUM_GROUPS = 20  # of draws that follow each other, five of each chain: their spread is the Monte-Carlo error
MAX_SUMMED = 4  # unknowns, up to which the posterior is a sum over a grid
MAX_R_HAT = 1.05  # above, chains disagree, and the run is left out
HEADINGS = ("world", "delta", "beta", "certified", "wrong", "share wrong (95 %)", "stated", "judged", "error")


def main() -> None:
    """Judge what was not judged yet, or write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("run", "table"))
    parser.add_argument("--families", nargs="+", choices=tuple(FAMILIES), default=tuple(FAMILIES), help="default all")
    parser.add_argument("--deltas", nargs="+", type=float, default=(0.1, 0.05), help="default both")
    parser.add_argument("--runs", type=int, default=100, help="of each configuration, at most; default 100")
    parser.add_argument("--workers", type=int, default=1, help="processes; default 1")
    arguments = parser.parse_args()
    if arguments.command == "table":
        write_block(PAGE, "second judge", lines_of(read_table(TABLE, FORMAT)))
        return
    cells = [
        (*item.key, number)
        for number in range(arguments.runs)
        for item in CONFIGURATIONS.values()
        if item.wrong == NOTHING and item.family in arguments.families and item.delta in arguments.deltas
        if number < item.wanted
    ]
    continue_table(TABLE, FORMAT, SETTINGS | CHAINS, COLUMNS, cells, judge, num_workers=arguments.workers)


def judge(family: str, delta: float, beta: str, wrong: str, number: int) -> dict[str, Any]:
    """Run a problem again; return what chance to fail its certificate states, and what is found for its policy."""
    used: list[ActiveLearner] = []

    def learner_fn(*arguments: Any, **options: Any) -> ActiveLearner:
        used.append(ActiveLearner(*arguments, **options))
        return used[0]

    row = run_problem(family, delta, beta, wrong, number, learner_fn=learner_fn)
    seed = CONFIGURATIONS[family, delta, beta, wrong].seed(number)
    _, told = truth_and_told(CONFIGURATIONS[family, delta, beta, wrong], seed)
    (learner,) = used
    found = {name: row[name] for name in (*COLUMNS, "answers", "is_certified", "regret", "chance")}
    if not row["is_certified"]:
        return found | {"judged": None, "error": None, "r_hat": None}
    answers = tuple(learner.ledger.answers.values())
    return found | judged_again(told, answers, learner.apprentice(), seed)


def judged_again(
    problem: Problem, answers: Sequence[Demonstration], policy: IntArray, seed: int
) -> dict[str, float | None]:
    """Return the chance that a policy fails given the answers, its error, and the R-hat of the chains if there are any.

    With few unknowns the posterior is summed over a grid, twice, which says how exact that is.
    """
    if problem.num_unknowns <= MAX_SUMMED:
        chances = []
        for again in (0, 1):
            summed = infer(problem, answers, "enumerate", seed=seed + again, num_threads=1, num_points=2**15)
            chances.append(float(summed.mean(failures_of(summed, policy, EPSILON, "initial").is_failing)))
        return {"judged": float(np.mean(chances)), "error": abs(chances[0] - chances[1]) / 2.0, "r_hat": None}
    posterior = infer(problem, answers, "policywalk", seed=seed, num_threads=1, progress=False, **CHAINS)
    fails = np.asarray(failures_of(posterior, policy, EPSILON, "initial").is_failing, dtype=float)
    groups = fails.reshape(NUM_GROUPS, -1).mean(axis=1)
    error = float(groups.std(ddof=1) / np.sqrt(NUM_GROUPS))
    return {"judged": float(fails.mean()), "error": error, "r_hat": posterior.diagnostics.r_hat}


def lines_of(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return a table: by configuration, and over all runs of a delta."""
    certified = [row for row in rows if row["is_certified"] and (row["r_hat"] or 1.0) <= MAX_R_HAT]
    groups = [(family, f"{delta:g}", beta) for family, delta, beta, wrong in CONFIGURATIONS if wrong == NOTHING]
    lines = [f"| {' | '.join(HEADINGS)} |", f"| {' | '.join(['---'] * len(HEADINGS))} |"]
    for family, delta, beta in [*groups, *(("**all**", f"{delta:g}", "both") for delta in (0.1, 0.05))]:
        chosen = [
            row
            for row in certified
            if f"{row['delta']:g}" == delta and (family == "**all**" or (row["family"], row["beta"]) == (family, beta))
        ]
        if chosen:
            wrong = Share.of(row["regret"] >= EPSILON for row in chosen)
            judged = np.array([row["judged"] for row in chosen])
            error = np.sqrt(np.square([row["error"] for row in chosen]).sum()) / len(chosen)
            numbers = (np.mean([row["chance"] for row in chosen]), judged.mean(), error)
            words = (wrong.words(), *(f"{100 * number:.2f}" for number in numbers))
            lines.append(f"| {' | '.join((family, delta, beta, str(wrong.total), str(wrong.hits), *words))} |")
    return lines


if __name__ == "__main__":
    main()
