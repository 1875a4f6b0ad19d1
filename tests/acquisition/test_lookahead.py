import numpy as np
import pytest
from acquisition.exact import averaged_score, likelihoods, reweighted, small_posterior, trajectories

from journeyman.acquisition import score
from journeyman.apprentice import expected_return, regrets
from journeyman.errors import InputError
from journeyman.inference import infer
from journeyman.mdp import solve
from journeyman.worlds import make_world

SOLVER = 1e-8  # values are within 1e-10 (1 + max |V|), and gains below 1e-9 (1 + max |V|) count as 0
NUM_ERRORS = 5  # standard errors: a chance below 1e-5 per comparison


def expected_regret_after(posterior, answers):
    """Expected regret of the apprentice once one of `answers` is known: rows `[X, M]` of their likelihoods."""
    total = 0.0
    for row in answers:
        chance = posterior.weights @ row
        if chance > 0:
            after = reweighted(posterior, posterior.weights * row)
            total += chance * (after.weights @ regrets(after, expected_return(after)))
    return total


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("per_action", [True, False])
def test_expected_regret_by_trying_every_answer(seed, per_action):
    posterior = small_posterior(seed, per_action=per_action, unavailable=0.2)
    policies = posterior.expert_policies()
    scores = score(posterior, "expected_regret")
    before = posterior.weights @ regrets(posterior, expected_return(posterior))
    assert scores.details["expected_regret"] == pytest.approx(before, abs=SOLVER)
    for state in np.flatnonzero(posterior.problem.queryable).tolist():
        after = expected_regret_after(posterior, policies[:, state].T)
        assert scores.values[state] == pytest.approx(before - after, abs=SOLVER)
        assert scores.values[state] >= 0.0


@pytest.mark.parametrize("length", [1, 2, 3])
def test_expected_regret_by_trying_every_trajectory(length):
    posterior = small_posterior(1, beta=2.0)
    policies = posterior.expert_policies()
    before = posterior.weights @ regrets(posterior, expected_return(posterior))
    values, error = averaged_score(
        posterior, "expected_regret", kind="trajectory", length=length, num_histories=16, num_seeds=60
    )
    for state in np.flatnonzero(posterior.problem.queryable).tolist():
        exact = before - sum(
            chance * expected_regret_after(posterior, [likelihoods(policies, steps)])
            for steps, chance in trajectories(posterior.problem.mdp, state, length)
        )
        assert abs(values[state] - exact) <= NUM_ERRORS * error[state] + SOLVER


@pytest.mark.parametrize("seed", range(5))
def test_optimal_action_value_by_conditioning_on_every_set(seed):
    posterior = small_posterior(seed, num_atoms=10)
    mdp, model = posterior.problem.mdp, posterior.problem.reward_model
    present = mdp.initial @ solve(mdp, posterior.mean_reward()).values
    values = score(posterior, "optimal_action_value").values
    for state in np.flatnonzero(posterior.problem.queryable).tolist():
        optimal = posterior.optimal_actions([state])[:, 0]
        total = 0.0
        for actions, chance in posterior.optimal_set_probabilities(state).items():
            mask = np.isin(np.arange(3), list(actions))
            weights = posterior.weights * (optimal == mask).all(axis=1)
            mean = weights @ posterior.theta / weights.sum()
            total += chance * (mdp.initial @ solve(mdp, model.reward(mean)).values)
        assert values[state] == pytest.approx(total - present, abs=SOLVER)


def test_tied_actions_are_one_set():
    """In the top row "stay" (0) and "up" (1) are one action, so sets have both or neither, and none counts twice."""
    world = make_world("random-grid", 0, size=3)
    posterior = infer(world.problem, (), "smc", num_particles=200)
    top = [state for state in range(3) if posterior.problem.queryable[state]]
    assert top
    for state in top:
        assert all((0 in actions) == (1 in actions) for actions in posterior.optimal_set_probabilities(state))
    scores = score(posterior, "optimal_action_value")
    assert 0.0 < scores.values.max() <= scores.details["expected_regret"] + SOLVER


def test_gains_never_exceed_the_expected_regret_and_vanish_when_all_agree():
    for seed in range(5):
        posterior = small_posterior(seed)
        for name in ("expected_regret", "optimal_action_value"):
            scores = score(posterior, name)
            assert scores.values.max() <= scores.details["expected_regret"] + SOLVER
            alone = score(reweighted(posterior, np.eye(6)[0]), name).values
            assert (alone[np.isfinite(alone)] == 0.0).all()


def test_regret_pac_asks_by_information_where_the_lookahead_stalls():
    posterior = infer(make_world("bandit", beta=0.5).problem, (), "enumerate")
    by_regret = score(posterior, "regret_pac", stall=0.0)
    assert by_regret.details["used"] == "expected_regret"
    assert by_regret.unit == "reward"
    assert np.array_equal(by_regret.values, score(posterior, "expected_regret").values)
    by_information = score(posterior, "regret_pac", stall=1.0)
    assert by_information.details["used"] == "pac_eig"
    assert by_information.unit == "nats"
    assert np.array_equal(by_information.values, score(posterior, "pac_eig").values)
    largest = by_regret.values.max() / by_regret.details["expected_regret"]
    expected = "expected_regret" if largest >= 0.02 else "pac_eig"
    assert score(posterior, "regret_pac").details["used"] == expected


def test_a_lookahead_that_stalls():
    """One noisy answer cannot overturn a strong belief, so no gain at all; information remains."""
    posterior = infer(make_world("regret-eig-trap", beta=0.001).problem, (), "enumerate")
    sure = reweighted(posterior, [0.9, 0.1])
    assert score(sure, "expected_regret").values.max() == 0.0
    scores = score(sure, "regret_pac")
    assert scores.details["used"] == "pac_eig"
    assert scores.values.max() > 0.0


def test_bad_stall():
    with pytest.raises(InputError, match=r"stall must lie in 0..1, got 2"):
        score(small_posterior(0), "regret_pac", stall=2)
