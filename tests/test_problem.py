"""Problem: that its parts fit, and which demonstrations can occur in it."""

import pickle

import numpy as np
import pytest

from journeyman.demonstrations import Demonstration
from journeyman.errors import InputError
from journeyman.mdp import FiniteMDP
from journeyman.problem import Problem
from journeyman.rewards import Discrete, Normal, PerState, PerStateAction, Size
from journeyman.worlds import make_world


def make_mdp(**options):
    """0 -> 1 -> 2, which is terminal; the second action does not exist in 1."""
    return FiniteMDP.from_function(
        lambda s, a: [(1.0, s + 1)] if s < 2 else [],
        num_states=3,
        num_actions=2,
        discount=0.9,
        available=[[True, True], [True, False], [True, True]],
        **options,
    )


def make_problem(mdp=None, **changes):
    arguments = {
        "mdp": mdp or make_mdp(),
        "reward_model": PerState(Size(3, 2)),
        "prior": Normal(3),
        "expert": 2.0,
    } | changes
    return Problem(**arguments)


def test_terminal_states_are_not_queryable_unless_said_so():
    assert make_problem().queryable.tolist() == [True, True, False]
    assert make_problem(queryable=[False, True, True]).queryable.tolist() == [False, True, True]


def test_a_problem_is_frozen_and_can_travel():
    queryable = np.array([True, True, True])
    problem = make_problem(queryable=queryable)
    queryable[:] = False
    assert problem.queryable.all()
    with pytest.raises(ValueError, match="read-only"):
        problem.queryable[0] = False
    assert pickle.loads(pickle.dumps(problem)).beta == 2.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mdp": "maze"}, "mdp must be a FiniteMDP, got str. The order is mdp, reward_model, prior, expert"),
        ({"reward_model": Normal(3)}, "reward_model must be a RewardModel, got Normal"),
        ({"prior": 3.0}, "prior must be a Prior, got float"),
        (
            {"reward_model": PerState(Size(4, 2))},
            "must cover 3 states and 2 actions, got 4 and 2. Make it for this MDP",
        ),
        ({"reward_model": PerState(Size(3, 3))}, "must cover 3 states and 2 actions, got 3 and 3"),
        ({"prior": Normal(2)}, r"as many parameters as the reward model \(3\), got 2"),
        ({"prior": Discrete([[0.0, 1.0]])}, r"as many parameters as the reward model \(3\), got 2"),
        ({"reward_model": PerStateAction(Size(3, 2))}, r"as many parameters as the reward model \(6\), got 3"),
        ({"queryable": [True, False]}, r"queryable must be a boolean array of shape \(3,\), got bool of shape \(2,\)"),
        ({"queryable": [1, 0, 1]}, "queryable must be a boolean array"),
        ({"queryable": [0, 2]}, "queryable must be a boolean array"),
        ({"queryable": [[True], [True, False]]}, "queryable must be a regular array"),
    ],
)
def test_parts_that_do_not_fit(changes, message):
    with pytest.raises(InputError, match=message):
        make_problem(**changes)


@pytest.mark.parametrize("beta", [0.0, -1.0, np.nan, np.inf, -np.inf])
def test_bad_beta(beta):
    with pytest.raises(InputError, match=rf"beta must be positive and finite, got {beta}\. Larger means closer"):
        make_problem(expert=beta)


@pytest.mark.parametrize("beta", ["high", None, [1.0, 2.0], True])
def test_beta_that_is_no_number(beta):
    with pytest.raises(InputError, match="beta must be a number, got"):
        make_problem(expert=beta)


def test_counts():
    demonstrations = [Demonstration(0, ((0, 1), (1, 0)), 2, "terminated"), Demonstration.annotation(0, 1)]
    assert make_problem().counts(demonstrations).tolist() == [[0, 2], [1, 0], [0, 0]]
    assert make_problem().counts(demonstrations[1]).tolist() == [[0, 1], [0, 0], [0, 0]]


@pytest.mark.parametrize(
    ("demonstration", "message"),
    [
        (
            Demonstration.annotation(1, 1),
            "use available actions, got action right in state b in demonstration 1. Remove",
        ),
        (Demonstration.annotation(2, 0), "not act in terminal states, got action left in state c in demonstration 1"),
        (Demonstration.annotation(3, 0), r"states 0\.\.2, got start state 3 in demonstration 1"),
        (Demonstration.annotation(0, 2), r"actions 0\.\.1, got \(0, 2\) in demonstration 1"),
    ],
)
def test_demonstrations_that_cannot_occur(demonstration, message):
    problem = make_problem(make_mdp(state_labels=["a", "b", "c"], action_labels=["left", "right"]))
    with pytest.raises(InputError, match=message):
        problem.counts([Demonstration.annotation(0, 0), demonstration])


def test_a_queryable_terminal_state_may_be_answered():
    problem = make_problem(queryable=[True, True, True])
    assert problem.counts(Demonstration.annotation(2, 1)).tolist() == [[0, 0], [0, 0], [0, 1]]


def test_unrolled_asks_at_time_0_only():
    unrolled = make_problem().unrolled(3)
    assert unrolled.mdp.num_states == 9
    assert unrolled.queryable.tolist() == [True, True, False] + [False] * 6
    assert unrolled.reward_model.num_parameters == 3 and unrolled.beta == 2.0
    assert unrolled.counts(Demonstration(0, ((0, 1), (4, 0)), 8, "terminated")).sum() == 2


@pytest.mark.parametrize("horizon", [0, -1, 1.5])
def test_bad_horizon(horizon):
    with pytest.raises(InputError, match=f"horizon must be a whole number of at least 1, got {horizon}"):
        make_problem().unrolled(horizon)


@pytest.mark.parametrize(
    ("demonstration", "message"),
    [
        (Demonstration(1, ((1, 0), (35, 0)), ended="truncated"), r"got state 35 after action stay in state 1"),
        (Demonstration(1, ((1, 0),), final_state=20, ended="terminated"), r"got state 20 after action stay in state 1"),
        (Demonstration(1, (), ended="truncated"), r"must start in a terminal state, got state 1 in demonstration 0"),
    ],
)
def test_demonstrations_that_cannot_happen_are_refused(demonstration, message):
    with pytest.raises(InputError, match=message):
        make_world("jail").problem.counts(demonstration)


def test_on_an_unrolled_problem_states_carry_time():
    unrolled = make_world("jail").problem.unrolled(3)
    assert unrolled.counts(Demonstration(1, ((1, 0), (37, 0)), ended="truncated")).sum() == 2
    # A demonstration of the world is the same: time is added.
    counts = unrolled.counts(Demonstration(1, ((1, 0), (1, 0)), ended="truncated"))
    assert counts[1, 0] == counts[37, 0] == 1
    with pytest.raises(InputError, match="follow the dynamics, got state"):
        unrolled.counts(Demonstration(1, ((1, 0), (73, 0)), ended="truncated"))
    with pytest.raises(InputError, match="follow the dynamics, got state"):  # the episode is over after 3 steps
        unrolled.counts(Demonstration(1, ((1, 0),) * 4, ended="truncated"))
