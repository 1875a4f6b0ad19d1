"""Apprentices against all policies, tried one by one."""

import numpy as np
import pytest
from apprentice.random_posteriors import all_policies, posterior_over, random_posterior
from apprentice.test_regret import prior_of

from journeyman.apprentice import APPRENTICES, expected_return, least_risky, most_likely_optimal, regrets
from journeyman.apprentice.policies import candidate_policies, return_changes, risk_of
from journeyman.errors import InputError
from journeyman.mdp import FiniteMDP, evaluate_policy

SEEDS = range(40)


def one_state(rewards, weights=None, **options):
    """A posterior over rewards `[M, A]` of one state, after which the episode ends."""
    rewards = np.asarray(rewards, dtype=float)
    mdp = FiniteMDP.from_dense(
        np.zeros((1, rewards.shape[1], 1)), layout="SAS", discount=0.9, terminal=np.zeros(1, dtype=bool), **options
    )
    return posterior_over(mdp, rewards[:, None], weights)


def test_expected_return_has_the_largest_expected_return():
    for seed in SEEDS:
        posterior = random_posterior(seed, unavailable=0.2)
        mdp = posterior.problem.mdp
        mean_reward = posterior.mean(posterior.rewards)
        returns = [mdp.initial @ evaluate_policy(mdp, policy, mean_reward) for policy in all_policies(mdp)]
        found = mdp.initial @ evaluate_policy(mdp, expected_return(posterior), mean_reward)
        assert found >= max(returns) - 1e-9 * (1.0 + np.abs(posterior.values).max())


def test_most_likely_optimal_is_most_likely_optimal():
    for seed in SEEDS:
        posterior = random_posterior(seed, max_atoms=12, unavailable=0.2)
        chances = posterior.optimal_action_probabilities()
        policy = most_likely_optimal(posterior)
        states = np.arange(len(policy))
        assert posterior.problem.mdp.available[states, policy].all()
        np.testing.assert_allclose(chances[states, policy], chances.max(axis=1), atol=1e-9)


def test_ties_go_to_the_larger_mean_value_then_to_the_lowest_index():
    assert most_likely_optimal(one_state([[1.0, 0.0, 0.0], [0.0, 3.0, 0.0]])).tolist() == [1]
    assert most_likely_optimal(one_state([[0.0, 3.0, 0.0], [1.0, 0.0, 0.0]])).tolist() == [1]
    assert most_likely_optimal(one_state([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])).tolist() == [1]
    assert most_likely_optimal(one_state([[5.0, 5.0, 5.0]])).tolist() == [0]
    rounding = [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0 + 1e-13]]
    assert most_likely_optimal(one_state(rounding)).tolist() == [1]


def test_actions_that_do_not_exist_are_never_chosen():
    available = np.array([[False, True, True]])
    posterior = one_state([[9.0, 0.0, 1.0], [9.0, 1.0, 0.0], [9.0, 0.0, 2.0]], available=available)
    for apprentice in APPRENTICES.values():
        assert apprentice.policy_fn(posterior, 0.5).tolist() == [2]


def test_trap_with_both_apprentices():
    """Rewards 0, and +50 / -100 in unknown order: the careful one surely loses 50, the bold one 0 or 150."""
    posterior = prior_of("regret-eig-trap")
    assert expected_return(posterior).tolist() == [0]
    np.testing.assert_allclose(regrets(posterior, expected_return(posterior)), [50.0, 50.0])
    bold = most_likely_optimal(posterior)
    assert bold.tolist() == [1]
    np.testing.assert_allclose(regrets(posterior, bold), [0.0, 150.0])
    assert least_risky(posterior, 60.0).tolist() == [0]
    assert least_risky(posterior, 50.0).tolist() == [1]  # a regret of exactly epsilon counts


def test_brown_world_with_both_apprentices():
    posterior = prior_of("brown-two-state")
    for policy in (expected_return(posterior), most_likely_optimal(posterior)):
        assert policy.tolist() == [0, 0]  # all is symmetric: the lowest index
        np.testing.assert_allclose(posterior.mean(regrets(posterior, policy)), 6 + 5 * 0.9)


def test_least_risky_against_all_policies():
    """Never worse than the others, never better than the best of all, and nearly always that best."""
    num_best = num_better = 0
    for seed in SEEDS:
        posterior = random_posterior(seed, min_actions=2, max_atoms=12)
        simple = [expected_return(posterior), most_likely_optimal(posterior)]
        epsilon = max(0.5 * float(posterior.mean(regrets(posterior, simple[0]))), 0.05)
        risks = [risk_of(posterior, policy, epsilon).chance for policy in all_policies(posterior.problem.mdp)]
        found = risk_of(posterior, least_risky(posterior, epsilon), epsilon).chance
        others = min(risk_of(posterior, policy, epsilon).chance for policy in simple)
        assert min(risks) - 1e-12 <= found <= others + 1e-12
        num_best += found <= min(risks) + 1e-12
        num_better += found < others - 1e-12
    assert num_best >= 36
    assert num_better >= 5


def test_improvement_leaves_a_candidate_that_can_be_improved():
    """Without any candidate of the samples, changes of one state still find a better policy."""
    found = 0
    for seed in range(30):
        posterior = random_posterior(seed, min_actions=2, max_atoms=12)
        epsilon = max(0.5 * float(posterior.mean(regrets(posterior, expected_return(posterior)))), 0.05)
        plain = least_risky(posterior, epsilon, max_candidates=0, max_improvements=0)
        better = least_risky(posterior, epsilon, max_candidates=0)
        before, after = (risk_of(posterior, policy, epsilon).chance for policy in (plain, better))
        assert after <= before
        found += after < before - 1e-12
    assert found >= 5


def test_return_changes_are_exact():
    for seed in SEEDS:
        posterior = random_posterior(seed, max_states=5, max_actions=4)
        mdp = posterior.problem.mdp
        policy = most_likely_optimal(posterior)
        states = np.arange(mdp.num_states)
        changes = return_changes(posterior, policy, states)
        before = regrets(posterior, policy)
        tolerance = 3e-9 * (1.0 + np.abs(posterior.values).max()) / (1.0 - mdp.discount)
        for s in states:
            for a in range(mdp.num_actions):
                changed = policy.copy()
                changed[s] = a
                np.testing.assert_allclose(before - changes[:, s, a], regrets(posterior, changed), atol=tolerance)


def test_candidates_are_distinct_and_the_heaviest_first():
    posterior = one_state([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 2, 0]], [0.3, 0.2, 0.25, 0.25])
    assert [policy.tolist() for policy in candidate_policies(posterior, 10)] == [[1], [0], [2]]
    assert [policy.tolist() for policy in candidate_policies(posterior, 2)] == [[1], [0]]
    assert candidate_policies(posterior, 0) == []


@pytest.mark.parametrize("epsilon", [0.0, -1.0, np.nan, np.inf])
def test_bad_epsilon(epsilon):
    with pytest.raises(InputError, match="epsilon must be positive and finite"):
        least_risky(random_posterior(0), epsilon)


def test_bad_limits():
    with pytest.raises(InputError, match="max_candidates"):
        least_risky(random_posterior(0), 1.0, max_candidates=-1)
