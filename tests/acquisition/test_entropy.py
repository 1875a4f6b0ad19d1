import numpy as np
import pytest
from acquisition.exact import entropy, likelihoods, reweighted, small_posterior, trajectories

from journeyman.acquisition import score
from journeyman.errors import InputError, UnsupportedError

ROUNDING = 1e-12


def test_random_rates_all_states_alike():
    posterior = small_posterior(0)
    values = score(posterior, "random").values
    assert set(values[posterior.problem.queryable]) == {0.0}
    assert len({score(posterior, "random").best_state(np.random.default_rng(seed)) for seed in range(20)}) > 1


def test_action_entropy_of_a_state():
    posterior = small_posterior(1, unavailable=0.2)
    mean = posterior.predictive_policy()
    values = score(posterior, "action_entropy").values
    for state in np.flatnonzero(posterior.problem.queryable).tolist():
        assert values[state] == pytest.approx(entropy(mean[state]), abs=ROUNDING)


@pytest.mark.parametrize("length", [1, 2, 3])
def test_action_entropy_along_all_trajectories(length):
    for seed in range(4):
        posterior = small_posterior(seed)
        mean = posterior.predictive_policy()
        values = score(posterior, "action_entropy", kind="trajectory", length=length).values
        for state in np.flatnonzero(posterior.problem.queryable).tolist():
            exact = sum(
                chance * likelihoods(mean[None], steps)[0] * sum(entropy(mean[s]) for s, _ in steps)
                for steps, chance in trajectories(posterior.problem.mdp, state, length)
            )
            assert values[state] == pytest.approx(exact, abs=ROUNDING)


@pytest.mark.parametrize("buckets", [2, 10])
def test_policy_entropy_is_that_of_histograms(buckets):
    posterior = small_posterior(3, num_atoms=20, unavailable=0.2)
    policies = posterior.expert_policies()
    values = score(posterior, "policy_entropy", buckets=buckets).values
    edges = np.linspace(0.0, 1.0, buckets + 1)
    for state in np.flatnonzero(posterior.problem.queryable).tolist():
        parts = [
            entropy(np.histogram(policies[:, state, action], edges, weights=posterior.weights)[0])
            for action in np.flatnonzero(posterior.problem.mdp.available[state]).tolist()
        ]
        assert values[state] == pytest.approx(np.mean(parts), abs=ROUNDING)


def test_policy_entropy_over_distinct_rows():
    posterior = small_posterior(3, num_atoms=5, terminal=0.0)
    values = score(posterior, "policy_entropy", buckets=None).values
    assert values == pytest.approx(np.full(4, entropy(posterior.weights)), abs=ROUNDING)  # all rows differ


def test_policy_entropy_is_zero_where_all_agree():
    same = reweighted(small_posterior(3), np.eye(6)[1])
    values = score(same, "policy_entropy").values
    assert values[np.isfinite(values)] == pytest.approx(0.0, abs=ROUNDING)


def test_what_policy_entropy_refuses():
    posterior = small_posterior(0)
    with pytest.raises(UnsupportedError, match=r"'policy_entropy' cannot rate trajectory queries\. These can: random"):
        score(posterior, "policy_entropy", kind="trajectory", length=3)
    with pytest.raises(InputError, match="buckets must be a whole number of at least 2, got 1"):
        score(posterior, "policy_entropy", buckets=1)
