"""Soft values against their definition, and against what they must tend to."""

import numpy as np
import pytest
from mdp import twins
from mdp.random_mdps import varied_mdps
from scipy.special import logsumexp

from journeyman.errors import InputError, UnsupportedError
from journeyman.mdp import FiniteMDP, solve
from journeyman.mdp.elimination import elimination_of
from journeyman.mdp.soft import solve_soft
from journeyman.worlds import make_world


def backed_up(mdp, reward, beta, V):
    """One backup of soft values, from its definition."""
    q = twins.q_values(twins.dense(mdp), mdp.available, mdp.discount, reward, V)
    return np.where(mdp.terminal, q.max(axis=1), logsumexp(beta * q, axis=1) / beta)


@pytest.mark.parametrize("beta", [0.3, 2.0, 30.0])
def test_soft_values_solve_their_equation(beta):
    for rng, mdp in varied_mdps(15, seed=31):
        for reward in (rng.normal(size=mdp.num_states), rng.normal(size=mdp.available.shape)):
            found = solve_soft(mdp, reward[None], [beta])[0]
            np.testing.assert_allclose(
                backed_up(mdp, reward, beta, found), found, rtol=0, atol=1e-11 * (1.0 + np.abs(found).max())
            )  # the solver stops at a tenth of that; a contraction has one such point


def test_many_at_once_are_each_by_itself():
    world = make_world("jail")
    rng = np.random.default_rng(0)
    rewards, betas = rng.normal(size=(7, world.problem.mdp.num_states)), rng.uniform(0.5, 5.0, 7)
    together = solve_soft(world.problem.mdp, rewards, betas, num_threads=2)
    for reward, beta, values in zip(rewards, betas, together, strict=True):
        np.testing.assert_array_equal(solve_soft(world.problem.mdp, reward[None], [beta])[0], values)
    again = solve_soft(world.problem.mdp, rewards, betas, initial_values=together)
    np.testing.assert_allclose(again, together, rtol=1e-10)


def test_a_large_beta_gives_optimal_values():
    for rng, mdp in varied_mdps(8, seed=32):
        reward = rng.normal(size=mdp.num_states)
        optimal = solve(mdp, reward).values
        soft = solve_soft(mdp, reward[None], [1e6])[0]
        bonus = np.log(mdp.num_actions) / 1e6 / (1.0 - mdp.discount)  # all that choice can add
        assert (soft >= optimal - 1e-9 * (1 + np.abs(optimal).max())).all()
        assert (soft <= optimal + bonus + 1e-9 * (1 + np.abs(optimal).max())).all()


def test_a_tree_is_eliminated_without_fill():
    def move(state, action):
        child = 2 * state + 1 + action
        return [(1.0, child if child < 31 else (state - 1) // 2)]

    mdp = FiniteMDP.from_function(move, num_states=31, num_actions=2, discount=0.9)
    pattern = elimination_of(mdp)
    assert len(pattern.upper_columns) == len(pattern.lower_columns) == 30  # one per edge
    assert sorted(pattern.order.tolist()) == list(range(31))


def test_what_has_no_soft_values_is_refused():
    mdp = make_world("jail").problem.mdp
    with pytest.raises(InputError, match=r"beta must be positive and finite for soft values, got 0\.0"):
        solve_soft(mdp, np.zeros((1, mdp.num_states)), [0.0])
    huge = FiniteMDP.from_function(lambda s, a: [(1.0, s)], num_states=4001, num_actions=1, discount=0.5)
    with pytest.raises(UnsupportedError, match="soft values are solved for up to 4000 states, got 4001"):
        solve_soft(huge, np.zeros((1, 4001)), [1.0])
