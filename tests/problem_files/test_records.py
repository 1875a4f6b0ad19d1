import io
import json

import numpy as np
import pytest

from journeyman.errors import InputError, UnsupportedError
from journeyman.problem import Problem
from journeyman.problem_files import ProblemRecord, problem_from_record, problem_to_record
from journeyman.rewards import (
    Discrete,
    LinearFeatures,
    MultivariateNormal,
    Normal,
    PerState,
    PerStateAction,
    Uniform,
)
from journeyman.worlds import WORLDS, make_world

RNG = np.random.default_rng(0)
MDP = make_world("random-grid", 3, size=3, terminals="independent").problem.mdp
MODELS = {
    "per_state": PerState(MDP),
    "per_state_action": PerStateAction(MDP),
    "features": LinearFeatures(RNG.normal(size=(9, 2)), MDP, offset=RNG.normal(size=9), names=("mud", "sand")),
    "action_features": LinearFeatures(RNG.normal(size=(9, 5, 2)), MDP),
}


def priors(size):
    factor = RNG.normal(size=(size, size + 2))
    weights = RNG.random(3)
    return {
        "normal": Normal(size, RNG.normal(size=size), RNG.random(size) + 0.1),
        "uniform": Uniform(size, -RNG.random(size), RNG.random(size)),
        "multivariate": MultivariateNormal(RNG.normal(size=size), factor @ factor.T),
        "discrete": Discrete(RNG.normal(size=(3, size)), weights / weights.sum()),
    }


def stored(record):
    """What a record is after having been written and read: JSON, and .npz without pickle."""
    buffer = io.BytesIO()
    np.savez(buffer, **record.arrays)
    buffer.seek(0)
    with np.load(buffer, allow_pickle=False) as file:
        return ProblemRecord(json.loads(json.dumps(record.facts)), {name: file[name] for name in file.files})


def assert_same(first, second):
    """Bit by bit: the records are equal, and so is what priors and models compute."""
    one, other = problem_to_record(first), problem_to_record(second)
    assert one.facts == other.facts
    assert one.arrays.keys() == other.arrays.keys()
    for name in one.arrays:
        assert one.arrays[name].dtype == other.arrays[name].dtype
        assert np.array_equal(one.arrays[name], other.arrays[name]), name
    draws = [problem.prior.sample(np.random.default_rng(1), 4) for problem in (first, second)]
    assert np.array_equal(*draws)
    assert np.array_equal(*(problem.reward_model.reward(draws[0]) for problem in (first, second)))
    assert first.mdp.state_labels == second.mdp.state_labels
    assert first.mdp.action_labels == second.mdp.action_labels


@pytest.mark.parametrize("prior", ["normal", "uniform", "multivariate", "discrete"])
@pytest.mark.parametrize("model", MODELS)
def test_every_model_and_prior_comes_back_exactly(model, prior):
    chosen = MODELS[model]
    queryable = RNG.random(9) < 0.5
    problem = Problem(MDP, chosen, priors(chosen.num_parameters)[prior], 0.1 + 0.2, queryable)
    again = problem_from_record(stored(problem_to_record(problem)))
    assert_same(problem, again)
    assert again.beta == problem.beta
    assert np.array_equal(again.queryable, queryable)


@pytest.mark.parametrize("name", WORLDS)
def test_every_world_comes_back_exactly(name):
    problem = make_world(name, 2).problem
    again = problem_from_record(stored(problem_to_record(problem)))
    assert_same(problem, again)
    assert (problem.mdp.grid is None) == (again.mdp.grid is None)
    if problem.mdp.grid is not None:
        assert problem.mdp.grid.kinds == again.mdp.grid.kinds


def test_unrolled_problems_come_back(tmp_path):
    problem = make_world("jail").problem.unrolled(2)
    assert_same(problem, problem_from_record(stored(problem_to_record(problem))))


def test_what_cannot_be_stored_is_refused():
    class Odd(Normal):
        pass

    with pytest.raises(UnsupportedError, match=r"must be registered to be stored, got Odd\. Call PRIORS\.register"):
        problem_to_record(Problem(MDP, MODELS["features"], Odd(2), 1.0))


def test_damaged_records_are_refused():
    facts, arrays = problem_to_record(make_world("jail").problem)
    with pytest.raises(InputError, match="must be of format"):
        problem_from_record((facts | {"format": "journeyman-problem-99"}, arrays))
    with pytest.raises(InputError, match="must be whole"):
        problem_from_record((facts, {name: array for name, array in arrays.items() if name != "offset"}))
    with pytest.raises(InputError, match="a prior must be one that exists, got 'cauchy'"):
        problem_from_record((facts | {"prior": "cauchy"}, arrays))
