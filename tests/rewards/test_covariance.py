"""Kernels against closed forms that are written another way, and factors against eigenvectors of the whole matrix."""

import numpy as np
import pytest
from scipy import linalg, special

from journeyman.errors import InputError
from journeyman.mdp import FiniteMDP
from journeyman.rewards import covariance, kernel_covariance, kernel_rewards
from journeyman.rewards.covariance import KERNELS, compressed, laplacian, pivoted_cholesky
from journeyman.rewards.kernel_prior import positions_of
from journeyman.worlds.gridworld import gridworld

NU = {"matern12": 0.5, "matern32": 1.5, "matern52": 2.5}
HIDDEN = 1e-8  # what is left out where nothing is: 1e-10 of the largest variance, for 100 states


def distances(places):
    return np.sqrt(((places[:, None] - places) ** 2).sum(axis=-1))


def ring(num_states):
    """States in a ring: one action forwards, one that stays."""
    return FiniteMDP.from_function(
        lambda s, a: [(1.0, (s + a) % num_states)], num_states=num_states, num_actions=2, discount=0.9
    )


def random_graph(rng, num_states):
    """Each action leads to two random states, so that links go one way."""
    ends = rng.integers(num_states, size=(num_states, 2, 2))
    return FiniteMDP.from_function(
        lambda s, a: [(0.5, int(end)) for end in ends[s, a]], num_states=num_states, num_actions=2, discount=0.9
    )


# -- kernels -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NU)
def test_matern_is_that_of_bessel_functions(name):
    nu, d = NU[name], np.linspace(0.01, 6.0, 50)
    x = np.sqrt(2.0 * nu) * d
    expected = 2.0 ** (1.0 - nu) / special.gamma(nu) * x**nu * special.kv(nu, x)
    np.testing.assert_allclose(KERNELS[name].correlation_fn(d), expected, rtol=1e-12)
    assert KERNELS[name].correlation_fn(np.zeros(1))[0] == 1.0


def test_correlations_at_the_length_scale_are_those_of_the_docstring():
    at_one = {name: round(float(kernel.correlation_fn(np.ones(1))[0]), 2) for name, kernel in KERNELS.items()}
    assert at_one == {"squared_exponential": 0.61, "matern52": 0.52, "matern32": 0.48, "matern12": 0.37}


@pytest.mark.parametrize("name", KERNELS)
def test_covariance_over_positions_and_features(name):
    mdp = gridworld(5, 4)
    std = np.linspace(0.5, 2.0, 20)
    rows, columns = np.divmod(np.arange(20), 4)
    by_hand = distances(np.stack([rows, columns], axis=1) / 2.5)
    found = kernel_covariance(mdp, length_scale=2.5, std=std, kernel=name)
    np.testing.assert_allclose(found, np.outer(std, std) * KERNELS[name].correlation_fn(by_hand), atol=HIDDEN)
    features = np.random.default_rng(0).normal(size=(20, 3))
    found = kernel_covariance(mdp, length_scale=[1.0, 2.0, 3.0], std=2.0, kernel=name, over=features)
    expected = 4.0 * KERNELS[name].correlation_fn(distances(features / [1.0, 2.0, 3.0]))
    np.testing.assert_allclose(found, expected, atol=HIDDEN)


# -- graphs ------------------------------------------------------------------------------------------------------------


def test_laplacian_by_hand():
    """A ring has two neighbours each, whichever way the links go; staying is no link."""
    expected = 2.0 * np.eye(4) - np.array([[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]])
    np.testing.assert_array_equal(laplacian(ring(4)).toarray(), expected)


def test_a_kernel_of_steps_on_a_graph_is_no_covariance_but_ours_is():
    steps = np.array([[0, 1, 2, 1], [1, 0, 1, 2], [2, 1, 0, 1], [1, 2, 1, 0]])
    assert np.linalg.eigvalsh(np.exp(-0.5 * steps**2))[0] < -0.05
    found = kernel_covariance(ring(4), length_scale=1.0, std=1.0, over="graph")
    assert np.linalg.eigvalsh(found)[0] > 0.01


@pytest.mark.parametrize("name", KERNELS)
def test_covariance_over_a_graph_is_a_function_of_the_laplacian(name):
    mdp, scale = random_graph(np.random.default_rng(1), 9), 1.3
    matrix = laplacian(mdp).toarray()
    if name in NU:
        inner = np.eye(9) + scale**2 / (2.0 * NU[name]) * matrix
        raw = linalg.fractional_matrix_power(inner, -(NU[name] + 1.0))
    else:
        raw = linalg.expm(-0.5 * scale**2 * matrix)
    sizes = np.sqrt(np.diag(raw))
    found = kernel_covariance(mdp, length_scale=scale, std=3.0, kernel=name, over="graph")
    np.testing.assert_allclose(found, 9.0 * raw / np.outer(sizes, sizes), atol=1e-7)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("over", ["positions", "graph"])
def test_covariances_are_positive_semidefinite(name, over):
    for scale in (0.3, 2.0, 30.0):
        found = kernel_covariance(gridworld(6, 6), length_scale=scale, std=1.0, kernel=name, over=over)
        np.testing.assert_allclose(np.diag(found), 1.0, atol=HIDDEN)
        assert np.linalg.eigvalsh(0.5 * (found + found.T))[0] > -1e-12


def test_far_from_the_edge_of_a_grid_both_ways_agree():
    """At 4 length scales from the edge; a grid of steps is not the plane, which costs a few percent."""
    mdp = gridworld(25, 25)
    middle = 12 * 25 + 12
    states = middle + np.arange(9)
    for name, tolerance in {"squared_exponential": 0.02, "matern52": 0.04, "matern32": 0.06}.items():
        rows = [
            kernel_covariance(mdp, length_scale=3.0, std=1.0, kernel=name, over=over)[middle, states]
            for over in ("graph", "positions")
        ]
        np.testing.assert_allclose(*rows, atol=tolerance)


def test_walls_count_on_the_graph_alone():
    """A corridor bent like a hairpin: its ends are neighbours by position, and far apart by steps."""
    places = np.array([[0, 0], [1, 0], [2, 0], [3, 0], [3, 1], [2, 1], [1, 1], [0, 1]], dtype=float)
    mdp = FiniteMDP.from_function(
        lambda s, a: [(1.0, int(np.clip(s + 2 * a - 1, 0, 7)))], num_states=8, num_actions=2, discount=0.9,
        coordinates=places,
    )  # fmt: skip
    by_place, by_graph = (
        kernel_covariance(mdp, length_scale=1.5, std=1.0, over=over)[0] for over in ("positions", "graph")
    )
    assert by_place[7] > 0.75 and by_graph[7] < 0.01
    assert by_place[1] > 0.75 and by_graph[1] > 0.75


# -- factors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("over", ["positions", "graph"])
def test_a_low_rank_keeps_the_share_that_it_states_and_no_more_directions_than_needed(name, over):
    mdp, options = gridworld(9, 8), {"length_scale": 2.0, "std": 3.0, "kernel": name, "over": over}
    whole = kernel_covariance(mdp, **options)
    values = np.linalg.eigvalsh(whole)[::-1]
    for share in (0.5, 0.9, 0.99):
        model, prior = kernel_rewards(mdp, share=share, **options)
        kept = np.asarray(model.features @ (model.features @ prior.covariance).T)
        assert share <= prior.smoothness.share + 1e-12
        assert np.trace(kept) == pytest.approx(prior.smoothness.share * np.trace(whole), rel=1e-8)
        assert np.linalg.eigvalsh(whole - kept)[0] > -1e-7  # nothing is added anywhere
        best = 1 + int(np.searchsorted(np.cumsum(values) / values.sum(), share))
        assert best <= prior.num_parameters <= best + 1 + round(0.05 * best)
    model, prior = kernel_rewards(mdp, rank=7, **options)
    assert prior.num_parameters == 7
    assert prior.smoothness.share <= values[:7].sum() / values.sum() + 1e-9
    assert prior.smoothness.share >= 0.98 * values[:7].sum() / values.sum()


def test_pivoted_cholesky_stops_within_what_may_be_lost():
    places = np.random.default_rng(0).normal(size=(60, 2))
    whole = np.exp(-0.5 * distances(places) ** 2)
    told = []
    for lost in (0.3, 0.03, 1e-6):
        found = pivoted_cholesky(lambda s: whole[s], np.ones(60), lost, 60, lambda done, text=None: told.append(done))
        left = whole - found @ found.T
        assert np.linalg.eigvalsh(left)[0] > -1e-10
        assert np.trace(left) <= lost * 60.0 + 1e-9
        before = found[:, :-1]
        assert np.trace(whole - before @ before.T) > lost * 60.0  # one fewer would not do
    assert 0.0 < told[0] < told[1] and max(told) <= 1.0


def test_compressed_is_the_best_approximation():
    tall = np.random.default_rng(0).normal(size=(12, 5))
    values, vectors = np.linalg.eigh(tall @ tall.T)
    factor = compressed(tall, float((tall**2).sum()), 1.0, 2)
    best = vectors[:, -2:] * np.sqrt(values[-2:]) @ (vectors[:, -2:] * np.sqrt(values[-2:])).T
    np.testing.assert_allclose(factor.matrix @ factor.matrix.T, best, atol=1e-12)
    assert factor.share == pytest.approx(values[-2:].sum() / values.sum())


def test_a_kernel_that_needs_too_much_is_refused(monkeypatch):
    monkeypatch.setattr(covariance, "MAX_ENTRIES", 64 * 20)
    mdp = gridworld(8, 8)
    with pytest.raises(InputError, match=r"at most 20 directions for 64 states, got one of which [0-9.]+% .* rank"):
        kernel_rewards(mdp, length_scale=0.5, std=1.0, kernel="matern12")
    assert kernel_rewards(mdp, length_scale=5.0, std=1.0).prior.num_parameters < 20
    monkeypatch.setattr(covariance, "MAX_GRAPH_STATES", 63)
    with pytest.raises(InputError, match=r"over the graph must have at most 63 states, got 64.*positions"):
        kernel_rewards(mdp, length_scale=5.0, std=1.0, over="graph")


def test_positions_are_cells_or_coordinates():
    np.testing.assert_array_equal(positions_of(gridworld(2, 2)), [[0, 0], [0, 1], [1, 0], [1, 1]])
    assert positions_of(ring(3)) is None
