"""Figure 1's numbers: what must be true of every jail world, and recomputed from the scores themselves."""

from dataclasses import replace

import numpy as np
import pytest

from journeyman.errors import InputError
from journeyman.experts import Question
from journeyman.inference import infer
from journeyman.worlds import make_world
from reproduction.task_belief import (
    belief_after,
    fenced_in,
    first_belief,
    illustrate_task,
    summarise_start,
    without_negligible,
)

FAST = {"num_points": 512, "num_histories": 256}
JAIL, CORNER = 30, 35


@pytest.fixture(scope="module")
def task():
    return illustrate_task(2, 2, **FAST)


def test_obstacles_fence_in_the_lower_right():
    """Rows 3 to 5 and columns 3 to 5 of the layout, below mud and right of water and lava."""
    expected = [6 * row + column for row in (3, 4, 5) for column in (3, 4, 5)]
    assert np.flatnonzero(fenced_in(make_world("jail").problem)).tolist() == expected


def test_a_fence_needs_kinds():
    with pytest.raises(InputError, match="a grid whose cells have kinds"):
        fenced_in(make_world("random-grid", size=3).problem)


def test_the_first_question_is_the_same_for_all_seeds():
    found = illustrate_task(5, 0, **FAST).belief
    own = belief_after(make_world("jail", 5).problem, (), 20, *FAST.values())
    assert found.demonstrations == ()
    np.testing.assert_array_equal(found.information.values, own.information.values)
    np.testing.assert_array_equal(found.posterior.theta, own.posterior.theta)


def test_questions_follow_reward_eig(task):
    shown = task.belief.demonstrations
    assert [item.start_state for item in shown] == [
        illustrate_task(2, count, **FAST).belief.information.best_state() for count in (0, 1)
    ]
    counts = task.world.problem.counts(shown)
    np.testing.assert_array_equal(task.belief.posterior.counts, counts)
    assert all(len(item.steps) <= task.world.max_length for item in shown)


def test_visits_are_counted():
    """The second answer at a state is not the first one over again: its noise is that of the second visit."""
    seed = next(
        seed
        for seed in range(16)
        if illustrate_task(seed, 1, **FAST).belief.information.best_state()
        == first_belief(**FAST).information.best_state()
    )
    first, second = illustrate_task(seed, 2, **FAST).belief.demonstrations
    expert = make_world("jail", seed).expert
    for visit, shown in enumerate((first, second)):
        again = expert.with_seed(seed).demonstrate(Question(shown.start_state, visit, "trajectory", 20))
        assert shown.steps == again.steps


@pytest.mark.parametrize("num_demonstrations", [0, 1])
def test_summary_says_what_the_scores_say(num_demonstrations):
    task = illustrate_task(1, num_demonstrations, **FAST)
    found, scores = summarise_start(task), task.belief.information
    finite = scores.values[np.isfinite(scores.values)]
    assert (found.seed, found.num_demonstrations) == (1, num_demonstrations)
    assert found.information == scores.values[found.best_start] == finite.max()
    assert found.standard_error == scores.standard_error[found.best_start]
    assert found.is_corner == (found.best_start == CORNER)
    assert found.is_fenced == (found.best_start // 6 >= 3 and found.best_start % 6 >= 3)
    assert found.jail_information == pytest.approx(0.0, abs=1e-9)
    assert found.least_information == finite.min()
    rivals = 0
    for state in np.flatnonzero(np.isfinite(scores.values)):
        error = np.hypot(scores.standard_error[state], found.standard_error)
        rivals += state != found.best_start and found.information - scores.values[state] <= 2 * error
    assert found.num_rivals == rivals


@pytest.mark.parametrize("num_demonstrations", [0, 1, 2])
def test_action_entropy_asks_at_the_jail(num_demonstrations):
    found = summarise_start(illustrate_task(3, num_demonstrations, **FAST))
    assert found.entropy_start == JAIL
    assert found.entropy == pytest.approx(20 * np.log(5), abs=1e-6)
    assert found.entropy_information == found.jail_information


def test_fenced_in_starts_tell_most_before_any_answer():
    """The claim of the paper's figure on our layout: no start beats the bottom right one by more than chance would."""
    problem, scores = make_world("jail").problem, first_belief(2048, 512).information
    fenced = fenced_in(problem)
    others = problem.queryable & ~fenced
    assert scores.values[fenced].min() > scores.values[others].max() + 0.5
    error = np.hypot(scores.standard_error, scores.standard_error[CORNER])
    lead = scores.values[fenced] - scores.values[CORNER]
    assert (lead <= 4 * error[fenced]).all()  # 4 standard errors


def test_negligible_points_are_left_out():
    world = make_world("jail", 0)
    posterior = infer(world.problem, world.expert.answers([CORNER] * 3), "enumerate", num_points=512)
    kept = without_negligible(posterior, 1e-3)
    assert 1 < kept.num_samples < posterior.num_samples
    assert kept.weights.sum() == pytest.approx(1.0)
    lost = 1.0 - posterior.weights[np.isin(posterior.theta[:, 0], kept.theta[:, 0])].sum()
    assert 0.0 < lost <= 1e-3
    np.testing.assert_allclose(kept.mean_parameters(), posterior.mean_parameters(), atol=1e-3 * 100)  # theta in -100..0
    assert without_negligible(posterior, 0.0).num_samples == (posterior.weights > 0).sum()


def test_summaries_need_sampled_scores(task):
    broken = replace(task.belief, information=replace(task.belief.information, standard_error=None))
    with pytest.raises(InputError, match="needs trajectories on a grid"):
        summarise_start(replace(task, belief=broken))
