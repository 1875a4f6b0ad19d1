"""Dynamics that nobody knows, estimated from steps that were seen: counts and a Dirichlet posterior.

    p(. | s, a) ~ Dirichlet(prior + counts),   counts(s, a, s') = how often s' followed action a in state s

over the outcomes that are possible after (s, a): next states and, where steps may end the episode by themselves, its
end. A Dirichlet posterior is exact and independent for each pair of a state and an action. Its mean is an MDP to learn
in. It is not the real one, so nothing is certified with it alone: certificates go over sampled dynamics (see
`journeyman.apprentice.over_dynamics`).

Prior: by default the outcomes of a pair share one observation's worth (Perks 1947). Where any state may follow, that is
the same model as "those seen, or elsewhere": what was never seen has, all together, the weight of less than one step.

Terminal states: where steps say whether they are done, a state that is only ever entered with the episode's end is
terminal. Whether a state that was never entered is terminal nobody knows: sampled dynamics make it so with a chance
drawn from Beta(1 + terminal states seen, 1 + other states seen).
"""

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from journeyman.checks import any_array, positive, whole_number
from journeyman.errors import InputError, UnsupportedError
from journeyman.mdp import validation
from journeyman.mdp.grid import Grid
from journeyman.mdp.model import FiniteMDP
from journeyman.mdp.names import Names
from journeyman.mdp.origin import ORIGINS
from journeyman.mdp.rows import Rows, checked_counts, index_column
from journeyman.mdp.stationarity import check_stationary
from journeyman.mdp.transitions import (
    EXAMPLES,
    Sizes,
    Transitions,
    Walk,
    demonstrated_transitions,
    environment_walked,
    recorded_transitions,
    sampled_pairs,
    state_mask,
    walked,
)
from journeyman.progress import progress_bar
from journeyman.types import BoolArray, FloatArray, IntArray, read_only
from journeyman.wording import counted

MAX_OUTCOMES = 20_000_000  # possible outcomes of all pairs together
LEAST_CHANCE = 1e-14  # of a sampled outcome that is kept: the rest is below what sums of chances can show
MAX_NAMED = 5
ARRAYS = ("indptr", "outcomes", "counts", "prior", "initial", "available", "terminal", "is_unvisited")
WORDS = ("source", "prior_words", "warnings", "state_labels", "action_labels")


@dataclass(frozen=True, eq=False, kw_only=True)
class EstimatedDynamics:
    """A Dirichlet posterior of the outcomes of every pair of a state and an action; made by `estimate_dynamics`.

    Parameters
    ----------
    indptr, outcomes
        Row s * A + a lies at indptr[row]:indptr[row + 1]: the outcomes that are possible after (s, a), ascending. Each
        is a next state, or S for the end of the episode.
    counts, prior
        `[nnz]` how often each was seen, and its concentration before that.
    discount, initial, available, state_labels, action_labels, grid, coordinates
        As of FiniteMDP.
    terminal
        `[S]` states that are known to be terminal.
    is_unvisited
        `[S]` states of which nobody knows whether they are terminal.
    source, prior_words, warnings
        In words: where the steps come from, the prior, and what is doubtful.
    has_demonstrations
        Whether the steps are those of demonstrations, which then are not to be counted again.
    """

    indptr: IntArray
    outcomes: IntArray
    counts: IntArray
    prior: FloatArray
    discount: float
    initial: FloatArray
    available: BoolArray
    terminal: BoolArray
    is_unvisited: BoolArray
    source: str
    prior_words: str
    warnings: tuple[str, ...] = ()
    has_demonstrations: bool = False
    state_labels: tuple[str, ...] | None = None
    action_labels: tuple[str, ...] | None = None
    grid: Grid | None = field(default=None, repr=False)
    coordinates: FloatArray | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Put read-only copies in the place of all arrays."""
        for name in ARRAYS:
            object.__setattr__(self, name, read_only(getattr(self, name)))

    def __repr__(self) -> str:
        return f"EstimatedDynamics({self.num_states} states, {self.num_actions} actions, {self.source})"

    @property
    def num_states(self) -> int:
        """Number of states S."""
        return int(self.available.shape[0])

    @property
    def num_actions(self) -> int:
        """Number of actions A."""
        return int(self.available.shape[1])

    @property
    def num_steps(self) -> int:
        """Number of steps that were counted."""
        return int(self.counts.sum())

    @property
    def concentration(self) -> FloatArray:
        """`[nnz]` parameters of the Dirichlet posterior: prior plus counts."""
        return self.prior + self.counts

    @cached_property
    def row(self) -> IntArray:
        """`[nnz]` the pair s * A + a that each outcome belongs to."""
        return np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))

    def totals(self, values: Any) -> FloatArray:
        """Return the sum over the outcomes of each pair, `[S, A]`."""
        sums = np.bincount(self.row, weights=values, minlength=len(self.indptr) - 1)
        return np.asarray(sums.reshape(self.available.shape))

    @cached_property
    def num_tries(self) -> IntArray:
        """`[S, A]` how often each action was tried in each state."""
        return self.totals(self.counts).astype(np.int64)

    @property
    def untried(self) -> IntArray:
        """`[n, 2]` pairs of a state and an action that were never tried, terminal states left out."""
        return np.argwhere((self.num_tries == 0) & self.available & ~self.terminal[:, None])

    @cached_property
    def mean(self) -> FloatArray:
        """`[nnz]` mean chance of each outcome, given that its state is not terminal."""
        return np.asarray(self.concentration / self.totals(self.concentration).ravel()[self.row])

    @property
    def ending_counts(self) -> tuple[int, int]:
        """How many of the states that were seen are terminal, and how many are not."""
        return int(self.terminal.sum()), int((~self.terminal & ~self.is_unvisited).sum())

    @cached_property
    def mdp(self) -> FiniteMDP:
        """The MDP of mean chances, whose `origin` is this: to learn and ask in, not to certify with alone."""
        ends, goes_on = self.ending_counts
        going_on = np.where(self.is_unvisited, (1.0 + goes_on) / (2.0 + ends + goes_on), 1.0)
        rows = self._rows(self.mean * going_on[self.row // self.num_actions])
        return self._mdp(rows, origin=self, grid=self.grid, coordinates=self.coordinates)

    def sample(self, rng: np.random.Generator) -> FiniteMDP:
        """Return dynamics drawn from the posterior: as likely to be the real ones as any other draw."""
        shape = self.concentration
        # Gamma(a) = Gamma(a + 1) U^(1/a), in logs: with small concentrations the plain draw would often be 0
        logs = np.log(rng.standard_gamma(shape + 1.0)) + np.log1p(-rng.random(shape.size)) / shape
        largest = np.full(len(self.indptr) - 1, -np.inf)
        np.maximum.at(largest, self.row, logs)
        chances = np.exp(logs - largest[self.row])
        chances /= self.totals(chances).ravel()[self.row]
        ends, goes_on = self.ending_counts
        is_ending = self.is_unvisited & (rng.random(self.num_states) < rng.beta(1.0 + ends, 1.0 + goes_on))
        return self.mdp_of(chances, is_ending)

    def mdp_of(self, chances: FloatArray, is_ending: BoolArray) -> FiniteMDP:
        """Return the MDP with these chances `[nnz]` of outcomes, and these states `[S]` taken to be terminal."""
        return self._mdp(self._rows(np.where(is_ending[self.row // self.num_actions], 0.0, chances)))

    def _rows(self, chances: FloatArray) -> Rows:
        is_kept = (self.outcomes < self.num_states) & (chances >= LEAST_CHANCE)
        indptr = np.zeros(len(self.indptr), dtype=np.int64)
        np.cumsum(np.bincount(self.row[is_kept], minlength=len(indptr) - 1), out=indptr[1:])
        next_states = self.outcomes[is_kept].astype(np.int32)
        return Rows(self.num_states, self.num_actions, indptr, next_states, chances[is_kept])

    def _mdp(self, rows: Rows, **options: Any) -> FiniteMDP:
        return FiniteMDP(
            rows=rows, discount=self.discount, initial=self.initial, available=self.available, terminal=self.terminal,
            missing_mass="terminates", state_labels=self.state_labels, action_labels=self.action_labels, **options,
        )  # fmt: skip

    def with_steps(self, steps: Transitions) -> "EstimatedDynamics":
        """Return the posterior after more steps; a state that is acted in or passed through is not terminal.

        An end of the episode where none was thought possible is left out: it tells nothing about next states.
        """
        is_left_out = steps.done & ~self.terminal[steps.next_state] & ~self.is_unvisited[steps.next_state]
        outcome = np.where(is_left_out, self.num_states, steps.next_state)
        keys = (steps.state * self.num_actions + steps.action) * (self.num_states + 1) + outcome
        known = self.row * (self.num_states + 1) + self.outcomes
        place = np.searchsorted(known, keys)
        is_known = np.append(known, -1)[np.minimum(place, len(known))] == keys
        is_wrong = ~is_known & ~is_left_out
        if is_wrong.any():
            raise InputError(self._impossible(steps, is_wrong))
        is_seen = np.zeros(self.num_states, dtype=bool)
        is_seen[steps.state] = True
        is_seen[steps.next_state[~steps.done]] = True
        added = np.bincount(place[is_known], minlength=len(known))
        return replace(self, counts=self.counts + added, is_unvisited=self.is_unvisited & ~is_seen)

    def with_demonstrations(self, demonstrations: Iterable[Any]) -> "EstimatedDynamics":
        """Return the posterior after what followed the actions of demonstrations as well, where that was seen."""
        steps = demonstrated_transitions(demonstrations, self._sizes)
        if steps.size == 0:
            return self
        return replace(self.with_steps(steps), source=f"{self.source} and {steps.words}")

    @property
    def _sizes(self) -> Sizes:
        states = Names("state", self.num_states, self.state_labels)
        return Sizes(states, Names("action", self.num_actions, self.action_labels), self.available)

    def _impossible(self, steps: Transitions, is_wrong: BoolArray) -> str:
        i = int(np.argmax(is_wrong))
        state, action, found = int(steps.state[i]), int(steps.action[i]), int(steps.next_state[i])
        where = f"after {self.pair_name(state, action)} (step {i}; {counted(int(is_wrong.sum()), 'such step')} in all)"
        if self.terminal[state]:
            return (
                f"steps must not start in terminal states, got one {where}. Remove these steps, or leave that state "
                "out of terminal."
            )
        if not self.available[state, action]:
            return f"steps must use available actions, got one {where}. Remove these steps, or correct available."
        row = state * self.num_actions + action
        allowed = self.outcomes[self.indptr[row] : self.indptr[row + 1]].tolist()
        named = [self._outcome_name(one) for one in allowed[:MAX_NAMED]]
        more = ", ..." if len(allowed) > MAX_NAMED else ""
        return (
            f"transitions must be possible, got state {self._outcome_name(found)} {where}, where only "
            f"{', '.join(named) or 'nothing'}{more} may follow. Add it to possible, or remove these steps."
        )

    def _outcome_name(self, outcome: int) -> str:
        if outcome == self.num_states:
            return "the end"
        return self.state_labels[outcome] if self.state_labels else str(outcome)

    def pair_name(self, state: int, action: int) -> str:
        """Return what a pair is called: "action right in state 3"."""
        return f"action {self.action_labels[action] if self.action_labels else action} in state " + self._outcome_name(
            state
        )

    @property
    def assumption(self) -> str:
        """What a certificate assumes about the transitions."""
        num_pairs, num_untried = int((self.available & ~self.terminal[:, None]).sum()), len(self.untried)
        return (
            f"the transitions do not change, and are as likely as {counted(self.num_steps, 'observed transition')} and "
            f"the prior make them ({self.prior_words}; {self.source}; {num_untried} of {num_pairs} pairs of state and "
            "action never tried); the discount is that of the real task"
        )

    def summary(self) -> str:
        """Return what was seen and what was not, for people."""
        names = Names("state", self.num_states, self.state_labels)
        tries = self.num_tries[self.available & ~self.terminal[:, None]]
        lines = [
            f"Dynamics of {counted(self.num_states, 'state')} and {counted(self.num_actions, 'action')}, estimated "
            f"from {self.source}.",
            f"Prior: {self.prior_words}.",
        ]
        if tries.size:
            low, middle, high = (int(value) for value in np.quantile(tries, [0.0, 0.5, 1.0], method="lower"))
            times = counted(low, "time") if low == high else f"{low} to {high} times, with a median of {middle}"
            lines.append(f"Each pair of state and action was tried {times}.")
        if len(self.untried):
            pairs = [self.pair_name(s, a) for s, a in self.untried[:MAX_NAMED].tolist()]
            more = ", ..." if len(self.untried) > MAX_NAMED else ""
            lines.append(f"{len(self.untried)} of {tries.size} were never tried: {', '.join(pairs)}{more}.")
        for mask, words in ((self.terminal, "terminal"), (self.is_unvisited, "never visited, so perhaps terminal")):
            if mask.any():
                some = [names.labels[s] if names.labels else str(s) for s in np.flatnonzero(mask)[:MAX_NAMED].tolist()]
                more = ", ..." if mask.sum() > MAX_NAMED else ""
                lines.append(f"{counted(int(mask.sum()), 'state')} {words}: {', '.join(some)}{more}.")
        return "\n".join([*lines, *(f"Doubtful: {warning}" for warning in self.warnings)])

    def to_record(self) -> dict[str, Any]:
        """Return the posterior as arrays of numbers and words, by name."""
        record: dict[str, Any] = {name: getattr(self, name) for name in ARRAYS}
        record |= {"discount": self.discount, "has_demonstrations": self.has_demonstrations}
        for name in WORDS:
            value = getattr(self, name)
            if value is not None:
                record[name] = np.array(list(value) if isinstance(value, tuple) else value, dtype=str)
        if self.coordinates is not None:
            record["coordinates"] = self.coordinates
        return record

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Self:
        """Return what `to_record` took apart; a grid stays with the MDP that it belongs to."""
        values: dict[str, Any] = {name: np.asarray(value) for name, value in record.items()}
        for name in WORDS:
            if name in values:
                words = values[name].tolist()
                values[name] = tuple(words) if isinstance(words, list) else words
        values |= {"discount": float(values["discount"]), "has_demonstrations": bool(values["has_demonstrations"])}
        return cls(**values)


ORIGINS.register("estimated", EstimatedDynamics)


class Support(NamedTuple):
    """Outcomes that are possible, in rows s * A + a: as `EstimatedDynamics` has them."""

    indptr: IntArray
    outcomes: IntArray


def estimate_dynamics(
    source: Any,
    *,
    discount: float,
    num_states: int | None = None,
    num_actions: int | None = None,
    samples_per_pair: int | None = None,
    num_steps: int | None = None,
    max_length: int = 100,
    action_fn: Callable[[int, np.random.Generator], int] | None = None,
    state_fn: Callable[[Any], Any] | None = None,
    prior: float | None = None,
    possible: Any = None,
    may_end: bool | None = None,
    terminal: ArrayLike | None = None,
    initial: ArrayLike | None = None,
    available: ArrayLike | None = None,
    state_labels: Sequence[str] | None = None,
    action_labels: Sequence[str] | None = None,
    grid: Grid | None = None,
    coordinates: ArrayLike | None = None,
    seed: int = 0,
    progress: bool | None = None,
) -> EstimatedDynamics:
    """Estimate dynamics from a simulator, or from steps that were recorded.

    Parameters
    ----------
    source
        A step function (state, action, rng) -> next state, or -> (next state, done). Or an environment with
        Gymnasium's `reset` and `step`. Or recorded steps: a table (path, DataFrame, mapping) with the columns state,
        action, next_state and perhaps done; arrays (state, action, next_state[, done]); or demonstrations.
    discount
        In (0, 1).
    num_states, num_actions
        Needed unless labels or the spaces of an environment tell.
    samples_per_pair
        For a step function: how often to try each action in each state.
    num_steps
        For a step function or an environment: how many steps of random walks to take instead.
    max_length
        Steps after which a walk begins again.
    action_fn
        action_fn(state, rng) says how to walk; default: any available action, with equal chances.
    state_fn
        Turns an observation of an environment into the number of a state.
    prior
        Concentration of each possible outcome before anything was seen. Default: 1 / their number, so that together
        they count as one step.
    possible
        Which next states may follow: a mask `[S, S]` (whatever the action) or `[S, A, S]`, or a list of (state, next
        state) or (state, action, next state). Default: any state after any.
    may_end
        Whether a step may end the episode by itself, not by entering a terminal state. Default: if that was seen.
    terminal
        States where the episode ends: a mask, or a list. Default: those that were only entered with the end of the
        episode, if steps say so.
    initial, available, state_labels, action_labels, grid, coordinates
        As of FiniteMDP. Walks by a step function start from `initial`; for an environment it is by default where its
        walks started.
    seed
        Of the sampling.

    Raises
    ------
    InputError
        If states are out of range or no whole numbers, if steps are impossible, go on after the end, or depend on more
        than state and action beyond doubt (what is less clear is in `warnings`).

    Examples
    --------
    >>> from journeyman import estimate_dynamics
    >>> def slide(state, action, rng):
    ...     return min(state + action, 2) if rng.random() < 0.9 else state
    >>> estimated = estimate_dynamics(slide, num_states=3, num_actions=2, samples_per_pair=100, discount=0.9)
    >>> estimated.mdp.next_states(2, 1)[0].tolist()
    [0, 1, 2]
    """
    _check_source(source, state_fn, action_fn, num_steps)
    sizes = _sizes(source, num_states, num_actions, state_labels, action_labels, available)
    known = None if terminal is None else state_mask(terminal, sizes.states, "terminal")
    start = None if initial is None else validation.checked_initial(initial, sizes.states.size)
    discount = validation.checked_discount(discount)
    rng = np.random.default_rng(whole_number(seed, "seed", 0))
    sampling = (samples_per_pair, num_steps, max_length, action_fn)
    with progress_bar("Trying actions", is_shown=progress) as report:
        steps = _steps(rng, source, sizes, sampling, state_fn, known, start, report)
    if steps.size == 0:
        raise InputError(f"dynamics must be estimated from at least one step, got none. {EXAMPLES}")
    is_simulated = callable(source) and not hasattr(source, "step")
    ends = _terminal_states(steps, sizes, is_simulated) if known is None else known
    if is_simulated:  # simulators often go on where the episode has ended
        steps = steps.only(~ends[steps.state])
    is_visited = np.zeros(sizes.states.size, dtype=bool)
    is_visited[np.concatenate([steps.state, steps.next_state])] = True
    is_end = steps.done & ~ends[steps.next_state]
    can_end = bool(is_end.any()) if may_end is None else bool(may_end)
    if is_end.any() and not can_end:
        i = int(np.argmax(is_end))
        raise InputError(
            f"steps must not end the episode by themselves where may_end is False, got such an end at step {i}, in "
            f"state {steps.next_state[i]}, which is not terminal. Add it to terminal, or leave may_end out."
        )
    support = _support(possible, sizes, ends, can_end)
    lengths = np.diff(support.indptr)
    shares = np.repeat(1.0 / np.maximum(lengths, 1), lengths)
    if prior is not None:
        shares = np.full(len(shares), positive(prior, "prior", "It is a concentration: 1 is uniform, less is sparse."))
    said = steps.words
    if start is None and hasattr(source, "step"):
        start = np.bincount(steps.state[~steps.follows], minlength=sizes.states.size) / (~steps.follows).sum()
        said += f", whose {counted(int((~steps.follows).sum()), 'start')} say where episodes begin"
    empty = EstimatedDynamics(
        indptr=support.indptr,
        outcomes=support.outcomes,
        counts=np.zeros(len(support.outcomes), dtype=np.int64),
        prior=shares,
        discount=discount,
        initial=validation.checked_initial(start, sizes.states.size),
        available=sizes.available,
        terminal=ends,
        is_unvisited=~is_visited if known is None and steps.has_done else np.zeros_like(is_visited),
        source=said,
        prior_words=_prior_words(prior, possible, can_end),
        warnings=(*check_stationary(steps, sizes.states, sizes.actions), *_end_warnings(steps, is_end)),
        has_demonstrations=_are_demonstrations(source),
        state_labels=sizes.states.labels,
        action_labels=sizes.actions.labels,
        grid=grid,
        coordinates=validation.checked_coordinates(coordinates, sizes.states.size),
    )
    validation.check_grid(grid, sizes.states.size, sizes.actions.size)
    return empty.with_steps(steps)


def _check_source(source: Any, state_fn: Any, action_fn: Any, num_steps: Any) -> None:
    """Refuse what looks like a simulator and is none, and options that would be ignored."""
    if isinstance(source, str) and num_steps is not None:
        raise InputError(
            f"an environment must be made before it is walked in, got {source!r}. Say gymnasium.make({source!r}); the "
            "name of a file needs no num_steps."
        )
    if isinstance(source, type):
        raise InputError(f"a simulator must be made, got the class {source.__name__}. Say {source.__name__}(...).")
    if hasattr(source, "num_envs"):
        raise InputError(
            f"steps must be those of one environment, got a vector of {source.num_envs}. Give one of them."
        )
    is_environment = hasattr(source, "reset") and hasattr(source, "step")
    if state_fn is not None and not is_environment:
        raise InputError("state_fn must go with an environment, whose observations it reads, got none. Leave it out.")
    if action_fn is not None and num_steps is None:
        raise InputError("action_fn must go with walks, which it leads, got none. Say num_steps=10_000.")
    if callable(source) and not is_environment:
        try:
            inspect.signature(source).bind(0, 0, None)
        except TypeError:
            raise InputError(
                "step_fn must be step_fn(state, action, rng), which draws all that is random from the rng, got "
                f"{getattr(source, '__name__', type(source).__name__)}{inspect.signature(source)}. Add what is missing."
            ) from None
        except ValueError:
            return  # some built-in functions have no signature


def _sizes(source: Any, num_states: Any, num_actions: Any, states: Any, actions: Any, available: Any) -> Sizes:
    """Return numbers of states and actions, given, or told by labels or the spaces of an environment."""
    if num_states is None:
        num_states = len(states) if states is not None else getattr(_space(source, "observation_space"), "n", None)
    if num_actions is None:
        num_actions = len(actions) if actions is not None else getattr(_space(source, "action_space"), "n", None)
    for name, value in (("num_states", num_states), ("num_actions", num_actions)):
        if value is None:
            raise InputError(
                f"{name} must be given, got nothing that tells it. Say {name}=16, for example: what was never seen "
                "counts too."
            )
    num_states, num_actions = checked_counts(num_states, num_actions)
    if num_states * num_actions > MAX_OUTCOMES:
        raise InputError(
            f"dynamics must be estimated for at most {MAX_OUTCOMES:,} pairs of state and action, got {num_states} x "
            f"{num_actions}. Aggregate states first."
        )
    labels = validation.checked_labels(states, num_states, "state_labels")
    mask = validation.checked_available(available, num_states, num_actions)
    moves = Names("action", num_actions, validation.checked_labels(actions, num_actions, "action_labels"))
    return Sizes(Names("state", num_states, labels), moves, mask)


def _space(source: Any, name: str) -> Any:
    return getattr(source, name, None) if hasattr(source, "step") else None


def _are_demonstrations(source: Any) -> bool:
    listed_ones = source if isinstance(source, list | tuple) else (source,)
    return len(listed_ones) > 0 and all(hasattr(one, "steps") and hasattr(one, "ended") for one in listed_ones)


def _steps(
    rng: np.random.Generator,
    source: Any,
    sizes: Sizes,
    sampling: tuple[Any, Any, Any, Any],
    state_fn: Callable[[Any], Any] | None,
    terminal: BoolArray | None,
    initial: FloatArray | None,
    report: Any,
) -> Transitions:
    samples_per_pair, num_steps, max_length, action_fn = sampling
    is_environment = hasattr(source, "reset") and hasattr(source, "step")
    is_simulator = is_environment or callable(source)
    if is_simulator and (samples_per_pair is None) == (num_steps is None):
        got = "neither" if num_steps is None else "both"
        raise InputError(
            f"a simulator must be told how much to try: either samples_per_pair or num_steps, got {got}. Say "
            "samples_per_pair=100 for a step function, num_steps=10_000 for walks."
        )
    if not is_simulator:
        if samples_per_pair is not None or num_steps is not None:
            raise InputError("recorded steps are all that there are, got how many to take. Leave that out.")
        if _are_demonstrations(source):
            return demonstrated_transitions((source,) if hasattr(source, "steps") else source, sizes)
        return recorded_transitions(source, sizes)
    if samples_per_pair is not None:
        if is_environment:
            raise UnsupportedError(
                "an environment cannot be put into any state, so samples_per_pair needs a step function, got "
                f"{type(source).__name__}. Say num_steps=10_000 for random walks in it."
            )
        number = whole_number(samples_per_pair, "samples_per_pair", 1, "100 are usual.")
        return sampled_pairs(rng, source, sizes, number, terminal, report)
    walk = Walk(
        whole_number(num_steps, "num_steps", 1, "10,000 are usual."),
        whole_number(max_length, "max_length", 1, "100 are usual."),
        action_fn,
    )
    if is_environment:
        return environment_walked(rng, source, sizes, walk, state_fn or (lambda found: found), report)
    return walked(rng, source, sizes, walk, initial, report)


def _terminal_states(steps: Transitions, sizes: Sizes, is_simulated: bool) -> BoolArray:
    """Return `[S]` states that were only ever entered with the end of the episode.

    What a step function gives from such a state does not count: it can be asked what follows the end. In what was
    recorded nobody should have gone on.
    """

    def entered(chosen: BoolArray) -> BoolArray:
        mask = np.zeros(sizes.states.size, dtype=bool)
        mask[steps.next_state[chosen]] = True
        return mask

    terminal = entered(steps.done)
    while True:  # fewer are terminal, so more steps count, until nothing changes
        counts = ~terminal[steps.state] if is_simulated else np.ones(steps.size, dtype=bool)
        fewer = terminal & entered(counts & steps.done) & ~entered(counts & ~steps.done)
        if (fewer == terminal).all():
            break
        terminal = fewer
    goes_on = terminal[steps.state]
    if goes_on.any() and not is_simulated:
        i = int(np.argmax(goes_on))
        state = int(steps.state[i])
        name = sizes.states.labels[state] if sizes.states.labels else str(state)
        raise InputError(
            f"an episode must not go on after its end, got step {i} from state {name}, which is only ever entered with "
            f"done ({counted(int(goes_on.sum()), 'such step')} in all). Remove these steps and say terminal=[{state}]; "
            "or say terminal=[] if episodes may start where others end; a time limit is not done."
        )
    return terminal


def _end_warnings(steps: Transitions, is_end: BoolArray) -> tuple[str, ...]:
    if not is_end.any():
        return ()
    states = np.unique(steps.next_state[is_end])
    return (
        f"{counted(int(is_end.sum()), 'step')} ended the episode in {counted(len(states), 'state')} that others passed "
        f"through (state {states[0]}, for example): taken as steps that end it by themselves. If that was a time "
        "limit, do not call it done.",
    )


def _support(possible: Any, sizes: Sizes, terminal: BoolArray, can_end: bool) -> Support:
    """Return the possible outcomes of all pairs that exist and are not in terminal states."""
    num_states, num_actions = sizes.states.size, sizes.actions.size
    is_pair = (sizes.available & ~terminal[:, None]).ravel()
    num_rows = num_states * num_actions
    if possible is None:
        size = int(is_pair.sum()) * (num_states + can_end)
        if size > MAX_OUTCOMES:
            raise UnsupportedError(
                f"any state may follow any other, which makes {size} possible outcomes, above {MAX_OUTCOMES}. Say "
                "which ones may follow: possible=[(state, next_state), ...], such as the neighbours of each state."
            )
        indptr = np.concatenate([[0], np.cumsum(np.where(is_pair, num_states + can_end, 0))])
        return Support(indptr, np.tile(np.arange(num_states + can_end), int(is_pair.sum())))
    row, outcome = _possible_columns(possible, sizes)
    is_kept = is_pair[row]
    row, outcome = row[is_kept], outcome[is_kept]
    if can_end:
        rows = np.flatnonzero(is_pair)
        row, outcome = np.concatenate([row, rows]), np.concatenate([outcome, np.full(len(rows), num_states)])
    keys = np.unique(row * (num_states + 1) + outcome)
    row, outcome = keys // (num_states + 1), keys % (num_states + 1)
    lengths = np.bincount(row, minlength=num_rows)
    is_bare = is_pair & (lengths == 0)
    if is_bare.any():
        state, action = divmod(int(np.argmax(is_bare)), num_actions)
        raise InputError(
            f"possible must allow a next state after every action, got none after action {action} in state {state}. "
            "Add one, or say that the state is terminal, or the action not available."
        )
    return Support(np.concatenate([[0], np.cumsum(lengths)]), outcome)


def _possible_columns(possible: Any, sizes: Sizes) -> tuple[IntArray, IntArray]:
    """Return rows s * A + a and next states that a mask or a list of edges allows."""
    num_states, num_actions = sizes.states.size, sizes.actions.size
    array = any_array(possible.toarray() if hasattr(possible, "toarray") else possible, "possible")
    shapes = ((num_states, num_states), (num_states, num_actions, num_states))
    if array.dtype.kind == "b":
        if array.shape not in shapes:
            raise InputError(
                f"possible must be a mask of shape {shapes[0]} or {shapes[1]}, got {array.shape}. "
                "Its last axis is the next state."
            )
        whole = array if array.ndim == 3 else np.repeat(array[:, None], num_actions, axis=1)
        state, action, next_state = np.nonzero(whole)
        return state * num_actions + action, next_state
    if array.ndim != 2 or array.shape[1] not in (2, 3):
        raise InputError(
            f"possible must be a mask, or a list of (state, next state) or (state, action, next state), got shape "
            f"{array.shape}. Give pairs or triples of numbers, or True and False."
        )
    state = index_column(array[:, 0], "state of possible", num_states)
    next_state = index_column(array[:, -1], "next_state of possible", num_states)
    if array.shape[1] == 3:
        return state * num_actions + index_column(array[:, 1], "action of possible", num_actions), next_state
    rows = (state[:, None] * num_actions + np.arange(num_actions)).ravel()
    return rows, np.repeat(next_state, num_actions)


def _prior_words(prior: float | None, possible: Any, can_end: bool) -> str:
    follow = "any state may follow" if possible is None else "what may follow was stated"
    end = ", or the end" if can_end else ""
    how = (
        "all outcomes of an action together weigh as much as one step"
        if prior is None
        else f"each outcome has a concentration of {prior:g}"
    )
    return f"before the first step {follow}{end}, and {how}"
