"""Worlds as people have them: functions of many states or one, environments; and what is refused of them."""

import gymnasium
import numpy as np
import pytest

from journeyman.continuous import (
    MOUNTAIN_CAR_BOUNDS,
    PENDULUM_BOUNDS,
    discretise,
    mountain_car_step,
    pendulum_step,
)
from journeyman.errors import InputError, UnsupportedError

CAR = {"bounds": MOUNTAIN_CAR_BOUNDS, "points": [9, 7], "discount": 0.99, "progress": False}
TURN = {
    "bounds": PENDULUM_BOUNDS,
    "points": [8, 7],
    "discount": 0.98,
    "boundary": ("wrap", "clip"),
    "actions": [-2.0, 0.0, 2.0],
    "progress": False,
}
LINE = {"bounds": [(0.0, 1.0)], "points": 6, "discount": 0.9, "progress": False}


def same_rows(first, second, tolerance=1e-12):
    difference = (first.mdp.transition_matrix - second.mdp.transition_matrix).tocoo()
    return float(np.abs(difference.data).max(initial=0.0)) <= tolerance


def test_the_car_is_that_of_gymnasium():
    env = gymnasium.make("MountainCar-v0").unwrapped
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    states = np.concatenate([rng.uniform([-1.2, -0.07], [0.6, 0.07], (300, 2)), [[-1.19, -0.06], [0.49, 0.05]]])
    for action in range(3):
        expected, is_done = [], []
        for state in states:
            env.state = state.copy()
            is_done.append(env.step(action)[2])
            expected.append(env.state)
        found = mountain_car_step(states, action)
        np.testing.assert_allclose(found[0], np.array(expected, dtype=float), rtol=0, atol=1e-12)
        assert (found[1] == is_done).all() and any(is_done)


def test_the_pendulum_is_that_of_gymnasium():
    env = gymnasium.make("Pendulum-v1").unwrapped
    env.reset(seed=0)
    states = np.random.default_rng(0).uniform([-7.0, -8.0], [7.0, 8.0], (300, 2))
    for torque in (-2.0, -0.7, 0.0, 3.0):
        expected = []
        for state in states:
            env.state = state.copy()
            env.step(np.array([torque]))
            expected.append(env.state)
        np.testing.assert_allclose(pendulum_step(states, torque), expected, rtol=0, atol=1e-12)


def test_an_environment_and_its_step_function_become_the_same_mdp():
    env = discretise(gymnasium.make("MountainCar-v0"), **CAR)
    own = discretise(mountain_car_step, **CAR, actions=3)
    assert env.mdp.num_actions == 3 and same_rows(env, own)
    assert (own.mdp.transition_matrix.sum(axis=1) < 0.5).any()  # episodes end at the top
    turning = discretise(gymnasium.make("Pendulum-v1"), **TURN)
    assert same_rows(turning, discretise(pendulum_step, **TURN))
    assert turning.mdp.action_labels == ("u = -2", "u = 0", "u = 2")


def test_a_function_of_one_state_is_called_for_each():
    def car(state, action):
        position, velocity = state
        (after,), (is_done,) = mountain_car_step(np.array([[position, velocity]]), action)
        return (after[0], after[1]), is_done

    assert same_rows(discretise(car, **CAR, actions=3), discretise(mountain_car_step, **CAR, actions=3))


def test_an_environment_with_another_way_to_its_state():
    class Hidden:
        """A world whose state has another name, and cannot be set as `state`."""

        unwrapped = property(lambda self: self)
        action_space = gymnasium.spaces.Discrete(2)
        place = 0.0

        def reset(self, *, seed=None):
            self.place = 0.5

        def step(self, action):
            self.place = 0.5 * self.place + 0.5 * action
            return None, 0.0, False, False, {}

    with pytest.raises(UnsupportedError, match="must let its state be set, but environment Hidden does not"):
        discretise(Hidden(), **LINE)
    found = discretise(
        Hidden(),
        **LINE,
        state_fn=lambda env: [env.place],
        set_state_fn=lambda env, state: setattr(env, "place", float(state[0])),
    )
    assert same_rows(found, discretise(lambda x, a: 0.5 * x + 0.5 * a, **LINE, actions=2))


def test_environments_that_cannot_be_set_are_refused():
    class Deaf(gymnasium.Env):
        """A world that keeps its state elsewhere, whatever `state` is set to."""

        action_space, state, hidden = gymnasium.spaces.Discrete(2), np.zeros(1), np.zeros(1)

        def step(self, action):
            self.state = self.hidden = self.hidden + 0.0
            return self.state, 0.0, False, False, {}

        def reset(self, *, seed=None, options=None):
            return self.state, {}

    with pytest.raises(UnsupportedError, match="its steps do not depend on the state that was set"):
        discretise(Deaf(), **LINE)

    class Fixed(Deaf):
        state = property(lambda self: np.zeros(1))

    with pytest.raises(UnsupportedError, match="Give set_state_fn"):
        discretise(Fixed(), **LINE)
    with pytest.raises(UnsupportedError, match="FrozenLake-v1 does not: it has no attribute 'state'"):
        discretise(gymnasium.make("FrozenLake-v1"), **LINE)
    with pytest.raises(InputError, match="bounds must be given for each of the 2 numbers of the state"):
        discretise(gymnasium.make("MountainCar-v0"), **LINE)
    with pytest.raises(InputError, match="actions must be given for environment Pendulum-v1"):
        discretise(gymnasium.make("Pendulum-v1"), **(TURN | {"actions": None}))
    with pytest.raises(InputError, match=r"actions must be such as environment Pendulum-v1 takes.*got array\(\[9\.\]"):
        discretise(gymnasium.make("Pendulum-v1"), **(TURN | {"actions": [9.0]}))
    with pytest.raises(UnsupportedError, match="must have deterministic steps"):
        discretise(gymnasium.make("MountainCar-v0"), **CAR, num_samples=3)


def test_dynamics_that_change_are_refused():
    calls = []

    def drifting(states, action):
        calls.append(1)
        return states + 1e-3 * len(calls)

    with pytest.raises(InputError, match=r"must give the same next state.*dynamics that change with time or history"):
        discretise(drifting, **LINE, actions=1)
    hidden = np.random.default_rng(0)
    with pytest.raises(InputError, match="must give the same next state whenever it is called"):
        discretise(lambda x, a: x + hidden.normal(), **LINE, actions=1)
    with pytest.raises(InputError, match="Draw all noise from the rng"):
        discretise(lambda x, a, rng: x + hidden.normal(), **LINE, actions=1, num_samples=3)


def test_what_a_step_function_returns_is_checked():
    with pytest.raises(InputError, match=r"must return finite next states, got \[nan\] at state \[0\.\d*\], action 1"):
        discretise(lambda x, a: np.where((x > 0.5) & (a == 1), np.nan, x), **LINE, actions=2)
    with pytest.raises(InputError, match=r"must return next states of the shape that it got, \(1,\)"):
        discretise(lambda x, a: np.zeros(3), **LINE, actions=2)
    with pytest.raises(InputError, match="must be numbers"):
        discretise(lambda x, a: "there", **LINE, actions=2)
    with pytest.raises(InputError, match="unless num_samples is given"):
        discretise(lambda x, a, rng: x, **LINE, actions=2)
    with pytest.raises(InputError, match="where num_samples is given"):
        discretise(lambda x, a: x, **LINE, actions=2, num_samples=4)
    with pytest.raises(InputError, match="actions must be given for a step function"):
        discretise(lambda x, a: x, **LINE)
    with pytest.raises(InputError, match="actions must be a list of at least one"):
        discretise(lambda x, a: x, **LINE, actions=[])
    with pytest.raises(InputError, match="a world must be a function"):
        discretise(3, **LINE, actions=2)
    with pytest.raises(InputError, match="state_fn and set_state_fn must be left out"):
        discretise(lambda x, a: x, **LINE, actions=2, state_fn=abs)
    with pytest.raises(ZeroDivisionError):  # a bug of the caller keeps its traceback
        discretise(lambda x, a: x / (1 // 0), **LINE, actions=2)


def test_wrappers_vectors_and_wrong_shapes_are_refused():
    options = {"bounds": MOUNTAIN_CAR_BOUNDS, "points": 5, "discount": 0.9}
    turned = gymnasium.wrappers.TransformAction(gymnasium.make("MountainCar-v0"), lambda action: 2 - action, None)
    with pytest.raises(UnsupportedError, match=r"TransformAction may change .* Give env\.unwrapped"):
        discretise(turned, **options)
    assert discretise(turned.unwrapped, **options).mdp.num_states == 25
    with pytest.raises(UnsupportedError, match="got a vector of 2"):
        discretise(gymnasium.make_vec("MountainCar-v0", 2), **options)
    with pytest.raises(InputError, match=r"got 'MountainCar-v0'\. .*gymnasium\.make"):
        discretise("MountainCar-v0", **options)
    with pytest.raises(InputError, match=r"of the shape that it got, \(5, 2\).* got \(5, 1\)"):
        discretise(lambda states, action: states[:, :1], actions=1, **options)
    with pytest.raises(ZeroDivisionError):  # what is raised in there is shown as it is
        discretise(lambda states, action: 1 / 0, actions=1, **options)
