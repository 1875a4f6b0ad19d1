"""Problems without a grid that tests of drawings share: labyrinths of forks, and any graph from a list of links."""

import numpy as np

from journeyman.mdp import FiniteMDP

MOVES = ("left", "right", "back", "stay")


def labyrinth(num_forks, **options):
    """A binary tree: node 0 is the entrance, node s has the children 2s + 1 and 2s + 2; one may stay at node 0."""
    size = 2 ** (num_forks + 1) - 1

    def follow(state, action):
        targets = (2 * state + 1, 2 * state + 2, (state - 1) // 2 if state else size, 0 if state == 0 else size)
        return [(1.0, targets[action])] if targets[action] < size else []

    available = np.array([[bool(follow(state, action)) for action in range(4)] for state in range(size)])
    settings = {"initial": np.eye(size)[0], "action_labels": MOVES, "available": available, "discount": 0.9}
    return FiniteMDP.from_function(follow, num_states=size, num_actions=4, **(settings | options))


def graph(size, links, is_directed=False, **options):
    """A problem with an action for every link of a state; states without any are terminal."""
    ways = [[] for _ in range(size)]
    for first, second in links:
        ways[first].append(second)
        if not is_directed:
            ways[second].append(first)
    num_actions = max(map(len, ways))
    available = np.array([[action < max(1, len(way)) for action in range(num_actions)] for way in ways])
    return FiniteMDP.from_function(
        lambda state, action: [(1.0, ways[state][action])] if action < len(ways[state]) else [],
        num_states=size,
        num_actions=num_actions,
        available=available,
        discount=0.9,
        **options,
    )


def ring(size):
    return graph(size, [(state, (state + 1) % size) for state in range(size)])
