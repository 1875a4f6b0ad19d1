"""Demonstration records and their counts."""

import dataclasses
import pickle
from datetime import UTC, datetime

import numpy as np
import pytest

from journeyman.demonstrations import Demonstration, action_counts, as_demonstrations
from journeyman.errors import InputError

TRAJECTORY = Demonstration(0, ((0, 1), (2, 0), (0, 1)), 2, "truncated")


def test_an_annotation_is_one_action_in_one_state():
    when = datetime(2026, 1, 2, tzinfo=UTC)
    demonstration = Demonstration.annotation(3, 1, query_id=7, annotator="rat 12", timestamp=when)
    assert demonstration == Demonstration(3, ((3, 1),), None, "annotation", 7, "rat 12", when)
    assert len(demonstration) == 1 and len(TRAJECTORY) == 3


def test_numbers_of_numpy_become_plain_ones():
    steps = np.array([[1, 0], [2, 1]])
    demonstration = Demonstration(np.int64(1), steps, np.int32(2), "terminated", query_id=np.int8(4))
    assert demonstration == Demonstration(1, [(1, 0), (2, 1)], 2, "terminated", query_id=4)
    assert all(type(number) is int for step in demonstration.steps for number in step)
    assert type(demonstration.final_state) is type(demonstration.start_state) is type(demonstration.query_id) is int


def test_a_start_in_a_terminal_state_has_no_steps():
    assert len(Demonstration(4, (), 4, "terminated")) == 0


def test_a_demonstration_is_frozen_hashable_and_can_travel():
    with pytest.raises(dataclasses.FrozenInstanceError):
        TRAJECTORY.ended = "terminated"
    assert {TRAJECTORY: 1}[pickle.loads(pickle.dumps(TRAJECTORY))] == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((-1, ((-1, 0),)), "state of step 0 must be a whole number of at least 0, got -1"),
        ((0, ((0, -2),)), "action of step 0 must be a whole number of at least 0, got -2"),
        ((0, ((0, 1), (0.5, 1)), None, "truncated"), "state of step 1 must be a whole number of at least 0, got 0.5"),
        ((0, ((0, True),)), "action of step 0 must be a whole number"),
        ((0, ((0, "up"),)), "action of step 0 must be a whole number of at least 0, got 'up'"),
        ((0, ((0, None),)), "action of step 0"),
        ((0, ((0, 1, 2),)), r"steps must be \(state, action\) pairs, got"),
        ((0, (0, 1)), r"steps must be \(state, action\) pairs, got \(0, 1\)"),
        ((0, 5), r"steps must be \(state, action\) pairs, got 5"),
        ((0, None), r"steps must be \(state, action\) pairs, got None"),
        (("door", ((0, 1),)), "start_state must be a whole number of at least 0, got 'door'"),
        ((1, ((0, 1),)), "first step must be at the start state 1, got state 0"),
        ((0, ((0, 1),), -1, "truncated"), "final_state must be a whole number of at least 0, got -1"),
        ((0, ((0, 1),), None, "stopped"), "ended must be one of annotation, truncated, terminated, got 'stopped'"),
        ((0, ((0, 1), (0, 1))), "an annotation must have exactly one step and no final state, got 2 steps"),
        ((0, ()), "an annotation must have exactly one step and no final state, got 0 steps"),
        ((0, ((0, 1),), 1), "no final state, got 1 steps and final state 1. Say ended="),
        ((0, ((0, 1),), None, "annotation", -3), "query_id must be a whole number of at least 0, got -3"),
        ((0, ((0, 1),), None, "annotation", "q1"), "query_id must be a whole number"),
    ],
)
def test_bad_demonstrations(arguments, message):
    with pytest.raises(InputError, match=message):
        Demonstration(*arguments)


def test_counts_are_the_sufficient_statistic():
    demonstrations = [TRAJECTORY, Demonstration.annotation(2, 0), Demonstration.annotation(1, 1)]
    counts = action_counts(demonstrations, 3, 2)
    assert counts.tolist() == [[0, 2], [0, 1], [2, 0]]
    np.testing.assert_array_equal(action_counts(reversed(demonstrations), 3, 2), counts)
    assert counts.dtype == np.int64


def test_counts_of_one_and_of_none():
    assert action_counts(Demonstration.annotation(0, 1), 2, 2).tolist() == [[0, 1], [0, 0]]
    assert not action_counts([], 2, 2).any()
    assert not action_counts(Demonstration(1, (), 1, "terminated"), 2, 2).any()


@pytest.mark.parametrize(
    ("demonstration", "message"),
    [
        (Demonstration(0, ((0, 0), (3, 1)), None, "truncated"), r"states 0\.\.2 and actions 0\.\.1, got \(3, 1\)"),
        (Demonstration.annotation(0, 2), r"got \(0, 2\) in demonstration 1. Check that they belong to this problem"),
        (Demonstration(3, (), 3, "terminated"), r"states 0\.\.2, got start state 3 in demonstration 1"),
        (Demonstration(0, ((0, 0),), 5, "terminated"), r"states 0\.\.2, got final state 5 in demonstration 1"),
    ],
)
def test_counts_refuse_states_and_actions_of_another_problem(demonstration, message):
    with pytest.raises(InputError, match=message):
        action_counts([Demonstration.annotation(0, 0), demonstration], 3, 2)


def test_only_demonstrations_are_demonstrations():
    assert as_demonstrations(TRAJECTORY) == as_demonstrations([TRAJECTORY]) == (TRAJECTORY,)
    with pytest.raises(
        InputError, match=r"Demonstration records, got tuple at 1\. Make one with Demonstration\.annotat"
    ):
        as_demonstrations([TRAJECTORY, (0, 1)])
    for other in (5, None, 0.5):
        with pytest.raises(InputError, match=f"Demonstration records, got {type(other).__name__}"):
            as_demonstrations(other)
    with pytest.raises(InputError, match="got str at 0"):
        as_demonstrations("demos")
