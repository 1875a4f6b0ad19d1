"""How much of what mice do is explained by rewards per node, move and memory.

    python memory.py

Fits one reward per node, move and state of the memory to four fifths of the bouts of `labyrinth.csv.gz`, and predicts
every fifth, for five memories. Beside each stands the smoothed empirical policy with the same memory: a table of
habits, (n(s, m, a) + 1) / (n(s, m) + number of moves). The last column is the part of what that table gains over chance
that the rewards gain. Prints a table and writes it to results/memory.csv; finished fits are
kept in the file of --fits, so that it can be interrupted. Takes about five minutes of processor time.

Prior: all rewards Normal(0, 1), independent, and beta unknown, LogNormal(4, 0.7): since beta times reward is all that
counts, the scale of all rewards is inferred too.
"""

import argparse
import csv
import json
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from journeyman.criticism.comparison import EMPIRICAL, compare_models
from journeyman.criticism.variants import varied
from journeyman.demonstrations import Demonstration
from journeyman.experts import Boltzmann
from journeyman.inference import infer
from journeyman.mdp import q_values, solve
from journeyman.memory import visited
from journeyman.problem import Problem
from journeyman.problem_files import load_problem
from journeyman.report import save_figure, state_map
from journeyman.report.drawing.cells import add_legend, make_panels
from journeyman.study.formats import read_demonstrations

BETA = 1.2  # as inferred without memory
HERE = Path(__file__).parent
COLUMNS = {"state": "node", "action": "move", "demonstration": "bout"}
MEMORIES = {
    "none": "nothing",
    "entered:116:0": "has drunk since the entrance",
    "visited:116:0": "the same, still known at the entrance",
    "entered:116:0+last_action": "has drunk since the entrance, and the previous move",
    "visited:116:0+last_action": "the same, still known at the entrance",
}  # "entered" changes on arrival at water and entrance, "visited" with the step that leaves them


def main() -> None:
    """Fit and predict with every memory, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, help="default: all cores")
    parser.add_argument("--out", type=Path, default=HERE / "results" / "memory.csv", help="table to write")
    parser.add_argument("--picture", type=Path, help="draw what is wanted before and after the water instead")
    parser.add_argument("--fits", type=Path, help="file that keeps finished fits, to go on with after a pause")
    given = parser.parse_args()
    problem = load_problem(HERE / "problem.toml")
    bouts = read_demonstrations(HERE / "labyrinth.csv.gz", problem, columns=COLUMNS)
    if given.picture is not None:
        draw(problem, bouts, given.picture, given.threads)
        return
    changes = {"reward": "state_action", "beta": "unknown"}
    variants = {words: varied(problem, {**changes, "memory": words})[1] for words in MEMORIES}
    start = time.process_time()
    found = compare_models(
        variants, bouts, test=range(0, len(bouts), 5), num_threads=given.threads, progress=True, results=given.fits
    )
    seconds = time.process_time() - start
    chance = found["chance"].bits
    rows = []
    for words, variant in variants.items():
        name = EMPIRICAL if variant.memory is None else f"{EMPIRICAL}, memory: {variant.memory.name}"
        habits, own = found[name], found[words]
        rows.append(
            {
                "memory": words,
                "states": variant.problem.mdp.num_states,
                "parameters": variant.problem.reward_model.num_parameters,
                "habits_bits": round(habits.bits, 4),
                "rewards_bits": round(own.bits, 4),
                "share_of_gain": round((own.bits - chance) / (habits.bits - chance), 3),
                "habits_log_evidence": round(habits.log_evidence, 1),
                "rewards_log_evidence": round(own.log_evidence, 1),
            }
        )
    given.out.parent.mkdir(parents=True, exist_ok=True)
    with given.out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    print(f"{int(found.decisions.sum()):,} free decisions predicted; bits per free decision, chance {chance:.4f}")
    for row in rows:
        print(
            f"{row['memory']:28} {row['states']:4} states {row['parameters']:5} rewards   habits "
            f"{row['habits_bits']:.4f}   rewards {row['rewards_bits']:.4f}   "
            f"share of the gain {row['share_of_gain']:.3f}"
        )
    print(json.dumps({"least_share": min(row["share_of_gain"] for row in rows), "processor_seconds": round(seconds)}))


def draw(problem: Problem, bouts: Sequence[Demonstration], path: Path, threads: int | None) -> None:
    """Draw the posterior mean of one reward per node and memory, and the best policy for it, from all bouts."""
    water = 116
    own = replace(problem, expert=Boltzmann(BETA)).with_memory(visited(problem.mdp, water, until=0))
    posterior, mdp = infer(own, bouts, num_threads=threads), own.mdp
    reward, spread = posterior.mean_reward(), posterior.reward_std()
    for name in ("116 (before 116)", "116 (after 116)", "0 (before 116)", "0 (after 116)"):
        state = mdp.state_names.index(name)
        print(f"{name}: {reward[state]:+.2f} with a standard deviation of {spread[state]:.2f}")
    q = q_values(mdp, reward[None], solve(mdp, reward).values[None])[0]
    optimal = mdp.available & (q >= q.max(axis=1, keepdims=True) - 1e-9)
    figure, (ax,) = make_panels(mdp)
    state_map(ax, mdp, reward, label="posterior mean of the reward", optimal=optimal)
    add_legend(figure, mdp, optimal)
    save_figure(figure, path)


if __name__ == "__main__":
    main()
