"""A problem with one state marked: as text, and as an image whose background is drawn only once."""

from io import StringIO

import numpy as np
from rich.console import Console

from journeyman.extras import require
from journeyman.mdp import FiniteMDP
from journeyman.mdp.layouts import drawing_kind, layout_of
from journeyman.report.drawing.cells import lay_out, make_panels
from journeyman.report.drawing.maps import state_map
from journeyman.report.drawing.marks import named_kinds
from journeyman.report.drawing.terminal_grid import ASCII, SMALL_CELL, Sheet, small_width
from journeyman.types import AnyArray, FloatArray

DPI = 80
MARK, RIM = (255, 140, 0), (0, 0, 0)  # colours of the disc that shows where the episode is
MAX_RADIUS, MIN_RADIUS = 14.0, 5.0  # of it, in pixels


def drawn_as_text(mdp: FiniteMDP, state: int | None, news: str) -> str:
    """Return the grid with the state in brackets, and a line of news; without a grid the line alone.

    A cell shows the first letter of its kind, "." for the commonest; without kinds "E" is a terminal cell. "###" is a
    wall.
    """
    name = "not begun" if state is None else f"state {mdp.state_name(state)}"
    line = f"{name} {news}".rstrip()
    if mdp.grid is None:
        return line
    kinds = named_kinds(mdp) or ["E" if is_end else "" for is_end in mdp.terminal]
    letters = [kind[:1] or "." for kind in kinds]
    texts = [[f"[{letter}]" if s == state else f" {letter} "] for s, letter in enumerate(letters)]
    sheet = Sheet(mdp, mdp.grid, ASCII, SMALL_CELL, "")
    console = Console(file=StringIO(), width=max(small_width(mdp) + 1, 20), color_system=None, highlight=False)
    console.print(sheet.drawing(texts, np.full(mdp.num_states, np.nan), 1.0))
    assert isinstance(console.file, StringIO)
    return f"{console.file.getvalue()}{line}"


class Picture:
    """The picture of an MDP and its reward, and where its states are in it."""

    def __init__(self, mdp: FiniteMDP, reward: FloatArray) -> None:
        canvas_class = require("matplotlib.backends.backend_agg", "plot").FigureCanvasAgg
        figure, (ax,) = make_panels(mdp)
        figure.set_dpi(DPI)
        canvas = canvas_class(figure)
        state_map(ax, mdp, reward, label="reward")
        lay_out(figure)
        canvas.draw()
        self.background: AnyArray = np.asarray(canvas.buffer_rgba())[:, :, :3].copy()
        pixels = ax.transData.transform(_places(mdp))
        self.places = np.stack([self.background.shape[0] - pixels[:, 1], pixels[:, 0]], axis=1)  # row, column
        unit = np.abs(ax.transData.transform([[1.0, 1.0]]) - ax.transData.transform([[0.0, 0.0]])).min()
        self.radius = float(np.clip(0.22 * unit, MIN_RADIUS, MAX_RADIUS))

    def with_mark(self, state: int | None) -> AnyArray:
        """Return a new image `[height, width, 3]` with a disc where the state is."""
        image = self.background.copy()
        if state is None:
            return image
        rows, columns = np.ogrid[: image.shape[0], : image.shape[1]]
        distance = np.hypot(rows - self.places[state, 0], columns - self.places[state, 1])
        image[distance <= self.radius] = RIM
        image[distance <= self.radius - 1.5] = MARK
        return image


def _places(mdp: FiniteMDP) -> FloatArray:
    """Return `[S, 2]` x and y of each state on the axes of `state_map`."""
    if mdp.grid is not None:
        return mdp.grid.places[:, ::-1].astype(np.float64)
    if drawing_kind(mdp) == "graph":
        return np.asarray(layout_of(mdp).places, dtype=np.float64)
    return np.stack([np.arange(mdp.num_states, dtype=np.float64), np.zeros(mdp.num_states)], axis=1)
