"""Experts that fit no model with one reward: a mouse with two goals, and somebody who contradicts themselves."""

import numpy as np

from journeyman.demonstrations import Demonstration
from journeyman.experts import SimulatedExpert
from journeyman.mdp import FiniteMDP
from journeyman.problem import Problem
from journeyman.rewards import Normal, PerState

DEPTH, BETA = 4, 4.0
HOME, WATER = 0, 2**DEPTH - 1  # the entrance, and the first of the ends


def maze(depth: int = DEPTH) -> FiniteMDP:
    """Return a binary maze: from each node left, right or back; actions that do nothing at a place do not exist there.

    Nodes are numbered as in a heap, the entrance is 0, the ends are the last 2^depth.
    """
    num_nodes = 2 ** (depth + 1) - 1
    available = np.ones((num_nodes, 3), dtype=bool)
    available[2**depth - 1 :, :2] = False
    available[0, 2] = False

    def moves(node: int, action: int) -> list[tuple[float, int]]:
        return [(1.0, (node - 1) // 2 if action == 2 else 2 * node + 1 + action)] if available[node, action] else []

    return FiniteMDP.from_function(
        moves,
        num_states=num_nodes,
        num_actions=3,
        discount=0.9,
        terminal=np.zeros(num_nodes, dtype=bool),
        available=available,
        initial=np.eye(num_nodes)[0],
        action_labels=("left", "right", "back"),
    )


def maze_problem() -> Problem:
    """Return the maze with an unknown reward at every node."""
    mdp = maze()
    return Problem(mdp, PerState(mdp), Normal(mdp.num_states, 0.0, 1.0), BETA)


def walk(problem: Problem, goal: int, num_steps: int, rng: np.random.Generator, start: int = HOME) -> Demonstration:
    """Return what a mouse does that seeks one place, worth 2, in one trajectory."""
    mdp = problem.mdp
    reward = np.zeros(mdp.num_states)
    reward[goal] = 2.0
    policy = SimulatedExpert(mdp, reward, problem.expert).policy
    steps, node = [], start
    for _ in range(num_steps):
        action = int(rng.choice(3, p=policy[node]))
        steps.append((node, action))
        node = int(mdp.next_states(node, action)[0][0])
    return Demonstration(start, tuple(steps), final_state=node, ended="truncated")


def mouse_with_two_goals(problem: Problem, num_steps: int = 400) -> list[Demonstration]:
    """Return a mouse that seeks water, and then as long home."""
    rng = np.random.default_rng(3)
    first = walk(problem, WATER, num_steps, rng)
    return [first, walk(problem, HOME, num_steps, rng, start=first.final_state)]


def ring_problem(beta: float = 40.0) -> Problem:
    """Return five places on a ring, with an unknown reward each: one may go left or right."""
    mdp = FiniteMDP.from_function(
        lambda s, a: [(1.0, (s + (-1, 1)[a]) % 5)],
        num_states=5,
        num_actions=2,
        discount=0.9,
        action_labels=("left", "right"),
    )
    return Problem(mdp, PerState(mdp), Normal(5, 0.0, 1.0), beta)


def left_and_right(times: int = 15) -> list[Demonstration]:
    """Return an expert who goes left and right in turn, in one state."""
    return [Demonstration.annotation(0, action) for _ in range(times) for action in (0, 1)]
