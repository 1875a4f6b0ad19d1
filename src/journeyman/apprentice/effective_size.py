"""How many independent samples an estimated chance is worth, and the upper bound that follows.

An effective sample size that is too small costs some demonstrations; one that is too large certifies what is not so.
All of these are therefore the smallest of several, and none exceeds the number of independent origins.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv, ndtri, stdtrit

from journeyman.apprentice.sample_sets import SampleSet, distinct_labels
from journeyman.extras import require
from journeyman.inference.diagnostics import summarise_chains
from journeyman.types import BoolArray, FloatArray, IntArray


class EffectiveSize(NamedTuple):
    """An effective sample size, and in words where it comes from."""

    value: float
    source: str


def upper_bound(chance: float, size: float, confidence: float) -> float:
    """Return Clopper and Pearson's upper bound of a chance, seen in `size` samples, which need not be a whole number.

    The exact binomial bound by the beta distribution: at least `chance`, at most 1, and 1 if all samples count.
    """
    hits = chance * size
    if hits >= size * (1.0 - 1e-12):
        return 1.0
    return float(betaincinv(hits + 1.0, size - hits, confidence))


def size_needed(chance: float, limit: float, confidence: float) -> float:
    """Return how many effective samples it takes for an upper bound of `limit` if a chance of `chance` is seen.

    Infinite where the chance is not below the limit.
    """
    if chance >= limit:
        return np.inf
    if chance == 0.0:
        return float(np.log1p(-confidence) / np.log1p(-limit))
    low, high = 0.0, 1.0
    while upper_bound(chance, high, confidence) > limit:
        low, high = high, 2.0 * high
        if high > 1e9:
            return np.inf
    for _ in range(50):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if upper_bound(chance, middle, confidence) > limit else (low, middle)
    return high


def effective_size_of(samples: SampleSet, is_hit: BoolArray, confidence: float) -> EffectiveSize:
    """Return how many independent samples the estimated chance of an event is worth.

    Parameters
    ----------
    samples
        Not of kind "atoms", which are not samples.
    is_hit
        `[M]` under which samples the event happens.
    confidence
        Of the bound that it is for: few groups make the spread between them uncertain, the more so far out.
    """
    if samples.kind == "chains":
        return _of_chains(samples, is_hit)
    weights, diagnostics = samples.posterior.weights, samples.posterior.diagnostics
    distinct = distinct_labels(samples.posterior)
    groups = distinct if samples.kind == "net" else samples.labels
    sizes = [EffectiveSize(_kish(weights, groups), "the spread of the weights")]
    sizes.append(EffectiveSize(float(distinct.max() + 1), "the number of distinct samples"))
    sizes.append(EffectiveSize(_between_groups(samples, is_hit, confidence), "the spread between independent groups"))
    if samples.max_ancestors is not None:
        sizes.append(EffectiveSize(float(samples.max_ancestors), "the number of distinct ancestors"))
    for size in (diagnostics.ess_bulk, diagnostics.ess_tail):
        if size is not None:  # draws that were chains once: their order is lost, what it told is not
            sizes.append(EffectiveSize(max(size, 1.0), "the chains that the samples were drawn from"))
    return min(sizes)


def _kish(weights: FloatArray, groups: IntArray) -> float:
    """Return Kish's size of the total weights of groups: what is alike counts once."""
    totals = np.bincount(groups, weights=weights)
    return float(1.0 / (totals**2).sum())


def _between_groups(samples: SampleSet, is_hit: BoolArray, confidence: float) -> float:
    """Return p (1 - p) / var, the variance from the spread of independent groups; infinite where nothing differs.

    The variance is that of a ratio of sums over groups, made larger by Student's t where groups are few.
    """
    weights, num_blocks = samples.posterior.weights, samples.num_blocks
    if num_blocks < 2:
        return 1.0
    chance = float(weights @ is_hit)
    sums = np.bincount(samples.labels - samples.labels.min(), weights=weights * (is_hit - chance))
    variance = num_blocks / (num_blocks - 1) * float((sums**2).sum())
    level = max(confidence, 0.75)  # where the two quantiles are well away from 0
    variance *= float(stdtrit(num_blocks - 1, level) / ndtri(level)) ** 2
    spread = chance * (1.0 - chance)
    return np.inf if variance <= 1e-18 * spread or spread <= 0.0 else spread / variance


def _of_chains(samples: SampleSet, is_hit: BoolArray) -> EffectiveSize:
    """Return the smallest of bulk and tail (over parameters) and of the event's own size, at most the draws.

    Weights, where draws have been reweighted, lower all of these as they lower Kish's size; the event's own is
    p (1 - p) / var, with the variance of the weighted mean of the draws as they follow each other.
    """
    posterior = samples.posterior
    assert posterior.chains is not None
    shape, weights = posterior.chains, posterior.weights
    summary = summarise_chains(posterior.theta.reshape(*shape, -1))
    kept = _kish(weights, np.arange(len(weights)))
    share = kept / posterior.num_samples
    sizes = [
        EffectiveSize(share * summary.ess_bulk, "the bulk of the slowest parameter"),
        EffectiveSize(share * summary.ess_tail, "the tails of the slowest parameter"),
        EffectiveSize(kept, "the number of draws" if share > 0.999 else "the spread of the weights"),
    ]
    hits, chance = is_hit.reshape(shape).astype(np.float64), float(weights @ is_hit)
    if 0.0 < chance < 1.0 and np.ptp(hits) > 0.0:
        own = 1.0
        if shape[1] >= 4 and (np.ptp(hits, axis=1) > 0.0).any():
            terms = posterior.num_samples * weights.reshape(shape) * (hits - chance)
            own = float(require("arviz", "mcmc").ess({"hit": terms}, method="mean")["hit"])
            own *= chance * (1.0 - chance) / float((terms**2).mean())
        sizes.append(EffectiveSize(own if np.isfinite(own) else 1.0, "the event's own autocorrelation"))
    return min(sizes)
