"""One number or choice of the paper beside ours, and the exact priors that counter-examples need."""

from typing import Any, NamedTuple

from journeyman.acquisition import Scores
from journeyman.inference import Posterior, infer
from journeyman.worlds import make_world

EXACT = 1e-9  # for numbers that the paper gives by formulas
PRINTED: dict[str, Any] = {
    "components": "joint",
    "edges": (0, 1),
    "occupancy": False,
}  # PAC-EIG as the paper's formula has it


class Comparison(NamedTuple):
    """One number or choice of the paper beside ours.

    Parameters
    ----------
    example, quantity
        Which counter-example, and what about it.
    place
        Where the paper says so.
    paper
        What it says; None if it says nothing that can be compared.
    ours
        What comes out.
    agrees
        Whether both are the same, to the digits that are printed; None without a number of the paper.
    note
        Why they differ, or what to know.
    """

    example: str
    quantity: str
    place: str
    paper: float | str | None
    ours: float | str
    agrees: bool | None
    note: str = ""


def compared(
    example: str,
    quantity: str,
    place: str,
    paper: float | str | None,
    ours: float | str,
    note: str = "",
    *,
    tolerance: float = EXACT,
) -> Comparison:
    """Return a comparison; numbers agree within `tolerance`, words if they are the same."""
    if isinstance(ours, float):
        ours = 0.0 if abs(ours) < EXACT else float(ours)
    agrees = None
    if isinstance(paper, str) or isinstance(ours, str):
        agrees = None if paper is None else paper == ours
    elif paper is not None:
        agrees = bool(abs(paper - ours) <= tolerance)
    return Comparison(example, quantity, place, paper, ours, agrees, note)


def prior_of(name: str, **options: Any) -> Posterior:
    """Return the exact prior of a world with finitely many rewards."""
    return infer(make_world(name, **options).problem, (), "enumerate")


def state_name(scores: Scores) -> str:
    """Return the state that scores choose, as the paper calls it."""
    return f"s{scores.best_state()}"
