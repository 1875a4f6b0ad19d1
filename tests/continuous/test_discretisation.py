"""Discretised worlds: transitions, values that converge, demonstrations, and what the apprentice does with them."""

import tracemalloc

import numpy as np
import pytest

from journeyman import Demonstration, Discrete, FiniteMDP, Problem, discretise, infer, resources, solve
from journeyman.continuous import MOUNTAIN_CAR_BOUNDS, PENDULUM_BOUNDS, mountain_car_step, pendulum_step
from journeyman.continuous.transitions import BYTES_PER_EDGE
from journeyman.errors import InputError, UnsupportedError

QUIET = {"progress": False}
STARTS = np.stack([np.linspace(-0.6, -0.4, 9), np.zeros(9)], axis=1)


def car_features(states, action, next_states):
    """Reaching the top, pushing, and being far out on the left."""
    goal = (next_states[:, 0] >= 0.5) & (next_states[:, 1] >= 0)
    left = np.exp(-(((states[:, 0] + 1.0) / 0.15) ** 2))
    return np.stack([10.0 * goal, np.full(len(states), -abs(action - 1.0)), -left], axis=1)


def make_car(points=15, repeat=4, **options):
    known = {"actions": 3, "discount": 0.99, "repeat": repeat, "features_fn": car_features, "initial_states": STARTS}
    return discretise(mountain_car_step, MOUNTAIN_CAR_BOUNDS, points, **(known | QUIET | options))


# Values converge. A reward r(x, a) = V(x) - discount V(x'(x, a)) - cost(x, a) with a cost that is 0 for one action and
# not negative has the optimal value V, whatever V is.


def smooth(x):
    return np.sin(3.0 * x[:, 0]) + 0.5 * np.cos(2.0 * x[:, -1]) * x[:, 0]


def error_of(step_fn, points, dimensions, scheme, *, repeat=1, discount=0.9):
    def reward(x, a, after):
        return smooth(x) - discount * smooth(after) - 0.3 * (a != (x[:, 0] > 0.4))

    found = discretise(
        step_fn, [(0.0, 1.0)] * dimensions, points, actions=2, discount=discount, scheme=scheme, repeat=repeat,
        features_fn=lambda x, a, after: np.zeros(len(x)), offset_fn=reward, **QUIET,
    )  # fmt: skip
    values = solve(found.mdp, found.reward_model.reward([0.0])).values
    return np.abs(values - smooth(found.states)).max()


def drift(x, a):
    return np.clip(0.83 * x + 0.17 * a * (1.0 - 0.3 * x[:, ::-1]), 0.0, 1.0)


@pytest.mark.parametrize("scheme", ["multilinear", "simplex"])
@pytest.mark.parametrize("dimensions", [1, 2])
def test_values_converge_with_the_square_of_the_spacing(dimensions, scheme):
    """Within the bound of linear interpolation, spacing^2 / 8 times second derivatives, per step: so order 2."""
    errors = [error_of(drift, points, dimensions, scheme) for points in (11, 21, 41)]
    second_derivatives = dimensions * (9.0 + 2.0 + 2.0)
    for error, points in zip(errors, (11, 21, 41), strict=True):
        assert error <= (1.0 / (points - 1)) ** 2 / 8.0 * second_derivatives * 0.9 / 0.1
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert (np.abs(orders - 2.0) < 0.35).all(), orders


@pytest.mark.parametrize("scheme", ["multilinear", "simplex"])
@pytest.mark.parametrize("dimensions", [1, 2, 3, 4])
def test_linear_values_are_exact_in_up_to_four_dimensions(dimensions, scheme):
    found = discretise(
        lambda x, a: 0.7 * x[:, ::-1] + 0.3 * a,
        [(0.0, 1.0)] * dimensions,
        [5, 4, 3, 4][:dimensions],
        actions=2,
        discount=0.9,
        scheme=scheme,
        features_fn=lambda x, a, after: x.sum(axis=1) - 0.9 * after.sum(axis=1) - 0.1 * (a == 0),
        **QUIET,
    )
    solution = solve(found.mdp, found.reward_model.reward([1.0]))
    np.testing.assert_allclose(solution.values, found.states.sum(axis=1), atol=1e-9)
    assert (solution.policy == 1).all() and np.diff(found.mdp.rows.indptr).max() <= found.lattice.num_corners


def test_a_world_in_float32_is_not_outside_of_its_own_bounds():
    def step(x, a):
        return np.clip(x + a, np.float32(0.1), np.float32(0.7)).astype(np.float32)

    options = {"bounds": [(0.1, 0.7)], "points": 7, "actions": [-0.5, 0.5], "discount": 0.9, **QUIET}
    ended, held = (discretise(step, boundary=word, **options) for word in ("end", "clip"))
    assert held.origin.clipped == 0.0 and (ended.mdp.transition_matrix.sum(axis=1) > 0.999).all()


def test_holding_an_action_earns_what_its_steps_earn():
    """With one action, whatever the repeat, values are those of the same world."""

    def step(x, a):
        return 0.8 * x + 0.1

    def reward(x):
        return x[:, 0]  # its value is linear, so that interpolation is exact

    def value(x, discount=0.9):  # V = a + b x with b = 1 + 0.9 * 0.8 b and a = 0.9 (a + 0.1 b)
        slope = 1.0 / (1.0 - discount * 0.8)
        return discount * 0.1 * slope / (1.0 - discount) + slope * x[:, 0]

    for repeat in (1, 2, 5):
        found = discretise(
            step, [(0.0, 1.0)], 5, actions=1, discount=0.9, repeat=repeat, features_fn=reward, **QUIET
        )  # fmt: skip
        assert found.mdp.discount == pytest.approx(0.9**repeat)
        solution = solve(found.mdp, found.reward_model.reward([1.0]))
        np.testing.assert_allclose(solution.values, value(found.states), rtol=1e-9)
        anywhere = np.array([[0.123], [0.777]])
        np.testing.assert_allclose(found.action_values(anywhere, solution.values, [1.0])[:, 0], value(anywhere))
        earned = found.returns(lambda x: np.zeros(len(x), dtype=int), anywhere, num_steps=300, progress=False)
        np.testing.assert_allclose(earned[:, 0], value(anywhere), rtol=1e-9)


def test_leaving_the_bounds_is_held_or_ends_or_comes_back():
    options = {"bounds": [(0.0, 1.0)], "points": 5, "actions": [0.3, -0.3], "discount": 0.9, **QUIET}
    by = {word: discretise(lambda x, a: x + a, boundary=word, **options) for word in ("clip", "end", "wrap")}
    assert by["clip"].mdp.next_states(4, 0)[0].tolist() == [4]
    assert by["clip"].origin.clipped == pytest.approx(4 / 10)
    assert by["end"].mdp.next_states(4, 0)[0].size == 0 and by["end"].mdp.next_states(0, 1)[0].size == 0
    np.testing.assert_allclose(by["end"].mdp.next_states(2, 0)[1], [0.8, 0.2])
    wrapped = by["wrap"]
    assert wrapped.states[:, 0].tolist() == pytest.approx([0.0, 0.2, 0.4, 0.6, 0.8])
    found = dict(zip(*(part.tolist() for part in wrapped.mdp.next_states(4, 0)), strict=True))  # 1.1 is 0.1
    assert found == pytest.approx({0: 0.5, 1: 0.5})
    assert not by["end"].mdp.terminal.any()  # an action that ends the episode is a choice with its own reward


def test_a_decision_may_end_at_its_first_step_everywhere():
    def over(x, a):
        return x, np.full(len(x), a == 0)

    found = discretise(over, [(0.0, 1.0)], 4, actions=2, discount=0.9, repeat=3, features_fn=lambda x: x, **QUIET)
    assert found.mdp.next_states(1, 0)[0].size == 0 and found.mdp.next_states(1, 1)[0].tolist() == [1]
    np.testing.assert_allclose(found.features()[0][:, :, 0], np.outer(found.states[:, 0], [1.0, 1 + 0.9 + 0.81]))


def test_noise_is_averaged_over_draws():
    def noisy(x, a, rng):
        return 0.5 * x + 0.25 + 0.1 * rng.standard_normal(x.shape)

    found = discretise(noisy, [(0.0, 1.0)], 11, actions=1, discount=0.9, num_samples=400, **QUIET)
    draws = [np.random.default_rng([0, 0, j]).standard_normal((11, 1)) for j in range(400)]
    after = 0.5 * found.states[:, 0] + 0.25 + 0.1 * np.array(draws)[:, :, 0]  # [draws, points]
    expected = np.stack([np.interp(after, found.states[:, 0], np.eye(11)[k]).mean(axis=0) for k in range(11)], axis=1)
    np.testing.assert_allclose(found.mdp.dense_transitions()[:, 0], expected, atol=1e-12)
    mean = found.mdp.dense_transitions()[:, 0] @ found.states[:, 0]
    np.testing.assert_allclose(mean[2:9], 0.5 * found.states[2:9, 0] + 0.25, atol=5 * 0.1 / 20)
    other = discretise(noisy, [(0.0, 1.0)], 11, actions=1, discount=0.9, num_samples=400, seed=1, **QUIET)
    assert not np.allclose(other.mdp.dense_transitions(), found.mdp.dense_transitions())
    assert "noise averaged over 400 draws" in found.origin.assumption


def test_initial_states_are_mapped_by_weights():
    car = make_car()
    assert car.mdp.initial.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(car.mdp.initial @ car.states, STARTS.mean(axis=0), atol=1e-12)
    with pytest.raises(InputError, match="initial_states must lie within the bounds"):
        make_car(initial_states=[[3.0, 0.0]])


# Demonstrations


def recorded(car, number=4, seed=0):
    """Return decisions of somebody who pushes the way the car goes, with mistakes."""
    rng = np.random.default_rng(seed)
    found = []
    for state in rng.uniform([-0.8, -0.02], [-0.2, 0.02], (number, 2)):
        steps = []
        for _ in range(6):
            action = (2 if state[1] > 0 else 0) if rng.random() < 0.8 else int(rng.integers(3))
            steps.append((state, action))
            moved = car.decisions.moved(state[None], action)
            if moved.is_done[0]:
                break
            state = moved.states[0]
        found.append(steps)
    return found


def test_recorded_states_have_the_action_values_of_where_they_are():
    car = make_car(9)
    known, demonstrations = car.demonstrations(recorded(car))
    added = known.mdp.num_states - car.mdp.num_states
    assert added == len(demonstrations) == 24 and isinstance(demonstrations[0], Demonstration)
    theta = np.array([1.0, 0.05, 0.2])
    before, after = (solve(d.mdp, d.reward_model.reward(theta)) for d in (car, known))
    np.testing.assert_allclose(after.values[: car.mdp.num_states], before.values, rtol=1e-9)  # nothing leads there
    exact = car.action_values(known.states[-added:], before.values, theta)
    np.testing.assert_allclose(after.q[-added:], exact, rtol=1e-9)
    assert known.mdp.initial[-added:].sum() == 0.0
    assert Problem(known.mdp, known.reward_model, Discrete(np.eye(3)), 2.0).counts(demonstrations).sum() == 24


def test_the_likelihood_of_recorded_actions_is_that_of_interpolated_values():
    """Against the formula: softmax of beta Q at the true state, for every atom; snapping to points differs from it."""
    car = make_car(9)
    atoms = np.random.default_rng(1).normal([1.0, 0.1, 0.1], 0.1, (20, 3))
    trajectories = recorded(car)
    known, demonstrations = car.demonstrations(trajectories)
    prior = Discrete(atoms)
    posterior = infer(Problem(known.mdp, known.reward_model, prior, 5.0), demonstrations, "enumerate")
    scores = []
    for theta in atoms:
        values = solve(car.mdp, car.reward_model.reward(theta)).values
        q = [(car.action_values(x, values, theta)[0], a) for steps in trajectories for x, a in steps]
        scores.append(sum(5.0 * row[a] - np.logaddexp.reduce(5.0 * row) for row, a in q))
    expected = np.exp(np.array(scores) - np.logaddexp.reduce(scores))
    np.testing.assert_allclose(posterior.weights, expected, rtol=1e-6)
    same, snapped = car.demonstrations(trajectories, mapping="nearest")
    assert same is car
    nearest = infer(Problem(car.mdp, car.reward_model, prior, 5.0), snapped, "enumerate")
    assert np.abs(nearest.weights - posterior.weights).max() > 0.01


def test_recordings_that_cannot_be_are_refused():
    car = make_car()
    with pytest.raises(InputError, match=r"must lie within the bounds, got \[0.9, 0.0\] at step 1 \(and 1 more"):
        car.demonstrations([[([0.0, 0.0], 1), ([0.9, 0.0], 1), ([0.0, 1.0], 1)]])
    with pytest.raises(InputError, match=r"must follow the world, got .* after step 0 of trajectory 1.*\(1 such"):
        car.demonstrations([[([0.0, 0.0], 1)], [([-0.5, 0.0], 2), ([0.3, 0.0], 2)]])
    with pytest.raises(InputError, match="action"):
        car.demonstrations([[([0.0, 0.0], 7)]])
    with pytest.raises(InputError, match="trajectory 0 must be a list"):
        car.demonstrations([3])
    with pytest.raises(InputError, match="must not be empty"):
        car.demonstrations([])
    with pytest.raises(InputError, match="mapping must be one of"):
        car.demonstrations(recorded(car), mapping="split")
    pair = (np.array([[0.0, 0.0]]), np.array([1]))
    assert len(car.demonstrations([pair]).demonstrations) == 1


# Acting


def test_acting_agrees_with_the_policy_at_the_points():
    car = make_car(11)
    theta = np.array([1.0, 0.05, 0.2])
    solution = solve(car.mdp, car.reward_model.reward(theta))
    for how in ("lookahead", "interpolate", "nearest"):
        chosen = car.policy_fn(theta, how=how)(car.states)
        loss = solution.values - solution.q[np.arange(len(chosen)), chosen]
        assert np.abs(loss).max() < 1e-9, how
    assert (car.policy_fn([1, 0, 0])(STARTS) == car.policy_fn([1.0, 0.0, 0.0])(STARTS)).all()
    act = car.policy_fn(solution.policy)
    assert act(car.states[7]) == solution.policy[7] and isinstance(act(car.states[7]), int)
    with pytest.raises(UnsupportedError, match="'lookahead' takes reward parameters"):
        car.policy_fn(solution.policy, how="lookahead")
    with pytest.raises(InputError, match="one action for each of the 121 states"):
        car.policy_fn(np.zeros(5, dtype=int))


def test_returns_are_those_of_a_loop_in_the_world_itself():
    car = make_car(15)
    act = car.policy_fn(np.array([1.0, 0.0, 0.0]))
    found = car.returns(act, num_steps=400, progress=False)
    for start, row in zip(STARTS, found, strict=True):
        state, total, action = start[None], np.zeros(3), -1
        for t in range(400):
            action = act(state[0]) if t % 4 == 0 else action
            after, (is_done,) = mountain_car_step(state, action)
            total += 0.99**t * car_features(state, action, after)[0]
            state = after
            if is_done:
                break
        np.testing.assert_allclose(row, total, rtol=1e-12)
    assert (found[:, 0] > 0).all()  # it reaches the top


# What it says of itself


def test_memory_is_predicted_before_it_is_allocated(monkeypatch):
    with pytest.raises(
        InputError, match=r"of 3000 x 3000 x 3000 x 3000 points.* would take .* of memory.*scheme='simplex'"
    ):
        discretise(lambda x, a: x, [(0.0, 1.0)] * 4, 3000, actions=2, discount=0.9, **QUIET)
    with monkeypatch.context() as unknown:
        unknown.setattr(resources, "available_memory", lambda: None)
        with pytest.raises(
            InputError, match=r"fewer than 2\^31, got 3000 x 3000 x 3000 points, which are 27,000,000,000"
        ):
            discretise(lambda x, a: x, [(0.0, 1.0)] * 3, 3000, actions=2, discount=0.9, **QUIET)
    size, num_edges = 101, 101 * 101 * 3 * 4
    tracemalloc.start()
    make_car(size, features_fn=None)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    labels = 200 * size**2
    assert 0.3 * BYTES_PER_EDGE * num_edges < peak < BYTES_PER_EDGE * num_edges + labels


def test_it_is_saved_with_its_origin(tmp_path):
    car = make_car().stating(0.25, return_error=3.0, level=0.95)
    car.mdp.save(tmp_path / "car.npz")
    origin = FiniteMDP.load(tmp_path / "car.npz").origin
    assert origin.assumption == car.origin.assumption and origin.lattice.sizes.tolist() == [15, 15]
    assert (
        "a grid of 15 x 15 points" in origin.assumption
        and "by up to about 0.25 and returns by up to about 3, for" in origin.assumption
    )
    assert "was not estimated" in make_car().origin.assumption
    with pytest.raises(InputError, match="error must be at least 0 and finite"):
        car.stating(-1.0)


def test_pictures_have_the_first_dimension_to_the_right_and_the_second_upwards():
    turn = discretise(
        pendulum_step, PENDULUM_BOUNDS, [4, 3], actions=[-2.0, 2.0], discount=0.9, boundary=("wrap", "clip"),
        names=("angle", "speed"), moves=[(0, -1), (0, 1)], **QUIET,
    )  # fmt: skip
    assert (turn.mdp.grid.num_rows, turn.mdp.grid.num_columns) == (3, 4)
    assert turn.mdp.state_labels[0] == "angle -3.1, speed -8" and turn.mdp.grid.places[0].tolist() == [2, 0]
    assert turn.mdp.state_labels[-1] == "angle 1.6, speed 8" and turn.mdp.grid.places[-1].tolist() == [0, 3]
    assert turn.mdp.action_labels == ("u = -2", "u = 2")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"boundary": "bounce"}, "boundary must be one of clip, wrap, end"),
        ({"boundary": ("clip",)}, "one for each of 2 dimensions"),
        ({"discount": 1.0}, "discount must lie strictly between 0 and 1"),
        ({"repeat": 0}, "repeat must be a whole number of at least 1"),
        ({"num_samples": 0}, "num_samples must be a whole number"),
        ({"names": ("x",)}, "names must be one word for each of 2 dimensions"),
    ],
)
def test_bad_options_are_refused(changes, message):
    with pytest.raises(InputError, match=message):
        make_car(**changes)


def test_bad_features_are_refused():
    with pytest.raises(InputError, match=r"features_fn must return one row for each of 225 states, got shape \(2, 3\)"):
        make_car(features_fn=lambda x: np.zeros((2, 3))).reward_model  # noqa: B018
    with pytest.raises(InputError, match="features_fn must return finite numbers"):
        make_car(features_fn=lambda x, a: np.full((len(x), 1), np.nan)).reward_model  # noqa: B018
    with pytest.raises(InputError, match="got 4 arguments"):
        make_car(features_fn=lambda x, a, b, c: x).reward_model  # noqa: B018
    with pytest.raises(InputError, match="features must be known here"):
        make_car(features_fn=None).reward_model  # noqa: B018
    with pytest.raises(InputError, match="bounds must be a pair"):
        discretise(mountain_car_step, [1.0, 2.0, 3.0], 5, actions=3, discount=0.9)


def test_what_would_be_taken_for_something_else_is_refused():
    """A policy of other actions, values of other states, two known rewards: all had an answer, a wrong one."""
    car = make_car(points=5)
    with pytest.raises(InputError, match=r"a policy must hold actions in 0\.\.2, got 9 to 9"):
        car.policy_fn(np.full(25, 9))
    with pytest.raises(InputError, match="values must hold a number for each of the 25 states"):
        car.interpolate(np.zeros(3), [[-0.5, 0.0]])
    with pytest.raises(InputError, match=r"actions must lie in 0\.\.2, got 9 to 9 from act"):
        car.returns(lambda states: np.full(len(states), 9), [[-0.5, 0.0]], num_steps=2)
    with pytest.raises(InputError, match="act must give the number of an action for each of 1 states, got float64"):
        car.returns(lambda states: np.full(len(states), 0.5), [[-0.5, 0.0]], num_steps=2)
    with pytest.raises(InputError, match="tolerance must be positive"):
        car.demonstrations([[([-0.5, 0.0], 1)]], tolerance=-1.0)
    world = (mountain_car_step, MOUNTAIN_CAR_BOUNDS, 5)
    options = {"actions": 3, "discount": 0.9, "features_fn": lambda states: states}
    with pytest.raises(InputError, match="offset_fn must return one number for each state, got 2"):
        discretise(*world, **options, offset_fn=lambda states: states).features()
    with pytest.raises(InputError, match="features_fn must be a function of states"):
        discretise(*world, **(options | {"features_fn": "x"})).features()
    with pytest.raises(InputError, match="boundary must be one word, or one per dimension, got None"):
        discretise(*world, **options, boundary=None)
    with pytest.raises(InputError, match=r"all different, got \['x', 'x'\]"):
        discretise(*world, **options, names=["x", "x"])
