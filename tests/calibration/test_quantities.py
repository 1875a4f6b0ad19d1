import numpy as np
from calibration.problems import choice_problem

from journeyman.calibration.replication import fixed_policy, quantities, quantity_names
from journeyman.experts import SimulatedExpert
from journeyman.mdp import evaluate_policy, solve, solve_batch
from journeyman.worlds import make_world


def test_quantities_against_their_definitions():
    for problem in (choice_problem(), make_world("jail", 1).problem, make_world("random-grid", 1, size=4).problem):
        rng = np.random.default_rng(0)
        theta = problem.prior.sample(rng, 6)
        rewards = problem.reward_model.reward(theta)
        truth = SimulatedExpert(problem.mdp, rewards[0], problem.beta)
        answers = truth.answers(rng.choice(np.flatnonzero(problem.queryable), 8))
        policy = fixed_policy(rng, problem)
        parameters = (0, problem.prior.num_parameters - 1)
        values = solve_batch(problem.mdp, rewards).values
        table = quantities(problem, problem.counts(answers), policy, parameters, theta, values)
        for row, sample, reward in zip(table, theta, rewards, strict=True):
            expert = SimulatedExpert(problem.mdp, reward, problem.beta)
            best = problem.mdp.initial @ solve(problem.mdp, reward).values
            regret = best - problem.mdp.initial @ evaluate_policy(problem.mdp, policy, reward)
            expected = [expert.log_likelihood(answers), best, regret, sample[0], sample[-1]]
            np.testing.assert_allclose(row, expected, rtol=1e-9, atol=1e-9 * (1 + abs(best)))
        assert (table[:, 2] >= 0).all()


def test_regret_of_an_optimal_policy_is_exactly_zero():
    problem = make_world("random-grid", 1, size=4).problem
    theta = problem.prior.sample(np.random.default_rng(0), 1)
    solution = solve_batch(problem.mdp, problem.reward_model.reward(theta))
    counts = np.zeros((problem.mdp.num_states, problem.mdp.num_actions), dtype=int)
    table = quantities(problem, counts, solution.policy[0], (0,), theta, solution.values)
    assert table[0, 2] == 0.0


def test_names():
    assert quantity_names(choice_problem(), (1,)) == ("log likelihood", "V*(rho)", "regret", "second")
