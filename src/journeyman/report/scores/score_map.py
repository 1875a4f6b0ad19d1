"""Where to ask next, as a picture: scores of an acquisition function on the grid, or as bars."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from journeyman.acquisition import Scores
from journeyman.demonstrations import Demonstration
from journeyman.extras import require
from journeyman.inference import Posterior
from journeyman.mdp import FiniteMDP
from journeyman.report.drawing.cells import add_legend, has_marks, make_figure, plain
from journeyman.report.drawing.maps import state_map
from journeyman.report.world.summary import without_nonfinite
from journeyman.types import FloatArray, IntArray
from journeyman.worlds import World

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROUNDING = 1e-12
UNITS = {"reward": "units of reward"}  # others are words already
SCALES = {1.0: "", 1e3: "thousandths", 1e6: "millionths"}
BEST: dict[str, Any] = {"linestyle": "none", "marker": "*", "color": "#d1495b", "markeredgecolor": "white", "zorder": 6}
ASKED: dict[str, Any] = {"linestyle": "none", "marker": "s", "color": "#2a9d8f", "zorder": 6}


@dataclass(frozen=True, eq=False)
class ScoreMap:
    """Scores of a world's states after some demonstrations, and the posterior that they come from."""

    world: World
    demonstrations: tuple[Demonstration, ...]
    posterior: Posterior
    scores: Scores
    asked_by: str = "chance"

    @property
    def times_asked(self) -> IntArray:
        """How often each state was asked about `[S]`."""
        starts = [item.start_state for item in self.demonstrations]
        return np.bincount(np.array(starts, dtype=np.int64), minlength=self.world.problem.mdp.num_states)

    @property
    def order(self) -> IntArray:
        """Queryable states, best first."""
        order = np.argsort(-self.scores.values, kind="stable")
        return order[np.isfinite(self.scores.values[order])]

    @property
    def scale(self) -> float:
        """What to multiply scores by, so that the best has digits before or right after the point."""
        return scale_of(self.scores.values)

    @property
    def scaled(self) -> FloatArray:
        """Scores `[S]` times the scale, without rounding errors around 0; NaN where a state may not be asked about."""
        return scaled_scores(self.scores.values)

    @property
    def label(self) -> str:
        """What the scaled scores are, with their unit."""
        return score_label(self.scores)


def scale_of(values: FloatArray) -> float:
    """Return what to multiply scores by, so that the best has digits before or right after the point."""
    largest = float(values.max())
    return next((scale for scale in SCALES if largest * scale >= 0.1), 1e6 if largest > 0 else 1.0)


def scaled_scores(values: FloatArray) -> FloatArray:
    """Return scores `[S]` times their scale, without rounding errors around 0; NaN where they are not finite."""
    clean = np.where(np.abs(values) < ROUNDING, 0.0, values)
    return np.where(np.isfinite(clean), clean * scale_of(values), np.nan)


def plain_unit(unit: str) -> str:
    """Return the unit of an acquisition function in words."""
    return UNITS.get(unit, unit)


def score_label(scores: Scores) -> str:
    """Return what scaled scores are: "score in thousandths of nats", or "score" where they have no unit."""
    words = [word for word in (SCALES[scale_of(scores.values)], plain_unit(scores.unit)) if word]
    return f"score in {' of '.join(words)}" if words else "score"


def score_figure(found: ScoreMap) -> "Figure":
    """Return a picture of the scores; the best state has a star, states that were asked about have a square."""
    mdp, scores = found.world.problem.mdp, found.scores
    figure = make_figure(mdp, num_panels=1)
    ax = figure.add_subplot()
    draw_scores(ax, mdp, found.scaled, found.label, np.flatnonzero(found.times_asked), int(found.order[0]))
    query = "" if scores.length is None else f", trajectories of {scores.length}"
    title = f"{found.world.name}, seed {found.world.seed}: {scores.name}{query}, {len(found.demonstrations)} asked"
    ax.set_title(plain(title), loc="left", fontsize=11)
    add_legend(figure, mdp, None)
    return figure


def draw_scores(ax: "Axes", mdp: FiniteMDP, values: FloatArray, label: str, asked: IntArray, best: int) -> None:
    """Draw scores `[S]` (NaN: may not be asked about), with a star at the best state and squares at those `asked`."""
    state_map(ax, mdp, values, label=label, is_diverging=False)
    for text in ax.texts:
        text.set_visible(text.get_text() != "?")  # where nobody may be asked there is no number
    size = 6.0
    if mdp.grid is not None and has_marks(mdp):
        size = 7.0 * min(1.0, 12 / max(mdp.grid.num_rows, mdp.grid.num_columns))
        rows, columns = mdp.grid.places.T
        ax.plot(columns[asked] + 0.33, rows[asked] - 0.33, markersize=0.6 * size, **ASKED)
        ax.plot(columns[[best]], rows[[best]] - 0.15, markersize=1.8 * size, **BEST)
    elif mdp.grid is None:
        ax.plot(asked, np.zeros(len(asked)), markersize=0.8 * size, clip_on=False, **ASKED)
        ax.plot([best], values[[best]], markersize=2.0 * size, clip_on=False, **BEST)
        if not np.nanmax(values) > 0.0:
            ax.set_ylim(0.0, 1.0)  # nothing to scale the axis by
    line = require("matplotlib.lines", "plot").Line2D
    handles = [line([], [], label="asked next", markersize=10, **BEST)]
    if asked.size:
        handles.append(line([], [], label="asked before", markersize=5, **ASKED))
    if mdp.grid is None or has_marks(mdp):
        ax.legend(handles=handles, loc="lower right", bbox_to_anchor=(1.0, 0.995), ncols=2, fontsize=8, frameon=False)


def score_record(found: ScoreMap) -> dict[str, Any]:
    """Return the scores as plain data for JSON; None where a state may not be asked about."""
    scores, mdp = found.scores, found.world.problem.mdp
    error = None if scores.standard_error is None else without_nonfinite(scores.standard_error.tolist())
    return {
        "world": found.world.name,
        "seed": found.world.seed,
        "acquisition": scores.name,
        "query": scores.kind,
        "length": scores.length,
        "unit": scores.unit,
        "inference": found.posterior.method,
        "num_samples": found.posterior.num_samples,
        "asked_by": found.asked_by,
        "asked": [item.start_state for item in found.demonstrations],
        "best_state": int(found.order[0]),
        "best_state_name": mdp.state_name(int(found.order[0])),
        "scores": without_nonfinite(scores.values.tolist()),
        "standard_error": error,
        "details": dict(scores.details),
        "warnings": [*found.posterior.warnings, *scores.warnings],
    }
