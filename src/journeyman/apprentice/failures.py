"""Under which samples a policy fails, by how much, and in which states."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from journeyman.apprentice.least_risky import is_failing
from journeyman.apprentice.regret import immediate_regrets, state_regrets
from journeyman.inference.posterior import Posterior
from journeyman.mdp.policies import occupancy
from journeyman.types import BoolArray, FloatArray

NUM_TOP_STATES = 5


class StateContribution(NamedTuple):
    """A state where regret comes from.

    regret: posterior mean of what this state adds to the total regret (from the initial states), or of its immediate
    regret (for every state); chance: that its immediate regret is at least (1 - discount) epsilon.
    """

    state: int
    name: str
    regret: float
    chance: float


class Failures(NamedTuple):
    """is_failing `[M]`; regret `[M]` from the initial distribution or from the worst state; the states behind it."""

    is_failing: BoolArray
    regret: FloatArray
    top_states: tuple[StateContribution, ...]


def failures_of(posterior: Posterior, policy: ArrayLike, epsilon: float, scope: str) -> Failures:
    """Return how a policy fails under each sample, in a scope of "initial" or "every_state"."""
    mdp = posterior.problem.mdp
    by_state = state_regrets(posterior, policy)
    immediate = immediate_regrets(posterior, policy)
    threshold = (1.0 - mdp.discount) * epsilon
    is_bad = is_failing(posterior, immediate, threshold)
    if scope == "every_state":
        regret, fails = by_state.max(axis=1), is_bad.any(axis=1)
        added = posterior.mean(immediate)
    else:
        regret = by_state @ mdp.initial
        fails = is_failing(posterior, regret, epsilon)
        added = occupancy(mdp, policy) * posterior.mean(immediate)
    chances = posterior.mean(is_bad)
    order = np.argsort(-(chances if scope == "every_state" else added), kind="stable")[:NUM_TOP_STATES]
    top = tuple(
        StateContribution(s, mdp.state_name(s), float(added[s]), min(1.0, float(chances[s])))
        for s in order.tolist()
        if added[s] > 0.0
    )
    return Failures(np.asarray(fails), regret, top)
