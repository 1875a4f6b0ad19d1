"""FiniteMDP: known dynamics without a reward.

    Q(s, a) = r(s, a) + discount * sum over s' of p(s' | s, a) V(s'),   V(s) = max over available a of Q(s, a)

Transitions are sparse rows, one per (state, action). A row may sum to less
than 1: what is missing is the chance that the episode ends after this step.
With discount < 1 the matrix I - discount * P is then always invertible.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from journeyman.errors import InputError
from journeyman.mdp import validation
from journeyman.mdp.automata import Memory
from journeyman.mdp.edges import read_edges
from journeyman.mdp.grid import Grid
from journeyman.mdp.memory import Remembered, check_memory, unrolled, with_memory
from journeyman.mdp.names import Names
from journeyman.mdp.origin import Origin
from journeyman.mdp.rows import Rows, index_column, rows_from_dense, rows_from_function, rows_from_matrices
from journeyman.notebooks import html_of
from journeyman.types import AnyArray, BoolArray, FloatArray, IntArray, read_only


@dataclass(frozen=True, eq=False, kw_only=True)
class FiniteMDP:
    """A finite Markov decision process without its reward; immutable, checked on construction.

    Usually made by `from_dense`, `from_matrices`, `from_edges`, `from_function` or `from_gymnasium`.

    Parameters
    ----------
    rows
        Sparse transition rows; those of unavailable actions are ignored.
    discount
        In (0, 1).
    initial
        `[S]` distribution of the first state; default uniform.
    available
        `[S, A]` which actions exist; default all.
    terminal
        `[S]` which states are terminal cells: their reward is paid once and nobody chooses there. Default: the
        states where every available action has an empty row. Say False for a state whose action is a real choice
        with its own reward although the episode ends after it.
    missing_mass
        "error", or "terminates": rows may sum to less than 1, the rest ends the episode. Either way a sum within 1e-6
        of 1 is made 1, and an empty row ends the episode.
    termination
        `[S, A]` chance that the episode ends after this step, in addition to the rows; then sums must be 1.
    state_labels, action_labels
        Names, one each; optional.
    grid
        Where states lie on a grid, for drawing; optional.
    coordinates
        `[S, 2]` x and y of each state, y upwards, for drawing the states as a graph where there is no grid; optional.
    origin
        Where the transitions come from, if they are not simply known: certificates then say what that means.
    memory
        Which state of a world, and which state of a memory, each state is; set by `with_memory`.

    Examples
    --------
    >>> from journeyman import FiniteMDP
    >>> ring = FiniteMDP.from_function(
    ...     lambda state, action: [(1.0, (state + action) % 3)], num_states=3, num_actions=2, discount=0.5
    ... )
    >>> ring
    FiniteMDP(3 states, 2 actions, discount 0.5)
    >>> ring.num_states, ring.terminal.any().item()
    (3, False)
    """

    rows: Rows
    discount: float
    initial: FloatArray = None  # type: ignore[assignment]
    available: BoolArray = None  # type: ignore[assignment]
    terminal: BoolArray = None  # type: ignore[assignment]
    missing_mass: InitVar[str] = "error"
    termination: InitVar[ArrayLike | None] = None
    state_labels: tuple[str, ...] | None = None
    action_labels: tuple[str, ...] | None = None
    grid: Grid | None = None
    coordinates: FloatArray | None = None
    origin: Origin | None = None
    memory: Remembered | None = field(default=None, repr=False)

    def __post_init__(self, missing_mass: str, termination: ArrayLike | None) -> None:
        """Check everything once, and freeze the arrays."""
        rows = validation.checked_packing(self.rows)
        num_states, num_actions = rows.num_states, rows.num_actions
        labels = {
            "state_labels": validation.checked_labels(self.state_labels, num_states, "state_labels"),
            "action_labels": validation.checked_labels(self.action_labels, num_actions, "action_labels"),
        }
        self.__dict__.update(labels)  # so that the checks below can name states and actions
        available = validation.checked_available(self.available, num_states, num_actions, self.state_name)
        rows = validation.checked_rows(
            rows, available, missing_mass, termination, lambda s, a: (self.state_name(s), self.action_name(a))
        )
        is_ending = (np.diff(rows.indptr) == 0).reshape(num_states, num_actions).all(axis=1)
        checked = {
            "rows": rows,
            "discount": validation.checked_discount(self.discount),
            "initial": validation.checked_initial(self.initial, num_states),
            "available": available,
            "terminal": validation.checked_terminal(self.terminal, is_ending, self.state_name),
            "coordinates": validation.checked_coordinates(self.coordinates, num_states),
        }
        validation.check_grid(self.grid, num_states, num_actions)
        check_memory(self.memory, num_states)
        self.__dict__.update(checked)
        self._freeze()

    def _freeze(self) -> None:
        """Put read-only copies in the place of all arrays."""
        given = [
            name for name in ("initial", "available", "terminal", "coordinates") if getattr(self, name) is not None
        ]
        frozen: dict[str, Any] = {name: read_only(getattr(self, name)) for name in given}
        arrays = ("indptr", "next_states", "probabilities")
        frozen["rows"] = self.rows._replace(**{name: read_only(getattr(self.rows, name)) for name in arrays})
        self.__dict__.update(frozen)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name in self.__dataclass_fields__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._freeze()  # pickle forgets that arrays are read-only

    def __repr__(self) -> str:
        return f"FiniteMDP({self.num_states} states, {self.num_actions} actions, discount {self.discount:.4g})"

    def _repr_html_(self) -> str:
        return html_of(self)

    @classmethod
    def from_dense(cls, transitions: ArrayLike, *, layout: str, discount: float, **options: Any) -> "FiniteMDP":
        """Build from a dense array whose axes are named by `layout`: "SAS", "ASS" or "SSA"; options as in the class.

        Examples
        --------
        >>> import numpy as np
        >>> from journeyman import FiniteMDP
        >>> FiniteMDP.from_dense(np.full((2, 3, 2), 0.5), layout="SAS", discount=0.9)
        FiniteMDP(2 states, 3 actions, discount 0.9)
        """
        return cls(rows=rows_from_dense(transitions, layout), discount=discount, **options)

    @classmethod
    def from_matrices(cls, matrices: Sequence[Any], *, discount: float, **options: Any) -> "FiniteMDP":
        """Build from one `[S, S]` scipy sparse matrix per action; options as in the class.

        Examples
        --------
        >>> from scipy import sparse
        >>> from journeyman import FiniteMDP
        >>> stay, swap = sparse.eye(2), sparse.csr_array([[0.0, 1.0], [1.0, 0.0]])
        >>> FiniteMDP.from_matrices([stay, swap], discount=0.9)
        FiniteMDP(2 states, 2 actions, discount 0.9)
        """
        return cls(rows=rows_from_matrices(matrices), discount=discount, **options)

    @classmethod
    def from_edges(
        cls,
        edges: Any,
        *,
        discount: float,
        num_states: int | None = None,
        num_actions: int | None = None,
        **options: Any,
    ) -> "FiniteMDP":
        """Build from an edge table (path to CSV, TSV, JSON or Parquet, DataFrame, or mapping); options as in the class.

        Columns: state, action, next_state, probability. States and actions are named by label or by number from 0:
        labels are `state_labels` and `action_labels`, or, where these are not given and the table holds words, those of
        the table in the order in which they occur (column state first). A state without edges is terminal; an action
        that lacks edges where others have some needs a word: `available` says that it does not exist,
        `missing_mass="terminates"` that it ends the episode.

        Examples
        --------
        >>> from journeyman import FiniteMDP
        >>> edges = {
        ...     "state": ["home", "home"],
        ...     "action": ["walk", "wait"],
        ...     "next_state": ["shop", "home"],
        ...     "probability": [1.0, 1.0],
        ... }
        >>> mdp = FiniteMDP.from_edges(edges, discount=0.9)
        >>> mdp.state_labels, mdp.terminal.tolist()
        (('home', 'shop'), [False, True])
        """
        table = read_edges(
            edges, num_states, num_actions, options.pop("state_labels", None), options.pop("action_labels", None)
        )
        missing_mass = options.get("missing_mass", "error")
        if options.get("termination") is None and missing_mass in validation.MISSING_MASS_RULES:
            table.check_sums(missing_mass, options.get("available"))
            if options.get("available") is None and missing_mass == "error":
                table.check_no_action_is_left_out(
                    "available= if that action does not exist there, or missing_mass='terminates' if it ends the "
                    "episode"
                )
        options |= {"state_labels": table.state_labels, "action_labels": table.action_labels}
        return cls(rows=table.rows, discount=discount, **options)

    @classmethod
    def from_function(
        cls,
        transition_fn: Callable[[int, int], Iterable[tuple[float, int]]],
        *,
        num_states: int,
        num_actions: int,
        discount: float,
        **options: Any,
    ) -> "FiniteMDP":
        """Build from a function (state, action) -> [(probability, next state), ...]; options as in the class.

        Examples
        --------
        >>> from journeyman import FiniteMDP
        >>> ring = FiniteMDP.from_function(
        ...     lambda state, action: [(1.0, (state + action) % 3)], num_states=3, num_actions=2, discount=0.5
        ... )
        >>> ring.next_states(2, 1)[0].tolist()
        [0]
        """
        return cls(rows=rows_from_function(transition_fn, num_states, num_actions), discount=discount, **options)

    @classmethod
    def from_gymnasium(
        cls,
        env: Any,
        *,
        discount: float,
        env_options: Mapping[str, Any] | None = None,
        initial: ArrayLike | str | None = None,
        time_limit: str = "warn",
        **options: Any,
    ) -> "FiniteMDP":
        """Build from a Gymnasium environment with a table `unwrapped.P` (extra `gym`); options as in the class.

        States and actions keep their numbers, so that observations are states. A transition that is done ends the
        episode: a state that only such transitions enter becomes a terminal cell; where others enter it too, as in
        Taxi, the chance of being done is missing from the row. `journeyman.mdp.gymnasium_tables.read_tables` gives the
        environment's reward as well, r(s, a) in expectation.

        Parameters
        ----------
        env
            The environment, or its id, such as "FrozenLake-v1". It is compared with its table for 1000 steps, in a
            copy.
        env_options
            Of `gymnasium.make`, where `env` is an id: `{"map_name": "8x8"}`.
        initial
            `[S]` distribution of the first state, or "uniform"; default: the environment's `initial_state_distrib`.
        time_limit
            Gymnasium stops episodes after a number of steps that the table does not say. "warn": leave that out, and
            say so; "ignore": leave it out; "unroll": states are (t, s), see `unrolled`.
        """
        from journeyman.mdp.gymnasium_tables import read_tables

        tables = read_tables(env, env_options=env_options, initial=initial)
        return tables.mdp(discount=discount, time_limit=time_limit, **options)

    @classmethod
    def load(cls, path: str | Path) -> "FiniteMDP":
        """Read an MDP written by `save`."""
        from journeyman.mdp.arrays import load_mdp

        return load_mdp(path)

    def save(self, path: str | Path) -> None:
        """Write the MDP to one `.npz` file, whole or not at all."""
        from journeyman.mdp.arrays import save_mdp

        save_mdp(self, path)

    @property
    def num_states(self) -> int:
        """Number of states S."""
        return self.rows.num_states

    @property
    def num_actions(self) -> int:
        """Number of actions A."""
        return self.rows.num_actions

    @cached_property
    def max_row_sum(self) -> float:
        """Largest chance that an episode goes on after a step, in 0..1."""
        return min(1.0, float(validation.row_sums(self.rows).max()))

    @cached_property
    def transition_matrix(self) -> Any:
        """Transitions as a scipy CSR array `[S * A, S]`; row s * A + a holds p(. | s, a)."""
        from scipy import sparse

        entries = (self.rows.probabilities, self.rows.next_states, self.rows.indptr)
        return sparse.csr_array(entries, shape=(self.num_states * self.num_actions, self.num_states))

    def next_states(self, state: int, action: int) -> tuple[AnyArray, FloatArray]:
        """Return the next states of doing `action` in `state`, and their probabilities."""
        if not (0 <= state < self.num_states and 0 <= action < self.num_actions):
            raise InputError(
                f"state and action must lie in 0..{self.num_states - 1} and 0..{self.num_actions - 1}, "
                f"got {state} and {action}. Number them from 0."
            )
        row = state * self.num_actions + action
        part = slice(int(self.rows.indptr[row]), int(self.rows.indptr[row + 1]))
        return self.rows.next_states[part], self.rows.probabilities[part]

    def dense_transitions(self) -> FloatArray:
        """Return `[S, A, S]` transitions as one dense array: for small problems and tests."""
        return np.asarray(self.transition_matrix.toarray().reshape(self.num_states, self.num_actions, self.num_states))

    def unrolled(self, horizon: int) -> "FiniteMDP":
        """Return the MDP over (t, s) with t < horizon, numbered t * S + s: the episode ends after `horizon` steps.

        Examples
        --------
        >>> from journeyman import FiniteMDP
        >>> ring = FiniteMDP.from_function(
        ...     lambda state, action: [(1.0, (state + action) % 3)], num_states=3, num_actions=2, discount=0.5
        ... )
        >>> ring.unrolled(4).num_states
        12
        """
        return unrolled(self, horizon)

    def with_memory(self, automaton: Memory) -> "FiniteMDP":
        """Return the product with a memory: states are pairs of its states and those of the automaton.

        Where an episode begins in s keeps the number s; then comes what else can be reached. Labels say what is
        remembered: "home (thirsty)". The product knows its world, so that demonstrations of it are lifted by
        themselves, see `Problem.with_memory`. Automata are made by `journeyman.memory`.
        """
        return with_memory(self, automaton)

    def reachable(self, from_states: ArrayLike | None = None, within: int | None = None) -> BoolArray:
        """Return `[S]` which states can be reached from `from_states` (default: the initial ones) in `within` steps.

        Examples
        --------
        >>> from journeyman import FiniteMDP
        >>> ring = FiniteMDP.from_function(
        ...     lambda state, action: [(1.0, (state + action) % 3)], num_states=3, num_actions=2, discount=0.5
        ... )
        >>> ring.reachable([0], within=1).tolist()
        [True, True, False]
        """
        from journeyman.mdp.graph import reachable

        return reachable(self, from_states, within)

    def state_name(self, state: int) -> str:
        """Return the label of a state, or its number."""
        return self.state_labels[state] if self.state_labels else str(state)

    def action_name(self, action: int) -> str:
        """Return the label of an action, or its number."""
        return self.action_labels[action] if self.action_labels else str(action)

    @cached_property
    def state_names(self) -> Names:
        """What states may be called: by label or by number, or as in the world to which a memory was added."""
        world = None if self.memory is None else self.memory.world.state_names
        return Names("state", self.num_states, self.state_labels, world)

    @cached_property
    def action_names(self) -> Names:
        """What actions may be called: by label or by number."""
        return Names("action", self.num_actions, self.action_labels)

    def state_indices(self, states: ArrayLike) -> IntArray:
        """Return `states` as checked indices."""
        return index_column(states, "state", self.num_states)
