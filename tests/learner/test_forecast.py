import pytest
from learner.small import grid_learner, grid_world, told

from journeyman.errors import InputError
from journeyman.learner import ActiveLearner, Forecast
from journeyman.worlds import make_world


def test_quantiles_and_words():
    found = Forecast((3, 1, None, 2), limit=10)
    assert [found.quantile(level) for level in (0.0, 0.25, 0.5, 0.75, 1.0)] == [1, 1, 2, 3, None]
    assert found.share_unfinished == 0.25
    assert found.text().startswith("About 2 more answers (half of 4 simulated runs needed between 1 and 3; 25 % were")
    assert found.to_record()["quantiles"]["0.9"] is None
    lost = Forecast((None, None, 4), limit=5)
    assert lost.text() == "More than 5 further answers: 67 % of 3 simulated runs were not finished by then."


def test_a_forecast_changes_nothing_and_can_be_repeated():
    world = make_world("lopes-two-state", 0)
    learner = told(ActiveLearner(world.problem, epsilon=0.5, acquisition="random", seed=1), world, 1)
    events, weights = learner.events, learner.posterior().weights.copy()
    first = learner.forecast(num_runs=5, limit=40)
    assert first == learner.forecast(num_runs=5, limit=40)
    assert len(first.runs) == 5
    assert (learner.events, learner.posterior().weights.tolist()) == (events, weights.tolist())


def test_a_finished_learner_needs_nothing_more():
    learner = grid_learner(epsilon=1e6)
    assert learner.certificate().holds
    assert learner.forecast(num_runs=3, limit=2).runs == (0, 0, 0)


def test_more_answers_before_mean_fewer_after():
    """With atoms beliefs are exact: what is known already need not be asked for again."""
    world = make_world("lopes-two-state", 0)
    settings = {"epsilon": 0.3, "delta": 0.02, "acquisition": "reward_eig", "seed": 3}
    new = ActiveLearner(world.problem, **settings).forecast(num_runs=20, limit=200)
    assert new.quantile(0.5) > 0
    learner = ActiveLearner(world.problem, **settings)
    learner.attach(world.make_expert(5).answers([0, 1] * 40))
    assert learner.forecast(num_runs=20, limit=200).quantile(0.5) < new.quantile(0.5)


def test_mistakes_are_named():
    learner = grid_learner(grid_world())
    with pytest.raises(InputError, match="num_runs must be a whole number of at least 1"):
        learner.forecast(num_runs=0)
    with pytest.raises(InputError, match="limit must be"):
        learner.forecast(limit=-1)
