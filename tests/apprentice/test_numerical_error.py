"""Verdicts do not depend on units, constants, numbering or huge costs: the numerical error never makes a claim true.

Each change of a problem below leaves what a policy may lose as it is (or, for a huge cost, once nobody pays it). So a
certificate must say the same, or refuse because epsilon is not well above the numerical error.
"""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from journeyman.acquisition import score
from journeyman.apprentice import certify, expected_return, regrets
from journeyman.apprentice.regret import failures_of, regret_estimates
from journeyman.demonstrations import Demonstration
from journeyman.inference import infer
from journeyman.mdp import FiniteMDP
from journeyman.mdp.accuracy import accuracy_of
from journeyman.problem import Problem
from journeyman.rewards import Discrete, LinearFeatures, Normal

MOVES = ((0, 0), (-1, 0), (1, 0), (0, -1), (0, 1))
SIZE, FORBIDDEN = 3, 4  # the middle of the grid: on the way, and easy to avoid
NUM_STATES = SIZE * SIZE
FEATURES = np.zeros((NUM_STATES, 2))
FEATURES[8, 0] = FEATURES[6, 1] = 1.0
OPTIONS = {"smc": {"num_particles": 1000}, "enumerate": {}, "policywalk": {"num_warmup": 100, "num_draws": 100}}
COSTS = (1e3, 1e4, 1e6, 1e8, 1e10, 1e12, 1e15)


def next_cell(state, action):
    row, column = divmod(state, SIZE)
    up, right = MOVES[action]
    return min(max(row + up, 0), SIZE - 1) * SIZE + min(max(column + right, 0), SIZE - 1)


def transitions(slip):
    dense = np.zeros((NUM_STATES, len(MOVES), NUM_STATES))
    for state, action in itertools.product(range(NUM_STATES), range(len(MOVES))):
        dense[state, action, next_cell(state, action)] += 1.0 - slip
        for other in range(len(MOVES)):
            dense[state, action, next_cell(state, other)] += slip / len(MOVES)
    return dense


def garden(*, cost=10.0, slip=0.0, unit=1.0, shift=0.0, mean=0.0, method="smc", states=None, actions=None) -> Problem:
    """A grid with two corners of unknown reward and a forbidden middle; perhaps in other units, or renumbered."""
    states = np.arange(NUM_STATES) if states is None else states  # new number -> old
    actions = np.arange(len(MOVES)) if actions is None else actions
    dense = transitions(slip)[np.ix_(states, actions, states)]
    initial = (states == 0).astype(float)
    mdp = FiniteMDP.from_dense(dense, layout="SAS", discount=0.9, initial=initial)
    offset = np.full(NUM_STATES, shift)
    offset[states == FORBIDDEN] -= cost
    model = LinearFeatures(FEATURES[states], mdp, offset=unit * offset)
    prior = Normal(2, mean=unit * mean, std=unit)
    if method == "enumerate":
        rng = np.random.default_rng(5)
        prior = Discrete(unit * (mean + rng.normal(size=(60, 2))), rng.dirichlet(np.ones(60)))
    return Problem(mdp, model, prior, 2.0 / unit)


def answers(states=None, actions=None):
    """The expert was seen to go down in the first cell."""
    first = 0 if states is None else int(np.flatnonzero(states == 0)[0])
    down = 2 if actions is None else int(np.flatnonzero(actions == 2)[0])
    return [Demonstration(first, [(first, down)], ended="annotation")] * 2


def verdict(problem, method, epsilon, given=()):
    posterior = infer(problem, given, method, seed=3, num_threads=1, **OPTIONS[method])
    return certify(replace(posterior, diagnostics=replace(posterior.diagnostics, warnings=())), epsilon, 0.1)


def assert_same(found, expected, tolerance=1e-12):
    """The same verdict and chance, or a refusal that names the numerical error."""
    if found.status == "refused":
        if found.epsilon < 10.0 * found.numerical_error:
            assert "is not well above the numerical error of regrets" in found.reasons[0]
            assert "use an epsilon of at least" in found.advice[0]
        else:
            assert "the log likelihood of the answers has a numerical error of up to" in found.reasons[0]
        assert "make what is forbidden unavailable instead of costly" in found.advice[0]
        return
    assert (found.status, found.p_hat) == (expected.status, pytest.approx(expected.p_hat, abs=tolerance))
    if tolerance < 1e-3:
        assert found.mean_regret / found.epsilon == pytest.approx(expected.mean_regret / expected.epsilon, rel=1e-3)


@pytest.mark.parametrize("method", ["smc", "enumerate"])
@pytest.mark.parametrize("given", [(), answers()])
def test_a_growing_cost_that_nobody_pays_changes_nothing(method, given):
    expected = verdict(garden(cost=1e3, method=method), method, 0.1, given)
    assert expected.status == "fails"
    for cost in COSTS:
        found = verdict(garden(cost=cost, method=method), method, 0.1, given)
        assert_same(found, expected, 0.1 if given and method == "smc" else 1e-12)  # moves of particles feel rounding
        assert found.status == "fails" or (given and method == "smc" and cost >= 1e10)


def test_a_growing_cost_and_chains():
    expected, far, further = (verdict(garden(cost=cost), "policywalk", 0.1, answers()) for cost in (1e3, 1e6, 1e12))
    assert far.status == expected.status == "fails"
    assert far.p_hat == pytest.approx(expected.p_hat, abs=0.25)  # other chains: rounding takes them elsewhere
    assert further.status == "refused"
    assert_same(further, expected)


@pytest.mark.parametrize("method", ["smc", "enumerate"])
def test_a_growing_cost_that_all_pay_now_and_then(method):
    """With slips the huge cost is in all values. The chance is the same as soon as it rules, or it is refused."""
    expected = verdict(garden(cost=1e6, slip=0.1, method=method), method, 1e-4)
    for cost in (1e7, 1e8, 1e9, 1e10, 1e12, 1e15):
        found = verdict(garden(cost=cost, slip=0.1, method=method), method, 1e-4)
        assert_same(found, expected, 0.05)
        assert found.status == "refused" or cost <= 1e9
        assert found.p_hat > 0.5


@pytest.mark.parametrize("method", ["smc", "enumerate", "policywalk"])
def test_units_change_nothing(method):
    expected = verdict(garden(method=method), method, 0.1, answers())
    for unit in (2.0**-60, 2.0**-40, 2.0**-20, 2.0**40, 2.0**60):
        found = verdict(garden(unit=unit, method=method), method, unit * 0.1, answers())
        assert_same(found, expected)
        assert found.status == expected.status
        assert found.numerical_error == pytest.approx(unit * expected.numerical_error, rel=0.01)


@pytest.mark.parametrize("method", ["smc", "enumerate"])
def test_a_tiny_reward_is_not_rounding(method):
    found = verdict(garden(unit=1e-12, method=method), method, 1e-13)
    assert_same(found, verdict(garden(method=method), method, 0.1))
    assert found.status == "fails"


@pytest.mark.parametrize("method", ["smc", "enumerate"])
def test_a_constant_changes_nothing(method):
    expected = verdict(garden(method=method), method, 0.1, answers())
    for shift in (-1e3, 1e4, 1e6, -1e8, 1e10, 1e13):
        found = verdict(garden(shift=shift, method=method), method, 0.1, answers())
        # weights feel the rounding of Q, 1e-15 of the shift, times beta; particles may then move elsewhere
        assert_same(found, expected, 0.1 if method == "smc" else max(1e-12, 1e-13 * abs(shift)))
        assert found.status == "fails" or abs(shift) >= 1e8


def test_a_prior_far_from_zero_is_refused_not_believed():
    """Rewards of 1e13 and more are known to a thousandth at best, and differ by about 1."""
    for mean in (1e13, 1e15):
        assert verdict(garden(mean=mean, cost=0.0), "smc", 0.1).status == "refused"


@pytest.mark.parametrize("cost", [10.0, 1e10])
@pytest.mark.parametrize("method", ["smc", "enumerate"])
def test_numbering_changes_nothing(method, cost):
    expected = verdict(garden(method=method, cost=cost), method, 0.1, answers())
    for seed in range(4):
        rng = np.random.default_rng(seed)
        order = {"states": rng.permutation(NUM_STATES), "actions": rng.permutation(len(MOVES))}
        found = verdict(garden(method=method, cost=cost, **order), method, 0.1, answers(**order))
        assert found.status == expected.status
        assert_same(found, expected, 0.02 if method == "smc" else 1e-12)


def test_every_state_is_judged_within_its_own_error():
    """From the forbidden cell all pay, so that its immediate regret is judged less exactly: refused in time."""
    problem = garden(cost=1e3, method="enumerate")
    for cost, status in ((1e3, "fails"), (1e10, "fails"), (1e15, "refused")):
        posterior = infer(garden(cost=cost, method="enumerate"), (), "enumerate")
        found = certify(posterior, 0.1, 0.1, scope="every_state")
        expected = certify(infer(problem, (), "enumerate"), 0.1, 0.1, scope="every_state")
        assert found.status == status
        assert found.p_hat >= expected.p_hat - 1e-12


@pytest.mark.parametrize(
    "name", ["pac_eig", "ir_eig", "active_var", "expected_regret", "optimal_action_value", "regret_eig"]
)
def test_scores_do_not_depend_on_a_cost_that_nobody_pays(name):
    options = {"edges": (0.0, 1.0)} if name == "pac_eig" else {}
    expected = score(infer(garden(cost=1e3, method="enumerate"), (), "enumerate"), name, **options).values
    asked = np.arange(NUM_STATES) != FORBIDDEN
    for cost in (1e6, 1e10, 1e13):
        posterior = infer(garden(cost=cost, method="enumerate"), (), "enumerate")
        values = score(posterior, name, **options).values
        np.testing.assert_allclose(values[asked], expected[asked], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", ["active_var", "expected_regret", "optimal_action_value", "pac_eig"])
def test_the_best_question_does_not_depend_on_units(name):
    plain = score(infer(garden(method="enumerate"), (), "enumerate"), name, epsilon=0.1)
    for unit in (1e-12, 1e12):
        posterior = infer(garden(unit=unit, method="enumerate"), (), "enumerate")
        scores = score(posterior, name, epsilon=0.1 * unit)
        scale = unit if scores.unit == "reward" else 1.0
        np.testing.assert_allclose(scores.values / scale, plain.values, rtol=1e-6, atol=1e-9)
        assert scores.best_state() == plain.best_state()


# Against exact arithmetic


def exact_solve(matrix, right_side):
    """Gauss and Jordan with fractions."""
    rows = [[*row, value] for row, value in zip(matrix, right_side, strict=True)]
    for i in range(len(rows)):
        pivot = next(k for k in range(i, len(rows)) if rows[k][i] != 0)
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [value / rows[i][i] for value in rows[i]]
        for k in range(len(rows)):
            if k != i and rows[k][i] != 0:
                rows[k] = [value - rows[k][i] * own for value, own in zip(rows[k], rows[i], strict=True)]
    return [row[-1] for row in rows]


def exact_values(mdp, reward, policy):
    """V^pi in fractions, of the numbers that the floats are."""
    P, discount = mdp.dense_transitions(), Fraction(mdp.discount)
    size = range(mdp.num_states)
    matrix = [[(i == j) - discount * Fraction(float(P[i, policy[i], j])) for j in size] for i in size]
    return exact_solve(matrix, [reward[s][policy[s]] for s in size])


def exact_regrets(posterior, policy):
    """The regrets of a policy in fractions, by trying all policies."""
    mdp, model = posterior.problem.mdp, posterior.problem.reward_model
    features, offset = model.features.toarray(), model.offset
    everything = list(itertools.product(range(mdp.num_actions), repeat=mdp.num_states))
    results = []
    for theta in posterior.theta:
        flat = [
            Fraction(float(known))
            + sum(Fraction(float(f)) * Fraction(float(t)) for f, t in zip(row, theta, strict=True))
            for row, known in zip(features, offset, strict=True)
        ]
        reward = [flat[s * mdp.num_actions : (s + 1) * mdp.num_actions] for s in range(mdp.num_states)]
        start = [Fraction(float(p)) for p in mdp.initial]
        returns = [
            sum(p * v for p, v in zip(start, exact_values(mdp, reward, trial), strict=True)) for trial in everything
        ]
        results.append(max(returns) - returns[everything.index(tuple(policy.tolist()))])
    return results


@pytest.mark.parametrize("cost", [0.0, 1e3, 1e6, 1e9, 1e12])
@pytest.mark.parametrize("seed", [0, 1])
def test_regrets_and_chances_against_fractions(seed, cost):
    """Random problems of three states where one action of each may cost a lot, with slips or without."""
    rng = np.random.default_rng(seed)
    num_states, num_actions, num_atoms = 3, 3, 8
    dense = rng.dirichlet(np.ones(num_states), size=(num_states, num_actions))
    if seed == 0:
        dense = np.eye(num_states)[rng.integers(num_states, size=(num_states, num_actions))]
    mdp = FiniteMDP.from_dense(dense, layout="SAS", discount=0.8, initial=[0.5, 0.5, 0.0])
    features = rng.normal(size=(num_states, num_actions, 2))
    offset = np.zeros((num_states, num_actions))
    offset[1, 0], offset[2] = -cost, -cost  # an action that nobody needs, and a state that some pass through
    prior = Discrete(rng.normal(size=(num_atoms, 2)), rng.dirichlet(np.ones(num_atoms)))
    posterior = infer(Problem(mdp, LinearFeatures(features, mdp, offset=offset), prior, 1.0), (), "enumerate")
    policy = expected_return(posterior)
    exact = exact_regrets(posterior, policy)
    found = regret_estimates(posterior, policy)
    assert found.errors.max() <= 1e-9 * (1.0 + cost)
    for value, error, truth in zip(found.values, found.errors, exact, strict=True):
        assert abs(Fraction(float(value)) - truth) <= Fraction(float(error))
    for epsilon in (0.01, 0.1, 1.0):
        chance = sum(w for w, truth in zip(posterior.weights, exact, strict=True) if truth >= Fraction(epsilon))
        certificate = certify(posterior, epsilon, 0.1, policy=policy)
        assert certificate.p_hat >= chance - 1e-12
        if certificate.status != "refused":
            assert certificate.p_hat == pytest.approx(chance, abs=1e-12)


@pytest.mark.parametrize("cost", [0.0, 1e6, 1e12])
def test_bounds_of_values_hold_and_are_local(cost):
    """Values that are off by a known amount are within their bounds, which stay small where no cost can be met."""
    problem = garden(cost=cost, method="enumerate")
    posterior = infer(problem, (), "enumerate")
    exact = posterior.values
    assert np.delete(posterior.accuracy.values, FORBIDDEN, axis=1).max() < 1e-9
    rng = np.random.default_rng(0)
    for noise in (1e-9, 1e-3):
        wrong = exact + noise * rng.uniform(-1.0, 1.0, exact.shape)
        bounds = accuracy_of(problem.mdp, posterior.rewards, wrong).values
        assert (np.abs(wrong - exact) <= bounds + posterior.accuracy.values).all()


def test_failures_are_never_hidden_by_an_error():
    posterior = infer(garden(cost=1e15, slip=0.1, method="enumerate"), (), "enumerate")
    policy = expected_return(posterior)
    found = failures_of(posterior, policy, 0.1, "initial")
    assert found.error.min() > 0.1
    assert found.is_failing.all()
    assert (regrets(posterior, policy) == 0.0).all()  # nothing that can be told from rounding


@pytest.mark.parametrize("method", ["smc", "enumerate"])
def test_atoms_whose_weights_are_rounding_are_refused(method):
    """Answers where both actions are worth exactly the same tell nothing; a huge shared constant makes them seem to."""
    num_states, discount = 9, 0.9
    dense = np.zeros((num_states, 2, num_states))
    for s, a, t in [(0, 0, 1), (0, 1, 2), (5, 0, 6), (5, 1, 7)]:
        dense[s, a, t] = 1.0
    for s, t in [(1, 3), (2, 4), (3, 8), (4, 8), (6, 8), (7, 8), (8, 8)]:
        dense[s, :, t] = 1.0
    mdp = FiniteMDP.from_dense(dense, layout="SAS", discount=discount, initial=np.eye(num_states)[5])
    features = np.zeros((num_states, 2))
    features[:, 0] = 1.0
    features[6, 1], features[7, 1] = 1.0, -1.0
    first, second = 0.8518573736056136, 0.6501974188352687
    offset = np.zeros(num_states)
    offset[[1, 3, 2]] = first, second, first + discount * second
    demonstrations = [Demonstration.annotation(0, 0)] * 100
    statuses = []
    for constant in (0.0, 1e10):
        atoms = [[constant + 0.2742069569533242, 10.0], [constant + 0.7277308459741773, -10.0]]
        problem = Problem(mdp, LinearFeatures(features, mdp, offset=offset), Discrete(atoms, [0.5, 0.5]), 1e6)
        posterior = infer(problem, demonstrations, method)
        posterior = replace(posterior, diagnostics=replace(posterior.diagnostics, warnings=()))
        statuses.append(certify(posterior, 1.0, 0.1).status)
    assert statuses == ["fails", "refused"]
