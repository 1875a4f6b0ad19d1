"""A map drawn in text is a problem: its cells are states, its marks say what they are.

Every mark but a wall is a state, row by row. Moving into a wall or over the edge leaves one in place. With chance
`slip` a random move is made instead of the chosen one, each of all moves with the same chance (the chosen one too, as
in the gridworlds of `journeyman.worlds`), or with `slip_to = "sides"` one of the two moves beside it: those at right
angles where there are 4 moves, at 45 degrees where there are 8; who stays then does not slip. A diagonal move does not
squeeze through between two walls.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from textwrap import dedent
from typing import Any

import numpy as np

from journeyman.checks import suggestion
from journeyman.errors import InputError
from journeyman.mdp import FiniteMDP, Grid
from journeyman.mdp.names import Names
from journeyman.mdp.rows import Rows, rows_from_columns
from journeyman.problem_files.rewards import PLAIN
from journeyman.problem_files.tables import TomlTable
from journeyman.storage.tables import file_text
from journeyman.types import BoolArray, FloatArray, IntArray
from journeyman.wording import counted, listed

KEYS = (
    "drawing", "file", "wall", "floor", "start", "terminal", "terrains", "moves", "stay", "blocked", "slip", "slip_to",
)  # fmt: skip
MARKS = {"wall": "#", "floor": ".", "start": "S", "terminal": "G"}
TERRAINS = {"G": "goal"}
EXAMPLE = 'drawing = """\n#####\n#S.G#\n#####\n"""'
DIRECTIONS = {
    "up": (-1, 0), "up-right": (-1, 1), "right": (0, 1), "down-right": (1, 1),
    "down": (1, 0), "down-left": (1, -1), "left": (0, -1), "up-left": (-1, -1),
}  # fmt: skip
STAY = "stay"
MAX_CELLS = 4_000_000


@dataclass(frozen=True)
class Legend:
    """What the marks of a map mean: marks of each role as one text, and names of terrains by mark."""

    wall: str
    floor: str
    start: str
    terminal: str
    terrains: dict[str, str]

    @property
    def known(self) -> tuple[str, ...]:
        """All marks that mean something."""
        return tuple(dict.fromkeys((*self.wall, *self.floor, *self.start, *self.terminal, *self.terrains)))

    def meanings(self, mark: str) -> list[str]:
        """Return what a mark means, in words: its roles and its terrain."""
        roles = [role for role in MARKS if mark in getattr(self, role)]
        return roles + [name for known, name in self.terrains.items() if known == mark]

    def terrain(self, mark: str) -> str:
        """Return the terrain of a mark; a start lies on the terrain of the floor, if it is not given another."""
        if mark in self.start and mark not in self.terrains and self.floor:
            return self.terrains.get(self.floor[0], PLAIN)
        return self.terrains.get(mark, PLAIN)


@dataclass(frozen=True)
class Drawing:
    """The lines of a map, all equally long, and where they stand: `first_line` of `name`, after `indent` columns."""

    lines: tuple[str, ...]
    name: str
    first_line: int
    indent: int

    def place(self, row: int, column: int | None = None) -> str:
        """Say where a mark stands, counted from 1 as editors do."""
        where = f"line {self.first_line + row}"
        if column is not None:
            where += f", column {self.indent + column + 1}"
        return f"{where} of {self.name}"


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of a map that are no walls: `places` `[S, 2]` row and column, and the mark of each."""

    drawing: Drawing
    legend: Legend
    places: IntArray
    marks: list[str]

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns, walls included."""
        return len(self.drawing.lines), len(self.drawing.lines[0])

    def are(self, marks: str) -> BoolArray:
        """Return `[S]` which cells have one of these marks."""
        return np.isin(self.marks, list(marks))


def mdp_of_map(
    table: TomlTable, discount: float, *, state_labels: Any, action_labels: Any, terminal: Any, has_initial: bool
) -> FiniteMDP:
    """Return the dynamics that a map draws, with labels, kinds of cells and moves for arrows."""
    table.check_keys(KEYS)
    with table.blamed("drawing" if "drawing" in table else "file"):
        cells = _cells(table)
        is_start = cells.are(cells.legend.start)
        if not is_start.any() and not has_initial:
            raise InputError(
                f"a map must have a start, got no {' or '.join(map(repr, cells.legend.start or 'S'))} in it. Draw one, "
                'or say where episodes start in [states] initial, such as initial = "all".'
            )
    labels = state_labels or cell_labels(cells)
    if len(labels) != len(cells.marks):
        raise InputError(
            f"labels must be one for each of the {len(cells.marks)} cells of the map that are no walls, got "
            f"{len(labels)} at {table.file.table('states').place('labels')}. Leave them out, and cells are called by "
            "row and column."
        )
    ends = cells.are(cells.legend.terminal)
    if terminal is not None:
        ends |= terminal(Names("state", len(labels), tuple(labels)))
    moves = _moves(table)
    steps: Any = np.array(list(moves.values()))
    executed = landing_states(cells.places, cells.shape, steps)
    initial: Any = is_start / is_start.sum() if is_start.any() else None
    rows = _rows(table, executed, ends, STAY in moves)
    available = _available(table, cells, executed, ends, STAY in moves)
    with table.file.table("actions").blamed("labels"):
        return FiniteMDP(
            rows=rows,
            discount=discount,
            initial=initial,
            available=available,
            terminal=ends,
            state_labels=tuple(labels),
            action_labels=action_labels or tuple(moves),
            grid=Grid(*cells.shape, cells.places, steps, tuple(map(cells.legend.terrain, cells.marks))),
        )


def _cells(table: TomlTable) -> Cells:
    given, (name, first_line) = _given_lines(table)
    legend = legend_of(table)
    drawing = checked_drawing(given, legend, name, first_line)
    check_all_drawn(table, drawing)
    marks = np.array([list(line) for line in drawing.lines])
    places = np.argwhere(~np.isin(marks, list(legend.wall)))
    return Cells(drawing, legend, places, [str(marks[row, column]) for row, column in places])


def _rows(table: TomlTable, executed: IntArray, ends: BoolArray, has_stay: bool) -> Rows:
    """Return the transitions: what is executed when each action is chosen, and where that leads."""
    num_states, num_actions = executed.shape
    slip_to = table.choice("slip_to", ("any", "sides"), 'slip_to = "sides"', default="any")
    chances = slip_chances(num_actions - has_stay, has_stay, table.chance("slip", 0.0), slip_to)
    actions = np.arange(num_actions)
    state, action, move = np.meshgrid(np.flatnonzero(~ends), actions, actions, indexing="ij")
    return rows_from_columns(num_states, num_actions, state, action, executed[state, move], chances[action, move])


def _available(table: TomlTable, cells: Cells, executed: IntArray, ends: BoolArray, has_stay: bool) -> BoolArray:
    """Return `[S, A]` which moves exist: all, or those that lead on and staying, if it is an action (number 0)."""
    blocked = table.choice("blocked", ("stay", "unavailable"), 'blocked = "unavailable"', default="stay")
    if blocked == "stay":
        return np.ones(executed.shape, dtype=bool)
    available = (executed != np.arange(len(executed))[:, None]) | ends[:, None]
    available[:, :has_stay] = True
    if not available.any(axis=1).all():
        row, column = cells.places[int(np.argmin(available.any(axis=1)))].tolist()
        raise InputError(
            'every cell must have a move that leads on where blocked = "unavailable", got none at '
            f"{cells.drawing.place(row, column)}. Draw a wall there, open a way, or say stay = true."
        )
    return np.asarray(available)


def legend_of(table: TomlTable) -> Legend:
    """Return what marks mean: as the table says, else `#` wall, `.` floor, `S` start, `G` goal, which is terminal."""
    terrains = _given_terrains(table)
    roles = {role: _role(table, role, terrains) for role in MARKS}
    pairs = [("wall", "floor"), ("wall", "start"), ("wall", "terminal"), ("floor", "start"), ("start", "terminal")]
    for first, second, marks in [(a, b, roles[b]) for a, b in pairs] + [("wall", "a terrain", "".join(terrains))]:
        both = [mark for mark in roles[first] if mark in marks]
        if both:
            raise InputError(
                f"each mark must have one meaning, got {both[0]!r} as {first} and as {second}. Change one."
            )
    taken = roles["wall"] + roles["floor"] + roles["start"]
    defaults = {mark: name for mark, name in TERRAINS.items() if mark not in taken}
    silent = [mark for mark in defaults if mark in terrains and "terminal" not in table]
    if silent:
        raise InputError(
            f"terminal must say whether {silent[0]!r} ends the episode where its terrain is given, got nothing. Say "
            f'terminal = "{silent[0]}", or terminal = "" if it does not.'
        )
    return Legend(**roles, terrains={**defaults, **terrains})


def _role(table: TomlTable, role: str, terrains: dict[str, str]) -> str:
    """Return the marks of a role: given, or the usual one unless another role was given to it."""
    marks = table.data.get(role)
    if marks is None:
        others = "".join(str(table.data.get(other, "")) for other in MARKS if other != role)
        given = others + ("".join(terrains) if role == "wall" else "")
        return "".join(mark for mark in MARKS[role] if mark not in given)
    if not isinstance(marks, str):
        raise InputError(
            f'{role} must be a text of one or more marks, got {marks!r}. Example: {role} = "{MARKS[role]}"'
        )
    return marks


def _given_terrains(table: TomlTable) -> dict[str, str]:
    given = table.data.get("terrains", {})
    example = 'terrains = { "~" = "water", "^" = "hill" }'
    if not isinstance(given, dict):
        raise InputError(f"terrains must be a table of names by mark, got {given!r}. Example: {example}")
    for mark, name in given.items():
        if len(mark) != 1:
            raise InputError(f"a terrain must have a mark of one sign, got {mark!r}. Example: {example}")
        if not isinstance(name, str) or not name.strip() or name == PLAIN:
            raise InputError(
                f"a terrain must have a name of its own, got {name!r} for {mark!r}. Example: {example}; cells of no "
                "terrain are plain."
            )
    return given


def checked_drawing(given: Iterable[str], legend: Legend, name: str, first_line: int) -> Drawing:
    """Return the drawing of lines that are equally long and hold known marks only; empty lines around it are left out.

    Where a space is a mark, short lines are filled up with it; otherwise space around the drawing means nothing.
    """
    lines = list(given)
    is_spaced = " " in legend.known
    while lines and not lines[0].strip():
        lines, first_line = lines[1:], first_line + 1
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    if not lines:
        raise InputError(f"a map must have at least one line, got none in {name}. Example: {EXAMPLE}")
    if is_spaced:
        width = max(len(line) for line in lines)
        cleaned, indent = [line.ljust(width) for line in lines], 0
    else:
        cleaned = dedent("\n".join(line.rstrip() for line in lines)).split("\n")
        indent = len(lines[0].rstrip()) - len(cleaned[0])
    drawing = Drawing(tuple(cleaned), name, first_line, indent)
    for row, line in enumerate(cleaned):
        if not line.strip() and not is_spaced:
            raise InputError(
                f"a map must be one drawing without empty lines, got one at {drawing.place(row)}. Remove it; two maps "
                "are two problems."
            )
        for column, mark in enumerate(line):
            if mark not in legend.known:
                raise InputError(_unknown_mark(mark, drawing.place(row, column), legend))
    lengths = [len(line) for line in cleaned]
    usual = usual_length(lengths)
    for row, length in enumerate(lengths):
        if length != usual:
            raise InputError(
                f"the lines of a map must be equally long, got {length} marks at {drawing.place(row)} where others "
                f"have {usual}. {length_advice(length, usual, legend.wall[:1] or '#')}."
            )
    if all(mark in legend.wall for line in cleaned for mark in line):
        raise InputError(f"a map must draw at least one cell, got none but walls. Example: {EXAMPLE}")
    if len(cleaned) * usual > MAX_CELLS:
        raise InputError(
            f"a map must have at most {MAX_CELLS:,} cells, got {len(cleaned)} x {usual}. Draw a part of it."
        )
    return drawing


def usual_length(lengths: Sequence[int]) -> int:
    """Return the length that most lines have; of several, the one that comes first."""
    return Counter(lengths).most_common(1)[0][0]


def length_advice(length: int, usual: int, wall: str) -> str:
    """Say what to do with a line that is longer or shorter than others, without a full stop."""
    return f"Remove {counted(length - usual, 'mark')}" if length > usual else f"Fill it up with walls ({wall})"


def _unknown_mark(mark: str, place: str, legend: Legend) -> str:
    known = ", ".join(f"{known!r} {listed(legend.meanings(known))}" for known in legend.known)
    if mark == " ":
        advice = 'If spaces are floor, say floor = ". " in [map]; if they are walls, wall = "# ".'
    elif mark == "\t":
        advice = "Write marks without tabs."
    else:
        advice = f'If it is a terrain, name it: terrains = {{ "{mark}" = "mud" }} in [map].'
    return f"a map must have marks that it knows, got {mark!r} at {place}. Known are {known}. {advice}"


def check_all_drawn(table: TomlTable, drawing: Drawing) -> None:
    """Refuse roles and terrains that the file names and the map does not have."""
    drawn = set("".join(drawing.lines))
    for mark, name in table.data.get("terrains", {}).items():
        if mark not in drawn:
            raise InputError(
                f"a terrain must be drawn somewhere, got {name!r} ({mark!r}), which is not. Remove or draw it."
            )
    for role in ("start", "terminal"):
        missing = [mark for mark in table.data.get(role, "") if mark not in drawn]
        if missing:
            hint = suggestion(missing[0], sorted(drawn), otherwise="There are")
            raise InputError(f"{role} must be marks of the map, got {missing[0]!r}, which is not drawn. {hint}")


def cell_labels(cells: Cells) -> tuple[str, ...]:
    """Return what cells are called: "start" and a terrain that has one cell by these words, others r<row>c<column>.

    Rows and columns count from 0, as everywhere else.
    """
    words = ["start" if mark in cells.legend.start else cells.legend.terrain(mark) for mark in cells.marks]
    counts = Counter(words)
    return tuple(
        word if word != PLAIN and counts[word] == 1 else f"r{row}c{column}"
        for word, (row, column) in zip(words, cells.places.tolist(), strict=True)
    )


def landing_states(cells: IntArray, shape: tuple[int, ...], moves: IntArray) -> IntArray:
    """Return `[S, A]` where each executed move leads; walls, edges and gaps between two walls keep one in place."""
    numbers = np.full((shape[0] + 2, shape[1] + 2), -1)  # a border of walls
    numbers[cells[:, 0] + 1, cells[:, 1] + 1] = np.arange(len(cells))
    rows, columns = (cells[:, None, :] + 1 + moves[None]).transpose(2, 0, 1)
    target = numbers[rows, columns]
    own_row, own_column = (cells[:, None, axis] + 1 for axis in (0, 1))
    is_squeezed = (numbers[rows, np.broadcast_to(own_column, rows.shape)] < 0) & (
        numbers[np.broadcast_to(own_row, rows.shape), columns] < 0
    )
    is_diagonal = (moves != 0).all(axis=1)
    is_blocked = (target < 0) | (is_diagonal & is_squeezed)
    return np.asarray(np.where(is_blocked, np.arange(len(cells))[:, None], target))


def slip_chances(num_directions: int, has_stay: bool, slip: float, slip_to: str) -> FloatArray:
    """Return `[A, A]` the chance that choosing an action executes each of them; staying, if any, is action 0."""
    num_actions = num_directions + has_stay
    if slip_to == "any":
        return np.full((num_actions, num_actions), slip / num_actions) + (1.0 - slip) * np.eye(num_actions)
    chances = np.zeros((num_actions, num_actions))
    around = np.eye(num_directions)
    chances[has_stay:, has_stay:] = (1.0 - slip) * around + 0.5 * slip * (
        np.roll(around, 1, axis=1) + np.roll(around, -1, axis=1)
    )
    if has_stay:
        chances[0, 0] = 1.0
    return chances


def _moves(table: TomlTable) -> dict[str, tuple[int, int]]:
    """Return the moves by name, in the order of actions: staying first, then clockwise from up."""
    number = table.data.get("moves", 4)
    if isinstance(number, bool) or number not in (4, 8):
        raise InputError(
            f"moves must be 4 (up, right, down, left) or 8 (diagonals too), got {number!r} at {table.place('moves')}. "
            "Example: moves = 8"
        )
    first = {STAY: (0, 0)} if table.flag("stay", False) else {}
    return first | {name: move for name, move in DIRECTIONS.items() if number == 8 or 0 in move}


def _given_lines(table: TomlTable) -> tuple[list[str], tuple[str, int]]:
    """Return the lines of the map as they are given, the name of the file that they stand in, and their first line."""
    if "drawing" in table:
        table.check_left_out(("file",), "where a drawing is given", "Remove one of them.")
        drawing = table.data["drawing"]
        if isinstance(drawing, list) and all(isinstance(line, str) for line in drawing):
            return drawing, ("the map", 1)
        if not isinstance(drawing, str):
            raise InputError(f"drawing must be lines of text, got {drawing!r}. Example: {EXAMPLE}")
        return drawing.split("\n"), _first_line(table, drawing.split("\n"))
    path = table.existing_file("file", 'file = "maze.txt", or ' + EXAMPLE)
    return file_text(path, "a map").replace("\r\n", "\n").split("\n"), (path.name, 1)


def _first_line(table: TomlTable, lines: list[str]) -> tuple[str, int]:
    """Return where the first line of a text stands in the problem file, if it stands there as it is."""
    line = table.file.line_of(table.name, "drawing")
    text = ["", *table.file.text.splitlines()]
    if line is not None:
        for first in (line, line + 1):
            found = text[first : first + len(lines)]
            if len(found) == len(lines) and all(a in b for a, b in zip(lines, found, strict=True)):
                return table.file.path.name, first
    return "the map", 1
