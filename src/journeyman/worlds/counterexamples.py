"""Tiny worlds in which older acquisition functions ask the wrong thing, with priors over finitely many rewards.

In all of them an action may end the episode and still be a real choice with its own reward, so these states are not
terminal cells.
"""

from itertools import product

import numpy as np

from journeyman.mdp import FiniteMDP
from journeyman.problem import Problem
from journeyman.rewards import Discrete, LinearFeatures, PerStateAction, RewardModel
from journeyman.worlds.world import World, world_rng

BANDIT_STATES, BANDIT_ATOMS, BANDIT_GAP = 64, 512, 0.3


def _world(
    name: str, seed: int, mdp: FiniteMDP, prior: Discrete, beta: float, model: RewardModel | None = None
) -> World:
    problem = Problem(mdp, model or PerStateAction(mdp), prior, beta)
    return World(name, seed, problem, prior.sample(world_rng(name, seed), 1)[0], max_length=2)


def _one_step_mdp(num_states: int, num_actions: int, discount: float) -> FiniteMDP:
    """Every action ends the episode."""
    transitions = np.zeros((num_states, num_actions, num_states))
    return FiniteMDP.from_dense(transitions, layout="SAS", discount=discount, terminal=np.zeros(num_states, dtype=bool))


def lopes_two_state(seed: int = 0, *, beta: float = 2.0, discount: float = 0.9) -> World:
    """Policy entropy prefers s1, where the best action is known, to s0, where it is not (Appendix A)."""
    chances = {2.0: 0.1, 3.0: 0.9}
    atoms, weights = [], []
    for first, second, third in product(chances, chances, (5.0, 7.0)):
        atoms.append([first, second, third, 1.0])
        weights.append(chances[first] * chances[second] * 0.5)
    prior = Discrete(np.array(atoms), np.array(weights))
    return _world("lopes-two-state", seed, _one_step_mdp(2, 2, discount), prior, beta)


def brown_two_state(seed: int = 0, *, beta: float = 1.0, discount: float = 0.9) -> World:
    """ActiveVaR prefers s0 (rewards 2, -2, then s1) to s1 (rewards 10, -10), where answers help more (Appendix A)."""
    mdp = FiniteMDP.from_function(
        lambda state, action: [(1.0, 1)] if state == 0 else [],
        num_states=2,
        num_actions=2,
        discount=discount,
        terminal=np.zeros(2, dtype=bool),
    )
    atoms = [[2.0 * i, -2.0 * i, 10.0 * j, -10.0 * j] for i, j in product((1, -1), (1, -1))]
    return _world("brown-two-state", seed, mdp, Discrete(np.array(atoms)), beta)


def regret_eig_trap(seed: int = 0, *, beta: float = 1.0, discount: float = 0.9) -> World:
    """Regret is surely 50, so information about it is worth nothing, yet the apprentice is wrong (Appendix C)."""
    atoms = np.array([[0.0, 50.0, -100.0], [0.0, -100.0, 50.0]])
    return _world("regret-eig-trap", seed, _one_step_mdp(1, 3, discount), Discrete(atoms), beta)


def bandit(seed: int = 0, *, beta: float = 4.0, discount: float = 0.9) -> World:
    """64 one-step states with two actions 0.3 apart: no single state matters, together they do.

    The prior is a fixed list of 512 random sign patterns: parameter s says which action is better in s.
    """
    signs = world_rng("bandit-prior", 0).choice([-1.0, 1.0], size=(BANDIT_ATOMS, BANDIT_STATES))
    features = np.zeros((BANDIT_STATES, 2, BANDIT_STATES))
    features[np.arange(BANDIT_STATES), 0, np.arange(BANDIT_STATES)] = BANDIT_GAP / 2
    features[np.arange(BANDIT_STATES), 1, np.arange(BANDIT_STATES)] = -BANDIT_GAP / 2
    mdp = _one_step_mdp(BANDIT_STATES, 2, discount)
    return _world("bandit", seed, mdp, Discrete(signs), beta, LinearFeatures(features, mdp))
