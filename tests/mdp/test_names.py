"""Labels and numbers mean the same state everywhere, and nothing is guessed where both could be meant."""

import numpy as np
import pytest

from journeyman.errors import InputError
from journeyman.mdp import FiniteMDP
from journeyman.mdp.names import Names

LABELLED = Names("state", 3, ("home", "lane", "pond"))
NUMBERED = Names("state", 3, ("1", "2", "3"))


@pytest.mark.parametrize(
    ("names", "name", "index"),
    [
        (LABELLED, "lane", 1),
        (LABELLED, " lane ", 1),
        (LABELLED, 2, 2),
        (LABELLED, "2", 2),
        (LABELLED, "2.0", 2),
        (LABELLED, 2.0, 2),
        (LABELLED, np.int64(2), 2),
        (Names("action", 2), "1", 1),
        (NUMBERED, "1", 0),
        (NUMBERED, "3.0", 2),
        (Names("state", 3, ("0", "1", "2")), 2, 2),
        (Names("state", 2, ("0", "wet")), 1, 1),
    ],
)
def test_label_or_number(names, name, index):
    assert names.index(name) == index


@pytest.mark.parametrize(
    ("names", "name", "words"),
    [
        (LABELLED, "hoome", "Did you mean 'home'?"),
        (LABELLED, "quay", "Labels are home, lane, pond."),
        (LABELLED, 3, "a label or a number in 0..2, got 3"),
        (LABELLED, "-1", "a label or a number in 0..2"),
        (LABELLED, 1.5, "got 1.5"),
        (LABELLED, True, "got True"),
        (LABELLED, None, "got None"),
        (LABELLED, float("nan"), "got nan"),
        (Names("action", 2), "left", "an action must be a number in 0..1, for this problem has no labels, got 'left'"),
        (NUMBERED, 1, "label '1', number 0, or that with number 1, '2'. Write the label as text"),
        (NUMBERED, "0", "must be named by its label where labels look like numbers, got '0'. There are 1, 2, 3."),
    ],
)
def test_what_cannot_be_meant_is_refused(names, name, words):
    with pytest.raises(InputError) as error:
        names.index(name)
    assert words in str(error.value)


def test_coordinates_are_kept_and_checked(tmp_path):
    transitions = np.eye(2)[:, None, :]
    mdp = FiniteMDP.from_dense(transitions, layout="SAS", discount=0.9, coordinates=[(0, 1), (2, 3)])
    mdp.save(tmp_path / "mdp.npz")
    np.testing.assert_array_equal(FiniteMDP.load(tmp_path / "mdp.npz").coordinates, [[0, 1], [2, 3]])
    unrolled = mdp.unrolled(3).coordinates
    assert len(np.unique(unrolled, axis=0)) == 6
    np.testing.assert_array_equal(unrolled[:2], mdp.coordinates)
    for wrong in ([(0, 1)], [(0, 1), (0, np.nan)]):
        with pytest.raises(InputError, match="coordinates"):
            FiniteMDP.from_dense(transitions, layout="SAS", discount=0.9, coordinates=wrong)
