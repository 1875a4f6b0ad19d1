"""Figures are looked at through matplotlib's own objects: what is drawn, where, in which colour."""

import os
import struct
import subprocess
import sys

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.quiver import Quiver

from journeyman.errors import InputError
from journeyman.mdp import FiniteMDP, Grid
from journeyman.report import posterior_map, save_figure, state_map, summarise_world, world_figure
from journeyman.report.drawing.maps import FORMATS
from journeyman.wording import signed_number
from journeyman.worlds import WORLDS, gridworld, make_world


def axes_of(mdp, values, **options):
    ax = Figure().add_subplot()
    state_map(ax, mdp, values, **options)
    return ax


def png_size(data):
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert data.endswith(b"IEND\xaeB`\x82")
    return struct.unpack(">II", data[16:24])


def texts_of(ax):
    return [text.get_text() for text in ax.texts]


def hatched(ax):
    return [patch for patch in ax.patches if isinstance(patch, Rectangle) and patch.get_hatch()]


@pytest.mark.parametrize("name", WORLDS)
def test_every_world_makes_a_picture(name, tmp_path):
    path = tmp_path / "world.png"
    save_figure(world_figure(summarise_world(make_world(name, 3))), path)
    width, height = png_size(path.read_bytes())
    assert 500 < width < 3000
    assert 400 < height < 2000
    assert [file.name for file in tmp_path.iterdir()] == ["world.png"]


def test_grid_shows_numbers_terminals_initial_states_and_arrows():
    world = make_world("random-10x10", 3)
    summary, mdp = summarise_world(world), world.problem.mdp
    ax = world_figure(summary).axes[0]
    assert texts_of(ax) == [signed_number(reward) for reward in world.reward]
    corners = {(round(patch.get_y() + 0.5), round(patch.get_x() + 0.5)) for patch in hatched(ax)}
    assert corners == {tuple(cell) for cell in mdp.grid.places[mdp.terminal].tolist()}
    rings = next(line for line in ax.lines if line.get_markerfacecolor() == "white")
    cells = np.round(np.column_stack([rings.get_ydata(), rings.get_xdata()]) + 0.36)
    assert cells.tolist() == mdp.grid.places[mdp.initial > 0].tolist()
    arrows = next(child for child in ax.get_children() if isinstance(child, Quiver))
    is_move = mdp.grid.moves.any(axis=1)
    acting = summary.optimal[~mdp.terminal]
    assert len(arrows.X) == acting[:, is_move].sum()
    dots = next(child for child in ax.collections if child.get_zorder() == 4 and not isinstance(child, Quiver))
    assert len(dots.get_offsets()) == acting[:, ~is_move].sum()


def test_arrows_point_where_actions_go():
    world = make_world("jail", 3)
    summary, mdp = summarise_world(world), world.problem.mdp
    ax = world_figure(summary).axes[0]
    arrows = next(child for child in ax.get_children() if isinstance(child, Quiver))
    drawn = {
        (round(y), round(x), np.sign(v), np.sign(u))
        for x, y, u, v in zip(arrows.X, arrows.Y, arrows.U, arrows.V, strict=True)
    }
    states, actions = np.nonzero(summary.optimal & ~mdp.terminal[:, None] & mdp.grid.moves.any(axis=1))
    expected = np.column_stack([mdp.grid.places[states], mdp.grid.moves[actions]])
    assert drawn == {tuple(row) for row in expected.tolist()}
    assert ax.yaxis_inverted()  # row 0 is at the top, so a positive row step points down


def test_kinds_are_labelled():
    ax = world_figure(summarise_world(make_world("jail", 3))).axes[0]
    for kind, count in {"goal": 1, "jail": 1, "mud": 3, "water": 1, "lava": 2, "neutral": 0}.items():
        assert texts_of(ax).count(kind) == count


def test_colours_are_symmetric_around_zero():
    mdp = gridworld(1, 3)
    ax = axes_of(mdp, [-2.0, 0.0, 1.0], label="reward")
    bar = ax.child_axes[0]
    assert bar.get_ylim() == (-2.0, 2.0)
    assert bar.get_ylabel() == "reward"
    picture = ax.images[0].get_array()
    left, middle, right = (picture[0, column, :3] for column in range(3))
    assert left[0] > left[2]  # red
    assert np.ptp(middle) < 0.02
    assert right[2] > right[0]  # blue
    assert axes_of(mdp, [-2.0, 0.0, 1.0], limit=5).child_axes[0].get_ylim() == (-5.0, 5.0)
    assert axes_of(mdp, [0.0, 0.0, 0.0]).child_axes[0].get_ylim() == (-1.0, 1.0)


def test_one_sided_maps_start_at_zero_and_have_no_plus():
    ax = axes_of(gridworld(1, 3), [0.5, 0.0, 3.0], is_diverging=False)
    assert ax.child_axes[0].get_ylim() == (0.0, 3.0)
    assert texts_of(ax) == ["0.50", "0", "3"]


def test_unknown_values_and_walls_are_grey():
    mdp = FiniteMDP.from_dense(
        np.tile(np.eye(3), (2, 1, 1)),
        layout="ASS",
        discount=0.9,
        grid=Grid(2, 2, cells=np.array([[0, 0], [0, 1], [1, 1]])),
    )
    ax = axes_of(mdp, [1.0, -np.inf, np.nan], label="score")
    colours = ax.images[0].get_array()
    assert to_hex(colours[0, 1]) == to_hex(colours[1, 1]) == "#d9d9d9"
    assert to_hex(colours[1, 0]) == "#595959"
    assert texts_of(ax) == ["+1", "-inf", "?"]
    assert ax.child_axes[0].get_ylim() == (-1.0, 1.0)


def test_values_per_action_are_averaged_on_a_grid():
    mdp = gridworld(1, 2)
    values = np.arange(10.0).reshape(2, 5)
    assert texts_of(axes_of(mdp, values)) == ["+2", "+7"]


def test_without_a_grid_there_are_bars():
    summary = summarise_world(make_world("brown-two-state", 3))
    ax = world_figure(summary).axes[0]
    heights = np.array([[bar.get_height() for bar in group] for group in ax.containers])
    np.testing.assert_allclose(heights.T, summary.q)
    stars = [line for line in ax.lines if line.get_marker() == "*"]
    assert sum(len(line.get_xdata()) for line in stars) == summary.optimal.sum()
    one_per_state = axes_of(summary.mdp, [3.0, -np.inf], label="score")
    assert len(one_per_state.containers) == 1
    assert one_per_state.get_ylabel() == "score"


def test_many_states_without_a_grid_become_lines():
    mdp = FiniteMDP.from_dense(np.zeros((500, 1, 500)), layout="SAS", discount=0.9)
    ax = axes_of(mdp, np.arange(500.0))
    assert not ax.containers
    assert len(ax.lines[0].get_xdata()) == 500


def test_large_grids_drop_what_has_no_room():
    world = make_world("random-grid", 3, size=20)
    ax = world_figure(summarise_world(world)).axes[0]
    assert not ax.texts
    assert hatched(ax)
    figure = world_figure(summarise_world(make_world("random-grid", 3, size=60)))
    assert not hatched(figure.axes[0])
    assert not figure.legends
    assert "policy" not in figure.axes[0].get_title()


def test_dollars_are_not_formulas(tmp_path):
    mdp = gridworld(1, 3, grid=Grid(1, 3, kinds=("$x", "$y$", "$y$")))
    ax = axes_of(mdp, [0.0, 1.0, 2.0], label="$a_{")
    save_figure(ax.figure, tmp_path / "x.svg")
    bars = FiniteMDP.from_dense(
        np.zeros((1, 2, 1)), layout="SAS", discount=0.9, state_labels=["$_{$"], action_labels=["$^{$", "b"]
    )
    bar_axes = axes_of(bars, [[0.0, 1.0]])
    save_figure(bar_axes.figure, tmp_path / "y.svg")  # a formula that is none would be an error here
    shown = [text.get_text() for text in bar_axes.get_xticklabels()]
    assert [text.replace("\\", "") for text in shown] == ["$_{$"]


@pytest.mark.parametrize("name", ["jail", "brown-two-state"])
def test_posterior_map_has_two_panels(name, tmp_path):
    problem = make_world(name).problem
    rewards = problem.reward_model.reward(problem.prior.sample(np.random.default_rng(0), 100))
    figure = posterior_map(problem, rewards.mean(axis=0), rewards.std(axis=0), title="After 0 demonstrations")
    assert [ax.get_title() for ax in figure.axes[:2]] == ["posterior mean", "posterior standard deviation"]
    assert figure.get_suptitle() == "After 0 demonstrations"
    save_figure(figure, tmp_path / "posterior.png")
    assert min(png_size((tmp_path / "posterior.png").read_bytes())) > 500


def test_posterior_map_refuses_what_does_not_fit():
    problem = make_world("random-8x8").problem
    with pytest.raises(InputError, match=r"must have shape \(64,\) or \(64, 5\), got \(36,\)"):
        posterior_map(problem, np.zeros(36), np.zeros(36))
    with pytest.raises(InputError, match="same shape"):
        posterior_map(problem, np.zeros(64), np.zeros((64, 5)))
    with pytest.raises(InputError, match="at least 0, got -1"):
        posterior_map(problem, np.zeros(64), np.full(64, -1.0))


@pytest.mark.parametrize("ending", FORMATS)
def test_every_format_can_be_written(ending, tmp_path):
    path = tmp_path / f"picture.{ending.upper()}"
    save_figure(Figure(figsize=(1, 1)), path)
    assert path.stat().st_size > 100


def test_file_has_the_usual_permissions(tmp_path):
    (tmp_path / "usual").touch()
    save_figure(Figure(figsize=(1, 1)), tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_mode == (tmp_path / "usual").stat().st_mode


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "must go to a file, got the folder"),
        ("picture", r"must end in one of \.png, .*, got 'picture'"),
        ("picture.xyz", r"must end in one of \.png, .*, got 'picture.xyz'"),
        ("nowhere/picture.png", "folder of a picture must exist"),
    ],
)
def test_bad_paths_are_refused(name, message, tmp_path):
    with pytest.raises(InputError, match=message):
        save_figure(Figure(), tmp_path / name)
    assert not list(tmp_path.iterdir())


class BrokenFigure(Figure):
    def savefig(self, file, **options):
        file.write(b"half")
        raise RuntimeError("drawing failed")


def test_failed_drawing_leaves_the_old_file(tmp_path):
    path = tmp_path / "picture.png"
    path.write_bytes(b"old")
    with pytest.raises(RuntimeError, match="drawing failed"):
        save_figure(BrokenFigure(), path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_failed_writing_leaves_the_old_file(tmp_path, monkeypatch):
    def fail(*arguments):
        raise OSError(28, "No space left on device")

    path = tmp_path / "picture.png"
    path.write_bytes(b"old")
    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(InputError, match=r"can be written, got .*: No space left on device"):
        save_figure(Figure(figsize=(1, 1)), path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_global_state_of_matplotlib_is_left_alone():
    code = """
import sys
from journeyman.report import summarise_world, world_figure
from journeyman.worlds import make_world
assert "matplotlib" not in sys.modules
world_figure(summarise_world(make_world("jail")))
assert "matplotlib" in sys.modules
assert "matplotlib.pyplot" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
