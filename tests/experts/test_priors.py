"""Priors of an expert's parameters: their maps are their quantiles, to the error that is stated."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtr

from journeyman.errors import InputError
from journeyman.experts.priors import (
    LINKS,
    PARAMETER_PRIORS,
    Beta,
    Gamma,
    LogNormal,
    ParameterMap,
    ParameterPrior,
    Uniform,
    linked,
    prior_from_record,
    prior_to_record,
)

CASES = [
    (LogNormal(4.0, 0.7), "log", stats.lognorm(0.7, scale=4.0)),
    (Gamma(2.0, 4.0), "log", stats.gamma(2.0, scale=2.0)),
    (Gamma(0.5, 1.0), "log", stats.gamma(0.5, scale=2.0)),
    (Beta(1.0, 9.0), "logit", stats.beta(1.0, 9.0)),
    (Beta(0.5, 0.5), "logit", stats.beta(0.5, 0.5)),
    (Beta(20.0, 3.0), "logit", stats.beta(20.0, 3.0)),
    (Uniform(1.0, 8.0), "log", stats.uniform(1.0, 7.0)),
    (Uniform(0.0, 0.4), "logit", stats.uniform(0.0, 0.4)),
    (Uniform(-3.0, 5.0), "identity", stats.uniform(-3.0, 8.0)),
]
IDS = [f"{prior} on {link}" for prior, link, _ in CASES]


@pytest.mark.parametrize(("prior", "link", "known"), CASES, ids=IDS)
def test_maps_are_quantiles(prior, link, known):
    z = np.random.default_rng(0).uniform(-5.0, 5.0, 2000)
    found = ParameterMap(prior, link).natural(z)
    expected = np.where(z < 0.0, known.ppf(ndtr(z)), known.isf(ndtr(-z)))
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-9)  # the spline's h^4 / 384 times a derivative


@pytest.mark.parametrize(("prior", "link", "known"), CASES, ids=IDS)
def test_slopes_coordinates_and_densities_belong_to_the_map(prior, link, known):
    one, step = ParameterMap(prior, link), 1e-5
    z = np.random.default_rng(1).uniform(-4.0, 4.0, 500)
    slopes = (one.natural(z + step) - one.natural(z - step)) / (2.0 * step)
    np.testing.assert_allclose(one.slope(z), slopes, rtol=1e-5, atol=1e-10)
    np.testing.assert_allclose(one.coordinate(one.natural(z)), z, atol=1e-5)
    np.testing.assert_allclose(one.log_density(one.natural(z)), known.logpdf(one.natural(z)), atol=1e-4)


def test_a_log_normal_is_a_straight_line_however_far_out():
    z = np.array([-30.0, -8.0, -1.3, 0.0, 2.0, 8.0, 25.0])
    np.testing.assert_allclose(ParameterMap(LogNormal(4.0, 0.7)).natural(z), 4.0 * np.exp(0.7 * z), rtol=1e-11)


def test_a_prior_of_ones_own_needs_quantiles_alone():
    class Triangle(ParameterPrior):
        support = (0.0, 1.0)

        def quantile(self, chance):
            return np.sqrt(chance)

    z = np.linspace(-3.0, 3.0, 20)
    np.testing.assert_allclose(ParameterMap(Triangle()).natural(z), np.sqrt(ndtr(z)), rtol=1e-8)


@pytest.mark.parametrize(("prior", "link", "_known"), CASES, ids=IDS)
def test_records_give_the_same_prior_back(prior, link, _known):
    assert link in LINKS
    assert prior_from_record(prior_to_record(prior), "beta") == prior
    assert prior.describe()
    assert np.isfinite(linked(prior, link, np.linspace(-8.0, 8.0, 9))).all()


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"lognorma": [4, 1]}, r"a prior of beta must be one that exists, got 'lognorma'\. Did you mean 'lognormal'\?"),
        ({"lognormal": [4]}, r"lognormal of beta must have 2 numbers \(median, sigma\), got \[4\]"),
        ({"lognormal": [4, -1]}, r"sigma of a LogNormal must be positive and finite, got -1\.0"),
        ({"lognormal": [4, 1], "gamma": [1, 1]}, "beta must be a number, or one prior with its numbers"),
        ({"uniform": [3, 1]}, r"low must be less than high, both finite, got 3\.0 and 1\.0"),
    ],
)
def test_what_is_wrong_with_a_record_is_said(record, message):
    with pytest.raises(InputError, match=message):
        prior_from_record(record, "beta")


def test_every_prior_has_a_name():
    assert {type(prior) for prior, *_ in CASES} == set(PARAMETER_PRIORS.values())
