"""Several queries at once: for several experts, or a person who answers ten in a row.

Greedy on the joint information I(a_1, ..., a_k; C): the next query is the one whose answer tells most *given* the
answers to those chosen before, averaged over what these may be. Not the k best single scores: two queries that would
tell the same are not both chosen. Asking a state twice is legitimate, since the expert is noisy.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from journeyman.acquisition.information import (
    grow_from,
    kernel_policies,
    own_weights,
    state_information,
    trajectory_information,
    tree_uniforms,
)
from journeyman.acquisition.registry import ACQUISITIONS, check_acquisition_options, rate
from journeyman.acquisition.scores import Partition, Rating, ScoringContext, best_of, each_sample
from journeyman.acquisition.scoring import checked_context, checked_costs, weight_warnings
from journeyman.checks import whole_number
from journeyman.inference.posterior import Posterior
from journeyman.inference.weights import systematic_resample
from journeyman.types import FloatArray, IntArray

MAX_RATED = 16  # histories that a function without a partition is asked about


@dataclass(frozen=True, eq=False)
class Batch:
    """Queries chosen together.

    states `[k]` in the order in which they were chosen; gains `[k]`: what each is expected to add to those before it
    (and to the pending ones), per unit of cost where costs were given; warnings: what is doubtful; unit: of the gains.
    """

    name: str
    states: IntArray
    gains: FloatArray
    warnings: tuple[str, ...] = ()
    unit: str = ""


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
    rng: np.random.Generator | None = None,
    kind: str = "state",
    length: int | None = None,
    epsilon: float = 0.1,
    costs: ArrayLike | None = None,
    seed: int = 0,
    num_histories: int = 64,
    num_threads: int | None = None,
    **options: Any,
) -> Batch:
    """Choose `k` queries that together tell most.

    For information functions (`reward_eig`, `pac_eig`, `ir_eig`, `regret_eig`) this is greedy on the joint information;
    the apprentice in question stays the present one. For the others, the score given possible answers is averaged over
    them. Answers to state queries are enumerated while there are at most `num_histories` of them, then sampled.

    Parameters
    ----------
    acquisition
        A key of `ACQUISITIONS`.
    k
        Number of queries.
    pending
        Start states of queries of the same kind that were asked already and are not answered yet.
    rng
        Decides between equal scores; without it the lowest state wins.
    kind, length, epsilon, costs, seed, num_histories, num_threads, options
        As in `score`.
    """
    k = whole_number(k, "k", 1, "It is the number of queries to choose.")
    context = checked_context(
        posterior, acquisition, kind=kind, length=length, epsilon=epsilon, seed=seed, num_histories=num_histories,
        num_threads=num_threads,
    )  # fmt: skip
    check_acquisition_options(acquisition, options)
    prices = checked_costs(posterior.problem, costs)[context.states]
    asked = posterior.problem.mdp.state_indices(pending).tolist()
    rating = rate(acquisition, posterior, context, options)
    used = rating.details.get("used", acquisition)  # a function that hands over to another does so once for the batch
    rate_fn = partial(rate, used, options=options if used == acquisition else {})
    histories = Histories(own_weights(posterior), np.ones(1))
    for step, state in enumerate(asked):
        histories = answered(posterior, context, histories, state, step)
    states, gains = [], []
    for step in range(len(asked), len(asked) + k):
        values = (
            rating.values if step == 0 else expected_values(posterior, context, rate_fn, rating.partition, histories)
        )
        best = best_of(values / prices, rng, ACQUISITIONS.find(used).unit)
        states.append(int(context.states[best]))
        gains.append(float(values[best] / prices[best]))
        histories = answered(posterior, context, histories, states[-1], step)
    warnings = (*weight_warnings(posterior), *rating.warnings)
    return Batch(acquisition, np.array(states), np.array(gains), warnings, ACQUISITIONS.find(used).unit)


def expected_values(
    posterior: Posterior,
    context: ScoringContext,
    rate_fn: Callable[..., Rating],
    partition: Partition | None,
    histories: Histories,
) -> FloatArray:
    """Return the values `[N]` of the next query, averaged over histories.

    Information about the partition, if there is one; other functions rate given each of at most 16 histories.
    """
    if partition is not None and context.kind == "state":
        return state_information(posterior, context, partition, *histories)
    if partition is not None:
        return np.asarray(
            trajectory_information(posterior, context, partition, histories.weights, "chain").mean(axis=1)
        )
    few = thinned(np.random.default_rng([context.seed, len(histories.chances)]), histories, MAX_RATED)
    share = replace(context, num_histories=max(2, context.num_histories // len(few.chances)))
    values = np.zeros(len(context.states))
    for weights, chance in zip(*few, strict=True):
        values += chance * rate_fn(posterior=replace(posterior, weights=weights), context=share).values
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
