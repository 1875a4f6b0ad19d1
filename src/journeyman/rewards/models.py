"""Reward models: how parameters become a reward.

    r = offset + features . theta

Three kinds share this form: one parameter per state, one per (state, action), or linear features with known parts in
the offset. Features are kept sparse. A state-only model has one row of features per state, and its reward is the same
for all actions; otherwise row s * A + a belongs to (s, a).
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from journeyman.checks import float_array, whole_number
from journeyman.errors import InputError
from journeyman.types import FloatArray, IntArray, read_only
from journeyman.wording import counted

if TYPE_CHECKING:
    from journeyman.mdp import FiniteMDP


@dataclass(frozen=True, eq=False)
class RewardModel:
    """Rewards that are linear in D parameters; made by `PerState`, `PerStateAction`, `LinearFeatures` and others.

    num_states, num_actions: those of the MDP; features: scipy CSR `[S, D]` if `is_state_only`, else `[S * A, D]`;
    offset `[S]` or `[S * A]`; kind: "per_state", "per_state_action", "features", or "kernel" where the rewards of all
    states follow from those of some; names: one per parameter, or None.
    """

    num_states: int
    num_actions: int
    features: Any
    offset: FloatArray
    is_state_only: bool
    kind: str
    names: tuple[str, ...] | None = None

    def __repr__(self) -> str:
        size = counted(self.num_parameters, "parameter")
        return f"RewardModel({self.kind!r}: {size}, {self.num_states} states, {self.num_actions} actions)"

    @property
    def num_parameters(self) -> int:
        """Number of parameters D."""
        return int(self.features.shape[1])

    def parameter_name(self, index: int) -> str:
        """Return the name of a parameter."""
        if self.names is not None:
            return self.names[index]
        if self.kind == "per_state":
            return f"reward[{index}]"
        if self.kind == "per_state_action":
            return "reward[{}, {}]".format(*divmod(index, self.num_actions))
        return f"theta[{index}]"

    def reward(self, theta: ArrayLike) -> FloatArray:
        """Return the reward of parameters `[D]` or `[M, D]`: `[S]` or `[M, S]` if state-only, else with an axis A."""
        parameters = float_array(theta, "theta")
        if parameters.ndim not in (1, 2) or parameters.shape[-1] != self.num_parameters:
            raise InputError(
                f"theta must have shape [{self.num_parameters}] or [M, {self.num_parameters}], got {parameters.shape}. "
                "Give one number per parameter."
            )
        flat = (self.features @ parameters.T).T + self.offset
        if self.is_state_only:
            return np.ascontiguousarray(flat)
        return np.ascontiguousarray(flat.reshape(*parameters.shape[:-1], self.num_states, self.num_actions))

    def at(self, places: ArrayLike) -> "RewardModel":
        """Return the model for states that are copies of these `[N]`: the same parameters in all copies of a state."""
        states = np.asarray(places, dtype=np.int64)
        rows = states if self.is_state_only else _rows_of(states, self.num_actions)
        return RewardModel(
            num_states=len(states),
            num_actions=self.num_actions,
            features=sparse.csr_array(self.features[rows]),
            offset=self.offset[rows],
            is_state_only=self.is_state_only,
            kind="features",
            names=tuple(self.parameter_name(i) for i in range(self.num_parameters)),
        )

    def per_memory(self, places: ArrayLike, memories: ArrayLike, labels: tuple[str, ...]) -> "Copied":
        """Return the model for a product with a memory, which has parameters of its own for each state of the memory.

        Parameters
        ----------
        places, memories
            `[N]` state of this model and state of the memory of each state of the product.
        labels
            Of the states of the memory, for the names of parameters.
        """
        states, marks = np.asarray(places, dtype=np.int64), np.asarray(memories, dtype=np.int64)
        shared, size = self.at(states), self.num_actions
        if self.kind in ("per_state", "per_state_action"):  # one parameter per row
            rows = states if self.is_state_only else _rows_of(states, size)
            owners = marks if self.is_state_only else np.repeat(marks, size)
            own = replace(shared, features=sparse.eye_array(len(rows), format="csr"), kind=self.kind, names=None)
            return Copied(own, rows, owners)
        used, copy = np.unique(marks, return_inverse=True)
        entries, count = sparse.coo_array(shared.features), self.num_parameters
        states_of = entries.row if self.is_state_only else entries.row // size
        columns = entries.col + count * copy.ravel()[states_of]
        shape = (entries.shape[0], count * len(used))
        names = tuple(f"{name} ({labels[m]})" for m in used.tolist() for name in shared.names or ())
        own = replace(
            shared, features=sparse.csr_array((entries.data, (entries.row, columns)), shape=shape), names=names
        )
        return Copied(own, np.tile(np.arange(count), len(used)), np.repeat(used, count))

    def unrolled(self, horizon: int) -> "RewardModel":
        """Return the model for `mdp.unrolled(horizon)`: the same parameters at every time."""
        horizon = whole_number(horizon, "horizon", 1, "It counts the actions of an episode.")
        return self.at(np.tile(np.arange(self.num_states), horizon))


class Copied(NamedTuple):
    """A reward model with several copies of the parameters of another, and whose copies they are.

    model: of all copies; sources `[D']`: which parameter of the other model each is a copy of; owners `[D']`: which
    copy it belongs to, as a number.
    """

    model: RewardModel
    sources: IntArray
    owners: IntArray


def _rows_of(states: IntArray, num_actions: int) -> IntArray:
    """Return the rows s * A + a of some states, all actions of each."""
    return np.asarray((states[:, None] * num_actions + np.arange(num_actions)).ravel())


class Size(NamedTuple):
    """The numbers num_states and num_actions, where there is no MDP at hand."""

    num_states: int
    num_actions: int


def PerState(mdp: "FiniteMDP | Size") -> RewardModel:
    """One unknown reward per state, paid whatever is done there.

    Examples
    --------
    >>> from journeyman import FiniteMDP
    >>> ring = FiniteMDP.from_function(
    ...     lambda state, action: [(1.0, (state + action) % 3)], num_states=3, num_actions=2, discount=0.5
    ... )
    >>> from journeyman import PerState
    >>> PerState(ring).num_parameters
    3
    """
    num_states, num_actions = _checked_size(mdp)
    return RewardModel(
        num_states, num_actions, sparse.eye_array(num_states, format="csr"), np.zeros(num_states), True, "per_state"
    )


def PerStateAction(mdp: "FiniteMDP | Size") -> RewardModel:
    """One unknown reward per state and action; parameter s * A + a is r(s, a).

    Examples
    --------
    >>> from journeyman import FiniteMDP
    >>> ring = FiniteMDP.from_function(
    ...     lambda state, action: [(1.0, (state + action) % 3)], num_states=3, num_actions=2, discount=0.5
    ... )
    >>> from journeyman import PerStateAction
    >>> PerStateAction(ring).reward([[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]]).tolist()
    [[[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]]
    """
    num_states, num_actions = _checked_size(mdp)
    size = num_states * num_actions
    return RewardModel(
        num_states, num_actions, sparse.eye_array(size, format="csr"), np.zeros(size), False, "per_state_action"
    )


def LinearFeatures(
    features: Any, mdp: "FiniteMDP | Size", *, offset: ArrayLike | None = None, names: tuple[str, ...] | None = None
) -> RewardModel:
    """Rewards linear in known features, plus a known offset.

    Parameters
    ----------
    features
        `[S, D]` (the same for all actions) or `[S, A, D]`; a scipy sparse matrix counts as `[S, D]`.
    offset
        Known part: `[S]` or `[S, A]`; default zero.
    names
        One per parameter; optional.

    Examples
    --------
    >>> from journeyman import FiniteMDP
    >>> ring = FiniteMDP.from_function(
    ...     lambda state, action: [(1.0, (state + action) % 3)], num_states=3, num_actions=2, discount=0.5
    ... )
    >>> from journeyman import LinearFeatures
    >>> model = LinearFeatures([[1.0], [0.0], [-1.0]], ring, names=("height",))
    >>> model.reward([[2.0]]).tolist()
    [[2.0, 0.0, -2.0]]
    """
    num_states, num_actions = _checked_size(mdp)
    matrix, shape = _packed_features(features, num_actions)
    if shape[0] != num_states:
        raise InputError(
            f"features must have one row for each of the {num_states} states, got {shape[0]}. Give one per state."
        )
    known = np.zeros(num_states) if offset is None else float_array(offset, "offset")
    if known.shape not in ((num_states,), (num_states, num_actions)):
        raise InputError(
            f"offset must have shape {(num_states,)} or {(num_states, num_actions)}, got {known.shape}. "
            "Give the known reward of each state, or of each state and action."
        )
    if not np.isfinite(known).all():
        where = tuple(np.argwhere(~np.isfinite(known))[0])
        raise InputError(f"offset must be finite, got {known[where]} at state {where[0]}. Give a number.")
    is_state_only = len(shape) == 2 and known.ndim == 1
    if not is_state_only:
        if len(shape) == 2:  # spread state features over actions
            matrix = sparse.csr_array(sparse.kron(matrix, np.ones((num_actions, 1)), format="csr"))
        known = (np.repeat(known, num_actions) if known.ndim == 1 else known).ravel()
    return RewardModel(
        num_states, num_actions, matrix, read_only(known), is_state_only, "features", _checked_names(names, shape[-1])
    )


def _checked_size(mdp: "FiniteMDP | Size") -> tuple[int, int]:
    if not (hasattr(mdp, "num_states") and hasattr(mdp, "num_actions")):
        raise InputError(
            f"a reward model must be made for an MDP, got {type(mdp).__name__}. Give the FiniteMDP: PerState(mdp)."
        )
    return (
        whole_number(mdp.num_states, "num_states of a reward model", 1),
        whole_number(mdp.num_actions, "num_actions of a reward model", 1),
    )


def _packed_features(features: Any, num_actions: int) -> tuple[Any, tuple[int, ...]]:
    """Return finite features as CSR `[S, D]` or `[S * A, D]`, and their shape as given."""
    is_sparse = sparse.issparse(features)
    array = features if is_sparse else float_array(features, "features")
    shape = tuple(array.shape)
    if len(shape) not in (2, 3) or (len(shape) == 3 and shape[1] != num_actions):
        raise InputError(
            f"features must have shape [S, D] or [S, {num_actions}, D], got {shape}. Give one vector per state, "
            "or per state and action."
        )
    if 0 in shape:
        raise InputError(
            f"features must cover at least one state and one parameter, got shape {shape}. Give at least one of each."
        )
    matrix = sparse.coo_array(array if is_sparse else array.reshape(-1, shape[-1]))
    entries = float_array(matrix.data, "features")
    if not np.isfinite(entries).all():
        i = int(np.argmax(~np.isfinite(entries)))
        state = int(matrix.row[i]) // (num_actions if len(shape) == 3 else 1)
        raise InputError(
            f"features must be finite, got {entries[i]} at state {state}, parameter {matrix.col[i]}. Give a number."
        )
    return sparse.csr_array((entries.copy(), (matrix.row, matrix.col)), shape=matrix.shape), shape


def _checked_names(names: Any, num_parameters: int) -> tuple[str, ...] | None:
    if names is None:
        return None
    if isinstance(names, str) or len(names) != num_parameters:
        raise InputError(f"names must have {num_parameters} entries, got {names!r}. Give one word per parameter.")
    return tuple(str(name) for name in names)
