"""Policies in Gymnasium's environments: returns agree with values, episodes become demonstrations."""

import numpy as np
import pytest

from journeyman.errors import InputError
from journeyman.mdp import evaluate_policy, solve
from journeyman.problem import Problem
from journeyman.rewards import Normal, PerState

gymnasium = pytest.importorskip("gymnasium")
gym = pytest.importorskip("journeyman.gym")
TAXI = "Taxi-v" + str(max(spec.version for spec in gymnasium.registry.values() if spec.name == "Taxi"))


def test_an_optimal_policy_gets_its_value_in_the_lake():
    """400 episodes, within 4 standard errors; after 150 steps what is left is worth less than 0.95^150 = 5e-4."""
    env = gymnasium.make("FrozenLake-v1")
    tables = gym.read_tables(env)
    mdp = tables.mdp(discount=0.95, time_limit="ignore")
    policy = solve(mdp, tables.expected_reward).policy
    value = float(mdp.initial @ evaluate_policy(mdp, policy, tables.expected_reward))
    played = gym.play(env.unwrapped, policy, 400, discount=0.95, seed=0, max_steps=150, mdp=mdp)
    assert abs(played.mean - value) <= 4 * played.standard_error + 5e-4
    assert played.returns.max() == 1.0 and 0 < played.num_truncated < 40


def test_taxi_ends_where_the_model_has_no_state():
    env = gymnasium.make(TAXI)
    tables = gym.read_tables(env)
    mdp = tables.mdp(discount=0.95, time_limit="ignore")
    solution = solve(mdp, tables.expected_reward)
    played = gym.play(env, solution.policy, 60, discount=0.95, seed=1, mdp=mdp)
    assert {item.ended for item in played.demonstrations} == {"terminated"}
    assert all(item.final_state is None and item.steps[-1][1] == 5 for item in played.demonstrations)
    starts = np.array([item.start_state for item in played.demonstrations])
    np.testing.assert_allclose(
        played.discounted_returns, solution.values[starts], atol=1e-9
    )  # nothing is left to chance
    assert np.isclose(played.returns.mean(), 7.9, atol=1.0)  # 20 less a dozen steps
    problem = Problem(mdp, PerState(mdp), Normal(mdp.num_states), 1.0)
    assert problem.counts(played.demonstrations).sum() == sum(map(len, played.demonstrations))


def test_chances_functions_and_seeds():
    env = gymnasium.make("FrozenLake-v1")
    uniform = np.full((16, 4), 0.25)
    first, second = (gym.play(env, uniform, 5, discount=0.9, seed=4) for _ in range(2))
    assert first.demonstrations == second.demonstrations
    always = gym.play(env, lambda observation: 2, 5, discount=0.9, seed=4)
    assert {action for item in always.demonstrations for _, action in item.steps} == {2}
    assert np.isnan(gym.play(env, uniform, 1, discount=0.9).standard_error)


def test_other_observations_need_a_state_fn():
    env = gymnasium.wrappers.TransformObservation(
        gymnasium.make("FrozenLake-v1"), lambda s: np.array(divmod(s, 4), dtype=float), gymnasium.spaces.Box(0, 3, (2,))
    )
    with pytest.raises(InputError, match=r"an observation must be a state number, got array.*state_fn=lambda"):
        gym.play(env, np.zeros(16, dtype=int), 1, discount=0.9)
    options = {"discount": 0.9, "seed": 2, "state_fn": lambda cell: int(cell[0] * 4 + cell[1])}
    found = gym.play(env, np.full((16, 4), 0.25), 3, **options)
    plain = gym.play(gymnasium.make("FrozenLake-v1"), np.full((16, 4), 0.25), 3, discount=0.9, seed=2)
    assert found.demonstrations == plain.demonstrations
    with pytest.raises(InputError, match=r"state_fn must return a state number, got 0\.5\. Return an int"):
        gym.play(env, lambda o: 0, 1, discount=0.9, state_fn=lambda cell: 0.5)


@pytest.mark.parametrize("policy", [np.full((16, 4), 0.3), np.zeros(16), "left", np.zeros((2, 2, 2))])
def test_bad_policies(policy):
    with pytest.raises(InputError, match="policy must be an action for each state"):
        gym.play(gymnasium.make("FrozenLake-v1"), policy, 1, discount=0.9)


@pytest.mark.parametrize("policy", [np.zeros(3, dtype=int), np.full((3, 4), 0.25)])
def test_policies_of_other_problems(policy):
    env = JumpingEnv()
    with pytest.raises(InputError, match="policy must have an entry for each state, got 3 and state 7"):
        gym.play(env, policy, 1, discount=0.9)
    with pytest.raises(InputError, match="what the policy gives must be a whole number of at least 0, got 'left'"):
        gym.play(env, lambda observation: "left", 1, discount=0.9)
    assert gym.play(env, lambda observation: np.array(1), 1, discount=0.9).returns == [1.0]  # as trained agents give it


class JumpingEnv:
    """An environment that is Gymnasium's by its methods alone."""

    def reset(self, *, seed=None):
        return 7, {}

    def step(self, action):
        return 7, float(action), True, False, {}
