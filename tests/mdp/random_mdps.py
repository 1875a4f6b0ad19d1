"""Random MDPs for tests: by a generator, and as a hypothesis strategy with the odd ones."""

import numpy as np
from hypothesis import strategies as st

from journeyman.mdp import FiniteMDP


def random_mdp(
    rng, num_states, num_actions, *, discount=0.9, density=1.0, unavailable=0.0, ending=0.0, terminal=0.0, **options
):
    """An MDP with random rows.

    density: chance that an entry of a row is kept; unavailable: that an action does not exist; ending: that a row
    sums to less than 1; terminal: that a state is a terminal cell.
    """
    shape = (num_states, num_actions, num_states)
    P = rng.exponential(size=shape) * (rng.random(shape) < density)
    P[..., 0] += 1e-3 * (P.sum(axis=2) == 0)
    P /= P.sum(axis=2, keepdims=True)
    P *= np.where(rng.random(shape[:2]) < ending, rng.random(shape[:2]), 1.0)[..., None]
    P[rng.random(num_states) < terminal] = 0.0
    available = rng.random(shape[:2]) >= unavailable
    available[np.arange(num_states), rng.integers(num_actions, size=num_states)] = True
    return FiniteMDP.from_dense(
        P, layout="SAS", discount=discount, available=available, missing_mass="terminates", **options
    )


def varied_mdps(count, seed, *, discounts=(0.5, 0.9, 0.99, 0.999), max_states=12):
    """Yield (rng, mdp) for `count` random MDPs of every sort."""
    for index in range(count):
        rng = np.random.default_rng([seed, index])
        yield (
            rng,
            random_mdp(
                rng,
                int(rng.integers(1, max_states + 1)),
                int(rng.integers(1, 6)),
                discount=float(rng.choice(discounts)),
                density=float(rng.choice([1.0, 0.3, 0.1])),
                unavailable=float(rng.choice([0.0, 0.3])),
                ending=float(rng.choice([0.0, 0.5])),
                terminal=float(rng.choice([0.0, 0.2])),
            ),
        )


@st.composite
def mdps(draw):
    """MDPs up to 6 states and 4 actions, with the odd ones.

    One state, one action, all terminal, disconnected, identical actions, probabilities of 1e-300.
    """
    num_states, num_actions = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    sort = draw(
        st.sampled_from(["mixed", "all terminal", "disconnected", "identical actions", "tiny", "deterministic"])
    )
    shape = (num_states, num_actions, num_states)
    P = rng.exponential(size=shape) * (rng.random(shape) < draw(st.sampled_from([1.0, 0.4])))
    if sort == "disconnected":
        P = rng.random((num_states, num_actions, 1)) * np.eye(num_states)[:, None, :]
    elif sort == "identical actions":
        P = np.repeat(P[:, :1], num_actions, axis=1)
    elif sort == "deterministic":
        P = np.eye(num_states)[rng.integers(num_states, size=shape[:2])]
    sums = P.sum(axis=2, keepdims=True)
    P = np.divide(P, sums, out=np.zeros(shape), where=sums > 0)
    if sort == "all terminal":
        P[:] = 0.0
    elif sort == "tiny":
        P = np.where(rng.random(shape) < 0.5, 1e-300, P)
        P = np.where(P.sum(axis=2, keepdims=True) > 1.0, P * (1 - 1e-12), P)
    if draw(st.booleans()):
        P *= rng.random((num_states, num_actions, 1))
    available = rng.random(shape[:2]) >= draw(st.sampled_from([0.0, 0.5]))
    available[np.arange(num_states), rng.integers(num_actions, size=num_states)] = True
    initial = rng.dirichlet(np.ones(num_states))
    discount = draw(st.sampled_from([0.01, 0.5, 0.9, 0.99, 0.999]))
    return FiniteMDP.from_dense(
        P, layout="SAS", discount=discount, available=available, initial=initial, missing_mass="terminates"
    )
