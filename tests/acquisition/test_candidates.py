"""Which states are rated: a list, so many at random, or the most visited."""

import numpy as np
import pytest

from journeyman.acquisition import score
from journeyman.errors import InputError
from journeyman.inference import infer
from journeyman.learner import ActiveLearner
from journeyman.mdp import solve
from journeyman.worlds import make_world


@pytest.fixture(scope="module")
def posterior():
    world = make_world("random-grid", 1, size=3)
    return infer(world.problem, world.expert.answers(world.problem.queryable.nonzero()[0][:2]), num_particles=200)


def rated(posterior, candidates, **options):
    """States with a score."""
    found = score(posterior, "reward_eig", num_threads=1, candidates=candidates, **options)
    return np.flatnonzero(np.isfinite(found.values)).tolist()


def test_scores_of_candidates_are_those_of_all_states(posterior):
    everything = score(posterior, "reward_eig", num_threads=1).values
    queryable = np.flatnonzero(posterior.problem.queryable)
    some = score(posterior, "reward_eig", num_threads=1, candidates=queryable[1:3]).values
    np.testing.assert_array_equal(some[queryable[1:3]], everything[queryable[1:3]])
    assert np.isneginf(np.delete(some, queryable[1:3])).all()


def test_a_number_draws_by_the_seed(posterior):
    draws = {tuple(rated(posterior, 2, seed=seed)) for seed in range(20)}
    assert all(len(states) == 2 for states in draws) and len(draws) > 1
    assert rated(posterior, 2, seed=3) == rated(posterior, 2, seed=3)
    assert rated(posterior, 99) == rated(posterior, None)


def test_the_most_visited(posterior):
    mdp, mean = posterior.problem.mdp, posterior.mean_reward()
    policy = solve(mdp, mean).policy
    walk = mdp.dense_transitions()[np.arange(mdp.num_states), policy]
    visits = np.linalg.solve(np.eye(mdp.num_states) - mdp.discount * walk.T, mdp.initial)
    visits[~posterior.problem.queryable] = -1.0
    assert rated(posterior, "occupancy:2") == sorted(np.argsort(-visits, kind="stable")[:2].tolist())


@pytest.mark.parametrize(
    ("candidates", "message"),
    [
        ("most", "got 'most'. Give a list of states, how many to draw at random"),
        ("occupancy:0", "got 'occupancy:0'"),
        (0, "at least 1, got 0"),
        ([], "must be a list of states"),
        ([0.5], "must be a list of states"),
        ([99], "state must lie in 0..8, got 99"),
    ],
)
def test_what_is_refused_when_a_learner_is_made(posterior, candidates, message):
    with pytest.raises(InputError, match=message.replace("(", r"\(")):
        ActiveLearner(posterior.problem, candidates=candidates)


def test_states_that_may_not_be_asked_about_are_no_candidates(posterior):
    terminal = np.flatnonzero(~posterior.problem.queryable)
    with pytest.raises(InputError, match=f"got none among {', '.join(map(str, terminal[:2]))}"):
        ActiveLearner(posterior.problem, candidates=terminal[:2])
