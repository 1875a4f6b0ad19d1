"""The list of worlds: what each is like before its truth is drawn."""

import inspect
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console
from rich.text import Text

from journeyman.report.terminal import definitions, text_table
from journeyman.wording import plain_number
from journeyman.worlds import WORLDS, make_world


@dataclass(frozen=True)
class WorldEntry:
    """A world as it is with its default options.

    Parameters
    ----------
    summary
        First line of the factory's docstring.
    reward_model
        "per_state", "per_state_action" or "features": what the parameters are.
    prior
        In words.
    num_queryable, max_length
        States that may be asked about, and the most steps of a trajectory.
    options
        What `make_world` takes for it, with the defaults.
    """

    name: str
    summary: str
    num_states: int
    num_actions: int
    discount: float
    num_parameters: int
    reward_model: str
    prior: str
    beta: float | None
    num_queryable: int
    max_length: int
    has_grid: bool
    options: dict[str, Any]


def world_entries() -> list[WorldEntry]:
    """Return all worlds of `WORLDS`, in its order."""
    return [world_entry(name) for name in WORLDS]


def world_entry(name: str) -> WorldEntry:
    """Return one world of `WORLDS`."""
    world = make_world(name)
    problem, mdp = world.problem, world.problem.mdp
    return WorldEntry(
        name=name,
        summary=(inspect.getdoc(WORLDS[name]) or "").partition("\n")[0],
        num_states=mdp.num_states,
        num_actions=mdp.num_actions,
        discount=mdp.discount,
        num_parameters=problem.reward_model.num_parameters,
        reward_model=problem.reward_model.kind,
        prior=problem.prior.describe(),
        beta=getattr(problem.expert, "beta", None),
        num_queryable=int(problem.queryable.sum()),
        max_length=world.max_length,
        has_grid=mdp.grid is not None,
        options=world_options(name),
    )


def world_options(name: str) -> dict[str, Any]:
    """Return the options of a world's factory and their defaults; the seed is not one of them."""
    parameters = list(inspect.signature(WORLDS[name]).parameters.values())[1:]
    return {parameter.name: parameter.default for parameter in parameters}


def entry_records(entries: list[WorldEntry]) -> list[dict[str, Any]]:
    """Return entries as plain data for JSON."""
    return [asdict(entry) for entry in entries]


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


def print_worlds(console: Console, entries: list[WorldEntry]) -> None:
    """Print the worlds as a table that fits 80 columns, and what each of them is."""
    table = text_table(HEADINGS, numeric=(1, 2, 4, 5))
    for entry in entries:
        table.add_row(
            Text(entry.name, style="bold cyan"),
            f"{entry.num_states} x {entry.num_actions}",
            str(entry.num_parameters),
            entry.prior,
            "-" if entry.beta is None else plain_number(entry.beta),
            f"{entry.num_queryable} x {entry.max_length}",
        )
    console.print(table, "")
    console.print(definitions({entry.name: entry.summary for entry in entries}), "")
    console.print(definitions(NOTES))
