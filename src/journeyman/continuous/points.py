"""The MDP on the points of a lattice: transitions of decisions, where episodes begin, names of states, a picture."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from journeyman.continuous.decisions import Decisions
from journeyman.continuous.transitions import check_fits, transitions
from journeyman.errors import InputError
from journeyman.mdp import FiniteMDP, Grid
from journeyman.mdp.discretised import Discretised
from journeyman.mdp.lattice import Lattice
from journeyman.mdp.rows import Rows
from journeyman.progress import progress_bar
from journeyman.types import FloatArray

MAX_LABELLED = 20_000  # states; labels of more would take longer than all the rest


class Drawn(NamedTuple):
    """Words for dimensions and actions, and how actions are drawn."""

    names: Sequence[str] | None = None
    action_labels: Sequence[str] | None = None
    moves: Any = None


def mdp_on_points(
    plan: Decisions, initial_states: FloatArray | None, drawn: Drawn, *, progress: bool | None = None
) -> FiniteMDP:
    """Return the MDP of decisions on the points of their lattice, which knows where it comes from."""
    lattice, num_actions = plan.lattice, plan.num_actions
    check_fits(lattice, num_actions, plan.num_samples)
    with progress_bar("Stepping through the continuous world", is_shown=progress) as report:
        built = transitions(plan, lattice.points, report)
    initial = None
    if initial_states is not None:
        indices, weights = lattice.weights(initial_states)
        total = np.bincount(indices.ravel(), weights=weights.ravel(), minlength=lattice.num_points)
        initial = total / total.sum()
    labels = drawn.action_labels or _action_labels(plan.steps.actions)
    num_steps = lattice.num_points * num_actions * (plan.num_samples or 1) * plan.repeat
    packed = (built.indptr, built.next_states, built.probabilities)
    return FiniteMDP(
        rows=Rows(lattice.num_points, num_actions, *packed, is_checked=True),
        discount=plan.discount**plan.repeat,
        initial=initial,  # type: ignore[arg-type]
        terminal=np.zeros(lattice.num_points, dtype=bool),
        state_labels=_state_labels(lattice, drawn.names),
        action_labels=None if labels is None else tuple(labels),
        grid=_drawing_grid(lattice, drawn.moves),
        origin=Discretised(lattice, plan.repeat, plan.num_samples, built.num_clipped / num_steps),
    )


def _drawing_grid(lattice: Lattice, moves: Any) -> Grid | None:
    """Return where points lie in a picture: the first dimension to the right, the second upwards; None above two."""
    if lattice.num_dimensions > 2:
        return None
    sizes = [*lattice.sizes.tolist(), 1][:2]
    columns, heights = np.divmod(np.arange(lattice.num_points), sizes[1])
    return Grid(sizes[1], sizes[0], np.stack([sizes[1] - 1 - heights, columns], axis=1), moves)


def _state_labels(lattice: Lattice, names: Sequence[str] | None) -> tuple[str, ...] | None:
    """Return a label for each point that says where it is, unless they are too many."""
    words = tuple(f"x{i}" for i in range(lattice.num_dimensions)) if names is None else tuple(names)
    if len(set(words)) != lattice.num_dimensions or len(words) != lattice.num_dimensions or isinstance(names, str):
        raise InputError(
            f"names must be one word for each of {lattice.num_dimensions} dimensions, all different, got {names!r}. "
            "Example: ('position', 'velocity')."
        )
    if lattice.num_points > MAX_LABELLED:
        return None
    parts = []
    for word, axis in zip(words, lattice.axes, strict=True):
        digits = next(n for n in range(2, 18) if len({f"{value:.{n}g}" for value in axis.tolist()}) == len(axis))
        clean = np.where(np.abs(axis) < 1e-12 * np.abs(axis).max(), 0.0, axis)
        parts.append([f"{word} {value:.{digits}g}" for value in clean.tolist()])
    labels = parts[0]
    for own in parts[1:]:
        labels = [f"{before}, {word}" for before in labels for word in own]
    return tuple(labels)


def _action_labels(values: tuple[Any, ...]) -> tuple[str, ...] | None:
    """Return labels that cannot be mistaken for numbers of actions; none if the actions are these."""
    if values == tuple(range(len(values))):
        return None
    plain = [np.asarray(value) for value in values]
    if all(value.size == 1 and value.dtype.kind in "iuf" for value in plain):
        return tuple(f"u = {value.item():.6g}" for value in plain)
    return tuple(str(value) for value in values)
