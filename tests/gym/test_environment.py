"""JourneymanEnv passes Gymnasium's checks, and its returns are the values of the problem."""

import numpy as np
import pytest

from journeyman.errors import InputError
from journeyman.mdp import FiniteMDP, evaluate_policy, solve
from journeyman.problem import Problem
from journeyman.rewards import Normal, PerState
from journeyman.worlds import WORLDS, make_world

gymnasium = pytest.importorskip("gymnasium")
check_env = pytest.importorskip("gymnasium.utils.env_checker").check_env
gym = pytest.importorskip("journeyman.gym")
JourneymanEnv, play = gym.JourneymanEnv, gym.play


def cut_corner():
    """Three states: action 1 is not available in state 0; row (1, 0) ends the episode half of the time."""
    return FiniteMDP.from_function(
        lambda s, a: [(0.5, 2)] if (s, a) == (1, 0) else [] if s == 2 else [(1.0, 1)],
        num_states=3,
        num_actions=2,
        discount=0.9,
        initial=[1.0, 0.0, 0.0],
        available=[[True, False], [True, True], [True, True]],
        missing_mass="terminates",
        state_labels=("door", "hall", "garden"),
        action_labels=("go", "wait"),
    )


@pytest.mark.parametrize("name", [*sorted(WORLDS.builtin), "gym:FrozenLake-v1"])
def test_every_world_passes_the_checks_of_gymnasium(name):
    """Warnings of the checks are errors here. Drawing is tried below."""
    check_env(JourneymanEnv(make_world(name)), skip_render_check=True)


def test_problems_with_missing_actions_and_mass_pass_too():
    mdp = cut_corner()
    check_env(JourneymanEnv(mdp, reward=[1.0, 2.0, 3.0]))
    problem = Problem(mdp, PerState(mdp), Normal(3), 1.0)
    check_env(JourneymanEnv(problem.unrolled(4), theta=[1.0, 2.0, 3.0]), skip_render_check=True)


def test_nothing_is_registered():
    before = set(gymnasium.registry)
    env = JourneymanEnv(make_world("jail"))
    assert env.spec.make(render_mode="ansi").unwrapped.render_mode == "ansi"
    assert set(gymnasium.registry) == before


@pytest.mark.parametrize(("name", "options"), [("random-grid", {"size": 4, "num_initial": 2}), ("brown-two-state", {})])
def test_returns_agree_with_values(name, options):
    """Mean discounted return of the optimal policy over 300 episodes, within 4 standard errors of its value.

    Episodes stop after 80 steps: what is left is worth 0.9^80 = 2e-4 of the value there. Terminal cells pay on entry.
    """
    world = make_world(name, 1, **options)
    mdp = world.problem.mdp
    solution = solve(mdp, world.reward)
    env = JourneymanEnv(world)
    played = play(env, solution.policy, 300, discount=mdp.discount, seed=5, max_steps=80, mdp=mdp)
    value = float(mdp.initial @ evaluate_policy(mdp, solution.policy, world.reward))
    assert abs(played.mean - value) <= 4 * played.standard_error + 0.9**80 * np.abs(solution.values).max()
    assert world.problem.counts(played.demonstrations).sum() == sum(map(len, played.demonstrations))


def test_rewards_and_ends_by_hand():
    env = JourneymanEnv(cut_corner(), reward=[1.0, 2.0, 3.0], unavailable="error")
    assert env.reset(seed=0)[0] == 0
    state, reward, is_over, is_stopped, info = env.step(0)
    assert (state, reward, is_over, is_stopped, info["state"]) == (1, 1.0, False, False, "hall")
    assert info["action_mask"].tolist() == [1, 1]
    ends = []
    for seed in range(200):
        env.reset(seed=seed, options={"state": "hall"})
        state, reward, is_over, _, _ = env.step(0)
        assert is_over and (state, round(reward, 12)) in ((2, 2.0 + 0.9 * 3.0), (1, 2.0))
        ends.append(state)
    assert 60 < ends.count(2) < 140  # half, within 5.6 standard deviations
    env.reset(options={"state": 2})
    assert env.step(1)[:3] == (2, 3.0, True)  # an episode that begins in a terminal cell: its reward, once


def test_actions_that_do_not_exist():
    strict = JourneymanEnv(cut_corner(), reward=[1.0, 2.0, 3.0], unavailable="error")
    strict.reset(seed=0)
    with pytest.raises(InputError, match="got wait in state door, which has go"):
        strict.step(1)
    for reward, pay in (([1.0, 2.0, 3.0], 0.0), ([1.0, -2.0, 3.0], -2.0)):
        env = JourneymanEnv(cut_corner(), reward=reward)
        _, info = env.reset(seed=0)
        assert info["action_mask"].tolist() == [1, 0]
        assert env.step(1)[:3] == (0, pay, False)


def test_reset_in_a_state():
    env = JourneymanEnv(make_world("gym:FrozenLake-v1"))
    assert env.reset(options={"state": 6})[0] == 6
    assert env.reset(options={"state": "r2c1"})[0] == 9
    assert env.reset(options={})[0] == 0
    with pytest.raises(InputError, match="a state must be a label or a number"):
        env.reset(options={"state": 99})
    with pytest.raises(InputError, match=r"an option of reset must be one that exists, got 'stat'\. Did you mean"):
        env.reset(options={"stat": 1})


def test_same_seed_same_episode():
    env = JourneymanEnv(make_world("jail"))

    def walk(seed):
        return [env.reset(seed=seed)[0], *(env.step(action % 5)[0] for action in range(20))]

    assert walk(3) == walk(3) != walk(4)


def test_drawings():
    world = make_world("gym:FrozenLake-v1")
    env = JourneymanEnv(world, render_mode="ansi")
    env.reset(seed=0, options={"state": 4})
    assert env.render().splitlines()[:3] == ["    0  1  2  3", " 0  s  .  .  . ", " 4 [.] h  .  h "]
    after = env.step(0)[4]["state"]
    assert env.render().splitlines()[-1] == f"state {after} after left in r1c0: reward 0"
    env = JourneymanEnv(world, render_mode="rgb_array")
    env.reset(options={"state": 0})
    first = env.render()
    env.reset(options={"state": 4})
    second = env.render()
    assert first.dtype == np.uint8 and first.shape[2] == 3
    rows = np.flatnonzero((first != second).any(axis=(1, 2)))
    columns = np.flatnonzero((first != second).any(axis=(0, 2)))
    assert np.ptp(rows) > 2 * np.ptp(columns) > 0  # the mark is a cell further down
    assert JourneymanEnv(world).render() is None


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((5,), {}, "must be made of a World, a Problem or a FiniteMDP, got int"),
        ((cut_corner(),), {}, "must pay a reward, got a FiniteMDP, which has none"),
        ((cut_corner(),), {"theta": [1.0]}, "theta must go with a problem"),
        ((cut_corner(),), {"reward": [1.0] * 3, "theta": [1.0]}, "must have one reward, got reward and theta"),
        ((cut_corner(),), {"reward": [1.0, 2.0]}, r"rewards must have shape \[M, 3\]"),
        ((cut_corner(),), {"reward": [1.0, 2.0, np.nan]}, "rewards must be finite"),
        ((cut_corner(),), {"reward": [1.0] * 3, "render_mode": "human"}, "render_mode must be one of"),
        ((cut_corner(),), {"reward": [1.0] * 3, "unavailable": "no"}, "unavailable must be one of stay, error"),
    ],
)
def test_bad_arguments(arguments, options, message):
    with pytest.raises(InputError, match=message):
        JourneymanEnv(*arguments, **options)


def test_bad_steps():
    env = JourneymanEnv(cut_corner(), reward=[1.0, 2.0, 3.0])
    with pytest.raises(InputError, match=r"Call env\.reset\(\) first"):
        env.step(0)
    env.reset(seed=0)
    for action in (2, -1, 0.5, "go"):
        with pytest.raises(InputError, match="an action must"):
            env.step(action)


def test_nothing_is_paid_after_the_end():
    """Where a row ends the episode, the observation is the state before: going on from there would be an episode."""
    env = JourneymanEnv(cut_corner(), reward=[1.0, 2.0, 3.0])
    env.reset(seed=0, options={"state": "garden"})
    assert env.step(0)[1:3] == (3.0, True)
    with pytest.raises(InputError, match=r"must not go on after its end\. Call env\.reset\(\)"):
        env.step(0)
    env.reset(seed=0)
    assert not env.step(0)[2]
