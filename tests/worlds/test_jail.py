"""The structured 6x6 world."""

import numpy as np
import pytest

from journeyman.mdp import solve
from journeyman.worlds import make_world
from journeyman.worlds.jail import LAYOUT, OBSTACLES


@pytest.fixture(scope="module")
def world():
    return make_world("jail", 3)


def cells(world, kind):
    return np.flatnonzero(np.array(world.problem.mdp.grid.kinds) == kind)


def test_the_layout(world):
    assert len(LAYOUT) == 6 and all(len(line) == 6 for line in LAYOUT)
    assert cells(world, "jail").tolist() == [30]  # the lower left corner
    assert cells(world, "goal").size == 1
    assert all(cells(world, obstacle).size >= 1 for obstacle in OBSTACLES)


def test_rewards(world):
    """Goal +100, neutral -1, jail -10, and one unknown reward for each kind of obstacle."""
    reward = world.reward
    for kind, value in [("goal", 100.0), ("neutral", -1.0), ("jail", -10.0)]:
        assert (reward[cells(world, kind)] == value).all()
    assert world.problem.reward_model.names == ("mud", "water", "lava") == OBSTACLES
    for obstacle, value in zip(OBSTACLES, world.true_parameters, strict=True):
        assert (reward[cells(world, obstacle)] == value).all() and -100 < value < 0


def test_the_prior_is_uniform_between_minus_100_and_0(world):
    prior = world.problem.prior
    assert (prior.low.tolist(), prior.high.tolist()) == ([-100.0] * 3, [0.0] * 3)


def test_only_the_goal_is_terminal_and_the_start_is_any_ordinary_cell(world):
    mdp = world.problem.mdp
    assert np.flatnonzero(mdp.terminal).tolist() == cells(world, "goal").tolist()
    special = np.concatenate([cells(world, "goal"), cells(world, "jail")])
    assert (mdp.initial[special] == 0).all()
    np.testing.assert_allclose(np.delete(mdp.initial, special), 1 / 34, rtol=1e-12)


def test_the_jail_cannot_be_left(world):
    mdp = world.problem.mdp
    assert np.flatnonzero(mdp.reachable([30])).tolist() == [30]
    for action in range(5):
        next_states, probabilities = mdp.next_states(30, action)
        assert next_states.tolist() == [30] and probabilities.tolist() == pytest.approx([1.0])
    assert mdp.reachable([24])[30]  # but it can be entered


def test_all_actions_tie_in_the_jail(world):
    """-10 for ever is -10 / (1 - 0.9) = -100, whatever one does: the policy there is uniform, at any beta."""
    solution = solve(world.problem.mdp, world.reward)
    np.testing.assert_allclose(solution.q[30], -100.0, rtol=1e-12)
    assert solution.policy[30] == 0
    np.testing.assert_allclose(world.expert.policy[30], 0.2, rtol=1e-8)
    assert world.problem.queryable[30]


def test_no_state_is_more_uncertain_than_the_jail(world):
    """Action entropy therefore always asks there, as the paper says."""
    policy = world.expert.policy[world.problem.queryable]
    entropy = -(policy * np.log(np.where(policy > 0, policy, 1.0))).sum(axis=1)
    jail = np.flatnonzero(np.flatnonzero(world.problem.queryable) == 30)[0]
    assert entropy[jail] == pytest.approx(np.log(5), rel=1e-8) and entropy.argmax() == jail


def test_every_obstacle_matters():
    """Each kind of obstacle changes the best action somewhere, for some values of the others."""
    world = make_world("jail")
    model, mdp = world.problem.reward_model, world.problem.mdp
    for i in range(3):
        changes = 0
        for theta in world.problem.prior.sample(np.random.default_rng(0), 20):
            low, high = theta.copy(), theta.copy()
            low[i], high[i] = -99.0, -1.0
            changes += (solve(mdp, model.reward(low)).policy != solve(mdp, model.reward(high)).policy).any()
        assert changes >= 10
