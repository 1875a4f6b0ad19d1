"""Score every state as the start of the next query."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from journeyman.acquisition.candidates import candidate_states
from journeyman.acquisition.information import own_weights
from journeyman.acquisition.registry import ACQUISITIONS, check_acquisition_options, rate
from journeyman.acquisition.scores import Rating, Scores, ScoringContext, checked_rating
from journeyman.apprentice.epsilon import checked_epsilon
from journeyman.checks import float_array, one_of, real_number, whole_number
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
    epsilon: float | str = 0.1,
    costs: ArrayLike | None = None,
    step_cost: float = 0.0,
    seed: int = 0,
    num_histories: int = 64,
    num_threads: int | None = None,
    candidates: Any = None,
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
        Regret that is too much, in units of the reward or a share such as "5%"; only `pac_eig`, `ir_eig`,
        `regret_pac` and `failure_chance` look at it.
    costs
        `[S]` cost of a query at each state, positive; scores are then per unit of cost.
    step_cost
        What each action of a trajectory after the first adds to that. Above 0 a query may be shorter than `length`:
        the score of a state is the largest over lengths 1, 2, 3, 5, 8, ... and `length`, and `Scores.lengths` says
        which one it is of; of equal ones the shortest.
    seed, num_histories
        Of sampled trajectories, `num_histories` from each state. All functions meet the same ones.
    num_threads
        Default: all cores of this process. Scores do not depend on it.
    candidates
        Which states to rate: a list, a number (so many drawn at random, by `seed`) or "occupancy:1000" (those that the
        best policy for the mean reward visits most). Default: all that are queryable, but where these are more than
        20,000, the 1000 most visited.
    options
        Of the function.

    Returns
    -------
    Scores `[S]`, minus infinity for states that are not queryable or no candidates.

    Examples
    --------
    >>> from journeyman import Demonstration, infer, make_world
    >>> world = make_world("brown-two-state")
    >>> posterior = infer(world.problem, Demonstration.annotation(1, 0), method="enumerate")
    >>> from journeyman import score
    >>> score(posterior, "reward_eig").values.round(3).tolist()
    [0.603, 0.0]
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
        candidates=candidates,
    )
    check_acquisition_options(acquisition, options)
    step_cost = checked_step_cost(step_cost, kind)
    lengths = tried_lengths(context.length, step_cost)
    prices = prices_of(posterior.problem, context, costs, lengths, step_cost)
    ratings = rate_lengths(acquisition, posterior, context, options, lengths)
    rows = paying_best(np.stack([rating.values for rating in ratings]), prices)
    rating = rating_of_rows(ratings, rows)
    scores = scores_of(posterior, acquisition, context, rating, prices[rows, np.arange(len(rows))])
    if step_cost == 0.0:
        return scores
    chosen = np.zeros(len(scores.values), dtype=np.int64)
    chosen[context.states] = np.array(lengths)[rows]
    return replace(scores, lengths=chosen)


def scores_of(posterior: Posterior, name: str, context: ScoringContext, rating: Rating, prices: FloatArray) -> Scores:
    """Spread the rating of queryable states over all states, per unit of cost, prices `[N]`."""
    values = np.full(posterior.problem.mdp.num_states, -np.inf)
    values[context.states] = rating.values / prices
    error = None
    if rating.standard_error is not None:
        error = np.full(len(values), np.nan)
        error[context.states] = rating.standard_error / prices
    unit = ACQUISITIONS.find(rating.details.get("used", name)).unit
    length = None if context.kind == "state" else context.length
    warnings = (*weight_warnings(posterior), *rating.warnings)
    details, mdp = dict(rating.details), posterior.problem.mdp
    return Scores(name, context.kind, length, unit, values, error, warnings, details, mdp=mdp)


def paying_best(values: FloatArray, prices: FloatArray) -> IntArray:
    """Return for each state the row `[N]` of values and prices `[L, N]` of most value per cost, the first if equal."""
    return np.asarray((values / prices).argmax(axis=0))


def rating_of_rows(ratings: Sequence[Rating], rows: IntArray) -> Rating:
    """Return the last rating with the values and errors of ratings[rows[n]] at each state n."""
    every = np.arange(len(rows))
    values = np.stack([rating.values for rating in ratings])[rows, every]
    if all(rating.standard_error is None for rating in ratings):
        return replace(ratings[-1], values=values)
    exact = np.zeros(len(rows))
    errors = [exact if rating.standard_error is None else rating.standard_error for rating in ratings]
    return replace(ratings[-1], values=values, standard_error=np.stack(errors)[rows, every])


def tried_lengths(longest: int, step_cost: float) -> tuple[int, ...]:
    """Return the lengths to choose from, ascending: `longest` alone while steps cost nothing, for it tells most."""
    shorter = [1, 2] if step_cost > 0.0 else [longest]
    while shorter[-1] < longest:
        shorter.append(shorter[-2] + shorter[-1])
    return (*(length for length in shorter if length < longest), longest)


def prices_of(
    problem: Problem, context: ScoringContext, costs: ArrayLike | None, lengths: Sequence[int], step_cost: float
) -> FloatArray:
    """Return what a query of each length costs at each of the states `[L, N]`."""
    steps = step_cost * (np.array(lengths) - 1.0)
    return np.asarray(checked_costs(problem, costs)[context.states] + steps[:, None])


def rate_lengths(
    acquisition: str, posterior: Posterior, context: ScoringContext, options: Mapping[str, Any], lengths: Sequence[int]
) -> list[Rating]:
    """Return the ratings of queries of each length, the last of which is that of the context.

    That one comes first, and settles what the others keep: which function decides, if it hands over to another, and
    what its `again_fn` keeps.
    """
    longest = rate(acquisition, posterior, context, options)
    shorter = [
        rate_again(acquisition, longest, posterior, replace(context, length=length), options) for length in lengths[:-1]
    ]
    return [*shorter, longest]


def rate_again(
    acquisition: str, first: Rating, posterior: Posterior, context: ScoringContext, options: Mapping[str, Any]
) -> Rating:
    """Return what the function that made the `first` rating says about another length, or with other weights."""
    if first.again_fn is not None:
        return checked_rating(acquisition, context, first.again_fn(context, own_weights(posterior), np.ones(1)))
    used = first.details.get("used", acquisition)
    return rate(used, posterior, context, options if used == acquisition else {})


def checked_context(
    posterior: Posterior,
    acquisition: str,
    *,
    kind: str,
    length: int | None,
    epsilon: float | str,
    seed: int,
    num_histories: int,
    num_threads: int | None,
    candidates: Any = None,
) -> ScoringContext:
    """Return the context of a question, or say what is wrong with it."""
    checked_posterior(posterior)
    one_of(kind, KINDS, "kind", "Leave it out for 'state'.")
    check_kind(acquisition, kind)
    if kind == "trajectory":
        length = whole_number(
            length, "the length of a trajectory query", 1, "Say how many steps: --length 5 (length=5)."
        )
    elif length is not None:
        raise InputError(f"a state query must have no length, got {length}. Say kind='trajectory', or leave it out.")
    seed = whole_number(seed, "seed", 0)
    return ScoringContext(
        states=candidate_states(posterior, candidates, queryable_states(posterior.problem), seed),
        kind=kind,
        length=length or 1,
        epsilon=checked_epsilon(epsilon),
        num_histories=whole_number(num_histories, "num_histories", 2, "More of them lower the standard error."),
        seed=seed,
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


def checked_step_cost(step_cost: float, kind: str) -> float:
    """Return what a further step costs, 0 or more, if there can be one."""
    number = real_number(step_cost, "step_cost")
    if not 0.0 <= number < np.inf:
        raise InputError(
            f"step_cost must be finite and at least 0, got {number}. It is what each action of a trajectory after the "
            "first adds to the cost of a query; 0 means that length is free."
        )
    if number > 0.0 and kind == "state":
        raise InputError(
            f"step_cost must be 0 for state queries, which have one step, got {number}. "
            "Say kind='trajectory', or leave it out."
        )
    return number


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
