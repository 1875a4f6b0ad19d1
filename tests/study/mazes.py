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
    exists = [[led_to(node, move, num_nodes) is not None for move in MOVES] for node in range(num_nodes)]

    def rows(node, action):
        target = led_to(node, MOVES[action], num_nodes)
        return [] if target is None or node in terminal else [(1.0, target)]

    mdp = FiniteMDP.from_function(
        rows,
        discount=0.9,
        num_states=num_nodes,
        num_actions=len(MOVES),
        available=np.array(exists) | np.isin(np.arange(num_nodes), terminal)[:, None],
        state_labels=tuple(labels or (f"n{node}" for node in range(num_nodes))),
        action_labels=MOVES,
    )
    return Problem(mdp, PerState(mdp), Normal(num_nodes, 0.0, 1.0), 4.0)
