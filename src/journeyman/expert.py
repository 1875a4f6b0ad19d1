"""The Boltzmann-rational expert: pi(a | s) = exp(beta Q*(s, a)) / sum over available b of exp(beta Q*(s, b))."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from journeyman.checks import real_number, whole_number
from journeyman.demonstrations import Demonstration, action_counts
from journeyman.errors import InputError
from journeyman.mdp import FiniteMDP, simulate, solve
from journeyman.mdp.episodes import draw_action, single_state
from journeyman.types import AnyArray, FloatArray

KINDS = ("state", "trajectory")
MAX_RELATIVE_ERROR = 1e-6  # of the values that an expert may act on


def boltzmann_log_policy(q: AnyArray, beta: float) -> FloatArray:
    """Return log pi `[..., A]` for action values `[..., A]`, minus infinity marking actions that do not exist.

    Exact for any size of beta * q; beta = 0 is uniform over the actions that exist.
    """
    gap = q - q.max(axis=-1, keepdims=True)
    with np.errstate(over="ignore"):  # a product beyond all numbers is a chance of 0
        scaled = np.where(np.isneginf(q), -np.inf, beta * np.where(np.isneginf(q), 0.0, gap))
    return np.asarray(scaled - np.log(np.exp(scaled).sum(axis=-1, keepdims=True)))


@dataclass(frozen=True, eq=False)
class BoltzmannExpert:
    """An expert that acts on known optimal values, better actions more often.

    Parameters
    ----------
    mdp
        The dynamics it lives in.
    reward
        Its true reward, `[S]` or `[S, A]`.
    beta
        Rationality: 0 is uniformly random, large is nearly optimal.
    """

    mdp: FiniteMDP
    reward: FloatArray
    beta: float

    def __post_init__(self) -> None:
        """Solve for the optimal values once."""
        beta = real_number(self.beta, "beta")
        if not (beta >= 0 and np.isfinite(beta)):
            raise InputError(f"beta must be finite and at least 0, got {beta}. 0 is random, large nearly optimal.")
        solution = solve(self.mdp, self.reward)
        if not solution.error_bound <= MAX_RELATIVE_ERROR * (1.0 + np.abs(solution.values).max()):
            raise InputError(
                f"the expert's values must be known within {MAX_RELATIVE_ERROR:g} of their size, "
                f"got a bound of {solution.error_bound:.3g}. Use a discount further from 1."
            )
        log_policy = boltzmann_log_policy(solution.q, beta)
        object.__setattr__(self, "beta", beta)
        for name, value in (
            ("reward", solution.rewards),
            ("q", solution.q),
            ("values", solution.values),
            ("log_policy", log_policy),
            ("policy", np.exp(log_policy)),
        ):
            value.setflags(write=False)
            object.__setattr__(self, name, value)

    q: FloatArray = field(init=False)
    values: FloatArray = field(init=False)
    log_policy: FloatArray = field(init=False)
    policy: FloatArray = field(init=False)

    def demonstrate(
        self,
        state: int,
        *,
        kind: str = "state",
        length: int | None = None,
        seed: int = 0,
        visit: int = 0,
        query_id: int | None = None,
    ) -> Demonstration:
        """Answer one query.

        The noise is keyed by (seed, state, visit): the n-th answer at a state is the same whoever asks and whatever
        else was asked, so that methods compared on one instance meet the same expert.

        Parameters
        ----------
        kind
            "state": one action; "trajectory": up to `length` actions, ended early by a terminal state.
        visit
            How often this state was asked before.
        """
        start = single_state(self.mdp, state)
        if kind not in KINDS:
            raise InputError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}. Leave it out for 'state'.")
        key = (start, whole_number(visit, "visit", 0))
        rng = np.random.default_rng(np.random.SeedSequence(whole_number(seed, "seed", 0), spawn_key=key))
        if kind == "state":
            return Demonstration.annotation(start, draw_action(rng, self.policy[start]), query_id=query_id)
        length = whole_number(length, "the length of a trajectory query", 1, "Say length=.")
        episode = simulate(rng, self.mdp, self.policy, start, max_steps=length)
        ended = "terminated" if episode.is_terminated else "truncated"
        return Demonstration(start, episode.steps, episode.final_state, ended, query_id)

    def answers(
        self, states: ArrayLike, *, kind: str = "state", length: int | None = None, seed: int = 0
    ) -> tuple[Demonstration, ...]:
        """Answer queries at these states in order, counting the visits of each."""
        visits: Counter[int] = Counter()
        demonstrations = []
        for state in self.mdp.state_indices(states).tolist():
            demonstrations.append(self.demonstrate(state, kind=kind, length=length, seed=seed, visit=visits[state]))
            visits[state] += 1
        return tuple(demonstrations)

    def log_likelihood(self, demonstrations: Iterable[Demonstration] | Demonstration) -> float:
        """Return the log probability of the demonstrated actions; transitions cancel and are left out."""
        counts = action_counts(demonstrations, self.mdp.num_states, self.mdp.num_actions)
        used = counts > 0
        return float((counts[used] * self.log_policy[used]).sum())
