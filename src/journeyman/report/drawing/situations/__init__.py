"""One situation in the terminal: where somebody is, what is around, and where each key leads.

On a grid the whole grid is drawn, or a window around the place where it is too large. Elsewhere states that have
a layout are drawn as a map, and others as a small tree: the place, where its actions lead, and what comes after
that. Everything can be read without colour, and in ASCII.
"""

from rich.console import Console
from rich.text import Text

from journeyman.mdp.layouts import drawing_kind
from journeyman.mdp.memory import remembered_words
from journeyman.report.drawing.situations.grid import grid_lines, kind_letters
from journeyman.report.drawing.situations.map import map_lines
from journeyman.report.drawing.situations.place import (
    FAINT,
    KEY,
    Pen,
    Situation,
    destination_words,
    flowed,
    keys_at,
    outcomes,
    place_words,
)
from journeyman.report.drawing.situations.tree import tree_lines

__all__ = [
    "FAINT",
    "KEY",
    "Pen",
    "Situation",
    "destination_words",
    "draw_situation",
    "flowed",
    "keys_at",
    "kind_letters",
    "outcomes",
    "place_words",
]


def draw_situation(console: Console, situation: Situation, width: int, height: int) -> list[Text]:
    """Return at most `height` lines of at most `width` characters that show a situation, with a legend if it fits.

    Where there is a memory the world is drawn, and what is remembered stands above it.
    """
    if situation.mdp.memory is not None:
        said = Text(f"remembered: {remembered_words(situation.mdp, situation.state)}", style=FAINT)
        said.truncate(width)
        return [said, *draw_situation(console, situation.in_world(), width, height - 1)][:height]
    pen, mdp = Pen.of(console), situation.mdp
    lines = None
    if mdp.grid is not None:
        lines = grid_lines(pen, situation, mdp.grid, width, height)
    elif drawing_kind(mdp) == "graph":
        lines = map_lines(pen, situation, width, height)
    lines = (lines or tree_lines(pen, situation, width, height))[:height]
    for line in lines:
        line.truncate(width)
    return lines
