import numpy as np
import pytest
from acquisition.exact import reweighted, small_posterior

from journeyman.acquisition import ACQUISITIONS, default_acquisition, reward_knowledge, score
from journeyman.errors import InputError


def test_each_goal_has_its_function():
    assert default_acquisition("reward") == "reward_eig"
    assert default_acquisition("reward", 100) == "reward_eig"
    assert default_acquisition("policy") == "pac_eig"
    with pytest.raises(InputError, match="goal must be one of policy, reward, got 'fame'"):
        default_acquisition("fame")


def test_looking_ahead_is_for_problems_of_moderate_size():
    assert default_acquisition("policy", 100) == "failure_chance"
    assert default_acquisition("policy", 150) == "failure_chance"
    assert default_acquisition("policy", 151) == "pac_eig"
    assert {"failure_chance", "pac_eig", "reward_eig"} <= set(ACQUISITIONS)


def test_knowledge_of_the_reward():
    posterior = small_posterior(0, num_atoms=30)
    knowledge = reward_knowledge(posterior, width=1.0)
    assert knowledge.widths == pytest.approx(np.ptp(posterior.credible_intervals(0.95), axis=1))
    assert knowledge.information == score(posterior, "reward_eig").values.max()
    assert (knowledge.is_narrow, knowledge.is_exhausted, knowledge.is_enough) == (False, False, False)
    assert reward_knowledge(posterior, width=100.0).is_enough
    assert reward_knowledge(posterior, width=1.0, information=5.0).is_exhausted


def test_one_possible_reward_is_known():
    knowledge = reward_knowledge(reweighted(small_posterior(0), np.eye(6)[1]), width=1e-6)
    assert knowledge.is_narrow
    assert knowledge.is_exhausted


@pytest.mark.parametrize("options", [{"width": 0}, {"width": 1, "information": -1}, {"width": 1, "level": 1.0}])
def test_bad_input(options):
    with pytest.raises(InputError):
        reward_knowledge(small_posterior(0), **options)
