"""Pictures with matplotlib (extra `plot`): maps of any number per state, worlds, posteriors.

Only the object interface of matplotlib is used, so that no picture depends on what was drawn before.
"""

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from journeyman.errors import InputError
from journeyman.extras import require
from journeyman.mdp import FiniteMDP
from journeyman.mdp.layouts import drawing_kind
from journeyman.problem import Problem
from journeyman.report.drawing.cells import (
    LEAST_FONT,
    add_legend,
    colour_scale,
    draw_bars,
    draw_cells,
    has_marks,
    lay_out,
    make_panels,
    plain,
)
from journeyman.report.drawing.graphs import draw_nodes
from journeyman.report.world.summary import WorldSummary, checked_values, per_state
from journeyman.storage.files import whole_file
from journeyman.types import BoolArray, FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("png", "svg", "pdf", "jpg", "jpeg", "webp", "tif", "tiff")
DPI = 150


def state_map(
    ax: "Axes",
    mdp: FiniteMDP,
    values: ArrayLike,
    *,
    label: str = "",
    is_diverging: bool = True,
    limit: float | None = None,
    optimal: BoolArray | None = None,
    certainty: FloatArray | None = None,
    least_font: float | None = None,
) -> None:
    """Draw a number per state: as colours on the grid of the MDP, or of a graph; as bars if neither can be read.

    Terminal states are hatched; initial states have a ring, unless all states are equally likely ones.

    Parameters
    ----------
    ax
        Axes to draw on; a grid or graph gets a colour bar at its right.
    values
        `[S]` or `[S, A]`. A cell or node shows the average over the available actions, bars have one colour per action.
        What is not finite stays grey.
    label
        What the numbers are.
    is_diverging
        Red below 0 and blue above, equally dark on both sides; else one colour that darkens from 0 upwards.
    limit
        Value of the darkest colour; default: the largest magnitude.
    optimal
        `[S, A]` actions to draw as arrows, or as stars on bars per action; optional.
    certainty
        `[S]` in 0..1, how sure the actions are: on a graph, the surer, the stronger their arrows; optional.
    least_font
        Points below which numbers and names are left out; default: they are as small as they have to be to fit.
    """
    kind = drawing_kind(mdp)
    if kind == "bars":
        draw_bars(ax, mdp, checked_values(mdp, values), optimal)
        ax.set_ylabel(plain(label))
        return
    numbers = per_state(mdp, values)
    scale = colour_scale(numbers, is_diverging, limit)
    shared: dict[str, Any] = {"is_signed": is_diverging, "optimal": optimal}
    if least_font is not None:
        shared["least_font"] = least_font
    if mdp.grid is not None:
        draw_cells(ax, mdp, mdp.grid, numbers, scale, **shared)
    else:
        draw_nodes(ax, mdp, numbers, scale, certainty=certainty, **shared)
    bar = ax.figure.colorbar(scale, cax=ax.inset_axes((1.03, 0.0, 0.04, 1.0)), label=plain(label))
    if least_font is not None:
        bar.ax.tick_params(labelsize=8)
        bar.ax.yaxis.label.set_fontsize(8)


def world_figure(summary: WorldSummary) -> "Figure":
    """Return a picture of a world: its true reward with the optimal policy, or bars of Q* if it has no picture."""
    world, mdp = summary.world, summary.mdp
    name = plain(f"{world.name}, seed {world.seed}")
    figure, (ax,) = make_panels(mdp)
    if drawing_kind(mdp) == "bars":
        state_map(ax, mdp, summary.q, label="Q* for the true reward", optimal=summary.optimal)
        ax.set_title(f"{name}: how good every action is")
    else:
        state_map(ax, mdp, summary.reward, label="true reward", optimal=summary.optimal)
        ax.set_title(f"{name}: true reward{' and optimal policy' if has_marks(mdp) else ''}")
    add_legend(figure, mdp, summary.optimal)
    return figure


def posterior_map(
    problem: Problem,
    mean_reward: ArrayLike,
    reward_std: ArrayLike,
    title: str = "Posterior over the reward",
    *,
    is_small: bool = False,
) -> "Figure":
    """Return a picture of what is known about the reward: posterior mean and posterior standard deviation.

    Parameters
    ----------
    mean_reward, reward_std
        `[S]` or `[S, A]`, both the same.
    is_small
        Whether it has the size of a picture in a notebook, without text that would be too small to read.
    """
    mdp = problem.mdp
    mean, std = checked_values(mdp, mean_reward), checked_values(mdp, reward_std)
    if mean.shape != std.shape:
        raise InputError(f"mean_reward and reward_std must have the same shape, got {mean.shape} and {std.shape}.")
    if (std < 0).any():
        raise InputError(f"reward_std must be at least 0, got {std.min()}. Swap the arguments if they are in disorder.")
    figure, (first, second) = make_panels(mdp, 2, is_small=is_small)
    least_font, size = (LEAST_FONT, 10.0) if is_small else (None, None)
    state_map(first, mdp, mean, label="reward", least_font=least_font)
    state_map(second, mdp, std, label="reward", is_diverging=False, least_font=least_font)
    first.set_title("posterior mean", fontsize=size)
    second.set_title("posterior standard deviation", fontsize=size)
    figure.suptitle(plain(title))
    add_legend(figure, mdp, None)
    return figure


def save_figure(figure: "Figure", path: str | Path) -> None:
    """Write a figure to `path`, whole or not at all; the ending of its name says the format."""
    path = checked_picture_path(path)
    buffer = BytesIO()
    lay_out(figure)
    figure.savefig(buffer, format=path.suffix[1:].lower(), dpi=DPI)
    with whole_file(path, "a picture") as temporary:
        temporary.write_bytes(buffer.getvalue())


def checked_picture_path(path: str | Path) -> Path:
    """Return the path of a picture, if matplotlib is there and the file can be made."""
    require("matplotlib.figure", "plot")
    path = Path(path)
    if path.is_dir():
        raise InputError(f"a picture must go to a file, got the folder {str(path)!r}. Add a file name.")
    if path.suffix[1:].lower() not in FORMATS:
        endings = ", ".join(f".{ending}" for ending in FORMATS)
        raise InputError(f"the name of a picture must end in one of {endings}, got {path.name!r}. Rename it.")
    if not path.parent.is_dir():
        raise InputError(f"the folder of a picture must exist, got {str(path.parent)!r}. Create it first.")
    return path
