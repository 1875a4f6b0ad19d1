"""All ways to build an MDP agree, and each refuses what it cannot take."""

from fractions import Fraction

import numpy as np
import pytest
from mdp import twins
from mdp.random_mdps import varied_mdps
from scipy import sparse

from journeyman.errors import InputError
from journeyman.mdp import FiniteMDP
from journeyman.mdp.rows import MAX_STATES, _sort_and_merge


def assert_same(mdp, other):
    """Every array, bit by bit."""
    for name in ("indptr", "next_states", "probabilities"):
        actual, expected = getattr(mdp.rows, name), getattr(other.rows, name)
        np.testing.assert_array_equal(actual, expected)
        assert actual.dtype == expected.dtype
    for name in ("initial", "available", "terminal"):
        np.testing.assert_array_equal(getattr(mdp, name), getattr(other, name))
    for name in ("discount", "state_labels", "action_labels", "num_states", "num_actions"):
        assert getattr(mdp, name) == getattr(other, name)


def columns_of(P):
    state, action, next_state = np.nonzero(P)
    return {
        "state": state,
        "action": action,
        "next_state": next_state,
        "probability": P[state, action, next_state],
    }


def test_all_builders_agree():
    for rng, mdp in varied_mdps(20, seed=400):
        P = twins.dense(mdp)
        options = {"discount": mdp.discount, "available": mdp.available, "missing_mass": "terminates"}
        sizes = {"num_states": mdp.num_states, "num_actions": mdp.num_actions}
        formats = [sparse.csr_array, sparse.csc_matrix, sparse.coo_array, sparse.lil_matrix, sparse.dok_array, np.array]
        matrices = [formats[int(rng.integers(len(formats)))](P[:, a]) for a in range(mdp.num_actions)]
        shuffled = columns_of(P)
        order = rng.permutation(shuffled["state"].size)
        shuffled = {name: column[order] for name, column in shuffled.items()}
        built = [
            FiniteMDP.from_dense(P, layout="SAS", **options),
            FiniteMDP.from_dense(P.transpose(1, 0, 2), layout="ASS", **options),
            FiniteMDP.from_dense(P.transpose(0, 2, 1), layout="SSA", **options),
            FiniteMDP.from_dense(P.tolist(), layout="SAS", **options),
            FiniteMDP.from_matrices(matrices, **options),
            FiniteMDP.from_function(
                lambda s, a, P=P: [(p, t) for t, p in enumerate(P[s, a])][::-1], **sizes, **options
            ),
        ]
        if order.size:
            built.append(FiniteMDP.from_edges(shuffled, **sizes, **options))
        for other in built:
            assert_same(other, mdp)


def test_dense_transitions_gives_back_what_was_given():
    for _, mdp in varied_mdps(10, seed=401):
        np.testing.assert_array_equal(mdp.dense_transitions(), twins.dense(mdp))


def test_duplicates_add_up():
    mdp = FiniteMDP.from_function(
        lambda s, a: [(0.25, 1), (0.5, 0), (0.25, 1)], num_states=2, num_actions=1, discount=0.9
    )
    assert mdp.rows.next_states.tolist() == [0, 1, 0, 1]
    assert mdp.rows.probabilities.tolist() == [0.5, 0.5, 0.5, 0.5]


def test_sorting_by_two_keys_is_sorting_by_one():
    """Where row * states + next state would overflow, both are sorted by; the order and the sums are the same."""
    rng = np.random.default_rng(0)
    row, next_state, chance = rng.integers(5, size=60), rng.integers(4, size=60), rng.random(60)
    by_one = _sort_and_merge(row, next_state, chance)
    by_two = _sort_and_merge(row * 2**40, next_state * 2**30, chance)
    np.testing.assert_array_equal(by_two[0], by_one[0] * 2**40)
    np.testing.assert_array_equal(by_two[1], by_one[1] * 2**30)
    np.testing.assert_array_equal(by_two[2], by_one[2])


def test_zero_probabilities_leave_no_entry():
    mdp = FiniteMDP.from_function(lambda s, a: [(0.0, 0), (1.0, 1)], num_states=2, num_actions=1, discount=0.9)
    assert mdp.rows.next_states.tolist() == [1, 1]


def test_next_states_and_their_chances():
    mdp = FiniteMDP.from_dense([[[0.25, 0.75], [0, 1]], [[1, 0], [0, 0]]], layout="SAS", discount=0.9)
    next_states, probabilities = mdp.next_states(0, 0)
    assert (next_states.tolist(), probabilities.tolist()) == ([0, 1], [0.25, 0.75])
    assert mdp.next_states(1, 1)[0].size == 0


@pytest.mark.parametrize(("state", "action"), [(0, 2), (2, 0), (-1, 0), (0, -1)])
def test_next_states_does_not_look_into_another_row(state, action):
    mdp = FiniteMDP.from_dense(np.full((2, 2, 2), 0.5), layout="SAS", discount=0.9)
    with pytest.raises(InputError, match=rf"must lie in 0\.\.1 and 0\.\.1, got {state} and {action}"):
        mdp.next_states(state, action)


def test_fractions_are_numbers():
    third = Fraction(1, 3)
    mdp = FiniteMDP.from_function(
        lambda s, a: [(third, 0), (1 - third, 1)], num_states=2, num_actions=1, discount=Fraction(9, 10)
    )
    assert mdp.discount == 0.9
    assert mdp.rows.probabilities.tolist() == [1 / 3, 2 / 3] * 2


# -- bad input ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("transitions", "layout", "message"),
    [
        (
            np.ones((1, 1, 1)),
            "SSS",
            r"layout must be one of SAS, ASS, SSA, got 'SSS'\. The order of axes is never guessed",
        ),
        (np.ones((1, 1, 1)), None, "layout must be one of"),
        (np.ones((2, 2)), "SAS", r"transitions must have 3 axes, got shape \(2, 2\)"),
        (np.ones((2, 3, 2)), "ASS", r"as many next states as states, got shape \(2, 3, 2\) for layout 'ASS'. Check"),
        (np.ones((2, 3, 2)), "SSA", r"as many next states as states, got shape \(2, 3, 2\) for layout 'SSA'"),
        (np.zeros((0, 2, 0)), "SAS", "number of states of an MDP must be a whole number of at least 1, got 0"),
        (np.zeros((2, 0, 2)), "SAS", "number of actions of an MDP must be a whole number of at least 1, got 0"),
        ([], "SAS", r"3 axes, got shape \(0,\)"),
        ([[["a"]]], "SAS", "transitions must be numbers, got .*'a'"),
        ([[["1.0"]]], "SAS", "transitions must be numbers"),
        ([[[1.0], [1.0, 2.0]]], "SAS", "transitions must be a regular array"),
        (np.ones((1, 1, 1), dtype=complex), "SAS", "transitions must be numbers"),
        (None, "SAS", "transitions must"),
        ([[[-0.5, 1.5], [0, 1]], [[1, 0], [1, 0]]], "SAS", r"at least 0, got -0\.5 at state 0, action 0, next state 0"),
        (
            [[[1, 0], [0, 1]], [[1, 0], [np.nan, 1]]],
            "SAS",
            r"got nan at state 1, action 1, next state 0\. Give a chance",
        ),
        ([[[1, 0], [0, 1]], [[np.inf, 0], [0, 1]]], "SAS", "got inf at state 1, action 0, next state 0"),
        (
            [[[1, 0], [0, 1]], [[1, 0], [0.5, 0.52]]],
            "SAS",
            r"sum to 1 .* got 1\.02 at state 1, action 1\. Divide that row",
        ),
        ([[[1, 0], [0, 0.9]], [[1, 0], [0, 1]]], "SAS", r"got 0\.9 at state 0, action 1\. .*missing_mass='terminates'"),
    ],
)
def test_bad_dense(transitions, layout, message):
    with pytest.raises(InputError, match=message):
        FiniteMDP.from_dense(transitions, layout=layout, discount=0.9)


@pytest.mark.parametrize(
    ("matrices", "message"),
    [
        ([], "one matrix per action, got none"),
        (sparse.eye_array(2), "matrices must be a list, got one dia_array. Pass a list"),
        (5, "matrices must be a list, got one int"),
        ([np.eye(2), np.eye(3)], r"of one size, got shape \(3, 3\) at action 1 where \(2, 2\) was expected"),
        ([np.ones((2, 3))], r"got shape \(2, 3\) at action 0"),
        ([np.eye(2), np.ones(2)], r"two axes, got shape \(2,\) at action 1"),
        ([1.0], r"two axes, got shape \(\) at action 0"),
        ([np.eye(2), "eye"], "the matrix of action 1 must be numbers"),
        ([sparse.csr_array(np.eye(2) * 1j)], "the matrix of action 0 must be numbers"),
        ([sparse.csr_array([[0.5, 0.5], [-0.1, 1.1]])], r"got -0\.1 at state 1, action 0, next state 0"),
        ([sparse.csr_array((0, 0))], "number of states of an MDP must be a whole number of at least 1"),
    ],
)
def test_bad_matrices(matrices, message):
    with pytest.raises(InputError, match=message):
        FiniteMDP.from_matrices(matrices, discount=0.9)


@pytest.mark.parametrize(
    ("transition_fn", "message"),
    [
        (lambda s, a: None, r"\(probability, next state\) pairs, got None at state 0, action 0"),
        (lambda s, a: [0.5, 0.5], r"pairs, got 0\.5 at state 0, action 0"),
        (lambda s, a: {0: 1.0}, "pairs, got 0 at state 0, action 0"),
        (lambda s, a: [(1.0, 0, 0.0, False)], "pairs, got .* at state 0, action 0"),
        (
            lambda s, a: [(1.0, s)] if s == 0 else [(1.0, 5)],
            r"next_state must lie in 0\.\.1, got 5 at state 1, action 0",
        ),
        (lambda s, a: [(1.0, -1)], "next state at state 0, action 0 must be a whole number of at least 0, got -1"),
        (
            lambda s, a: [(0, 1.0)],
            r"next state at state 0, action 0 .* got 1\.0\. Pairs are \(probability, next state\)",
        ),
        (lambda s, a: [("1", 0)], "probability at state 0, action 0 must be a number, got '1'"),
        (lambda s, a: [(np.nan, 0)], "got nan at state 0, action 0, next state 0"),
        (lambda s, a: [(True, 0)], "probability at state 0, action 0 must be a number, got True"),
    ],
)
def test_bad_function(transition_fn, message):
    with pytest.raises(InputError, match=message):
        FiniteMDP.from_function(transition_fn, num_states=2, num_actions=1, discount=0.9)


def test_an_error_inside_the_function_is_not_hidden():
    with pytest.raises(ZeroDivisionError):
        FiniteMDP.from_function(lambda s, a: 1 / 0, num_states=1, num_actions=1, discount=0.9)


@pytest.mark.parametrize("size", [0, -1, 1.0, True, "2", None])
@pytest.mark.parametrize("name", ["num_states", "num_actions"])
def test_bad_sizes(name, size):
    sizes = {"num_states": 1, "num_actions": 1} | {name: size}
    noun = name.removeprefix("num_")
    with pytest.raises(InputError, match=f"the number of {noun} of an MDP must be a whole number of at least 1"):
        FiniteMDP.from_function(lambda s, a: [(1.0, 0)], **sizes, discount=0.9)


def test_more_states_than_can_be_numbered():
    with pytest.raises(InputError, match=f"num_states must be at most {MAX_STATES}, got {2**31}"):
        FiniteMDP.from_edges(
            {"state": [0], "action": [0], "next_state": [0], "probability": [1.0]}, num_states=2**31, discount=0.9
        )
