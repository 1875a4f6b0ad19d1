"""A learner that was stored goes on as if it had never stopped."""

import io
import json

import numpy as np
import pytest
from learner.small import grid_learner, grid_world, keys, told

from journeyman.demonstrations import Demonstration
from journeyman.errors import InputError
from journeyman.learner import ActiveLearner, Event, LearnerSettings, state as states
from journeyman.worlds import make_world


def stored(learner, snapshot):
    """Write settings, events and snapshot as plain data, and read them again."""
    settings = LearnerSettings.from_record(json.loads(json.dumps(learner.settings.to_record())))
    events = [Event.from_record(json.loads(json.dumps(event.to_record()))) for event in learner.events]
    if snapshot is None:
        return settings, events, None
    buffer = io.BytesIO()
    arrays = {name: value for name, value in snapshot.items() if name != "state"}
    np.savez(buffer, **arrays)
    buffer.seek(0)
    with np.load(buffer, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    return settings, events, arrays | {"state": json.loads(json.dumps(snapshot["state"], allow_nan=False))}


def busy_learner(world):
    """A learner to which everything happened that can happen."""
    learner = told(grid_learner(world), world, 2)
    learner.attach(Demonstration.annotation(int(np.flatnonzero(world.problem.queryable)[0]), 0))
    batch = learner.ask_batch(3)
    learner.fail(batch[0])
    learner.tell(batch[2], 0)
    learner.undo(1)
    return learner


@pytest.mark.parametrize("age", [None, 0, 1, 4, -1])
def test_a_restored_learner_goes_on_bit_by_bit(age):
    world = grid_world()
    learner = busy_learner(world)
    snapshot = None
    if age is not None:
        events = learner.events if age == -1 else learner.events[:age]
        snapshot = ActiveLearner.restore(world.problem, learner.settings, events, num_threads=1).snapshot()
    settings, events, snapshot = stored(learner, snapshot)
    again = ActiveLearner.restore(world.problem, settings, events, snapshot, num_threads=2)
    assert again.events == learner.events
    assert again.pending == learner.pending
    assert again.posterior().theta.tobytes() == learner.posterior().theta.tobytes()
    assert again.posterior().weights.tobytes() == learner.posterior().weights.tobytes()
    assert again.posterior().log_evidence == learner.posterior().log_evidence
    assert [(r.number, r.entropy, r.failure_chance) for r in again.history()] == [
        (r.number, r.entropy, r.failure_chance) for r in learner.history()
    ]
    told(learner, world, 4)
    told(again, world, 4)
    assert keys(again.queries) == keys(learner.queries)


def test_with_atoms():
    world = make_world("lopes-two-state", 0)
    learner = told(ActiveLearner(world.problem), world, 3)
    settings, events, snapshot = stored(learner, learner.snapshot())
    again = ActiveLearner.restore(world.problem, settings, events, snapshot)
    assert again.posterior().weights.tobytes() == learner.posterior().weights.tobytes()
    assert keys(told(again, world, 2).queries) == keys(told(learner, world, 2).queries)


def test_other_methods_go_on_too():
    world = make_world("jail", 3)
    options = {"inference": "enumerate", "inference_options": {"num_points": 256}, "num_threads": 1}
    learner = told(ActiveLearner(world.problem, **options), world, 2)
    for snapshot in (None, learner.snapshot()):
        settings, events, kept = stored(learner, snapshot)
        again = ActiveLearner.restore(world.problem, settings, events, kept)
        assert again.posterior().theta.tobytes() == learner.posterior().theta.tobytes()
        assert again.propose_ask().payload["queries"] == learner.propose_ask().payload["queries"]
        assert (again.history()[-1].entropy is None) == (snapshot is None)


def test_replay_scores_nothing(monkeypatch):
    world = grid_world()
    learner = busy_learner(world)

    def refuse(*arguments, **options):
        raise AssertionError("replay must not score")

    monkeypatch.setattr("journeyman.learner.asking.score", refuse)
    monkeypatch.setattr("journeyman.learner.asking.choose_batch", refuse)
    again = ActiveLearner.restore(world.problem, learner.settings, learner.events, num_threads=1)
    assert again.queries == learner.queries


def test_a_snapshot_saves_the_updates(monkeypatch):
    world = grid_world()
    learner = busy_learner(world)
    snapshot = learner.snapshot()

    def refuse(*arguments, **options):
        raise AssertionError("a snapshot must save the updates")

    monkeypatch.setattr(states, "updated_belief", refuse)
    again = ActiveLearner.restore(world.problem, learner.settings, learner.events, snapshot)
    assert again.history() == learner.history()


def test_bad_snapshots_are_refused():
    world = grid_world()
    learner = told(grid_learner(world), world, 1)
    snapshot = learner.snapshot()
    with pytest.raises(InputError, match="must not be newer than the events"):
        ActiveLearner.restore(world.problem, learner.settings, learner.events[:1], snapshot)
    with pytest.raises(InputError, match="must have format 2"):
        ActiveLearner.restore(world.problem, learner.settings, learner.events, {"state": {"format": 99}})
    other = make_world("random-grid", 1, size=4)
    asked = grid_learner(world)
    asked.ask()
    with pytest.raises(InputError, match="belong to its problem of 16 states"):
        ActiveLearner.restore(other.problem, asked.settings, asked.events, asked.snapshot())


def test_lost_events_are_noticed():
    world = grid_world()
    learner = told(grid_learner(world), world, 2)
    with pytest.raises(InputError, match="events must come in order, got number 2 after 1 events"):
        ActiveLearner.restore(world.problem, learner.settings, [learner.events[0], *learner.events[2:]])
