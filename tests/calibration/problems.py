"""Small problems for calibration: inference takes milliseconds and is exact."""

import numpy as np

from journeyman.mdp import FiniteMDP
from journeyman.problem import Problem
from journeyman.rewards import Discrete, LinearFeatures, Normal


def choice_problem(prior=None, beta=2.0):
    """Two states, three actions; a parameter is what an action is worth, and state 0 leads to state 1."""
    mdp = FiniteMDP.from_function(
        lambda state, action: [(1.0, 1)] if state == 0 else [],
        num_states=2,
        num_actions=3,
        discount=0.9,
        terminal=np.zeros(2, dtype=bool),
    )
    features = np.zeros((2, 3, 2))
    features[0, 0, 0] = features[1, 1, 0] = features[0, 2, 1] = features[1, 2, 1] = 1.0
    model = LinearFeatures(features, mdp, names=("first", "second"))
    return Problem(mdp, model, prior or discrete_prior(), beta)


def discrete_prior(num_atoms=300):
    """Return atoms that were drawn from a normal distribution: exact enumeration, hardly any ties."""
    return Discrete(np.random.default_rng(7).standard_normal((num_atoms, 2)))


def normal_prior():
    return Normal(2, 0.0, 1.0)
