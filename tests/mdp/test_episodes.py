"""Episodes: frequencies against the exact rows, and where they end.

Chi-square tests use fixed seeds, so they always give the same answer; the level says how rarely a right
implementation would have failed for a seed chosen at random.
"""

import numpy as np
import pytest
from scipy import stats

from journeyman.errors import InputError
from journeyman.mdp import FiniteMDP, sample_episode
from journeyman.mdp.episodes import draw_action, draw_index, draw_next_state

LEVEL = 1e-3


class FixedRandom:
    """Stands for a generator that gives one number."""

    def __init__(self, value):
        self.value = value

    def random(self):
        return self.value


JUST_BELOW_1 = 1.0 - 2.0**-53  # the largest number that a generator gives


def assert_frequencies(draws, expected):
    """Chi-square of integer draws against chances that sum to 1; what is impossible must not occur at all."""
    expected = np.asarray(expected)
    counts = np.bincount(draws, minlength=len(expected))
    assert (counts[expected == 0] == 0).all()
    kept = expected > 0
    if kept.sum() == 1:
        return
    assert (len(draws) * expected[kept] > 5).all()  # else the statistic is no chi-square
    assert stats.chisquare(counts[kept], len(draws) * expected[kept]).pvalue > LEVEL


def test_actions_and_indices_have_their_chances():
    chances = np.array([0.0, 0.5, 0.2, 0.0, 0.3, 0.0])
    rng = np.random.default_rng(0)
    assert_frequencies([draw_action(rng, chances) for _ in range(20_000)], chances)
    assert_frequencies([draw_index(rng, 0.8 * chances) for _ in range(20_000)], np.append(0.8 * chances, 0.2))


@pytest.mark.parametrize("value", [0.0, JUST_BELOW_1])
def test_the_ends_of_the_unit_interval_give_possible_actions(value):
    rng = np.random.default_rng(1)
    for _ in range(200):
        chances = rng.dirichlet(np.ones(5)) * (rng.random(5) < 0.5)
        chances[2] += 1e-3
        chances /= chances.sum()
        assert chances[draw_action(FixedRandom(value), chances)] > 0


def test_rounding_never_ends_an_episode():
    """Thirds sum to just below 1; the largest random number must still find a next state."""
    P = np.full((3, 1, 3), 0.1) + np.eye(3)[:, None, :] * 0.7
    mdp = FiniteMDP.from_dense(P, layout="SAS", discount=0.9)
    assert all(draw_next_state(FixedRandom(JUST_BELOW_1), mdp, s, 0) is not None for s in range(3))


def test_next_states_have_their_chances_and_the_rest_ends_the_episode():
    P = [[[0.2, 0.0, 0.5]], [[0.0, 1.0, 0.0]], [[0.1, 0.3, 0.6]]]
    mdp = FiniteMDP.from_dense(P, layout="SAS", discount=0.9, missing_mass="terminates")
    rng = np.random.default_rng(2)
    for state in range(3):
        draws = [draw_next_state(rng, mdp, state, 0) for _ in range(20_000)]
        ended = 3
        expected = np.append(P[state][0], 1 - sum(P[state][0])).clip(0).round(12)
        assert_frequencies([ended if draw is None else draw for draw in draws], expected)


def test_transitions_of_episodes_follow_the_exact_rows():
    rng = np.random.default_rng(3)
    P = rng.dirichlet(np.full(4, 5.0), size=(4, 2))
    mdp = FiniteMDP.from_dense(P, layout="SAS", discount=0.9)
    policy = rng.dirichlet(np.full(2, 5.0), size=4)
    episode = sample_episode(rng, mdp, policy, 0, max_steps=40_000)
    states, actions = np.array(episode.steps).T
    next_states = np.append(states[1:], episode.final_state)
    for s in range(4):
        assert_frequencies(actions[states == s], policy[s])
        for a in range(2):
            assert_frequencies(next_states[(states == s) & (actions == a)], mdp.dense_transitions()[s, a])


def test_a_terminal_cell_ends_the_episode_without_an_action():
    mdp = FiniteMDP.from_function(
        lambda s, a: [(1.0, s + 1)] if s < 3 else [], num_states=4, num_actions=1, discount=0.9
    )
    policy, rng = np.ones((4, 1)), np.random.default_rng(0)
    episode = sample_episode(rng, mdp, policy, 1, max_steps=10)
    assert episode == (((1, 0), (2, 0)), 3, True)
    assert sample_episode(rng, mdp, policy, 3, max_steps=10) == ((), 3, True)
    assert sample_episode(rng, mdp, policy, 1, max_steps=1) == (((1, 0),), 2, False)
    assert sample_episode(rng, mdp, policy, 1, max_steps=2) == (((1, 0), (2, 0)), 3, True)


def test_a_choice_that_ends_the_episode_is_recorded():
    mdp = FiniteMDP.from_dense(np.zeros((1, 2, 1)), layout="SAS", discount=0.9, terminal=[False])
    episode = sample_episode(np.random.default_rng(0), mdp, np.array([[0.0, 1.0]]), 0, max_steps=5)
    assert episode == (((0, 1),), None, True)


def test_an_episode_depends_on_the_generator_alone():
    rng = np.random.default_rng(7)
    mdp = FiniteMDP.from_dense(rng.dirichlet(np.ones(5), size=(5, 3)), layout="SAS", discount=0.9)
    policy = rng.dirichlet(np.ones(3), size=5)
    first, again, other = (
        sample_episode(np.random.default_rng(seed), mdp, policy, 0, max_steps=30) for seed in (1, 1, 2)
    )
    assert first == again != other


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"max_steps": 0}, "max_steps must be a whole number of at least 1, got 0"),
        ({"max_steps": 1.5}, "max_steps must be a whole number"),
        ({"start_state": 2}, r"state must lie in 0\.\.1, got 2"),
        ({"start_state": -1}, "got -1"),
        ({"start_state": [0, 1]}, "one state must be given, got 2"),
        ({"start_state": "door"}, "whole numbers from 0, got 'door'"),
        ({"policy": np.array([1, 1])}, r"policy must have shape \(2, 2\), got \(2,\)\. Make one with action_prob"),
        ({"policy": np.array([[0.5, 0.6], [1, 0]])}, r"chances of available actions, got \[0\.5, 0\.6\] at state 0"),
        ({"policy": np.array([[0.0, 1.0], [1, 0]])}, "chances of available actions"),
        ({"policy": np.array([[1.5, -0.5], [1, 0]])}, "chances of available actions"),
        ({"policy": np.array([[np.nan, 1.0], [1, 0]])}, "chances of available actions"),
    ],
)
def test_bad_input(changes, message):
    mdp = FiniteMDP.from_dense(
        np.full((2, 2, 2), 0.5), layout="SAS", discount=0.9, available=[[True, False], [True, True]]
    )
    arguments = {"policy": np.array([[1.0, 0.0], [0.5, 0.5]]), "start_state": 0, "max_steps": 3} | changes
    with pytest.raises(InputError, match=message):
        sample_episode(np.random.default_rng(0), mdp, **arguments)
