"""Sweeps that take a second, which the tests of this folder share."""

import json
import tempfile
from functools import cache

import pandas as pd

from journeyman.experiment import run_sweep, sweep_table
from journeyman.experiment.results import TIMINGS
from journeyman.experiment.spec_file import sweep_from_record

RECORD = {
    "name": "tiny",
    "steps": 4,
    "seeds": 1,
    "worlds": [{"name": "random-grid", "label": "4x4", "options": {"size": 4}}],
    "inference": [{"name": "smc", "options": {"num_particles": 100}}],
    "acquisitions": ["random", "reward_eig"],
}


def tiny_sweep(**changes):
    """Two cells of four steps, with other values in some keys of the record."""
    return sweep_from_record(RECORD | changes)


def one_cell(**changes):
    """The first cell of such a sweep."""
    return tiny_sweep(**changes).cells()[0]


def timeless(rows):
    """Rows without what differs between two runs that are the same."""
    return [{name: value for name, value in row.items() if name not in TIMINGS} for row in rows]


def assert_same_tables(found, expected):
    """Every column is the same bit by bit, but for timings."""
    drop = list(TIMINGS)
    pd.testing.assert_frame_equal(found.drop(columns=drop), expected.drop(columns=drop), check_exact=True)


@cache
def _undisturbed(text):
    with tempfile.TemporaryDirectory() as folder:
        sweep = tiny_sweep(**json.loads(text))
        assert run_sweep(sweep, folder, progress=False).is_complete
        return sweep_table(sweep, folder)


def undisturbed_table(**changes):
    """The table of such a sweep that ran in one process, from beginning to end."""
    return _undisturbed(json.dumps(changes))
