"""The error of a grid, estimated by refinement: near the true one where that is known, and said in certificates."""

import numpy as np
import pytest

from journeyman import Boltzmann, Discrete, Problem, certify, discretise, infer
from journeyman.continuous import MOUNTAIN_CAR_BOUNDS, GridError, GridWarning, grid_error, mountain_car_step
from journeyman.errors import InputError

DISCOUNT = 0.9


def value(x):
    return np.sin(3.0 * x[:, 0])


def features(x, a, after):
    """Rewards with the optimal value sin(3 x) for parameters (1, anything above 0), the second a cost of action 1."""
    return np.stack([value(x) - DISCOUNT * value(after), np.full(len(x), -float(a))], axis=1)


def make_line(points=9):
    return discretise(
        lambda x, a: 0.83 * x + 0.17 * a,
        [(0.0, 1.0)],
        points,
        actions=2,
        discount=DISCOUNT,
        features_fn=features,
        initial_states=np.linspace(0.05, 0.95, 19)[:, None],
        progress=False,
    )


def test_the_estimate_is_near_the_true_error():
    """Rewards theta (1, c) have the best return theta sin(3 x0) exactly; that of the best policy is the same."""
    line = make_line()
    theta = np.array([[0.5, 0.2], [1.0, 0.3], [2.0, 0.9]])
    true = theta[:, 0] * value(line.initial_states).mean()
    two, three = (grid_error(line, theta, num_grids=number, progress=False) for number in (2, 3))
    assert two.order == 1.0 and two.sizes == ((9,), (17,)) and three.sizes[-1] == (33,)
    assert three.order == pytest.approx(2.0, abs=0.25)
    errors = np.abs(three.best[0] - true)
    np.testing.assert_allclose(three.return_errors, errors, rtol=0.15)
    np.testing.assert_allclose(two.return_errors, three.return_errors * 1.5, rtol=0.15)  # 2 for 4/3: it is careful
    assert two.return_error == two.return_errors.max()
    assert two.error < 1e-9  # the best action is the same on every grid
    assert (np.abs(three.best[2] - true) < errors / 10).all()


def test_the_error_of_the_regret_is_that_of_a_known_one():
    """Always doing action 1 loses its cost at every step, 0.3 / (1 - discount) in all."""
    line = make_line()
    found = grid_error(line, [[1.0, 0.3]], act=lambda x: np.ones(len(x), dtype=int), num_grids=3, progress=False)
    true = 0.3 / (1.0 - DISCOUNT)
    np.testing.assert_allclose(found.errors, np.abs(found.regrets[0] - true), rtol=0.3)
    assert np.abs(found.regrets[2] - true) < 0.1 * np.abs(found.regrets[0] - true)


def test_what_is_stated_of_the_car_is_enough_on_a_grid_four_times_as_fine():
    """For at least 95 % of 20 rewards, as is said; of a policy that fits none of them in particular."""
    car = discretise(
        mountain_car_step,
        MOUNTAIN_CAR_BOUNDS,
        21,
        actions=3,
        discount=0.99,
        repeat=8,
        initial_states=np.stack([np.linspace(-0.6, -0.4, 9), np.zeros(9)], axis=1),
        features_fn=lambda x, a: np.stack([np.full(len(x), -abs(a - 1.0)), -np.exp(-((x[:, 0] + 1) ** 2) / 0.02)], 1),
        offset_fn=lambda x: -np.ones(len(x)),
        progress=False,
    )
    theta = np.random.default_rng(5).normal([0.5, 1.0], [0.3, 0.7], (20, 2))
    three = grid_error(car, theta, act=car.policy_fn(theta.mean(axis=0)), num_grids=3, progress=False)
    two = GridError(three.sizes[:2], theta, three.best[:2], three.acted[:2], 1.0, 0.95)
    assert (np.abs(three.regrets[0] - three.regrets[2]) <= two.error).mean() >= 0.95
    for returns in (three.best, three.acted):
        assert (np.abs(returns[0] - returns[2]) <= two.return_error).mean() >= 0.95


def test_bad_input_is_refused():
    line = make_line(5)
    with pytest.raises(InputError, match="num_grids must be 2 or 3, got 4"):
        grid_error(line, [[1.0, 0.3]], num_grids=4)
    with pytest.raises(InputError, match="rewards must be a Posterior, or finite parameters"):
        grid_error(line, [1.0, 0.3])
    with pytest.raises(InputError, match="level must lie strictly between"):
        grid_error(line, [[1.0, 0.3]], level=1.0)


def posterior_on(line):
    atoms = np.array([[1.0, 0.2], [1.0, 0.6], [0.5, -0.2]])
    problem = Problem(line.mdp, line.reward_model, Discrete(atoms), Boltzmann(3.0))
    return infer(problem, [], "enumerate")


def test_a_certificate_says_how_far_off_the_grid_is():
    line = make_line()
    found = grid_error(line, posterior_on(line), progress=False)
    assert 0.01 < found.return_error < 0.5 and found.error < found.return_error
    with pytest.raises(InputError, match="an error can be stated by a Discretisation"):
        found.stated_by(3)
    assert certify(found.stated_by(posterior_on(line)), 5.0, 0.1).assumptions == (
        certify(posterior_on(found.stated_by(line)), 5.0, 0.1).assumptions
    )
    stated = line.stating(0.05, return_error=0.2, level=0.95)
    careful = certify(posterior_on(stated), 5.0, 0.1)
    number = "by up to about 0.05 and returns by up to about 0.2, for 95 % of the rewards"
    assert number in careful.assumptions[0] and careful.cautions == ()
    assert careful.text().startswith("The certificate HOLDS.")
    assert certify(posterior_on(stated), "100%", 0.1).cautions == ()


def test_a_certificate_that_does_not_carry_over_says_so():
    """In its text, in a warning, and in what programs read: one that holds is not what somebody may take it for."""
    line = make_line()
    with pytest.warns(GridWarning, match="how far regrets there differ was not estimated"):
        silent = certify(posterior_on(line), 5.0, 0.1)
    assert silent.holds and "a grid of 9 points; how far off that is was not estimated" in silent.assumptions[0]
    assert silent.to_record()["cautions"] == list(silent.cautions)
    stated = line.stating(6.0)
    with pytest.warns(
        GridWarning, match=r"a grid of 9 points alone and DOES NOT CARRY OVER .* is not below epsilon, 5\."
    ):
        bold = certify(posterior_on(stated), 5.0, 0.1)
    text = " ".join(bold.text().split())
    assert text.startswith("The certificate HOLDS, ON THE GRID ALONE. The policy loses")
    assert "But this is about a grid of 9 points alone and DOES NOT CARRY OVER to the continuous world" in text
    failing = certify(posterior_on(line.stating(0.05)), 0.01, 0.1)  # no warning: it claims nothing
    assert not failing.holds and "But this is about" not in failing.text()
    assert "not below epsilon, 0.01" in failing.cautions[0]
    share = certify(posterior_on(line.stating(0.05)), "0.01%", 0.1)  # of what is at stake, a few units of reward
    assert "not below epsilon" in share.cautions[0]
