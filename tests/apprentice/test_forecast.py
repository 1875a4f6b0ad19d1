"""Forecasts of the demonstrations that are still needed, where the answer is known."""

import numpy as np
import pytest
from apprentice.test_policies import one_state
from apprentice.test_regret import prior_of

from journeyman.apprentice import certify, demonstrations_needed
from journeyman.apprentice.forecast import expert_policy_at, most_costly_state, summarised
from journeyman.errors import InputError
from journeyman.inference import infer
from journeyman.worlds import make_world


def small_grid(num_answers):
    world = make_world("random-grid", 3, size=3, terminals="independent")
    states = np.random.default_rng(0).choice(np.flatnonzero(world.problem.queryable), num_answers)
    return infer(world.problem, world.expert.answers(states), num_particles=500)


def test_nothing_is_needed_where_the_certificate_holds_already():
    forecast = demonstrations_needed(one_state([[1.0, 0.0], [2.0, 0.5]]), 0.1, 0.1)
    assert forecast.runs == (0,) * 20
    assert (forecast.lower, forecast.median, forecast.upper) == (0, 0, 0)


def test_brown_world_takes_one_answer_per_state():
    """With gaps of 4 and 20 at beta 1 an answer is right with a chance of 98 % and nearly 1."""
    forecast = demonstrations_needed(prior_of("brown-two-state"), 1.0, 0.1, num_runs=40)
    assert forecast.median == 2
    assert min(forecast.runs) == 2
    assert forecast.text().startswith("About 2 more demonstrations (half of 40 simulated runs")


def test_against_the_exact_distribution():
    """Two equally likely signs, gap 1, beta 1: log odds walk by +-1 per answer, and stop at odds of 9 to 1.

    That takes 3 steps ahead (odds e^3 = 20; e^2 = 7.4 is too little). The walk goes ahead with p = 1 / (1 + 1 / e), so
    it stops after 3 answers with a chance of p^3 + (1 - p)^3 = 0.41, after 5 with 3 (1 - p) p^4 + ... of 0.25: the
    median is 5, and 150 runs tell 0.41 within 4 * 0.04.
    """
    posterior = one_state([[1.0, 0.0], [0.0, 1.0]])
    forecast = demonstrations_needed(posterior, 0.5, 0.1, num_runs=150)
    p = 1.0 / (1.0 + np.exp(-1.0))
    assert np.mean([run == 3 for run in forecast.runs]) == pytest.approx(p**3 + (1 - p) ** 3, abs=0.16)
    assert forecast.median == 5
    assert all(run % 2 == 1 for run in forecast.runs)


def test_unknown_where_asking_cannot_help():
    """The only state that may be asked about tells nothing about the other one."""
    posterior = prior_of("brown-two-state")
    forecast = demonstrations_needed(posterior, 1.0, 0.1, choose_fn=lambda belief: 0, max_demonstrations=15)
    assert forecast.median is None
    assert forecast.runs == (None,) * 20
    assert forecast.text() == (
        "How many more demonstrations it takes is unknown: 20 of 20 simulated runs gave no answer "
        "(more than 15 were needed)."
    )


def test_unknown_where_reweighting_runs_out_of_samples():
    forecast = demonstrations_needed(small_grid(4), 0.05, 0.05, method="reweight")
    assert forecast.median is None
    assert "too few samples fit the answers" in forecast.text()


def test_moving_particles_gives_an_answer_and_repeats_for_a_seed():
    posterior = small_grid(12)
    assert not certify(posterior, None, 1.5, 0.2).holds
    options = {"num_particles": 300, "max_demonstrations": 40, "seed": 4}
    forecast = demonstrations_needed(posterior, 1.5, 0.2, **options)
    assert forecast.median is not None
    assert 0 < forecast.median <= 40
    assert forecast == demonstrations_needed(posterior, 1.5, 0.2, **options)


def test_most_costly_state():
    posterior = prior_of("brown-two-state")
    assert most_costly_state(posterior) == 1
    world = make_world("brown-two-state", 0)
    told = infer(world.problem, world.expert.answers([1, 1]), "enumerate")
    assert most_costly_state(told) == 0


def test_expert_policy_of_one_sample():
    posterior = prior_of("lopes-two-state")
    for sample in range(posterior.num_samples):
        np.testing.assert_array_equal(expert_policy_at(posterior, sample, 1), posterior.expert_policies([1])[sample, 0])


def test_quartiles_count_runs_without_an_answer_as_late():
    forecast = summarised([3, None, 1, 2, 4], ["late"])
    assert (forecast.lower, forecast.median, forecast.upper) == (2, 3, 4)
    forecast = summarised([3, None, 1, None, None], ["late", "late", "lost"])
    assert (forecast.lower, forecast.median, forecast.upper, forecast.reason) == (3, None, None, "late")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_runs": 19}, "num_runs must be a whole number of at least 20"),
        ({"max_demonstrations": 0}, "max_demonstrations must be"),
        ({"method": "guess"}, "method must be one of auto, reweight, smc"),
        ({"confidence": 0.0}, "confidence must lie"),
        ({"scope": "some"}, "scope must be one of initial, every_state, got 'some'"),
        ({"seed": -1}, "seed must be a whole number of at least 0"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(InputError, match=message):
        demonstrations_needed(one_state([[1.0, 0.0]]), 1.0, 0.1, **options)


def test_bad_epsilon_and_delta():
    with pytest.raises(InputError, match="epsilon must be positive"):
        demonstrations_needed(one_state([[1.0, 0.0]]), 0.0, 0.1)
    with pytest.raises(InputError, match="delta must lie"):
        demonstrations_needed(one_state([[1.0, 0.0]]), 1.0, 1.5)
