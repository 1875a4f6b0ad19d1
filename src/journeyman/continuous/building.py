"""Building a discretisation: the step function or environment, bounds, points and words of a user, all checked."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from journeyman.checks import float_array, one_of, whole_number
from journeyman.continuous.decisions import Decisions, FeaturesFn
from journeyman.continuous.discretisation import Discretisation
from journeyman.continuous.points import Drawn, mdp_on_points
from journeyman.continuous.steps import steps_of
from journeyman.errors import InputError
from journeyman.mdp.lattice import Lattice
from journeyman.mdp.validation import checked_discount
from journeyman.types import FloatArray

BOUNDARIES = ("clip", "wrap", "end")


def discretise(
    world: Any,
    bounds: ArrayLike,
    points: ArrayLike,
    *,
    discount: float,
    actions: int | Sequence[Any] | None = None,
    boundary: str | Sequence[str] = "clip",
    repeat: int = 1,
    scheme: str = "multilinear",
    num_samples: int | None = None,
    seed: int = 0,
    initial_states: ArrayLike | None = None,
    features_fn: FeaturesFn | None = None,
    offset_fn: FeaturesFn | None = None,
    feature_names: Sequence[str] | None = None,
    names: Sequence[str] | None = None,
    action_labels: Sequence[str] | None = None,
    moves: ArrayLike | None = None,
    state_fn: Callable[[Any], ArrayLike] | None = None,
    set_state_fn: Callable[[Any, FloatArray], None] | None = None,
    progress: bool | None = None,
) -> Discretisation:
    """Make a sparse MDP of a continuous world, on a regular grid of points between which values are interpolated.

    Parameters
    ----------
    world
        step_fn(states, action): next states `[n, d]`, or these and whether the episode ended `[n]`; for many states at
        once, or for a single one `[d]`, which is slower. Random steps: step_fn(states, action, rng), and `num_samples`.
        Or an environment as of Gymnasium whose state can be set; its reward is not used.
    bounds
        `[d, 2]` low and high of each of 1 to 4 dimensions.
    points
        How many along each dimension, or one number for all.
    discount
        Of one step, in (0, 1).
    actions
        What the world takes: a list, or how many if they count from 0. An environment with discrete actions has them.
    boundary
        What leaving the bounds means, one word or one per dimension: "clip" (it is held there), "wrap" (the end is the
        beginning, as of angles) or "end" (the episode ends).
    repeat
        Steps per decision. Rewards are summed over them, discounted; the discount of the MDP is discount ** repeat.
    scheme
        "multilinear", or "simplex", which has d + 1 next states instead of 2^d.
    num_samples, seed
        Draws of the noise of random steps to average over, and their seed.
    initial_states
        `[n, d]` where episodes begin, equally likely; default: any point.
    features_fn
        Features of the reward: features_fn(states), (states, action) or (states, action, next_states) gives `[n, D]`.
    offset_fn
        The known part of the reward, the same way: `[n]`.
    feature_names, names, action_labels
        Words for features, dimensions and actions; optional.
    moves
        `[A, 2]` row and column that each action is drawn as in pictures of two dimensions: (0, 1) points to the right.
    state_fn, set_state_fn
        Read and set the state of an environment; default: its attribute `state`.
    progress
        Whether to show a bar.

    Examples
    --------
    >>> from journeyman import discretise
    >>> def push(states, actions):
    ...     return states + 0.1 * actions
    >>> line = discretise(push, (0.0, 1.0), 11, actions=[-1.0, 1.0], discount=0.9)
    >>> line.mdp
    FiniteMDP(11 states, 2 actions, discount 0.9)
    """
    box = _checked_bounds(bounds)
    words = _checked_boundary(boundary, len(box))
    lattice = Lattice(box[:, 0], box[:, 1], points, np.array([word == "wrap" for word in words]), scheme)  # type: ignore[arg-type]
    if num_samples is not None:
        whole_number(num_samples, "num_samples", 1, "It is the number of draws to average over.")
    repeat = whole_number(repeat, "repeat", 1, "It counts steps per decision.")
    places = np.linspace(0.13, 0.83, 5)[:, None] * (box[:, 1] - box[:, 0]) + box[:, 0]
    steps = steps_of(
        world, places, actions, is_random=num_samples is not None, state_fn=state_fn, set_state_fn=set_state_fn
    )
    starts = None if initial_states is None else lattice.checked_states(initial_states, "initial_states")
    if starts is not None and not lattice.is_inside(starts).all():
        i = int(np.argmin(lattice.is_inside(starts)))
        raise InputError(
            f"initial_states must lie within the bounds, got {starts[i].tolist()} at entry {i}. Widen the bounds."
        )
    plan = Decisions(
        lattice=lattice,
        steps=steps,
        discount=checked_discount(discount),
        repeat=repeat,
        boundary=words,
        num_samples=num_samples,
        seed=whole_number(seed, "seed", 0),
        features_fn=features_fn,
        offset_fn=offset_fn,
    )
    known_as = None if feature_names is None else tuple(feature_names)
    mdp = mdp_on_points(plan, starts, Drawn(names, action_labels, moves), progress=progress)
    return Discretisation(plan, mdp, lattice.points, starts, known_as)


def _checked_bounds(bounds: ArrayLike) -> FloatArray:
    box = float_array(bounds, "bounds")
    box = box[None] if box.shape == (2,) else box
    if box.ndim != 2 or box.shape[1] != 2:
        raise InputError(
            f"bounds must be a pair (low, high) for each dimension, got shape {box.shape}. "
            "Example: [(-1.2, 0.6), (-0.07, 0.07)]."
        )
    return box


def _checked_boundary(boundary: Any, num_dimensions: int) -> tuple[str, ...]:
    if not isinstance(boundary, str | Sequence):
        raise InputError(f"boundary must be one word, or one per dimension, got {boundary!r}. Leave it out for 'clip'.")
    words = (boundary,) * num_dimensions if isinstance(boundary, str) else tuple(boundary)
    if len(words) != num_dimensions:
        raise InputError(
            f"boundary must be one word, or one for each of {num_dimensions} dimensions, got {len(words)}. "
            "Example: ('wrap', 'clip')."
        )
    for word in words:
        one_of(word, BOUNDARIES, "boundary", "'clip' holds states there, 'wrap' is for angles, 'end' ends the episode.")
    return words
