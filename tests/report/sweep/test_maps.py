import numpy as np
import pytest
from experiment.statistics.made_tables import METHODS, made_table
from matplotlib.collections import EllipseCollection
from report.drawing.drawn_graphs import labyrinth

from journeyman.errors import InputError
from journeyman.experiment.statistics.queries import counts_per_state
from journeyman.problem import Problem
from journeyman.report.sweep.maps import query_map_figure, world_of
from journeyman.rewards import Normal, PerState
from journeyman.worlds import WORLDS, World


def panels(figure):
    return {ax.get_title(loc): ax for ax in figure.axes for loc in ("left", "center") if ax.get_title(loc) in METHODS}


def title_of(figure):
    """Return the title without its line breaks."""
    return " ".join(figure.get_suptitle().split())


def numbers_of(ax):
    """Return the numbers that are shown in a panel."""
    texts = [text.get_text() for text in ax.texts if text.get_visible()]
    return [float(text) for text in texts if text.replace(".", "").isdigit()]


def test_each_method_has_a_map_of_its_queries():
    table = made_table(num_steps=20)
    drawn = panels(query_map_figure(table, seed=2, first=10))
    assert list(drawn) == sorted(METHODS)
    world = world_of(table, 2)
    assert world.seed == 2
    assert world.problem.mdp.num_states == 9
    for method, ax in drawn.items():
        part = table[(table["method"] == method) & (table["seed"] == 2)]
        counts = counts_per_state(part, 9, first=10)
        shown = counts[world.problem.queryable & (counts > 0)]
        assert numbers_of(ax) == shown.tolist()


def test_instances_that_are_different_places_are_not_added_up():
    figure = query_map_figure(made_table(num_steps=20))
    assert title_of(figure).endswith("where the first 20 queries were put, seed 0")


def test_instances_that_are_the_same_place_are():
    table = made_table(world="jail", world_name="jail", world_options="{}", num_states=36, num_steps=30)
    figure = query_map_figure(table)
    assert title_of(figure).endswith("average of 4 seeds")
    means = counts_per_state(table[table["method"] == "random"], 36) / 4
    expected = means[world_of(table, 0).problem.queryable & (means > 0)]
    np.testing.assert_allclose(numbers_of(panels(figure)["random"]), expected, atol=0.0051)  # two decimals


def test_the_instance_that_most_methods_have_met_is_taken():
    table = made_table(num_steps=5)
    figure = query_map_figure(table[~((table["seed"] == 0) & (table["method"] == "random"))])
    assert title_of(figure).endswith("seed 1")


def test_worlds_without_a_grid_have_bars():
    table = made_table(world="bandit", world_name="bandit", world_options="{}", num_states=64, num_steps=20)
    figure = query_map_figure(table, seed=1)
    for method, ax in panels(figure).items():
        counts = counts_per_state(table[(table["method"] == method) & (table["seed"] == 1)], 64)
        assert [bar.get_height() for bar in ax.patches] == counts.tolist()


def test_worlds_that_are_graphs_have_a_graph_per_method():
    def maze(seed=0):
        """A labyrinth of seven nodes."""
        mdp = labyrinth(2)
        problem = Problem(mdp, PerState(mdp), Normal(7), 2.0)
        return World("maze", seed, problem, problem.prior.sample(np.random.default_rng(seed), 1)[0])

    WORLDS.register("maze", maze)
    try:
        table = made_table(world="maze", world_name="maze", world_options="{}", num_states=7, num_steps=20)
        drawn = panels(query_map_figure(table, seed=1))
    finally:
        WORLDS.unregister("maze")
    for method, ax in drawn.items():
        nodes = next(child for child in ax.collections if isinstance(child, EllipseCollection))
        assert len(nodes.get_offsets()) == 7
        counts = counts_per_state(table[(table["method"] == method) & (table["seed"] == 1)], 7)
        assert numbers_of(ax) == counts[counts > 0].tolist()  # and no names, for which there is no room


def test_titles_fit_narrow_figures():
    labels = {"world": "lopes-two-state", "world_name": "lopes-two-state", "world_options": "{}", "num_states": 2}
    grid = made_table(num_steps=20, methods=("random", "nuPAC-EIG"), world="a grid with a long label")
    for table in (made_table(num_steps=20, **labels), grid):
        figure = query_map_figure(table)
        figure.canvas.draw()
        extent = figure._suptitle.get_window_extent()
        assert 0.0 <= extent.x0 < extent.x1 <= figure.bbox.width
        assert title_of(figure).startswith(table["world"].iloc[0])


def test_a_method_without_this_seed_has_an_empty_map():
    table = made_table(num_steps=5)
    part = table[~((table["seed"] == 1) & (table["method"] == "random"))]
    assert numbers_of(panels(query_map_figure(part, seed=1))["random"]) == []


def test_a_wrong_seed_is_said():
    with pytest.raises(InputError, match=r"got 9\. It has: 0, 1, 2, 3"):
        query_map_figure(made_table(num_steps=2), seed=9)
