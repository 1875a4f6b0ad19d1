"""Checks for authors of priors and expert models: whether the parts of one agree with each other.

    from journeyman.testing import check_prior, check_expert_model

Each raises an AssertionError of one line that names the part that is wrong, and returns nothing. Put one line per model
into your tests.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from journeyman.errors import InputError
from journeyman.experts import ExpertModel
from journeyman.experts.models import missing_methods
from journeyman.experts.priors import ParameterMap
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
        with _asserted():
            check_atoms(prior)
    else:
        _check_map(prior)
    if is_stored:
        again = type(prior).from_record(prior.to_record())
        _assert_close(
            again.log_density(draws), prior.log_density(draws), "from_record(to_record()) must give the same prior", 0.0
        )


def _check_map(prior: Prior) -> None:
    known = continuous(prior)
    z = np.random.default_rng(4).standard_normal((NUM_POINTS, known.num_parameters))
    with _asserted():
        check_agreement(known)
    theta = known.from_unconstrained(z)
    _assert_close(known.to_unconstrained(theta), z, "to_unconstrained must undo from_unconstrained", 1e-6, 1e-6)
    _assert_close(known.from_unconstrained(z[0]), theta[0], "from_unconstrained must take one point [D]", 1e-12)
    with _asserted():
        check_sample(known)
        trusted_affine_map(prior)


def check_expert_model(model: Any, *, is_stored: bool = True) -> None:
    """Check an expert model: chances, gradient, shift of values, words, variants and record.

    Where it has parameters that are not known, all of it at draws of their priors, the slopes in them, and that
    `with_parameters` gives the same chances.

    Parameters
    ----------
    is_stored
        Whether to_record and from_record must give the same model back.
    """
    missing = missing_methods(model)
    assert not missing, f"{type(model).__name__} lacks {', '.join(missing)}"
    rng = np.random.default_rng(5)
    q = 2.0 * rng.standard_normal((NUM_POINTS, 3, 4))
    q[:, 1, 2:] = -np.inf  # actions that do not exist
    exists = np.isfinite(q)
    own = _drawn_parameters(model, rng)
    log_policy = np.asarray(model.log_policy(q, *own))
    assert log_policy.shape == q.shape, "log_policy must keep the shape of q"
    assert np.isneginf(log_policy[~exists]).all(), "log_policy must be minus infinity where an action does not exist"
    chances = np.exp(log_policy)
    totals = chances.sum(axis=-1)
    _assert_close(totals, np.ones(totals.shape), "chances of log_policy must sum to one", 1e-9)
    shifted = np.exp(model.log_policy(np.where(exists, q + 7.0, q), *own))
    _assert_close(shifted, chances, "log_policy must not change when all values are shifted", 1e-7, 1e-9)
    alone = model.log_policy(q[0, 0], *(part[0, 0] for part in own))
    _assert_close(alone, log_policy[0, 0], "log_policy must take values [A] of one state", 1e-12)
    _check_slopes(model, rng, q, exists, own)
    if own:
        _check_parameters(model, rng, q, exists, own[0])
    assert isinstance(model.assumption(), str) and model.assumption(), "assumption must give words"
    for label, variant in model.variants():
        assert isinstance(label, str) and isinstance(variant, ExpertModel), "variants must be (label, model) pairs"
    if is_stored:
        again = type(model).from_record(model.to_record())
        _assert_close(again.log_policy(q, *own), log_policy, "from_record(to_record()) must give the same model", 0.0)


def _drawn_parameters(model: Any, rng: np.random.Generator) -> tuple[Any, ...]:
    """Return draws `[NUM_POINTS, 1, E]` of the parameters of one annotator; nothing for a model that has none."""
    priors = getattr(model, "priors", None)
    if not priors:
        return ()
    links = getattr(model, "links", {})
    maps = [ParameterMap(prior, links.get(name)) for name, prior in priors.items()]
    return (np.stack([one.natural(rng.standard_normal((NUM_POINTS, 1))) for one in maps], axis=-1),)


def _check_parameters(model: Any, rng: np.random.Generator, q: Any, exists: Any, own: Any) -> None:
    """Compare parameter_slopes with central differences, and with_parameters with the parameters themselves."""
    gradient = np.where(exists, rng.random(q.shape), 0.0)
    found = np.asarray(model.parameter_slopes(q, gradient, own))
    assert found.shape == (*q.shape[:-1], own.shape[-1]), "parameter_slopes must give [..., E]"

    def total(parameters: Any) -> Any:
        return (gradient * np.where(exists, model.log_policy(q, parameters), 0.0)).sum(axis=-1)

    for i, name in enumerate(model.priors):
        step = STEP * np.abs(own) * (np.arange(own.shape[-1]) == i)
        expected = (total(own + step) - total(own - step)) / (2.0 * step[..., i])
        _assert_close(
            found[..., i], expected, f"parameter_slopes must be the slope of log_policy in {name}", 1e-4, 1e-4
        )
    known = model.with_parameters(own[0, 0])
    assert not getattr(known, "priors", {}), "with_parameters must leave nothing unknown"
    _assert_close(
        known.log_policy(q[0]), model.log_policy(q[0], own[0, 0]), "with_parameters must give the same chances", 1e-9
    )


def _check_slopes(model: Any, rng: np.random.Generator, q: Any, exists: Any, own: tuple[Any, ...]) -> None:
    """Compare pull_back with central differences along random directions."""
    gradient = np.where(exists, rng.random(q.shape), 0.0)
    direction = np.where(exists, rng.standard_normal(q.shape), 0.0)

    def total(step: float) -> Any:
        log_policy = model.log_policy(np.where(exists, q + step * direction, q), *own)
        return (gradient * np.where(exists, log_policy, 0.0)).sum(axis=(1, 2))

    pulled = np.asarray(model.pull_back(q, gradient, *own))
    assert pulled.shape == q.shape and (pulled[~exists] == 0.0).all(), "pull_back must be 0 where no action exists"
    found = (direction * pulled).sum(axis=(1, 2))
    expected = (total(STEP) - total(-STEP)) / (2.0 * STEP)
    _assert_close(found, expected, "pull_back must be the slope of log_policy", 1e-4, 1e-4)


def _assert_close(found: Any, expected: Any, rule: str, rtol: float, atol: float = 0.0) -> None:
    """Raise an AssertionError of one line unless two arrays have one shape and nearly the same numbers."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape, f"{rule}, got shape {found.shape} instead of {expected.shape}"
    wrong = ~np.isclose(found, expected, rtol=rtol, atol=atol)
    if wrong.any():
        place = tuple(int(index) for index in np.argwhere(wrong)[0])
        raise AssertionError(f"{rule}, got {found[place]:.9g} instead of {expected[place]:.9g}")


@contextmanager
def _asserted() -> Iterator[None]:
    """Raise what inference refuses as an AssertionError, as all that is found here."""
    try:
        yield
    except InputError as error:
        raise AssertionError(str(error)) from None
