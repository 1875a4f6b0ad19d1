"""The compiled log posterior against its NumPy twin, finite differences, and itself by the other engine."""

from threading import Thread

import numpy as np
import pytest
from inference import twins

from journeyman.demonstrations import Demonstration
from journeyman.errors import InputError, UnsupportedError
from journeyman.inference import kernels
from journeyman.inference.general import GeneralTarget
from journeyman.inference.nuts import pack
from journeyman.inference.target import Target, first_entries
from journeyman.mdp.ordering import shared_rows
from journeyman.problem import Problem
from journeyman.worlds import make_world

ENGINES = ("dense", "sparse")
NUM_PROBLEMS = 20  # per kind of reward model and prior: 12 kinds, so 240 in all
H = 1e-5


def cases(model_kind, prior_kind, count=NUM_PROBLEMS):
    for index in range(count):
        rng = np.random.default_rng([7, index])
        discount = float(rng.choice([0.5, 0.9, 0.99]))
        problem = twins.random_problem(
            rng, model_kind, prior_kind, num_states=int(rng.integers(2, 9)), discount=discount
        )
        yield rng, problem, twins.random_counts(rng, problem, int(rng.integers(0, 15)))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("model_kind", "prior_kind"), twins.KINDS)
def test_value_equals_the_twin(model_kind, prior_kind, engine):
    for rng, problem, counts in cases(model_kind, prior_kind, 6):
        target = Target(problem, counts, engine=engine)
        for _ in range(3):
            z = rng.standard_normal(target.dimension)
            value, _ = target.log_density_and_gradient(z)
            # Values are good to 1e-11 / (1 - discount), and 15 terms of the likelihood move by 2 beta times that.
            assert value == pytest.approx(twins.log_density(problem, counts, z), abs=1e-6, rel=1e-9)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("model_kind", "prior_kind"), twins.KINDS)
def test_gradient_equals_finite_differences(model_kind, prior_kind, engine):
    """Away from policy switches the density is smooth, and central differences err by O(h^2) plus rounding / h."""
    num_checked = 0
    for rng, problem, counts in cases(model_kind, prior_kind):
        target = Target(problem, counts, engine=engine)
        z = rng.standard_normal(target.dimension)
        shifts = H * np.concatenate([np.eye(target.dimension), -np.eye(target.dimension)])
        around = target.evaluate(z + shifts)
        _, gradient = target.log_density_and_gradient(z)
        size = 1.0 + np.abs(around.log_density).max() + np.abs(gradient).max()
        ahead, behind = np.split(np.arange(2 * target.dimension), 2)
        is_smooth = (around.policies[ahead] == around.policies[behind]).all(axis=1)
        difference = (around.log_density[ahead] - around.log_density[behind]) / (2 * H)
        # With h = 1e-5: h^2 times third derivatives is below 1e-8 of the size, solver errors of 1e-12 over h are 1e-7.
        assert (np.abs(gradient - difference)[is_smooth] <= 1e-7 * size).all()
        num_checked += is_smooth.sum()
    assert num_checked > 2 * NUM_PROBLEMS


def test_the_gradient_test_sees_a_wrong_sign_and_a_missing_jacobian():
    """Mutants: what the finite differences above allow is far less than what either mistake changes."""
    for rng, problem, counts in cases("features", "uniform", 5):
        target = Target(problem, counts)
        z = rng.standard_normal(target.dimension) + 0.5
        value, gradient = target.log_density_and_gradient(z)
        size = 1.0 + abs(value) + np.abs(gradient).max()
        difference = np.array(
            [
                (twins.log_density(problem, counts, z + H * e) - twins.log_density(problem, counts, z - H * e))
                / (2 * H)
                for e in np.eye(target.dimension)
            ]
        )
        assert np.abs(gradient - difference).max() < 1e-7 * size
        assert np.abs(-gradient - difference).max() > 1e-4 * size
        assert np.abs((gradient + z) - difference).max() > 1e-4 * size


@pytest.mark.parametrize(("model_kind", "prior_kind"), twins.KINDS)
def test_engines_agree(model_kind, prior_kind):
    for rng, problem, counts in cases(model_kind, prior_kind):
        targets = [Target(problem, counts, engine=engine) for engine in ENGINES]
        positions = rng.standard_normal((5, targets[0].dimension))
        dense, sparse = (target.evaluate(positions) for target in targets)
        size = 1.0 + np.abs(dense.values).max(axis=1)
        assert (np.abs(dense.values - sparse.values).max(axis=1) <= 1e-8 * size).all()
        likelihood_size = 1e-8 * size * (1.0 + problem.beta * counts.sum())
        assert (np.abs(dense.log_density - sparse.log_density) <= likelihood_size).all()
        slope = 1.0 + np.abs(dense.gradient).max(axis=1)
        is_same = (dense.policies == sparse.policies).all(axis=1)
        error = np.abs(dense.gradient - sparse.gradient).max(axis=1)
        assert (error <= 1e-6 * slope * (1.0 + problem.beta))[is_same].all()


def test_first_entries_and_the_others_give_back_the_rows():
    """Over all problems rows with no entry, one and several occur; the first is at a S + s, the others in the row."""
    sizes_met = set()
    for _, problem, _ in cases("per_state", "normal"):
        num_states, num_actions = problem.mdp.available.shape
        extra = shared_rows(problem.mdp.rows, problem.mdp.available, problem.mdp.discount).extra
        first_next, first_weights, longer_rows = first_entries(extra, problem.mdp.available.shape)
        for row in range(num_states * num_actions):
            entries = slice(extra.indptr[row], extra.indptr[row + 1])
            expected, found = np.zeros(num_states), np.zeros(num_states)
            np.add.at(expected, extra.next_states[entries], extra.weights[entries])
            s, a = divmod(row, num_actions)
            found[first_next[a * num_states + s]] += first_weights[a * num_states + s]
            others = slice(entries.start + 1, entries.stop)
            np.add.at(found, extra.next_states[others], extra.weights[others])
            np.testing.assert_array_equal(found, expected)
            size = entries.stop - entries.start
            assert (row in longer_rows) == (size > 1)
            sizes_met.add(min(size, 2))
    assert sizes_met == {0, 1, 2}


@pytest.mark.parametrize("engine", ENGINES)
def test_no_action_beats_the_policy_where_several_switch_at_once(engine):
    """From the policy of a far point many actions switch in one evaluation, and none that is better is left."""
    world = make_world("random-8x8", 0)
    target = Target(world.problem, world.expert.answers([0, 9, 17]), engine=engine)
    far = np.random.default_rng(0).standard_normal((2, target.dimension))
    work = target.new_work()
    target.log_density_and_gradient(far[0], work)
    before = work.pi.copy()
    target.log_density_and_gradient(far[1], work)
    Q, error = twins.optimal_q(world.problem, world.problem.prior.from_unconstrained(far[1]))
    assert (work.pi != before).sum() > 10
    assert (Q[np.arange(len(Q)), work.pi] >= Q.max(axis=1) - 1e-8 * (1.0 + np.abs(Q).max()) - error).all()


@pytest.mark.parametrize("engine", ENGINES)
def test_values_and_policies_are_optimal(engine):
    for rng, problem, counts in cases("per_state_action", "normal", 10):
        target = Target(problem, counts, engine=engine)
        z = rng.standard_normal(target.dimension)
        evaluation = target.evaluate(z[None])
        Q, error = twins.optimal_q(problem, problem.prior.from_unconstrained(z))
        size = 1.0 + np.abs(Q[np.isfinite(Q)]).max()
        assert np.abs(evaluation.values[0] - Q.max(axis=1)).max() <= 1e-8 * size + error
        chosen = Q[np.arange(len(Q)), evaluation.policies[0]]
        assert (chosen >= Q.max(axis=1) - 1e-8 * size).all()


@pytest.mark.parametrize(("name", "engine"), [("random-8x8", "dense"), ("random-8x8", "sparse"), ("jail", "dense")])
def test_tracking_does_not_drift(name, engine):
    """After 50 000 warm steps (2000 for sweeps) the log density and gradient are those of a fresh evaluation."""
    world = make_world(name, 0)
    demonstrations = world.expert.answers(np.flatnonzero(world.problem.queryable)[::2])
    target = Target(world.problem, demonstrations, engine=engine)
    rng = np.random.default_rng(0)
    num_steps = 50_000 if engine == "dense" else 2000
    z, velocity, work, gradient = (
        *rng.standard_normal((2, target.dimension)),
        target.new_work(),
        np.empty(target.dimension),
    )
    for step in range(num_steps):
        z += 0.02 * velocity
        if step % 50 == 0:
            velocity = rng.standard_normal(target.dimension)
            z *= 0.9
        target.gradient_fn(target.model, target.data, work, z, gradient)
    warm, warm_gradient = target.log_density_and_gradient(z, work)
    fresh, fresh_gradient = target.log_density_and_gradient(z)
    assert warm == pytest.approx(fresh, rel=1e-8, abs=1e-6)
    np.testing.assert_allclose(warm_gradient, fresh_gradient, rtol=1e-6, atol=1e-6 * np.abs(fresh_gradient).max())


def test_evaluate_is_the_same_from_any_start_and_on_any_threads():
    world = make_world("random-8x8", 0)
    target = Target(world.problem, world.expert.answers([0, 9, 17]))
    positions = np.random.default_rng(0).standard_normal((20, target.dimension))
    cold = target.evaluate(positions)
    warm = target.evaluate(positions, start=(cold.values[::-1].copy(), cold.policies[::-1].copy()))
    threaded = target.evaluate(positions, num_threads=3)
    for other in (warm, threaded):
        np.testing.assert_allclose(other.log_density, cold.log_density, rtol=1e-10)
        np.testing.assert_allclose(other.values, cold.values, rtol=1e-10, atol=1e-9)
        np.testing.assert_allclose(other.gradient, cold.gradient, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize(("model_kind", "prior_kind"), twins.KINDS)
def test_packed_arrays_give_the_same(model_kind, prior_kind):
    for engine in ENGINES:
        for rng, problem, counts in cases(model_kind, prior_kind, 2):
            target = Target(problem, counts, engine=engine)
            z, gradient = rng.standard_normal(target.dimension), np.empty(target.dimension)
            packed = pack(target)
            value = kernels.log_density_gradient_packed(*packed, z, gradient)
            expected, expected_gradient = target.log_density_and_gradient(z)
            assert value - 0.5 * target.dimension * np.log(2 * np.pi) == expected
            np.testing.assert_array_equal(gradient, expected_gradient)
            assert packed.num_gradients == 1


def test_fractional_counts_scale_the_likelihood():
    rng = np.random.default_rng(0)
    problem = twins.random_problem(rng, "per_state", "normal")
    counts, z = twins.random_counts(rng, problem, 10), rng.standard_normal(7)
    prior, _ = Target(problem).log_density_and_gradient(z)
    whole, _ = Target(problem, counts).log_density_and_gradient(z)
    half, _ = Target(problem, 0.5 * counts).log_density_and_gradient(z)
    assert half - prior == pytest.approx(0.5 * (whole - prior))


def test_identical_actions_tie_without_harm():
    """All five actions of the jail are one: an answer there has chance 1/5 whatever the reward, and no gradient."""
    world = make_world("jail", 0)
    jail_state = next(s for s, kind in enumerate(world.problem.mdp.grid.kinds) if kind == "jail")
    z = np.array([0.3, -0.2, 0.1])
    for engine in ENGINES:
        target = Target(world.problem, Demonstration.annotation(jail_state, 3), engine=engine)
        value, gradient = target.log_density_and_gradient(z)
        prior, prior_gradient = Target(world.problem, engine=engine).log_density_and_gradient(z)
        assert value - prior == pytest.approx(-np.log(5.0))
        np.testing.assert_allclose(gradient, prior_gradient, atol=1e-9)


def problem_with_holes():
    rng = np.random.default_rng(3)
    return twins.random_problem(rng, "per_state", "normal", num_states=30)


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
def test_counts_must_be_numbers_of_times(bad):
    problem = problem_with_holes()
    counts = np.zeros((30, 3))
    s, a = np.argwhere(problem.mdp.available)[4]
    counts[s, a] = bad
    with pytest.raises(InputError, match=f"state {s}, action {a}"):
        Target(problem, counts)


def test_counts_must_fit_the_problem():
    problem = problem_with_holes()
    with pytest.raises(InputError, match=r"shape \(30, 3\), got \(3, 30\)"):
        Target(problem, np.zeros((3, 30)))
    counts = np.zeros((30, 3))
    s, a = np.argwhere(~problem.mdp.available)[0]
    counts[s, a] = 1
    with pytest.raises(InputError, match="do not exist"):
        Target(problem, counts)


def test_wrong_engine_point_and_prior_are_refused():
    problem = problem_with_holes()
    with pytest.raises(InputError, match="engine must be one of auto, dense, sparse, got 'fast'"):
        Target(problem, engine="fast")
    with pytest.raises(InputError, match=r"z must have shape \(30,\), got \(2,\)"):
        Target(problem).log_density_and_gradient([0.0, 1.0])
    with pytest.raises(UnsupportedError, match="no unconstrained space"):
        Target(make_world("bandit").problem)


@pytest.mark.parametrize("beta", [0.0, -1.0, np.nan, np.inf])
def test_beta_must_be_positive_and_finite(beta):
    problem = problem_with_holes()
    with pytest.raises(InputError, match="beta must be positive and finite"):
        Problem(problem.mdp, problem.reward_model, problem.prior, beta)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("model_kind", "prior_kind"), [("per_state", "normal"), ("features", "uniform")])
def test_a_wider_prior_changes_the_log_density_by_its_own(model_kind, prior_kind, engine):
    for rng, problem, counts in cases(model_kind, prior_kind, 3):
        target, tau = Target(problem, counts, engine=engine), 1.0 / 9.0
        wide, z = target.with_precision(tau).with_counts(counts), rng.standard_normal(target.dimension)
        (value, gradient), (other, other_gradient) = (one.log_density_and_gradient(z) for one in (target, wide))
        expected = value + 0.5 * (1.0 - tau) * z @ z + 0.5 * target.dimension * np.log(tau)
        assert other == pytest.approx(expected, rel=1e-12, abs=1e-12)
        np.testing.assert_allclose(other_gradient, gradient + (1.0 - tau) * z, rtol=1e-12, atol=1e-12)
        packed_gradient = np.empty(target.dimension)
        packed = kernels.log_density_gradient_packed(*pack(wide), z, packed_gradient)
        assert packed + 0.5 * target.dimension * np.log(tau / (2 * np.pi)) == pytest.approx(other, rel=1e-12)
        np.testing.assert_array_equal(packed_gradient, other_gradient)
        general = GeneralTarget(problem, target.data).with_precision(tau)
        found = general.with_counts(counts).log_density_and_gradient(z)
        assert found[0] == pytest.approx(other, rel=1e-9, abs=1e-6)
        np.testing.assert_allclose(found[1], other_gradient, rtol=1e-7, atol=1e-6)


def test_nobody_waits_for_policies_improved_by_half_an_inverse():
    """`invert` stops midway when nobody wants its result; with what it leaves, policies might be improved for ever."""
    problem = make_world("random-grid", size=6).problem
    target = Target(problem, [Demonstration.annotation(s, s % 5) for s in range(0, 36, 5)], engine="dense")
    rng = np.random.default_rng(0)
    z = rng.standard_normal((20, target.dimension))
    target.log_density_and_gradient(z[0])  # compiled before there is anything to wait for

    def evaluate_all():
        for point in z:
            work = target.new_work()
            work.inverse[:] = rng.standard_normal(work.inverse.shape)
            work.num_updates[:] = [0, 0, 0, 1]
            target.log_density_and_gradient(point, work)

    thread = Thread(target=evaluate_all, daemon=True)
    thread.start()
    thread.join(20.0)
    assert not thread.is_alive()
