"""Kernel priors: the same belief as the whole covariance, in few parameters that are rewards of states."""

import numpy as np
import pytest

from journeyman import infer
from journeyman.calibration import CalibrationSpec, run_calibration, summarise
from journeyman.calibration.replication import quantity_names
from journeyman.demonstrations import Demonstration
from journeyman.errors import InputError
from journeyman.inference.tables import posterior_table, reward_table
from journeyman.inference.target import Target
from journeyman.mdp import FiniteMDP
from journeyman.mdp.automata import visited
from journeyman.problem import Problem
from journeyman.problem_files import problem_from_record, problem_to_record
from journeyman.rewards import (
    KernelPrior,
    LinearFeatures,
    MultivariateNormal,
    PerState,
    kernel_covariance,
    kernel_rewards,
    widened,
)
from journeyman.rewards.kernel_prior import KernelRewards, neighbour_correlation
from journeyman.testing import check_prior
from journeyman.worlds.gridworld import gridworld

GRID = gridworld(6, 5)
MEAN = np.linspace(-1.0, 2.0, 30)


def line(num_states, **options):
    """States in a row, from left to right; one goes left, stays or goes right, and slips at times."""

    def step(state, action):
        chances = np.full(3, 0.1) + 0.7 * (np.arange(3) == action)
        ends = np.clip(state + np.arange(3) - 1, 0, num_states - 1)
        return [(chance, int(end)) for chance, end in zip(chances, ends, strict=True)]

    places = np.stack([np.arange(num_states), np.zeros(num_states)], axis=1).astype(float)
    return FiniteMDP.from_function(
        step, num_states=num_states, num_actions=3, discount=0.8, coordinates=places, **options
    )


def reward_covariance(rewards):
    model, prior = rewards
    return np.asarray(model.features @ (model.features @ prior.covariance).T)


# -- what it is made of ------------------------------------------------------------------------------------------------


def test_parameters_are_the_rewards_of_anchor_states():
    model, prior = kernel_rewards(GRID, length_scale=2.0, std=3.0, mean=MEAN)
    assert model.kind == "kernel" and model.num_parameters == prior.num_parameters < 25
    anchors = [int(name.removeprefix("reward of ")) for name in model.names]
    assert anchors == sorted(set(anchors))
    theta = prior.sample(np.random.default_rng(0), 5)
    np.testing.assert_array_equal(model.reward(theta)[:, anchors], theta)
    np.testing.assert_allclose(model.reward(prior.mean), MEAN, atol=1e-12)
    assert np.abs(model.features.toarray()).max() < 5.0  # the rest follows without blowing up errors


def test_draws_have_the_covariance_of_the_kernel():
    """20000 draws; the error of a covariance is at most sqrt(2) variances / sqrt(N), here within 5 of these."""
    model, prior = kernel_rewards(GRID, length_scale=2.0, std=3.0, mean=MEAN, kernel="matern52")
    draws = model.reward(prior.sample(np.random.default_rng(1), 20_000))
    whole = kernel_covariance(GRID, length_scale=2.0, std=3.0, kernel="matern52")
    error = 5.0 * 9.0 * np.sqrt(2.0 / 20_000)
    lost = (1.0 - prior.smoothness.share) * np.trace(whole)  # at most, anywhere: what is left out is a covariance
    assert 0.0 < lost < 0.0101 * np.trace(whole)
    assert np.abs(np.cov(draws.T) - whole).max() < error + lost
    assert np.abs(np.cov(draws.T) - reward_covariance((model, prior))).max() < error
    np.testing.assert_allclose(draws.mean(axis=0), MEAN, atol=5.0 * 3.0 / np.sqrt(20_000))


def test_where_nothing_can_be_left_out_every_state_is_a_parameter():
    model, prior = kernel_rewards(GRID, length_scale=1.0, std=2.0, mean=MEAN, kernel="matern12", share=1.0)
    assert model.kind == "per_state" and model.names is None
    np.testing.assert_allclose(
        prior.covariance, kernel_covariance(GRID, length_scale=1.0, std=2.0, kernel="matern12"), atol=1e-12
    )
    np.testing.assert_array_equal(prior.mean, MEAN)
    assert prior.smoothness.share == pytest.approx(1.0, abs=1e-9)


def test_a_nugget_gives_every_state_something_of_its_own():
    model, prior = kernel_rewards(GRID, length_scale=2.0, std=2.0, nugget=0.5)
    assert model.kind == "per_state"
    whole = kernel_covariance(GRID, length_scale=2.0, std=2.0)
    np.testing.assert_allclose(prior.covariance, whole + 0.25 * np.eye(30), atol=1e-7)
    assert "each state apart from that by sd 0.5: 30 of 30 directions keep 100.0 %" in prior.describe()


def test_known_states_stay_at_their_mean():
    std = np.where(np.arange(30) < 3, 0.0, 2.0)
    model, prior = kernel_rewards(GRID, length_scale=2.0, std=std, mean=5.0)
    draws = model.reward(prior.sample(np.random.default_rng(0), 50))
    np.testing.assert_array_equal(draws[:, :3], 5.0)
    assert draws[:, 3:].std(axis=0).min() > 1.0


def test_states_with_equal_features_have_equal_rewards():
    model, prior = kernel_rewards(GRID, length_scale=1.0, std=1.0, over=np.arange(30) % 3, share=1.0)
    assert prior.num_parameters == 3
    draws = model.reward(prior.sample(np.random.default_rng(0), 4)).reshape(4, 10, 3)
    np.testing.assert_allclose(draws, draws[:, :1].repeat(10, axis=1), atol=1e-9)


def test_it_says_what_it_is():
    prior = kernel_rewards(GRID, length_scale=2.0, std=3.0, over="graph", kernel="matern52", rank=6).prior
    words = "normal, Matern 5/2 kernel over the graph, length scale 2, sd 3: 6 of 30 directions keep "
    assert prior.describe().startswith(words) and prior.describe().endswith(" % of the variance")
    several = kernel_rewards(GRID, length_scale=[1.0, 4.0], std=np.linspace(1, 2, 30), kernel="matern12").prior
    assert "length scale 1, 4, sd 1 to 2" in several.describe()


def test_its_parts_agree_and_it_can_be_stored():
    for options in ({}, {"nugget": 0.3}, {"over": "graph"}):
        prior = kernel_rewards(GRID, length_scale=2.0, std=3.0, mean=MEAN, **options).prior
        check_prior(prior)
        again = KernelPrior.from_record(prior.to_record())
        assert again.smoothness == prior.smoothness and again.describe() == prior.describe()
    problem = Problem(GRID, *kernel_rewards(GRID, length_scale=2.0, std=3.0, mean=MEAN), 2.0)
    found = problem_from_record(problem_to_record(problem))
    assert found.prior.describe() == problem.prior.describe()
    assert found.reward_model.names == problem.reward_model.names and found.reward_model.kind == "kernel"
    draw = problem.prior.sample(np.random.default_rng(0), 1)[0]
    np.testing.assert_array_equal(found.reward_model.reward(draw), problem.reward_model.reward(draw))


def test_widened_is_a_kernel_prior_of_larger_deviations():
    model, prior = kernel_rewards(GRID, length_scale=2.0, std=3.0, mean=MEAN)
    wide = widened(prior, 2.0)
    assert isinstance(wide, KernelPrior) and "sd 6:" in wide.describe()
    np.testing.assert_allclose(reward_covariance((model, wide)), 4.0 * reward_covariance((model, prior)))
    np.testing.assert_allclose(model.reward(wide.mean), MEAN, atol=1e-12)


def test_correlation_of_neighbours():
    rewards = kernel_rewards(line(6), length_scale=2.0, std=3.0, share=1.0)
    assert neighbour_correlation(line(6), rewards) == pytest.approx(np.exp(-0.125), abs=1e-6)
    alone = FiniteMDP.from_function(lambda s, a: [], num_states=2, num_actions=1, discount=0.9)
    apart = KernelRewards(PerState(alone), kernel_rewards(alone, length_scale=1.0, std=1.0, over="graph").prior)
    assert neighbour_correlation(alone, apart) is None


def test_progress_keeps_to_the_error_stream(capfd):
    kernel_rewards(GRID, length_scale=2.0, std=3.0, progress=True)
    assert capfd.readouterr().out == ""


# -- inference ---------------------------------------------------------------------------------------------------------


def answers(*steps):
    return [Demonstration.annotation(state, action) for state, action in steps]


@pytest.mark.parametrize("engine", ["dense", "sparse"])
def test_gradient_equals_finite_differences(engine):
    mdp = line(7)
    problem = Problem(mdp, *kernel_rewards(mdp, length_scale=2.0, std=3.0, mean=MEAN[:7]), 1.5)
    assert problem.reward_model.kind == "kernel"
    target = Target(problem, answers((0, 2), (1, 2), (3, 1), (6, 0), (6, 0)), engine=engine)
    rng, num_checked = np.random.default_rng(0), 0
    for _ in range(20):
        z = rng.standard_normal(target.dimension)
        shifts = 1e-5 * np.concatenate([np.eye(target.dimension), -np.eye(target.dimension)])
        around = target.evaluate(z + shifts)
        value, gradient = target.log_density_and_gradient(z)
        if (around.policies != around.policies[0]).any():
            continue  # a kink lies between
        ahead, behind = np.split(around.log_density, 2)
        # third derivatives times 1e-10, and errors of solving of 1e-12 over 1e-5
        np.testing.assert_allclose(gradient, (ahead - behind) / 2e-5, atol=1e-6 * (1.0 + abs(value)))
        num_checked += 1
    assert num_checked > 10


def test_full_rank_is_the_correlated_normal_exactly():
    """With as many parameters as states both are the same problem, point by point."""
    mdp = line(3)
    options = {"length_scale": 1.5, "std": 2.0, "kernel": "matern32"}
    smooth = Problem(mdp, *kernel_rewards(mdp, share=1.0, **options), 2.0)
    plain = Problem(mdp, PerState(mdp), MultivariateNormal(np.zeros(3), kernel_covariance(mdp, **options)), 2.0)
    given = answers((0, 2), (1, 2), (2, 1))
    one, other = (infer(problem, given, "enumerate", num_points=4096) for problem in (smooth, plain))
    assert one.log_evidence == pytest.approx(other.log_evidence, abs=1e-9)
    np.testing.assert_allclose(one.mean_reward(), other.mean_reward(), atol=1e-9)


def test_a_rank_that_keeps_all_is_exact():
    """Two kinds of states: two parameters of a kernel say the same as two features with correlated weights."""
    mdp = line(6)
    kinds = np.array([0.0, 1.0, 0.0, 0.0, 1.0, 1.0])
    rewards = kernel_rewards(mdp, length_scale=1.0, std=2.0, over=kinds, share=1.0)
    assert rewards.prior.num_parameters == 2
    features = np.stack([kinds == 0, kinds == 1], axis=1).astype(float)
    joint = 4.0 * np.array([[1.0, np.exp(-0.5)], [np.exp(-0.5), 1.0]])
    by_hand = Problem(mdp, LinearFeatures(features, mdp), MultivariateNormal(np.zeros(2), joint), 2.0)
    given = answers((0, 2), (1, 1), (2, 2), (2, 0))
    problem = Problem(mdp, *rewards, 2.0)
    # nets of 2^14 points of both, which differ by a rotation: errors of about 1e-3
    one, other = (infer(each, given, "enumerate", num_points=2**14) for each in (problem, by_hand))
    assert one.log_evidence == pytest.approx(other.log_evidence, abs=5e-3)
    np.testing.assert_allclose(one.mean_reward(), other.mean_reward(), atol=0.02)


def test_low_rank_infers_what_the_whole_covariance_does():
    """Five of eight directions keep 99.9 %: what is left out moves no reward by more than its own deviation.

    2000 particles worth at least 400 each: means within 5 standard errors of sd / 20, plus a part of what is left out.
    """
    mdp = line(8)
    options = {"length_scale": 3.0, "std": 2.0}
    low = Problem(mdp, *kernel_rewards(mdp, share=0.999, **options), 2.0)
    whole = kernel_covariance(mdp, **options)
    full = Problem(mdp, PerState(mdp), MultivariateNormal(np.zeros(8), whole + 1e-8 * np.eye(8)), 2.0)
    assert low.reward_model.num_parameters < 6
    given = answers((0, 2), (2, 2), (4, 1), (7, 0), (5, 0), (1, 2))
    one, other = (infer(each, given, "smc", seed=1, num_particles=2000, num_threads=1) for each in (low, full))
    error = 5.0 * np.sqrt(2.0) / np.sqrt(min(one.diagnostics.particle_ess, other.diagnostics.particle_ess))
    assert error < 0.5
    assert np.abs(one.mean_reward() - other.mean_reward()).max() < error * other.reward_std().max() + 0.064
    assert one.log_evidence == pytest.approx(other.log_evidence, abs=0.25)


def test_few_answers_speak_for_neighbours():
    """After answers at the ends, a smooth prior has learned about the middle; independent rewards have not."""
    mdp = line(9)
    smooth = Problem(mdp, *kernel_rewards(mdp, length_scale=3.0, std=2.0), 2.0)
    given = answers((0, 2), (0, 2), (1, 2), (8, 1), (8, 1))
    posterior = infer(smooth, given, "smc", seed=0, num_particles=500, num_threads=1)
    means = posterior.mean_reward()
    assert (np.diff(means) > 0).all()  # the way up to the right end goes through the middle
    table = posterior_table(posterior)
    assert table["parameter"][0] == "reward of 0" and all(name.startswith("reward of ") for name in table["parameter"])
    rewards = reward_table(posterior)
    assert rewards["state"] == list(range(9)) and rewards["mean"] == pytest.approx(means)


def test_ranks_of_the_truth_are_uniform():
    """Simulation-based calibration: truth from the prior, its rank among posterior draws; 60 replications."""
    mdp = line(6)
    problem = Problem(mdp, *kernel_rewards(mdp, length_scale=2.0, std=2.0, share=0.98), 2.0)
    assert problem.reward_model.kind == "kernel"
    options = {"num_particles": 100}
    spec = CalibrationSpec(problem=problem, num_demonstrations=4, method_options=options, num_draws=19, seed=3)
    found = summarise(run_calibration(spec, 60), quantity_names(problem, spec.parameters), spec.num_draws)
    assert found.is_calibrated
    wrong = CalibrationSpec(
        problem=problem, num_demonstrations=4, method_options=options, num_draws=19, seed=3, assumed_beta_factor=6.0
    )
    assert not summarise(run_calibration(wrong, 60), quantity_names(problem, spec.parameters), 19).is_calibrated


# -- complaints --------------------------------------------------------------------------------------------------------

NOWHERE = FiniteMDP.from_function(lambda s, a: [(1.0, 0)], num_states=3, num_actions=2, discount=0.9)


@pytest.mark.parametrize(
    ("mdp", "options", "message"),
    [
        (GRID, {"kernel": "rbf"}, r"kernel must be one of squared_exponential, matern52, .*got 'rbf'"),
        (GRID, {"kernel": "matern"}, r"got 'matern'\. Did you mean 'matern"),
        (GRID, {"over": "grid"}, r"over must be one of positions, graph, got 'grid'\. Or give features"),
        (NOWHERE, {}, r"must have states that lie somewhere, got an MDP without grid.*over=\"graph\""),
        (GRID, {"over": np.zeros((29, 2))}, r"each of the 30 states, got shape \(29, 2\)\. Give \[S, F\]"),
        (GRID, {"over": np.full(30, np.nan)}, r"over must be finite, got nan for state 0, feature 0"),
        (GRID, {"length_scale": 0.0}, r"length_scale must be positive and finite, got 0\.0"),
        (GRID, {"length_scale": [1.0, -2.0]}, r"length_scale must be positive and finite, got -2\.0"),
        (GRID, {"length_scale": [1.0, 2.0, 3.0]}, r"length_scale must be a number or 2 of them, got shape \(3,\)"),
        (GRID, {"length_scale": [1.0, 2.0], "over": "graph"}, r"length_scale must be a number, got shape \(2,\)"),
        (GRID, {"length_scale": "long"}, r"length_scale must be numbers, got 'long'"),
        (GRID, {"std": 0.0}, r"std must be positive, or 0 for some states that are known, got 0 for state 0"),
        (GRID, {"std": np.where(np.arange(30) == 4, -1.0, 1.0)}, r"got -1 for state 4"),
        (GRID, {"std": [1.0, 2.0]}, r"std must be a number or have shape \(30,\), got \(2,\)"),
        (GRID, {"mean": np.full(30, np.inf)}, r"mean must be finite, got inf for state 0"),
        (GRID, {"share": 1.1}, r"share must lie above 0 and at most at 1, got 1\.1"),
        (GRID, {"share": 0.9, "rank": 3}, r"share or rank must be given, not both, got 0\.9 and 3"),
        (GRID, {"rank": 0}, r"rank must be a whole number of at least 1, got 0"),
        (GRID, {"rank": 31}, r"rank must be at most the number of states, 30, got 31"),
        (GRID, {"nugget": -0.1}, r"nugget must be at least 0, with a finite square, got -0\.1"),
        (GRID, {"nugget": 0.1, "rank": 3}, r"a nugget must come without share and rank"),
        (30, {}, r"must be made for a FiniteMDP, got int"),
    ],
)
def test_wrong_arguments_are_refused(mdp, options, message):
    with pytest.raises(InputError, match=message):
        kernel_rewards(mdp, **({"length_scale": 2.0, "std": 1.0} | options))


@pytest.mark.parametrize("rank", [6, 30])
def test_memory_gives_each_of_its_states_a_smooth_reward_of_its_own(rank):
    """Within a state of the memory the covariance is the kernel's, between two of them there is none."""
    problem = Problem(GRID, *kernel_rewards(GRID, length_scale=2.0, std=1.5, mean=MEAN, rank=rank), 2.0)
    own, shared = (problem.with_memory(visited(GRID, 3), rewards=each) for each in ("per_memory", "shared"))
    remembered = own.mdp.memory

    def moments(of):
        features = of.reward_model.features.toarray()
        mean = features @ np.broadcast_to(of.prior.mean, of.prior.num_parameters) + of.reward_model.offset
        return mean, features @ of.prior.covariance @ features.T

    mean, covariance = moments(problem)
    places = remembered.places
    expected = covariance[np.ix_(places, places)]
    is_same = remembered.memories[:, None] == remembered.memories
    assert 0 < is_same.mean() < 1
    for found, wanted in ((own, np.where(is_same, expected, 0.0)), (shared, expected)):
        np.testing.assert_allclose(moments(found)[0], mean[places], atol=1e-8)
        np.testing.assert_allclose(moments(found)[1], wanted, atol=1e-6)
    answers = [Demonstration.annotation(int(s), 1) for s in (0, 7, 11)]
    posterior = infer(own, answers, seed=0, num_threads=1, num_particles=200)
    assert posterior.theta.shape[1] == own.reward_model.num_parameters
