"""Where states are drawn: what a reader would see from the places alone."""

import numpy as np
import pytest
from report.drawing.drawn_graphs import graph, labyrinth, ring
from scipy.spatial.distance import pdist

from journeyman.mdp import FiniteMDP
from journeyman.mdp.layouts import drawing_kind, layout_of, likely_moves
from journeyman.memory import Memory, last_action
from journeyman.worlds import gridworld, make_world


def copy_of(mdp):
    """The same problem as another object, for which nothing was computed yet."""
    names = ("discount", "initial", "available", "terminal", "state_labels", "action_labels", "coordinates")
    return FiniteMDP(rows=mdp.rows, **{name: getattr(mdp, name) for name in names})


MADE = {
    "tree of 7": labyrinth(2),
    "tree of 31": labyrinth(4),
    "tree of 127": labyrinth(6),
    "ring": ring(12),
    "line": graph(9, [(state, state + 1) for state in range(8)]),
    "long line": graph(40, [(state, state + 1) for state in range(39)]),
    "layers": graph(6, [(0, 1), (0, 2), (1, 3), (2, 3), (2, 4), (3, 5), (4, 5)], is_directed=True),
    "star": graph(40, [(0, state) for state in range(1, 40)]),
    "parts": graph(9, [(0, 1), (1, 2), (2, 0), (3, 4), (5, 6), (6, 7)]),
    "mesh": graph(16, [(4 * r + c, 4 * r + c + 1) for r in range(4) for c in range(3)]
                  + [(4 * r + c, 4 * r + c + 4) for r in range(3) for c in range(4)]),
}  # fmt: skip


@pytest.mark.parametrize("name", MADE)
def test_states_lie_apart_and_the_same_problem_is_drawn_the_same(name):
    mdp = MADE[name]
    layout = layout_of(mdp)
    assert drawing_kind(mdp) == "graph"
    assert layout.places.shape == (mdp.num_states, 2)
    assert pdist(layout.places).min() > 0.6  # nodes, 0.72 wide where most are 1 apart, hardly overlap
    np.testing.assert_array_equal(layout_of(copy_of(mdp)).places, layout.places)


@pytest.mark.parametrize("num_forks", [4, 6])
def test_a_labyrinth_of_forks_is_an_h_without_crossings(num_forks):
    mdp = labyrinth(num_forks)
    layout = layout_of(mdp)
    ends = layout.places[layout.links.pairs]
    assert len(ends) == mdp.num_states - 1
    steps = np.abs(ends[:, 1] - ends[:, 0])
    assert (steps.min(axis=1) == 0).all()  # corridors run along an axis
    assert len(np.unique(layout.places.round(6), axis=0)) == mdp.num_states
    width, height = layout.extent
    assert 0.5 < width / height < 2.0
    on_way = np.concatenate([ends[:, 0] + t * (ends[:, 1] - ends[:, 0]) for t in (0.25, 0.5, 0.75)])
    nearest = np.linalg.norm(on_way[:, None] - layout.places[None], axis=2)
    own = np.tile(layout.links.pairs, (3, 1))
    for column in (0, 1):
        nearest[np.arange(len(on_way)), own[:, column]] = np.inf
    assert nearest.min() > 0.5  # no corridor passes another node
    left, right = layout.places[[1, 2]]
    assert left[0] < layout.places[0, 0] < right[0]


def test_small_trees_grow_downwards_from_the_initial_state():
    places = layout_of(labyrinth(2)).places
    depth = np.array([0, 1, 1, 2, 2, 2, 2])
    assert (np.diff(places[np.argsort(depth, kind="stable"), 1]) <= 0).all()
    assert places[0, 0] == pytest.approx(places[[1, 2], 0].mean())
    assert (np.diff(places[3:, 0]) > 0).all()


def test_a_graph_without_cycles_lies_in_layers():
    mdp = MADE["layers"]
    layout = layout_of(mdp)
    first, second = layout.places[layout.links.pairs].transpose(1, 0, 2)
    assert layout.links.is_one_way.all()
    assert (first[:, 1] > second[:, 1]).all()


def test_distances_on_paper_are_those_in_the_graph():
    places = layout_of(ring(12)).places
    radii = np.linalg.norm(places - places.mean(axis=0), axis=1)
    np.testing.assert_allclose(radii, radii.mean(), rtol=0.01)
    places = layout_of(MADE["mesh"]).places  # a 4 x 4 grid comes out square
    corners = places[[0, 3, 15, 12]]
    sides = np.linalg.norm(corners - np.roll(corners, 1, axis=0), axis=1)
    np.testing.assert_allclose(sides, sides.mean(), rtol=0.05)


def test_coordinates_are_taken_as_they_are():
    given = np.array([[0.0, 0.0], [10.0, 0.0], [10.0, 5.0], [0.0, 5.0]])
    mdp = graph(4, [(0, 1), (1, 2), (2, 3)], coordinates=given)
    np.testing.assert_allclose(layout_of(mdp).places, given / 5.0)
    two = FiniteMDP.from_dense(np.eye(2)[:, None], layout="SAS", discount=0.9, coordinates=[[0, 0], [1, 1]])
    assert drawing_kind(two) == "graph"
    same = graph(3, [(0, 1), (1, 2)], coordinates=np.zeros((3, 2)))
    assert np.isfinite(layout_of(same).places).all()


def test_what_cannot_be_read_as_a_graph_has_bars():
    rng = np.random.default_rng(0)
    assert drawing_kind(make_world("bandit").problem.mdp) == "bars"  # nothing joins the states
    assert drawing_kind(make_world("brown-two-state").problem.mdp) == "bars"
    line = [(state, state + 1) for state in range(500)]
    assert drawing_kind(graph(501, line)) == "bars"
    assert drawing_kind(graph(501, line, coordinates=np.arange(1002.0).reshape(501, 2))) == "graph"
    assert drawing_kind(graph(3001, line, coordinates=np.zeros((3001, 2)))) == "bars"
    dense = FiniteMDP.from_dense(np.full((40, 1, 40), 1 / 40), layout="SAS", discount=0.9)
    assert drawing_kind(dense) == "bars"
    few = FiniteMDP.from_dense(rng.dirichlet(np.ones(5), size=(5, 2)), layout="SAS", discount=0.9)
    assert drawing_kind(few) == "graph"
    assert drawing_kind(gridworld(2, 2)) == "grid"


def test_slips_do_not_hide_the_shape():
    """A move that leads elsewhere with a small chance is drawn where it mostly leads."""
    sure = labyrinth(4)
    jumpy = FiniteMDP.from_dense(
        np.where(sure.available[..., None], 0.9 * sure.dense_transitions() + 0.1 * np.eye(31)[5], 0.0),
        layout="SAS", discount=0.9, available=sure.available, initial=sure.initial,
    )  # fmt: skip
    np.testing.assert_array_equal(layout_of(jumpy).places, layout_of(sure).places)


def test_copies_of_one_problem_lie_in_panels_and_are_joined_within():
    names = tuple(f"n{state}" for state in range(7))
    base = labyrinth(2, state_labels=names)
    unrolled = base.unrolled(3)
    layout = layout_of(unrolled)
    assert [title for title, *_ in layout.panels] == ["at 0", "at 1", "at 2"]
    assert layout.names == names * 3
    blocks = layout.places.reshape(3, 7, 2)
    np.testing.assert_allclose(blocks[0], layout_of(base).places)
    np.testing.assert_allclose(blocks[1] - blocks[0], np.tile(blocks[1, 0] - blocks[0, 0], (7, 1)), atol=1e-12)
    boxes = [(block.min(axis=0) - 0.5, block.max(axis=0) + 0.5) for block in blocks]
    for i, (low, high) in enumerate(boxes):
        for other_low, other_high in boxes[i + 1 :]:
            assert (high < other_low).any() or (other_high < low).any()  # panels do not touch
    assert (layout.links.pairs[:, 0] // 7 == layout.links.pairs[:, 1] // 7).all()
    left = np.zeros((21, 4), dtype=bool)
    left[[0, 7, 14], 0] = True
    assert likely_moves(unrolled, left).tolist() == [[0, 1], [7, 8]]  # after the last step nothing follows
    given = labyrinth(2, coordinates=layout_of(base).places).unrolled(3)
    assert [title for title, *_ in layout_of(given).panels] == ["at 0", "at 1", "at 2"]
    assert drawing_kind(given) == drawing_kind(unrolled) == "graph"


def test_what_a_memory_adds_is_a_panel_with_its_name():
    mdp = labyrinth(2, state_labels=[f"room {state}" for state in range(7)])
    following = np.zeros((2, 7, 4), dtype=int)
    following[1] = 1
    following[0, 4] = 1
    product = mdp.with_memory(Memory("has drunk", following, ("thirsty", "sated")))
    layout = layout_of(product)
    assert [title for title, *_ in layout.panels] == ["thirsty", "sated"]
    assert layout.names[:2] == ("room 0", "room 1")


def test_places_that_a_memory_never_meets_keep_their_lines_and_arrows():
    mdp = labyrinth(2)
    product = mdp.with_memory(last_action(mdp))
    layout, size = layout_of(product), product.num_states
    num_panels = len(layout.panels)
    assert size < num_panels * 7 == len(layout.places)
    assert len(layout.links.pairs) == num_panels * len(layout_of(mdp).links.pairs)
    every = np.zeros((size, 4), dtype=bool)
    every[:, 0] = True
    moves = likely_moves(product, every)
    # What was left of a fork is drawn as left of it, though the panel of its state may have no state there.
    world = layout_of(mdp)
    assert (moves[:, 1] >= size).any()
    for state, end in moves.tolist():
        place = int(product.memory.places[state])
        expected = world.places[int(mdp.next_states(place, 0)[0][0])] - world.places[place]
        np.testing.assert_allclose(layout.places[end] - layout.places[state], expected, atol=1e-12)


def test_brackets_in_labels_alone_make_no_copies():
    labels = ("room (north)", "room (south)", "hall (north)", "den")
    assert layout_of(graph(4, [(0, 1), (1, 2), (2, 3)], state_labels=labels)).panels == ()
