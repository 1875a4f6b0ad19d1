"""Plain-NumPy twin of the log posterior, and random problems of every kind, for tests of inference."""

import itertools

import numpy as np
from mdp import twins as mdp_twins
from mdp.random_mdps import random_mdp

from journeyman.problem import Problem
from journeyman.rewards import (
    Discrete,
    LinearFeatures,
    MultivariateNormal,
    Normal,
    PerState,
    PerStateAction,
    Size,
    Uniform,
)

REWARD_MODELS = ("per_state", "per_state_action", "features", "action_features")
CONTINUOUS_PRIORS = ("normal", "uniform", "multivariate")
KINDS = tuple(itertools.product(REWARD_MODELS, CONTINUOUS_PRIORS))


def reward_model(rng, kind, num_states, num_actions, num_features=3):
    size = Size(num_states, num_actions)
    if kind == "per_state":
        return PerState(size)
    if kind == "per_state_action":
        return PerStateAction(size)
    is_state_only = kind == "features"
    shape = (num_states,) if is_state_only else (num_states, num_actions)
    features = rng.standard_normal((*shape, num_features)) * (rng.random((*shape, num_features)) < 0.7)
    return LinearFeatures(features, size, offset=rng.standard_normal(shape))


def prior(rng, kind, size):
    if kind == "normal":
        return Normal(size, rng.standard_normal(size), rng.uniform(0.5, 2.0, size))
    if kind == "uniform":
        low = rng.uniform(-3.0, 0.0, size)
        return Uniform(size, low, low + rng.uniform(1.0, 4.0, size))
    if kind == "multivariate":
        root = np.tril(0.4 * rng.standard_normal((size, size))) + np.eye(size)
        return MultivariateNormal(rng.standard_normal(size), root @ root.T)
    return Discrete(rng.standard_normal((7, size)), rng.dirichlet(np.full(7, 5.0)))


def random_problem(rng, model_kind, prior_kind, *, num_states=7, num_actions=3, discount=0.9, **options):
    """A problem with some unavailable actions, endings and terminal cells, and an expert of moderate rationality."""
    mdp = random_mdp(
        rng,
        num_states,
        num_actions,
        discount=discount,
        density=0.5,
        unavailable=0.2,
        ending=0.2,
        terminal=0.1,
        **options,
    )
    model = reward_model(rng, model_kind, num_states, num_actions)
    return Problem(mdp, model, prior(rng, prior_kind, model.num_parameters), float(rng.uniform(0.3, 3.0)))


def random_counts(rng, problem, size):
    """Counts of `size` actions that exist, in states that are not terminal, if there are any."""
    counts = np.zeros((problem.mdp.num_states, problem.mdp.num_actions), dtype=np.int64)
    allowed = np.argwhere(problem.mdp.available & ~problem.mdp.terminal[:, None])
    if len(allowed):
        for state, action in allowed[rng.integers(len(allowed), size=size)]:
            counts[state, action] += 1
    return counts


def optimal_q(problem, theta):
    """Q* `[S, A]` for one theta, and the bound on its error, by dense policy iteration."""
    mdp = problem.mdp
    P = mdp_twins.dense(mdp)
    reward = problem.reward_model.reward(theta)
    V, error = mdp_twins.optimal_values(P, mdp.available, mdp.discount, reward)
    return mdp_twins.q_values(P, mdp.available, mdp.discount, reward, V.astype(float)), float(error)


def log_likelihood(problem, counts, theta):
    """Sum of n(s, a) [beta Q(s, a) - log sum over b of exp beta Q(s, b)], term by term."""
    Q, _ = optimal_q(problem, theta)
    total = 0.0
    for s, a in np.argwhere(counts > 0):
        x = problem.beta * Q[s, problem.mdp.available[s]]
        total += counts[s, a] * (problem.beta * Q[s, a] - x.max() - np.log(np.exp(x - x.max()).sum()))
    return total


def log_density(problem, counts, z):
    """Log likelihood plus the log density of theta plus the log Jacobian of the unconstrained map."""
    theta = problem.prior.from_unconstrained(z)
    jacobian = problem.prior.pull_back(np.broadcast_to(z, (z.size, z.size)), np.eye(z.size))
    log_prior = problem.prior.log_density(theta) + np.linalg.slogdet(jacobian)[1]
    return log_likelihood(problem, counts, theta) + float(log_prior)
