"""One situation in the terminal: where somebody is, what is around, and where each key leads.

On a grid the whole grid is drawn, or a window around the place where it is too large. Elsewhere states that have
a layout are drawn as a map, and others as a small tree: the place, where its actions lead, and what comes after
that. Everything can be read without colour, and in ASCII.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from rich.console import Console
from rich.style import Style
from rich.text import Text

from journeyman.mdp import FiniteMDP, Grid
from journeyman.mdp.graph import state_links
from journeyman.mdp.layouts import drawing_kind, layout_of
from journeyman.report.drawing.marks import commonest_kind
from journeyman.types import BoolArray
from journeyman.wording import percent

CELLS = ((7, 3), (5, 2), (3, 1))  # characters and lines of a cell, the largest that fits is used
PALETTE = ("#cdb4db", "#f4a261", "#80ced7", "#e5989b", "#b8c0ff", "#d9ed92")
KNOWN = {  # colours that words call for
    "#8ecae6": ("water", "pond", "lake", "river", "sea", "ice"),
    "#c9a27e": ("mud", "sand", "dirt", "earth", "road", "path", "swamp", "bed"),
    "#a7c957": ("grass", "lawn", "tree", "forest", "meadow", "field", "hedge", "garden"),
    "#f28482": ("lava", "fire", "danger", "hazard", "trap", "pit", "hole", "enemy"),
    "#f6d365": ("goal", "home", "house", "food", "gold", "treasure", "reward", "exit"),
    "#b5b5b5": ("rock", "stone", "mountain", "snow"),
}
PLAIN, PLAIN_TOO, END = "#e9e7e1", "#dedbd3", "#4a4e69"  # two for plain cells: a chequered floor
WALL = Style(color="#6c6c76", bgcolor="#2b2b33")
HERE, KEY = Style(color="#000000", bgcolor="#ffd60a", bold=True), Style(color="#ffffff", bgcolor="#1d3557", bold=True)
FAINT = Style(color="#8d8d8d")
MAX_NEXT, MAX_RINGS = 3, 4


@dataclass(frozen=True, eq=False)
class Situation:
    """A place, the key to show for each action that can be taken there, and the states that led there."""

    mdp: FiniteMDP
    state: int
    keys: Mapping[int, str]
    trail: tuple[int, ...] = ()


def outcomes(mdp: FiniteMDP, state: int, action: int) -> list[tuple[int | None, float]]:
    """Return the next states of an action and their chances, the likeliest first; None: the episode ends."""
    next_states, chances = mdp.next_states(state, action)
    found: list[tuple[int | None, float]] = [(int(s), float(p)) for s, p in zip(next_states, chances, strict=True)]
    if (missing := 1.0 - float(chances.sum())) > 1e-9:
        found.append((None, missing))
    return sorted(found, key=lambda outcome: -outcome[1])


def place_words(mdp: FiniteMDP, state: int) -> str:
    """Return a place as people say it: "row 2, column 1 (lawn)", "house (row 0, column 0)", "node-7"."""
    if mdp.grid is None:
        return mdp.state_name(state) if mdp.state_labels else f"state {state}"
    row, column = mdp.grid.places[state].tolist()
    cell, kind = f"row {row}, column {column}", mdp.grid.kinds[state] if mdp.grid.kinds else ""
    if mdp.state_labels:
        return f"{mdp.state_labels[state]} ({cell}{', ' if kind else ''}{kind})"
    return f"{cell} ({kind})" if kind else cell


def destination_words(mdp: FiniteMDP, state: int, action: int) -> str:
    """Return where an action leads: "row 1, column 1", "stays here", "node-3 (80 %) or node-4 (20 %)", "the end"."""

    def words(outcome: int | None) -> str:
        if outcome is None:
            return "the end"
        name = "here" if outcome == state else _short_name(mdp, outcome)
        return f"{name}, the end" if mdp.terminal[outcome] else name

    found = outcomes(mdp, state, action)
    if len(found) == 1:
        return "stays here" if found[0][0] == state else words(found[0][0])
    named = [f"{words(outcome)} ({percent(chance)})" for outcome, chance in found[:MAX_NEXT]]
    return " or ".join(named) + (f" or {len(found) - MAX_NEXT} others" if len(found) > MAX_NEXT else "")


def draw_situation(console: Console, situation: Situation, width: int, height: int) -> list[Text]:
    """Return at most `height` lines of at most `width` characters that show a situation, with a legend if it fits."""
    pen, mdp = Pen.of(console), situation.mdp
    lines = None
    if mdp.grid is not None:
        lines = _grid_lines(pen, situation, mdp.grid, width, height)
    elif drawing_kind(mdp) == "graph":
        lines = _map_lines(pen, situation, width, height)
    lines = (lines or _tree_lines(pen, situation, width, height))[:height]
    for line in lines:
        line.truncate(width)
    return lines


@dataclass(frozen=True)
class Pen:
    """What the console can show."""

    has_colour: bool
    is_ascii: bool

    @classmethod
    def of(cls, console: Console) -> "Pen":
        """Return what a console can show."""
        return cls(console.color_system is not None and not console.no_color, console.options.ascii_only)

    def text(self, unicode: str, ascii_only: str) -> str:
        """Return the first text, or the second where only ASCII can be shown."""
        return ascii_only if self.is_ascii else unicode

    def chip(self, text: str, style: Style) -> Text:
        """Return text on a coloured ground, in brackets where there is no colour."""
        return Text(f" {text} ", style=style) if self.has_colour else Text(f"[{text}]")


# Grids


def _grid_lines(pen: Pen, situation: Situation, grid: Grid, width: int, height: int) -> list[Text]:
    """Return the grid, or the part of it around the place that fits, and what its marks mean."""
    margin = len(str(grid.num_rows - 1)) + 2
    room = max(3, height - len(_legend(pen, situation, grid, width, True)) - 2)  # numbers above, an empty line below
    sizes = CELLS if pen.has_colour else CELLS[-1:]
    cell = next(
        (size for size in sizes if margin + size[0] * grid.num_columns <= width and size[1] * grid.num_rows <= room),
        CELLS[-1],
    )
    legend = _legend(pen, situation, grid, width, cell[0] >= 5)
    row, column = grid.places[situation.state].tolist()
    rows = _window(row, grid.num_rows, room // cell[1])
    columns = _window(column, grid.num_columns, max(1, (width - margin) // cell[0]))
    lines = list(_cell_lines(pen, situation, grid, cell, rows, columns, margin))
    if len(rows) < grid.num_rows or len(columns) < grid.num_columns:
        words = f"rows {rows[0]} to {rows[-1]} and columns {columns[0]} to {columns[-1]}"
        legend = [Text(f"Shown: {words} of {grid.num_rows} x {grid.num_columns}.", style=FAINT), *legend[: height // 3]]
    return [*lines, Text(""), *legend]


def _window(centre: int, total: int, size: int) -> range:
    """Return at most `size` numbers of 0..total - 1 around a centre."""
    size = max(1, min(size, total))
    first = min(max(0, centre - size // 2), total - size)
    return range(first, first + size)


def _cell_lines(
    pen: Pen, situation: Situation, grid: Grid, cell: tuple[int, int], rows: range, columns: range, margin: int
) -> Iterator[Text]:
    (width, height), mdp = cell, situation.mdp
    state_at = {(row, column): state for state, (row, column) in enumerate(grid.places.tolist())}
    chips = keys_at(situation)
    styles, letters = _kind_styles(grid), kind_letters(grid)
    hatching = pen.text("░", "#") * width
    numbers = "".join(str(column).center(width) for column in columns)
    yield Text(" " * margin + numbers, style=FAINT)
    for row in rows:
        names = [f"{row if part == height // 2 else '':>{margin - 1}} " for part in range(height)]
        parts = [Text.assemble((name, FAINT)) for name in names]
        for column in columns:
            state = state_at.get((row, column))
            if state is None:
                for part in parts:
                    part.append(hatching if pen.has_colour else "#" * width, style=WALL if pen.has_colour else FAINT)
                continue
            kind = grid.kinds[state] if grid.kinds else ""
            ground = styles.get(kind) or Style(color="#000000", bgcolor=PLAIN if (row + column) % 2 else PLAIN_TOO)
            if state == situation.state:
                ground = HERE
            elif mdp.terminal[state] and kind not in styles:
                ground = Style(color="#ffffff", bgcolor=END)
            marks = _marks(pen, situation, state, chips.get(state, ""), letters.get(kind, ""), kind, cell)
            for part, (mark, style) in zip(parts, marks, strict=True):
                if not pen.has_colour:
                    part.append(mark.center(width))
                    continue
                left = (width - len(mark)) // 2
                part.append(" " * left, style=ground)
                part.append(mark, style=style or ground)
                part.append(" " * (width - left - len(mark)), style=ground)
        yield from parts


def _marks(
    pen: Pen, situation: Situation, state: int, keys: str, letter: str, kind: str, cell: tuple[int, int]
) -> list[tuple[str, Style | None]]:
    """Return what stands in the lines of a cell, and in which style; None: that of the cell."""
    width, height = cell
    is_end = bool(situation.mdp.terminal[state])
    end = "end" if width >= 5 or not pen.has_colour else pen.text("■", "X")
    word = kind[: width - 1] if width >= 5 and letter else letter
    lines: list[tuple[str, Style | None]] = [("", None)] * height
    middle = height // 2
    if state == situation.state:
        here = "YOU" if width >= 5 else "@"
        lines[middle] = (here if pen.has_colour else f"[{here}]", None)
    elif keys:
        shown = keys[: width - 2]
        chip = shown if width < 5 else f" {shown} "  # what is around it shows the kind of the cell
        lines[middle] = (chip if pen.has_colour else f"<{shown}>", KEY)
        if height > 1 and (is_end or word):
            lines[0] = (f"{word[: width - 4]} {end}".strip() if is_end else word, None)
    elif is_end:
        lines[middle] = (end, None)
        if height > 1:
            lines[middle - 1] = (word, None)
    else:
        was = pen.text("•", "o") if state in situation.trail else ""
        lines[middle] = (was or word or ("" if pen.has_colour else "."), None)
    return lines


def keys_at(situation: Situation) -> dict[int, str]:
    """Return the keys that most likely lead to each other state."""
    found: dict[int, str] = {}
    for action, key in situation.keys.items():
        likeliest = outcomes(situation.mdp, situation.state, action)[0][0]
        if likeliest is not None and likeliest != situation.state:
            found[likeliest] = found.get(likeliest, "") + key
    return found


def _kind_styles(grid: Grid) -> dict[str, Style]:
    """Return a colour for every kind but the commonest."""
    named = {word: colour for colour, words in KNOWN.items() for word in words}
    colours: dict[str, str] = {}
    for kind in _other_kinds(grid):
        free = [colour for colour in PALETTE if colour not in colours.values()] or [
            PALETTE[len(colours) % len(PALETTE)]
        ]
        wanted = named.get(kind.lower())
        colours[kind] = wanted if wanted is not None and wanted not in colours.values() else free[0]
    return {kind: Style(color="#000000", bgcolor=colour) for kind, colour in colours.items()}


def _other_kinds(grid: Grid) -> list[str]:
    if grid.kinds is None:
        return []
    commonest = commonest_kind(grid.kinds)
    return [kind for kind in dict.fromkeys(grid.kinds) if kind != commonest]


def kind_letters(grid: Grid) -> dict[str, str]:
    """Return a letter for every kind but the commonest, each its own: one of the word if any is free."""
    letters: dict[str, str] = {}
    for kind in _other_kinds(grid):
        wanted = [*kind.lower(), *kind.upper(), *"abcdefghijklmnopqrstuvwxyz"]
        free = (letter for letter in wanted if letter.isalnum() and letter not in letters.values())
        letters[kind] = next(free, "?")
    return letters


def _legend(pen: Pen, situation: Situation, grid: Grid, width: int, is_roomy: bool) -> list[Text]:
    """Return what the marks mean, as few lines as it takes: those that occur; `is_roomy`: cells hold words."""
    entries = [Text.assemble(pen.chip("YOU" if is_roomy else "@", HERE), " you are here")]
    if chips := keys_at(situation):
        shown = min(chips.values(), key=len)
        entries.append(Text.assemble(pen.chip(shown, KEY) if pen.has_colour else f"<{shown}>", " leads there"))
    styles, letters = _kind_styles(grid), kind_letters(grid)
    for kind, letter in letters.items():
        entries.append(Text.assemble(pen.chip(letter, styles[kind]) if pen.has_colour else f" {letter} ", f" {kind}"))
    if grid.kinds is not None and letters:
        swatch = pen.chip(" ", Style(bgcolor=PLAIN)) if pen.has_colour else " . "
        entries.append(Text.assemble(swatch, f" {commonest_kind(grid.kinds)}"))
    if situation.mdp.terminal.any():
        word = "end" if is_roomy or not pen.has_colour else pen.text("■", "X")
        mark = pen.chip(word, Style(color="#ffffff", bgcolor=END)) if pen.has_colour else "end"
        entries.append(Text.assemble(mark, " it is over there"))
    if situation.mdp.num_states < grid.num_rows * grid.num_columns:
        entries.append(Text.assemble((pen.text("░░░", "###"), WALL) if pen.has_colour else "###", " wall"))
    if situation.trail:
        entries.append(Text.assemble(pen.text(" • ", " o "), " where you were"))
    return flowed(entries, width)


def flowed(entries: Sequence[Text], width: int, gap: str = "   ") -> list[Text]:
    """Return texts side by side, in as many lines as that takes."""
    lines: list[Text] = []
    for entry in entries:
        if lines and lines[-1].cell_len + len(gap) + entry.cell_len <= width:
            lines[-1].append(gap).append_text(entry)
        else:
            lines.append(entry.copy())
    return lines


# Maps: states that can be drawn as a graph


def _map_lines(pen: Pen, situation: Situation, width: int, height: int) -> list[Text] | None:
    """Return a map of the states around, as far as they have room, or None if not even the nearest have."""
    for rings in (None, *range(MAX_RINGS, 0, -1)):
        near = _near(situation, rings)
        if (places := _places(situation, near, width, height - 2)) is not None:
            return _drawn_map(pen, situation, near, places, width)
    return None


def _near(situation: Situation, rings: int | None) -> BoolArray:
    """Return `[S]` which states are at most so many steps away, there or back."""
    links = state_links(situation.mdp)
    links = links + links.T
    near = np.zeros(situation.mdp.num_states, dtype=bool)
    near[situation.state] = True
    for _ in range(situation.mdp.num_states if rings is None else rings):
        wider = near | ((links @ near.astype(np.float64)) > 0.0)
        if (wider == near).all():
            break
        near = wider
    return near


def _places(situation: Situation, near: BoolArray, width: int, height: int) -> dict[int, tuple[int, int]] | None:
    """Return the line and column of each state, or None if some would touch: chips need 3 characters, others 1."""
    states = np.flatnonzero(near)
    points = layout_of(situation.mdp).places[states]
    low, size = points.min(axis=0), np.maximum(np.ptp(points, axis=0), 1e-9)
    scale = min((width - 7) / (2.0 * size[0]), (height - 1) / size[1])  # lines per unit; 2 characters per line
    columns = np.rint(3.0 + 2.0 * scale * (points[:, 0] - low[0])).astype(int)
    lines = np.rint(scale * (size[1] - (points[:, 1] - low[1]))).astype(int)
    places = {int(s): (int(line), int(column)) for s, line, column in zip(states, lines, columns, strict=True)}
    chips = {situation.state: 2, **{state: 1 for state in keys_at(situation)}}  # characters at either side
    taken: set[tuple[int, int]] = set()
    for state, (line, column) in places.items():
        side = chips.get(state, 0)
        cells = {(line, column + offset) for offset in range(-side, side + 2)}
        if cells & taken:
            return None
        taken |= cells
    return places


def _drawn_map(
    pen: Pen, situation: Situation, near: BoolArray, places: Mapping[int, tuple[int, int]], width: int
) -> list[Text]:
    mdp = situation.mdp
    num_lines, num_columns = (1 + max(place[axis] for place in places.values()) for axis in (0, 1))
    canvas: list[list[tuple[str, Style | None]]] = [[(" ", None)] * (num_columns + 6) for _ in range(num_lines)]
    links = state_links(mdp).tocoo()
    pairs = {(min(s, t), max(s, t)) for s, t in zip(links.row.tolist(), links.col.tolist(), strict=True) if s != t}
    for first, second in sorted(pairs):
        if near[first] and near[second]:
            for line, column, mark in _stroke(pen, places[first], places[second]):
                canvas[line][column] = (mark, FAINT)
    chips = keys_at(situation)
    for state, (line, column) in places.items():
        mark, style = pen.text("○", "o"), Style()
        if state == situation.state:
            mark, style = " YOU " if pen.has_colour else "[YOU]", HERE
        elif state in chips:
            mark, style = f" {chips[state][:1]} " if pen.has_colour else f"<{chips[state][:1]}>", KEY
        elif mdp.terminal[state]:
            mark, style = pen.text("■", "#"), Style(bold=True)
        elif state in situation.trail:
            mark = pen.text("●", "*")
        for offset, letter in enumerate(mark):
            canvas[line][column - len(mark) // 2 + offset] = (letter, style)
    lines = []
    for row in canvas:
        text = Text()
        for letter, ink in row:
            text.append(letter, style=ink)
        text.rstrip()
        lines.append(text)
    entries = [Text.assemble(pen.chip("YOU", HERE), " you are here")]
    if chips:
        shown = next(iter(chips.values()))[:1]
        entries.append(Text.assemble(pen.chip(shown, KEY) if pen.has_colour else f"<{shown}>", " leads there"))
    if any(mdp.terminal[state] for state in places):
        entries.append(Text(f"{pen.text('■', '#')} it is over there"))
    if not near.all():
        entries.append(Text(f"{int(near.sum())} of {mdp.num_states} places are shown", style=FAINT))
    return [*lines, Text(""), *flowed(entries, width)]


def _stroke(pen: Pen, start: tuple[int, int], end: tuple[int, int]) -> Iterator[tuple[int, int, str]]:
    """Yield the characters of a line between two places."""
    height, width = end[0] - start[0], end[1] - start[1]
    count = max(abs(height), abs(width))
    if height == 0:
        mark = pen.text("─", "-")
    elif width == 0:
        mark = pen.text("│", "|")
    elif abs(abs(width) - 2 * abs(height)) <= abs(height):
        mark = pen.text("╲" if height * width > 0 else "/", "\\" if height * width > 0 else "/")
        count = abs(height)
    else:
        mark = pen.text("·", ".")
    for step in range(1, count):
        yield start[0] + round(step * height / count), start[1] + round(step * width / count), mark


# Trees: states without a place


def _tree_lines(pen: Pen, situation: Situation, width: int, height: int) -> list[Text]:
    """Return the place, where each action leads, and what comes after that, from left to right."""
    mdp, state = situation.mdp, situation.state
    actions = list(situation.keys)
    here = pen.chip(_short_name(mdp, state), HERE)
    shows_after = 2 * len(actions) + 3 < height
    labels = {action: _own_label(mdp, state, action) for action in actions}
    label_width = max((len(label) for label in labels.values()), default=0)
    key_width = max((len(situation.keys[action]) for action in actions), default=1) + 2
    branches: list[list[Text]] = []
    for action in actions:
        stem = Text.assemble(pen.chip(situation.keys[action].ljust(key_width - 2), KEY))
        stem.append(f" {labels[action].ljust(label_width)} " if label_width else " ")
        stem.append(pen.text("──▸ ", "--> "), style=FAINT)
        stem.append(destination_words(mdp, state, action), style=Style(bold=True))
        branches.append([stem, *(_after(pen, situation, action, stem.cell_len) if shows_after else [])])
    middle = len(branches) // 2 if len(branches) % 2 else len(branches) // 2 - 1
    joints = pen.text("┌├└│┼┤─", "+++|++-")
    lines: list[Text] = []
    blank = " " * here.cell_len
    for index, branch in enumerate(branches):
        for part, content in enumerate(branch):
            is_first, is_last, is_middle = index == 0, index == len(branches) - 1, index == middle
            if part == 0:
                joint = joints[6] if len(branches) == 1 else joints[0 if is_first else 2 if is_last else 1]
                if is_middle and len(branches) > 1:
                    joint = joints[4] if not is_first else pen.text("┬", "+")
                start = (
                    Text.assemble(here, (joints[6] + joint + joints[6], FAINT))
                    if is_middle
                    else Text.assemble(blank, (f" {joint}{joints[6]}", FAINT))
                )
            else:
                start = Text(blank + (" " if is_last else f" {joints[3]}"), style=FAINT)
                start.append(" " * (len(blank) + 3 - start.cell_len))
            line = Text.assemble(start, content)
            line.truncate(width, overflow="ellipsis")
            lines.append(line)
    entries = [Text.assemble(pen.chip(_short_name(mdp, state), HERE), " you are here")]
    if branches:
        entries.append(Text.assemble(pen.chip(situation.keys[actions[0]], KEY), " key to press"))
    return [*(lines or [here]), Text(""), *flowed(entries, width)]


def _after(pen: Pen, situation: Situation, action: int, indent: int) -> list[Text]:
    """Return a line with the states that come after the likeliest outcome of an action."""
    mdp = situation.mdp
    first = outcomes(mdp, situation.state, action)[0][0]
    if first is None or first == situation.state or mdp.terminal[first]:
        return [Text("")]
    found = dict.fromkeys(
        outcome
        for other in np.flatnonzero(mdp.available[first]).tolist()
        for outcome, _ in outcomes(mdp, first, other)
        if outcome is not None and outcome not in (first, situation.state)
    )
    if not found:
        return [Text("")]
    names = [_short_name(mdp, state) for state in found]
    shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    words = Text(" " * (indent - len(destination_words(mdp, situation.state, action))))
    return [words.append(pen.text("╰─ from there: ", "`- from there: ") + shown, style=FAINT)]


def _own_label(mdp: FiniteMDP, state: int, action: int) -> str:
    """Return the label of an action, "" where it only repeats where it leads."""
    label = mdp.action_name(action)
    return "" if label == destination_words(mdp, state, action) else label


def _short_name(mdp: FiniteMDP, state: int) -> str:
    if mdp.state_labels:
        return mdp.state_labels[state]
    if mdp.grid is not None:
        row, column = mdp.grid.places[state].tolist()
        return f"row {row}, column {column}"
    return f"state {state}"
