"""Stated effective sizes lie between 0.7 and 1.1 of what independent runs show, within the error of that comparison."""

import pytest
from apprentice.effective_sizes import CASES, Case, rows_of
from scipy.stats import binom

NUM_ERRORS = 2.5  # of the comparison: a few dozen rows


def assert_true(rows, num_runs):
    for (kind, _), row in rows.items():
        print(kind, row)
        allowed = 1.0 + NUM_ERRORS * row.error
        assert 0.7 / allowed < row.ratio < 1.1 * allowed
        assert binom.sf(round(row.missed * num_runs) - 1, num_runs, 0.05) > 0.001


@pytest.mark.slow
def test_few_particles_against_independent_runs():
    """40 runs of 240 particles: the variance over runs is known within about a quarter."""
    case = Case("random-grid", {"size": 4, "terminals": "independent"}, 0, 12, num_particles=240)
    rows = rows_of(case, 40, kinds=("particles", "resampled", "chains of 8"))
    assert_true({key: row for key, row in rows.items() if row.chance > 0.05}, 40)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "num_runs"),
    [("jail", 200), ("3x3", 200), ("4x4, 20 answers", 200), ("4x4, 40 answers", 200), ("10x10", 40), ("8x8", 30)],
)
def test_stated_sizes_against_independent_runs(name, num_runs):
    assert_true(rows_of(CASES[name], num_runs), num_runs)
