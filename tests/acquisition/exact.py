"""Small posteriors, and what can be said about them by listing everything: every answer, every trajectory."""

from dataclasses import replace

import numpy as np
from mdp.random_mdps import random_mdp

from journeyman.acquisition import score
from journeyman.inference import infer
from journeyman.inference.posterior import Posterior
from journeyman.problem import Problem
from journeyman.rewards import Discrete, PerState, PerStateAction


def small_posterior(
    seed, *, num_states=4, num_actions=3, num_atoms=6, beta=1.0, per_action=True, **options
) -> Posterior:
    """The posterior of atoms of unequal weight on a random MDP; it is exact."""
    rng = np.random.default_rng(seed)
    mdp = random_mdp(rng, num_states, num_actions, **{"density": 0.6, "ending": 0.3, "terminal": 0.15, **options})
    model = (PerStateAction if per_action else PerState)(mdp)
    atoms = rng.normal(0.0, 2.0, (num_atoms, model.num_parameters))
    prior = Discrete(atoms, rng.dirichlet(np.full(num_atoms, 2.0)))
    queryable = ~mdp.terminal
    queryable[0] = True
    return infer(Problem(mdp, model, prior, beta, queryable), (), "enumerate")


def reweighted(posterior, weights):
    """The same samples with other weights."""
    weights = np.asarray(weights, dtype=float)
    return replace(posterior, weights=weights / weights.sum())


def averaged_score(posterior, name, *, num_seeds=50, **options):
    """Scores `[S]` averaged over seeds, few walks each, and their standard errors from the spread over seeds.

    With 49 degrees of freedom a mean is 5 standard errors off with a chance of 8e-6.
    """
    runs = np.array([score(posterior, name, seed=seed, num_threads=1, **options).values for seed in range(num_seeds)])
    with np.errstate(invalid="ignore"):
        return runs.mean(axis=0), runs.std(axis=0, ddof=1) / np.sqrt(num_seeds)


def entropy(masses):
    """Entropy in nats of masses that sum to one."""
    masses = np.asarray(masses)[np.asarray(masses) > 0]
    return float(-(masses * np.log(masses)).sum())


def information(joint):
    """Mutual information in nats of a joint distribution `[X, C]`."""
    joint = np.asarray(joint)
    return entropy(joint.sum(axis=1)) + entropy(joint.sum(axis=0)) - entropy(joint.ravel())


def class_masses(labels):
    """Indicator `[M, C]` of classes."""
    return (np.asarray(labels)[:, None] == np.unique(labels)).astype(float)


def trajectories(mdp, start, length):
    """Yield (steps, chance of its transitions) of every trajectory of at most `length` actions."""
    if length == 0 or mdp.terminal[start]:
        yield (), 1.0
        return
    for action in np.flatnonzero(mdp.available[start]).tolist():
        next_states, chances = mdp.next_states(start, action)
        if length == 1:
            yield ((start, action),), 1.0
            continue
        if chances.sum() < 1.0 - 1e-12:
            yield ((start, action),), 1.0 - chances.sum()
        for state, chance in zip(next_states.tolist(), chances.tolist(), strict=True):
            for steps, rest in trajectories(mdp, state, length - 1):
                yield ((start, action), *steps), chance * rest


def likelihoods(policies, steps):
    """Chance `[M]` of the actions of a trajectory under each sample's policy `[M, S, A]`."""
    result = np.ones(len(policies))
    for state, action in steps:
        result = result * policies[:, state, action]
    return result


def trajectory_information(posterior, labels, start, length):
    """I(trajectory; class), by listing all trajectories."""
    policies, classes = posterior.expert_policies(), class_masses(labels)
    rows = [
        chance * (posterior.weights * likelihoods(policies, steps)) @ classes
        for steps, chance in trajectories(posterior.problem.mdp, start, length)
    ]
    return information(rows)


def local_information(posterior, labels, start, length, weights=None):
    """Sum over t of E[I(a_t; class at s_t | history)], by listing all histories; labels `[S, M]`."""
    mdp, policies = posterior.problem.mdp, posterior.expert_policies()
    weights = posterior.weights if weights is None else weights
    if length == 0 or mdp.terminal[start]:
        return 0.0
    joint = (weights[:, None] * policies[:, start]).T @ class_masses(labels[start])
    total = information(joint)
    for action in np.flatnonzero(mdp.available[start]).tolist():
        after = weights * policies[:, start, action]
        next_states, chances = mdp.next_states(start, action)
        for state, chance in zip(next_states.tolist(), chances.tolist(), strict=True):
            rest = local_information(posterior, labels, state, length - 1, after / after.sum())
            total += after.sum() * chance * rest
    return total
