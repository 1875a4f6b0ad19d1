"""Beta, discount and rewards of any size: right to the last digits, or refused in words. References are exact."""

import warnings

import numpy as np
import pytest
from numerics.exact import action_values, posterior_weights

from journeyman.apprentice import certify
from journeyman.demonstrations import Demonstration
from journeyman.errors import JourneymanError
from journeyman.inference import infer
from journeyman.mdp import FiniteMDP, solve
from journeyman.problem import Problem
from journeyman.rewards import Discrete, Normal, PerState

BETAS = (1e-6, 1.0, 1e3, 1e6)
DISCOUNTS = (0.01, 0.9, 0.999, 0.999999)
UNITS = (1e-12, 1.0, 1e12)
CYCLE = np.zeros((3, 3, 3))  # two actions of three are one and the same, and the last state is left once in 1e9 steps
CYCLE[0] = [[0.9, 0.1, 0], [0.2, 0.8, 0], [0.2, 0.8, 0]]
CYCLE[1] = [[0.5, 0.5, 0], [0, 0.1, 0.9], [0, 0.1, 0.9]]
CYCLE[2] = [[0, 0, 1], [1e-9, 0, 1 - 1e-9], [0, 0, 1]]
ANSWERS = ((0, 1, 3), (1, 0, 2))  # state, action, how often
RNG = np.random.default_rng(0)
ATOMS, CHANCES = RNG.normal(size=(6, 3)), RNG.dirichlet(np.ones(6))


def told(answers=ANSWERS):
    return [Demonstration.annotation(state, action) for state, action, number in answers for _ in range(number)]


def counts_of(answers, shape):
    counts = np.zeros(shape, dtype=int)
    for state, action, number in answers:
        counts[state, action] += number
    return counts


def problem_of(transitions=CYCLE, discount=0.9, beta=1.0, atoms=ATOMS, chances=CHANCES):
    initial = np.eye(len(transitions))[0]
    mdp = FiniteMDP.from_dense(transitions, layout="SAS", discount=discount, initial=initial)
    return Problem(mdp, PerState(mdp), Discrete(atoms, chances), beta)


def weights_of(posterior, atoms):
    """Weights `[K]` in the order of the atoms."""
    found = np.zeros(len(atoms))
    for theta, weight in zip(posterior.theta, posterior.weights, strict=True):
        found[np.abs(atoms - theta).max(axis=1).argmin()] += weight
    return found


def exact_regrets(problem, atoms, policy):
    """Regrets of a policy from the first state, by fractions."""
    dense, discount = problem.mdp.dense_transitions(), problem.mdp.discount
    own = np.stack([dense[state, [action]] for state, action in enumerate(policy)])
    return np.array([
        float(max(action_values(dense, discount, atom)[0]) - action_values(own, discount, atom)[0][0]) for atom in atoms
    ])  # fmt: skip


@pytest.mark.parametrize("discount", DISCOUNTS)
@pytest.mark.parametrize("beta", BETAS)
def test_posteriors_and_certificates_are_right_or_refused(beta, discount):
    for unit in UNITS:
        atoms, epsilon = unit * ATOMS, 0.1 * unit
        problem = problem_of(discount=discount, beta=beta, atoms=atoms)
        posterior = infer(problem, told(), "enumerate", seed=1, num_threads=1)
        found = certify(posterior, epsilon, 0.1)
        assert np.isfinite(posterior.weights).all() and np.isfinite(posterior.values).all()
        if found.status == "refused":
            assert "numerical error" in found.reasons[0]
            continue
        counts = counts_of(ANSWERS, (3, 3))
        exact = posterior_weights(problem.mdp.dense_transitions(), discount, beta, atoms, CHANCES, counts)
        np.testing.assert_allclose(weights_of(posterior, atoms), exact, atol=1e-6)
        regrets = exact_regrets(problem, atoms, np.asarray(found.policy))
        is_clear = np.abs(regrets - epsilon) > found.numerical_error
        assert is_clear.all()
        assert found.p_hat == pytest.approx(np.dot(exact, regrets >= epsilon), abs=1e-6)


def test_refusals_come_only_where_they_must():
    """What has room above rounding is not refused: a reward in any unit with the beta and epsilon that fit it."""
    for unit in UNITS:
        for discount in (0.01, 0.9, 0.999):
            problem = problem_of(discount=discount, beta=1.0 / unit, atoms=unit * ATOMS)
            found = certify(infer(problem, told(), "enumerate", seed=1, num_threads=1), 0.1 * unit, 0.1)
            assert found.status != "refused"


@pytest.mark.parametrize("discount", DISCOUNTS)
@pytest.mark.parametrize("unit", UNITS)
def test_values_against_fractions(discount, unit):
    mdp = problem_of(discount=discount).mdp
    dense = mdp.dense_transitions()
    for atom in unit * ATOMS:
        exact = np.array([float(max(row)) for row in action_values(dense, discount, atom)])
        solution = solve(mdp, atom)
        assert solution.converged or discount == DISCOUNTS[-1]  # where rounding alone is more than the usual tolerance
        assert np.abs(solution.values - exact).max() <= solution.error_bound


@pytest.mark.parametrize("method", ["smc", "policywalk", "valuewalk"])
@pytest.mark.parametrize("beta", [1e-6, 1e6])
@pytest.mark.parametrize("discount", [0.01, 0.999999])
def test_samplers_stay_finite_or_say_no(method, beta, discount):
    options = {"smc": {"num_particles": 100}}.get(method, {"num_warmup": 30, "num_draws": 30, "num_chains": 2})
    for unit in (1e-12, 1e12):
        mdp = problem_of(discount=discount).mdp
        problem = Problem(mdp, PerState(mdp), Normal(3, std=unit), beta)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                posterior = infer(problem, told(), method, seed=2, num_threads=1, **options)
        except JourneymanError as error:
            assert str(error)
            continue
        for array in (posterior.theta, posterior.weights, posterior.values):
            assert np.isfinite(array).all()
        assert posterior.weights.sum() == pytest.approx(1.0)
        certificate = certify(posterior, 0.1 * unit, 0.1)
        assert certificate.status in ("holds", "doubtful", "undecided", "fails", "refused")
        assert np.isfinite(certificate.p_hat)


def test_one_state_and_one_action():
    alone = problem_of(np.ones((1, 1, 1)), atoms=np.array([[0.0], [1.0]]), chances=[0.3, 0.7])
    posterior = infer(alone, told([(0, 0, 5)]), "enumerate", seed=1)
    np.testing.assert_allclose(weights_of(posterior, np.array([[0.0], [1.0]])), [0.3, 0.7], atol=1e-15)
    found = certify(posterior, 1e-3, 0.1)
    assert (found.status, found.p_hat) == ("holds", 0.0)


def test_where_all_actions_tie_nothing_is_learned():
    same = np.repeat(CYCLE[:, :1], 3, axis=1)
    posterior = infer(problem_of(same, beta=1e6), told(), "enumerate", seed=1)
    np.testing.assert_allclose(weights_of(posterior, ATOMS), CHANCES, atol=1e-15)
    assert certify(posterior, 1e-6, 0.1).p_hat == 0.0


@pytest.mark.parametrize("method", ["enumerate", "smc"])
def test_copies_of_all_actions_change_nothing(method):
    """Each action three times: an answer is as likely as before but for a factor of three, which all rewards share."""
    options = {"num_particles": 200} if method == "smc" else {}
    once, thrice = (
        infer(problem_of(dense, beta=3.0), told(), method, seed=1, num_threads=1, **options)
        for dense in (CYCLE, np.concatenate([CYCLE, CYCLE, CYCLE], axis=1))
    )
    np.testing.assert_allclose(weights_of(thrice, ATOMS), weights_of(once, ATOMS), atol=1e-12)
    one, other = (certify(posterior, 0.05, 0.1) for posterior in (once, thrice))
    assert (one.status, one.p_hat) == (other.status, pytest.approx(other.p_hat, abs=1e-12))


@pytest.mark.parametrize("shift", [1.0, -1e3, 1e6])
def test_a_reward_for_every_step_changes_nothing(shift):
    plain, moved = (
        infer(problem_of(beta=2.0, atoms=atoms), told(), "enumerate", seed=1) for atoms in (ATOMS, ATOMS + shift)
    )
    error = 1e-12 * max(1.0, abs(shift))
    np.testing.assert_allclose(weights_of(moved, ATOMS + shift), weights_of(plain, ATOMS), atol=error)
    one, other = (certify(posterior, 0.05, 0.1) for posterior in (plain, moved))
    assert (one.status, one.p_hat) == (other.status, pytest.approx(other.p_hat, abs=error))


def test_units_change_nothing():
    """Reward times c, beta by c, epsilon times c: the same posterior and verdict."""
    expected = certify(infer(problem_of(beta=2.0), told(), "enumerate", seed=1), 0.05, 0.1)
    for unit in (1e-12, 3e-7, 7.0, 1e5, 1e12):
        posterior = infer(problem_of(beta=2.0 / unit, atoms=unit * ATOMS), told(), "enumerate", seed=1)
        found = certify(posterior, 0.05 * unit, 0.1)
        assert (found.status, found.p_hat) == (expected.status, pytest.approx(expected.p_hat, abs=1e-12))


@pytest.mark.parametrize("leak", [1e-3, 1e-9, 1e-15])
def test_cycles_that_are_hardly_ever_left(leak):
    """Two states that lead to each other but for a leak, at a discount close to 1: values are right to 1e-6."""
    dense = np.zeros((3, 2, 3))
    dense[0, :, 1] = dense[1, :, 0] = 1.0 - leak
    dense[0, 0, 0] = dense[0, 1, 2] = leak
    dense[1, :, 1] = leak
    dense[2, :, 2] = 1.0
    problem = problem_of(dense, discount=0.999999, beta=1.0)
    for atom in ATOMS:
        exact = action_values(problem.mdp.dense_transitions(), 0.999999, atom)
        values = np.array([float(max(row)) for row in exact])
        np.testing.assert_allclose(solve(problem.mdp, atom).values, values, rtol=1e-6)


@pytest.mark.parametrize("beta", [1.0, 1e5])
def test_contradictory_answers(beta):
    """Half left, half right, a hundred times: the weights are right, and an expert so sure is not believed in."""
    answers = ((0, 0, 50), (0, 1, 50), (1, 0, 50), (1, 1, 50))
    problem = problem_of(beta=beta)
    posterior = infer(problem, told(answers), "enumerate", seed=1)
    exact = posterior_weights(
        problem.mdp.dense_transitions(), 0.9, beta, ATOMS, CHANCES, counts_of(answers, (3, 3))
    )  # fmt: skip
    np.testing.assert_allclose(weights_of(posterior, ATOMS), exact, atol=1e-9)
    found = certify(posterior, 0.1, 0.1, demonstrations=told(answers))
    assert found.status != "holds" or beta == 1.0
