"""What acquisition functions get and give: a ScoringContext, a Rating, classes of samples, and in the end Scores."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from journeyman.checks import float_array
from journeyman.errors import InputError
from journeyman.mdp import FiniteMDP
from journeyman.notebooks import html_of
from journeyman.types import AnyArray, BoolArray, FloatArray, IntArray

TIE_TOLERANCE = 1e-12  # of the scores' sizes


@dataclass(frozen=True, eq=False)
class Partition:
    """Classes of samples: what an answer should tell apart, as labels of M samples, numbered from 0.

    Information about the reward itself puts each sample into a class of its own. Information about a coarser thing,
    such as whether the apprentice is nearly right, puts all samples into one class that agree on it.

    Parameters
    ----------
    labels
        `[S, M]` if the classes depend on the state that is asked about, `[1, M]` if not.
    is_identity
        Whether each sample is its own class; then labels are not looked at.
    places
        `[S]` the row of labels of each state, where only some states have one; default: the state itself.
    """

    labels: IntArray
    is_identity: bool = False
    places: IntArray | None = None

    @cached_property
    def num_labels(self) -> IntArray:
        """Number of classes, `[S]` or `[1]`."""
        return np.asarray(self.labels.max(axis=1) + 1)

    def at(self, states: IntArray) -> "Partition":
        """Return the classes for these states only, in this order."""
        if self.places is not None:
            return Partition(self.labels[self.places[states]], self.is_identity)
        return self if len(self.labels) == 1 else Partition(self.labels[states], self.is_identity)


def each_sample(num_samples: int) -> Partition:
    """Return the finest classes: every sample is its own."""
    return Partition(np.arange(num_samples)[None], is_identity=True)


def refined(labels: IntArray, more: AnyArray) -> IntArray:
    """Return labels `[M]` that agree only where both `labels` and the integers `more` `[M]` do."""
    _, compact = np.unique(more, return_inverse=True)
    _, both = np.unique(labels * (int(compact.max()) + 1) + compact.ravel(), return_inverse=True)
    return np.asarray(both.ravel())


def packed(buckets: AnyArray, num_buckets: int) -> IntArray:
    """Return one label `[M]` per distinct row of bucket numbers `[M, A]`."""
    if num_buckets ** buckets.shape[1] < 2**62:
        codes = buckets.astype(np.int64) @ (num_buckets ** np.arange(buckets.shape[1], dtype=np.int64))
        _, labels = np.unique(codes, return_inverse=True)
    else:
        _, labels = np.unique(buckets, axis=0, return_inverse=True)
    return np.asarray(labels.ravel())


def labels_of_values(values: FloatArray, tolerance: float) -> IntArray:
    """Return one label per distinct value `[M]`; neighbours closer than `tolerance` count as equal."""
    order = np.argsort(values, kind="stable")
    is_new: BoolArray = np.concatenate([[False], np.diff(values[order]) > tolerance])
    labels = np.empty(len(values), dtype=np.int64)
    labels[order] = np.cumsum(is_new)
    return labels


@dataclass(frozen=True, eq=False)
class ScoringContext:
    """One question to an acquisition function: which states to rate, for which kind of query.

    Parameters
    ----------
    states
        `[N]` queryable states.
    kind, length
        "state" (one action), or "trajectory" of at most `length` actions.
    epsilon
        Regret that is too much, for functions that care.
    num_histories
        Walks per state, where answers are sampled.
    seed
        Of these walks; they depend on it, the posterior and the start state only, never on the function.
    num_threads
        Results do not depend on it.
    """

    states: IntArray
    kind: str = "state"
    length: int = 1
    epsilon: float = 0.1
    num_histories: int = 64
    seed: int = 0
    num_threads: int = 1


@dataclass(frozen=True, eq=False)
class Rating:
    """What an acquisition function says: values `[N]` of the states of a ScoringContext, with what is worth knowing.

    standard_error `[N]` is None where nothing was sampled; details are what else is worth reporting, by name; warnings
    are shown with the scores.

    `again_fn(context, weights, chances)` rates the same states once more: given K possible histories, by the weights
    `[K, M]` of the samples after each and their chances `[K]`, and for queries of `context.length`. It keeps what the
    first rating settled, such as classes of samples or candidate policies, so that both compare, and this saves work.
    None: the function is asked anew.
    """

    values: FloatArray
    standard_error: FloatArray | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    again_fn: Callable[[ScoringContext, FloatArray, FloatArray], "Rating"] | None = None


def checked_rating(acquisition: str, context: ScoringContext, rating: Any) -> Rating:
    """Return what an acquisition function returned, if it is a Rating with a number for each state."""
    wanted = (
        f"acquisition function {acquisition!r} must return a Rating with {len(context.states)} values, one for each"
    )
    if not isinstance(rating, Rating):
        raise InputError(
            f"{wanted} of context.states, got {type(rating).__name__}. Return journeyman.acquisition.Rating(values)."
        )
    given = {"values": rating.values, "a standard_error": rating.standard_error}
    for what, numbers in given.items():
        if numbers is None and what != "values":
            continue
        array = float_array(numbers, f"{what} of acquisition function {acquisition!r}")
        if array.shape != context.states.shape:
            raise InputError(
                f"{wanted} of context.states, got {what} of shape {array.shape}. Rate these states, in order."
            )
        if not np.isfinite(array).all():
            state = int(context.states[~np.isfinite(array)][0])
            raise InputError(
                f"{wanted} of context.states, all finite, got {what} that are not at state {state}. "
                "Give states that should not be asked about the lowest value."
            )
    return rating


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of all states.

    Parameters
    ----------
    name
        Of the acquisition function.
    kind, length
        Of the query; length, the longest that was tried, is None for a state query.
    unit
        "nats", "reward", or what the function says; "" if its values have none.
    values
        `[S]`: higher is better, minus infinity where a state may not be queried. Divided by the costs, where given.
    standard_error
        `[S]` Monte-Carlo error of the values from sampled answers, given the posterior samples, so large that twice it
        covers about 95 %; NaN where a state may not be queried, None if no answer was sampled. It does not contain the
        error of the posterior samples.
    warnings
        What is doubtful, with advice.
    details
        What the function found on its way.
    lengths
        `[S]` the length that pays best at each state, 0 where a state may not be queried; None where all queries have
        `length`.
    mdp
        Whose states these are, for names and maps.

    Examples
    --------
    >>> from journeyman import Demonstration, infer, make_world
    >>> world = make_world("brown-two-state")
    >>> posterior = infer(world.problem, Demonstration.annotation(1, 0), method="enumerate")
    >>> from journeyman import score
    >>> scores = score(posterior, "action_entropy")
    >>> scores.unit, scores.best_state()
    ('nats', 0)
    """

    name: str
    kind: str
    length: int | None
    unit: str
    values: FloatArray
    standard_error: FloatArray | None = None
    warnings: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    lengths: IntArray | None = None
    mdp: FiniteMDP | None = None

    def __repr__(self) -> str:
        num_rated = int(np.isfinite(self.values).sum())
        unit = f" {self.unit}" if self.unit else ""
        return f"Scores({self.name!r}: {num_rated} states rated, the best {self.values.max():.4g}{unit})"

    def _repr_html_(self) -> str:
        return html_of(self)

    def length_at(self, state: int) -> int | None:
        """Return the length of a query at a state, None for a state query."""
        return self.length if self.lengths is None else int(self.lengths[state])

    def best_state(self, rng: np.random.Generator | None = None) -> int:
        """Return a state of the highest score; `rng` decides between equal ones, without it the lowest wins."""
        return best_of(self.values, rng, self.unit)


def best_of(values: FloatArray, rng: np.random.Generator | None, unit: str) -> int:
    """Return an index of the largest value, ties decided by `rng`, or for the lowest.

    Ties are within 1e-12 of its size; of that and of one nat for information, a difference of entropies.
    """
    largest = values.max()
    ties = np.flatnonzero(values >= largest - TIE_TOLERANCE * (abs(largest) + (unit == "nats")))
    return int(ties[0] if rng is None else rng.choice(ties))
