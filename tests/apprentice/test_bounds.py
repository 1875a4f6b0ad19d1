"""The bounds against the published formulas, and what they refuse."""

import math

import numpy as np
import pytest

from journeyman.apprentice import all_bounds, eig_min, expected_steps, h_max
from journeyman.apprentice.bounds import finite_horizon_visits, states_within_effective_horizon
from journeyman.errors import InputError
from journeyman.worlds import make_world

ARGUMENTS = {"num_states": 64, "num_actions": 5, "beta": 2.0, "discount": 0.9, "epsilon": 0.1, "delta": 0.1}


def published(S, A, beta, discount, epsilon, delta):
    return delta * (1 - math.exp(-beta * (1 - discount) * epsilon)) ** 2 / (4 * A**2 * (A - 1) ** 3 * S)


@pytest.mark.parametrize("delta", [0.01, 0.1, 0.5])
@pytest.mark.parametrize(("S", "A"), [(1, 2), (1, 7), (64, 5), (36, 2)])
def test_published_formula(S, A, delta):
    for beta, discount, epsilon in ((2.0, 0.9, 0.1), (0.5, 0.3, 4.0)):
        expected = published(S, A, beta, discount, epsilon, delta)
        assert eig_min(S, A, beta, discount, epsilon, delta) == pytest.approx(expected, rel=1e-12)
        steps = expected_steps(eig_min(S, A, beta, discount, epsilon, delta), h_max(S, A))
        # the corollary's right side, which is the one that its proof gives
        drop = (1 - math.exp(-beta * (1 - discount) * epsilon)) ** 2
        corollary = 4 * math.log(3) * A**3 * (A - 1) ** 4 * S**2 / (delta * drop)
        assert steps == pytest.approx(corollary, rel=1e-12)


def test_the_numbers_of_the_example():
    assert eig_min(**ARGUMENTS) == pytest.approx(9.573e-11, rel=1e-3)
    assert h_max(64, 5) == pytest.approx(math.log(3) * 64 * 20)
    assert expected_steps(eig_min(**ARGUMENTS), h_max(64, 5)) == pytest.approx(1.469e13, rel=1e-3)


def test_a_delta_above_one_half_takes_the_other_term():
    """With one state and two actions, delta / (A - 1) passes 1 / A: the chance of being correct becomes the smaller."""
    assert eig_min(1, 2, 1.0, 0.5, 1.0, 0.9) == eig_min(1, 2, 1.0, 0.5, 1.0, 0.5)
    assert eig_min(4, 2, 1.0, 0.5, 1.0, 0.9) > eig_min(4, 2, 1.0, 0.5, 1.0, 0.5)


def test_tighter_forms():
    whole = eig_min(**ARGUMENTS)
    assert eig_min(**ARGUMENTS, support=16) == pytest.approx(4 * whole)
    assert eig_min(**ARGUMENTS, visits=10.0) == pytest.approx(whole)
    visits = finite_horizon_visits(0.9, 20)
    assert visits == pytest.approx((1 - 0.9**20) / (1 - 0.9))
    threshold = 0.1 * (1 - 0.9) / (1 - 0.9**20)
    expected = 0.1 * (1 - math.exp(-2 * threshold)) ** 2 / (4 * 25 * 64 * 64)
    assert eig_min(**ARGUMENTS, visits=visits) == pytest.approx(expected)
    assert finite_horizon_visits(0.9, 1) == pytest.approx(1.0)


def test_one_action_needs_no_answers():
    assert h_max(64, 1) == 0.0
    assert eig_min(64, 1, 2.0, 0.9, 0.1, 0.1) == math.inf
    assert [entry.expected_steps for entry in all_bounds(64, 1, 2.0, 0.9, 0.1, 0.1)] == [0.0]


def test_all_bounds():
    found = {entry.name: entry for entry in all_bounds(**ARGUMENTS, support=30, horizon=20, near_states=40)}
    assert list(found) == ["published", "support", "horizon", "support and horizon", "heuristic"]
    assert [name for name, entry in found.items() if not entry.is_valid] == ["heuristic"]
    steps = {name: entry.expected_steps for name, entry in found.items()}
    assert steps["support and horizon"] < min(steps["support"], steps["horizon"]) < steps["published"]
    assert [entry.name for entry in all_bounds(**ARGUMENTS)] == ["published"]


def test_heuristic_states():
    mdp = make_world("jail", 0).problem.mdp
    near = states_within_effective_horizon(mdp)
    np.testing.assert_array_equal(near, mdp.reachable(within=10))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_states": 0}, "the number of states must be"),
        ({"num_actions": 0}, "the number of actions must be"),
        ({"beta": 0.0}, "beta must be positive"),
        ({"discount": 1.0}, "discount must"),
        ({"epsilon": 0.0}, "epsilon must be positive"),
        ({"delta": 0.0}, "delta must lie strictly between 0 and 1"),
        ({"delta": 1.0}, "delta must lie strictly between 0 and 1"),
        ({"support": 65}, "at most all 64, got 65"),
        ({"support": 0}, "at least 1"),
        ({"visits": 11.0}, "visits must be positive and at most"),
        ({"visits": 0.0}, "visits must be positive"),
        ({"num_actions": 1, "delta": 2.0}, "delta must lie"),
    ],
)
def test_bad_input(changes, message):
    with pytest.raises(InputError, match=message):
        eig_min(**(ARGUMENTS | changes))


def test_bad_steps_and_horizon():
    with pytest.raises(InputError, match="information must be positive"):
        expected_steps(0.0, 1.0)
    with pytest.raises(InputError, match="horizon must be"):
        all_bounds(**ARGUMENTS, horizon=0)
