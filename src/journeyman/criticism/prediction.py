"""How well posteriors predict demonstrations they have not seen, in bits per free decision.

Only free decisions count: where a single action is available there is nothing to predict.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln, logsumexp

from journeyman.demonstrations import Demonstration
from journeyman.inference import Posterior
from journeyman.types import BoolArray, FloatArray, IntArray

LOG_2 = float(np.log(2.0))
MAX_ENTRIES = 4_000_000  # chances of actions held at once


class Tally(NamedTuple):
    """Free decisions of demonstrations: pairs `[P]`, numbers s * A + a of those that occur; counts `[N, P]`."""

    pairs: IntArray
    counts: FloatArray

    @property
    def decisions(self) -> IntArray:
        """Free decisions of each demonstration `[N]`."""
        return np.asarray(self.counts.sum(axis=1), dtype=np.int64)


def tally(demonstrations: Sequence[Demonstration], available: BoolArray) -> Tally:
    """Count the decisions of demonstrations where more than one action is available."""
    num_actions = available.shape[1]
    is_free = available.sum(axis=1) > 1
    owners, flat = [], []
    for number, item in enumerate(demonstrations):
        steps = np.array(item.steps, dtype=np.int64).reshape(-1, 2)
        steps = steps[is_free[steps[:, 0]]]
        flat.append(steps[:, 0] * num_actions + steps[:, 1])
        owners.append(np.full(len(steps), number))
    pairs, places = np.unique(np.concatenate([np.zeros(0, np.int64), *flat]), return_inverse=True)
    counts = np.zeros((len(demonstrations), len(pairs)))
    np.add.at(counts, (np.concatenate([np.zeros(0, np.int64), *owners]), places.ravel()), 1.0)
    return Tally(pairs, counts)


class Predicted(NamedTuple):
    """Bits `[N]` of demonstrations: by the mean policy, and as wholes."""

    bits: FloatArray
    whole_bits: FloatArray


def predict(posterior: Posterior, demonstrations: Sequence[Demonstration]) -> Predicted:
    """Return the bits of demonstrations under a posterior that was fitted to others; of free decisions only."""
    found = Predicted(np.zeros(len(demonstrations)), np.zeros(len(demonstrations)))
    space = posterior.problem.expert_space
    signed = [item.annotator if space.annotators else None for item in demonstrations]
    for annotator in dict.fromkeys(signed):
        own = [i for i, name in enumerate(signed) if name == annotator]
        part = tally([demonstrations[i] for i in own], posterior.problem.mdp.available)
        log_policies = pair_log_policies(posterior, part.pairs, annotator)
        with np.errstate(divide="ignore"):
            log_weights = np.log(posterior.weights)
        mean = logsumexp(log_policies + log_weights[:, None], axis=0) if part.pairs.size else np.zeros(0)
        whole = logsumexp(weighted_sum(part.counts, log_policies.T) + log_weights, axis=1)
        found.bits[own] = weighted_sum(part.counts, mean) / LOG_2
        found.whole_bits[own] = whole / LOG_2
    return found


def weighted_sum(counts: FloatArray, logs: FloatArray) -> FloatArray:
    """Return counts @ logs, where a chance of 0 (a log of minus infinity) matters only if it was needed."""
    if np.isfinite(logs).all():
        return np.asarray(counts @ logs)
    finite = np.where(np.isneginf(logs), 0.0, logs)
    return np.asarray(np.where(counts @ np.isneginf(logs).astype(float) > 0, -np.inf, counts @ finite))


def pair_log_policies(posterior: Posterior, pairs: IntArray, annotator: str | None = None) -> FloatArray:
    """Return log pi `[M, P]` of pairs s * A + a under each sample, a few states at a time."""
    num_actions = posterior.problem.mdp.num_actions
    states = np.unique(pairs // num_actions)
    size = max(1, MAX_ENTRIES // (posterior.num_samples * num_actions))
    parts = [np.zeros((posterior.num_samples, 0))]
    for start in range(0, len(states), size):
        chunk = states[start : start + size]
        inside = pairs[np.isin(pairs // num_actions, chunk)]
        found = posterior.log_policies(chunk, annotator)
        parts.append(found[:, np.searchsorted(chunk, inside // num_actions), inside % num_actions])
    return np.concatenate(parts, axis=1)


def dirichlet_evidence(counts: FloatArray, prior: FloatArray) -> FloatArray:
    """Return the log evidence `[...]` of actions with counts `[..., S, A]` under Dirichlet priors `[S, A]`.

    Priors are 0 where an action does not exist.
    """
    exists = prior > 0.0
    terms = gammaln(prior[exists] + counts[..., exists]) - gammaln(prior[exists])
    sizes = prior.sum(axis=1)
    totals = gammaln(sizes) - gammaln(sizes + counts.sum(axis=-1))
    return np.asarray(terms.sum(axis=-1) + totals.sum(axis=-1))
