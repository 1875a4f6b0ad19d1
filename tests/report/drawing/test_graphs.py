"""Graphs are looked at through matplotlib's own objects, as grids are."""

import numpy as np
import pytest
from matplotlib.collections import EllipseCollection, LineCollection
from matplotlib.figure import Figure
from matplotlib.quiver import Quiver
from report.drawing.drawn_graphs import graph, labyrinth

from journeyman.acquisition import Scores
from journeyman.mdp.layouts import layout_of
from journeyman.problem import Problem
from journeyman.report import posterior_map, save_figure, state_map, summarise_world, world_figure
from journeyman.report.drawing.cells import hide_unknown
from journeyman.report.drawing.graphs import RADIUS
from journeyman.report.scores import titled_score_figure
from journeyman.rewards import Normal, PerState
from journeyman.wording import signed_number
from journeyman.worlds import World


def world_of(mdp, seed=0):
    problem = Problem(mdp, PerState(mdp), Normal(mdp.num_states), 2.0)
    return World("maze", seed, problem, problem.prior.sample(np.random.default_rng(seed), 1)[0])


def drawn(ax, kind):
    return [child for child in ax.get_children() if isinstance(child, kind)]


def test_the_labyrinth_is_drawn_as_nodes_lines_arrows_and_names(tmp_path):
    """Report friction: a maze without a grid was drawn as 127 bars."""
    mdp = labyrinth(6, state_labels=[f"n{state}" for state in range(127)])
    summary = summarise_world(world_of(mdp))
    figure = world_figure(summary)
    ax = figure.axes[0]
    places = layout_of(mdp).places
    nodes = drawn(ax, EllipseCollection)[0]
    np.testing.assert_allclose(nodes.get_offsets(), places)
    assert len(drawn(ax, LineCollection)[0].get_segments()) == 126
    assert [text.get_text() for text in ax.texts] == [
        f"n{state}\n{signed_number(reward)}" for state, reward in enumerate(summary.reward)
    ]
    assert not ax.containers and "optimal policy" in ax.get_title()
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels[0].startswith("optimal action") and "initial state" in labels
    save_figure(figure, tmp_path / "maze.svg")
    assert (tmp_path / "maze.svg").stat().st_size > 10_000


def test_arrows_lead_from_node_to_node_and_staying_is_a_dot():
    mdp = labyrinth(2)
    chosen = np.zeros((7, 4), dtype=bool)
    chosen[[0, 1, 2, 3], [3, 1, 2, 2]] = True  # stay, right, back, back
    ax = Figure(figsize=(6, 6)).add_subplot()
    state_map(ax, mdp, np.zeros(7), optimal=chosen)
    places = layout_of(mdp).places
    arrows = drawn(ax, Quiver)[0]
    tails, heads = np.column_stack([arrows.X, arrows.Y]), np.column_stack([arrows.U, arrows.V])
    for tail, way, (first, second) in zip(tails, heads, [(1, 4), (2, 0), (3, 1)], strict=True):
        step = places[second] - places[first]
        assert np.cross(np.append(step, 0), np.append(way, 0))[2] == pytest.approx(0.0, abs=1e-9)
        assert step @ way > 0
        np.testing.assert_allclose(tail, places[first] + RADIUS * step / np.linalg.norm(step))
    dots = [child for child in ax.collections if child.get_zorder() == 4]
    assert [len(dot.get_offsets()) for dot in dots] == [1]
    assert np.linalg.norm(dots[0].get_offsets()[0] - places[0]) < 1.1 * RADIUS


def test_arrows_that_meet_pass_each_other():
    mdp = graph(3, [(0, 1), (1, 2)])
    chosen = np.zeros((3, 2), dtype=bool)
    chosen[0, 0] = chosen[1, 0] = True  # 0 to 1, 1 to 0
    ax = Figure().add_subplot()
    state_map(ax, mdp, np.zeros(3), optimal=chosen)
    arrows = drawn(ax, Quiver)[0]
    assert arrows.Y[0] * arrows.Y[1] < 0  # one on each side of the line


def test_unsure_actions_have_weaker_arrows():
    mdp = labyrinth(2)
    chosen = np.zeros((7, 4), dtype=bool)
    chosen[1:, 2] = True
    ax = Figure().add_subplot()
    state_map(ax, mdp, np.zeros(7), optimal=chosen, certainty=np.linspace(0.1, 1.0, 7))
    strengths = drawn(ax, Quiver)[0].get_facecolor()[:, 3]
    assert (np.diff(strengths) > 0).all() and strengths[-1] == pytest.approx(1.0)


def test_terminal_and_initial_states_are_marked_and_unknown_ones_grey():
    mdp = graph(4, [(0, 1), (1, 2), (1, 3)], is_directed=True, initial=[1, 0, 0, 0])
    ax = Figure(figsize=(5, 5)).add_subplot()
    state_map(ax, mdp, [1.0, np.nan, 0.5, 2.0], is_diverging=False)
    nodes, *hatched = drawn(ax, EllipseCollection)
    assert sum(len(node.get_offsets()) for node in hatched) == 2
    assert all(node.get_hatch() for node in hatched)
    np.testing.assert_allclose(nodes.get_facecolor()[1], (0.85, 0.85, 0.85, 1.0))
    rings = [line for line in ax.lines if line.get_markerfacecolor() == "white"]
    assert [len(line.get_xdata()) for line in rings] == [1]
    chevrons = drawn(ax, LineCollection)[1]
    assert len(chevrons.get_segments()) == 3  # one-way links say where they lead
    texts = [text.get_text() for text in ax.texts]
    assert texts == ["0\n1", "1\n?", "2\n0.50", "3\n2"]


def test_long_names_are_broken_or_cut_and_dollars_are_no_formulas(tmp_path):
    names = ["room number 1", "a-name-that-has-no-end-at-all-whatever-the-size", "$x_{"]
    ax = Figure(figsize=(4, 3)).add_subplot()
    state_map(ax, graph(3, [(0, 1), (1, 2)], state_labels=names), [0.0, 1.0, 2.0])
    save_figure(ax.figure, tmp_path / "x.svg")
    first, second, third = (text.get_text().split("\n") for text in ax.texts)
    assert len(first) == 3 and " ".join(first[:2]) == names[0]
    assert second[0].endswith("…")
    assert third[0].replace("\\", "") == "$x_{"


def test_where_there_is_no_room_the_extremes_are_named():
    mdp = graph(300, [(state // 3, state) for state in range(1, 300)], state_labels=[f"s{i}" for i in range(300)])
    values = np.linspace(-1.0, 3.0, 300)
    figure = Figure(figsize=(4, 4))
    ax = figure.add_subplot()
    state_map(ax, mdp, values)
    assert {text.get_text() for text in ax.texts} == {"s299\n+3", "s0\n-1"}


def test_panels_of_large_graphs_lie_below_each_other():
    for mdp, is_below in ((labyrinth(2), False), (labyrinth(6), True)):
        problem = Problem(mdp, PerState(mdp), Normal(mdp.num_states), 2.0)
        figure = posterior_map(problem, np.zeros(mdp.num_states), np.ones(mdp.num_states))
        first, second = (ax.get_position() for ax in figure.axes[:2])
        assert (second.y1 < first.y0) == is_below


def test_scores_have_marks_at_the_nodes():
    mdp = labyrinth(4)
    values = np.where(np.arange(31) == 7, -np.inf, np.arange(31) / 31.0)
    scores = Scores("pac_eig", "state", None, "nats", values)
    ax = titled_score_figure(mdp, scores, np.array([3, 4]), 30, "title").axes[0]
    places = layout_of(mdp).places
    (star,) = (line for line in ax.lines if line.get_marker() == "*")
    assert (star.get_xdata()[0], round(star.get_ydata()[0] - 1.1 * RADIUS, 9)) == tuple(places[30].round(9))
    (squares,) = (line for line in ax.lines if line.get_marker() == "s")
    np.testing.assert_allclose(squares.get_xdata() - 0.75 * RADIUS, places[[3, 4], 0])
    assert ax.texts[7].get_text() == "7"  # its name, without a number


def test_what_is_not_known_has_no_sign_and_names_may_end_in_one():
    ax = Figure(figsize=(5, 3)).add_subplot()
    state_map(ax, graph(3, [(0, 1), (1, 2)], state_labels=["den", "here?", "?"]), [1.0, np.nan, 2.0])
    hide_unknown(ax)
    assert [text.get_text() for text in ax.texts] == ["den\n+1", "here?", "?\n+2"]
