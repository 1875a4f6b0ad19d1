from dataclasses import replace

import numpy as np
import pytest
from acquisition.exact import averaged_score, local_information, small_posterior, trajectory_information

from journeyman.acquisition import score
from journeyman.apprentice import most_likely_optimal
from journeyman.errors import InputError
from journeyman.inference import infer
from journeyman.mdp import occupancy
from journeyman.worlds import make_world

ROUNDING = 1e-12
NUM_ERRORS = 5  # standard errors: a chance below 1e-5 per comparison
EPSILON = 8.0  # large enough to fill all buckets of small_posterior


def buckets(posterior, edges, *, weighted):
    """Bucket numbers `[M, S, A]`, straight from the definition."""
    mdp, policy = posterior.problem.mdp, most_likely_optimal(posterior)
    q = posterior.q()
    own = np.take_along_axis(q, np.broadcast_to(policy[None, :, None], (*q.shape[:2], 1)), axis=2)
    regret = np.maximum(q - own, 0.0)
    regret[regret < 1e-9 * (1.0 + np.abs(q[np.isfinite(q)]).max())] = 0.0
    if weighted:
        regret = regret * occupancy(mdp, policy)[:, None]
    unit = (1.0 - mdp.discount) * EPSILON
    passed = [(regret > 0.0) if edge == 0 else (regret >= edge * unit) for edge in edges]
    return np.sum(passed, axis=0)


def labels_of(rows):
    return np.unique(rows, axis=0, return_inverse=True)[1].ravel()


EDGES = [(0.5, 1.0), (0, 1), (1,), (0, 0.25, 0.5, 1, 2, 4)]


@pytest.mark.parametrize("edges", EDGES, ids=str)
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_state_query_against_the_definition(edges, weighted, seed):
    posterior = small_posterior(seed, num_atoms=15, unavailable=0.1)
    E = buckets(posterior, edges, weighted=weighted)
    options = {"edges": edges, "occupancy": weighted, "epsilon": EPSILON}
    local = score(posterior, "pac_eig", **options).values
    joint = score(posterior, "pac_eig", components="joint", **options)
    together = labels_of(E.reshape(15, -1))
    assert joint.details["num_configurations"] == together.max() + 1
    for state in np.flatnonzero(posterior.problem.queryable & ~posterior.problem.mdp.terminal).tolist():
        own = trajectory_information(posterior, labels_of(E[:, state]), state, 1)
        assert local[state] == pytest.approx(own, abs=ROUNDING)
        assert joint.values[state] == pytest.approx(trajectory_information(posterior, together, state, 1), abs=ROUNDING)


@pytest.mark.parametrize("length", [1, 2, 3])
@pytest.mark.parametrize("components", ["local", "joint"])
@pytest.mark.parametrize("estimator", ["chain", "nested"])
def test_trajectory_query_against_all_trajectories(length, components, estimator):
    posterior = small_posterior(1, num_atoms=12, beta=2.0)
    E = buckets(posterior, (0.5, 1.0), weighted=True)
    options = {"components": components, "epsilon": EPSILON, "estimator": estimator}
    query = {"kind": "trajectory", "length": length, "num_histories": 16 if estimator == "chain" else 50}
    assert score(posterior, "pac_eig", **options, **query).details["num_halvings"] == 0
    values, error = averaged_score(posterior, "pac_eig", **options, **query)
    local = np.stack([labels_of(E[:, state]) for state in range(4)])
    for state in np.flatnonzero(posterior.problem.queryable).tolist():
        if components == "local":
            exact = local_information(posterior, local, state, length)
        else:
            exact = trajectory_information(posterior, labels_of(E.reshape(12, -1)), state, length)
        assert abs(values[state] - exact) <= NUM_ERRORS * error[state] + ROUNDING


def test_ir_eig_is_pac_eig_with_finer_buckets():
    posterior = small_posterior(0, num_atoms=15)
    fine = score(posterior, "ir_eig", epsilon=EPSILON).values
    same = score(posterior, "pac_eig", epsilon=EPSILON, edges=(0, 0.25, 0.5, 1, 2, 4), occupancy=False).values
    coarse = score(posterior, "pac_eig", epsilon=EPSILON, edges=(0.5, 1), occupancy=False).values
    assert np.array_equal(fine, same)
    assert (fine >= coarse - ROUNDING)[np.isfinite(fine)].all()


def test_joint_components_with_exact_zero_is_reward_eig_on_a_grid():
    """No two distinct samples agree on all components, so the formula as printed is Reward-EIG."""
    world = make_world("random-10x10", 0)
    answers = world.expert.answers(np.flatnonzero(world.problem.queryable)[:3])
    posterior = infer(world.problem, answers, "smc", num_particles=500)
    joint = score(posterior, "pac_eig", components="joint", edges=(0, 1), occupancy=False)
    reward = score(posterior, "reward_eig").values
    asked = np.isfinite(reward)
    assert joint.details["num_configurations"] == len(np.unique(posterior.theta, axis=0))
    assert joint.values[asked] == pytest.approx(reward[asked], abs=1e-9)
    local = score(posterior, "pac_eig").values
    assert np.corrcoef(local[asked], reward[asked])[0, 1] < 0.9


def test_a_given_apprentice_is_the_one_in_question():
    posterior = small_posterior(2, num_atoms=15, terminal=0.0)
    default = most_likely_optimal(posterior)
    values = [
        score(posterior, "pac_eig", epsilon=EPSILON, policy=policy).values for policy in (None, default, 2 - default)
    ]
    assert np.array_equal(values[0], values[1])
    assert not np.array_equal(values[0], values[2])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"components": "global"}, "components must be one of local, joint, got 'global'"),
        ({"edges": ()}, "edges must be finite, ascending"),
        ({"edges": (1, 0.5)}, "edges must be finite, ascending"),
        ({"edges": (-1, 0.5)}, "edges must be finite, ascending"),
        ({"edges": (0.5, np.inf)}, "edges must be finite, ascending"),
        ({"edges": "wide"}, "edges must be numbers"),
        ({"policy": [9, 9, 9, 9]}, "a policy must choose available actions"),
        ({"epsilon": 0.0}, "epsilon must be positive and finite, got 0.0"),
        ({"epsilon": -1.0}, "epsilon must be positive and finite, got -1.0"),
        ({"occupancy": "no"}, "occupancy must be True or False, got 'no'"),
        ({"estimator": "exact"}, "estimator must be one of chain, nested, factorised, got 'exact'"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(InputError, match=message):
        score(small_posterior(0), "pac_eig", **options)


def test_unqueryable_regret_is_said():
    """All regret lies where nobody may ask and answers elsewhere say nothing about it: a warning, not silence."""
    posterior = infer(make_world("brown-two-state").problem, (), "enumerate")
    problem = replace(posterior.problem, queryable=np.array([True, False]))
    one_sided = replace(posterior, problem=problem)
    known = replace(one_sided, weights=np.array([0.5, 0.5, 0.0, 0.0]))  # s0 is known, s1 is not
    scores = score(known, "pac_eig", epsilon=1.0)
    assert scores.values[0] == pytest.approx(0.0, abs=ROUNDING)
    assert any("Make more states queryable" in warning for warning in scores.warnings)


def test_regret_that_is_all_but_impossible_is_not_worth_a_warning():
    posterior = infer(make_world("regret-eig-trap").problem, (), "enumerate")
    scores = score(replace(posterior, weights=np.array([1.0 - 1e-12, 1e-12])), "pac_eig")
    assert scores.details["num_halvings"] == 0
    assert not any("although that may be epsilon" in warning for warning in scores.warnings)
