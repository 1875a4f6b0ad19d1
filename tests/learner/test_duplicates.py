"""Data that are attached a second time are refused, unless said otherwise."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from learner.small import grid_learner

from journeyman.demonstrations import Demonstration
from journeyman.errors import InputError
from journeyman.learner.duplicates import LONG, VERY_LONG, find_duplicates, find_matches, is_same

STAMP = datetime(2026, 3, 1, 14, 30, tzinfo=UTC)


def path(length, start=0, **more):
    """Return a path of `length` steps along a line."""
    steps = tuple((start + i, 1) for i in range(length))
    return Demonstration(start, steps, start + length, "truncated", **more)


def one(state, action, **more):
    return Demonstration.annotation(state, action, **more)


def known(*items):
    return {f"attached-{i}": item for i, item in enumerate(items)}


def test_what_is_the_same():
    assert is_same(path(3), path(3))
    assert is_same(path(3), path(3, annotator="ada")) and is_same(path(3), path(3, timestamp=STAMP))
    assert not is_same(path(3, annotator="ada"), path(3, annotator="bob"))
    assert not is_same(path(3, timestamp=STAMP), path(3, timestamp=STAMP + timedelta(seconds=1)))
    assert not is_same(path(3), replace(path(3), final_state=None))
    assert not is_same(path(3), path(4)) and not is_same(path(3), replace(path(3), ended="terminated"))


def test_a_whole_import_that_is_there_in_the_same_order_is_a_duplicate():
    table = [one(0, 1), one(1, 0), path(2)]
    assert find_duplicates(known(one(5, 0), *table), table) == {0: "attached-1", 1: "attached-2", 2: "attached-3"}
    assert find_duplicates(known(*table), table[::-1]) == {}, "other answers, in another order"
    assert list(find_duplicates(known(*table), [*table, one(2, 0)])) == [0, 1, 2], "the file has grown"
    assert find_duplicates(known(one(4, 0), *table), [*table, one(2, 0)]) == {}, "short ones with something new"
    assert find_duplicates(known(table[0], one(5, 0), *table[1:]), table) == {}, "not next to each other"
    assert find_duplicates(known(path(2)), [path(2)]) == {0: "attached-0"}


def test_files_that_were_imported_are_known_again_when_they_grew_or_were_sorted():
    rng = np.random.default_rng(0)
    table = [one(int(state), int(action)) for state, action in rng.integers(0, [9, 3], (LONG + 2, 2))]
    before = known(one(5, 0), *table, one(7, 2))
    grown = find_duplicates(before, [one(8, 1), *table, one(8, 2)])
    assert list(grown) == list(range(1, len(table) + 1))
    assert grown[1] == "attached-1"
    assert len(find_duplicates(before, table[::-1])) == len(table)
    assert find_duplicates(before, [one(8, 1), *table[:3], one(8, 2)]) == {}, "three answers alike may be chance"


def test_skipping_leaves_out_all_that_has_a_match_of_its_own():
    given = [one(0, 1), one(0, 1), path(2), path(LONG, start=1), path(LONG, start=1), one(3, 0)]
    assert find_matches(known(path(2), one(0, 1)), given) == {0: "attached-1", 2: "attached-0"}
    assert find_matches({}, [path(LONG), one(0, 1), path(LONG), one(0, 1)]) == {2: None, 3: None}
    stamped = one(0, 1, timestamp=STAMP)
    assert find_matches(known(one(0, 1), stamped), [one(0, 1), stamped]) == {0: "attached-0", 1: "attached-1"}


def test_one_action_may_be_done_again():
    assert find_duplicates(known(one(0, 1), one(0, 1)), [one(0, 1)]) == {}
    assert find_duplicates(known(one(0, 1)), [one(0, 1), one(0, 1)]) == {}
    assert find_duplicates({}, [one(0, 1)] * 50) == {}
    assert find_duplicates({}, []) == {}


def test_long_ones_are_duplicates_wherever_they_stand():
    long, other = path(LONG), path(LONG, start=1)
    very_long = path(VERY_LONG)
    assert find_duplicates(known(one(0, 1), long), [one(3, 0), long]) == {1: "attached-1"}
    assert find_duplicates(known(very_long), [path(2 * VERY_LONG, start=1), very_long]) == {1: "attached-0"}
    assert find_duplicates(known(long), [replace(long, annotator="ada"), other]) == {0: "attached-0"}
    assert find_duplicates(known(long), [replace(long, annotator="ada"), replace(long, annotator="bob")]) == {
        0: "attached-0"
    }, "two people may do the same"


def test_animals_walk_the_same_way_again():
    """A path of some steps among other data is no duplicate; a file that holds everything twice is one."""
    long, other = path(LONG), path(LONG, start=1)
    assert find_duplicates(known(one(0, 1), long), [other, one(3, 0), long]) == {}
    assert find_duplicates({}, [long, other, long, one(3, 0), long]) == {}
    assert find_duplicates({}, [long, other, long, other]) == {2: None, 3: None}
    assert find_duplicates({}, [path(LONG - 1), path(LONG - 1)]) == {}, "short paths are walked twice"


def test_the_same_time_stamp_makes_a_duplicate_of_any_length():
    stamped = one(0, 1, timestamp=STAMP)
    assert find_duplicates(known(stamped), [stamped, one(1, 1)]) == {0: "attached-0"}
    assert find_duplicates(known(stamped), [replace(stamped, timestamp=STAMP + timedelta(seconds=1)), stamped]) == {
        1: "attached-0"
    }
    assert find_duplicates({}, [stamped, stamped]) == {}, "a script may be quick"


def test_a_learner_refuses_and_stays_as_it_is():
    learner = grid_learner()
    state = int(np.flatnonzero(learner.problem.queryable)[0])
    table = [one(state, 0), one(state, 1)]
    assert learner.attach(table) == ("attached-0", "attached-1")
    before = learner.events
    with pytest.raises(InputError, match=r"2 of 2 a second time: demonstration 0 .* there as attached-0.*Nothing was"):
        learner.attach(table)
    assert learner.events == before
    assert learner.attach(table, allow_duplicates=True) == ("attached-2", "attached-3")
    for answer in ("attached-0", "attached-2"):
        learner.undo(answer)
    assert learner.attach(table) == ("attached-4", "attached-5"), "what was taken back is not there"


def test_answers_to_questions_are_never_refused():
    learner = grid_learner()
    for _ in range(3):
        learner.tell(learner.ask(), 0)
    assert len(learner.demonstrations) == 3
