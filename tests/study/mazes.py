"""Mazes that are binary trees, as behavioural scientists have them, with labels."""

import numpy as np

from journeyman.mdp import FiniteMDP
from journeyman.problem import Problem
from journeyman.rewards import Normal, PerState

MOVES = ("left", "right", "back", "stay")


def led_to(node, move, num_nodes):
    """Where a move leads, or None where it does not exist: `stay` is for the entrance, dead ends have only `back`."""
    if move in ("left", "right"):
        child = 2 * node + 1 + (move == "right")
        return child if child < num_nodes else None
    if move == "back":
        return (node - 1) // 2 if node > 0 else None
    return 0 if node == 0 else None


def maze(num_nodes=15, labels=None, terminal=()):
    """A maze whose nodes are called n0, n1, ... or as said; `terminal` are dead ends where the episode ends."""
    edges = [
        (node, action, led_to(node, move, num_nodes))
        for node in range(num_nodes)
        for action, move in enumerate(MOVES)
        if node not in terminal and led_to(node, move, num_nodes) is not None
    ]
    state, action, next_state = (list(column) for column in zip(*edges, strict=True))
    available = np.zeros((num_nodes, len(MOVES)), dtype=bool)
    available[state, action] = True
    available[list(terminal)] = True
    mdp = FiniteMDP.from_edges(
        {"state": state, "action": action, "next_state": next_state, "probability": [1.0] * len(edges)},
        discount=0.9,
        num_states=num_nodes,
        num_actions=len(MOVES),
        available=available,
        state_labels=tuple(labels or (f"n{node}" for node in range(num_nodes))),
        action_labels=MOVES,
    )
    return Problem(mdp, PerState(mdp), Normal(num_nodes, 0.0, 1.0), 4.0)
