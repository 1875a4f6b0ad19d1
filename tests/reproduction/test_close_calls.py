"""Close calls: single wrong choices by brute force, and the number of answers by enumeration of all answers."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from journeyman import evaluate_policy, make_world
from reproduction.pages import close_calls


@pytest.fixture(scope="module")
def jail():
    return make_world("jail", 2)


def test_a_wrong_choice_costs_what_its_policy_loses(jail):
    mdp, best = jail.problem.mdp, jail.expert.q.argmax(axis=1)
    found = close_calls.wrong_choices(jail)
    assert (found["regret"] > 0).all()
    for row in found.sample(8, random_state=0).itertuples():
        policy = best.copy()
        policy[row.state] = row.action
        loss = mdp.initial @ (jail.expert.values - evaluate_policy(mdp, policy, jail.reward))
        assert row.regret == pytest.approx(loss, rel=1e-9)
        assert row.gap == pytest.approx(jail.expert.values[row.state] - jail.expert.q[row.state, row.action])


def test_a_regret_is_traced_to_one_choice_or_to_two(jail):
    found = close_calls.wrong_choices(jail).sort_values("regret")
    one, two = found.iloc[4], found.iloc[3]
    table = pd.DataFrame([{"method": "m", "seed": 2, "step": 10, "true_regret": one["regret"]}])
    traced = close_calls.close_calls(table, "jail", ("m",), 10)
    assert list(traced["state"]) == [one["state"]]
    joint = close_calls.regret_of(jail, [one, two])
    assert joint != one["regret"] + two["regret"]  # one choice changes how often the other is met
    both = table.assign(true_regret=joint)
    assert list(close_calls.close_calls(both, "jail", ("m",), 10)["gap"]) == [pytest.approx(one["gap"])]
    none = close_calls.close_calls(table.assign(true_regret=0.0), "jail", ("m",), 10)
    assert none.empty
    assert "gap" in none


@pytest.mark.parametrize("gap", [0.5, 1.0])
def test_fewer_answers_than_that_do_not_tell(gap):
    """The best decision from n answers, by enumeration, errs more often than 5 % for every smaller n."""
    log_odds = np.array([0.0, -gap, -2.0])
    bound = close_calls.answers_to_tell(log_odds, 0, 1)
    chances = np.exp(log_odds) / np.exp(log_odds).sum()
    swapped = chances[[1, 0, 2]]
    for n in range(1, min(8, int(np.ceil(bound)))):
        error = sum(
            0.5 * min(chances[list(run)].prod(), swapped[list(run)].prod()) for run in product(range(3), repeat=n)
        )
        assert error > close_calls.ERROR
    assert bound > 2


def test_more_answers_are_needed_for_smaller_gaps():
    bounds = [close_calls.answers_to_tell(np.array([0.0, -gap]), 0, 1) for gap in (1.0, 0.1, 0.01)]
    assert bounds == sorted(bounds)
    assert bounds[2] / bounds[1] == pytest.approx(100, rel=0.01)  # with the square of the gap
    assert close_calls.answers_to_tell(np.array([0.0, 0.0]), 0, 1) == np.inf
    assert close_calls.answers_to_tell(np.array([0.0, -1000.0]), 0, 1) == 1.0
