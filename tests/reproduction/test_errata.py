"""Statements of the paper that hold under a condition only: small worlds in which they fail, exactly."""

import numpy as np
import pytest
from acquisition.exact import trajectory_information

from journeyman.acquisition import score
from journeyman.apprentice import certify
from journeyman.inference import infer
from journeyman.mdp import FiniteMDP
from journeyman.problem import Problem
from journeyman.rewards import Discrete, LinearFeatures

EXACT = 1e-12


def two_doors(chance_of_second):
    """Return a start without a choice, from which a room with an unknown better door is met with a chance.

    States: 0 start, 1 room, 2 and 3 behind its doors, 4 the end. In the start both actions are the same.
    """
    P = np.zeros((5, 2, 5))
    P[0, :, 1], P[0, :, 4] = chance_of_second, 1.0 - chance_of_second
    P[1, 0, 2] = P[1, 1, 3] = 1.0
    P[2:4, :, 4] = 1.0
    mdp = FiniteMDP.from_dense(P, layout="SAS", discount=0.9, initial=np.eye(5)[0])
    features = np.zeros((5, 1))
    features[2], features[3] = 1.0, -1.0
    prior = Discrete(np.array([[1.0], [-1.0]]), np.array([0.5, 0.5]))
    return Problem(mdp, LinearFeatures(features, mdp), prior, 2.0)


@pytest.mark.parametrize("chance", [0.1, 0.5, 0.9, 1.0])
def test_a_trajectory_tells_less_than_a_state_that_it_may_miss(chance):
    posterior = infer(two_doors(chance), (), "enumerate")
    room = score(posterior, "reward_eig").values[1]
    trajectory = trajectory_information(posterior, np.arange(2), 0, 2)
    assert room > 0.1
    assert trajectory == pytest.approx(chance * room, abs=EXACT)  # at least as much only if the visit is certain


def test_a_regret_of_exactly_epsilon_is_a_failure():
    """Theorem 1 has "at least epsilon", the figures and the two buckets of Appendix C "above"."""
    problem = two_doors(1.0)
    posterior = infer(problem, (), "enumerate")
    policy = np.zeros(5, dtype=np.int64)
    regrets = [0.0, 2 * 0.9**2]  # the reward behind a door is had two steps after the start
    at, above = (certify(posterior, policy=policy, epsilon=epsilon, delta=0.1) for epsilon in (1.62, 1.62 + 1e-6))
    assert regrets[1] == pytest.approx(1.62)
    assert at.p_hat == pytest.approx(0.5)
    assert above.p_hat == 0.0
