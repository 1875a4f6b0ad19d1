"""How many independent samples an estimated chance is worth, and the upper bound that follows.

An effective sample size that is too large certifies what is not so; one that is too small costs demonstrations. It is
p (1 - p) over the variance of the estimated chance p, from the spread between groups of samples. Samples of one group
may be alike, groups are independent, or so nearly that independent runs show no difference (see docs/certificate.md).
What is alike depends on the kind of samples:

| kind | samples | which ones may be alike |
|---|---|---|
| atoms | all atoms of a Discrete prior: the posterior itself | none: nothing is random |
| net | points of shifted Sobol nets | those of one shift; the shifts are independent |
| chains | Markov chains | those of one chain |
| particles | states of waste-free SMC chains | those of one ancestor |
| draws | anything else | those that are equal; those of one of many chains that they were drawn from |

A spread that was seen by luck to be small would flatter. So the variance allows for one more group that differs as much
as the one that differs most, as Fay and Feuer (1997) bound sums of unequal weights, and for few groups by Student's t;
and an event that few groups have met is worth no more than what is more common.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv, ndtri, stdtrit

from journeyman.extras import require
from journeyman.inference.diagnostics import Diagnostics, summarise_chains
from journeyman.inference.enumeration import NUM_SHIFTS
from journeyman.inference.posterior import Posterior, weighted_quantile
from journeyman.rewards import has_atoms
from journeyman.types import BoolArray, FloatArray, IntArray

MANY_CHAINS = 20  # from so many on, the spread between chains says more than what happens within them
FEW_HITS = 20  # groups with an event, below which the spread between groups is that of luck
HARDLY_ANY = 5  # groups with an event, below which its spread between them says nothing
COMMON = 0.8  # quantile of regret beyond which draws are common enough to say how much those of a group are alike


@dataclass(frozen=True, eq=False)
class SampleSet:
    """Samples to certify on.

    posterior; kind as in the table above; labels `[M]`: samples with the same number may be alike; max_ancestors: how
    many independent origins there are at most, None if that is not known.
    """

    posterior: Posterior
    kind: str
    labels: IntArray
    max_ancestors: int | None = None

    @property
    def num_blocks(self) -> int:
        """Number of groups that are independent of each other."""
        return int(np.unique(self.labels).size)


def sample_set(posterior: Posterior) -> SampleSet:
    """Return the samples of a posterior with their kind and their groups."""
    prior, origins = posterior.problem.prior, posterior.origins
    if has_atoms(prior):
        is_whole = posterior.theta.shape == prior.atoms.shape and np.array_equal(posterior.theta, prior.atoms)
        return SampleSet(posterior, "atoms", np.arange(posterior.num_samples)) if is_whole else _draws(posterior)
    if posterior.chains is not None and origins is not None:
        return SampleSet(posterior, "chains", origins)
    if posterior.method == "enumerate":
        shifts = np.arange(posterior.num_samples) // -(-posterior.num_samples // NUM_SHIFTS)
        return SampleSet(posterior, "net", shifts if origins is None else origins)
    if posterior.diagnostics.distinct_ancestors is not None and origins is not None:
        return SampleSet(posterior, "particles", origins, posterior.diagnostics.distinct_ancestors)
    if origins is not None and np.unique(origins).size >= MANY_CHAINS:
        return SampleSet(posterior, "draws", origins)
    return _draws(posterior)


def _draws(posterior: Posterior) -> SampleSet:
    return SampleSet(posterior, "draws", distinct_labels(posterior))


def distinct_labels(posterior: Posterior) -> IntArray:
    """Return a number for each sample `[M]`, the same for samples that repeat each other, counted from 0."""
    return np.unique(posterior.theta, axis=0, return_inverse=True)[1].ravel()


def halves(samples: SampleSet) -> tuple[SampleSet, SampleSet] | None:
    """Split into two halves that share no group: one to choose a policy on, one to certify it on.

    A single chain is split in its middle. Draws may stand in any order, perhaps sorted, so they are shuffled before,
    always alike. Atoms are the posterior itself, so both halves are all of them. None if one half would have no weight.
    """
    if samples.kind == "atoms":
        return samples, samples
    groups, labels = np.unique(samples.labels, return_inverse=True)
    if len(groups) == 1:
        labels = np.arange(len(labels))
        groups = labels
    places = np.arange(len(groups))
    if samples.kind == "draws":
        places = np.random.default_rng(len(groups)).permutation(len(groups))
    is_first = places[labels] < len(groups) // 2
    shares = [float(samples.posterior.weights[half].sum()) for half in (is_first, ~is_first)]
    return (_part(samples, is_first), _part(samples, ~is_first)) if min(shares) > 0.0 else None


def _part(samples: SampleSet, is_kept: BoolArray) -> SampleSet:
    posterior = samples.posterior
    labels = samples.labels[is_kept]
    num_blocks = int(np.unique(labels).size)
    chains = None if posterior.chains is None else (num_blocks, int(is_kept.sum()) // num_blocks)
    part = replace(
        posterior,
        theta=posterior.theta[is_kept],
        weights=posterior.weights[is_kept] / posterior.weights[is_kept].sum(),
        values=posterior.values[is_kept],
        expert_parameters=posterior.expert_parameters[is_kept],
        expert_values=None if posterior.expert_values is None else posterior.expert_values[is_kept],
        chains=chains,
        groups=None if posterior.origins is None else posterior.origins[is_kept],
        sample_stats={},
        diagnostics=_shrunk(posterior.diagnostics, float(is_kept.mean())),
    )
    ancestors = None
    if samples.max_ancestors is not None:  # all that have a double may stand in this half
        others = samples.num_blocks - num_blocks
        ancestors = max(1, min(num_blocks, samples.max_ancestors - others))
    return SampleSet(part, samples.kind, labels, ancestors)


def _shrunk(diagnostics: Diagnostics, share: float) -> Diagnostics:
    """Return diagnostics for a share of the samples."""
    bulk, tail = (None if size is None else share * size for size in (diagnostics.ess_bulk, diagnostics.ess_tail))
    return replace(diagnostics, ess_bulk=bulk, ess_tail=tail)


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


def lower_bound(chance: float, size: float, confidence: float) -> float:
    """Return Clopper and Pearson's lower bound of a chance, as `upper_bound`: at most `chance`, 0 if none counts."""
    hits = chance * size
    return 0.0 if hits <= 1e-12 * size else float(betaincinv(hits, size - hits + 1.0, 1.0 - confidence))


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


def effective_size_of(
    samples: SampleSet, is_hit: BoolArray, confidence: float, regret: FloatArray | None = None
) -> EffectiveSize:
    """Return how many independent samples the estimated chance of an event is worth.

    Parameters
    ----------
    samples
        Not of kind "atoms", which are not samples.
    is_hit
        `[M]` under which samples the event happens.
    confidence
        Of the bound that it is for: few groups make the spread between them uncertain, the more so far out.
    regret
        `[M]` what the event is a large value of: where it is rare, smaller values tell how alike samples are.
    """
    if samples.kind == "chains" and samples.num_blocks < MANY_CHAINS:
        return _of_few_chains(samples, is_hit)
    if samples.kind == "net":
        return _of_net(samples, is_hit, confidence)
    return _of_groups(samples, is_hit, confidence, regret)


def _kish(weights: FloatArray, groups: IntArray) -> float:
    """Return Kish's size of the total weights of groups: what is alike counts once."""
    totals = np.bincount(groups, weights=weights)
    return float(1.0 / (totals**2).sum())


def _between_groups(
    weights: FloatArray, labels: IntArray, is_hit: BoolArray, confidence: float, *, num_more: int
) -> float:
    """Return p (1 - p) / var, the variance from the spread of independent groups; infinite where nothing differs.

    The variance is that of a ratio of sums over groups, and of `num_more` groups like the one that differs most, made
    larger by Student's t where groups are few, or few have weight.
    """
    labels = np.unique(labels, return_inverse=True)[1]
    num_groups = _kish(weights, labels)
    if num_groups < 1.0 + 1e-9:
        return 1.0
    chance = float(weights @ is_hit)
    squares = np.bincount(labels, weights=weights * (is_hit - chance)) ** 2
    variance = num_groups / (num_groups - 1.0) * float(squares.sum()) + num_more * float(squares.max())
    level = max(confidence, 0.75)  # where the two quantiles are well away from 0
    variance *= float(stdtrit(num_groups - 1.0, level) / ndtri(level)) ** 2
    spread = chance * (1.0 - chance)
    return np.inf if variance <= 1e-18 * spread or spread <= 0.0 else spread / variance


def size_of_dynamics(weights: FloatArray, labels: IntArray, is_hit: BoolArray, confidence: float) -> EffectiveSize:
    """Return how many independent draws an event is worth that was seen under sampled dynamics.

    Samples with one label share their dynamics, so that they fail together where these are to blame: unless many
    dynamics have met the event and many have not, each of them counts once, as far as it has weight.

    Parameters
    ----------
    weights, labels, is_hit
        `[M]` weight of each sample, the number of its dynamics, and whether the event happens.
    """
    num_groups = int(np.unique(labels).size)
    sizes = [
        EffectiveSize(
            _between_groups(weights, labels, is_hit, confidence, num_more=1),
            f"the spread between {num_groups} sampled dynamics",
        ),
        EffectiveSize(_kish(weights, np.arange(len(weights))), "the spread of the weights"),
    ]
    if _num_met(labels, is_hit) < FEW_HITS:
        even = _kish(weights, labels)
        source = "the number of sampled dynamics" if even > 0.999 * num_groups else "the weights of sampled dynamics"
        sizes.append(EffectiveSize(even, f"{source}, {num_groups}"))
    return min(sizes)


def _of_groups(samples: SampleSet, is_hit: BoolArray, confidence: float, regret: FloatArray | None) -> EffectiveSize:
    """Return p (1 - p) / var, the variance from the spread between groups; at most Kish's size of the samples.

    Samples that repeat each other count once, but for the draws of chains, whose groups have them all. An event that
    few groups have met says little about its own spread. Then samples are taken to be at most as good as for a larger
    regret than usual, if that is more common, hence slower to come and go; where few groups have met that either, and
    hardly any the event, each group counts once. Groups that share an ancestor are worth as much less as there are
    fewer ancestors than groups.
    """
    weights, labels, num_groups = samples.posterior.weights, samples.labels, samples.num_blocks
    share = 1.0 if samples.max_ancestors is None else min(1.0, samples.max_ancestors / num_groups)
    words = {"chains": f"{num_groups} chains", "particles": f"the chains of {num_groups} ancestors"}
    between = f"the spread between {words.get(samples.kind, f'{num_groups} independent groups')}"
    own = _between_groups(weights, labels, is_hit, confidence, num_more=1)
    index = np.arange(len(weights))
    kept = _kish(weights, index if samples.kind == "chains" else distinct_labels(samples.posterior))
    is_even = kept > 0.999 * len(weights)
    sizes = [
        EffectiveSize(share * own, between),
        EffectiveSize(kept, "the number of draws" if is_even else "the spread of the weights"),
    ]
    num_met = _num_met(labels, is_hit)
    if num_met < FEW_HITS:
        common, rare = np.inf, f"{between}, in larger regrets than usual"
        if regret is not None:
            is_common = regret > weighted_quantile(regret[:, None], weights, COMMON)[0]
            if _num_met(labels, is_common) >= FEW_HITS:
                common = _between_groups(weights, labels, is_common, confidence, num_more=1)
        if not np.isfinite(common) and num_met < HARDLY_ANY:
            common, rare = _kish(weights, labels - labels.min()), "the number of independent groups"
        sizes.append(EffectiveSize(share * common, rare))
    for size in (samples.posterior.diagnostics.ess_bulk, samples.posterior.diagnostics.ess_tail):
        if size is not None and samples.kind == "draws":  # of few chains: their order is lost, what it told is not
            sizes.append(EffectiveSize(max(size, 1.0), "the chains that the samples were drawn from"))
    return min(sizes)


def _num_met(labels: IntArray, is_hit: BoolArray) -> int:
    """Return how many groups have met an event, or anything else, whichever is less."""
    return min(np.unique(labels[is_hit]).size, np.unique(labels[~is_hit]).size)


def _of_net(samples: SampleSet, is_hit: BoolArray, confidence: float) -> EffectiveSize:
    """Return Kish's size of the points, or p (1 - p) / var if less, the variance from the spread between the shifts."""
    return min(
        EffectiveSize(
            _kish(samples.posterior.weights, distinct_labels(samples.posterior)), "the spread of the weights"
        ),
        EffectiveSize(
            _between_groups(samples.posterior.weights, samples.labels, is_hit, confidence, num_more=0),
            "the spread between the shifts of the net",
        ),
    )


def _of_few_chains(samples: SampleSet, is_hit: BoolArray) -> EffectiveSize:
    """Return the event's own size by its autocorrelation, at most Kish's size of the draws.

    The event's own is p (1 - p) / var, with the variance of the weighted mean of the draws as they follow each other.
    Where chains have come to the event less than 20 times, that is luck: then bulk and tail of the slowest parameter
    count as well, lowered by weights as Kish's size is.
    """
    posterior = samples.posterior
    assert posterior.chains is not None
    shape, weights = posterior.chains, posterior.weights
    kept = _kish(weights, np.arange(len(weights)))
    share = kept / posterior.num_samples
    sizes = [EffectiveSize(kept, "the number of draws" if share > 0.999 else "the spread of the weights")]
    hits, chance = is_hit.reshape(shape).astype(np.float64), float(weights @ is_hit)
    num_visits = int(hits[:, 0].sum() + (np.diff(hits, axis=1) > 0.0).sum())
    num_returns = int((1.0 - hits[:, 0]).sum() + (np.diff(hits, axis=1) < 0.0).sum())
    if 0.0 < chance < 1.0 and np.ptp(hits) > 0.0:
        own = 1.0
        if shape[1] >= 4 and (np.ptp(hits, axis=1) > 0.0).any():
            terms = posterior.num_samples * weights.reshape(shape) * (hits - chance)
            own = float(require("arviz", "mcmc").ess({"hit": terms}, method="mean")["hit"])
            own *= chance * (1.0 - chance) / float((terms**2).mean())
        sizes.append(EffectiveSize(own if np.isfinite(own) else 1.0, "the event's own autocorrelation"))
    if min(num_visits, num_returns) < FEW_HITS:
        summary = summarise_chains(posterior.theta.reshape(*shape, -1))
        sizes.append(EffectiveSize(share * summary.ess_bulk, "the bulk of the slowest parameter"))
        sizes.append(EffectiveSize(share * summary.ess_tail, "the tails of the slowest parameter"))
    return min(sizes)
