import numpy as np
import pandas as pd
import pytest
from experiment.statistics.made_tables import by_hand, made_table

from journeyman.errors import InputError
from journeyman.experiment.statistics.queries import (
    counts_per_state,
    mean_overlap,
    query_counts,
    query_overlap,
    sequence_overlap,
)


def asked(cells):
    """Return a table in which cells ask about these states at steps 1, 2, ..."""
    table = by_hand("state", {key: [None, *states] for key, states in cells.items()})
    return table.astype({"state": "Int64"})


CELLS = {
    ("a", 0): [3, 3, 5, 1],
    ("a", 1): [2, 3, 3, 3],
    ("b", 0): [3, 5, 5, 4],
    ("b", 1): [2, 3, 3, 3],
    ("c", 0): [3],
}


def test_counts_by_hand():
    found = query_counts(asked(CELLS)).set_index(["method", "seed", "state"])["count"]
    assert found["a", 0].to_dict() == {1: 1, 3: 2, 5: 1}
    assert found.sum() == 17
    pooled = query_counts(asked(CELLS), pooled=True, first=2).set_index(["method", "state"])["count"]
    assert pooled["a"].to_dict() == {2: 1, 3: 3}


def test_counts_per_state():
    table = asked(CELLS)
    assert counts_per_state(table[table["method"] == "a"], 7).tolist() == [0, 1, 1, 5, 0, 1, 0]
    assert counts_per_state(table, 6, first=1).tolist() == [0, 0, 2, 3, 0, 0]
    with pytest.raises(InputError, match="must be below 5, got 5"):
        counts_per_state(table, 5)


def test_overlap_of_sequences_by_hand():
    # Equal at the first and third step; 3 once and 5 once are shared; states {1, 3, 5} and {3, 4, 5}.
    assert sequence_overlap([3, 3, 5, 1], [3, 5, 5, 4]) == (1, 0.5, 0.5, 0.5)
    assert sequence_overlap([1, 2], [1, 2]) == (2, 1.0, 1.0, 1.0)
    assert sequence_overlap([1, 2], [2, 1]) == (0, 0.0, 1.0, 1.0)
    assert sequence_overlap([1], [2]) == (0, 0.0, 0.0, 0.0)
    with pytest.raises(InputError, match="equally long and not empty, got 1 and 2"):
        sequence_overlap([1], [1, 2])


def test_overlap_of_methods_on_the_same_instances():
    found = query_overlap(asked(CELLS), "a")
    assert found[["method", "seed", "num_queries", "same_start"]].to_numpy().tolist() == [
        ["b", 0, 4, 1],
        ["b", 1, 4, 4],
        ["c", 0, 1, 1],
    ]
    averages = mean_overlap(found).set_index("method")
    assert averages["n"].to_dict() == {"b": 2, "c": 1}
    assert averages["shared"].to_dict() == {"b": 0.75, "c": 1.0}


def test_overlap_of_the_first_queries():
    found = query_overlap(asked(CELLS), "a", first=2)
    assert found[["method", "seed", "same_step"]].to_numpy().tolist() == [["b", 0, 0.5], ["b", 1, 1.0]]
    assert query_overlap(asked(CELLS), "a", methods=["c"], first=2).empty


def test_order_of_rows_does_not_matter():
    table = asked(CELLS)
    pd.testing.assert_frame_equal(query_overlap(table.sample(frac=1.0, random_state=3), "a"), query_overlap(table, "a"))


def test_all_queries_of_a_made_table_are_counted():
    table = made_table(num_steps=5)
    assert counts_per_state(table, 9).sum() == 4 * 4 * 5
    assert query_counts(table)["count"].sum() == 4 * 4 * 5
    assert np.issubdtype(query_counts(table)["state"].dtype, np.integer)
