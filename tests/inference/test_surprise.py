"""How surprising answers are: closed forms, replicated answers, and false alarms on well specified data."""

from itertools import product

import numpy as np
import pytest
from scipy.special import gammaln

from journeyman.demonstrations import Demonstration
from journeyman.experts import SimulatedExpert
from journeyman.inference import smc
from journeyman.inference.enumeration import infer_enumerate
from journeyman.inference.surprise import log_gains, standardised, surprise_of
from journeyman.mdp import FiniteMDP
from journeyman.problem import Problem
from journeyman.rewards import Discrete, PerStateAction
from journeyman.worlds import make_world


def one_step_problem(atoms, beta: float, num_actions: int = 2) -> Problem:
    """Every action ends the episode; atoms are rewards `[M, S * A]`."""
    num_states = len(atoms[0]) // num_actions
    transitions = np.zeros((num_states, num_actions, num_states))
    mdp = FiniteMDP.from_dense(transitions, layout="SAS", discount=0.9, terminal=np.zeros(num_states, dtype=bool))
    return Problem(mdp, PerStateAction(mdp), Discrete(np.array(atoms, dtype=float)), beta)


def surprise(problem: Problem, counts):
    posterior = infer_enumerate(problem, np.array(counts))
    return surprise_of(problem, posterior.counts, posterior.theta, posterior.values, posterior.weights)


@pytest.mark.parametrize("num_wrong", [1, 3, 6])
def test_a_bandit_of_two_actions_has_a_closed_form(num_wrong):
    """With p = 1 / (1 + e^2) for the worse action, z is that of the number of bad answers among 6."""
    p = 1.0 / (1.0 + np.exp(2.0))
    found = surprise(one_step_problem([[0.0, 1.0]], 2.0), [[num_wrong, 6 - num_wrong]])
    assert found.num_answers == 6
    assert found.z == pytest.approx(-(num_wrong - 6 * p) / np.sqrt(6 * p * (1 - p)))
    own = p**num_wrong * (1 - p) ** (6 - num_wrong)
    jeffreys = gammaln(num_wrong + 0.5) + gammaln(6.5 - num_wrong) - 2 * gammaln(0.5) - gammaln(7.0)
    rivals = [np.exp(jeffreys)]
    for power in (0.0, 0.5, 2.0):
        worse, better = p**power, (1 - p) ** power
        rivals.append((worse / (worse + better)) ** num_wrong * (better / (worse + better)) ** (6 - num_wrong))
    assert found.log_gain == pytest.approx(np.log(np.mean(rivals) / own))


def test_no_answers_are_no_surprise():
    found = surprise(one_step_problem([[0.0, 1.0]], 2.0), [[0, 0]])
    assert (found.num_answers, found.z, found.log_gain, found.is_large) == (0, 0.0, 0.0, False)


def test_replicated_answers_have_mean_0_and_variance_1():
    rng = np.random.default_rng(0)
    policy = rng.dirichlet(np.ones(4), size=3)
    totals, size = np.array([1, 4, 9]), 4000
    tables = np.stack([rng.multinomial(n, p, size=size) for n, p in zip(totals, policy, strict=True)], axis=1)
    z = np.array([standardised(np.log(policy)[None], table.astype(float))[0] for table in tables])
    assert abs(z.mean()) < 4 / np.sqrt(size)
    # The variance of a sample variance is (kurtosis - 1) / size; a kurtosis of 6 is more than these sums have.
    assert abs(z.var() - 1.0) < 4 * np.sqrt(5 / size)


def test_the_mean_gain_under_a_sample_is_one():
    """Exactly, over all tables of answers: so a gain of g has a chance of at most 1 / g."""
    policy = np.array([[0.9, 0.08, 0.02], [0.3, 0.7, 0.0]])
    available = np.array([[True, True, True], [True, True, False]])
    tables = [
        np.array([[a, b, 3 - a - b], [c, 2 - c, 0]], dtype=float)
        for a, b, c in product(range(4), range(4), range(3))
        if a + b <= 3
    ]
    with np.errstate(divide="ignore"):
        log_policy = np.maximum(np.log(policy), -1e12)
    total = 0.0
    for table in tables:
        orders = np.exp((gammaln(table.sum(axis=1) + 1) - gammaln(table + 1).sum(axis=1)).sum())
        chance = orders * np.exp((log_policy * table).sum())
        total += chance * np.exp(log_gains(log_policy[None], table, available)[0])
    assert total == pytest.approx(1.0, rel=1e-12)


def test_answers_that_are_all_alike_surprise_where_actions_are():
    """z does not see it, since every action has the same chance."""
    found = surprise(one_step_problem([[1.0, 1.0]], 2.0), [[20, 0]])
    assert found.z == 0.0
    assert found.is_large


def test_scale_and_shift_of_rewards_do_not_matter():
    counts = [[1, 3], [5, 0]]
    plain = surprise(one_step_problem([[0.0, 1.0, 0.2, 0.5]], 2.0), counts)
    for scale, shift in ((1e6, 0.0), (1e-6, 0.0), (1.0, 1e3)):
        atoms = [[scale * r + shift for r in (0.0, 1.0, 0.2, 0.5)]]
        other = surprise(one_step_problem(atoms, 2.0 / scale), counts)
        assert other.z == pytest.approx(plain.z, rel=1e-9)
        assert other.log_gain == pytest.approx(plain.log_gain, rel=1e-9)


def test_one_error_of_a_careful_expert_is_no_alarm_though_z_is_low():
    """20 states, chance of an error 0.002 each: one error has a chance of 4 %, and z below -4."""
    gap = np.log(499.0)
    found = surprise(one_step_problem([[0.0, gap] * 20], 1.0), [[1, 0]] + [[0, 1]] * 19)
    assert found.z < -4.0
    assert not found.is_large


@pytest.mark.parametrize("name", ["lopes-two-state", "brown-two-state", "bandit"])
@pytest.mark.parametrize("num_answers", [5, 40])
def test_well_specified_answers_rarely_surprise(name, num_answers):
    """Among 50 data sets with the truth from the prior: the guarantee allows 1.3 %, so 5 with a chance of 0.1 %."""
    num_large = 0
    for seed in range(50):
        world = make_world(name, seed)
        rng = np.random.default_rng(seed)
        expert = SimulatedExpert(world.problem.mdp, world.reward, world.problem.expert, seed=seed)
        states = rng.choice(np.flatnonzero(world.problem.queryable), num_answers)
        num_large += surprise(world.problem, world.problem.counts(expert.answers(states))).is_large
    assert num_large <= 4


@pytest.mark.slow
@pytest.mark.parametrize(("name", "options"), [("jail", {}), ("random-grid", {"size": 3, "terminals": "independent"})])
def test_well_specified_worlds_are_not_searched(name, options):
    for seed in range(100):
        world = make_world(name, seed, **options)
        states = np.random.default_rng(seed).choice(np.flatnonzero(world.problem.queryable), 15)
        counts = world.problem.counts(world.make_expert(seed + 1000).answers(states))
        particles = smc.advance(smc.start(world.problem, seed=seed, num_particles=200), counts)
        assert particles.num_searched == 0


def test_atoms_that_fit_none_of_the_answers_carry_a_warning():
    problem = one_step_problem([[0.0, 1.0], [1.0, 0.0]], 1e5)
    posterior = smc.infer_smc(problem, np.array([[5, 5]]))
    assert len(posterior.warnings) == 1
    assert posterior.warnings[0].startswith(
        "models without a goal explain the answers far better than every reward that was found ("
    )
    assert "the expert does not fit the model" in posterior.warnings[0]
    assert smc.infer_smc(problem, problem.counts(Demonstration.annotation(0, 1))).warnings == ()
