"""Worlds with a memory are drawn once for each state of it: in pictures, in the terminal and for those who answer."""

from io import StringIO

import numpy as np
import pytest
from report.drawing.drawn_graphs import labyrinth
from rich.console import Console

from journeyman.mdp import FiniteMDP, Grid
from journeyman.mdp.layouts import drawing_kind, layout_of
from journeyman.memory import last_action, visited
from journeyman.report.drawing.cells import NEVER, WALL, add_legend, make_panels
from journeyman.report.drawing.maps import save_figure, state_map
from journeyman.report.drawing.situations import Situation, draw_situation, place_words
from journeyman.report.drawing.terminal_grid import fitting_sheet
from journeyman.study.sheet_form import draw_states

MOVES = [[-1, 0], [0, 1], [1, 0], [0, -1]]


def corridor():
    """Five cells in a row of 2 x 5, walls below but for the last, which is a dead end that one falls into."""
    cells = [(0, 0), (0, 1), (0, 2), (0, 3), (0, 4), (1, 4)]
    places = {cell: state for state, cell in enumerate(cells)}
    P = np.zeros((6, 4, 6))
    for (row, column), state in places.items():
        for action, (down, right) in enumerate(MOVES):
            P[state, action, places.get((row + down, column + right), state)] = 1.0
    P[5] = 0.0  # the end
    return FiniteMDP.from_dense(P, layout="SAS", discount=0.9, grid=Grid(2, 5, cells, MOVES), initial=np.eye(6)[0])


def drawn(mdp, values=None, optimal=None):
    figure, (ax,) = make_panels(mdp)
    state_map(ax, mdp, np.arange(mdp.num_states) - 3.0 if values is None else values, optimal=optimal)
    add_legend(figure, mdp, optimal)
    return figure, ax


def test_a_grid_has_a_panel_with_a_title_for_each_memory(tmp_path):
    world = corridor()
    product = world.with_memory(last_action(world))
    figure, ax = drawn(product)
    bold = [text.get_text() for text in ax.texts if text.get_fontweight() == "bold"]
    assert bold == ["first", "after 0", "after 1", "after 2", "after 3"]
    picture = np.asarray(ax.images[0].get_array())
    panels = product.memory.panels
    corners = panels.corners()
    row, column = corners[2]  # after moving to the right one is nowhere but where that leads: not in cell (1, 4)
    kept = set(panels.places[panels.numbers == 2].tolist())
    assert kept == {1, 2, 3, 4}
    for state, (r, c) in enumerate(world.grid.places.tolist()):
        assert (picture[row + r, column + c].tolist() == list(NEVER)) == (state not in kept)
    np.testing.assert_allclose(picture[row + 1, column], WALL)
    np.testing.assert_allclose(picture[row - 1, column : column + 5], 1.0)  # room for the title
    assert "never met with that memory" in [text.get_text() for text in figure.legends[0].get_texts()]
    save_figure(figure, tmp_path / "panels.png")


def test_a_graph_shows_the_world_in_every_panel_but_only_states_that_exist(tmp_path):
    world = labyrinth(2)
    product = world.with_memory(visited(world, 4, until=0))
    assert drawing_kind(product) == drawing_kind(world) == "graph"
    optimal = product.available.copy()
    figure, ax = drawn(product, optimal=optimal)
    titles = [text.get_text() for text in ax.texts if text.get_fontweight() == "bold"]
    assert titles == ["before 4", "after 4"]
    circles = ax.collections[1]  # lines come first
    assert len(circles.get_offsets()) == product.num_states < 14
    layout = layout_of(product)
    assert layout.names == tuple(world.state_name(place) for place in product.memory.places.tolist())
    save_figure(figure, tmp_path / "panels.png")


def test_a_memory_that_never_changes_is_not_drawn():
    world = corridor()
    still = world.with_memory(visited(world, 5))  # where episodes end
    assert still.num_states == world.num_states
    np.testing.assert_array_equal(still.grid.places, world.grid.places)
    _, ax = drawn(still)
    assert not [text for text in ax.texts if text.get_fontweight() == "bold"]


def test_terminals_show_panels_below_each_other():
    world = corridor()
    product = world.with_memory(visited(world, 2))
    console = Console(width=60, record=True, force_terminal=False, file=StringIO())
    sheet = fitting_sheet(console, product)
    texts = [[str(state).center(sheet.cell_width)] for state in range(product.num_states)]
    console.print(sheet.drawing(texts, np.zeros(product.num_states), 1.0))
    lines = [line.strip() for line in console.export_text().splitlines()]
    assert lines[0] == "before 2" and "after 2" in lines
    second = lines[lines.index("after 2") + 2]
    first = lines[2]
    assert first.strip("│").split("│")[0].strip() == "0"
    numbers = [int(part) for part in second.strip("│").split("│")]
    assert [int(product.memory.places[number]) for number in numbers] == [0, 1, 2, 3, 4]
    assert all(product.memory.label(number) == "after 2" for number in numbers)


@pytest.mark.parametrize("world", [corridor(), labyrinth(2)], ids=["grid", "graph"])
def test_situations_and_forms_show_the_world_and_say_what_is_remembered(world):
    product = world.with_memory(visited(world, 1))
    state = next(s for s in range(world.num_states, product.num_states) if product.memory.places[s] == 0)
    console = Console(width=70, no_color=True, force_terminal=False)
    keys = {action: str(action) for action in np.flatnonzero(product.available[state]).tolist()}
    lines = draw_situation(console, Situation(product, state, keys, (state,)), 70, 20)
    assert lines[0].plain == "remembered: after 1"
    same = draw_situation(console, Situation(world, 0, keys, (0,)), 70, 19)
    assert [line.plain for line in lines[1:]] == [line.plain for line in same]
    assert place_words(product, state) == f"{place_words(world, 0)}, after 1"
    pictures = [draw_states(mdp) for mdp in (world, product)]
    assert pictures[0].svg == pictures[1].svg
    np.testing.assert_array_equal(pictures[1].places[state], pictures[0].places[0])
