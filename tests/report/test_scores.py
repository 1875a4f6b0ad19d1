import io
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from journeyman.acquisition import Scores, score
from journeyman.inference import infer
from journeyman.report.scores import (
    ScoreMap,
    print_scores,
    scaled_scores,
    score_figure,
    score_label,
    score_record,
    score_scale,
)
from journeyman.worlds import make_world


@pytest.fixture(scope="module")
def found():
    world = make_world("random-grid", 0, size=4)
    answers = world.expert.answers(np.flatnonzero(world.problem.queryable)[[0, 0, 1]])
    posterior = infer(world.problem, answers, "smc", num_particles=200)
    return ScoreMap.of_world(world, answers, posterior, score(posterior, "reward_eig"))


def with_values(found, values):
    scores = Scores("reward_eig", "state", None, "nats", np.asarray(values, dtype=float))
    return replace(found, scores=scores)


def printed(found, width=100):
    console = Console(file=io.StringIO(), width=width)
    print_scores(console, found)
    return console.file.getvalue()


def test_numbers_of_the_map(found):
    states = np.flatnonzero(found.problem.queryable)
    assert found.times_asked[states[:3]].tolist() == [2, 1, 0]
    assert found.order[0] == np.argmax(found.scores.values)
    assert len(found.order) == len(states)
    assert np.isnan(scaled_scores(found.scores)[~found.problem.queryable]).all()


@pytest.mark.parametrize(
    ("largest", "scale", "unit"),
    [(5.0, 1.0, "nats"), (0.1, 1.0, "nats"), (0.02, 1e3, "thousandths of nats"), (1e-5, 1e6, "millionths of nats")],
)
def test_small_scores_are_scaled(found, largest, scale, unit):
    values = np.where(found.problem.queryable, largest, -np.inf)
    shown = with_values(found, values)
    assert (score_scale(shown.scores), score_label(shown.scores)) == (scale, f"score in {unit}")
    assert np.nanmax(scaled_scores(shown.scores)) == pytest.approx(largest * scale)


@pytest.mark.parametrize(
    ("unit", "largest", "label"),
    [("bits", 2.0, "score in bits"), ("", 2.0, "score"), ("", 0.02, "score in thousandths")],
)
def test_any_unit_or_none_is_printed_and_drawn(found, unit, largest, label):
    values = np.where(found.problem.queryable, largest, -np.inf)
    shown = replace(found, scores=replace(found.scores, values=values, unit=unit))
    assert score_label(shown.scores) == label
    assert f"in {unit}" in printed(shown) if unit else "without a unit" in printed(shown)
    assert score_record(shown)["unit"] == unit


def test_drawing_names_what_it_shows(found):
    text = printed(found)
    best = int(found.order[0])
    assert f"[{scaled_scores(found.scores)[best]:.2f}]" in text
    assert "x2" in text
    assert f"ask next   state {best}" in text
    assert max(len(line) for line in text.splitlines()) <= 100


def test_narrow_terminals_get_tenths(found):
    text = printed(found, width=20)
    assert "[9]" in text
    assert "tenths of" in text


def test_equal_scores_are_said(found):
    values = np.where(found.problem.queryable, 0.0, -np.inf)
    text = " ".join(printed(with_values(found, values)).split())
    assert "more are equally good, and chance would decide" in text


def test_worlds_without_a_grid_get_a_table():
    world = make_world("bandit")
    posterior = infer(world.problem, (), "enumerate")
    text = printed(ScoreMap.of_world(world, (), posterior, score(posterior, "expected_regret")))
    assert "52 more states: --json lists them" in text
    assert "units of reward" in text


def test_warnings_are_shown():
    world = make_world("bandit")
    posterior = infer(world.problem, (), "enumerate")
    text = printed(ScoreMap.of_world(world, (), posterior, score(posterior, "pac_eig")))
    assert "Warning: all scores were 0" in text


def test_figure_marks_the_best_state(found):
    figure = score_figure(found)
    ax = figure.axes[0]
    assert "reward_eig, 3 asked" in ax.get_title(loc="left")
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["asked next", "asked before"]
    row, column = found.problem.mdp.grid.places[found.order[0]]
    marks = [line for line in ax.lines if line.get_marker() == "*"]
    assert [line.get_xdata()[0] for line in marks] == [column]
    assert [round(line.get_ydata()[0] + 0.15) for line in marks] == [row]


def test_figure_without_a_grid():
    world = make_world("brown-two-state")
    posterior = infer(world.problem, (), "enumerate")
    figure = score_figure(ScoreMap.of_world(world, (), posterior, score(posterior, "active_var")))
    assert figure.axes[0].get_ylabel() == "score in units of reward"


def test_record(found):
    record = score_record(found)
    assert record["best_state"] == found.order[0]
    assert [value is None for value in record["scores"]] == (~found.problem.queryable).tolist()
    assert record["standard_error"] is None
