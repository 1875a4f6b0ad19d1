"""Make the tables that `journeyman compare` reads, transitions.csv and bouts.csv, from labyrinth.csv.gz.

The maze is a binary tree: node s has the children 2s + 1 (left) and 2s + 2 (right), `back` goes to the parent, nodes 63
to 126 are dead ends where it is the only move. At the entrance, node 0, a mouse may `stay` in place of `back`.
"""

import csv
import gzip
from itertools import pairwise
from pathlib import Path

HERE = Path(__file__).parent
MOVES = ("left", "right", "back", "stay")
NUM_NODES, NUM_INNER = 127, 63


def after(node: int, move: str) -> int | None:
    """Return the node that a move leads to, or None where the move does not exist."""
    if move in ("left", "right"):
        return 2 * node + 1 + (move == "right") if node < NUM_INNER else None
    if move == "back":
        return (node - 1) // 2 if node > 0 else None
    return 0 if node == 0 else None


def write_transitions(path: Path) -> None:
    """Write one line per node and move that exists."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("state", "action", "next_state", "probability"))
        for node in range(NUM_NODES):
            for action, move in enumerate(MOVES):
                if (there := after(node, move)) is not None:
                    writer.writerow((node, action, there, 1.0))


def write_bouts(source: Path, path: Path) -> int:
    """Write the bouts as demonstrations, after checking every move; return the number of steps."""
    with gzip.open(source, "rt", encoding="utf-8", newline="") as file:
        rows = [(line["bout"], int(line["node"]), line["move"]) for line in csv.DictReader(file)]
    for (bout, node, move), (next_bout, next_node, _) in pairwise(rows):
        if bout == next_bout and after(node, move) != next_node:
            raise SystemExit(f"bout {bout}: {move} from node {node} cannot lead to node {next_node}")
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("demonstration", "state", "action"))
        writer.writerows((bout, node, MOVES.index(move)) for bout, node, move in rows)
    return len(rows)


if __name__ == "__main__":
    write_transitions(HERE / "transitions.csv")
    steps = write_bouts(HERE / "labyrinth.csv.gz", HERE / "bouts.csv")
    print(f"transitions.csv and bouts.csv are in {HERE}: {steps:,} steps")
