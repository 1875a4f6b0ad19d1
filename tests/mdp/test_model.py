"""FiniteMDP: validation on construction, immutability, copies."""

import copy
import dataclasses
import pickle

import numpy as np
import pytest
from mdp.random_mdps import random_mdp, varied_mdps
from mdp.test_builders import assert_same

from journeyman.errors import InputError
from journeyman.mdp import FiniteMDP, Grid, solve
from journeyman.mdp.rows import Rows
from journeyman.mdp.validation import ROW_SUM_TOLERANCE


def build(P=((((1.0, 0.0), (0.0, 1.0))), ((0.5, 0.5), (0.0, 1.0))), **options):
    """Two states and two actions, unless said otherwise."""
    return FiniteMDP.from_dense(np.array(P), layout="SAS", **({"discount": 0.9} | options))


def test_defaults():
    mdp = build()
    assert mdp.available.all() and mdp.available.shape == (2, 2)
    np.testing.assert_array_equal(mdp.initial, [0.5, 0.5])
    assert not mdp.terminal.any()
    assert (mdp.state_labels, mdp.action_labels, mdp.grid) == (None, None, None)
    assert (mdp.state_name(1), mdp.action_name(0)) == ("1", "0")
    assert (mdp.num_states, mdp.num_actions, mdp.max_row_sum) == (2, 2, 1.0)


@pytest.mark.parametrize("discount", [0.0, 1.0, -0.5, 1.5, np.nan, np.inf, -np.inf])
def test_discount_outside_0_and_1(discount):
    with pytest.raises(InputError, match=rf"discount must lie strictly between 0 and 1, got {discount}\. For a finite"):
        build(discount=discount)


@pytest.mark.parametrize("discount", ["0.9", None, [0.9], (0.9,), np.array([0.9]), True, 0.9j])
def test_discount_that_is_no_number(discount):
    with pytest.raises(InputError, match="discount must be a number, got"):
        build(discount=discount)


@pytest.mark.parametrize(
    ("initial", "message"),
    [
        ([1.0], r"initial must have shape \(2,\), got \(1,\)"),
        (1.0, r"got \(\)"),
        ([], r"got \(0,\)"),
        ([0.5, 0.4], r"initial must sum to 1 over states, got 0\.9\. Divide it by its sum"),
        ([1.5, -0.5], r"at least 0, got -0\.5 at state 1\. Give a chance"),
        ([np.nan, 1.0], "got nan at state 0"),
        ([np.inf, 0.0], "got inf at state 0"),
        (["a", "b"], "initial must be numbers"),
    ],
)
def test_bad_initial(initial, message):
    with pytest.raises(InputError, match=message):
        build(initial=initial)


def test_initial_near_1_is_renormalised():
    mdp = build(initial=[0.5, 0.5 + 5e-7])
    assert mdp.initial.sum() == pytest.approx(1.0, abs=1e-15)
    assert mdp.initial[1] / mdp.initial[0] == pytest.approx(1 + 1e-6, abs=1e-15)


@pytest.mark.parametrize(
    ("available", "message"),
    [
        ([[True, True]], r"available must be a boolean array of shape \(2, 2\), got bool of shape \(1, 2\)"),
        ([[1.0, 1.0], [1.0, 1.0]], "got float64 of shape"),
        ([["yes", "yes"], ["yes", "no"]], "boolean array"),
        (
            [[True, True], [False, False]],
            r"at least one available action, got none at state 1\. A terminal state keeps",
        ),
    ],
)
def test_bad_available(available, message):
    with pytest.raises(InputError, match=message):
        build(available=available)


def test_rows_of_unavailable_actions_are_ignored():
    P = [[[1.0, 0.0], [0.3, 0.3]], [[0.5, 0.5], [0.0, 1.0]]]
    mdp = build(P, available=[[1, 0], [1, 1]])
    assert mdp.next_states(0, 1)[0].size == 0
    assert mdp.available.dtype == bool


# -- missing mass ------------------------------------------------------------------------------------------------------


def test_a_row_sum_within_1e_6_is_renormalised_and_no_other():
    for off in (-9e-7, -1e-9, 1e-9, 9e-7):
        mdp = build([[[0.25, 0.75 + off]], [[1.0, 0.0]]])
        np.testing.assert_allclose(mdp.next_states(0, 0)[1], [0.25 / (1 + off), (0.75 + off) / (1 + off)], rtol=1e-15)
    for off in (-1.1e-6, 1.1e-6):
        with pytest.raises(InputError, match=rf"sum to 1 over next states, got {1 + off:.9g} at state 0, action 0"):
            build([[[0.25, 0.75 + off]], [[1.0, 0.0]]])


def test_a_sum_that_is_off_by_rounding_is_left_alone():
    row = [0.7, 0.2, 0.1]
    assert (row[0] + row[1]) + row[2] != 1.0
    mdp = build([[row], [row], [row]])
    assert mdp.rows.probabilities.tolist() == row * 3


def test_an_empty_row_ends_the_episode():
    mdp = build([[[0.0, 0.0], [0.0, 1.0]], [[0.0, 0.0], [0.0, 0.0]]])
    assert mdp.terminal.tolist() == [False, True]


def test_missing_mass_is_never_guessed():
    P = [[[0.2, 0.3]], [[1.0, 0.0]]]
    with pytest.raises(InputError, match=r"sum to 1 .*got 0\.5 at state 0, action 0\. .*missing_mass='terminates'"):
        build(P)
    mdp = build(P, missing_mass="terminates")
    assert mdp.next_states(0, 0)[1].tolist() == [0.2, 0.3]
    assert solve(mdp, [1.0, 0.0]).values[0] == pytest.approx(1 / (1 - 0.9 * 0.2 - 0.9 * 0.3 * 0.9), rel=1e-12)
    with pytest.raises(InputError, match=r"at most 1 over next states, got 1\.1 at state 1, action 0\. Divide"):
        build([[[0.2, 0.3]], [[1.0, 0.1]]], missing_mass="terminates")
    with pytest.raises(InputError, match=r"missing_mass must be one of error, terminates, got 'ignore'\. Say"):
        build(P, missing_mass="ignore")


def test_termination_probabilities_account_for_what_is_missing():
    P = [[[0.2, 0.3]], [[1.0, 0.0]]]
    mdp = build(P, termination=[[0.5], [0.0]])
    assert mdp.next_states(0, 0)[1].tolist() == [0.2, 0.3]
    scaled = build(P, termination=[[0.5 + 8e-7], [0.0]])  # the sum counts, and near 1 it is made 1
    np.testing.assert_allclose(scaled.next_states(0, 0)[1], np.array([0.2, 0.3]) / (1 + 8e-7), rtol=1e-15)


@pytest.mark.parametrize(
    ("termination", "message"),
    [
        ([[0.4], [0.0]], r"sum to 1 .* got 0\.9 at state 0, action 0\. Divide that row and its chance of termination"),
        ([[0.5], [0.1]], r"got 1\.1 at state 1, action 0"),
        ([[0.5], [-0.1]], r"termination must lie in 0\.\.1, got -0\.1 at state 1, action 0"),
        ([[0.5], [np.nan]], "got nan at state 1, action 0"),
        ([[1.5], [0.0]], r"got 1\.5 at state 0, action 0"),
        ([0.5, 0.0], r"termination must have shape \(2, 1\), got \(2,\)"),
        ([["half"], ["none"]], "termination must be numbers"),
    ],
)
def test_bad_termination(termination, message):
    with pytest.raises(InputError, match=message):
        build([[[0.2, 0.3]], [[1.0, 0.0]]], termination=termination)


# -- terminal cells, labels, grid --------------------------------------------------------------------------------------


def test_a_choice_that_ends_the_episode_may_be_no_terminal_cell():
    assert build(np.zeros((2, 2, 2))).terminal.all()
    assert build(np.zeros((2, 2, 2)), terminal=[True, False]).terminal.tolist() == [True, False]


@pytest.mark.parametrize(
    ("terminal", "message"),
    [
        ([False, True], r"a terminal state must have empty transition rows, got next states at state 1\. Remove them"),
        ([True], r"terminal must be a boolean array of shape \(2,\), got bool of shape \(1,\)"),
        ([0, 0], "terminal must be a boolean array"),
        (1, "terminal must be a boolean array"),
    ],
)
def test_bad_terminal(terminal, message):
    with pytest.raises(InputError, match=message):
        build(terminal=terminal)


def test_labels():
    mdp = build(state_labels=["kitchen", "hall"], action_labels=[1, 2.5])
    assert (mdp.state_name(1), mdp.action_name(1)) == ("hall", "2.5")


@pytest.mark.parametrize("name", ["state_labels", "action_labels"])
@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a"], "must have 2 entries, got 1. Give one label each"),
        (["a", "b", "c"], "must have 2 entries, got 3"),
        (["a", "a"], "must all differ, got 'a' more than once. Rename one"),
        ("ab", "must be a list of 2 labels, got 'ab'"),
        (5, "must be a list of 2 labels, got 5"),
        (["a", "b\0"], r"must be printable, got 'b\\x00'"),
    ],
)
def test_bad_labels(name, labels, message):
    with pytest.raises(InputError, match=f"{name} {message}"):
        build(**{name: labels})


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        (Grid(1, 3), r"a grid must place all 2 states, got 3 cells\. Give cells= for each"),
        (Grid(1, 2, moves=[[0, 1]]), "the moves of a grid must cover all 2 actions, got 1"),
        ("grid", "grid must be a Grid, got str"),
    ],
)
def test_bad_grid(grid, message):
    with pytest.raises(InputError, match=message):
        build(grid=grid)


# -- rows given directly -----------------------------------------------------------------------------------------------


def rows(indptr=(0, 1, 3), next_states=(0, 0, 1), probabilities=(1.0, 0.5, 0.5), num_states=2, num_actions=1):
    return Rows(num_states, num_actions, np.array(indptr), np.array(next_states), np.array(probabilities))


def test_rows_given_directly():
    assert_same(FiniteMDP(rows=rows(), discount=0.9), build([[[1.0, 0.0]], [[0.5, 0.5]]]))


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("rows", "rows must be transition rows, got str. Use FiniteMDP.from_dense"),
        (rows(indptr=(0, 1)), "packed for 2 states and 1 actions, got 1 rows"),
        (rows(indptr=(1, 1, 3)), "packed"),
        (rows(indptr=(0, 3, 1)), "packed"),
        (rows(indptr=(0, 1, 4)), "packed"),
        (rows(probabilities=(1.0, 0.5)), "packed"),
        (rows(indptr=(0.0, 1.0, 3.0)), "whole numbers and their probabilities, got float64"),
        (rows(next_states=(0.0, 0.0, 1.0)), "whole numbers and their probabilities"),
        (rows(probabilities=("a", "b", "c")), "whole numbers and their probabilities"),
        (rows(next_states=((0, 0, 1),)), "lists of whole numbers"),
        (rows(next_states=(0, 0, 2)), r"next states in 0\.\.1 .* got state 2 with 0\.5 at state 1, action 0"),
        (rows(next_states=(-1, 0, 1)), "got state -1 with 1.0 at state 0, action 0"),
        (rows(next_states=(0, 1, 0)), "ascending next states .* got state 0 with 0.5 at state 1, action 0"),
        (rows(next_states=(0, 1, 1)), "ascending next states"),
        (rows(probabilities=(1.0, 1.0, 0.0)), r"positive probabilities, got state 1 with 0\.0 at state 1, action 0"),
        (rows(probabilities=(1.0, 0.5, np.nan)), "positive probabilities, got state 1 with nan"),
        (rows(num_states=0), "number of states of an MDP must be a whole number of at least 1"),
    ],
)
def test_bad_rows(bad, message):
    with pytest.raises(InputError, match=message):
        FiniteMDP(rows=bad, discount=0.9)


# -- immutability and copies -------------------------------------------------------------------------------------------


def arrays_of(mdp):
    return [*mdp.rows[2:5], mdp.initial, mdp.available, mdp.terminal]


def test_an_mdp_cannot_be_changed():
    mdp = build()
    for array in arrays_of(mdp):
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 0
    with pytest.raises(dataclasses.FrozenInstanceError):
        mdp.discount = 0.5


def test_the_callers_arrays_are_copied():
    P, initial, available = np.eye(2)[:, None, :].copy(), np.array([0.5, 0.5]), np.ones((2, 1), dtype=bool)
    mdp = FiniteMDP.from_dense(P, layout="SAS", discount=0.9, initial=initial, available=available)
    P[:], initial[:], available[:] = 7, 7, False
    assert_same(mdp, FiniteMDP.from_dense(np.eye(2)[:, None, :], layout="SAS", discount=0.9))


@pytest.mark.parametrize("copied", [lambda mdp: pickle.loads(pickle.dumps(mdp)), copy.deepcopy])
def test_a_copy_for_another_process_is_the_same_and_frozen(copied):
    for rng, mdp in varied_mdps(5, seed=500):
        reward = rng.normal(size=mdp.available.shape)
        before = solve(mdp, reward)  # fills the caches, which need not travel
        other = copied(mdp)
        assert_same(other, mdp)
        assert not any(array.flags.writeable for array in arrays_of(other))
        np.testing.assert_array_equal(solve(other, reward).values, before.values)


def test_a_pickle_holds_no_caches():
    mdp = random_mdp(np.random.default_rng(0), 30, 4)
    size = len(pickle.dumps(mdp))
    solve(mdp, np.zeros(30))
    assert len(pickle.dumps(mdp)) <= size + 100


def test_replace_changes_one_thing():
    for _, mdp in varied_mdps(10, seed=501):
        other = dataclasses.replace(mdp, discount=0.25)
        assert other.discount == 0.25
        assert_same(dataclasses.replace(other, discount=mdp.discount), mdp)


def test_replace_does_not_mix_up_what_was_computed_for_the_old_one():
    mdp = build()
    reward = np.array([[1.0, 0.0], [0.0, 2.0]])
    solve(mdp, reward)
    other = dataclasses.replace(mdp, discount=0.5)
    np.testing.assert_array_equal(solve(other, reward).values, solve(build(discount=0.5), reward).values)


def test_replace_still_checks():
    with pytest.raises(InputError, match="discount"):
        dataclasses.replace(build(), discount=2.0)
    with pytest.raises(InputError, match="every state must have at least one available action"):
        dataclasses.replace(build(), available=np.zeros((2, 2), dtype=bool))


def test_tolerance_of_sums_is_what_the_conventions_say():
    assert ROW_SUM_TOLERANCE == 1e-6


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"transitions": [[[0.5, 0.4]], [[0, 1]]]}, "got 0.9 at state home, action go"),
        ({"available": [[True], [False]]}, "at least one available action, got none at state road"),
        ({"terminal": [False, True]}, "empty transition rows, got next states at state road"),
    ],
)
def test_mistakes_name_labels(change, message):
    """Defect 4: errors of dynamics mixed labels with numbers."""
    options = {"transitions": [[[0, 1]], [[1, 0]]], **change}
    transitions = options.pop("transitions")
    labels = {"state_labels": ["home", "road"], "action_labels": ["go"]}
    options = {name: np.array(value) for name, value in options.items()}
    with pytest.raises(InputError, match=message):
        FiniteMDP.from_dense(transitions, layout="SAS", discount=0.9, **labels, **options)
