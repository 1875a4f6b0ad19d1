"""Queries whose length is chosen by value per cost, against listing all trajectories of all lengths."""

from dataclasses import replace

import numpy as np
import pytest
from acquisition.exact import information, likelihoods, small_posterior, trajectories, trajectory_information

from journeyman.acquisition import ACQUISITIONS, choose_batch, score
from journeyman.acquisition.scoring import tried_lengths
from journeyman.errors import InputError

LONGEST = 4
LENGTHS = (1, 2, 3, 4)
NUM_ERRORS = 5  # standard errors: a chance of 8e-6 with 49 degrees of freedom
WITH_TRAJECTORIES = [name for name in ACQUISITIONS if "trajectory" in ACQUISITIONS[name].kinds]


def asked_at(posterior, states):
    """The posterior of a problem in which only these states may be asked about."""
    queryable = np.isin(np.arange(posterior.problem.mdp.num_states), states)
    return replace(posterior, problem=replace(posterior.problem, queryable=queryable))


@pytest.mark.parametrize(
    ("longest", "expected"),
    [
        (1, (1,)),
        (2, (1, 2)),
        (4, (1, 2, 3, 4)),
        (5, (1, 2, 3, 5)),
        (10, (1, 2, 3, 5, 8, 10)),
        (13, (1, 2, 3, 5, 8, 13)),
    ],
)
def test_lengths_that_are_tried(longest, expected):
    assert tried_lengths(longest, 0.1) == expected
    assert tried_lengths(longest, 0.0) == (longest,)


@pytest.mark.parametrize(("step_cost", "expected"), [(0.02, LONGEST), (0.35, None), (20.0, 1)])
def test_the_pair_with_most_information_per_cost(step_cost, expected):
    """Cheap steps make the longest trajectory pay best, dear ones the shortest; both are found by listing."""
    posterior = small_posterior(3, terminal=0.0, ending=0.1, beta=2.0)
    costs = np.array([1.0, 1.5, 0.8, 1.2])
    prices = costs[:, None] + step_cost * np.arange(LONGEST)
    exact = np.array(
        [[trajectory_information(posterior, np.arange(6), state, t) for t in LENGTHS] for state in range(4)]
    )
    exact /= prices
    state, column = np.unravel_index(exact.argmax(), exact.shape)
    scores = score(
        posterior, "reward_eig", kind="trajectory", length=LONGEST, costs=costs, step_cost=step_cost,
        num_histories=4000, num_threads=1,
    )  # fmt: skip
    assert scores.best_state() == state
    assert scores.length_at(state) == LENGTHS[column]
    assert expected in (None, LENGTHS[column])
    for s in range(4):
        assert abs(scores.values[s] - exact[s, scores.length_at(s) - 1]) <= NUM_ERRORS * scores.standard_error[s] + 1e-9
        assert exact[s, scores.length_at(s) - 1] >= exact[s].max() - NUM_ERRORS * scores.standard_error[s] - 1e-9


@pytest.mark.parametrize("name", WITH_TRAJECTORIES)
def test_every_function_takes_the_best_of_its_own_scores(name):
    posterior = small_posterior(1, beta=2.0)
    options = {"kind": "trajectory", "num_histories": 16, "seed": 2, "epsilon": 0.3}
    runs = [score(posterior, name, length=3, step_cost=0.4, num_threads=n, **options) for n in (1, 2)]
    asked = posterior.problem.queryable
    single = [score(posterior, name, length=t, num_threads=1, **options) for t in (1, 2, 3)]
    assert len({one.details.get("used", one.details.get("level")) for one in single}) == 1  # else they do not compare
    table = np.stack([one.values[asked] / (1.0 + 0.4 * t) for t, one in enumerate(single)])
    for found in runs:
        assert found.values[asked] == pytest.approx(table.max(axis=0), abs=1e-12)
        assert np.array_equal(found.lengths[asked], table.argmax(axis=0) + 1)
        assert (found.lengths[~asked] == 0).all()
        assert found.length == 3
    if single[0].standard_error is not None:
        errors = np.stack([one.standard_error[asked] / (1.0 + 0.4 * t) for t, one in enumerate(single)])
        best = errors[table.argmax(axis=0), np.arange(asked.sum())]
        assert runs[0].standard_error[asked] == pytest.approx(best, abs=1e-12)


def test_which_function_decides_is_settled_once():
    """One step alone stalls here, three do not: all lengths are rated by the function of the longest."""
    posterior = small_posterior(1, beta=2.0)
    options = {"kind": "trajectory", "num_histories": 32}
    gains = [score(posterior, "expected_regret", length=t, **options) for t in (1, 3)]
    shares = [float(one.values.max() / one.details["expected_regret"]) for one in gains]
    assert shares[0] < 0.9 * shares[1]
    stall = 0.5 * sum(shares)
    assert score(posterior, "regret_pac", length=1, stall=stall, **options).unit == "nats"
    found = score(posterior, "regret_pac", length=3, step_cost=100.0, stall=stall, **options)
    asked = posterior.problem.queryable
    assert found.unit == "reward"
    assert (found.lengths[asked] == 1).all()
    assert np.array_equal(found.values[asked], gains[0].values[asked])


def test_free_steps_change_nothing():
    posterior = small_posterior(2)
    options = {"kind": "trajectory", "length": 3, "num_histories": 16}
    usual, free = score(posterior, "pac_eig", **options), score(posterior, "pac_eig", step_cost=0, **options)
    assert np.array_equal(usual.values, free.values)
    assert usual.lengths is free.lengths is None
    assert free.length_at(0) == 3
    assert score(posterior, "pac_eig").length_at(0) is None
    batch = choose_batch(posterior, "pac_eig", 2, **options)
    assert batch.lengths.tolist() == [3, 3]
    assert choose_batch(posterior, "pac_eig", 2).lengths is None


@pytest.mark.parametrize("name", ["reward_eig", "failure_chance", "expected_regret"])
def test_batches_choose_a_length_at_each_step(name):
    posterior = small_posterior(3, terminal=0.0, beta=2.0)
    options = {"kind": "trajectory", "length": 3, "num_histories": 32, "step_cost": 0.4, "epsilon": 0.5}
    whole, again = (choose_batch(posterior, name, 3, num_threads=threads, **options) for threads in (1, 2))
    for field in ("states", "lengths", "gains"):
        assert np.array_equal(getattr(whole, field), getattr(again, field))
    first = score(posterior, name, **options)
    assert whole.states[0] == first.best_state()
    assert whole.lengths[0] == first.length_at(whole.states[0])
    assert whole.gains[0] == first.values.max()
    rest = choose_batch(
        posterior, name, 2, pending=whole.states[:1].tolist(), pending_lengths=whole.lengths[:1].tolist(), **options
    )
    assert rest.states.tolist() == whole.states[1:].tolist()
    assert rest.lengths.tolist() == whole.lengths[1:].tolist()
    assert np.array_equal(rest.gains, whole.gains[1:])


@pytest.mark.parametrize("pending_length", [1, 3])
def test_pending_answers_have_their_own_length(pending_length):
    """What one action tells given a trajectory that is awaited, by listing both; there is nothing to choose from."""
    posterior = asked_at(small_posterior(3, terminal=0.0, beta=2.0), [1])
    mdp, policies = posterior.problem.mdp, posterior.expert_policies()
    before = [
        chance * posterior.weights * likelihoods(policies, steps)
        for steps, chance in trajectories(mdp, 1, pending_length)
    ]
    both = [row * policies[:, 1, action] for row in before for action in range(mdp.num_actions)]
    expected = information(both) - information(before)
    gains = [
        choose_batch(
            posterior, "reward_eig", 1, pending=[1], pending_lengths=[pending_length], kind="trajectory", length=1,
            step_cost=0.1, seed=seed, num_threads=1,
        ).gains[0]
        for seed in range(50)
    ]  # fmt: skip
    assert abs(np.mean(gains) - expected) <= NUM_ERRORS * np.std(gains, ddof=1) / np.sqrt(50)
    other = information([posterior.weights * policies[:, 1, action] for action in range(mdp.num_actions)])
    assert other - expected > 10 * np.std(gains, ddof=1) / np.sqrt(50)  # the awaited answer matters


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"step_cost": -0.1}, "step_cost must be finite and at least 0, got -0.1"),
        ({"step_cost": np.inf}, "step_cost must be finite"),
        ({"step_cost": np.nan}, "step_cost must be finite"),
        ({"step_cost": "dear"}, "step_cost must be a number"),
        ({"step_cost": 0.1, "kind": "state", "length": None}, "step_cost must be 0 for state queries"),
    ],
)
@pytest.mark.parametrize("choose", [score, lambda *given, **options: choose_batch(*given, 1, **options)])
def test_bad_costs_of_steps(choose, options, message):
    with pytest.raises(InputError, match=message):
        choose(small_posterior(0), "reward_eig", **{"kind": "trajectory", "length": 2} | options)


@pytest.mark.parametrize(
    ("lengths", "message"),
    [([1], "those of 2 pending trajectory queries, got 1"), ([1, 0], "each of pending_lengths must be a whole number")],
)
def test_bad_lengths_of_pending_queries(lengths, message):
    options = {"pending": [0, 0], "pending_lengths": lengths, "kind": "trajectory", "length": 2}
    with pytest.raises(InputError, match=message):
        choose_batch(small_posterior(0), "reward_eig", 1, **options)
    with pytest.raises(InputError, match="got 2 for kind 'state'"):
        choose_batch(small_posterior(0), "reward_eig", 1, pending=[0, 0], pending_lengths=[1, 1])
