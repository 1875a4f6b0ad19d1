import numpy as np
import pytest
from acquisition.exact import (
    averaged_score,
    likelihoods,
    reweighted,
    small_posterior,
    trajectories,
    trajectory_information,
)

from journeyman.acquisition import score
from journeyman.acquisition.lookahead import gains_of_means, present_apprentice
from journeyman.acquisition.scores import ScoringContext
from journeyman.inference import infer
from journeyman.mdp import FiniteMDP
from journeyman.problem import Problem
from journeyman.rewards import Discrete, LinearFeatures

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
    """Estimates of 80 seeds spread no more than the standard error says, and not by far less.

    Student's t for 8 trees makes it 1.21 times the plain one, answers that may have been missed up to 1.6 times.
    """
    posterior = small_posterior(2)
    runs = [
        score(posterior, "reward_eig", kind="trajectory", length=3, num_histories=32, seed=seed) for seed in range(80)
    ]
    queryable = posterior.problem.queryable & ~posterior.problem.mdp.terminal
    spread = np.std([run.values[queryable] for run in runs], axis=0, ddof=1)
    stated = np.sqrt(np.mean([run.standard_error[queryable] ** 2 for run in runs], axis=0))
    tolerance = 4 / np.sqrt(2 * 79)  # 4 sigma of a deviation of 80 numbers
    assert (spread / stated < 1.0 / 1.21 * (1.0 + tolerance)).all()
    assert (spread / stated > 1.0 / 1.6 * (1.0 - tolerance)).all()


def test_threads_and_seeds():
    posterior = small_posterior(1)
    query = {"kind": "trajectory", "length": 3}
    one, two, other = (
        score(posterior, "reward_eig", num_threads=threads, seed=seed, **query)
        for threads, seed in ((1, 0), (2, 0), (1, 1))
    )
    assert np.array_equal(one.values, two.values)
    assert not np.array_equal(one.values, other.values)


CASES = [(1.0, {}), (8.0, {"density": 0.3}), (8.0, {"ending": 0.0, "terminal": 0.0, "num_states": 5, "num_actions": 2})]


@pytest.mark.parametrize(("beta", "options"), CASES)
@pytest.mark.parametrize("name", ["reward_eig", "expected_regret"])
def test_two_standard_errors_cover(name, beta, options):
    """Scores from 64 walks against the exact ones: at least 95 % within two standard errors.

    The states of one posterior are not independent of each other, the seeds are: of 10 x 10 of these the share is known
    within sqrt(0.05 * 0.95 / 100) = 2.2 %, and two of that are allowed for.
    """
    is_covered = []
    for world in range(10):
        posterior = small_posterior(world, num_atoms=30, beta=beta, **options)
        states = np.flatnonzero(posterior.problem.queryable & ~posterior.problem.mdp.terminal).tolist()
        for length in (2, 3):
            exact = np.array([exact_score(posterior, name, state, length) for state in states])
            for seed in range(5):
                found = score(posterior, name, kind="trajectory", length=length, seed=seed, num_threads=1)
                error = np.abs(found.values[states] - exact)
                is_covered.append((error <= 2.0 * found.standard_error[states] + ROUNDING).mean())
    assert np.mean(is_covered) >= 0.95 - 2 * 0.022


def exact_score(posterior, name, state, length):
    """The score of a trajectory by listing all of them."""
    if name == "reward_eig":
        return trajectory_information(posterior, np.arange(posterior.num_samples), state, length)
    policies, rows = posterior.expert_policies(), []
    for steps, chance in trajectories(posterior.problem.mdp, state, length):
        rows.append(chance * posterior.weights * likelihoods(policies, steps))
    masses = np.sum(rows, axis=1)
    present, context = present_apprentice(posterior), ScoringContext(np.array([state]))
    return masses @ gains_of_means(posterior, context, present, np.array(rows) @ posterior.theta, masses)


def rare_answer():
    """An action of chance below 1 / 200 leads to where all is decided, the other one ends the episode."""
    transitions = {(0, 0): [(1.0, 1)], (0, 1): [(1.0, 2)], (2, 0): [(1.0, 1)], (2, 1): [(1.0, 1)]}
    mdp = FiniteMDP.from_function(
        lambda s, a: transitions.get((s, a), []), num_states=3, num_actions=2, discount=0.9, initial=[0.0, 0.0, 1.0]
    )
    features = np.zeros((3, 2, 2))
    features[0, 0, 0], features[2, 1, 1] = 1.0, 1.0  # the first parameter is known, the second one is not
    prior = Discrete(np.array([[6.0, 1.0], [6.0, -1.1]]))
    return infer(Problem(mdp, LinearFeatures(features, mdp), prior, 1.0), (), "enumerate")


@pytest.mark.parametrize("name", ["reward_eig", "expected_regret"])
def test_an_answer_that_was_never_sampled_is_no_error_of_zero(name):
    posterior = rare_answer()
    assert posterior.predictive_policy()[0, 1] < 1 / 200
    exact = exact_score(posterior, name, 0, 2)
    runs = [score(posterior, name, kind="trajectory", length=2, seed=seed, num_threads=1) for seed in range(20)]
    never = [run for run in runs if run.values[0] < exact - ROUNDING]
    assert len(never) > 5
    assert min(run.standard_error[0] for run in runs) > 0.0
    assert all(abs(run.values[0] - exact) <= 2.0 * run.standard_error[0] for run in never)


def test_what_cannot_be_missed_has_no_error():
    """All samples are the same, or all actions end the episode: there is nothing that walks could have missed."""
    posterior = small_posterior(1)
    alike = reweighted(posterior, np.eye(6)[2])
    for name in ("reward_eig", "expected_regret"):
        errors = score(alike, name, kind="trajectory", length=3).standard_error
        assert np.nanmax(errors) <= ROUNDING
    ending = rare_answer()
    errors = score(ending, "reward_eig", kind="trajectory", length=3).standard_error
    assert errors[2] <= ROUNDING < errors[0]
