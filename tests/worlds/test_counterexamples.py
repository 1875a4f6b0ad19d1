"""The tiny worlds by hand."""

import numpy as np
import pytest

from journeyman.mdp import evaluate_policy, solve
from journeyman.worlds import make_world


def test_lopes_two_state_by_hand():
    """Both states end at once. s0: rewards 2 or 3 each (0.1 and 0.9); s1: 5 or 7 against a certain 1."""
    world = make_world("lopes-two-state")
    problem = world.problem
    assert not problem.mdp.terminal.any() and problem.mdp.rows.probabilities.size == 0
    np.testing.assert_array_equal(problem.mdp.initial, [0.5, 0.5])
    atoms, weights = problem.prior.atoms, problem.prior.weights
    assert len(atoms) == 8 and weights.sum() == pytest.approx(1.0, rel=1e-15)
    assert weights[(atoms[:, :2] == [3.0, 3.0]).all(axis=1)].sum() == pytest.approx(0.81)
    assert weights[(atoms[:, :2] == [2.0, 2.0]).all(axis=1)].sum() == pytest.approx(0.01)
    for atom in atoms:
        solution = solve(problem.mdp, problem.reward_model.reward(atom))
        assert solution.values.tolist() == [max(atom[0], atom[1]), atom[2]]
        assert solution.policy.tolist() == [int(atom[1] > atom[0]), 0]


def test_lopes_policy_entropies_are_those_of_the_paper():
    """Entropy over distinct policy rows: 0.860 bits in s0 (ties, 0.82; either action alone, 0.09 each), 1 bit in s1."""
    problem = make_world("lopes-two-state").problem
    weights = problem.prior.weights
    rewards = problem.reward_model.reward(problem.prior.atoms)
    for state, expected in [(0, 0.860), (1, 1.000)]:
        q = rewards[:, state]
        rows = np.round(np.exp(2 * q) / np.exp(2 * q).sum(axis=1, keepdims=True), 12)
        _, group = np.unique(rows, axis=0, return_inverse=True)
        chances = np.bincount(group.ravel(), weights=weights)
        assert -(chances * np.log2(chances)).sum() == pytest.approx(expected, abs=5e-4)


@pytest.mark.parametrize("discount", [0.5, 0.9])
def test_brown_two_state_by_hand(discount):
    """s0 pays 2 or -2 and leads to s1, which pays 10 or -10 and ends: V = (2 + 10 discount, 10) whatever the signs."""
    problem = make_world("brown-two-state", discount=discount).problem
    assert len(problem.prior.atoms) == 4 and (problem.prior.weights == 0.25).all()
    np.testing.assert_array_equal(problem.mdp.initial, [0.5, 0.5])
    losses = []
    for atom in problem.prior.atoms:
        reward = problem.reward_model.reward(atom)
        solution = solve(problem.mdp, reward)
        np.testing.assert_allclose(solution.values, [2 + 10 * discount, 10.0], rtol=1e-14)
        assert solution.policy.tolist() == [int(atom[1] > atom[0]), int(atom[3] > atom[2])]
        uniform = solution.values - evaluate_policy(problem.mdp, np.full((2, 2), 0.5), reward)
        np.testing.assert_allclose(uniform, [2 + 10 * discount, 10.0], rtol=1e-14)
        losses.append(solution.values - evaluate_policy(problem.mdp, [0, 0], reward))
    # a deterministic apprentice: none, one or both wrong; at most 4 + 20 discount and 20
    np.testing.assert_allclose(np.max(losses, axis=0), [4 + 20 * discount, 20.0], rtol=1e-14)
    assert np.mean(losses, axis=0) @ problem.mdp.initial == pytest.approx(6 + 5 * discount, rel=1e-14)


def test_regret_eig_trap_by_hand():
    """a0 gives 0, a1 and a2 give 50 and -100 in unknown order: the mean prefers a0, whose regret is surely 50."""
    problem = make_world("regret-eig-trap").problem
    rewards = problem.reward_model.reward(problem.prior.atoms)
    assert sorted(rewards[:, 0].tolist()) == [[0.0, -100.0, 50.0], [0.0, 50.0, -100.0]]
    mean = np.einsum("m,msa->sa", problem.prior.weights, rewards)
    assert mean.tolist() == [[0.0, -25.0, -25.0]]
    apprentice = solve(problem.mdp, mean).policy
    for reward in rewards:
        regret = solve(problem.mdp, reward).values - evaluate_policy(problem.mdp, apprentice, reward)
        assert regret.tolist() == [50.0]


def test_bandit_by_hand():
    """64 states, one step, two actions 0.3 apart; wrong in every second state costs 0.15 on average, above 0.1."""
    problem = make_world("bandit").problem
    mdp = problem.mdp
    np.testing.assert_array_equal(mdp.initial, np.full(64, 1 / 64))
    assert mdp.rows.probabilities.size == 0 and not mdp.terminal.any()
    assert problem.prior.atoms.shape == (512, 64) and set(np.unique(problem.prior.atoms)) == {-1.0, 1.0}
    for atom in problem.prior.atoms[:5]:
        reward = problem.reward_model.reward(atom)
        np.testing.assert_allclose(reward[:, 0] - reward[:, 1], 0.3 * atom, rtol=1e-14)
        solution = solve(mdp, reward)
        np.testing.assert_allclose(solution.values, 0.15, rtol=1e-14)
        np.testing.assert_array_equal(solution.policy, (atom < 0).astype(int))
    apprentice = np.zeros(64, dtype=int)
    regrets = [
        mdp.initial @ (0.15 - evaluate_policy(mdp, apprentice, problem.reward_model.reward(atom)))
        for atom in problem.prior.atoms
    ]
    assert np.mean(np.array(regrets) >= 0.1) > 0.95


def test_all_atoms_occur_as_truths():
    for name in ("lopes-two-state", "brown-two-state", "regret-eig-trap"):
        prior = make_world(name).problem.prior
        truths = np.array([make_world(name, seed).true_parameters for seed in range(300)])
        counts = [(truths == atom).all(axis=1).sum() for atom in prior.atoms]
        assert sum(counts) == 300
        frequent = prior.weights >= 0.02
        assert (np.array(counts)[frequent] > 0).all()
