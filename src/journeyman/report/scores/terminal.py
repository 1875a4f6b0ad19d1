"""Scores of an acquisition function in the terminal: a map of the grid, or the best states in a table."""

import numpy as np
from rich.console import Console, Group, RenderableType
from rich.style import Style
from rich.text import Text

from journeyman.acquisition import ACQUISITIONS
from journeyman.report.drawing.marks import has_initial_marks, has_row_numbering
from journeyman.report.drawing.terminal_grid import MIN_CELL, cell_style, fitting_cell_width, glyphs_of, grid_lines
from journeyman.report.scores.score_map import ScoreMap, plain_unit
from journeyman.report.terminal import definitions, print_warnings, text_table
from journeyman.wording import counted, listed, plain_number, signed_number

NUM_TABLE_STATES, NUM_NAMED_STATES, BAR_WIDTH = 12, 4, 24


def print_scores(console: Console, found: ScoreMap) -> None:
    """Print where to ask next, what the marks mean, and what is doubtful."""
    scores, world = found.scores, found.world
    query = "" if scores.length is None else f" for trajectories of up to {counted(scores.length, 'step')}"
    title = Text.assemble(
        (world.name, "bold"),
        f", seed {world.seed}: ",
        (scores.name, "bold"),
        f"{query} after {counted(len(found.demonstrations), 'demonstration')}",
    )
    cell_width = None if world.problem.mdp.grid is None else fitting_cell_width(console, world.problem.mdp)
    drawing = _table(found) if cell_width is None else _drawing(console, found, cell_width)
    console.print(Group(title, "", drawing, ""))
    if cell_width is not None:
        console.print(definitions(_legend(found, cell_width)), "")
    console.print(definitions(_facts(found)))
    print_warnings(console, (*found.posterior.warnings, *scores.warnings))


def _number(value: float) -> str:
    """Return a score without its sign in at most five characters."""
    return signed_number(value).lstrip("+")


def _drawing(console: Console, found: ScoreMap, width: int) -> RenderableType:
    """Return the grid with a score in every cell, or tenths of the best where numbers do not fit."""
    mdp, scaled = found.world.problem.mdp, found.scaled
    best, limit = int(found.order[0]), float(np.nanmax(scaled))
    asked, is_marked = found.times_asked, (mdp.initial > 0) & has_initial_marks(mdp)
    texts, styles = [], []
    for state, value in enumerate(scaled.tolist()):
        is_rated = not np.isnan(value)
        mark = "*" if is_marked[state] else " "
        if width < MIN_CELL:
            tenth = str(min(int(10 * value / limit), 9)) if is_rated and limit > 0 else "0" if is_rated else "#"
            texts.append([f"[{tenth}]" if state == best else f" {tenth}{mark}"])
        else:
            number = _number(value) if is_rated else "end" if mdp.terminal[state] else "-"
            line = mark + number.center(width - 1)
            if state == best:
                line = f"{mark.strip()}[{number}]".center(width)[-width:]  # the mark gives way if there is no room
            times = f"x{asked[state]}" if asked[state] else ""
            texts.append([line, times.center(width)])
        styles.append(cell_style(value, limit) if is_rated else Style(dim=True))
    return Group(*grid_lines(mdp, texts, styles, glyphs_of(console), width))


def _legend(found: ScoreMap, width: int) -> dict[str, str]:
    """Return what the marks mean: all that occur, and no others."""
    mdp = found.world.problem.mdp
    rows = {"numbers" if width >= MIN_CELL else "0-9": found.label}
    if width < MIN_CELL:
        rows["0-9"] = "score in tenths of the best; numbers need a wider terminal, --png or --json"
    rows["[ ]"] = "asked next"
    if width >= MIN_CELL and found.demonstrations:
        rows["x2"] = "asked about twice before"
    if width < MIN_CELL and not found.world.problem.queryable.all():
        rows["#"] = "may not be asked about"
    elif mdp.terminal[~found.world.problem.queryable].any():
        rows["end"] = "terminal cell: nobody chooses there"
    if has_initial_marks(mdp):
        rows["*"] = "initial state"
    if has_row_numbering(mdp):
        rows["state"] = "number at the left + number at the top"
    return rows


def _table(found: ScoreMap) -> RenderableType:
    """Return the best states with their scores and bars."""
    mdp, scaled, error = found.world.problem.mdp, found.scaled, found.scores.standard_error
    table = text_table(("state", found.label, "asked", ""), numeric=(1, 2))
    limit = float(np.nanmax(scaled))
    for state in found.order[:NUM_TABLE_STATES].tolist():
        spread = "" if error is None else f" +- {plain_number(float(error[state] * found.scale))}"
        times = str(found.times_asked[state]) if found.times_asked[state] else ""
        bar = "#" * round(BAR_WIDTH * scaled[state] / limit) if limit > 0 else ""
        table.add_row(Text(mdp.state_name(state)), f"{scaled[state]:.4g}{spread}", times, Text(bar))
    rest = len(found.order) - NUM_TABLE_STATES
    return Group(table, Text(f"{counted(rest, 'more state')}: --json lists them", style="dim")) if rest > 0 else table


def _facts(found: ScoreMap) -> dict[str, str]:
    """Return what was scored, where to ask, and what the function found on its way."""
    scores, mdp = found.scores, found.world.problem.mdp
    best = int(found.order[0])
    spread = (
        "" if scores.standard_error is None else f" (standard error {plain_number(float(scores.standard_error[best]))})"
    )
    unit, number = plain_unit(scores.unit), plain_number(float(scores.values[best]))
    rows = {"score": f"{ACQUISITIONS.find(scores.name).summary}, {f'in {unit}' if unit else 'without a unit'}"}
    rows["ask next"] = f"state {mdp.state_name(best)}: {f'{number} {unit}'.rstrip()}{spread}"
    is_tied = np.isclose(scores.values[found.order], scores.values[best], rtol=1e-9, atol=1e-12)
    if is_tied.sum() > 1:
        rows["ask next"] += f"; {is_tied.sum() - 1} more are equally good, and chance would decide"
    elif len(found.order) > 1:
        others = [f"{mdp.state_name(s)} ({scores.values[s]:.3g})" for s in found.order[1 : 1 + NUM_NAMED_STATES]]
        rows["then"] = listed(others)
    rows["asked"] = f"{counted(len(found.demonstrations), 'demonstration')}, at states chosen by {found.asked_by}"
    rows["posterior"] = f"{counted(found.posterior.num_samples, 'sample')} by {found.posterior.method}"
    for key, value in scores.details.items():
        if key != "num_samples":
            rows[key.replace("_", " ").replace("num ", "number of ")] = _detail(value)
    return rows


def _detail(value: object) -> str:
    if isinstance(value, float):
        return plain_number(value)
    return listed([_detail(item) for item in value]) if isinstance(value, list) else str(value)
