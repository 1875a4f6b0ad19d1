"""Pictures of one situation: what is where, in any size, with and without colour."""

import io

import numpy as np
import pytest
from rich.console import Console

from journeyman.mdp import FiniteMDP, Grid
from journeyman.report.drawing import situations
from journeyman.report.drawing.situations import (
    Situation,
    destination_words,
    draw_situation,
    kind_letters,
    outcomes,
    place_words,
)
from journeyman.worlds import make_world

MOVES = [(0, 0), (-1, 0), (1, 0), (0, -1), (0, 1)]
FIELD = ["..mm", ".#mw", "...g"]
KINDS = {".": "grass", "m": "mud", "w": "water", "g": "goal"}


def field():
    """A field of 3 x 4 cells with kinds, a wall and a goal that ends it."""
    cells = [(r, c) for r, row in enumerate(FIELD) for c, mark in enumerate(row) if mark != "#"]
    kinds = tuple(KINDS[FIELD[r][c]] for r, c in cells)

    def step(state, action):
        if kinds[state] == "goal":
            return []
        (r, c), (down, right) = cells[state], MOVES[action]
        return [(1.0, cells.index((r + down, c + right)) if (r + down, c + right) in cells else state)]

    return FiniteMDP.from_function(
        step,
        num_states=len(cells),
        num_actions=5,
        discount=0.9,
        grid=Grid(3, 4, np.array(cells), np.array(MOVES), kinds),
        action_labels=("stay", "up", "down", "left", "right"),
    )


def tree(depth=6, with_coordinates=False):
    """A binary maze; node n leads to 2n + 1, 2n + 2, and back."""
    size = 2 ** (depth + 1) - 1
    available = np.ones((size, 3), dtype=bool)
    available[size // 2 :, :2] = False
    available[0, 2] = False
    places = np.zeros((size, 2))
    for node in range(1, size):
        level = int(np.log2(node + 1))
        length, side = 2.0 ** (3 - (level - 1) // 2), 1 if node % 2 else -1
        places[node] = places[(node - 1) // 2] + (side * length * np.array([(-1, 0), (0, 1)][(level - 1) % 2]))
    return FiniteMDP.from_function(
        lambda s, a: [(1.0, (2 * s + 1 + a if a < 2 else (s - 1) // 2) if available[s, a] else s)],
        num_states=size,
        num_actions=3,
        discount=0.9,
        available=available,
        state_labels=tuple(f"node-{node}" for node in range(size)),
        action_labels=("left", "right", "back"),
        coordinates=places if with_coordinates else None,
    )


def keys_of(mdp, state):
    return {action: str(action) for action in range(mdp.num_actions) if mdp.available[state, action]}


def drawn(mdp, state, width=100, height=40, *, colour=None, encoding="utf-8", trail=()):
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    console = Console(file=file, width=width, color_system=colour, force_terminal=colour is not None)
    return draw_situation(console, Situation(mdp, state, keys_of(mdp, state), trail), width, height)


def plain(lines):
    return "\n".join(line.plain.rstrip() for line in lines)


def test_a_grid_shows_the_place_walls_kinds_ends_and_where_keys_lead():
    mdp = field()
    text = plain(drawn(mdp, 5, trail=(4,)))  # row 1, column 2
    assert text.splitlines()[:4] == ["    0  1  2  3", " 0  .  . <1> m", " 1  • ###[@]<4>", " 2  .  . <2>end"]
    for words in ("[@] you are here", "leads there", "m  mud", "w  water", ".  grass", "### wall", "•  where you were"):
        assert words in text


def test_a_grid_in_colour_says_the_same_with_words():
    text = plain(drawn(field(), 5, colour="truecolor"))
    assert "YOU" in text and "water" in text and "end" in text and "mud" in text
    styles = {str(span.style) for line in drawn(field(), 5, colour="truecolor") for span in line.spans}
    assert any("#ffd60a" in style for style in styles) and any("#8ecae6" in style for style in styles)


@pytest.mark.parametrize("colour", [None, "truecolor"])
@pytest.mark.parametrize(("width", "height"), [(80, 24), (40, 12), (30, 8), (200, 100), (20, 6)])
def test_a_picture_keeps_to_its_room_and_always_shows_the_place(width, height, colour):
    """Grids that are too large are shown in part, around the place."""
    large = make_world("random-grid", 0, size=30).problem.mdp
    for mdp, state in ((field(), 5), (large, 465), (large, 0), (large, 899), (tree(), 9), (tree(6, True), 9)):
        lines = drawn(mdp, state, width, height, colour=colour)
        assert len(lines) <= height and max(line.cell_len for line in lines) <= width
        assert any(mark in plain(lines) for mark in ("@", "YOU", "node-9"))
        if mdp is large and 40 < width < 200:
            assert "of 30 x 30" in plain(lines)


def test_only_ascii_where_nothing_else_can_be_shown():
    for mdp, state in ((field(), 5), (tree(), 9), (tree(6, True), 9)):
        for colour in (None, "truecolor"):
            assert plain(drawn(mdp, state, colour=colour, encoding="ascii")).isascii()


def test_a_maze_without_places_is_laid_out_by_itself():
    """The labyrinth looks like one: all of it, or what is around where there is less room."""
    whole = plain(drawn(tree(6), 9, 200, 80))
    assert whole.count("○") == 127 - 4 and "[YOU]" in whole
    near = plain(drawn(tree(6), 9, 60, 20))
    assert "[YOU]" in near and all(f"<{action}>" in near for action in range(3)) and near.count("○") < 123


def test_what_cannot_be_laid_out_is_a_tree_of_what_comes_next(monkeypatch):
    monkeypatch.setattr(situations, "drawing_kind", lambda mdp: "bars")
    lines = plain(drawn(tree(), 9)).splitlines()
    assert "0" in lines[0] and "left" in lines[0] and lines[0].endswith("node-19")
    assert lines[1].endswith("from there: node-39, node-40")
    assert lines[2].startswith("[node-9]") and lines[2].endswith("node-20")
    assert lines[4].endswith("node-4")


def test_a_maze_with_places_is_a_map_with_neighbours_in_their_directions():
    mdp = tree(6, with_coordinates=True)
    whole = plain(drawn(mdp, 9, 200, 80))
    assert whole.count("○") == 127 - 4  # all but the place and its neighbours
    near = plain(drawn(mdp, 9, 80, 20)).splitlines()
    where = {}
    for row, line in enumerate(near[:-1]):
        for mark in ("YOU", "<0>", "<1>", "<2>"):
            if mark in line:
                where[mark] = (row, line.index(mark) + 1)
    assert set(where) == {"YOU", "<0>", "<1>", "<2>"}
    for action, state in ((0, 19), (1, 20), (2, 4)):
        x, y = np.sign(np.rint(mdp.coordinates[state] - mdp.coordinates[9]))
        row, column = where[f"<{action}>"][0] - where["YOU"][0], where[f"<{action}>"][1] - where["YOU"][1]
        assert (np.sign(column), -np.sign(row)) == (x, y)
    assert "of 127 places are shown" in near[-1]


def test_places_and_destinations_in_words():
    mdp = field()
    assert place_words(mdp, 5) == "row 1, column 2 (mud)"
    assert place_words(tree(), 9) == "node-9"
    assert destination_words(mdp, 5, 0) == "stays here"
    assert destination_words(mdp, 9, 4) == "row 2, column 3, the end"
    chancy = FiniteMDP.from_function(
        lambda s, a: [(0.2, 0), (0.7, 1)], num_states=2, num_actions=1, discount=0.9, missing_mass="terminates"
    )
    assert outcomes(chancy, 0, 0)[0] == (1, 0.7)
    assert destination_words(chancy, 0, 0) == "state 1 (70 %) or here (20 %) or the end (10 %)"


def test_each_kind_has_a_letter_of_its_own():
    grid = Grid(1, 5, kinds=("mud", "moss", "mumd", "sand", "sand"))
    letters = kind_letters(grid)
    assert len(set(letters.values())) == 3 and letters["mud"] == "m" and "sand" not in letters


def test_no_color_is_respected(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    assert "[@]" in plain(drawn(field(), 5, colour="truecolor"))
