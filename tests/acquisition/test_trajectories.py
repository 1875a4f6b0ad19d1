import numpy as np
import pytest
from acquisition.exact import (
    averaged_score,
    likelihoods,
    small_posterior,
    trajectories,
    trajectory_information,
)

from journeyman.acquisition import score

ROUNDING = 1e-12
NUM_ERRORS = 5  # standard errors: a chance below 1e-5 per comparison


@pytest.mark.parametrize("length", [1, 2, 3])
@pytest.mark.parametrize("estimator", ["chain", "nested"])
def test_trajectory_query_against_all_trajectories(length, estimator):
    for seed in range(3):
        posterior = small_posterior(seed)
        walks = 16 if estimator == "chain" else 50
        values, error = averaged_score(
            posterior, "reward_eig", kind="trajectory", length=length, num_histories=walks, estimator=estimator
        )
        for state in np.flatnonzero(posterior.problem.queryable).tolist():
            exact = trajectory_information(posterior, np.arange(6), state, length)
            assert abs(values[state] - exact) <= NUM_ERRORS * error[state] + ROUNDING


def test_length_one_is_the_state_query():
    posterior = small_posterior(5, terminal=0.0)
    state, trajectory = score(posterior, "reward_eig"), score(posterior, "reward_eig", kind="trajectory", length=1)
    assert trajectory.values == pytest.approx(state.values, abs=ROUNDING)
    assert np.nanmax(trajectory.standard_error) <= ROUNDING


def test_factorised_form_counts_the_same_information_twice():
    posterior = small_posterior(1, beta=2.0)
    policies = posterior.expert_policies()
    mean = posterior.predictive_policy()
    scores = score(posterior, "reward_eig", kind="trajectory", length=3, num_histories=4000, estimator="factorised")
    chain = score(posterior, "reward_eig", kind="trajectory", length=3, num_histories=4000)
    excess = []
    for state in np.flatnonzero(posterior.problem.queryable & ~posterior.problem.mdp.terminal).tolist():
        exact = 0.0
        for steps, chance in trajectories(posterior.problem.mdp, state, 3):
            own = likelihoods(policies, steps)
            apart = np.prod([mean[s, a] for s, a in steps])
            exact += chance * posterior.weights @ (own * np.log(own / apart))
        assert abs(scores.values[state] - exact) <= NUM_ERRORS * scores.standard_error[state]
        excess.append(exact - trajectory_information(posterior, np.arange(6), state, 3))
    assert min(excess) > -ROUNDING
    assert max(excess) > 0.05
    assert (chain.values[np.isfinite(chain.values)] >= 0).all()


def test_chain_rule_has_far_less_error():
    posterior = small_posterior(2)
    errors = {
        name: score(posterior, "reward_eig", kind="trajectory", length=3, num_histories=500, estimator=name)
        for name in ("chain", "nested")
    }
    queryable = posterior.problem.queryable & ~posterior.problem.mdp.terminal
    ratio = errors["nested"].standard_error[queryable] / errors["chain"].standard_error[queryable]
    assert (ratio > 4.0).all()


def test_standard_error_is_honest():
    """Estimates of 80 seeds spread as the standard error says."""
    posterior = small_posterior(2)
    runs = [
        score(posterior, "reward_eig", kind="trajectory", length=3, num_histories=32, seed=seed) for seed in range(80)
    ]
    queryable = posterior.problem.queryable & ~posterior.problem.mdp.terminal
    spread = np.std([run.values[queryable] for run in runs], axis=0, ddof=1)
    stated = np.sqrt(np.mean([run.standard_error[queryable] ** 2 for run in runs], axis=0))
    assert spread / stated == pytest.approx(1.0, abs=4 / np.sqrt(2 * 79))  # 4 sigma of a deviation of 80 numbers


def test_threads_and_seeds():
    posterior = small_posterior(1)
    query = {"kind": "trajectory", "length": 3}
    one, two, other = (
        score(posterior, "reward_eig", num_threads=threads, seed=seed, **query)
        for threads, seed in ((1, 0), (2, 0), (1, 1))
    )
    assert np.array_equal(one.values, two.values)
    assert not np.array_equal(one.values, other.values)
