from dataclasses import replace

import numpy as np
import pytest

from journeyman.errors import InputError
from journeyman.experts import Beta, Boltzmann, LogNormal
from journeyman.inference import Diagnostics, Posterior, infer
from journeyman.mdp import FiniteMDP, solve
from journeyman.problem import Problem
from journeyman.report.posterior.knowledge import (
    action_certainty,
    expert_knowledge,
    parameter_knowledge,
    parameter_label,
    reward_intervals,
)
from journeyman.rewards import (
    Discrete,
    LinearFeatures,
    MultivariateNormal,
    Normal,
    PerState,
    PerStateAction,
    Size,
    Uniform,
)
from journeyman.worlds import make_world


def posterior_with(problem, theta, weights):
    """Samples made by hand, with their true optimal values."""
    theta = np.asarray(theta, dtype=float)
    values = np.array([solve(problem.mdp, problem.reward_model.reward(row)).values for row in theta])
    counts = problem.counts(())
    return Posterior(problem, counts, theta, np.asarray(weights, float), values, "made", Diagnostics(seconds=1.0))


def two_state_mdp(**options):
    """Action 0 stays, action 1 goes to the other state."""
    transitions = np.zeros((2, 2, 2))
    transitions[[0, 1], 0, [0, 1]] = transitions[[0, 1], 1, [1, 0]] = 1.0
    return FiniteMDP.from_dense(transitions, layout="SAS", discount=0.5, **options)


def test_parameters_against_their_prior_by_hand():
    """Weights 1/4 and 3/4; the prior of the jail is uniform on -100..0, of sd 100 / sqrt(12)."""
    world = make_world("jail", 3)
    theta = [[-80.0, -40.0, -50.0], [-40.0, -48.0, -50.0]]
    found = parameter_knowledge(posterior_with(world.problem, theta, [0.25, 0.75]))
    assert found.names == ("mud", "water", "lava")
    np.testing.assert_allclose(found.mean, [-50.0, -46.0, -50.0])
    np.testing.assert_allclose(found.std, [40 * np.sqrt(3 / 16), 8 * np.sqrt(3 / 16), 0.0])
    np.testing.assert_allclose(found.remaining, found.std / (100 / np.sqrt(12)))
    np.testing.assert_allclose(found.prior_intervals, [[-97.5, -2.5]] * 3)
    assert found.hardly_learned.tolist() == []


def test_hardly_learned_parameters_are_listed_least_learned_first():
    world = make_world("jail", 3)
    theta = [[-100.0, -50.0, -76.5], [0.0, -50.0, -23.5]]  # sd 50, 0 and 26.5; the prior's is 28.9
    found = parameter_knowledge(posterior_with(world.problem, theta, [0.5, 0.5]))
    assert found.hardly_learned.tolist() == [0, 2]


@pytest.mark.parametrize(
    ("prior", "expected"),
    [
        (Normal(2, mean=1.0, std=2.0), [[1 - 1.6448536 * 2, 1 + 1.6448536 * 2]] * 2),
        (Uniform(2, low=0.0, high=10.0), [[0.5, 9.5]] * 2),
        (
            MultivariateNormal(np.zeros(2), np.array([[4.0, 1.0], [1.0, 1.0]])),
            [[-3.2897073, 3.2897073], [-1.6448536, 1.6448536]],
        ),
        (Discrete(np.array([[0.0, 5.0], [1.0, 6.0]]), np.array([0.96, 0.04])), [[0.0, 0.0], [5.0, 5.0]]),
    ],
)
def test_prior_intervals_of_90_percent(prior, expected):
    np.testing.assert_allclose(prior.interval(0.9), expected, atol=1e-6)


def test_parameters_are_named_by_state_and_action():
    mdp = two_state_mdp(state_labels=("den", "nest"), action_labels=("stay", "go"))
    prior = Normal(2)
    assert parameter_label(Problem(mdp, PerState(mdp), prior, 1.0), 1) == "reward of nest"
    assert parameter_label(Problem(mdp, PerStateAction(mdp), Normal(4), 1.0), 1) == "reward of den, go"
    named = LinearFeatures(np.eye(2), mdp, names=("food", "light"))
    assert parameter_label(Problem(mdp, named, prior, 1.0), 0) == "food"


def test_reward_intervals_by_state_and_by_action():
    mdp = two_state_mdp()
    weights = np.array([0.02, 0.48, 0.5])
    by_state = posterior_with(
        Problem(mdp, PerState(mdp), Normal(2), 1.0), [[9.0, 0.0], [1.0, 2.0], [2.0, 2.0]], weights
    )
    found = reward_intervals(by_state, 0.9)
    assert found.actions is None
    np.testing.assert_allclose(found.intervals, [[1.0, 2.0], [2.0, 2.0]])  # weight 0.02 lies in the tails
    np.testing.assert_allclose(found.mean, weights @ by_state.theta)
    available = np.array([[True, True], [True, False]])
    problem = Problem(two_state_mdp(available=available), PerStateAction(Size(2, 2)), Normal(4), 1.0)
    found = reward_intervals(posterior_with(problem, [[0.0, 1.0, 2.0, 3.0]], [1.0]))
    assert (found.states.tolist(), found.actions.tolist()) == ([0, 0, 1], [0, 1, 0])
    np.testing.assert_allclose(found.intervals, [[0, 0], [1, 1], [2, 2]])
    with pytest.raises(InputError, match="level"):
        reward_intervals(by_state, 1.0)


def test_certainty_of_actions_by_hand():
    """State 0 pays 1 and state 1 pays 0 with chance 0.7, the reverse with 0.3: stay where it pays, else go."""
    problem = Problem(two_state_mdp(), PerState(Size(2, 2)), Normal(2), 1.0)
    posterior = posterior_with(problem, [[1.0, 0.0], [0.0, 1.0]], [0.7, 0.3])
    found = action_certainty(posterior, np.array([0, 0]))
    np.testing.assert_allclose(found.chances, [0.7, 0.3])
    np.testing.assert_allclose(found.rival_chances, [0.3, 0.7])
    assert found.rivals.tolist() == [1, 1]
    assert found.order.tolist() == [1, 0]


def test_states_without_a_choice_are_left_out():
    world = make_world("jail", 0)
    posterior = infer(world.problem, (), "smc", num_particles=100, seed=0)
    found = action_certainty(posterior, np.zeros(36, dtype=np.int64))
    assert 0 not in found.states  # the goal is terminal
    assert len(found.states) == 35
    jail = found.states.tolist().index(30)
    assert found.chances[jail] == pytest.approx(1.0)  # all actions tie there
    assert found.rival_chances[jail] == pytest.approx(1.0)


def test_shares_of_what_is_at_stake_do_not_depend_on_the_scale():
    """Two states, stay or go: each sample is divided by what its best policy gains over doing anything."""
    problem = Problem(two_state_mdp(), PerState(two_state_mdp()), Normal(2, 0.0, 5.0), 1.0)
    theta = np.array([[1.0, 0.0], [3.0, 1.0]])
    found = parameter_knowledge(posterior_with(problem, theta, [0.25, 0.75]))
    gaps = []
    for row in theta:
        random = np.linalg.solve(np.eye(2) - 0.5 * np.full((2, 2), 0.5), row)
        gaps.append(problem.mdp.initial @ (solve(problem.mdp, row).values - random))
    expected = theta / np.array(gaps)[:, None]
    np.testing.assert_allclose(found.shares, [0.25, 0.75] @ expected)
    np.testing.assert_allclose(found.share_intervals, np.sort(expected, axis=0).T)
    larger = parameter_knowledge(posterior_with(problem, 100.0 * theta, [0.25, 0.75]))
    np.testing.assert_allclose(larger.shares, found.shares)


def test_what_is_known_of_the_expert():
    world = make_world("jail", 3)
    assert expert_knowledge(posterior_with(world.problem, [[-80.0, -40.0, -50.0]], [1.0])) == ()
    problem = replace(world.problem, expert=Boltzmann(LogNormal(4.0, 0.5), lapse=Beta(1, 9)))
    theta = [[-80.0, -40.0, -50.0], [-40.0, -48.0, -50.0]]
    known = replace(posterior_with(problem, theta, [0.25, 0.75]), expert_parameters=np.array([[2.0, 0.1], [6.0, 0.2]]))
    beta, lapse = expert_knowledge(known)
    assert (beta.name, lapse.name) == ("beta", "lapse")
    assert (beta.mean, lapse.mean) == (pytest.approx(5.0), pytest.approx(0.175))
    assert beta.std == pytest.approx(4.0 * np.sqrt(3 / 16))
    assert beta.interval == (2.0, 6.0)
    assert beta.prior_interval == pytest.approx(tuple(4.0 * np.exp(0.5 * np.array([-1.959964, 1.959964]))), rel=1e-6)
