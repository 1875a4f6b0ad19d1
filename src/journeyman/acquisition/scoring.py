"""Score every state as the start of the next query."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from journeyman.acquisition.registry import ACQUISITIONS, check_acquisition_options, rate
from journeyman.acquisition.scores import Rating, Scores, ScoringContext
from journeyman.apprentice.policies import checked_epsilon
from journeyman.checks import float_array, one_of, whole_number
from journeyman.errors import InputError, UnsupportedError
from journeyman.experts import KINDS
from journeyman.inference.posterior import Posterior, checked_posterior
from journeyman.inference.weights import effective_size
from journeyman.problem import Problem
from journeyman.threads import resolve_num_threads
from journeyman.types import FloatArray, IntArray


def score(
    posterior: Posterior,
    acquisition: str = "pac_eig",
    *,
    kind: str = "state",
    length: int | None = None,
    epsilon: float = 0.1,
    costs: ArrayLike | None = None,
    seed: int = 0,
    num_histories: int = 64,
    num_threads: int | None = None,
    **options: Any,
) -> Scores:
    """Score every state as the start of the next query.

    Parameters
    ----------
    posterior
        What is known so far.
    acquisition
        A key of `ACQUISITIONS`.
    kind, length
        "state": one action; "trajectory": up to `length` actions.
    epsilon
        Regret that is too much, in units of the reward; only `pac_eig`, `ir_eig`, `regret_pac` and
        `failure_chance` look at it.
    costs
        `[S]` cost of a query at each state, positive; scores are then per unit of cost.
    seed, num_histories
        Of sampled trajectories, `num_histories` from each state. All functions meet the same ones.
    num_threads
        Default: all cores of this process. Scores do not depend on it.
    options
        Of the function.

    Returns
    -------
    Scores `[S]`, minus infinity for states that are not queryable.
    """
    context = checked_context(
        posterior,
        acquisition,
        kind=kind,
        length=length,
        epsilon=epsilon,
        seed=seed,
        num_histories=num_histories,
        num_threads=num_threads,
    )
    check_acquisition_options(acquisition, options)
    prices = checked_costs(posterior.problem, costs)
    rating = rate(acquisition, posterior, context, options)
    return scores_of(posterior, acquisition, context, rating, prices)


def scores_of(posterior: Posterior, name: str, context: ScoringContext, rating: Rating, prices: FloatArray) -> Scores:
    """Spread the rating of queryable states over all states, per unit of cost."""
    values = np.full(posterior.problem.mdp.num_states, -np.inf)
    values[context.states] = rating.values / prices[context.states]
    error = None
    if rating.standard_error is not None:
        error = np.full(len(values), np.nan)
        error[context.states] = rating.standard_error / prices[context.states]
    unit = ACQUISITIONS.find(rating.details.get("used", name)).unit
    length = None if context.kind == "state" else context.length
    warnings = (*weight_warnings(posterior), *rating.warnings)
    return Scores(name, context.kind, length, unit, values, error, warnings, dict(rating.details))


def checked_context(
    posterior: Posterior,
    acquisition: str,
    *,
    kind: str,
    length: int | None,
    epsilon: float,
    seed: int,
    num_histories: int,
    num_threads: int | None,
) -> ScoringContext:
    """Return the context of a question, or say what is wrong with it."""
    checked_posterior(posterior)
    one_of(kind, KINDS, "kind", "Leave it out for 'state'.")
    check_kind(acquisition, kind)
    if kind == "trajectory":
        length = whole_number(length, "the length of a trajectory query", 1, "Say length=.")
    elif length is not None:
        raise InputError(f"a state query must have no length, got {length}. Say kind='trajectory', or leave it out.")
    return ScoringContext(
        states=queryable_states(posterior.problem),
        kind=kind,
        length=length or 1,
        epsilon=checked_epsilon(epsilon),
        num_histories=whole_number(num_histories, "num_histories", 2, "More of them lower the standard error."),
        seed=whole_number(seed, "seed", 0),
        num_threads=resolve_num_threads(num_threads),
    )


def check_kind(acquisition: str, kind: str) -> None:
    """Refuse a kind of query that the function cannot rate."""
    if kind not in ACQUISITIONS.find(acquisition).kinds:
        able = [name for name, other in ACQUISITIONS.usable() if kind in other.kinds]
        raise UnsupportedError(f"{acquisition!r} cannot rate {kind} queries. These can: {', '.join(able)}.")


def queryable_states(problem: Problem) -> IntArray:
    """Return the states that may be asked about, at least one."""
    states = np.flatnonzero(problem.queryable)
    if not states.size:
        raise InputError("a problem must have a queryable state to be asked about, got none. Set problem.queryable.")
    return states


def checked_costs(problem: Problem, costs: ArrayLike | None) -> FloatArray:
    """Return the cost of a query at each state `[S]`, 1 by default."""
    num_states = problem.mdp.num_states
    if costs is None:
        return np.ones(num_states)
    array = float_array(costs, "costs")
    if array.shape != (num_states,):
        raise InputError(f"costs must have shape {(num_states,)}, got {array.shape}. Give one number per state.")
    asked = problem.queryable
    if not ((array[asked] > 0) & np.isfinite(array[asked])).all():
        state = int(np.flatnonzero(asked & ~((array > 0) & np.isfinite(array)))[0])
        raise InputError(
            f"costs must be positive and finite, got {array[state]} at state {state}. "
            "Make a state that may not be asked unqueryable instead."
        )
    return np.where(asked, array, 1.0)


def weight_warnings(posterior: Posterior) -> tuple[str, ...]:
    """Say whether nearly all weight lies on one sample: then nothing seems left to learn."""
    with np.errstate(divide="ignore"):
        effective = effective_size(np.log(posterior.weights))
    if effective >= 2.0 or posterior.num_samples == 1:
        return () if posterior.num_samples > 1 else ("there is only one sample, so nothing seems left to learn.",)
    return (
        f"nearly all weight lies on one of {posterior.num_samples} samples ({effective:.1f} effective ones), so "
        "nothing seems left to learn. Use more samples, unless the prior has so few atoms.",
    )
