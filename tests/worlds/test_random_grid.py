"""Random grids: who is terminal, who is initial, and what the dynamics tell about the truth.

Statistical tests run over fixed seeds; bounds are 5 standard errors.
"""

import numpy as np
import pytest

from journeyman.errors import InputError
from journeyman.worlds import make_world
from journeyman.worlds.random_grid import random_grid

SEEDS = range(200)


@pytest.fixture(scope="module")
def grids():
    """10x10 grids of both rules."""
    rules = ("published", "independent")
    return {rule: [random_grid(seed, size=10, num_initial=2, terminals=rule) for seed in SEEDS] for rule in rules}


def terminal_scores(worlds):
    """Standardised true rewards of terminal cells, one mean per world."""
    return np.array([(w.true_parameters / 3.0)[w.problem.mdp.terminal].mean() for w in worlds])


def assert_mean(values, expected):
    assert abs(values.mean() - expected) <= 5 * values.std(ddof=1) / np.sqrt(len(values))


@pytest.mark.parametrize("rule", ["published", "independent"])
def test_a_tenth_by_chance_and_a_tenth_by_rank_are_terminal(grids, rule):
    """Each cell with chance 0.1, and ten by rank, of which a tenth was terminal anyway: 0.1 + 0.9 * 0.1 = 0.19."""
    assert_mean(np.array([world.problem.mdp.terminal.mean() for world in grids[rule]]), 0.19)


def test_published_the_highest_tenth_is_terminal(grids):
    for world in grids["published"]:
        highest = np.argsort(world.true_parameters)[-10:]
        assert world.problem.mdp.terminal[highest].all()


def test_published_terminals_tell_about_the_truth(grids):
    """Of 19 terminal cells on average, 10 are the highest of 100, with a mean score of 1.73.

    The other 9 are below them, with a mean of -0.19: (10 * 1.73 - 9 * 0.19) / 19 = 0.82.
    """
    scores = terminal_scores(grids["published"])
    assert 0.75 < scores.mean() < 0.90


def test_independent_terminals_tell_nothing(grids):
    assert_mean(terminal_scores(grids["independent"]), 0.0)
    ordinary = np.array([w.true_parameters[~w.problem.mdp.terminal].mean() for w in grids["independent"]])
    assert_mean(ordinary, 0.0)


def test_independent_terminals_are_the_same_for_any_truth_of_the_same_rank(grids):
    """Terminals correlate with no ranking of the true rewards: the terminal share of the highest tenth is 0.19 too."""
    shares = [
        world.problem.mdp.terminal[np.argsort(world.true_parameters)[-10:]].mean() for world in grids["independent"]
    ]
    assert_mean(np.array(shares), 0.19)


@pytest.mark.parametrize("rule", ["published", "independent"])
def test_two_initial_states_that_are_not_terminal(grids, rule):
    num_distinct = []
    for world in grids[rule]:
        mdp = world.problem.mdp
        chosen = np.flatnonzero(mdp.initial)
        assert not mdp.terminal[chosen].any()
        assert mdp.initial[chosen].tolist() in ([0.5, 0.5], [1.0])
        num_distinct.append(chosen.size)
    assert np.mean(num_distinct) > 1.9  # two draws of some 81 cells coincide in 1 of 81 worlds


def test_initial_states_are_uniform_over_cells_without_a_number():
    np.testing.assert_array_equal(random_grid(0, size=4).problem.mdp.initial, np.full(16, 1 / 16))


def test_rewards_have_standard_deviation_3(grids):
    truths = np.array([world.true_parameters for world in grids["published"]])
    assert truths.std() == pytest.approx(3.0, abs=5 * 3 / np.sqrt(2 * truths.size))
    assert make_world("random-8x8").problem.prior.std.tolist() == [3.0] * 64


def test_the_named_grids_are_the_general_one():
    for name, size, beta, num_initial in [("random-8x8", 8, 2.0, 0), ("random-10x10", 10, 4.0, 2)]:
        named = make_world(name, 5)
        general = random_grid(5, size=size, beta=beta, num_initial=num_initial)
        np.testing.assert_array_equal(named.true_parameters, general.true_parameters)
        np.testing.assert_array_equal(named.problem.mdp.terminal, general.problem.mdp.terminal)
        np.testing.assert_array_equal(named.problem.mdp.initial, general.problem.mdp.initial)
        assert named.name == name and named.problem.beta == general.problem.beta


def test_the_rule_changes_the_terminals_and_not_the_truth():
    published, independent = (make_world("random-10x10", 1, terminals=rule) for rule in ("published", "independent"))
    np.testing.assert_array_equal(published.true_parameters, independent.true_parameters)
    assert not np.array_equal(published.problem.mdp.terminal, independent.problem.mdp.terminal)


def test_small_grids_have_no_tenth():
    """9 cells have a highest tenth of 0: terminals come by chance only."""
    shares = np.array([random_grid(seed, size=3).problem.mdp.terminal.mean() for seed in SEEDS])
    assert_mean(shares, 0.1)


def test_dynamics_are_those_of_the_gridworld():
    world = random_grid(0, size=4, slip=0.5)
    state = int(np.flatnonzero(~world.problem.mdp.terminal)[0])
    assert world.problem.mdp.next_states(state, 0)[1].max() >= 0.5 + 0.1 - 1e-12


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 0}, "size must be a whole number of at least 1, got 0"),
        ({"size": 2.5}, "size must be a whole number of at least 1, got 2.5"),
        ({"num_initial": -1}, "num_initial must be a whole number of at least 0, got -1. 0 means uniform"),
        ({"terminals": "none"}, "terminals must be one of published, independent, got 'none'. Use 'independent'"),
        ({"beta": -1.0}, "beta must be positive and finite, got -1.0"),
        ({"std": 0.0}, r"std must be positive, got 0\.0"),
        ({"slip": 2.0}, r"slip must lie in 0\.\.1"),
        ({"discount": 1.0}, "discount must lie"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(InputError, match=message):
        make_world("random-grid", **options)


def test_a_grid_without_an_ordinary_cell_has_no_initial_state():
    seed = next(seed for seed in range(200) if random_grid(seed, size=1).problem.mdp.terminal.all())
    with pytest.raises(InputError, match=f"a cell that is not terminal, got none for seed {seed}. Use another seed"):
        random_grid(seed, size=1, num_initial=1)


def test_a_grid_that_would_not_fit_is_refused_before_anything_is_drawn():
    with pytest.raises(InputError, match=r"at most 4,000,000 cells, got 100000 x 100000"):
        make_world("random-grid", size=100_000)
