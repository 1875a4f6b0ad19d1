"""Regret: what a policy loses against the best one, under every sample of a posterior; and where that is too much.

    regret(s) = V*(s) - V^pi(s),   immediate regret(s) = V*(s) - sum over a of pi(a | s) Q*(s, a)

Regrets are never taken as differences of values, which may be huge and nearly the same, but added up from immediate
regrets, which are not negative (the performance difference lemma): B^-1 (immediate regrets) with B = I - discount P_pi,
and from the initial distribution rho the sum over states of nu(s) * immediate regret(s), with nu = B^-T rho the
discounted occupancy. B is the same for all samples: one factorisation serves them all. With max_a Q and Q_pi computed
from values V that are within U of V* (see `mdp.accuracy`), a regret is exact up to

    U(rho) + sum over s of nu(s) (residual and rounding of max_a Q(s, a) + rounding of Q_pi(s)).

A policy is `[S]` actions or `[S, A]` probabilities throughout.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from journeyman.apprentice.epsilon import Share
from journeyman.checks import one_of
from journeyman.inference.posterior import Posterior
from journeyman.mdp.accuracy import relative_rounding
from journeyman.mdp.policies import (
    LINEAR_TOLERANCE,
    MAX_FACTORISED_STATES,
    VISIT_TOLERANCE,
    action_probabilities,
    evaluate_policy_batch,
    occupancy,
    policy_matrix,
    solve_linear,
)
from journeyman.types import BoolArray, FloatArray

NUM_TOP_STATES = 5
SCOPES = ("initial", "every_state")
SOLVING = 64 * 2.0**-52  # relative error of an occupancy, per step that counts


class Estimates(NamedTuple):
    """Numbers, and bounds on their numerical errors."""

    values: FloatArray
    errors: FloatArray

    def in_units(self, unit: FloatArray) -> "Estimates":
        """Return the numbers `[M, ...]` and their errors in units `[M]`."""
        each = unit.reshape(-1, *[1] * (self.values.ndim - 1))
        return Estimates(self.values / each, self.errors / each)

    def cleaned(self) -> FloatArray:
        """Return the numbers, exactly 0 where they are no larger than their error."""
        return np.where(self.values <= self.errors, 0.0, self.values)


class OneStep(NamedTuple):
    """The first step of a policy: discount * P_pi, immediate regrets `[M, S]`, and the rounding of Q_pi `[M, S]`."""

    matrix: Any
    regret: FloatArray
    rounding: FloatArray


class Followed(NamedTuple):
    """A policy: its chances `[S, A]` and discount * P_pi."""

    probabilities: FloatArray
    matrix: Any


def followed(posterior: Posterior, policy: ArrayLike) -> Followed:
    """Return what all samples share in following a policy."""
    mdp = posterior.problem.mdp
    probabilities = action_probabilities(mdp, policy)
    return Followed(probabilities, policy_matrix(mdp, probabilities))


def one_step(posterior: Posterior, policy: ArrayLike | Followed) -> OneStep:
    """Return what following a policy for one step costs under each sample, before rounding errors are taken out."""
    mdp, values = posterior.problem.mdp, posterior.values
    probabilities, matrix = policy if isinstance(policy, Followed) else followed(posterior, policy)
    rewards, sizes, errors = (
        array if array.ndim == 2 else np.einsum("sa,msa->ms", probabilities, array)
        for array in (posterior.rewards, np.abs(posterior.rewards), posterior.reward_errors())
    )
    q = rewards + (matrix @ values.T).T
    sizes = sizes + (matrix @ np.abs(values).T).T + np.abs(values)
    rounding = relative_rounding(mdp) * sizes + errors
    return OneStep(matrix, np.maximum(posterior.accuracy.best - q, 0.0), rounding)


def immediate_estimates(posterior: Posterior, policy: ArrayLike | Followed) -> Estimates:
    """Return immediate regrets `[M, S]` with bounds on their errors."""
    step, errors = one_step(posterior, policy), posterior.accuracy.values
    return Estimates(step.regret, errors + step.rounding + (step.matrix @ errors.T).T)


def regret_estimates(posterior: Posterior, policy: ArrayLike, visits: FloatArray | None = None) -> Estimates:
    """Return total regrets `[M]` from the initial distribution with bounds on their errors.

    One occupancy serves all samples: give the `visits` `[S]` of the policy if they are known. Samples of large worlds
    are gone through one at a time.
    """
    mdp = posterior.problem.mdp
    nu = occupancy(mdp, policy, tolerance=VISIT_TOLERANCE) if visits is None else visits
    if posterior.is_large:
        looked = posterior.looked(action_probabilities(mdp, policy), nu)
        total, errors, largest = looked.regrets, looked.value_errors + looked.errors, looked.largest
    else:
        step, accuracy = one_step(posterior, policy), posterior.accuracy
        total, largest = step.regret @ nu, step.regret.max(axis=1)
        errors = accuracy.values @ mdp.initial + (accuracy.local + step.rounding) @ nu
    errors = errors + SOLVING / (1.0 - mdp.discount) * total
    if mdp.num_states > MAX_FACTORISED_STATES:  # occupancies by sweeps, see `solve_linear`
        errors = errors + VISIT_TOLERANCE * (1.0 + float(nu.max())) * largest
    return Estimates(total, errors)


def state_regret_estimates(posterior: Posterior, policy: ArrayLike) -> Estimates:
    """Return regrets from every state `[M, S]` with bounds on their errors."""
    accuracy, step = posterior.accuracy, one_step(posterior, policy)
    largest = (accuracy.local + step.rounding).max(axis=0)  # over samples: one more right side is enough
    solved = solve_linear(step.matrix, np.vstack([step.regret, largest]))
    regret, errors = solved[:-1], accuracy.values + solved[-1]
    errors = errors + SOLVING / (1.0 - posterior.problem.mdp.discount) * np.abs(regret)
    if posterior.problem.mdp.num_states > MAX_FACTORISED_STATES:
        errors += LINEAR_TOLERANCE * (1.0 + regret.max(axis=1, keepdims=True))
    return Estimates(np.maximum(regret, 0.0), errors)


def sample_values(posterior: Posterior, policy: ArrayLike) -> FloatArray:
    """Return V^pi `[M, S]` of a policy under every sample, with one factorisation."""
    return evaluate_policy_batch(posterior.problem.mdp, policy, posterior.rewards)


def state_regrets(posterior: Posterior, policy: ArrayLike) -> FloatArray:
    """Return V* - V^pi `[M, S]`: not negative, and exactly 0 within its numerical error."""
    return state_regret_estimates(posterior, policy).cleaned()


def regrets(posterior: Posterior, policy: ArrayLike, visits: FloatArray | None = None) -> FloatArray:
    """Return the total regret `[M]` of a policy, from the initial distribution: the average of its state regrets.

    Not negative, and exactly 0 within its numerical error. `visits` `[S]` of the policy need not be found if given.
    """
    return regret_estimates(posterior, policy, visits).cleaned()


def action_gaps(posterior: Posterior, states: ArrayLike | None = None) -> FloatArray:
    """Return V*(s) - Q*(s, a) `[M, len(states), A]`: the immediate regret of each action.

    Exactly 0 for optimal actions, ties within `posterior.tie_margins` included; plus infinity where an action does not
    exist. Holds them all at once: for many states go through `posterior.q_chunks` and `posterior.gaps`.
    """
    mdp = posterior.problem.mdp
    chosen = np.arange(mdp.num_states) if states is None else mdp.state_indices(states)
    return posterior.gaps(chosen, posterior.q(chosen))


def immediate_regrets(posterior: Posterior, policy: ArrayLike, states: ArrayLike | None = None) -> FloatArray:
    """Return V*(s) - sum over a of pi(a | s) Q*(s, a) `[M, len(states)]`; default all states.

    What following the policy for one step only would cost: not negative, exactly 0 where only optimal actions are done.
    """
    found = one_step(posterior, policy).regret
    found = np.where(found <= posterior.tie_margins, 0.0, found)
    return found if states is None else np.asarray(found[:, posterior.problem.mdp.state_indices(states)])


def regret_contributions(posterior: Posterior, policy: ArrayLike) -> FloatArray:
    """Return nu(s) * immediate regret(s) `[M, S]`: how much each state adds to the total regret of each sample.

    Sums to `regrets` over states, up to rounding.
    """
    return np.asarray(occupancy(posterior.problem.mdp, policy) * immediate_regrets(posterior, policy))


class StateContribution(NamedTuple):
    """A state where regret comes from.

    regret: posterior mean of what this state adds to the total regret (from the initial states), or of its immediate
    regret (for every state), in the unit of epsilon; chance: that its immediate regret is at least (1 - discount)
    epsilon.
    """

    state: int
    name: str
    regret: float
    chance: float


class Failures(NamedTuple):
    """is_failing `[M]`; regret `[M]` from the initial distribution or from the worst state; error `[M]` of that.

    Both are in the unit of epsilon, see `regret_unit`. A regret that its numerical error may keep below epsilon counts
    as a failure: errors never make a claim true.
    """

    is_failing: BoolArray
    regret: FloatArray
    error: FloatArray


def is_failing(regret: FloatArray, error: FloatArray, epsilon: float) -> BoolArray:
    """Return which regrets may be epsilon or more, given their numerical errors; all whose error is half of that."""
    return np.asarray((regret >= epsilon - error) | (error >= 0.5 * epsilon))


def stakes(posterior: Posterior) -> Estimates:
    """Return what is at stake under every sample `[M]`: what a policy that acts at random loses in all.

    At random means one of the available actions, with equal chances; the loss is its regret from the initial
    distribution. It comes by everywhere that can be reached, so where nothing is at stake every policy is the best.
    """
    available = posterior.problem.mdp.available
    return regret_estimates(posterior, available / available.sum(axis=1, keepdims=True))


def regret_unit(posterior: Posterior, epsilon: float) -> FloatArray:
    """Return the unit `[M]` that epsilon is in, under every sample: that of the reward, or all that is at stake.

    Where nothing is at stake it is infinite: nothing can be lost. Where that may be a numerical error, the error is the
    unit: other errors are about as large, so that the sample counts as a failure.
    """
    if not isinstance(epsilon, Share):
        return np.ones(posterior.num_samples)
    unit = np.maximum(*stakes(posterior))
    return np.where(unit > 0.0, unit, np.inf)


def failures_of(posterior: Posterior, policy: ArrayLike, epsilon: float, scope: str) -> Failures:
    """Return under which samples a policy fails, in a scope of "initial" or "every_state", and its regret there."""
    unit = regret_unit(posterior, epsilon)
    if scope == "initial":
        found = regret_estimates(posterior, policy).in_units(unit)
        return Failures(is_failing(*found, epsilon), found.cleaned(), found.errors)
    shared = followed(posterior, policy)

    def fails(part: Posterior) -> Failures:
        own = unit if part is posterior else regret_unit(part, epsilon)
        immediate = immediate_estimates(part, shared).in_units(own)
        is_bad = is_failing(*immediate, _threshold(part, epsilon)).any(axis=1)
        error = immediate.errors.max(axis=1) / (1.0 - part.problem.mdp.discount)
        return Failures(np.asarray(is_bad), state_regrets(part, policy).max(axis=1) / own, error)

    return Failures(*(np.concatenate(arrays) for arrays in zip(*posterior.of_parts(fails), strict=True)))


def top_states_of(posterior: Posterior, policy: ArrayLike, epsilon: float, scope: str) -> tuple[StateContribution, ...]:
    """Return the states that add most to the mean regret, or that are most likely to fail; none that add nothing."""
    mdp = posterior.problem.mdp
    shared = followed(posterior, policy)

    def means(part: Posterior) -> tuple[FloatArray, FloatArray]:
        unit, immediate = regret_unit(part, epsilon), immediate_estimates(part, shared)
        is_tie = immediate.values <= 2.0 * part.accuracy.values
        added = part.mean(np.where(is_tie, 0.0, immediate.values) / unit[:, None])
        return part.mean(is_failing(*immediate.in_units(unit), _threshold(part, epsilon))), added

    chances, added = (np.sum(each, axis=0) for each in zip(*posterior.of_parts(means), strict=True))
    added = added * (occupancy(mdp, policy) if scope == "initial" else 1.0)
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
