"""Where methods ask: a map of the world per method, or bars where the world cannot be drawn."""

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from journeyman.errors import InputError
from journeyman.experiment.statistics.queries import counts_per_state
from journeyman.experiment.statistics.table import with_methods
from journeyman.extras import require
from journeyman.mdp import FiniteMDP
from journeyman.mdp.layouts import drawing_kind, layout_of
from journeyman.report.drawing.cells import add_legend, draw_bars, draw_cells, new_figure, plain
from journeyman.report.drawing.graphs import draw_nodes
from journeyman.report.sweep.figure_data import DEFAULTS, FigureData, FigureOptions, figure_data, wrapped_title
from journeyman.types import FloatArray
from journeyman.worlds import World, make_world

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

PANEL_WIDTH = 2.9  # inches
FONT_SIZE = 6.5  # of numbers and kinds in the small cells


def query_map_figure(
    table: "DataFrame", options: FigureOptions = DEFAULTS, *, seed: int | None = None, first: int | None = None
) -> "Figure":
    """Return how often each method asked about each state, for one group of results.

    Where all seeds have the same world (but for its true reward) this is the average over them, else one of them.

    Parameters
    ----------
    seed
        Which instance; default: all if they are alike, else the first that most methods have met.
    first
        How many queries of each cell count; default: all.
    """
    shown = figure_data(table, options)
    seeds = _chosen_seeds(shown, seed)
    part = shown.table[shown.table["seed"].isin(seeds)]
    world = world_of(part, seeds[0])
    mdp = world.problem.mdp
    counts = {method: _mean_counts(with_methods(part, [method]), mdp, first) for method in shown.methods}
    num_asked = min(first or shown.last_step, shown.last_step)
    asked = "query" if num_asked == 1 else f"{num_asked} queries"
    where = f"seed {seeds[0]}" if len(seeds) == 1 else f"average of {len(seeds)} seeds"
    title = f"{shown.title}: where the first {asked} were put, {where}"
    if drawing_kind(mdp) == "bars":
        return _bars_figure(shown, mdp, counts, title)
    return _map_figure(shown, world, counts, title)


def world_of(table: "DataFrame", seed: int) -> World:
    """Return the world of an instance, built again from the labels in the table."""
    row = table[table["seed"] == seed].iloc[0]
    return make_world(row["world_name"], int(seed), **json.loads(row["world_options"] or "{}"))


def _chosen_seeds(shown: FigureData, seed: int | None) -> list[int]:
    """Return the seeds to show: the one asked for, all if their worlds look alike, else one that most have met."""
    num_methods = shown.table.groupby("seed")["method"].nunique()
    seeds = [int(value) for value in num_methods.index]
    if seed is not None:
        if seed not in seeds:
            raise InputError(f"seed must be in the table, got {seed}. It has: {', '.join(map(str, seeds))}.")
        return [seed]
    first = world_of(shown.table, seeds[0]).problem.mdp
    if all(_looks_alike(first, world_of(shown.table, other).problem.mdp) for other in seeds[1:]):
        return seeds
    return [int(num_methods.idxmax())]


def _looks_alike(first: FiniteMDP, second: FiniteMDP) -> bool:
    """Whether two MDPs have the same dynamics and initial states, so that their states are the same places."""
    one, other = first.rows, second.rows
    pairs = (
        (first.terminal, second.terminal),
        (first.initial, second.initial),
        (one.indptr, other.indptr),
        (one.next_states, other.next_states),
        (one.probabilities, other.probabilities),
    )
    return all(np.array_equal(*pair) for pair in pairs)


def _mean_counts(table: "DataFrame", mdp: FiniteMDP, first: int | None) -> FloatArray:
    """Return how often each state `[S]` was asked about per cell; NaN if there is no cell."""
    num_cells = table["seed"].nunique()
    if num_cells == 0:
        return np.full(mdp.num_states, np.nan)
    return counts_per_state(table, mdp.num_states, first=first) / float(num_cells)


def _map_figure(shown: FigureData, world: World, counts: dict[str, FloatArray], title: str) -> "Figure":
    """Draw a small map per method, with one scale of colours for all."""
    mdp = world.problem.mdp
    columns, rows = layout_of(mdp).extent if mdp.grid is None else (mdp.grid.num_columns, mdp.grid.num_rows)
    num_rows = -(-len(counts) // (4 if len(counts) <= 8 else 5))
    num_columns = -(-len(counts) // num_rows)
    height = PANEL_WIDTH * rows / columns
    figure = new_figure(PANEL_WIDTH * num_columns + 1.0, (height + 0.35) * num_rows + 0.8, "compressed")
    axes = figure.subplots(num_rows, num_columns, squeeze=False)
    scale = _colour_scale(list(counts.values()))
    for ax, method in zip(axes.flat, shown.methods, strict=False):
        values = np.where(world.problem.queryable, counts[method], np.nan)
        if mdp.grid is None:
            draw_nodes(ax, mdp, values, scale, is_signed=False, optimal=None, has_names=False)
        else:
            draw_cells(ax, mdp, mdp.grid, values, scale, is_signed=False, optimal=None)
        for text in ax.texts:
            text.set_visible(text.get_text() not in ("?", "0"))
            text.set_fontsize(min(FONT_SIZE, float(text.get_fontsize())))
        ax.set_xlabel("")
        ax.tick_params(labelsize=7)
        ax.set_title(plain(method), fontsize=10, color=shown.styles[method].colour)
    for ax in axes.flat[len(counts) :]:
        ax.set_visible(False)
    figure.colorbar(scale, ax=axes, label="queries per run", shrink=0.85 / num_rows, aspect=20, pad=0.01)
    wrapped_title(figure, title)
    add_legend(figure, mdp, None)
    return figure


def _colour_scale(counts: list[FloatArray]) -> Any:
    """Return colours that darken with the square root: some ask in one place always, others all over the world."""
    largest = max(1.0, *(float(np.nan_to_num(values).max()) for values in counts))
    norm = require("matplotlib.colors", "plot").PowerNorm(0.5, 0.0, largest)
    return require("matplotlib.cm", "plot").ScalarMappable(norm, "Purples")


def _bars_figure(shown: FigureData, mdp: FiniteMDP, counts: dict[str, FloatArray], title: str) -> "Figure":
    """Draw a row of bars per method, on one scale."""
    width = min(max(7.0, 0.12 * mdp.num_states), 14.0)
    figure = new_figure(width, 1.2 + 1.1 * len(counts))
    axes = figure.subplots(len(counts), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    for ax, method in zip(axes, shown.methods, strict=True):
        draw_bars(ax, mdp, counts[method], None)
        ax.set_xlabel("")
        for artist in (*ax.patches, *ax.lines[:-1]):  # all but the axis, which is drawn last
            artist.set_color(shown.styles[method].colour)
        ax.set_title(plain(method), fontsize=9, loc="left", color=shown.styles[method].colour)
    axes[0].yaxis.set_major_locator(require("matplotlib.ticker", "plot").MaxNLocator(integer=True, nbins=3))
    axes[-1].set_xlabel("state")
    figure.supylabel("queries per run", fontsize=9)
    wrapped_title(figure, title)
    return figure
