"""Value space: the change of variables, trajectories through its jumps, and the chains on them."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from inference import twins

from journeyman.demonstrations import Demonstration
from journeyman.errors import InputError, UnsupportedError
from journeyman.inference import infer
from journeyman.inference.kernels import invert
from journeyman.inference.target import Target
from journeyman.inference.valuewalk import MAX_PARAMETERS, kernels, refusal
from journeyman.inference.valuewalk.space import ValueWalk, rewards_of_values, space_of, values_of_rewards
from journeyman.mdp import FiniteMDP
from journeyman.problem import Problem
from journeyman.rewards import Normal, PerState, PerStateAction, Uniform
from journeyman.worlds import make_world

KINDS = [
    (model, prior) for model in ("per_state", "per_state_action") for prior in ("normal", "multivariate", "uniform")
]


def grid_problem(size=4, seed=0):
    return make_world("random-grid", seed, size=size, terminals="independent")


def some_counts(problem, rng, count=12):
    pairs = np.argwhere(problem.mdp.available & problem.queryable[:, None])
    return problem.counts([Demonstration.annotation(*map(int, pairs[i])) for i in rng.integers(len(pairs), size=count)])


def make_walk(problem, counts, jumps=kernels.REFRACT):
    target = Target(problem, counts, engine="dense")
    return ValueWalk(target, space_of(problem, target.model, jumps))


def put_at(walk, x):
    """Make the walk's policy greedy at x, with its inverse, and return density and gradient."""
    model, space = walk.target.model, walk.space
    kernels.set_greedy(model, space, walk.memory, x, walk.work.pi)
    invert.py_func(model, walk.work)
    gradient = np.empty(x.size)
    value = kernels.value_density_gradient(model, walk.target.data, space, walk.work, walk.memory, x, gradient)
    return value, gradient


def go(walk, x, momentum, step, num_steps):
    """Follow one trajectory from x; return its end, the momentum there and the change of energy."""
    value, gradient = put_at(walk, x)
    end, p = x.copy(), momentum.copy()
    ones = np.ones(x.size)
    _, change = kernels.value_trajectory(
        walk.target.model, walk.target.data, walk.space, walk.work, walk.memory, end, value, gradient, p, ones,
        np.zeros(x.size), step, num_steps,
    )  # fmt: skip
    return end, p, change


def plain_rewards(problem, x):
    """The reward that x determines, and det(I - discount P_pi), in plain NumPy."""
    mdp = problem.mdp
    P = twins.mdp_twins.dense(mdp)
    if problem.reward_model.is_state_only:
        expected = np.where(mdp.available, mdp.discount * P @ x, -np.inf)
        pi, rewards = expected.argmax(axis=1), x - expected.max(axis=1)
    else:
        q = x.reshape(mdp.num_states, -1)
        values = np.where(mdp.available, q, -np.inf).max(axis=1)
        pi = np.where(mdp.available, q, -np.inf).argmax(axis=1)
        rewards = np.where(mdp.available, q - mdp.discount * P @ values, q).ravel()
    B = np.eye(mdp.num_states) - mdp.discount * P[np.arange(mdp.num_states), pi]
    return rewards, np.linalg.slogdet(B)[1]


@pytest.mark.parametrize(("model", "prior"), KINDS)
def test_values_and_rewards_belong_together(model, prior):
    problem = twins.random_problem(np.random.default_rng(3), model, prior)
    theta = problem.prior.sample(np.random.default_rng(1), 20)
    x = values_of_rewards(problem, problem.reward_model.reward(theta), 1)
    back, values = rewards_of_values(problem, x)
    scale = 1 + np.abs(x).max()
    np.testing.assert_allclose(back, theta, atol=1e-9 * scale)  # values are solved to 1e-10, relative
    for row in range(3):
        np.testing.assert_allclose(plain_rewards(problem, x[row])[0], theta[row], atol=1e-9 * scale)
        Q, _ = twins.optimal_q(problem, theta[row])
        np.testing.assert_allclose(values[row], Q.max(axis=1), atol=1e-8 * scale)


@pytest.mark.parametrize(("model", "prior"), KINDS)
def test_density_and_gradient_agree_with_plain_numpy(model, prior):
    rng = np.random.default_rng(5)
    problem = twins.random_problem(rng, model, prior)
    counts = some_counts(problem, rng)
    walk = make_walk(problem, counts)

    def plain(x):
        rewards, _ = plain_rewards(problem, x)
        return float(problem.prior.log_density(rewards)) + twins.log_likelihood(problem, counts, rewards)

    theta = problem.prior.sample(rng, 2)
    points = values_of_rewards(problem, problem.reward_model.reward(theta), 1)
    value, gradient = put_at(walk, points[0])
    other, _ = put_at(walk, points[1])
    assert value - other == pytest.approx(plain(points[0]) - plain(points[1]), abs=1e-8)  # constants cancel
    for d in range(points.shape[1]):
        step = 1e-6 * np.eye(points.shape[1])[d]
        slope = (plain(points[0] + step) - plain(points[0] - step)) / 2e-6
        assert gradient[d] == pytest.approx(slope, abs=1e-5 * (1 + abs(slope)))  # rounding / step


@pytest.mark.parametrize(("model", "prior"), KINDS)
def test_the_determinant_is_followed_exactly(model, prior):
    rng = np.random.default_rng(8)
    problem = twins.random_problem(rng, model, prior)
    walk = make_walk(problem, some_counts(problem, rng))
    x = values_of_rewards(problem, problem.reward_model.reward(problem.prior.sample(rng, 1)), 1)[0].copy()
    put_at(walk, x)
    before = plain_rewards(problem, x)[1]
    ones, total = np.ones(x.size), 0.0
    for _ in range(30):
        gain, _ = kernels.drift(
            walk.target.model, walk.space, walk.work, walk.memory, x, rng.standard_normal(x.size), ones,
            np.zeros(x.size), 1.0, 1000,
        )  # fmt: skip
        total += gain
    assert walk.memory.events[0] > 5  # so that it says something
    assert total == pytest.approx(plain_rewards(problem, x)[1] - before, abs=1e-9)
    np.testing.assert_allclose(rewards_of_values(problem, x[None])[0][0], plain_rewards(problem, x)[0], atol=1e-9)


@pytest.mark.parametrize("jumps", [kernels.REFRACT, kernels.ACCEPT, kernels.IGNORE])
def test_a_trajectory_can_be_followed_back(jumps):
    """On a grid many states compare the same two neighbours and switch together; order must not matter."""
    world = grid_problem(5, seed=2)
    rng = np.random.default_rng(4)
    walk = make_walk(world.problem, some_counts(world.problem, rng), jumps)
    shared = np.diff(walk.space.plane_indptr) > 1
    assert shared.any()
    for _ in range(10):
        theta = world.problem.prior.sample(rng, 1)
        x = values_of_rewards(world.problem, world.problem.reward_model.reward(theta), 1)[0].copy()
        end, momentum, change = go(walk, x, rng.standard_normal(x.size), 0.05, 15)
        back, _, change_back = go(walk, end, -momentum, 0.05, 15)
        np.testing.assert_allclose(back, x, atol=1e-7 * (1 + np.abs(x).max()))  # rounding, grown along the way
        assert change_back == pytest.approx(-change, abs=1e-6)
    assert walk.memory.events[0] > 20


def test_refraction_pays_for_jumps_and_ignoring_them_does_not():
    """With shorter steps a refracted trajectory keeps its energy, however many jumps; a plain one cannot."""
    world = grid_problem()
    rng = np.random.default_rng(0)
    counts = some_counts(world.problem, rng)
    errors = {(jumps, scale): [] for jumps in (kernels.REFRACT, kernels.ACCEPT) for scale in (1, 16)}
    for _ in range(20):
        theta = world.problem.prior.sample(rng, 1)
        x = values_of_rewards(world.problem, world.problem.reward_model.reward(theta), 1)[0].copy()
        momentum = rng.standard_normal(x.size)
        for (jumps, scale), found in errors.items():
            walk = make_walk(world.problem, counts, jumps)
            found.append(abs(go(walk, x, momentum, 0.02 / scale, 50 * scale)[2]))
    median = {key: np.median(found) for key, found in errors.items()}
    assert median[kernels.REFRACT, 16] < median[kernels.REFRACT, 1] / 4  # kinks leave an error of first order
    assert median[kernels.ACCEPT, 16] > 1.0


def test_reflected_trajectories_stay_within_a_uniform_prior():
    problem = twins.random_problem(np.random.default_rng(3), "per_state", "uniform")
    posterior = infer(problem, (), "valuewalk", num_chains=2, num_draws=300)
    assert (posterior.theta >= problem.prior.low - 1e-9).all()
    assert (posterior.theta <= problem.prior.low + problem.prior.width + 1e-9).all()


@cache
def chains(method, size, count, **options):
    world = grid_problem(size, seed=1)
    states = np.random.default_rng(count).choice(np.flatnonzero(world.problem.queryable), count)
    demonstrations = world.expert.answers(states)
    return infer(world.problem, demonstrations, method, seed=3, **dict(options))


def errors_off(one, other):
    """Differences of means and of standard deviations, in Monte-Carlo standard errors of both, at most."""
    total = sum(1 / min(p.diagnostics.ess_bulk, p.diagnostics.ess_tail) for p in (one, other))
    std = other.parameter_std()
    means = np.abs(one.mean_parameters() - other.mean_parameters()) / (std * np.sqrt(total))
    stds = np.abs(one.parameter_std() - std) / (std * np.sqrt(total / 2))
    return max(means.max(), stds.max())


def test_with_no_data_it_returns_the_prior_terminal_cells_included():
    world = grid_problem(4, seed=1)
    assert world.problem.mdp.terminal.any()
    posterior = infer(world.problem, (), "valuewalk", seed=2, num_draws=2000)
    ess = min(posterior.diagnostics.ess_bulk, posterior.diagnostics.ess_tail)
    assert ess > 400
    assert (np.abs(posterior.mean_parameters()) <= 5 * 3.0 / np.sqrt(ess)).all()  # N(0, 3) of 16 cells
    assert (np.abs(posterior.parameter_std() - 3.0) <= 5 * 3.0 / np.sqrt(2 * ess)).all()


def test_without_the_jacobian_it_does_not_return_the_prior():
    posterior = infer(grid_problem(4, seed=1).problem, (), "valuewalk", seed=2, num_draws=2000, jacobian=False)
    ess = min(posterior.diagnostics.ess_bulk, posterior.diagnostics.ess_tail)
    assert np.abs(posterior.mean_parameters()).max() > 8 * 3.0 / np.sqrt(ess)
    assert "not draws from the posterior" in posterior.warnings[-1]


def test_agrees_with_policywalk_on_a_small_grid():
    reference = chains("policywalk", 4, 20, sampler="hmc", num_draws=1500)
    posterior = chains("valuewalk", 4, 20, num_draws=1500)
    assert posterior.diagnostics.r_hat < 1.02
    for found in (posterior, reference):
        assert min(found.diagnostics.ess_bulk, found.diagnostics.ess_tail) > 800  # 5 errors of both: 0.25 sd
    assert errors_off(posterior, reference) < 5  # 32 numbers: a chance of 2e-5


def test_counting_jumps_when_accepting_is_as_exact():
    """Where there is next to nothing to jump over: two states, so that acceptance stays high."""
    mdp = FiniteMDP.from_dense(
        np.array([[[0.7, 0.3], [0.2, 0.8]], [[0.6, 0.4], [0.1, 0.9]]]), layout="SAS", discount=0.5
    )
    problem = Problem(mdp, PerState(mdp), Normal(2, 0.0, 1.0), 2.0)
    demonstrations = [Demonstration.annotation(0, 1), Demonstration.annotation(1, 0)]
    exact = infer(problem, demonstrations, "enumerate")
    for jumps in ("refract", "accept"):
        posterior = infer(problem, demonstrations, "valuewalk", jumps=jumps, num_draws=4000, seed=1)
        assert errors_off(posterior, exact_like_chains(exact)) < 5


def exact_like_chains(exact):
    """Enumeration as if it were chains of very many draws."""
    return replace(exact, diagnostics=replace(exact.diagnostics, ess_bulk=1e9, ess_tail=1e9))


@pytest.mark.slow
@pytest.mark.parametrize("count", [20, 60])
def test_agrees_with_policywalk_on_8x8(count):
    reference = chains("policywalk", 8, count, sampler="hmc", num_draws=10_000)
    posterior = chains("valuewalk", 8, count, num_draws=10_000)
    assert posterior.diagnostics.r_hat < 1.02
    assert errors_off(posterior, reference) < 5  # 128 numbers: a chance of 1e-4


def test_identical_actions_are_one_and_neighbours_share_planes():
    """In a corner, "stay" and two moves into walls are one action: of 5, 3 are distinct."""
    world = grid_problem(3, seed=4)
    walk = make_walk(world.problem, None)
    terminal = world.problem.mdp.terminal
    distinct = walk.space.is_distinct.sum(axis=1)
    for state, expected in ((0, 3), (1, 4), (4, 5)):
        assert distinct[state] == (1 if terminal[state] else expected)
    members = np.diff(walk.space.plane_indptr)
    assert members.max() >= 2


def test_refusals_and_bad_options():
    jail = make_world("jail", 0).problem
    with pytest.raises(UnsupportedError, match=r"valuewalk needs one unknown reward per state.*'policywalk' or 'smc'"):
        infer(jail, (), "valuewalk")
    problem = grid_problem().problem
    with pytest.raises(InputError, match="jumps must be one of refract, accept, got 'reflect'"):
        infer(problem, (), "valuewalk", jumps="reflect")
    large = make_world("random-grid", 0, size=45, terminals="independent").problem
    assert large.reward_model.num_parameters > MAX_PARAMETERS
    assert "at most 2000 parameters, got 2025" in str(refusal(large))


@pytest.mark.parametrize("jacobian", ["no", 0, None])
def test_a_jacobian_is_there_or_not(jacobian):
    with pytest.raises(InputError, match="jacobian must be True or False"):
        infer(grid_problem().problem, (), "valuewalk", jacobian=jacobian)


COLLINEAR = [  # actions of a state tie all at once; states 0, 1 and 2 share that plane
    [[0.0, 0.8, 0.2], [0.0, 0.5, 0.5], [0.0, 0.2, 0.8]],
    [[0.1, 0.7, 0.2], [0.1, 0.4, 0.5], [0.3, 0.3, 0.4]],
    [[0.0, 0.6, 0.4], [0.0, 0.4, 0.6], [1.0, 0.0, 0.0]],
]
TWINS = [[[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]] * 3  # three states with the same rows
ONE_STATE = [[[1.0], [1.0], [1.0]]]
EDGES = {
    "collinear": (COLLINEAR, PerState, Normal(3, 0.0, 3.0), 0.9),
    "collinear, uniform": (COLLINEAR, PerState, Uniform(3, -3.0, 3.0), 0.9),
    "collinear, patient": (COLLINEAR, PerState, Normal(3, 0.0, 1.0), 0.999),
    "twins, uniform": (TWINS, PerState, Uniform(3, 0.0, 1.0), 0.95),
    "one state": (ONE_STATE, PerState, Normal(1, 1.0, 2.0), 0.9),
    "one state, rewards of actions": (ONE_STATE, PerStateAction, Uniform(3, -1.0, 2.0), 0.9),
}


@pytest.mark.parametrize("name", EDGES)
def test_agrees_with_enumeration_where_planes_meet(name):
    rows, model, prior, discount = EDGES[name]
    mdp = FiniteMDP.from_dense(np.array(rows), layout="SAS", discount=discount)
    problem = Problem(mdp, model(mdp), prior, 1.5)
    answers = [Demonstration.annotation(state % mdp.num_states, action) for state, action in ((0, 1), (1, 0), (2, 0))]
    exact = infer(problem, answers, "enumerate")
    posterior = infer(problem, answers, "valuewalk", num_draws=2000, seed=1)
    assert errors_off(posterior, exact_like_chains(exact)) < 5  # at most 6 numbers: a chance of 4e-6
