"""Weights on a lattice are chances, reproduce linear functions, and follow the period of an angle."""

import numpy as np
import pytest

from journeyman.errors import InputError
from journeyman.mdp import Lattice

SIZES = {1: (7,), 2: (5, 8), 3: (4, 3, 5), 4: (3, 4, 2, 3)}


def box(dimensions, scheme, periodic=None):
    low = np.array([-1.2, -0.07, 2.0, -3.0])[:dimensions]
    return Lattice(low, low + [1.8, 0.14, 5.0, 1.0][:dimensions], SIZES[dimensions], periodic, scheme)


def states_in(lattice, number=300, seed=0):
    return np.random.default_rng(seed).uniform(lattice.low, lattice.high, (number, lattice.num_dimensions))


@pytest.mark.parametrize("scheme", ["multilinear", "simplex"])
@pytest.mark.parametrize("dimensions", [1, 2, 3, 4])
def test_weights_are_chances_and_reproduce_linear_functions(dimensions, scheme):
    lattice = box(dimensions, scheme)
    states = states_in(lattice)
    indices, weights = lattice.weights(states)
    assert indices.shape == weights.shape == (300, 2**dimensions if scheme == "multilinear" else dimensions + 1)
    assert weights.min() >= 0 and np.abs(weights.sum(axis=1) - 1).max() <= 1e-14
    assert all(len(set(row)) == len(row) for row in indices.tolist())
    slope = np.arange(1, dimensions + 1)
    found = ((lattice.points @ slope - 0.3)[indices] * weights).sum(axis=1)
    np.testing.assert_allclose(found, states @ slope - 0.3, atol=1e-12)


@pytest.mark.parametrize("scheme", ["multilinear", "simplex"])
def test_a_point_is_itself_and_values_are_continuous_across_cells(scheme):
    lattice = box(2, scheme)
    indices, weights = lattice.weights(lattice.points)
    own = np.take_along_axis(indices, weights.argmax(axis=1)[:, None], axis=1).ravel()
    assert own.tolist() == list(range(lattice.num_points)) and (weights.max(axis=1) == 1.0).all()
    values = np.random.default_rng(1).normal(size=lattice.num_points)
    start, end = lattice.low, lattice.high
    line = start + np.linspace(0, 1, 20001)[:, None] * (end - start)
    line[:, 1] = end[1] - (line[:, 1] - start[1]) * 0.7  # crosses cells and diagonals
    indices, weights = lattice.weights(line)
    steps = np.abs(np.diff((values[indices] * weights).sum(axis=1)))
    assert steps.max() <= np.ptp(values) * 2 * (4 + 7) / 20000  # slopes are at most the range per cell and dimension


def test_bilinear_weights_are_those_of_scipy():
    from scipy.interpolate import RegularGridInterpolator

    lattice = box(3, "multilinear")
    values, states = np.random.default_rng(2).normal(size=lattice.num_points), states_in(lattice)
    indices, weights = lattice.weights(states)
    expected = RegularGridInterpolator(lattice.axes, values.reshape(lattice.sizes))(states)
    np.testing.assert_allclose((values[indices] * weights).sum(axis=1), expected, atol=1e-12)


@pytest.mark.parametrize("scheme", ["multilinear", "simplex"])
def test_a_periodic_dimension_has_no_end(scheme):
    lattice = Lattice([-np.pi, -1.0], [np.pi, 1.0], [12, 3], np.array([True, False]), scheme)
    assert lattice.axes[0][-1] == pytest.approx(np.pi - 2 * np.pi / 12)
    states = states_in(lattice)
    indices, weights = lattice.weights(states)
    for turns in (-2, 1, 3):
        turned, same = lattice.weights(states + np.array([2 * np.pi * turns, 0.0]))
        assert (turned == indices).all()
        np.testing.assert_allclose(same, weights, atol=1e-12)
    seam = np.array([[np.pi - 0.1, 0.0]])
    indices, weights = lattice.weights(seam)
    found = (np.cos(lattice.points[:, 0])[indices] * weights).sum()
    between = 0.1 / (2 * np.pi / 12)
    assert found == pytest.approx(between * np.cos(lattice.axes[0][-1]) + (1 - between) * np.cos(np.pi), abs=1e-12)
    assert lattice.nearest([[np.pi - 0.01, 0.9]]) == lattice.nearest([[-np.pi, 1.0]])
    assert (lattice.weights([[np.pi, 0.0]])[0] == lattice.weights([[-np.pi, 0.0]])[0]).all()


def test_states_outside_count_as_the_border_and_the_nearest_point_is_the_nearest():
    lattice = box(2, "multilinear")
    np.testing.assert_array_equal(lattice.weights([[9.0, 9.0]])[1], lattice.weights([lattice.high])[1])
    states = states_in(lattice)
    distances = (np.abs(states[:, None] - lattice.points) / lattice.spacing).max(axis=2)
    np.testing.assert_allclose(distances[np.arange(300), lattice.nearest(states)], distances.min(axis=1))


def test_a_finer_lattice_has_all_points_and_half_the_spacing():
    lattice = Lattice([-np.pi, -1.0], [np.pi, 1.0], [6, 3], np.array([True, False]))
    finer = lattice.finer
    assert finer.sizes.tolist() == [12, 5]
    np.testing.assert_allclose(finer.spacing, lattice.spacing / 2)
    assert (finer.weights(lattice.points)[1].max(axis=1) == 1.0).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0], [0.0], [3]), r"the low one below the high one, got \(1, 0\) for dimension 0. Swap them"),
        (([0.0], [np.inf], [3]), "bounds must be finite"),
        (([0.0] * 5, [1.0] * 5, 3), "1 to 4 dimensions"),
        (([0.0, 0.0], [1.0, 1.0], [3]), "one for each of the 2 dimensions"),
        (([0.0], [1.0], [1]), "points of dimension 0 must be a whole number of at least 2"),
        (([0.0], [1.0], [2.5]), "points of dimension 0 must be a whole number"),
        (([0.0], [1.0], [3], None, "cubic"), "scheme must be one of multilinear, simplex"),
    ],
)
def test_bad_lattices_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        Lattice(*arguments)


def test_bad_states_are_refused():
    with pytest.raises(InputError, match=r"states must have shape \[n, 2\], got \(1, 3\)"):
        box(2, "simplex").weights([[1.0, 2.0, 3.0]])
    with pytest.raises(InputError, match=r"states must be finite, got .* at entry 1"):
        box(2, "simplex").weights([[0.0, 0.0], [np.nan, 0.0]])
