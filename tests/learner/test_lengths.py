"""A learner whose trajectory queries have the length that pays best."""

import json

import pytest
from learner.small import grid_learner, grid_world

from journeyman.demonstrations import Demonstration
from journeyman.errors import InputError
from journeyman.learner import ActiveLearner, Event, answered_steps
from journeyman.study import Study
from journeyman.wording import counted

SETTINGS = {"kind": "trajectory", "length": 5, "step_cost": 0.4, "acquisition": "pac_eig"}


def keys(queries):
    return [(query.id, query.state, query.length, query.score) for query in queries]


def test_queries_have_the_length_of_the_scores():
    world = grid_world()
    learner = grid_learner(world, **SETTINGS)
    lengths = set()
    for _ in range(4):
        scores = learner.scores()
        query = learner.ask()
        assert query.length == scores.lengths[query.state]
        assert f"act for up to {counted(query.length, 'step')}:" in query.text
        answer = world.make_expert(0).demonstrate(query)
        assert len(answer) == query.length or answer.ended == "terminated"
        learner.tell(query, answer)
        lengths.add(query.length)
    assert lengths <= {1, 2, 3, 5}
    assert min(lengths) < 5


def test_an_answer_that_is_longer_than_its_query_is_refused():
    world = grid_world()
    learner = grid_learner(world, **SETTINGS | {"step_cost": 50.0})
    query = learner.ask()
    assert query.length == 1
    action = int(world.problem.mdp.available[query.state].argmax())
    next_state = int(world.problem.mdp.next_states(query.state, action)[0][0])
    longer = Demonstration(query.state, ((query.state, action), (next_state, 0)), ended="truncated")
    with pytest.raises(InputError, match="must have at most 1 step, got 2"):
        learner.tell(query, longer)


def test_batches_and_pending_queries():
    """Three at once are one, and two more while it waits: the awaited answer is as long as its query."""
    world = grid_world()
    one, other = (grid_learner(world, **SETTINGS | {"num_threads": threads}) for threads in (1, 2))
    assert keys(one.ask_batch(3)) == keys(other.ask_batch(3))
    assert len(keys(one.ask_batch(2))) == 2
    assert all(query.length in (1, 2, 3, 5) for query in one.queries)


def test_a_restored_learner_continues():
    world = grid_world()
    learner = grid_learner(world, **SETTINGS)
    for _ in answered_steps(learner, world.make_expert(0), steps=2):
        pass
    learner.ask()
    events = [Event.from_record(json.loads(json.dumps(event.to_record()))) for event in learner.events]
    again = ActiveLearner.restore(world.problem, learner.settings, events, learner.snapshot(), num_threads=1)
    assert keys(again.queries) == keys(learner.queries)
    assert keys([again.ask()]) == keys([learner.ask()])


def test_a_study_keeps_it(tmp_path):
    world = grid_world()
    with Study.create(
        tmp_path / "a.study", world.problem, inference_options={"num_particles": 200}, **SETTINGS
    ) as study:
        asked = keys(study.ask_batch(2))
    with Study.open(tmp_path / "a.study", num_threads=1) as study:
        assert study.settings.step_cost == 0.4
        assert keys(study.queries) == asked


def test_the_present_settings_ask_for_the_whole_length():
    learner = grid_learner(**SETTINGS | {"step_cost": 0.0})
    assert [query.length for query in learner.ask_batch(2)] == [5, 5]
    assert learner.scores().lengths is None
