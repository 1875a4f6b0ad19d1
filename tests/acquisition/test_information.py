import numpy as np
import pytest
from acquisition.exact import (
    averaged_score,
    class_masses,
    information,
    likelihoods,
    reweighted,
    small_posterior,
    trajectories,
    trajectory_information,
)

from journeyman.acquisition import score
from journeyman.inference import infer
from journeyman.worlds import make_world

ROUNDING = 1e-12
NUM_ERRORS = 5  # standard errors: a chance below 1e-5 per comparison


@pytest.mark.parametrize("seed", range(8))
def test_state_query_is_the_mutual_information(seed):
    posterior = small_posterior(seed, unavailable=0.2)
    policies, atoms = posterior.expert_policies(), np.eye(posterior.num_samples)
    values = score(posterior, "reward_eig").values
    for state in range(4):
        if posterior.problem.queryable[state]:
            joint = (posterior.weights[:, None] * policies[:, state]).T @ atoms
            assert values[state] == pytest.approx(information(joint), abs=ROUNDING)
        else:
            assert values[state] == -np.inf


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


def test_more_is_known_about_finer_things():
    """Reward-EIG >= joint PAC-EIG >= local PAC-EIG, for trajectories on common histories."""
    for seed in range(6):
        posterior = small_posterior(seed, num_atoms=12, beta=2.0)
        for query in ({}, {"kind": "trajectory", "length": 3}):
            options = {"occupancy": False, "edges": (0.5, 4.0), "epsilon": 5.0, **query}
            reward = score(posterior, "reward_eig", **query).values
            joint = score(posterior, "pac_eig", scope="joint", **options).values
            local = score(posterior, "pac_eig", scope="local", **options).values
            queryable = posterior.problem.queryable
            assert (reward - joint)[queryable].min() >= -ROUNDING
            assert (joint - local)[queryable].min() >= -ROUNDING
            assert (local[queryable] >= 0).all()


def test_threads_and_seeds():
    posterior = small_posterior(1)
    query = {"kind": "trajectory", "length": 3}
    one, two, other = (
        score(posterior, "reward_eig", num_threads=threads, seed=seed, **query)
        for threads, seed in ((1, 0), (2, 0), (1, 1))
    )
    assert np.array_equal(one.values, two.values)
    assert not np.array_equal(one.values, other.values)


def test_warning_near_the_ceiling():
    world = make_world("random-grid", 0, size=4)
    few = infer(world.problem, (), "smc", num_particles=100).resample(np.random.default_rng(0), 8)
    near = score(few, "reward_eig", kind="trajectory", length=5)
    assert any("half of the 2.08" in warning for warning in near.warnings)  # log 8
    many = infer(world.problem, (), "smc", num_particles=1000)
    assert score(many, "reward_eig").warnings == ()
    atoms = small_posterior(0)  # 6 atoms: their information is no estimate
    assert score(atoms, "reward_eig", kind="trajectory", length=3).warnings == ()


def test_the_twin_by_hand():
    quarter = -(0.25 * np.log(0.25) + 0.75 * np.log(0.75))
    assert class_masses([3, 1, 3]).tolist() == [[0, 1], [1, 0], [0, 1]]
    assert information([[0.25, 0.25], [0.0, 0.5]]) == pytest.approx(np.log(2) + quarter - 1.5 * np.log(2))


def test_zero_where_all_agree():
    posterior = small_posterior(0)
    same = reweighted(posterior, np.eye(6)[2])
    for name in ("reward_eig", "pac_eig", "regret_eig", "ir_eig"):
        for query in ({}, {"kind": "trajectory", "length": 3}):
            values = score(same, name, **query).values
            assert values[np.isfinite(values)] == pytest.approx(0.0, abs=ROUNDING)
