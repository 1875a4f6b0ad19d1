"""Many rewards at once in single precision, against the solvers in double precision and a plain-NumPy sweep."""

import numpy as np
import pytest
from mdp.random_mdps import random_mdp

from journeyman.mdp import kernels, solve_batch
from journeyman.mdp.lanes import LANES
from journeyman.mdp.ordering import band_order
from journeyman.mdp.solvers import _single_rows, values_in_single

SINGLE = 2.0**-23


@pytest.fixture(params=[0, 1, 2])
def mdp(request):
    shape = {"num_states": 40, "num_actions": 3, "discount": 0.9, "density": 0.2}
    return random_mdp(np.random.default_rng(request.param), **shape, unavailable=0.2, ending=0.1, terminal=0.1)


def rewards_of(mdp, num_rewards, shape):
    rng = np.random.default_rng(1)
    return rng.standard_normal((num_rewards, *shape)) * 10.0 ** rng.uniform(-3, 3, (num_rewards, *(1,) * len(shape)))


@pytest.mark.parametrize("has_actions", [False, True])
@pytest.mark.parametrize("num_rewards", [1, LANES, LANES + 5])
def test_values_are_those_of_double_precision(mdp, num_rewards, has_actions):
    shape = (mdp.num_states, mdp.num_actions) if has_actions else (mdp.num_states,)
    rewards = rewards_of(mdp, num_rewards, shape)
    exact = solve_batch(mdp, rewards).values
    found = values_in_single(mdp, lambda at: rewards[at], num_rewards, num_threads=2)
    assert found.dtype == np.float32 and found.shape == exact.shape
    sizes = np.abs(exact).max(axis=1) + np.abs(rewards).reshape(num_rewards, -1).max(axis=1)
    assert (np.abs(found - exact).max(axis=1) <= 8.0 * SINGLE / (1.0 - mdp.discount) * sizes).all()


def test_values_do_not_depend_on_threads_or_neighbours(mdp):
    rewards = rewards_of(mdp, 2 * LANES + 1, (mdp.num_states,))
    runs = [values_in_single(mdp, lambda at: rewards[at], len(rewards), num_threads=n) for n in (1, 2)]
    assert np.array_equal(*runs)
    last = values_in_single(mdp, lambda at: rewards[-1:], 1, num_threads=1)
    assert np.array_equal(last[0], runs[0][-1])


@pytest.mark.parametrize("num_sweeps", [1, 2, 3])
def test_sweeps_are_those_of_a_twin(mdp, num_sweeps):
    order, rng = band_order(mdp), np.random.default_rng(2)
    reward = rng.standard_normal((mdp.num_states, LANES)).astype(np.float32)
    start = rng.standard_normal((mdp.num_states, LANES)).astype(np.float32)
    V, change, largest = start.copy(), np.empty((1, LANES), np.float32), np.empty((1, LANES), np.float32)
    kernels.sweep_single(*_single_rows(order), reward, V, num_sweeps, False, 16, change, largest)
    P = np.zeros((mdp.num_states * mdp.num_actions, mdp.num_states))
    for row in range(len(P)):
        at = slice(order.rows.indptr[row], order.rows.indptr[row + 1])
        np.add.at(P[row], order.rows.next_states[at], mdp.discount * order.rows.probabilities[at])
    twin = start.astype(np.float64)
    for sweep in range(num_sweeps):
        most = np.zeros(LANES)
        for block in (range(first, min(first + 16, mdp.num_states)) for first in range(0, mdp.num_states, 16)):
            for position, i in enumerate([*block, *reversed(block)]):
                s = mdp.num_states - 1 - i if sweep % 2 == 1 else i
                rows = P[s * mdp.num_actions : (s + 1) * mdp.num_actions].copy()
                stay = rows[:, s].copy()
                rows[:, s] = 0.0
                best = ((reward[s] + rows @ twin) / (1.0 - stay)[:, None])[order.available[s]].max(axis=0)
                if position < len(block):
                    most = np.maximum(most, np.abs(best - twin[s]))
                twin[s] = best
    assert np.allclose(V, twin, atol=1e-4)
    assert np.allclose(change[0], most, atol=1e-4)
    assert np.allclose(largest[0], np.abs(twin).max(axis=0), atol=1e-4)
