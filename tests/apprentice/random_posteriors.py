"""Small random posteriors over finitely many rewards, in which every policy can be tried."""

from itertools import product

import numpy as np
from mdp.random_mdps import random_mdp

from journeyman.inference.diagnostics import Diagnostics
from journeyman.inference.posterior import Posterior
from journeyman.mdp import FiniteMDP, solve_batch
from journeyman.problem import Problem
from journeyman.rewards import Discrete, PerStateAction


def posterior_over(mdp: FiniteMDP, rewards, weights=None, *, beta=1.0, method="enumerate", **options) -> Posterior:
    """The posterior that puts `weights` on rewards `[M, S, A]`."""
    rewards = np.asarray(rewards, dtype=float)
    weights = np.full(len(rewards), 1.0 / len(rewards)) if weights is None else np.asarray(weights, dtype=float)
    theta = rewards.reshape(len(rewards), -1)
    model = PerStateAction(mdp)
    problem = Problem(mdp, model, Discrete(theta, weights), beta)
    counts = np.zeros((mdp.num_states, mdp.num_actions), dtype=np.int64)
    values = solve_batch(mdp, rewards, num_threads=1).values
    options.setdefault("diagnostics", Diagnostics(0.0, error_bound=0.0))
    return Posterior(problem, counts, theta, weights / weights.sum(), values, method, **options)


def random_posterior(seed, *, max_states=3, max_actions=3, max_atoms=8, min_actions=1, **options) -> Posterior:
    """A posterior over random rewards in a random MDP; some rewards are whole numbers, so that actions tie."""
    rng = np.random.default_rng(seed)
    num_states, num_actions = int(rng.integers(1, max_states + 1)), int(rng.integers(min_actions, max_actions + 1))
    options = {"discount": float(rng.choice([0.3, 0.7, 0.9])), "ending": 0.5, "density": 0.7} | options
    initial = rng.dirichlet(np.full(num_states, 0.5))
    mdp = random_mdp(rng, num_states, num_actions, initial=initial, **options)
    num_atoms = int(rng.integers(1, max_atoms + 1))
    rewards = 2.0 * rng.normal(size=(num_atoms, num_states, num_actions))
    if rng.random() < 0.4:
        rewards = np.unique(np.rint(rewards) + 0.0, axis=0)
    beta = float(rng.choice([0.2, 1.0, 5.0]))
    return posterior_over(mdp, rewards, rng.dirichlet(np.ones(len(rewards))), beta=beta)


def all_policies(mdp: FiniteMDP) -> np.ndarray:
    """Every deterministic policy `[N, S]`."""
    return np.array(list(product(*(np.flatnonzero(row).tolist() for row in mdp.available))))
