import json

import numpy as np
import pytest

from journeyman.errors import InputError
from journeyman.mdp import FiniteMDP, solve
from journeyman.report.world.summary import optimal_actions, per_state, summarise_world, world_entries, world_record
from journeyman.worlds import WORLDS, make_world


@pytest.mark.parametrize("name", WORLDS)
def test_summary_of_every_world(name):
    world = make_world(name, 3)
    summary = summarise_world(world)
    mdp = world.problem.mdp
    states = np.arange(mdp.num_states)
    assert summary.optimal[states, solve(mdp, world.reward).policy].all()  # the solver's choice is one of them
    assert not (summary.optimal & ~mdp.available).any()
    np.testing.assert_allclose(summary.expert_policy.sum(axis=1), 1.0)
    np.testing.assert_allclose(summary.q.max(axis=1), world.expert.values, rtol=1e-9, atol=1e-9)
    assert (np.isnan(summary.expert_optimal) == mdp.terminal).all()
    chances = summary.expert_optimal[~mdp.terminal]
    assert ((chances > 0) & (chances <= 1 + 1e-12)).all()
    assert summary.expert_return <= summary.optimal_return + 1e-9 * (1 + abs(summary.optimal_return))


def test_closed_form_of_brown():
    """From s0 the better action pays 2 and leads to s1, whose better action pays 10; from s1 it pays 10."""
    summary = summarise_world(make_world("brown-two-state", 3))
    assert summary.optimal_return == pytest.approx((2 + 0.9 * 10 + 10) / 2)
    np.testing.assert_allclose(summary.expert_optimal, [1 / (1 + np.exp(-4)), 1 / (1 + np.exp(-20))])
    assert summary.optimal.sum(axis=1).tolist() == [1, 1]


def test_optimal_actions_follow_the_tie_rule():
    """Within 1e-9 (1 + max |q|), which is 1.01e-7 here; actions that do not exist have no part in it."""
    q = np.array([[100.0, 100.0 - 1.0e-7, 100.0 - 1.1e-7], [-np.inf, 1.0, 0.0]])
    assert optimal_actions(q).tolist() == [[True, True, False], [False, True, False]]


def test_in_the_jail_all_actions_are_optimal():
    summary = summarise_world(make_world("jail", 3))
    assert summary.optimal[30].all()


def test_reward_per_state_averages_over_available_actions():
    mdp = FiniteMDP.from_dense(
        np.zeros((2, 2, 2)), layout="SAS", discount=0.9, available=np.array([[True, True], [False, True]])
    )
    assert per_state(mdp, [1.0, 2.0]).tolist() == [1.0, 2.0]
    assert per_state(mdp, [[1.0, 3.0], [100.0, 5.0]]).tolist() == [2.0, 5.0]
    assert per_state(mdp, [[1.0, 3.0], [-np.inf, 5.0]]).tolist() == [2.0, 5.0]
    with pytest.raises(InputError, match=r"must have shape \(2,\) or \(2, 2\), got \(3,\)"):
        per_state(mdp, [1.0, 2.0, 3.0])


@pytest.mark.parametrize("name", WORLDS)
def test_record_is_plain_json(name):
    world = make_world(name, 1)
    record = json.loads(json.dumps(world_record(summarise_world(world)), allow_nan=False))
    mdp = world.problem.mdp
    assert (record["num_states"], record["num_actions"]) == (mdp.num_states, mdp.num_actions)
    assert len(record["optimal_actions"]) == len(record["values"]) == mdp.num_states
    assert list(record["true_parameters"].values()) == world.true_parameters.tolist()
    assert [chance is None for chance in record["expert_optimal"]] == mdp.terminal.tolist()


def test_list_has_every_world_with_its_docstring():
    entries = world_entries()
    assert [entry["name"] for entry in entries] == list(WORLDS)
    for entry in entries:
        assert entry["summary"].endswith(".")
        assert WORLDS[entry["name"]].__doc__.startswith(entry["summary"])
        assert {"beta"} <= set(entry["options"])
        assert "seed" not in entry["options"]
        assert all(
            type(default) in (int, float, str) for default in entry["options"].values()
        )  # what --world-set can parse
