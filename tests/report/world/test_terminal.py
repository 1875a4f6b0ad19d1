"""Drawings in the terminal are read back and compared with the numbers that they show."""

import io

import numpy as np
import pytest
from rich.console import Console

from journeyman.mdp import FiniteMDP, Grid
from journeyman.problem import Problem
from journeyman.report.drawing.terminal_grid import UNICODE, cell_style
from journeyman.report.world.summary import summarise_world, world_entries
from journeyman.report.world.terminal import print_world, print_worlds
from journeyman.rewards import Normal, PerState
from journeyman.wording import signed_number
from journeyman.worlds import WORLDS, World, gridworld, make_world


def drawn(world, *, width=80, encoding="utf-8", colour=None, **options):
    """Return what is printed for a world."""
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding, write_through=True, newline="\n")
    console = Console(file=file, width=width, color_system=colour, force_terminal=colour is not None)
    print_world(console, summarise_world(world), **options)
    return file.buffer.getvalue().decode(encoding)


def cells_of(text, num_rows, num_columns):
    """Return the stripped lines of text of every cell of a drawing, row by row."""
    blocks, block = [], []
    for line in text.splitlines():
        if "│" in line:
            block.append(line.split("│")[1:-1])
        elif block:
            blocks.append(block)
            block = []
    assert len(blocks) == num_rows
    return [[lines[column] for lines in block] for block in blocks for column in range(num_columns)]


def legend_of(text):
    return {line.split("  ")[0] for line in text.splitlines() if "  " in line and not line.startswith(" ")}


@pytest.mark.parametrize("name", WORLDS)
def test_every_world_fits_80_columns(name):
    text = drawn(make_world(name, 3), shows_all=True)
    assert max(len(line) for line in text.splitlines()) <= 80
    for word in ("initial state", "true reward", "V*(rho)", "expert", "optimal action"):
        assert word in text


@pytest.mark.parametrize("name", ["random-8x8", "random-10x10"])
def test_cells_show_reward_policy_and_marks(name):
    world = make_world(name, 3)
    summary, mdp = summarise_world(world), world.problem.mdp
    cells = cells_of(drawn(world), mdp.grid.num_rows, mdp.grid.num_columns)
    for state, (first, second) in enumerate(cells):
        assert first.strip(" *") == signed_number(world.reward[state])
        moves = mdp.grid.moves[summary.optimal[state]].tolist()
        arrows = "".join(UNICODE.arrows[row, column] for row, column in moves)
        assert second.strip() == ("end" if mdp.terminal[state] else arrows)
        is_marked = name == "random-10x10" and mdp.initial[state] > 0
        assert ("*" in first) == is_marked


def test_kinds_of_the_jail_are_named():
    world = make_world("jail", 3)
    text = drawn(world)
    kinds = world.problem.mdp.grid.kinds
    for kind, cell in zip(kinds, cells_of(text, 6, 6), strict=True):
        assert cell[0].strip(" *") == ("" if kind == "neutral" else kind)
        assert ("*" in cell[0]) == (kind not in ("goal", "jail"))
    assert cells_of(text, 6, 6)[30][2].strip() == "any"
    assert cells_of(text, 6, 6)[0][2].strip() == "end"
    for name, value in zip(("mud", "water", "lava"), world.true_parameters, strict=True):
        assert f"{name} {value:.2f}" in text


def test_legend_explains_what_occurs_and_no_more():
    jail, grid = drawn(make_world("jail", 3)), drawn(make_world("random-8x8", 3))
    assert {"+ -", "end", "*", "any", "words", "numbers"} <= legend_of(jail)
    assert {"+ -", "end", "↑ → ↓ ←", "•", "numbers"} <= legend_of(grid)
    assert not {"*", "any", "words"} & legend_of(grid)  # all states are initial, and a sentence says so
    assert "any state, equally likely" in grid


def test_colours_only_where_the_terminal_has_them():
    world = make_world("jail", 3)
    plain, colourful = drawn(world), drawn(world, colour="truecolor")
    assert "\x1b" not in plain
    assert "blue above 0" not in plain
    assert "\x1b[38;2;255;255;255;48;2;50;110;190m" in colourful  # the goal: white on blue
    assert "blue above 0" in colourful


def test_no_color_is_respected(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    text = drawn(make_world("jail", 3), colour="truecolor")
    assert "48;2" not in text
    assert "blue above 0" not in text


def test_colours_are_symmetric_and_readable():
    assert cell_style(0.0, 5.0).bgcolor.name == cell_style(0.0, 0.0).bgcolor.name == "#f7f7f7"
    assert cell_style(5.0, 5.0).bgcolor.name == "#326ebe"
    assert cell_style(-5.0, 5.0).bgcolor.name == "#ca3c3c"
    assert cell_style(5.0, 5.0).color.name == "#ffffff"
    assert cell_style(0.1, 5.0).color.name == "#000000"


@pytest.mark.parametrize("name", WORLDS)
def test_terminals_without_unicode_get_ascii(name):
    text = drawn(make_world(name, 3), encoding="ascii")
    assert text.isascii()
    if name == "jail":
        assert "|     <     |" in text


def test_small_cells_in_a_narrow_terminal():
    world = make_world("random-10x10", 3)
    text = drawn(world, width=40)
    lines = [line for line in text.splitlines() if line[:3].strip().isdigit() and line[3:4] == " "]
    assert len(lines) == 10
    for row, line in enumerate(lines):
        for column in range(10):
            state, (sign, arrow, mark) = 10 * row + column, line[4 + 3 * column :][:3].ljust(3)
            assert sign == ("+" if world.reward[state] > 0 else "-")
            assert (arrow == "#") == world.problem.mdp.terminal[state]
            assert (mark == "*") == (world.problem.mdp.initial[state] > 0)
    assert "wider terminal" in text


def test_too_narrow_says_what_to_do():
    text = drawn(make_world("random-10x10", 3), width=30)
    assert "--png FILE" in text
    assert "34 would" in text


def test_tables_show_all_that_matters():
    text = drawn(make_world("brown-two-state", 3))
    rows = [line.split() for line in text.splitlines()]
    assert ["0", "0", "1", "-2", "7.00", "2", "%"] in rows
    assert ["1", "1", "+2", "11.00", "98", "%", "yes"] in rows
    assert ["1", "end", "+10", "10.00", ">", "99", "%", "yes"] in rows


def test_long_tables_are_cut_unless_all_is_asked_for():
    world = make_world("bandit", 3)
    assert "48 more states: --all lists them" in drawn(world)
    assert len(drawn(world, shows_all=True).splitlines()) > 128
    assert "more states" not in drawn(world, shows_all=True)


def world_of(mdp):
    problem = Problem(mdp, PerState(mdp), Normal(mdp.num_states), 1.0)
    return World("mine", 0, problem, np.arange(mdp.num_states) - 1.0)


def test_names_are_not_markup():
    transitions = np.zeros((2, 2, 2))
    transitions[0, :, 1] = 1.0
    mdp = FiniteMDP.from_dense(
        transitions, layout="SAS", discount=0.9, state_labels=["[bold]", "b:smile:"], action_labels=["[up]", "[/]"]
    )
    text = drawn(world_of(mdp))
    assert "[bold]" in text
    assert "[up]" in text
    assert "[/]" in text
    assert "b:smile:" in text


def test_walls_moves_without_arrows_and_other_cells():
    grid = Grid(2, 2, cells=np.array([[0, 0], [1, 1]]))
    mdp = FiniteMDP.from_dense(
        np.tile(np.eye(2), (2, 1, 1)), layout="ASS", discount=0.9, grid=grid, action_labels=["go", "wait"]
    )
    text = drawn(world_of(mdp))
    assert "│###########│" in text
    assert "wall" in text
    assert "numbers" not in legend_of(text)  # rows and columns do not name states here


def test_all_terminal_world_has_no_policy():
    text = drawn(world_of(gridworld(1, 2, terminal=np.ones(2, dtype=bool))))
    assert text.count("end  ") >= 2
    assert "every state is terminal" in text
    assert "optimal action" not in text.partition("initial state")[0]


def test_list_of_worlds_fits_80_columns():
    file = io.StringIO()
    print_worlds(Console(file=file, width=80), world_entries())
    lines = file.getvalue().splitlines()
    assert max(len(line.rstrip()) for line in lines) <= 80
    first_words = [line.split()[0] for line in lines if line.strip()]
    assert [word for word in first_words if word in WORLDS] == 2 * list(WORLDS)  # numbers, then words
    assert "jail               36 x 5           3  uniform, -100 to 0           4   35 x 20" in file.getvalue()
