"""Dynamics estimated from steps: the Dirichlet posterior in closed form, every source, and what is refused."""

import numpy as np
import pytest
from mdp.test_builders import assert_same
from scipy.stats import chi2_contingency, kstest

from journeyman.demonstrations import Demonstration
from journeyman.errors import InputError, UnsupportedError
from journeyman.mdp import FiniteMDP, estimate_dynamics
from journeyman.mdp.stationarity import independence_p_value

SIZES = {"num_states": 3, "num_actions": 2, "discount": 0.9}
CHAIN = np.array([[[0.7, 0.3, 0.0], [0.0, 0.5, 0.5]], [[0.2, 0.0, 0.8], [0.0, 1.0, 0.0]]])  # of states 0 and 1; 2 ends


def step_fn(state, action, rng):
    """Step of a chain whose last state ends the episode, and stays where it is when asked for more."""
    if state == 2:
        return 2, True
    found = int(rng.choice(3, p=CHAIN[state, action]))
    return found, found == 2


class ChainEnv:
    """The chain with Gymnasium's reset and step; observations are made by `observe`."""

    def __init__(self, observe=lambda state: state, limit=10**9):
        self.observe, self.limit = observe, limit

    def reset(self, *, seed=None, options=None):
        if seed is not None:
            self.rng = np.random.default_rng(seed)
        self.state, self.time = 0, 0
        return self.observe(0), {}

    def step(self, action):
        self.state, done = step_fn(self.state, action, self.rng)
        self.time += 1
        return self.observe(self.state), 0.0, done, self.time >= self.limit, {}


def counts_of(dynamics, state, action):
    row = state * dynamics.num_actions + action
    part = slice(dynamics.indptr[row], dynamics.indptr[row + 1])
    return dict(zip(dynamics.outcomes[part].tolist(), dynamics.counts[part].tolist(), strict=True))


def test_mean_and_variance_of_samples_are_those_of_the_dirichlet_distribution():
    steps = ([0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 1, 0], [0, 1, 1, 1, 2, 0])
    dynamics = estimate_dynamics(steps, prior=0.5, **SIZES)
    alpha = np.full((3, 2, 3), 0.5)
    np.add.at(alpha, steps, 1.0)
    total = alpha.sum(axis=2, keepdims=True)
    mean = alpha / total
    np.testing.assert_allclose(dynamics.mdp.dense_transitions(), mean, rtol=1e-12)
    rng, size = np.random.default_rng(0), 4000
    drawn = np.stack([dynamics.sample(rng).dense_transitions() for _ in range(size)])
    variance = mean * (1.0 - mean) / (total + 1.0)
    assert (np.abs(drawn.mean(axis=0) - mean) < 5.0 * np.sqrt(variance / size)).all()
    np.testing.assert_allclose(drawn.var(axis=0), variance, rtol=0.15)  # relative error about sqrt(2 / 4000) or a few


def test_small_concentrations_are_sampled_exactly():
    dynamics = estimate_dynamics(([0], [0], [0]), num_states=2, num_actions=1, discount=0.9, prior=0.01)
    rng = np.random.default_rng(1)
    drawn = [dynamics.sample(rng).dense_transitions()[1, 0, 0] for _ in range(400)]
    assert np.mean(np.array(drawn) > 0.5) == pytest.approx(0.5, abs=0.1)  # Beta(0.01, 0.01): nearly all or nothing
    assert np.mean((np.array(drawn) > 0.01) & (np.array(drawn) < 0.99)) < 0.15


def test_default_prior_weighs_one_step_per_pair():
    dynamics = estimate_dynamics(([0], [0], [1]), **SIZES)
    assert dynamics.totals(dynamics.prior) == pytest.approx(np.ones((3, 2)))
    assert dynamics.mean[dynamics.row == 0] == pytest.approx([1 / 6, 4 / 6, 1 / 6])
    assert [0, 0] not in dynamics.untried.tolist() and len(dynamics.untried) == 5


def test_every_source_gives_the_same_counts(tmp_path):
    steps = (np.array([0, 1, 0]), np.array([1, 0, 1]), np.array([1, 2, 1]))
    table = tmp_path / "steps.csv"
    table.write_text("state,action,next_state,done\nstart,go,middle,0\nmiddle,stay,end,1\nstart,go,middle,0\n")
    labels = {"state_labels": ["start", "middle", "end"], "action_labels": ["stay", "go"], "discount": 0.9}
    shown = [
        Demonstration(0, ((0, 1), (1, 0)), final_state=2, ended="terminated"),
        Demonstration(0, ((0, 1),), final_state=1, ended="truncated"),
        Demonstration.annotation(1, 0),
    ]
    done = np.array([0, 1, 0])
    sources = [
        estimate_dynamics((*steps, done), **SIZES),
        estimate_dynamics(np.stack([*steps, done], axis=1), **SIZES),
        estimate_dynamics(dict(zip(("state", "action", "next_state", "done"), (*steps, done), strict=True)), **SIZES),
        estimate_dynamics(table, **labels),
        estimate_dynamics(shown, **SIZES),
    ]
    for dynamics in sources:
        assert counts_of(dynamics, 0, 1) == {0: 0, 1: 2, 2: 0}
        assert counts_of(dynamics, 1, 0) == {0: 0, 1: 0, 2: 1}
        assert dynamics.terminal.tolist() == [False, False, True] and dynamics.num_steps == 3
    assert [dynamics.has_demonstrations for dynamics in sources] == [False] * 4 + [True]
    assert sources[3].mdp.state_labels == ("start", "middle", "end")


@pytest.mark.parametrize("how", [{"samples_per_pair": 400}, {"num_steps": 3000}])
def test_a_step_function_is_learned(how):
    dynamics = estimate_dynamics(step_fn, seed=3, **how, **SIZES)
    assert dynamics.terminal.tolist() == [False, False, True]  # though the function goes on there
    assert not dynamics.is_unvisited.any() and not dynamics.warnings
    assert np.abs(dynamics.mdp.dense_transitions()[:2] - CHAIN).max() < 0.1
    assert dynamics.num_tries[2].sum() == 0


def test_an_environment_is_walked_through():
    dynamics = estimate_dynamics(ChainEnv(limit=5), num_steps=2000, **SIZES)
    assert np.abs(dynamics.mdp.dense_transitions()[:2] - CHAIN).max() < 0.15
    assert dynamics.mdp.initial.tolist() == [1.0, 0.0, 0.0]  # where walks started
    assert not dynamics.warnings  # a time limit is no end
    observed = ChainEnv(observe=lambda state: np.array([state * 0.5]))
    seen = estimate_dynamics(observed, num_steps=50, state_fn=lambda found: round(2 * found[0]), **SIZES)
    assert seen.num_steps == 50


def test_what_was_never_visited_is_perhaps_terminal():
    steps = ([0, 0], [0, 1], [0, 1], [False, True])
    dynamics = estimate_dynamics(steps, **SIZES)
    assert dynamics.terminal.tolist() == [False, True, False] and dynamics.is_unvisited.tolist() == [False, False, True]
    going_on = dynamics.mdp.dense_transitions()[2].sum(axis=1)
    assert going_on == pytest.approx([0.5, 0.5])  # 1 - the mean of Beta(1 + 1, 1 + 1)
    rng = np.random.default_rng(0)
    ends = [dynamics.sample(rng).dense_transitions()[2].sum() == 0.0 for _ in range(300)]
    assert np.mean(ends) == pytest.approx(0.5, abs=5 * 0.5 / np.sqrt(300))
    known = estimate_dynamics(steps, terminal=[1], **SIZES)
    assert not known.is_unvisited.any()


def test_steps_may_end_by_themselves():
    steps = ([0, 0, 0], [0, 0, 1], [1, 1, 2], [True, False, False])
    dynamics = estimate_dynamics(steps, **SIZES)
    assert counts_of(dynamics, 0, 0) == {0: 0, 1: 1, 2: 0, 3: 1}
    assert "ended the episode in 1 state that others passed" in dynamics.warnings[0]
    assert dynamics.mdp.dense_transitions()[0, 0].sum() == pytest.approx(1.0 - (1.0 + 0.25) / 3.0)


def test_possible_outcomes_can_be_stated():
    edges = [(0, 0), (0, 1), (1, 2), (2, 2)]
    mask = np.zeros((3, 3), dtype=bool)
    mask[tuple(np.array(edges).T)] = True
    triples = [(s, a, t) for s, t in edges for a in (0, 1)]
    for possible in (edges, mask, np.repeat(mask[:, None], 2, axis=1), triples):
        dynamics = estimate_dynamics(([0], [0], [1]), possible=possible, **SIZES)
        assert counts_of(dynamics, 0, 0) == {0: 0, 1: 1} and counts_of(dynamics, 1, 1) == {2: 0}
    with pytest.raises(InputError, match=r"got state 2 after action 1 in state 0 \(step 1.*only 0, 1 may follow"):
        estimate_dynamics(([0, 0], [0, 1], [1, 2]), possible=edges, **SIZES)


def test_more_steps_add_up():
    first = estimate_dynamics(([0], [0], [1]), **SIZES)
    more = first.with_demonstrations([Demonstration(0, ((0, 0), (1, 1)), final_state=2, ended="truncated")])
    assert counts_of(more, 0, 0)[1] == 2 and counts_of(more, 1, 1)[2] == 1 and more.num_steps == 3
    assert first.num_steps == 1 and "and 2 steps of 1 demonstration" in more.source
    assert first.with_demonstrations([Demonstration.annotation(0, 1)]) is first


def test_it_is_stored_with_its_mdp(tmp_path):
    labels = {"state_labels": ["a", "b", "c"], "action_labels": ["x", "y"], "discount": 0.9}
    dynamics = estimate_dynamics(([0, 1], [0, 1], [1, 2], [0, 1]), **labels)
    dynamics.mdp.save(tmp_path / "mdp.npz")
    loaded = FiniteMDP.load(tmp_path / "mdp.npz")
    assert_same(loaded, dynamics.mdp)
    again = loaded.origin
    assert again.summary() == dynamics.summary() and again.assumption == dynamics.assumption
    draws = [one.sample(np.random.default_rng(5)) for one in (dynamics, again)]
    assert_same(*draws)


def test_summary_says_what_was_never_tried():
    text = estimate_dynamics(([0], [0], [1], [1]), **SIZES).summary()
    assert "estimated from 1 step recorded" in text and "3 of 4 were never tried: action 1 in state 0" in text
    assert "1 state terminal: 1" in text and "1 state never visited, so perhaps terminal: 2" in text
    assert "was tried 0 to 1 times, with a median of 0." in text
    assert "any state may follow, and all outcomes of an action together weigh as much as one step." in text
    stated = estimate_dynamics(([0, 0], [0, 1], [1, 1], [1, 1]), **SIZES | {"num_states": 2}, prior=0.5).summary()
    assert "was tried 1 time." in stated and "and each outcome has a concentration of 0.5." in stated


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        (([0], [0], [3]), {}, r"next_state must lie in 0\.\.2, got 3 at entry 0"),
        (([0.5], [0], [1]), {}, r"state must hold whole numbers from 0, got 0\.5 at entry 0"),
        (([0], [0, 1], [1]), {}, r"must be equally long, got 1, 2, 1"),
        (([], [], []), {}, r"at least one step, got none"),
        (5, {}, r"must be a table or parallel arrays, got 5"),
        (([0], [0], [1], ["maybe"]), {}, r"done must be true or false, got 'maybe' at entry 0"),
        (lambda s, a, rng: 1.5, {"samples_per_pair": 1}, r"whole numbers from 0 to 2, got 1\.5 from step_fn"),
        (lambda s, a, rng: 7, {"num_steps": 5}, r"states must lie in 0\.\.2, got 7 from step_fn at state"),
        (lambda s, a, rng: (1, 2, 3), {"num_steps": 5}, r"must give a next state, or a pair"),
        (step_fn, {}, r"either samples_per_pair or num_steps, got neither"),
        (step_fn, {"num_steps": 5, "samples_per_pair": 5}, r"got both"),
        (([0], [0], [1]), {"num_steps": 5}, r"recorded steps are all that there are"),
        (ChainEnv(observe=lambda s: np.array([s, 0.5])), {"num_steps": 5}, r"got array.* after reset.*give state_fn"),
        (step_fn, {"num_steps": 5, "action_fn": lambda s, rng: 4}, r"an action that exists, got 4 in state"),
        (
            ([0, 1], [0, 0], [1, 0], [1, 0]),
            {},
            r"must not go on after its end, got step 1 from state 1.*terminal=\[1\]",
        ),
        (([0, 1], [0, 0], [1, 0]), {"terminal": [1]}, r"must not start in terminal states, got one after action 0 in"),
        (([0], [0], [1], [1]), {"may_end": False, "terminal": []}, r"where may_end is False"),
        (([0], [0], [1]), {"prior": 0.0}, r"prior must be positive"),
        (([0], [0], [1]), {"possible": [(0, 1)]}, r"none after action 0 in state 1"),
        (([0], [0], [1]), {"possible": [[True]]}, r"a mask of shape \(3, 3\) or \(3, 2, 3\)"),
        (([0], [1], [1]), {"available": [[True, False]] * 3}, r"must use available actions"),
    ],
)
def test_bad_input_is_named(source, options, message):
    with pytest.raises(InputError, match=message):
        estimate_dynamics(source, **SIZES, **options)


def test_sizes_must_be_known_and_can_be_too_large():
    with pytest.raises(InputError, match=r"num_states must be given.*Say num_states=16"):
        estimate_dynamics(([0], [0], [1]), num_actions=2, discount=0.9)
    with pytest.raises(UnsupportedError, match=r"50000000 possible outcomes.*possible=\[\(state, next_state\)"):
        estimate_dynamics(([0], [0], [1]), num_states=5000, num_actions=2, discount=0.9)
    with pytest.raises(UnsupportedError, match=r"cannot be put into any state.*num_steps"):
        estimate_dynamics(ChainEnv(), samples_per_pair=5, **SIZES)


def test_the_test_of_independence_is_that_of_scipy_and_honest():
    rng = np.random.default_rng(4)
    table = rng.integers(20, 60, size=(2, 4))
    plain = chi2_contingency(table, lambda_="log-likelihood", correction=False).pvalue
    assert independence_p_value(table) == pytest.approx(plain, rel=0.05)  # Williams's correction is small here
    found = []
    for _ in range(400):  # under independence, with rare outcomes, p values must not be small too often
        outcome = rng.choice(6, size=60, p=[0.5, 0.3, 0.1, 0.05, 0.03, 0.02])
        found.append(independence_p_value(np.stack([np.bincount(half, minlength=6) for half in np.split(outcome, 2)])))
    assert kstest(found, "uniform", alternative="greater").pvalue > 1e-3
    assert independence_p_value([[3, 1], [0, 2]]) == 1.0  # too few to tell


def test_dynamics_that_change_are_refused():
    calls = [0]

    def drifting(state, action, rng):
        calls[0] += 1
        return int(rng.random() < (0.2 if calls[0] <= 1200 else 0.8))

    sizes = {"num_states": 2, "num_actions": 2, "discount": 0.9}
    with pytest.raises(InputError, match=r"do not change: what follows action .* depends on time"):
        estimate_dynamics(drifting, samples_per_pair=600, **sizes)
    calls[0] = 10**6
    assert not estimate_dynamics(drifting, samples_per_pair=600, **sizes).warnings


def test_dynamics_with_a_memory_are_refused_and_slight_doubts_are_kept():
    rng = np.random.default_rng(0)
    states = [0, 1]
    for _ in range(3000):
        bias = 0.9 if states[-2] == 0 else 0.1  # the state before matters
        states.append(int(rng.random() < bias))
    record = (states[1:-1], [0] * (len(states) - 2), states[2:])
    with pytest.raises(InputError, match=r"depends on .*the state before"):
        estimate_dynamics(record, num_states=2, num_actions=1, discount=0.9)
    early, late = [0] * 60 + [1] * 40, [0] * 30 + [1] * 70
    doubtful = estimate_dynamics(([0] * 200, [0] * 200, early + late), num_states=2, num_actions=1, discount=0.9)
    assert "depends on time" in doubtful.warnings[0] and "Doubtful: what follows" in doubtful.summary()


def test_dynamics_that_depend_on_the_action_before_are_refused():
    last = [0]

    def lagging(state, action, rng):
        after, last[0] = (state + last[0]) % 3, action
        return after

    with pytest.raises(InputError, match=r"depends on .*the action before"):
        estimate_dynamics(lagging, num_steps=1000, num_states=3, num_actions=2, discount=0.9)


class Vectors:
    num_envs, reset, step = 2, None, None


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        (
            lambda state, action: 0,
            {"samples_per_pair": 2},
            r"must be step_fn\(state, action, rng\).*got <lambda>\(state",
        ),
        (lambda s, a, rng: 0, {"samples_per_pair": 2, "state_fn": int}, "state_fn must go with an environment"),
        (lambda s, a, rng: 0, {"samples_per_pair": 2, "action_fn": int}, "action_fn must go with walks"),
        ("FrozenLake-v1", {"num_steps": 10}, r"Say gymnasium\.make\('FrozenLake-v1'\)"),
        (Vectors, {"num_steps": 10}, r"got the class Vectors\. Say Vectors\(\.\.\.\)"),
        (Vectors(), {"num_steps": 10}, "got a vector of 2"),
        (lambda s, a, rng: 0, {"samples_per_pair": 2, "num_states": 2.5}, "whole number of at least 1, got 2.5"),
    ],
)
def test_what_is_no_simulator_and_what_would_be_ignored(source, options, message):
    with pytest.raises(InputError, match=message):
        estimate_dynamics(source, discount=0.9, **{"num_states": 3, "num_actions": 2, **options})


def test_where_walks_begin_is_said():
    class Coin:
        def reset(self, *, seed=None):
            self.rng = np.random.default_rng(seed) if seed is not None else self.rng
            return int(self.rng.random() < 0.5), {}

        def step(self, action):
            return 2, 0.0, True, False, {}

    found = estimate_dynamics(Coin(), num_steps=20, num_states=3, num_actions=1, discount=0.9)
    assert found.source == "20 steps of random walks in Coin, whose 20 starts say where episodes begin"
    assert found.source in found.assumption
    assert 0.2 < found.initial[0] < 0.8 and found.initial[2] == 0.0
    given = estimate_dynamics(Coin(), num_steps=20, num_states=3, num_actions=1, discount=0.9, initial=[1, 0, 0])
    assert given.source == "20 steps of random walks in Coin"
