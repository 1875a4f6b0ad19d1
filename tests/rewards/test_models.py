"""Reward models: shapes, offsets, unrolling, bad input."""

import numpy as np
import pytest
from scipy import sparse

from journeyman.errors import InputError
from journeyman.mdp import FiniteMDP, solve
from journeyman.rewards import LinearFeatures, PerState, PerStateAction, Size

S, A, D = 3, 2, 4
RNG = np.random.default_rng(0)
STATE_FEATURES = RNG.normal(size=(S, D))
FEATURES = RNG.normal(size=(S, A, D)) * (RNG.random((S, A, D)) < 0.7)
STATE_OFFSET, OFFSET = RNG.normal(size=S), RNG.normal(size=(S, A))
SIZE = Size(S, A)
THETA = RNG.normal(size=(5, D))


def test_one_parameter_per_state():
    model = PerState(SIZE)
    assert (model.num_parameters, model.is_state_only, model.kind) == (S, True, "per_state")
    np.testing.assert_array_equal(model.reward([1.0, 2.0, 3.0]), [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(model.reward(np.ones((7, S))), np.ones((7, S)))
    assert model.parameter_name(2) == "reward[2]"


def test_one_parameter_per_state_and_action():
    model = PerStateAction(SIZE)
    assert (model.num_parameters, model.is_state_only, model.kind) == (S * A, False, "per_state_action")
    np.testing.assert_array_equal(model.reward(np.arange(6)), [[0, 1], [2, 3], [4, 5]])
    assert model.reward(np.ones((7, 6))).shape == (7, S, A)
    assert model.parameter_name(3) == "reward[1, 1]"


@pytest.mark.parametrize("offset", [None, STATE_OFFSET, OFFSET], ids=["none", "S", "SA"])
@pytest.mark.parametrize("features", [STATE_FEATURES, FEATURES], ids=["SD", "SAD"])
def test_linear_features_with_every_offset(features, offset):
    """r = offset + features . theta, both spread over actions where they do not depend on them."""
    model = LinearFeatures(features, SIZE, offset=offset)
    full_features = features if features.ndim == 3 else np.repeat(features[:, None], A, axis=1)
    full_offset = np.zeros((S, A)) if offset is None else np.broadcast_to(offset.reshape(S, -1), (S, A))
    expected = full_offset + np.einsum("sad,md->msa", full_features, THETA)
    actual = model.reward(THETA)
    assert model.is_state_only == (features.ndim == 2 and (offset is None or offset.ndim == 1))
    assert actual.shape == ((5, S) if model.is_state_only else (5, S, A))
    np.testing.assert_allclose(actual if actual.ndim == 3 else actual[:, :, None] + np.zeros(A), expected, rtol=1e-13)
    np.testing.assert_allclose(model.reward(THETA[1]), actual[1], rtol=1e-13)
    assert actual.flags.c_contiguous and actual.dtype == np.float64


@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array, sparse.lil_array])
def test_sparse_features_count_as_state_features(make):
    for offset in (None, STATE_OFFSET, OFFSET):
        dense = LinearFeatures(STATE_FEATURES, SIZE, offset=offset)
        np.testing.assert_allclose(
            LinearFeatures(make(STATE_FEATURES), SIZE, offset=offset).reward(THETA), dense.reward(THETA), rtol=1e-13
        )


def test_whole_number_features_are_fine():
    model = LinearFeatures(sparse.csr_array(np.eye(2, dtype=int)), Size(2, 2))
    assert model.reward([0.5, 0.25]).tolist() == [0.5, 0.25]


def test_the_callers_arrays_are_copied():
    features, offset = sparse.csr_array(np.eye(2)), np.zeros(2)
    model = LinearFeatures(features, Size(2, 1), offset=offset)
    features.data[:], offset[:] = 7.0, 7.0
    assert model.reward([1.0, 2.0]).tolist() == [1.0, 2.0]


def test_names():
    model = LinearFeatures(STATE_FEATURES, SIZE, names=["a", "b", "c", "d"])
    assert model.names == ("a", "b", "c", "d") and model.parameter_name(3) == "d"
    assert LinearFeatures(STATE_FEATURES, SIZE).parameter_name(3) == "theta[3]"


@pytest.mark.parametrize(
    "model",
    [
        PerState(SIZE),
        PerStateAction(SIZE),
        LinearFeatures(STATE_FEATURES, SIZE, offset=STATE_OFFSET),
        LinearFeatures(STATE_FEATURES, SIZE, offset=OFFSET),
        LinearFeatures(FEATURES, SIZE, offset=OFFSET),
    ],
    ids=["state", "state-action", "features", "offset", "full"],
)
def test_unrolled_repeats_the_reward_at_every_time(model):
    theta = RNG.normal(size=(2, model.num_parameters))
    unrolled = model.unrolled(3)
    assert (unrolled.num_states, unrolled.num_parameters) == (3 * S, model.num_parameters)
    assert unrolled.is_state_only == model.is_state_only
    np.testing.assert_allclose(unrolled.reward(theta), np.concatenate([model.reward(theta)] * 3, axis=1), rtol=1e-14)
    assert [unrolled.parameter_name(i) for i in range(2)] == [model.parameter_name(i) for i in range(2)]
    mdp = FiniteMDP.from_dense(np.full((S, A, S), 1 / S), layout="SAS", discount=0.9).unrolled(3)
    assert solve(mdp, unrolled.reward(theta[0])).values.shape == (9,)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PerState(Size(0, 2)), "num_states of a reward model must be a whole number of at least 1, got 0"),
        (lambda: PerState(Size(2, 0)), "num_actions of a reward model must be a whole number of at least 1, got 0"),
        (lambda: PerStateAction(Size(-1, 2)), "num_states of a reward model must be"),
        (lambda: PerStateAction(Size(2, 2.5)), "num_actions of a reward model must be"),
        (lambda: LinearFeatures(STATE_FEATURES, Size(3, 0)), "num_actions of a reward model must be"),
        (lambda: LinearFeatures(np.ones(3), SIZE), r"features must have shape \[S, D\] or \[S, 2, D\], got \(3,\)"),
        (lambda: LinearFeatures(np.ones((3, 5, 4)), SIZE), r"got \(3, 5, 4\)"),
        (lambda: LinearFeatures(np.ones((1, 1, 1, 1)), SIZE), r"got \(1, 1, 1, 1\)"),
        (lambda: LinearFeatures(np.ones((0, 2)), SIZE), r"at least one state and one parameter, got shape \(0, 2\)"),
        (lambda: LinearFeatures(np.ones((2, 0)), SIZE), r"got shape \(2, 0\)"),
        (lambda: LinearFeatures(np.ones((2, 2)), SIZE), "one row for each of the 3 states, got 2"),
        (lambda: PerState(3), r"must be made for an MDP, got int. Give the FiniteMDP: PerState\(mdp\)"),
        (lambda: LinearFeatures([["a"]], SIZE), "features must be numbers"),
        (lambda: LinearFeatures([[1.0], [1.0, 2.0]], SIZE), "features must be a regular array"),
        (lambda: LinearFeatures(np.where(np.eye(3), np.nan, 0), SIZE), "finite, got nan at state 0, parameter 0"),
        (lambda: LinearFeatures([[[0, 0], [0, 0]], [[0, 0], [0, np.inf]]], SIZE), "got inf at state 1, parameter 1"),
        (lambda: LinearFeatures(sparse.csr_array([[0, np.inf]]), SIZE), "finite, got inf at state 0, parameter 1"),
        (
            lambda: LinearFeatures(STATE_FEATURES, SIZE, offset=np.zeros(2)),
            r"offset must have shape \(3,\) or \(3, 2\), got \(2,\)",
        ),
        (lambda: LinearFeatures(STATE_FEATURES, SIZE, offset=np.zeros((3, 3))), r"got \(3, 3\)"),
        (
            lambda: LinearFeatures(STATE_FEATURES, SIZE, offset=[0, np.nan, 0]),
            "offset must be finite, got nan at state 1",
        ),
        (lambda: LinearFeatures(STATE_FEATURES, SIZE, offset=["a", "b", "c"]), "offset must be numbers"),
        (lambda: LinearFeatures(STATE_FEATURES, SIZE, names=("a",)), r"names must have 4 entries, got \('a',\)"),
        (lambda: LinearFeatures(STATE_FEATURES, SIZE, names="abcd"), "names must have 4 entries, got 'abcd'"),
        (lambda: PerState(SIZE).unrolled(0), "horizon must be a whole number of at least 1, got 0"),
        (lambda: PerState(SIZE).unrolled(1.5), "horizon must be a whole number of at least 1, got 1.5"),
    ],
)
def test_bad_models(make, message):
    with pytest.raises(InputError, match=message):
        make()


@pytest.mark.parametrize("theta", [np.zeros(4), np.zeros((2, 1)), 0.0, np.zeros((1, 1, 3)), ["a", "b", "c"], None])
def test_bad_parameters(theta):
    with pytest.raises(InputError, match="theta must"):
        PerState(SIZE).reward(theta)
