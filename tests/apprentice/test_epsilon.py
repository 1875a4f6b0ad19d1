"""Epsilon as a share of what is at stake: exact values, no dependence on the scale of the reward, text and records."""

from dataclasses import replace

import numpy as np
import pytest

from journeyman.acquisition import score
from journeyman.apprentice import certify, expected_return, least_risky
from journeyman.apprentice.bounds import eig_min
from journeyman.apprentice.epsilon import Share, checked_epsilon, epsilon_record, epsilon_words
from journeyman.apprentice.regret import failures_of, regret_unit, regrets, stakes
from journeyman.errors import InputError
from journeyman.experts import Boltzmann
from journeyman.inference import infer
from journeyman.learner import ActiveLearner, LearnerSettings
from journeyman.mdp import FiniteMDP, evaluate_policy, solve
from journeyman.problem import Problem
from journeyman.rewards import Discrete, LinearFeatures
from journeyman.worlds import make_world


def one_choice(gains, chances=None) -> Problem:
    """One state, three actions that end the episode and pay 0, theta and 2 theta."""
    mdp = FiniteMDP.from_function(lambda s, a: [], num_states=1, num_actions=3, discount=0.5)
    features = np.array([0.0, 1.0, 2.0]).reshape(1, 3, 1)
    atoms = np.asarray(gains, dtype=float).reshape(-1, 1)
    weights = np.full(len(atoms), 1.0 / len(atoms)) if chances is None else np.asarray(chances)
    return Problem(mdp, LinearFeatures(features, mdp), Discrete(atoms, weights), 1.0)


def test_what_is_at_stake_is_the_gap_between_best_and_random():
    """Pays are 0, g, 2 g: the best is 2 g (or 0 if g < 0), the mean g."""
    posterior = infer(one_choice([3.0, -5.0, 0.5]), (), "enumerate")
    found = stakes(posterior)
    assert found.values == pytest.approx([3.0, 5.0, 0.5])
    assert (found.errors < 1e-12).all()
    shares = failures_of(posterior, np.array([1]), Share(0.5), "initial")
    assert shares.regret == pytest.approx([1.0, 1.0, 1.0])  # as bad as acting at random
    assert shares.is_failing.all()
    assert failures_of(posterior, np.array([2]), Share(0.5), "initial").is_failing.tolist() == [False, True, False]


def test_a_world_by_its_definition():
    world = make_world("random-grid", 3, size=4, terminals="independent")
    mdp, posterior = world.problem.mdp, infer(world.problem, world.expert.answers([0, 5]), seed=1, num_particles=200)
    for i in (0, 57):
        reward = posterior.rewards[i]
        random = evaluate_policy(mdp, mdp.available / mdp.available.sum(axis=1, keepdims=True), reward)
        expected = mdp.initial @ (solve(mdp, reward).values - random)
        assert stakes(posterior).values[i] == pytest.approx(expected, rel=1e-9)
    assert (regret_unit(posterior, 0.1) == 1.0).all()


@pytest.mark.parametrize("scope", ["initial", "every_state"])
def test_shares_do_not_depend_on_the_scale_of_the_reward(scope):
    """Rewards 100 times as large with a hundredth of the rationality are the same belief in other units."""
    world = make_world("random-grid", 3, size=3, terminals="independent")
    rng = np.random.default_rng(0)
    atoms = rng.normal(size=(300, world.problem.reward_model.num_parameters))
    small = replace(world.problem, prior=Discrete(atoms), expert=Boltzmann(2.0))
    large = replace(world.problem, prior=Discrete(100.0 * atoms), expert=Boltzmann(0.02))
    answers = world.expert.answers(np.flatnonzero(world.problem.queryable)[[0, 2, 2, 4]])
    certificates, scores, policies = [], [], []
    for problem in (small, large):
        posterior = infer(problem, answers, "enumerate")
        policies.append(least_risky(posterior, Share(0.2)))
        certificates.append(certify(posterior, Share(0.2), 0.1, policy=expected_return(posterior), scope=scope))
        scores.append([score(posterior, name, epsilon=Share(0.2)).values for name in ("failure_chance", "pac_eig")])
    first, second = certificates
    assert 0.0 < first.p_hat < 1.0
    assert (first.p_hat, first.status) == (pytest.approx(second.p_hat), second.status)
    assert first.mean_regret == pytest.approx(second.mean_regret, rel=1e-9)
    assert [state.state for state in first.top_states] == [state.state for state in second.top_states]
    np.testing.assert_allclose(scores[0], scores[1], rtol=1e-7, atol=1e-12)
    assert np.array_equal(*policies)
    absolute = [certify(infer(p, answers, "enumerate"), 0.2, 0.1, policy=policies[0]).p_hat for p in (small, large)]
    assert absolute[0] != absolute[1]  # a number of reward units means something else in each


def test_where_nothing_is_at_stake_nothing_is_lost():
    posterior = infer(one_choice([0.0, 1.0], [0.9, 0.1]), (), "enumerate")
    found = failures_of(posterior, np.array([0]), Share(0.1), "initial")
    assert found.is_failing.tolist() == [False, True]
    assert found.regret[0] == 0.0


def test_a_stake_within_its_numerical_error_fails():
    """Large values that all actions share hide what is at stake: nothing may be claimed of a share of it."""
    mdp = FiniteMDP.from_function(lambda s, a: [], num_states=1, num_actions=3, discount=0.5)
    features = np.array([[[1e12, 0.0], [1e12, 1e-5], [1e12, 2e-5]]])
    atoms = np.array([[1.0, 3.0], [1.0, -1.0]])
    posterior = infer(Problem(mdp, LinearFeatures(features, mdp), Discrete(atoms), 1.0), (), "enumerate")
    assert failures_of(posterior, np.array([2]), Share(0.1), "initial").is_failing.all()
    assert not certify(posterior, Share(0.1), 0.1).holds


@pytest.mark.parametrize(
    ("given", "expected"),
    [("5%", Share(0.05)), (" 12.5 % ", Share(0.125)), ("0.2", 0.2), (3, 3.0), (Share(0.1), Share(0.1))],
)
def test_epsilons_are_read_and_stored(given, expected):
    found = checked_epsilon(given)
    assert (type(found), found) == (type(expected), expected)
    assert checked_epsilon(epsilon_record(found)) == found
    assert type(checked_epsilon(epsilon_record(found))) is type(expected)


@pytest.mark.parametrize("given", ["", "%", "five", "-5%", "0%", 0, -1.0, "nan%", float("inf")])
def test_what_is_no_epsilon_is_refused(given):
    with pytest.raises(InputError, match="epsilon must be"):
        checked_epsilon(given)


def test_bounds_need_units_of_the_reward():
    with pytest.raises(InputError, match="epsilon must be in units of the reward for bounds, got 5%"):
        eig_min(4, 2, 1.0, 0.9, Share(0.05), 0.1)


def test_a_learner_with_a_share_says_so():
    world = make_world("jail", 3)
    learner = ActiveLearner(world.problem, epsilon="5%", inference_options={"num_particles": 200}, seed=1)
    assert learner.settings.epsilon == Share(0.05)
    for _ in range(2):
        learner.tell(query := learner.ask(), world.expert.demonstrate(query))
    certificate = learner.certificate()
    text = certificate.text().replace("\n", " ")
    assert "less than 5 % of what is at stake from the initial states" in text
    assert "epsilon='5%'" in repr(certificate)
    assert certificate.to_record()["epsilon"] == "5%"
    assert learner.settings.to_record()["epsilon"] == "5%"
    assert LearnerSettings.from_record(learner.settings.to_record()).epsilon == Share(0.05)
    posterior = learner.posterior()
    lost = regrets(posterior, learner.apprentice()) / stakes(posterior).values
    assert learner.history()[-1].expected_regret == pytest.approx(float(posterior.mean(lost)))
    assert epsilon_words(certificate.epsilon) == "5 % of what is at stake"


@pytest.mark.parametrize("given", ["500%", Share(5)])
def test_more_than_all_is_refused(given):
    with pytest.raises(InputError, match=r"at most 100%, .* got 500%\. '5%' is usual"):
        checked_epsilon(given)
