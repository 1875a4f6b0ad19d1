"""Whether the parts of a prior agree with each other, by numbers at a few points.

Samplers know a continuous prior by its map from unconstrained space alone, and a discrete one by its atoms and weights.
So a subclass that changes the density or the draws but not these would be ignored without a word; here it is refused.
"""

from typing import Any

import numpy as np

from journeyman.errors import InputError
from journeyman.rewards.continuous import MultivariateNormal, Normal, Uniform
from journeyman.rewards.discrete import Discrete
from journeyman.rewards.kernel_prior import KernelPrior
from journeyman.rewards.priors import LOG_2PI, AffineMap, ContinuousPrior, DiscretePrior, Prior, continuous
from journeyman.types import FloatArray

BUILT_IN = (Normal, Uniform, MultivariateNormal, KernelPrior)
NUM_PROBES = 4
STEP = 1e-5  # of finite differences, in units of z
MAX_DETERMINANT = 300  # parameters up to which the density is compared with the map
NUM_DRAWS = 4000
NUM_STANDARD_ERRORS = 6.0
MAX_COMPARISONS = 10_000_000  # of numbers, when log_density looks up atoms
MISTAKEN = 1e-9  # chance to refuse the draws of a discrete prior that is right


def trusted_affine_map(prior: Prior) -> AffineMap | None:
    """Return the map that compiled code may use, or None for a prior that goes the general way.

    Refuses a prior whose parts do not agree. The map of a parent class counts only where the subclass has left
    from_unconstrained alone.
    """
    known = continuous(prior)
    if type(known) in BUILT_IN:
        return known.affine_map()
    check_agreement(known)
    affine = known.affine_map() if hasattr(known, "affine_map") else None
    if affine is None or is_defined_below(type(known), "from_unconstrained", "affine_map"):
        return None
    z = _probes(known)
    if not np.allclose(affine.apply(z), known.from_unconstrained(z), rtol=1e-9, atol=1e-12):
        raise _disagreement(known, "affine_map", "Override affine_map to return None.")
    return affine


def check_agreement(prior: ContinuousPrior) -> None:
    """Refuse a prior whose pull_back, log_density or sample does not belong to its from_unconstrained."""
    z = _probes(prior)
    theta = np.asarray(prior.from_unconstrained(z))
    if theta.shape != z.shape or not np.isfinite(theta).all():
        raise InputError(
            f"from_unconstrained of {type(prior).__name__} must give finite parameters of shape {z.shape}, got "
            f"{'numbers that are not finite' if theta.shape == z.shape else f'shape {theta.shape}'}. "
            "It maps points [..., D] to parameters [..., D]."
        )
    _check_pull_back(prior, z)
    if prior.num_parameters <= MAX_DETERMINANT:
        _check_density(prior, z)
    if is_defined_below(type(prior), "sample", "from_unconstrained"):
        check_sample(prior)


def _check_pull_back(prior: ContinuousPrior, z: FloatArray) -> None:
    rng = np.random.default_rng(1)
    direction, gradient = rng.standard_normal(z.shape), rng.standard_normal(z.shape)
    ahead, behind = (np.asarray(prior.from_unconstrained(z + sign * STEP * direction)) for sign in (1.0, -1.0))
    change = (ahead - behind) / (2.0 * STEP)
    pulled = np.asarray(prior.pull_back(z, gradient))
    if pulled.shape != z.shape:
        raise InputError(
            f"pull_back of {type(prior).__name__} must give a gradient of shape {z.shape}, got {pulled.shape}. "
            "It takes z and gradient [..., D]."
        )
    error = np.abs((gradient * change).sum(axis=1) - (direction * pulled).sum(axis=1))
    size = 1e-4 * np.abs(gradient * change).sum(axis=1) + 1e-9 * np.abs(gradient * ahead).sum(axis=1)
    if not (error <= size + 1e-12).all():
        raise _disagreement(prior, "pull_back", "Return the transposed Jacobian of the map times the gradient.")


def _check_density(prior: ContinuousPrior, z: FloatArray) -> None:
    identity = np.eye(prior.num_parameters)
    jacobians = [np.asarray(prior.pull_back(np.broadcast_to(point, identity.shape), identity)) for point in z]
    found = np.asarray(prior.log_density(prior.from_unconstrained(z)))
    expected = -0.5 * (z**2 + LOG_2PI).sum(axis=1) - np.linalg.slogdet(np.stack(jacobians))[1]
    if found.shape != expected.shape or not np.allclose(found, expected, rtol=1e-5, atol=1e-5):
        raise _disagreement(prior, "log_density", "Samplers draw through the map: override it as well.")


def check_sample(prior: ContinuousPrior) -> None:
    """Refuse a prior whose draws are not those of its map: taken back, they must be standard normal."""
    z = np.asarray(prior.to_unconstrained(prior.sample(np.random.default_rng(2), NUM_DRAWS)))
    errors = np.abs(z.mean(axis=0)), np.abs((z**2).mean(axis=0) - 1.0) / np.sqrt(2.0)
    if not max(float(error.max()) for error in errors) <= NUM_STANDARD_ERRORS / np.sqrt(NUM_DRAWS):
        raise _disagreement(prior, "sample", "Samplers draw through the map: override it as well.")


def check_atoms(prior: DiscretePrior) -> None:
    """Refuse a discrete prior whose log_density or sample does not belong to its atoms and weights.

    `Discrete` itself needs no check, and gets none.
    """
    if type(prior) is Discrete:
        return
    advice = "Inference takes atoms and weights alone: change those instead."
    atoms, weights = np.asarray(prior.atoms), np.asarray(prior.weights)
    num_probes = min(len(atoms), max(1, MAX_COMPARISONS // atoms.size))
    probed = np.linspace(0, len(atoms) - 1, num_probes).astype(int)
    found = np.asarray(prior.log_density(atoms[probed]))
    if found.shape != probed.shape or not np.allclose(found, np.log(weights[probed]), rtol=1e-9, atol=1e-9):
        raise _disagreement(prior, "log_density", advice, other="weights")
    draws = np.asarray(prior.sample(np.random.default_rng(2), NUM_DRAWS))
    if draws.shape != (NUM_DRAWS, atoms.shape[1]):
        raise InputError(
            f"sample of {type(prior).__name__} must give draws of shape {(NUM_DRAWS, atoms.shape[1])}, "
            f"got {draws.shape}. It takes a generator and a number of draws."
        )
    place = {tuple(atom): k for k, atom in enumerate(atoms.tolist())}
    drawn = [place.get(tuple(draw), -1) for draw in draws.tolist()]
    if min(drawn) < 0:
        raise _disagreement(prior, "sample", advice, other="atoms")
    excess = np.bincount(drawn, minlength=len(atoms)) / NUM_DRAWS - weights
    # the largest error of a cumulative frequency (Dvoretzky, Kiefer, Wolfowitz), along two orders of the atoms
    tolerance = np.sqrt(np.log(4.0 / MISTAKEN) / (2.0 * NUM_DRAWS))
    for order in (np.arange(len(atoms)), np.argsort(weights, kind="stable")):
        if not np.abs(np.cumsum(excess[order])).max() <= tolerance:
            raise _disagreement(prior, "sample", advice, other="weights")


def is_defined_below(cls: type[Any], name: str, other: str) -> bool:
    """Return whether a class overrides `name` further down than `other`."""
    owners = [[index for index, base in enumerate(cls.__mro__) if key in vars(base)] for key in (name, other)]
    return bool(owners[0]) and bool(owners[1]) and owners[0][0] < owners[1][0]


def _probes(prior: ContinuousPrior) -> FloatArray:
    return np.random.default_rng(0).standard_normal((NUM_PROBES, prior.num_parameters))


def _disagreement(
    prior: Prior | ContinuousPrior, part: str, advice: str, other: str = "from_unconstrained"
) -> InputError:
    return InputError(f"{part} of {type(prior).__name__} must agree with its {other}, got another result. {advice}")
