"""Posterior samples with what is known about their dependence: which ones are alike, and how to halve them.

| kind | samples | which ones may be alike |
|---|---|---|
| atoms | all atoms of a Discrete prior: the posterior itself | none: nothing is random |
| net | points of shifted Sobol nets | those of one shift; the shifts are independent |
| chains | Markov chains | those of one chain |
| particles | states of waste-free SMC chains | those of one ancestor |
| draws | anything else | those that are equal |
"""

from dataclasses import dataclass, replace

import numpy as np

from journeyman.inference.diagnostics import Diagnostics
from journeyman.inference.enumeration import NUM_SHIFTS
from journeyman.inference.posterior import Posterior
from journeyman.rewards import has_atoms
from journeyman.types import BoolArray, IntArray


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
    prior, diagnostics = posterior.problem.prior, posterior.diagnostics
    index = np.arange(posterior.num_samples)
    if has_atoms(prior):
        is_whole = posterior.theta.shape == prior.atoms.shape and np.array_equal(posterior.theta, prior.atoms)
        return SampleSet(posterior, "atoms", index) if is_whole else _draws(posterior)
    if posterior.chains is not None:
        return SampleSet(posterior, "chains", index // posterior.chains[1])
    if posterior.method == "enumerate":
        return SampleSet(posterior, "net", index // -(-posterior.num_samples // NUM_SHIFTS))
    if diagnostics.distinct_ancestors is not None:
        labels = index // (diagnostics.chain_length or 1)
        return SampleSet(posterior, "particles", labels, diagnostics.distinct_ancestors)
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
        chains=chains,
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
