"""The general target: the same numbers as the compiled one, and exact for priors and experts from outside.

Every continuous posterior here has two parameters, so that `enumerate` gives the truth.
"""

import numpy as np
import pytest
from experts.outside import Lapsing
from inference import twins
from rewards.outside import Banana, Laplace

from journeyman import Demonstration, LinearFeatures, Normal, Problem, certify, infer
from journeyman.errors import InputError, UnsupportedError
from journeyman.experts import SimulatedExpert
from journeyman.inference.general import GeneralTarget, make_target
from journeyman.inference.target import Target
from journeyman.mdp import FiniteMDP
from journeyman.rewards import ContinuousPrior


def small_problem(prior, expert=2.0):
    """Five states, three actions, one of them missing in one state; two features."""
    rng = np.random.default_rng(3)
    available = np.ones((5, 3), dtype=bool)
    available[1, 0] = False
    transitions = rng.dirichlet(np.full(5, 0.3), size=(5, 3)) * available[:, :, None]
    mdp = FiniteMDP.from_dense(transitions, layout="SAS", discount=0.8, available=available)
    return Problem(mdp, LinearFeatures(rng.normal(size=(5, 3, 2)), mdp), prior, expert)


def answers_of(problem, count=12):
    truth = problem.reward_model.reward([0.8, -0.6])
    return SimulatedExpert(problem.mdp, truth, problem.expert, seed=1).answers(np.arange(count) % 5)


PROBLEMS = {
    "laplace": lambda: small_problem(Laplace(2, 1.5)),
    "banana": lambda: small_problem(Banana()),
    "lapsing expert": lambda: small_problem(Normal(2, 0.0, 1.5), Lapsing()),
    "both": lambda: small_problem(Banana(), Lapsing()),
}


@pytest.mark.parametrize(("model", "prior"), twins.KINDS)
def test_it_agrees_with_the_compiled_target(model, prior):
    rng = np.random.default_rng(7)
    problem = twins.random_problem(rng, model, prior)
    counts = rng.integers(3, size=problem.mdp.available.shape) * problem.mdp.available
    compiled = Target(problem, counts)
    general = GeneralTarget(problem, compiled.data)
    z = rng.standard_normal((20, compiled.dimension))
    ours, theirs = general.evaluate(z), compiled.evaluate(z)
    size = 1e-9 * (1.0 + np.abs(theirs.values).max())
    np.testing.assert_allclose(ours.values, theirs.values, atol=size)
    np.testing.assert_allclose(ours.log_density, theirs.log_density, rtol=1e-8)
    is_same = (ours.policies == theirs.policies).all(axis=1)  # at ties both policies are optimal, and slopes alike
    assert is_same.mean() > 0.5
    np.testing.assert_allclose(ours.gradient[is_same], theirs.gradient[is_same], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(
        general.log_likelihood(z, theirs.values), compiled.log_likelihood(z, theirs.values), rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_gradient_is_that_of_finite_differences(name):
    problem = PROBLEMS[name]()
    target = make_target(problem, answers_of(problem))
    assert isinstance(target, GeneralTarget)
    z = np.random.default_rng(0).standard_normal((30, 2))
    found = target.evaluate(z)
    for d in range(2):
        step = 1e-6 * np.eye(2)[d]
        ahead, behind = target.evaluate(z + step), target.evaluate(z - step)
        is_smooth = (ahead.policies == behind.policies).all(axis=1)
        expected = (ahead.log_density - behind.log_density) / 2e-6
        np.testing.assert_allclose(found.gradient[is_smooth, d], expected[is_smooth], rtol=1e-5, atol=1e-6)
        assert is_smooth.mean() > 0.9


def test_many_states_are_solved_sparsely():
    problem = PROBLEMS["banana"]()
    target = make_target(problem, answers_of(problem))
    z = np.random.default_rng(0).standard_normal((10, 2))
    dense = target.evaluate(z).gradient
    target._dense = None
    np.testing.assert_allclose(target.evaluate(z).gradient, dense, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", PROBLEMS)
def test_without_answers_the_likelihood_is_one(name):
    target = make_target(PROBLEMS[name](), [])
    z = np.random.default_rng(0).standard_normal((10, 2))
    np.testing.assert_array_equal(target.log_likelihood(z, target.evaluate(z).values), np.zeros(10))


def test_a_point_without_numbers_has_no_density_and_spoils_no_other():
    target = make_target(PROBLEMS["laplace"](), [Demonstration.annotation(0, 1)])
    found = target.evaluate(np.array([[0.5, 0.5], [np.nan, 0.0], [np.inf, 0.0]]))
    assert np.isfinite(found.log_density).tolist() == [True, False, False]


@pytest.mark.parametrize(
    "name", ["laplace", "both", *(pytest.param(name, marks=pytest.mark.slow) for name in ("banana", "lapsing expert"))]
)
def test_particles_give_the_exact_posterior(name):
    """1000 particles are worth at least 200 draws: means within 5 / sqrt(200) deviations of those of the net."""
    problem = PROBLEMS[name]()
    answers = answers_of(problem)
    exact, found = infer(problem, answers, "enumerate"), infer(problem, answers, "smc", num_threads=1)
    assert exact.diagnostics.error_bound < 0.1
    gap = (found.mean_parameters() - exact.mean_parameters()) / exact.parameter_std()
    assert (np.abs(gap) < 5.0 / np.sqrt(200.0)).all()
    np.testing.assert_allclose(found.parameter_std(), exact.parameter_std(), rtol=0.35)
    assert found.log_evidence == pytest.approx(exact.log_evidence, abs=0.35)
    again = infer(problem, answers, "smc", num_threads=2)
    np.testing.assert_array_equal(found.theta, again.theta)


@pytest.mark.parametrize("sampler", [pytest.param("hmc", marks=pytest.mark.slow), "nuts"])
def test_chains_give_the_exact_posterior(sampler):
    """Means within 5 Monte-Carlo standard errors, by the effective sample size that the chains state themselves."""
    problem = PROBLEMS["both"]()
    answers = answers_of(problem)
    exact = infer(problem, answers, "enumerate", num_points=4096)
    options = {"sampler": sampler, "num_chains": 2, "num_warmup": 60, "num_draws": 120, "target_accept": 0.8}
    found = infer(problem, answers, "policywalk", num_threads=1, seed=3, **options)
    gap = np.abs(found.mean_parameters() - exact.mean_parameters()) / exact.parameter_std()
    assert (gap < 5.0 / np.sqrt(found.diagnostics.ess_bulk)).all()
    assert found.diagnostics.num_gradients > 100 and "lp" in found.sample_stats


def test_the_log_density_of_chains_is_that_of_the_target():
    problem = PROBLEMS["both"]()
    answers = answers_of(problem)
    target = make_target(problem, answers)
    options = {"num_chains": 1, "num_warmup": 20, "num_draws": 10, "num_threads": 1}
    for sampler in ("hmc", "nuts"):
        found = infer(problem, answers, "policywalk", sampler=sampler, **options)
        z = problem.prior.to_unconstrained(found.theta)
        np.testing.assert_allclose(found.sample_stats["lp"][0], target.evaluate(z).log_density, rtol=1e-8)


def test_a_certificate_names_the_model_and_tries_its_variants():
    problem = small_problem(Normal(2), Lapsing())
    certificate = certify(infer(problem, answers_of(problem), "enumerate", num_points=1024), 0.5, 0.1)
    assert any("any action with chance 0.1" in text for text in certificate.assumptions)
    assert [entry.expert for entry in certificate.sensitivity] == ["lapse = 0.2"]


@pytest.mark.parametrize("method", ["valuewalk", "variational"])
def test_methods_that_cannot_refuse_by_name_and_advise_one_that_can(method):
    for problem in (PROBLEMS["laplace"](), PROBLEMS["lapsing expert"]()):
        with pytest.raises(UnsupportedError, match=rf"{method} needs .*Use '(smc|policywalk)'"):
            infer(problem, (), method)


def test_a_prior_that_contradicts_itself_is_refused_before_any_work():
    class Silent(Normal):
        def from_unconstrained(self, z):
            return np.exp(super().from_unconstrained(z))

    for method in ("smc", "policywalk", "enumerate"):
        with pytest.raises(InputError, match="of Silent must agree with its from_unconstrained"):
            infer(small_problem(Silent(2)), (), method)

    class Bare:
        num_parameters = 2

        def log_density(self, theta):
            return 0.0

    with pytest.raises(InputError, match=r"got Bare without is_discrete, std, .*Derive it from ContinuousPrior"):
        small_problem(Bare())
    with pytest.raises(TypeError, match=r"abstract.*from_unconstrained"):
        ContinuousPrior()
