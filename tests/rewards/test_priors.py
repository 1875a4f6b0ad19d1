"""Priors against scipy.stats, finite differences, and the map to unconstrained space.

Tests of samples use fixed seeds; the level says how rarely a right implementation would fail for a random seed.
"""

import pickle

import numpy as np
import pytest
from scipy import stats

from journeyman.errors import InputError, UnsupportedError
from journeyman.rewards import Discrete, MultivariateNormal, Normal, Prior, Uniform, continuous

LEVEL = 1e-4


def kernel(size, length=2.0):
    """A covariance of states on a line."""
    places = np.arange(size)
    return 4.0 * np.exp(-0.5 * ((places[:, None] - places) / length) ** 2) + 0.1 * np.eye(size)


CONTINUOUS = {
    "normal": Normal(3, mean=[0.0, -2.0, 5.0], std=[3.0, 0.5, 1e-3]),
    "normal of one": Normal(1),
    "uniform": Uniform(3, low=[-100.0, 0.0, 1.0], high=[0.0, 1.0, 3.0]),
    "uniform of one": Uniform(1, -1.0, 1.0),
    "multivariate": MultivariateNormal(np.array([1.0, 0.0, -1.0, 2.0]), kernel(4)),
}
ATOMS = np.array([[0.0, 1.0], [0.0, 2.0], [3.0, 1.0]])
DISCRETE = Discrete(ATOMS, [0.5, 0.3, 0.2])


@pytest.fixture(params=CONTINUOUS)
def prior(request):
    return CONTINUOUS[request.param]


def scipy_log_density(prior, theta):
    if isinstance(prior, Normal):
        return stats.norm.logpdf(theta, prior.mean, prior.std).sum(-1)
    if isinstance(prior, Uniform):
        return stats.uniform.logpdf(theta, prior.low, prior.high - prior.low).sum(-1)
    return stats.multivariate_normal.logpdf(theta, prior.mean, prior.covariance)


# -- densities -------------------------------------------------------------------------------------------------------


def test_log_density_is_that_of_scipy(prior):
    theta = prior.sample(np.random.default_rng(0), 50)
    np.testing.assert_allclose(prior.log_density(theta), scipy_log_density(prior, theta), rtol=1e-11)
    np.testing.assert_array_equal(prior.log_density(theta[7]), prior.log_density(theta)[7])
    stacked = theta[:40].reshape(4, 10, -1)
    np.testing.assert_allclose(prior.log_density(stacked), prior.log_density(theta[:40]).reshape(4, 10), rtol=1e-14)


def test_uniform_has_no_density_outside():
    prior = Uniform(2, 0.0, [1.0, 2.0])
    theta = [[0.5, 1.5], [-1e-9, 1.0], [0.5, 2.1], [0.0, 2.0], [np.nan, 1.0]]
    np.testing.assert_array_equal(prior.log_density(theta), [-np.log(2), -np.inf, -np.inf, -np.log(2), -np.inf])


# -- the unconstrained space -----------------------------------------------------------------------------------------


def jacobian(prior, z):
    """d theta_i / d z_j of the map, row by row from its pull_back."""
    return prior.pull_back(np.broadcast_to(z, (z.size, z.size)), np.eye(z.size))


def test_in_unconstrained_space_every_prior_is_standard_normal(prior):
    for z in np.random.default_rng(2).normal(size=(50, prior.num_parameters)):
        log_jacobian = np.linalg.slogdet(jacobian(prior, z))[1]
        total = prior.log_density(prior.from_unconstrained(z)) + log_jacobian
        assert total == pytest.approx(stats.norm.logpdf(z).sum(), rel=1e-9)


def test_pull_back_is_that_of_finite_differences(prior):
    for z in np.random.default_rng(3).normal(size=(10, prior.num_parameters)):
        steps = 1e-5 * np.eye(prior.num_parameters)
        columns = (prior.from_unconstrained(z + steps) - prior.from_unconstrained(z - steps)) / 2e-5
        # differences of theta lose 1e-16 |theta| / 1e-5, and curvature 1e-10
        size = np.abs(prior.from_unconstrained(z)) + np.asarray(prior.std)
        assert (np.abs(jacobian(prior, z) - columns.T) <= 1e-9 * size[:, None]).all()


def test_round_trip(prior):
    z = np.random.default_rng(4).normal(size=(50, prior.num_parameters))
    theta = prior.from_unconstrained(z)
    np.testing.assert_allclose(prior.from_unconstrained(prior.to_unconstrained(theta)), theta, rtol=1e-13, atol=1e-13)
    # theta is rounded to 1e-16 |theta|, at most 5e-13 std for Normal(5, 1e-3) and 1e-14 / phi(4) for the uniforms
    np.testing.assert_allclose(prior.to_unconstrained(theta), z, rtol=0, atol=1e-11)


@pytest.mark.parametrize("size", [8.0, 30.0])
def test_round_trip_far_out(prior, size):
    """Far out, theta holds z as well as the spacing of floats near theta allows: |dz| <= spacing / (d theta / d z)."""
    for sign in (-1.0, 1.0):
        z = np.full(prior.num_parameters, sign * size)
        theta = prior.from_unconstrained(z)
        assert np.isfinite(theta).all() and np.isfinite(prior.log_density(theta))
        back = prior.to_unconstrained(theta)
        if isinstance(prior, Uniform):
            assert ((theta > prior.low) & (theta < prior.high)).all()
            stopped = (theta == np.nextafter(prior.low, prior.high)) | (theta == np.nextafter(prior.high, prior.low))
            slope = prior.width * stats.norm.pdf(back)
            assert (np.abs(back - z) <= 2 * np.spacing(np.abs(theta)) / slope + 1e-9)[~stopped].all()
            assert (sign * back > 7).all()  # the float next to an end is 1e-16 of the width away, where Phi(-8.2) is
        else:
            np.testing.assert_allclose(back, z, rtol=1e-9)


def test_the_lower_end_at_zero_loses_no_digits():
    """Near 0 floats are dense, so even z = -30 survives."""
    prior = Uniform(1, 0.0, 5.0)
    for z in (-3.0, -8.0, -30.0):
        assert prior.to_unconstrained(prior.from_unconstrained([z]))[0] == pytest.approx(z, rel=1e-12)
    upper = Uniform(1, -5.0, 0.0)
    for z in (3.0, 8.0, 30.0):
        assert upper.to_unconstrained(upper.from_unconstrained([z]))[0] == pytest.approx(z, rel=1e-12)


def test_the_uniform_map_is_monotone():
    prior = Uniform(1, -100.0, 0.0)
    theta = prior.from_unconstrained(np.linspace(-10, 10, 2001)[:, None])[:, 0]
    assert (np.diff(theta) >= 0).all()
    assert prior.from_unconstrained([0.0])[0] == -50.0


# -- samples ---------------------------------------------------------------------------------------------------------


def test_samples_have_the_right_distribution(prior):
    """Kolmogorov-Smirnov of each parameter at level 1e-4."""
    theta = prior.sample(np.random.default_rng(5), 5000)
    assert theta.shape == (5000, prior.num_parameters)
    z = prior.to_unconstrained(theta)
    for i in range(prior.num_parameters):
        assert stats.kstest(z[:, i], "norm").pvalue > LEVEL
        if isinstance(prior, Uniform):
            low, width = prior.low[i], prior.width[i]
            assert stats.kstest(theta[:, i], "uniform", args=(low, width)).pvalue > LEVEL
        else:
            assert stats.kstest(theta[:, i], stats.norm(prior.mean[i], prior.std[i]).cdf).pvalue > LEVEL


def test_samples_of_a_multivariate_normal_have_its_covariance():
    """An entry of the sample covariance has standard error sqrt((c_ii c_jj + c_ij^2) / n); 5 of them are allowed."""
    prior, num_samples = CONTINUOUS["multivariate"], 20_000
    covariance = prior.covariance
    sample = np.cov(prior.sample(np.random.default_rng(6), num_samples).T)
    error = np.sqrt((np.outer(np.diag(covariance), np.diag(covariance)) + covariance**2) / num_samples)
    assert (np.abs(sample - covariance) <= 5 * error).all()


def test_samples_depend_on_the_generator_alone(prior):
    first, again, other = (prior.sample(np.random.default_rng(seed), 4) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


# -- discrete --------------------------------------------------------------------------------------------------------


def test_discrete_log_density_is_the_joint_probability():
    theta = [[0.0, 1.0], [3.0, 1.0], [3.0, 2.0], [0.0, 1.5]]  # (3, 2) has possible parts that never occur together
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(DISCRETE.log_density(theta), np.log([0.5, 0.2, 0.0, 0.0]))
    assert DISCRETE.log_density([0.0, 2.0]) == np.log(0.3)
    assert DISCRETE.log_density(np.tile(ATOMS, (2, 5, 1, 1))).shape == (2, 5, 3)


def test_discrete_samples_have_their_joint_probabilities():
    theta = DISCRETE.sample(np.random.default_rng(7), 10_000)
    counts = [(theta == atom).all(axis=1).sum() for atom in ATOMS]
    assert sum(counts) == 10_000
    assert stats.chisquare(counts, 10_000 * DISCRETE.weights).pvalue > LEVEL


def test_discrete_without_probabilities_is_even():
    np.testing.assert_array_equal(Discrete(ATOMS).weights, np.full(3, 1 / 3))


def test_discrete_has_no_unconstrained_space():
    with pytest.raises(UnsupportedError, match=r"a Discrete prior has no .* Use inference 'enumerate' or 'smc'"):
        continuous(DISCRETE)


# -- contract and bad input ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prior", [*CONTINUOUS.values(), DISCRETE])
def test_every_prior_keeps_the_contract(prior):
    assert isinstance(prior, Prior)
    assert prior.is_discrete == isinstance(prior, Discrete)
    other = pickle.loads(pickle.dumps(prior))
    theta = prior.sample(np.random.default_rng(0), 3)
    assert theta.shape == (3, prior.num_parameters)
    np.testing.assert_array_equal(other.log_density(theta), prior.log_density(theta))
    assert np.isfinite(prior.log_density(theta)).all()


@pytest.mark.parametrize("prior", [*CONTINUOUS.values(), DISCRETE])
def test_parameters_of_another_length_are_refused(prior):
    """A last axis of 1 would be spread over all parameters without a word."""
    size = prior.num_parameters
    for shape in ((size + 1,), (5, size + 1), ()) + (((1,),) if size > 1 else ()):
        with pytest.raises(InputError, match=rf"theta must have a last axis of {size} parameters, got shape"):
            prior.log_density(np.zeros(shape))
    if not prior.is_discrete:
        with pytest.raises(InputError, match=f"z must have a last axis of {size} parameters"):
            prior.from_unconstrained(np.zeros(size + 1))
        with pytest.raises(InputError, match=f"theta must have a last axis of {size} parameters"):
            prior.to_unconstrained(np.zeros(size + 1))
        with pytest.raises(InputError, match=f"gradient must have a last axis of {size} parameters"):
            prior.pull_back(np.zeros(size), np.zeros(size + 1))


def test_arrays_are_copied_and_frozen():
    mean, atoms, covariance = np.zeros(3), ATOMS.copy(), kernel(2)
    normal, discrete, multivariate = Normal(3, mean), Discrete(atoms), MultivariateNormal(np.zeros(2), covariance)
    mean[:], atoms[:], covariance[:] = 7, 7, 7
    assert (normal.mean == 0).all() and (discrete.atoms == ATOMS).all()
    assert (multivariate.covariance == kernel(2)).all()
    for array in (normal.mean, normal.std, discrete.atoms, discrete.probabilities, multivariate.covariance):
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Normal(0), "num_parameters of a prior must be a whole number of at least 1, got 0"),
        (lambda: Normal(2.0), "num_parameters of a prior must be a whole number of at least 1, got 2.0"),
        (lambda: Uniform(-1), "num_parameters of a prior must be a whole number of at least 1, got -1"),
        (lambda: Uniform(True), "num_parameters of a prior must be a whole number"),
        (lambda: Normal(2, mean=[0.0]), r"mean must be a number or have shape \(2,\), got \(1,\)"),
        (lambda: Normal(2, mean=[0.0, np.nan]), "mean must be finite, got nan at parameter 1"),
        (lambda: Normal(2, mean="zero"), "mean must be numbers"),
        (lambda: Normal(2, std=0.0), r"std must be positive, got 0\.0 at parameter 0"),
        (lambda: Normal(2, std=[1.0, -1.0]), r"std must be positive, got -1\.0 at parameter 1"),
        (lambda: Normal(2, std=np.inf), "std must be finite, got inf at parameter 0"),
        (lambda: Uniform(2, 1.0, 1.0), r"low must be less than high.* got 1\.0 and 1\.0 at parameter 0\. Swap"),
        (lambda: Uniform(2, 0.0, [1.0, -1.0]), r"got 0\.0 and -1\.0 at parameter 1"),
        (lambda: Uniform(1, 1.0, np.nextafter(1.0, 2.0)), "with room between them"),
        (lambda: Uniform(1, -1.7e308, 1.7e308), "low must be less than high, with room"),
        (lambda: Uniform(1, -np.inf, 0.0), "low must be finite, got -inf"),
        (lambda: MultivariateNormal(np.zeros(2), np.zeros(2)), r"square matrix, got shape \(2,\)"),
        (lambda: MultivariateNormal(np.zeros(2), np.ones((2, 3))), r"square matrix, got shape \(2, 3\)"),
        (lambda: MultivariateNormal(np.zeros(0), np.zeros((0, 0))), "square matrix"),
        (lambda: MultivariateNormal(np.zeros(3), np.eye(2)), r"mean must be a number or have shape \(2,\), got \(3,\)"),
        (
            lambda: MultivariateNormal(np.zeros(2), [[1.0, 0.5], [0.4, 1.0]]),
            r"symmetric, got 0\.5 at \(0, 1\) and 0\.4 at \(1, 0\)\. Average it with its transpose",
        ),
        (
            lambda: MultivariateNormal(np.zeros(2), [[np.nan, 0.0], [0.0, 1.0]]),
            r"finite and symmetric, got nan at \(0, 0\)",
        ),
        (lambda: MultivariateNormal(np.zeros(2), np.ones((2, 2))), "positive definite, got a smallest eigenvalue of"),
        (lambda: MultivariateNormal(np.zeros(2), [["a", "b"], ["b", "a"]]), "covariance must be numbers"),
        (lambda: Discrete([1.0, 2.0]), r"atoms must have shape \[K, D\] with K and D at least 1, got \(2,\)"),
        (lambda: Discrete(np.zeros((0, 2))), r"got \(0, 2\)"),
        (lambda: Discrete(np.zeros((2, 0))), r"got \(2, 0\)"),
        (lambda: Discrete([[0.0], [np.nan]]), "atoms must be finite, got nan at atom 1, parameter 0"),
        (lambda: Discrete([[0.0], [1.0], [0.0]]), "atoms must all differ, got atom 0 again. Merge them"),
        (lambda: Discrete([["a"]]), "atoms must be numbers"),
        (lambda: Discrete(ATOMS, [0.5, 0.5]), r"probabilities must have shape \(3,\), got \(2,\)"),
        (lambda: Discrete(ATOMS, [0.5, 0.5, 0.0]), r"probabilities must be positive, got 0\.0 at atom 2"),
        (lambda: Discrete(ATOMS, [0.9, 0.3, -0.2]), r"probabilities must be positive, got -0\.2 at atom 2"),
        (lambda: Discrete(ATOMS, [np.nan, 0.5, 0.5]), "probabilities must be positive, got nan at atom 0"),
        (lambda: Discrete(ATOMS, [0.5, 0.2, 0.2]), r"probabilities must sum to 1, got 0\.9\. Divide them by their sum"),
        (lambda: Discrete(ATOMS, ["a", "b", "c"]), "probabilities must be numbers"),
    ],
)
def test_bad_priors(make, message):
    with pytest.raises(InputError, match=message):
        make()


@pytest.mark.parametrize("theta", [0.0, 1.0, -0.5, 2.0, np.nan])
def test_a_uniform_takes_back_only_what_is_inside(theta):
    with pytest.raises(InputError, match=rf"strictly between 0\.0 and 1\.0, got {theta} at parameter 1"):
        Uniform(2).to_unconstrained([0.5, theta])
