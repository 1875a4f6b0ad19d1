"""From a continuous world to a certificate, and back: the apprentice acts in Gymnasium as well as is claimed."""

import runpy
from pathlib import Path

import gymnasium
import numpy as np
import pytest

from journeyman import ActiveLearner, Discrete, Normal, Problem, SimulatedExpert, discretise, simulate, solve
from journeyman.continuous import (
    MOUNTAIN_CAR_BOUNDS,
    PENDULUM_BOUNDS,
    GridWarning,
    grid_error,
    mountain_car_step,
    pendulum_step,
)

EXAMPLE = Path(__file__).parents[2] / "examples" / "continuous"
STARTS = np.random.default_rng(0)
CAR = {
    "world": mountain_car_step,
    "bounds": MOUNTAIN_CAR_BOUNDS,
    "points": 17,
    "actions": 3,
    "discount": 0.99,
    "repeat": 8,
    "initial_states": np.stack([STARTS.uniform(-0.6, -0.4, 6), np.zeros(6)], axis=1),
    "features_fn": lambda x, a: np.stack(
        [np.full(len(x), -abs(a - 1.0)), -np.exp(-(((x[:, 0] + 1.0) / 0.15) ** 2))], axis=1
    ),
    "offset_fn": lambda x: -np.ones(len(x)),
    "progress": False,
}
TURN = {
    "world": pendulum_step,
    "bounds": PENDULUM_BOUNDS,
    "points": 17,
    "actions": [-2.0, 0.0, 2.0],
    "discount": 0.95,
    "repeat": 3,
    "boundary": ("wrap", "clip"),
    "initial_states": STARTS.uniform([-np.pi, -1.0], [np.pi, 1.0], (6, 2)),
    "features_fn": lambda x, u: np.stack([-(x[:, 1] ** 2), np.full(len(x), -(np.asarray(u).item() ** 2))], axis=1),
    "offset_fn": lambda x: -(((x[:, 0] + np.pi) % (2 * np.pi) - np.pi) ** 2),
    "progress": False,
}


def own_reward(env, theta, states, action):
    """Return what Gymnasium pays for one step: for the car the known part, for the pendulum all of it."""
    env.state = states[0].copy()
    paid = env.step(action)[1]
    return paid + (CAR["features_fn"](states, action) @ theta)[0] if hasattr(env, "goal_position") else paid


@pytest.mark.parametrize(
    ("options", "name", "prior", "truth", "epsilon"),
    [
        (CAR, "MountainCar-v0", Normal(2, mean=[0.5, 1.0], std=[0.3, 0.7]), (0.4, 1.5), 4.0),
        (TURN, "Pendulum-v1", Normal(2, mean=[0.2, 0.2], std=[0.1, 0.15]), (0.1, 0.001), 4.0),
    ],
)
def test_a_certificate_on_the_grid_is_kept_in_gymnasium_within_the_error_that_it_states(
    options, name, prior, truth, epsilon
):
    grid = discretise(**options)
    theta = np.array(truth)
    rewards = np.concatenate([prior.sample(np.random.default_rng(1), 24), [theta]])
    problem = Problem(grid.mdp, grid.reward_model, Discrete(rewards), 1.0)
    expert = SimulatedExpert(grid.mdp, grid.reward_model.reward(theta), 1.0, seed=0)
    learner = ActiveLearner(problem, epsilon=epsilon, delta=0.1, inference="enumerate", num_threads=1)
    with pytest.warns(GridWarning, match="DOES NOT CARRY OVER"):  # how far off the grid is comes later
        assert simulate(learner, expert, 60, progress=False).is_finished
    posterior = learner.posterior()
    act = grid.policy_fn(posterior)
    regret = (solve(grid.mdp, grid.reward_model.reward(theta)).values @ grid.mdp.initial) - (
        grid_return := _grid_return(grid, learner.apprentice(), theta)
    )
    assert regret < epsilon  # the claim, on the grid
    error = grid_error(grid, posterior, act=act, progress=False)
    assert f"by up to about {error.error:.2g}" in error.stated_by(grid).origin.assumption

    env = gymnasium.make(name).unwrapped  # in the world itself, with the reward that Gymnasium pays
    env.reset(seed=0)
    num_steps, discount = 160, options["discount"]
    totals = []
    for start in grid.initial_states:
        state, total, action = start.copy(), 0.0, 0
        for t in range(num_steps):
            action = act(state) if t % options["repeat"] == 0 else action
            value = np.array([grid.actions[action]], dtype=np.float32) if name.startswith("P") else action
            total += discount**t * own_reward(env, theta, state[None], value)
            state = np.array(env.state, dtype=float)
            if name.startswith("M") and state[0] >= 0.5:
                break
        totals.append(total)
    ours = grid.returns(act, num_steps=num_steps, progress=False) @ np.append(theta, 1.0)
    np.testing.assert_allclose(
        totals, ours, rtol=1e-3
    )  # torques are float32 there, and a rounding may change an action
    best = discretise(**(options | {"points": 41}))
    expert_returns = best.returns(best.policy_fn(theta), num_steps=num_steps, progress=False) @ np.append(theta, 1.0)
    assert expert_returns.mean() - np.mean(totals) < epsilon + error.error  # what the certificate and its error say
    assert abs(np.mean(totals) - grid_return) < error.return_error


def _grid_return(grid, policy, theta):
    from journeyman import evaluate_policy

    return float(evaluate_policy(grid.mdp, policy, grid.reward_model.reward(theta)) @ grid.mdp.initial)


def test_a_picture_of_values_and_policy_over_two_dimensions(tmp_path):
    from journeyman.report.drawing.cells import make_panels
    from journeyman.report.drawing.maps import save_figure, state_map

    grid = discretise(**CAR, moves=[(0, -1), (0, 0), (0, 1)])
    solution = solve(grid.mdp, grid.reward_model.reward([0.4, 1.5]))
    optimal = solution.q >= solution.q.max(axis=1, keepdims=True) - 1e-9
    figure, (ax,) = make_panels(grid.mdp)
    state_map(ax, grid.mdp, solution.values, label="value", optimal=optimal)
    image = ax.images[0].get_array()
    assert image.shape[:2] == (17, 17)
    highest = np.argmax(solution.values)
    np.testing.assert_allclose(grid.mdp.grid.places[highest], [16 - highest % 17, highest // 17])
    save_figure(figure, tmp_path / "car.png")
    assert (tmp_path / "car.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::journeyman.continuous.GridWarning")
def test_the_example_runs(tmp_path, capsys):
    runpy.run_path(str(EXAMPLE / "run.py"))["main"](["--quick", "--out", str(tmp_path / "figure.png")])
    printed = capsys.readouterr().out
    assert printed.count("loss in Gymnasium") == 2 and "DOES NOT CARRY OVER" in printed
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
