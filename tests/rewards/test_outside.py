"""Priors from outside the package, and subclasses of ours: used as they are, or refused by name."""

import numpy as np
import pytest
from rewards.outside import Banana, Laplace
from scipy import stats

from journeyman import PerState, Problem, infer
from journeyman.errors import InputError, UnsupportedError
from journeyman.rewards import Discrete, MultivariateNormal, Normal, Uniform
from journeyman.rewards.agreement import check_atoms, trusted_affine_map
from journeyman.testing import check_prior
from journeyman.worlds import gridworld

BUILT_IN = [
    Normal(3, [0.0, -2.0, 5.0], [3.0, 0.5, 1e-3]),
    Uniform(2, [-100.0, 0.0], [0.0, 1.0]),
    MultivariateNormal(np.zeros(2), [[2.0, 1.0], [1.0, 2.0]]),
    Discrete([[0.0, 1.0], [2.0, 3.0]], [0.25, 0.75]),
]


@pytest.mark.parametrize("prior", [*BUILT_IN, Laplace(3, 1.5)], ids=lambda prior: type(prior).__name__)
def test_priors_whose_parts_agree(prior):
    check_prior(prior)


def test_a_prior_need_not_be_storable():
    check_prior(Banana(), is_stored=False)
    with pytest.raises(UnsupportedError, match="must have to_record and from_record to be stored, got Banana"):
        check_prior(Banana())


def test_moments_and_intervals_follow_from_draws():
    """Of 20,000 draws: a standard deviation is off by sqrt(1.25 / n) of itself (kurtosis 6), times 5."""
    prior = Laplace(2, 1.5)
    np.testing.assert_allclose(prior.std, 1.5 * np.sqrt(2.0), rtol=5 * np.sqrt(1.25 / 20_000))
    np.testing.assert_allclose(prior.interval(0.9), [[-3.454, 3.454]] * 2, atol=0.2)  # 1.5 log 10
    assert prior.describe() == "Laplace"
    assert prior.covariance.shape == (2, 2)
    np.testing.assert_allclose(np.diag(prior.covariance), prior.std**2, rtol=1e-3)
    assert stats.kstest(prior.sample(np.random.default_rng(0), 5000)[:, 0], "laplace", args=(0, 1.5)).pvalue > 1e-4


class Shifted(Normal):
    """Overrides the map alone: its gradient and density are still those of the parent."""

    def from_unconstrained(self, z):
        return np.exp(super().from_unconstrained(z))


class WholeShifted(Normal):
    """Overrides all that belongs together, but not affine_map."""

    def from_unconstrained(self, z):
        return super().from_unconstrained(z) + 1.0

    def to_unconstrained(self, theta):
        return super().to_unconstrained(np.asarray(theta) - 1.0)


class OwnDensity(Normal):
    def log_density(self, theta):
        return super().log_density(theta) - np.abs(theta).sum(axis=-1)


class OwnSample(Normal):
    def sample(self, rng, size):
        return super().sample(rng, size) + 1.0


class SameSample(Normal):
    def sample(self, rng, size):
        return super().sample(rng, size)[::-1]


class Renamed(Normal):
    pass


class WrongMap(Normal):
    def affine_map(self):
        return super().affine_map()._replace(location=np.ones(self.num_parameters))


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        (Shifted(2), "pull_back of Shifted must agree with its from_unconstrained"),
        (OwnDensity(2), "log_density of OwnDensity must agree with its from_unconstrained.*override it as well"),
        (OwnSample(2), "sample of OwnSample must agree with its from_unconstrained"),
        (WrongMap(2), "affine_map of WrongMap must agree with its from_unconstrained"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_subclass_that_would_be_ignored_is_refused(prior, message):
    with pytest.raises(InputError, match=message):
        trusted_affine_map(prior)
    with pytest.raises(AssertionError, match=message):
        check_prior(prior)


def test_the_map_of_a_parent_counts_only_where_it_is_still_true():
    assert trusted_affine_map(WholeShifted(2)) is None  # the general way
    assert trusted_affine_map(Laplace(2)) is None
    for prior in (Renamed(2), SameSample(2)):
        assert trusted_affine_map(prior) is not None


def test_discrete_priors_have_no_map():
    with pytest.raises(UnsupportedError, match="has no unconstrained space"):
        trusted_affine_map(BUILT_IN[3])


class OwnAtomDensity(Discrete):
    def log_density(self, theta):
        return super().log_density(theta) - np.abs(theta).sum(axis=-1)


class OwnAtomSample(Discrete):
    def sample(self, rng, size):
        return self.atoms[rng.integers(len(self.atoms), size=size)]


class NoAtoms(Discrete):
    def sample(self, rng, size):
        return super().sample(rng, size) + 0.5


class FlatSample(Discrete):
    def sample(self, rng, size):
        return super().sample(rng, size)[:, 0]


class SameAtomSample(Discrete):
    def sample(self, rng, size):
        return super().sample(rng, size)[::-1]


class OwnWeights(Discrete):
    """What it derives from reads the weights, so all parts follow."""

    @property
    def weights(self):
        return np.asarray(self.probabilities)[::-1]


ATOMS = [[0.0, 1.0], [2.0, 3.0], [-0.0, 5.0]]


@pytest.mark.parametrize(
    ("cls", "message"),
    [
        (OwnAtomDensity, "log_density of OwnAtomDensity must agree with its weights.*atoms and weights alone"),
        (OwnAtomSample, "sample of OwnAtomSample must agree with its weights"),
        (NoAtoms, "sample of NoAtoms must agree with its atoms"),
        (FlatSample, r"sample of FlatSample must give draws of shape \(4000, 2\), got \(4000,\)"),
    ],
)
def test_a_subclass_of_discrete_that_would_be_ignored_is_refused(cls, message):
    prior = cls(ATOMS, [0.2, 0.3, 0.5])
    mdp = gridworld(1, 2)
    problem = Problem(mdp, PerState(mdp), prior, 2.0)
    for method in ("enumerate", "smc"):
        with pytest.raises(InputError, match=message):
            infer(problem, method=method)
    with pytest.raises(AssertionError, match=f"{message}|sample must give|must be finite at draws"):
        check_prior(prior)


def test_a_subclass_of_discrete_whose_parts_agree_is_taken():
    for cls in (SameAtomSample, OwnWeights):
        check_atoms(cls(ATOMS, [0.2, 0.3, 0.5]))
    many = np.random.default_rng(0).normal(size=(5000, 2))
    check_atoms(SameAtomSample(many))  # more atoms than draws: none of them has a frequency of its own
