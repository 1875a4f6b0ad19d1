"""Discretisation: a continuous world on a lattice of points, as a sparse FiniteMDP, and the way back.

Doing action a in the continuous state x leads to x'. On the points this becomes

    p(s' | s, a) = w_s'(x'(s, a)),   so that   Q(s, a) = r(s, a) + discount * V(x'(s, a))

with the weights w of the lattice and the values V continuous between its points. For random steps weights are averaged
over draws of the noise. With `repeat` k one decision is k steps: rewards are summed, discounted, along the way, and the
discount of the MDP is that of a step to the power k. Interpolation blurs a little at every decision; steps much shorter
than a cell blur the most, relative to how far they lead, so that few long decisions are better than many short ones.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from journeyman.checks import float_array, one_of, positive, real_number
from journeyman.continuous.decisions import ActFn, Decisions
from journeyman.continuous.observations import recorded
from journeyman.continuous.points import Drawn, mdp_on_points
from journeyman.continuous.transitions import transitions
from journeyman.demonstrations import Demonstration
from journeyman.errors import InputError, UnsupportedError
from journeyman.mdp import FiniteMDP, Solution, solve
from journeyman.mdp.discretised import Discretised
from journeyman.mdp.lattice import Lattice
from journeyman.mdp.rows import Rows
from journeyman.rewards import LinearFeatures, RewardModel
from journeyman.types import FloatArray, IntArray, read_only

ACTING = ("lookahead", "interpolate", "nearest")


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
        known = float_array(values, "values")
        if known.ndim == 0 or known.shape[-1] not in (self.lattice.num_points, self.mdp.num_states):
            raise InputError(
                f"values must hold a number for each of the {self.mdp.num_states} states, got shape {known.shape}. "
                "Those of a Solution do."
            )
        return self.decisions.interpolated(known, self.lattice.checked_states(states))

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
        positive(tolerance, "tolerance", "It is how far, in cells, a next state may be from where the world leads.")
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
        if policy.min() < 0 or policy.max() >= self.mdp.num_actions:
            raise InputError(
                f"a policy must hold actions in 0..{self.mdp.num_actions - 1}, got {policy.min()} to {policy.max()}. "
                "Give numbers of actions, not what the world takes."
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
        drawn = Drawn(action_labels=self.mdp.action_labels)
        mdp = mdp_on_points(plan, self.initial_states, drawn, progress=progress)
        return Discretisation(plan, mdp, plan.lattice.points, self.initial_states, self.feature_names)

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
