"""Memory: experts who act on what happened before.

    problem.with_memory(visited(problem.mdp, "water", until="home"))

is the problem in which rewards, and so what the expert does, may depend on whether there was water since home; see
`journeyman.mdp.memory` for what that means, and docs/memory.md for how to use it.
"""

from journeyman.mdp.automata import Memory, automaton, clock, combined, last_action, visited
from journeyman.mdp.memory import Remembered

__all__ = ["Memory", "Remembered", "automaton", "clock", "combined", "last_action", "visited"]
