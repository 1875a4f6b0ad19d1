"""Query: one question to the expert, and what may become of it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from journeyman.problem import Problem

STATUSES = ("waiting", "done", "failed", "abandoned")


@dataclass(frozen=True)
class Query:
    """A question to the expert.

    Parameters
    ----------
    id
        Number of the query, 0, 1, 2 ... in the order of asking; it never changes.
    state
        Where the expert is asked to start.
    kind
        "state": one action; "trajectory": up to `length` actions.
    length
        None for a state query.
    score
        What the acquisition function expects of the answer, given those that are still awaited.
    text
        The question for a human, with labels where the problem has them.
    """

    id: int
    state: int
    kind: str
    length: int | None
    score: float
    text: str

    def to_record(self) -> dict[str, Any]:
        """Return the query as plain data."""
        return asdict(self)

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> "Query":
        """Return the query that `to_record` described."""
        return cls(**{name: record[name] for name in cls.__dataclass_fields__})


def question_text(problem: Problem, state: int, kind: str, length: int | None) -> str:
    """Return a question in words: labels of states and actions, and the cell on a grid."""
    place = _place(problem, state)
    if kind == "trajectory":
        return f"Start in {place} and act for up to {length} steps: which states do you pass, what do you do in each?"
    mdp = problem.mdp
    actions = [mdp.action_name(action) for action in range(mdp.num_actions) if mdp.available[state, action]]
    choice = actions[0] if len(actions) == 1 else f"{', '.join(actions[:-1])} or {actions[-1]}"
    return f"In {place}: which action do you take? ({choice})"


def _place(problem: Problem, state: int) -> str:
    mdp = problem.mdp
    place = f"state {mdp.state_name(state)}"
    if mdp.grid is None:
        return place
    row, column = (int(number) for number in mdp.grid.places[state])
    return f"{place} (row {row}, column {column})"
