"""Several queries at once: for several experts, or a person who answers ten in a row.

Greedy on the joint information I(a_1, ..., a_k; C): the next query is the one whose answer tells most *given* the
answers to those chosen before, averaged over what these may be. Not the k best single scores: two queries that would
tell the same are not both chosen. Asking a state twice is legitimate, since the expert is noisy.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from journeyman.acquisition.information import (
    grow_from,
    kernel_policies,
    own_weights,
    tree_uniforms,
)
from journeyman.acquisition.registry import ACQUISITIONS, check_acquisition_options
from journeyman.acquisition.scores import Rating, ScoringContext, best_of, checked_rating, each_sample
from journeyman.acquisition.scoring import (
    checked_context,
    checked_step_cost,
    paying_best,
    prices_of,
    rate_again,
    rate_lengths,
    tried_lengths,
    weight_warnings,
)
from journeyman.checks import whole_number
from journeyman.errors import InputError
from journeyman.inference.posterior import Posterior
from journeyman.inference.weights import systematic_resample
from journeyman.progress import Report
from journeyman.types import FloatArray, IntArray

MAX_RATED = 16  # histories that a function without an `again_fn` is asked about


@dataclass(frozen=True, eq=False)
class Batch:
    """Queries chosen together.

    name: of the acquisition function; states `[k]` in the order in which they were chosen; gains `[k]`: what each is
    expected to add to those before it (and to the pending ones), per unit of cost where costs were given; warnings:
    what is doubtful; unit: of the gains; lengths `[k]` of the queries, None for state queries.
    """

    name: str
    states: IntArray
    gains: FloatArray
    warnings: tuple[str, ...] = ()
    unit: str = ""
    lengths: IntArray | None = None


class Histories(NamedTuple):
    """Possible answers so far: weights of the samples given each `[K, M]`, and its chance `[K]`."""

    weights: FloatArray
    chances: FloatArray


def choose_batch(
    posterior: Posterior,
    acquisition: str,
    k: int,
    *,
    pending: Sequence[int] = (),
    pending_lengths: Sequence[int] | None = None,
    rng: np.random.Generator | None = None,
    kind: str = "state",
    length: int | None = None,
    epsilon: float | str = 0.1,
    costs: ArrayLike | None = None,
    step_cost: float = 0.0,
    seed: int = 0,
    num_histories: int = 64,
    num_threads: int | None = None,
    candidates: Any = None,
    report_fn: Report | None = None,
    **options: Any,
) -> Batch:
    """Choose `k` queries that together tell most.

    For information functions (`reward_eig`, `pac_eig`, `ir_eig`, `regret_eig`) this is greedy on the joint information;
    the apprentice in question stays the present one. For the others, the score given possible answers is averaged over
    them; the candidate policies of `failure_chance` stay those of now. Answers to state queries are enumerated while
    there are at most `num_histories` of them, then sampled.

    Parameters
    ----------
    acquisition
        A key of `ACQUISITIONS`.
    k
        Number of queries.
    pending
        Start states of queries of the same kind that were asked already and are not answered yet.
    pending_lengths
        Of these trajectory queries; default: all `length`.
    rng
        Decides between equal scores; without it the lowest state wins.
    kind, length, epsilon, costs, step_cost, seed, num_histories, num_threads, candidates, options
        As in `score`. With a `step_cost` each query has the length that pays best, given those before it.
    report_fn
        Is told how far the work is, for a progress bar.
    """
    k = whole_number(k, "k", 1, "It is the number of queries to choose.")
    context = checked_context(
        posterior, acquisition, kind=kind, length=length, epsilon=epsilon, seed=seed, num_histories=num_histories,
        num_threads=num_threads, candidates=candidates,
    )  # fmt: skip
    check_acquisition_options(acquisition, options)
    step_cost = checked_step_cost(step_cost, kind)
    asked = posterior.problem.mdp.state_indices(pending).tolist()
    asked_lengths = _checked_lengths(pending_lengths, context, len(asked))
    lengths = tried_lengths(context.length, step_cost)
    contexts = [replace(context, length=length) for length in lengths]
    prices = prices_of(posterior.problem, context, costs, lengths, step_cost)
    ratings = rate_lengths(acquisition, posterior, context, options, lengths)
    first = ratings[-1]
    unit = ACQUISITIONS.find(first.details.get("used", acquisition)).unit
    histories = Histories(own_weights(posterior), np.ones(1))
    for step, (state, length) in enumerate(zip(asked, asked_lengths, strict=True)):
        histories = answered(posterior, replace(context, length=length), histories, state, step)
    states, gains, chosen = [], [], []
    for step in range(len(asked), len(asked) + k):
        values = np.stack(
            [rating.values for rating in ratings]
            if step == 0
            else [expected_values(acquisition, first, posterior, each, options, histories) for each in contexts]
        )
        rows = paying_best(values, prices)
        rates = (values / prices)[rows, np.arange(len(rows))]
        best = best_of(rates, rng, unit)
        states.append(int(context.states[best]))
        gains.append(float(rates[best]))
        chosen.append(lengths[rows[best]])
        histories = answered(posterior, contexts[rows[best]], histories, states[-1], step)
        if report_fn is not None:
            report_fn(len(states) / k)
    warnings = (*weight_warnings(posterior), *first.warnings)
    return Batch(
        acquisition, np.array(states), np.array(gains), warnings, unit, None if kind == "state" else np.array(chosen)
    )


def _checked_lengths(lengths: Sequence[int] | None, context: ScoringContext, count: int) -> list[int]:
    """Return the lengths of `count` pending queries."""
    if lengths is None:
        return [context.length] * count
    if context.kind == "state" or len(lengths) != count:
        raise InputError(
            f"pending_lengths must be those of {count} pending trajectory queries, got {len(lengths)} for kind "
            f"{context.kind!r}. Leave it out if all have the same length."
        )
    return [whole_number(length, "each of pending_lengths", 1) for length in lengths]


def expected_values(
    acquisition: str,
    first: Rating,
    posterior: Posterior,
    context: ScoringContext,
    options: Mapping[str, Any],
    histories: Histories,
) -> FloatArray:
    """Return the values `[N]` of the next query, averaged over histories.

    By the `again_fn` of the `first` rating if it has one; other functions rate given each of at most 16 histories.
    """
    if first.again_fn is not None:
        return checked_rating(acquisition, context, first.again_fn(context, *histories)).values
    few = thinned(np.random.default_rng([context.seed, len(histories.chances)]), histories, MAX_RATED)
    share = replace(context, num_histories=max(2, context.num_histories // len(few.chances)))
    values = np.zeros(len(context.states))
    for weights, chance in zip(*few, strict=True):
        values += chance * rate_again(acquisition, first, replace(posterior, weights=weights), share, options).values
    return values


def answered(posterior: Posterior, context: ScoringContext, histories: Histories, state: int, step: int) -> Histories:
    """Add possible answers to one more query at `state`; `step` numbers the queries, for their random numbers."""
    if context.kind == "trajectory":
        return _followed(posterior, context, histories, state, step)
    chances = posterior.expert_policies([state])[:, 0].T
    joint = (histories.weights[:, None, :] * chances).reshape(-1, posterior.num_samples)  # one row per answer
    masses = joint.sum(axis=1)
    possible = masses > 0.0
    total = np.repeat(histories.chances, len(chances))[possible] * masses[possible]
    grown = Histories(joint[possible] / masses[possible, None], total / total.sum())
    return thinned(np.random.default_rng([context.seed, state, step + 1]), grown, context.num_histories)


def _followed(posterior: Posterior, context: ScoringContext, histories: Histories, state: int, step: int) -> Histories:
    """Add trajectories from `state`: `num_histories` walks, shared among the histories and those that follow them."""
    policies, partition, ends = kernel_policies(posterior), each_sample(posterior.num_samples), []
    for root, uniforms in zip(
        histories.weights, tree_uniforms(context, state, len(histories.chances), step + 1), strict=True
    ):
        ends.append(grow_from(posterior, policies, partition, root, state, uniforms, keeps_ends=True))
    weights = np.concatenate([tree.weights for tree in ends])
    chances = np.concatenate([c * tree.chances for c, tree in zip(histories.chances, ends, strict=True)])
    kept = systematic_resample(np.random.default_rng([context.seed, state, step + 1]), chances, context.num_histories)
    return Histories(weights[kept], np.full(len(kept), 1.0 / len(kept)))


def thinned(rng: np.random.Generator, histories: Histories, size: int) -> Histories:
    """Return the histories, or `size` of them drawn systematically by their chances if there are more."""
    if len(histories.chances) <= size:
        return histories
    kept = systematic_resample(rng, histories.chances, size)
    return Histories(histories.weights[kept], np.full(size, 1.0 / size))
