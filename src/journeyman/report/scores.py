"""Where to ask next: scores of an acquisition function as a picture, as plain data, and in the terminal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console, Group, RenderableType
from rich.text import Text

from journeyman.acquisition import ACQUISITIONS, Scores
from journeyman.demonstrations import Demonstration
from journeyman.extras import require
from journeyman.inference import Posterior
from journeyman.learner import Learner
from journeyman.mdp import FiniteMDP
from journeyman.mdp.layouts import drawing_kind, layout_of
from journeyman.problem import Problem
from journeyman.report.drawing.cells import LEAST_FONT, add_legend, has_marks, hide_unknown, make_panels, plain
from journeyman.report.drawing.graphs import RADIUS, points_per_unit
from journeyman.report.drawing.maps import state_map
from journeyman.report.drawing.marks import has_initial_marks, has_row_numbering
from journeyman.report.drawing.palette import GREEN, VERMILLION
from journeyman.report.drawing.terminal_grid import Sheet, fitting_sheet
from journeyman.report.terminal import definitions, print_warnings, text_table
from journeyman.report.world.summary import without_nonfinite
from journeyman.types import FloatArray, IntArray
from journeyman.wording import counted, listed, plain_number, signed_number
from journeyman.worlds import World

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROUNDING = 1e-12
UNITS = {"reward": "units of reward"}  # others are words already
SCALES = {1.0: "", 1e3: "thousandths", 1e6: "millionths"}
BEST: dict[str, Any] = {
    "linestyle": "none",
    "marker": "*",
    "color": VERMILLION,
    "markeredgecolor": "white",
    "zorder": 6,
}
ASKED: dict[str, Any] = {"linestyle": "none", "marker": "s", "color": GREEN, "zorder": 6}
NUM_TABLE_STATES, NUM_NAMED_STATES, BAR_WIDTH = 12, 4, 24


@dataclass(frozen=True, eq=False)
class ScoreMap:
    """Scores of a problem's states, and the posterior that they come from.

    Parameters
    ----------
    name
        Of the world or study, for titles.
    asked
        States that were asked about so far, in order.
    waiting
        States with a question that has no answer yet.
    num_demonstrations
        Behind the posterior.
    history
        What was demonstrated, and who chose where, in words.
    origin
        What the record says first: which world or study this is.
    """

    name: str
    problem: Problem
    posterior: Posterior
    scores: Scores
    asked: tuple[int, ...]
    waiting: tuple[int, ...]
    num_demonstrations: int
    history: str
    origin: Mapping[str, Any]

    @classmethod
    def of_world(
        cls,
        world: World,
        demonstrations: Sequence[Demonstration],
        posterior: Posterior,
        scores: Scores,
        asked_by: str = "chance",
    ) -> "ScoreMap":
        """Return scores after some demonstrations of a world's expert."""
        starts = tuple(item.start_state for item in demonstrations)
        history = f"{counted(len(starts), 'demonstration')}, at states chosen by {asked_by}"
        origin = {"world": world.name, "seed": world.seed, "asked_by": asked_by}
        name = f"{world.name}, seed {world.seed}"
        return cls(name, world.problem, posterior, scores, starts, (), len(starts), history, origin)

    @classmethod
    def of_learner(cls, learner: Learner, name: str) -> "ScoreMap":
        """Return what a learner thinks of all questions that it may ask next."""
        demonstrations = learner.demonstrations
        num_actions = sum(map(len, demonstrations))
        history = (
            f"{counted(len(learner.queries), 'question')} so far, {len(learner.pending)} of them waiting; "
            f"{counted(len(demonstrations), 'demonstration')} with {counted(num_actions, 'action')} in all"
        )
        asked, waiting = (tuple(query.state for query in some) for some in (learner.queries, learner.pending))
        found = learner.posterior(), learner.scores()
        return cls(name, learner.problem, *found, asked, waiting, len(demonstrations), history, {"study": name})

    @property
    def times_asked(self) -> IntArray:
        """How often each state was asked about `[S]`."""
        return np.bincount(np.array(self.asked, dtype=np.int64), minlength=self.problem.mdp.num_states)

    @property
    def order(self) -> IntArray:
        """Queryable states, best first."""
        order = np.argsort(-without_rounding(self.scores), kind="stable")
        return order[np.isfinite(self.scores.values[order])]

    @property
    def title(self) -> str:
        """What was scored, in a line."""
        query = "" if self.scores.length is None else f", trajectories of {self.scores.length}"
        return f"{self.name}: {function_name(self.scores)}{query}"


def function_name(scores: Scores) -> str:
    """Return the name of the function, and that of the one it handed over to, if it did."""
    used = scores.details.get("used", scores.name)
    return scores.name if used == scores.name else f"{scores.name} (by {used})"


def score_scale(scores: Scores) -> float:
    """Return what to multiply scores by, so that the best has digits before or right after the point."""
    largest = float(scores.values.max())
    return next((scale for scale in SCALES if largest * scale >= 0.1), 1e6 if largest > 0 else 1.0)


def scaled_scores(scores: Scores) -> FloatArray:
    """Return scores `[S]` times their scale, without rounding errors around 0; NaN where they are not finite."""
    clean = without_rounding(scores)
    return np.where(np.isfinite(clean), clean * score_scale(scores), np.nan)


def without_rounding(scores: Scores) -> FloatArray:
    """Return scores `[S]` without rounding errors around 0."""
    return np.where(np.abs(scores.values) < ROUNDING, 0.0, scores.values)


def score_label(scores: Scores) -> str:
    """Return what scaled scores are: "score in thousandths of nats", or "score" where they have no unit."""
    words = [word for word in (SCALES[score_scale(scores)], UNITS.get(scores.unit, scores.unit)) if word]
    return f"score in {' of '.join(words)}" if words else "score"


def score_figure(found: ScoreMap) -> "Figure":
    """Return a picture of the scores; the best state has a star, states that were asked about have a square."""
    title, pad = f"{found.title}, {len(found.asked)} asked", None
    if drawing_kind(found.problem.mdp) == "graph":
        pad = 20.0  # the legend of the marks stands between
    asked, best = np.flatnonzero(found.times_asked), int(found.order[0])
    return titled_score_figure(found.problem.mdp, found.scores, asked, best, title, pad)


def titled_score_figure(
    mdp: FiniteMDP,
    scores: Scores,
    asked: IntArray,
    best: int,
    title: str,
    pad: float | None = None,
    *,
    is_small: bool = False,
) -> "Figure":
    """Return the picture of `draw_scores` under a title, `pad` points above it."""
    figure, (ax,) = make_panels(mdp, is_small=is_small)
    draw_scores(ax, mdp, scores, asked, best, least_font=LEAST_FONT if is_small else None)
    ax.set_title(plain(title), loc="left", fontsize=11, pad=pad)
    add_legend(figure, mdp, None)
    return figure


def draw_scores(
    ax: "Axes", mdp: FiniteMDP, scores: Scores, asked: IntArray, best: int, *, least_font: float | None = None
) -> None:
    """Draw scores, with a star at the best state and squares at those `asked`; none where nobody may be asked."""
    values = scaled_scores(scores)
    state_map(ax, mdp, values, label=score_label(scores), is_diverging=False, least_font=least_font)
    hide_unknown(ax)  # where nobody may be asked there is no number
    kind = drawing_kind(mdp)
    if mdp.grid is not None and has_marks(mdp):
        size = 7.0 * min(1.0, 12 / max(mdp.grid.num_rows, mdp.grid.num_columns))
        rows, columns = mdp.grid.places.T
        ax.plot(columns[asked] + 0.33, rows[asked] - 0.33, markersize=0.6 * size, **ASKED)
        ax.plot(columns[[best]], rows[[best]] - 0.15, markersize=1.8 * size, **BEST)
    elif kind == "graph":
        layout = layout_of(mdp)
        size = min(9.0, points_per_unit(ax, layout) / 6.0)
        x, y = layout.places.T
        ax.plot(x[asked] + 0.75 * RADIUS, y[asked] + 0.75 * RADIUS, markersize=0.8 * size, **ASKED)
        ax.plot(x[[best]], y[[best]] + 1.1 * RADIUS, markersize=2.8 * size, clip_on=False, **BEST)
    elif kind == "bars":
        ax.plot(asked, np.zeros(len(asked)), markersize=4.8, clip_on=False, **ASKED)
        ax.plot([best], values[[best]], markersize=12.0, clip_on=False, **BEST)
        if not np.nanmax(values) > 0.0:
            ax.set_ylim(0.0, 1.0)  # nothing to scale the axis by
    line = require("matplotlib.lines", "plot").Line2D
    handles = [line([], [], label="asked next", markersize=10, **BEST)]
    if asked.size:
        handles.append(line([], [], label="asked before", markersize=5, **ASKED))
    if has_marks(mdp):
        ax.legend(handles=handles, loc="lower right", bbox_to_anchor=(1.0, 0.995), ncols=2, fontsize=8, frameon=False)


def score_record(found: ScoreMap) -> dict[str, Any]:
    """Return the scores as plain data for JSON; None where a state may not be asked about."""
    scores, mdp = found.scores, found.problem.mdp
    error = None if scores.standard_error is None else without_nonfinite(scores.standard_error.tolist())
    return {
        **found.origin,
        "acquisition": scores.name,
        "decided_by": scores.details.get("used", scores.name),
        "query": scores.kind,
        "length": scores.length,
        "lengths": None if scores.lengths is None else scores.lengths.tolist(),
        "unit": scores.unit,
        "inference": found.posterior.method,
        "num_samples": found.posterior.num_samples,
        "num_demonstrations": found.num_demonstrations,
        "asked": list(found.asked),
        "waiting": list(found.waiting),
        "best_state": int(found.order[0]),
        "best_state_name": mdp.state_name(int(found.order[0])),
        "ranking": [
            {"state": state, "name": mdp.state_name(state), "score": float(scores.values[state])}
            for state in found.order.tolist()
        ],
        "scores": without_nonfinite(scores.values.tolist()),
        "standard_error": error,
        "details": dict(scores.details),
        "warnings": [*found.posterior.warnings, *scores.warnings],
    }


def print_scores(console: Console, found: ScoreMap, top: int | None = None) -> None:
    """Print where to ask next, what the marks mean, and what is doubtful.

    Parameters
    ----------
    top
        How many states the table has, best first; default: some, and no table where there is a drawing.
    """
    scores, mdp = found.scores, found.problem.mdp
    query = "" if scores.length is None else f" for trajectories of up to {counted(scores.length, 'step')}"
    title = Text.assemble(
        (found.name, "bold"),
        ": ",
        (function_name(scores), "bold"),
        f"{query} after {counted(found.num_demonstrations, 'demonstration')}",
    )
    sheet = fitting_sheet(console, mdp)
    console.print(Group(title, ""))
    if sheet is not None:
        console.print(Group(_drawing(sheet, found), ""))
        console.print(definitions(_legend(sheet, found)), "")
    if sheet is None or top is not None:
        console.print(Group(_table(found, NUM_TABLE_STATES if top is None else top), ""))
    console.print(definitions(_facts(found)))
    print_warnings(console, (*found.posterior.warnings, *scores.warnings))


def _drawing(sheet: Sheet, found: ScoreMap) -> RenderableType:
    """Return the grid with a score in every cell, or tenths of the best where numbers do not fit."""
    mdp, width, values = sheet.mdp, sheet.cell_width, scaled_scores(found.scores)
    best, limit = int(found.order[0]), float(np.nanmax(values))
    asked, is_marked = found.times_asked, (mdp.initial > 0) & has_initial_marks(mdp)
    texts = []
    for state, value in enumerate(values.tolist()):
        is_rated = not np.isnan(value)
        mark = "*" if is_marked[state] else " "
        if sheet.is_small:
            tenth = str(min(int(10 * value / limit), 9)) if is_rated and limit > 0 else "0" if is_rated else "#"
            texts.append([f"[{tenth}]" if state == best else f" {tenth}{mark}"])
        else:
            number = signed_number(value).lstrip("+") if is_rated else "end" if mdp.terminal[state] else "-"
            line = mark + number.center(width - 1)
            if state == best:
                line = f"{mark.strip()}[{number}]".center(width)[-width:]  # the mark gives way if there is no room
            times = f"x{asked[state]}" if asked[state] else ""
            texts.append([line, times.center(width)])
    return sheet.drawing(texts, values, limit)


def _legend(sheet: Sheet, found: ScoreMap) -> dict[str, str]:
    """Return what the marks mean: all that occur, and no others."""
    mdp, queryable = sheet.mdp, found.problem.queryable
    if sheet.is_small:
        rows = {"0-9": "score in tenths of the best; numbers need a wider terminal, --png or --json"}
    else:
        rows = {"numbers": score_label(found.scores)}
    rows["[ ]"] = "asked next"
    if not sheet.is_small and found.asked:
        rows["x2"] = "asked about twice before"
    if sheet.is_small and not queryable.all():
        rows["#"] = "may not be asked about"
    elif mdp.terminal[~queryable].any():
        rows["end"] = "terminal cell: nobody chooses there"
    if has_initial_marks(mdp):
        rows["*"] = "initial state"
    if has_row_numbering(mdp):
        rows["state"] = "number at the left + number at the top"
    return rows


def _table(found: ScoreMap, num_rows: int) -> RenderableType:
    """Return the best states with their scores and bars."""
    mdp, scaled, error = found.problem.mdp, scaled_scores(found.scores), found.scores.standard_error
    lengths = found.scores.lengths
    columns = ("state", score_label(found.scores), "asked", *(() if lengths is None else ("steps",)), "")
    table = text_table(columns, numeric=tuple(range(1, len(columns) - 1)))
    limit = float(np.nanmax(scaled))
    for state in found.order[:num_rows].tolist():
        spread = "" if error is None else f" +- {plain_number(float(error[state] * score_scale(found.scores)))}"
        times = str(found.times_asked[state]) if found.times_asked[state] else ""
        bar = "#" * round(BAR_WIDTH * scaled[state] / limit) if limit > 0 else ""
        steps = () if lengths is None else (str(lengths[state]),)
        table.add_row(Text(mdp.state_name(state)), f"{scaled[state]:.4g}{spread}", times, *steps, Text(bar))
    rest = len(found.order) - num_rows
    return Group(table, Text(f"{counted(rest, 'more state')}: --json lists them", style="dim")) if rest > 0 else table


def _facts(found: ScoreMap) -> dict[str, str]:
    """Return what was scored, where to ask, and what the function found on its way."""
    scores, mdp = found.scores, found.problem.mdp
    best = int(found.order[0])
    spread = (
        "" if scores.standard_error is None else f" (standard error {plain_number(float(scores.standard_error[best]))})"
    )
    unit, number = UNITS.get(scores.unit, scores.unit), plain_number(float(scores.values[best]))
    function = ACQUISITIONS.find(scores.details.get("used", scores.name))
    rows = {"score": f"{function.summary}, {f'in {unit}' if unit else 'without a unit'}"}
    steps = "" if scores.lengths is None else f" for up to {counted(int(scores.lengths[best]), 'step')}"
    rows["ask next"] = f"state {mdp.state_name(best)}{steps}: {f'{number} {unit}'.rstrip()}{spread}"
    is_tied = np.isclose(scores.values[found.order], scores.values[best], rtol=1e-9, atol=1e-12)
    if is_tied.sum() > 1:
        rows["ask next"] += f"; {is_tied.sum() - 1} more are equally good, and chance would decide"
    elif len(found.order) > 1:
        clean = without_rounding(scores)
        others = [f"{mdp.state_name(s)} ({clean[s]:.3g})" for s in found.order[1 : 1 + NUM_NAMED_STATES]]
        rows["then"] = listed(others)
    if scores.lengths is not None:
        lengths, counts = np.unique(scores.lengths[found.order], return_counts=True)
        each = zip(lengths.tolist(), counts.tolist(), strict=True)
        words = [f"{counted(length, 'step')} at {counted(count, 'state')}" for length, count in each]
        rows["steps"] = f"{listed(words)}: what pays best per cost"
    rows["asked"] = found.history
    if found.waiting:
        rows["waiting"] = f"questions about {listed([mdp.state_name(state) for state in found.waiting[:12]])}"
    rows["posterior"] = f"{counted(found.posterior.num_samples, 'sample')} by {found.posterior.method}"
    for key, value in scores.details.items():
        if key != "num_samples":
            rows[key.replace("_", " ").replace("num ", "number of ")] = _detail(value)
    return rows


def _detail(value: object) -> str:
    if isinstance(value, float):
        return plain_number(value)
    return listed([_detail(item) for item in value]) if isinstance(value, list) else str(value)
