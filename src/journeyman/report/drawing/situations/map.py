"""A situation on a map: states laid out as a graph, all of them or those around the place."""

from collections.abc import Iterator, Mapping

import numpy as np
from rich.style import Style
from rich.text import Text

from journeyman.mdp.graph import state_links
from journeyman.mdp.layouts import layout_of
from journeyman.report.drawing.situations.place import FAINT, HERE, KEY, Pen, Situation, flowed, keys_at
from journeyman.types import BoolArray

MAX_RINGS = 4


def map_lines(pen: Pen, situation: Situation, width: int, height: int) -> list[Text] | None:
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
        entries.append(Text(f"{pen.text('■', '#')} it ends there"))
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
