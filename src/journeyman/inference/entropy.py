"""Entropy of posteriors, in nats, of the density of theta (for a Discrete prior: of the probabilities of its atoms).

Four estimates, for four kinds of knowledge:

- `shannon_entropy`: exact, for atoms.
- `evidence_entropy`: H = log Z - E[log p(D | theta)] - E[log p(theta)], from the log evidence Z = p(D). Its error is
  that of two means and of log Z, whatever the number of parameters: the one to trust where there is a log evidence.
- `knn_entropy`: Kozachenko and Leonenko, from distances to the k-th nearest neighbour; no assumption on the shape, but
  biased upwards in many dimensions (+12 nats for 250 draws of a normal in 64).
- `gaussian_entropy`: that of the normal with the same covariance. An upper bound for the true covariance, but that of
  few draws is biased downwards (-5 nats in the same case). `docs/entropy-bias.md` has a table for both.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import digamma, entr, gammaln

from journeyman.checks import one_of, whole_number
from journeyman.errors import InputError, UnsupportedError
from journeyman.inference.posterior import Posterior
from journeyman.types import FloatArray

METHODS = ("auto", "shannon", "evidence", "knn", "gaussian")
NUM_NEIGHBOURS = 5
MAX_KNN_DIMENSION = 8  # up to here the bias of kNN is below the spread between runs


class Entropy(NamedTuple):
    """An estimate in nats, the method that gave it, and how many samples were duplicates of others and merged."""

    nats: float
    method: str
    num_merged: int = 0


def posterior_entropy(posterior: Posterior, method: str = "auto") -> Entropy:
    """Estimate the entropy of a posterior.

    Parameters
    ----------
    method
        "shannon", "evidence", "knn", "gaussian", or "auto": shannon for a Discrete prior, else evidence where the
        inference method gave a log evidence, else knn for up to 8 parameters, and gaussian for more.

    Returns
    -------
    Nats of the density of theta; for a Discrete prior of the probabilities.
    """
    one_of(method, METHODS, "method", "Leave it out for 'auto'.")
    is_discrete = posterior.problem.prior.is_discrete
    if method == "auto":
        method = _best_method(posterior)
    if is_discrete != (method == "shannon"):
        raise UnsupportedError(
            f"the {method} entropy is for {'Discrete' if method == 'shannon' else 'continuous'} priors, "
            f"got {type(posterior.problem.prior).__name__}. Use 'auto'."
        )
    if method == "evidence":
        return Entropy(evidence_entropy(posterior), method)
    if method == "gaussian":
        return Entropy(gaussian_entropy(posterior.theta, posterior.weights), method)
    points, weights = merged(posterior.theta, posterior.weights)
    num_merged = posterior.num_samples - len(points)
    if method == "shannon":
        return Entropy(shannon_entropy(weights), method, num_merged)
    return Entropy(knn_entropy(points, weights), method, num_merged)


def _best_method(posterior: Posterior) -> str:
    if posterior.problem.prior.is_discrete:
        return "shannon"
    if posterior.log_evidence is not None:
        return "evidence"
    return "knn" if posterior.theta.shape[1] <= MAX_KNN_DIMENSION else "gaussian"


def shannon_entropy(weights: FloatArray) -> float:
    """Return -sum of w log w for probabilities `[K]`; 0 counts as 0."""
    return float(entr(weights).sum())


def evidence_entropy(posterior: Posterior) -> float:
    """Return log Z - E[log likelihood] - E[log prior]: exact up to the error of the means and of log Z.

    Where the expert has unknown parameters it is the entropy of these and theta together: no other follows from log Z.
    """
    if posterior.log_evidence is None:
        raise UnsupportedError(
            f"the evidence entropy needs a log evidence, which {posterior.method!r} does not give. "
            "Use inference 'smc' or 'enumerate', or entropy 'knn' or 'gaussian'."
        )
    log_likelihood = posterior.log_likelihoods()
    log_prior = posterior.problem.prior.log_density(posterior.theta)
    log_prior = log_prior + posterior.problem.expert_space.log_density(posterior.expert_parameters)
    used = posterior.weights > 0.0
    mean = float(posterior.weights[used] @ (log_likelihood + log_prior)[used])
    return posterior.log_evidence - mean


def gaussian_entropy(samples: FloatArray, weights: FloatArray | None = None) -> float:
    """Return the entropy of the normal with the covariance of samples `[M, D]`: log det(2 pi e C) / 2.

    The covariance divides by M - 1 (for weights by 1 - sum of w^2). Refuses samples that span too few dimensions.
    """
    num_samples, dimension = samples.shape
    weights = np.full(num_samples, 1.0 / num_samples) if weights is None else weights
    centred = samples - weights @ samples
    covariance = (centred * weights[:, None]).T @ centred / max(1.0 - float((weights**2).sum()), 1e-300)
    if np.linalg.matrix_rank(covariance) < dimension:
        raise InputError(
            f"samples must span all {dimension} dimensions, got {num_samples} that do not. "
            "Use more distinct samples than parameters, or the evidence entropy."
        )
    return float(0.5 * (np.linalg.slogdet(covariance)[1] + dimension * np.log(2.0 * np.pi * np.e)))


def knn_entropy(
    samples: FloatArray, weights: FloatArray | None = None, *, num_neighbours: int = NUM_NEIGHBOURS
) -> float:
    """Estimate entropy from the distances e_i of distinct samples `[M, D]` to their k-th nearest neighbours.

    Kozachenko and Leonenko (1987): H = digamma(M) - digamma(k) + log(volume of the unit ball) + D mean of log e_i.
    Distances are in standard deviations of each parameter, which changes nothing for parameters of one scale. With
    weights, the mean is weighted, and the density is multiplied by M times the mean weight of the neighbours.
    """
    num_samples, dimension = samples.shape
    k = whole_number(num_neighbours, "num_neighbours", 1)
    if num_samples <= k:
        raise InputError(f"samples must be more than num_neighbours ({k}), got {num_samples}. Use more samples.")
    weights = np.full(num_samples, 1.0 / num_samples) if weights is None else weights
    scales = np.sqrt(weights @ (samples - weights @ samples) ** 2)
    if not (scales > 0.0).all():
        i = int(np.argmin(scales > 0.0))
        raise InputError(f"samples must vary in every parameter, got no variation at parameter {i}. Check the sampler.")
    from scipy.spatial import cKDTree  # slow to import

    distances, neighbours = cKDTree(samples / scales).query(samples / scales, k=k + 1)
    if not (distances[:, -1] > 0.0).all():
        raise InputError(
            "samples must be distinct, got some that coincide with their nearest neighbours: the estimate would be "
            "minus infinity. Merge them first (`merged`, which `posterior_entropy` does)."
        )
    local_weight = num_samples * weights[neighbours].mean(axis=1)
    log_ball = 0.5 * dimension * np.log(np.pi) - gammaln(0.5 * dimension + 1.0)
    used = weights > 0.0
    log_density = np.log(local_weight[used]) - dimension * np.log(distances[used, -1])
    expected = float(weights[used] @ log_density)
    return float(digamma(num_samples) - digamma(k) + log_ball - expected + np.log(scales).sum())


def merged(samples: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the distinct samples among `[M, D]`, and their total weights."""
    distinct, index = np.unique(samples, axis=0, return_inverse=True)
    totals: FloatArray = np.bincount(index.ravel(), weights=weights, minlength=len(distinct)).astype(np.float64)
    return distinct, totals
