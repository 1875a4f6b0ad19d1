"""Large worlds: values kept as float32, samples gone through a few at a time. Tried on small ones declared large."""

import numpy as np
import pytest
from inference.features import answers, feature_grid

from journeyman import resources
from journeyman.acquisition import score
from journeyman.acquisition.candidates import candidate_states
from journeyman.apprentice import certify
from journeyman.apprentice.policies import most_likely_optimal
from journeyman.apprentice.regret import regret_estimates, top_states_of
from journeyman.errors import InputError
from journeyman.inference import infer, particles, posterior, redraws, smc, target
from journeyman.learner import ActiveLearner
from journeyman.mdp import accuracy, occupancy, solve_batch


@pytest.fixture
def large(monkeypatch):
    """Declare worlds of more than 50 states large, and hold few numbers at once."""
    for module in (particles, posterior, redraws, smc, target):
        monkeypatch.setattr(module, "MAX_EXACT_STATES", 50)
    monkeypatch.setattr(accuracy, "MAX_SHARPENED_STATES", 50)
    monkeypatch.setattr(posterior, "PART_ENTRIES", 1000)
    monkeypatch.setattr(target, "SOLVED_ENTRIES", 1000)


def exact_values_of(problem, large_posterior):
    """Return the values of samples, as exact as they get."""
    exact = solve_batch(problem.mdp, problem.reward_model.reward(large_posterior.theta)).values
    return exact


def test_values_are_as_exact_as_they_say(large):
    problem = feature_grid(8, 3)
    found = infer(problem, answers(problem, 6), num_particles=128, chain_length=4, num_threads=1)
    assert found.is_large and found.values.dtype == np.float32
    exact = exact_values_of(problem, found)
    errors = np.abs(found.values - exact).max(axis=1)
    assert (errors <= found.value_errors).all()
    assert found.value_errors.max() < 1e-4 * np.abs(exact).max()
    state = smc.advance(smc.start(problem, num_particles=128, chain_length=4), problem.counts(answers(problem, 6)))
    assert state.policies.dtype == np.uint8


def test_what_follows_is_that_of_exact_values(large, monkeypatch):
    problem = feature_grid(8, 3)
    found = infer(problem, answers(problem, 6), num_particles=128, chain_length=4, num_threads=1)
    policy = most_likely_optimal(found)
    regret, top = regret_estimates(found, policy), top_states_of(found, policy, 0.5, "initial")
    scores = score(found, num_threads=1, epsilon=0.5)
    certificate = certify(found, 0.5, 0.1, policy=policy)
    assert len(found.parts()) > 2
    exact_values = exact_values_of(problem, found)
    for module in (particles, posterior, redraws, smc, target):
        monkeypatch.setattr(module, "MAX_EXACT_STATES", 20_000)
    exact = posterior.replace(found, values=exact_values)
    wanted = regret_estimates(exact, policy)
    assert (np.abs(regret.values - wanted.values) <= regret.errors + wanted.errors).all()
    assert np.array_equal(most_likely_optimal(exact), policy)
    assert np.allclose(score(exact, num_threads=1, epsilon=0.5).values, scores.values, atol=1e-3)
    assert [state.state for state in top_states_of(exact, policy, 0.5, "initial")] == [state.state for state in top]
    other = certify(exact, 0.5, 0.1, policy=policy)
    assert other.p_hat == pytest.approx(certificate.p_hat, abs=1e-9)
    assert certificate.numerical_error > other.numerical_error


@pytest.mark.parametrize("scope", ["initial", "every_state"])
def test_a_learner_learns_in_a_large_world(large, scope):
    problem = feature_grid(8, 3)
    learner = ActiveLearner(
        problem, epsilon=0.5, num_threads=1, candidates="occupancy:20", scope=scope, is_checked=False, max_samples=200,
        inference_options={"num_particles": 128, "chain_length": 4},
    )  # fmt: skip
    for _ in range(2):
        query = learner.ask()
        learner.tell(query, 0)
    assert learner.certificate().status in ("holds", "fails", "undecided", "refused")
    assert (np.isfinite(learner.scores().values)).sum() == 20


def test_fewer_particles_where_there_are_many_states(large, monkeypatch):
    problem = feature_grid(8, 3)
    monkeypatch.setattr(smc, "LARGE_ENTRIES", 64 * 200)
    assert len(smc.start(problem).positions) == 200
    assert len(smc.start(problem, num_particles=300).positions) == 300


def test_candidates():
    problem = feature_grid(8, 3)
    found = infer(problem, num_particles=100, num_threads=1)
    every = score(found, num_threads=1)
    listed = score(found, num_threads=1, candidates=[3, 5, 9])
    assert np.flatnonzero(np.isfinite(listed.values)).tolist() == [3, 5, 9]
    assert np.array_equal(listed.values[[3, 5, 9]], every.values[[3, 5, 9]])
    drawn = [np.flatnonzero(np.isfinite(score(found, candidates=10, seed=seed).values)) for seed in (1, 1, 2)]
    assert len(drawn[0]) == 10 and np.array_equal(drawn[0], drawn[1]) and not np.array_equal(drawn[0], drawn[2])
    visited = np.flatnonzero(np.isfinite(score(found, candidates="occupancy:7").values))
    visits = occupancy(problem.mdp, found.mean_solution.policy)
    assert len(visited) == 7 and visits[visited].min() >= np.delete(visits, visited).max()
    assert len(candidate_states(found, 1000, np.arange(64), 0)) == 64


@pytest.mark.parametrize("candidates", ["some", "occupancy:0", 0, -3, [], [0.5], True, [[1]]])
def test_bad_candidates_are_refused(candidates):
    with pytest.raises(InputError, match="candidates"):
        ActiveLearner(feature_grid(8, 3), candidates=candidates)


def test_candidates_that_do_not_exist_are_refused():
    found = infer(feature_grid(8, 3), num_particles=100, num_threads=1)
    with pytest.raises(InputError, match="64"):
        score(found, candidates=[64])


def test_too_much_memory_is_refused_before_it_is_allocated(monkeypatch):
    monkeypatch.setattr(resources, "available_memory", lambda: 1_000_000)
    with pytest.raises(InputError, match=r"values of 20000 particles in 64 states would take 113 MB.*num_particles"):
        smc.start(feature_grid(8, 3), num_particles=20_000)
    resources.check_memory(800_000, "a little", "Nothing.")


def test_memory_is_known_here():
    found = resources.available_memory()
    assert found is None or found > 1_000_000
