"""Memory: experts who act on what happened before, as products of a problem with a small automaton.

An automaton watches the steps, m' = f(m, s, a). Its state m and the state s of the world together are the states of
another problem, numbered m * S + s, to which every algorithm applies unchanged: there the reward, and so what the
expert does, may depend on m. Demonstrations are lifted to it, from the same start of the automaton.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import block_diag

from journeyman.demonstrations import Demonstration, as_demonstrations
from journeyman.errors import InputError, UnsupportedError
from journeyman.mdp import FiniteMDP
from journeyman.mdp.graph import copies_below
from journeyman.mdp.origin import check_simply_known
from journeyman.mdp.rows import Rows
from journeyman.problem import Problem
from journeyman.rewards import MultivariateNormal, Normal, Prior, RewardModel, Uniform
from journeyman.types import IntArray, read_only


@dataclass(frozen=True, eq=False)
class Memory:
    """An automaton with a few states that is moved by what the expert meets and does.

    Parameters
    ----------
    name
        What it remembers, in words.
    following
        `[M, S, A]` its state after doing a in s, if it was m.
    labels
        One word per state of the automaton.
    initial
        Its state when a demonstration begins.
    """

    name: str
    following: IntArray
    labels: tuple[str, ...]
    initial: int = 0

    def __post_init__(self) -> None:
        """Check the table, once."""
        table = np.array(self.following)
        size = len(self.labels)
        if table.ndim != 3 or table.shape[0] != size or table.dtype.kind not in "iu":
            raise InputError(
                f"following must be whole numbers [{size}, S, A], one block for each of {', '.join(self.labels)}, got "
                f"{table.dtype} of shape {table.shape}. Give the next state of the automaton for each m, s and a."
            )
        if size == 0 or table.min() < 0 or table.max() >= size or not 0 <= self.initial < size:
            raise InputError(
                f"states of a memory must lie in 0..{size - 1}, got {table.min()} to {table.max()} and initial "
                f"{self.initial}. Give one label for each state."
            )
        object.__setattr__(self, "following", read_only(table.astype(np.int64)))

    def product(self, problem: Problem) -> Problem:
        """Return the problem over (m, s): each m has reward parameters of its own, with the same prior."""
        num_memory, num_states, num_actions = self.following.shape
        mdp, model = problem.mdp, problem.reward_model
        if (num_states, num_actions) != (mdp.num_states, mdp.num_actions):
            raise InputError(
                f"a memory must be made for {mdp.num_states} states and {mdp.num_actions} actions, got "
                f"{num_states} and {num_actions}. Make it for this problem."
            )
        check_simply_known(mdp, "a memory")
        labels = [f"{mdp.state_name(s)} ({label})" for label in self.labels for s in range(num_states)]
        at_start = np.arange(num_memory) == self.initial
        product = FiniteMDP(
            rows=self._rows(mdp.rows),
            discount=mdp.discount,
            initial=np.kron(at_start, mdp.initial),
            available=np.tile(mdp.available, (num_memory, 1)),
            terminal=np.tile(mdp.terminal, num_memory),
            state_labels=tuple(labels),
            action_labels=mdp.action_labels,
            coordinates=None if mdp.coordinates is None else copies_below(mdp.coordinates, num_memory),
        )
        names = None
        if model.kind == "features":
            own = [model.parameter_name(i) for i in range(model.num_parameters)]
            names = tuple(f"{name} ({label})" for label in self.labels for name in own)
        rewards = RewardModel(
            num_states=product.num_states,
            num_actions=num_actions,
            features=sparse.csr_array(sparse.block_diag([model.features] * num_memory, format="csr")),
            offset=np.tile(model.offset, num_memory),
            is_state_only=model.is_state_only,
            kind=model.kind,
            names=names,
        )
        prior = repeated_prior(problem.prior, num_memory)
        return Problem(product, rewards, prior, problem.expert, np.tile(problem.queryable, num_memory))

    def _rows(self, rows: Rows) -> Rows:
        """Return the transition rows of the product: the same chances, in the block of the next memory."""
        num_memory, num_states, num_actions = self.following.shape
        sizes = np.diff(rows.indptr)
        nexts = [rows.next_states + np.repeat(block.ravel(), sizes) * num_states for block in self.following]
        return Rows(
            num_states=num_memory * num_states,
            num_actions=num_actions,
            indptr=np.concatenate([[0], np.cumsum(np.tile(sizes, num_memory))]),
            next_states=np.concatenate(nexts),
            probabilities=np.tile(rows.probabilities, num_memory),
            is_checked=rows.is_checked,
        )

    def lift(self, demonstrations: Iterable[Demonstration] | Demonstration) -> tuple[Demonstration, ...]:
        """Return demonstrations of the product: the same steps, each with what was remembered."""
        return tuple(self._lifted(item) for item in as_demonstrations(demonstrations))

    def _lifted(self, item: Demonstration) -> Demonstration:
        num_states, memory, steps = self.following.shape[1], self.initial, []
        for state, action in item.steps:
            steps.append((memory * num_states + state, action))
            memory = int(self.following[memory, state, action])
        final = None if item.final_state is None else memory * num_states + item.final_state
        start = self.initial * num_states + item.start_state
        return replace(item, start_state=start, steps=tuple(steps), final_state=final)


def visited(mdp: FiniteMDP, state: int, until: int | None = None) -> Memory:
    """Return the memory of having been in a state, since the start or since another state was met last."""
    places = [int(mdp.state_indices([place])[0]) for place in (state, *(() if until is None else (until,)))]
    following = np.repeat(np.arange(2), mdp.num_states * mdp.num_actions).reshape(2, mdp.num_states, mdp.num_actions)
    following[:, places[0]] = 1
    where = mdp.state_name(places[0])
    name = f"has visited {where}"
    if until is not None:
        if places[0] == places[1]:
            raise InputError(
                f"a memory must be undone in another state than it is made in, got {where} for both. Choose another."
            )
        following[:, places[1]] = 0
        name += f" since {mdp.state_name(places[1])}"
    return Memory(name, following, (f"before {where}", f"after {where}"))


def last_action(mdp: FiniteMDP) -> Memory:
    """Return the memory of the action before this one; none at the start."""
    shape = (mdp.num_actions + 1, mdp.num_states, mdp.num_actions)
    following = np.broadcast_to(1 + np.arange(mdp.num_actions), shape)
    labels = ("first", *(f"after {mdp.action_name(a)}" for a in range(mdp.num_actions)))
    return Memory("last action", following, labels)


def repeated_prior(prior: Prior, times: int) -> Prior:
    """Return the prior of several independent copies of the parameters, one after the other."""
    if isinstance(prior, Normal):
        return Normal(prior.num_parameters * times, np.tile(prior.mean, times), np.tile(prior.std, times))
    if isinstance(prior, Uniform):
        return Uniform(prior.num_parameters * times, np.tile(prior.low, times), np.tile(prior.high, times))
    if isinstance(prior, MultivariateNormal):
        covariance: Any = block_diag(*[prior.covariance] * times)
        return MultivariateNormal(np.tile(prior.mean, times), covariance)
    raise UnsupportedError(
        f"a memory needs a Normal, Uniform or MultivariateNormal prior, got {type(prior).__name__}. Use one of these."
    )
