"""Checks for authors of priors and expert models: whether the parts of one agree with each other.

    from journeyman.testing import check_prior, check_expert_model

Each raises an AssertionError or an InputError that names the part that is wrong, and returns nothing. Put one line per
model into your tests.
"""

from typing import Any

import numpy as np

from journeyman.experts import ExpertModel
from journeyman.rewards import Prior, has_atoms
from journeyman.rewards.agreement import check_agreement, check_atoms, check_sample, trusted_affine_map
from journeyman.rewards.priors import continuous, missing_members

NUM_POINTS = 20
STEP = 1e-6  # of finite differences, relative to the spread of action values


def check_prior(prior: Prior, *, is_stored: bool = True) -> None:
    """Check a prior: its members, and that maps, gradient, density, draws, intervals and record agree.

    Parameters
    ----------
    is_stored
        Whether to_record and from_record must give the same prior back.
    """
    missing = missing_members(prior)
    assert not missing, f"{type(prior).__name__} lacks {', '.join(missing)}"
    size = prior.num_parameters
    draws = prior.sample(np.random.default_rng(3), NUM_POINTS)
    assert draws.shape == (NUM_POINTS, size), f"sample must give [{NUM_POINTS}, {size}], got {draws.shape}"
    assert np.isfinite(prior.log_density(draws)).all(), "log_density must be finite at draws"
    assert np.shape(prior.log_density(draws[0])) == (), "log_density of one theta [D] must be one number"
    assert np.asarray(prior.std).shape == (size,) and (np.asarray(prior.std) >= 0).all(), "std must be [D], not below 0"
    inner, outer = prior.interval(0.5), prior.interval(0.9)
    assert inner.shape == outer.shape == (size, 2), "interval must be [D, 2]"
    assert (outer[:, 0] <= inner[:, 0]).all() and (inner[:, 1] <= outer[:, 1]).all(), "intervals must be nested"
    assert isinstance(prior.describe(), str) and prior.describe(), "describe must give words"
    if has_atoms(prior):
        assert prior.atoms.shape == (len(prior.weights), size), "atoms must be [K, D], with one weight each"
        assert abs(float(prior.weights.sum()) - 1.0) < 1e-9, "weights must sum to one"
        check_atoms(prior)
    else:
        _check_map(prior)
    if is_stored:
        again = type(prior).from_record(prior.to_record())
        np.testing.assert_array_equal(again.log_density(draws), prior.log_density(draws), "from_record(to_record())")


def _check_map(prior: Prior) -> None:
    known = continuous(prior)
    z = np.random.default_rng(4).standard_normal((NUM_POINTS, known.num_parameters))
    check_agreement(known)
    theta = known.from_unconstrained(z)
    np.testing.assert_allclose(known.to_unconstrained(theta), z, rtol=1e-6, atol=1e-6, err_msg="to_unconstrained")
    np.testing.assert_allclose(known.from_unconstrained(z[0]), theta[0], rtol=1e-12, err_msg="one point [D]")
    check_sample(known)
    trusted_affine_map(prior)


def check_expert_model(model: ExpertModel, *, is_stored: bool = True) -> None:
    """Check an expert model: chances, gradient, shift of values, words, variants and record.

    Parameters
    ----------
    is_stored
        Whether to_record and from_record must give the same model back.
    """
    rng = np.random.default_rng(5)
    q = 2.0 * rng.standard_normal((NUM_POINTS, 3, 4))
    q[:, 1, 2:] = -np.inf  # actions that do not exist
    exists = np.isfinite(q)
    log_policy = np.asarray(model.log_policy(q))
    assert log_policy.shape == q.shape, "log_policy must keep the shape of q"
    assert np.isneginf(log_policy[~exists]).all(), "log_policy must be minus infinity where an action does not exist"
    np.testing.assert_allclose(np.exp(log_policy).sum(axis=-1), 1.0, rtol=1e-9, err_msg="chances must sum to one")
    shifted = np.where(exists, q + 7.0, q)
    np.testing.assert_allclose(
        np.exp(model.log_policy(shifted)),
        np.exp(log_policy),
        atol=1e-9,
        err_msg="a shift of all values must not matter",
    )
    np.testing.assert_allclose(model.log_policy(q[0, 0]), log_policy[0, 0], rtol=1e-12, err_msg="one state [A]")
    _check_slopes(model, rng, q, exists)
    assert isinstance(model.assumption(), str) and model.assumption(), "assumption must give words"
    for label, variant in model.variants():
        assert isinstance(label, str) and isinstance(variant, ExpertModel), "variants must be (label, model) pairs"
    if is_stored:
        again = type(model).from_record(model.to_record())
        np.testing.assert_array_equal(again.log_policy(q), log_policy, "from_record(to_record())")


def _check_slopes(model: ExpertModel, rng: np.random.Generator, q: Any, exists: Any) -> None:
    """Compare pull_back with central differences along random directions."""
    gradient = np.where(exists, rng.random(q.shape), 0.0)
    direction = np.where(exists, rng.standard_normal(q.shape), 0.0)

    def total(step: float) -> Any:
        log_policy = model.log_policy(np.where(exists, q + step * direction, q))
        return (gradient * np.where(exists, log_policy, 0.0)).sum(axis=(1, 2))

    pulled = np.asarray(model.pull_back(q, gradient))
    assert pulled.shape == q.shape and (pulled[~exists] == 0.0).all(), "pull_back must be 0 where no action exists"
    found = (direction * pulled).sum(axis=(1, 2))
    expected = (total(STEP) - total(-STEP)) / (2.0 * STEP)
    np.testing.assert_allclose(
        found, expected, rtol=1e-4, atol=1e-4, err_msg="pull_back is not the slope of log_policy"
    )
