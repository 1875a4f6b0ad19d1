"""Gradients in the parameters of the expert: compiled, by every engine, and general, against finite differences."""

from dataclasses import replace

import numpy as np
import pytest
from experts.outside import Forgetful
from inference import twins

from journeyman.errors import UnsupportedError
from journeyman.experts import Beta, Boltzmann, Gamma, LogNormal
from journeyman.experts.priors import Uniform
from journeyman.inference.expert.target import ExpertTarget
from journeyman.inference.general import GeneralTarget, make_target
from journeyman.inference.likelihood import expert_values, log_likelihoods
from journeyman.inference.target import Target, data_of
from journeyman.mdp import solve_batch

BETA, LAPSE, PEOPLE = LogNormal(1.0, 0.7), Beta(1.0, 9.0), ("anna", "ben", "carl")
EXPERTS = {
    "beta": Boltzmann(BETA),
    "beta and lapse": Boltzmann(BETA, LAPSE),
    "lapse": Boltzmann(1.3, LAPSE),
    "known lapse": Boltzmann(1.3, 0.1),
    "annotators": Boltzmann(Gamma(2.0, 1.0), Uniform(0.0, 0.3), annotators=PEOPLE),
    "soft": Boltzmann(1.3, values="soft"),
    "soft, all unknown": Boltzmann(BETA, LAPSE, "soft"),
    "soft, annotators": Boltzmann(BETA, 0.05, "soft", PEOPLE),
}
H = 1e-5


def random_counts(rng, problem):
    """Counts of some 20 actions, of each annotator."""
    groups = [twins.random_counts(rng, problem, 12) for _ in range(problem.expert_space.num_groups)]
    return np.stack(groups).reshape(problem.counts_shape)


def cases(expert, count=6):
    for index in range(count):
        rng = np.random.default_rng([17, index])
        kind = ("per_state", "per_state_action", "features")[index % 3]
        prior = ("normal", "uniform", "multivariate")[index // 2 % 3]
        base = twins.random_problem(rng, kind, prior, discount=float(rng.choice([0.5, 0.9])))
        problem = replace(base, expert=expert)
        yield rng, problem, random_counts(rng, problem)


def engines(expert):
    return ("dense", "sparse") if expert.values == "optimal" else ("auto",)


def differences(target, z):
    """Return the gradient by central differences, and which of its entries cross no switch of the policy."""
    shifts = H * np.concatenate([np.eye(target.dimension), -np.eye(target.dimension)])
    around = target.evaluate(z + shifts)
    ahead, behind = np.split(np.arange(2 * target.dimension), 2)
    is_smooth = (around.policies[ahead] == around.policies[behind]).all(axis=1)
    return (around.log_density[ahead] - around.log_density[behind]) / (2 * H), is_smooth


@pytest.mark.parametrize("name", EXPERTS)
def test_gradient_equals_finite_differences(name):
    expert, num_checked = EXPERTS[name], 0
    for rng, problem, counts in cases(expert):
        for engine in engines(expert):
            target = ExpertTarget(problem, counts, engine=engine)
            z = rng.standard_normal(target.dimension)
            value, gradient = target.log_density_and_gradient(z)
            expected, is_smooth = differences(target, z)
            # h^2 times third derivatives is below 1e-8 of the size, solver errors of 1e-12 over h are 1e-7.
            size = 1.0 + abs(value) + np.abs(gradient).max()
            assert (np.abs(gradient - expected)[is_smooth] <= 2e-7 * size).all()
            num_checked += int(is_smooth.sum())
            assert is_smooth[problem.reward_model.num_parameters :].all()  # the expert changes no optimal policy
    assert num_checked > 50


@pytest.mark.parametrize("name", EXPERTS)
def test_value_is_prior_times_likelihood(name):
    for rng, problem, counts in cases(EXPERTS[name], 3):
        target = ExpertTarget(problem, counts)
        z = rng.standard_normal((4, target.dimension))
        rewards = problem.reward_model.reward(target.parameters(z))
        own = problem.expert_space.natural(problem.split(z)[1])
        acted = solve_batch(problem.mdp, rewards).values
        if problem.expert.values == "soft":
            acted = expert_values(problem, rewards, own)
        likelihood = log_likelihoods(problem, counts, rewards, acted, own)
        prior = -0.5 * (z**2 + np.log(2 * np.pi)).sum(axis=1)
        found = target.evaluate(z)
        np.testing.assert_allclose(found.log_density, prior + likelihood, rtol=1e-9, atol=1e-7)
        np.testing.assert_allclose(target.log_likelihood(z, found.values), likelihood, rtol=1e-9, atol=1e-7)
        wide = target.with_precision(0.25).evaluate(z)
        expected = likelihood - 0.5 * (0.25 * z**2 + np.log(2 * np.pi / 0.25)).sum(axis=1)
        np.testing.assert_allclose(wide.log_density, expected, rtol=1e-9, atol=1e-7)
        np.testing.assert_allclose(wide.gradient, found.gradient + 0.75 * z, rtol=1e-7, atol=1e-6)


@pytest.mark.parametrize("name", [name for name, expert in EXPERTS.items() if expert.values == "optimal"])
def test_the_general_target_agrees(name):
    for rng, problem, counts in cases(EXPERTS[name]):
        data, sizes = data_of(problem, counts)
        general, compiled = GeneralTarget(problem, data, sizes=sizes), ExpertTarget(problem, counts)
        z = rng.standard_normal((5, compiled.dimension))
        ours, theirs = general.evaluate(z), compiled.evaluate(z)
        np.testing.assert_allclose(ours.log_density, theirs.log_density, rtol=1e-9, atol=1e-8)
        is_same = (ours.policies == theirs.policies).all(axis=1)  # ties may be broken otherwise
        np.testing.assert_allclose(ours.gradient[is_same], theirs.gradient[is_same], rtol=1e-6, atol=1e-6)
        again = general.with_counts(0.5 * counts).log_likelihood(z, theirs.values)
        np.testing.assert_allclose(again, 0.5 * compiled.log_likelihood(z, theirs.values), rtol=1e-9, atol=1e-8)


@pytest.mark.parametrize("annotators", [(), PEOPLE])
def test_a_model_from_outside_has_the_right_gradient(annotators):
    for rng, problem, counts in cases(Forgetful(annotators=annotators), 3):
        target = make_target(problem, counts)
        assert type(target) is GeneralTarget
        z = rng.standard_normal(target.dimension)
        _, gradient = target.log_density_and_gradient(z)
        expected, is_smooth = differences(target, z)
        assert (np.abs(gradient - expected)[is_smooth] <= 1e-6 * (1.0 + np.abs(gradient).max())).all()


def test_each_expert_gets_the_code_that_knows_it():
    problem = twins.random_problem(np.random.default_rng(0), "per_state", "normal")
    assert type(make_target(problem)) is Target
    assert type(make_target(replace(problem, expert=Boltzmann(BETA)))) is ExpertTarget
    with pytest.raises(UnsupportedError, match="a compiled target must have"):
        Target(replace(problem, expert=Boltzmann(BETA)))


def test_chances_that_are_next_to_nothing_stay_numbers():
    """Gaps of thousands: the likelihood is as it should be, and so is its slope in beta."""
    rng = np.random.default_rng(3)
    problem = replace(twins.random_problem(rng, "per_state_action", "normal"), expert=Boltzmann(LogNormal(5e3, 0.1)))
    counts = twins.random_counts(rng, problem, 20)
    target = ExpertTarget(problem, counts)
    z = rng.standard_normal(target.dimension)
    value, gradient = target.log_density_and_gradient(z)
    step = 1e-6 * np.eye(target.dimension)[-1]
    difference = target.log_density_and_gradient(z + step)[0] - target.log_density_and_gradient(z - step)[0]
    assert np.isfinite(value) and value < -1e3
    assert gradient[-1] == pytest.approx(difference / 2e-6, rel=1e-6)
