from dataclasses import replace

import numpy as np
import pytest
from acquisition.exact import (
    class_masses,
    information,
    reweighted,
    small_posterior,
)

from journeyman.acquisition import score
from journeyman.inference import infer
from journeyman.worlds import make_world

ROUNDING = 1e-12


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


def test_more_is_known_about_finer_things():
    """Reward-EIG >= joint PAC-EIG >= local PAC-EIG, for trajectories on common histories."""
    for seed in range(6):
        posterior = small_posterior(seed, num_atoms=12, beta=2.0)
        for query in ({}, {"kind": "trajectory", "length": 3}):
            options = {"occupancy": False, "edges": (0.5, 4.0), "epsilon": 5.0, **query}
            reward = score(posterior, "reward_eig", **query).values
            joint = score(posterior, "pac_eig", components="joint", **options).values
            local = score(posterior, "pac_eig", components="local", **options).values
            queryable = posterior.problem.queryable
            assert (reward - joint)[queryable].min() >= -ROUNDING
            assert (joint - local)[queryable].min() >= -ROUNDING
            assert (local[queryable] >= 0).all()


def test_warning_near_the_ceiling():
    world = make_world("random-grid", 0, size=4)
    few = infer(world.problem, (), "smc", num_particles=100).resample(np.random.default_rng(0), 8)
    near = score(few, "reward_eig", kind="trajectory", length=5)
    assert any("half of the 2.08" in warning for warning in near.warnings)  # log 8
    many = infer(world.problem, (), "smc", num_particles=1000)
    assert score(many, "reward_eig").warnings == ()
    one = replace(many, weights=np.eye(1000)[0])  # nothing left to learn is another warning
    assert not any("at most" in warning for warning in score(one, "reward_eig").warnings)
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
