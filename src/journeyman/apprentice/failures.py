"""Under which samples a policy fails, by how much, and in which states."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from journeyman.apprentice.regret import immediate_estimates, regret_estimates, state_regrets
from journeyman.checks import one_of
from journeyman.inference.posterior import Posterior
from journeyman.mdp.policies import occupancy
from journeyman.types import BoolArray, FloatArray

NUM_TOP_STATES = 5
SCOPES = ("initial", "every_state")


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
    """is_failing `[M]`; regret `[M]` from the initial distribution or from the worst state; error `[M]` of that.

    A regret that its numerical error may keep below epsilon counts as a failure: errors never make a claim true.
    """

    is_failing: BoolArray
    regret: FloatArray
    error: FloatArray


def is_failing(regret: FloatArray, error: FloatArray, epsilon: float) -> BoolArray:
    """Return which regrets may be epsilon or more, given their numerical errors; all whose error is half of that."""
    return np.asarray((regret >= epsilon - error) | (error >= 0.5 * epsilon))


def failures_of(posterior: Posterior, policy: ArrayLike, epsilon: float, scope: str) -> Failures:
    """Return under which samples a policy fails, in a scope of "initial" or "every_state", and its regret there."""
    if scope == "initial":
        found = regret_estimates(posterior, policy)
        return Failures(is_failing(*found, epsilon), found.cleaned(), found.errors)
    immediate = immediate_estimates(posterior, policy)
    is_bad = is_failing(*immediate, _threshold(posterior, epsilon)).any(axis=1)
    error = immediate.errors.max(axis=1) / (1.0 - posterior.problem.mdp.discount)
    return Failures(np.asarray(is_bad), state_regrets(posterior, policy).max(axis=1), error)


def top_states_of(posterior: Posterior, policy: ArrayLike, epsilon: float, scope: str) -> tuple[StateContribution, ...]:
    """Return the states that add most to the mean regret, or that are most likely to fail; none that add nothing."""
    mdp = posterior.problem.mdp
    immediate = immediate_estimates(posterior, policy)
    chances = posterior.mean(is_failing(*immediate, _threshold(posterior, epsilon)))
    added = posterior.mean(np.where(immediate.values <= posterior.tie_margins, 0.0, immediate.values)) * (
        occupancy(mdp, policy) if scope == "initial" else 1.0
    )
    order = np.argsort(-(added if scope == "initial" else chances), kind="stable")[:NUM_TOP_STATES]
    return tuple(
        StateContribution(s, mdp.state_name(s), float(added[s]), min(1.0, float(chances[s])))
        for s in order.tolist()
        if added[s] > 0.0
    )


def checked_scope(scope: str) -> str:
    """Return a scope of certificates, or say which there are."""
    return one_of(scope, SCOPES, "scope", "Leave it out for 'initial'.")


def _threshold(posterior: Posterior, epsilon: float) -> float:
    return (1.0 - posterior.problem.mdp.discount) * epsilon
