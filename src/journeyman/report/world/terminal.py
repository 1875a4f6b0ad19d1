"""Worlds in the terminal: a list of them, or one as a drawing of its grid or a table, with what is true in words.

Every mark can be read without colour. Names that users give are printed as they are, never as markup.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from rich.console import Console, Group, RenderableType
from rich.text import Text

from journeyman.mdp import FiniteMDP
from journeyman.report.drawing.marks import (
    commonest_kind,
    describe_expert,
    describe_initial,
    has_initial_marks,
    has_row_numbering,
    named_kinds,
    states_without_preference,
)
from journeyman.report.drawing.terminal_grid import (
    END_WORDS,
    NUMBERS_WORDS,
    Sheet,
    cell_style,
    fitting_sheet,
    num_columns,
    small_width,
)
from journeyman.report.terminal import definitions, text_table
from journeyman.report.world.summary import WorldSummary
from journeyman.wording import counted, listed, percent, plain_number, signed_number

MAX_TABLE_STATES = 16
HEADINGS = (
    "\n\nworld",
    "\nstates x\nactions",
    "\nunknown\nparameters",
    "\n\nprior of each",
    "\n\nbeta",
    "queries:\nstates x\nsteps",
)
NOTES = {
    "parameters": "what a learner has to find out about the reward",
    "beta": "how sharply the expert prefers better actions; 0 would be not at all",
    "queries": "states that can be asked about x most steps of an answer",
}
PARAMETERS_IN_WORDS = {
    "per_state": ", one per state",
    "per_state_action": ", one per state and action",
    "kernel": ", of states that tell the rest",
}


def print_worlds(console: Console, entries: list[dict[str, Any]]) -> None:
    """Print the worlds as a table that fits 80 columns, and what each of them is."""
    table = text_table(HEADINGS, numeric=(1, 2, 4, 5))
    for entry in entries:
        table.add_row(
            Text(entry["name"], style="bold cyan"),
            f"{entry['num_states']} x {entry['num_actions']}",
            str(entry["num_parameters"]),
            entry["prior"],
            "-" if entry["beta"] is None else plain_number(entry["beta"]),
            f"{entry['num_queryable']} x {entry['max_length']}",
        )
    console.print(table, "")
    console.print(definitions({entry["name"]: entry["summary"] for entry in entries}), "")
    console.print(definitions(NOTES))


def print_world(
    console: Console, summary: WorldSummary, *, options: Mapping[str, Any] | None = None, shows_all: bool = False
) -> None:
    """Print a world: what it looks like, what the marks mean, and what is true in it.

    Parameters
    ----------
    options
        Options that the world was made with, to be named at the end.
    shows_all
        For worlds without a grid: list all states, not only the first 16.
    """
    world, mdp = summary.world, summary.mdp
    title = Text.assemble(
        (world.name, "bold"),
        f", seed {world.seed}: {counted(mdp.num_states, 'state')} x {counted(mdp.num_actions, 'action')}, "
        f"discount {plain_number(mdp.discount)}",
    )
    sheet = fitting_sheet(console, mdp)
    if mdp.grid is None:
        drawing, legend = state_table(summary, shows_all=shows_all)
    elif sheet is None:
        needed = f"{small_width(mdp)} would do. Or make a picture: --png FILE"
        room = f"too many for {console.width} characters in a line; {needed}"
        drawing, legend = Text(f"The grid has {num_columns(mdp)} columns, {room}"), {}
    else:
        drawing, legend = _grid_drawing(sheet, summary), _legend(sheet, summary)
    console.print(Group(title, "", drawing, ""))
    if legend:
        console.print(definitions(legend), "")
    console.print(definitions(facts(summary, options or {})))


def facts(summary: WorldSummary, options: Mapping[str, Any]) -> dict[str, str]:
    """Return what is true in a world, in words."""
    problem = summary.world.problem
    rows = {
        "initial state": describe_initial(summary.mdp),
        "true reward": f"{_truth(summary)}, {summary.world.truth_origin} ({problem.prior.describe()})",
        "V*(rho)": f"{plain_number(summary.optimal_return)}: the discounted reward that an optimal policy expects from "
        f"the initial states; the expert gets {plain_number(summary.expert_return)}",
        "expert": describe_expert(problem.expert, summary.expert_optimal),
    }
    rows |= summary.world.notes
    if options:
        pairs = ", ".join(f"{key}={value}" for key, value in options.items())
        rows["options"] = f"{pairs}; change one with --world-set KEY=VALUE"
    return rows


def _truth(summary: WorldSummary) -> str:
    """Return the true parameters if they have names, else how many there are."""
    model, truth = summary.world.problem.reward_model, summary.world.true_parameters
    if model.names is not None:
        return listed([f"{name} {value:.2f}" for name, value in zip(model.names, truth, strict=True)])
    return counted(model.num_parameters, "parameter") + PARAMETERS_IN_WORDS.get(model.kind, "")


def _grid_drawing(sheet: Sheet, summary: WorldSummary) -> RenderableType:
    """Return the grid: [mark and kind,] reward and optimal actions in every cell, coloured by the reward."""
    mdp, width = sheet.mdp, sheet.cell_width
    is_marked = (mdp.initial > 0) & has_initial_marks(mdp)
    is_any = states_without_preference(mdp, summary.optimal)
    kinds = named_kinds(mdp)
    texts = []
    for state, reward in enumerate(summary.state_reward.tolist()):
        mark = "*" if is_marked[state] else " "
        if mdp.terminal[state]:
            actions = "#" if sheet.is_small else "end"
        else:
            best = np.flatnonzero(summary.optimal[state]).tolist()
            actions = "any" if is_any[state] else sheet.actions_text(best)[:width]
        if sheet.is_small:
            texts.append([("+" if reward > 0 else "-" if reward < 0 else "0") + actions[:1] + mark])
        elif kinds is None:
            texts.append([mark + signed_number(reward).center(width - 1), actions.center(width)])
        else:
            kind = kinds[state][: width - 2].center(width - 2)
            texts.append([f"{mark}{kind} ", signed_number(reward).center(width), actions.center(width)])
    return sheet.drawing(texts, summary.state_reward, float(np.abs(summary.state_reward).max()))


def _legend(sheet: Sheet, summary: WorldSummary) -> dict[str, str]:
    """Return what the marks of a drawing mean: all that occur, and no others."""
    mdp, grid = sheet.mdp, sheet.grid
    if sheet.is_small:
        rows = {"+ - 0": f"sign of the reward{sheet.colours}; numbers need a wider terminal, --png or --json"}
    else:
        is_state_only = summary.reward.ndim == 1
        by_action = " of doing anything there" if is_state_only else ", averaged over actions"
        rows = {"+ -": f"reward{by_action}{sheet.colours}"}
    rows |= _action_legend(sheet, summary)
    if mdp.terminal.any():
        rows["#" if sheet.is_small else "end"] = END_WORDS
    if has_initial_marks(mdp):
        rows["*"] = "initial state"
    if grid.kinds is not None and not sheet.is_small:
        commonest = commonest_kind(grid.kinds)
        others = dict.fromkeys(kind for kind in grid.kinds if kind != commonest)
        rows["words"] = f"kind of cell ({', '.join(others)}); without a word: {commonest}"
    if mdp.num_states < grid.num_rows * grid.num_columns:
        rows["#" * sheet.cell_width] = "wall"
    if has_row_numbering(mdp):
        rows["numbers"] = NUMBERS_WORDS
    return rows


def _action_legend(sheet: Sheet, summary: WorldSummary) -> dict[str, str]:
    """Return what arrows, the dot of staying and the word "any" mean, where they occur."""
    mdp, optimal = sheet.mdp, summary.optimal
    is_any = states_without_preference(mdp, optimal)
    shown = np.flatnonzero(optimal[~mdp.terminal & ~is_any].any(axis=0)).tolist()
    which = "the first of those that are equally good" if sheet.is_small else "all that are equally good"
    rows: dict[str, str] = {}
    if sheet.grid.moves is None:
        rows |= {"names": f"optimal actions, {which}"} if shown else {}
    else:
        stay = sheet.glyphs.arrows[0, 0]
        arrows = dict.fromkeys(sheet.actions_text(shown))
        if directed := [arrow for arrow in arrows if arrow != stay]:
            rows[" ".join(directed)] = f"optimal action, {which}"
        if stay in arrows:
            names = [mdp.action_name(a) for a in shown if not np.any(sheet.grid.moves[a])]
            rows[stay] = f"optimal action: {' or '.join(names)}"
    if is_any.any():
        rows["a" if sheet.is_small else "any"] = "all actions are equally good"
    return rows


def state_table(summary: WorldSummary, *, shows_all: bool = False) -> tuple[RenderableType, dict[str, str]]:
    """Return a world as a table with one row per state and action, and what its columns mean."""
    mdp = summary.mdp
    table = text_table(("state", "action", "next states", "reward", "Q*", "expert", "optimal"), numeric=(3, 4, 5))
    num_shown = mdp.num_states if shows_all else min(mdp.num_states, MAX_TABLE_STATES)
    for state in range(num_shown):
        for row in _state_rows(summary, state):
            table.add_row(*row)
    legend = {
        "Q*": "reward of the action, and of acting optimally afterwards",
        "expert": "how often the expert takes the action",
    }
    if num_shown < mdp.num_states:
        legend["..."] = f"{counted(mdp.num_states - num_shown, 'more state')}: --all lists them"
    return table, legend


def _state_rows(summary: WorldSummary, state: int) -> Iterator[list[Text]]:
    """Yield the table rows of one state; its name stands in the first."""
    mdp = summary.mdp
    reward = np.broadcast_to(summary.reward.reshape(mdp.num_states, -1), summary.q.shape)
    limit = float(np.abs(reward).max())
    for index, action in enumerate(np.flatnonzero(mdp.available[state]).tolist()):
        value = float(reward[state, action])
        yield [
            Text(mdp.state_name(state) if index == 0 else ""),
            Text(mdp.action_name(action)),
            Text(_next_text(mdp, state, action)),
            Text(f" {signed_number(value)} ", style=cell_style(value, limit)),
            Text(f"{summary.q[state, action]:.2f}"),
            Text(percent(float(summary.expert_policy[state, action]))),
            Text("yes" if summary.optimal[state, action] else ""),
        ]


def _next_text(mdp: FiniteMDP, state: int, action: int) -> str:
    """Return the next states of an action with their chances: "1", "3 (90 %), end (10 %)", "end"."""
    next_states, chances = mdp.next_states(state, action)
    outcomes = [(mdp.state_name(int(s)), float(p)) for s, p in zip(next_states, chances, strict=True)]
    if (missing := 1.0 - float(chances.sum())) > 1e-9:
        outcomes.append(("end", missing))
    if len(outcomes) == 1:
        return outcomes[0][0]
    outcomes.sort(key=lambda outcome: -outcome[1])
    texts = [f"{name} ({percent(chance)})" for name, chance in outcomes[:3]]
    return ", ".join(texts) + (f", {len(outcomes) - 3} more" if len(outcomes) > 3 else "")
