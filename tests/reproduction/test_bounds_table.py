"""The bounds by the published formula, and observed steps from tables made by hand."""

import csv
import json
import math

import pandas as pd
import pytest
from experiment.statistics.made_results import certified, made_results

from journeyman.errors import InputError
from journeyman.worlds import make_world
from reproduction.bounds_table import (
    ALL_METHODS,
    CERTIFIED,
    LIKELY,
    PAPER_WORLDS,
    BoundedWorld,
    bound_rows,
    observed_rows,
    step_text,
    worlds_of,
    write_bounds,
)

JAIL = {
    ("random", 0): certified("-----", "----+"),
    ("random", 1): certified("--+--", "-----"),  # holds once, and is lost again
    ("random", 2): certified("----+", "--+++"),
    ("nuPAC-EIG", 0): certified("-++++", "+++++"),
    ("nuPAC-EIG", 1): certified("--+++", "-++++"),
    ("nuPAC-EIG", 2): certified("-+-++", "-++++"),
}


@pytest.mark.parametrize(
    ("world", "num_states", "beta"), [("jail", 36, 4.0), ("random-8x8", 64, 2.0), ("random-10x10", 100, 4.0)]
)
def test_published_bound_of_the_papers_worlds(world, num_states, beta):
    """delta (1 - exp(-beta (1 - gamma) epsilon))^2 / (4 A^2 (A - 1)^3 S), and log(3) S A (A - 1) over it."""
    row = bound_rows(BoundedWorld("a label", world, {}))[0]
    information = 0.1 * (1 - math.exp(-beta * 0.01)) ** 2 / (4 * 25 * 64 * num_states)
    entropy = math.log(3) * num_states * 20
    assert (row.world, row.bound.name, row.bound.num_states) == ("a label", "published", num_states)
    assert row.bound.eig_min == pytest.approx(information, rel=1e-12)
    assert row.h_max == pytest.approx(entropy, rel=1e-12)
    assert row.bound.expected_steps == pytest.approx(entropy / information, rel=1e-12)


def test_support_counts_states_where_regret_can_arise_in_the_worst_seed():
    """On 8x8 every cell is initial, so all but the terminal ones count, where these are fewest."""
    seeds = (0, 1, 2)
    most = max(int((~make_world("random-8x8", seed).problem.mdp.terminal).sum()) for seed in seeds)
    rows = {row.bound.name: row.bound for row in bound_rows(BoundedWorld("8x8", "random-8x8", {}), seeds)}
    assert (rows["support"].num_states, rows["support"].is_valid) == (most, True)
    assert not rows["heuristic"].is_valid
    assert rows["support"].expected_steps < rows["published"].expected_steps


def test_near_states_of_a_large_grid_are_fewer():
    """From one initial cell, 10 steps reach a diamond of at most 2 * 10 * 11 + 1 cells."""
    world = BoundedWorld("20x20", "random-grid", {"size": 20, "num_initial": 1})
    rows = {row.bound.name: row.bound.num_states for row in bound_rows(world, [0])}
    assert rows["published"] == 400
    assert rows["heuristic"] <= 221 < rows["support"] < 400


def test_observed_steps_by_hand():
    found = {(row.goal, row.method): row for row in observed_rows(made_results(JAIL, query="trajectory-20"))}
    expected = {
        # steps from which it is kept to the end
        (CERTIFIED, ALL_METHODS): (6, 4, 3.5),  # 1, 2, 3, 4 and two that never are
        (CERTIFIED, "random"): (3, 1, math.inf),
        (CERTIFIED, "nuPAC-EIG"): (3, 3, 2.0),
        (LIKELY, ALL_METHODS): (6, 5, 1.5),  # 0, 1, 1, 2, 4 and never
        (LIKELY, "random"): (3, 2, 4.0),
        (LIKELY, "nuPAC-EIG"): (3, 3, 1.0),
    }
    assert {key: (row.n, row.num_reached, row.median) for key, row in found.items()} == expected
    assert {row.num_steps for row in found.values()} == {4}
    pooled = found[CERTIFIED, ALL_METHODS]
    assert (pooled.low, pooled.high) == (None, None)  # cells of one seed are not independent
    assert found[CERTIFIED, "random"].high == math.inf


def test_rows_stand_in_the_order_of_the_paper():
    rows = observed_rows(made_results(JAIL))
    assert [(row.goal, row.method) for row in rows] == [
        (goal, method) for goal in (CERTIFIED, LIKELY) for method in (ALL_METHODS, "random", "nuPAC-EIG")
    ]


def test_each_world_counts_its_own_steps():
    short = made_results({("random", 0): certified("---")}, world="random-8x8")
    rows = observed_rows(pd.concat([made_results(JAIL), short], ignore_index=True))
    assert {(row.world, row.num_steps) for row in rows} == {("jail", 4), ("random-8x8", 2)}


def test_worlds_come_from_the_table_and_the_rest_from_the_paper():
    options = json.dumps({"size": 4})
    table = made_results({("random", 0): certified("-")}, world="4x4", world_name="random-grid", options=options)
    assert worlds_of(table) == (BoundedWorld("4x4", "random-grid", {"size": 4}), *PAPER_WORLDS)
    assert worlds_of(made_results(JAIL, world="6x6", world_name="jail")) == (
        BoundedWorld("6x6", "jail", {}),
        *PAPER_WORLDS[1:],
    )
    assert worlds_of(None) == PAPER_WORLDS


@pytest.mark.parametrize(("step", "text"), [(27.0, "27"), (3.5, "3.5"), (math.inf, "> 150"), (None, None)])
def test_steps_beyond_the_last_one(step, text):
    assert step_text(step, 150) == text


def test_files_without_results(tmp_path):
    written = write_bounds(tmp_path)
    assert [path.name for path in written.paths] == ["bounds.md", "bounds.csv"]
    rows = list(csv.DictReader(written.paths[1].read_text("utf-8").splitlines()))
    assert [row["world"] for row in rows[::3]] == ["jail", "random-8x8", "random-10x10"]
    assert "median" not in rows[0]
    assert "= 0.01 in some state" in written.text


def test_files_with_results(tmp_path):
    written = write_bounds(tmp_path, made_results(JAIL, query="trajectory-20"))
    assert [path.name for path in written.paths] == ["bounds.md", "bounds.csv", "bounds-observed.csv"]
    rows = list(csv.DictReader(written.paths[1].read_text("utf-8").splitlines()))
    seen = [(row["world"], row["seen with"], row["median"], row["certified"]) for row in rows[::3]]
    assert seen == [
        ("jail", "trajectory-20, smc", "3.5", "4 of 6"),
        ("random-8x8", "", "", ""),
        ("random-10x10", "", "", ""),
    ]
    observed = list(csv.DictReader(written.paths[2].read_text("utf-8").splitlines()))
    assert [row["median"] for row in observed[:3]] == ["3.5", "> 4", "2"]


def test_a_table_without_worlds_is_refused(tmp_path):
    with pytest.raises(InputError, match="must have the column 'world_options'"):
        write_bounds(tmp_path, made_results(JAIL).drop(columns="world_options"))
