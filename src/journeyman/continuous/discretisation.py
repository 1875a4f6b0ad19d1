"""Discretisation: a continuous world on a lattice of points, as a sparse FiniteMDP, and the way back.

Doing action a in the continuous state x leads to x'. On the points this becomes

    p(s' | s, a) = w_s'(x'(s, a)),   so that   Q(s, a) = r(s, a) + discount * V(x'(s, a))

with the weights w of the lattice and the values V continuous between its points. For random steps weights are averaged
over draws of the noise. With `repeat` k one decision is k steps: rewards are summed, discounted, along the way, and the
discount of the MDP is that of a step to the power k. Interpolation blurs a little at every decision; steps much shorter
than a cell blur the most, relative to how far they lead, so that few long decisions are better than many short ones.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from journeyman.checks import float_array, one_of, real_number, whole_number
from journeyman.continuous.decisions import ActFn, Decisions, FeaturesFn
from journeyman.continuous.observations import recorded
from journeyman.continuous.steps import steps_of
from journeyman.continuous.transitions import check_fits, transitions
from journeyman.demonstrations import Demonstration
from journeyman.errors import InputError, UnsupportedError
from journeyman.mdp import FiniteMDP, Grid, Solution, solve
from journeyman.mdp.discretised import Discretised
from journeyman.mdp.lattice import Lattice
from journeyman.mdp.rows import Rows
from journeyman.mdp.validation import checked_discount
from journeyman.progress import progress_bar
from journeyman.rewards import LinearFeatures, RewardModel
from journeyman.types import FloatArray, IntArray, read_only

BOUNDARIES = ("clip", "wrap", "end")
ACTING = ("lookahead", "interpolate", "nearest")
MAX_LABELLED = 20_000  # states; labels of more would take longer than all the rest


class Observed(NamedTuple):
    """A discretisation that has the recorded states as states of its own, and the demonstrations there."""

    discretisation: "Discretisation"
    demonstrations: tuple[Demonstration, ...]


@dataclass(frozen=True, eq=False)
class Discretisation:
    """A continuous world on a lattice; made by `discretise`.

    Parameters
    ----------
    decisions
        What a decision does in the continuous world, and what it earns.
    mdp
        The world on the points: states 0 to `lattice.num_points` - 1 are these, states after them are recorded ones.
    states
        `[S, d]` where the states of the MDP lie.
    initial_states
        `[n, d]` where episodes begin, equally likely; None for every point.
    feature_names
        Words for the features; optional.
    """

    decisions: Decisions
    mdp: FiniteMDP
    states: FloatArray
    initial_states: FloatArray | None = None
    feature_names: tuple[str, ...] | None = None

    def __repr__(self) -> str:
        return (
            f"Discretisation({self.origin.grid_words}, {self.mdp.num_actions} actions, repeat={self.decisions.repeat})"
        )

    @property
    def origin(self) -> Discretised:
        """What the MDP says of where it comes from."""
        assert isinstance(self.mdp.origin, Discretised)
        return self.mdp.origin

    @property
    def lattice(self) -> Lattice:
        """The points, and how values are interpolated between them."""
        return self.decisions.lattice

    @property
    def actions(self) -> tuple[Any, ...]:
        """The actions as the continuous world takes them."""
        return self.decisions.steps.actions

    def weights(self, states: ArrayLike) -> tuple[IntArray, FloatArray]:
        """Return the points that each state is a mixture of, and their weights, `[n, K]` each."""
        return self.lattice.weights(states)

    def nearest(self, states: ArrayLike) -> IntArray:
        """Return the number of the point nearest to each state, `[n]`."""
        return self.lattice.nearest(states)

    def interpolate(self, values: ArrayLike, states: ArrayLike) -> FloatArray:
        """Return numbers per state of the MDP, `[..., S]`, at any continuous states `[n, d]`: `[..., n]`."""
        return self.decisions.interpolated(float_array(values, "values"), self.lattice.checked_states(states))

    @cached_property
    def reward_model(self) -> RewardModel:
        """Rewards linear in the features at the states of the MDP, summed over the steps of a decision."""
        features, offset = self.features()
        known = None if self.decisions.offset_fn is None else offset
        return LinearFeatures(features, self.mdp, offset=known, names=self.feature_names)

    def features(self, states: ArrayLike | None = None) -> tuple[FloatArray, FloatArray]:
        """Return the features `[n, A, D]` of a decision in each state, and the known part `[n, A]` of its reward.

        Default: the states of the MDP. With `repeat`, the discounted sum over the steps; for random steps, the average.
        """
        places = self.states if states is None else self.lattice.checked_states(states)
        parts = [self.decisions.decided(places, action) for action in range(len(self.actions))]
        return np.stack([part[0] for part in parts], axis=1), np.stack([part[1] for part in parts], axis=1)

    def demonstrations(
        self, trajectories: Iterable[Any], *, mapping: str = "exact", tolerance: float = 1.0
    ) -> Observed:
        """Return recorded trajectories of continuous states as demonstrations.

        Parameters
        ----------
        trajectories
            Of decisions: each a list of (state, action), with a continuous state `[d]` and an action by its number or
            label; or pairs (states `[T, d]`, actions `[T]`). With `repeat` k these are every k-th state of a recording
            and the action that was held.
        mapping
            "exact": each recorded state becomes a state of the MDP, which leads to where the world leads from it, and
            to which nothing leads. So its action values are those of a decision there, with continuous values, and
            the likelihood is not approximated. "nearest": the nearest point stands for it; quicker, the more states
            were recorded, and off by up to half a cell.
        tolerance
            Refuse trajectories whose next state is further than so many cells from where the world leads; checked for
            deterministic worlds.

        Returns
        -------
        The discretisation to use from here on, and demonstrations of one action each: what follows is known anyway.
        """
        one_of(mapping, ("exact", "nearest"), "mapping", "Leave it out for 'exact'.")
        read = recorded(self.decisions, self.mdp.action_names, trajectories, tolerance)
        places = np.concatenate([states for states, _ in read])
        chosen = np.concatenate([actions for _, actions in read])
        if mapping == "nearest":
            known, numbers = self, self.nearest(places)
        else:
            unique, inverse = np.unique(places, axis=0, return_inverse=True)
            known, numbers = self._with_states(unique), len(self.states) + inverse.ravel()
        pairs = zip(numbers.tolist(), chosen.tolist(), strict=True)
        return Observed(known, tuple(Demonstration.annotation(state, action) for state, action in pairs))

    def _with_states(self, places: FloatArray) -> "Discretisation":
        """Return the discretisation with more states, at these places, to which nothing leads."""
        mdp = self.mdp
        built = transitions(self.decisions, places)
        added = len(places)
        rows = Rows(
            num_states=mdp.num_states + added,
            num_actions=mdp.num_actions,
            indptr=np.concatenate([mdp.rows.indptr, mdp.rows.indptr[-1] + built.indptr[1:]]),
            next_states=np.concatenate([mdp.rows.next_states, built.next_states]),
            probabilities=np.concatenate([mdp.rows.probabilities, built.probabilities]),
            is_checked=True,
        )
        states = np.concatenate([self.states, places])
        wider = FiniteMDP(
            rows=rows,
            discount=mdp.discount,
            initial=np.concatenate([mdp.initial, np.zeros(added)]),
            terminal=np.zeros(len(states), dtype=bool),
            action_labels=mdp.action_labels,
            state_labels=None
            if mdp.state_labels is None
            else (*mdp.state_labels, *(f"recorded {i}" for i in range(len(self.states), len(states)))),
            origin=mdp.origin,
        )
        return replace(self, mdp=wider, states=read_only(states))

    def policy_fn(self, belief: Any, *, how: str | None = None) -> ActFn:
        """Return a function act(states) that acts in the continuous world; it gives numbers of actions.

        Parameters
        ----------
        belief
            What to act on: a Posterior (the policy of its mean reward, which has the largest expected return), reward
            parameters `[D]`, a Solution on the MDP, or a policy `[S]`.
        how
            "lookahead": one decision is tried in the continuous world, and its end valued between the points; takes
            features and a call of the world for each action. "interpolate": action values are interpolated between the
            points. "nearest": what the policy does at the nearest point; the only way of a policy `[S]`. Default: the
            first of these that is possible.

        Returns
        -------
        act(states): for one state `[d]` the number of an action, for many `[n, d]` an array `[n]`.
        """
        solution, theta = self._solution(belief)
        policy = np.asarray(belief) if solution is None else solution.policy
        if policy.shape != (self.mdp.num_states,) or policy.dtype.kind not in "iu":
            raise InputError(
                f"a policy must hold one action for each of the {self.mdp.num_states} states, got {policy.dtype} of "
                f"shape {policy.shape}. Give a Posterior, parameters, a Solution or a policy."
            )
        possible = ["lookahead"] * (theta is not None) + ["interpolate"] * (solution is not None) + ["nearest"]
        kind = possible[0] if how is None else one_of(how, ACTING, "how", "Leave it out for the best possible.")
        if kind not in possible:
            raise UnsupportedError(
                f"{kind!r} takes {'reward parameters' if kind == 'lookahead' else 'action values'}, got "
                f"{type(belief).__name__}. Give a Posterior or parameters [D]; 'nearest' needs a policy alone."
            )
        q = None if solution is None else solution.q

        def act(states: ArrayLike) -> Any:
            places = self.lattice.checked_states(states)
            if kind == "nearest":
                chosen = policy[self.nearest(places)]
            elif kind == "interpolate":
                assert q is not None
                chosen = self.interpolate(q.T, places).argmax(axis=0)
            else:
                assert solution is not None and theta is not None
                chosen = self.action_values(places, solution.values, theta).argmax(axis=1)
            return int(chosen[0]) if np.ndim(states) == 1 else np.asarray(chosen, dtype=np.int64)

        return act

    def action_values(self, states: ArrayLike, values: ArrayLike, theta: ArrayLike) -> FloatArray:
        """Return Q `[n, A]` at any continuous states: the reward of a decision there, and the value of where it ends.

        For values `[S]` on the MDP and parameters `[D]` of the reward.
        """
        places, known = self.lattice.checked_states(states), float_array(values, "values")
        parameters = float_array(theta, "theta")
        q = np.empty((len(places), len(self.actions)))
        for action in range(len(self.actions)):
            features, offset, ahead = self.decisions.decided(places, action, known)
            q[:, action] = features @ parameters + offset + ahead
        return q

    def _solution(self, belief: Any) -> tuple[Solution | None, FloatArray | None]:
        """Return the solution and the parameters that a belief stands for; None where it has none."""
        if isinstance(belief, Solution):
            return belief, None
        theta = None
        if hasattr(belief, "mean_parameters"):
            theta = belief.mean_parameters()
        else:
            given = np.asarray(belief)
            is_short = self.decisions.features_fn is not None and given.shape == (self.reward_model.num_parameters,)
            if (given.dtype.kind == "f" and given.ndim == 1) or (given.dtype.kind in "iu" and is_short):
                theta = given.astype(np.float64)
        if theta is None:
            return None, None
        solution = solve(self.mdp, self.reward_model.reward(theta))
        return solution, theta if self.decisions.features_fn is not None else None

    def finer(self, *, progress: bool | None = None) -> "Discretisation":
        """Return the same world with half the spacing of points; recorded states are left out."""
        plan = replace(self.decisions, lattice=self.lattice.finer)
        drawn = _Drawn(action_labels=self.mdp.action_labels)
        return _built(plan, self.initial_states, self.feature_names, drawn, progress=progress)

    def returns(
        self,
        act: ActFn,
        starts: ArrayLike | None = None,
        *,
        num_steps: int,
        rng: np.random.Generator | None = None,
        progress: bool | None = None,
    ) -> FloatArray:
        """Return the discounted sums of features `[n, D]` of an episode from each start, in the continuous world.

        Times reward parameters they are returns, whatever the reward. The known part of the reward, if there is any, is
        a last column. Nothing is held at the bounds here: the world is as it is, but for dimensions whose end was said
        to end the episode.

        Parameters
        ----------
        act
            act(states) gives numbers of actions, as that of `policy_fn` does; it is asked every `repeat` steps.
        starts
            `[n, d]` states to begin in; default: the initial states.
        num_steps
            Steps after which episodes are cut. What is cut counts at most discount^num_steps / (1 - discount) times the
            largest reward of a step.
        rng
            For random steps.
        """
        chosen = self.initial_states if starts is None else starts
        if chosen is None:
            raise InputError("starts must be given where no initial states were. Give states [n, d] to begin in.")
        return self.decisions.returns(act, chosen, num_steps=num_steps, rng=rng, progress=progress)

    def stating(
        self, error: float, *, return_error: float | None = None, level: float | None = None
    ) -> "Discretisation":
        """Return the discretisation whose MDP says how far off it is, so that certificates do.

        Parameters
        ----------
        error, return_error
            Of regrets and of returns, in units of the reward; `grid_error` estimates them.
        level
            Share of the rewards for which they are at most that.
        """
        for name, value in (("error", error), ("return_error", return_error)):
            if value is not None and not 0.0 <= real_number(value, name) < np.inf:
                raise InputError(f"{name} must be at least 0 and finite, got {value}. Take that of grid_error(...).")
        origin = replace(self.origin, error=float(error), return_error=return_error, level=level)
        return replace(self, mdp=replace(self.mdp, origin=origin))


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
    return _built(plan, starts, known_as, _Drawn(names, action_labels, moves), progress=progress)


class _Drawn(NamedTuple):
    """Words for dimensions and actions, and how actions are drawn."""

    names: Sequence[str] | None = None
    action_labels: Sequence[str] | None = None
    moves: Any = None


def _built(
    plan: Decisions,
    initial_states: FloatArray | None,
    feature_names: tuple[str, ...] | None,
    drawn: _Drawn,
    *,
    progress: bool | None,
) -> Discretisation:
    """Return a discretisation with its MDP on the points of the lattice."""
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
    mdp = FiniteMDP(
        rows=Rows(lattice.num_points, num_actions, *packed, is_checked=True),
        discount=plan.discount**plan.repeat,
        initial=initial,  # type: ignore[arg-type]
        terminal=np.zeros(lattice.num_points, dtype=bool),
        state_labels=_state_labels(lattice, drawn.names),
        action_labels=None if labels is None else tuple(labels),
        grid=_drawing_grid(lattice, drawn.moves),
        origin=Discretised(lattice, plan.repeat, plan.num_samples, built.num_clipped / num_steps),
    )
    return Discretisation(plan, mdp, lattice.points, initial_states, feature_names)


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
    words = (boundary,) * num_dimensions if isinstance(boundary, str) else tuple(boundary)
    if len(words) != num_dimensions:
        raise InputError(
            f"boundary must be one word, or one for each of {num_dimensions} dimensions, got {len(words)}. "
            "Example: ('wrap', 'clip')."
        )
    for word in words:
        one_of(word, BOUNDARIES, "boundary", "'clip' holds states there, 'wrap' is for angles, 'end' ends the episode.")
    return words


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
    if len(words) != lattice.num_dimensions or isinstance(names, str):
        raise InputError(f"names must be one word for each of {lattice.num_dimensions} dimensions, got {names!r}.")
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
