"""Decisions: what doing an action for some steps of a continuous world does, earns, and leads to.

A decision holds one action for `repeat` steps, or until the episode ends. Its reward is that of the steps, discounted
and summed; for random steps it is the average over draws of the noise, the same ones wherever they are needed.
"""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from journeyman.checks import float_array, whole_number
from journeyman.continuous.steps import Moved, Steps
from journeyman.errors import InputError
from journeyman.mdp.lattice import Lattice
from journeyman.progress import progress_bar
from journeyman.types import BoolArray, FloatArray, IntArray

FeaturesFn = Callable[..., ArrayLike]
ActFn = Callable[[ArrayLike], Any]
AT_BORDER = 1e-6  # of a cell: no further outside is at the border, since some worlds compute in float32


class Leg(NamedTuple):
    """One step of one draw on the way of a decision.

    sample: number of the draw; step: number of the step; rows `[m]`: which states are still on their way;
    before, after `[m, d]`: their states; is_done `[m]`: whether the episode ended; num_clipped: how many were held.
    """

    sample: int
    step: int
    rows: IntArray
    before: FloatArray
    after: FloatArray
    is_done: BoolArray
    num_clipped: int


@dataclass(frozen=True, eq=False)
class Decisions:
    """What a decision in a continuous world does.

    Parameters
    ----------
    lattice
        The box, its periodic dimensions, and how values are interpolated.
    steps
        One step of the continuous world.
    discount
        Of one step.
    repeat
        Steps per decision.
    boundary
        `[d]` words: what leaving the box means, by dimension.
    num_samples, seed
        Draws of the noise, and their seed; None for a deterministic world.
    features_fn, offset_fn
        Features of the reward of a step and its known part, where they were given.
    """

    lattice: Lattice
    steps: Steps
    discount: float
    repeat: int = 1
    boundary: tuple[str, ...] = ()
    num_samples: int | None = None
    seed: int = 0
    features_fn: FeaturesFn | None = None
    offset_fn: FeaturesFn | None = None

    @property
    def num_actions(self) -> int:
        """Number of actions A."""
        return len(self.steps.actions)

    def _has_left(self, states: FloatArray) -> BoolArray:
        """Return `[n]` whether a state is beyond an end that ends the episode."""
        ends = np.array([word == "end" for word in self.boundary])
        slack = AT_BORDER * self.lattice.spacing
        outside = (states < self.lattice.low - slack) | (states > self.lattice.high + slack)
        return np.asarray((outside & ends).any(axis=1))

    def legs(self, places: FloatArray, action: int) -> Iterator[Leg]:
        """Yield the steps of one decision from each place, draw by draw; states that ended are left out."""
        clips = np.array([word == "clip" for word in self.boundary])
        for sample in range(self.num_samples or 1):
            rng = None if self.num_samples is None else np.random.default_rng([self.seed, action, sample])
            rows, before = np.arange(len(places)), self.lattice.wrapped(places)
            for index in range(self.repeat):
                moved = self.steps(before, action, rng)
                is_done = moved.is_done | self._has_left(moved.states)
                held = np.where(clips, np.clip(moved.states, self.lattice.low, self.lattice.high), moved.states)
                slack = AT_BORDER * self.lattice.spacing
                num_clipped = int(((np.abs(held - moved.states) > slack).any(axis=1) & ~is_done).sum())
                after = np.where(is_done[:, None], moved.states, self.lattice.wrapped(held))
                yield Leg(sample, index, rows, before, after, is_done, num_clipped)
                rows, before = rows[~is_done], after[~is_done]
                if not rows.size:
                    break

    def interpolated(self, values: FloatArray, states: FloatArray) -> FloatArray:
        """Return numbers at the points, `[..., S]`, at any states `[n, d]`: `[..., n]`."""
        indices, weights = self.lattice.weights(states)
        return np.asarray((values[..., indices] * weights).sum(axis=-1))

    def decided(self, places: FloatArray, action: int, values: FloatArray | None = None) -> list[FloatArray]:
        """Return features `[n, D]` and the known reward `[n]` of a decision, and the discounted value `[n]` at its end.

        The last only for values `[S]` of the MDP; else it is 0.
        """
        features: FloatArray | None = None
        offset, ahead = np.zeros(len(places)), np.zeros(len(places))
        for leg in self.legs(places, action):
            scale = self.discount**leg.step / (self.num_samples or 1)
            found, known = self.earned(leg.before, action, leg.after)
            features = np.zeros((len(places), found.shape[1])) if features is None else features
            features[leg.rows] += scale * found
            offset[leg.rows] += scale * known
            if values is not None and leg.step + 1 == self.repeat:
                going = ~leg.is_done
                ahead[leg.rows[going]] += self.discount * scale * self.interpolated(values, leg.after[going])
        assert features is not None
        return [features, offset, ahead]

    def earned(self, before: FloatArray, action: int, after: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the features `[n, D]` of one step from each state, and the known part `[n]` of its reward."""
        if self.features_fn is None:
            raise InputError("features must be known here. Give features_fn(states, action) to discretise.")
        arguments = (before, self.steps.actions[action], after)
        features_takes, offset_takes = self._num_arguments
        features = _rows(self.features_fn(*arguments[:features_takes]), "features_fn", before)
        if self.offset_fn is None:
            return features, np.zeros(len(before))
        offset = _rows(self.offset_fn(*arguments[:offset_takes]), "offset_fn", before)
        if offset.shape[1] != 1:
            raise InputError(
                f"offset_fn must return one number for each state, got {offset.shape[1]}. What has parameters of its "
                "own belongs into features_fn."
            )
        return features, offset[:, 0]

    @cached_property
    def _num_arguments(self) -> tuple[int, int]:
        functions = {"features_fn": self.features_fn, "offset_fn": self.offset_fn}
        first, second = (0 if fn is None else _num_arguments(fn, name) for name, fn in functions.items())
        return first, second

    def moved(self, places: FloatArray, action: int) -> Moved:
        """Return where one decision leads, and whether the episode ended on the way; of the first draw."""
        states, is_done = places.copy(), np.zeros(len(places), dtype=bool)
        for leg in self.legs(places, action):
            if leg.sample == 0:
                states[leg.rows], is_done[leg.rows] = leg.after, leg.is_done
        return Moved(states, is_done)

    def returns(
        self,
        act: ActFn,
        starts: ArrayLike,
        *,
        num_steps: int,
        rng: np.random.Generator | None,
        progress: bool | None = None,
    ) -> FloatArray:
        """Return the discounted sums of features `[n, D]` of one episode from each start; see `Discretisation`."""
        if self.num_samples is not None and rng is None:
            raise InputError("rng must be given for a world with random steps. Example: np.random.default_rng(0).")
        states = self.lattice.checked_states(starts, "starts").copy()
        num_steps = whole_number(num_steps, "num_steps", 1)
        is_going, total = np.ones(len(states), dtype=bool), None
        chosen = np.zeros(len(states), dtype=np.int64)
        with progress_bar("Acting in the continuous world", is_shown=progress) as report:
            for t in range(num_steps):
                report(t / num_steps)
                if t % self.repeat == 0:
                    chosen[is_going] = self._acted(act, states[is_going])
                for action in np.unique(chosen[is_going]).tolist():
                    rows = np.flatnonzero(is_going & (chosen == action))
                    before = self.lattice.wrapped(states[rows])
                    moved = self.steps(before, action, rng)
                    found, known = self.earned(before, action, self.lattice.wrapped(moved.states))
                    if self.offset_fn is not None:
                        found = np.concatenate([found, known[:, None]], axis=1)
                    total = np.zeros((len(states), found.shape[1])) if total is None else total
                    total[rows] += self.discount**t * found
                    states[rows] = moved.states
                    is_going[rows] = ~(moved.is_done | self._has_left(moved.states))
                if not is_going.any():
                    break
        assert total is not None
        return total

    def _acted(self, act: ActFn, states: FloatArray) -> IntArray:
        """Return what a policy does in states `[n, d]`: numbers of actions `[n]`, checked."""
        found = np.asarray(act(states))
        if found.dtype.kind not in "iu" or found.shape not in ((), (len(states),)):
            raise InputError(
                f"act must give the number of an action for each of {len(states)} states, got {found.dtype} of shape "
                f"{found.shape}. Make one with policy_fn, or return integers [n]."
            )
        if found.min() < 0 or found.max() >= self.num_actions:
            raise InputError(
                f"actions must lie in 0..{self.num_actions - 1}, got {found.min()} to {found.max()} from act. Give "
                "numbers of actions, not what the world takes."
            )
        return np.broadcast_to(found, (len(states),))


def _rows(returned: ArrayLike, name: str, before: FloatArray) -> FloatArray:
    """Return what a function of states gave, `[n, D]`, if it is finite and has a row for each."""
    found = float_array(returned, f"what {name} returns")
    found = found[:, None] if found.ndim == 1 else found
    if found.ndim != 2 or len(found) != len(before):
        raise InputError(
            f"{name} must return one row for each of {len(before)} states, got shape {found.shape}. It is called with "
            "many states [n, d] at once."
        )
    if not np.isfinite(found).all():
        i = int(np.argmax(~np.isfinite(found).all(axis=1)))
        raise InputError(
            f"{name} must return finite numbers, got {found[i].tolist()} at state {before[i].tolist()}. Fix it there."
        )
    return found


def _num_arguments(function: FeaturesFn, name: str) -> int:
    if not callable(function):
        raise InputError(f"{name} must be a function of states [n, d], got {type(function).__name__}. Give one.")
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        return 1
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    count = sum(parameter.kind in kinds and parameter.default is parameter.empty for parameter in parameters)
    if not 1 <= count <= 3:
        raise InputError(
            f"{name} must take states, or states and action, or states, action and next states, got {count} arguments."
            " Write it with one to three."
        )
    return count
