"""Contradictions: answers in one state that the model calls nearly impossible together.

An expert who is nearly always right may still do left and right 15 times each, if both are worth the same. A sample of
the posterior then says so, and nothing looks odd. What is odd is that they should be worth the same: before any answer,
how likely was it that the second most frequent action is given so often, of so many answers in that state? That chance,
under rewards drawn from the prior, times the number of states with two answers or more, is the *chance* of a
contradiction. It is bounded, for n answers of which the second comes k times, by the sum over pairs of actions of
min(P[N(a) >= k], P[N(b) >= k]). Actions that the model cannot tell apart under any of these rewards count as one.

The chance is one of a fixed number of answers in each state. Asking again where answers disagree makes it too small by
as much as the asking depends on them.
"""

from typing import NamedTuple

import numpy as np
from scipy.stats import binom

from journeyman.criticism.policies import log_policies
from journeyman.inference import smc
from journeyman.problem import Problem
from journeyman.types import AnyArray, BoolArray, FloatArray, IntArray

DRAWS_PER_STATE = 200  # rewards of the prior for each state looked at: so rare is what can be told
MIN_DRAWS, MAX_DRAWS = 1000, 8000
MAX_ENTRIES = 20_000_000  # rewards times states held at once
ALIKE = 1e-9  # nats


class Contradiction(NamedTuple):
    """Answers that do not go together.

    state: its number; name: of the state; counts: how often each action was given, as (name, number), the most frequent
    first; chance: of the second most frequent coming so often in any of the states looked at, before any answer.
    """

    state: int
    name: str
    counts: tuple[tuple[str, int], ...]
    chance: float

    def __str__(self) -> str:
        """Say it in words."""
        given = " and ".join(f"{name} {number} times" for name, number in self.counts[:2])
        return f"in state {self.name} the answers are {given}, which the model calls nearly impossible together"


def contradictions_in(
    problem: Problem, counts: AnyArray, *, level: float, seed: int = 0, num_threads: int | None = None
) -> tuple[Contradiction, ...]:
    """Return contradictions with a chance of at most `level` among answers `[S, A]`, the least likely first."""
    candidates = np.flatnonzero((counts.sum(axis=1) >= 2) & ((counts > 0).sum(axis=1) >= 2))
    num_looked_at = int((counts.sum(axis=1) >= 2).sum())
    if not len(candidates):
        return ()
    num_draws = min(max(DRAWS_PER_STATE * num_looked_at, MIN_DRAWS), MAX_DRAWS)
    num_draws = max(100, min(num_draws, MAX_ENTRIES // problem.mdp.num_states))
    particles = smc.start(problem, seed=seed, num_threads=num_threads, num_particles=num_draws)
    prior = smc.posterior_of(particles)
    rarest = 0.0 if problem.prior.is_discrete else 1.0 / prior.num_samples  # that can be told; atoms are exact
    found = []
    for state in candidates.tolist():
        log_policy = log_policies(prior, np.array([state]))[:, 0]
        groups = alike_actions(log_policy, problem.mdp.available[state])
        answers = np.bincount(groups, weights=counts[state]).astype(np.int64)
        second = int(np.sort(answers)[-2]) if len(answers) > 1 else 0
        if second == 0:
            continue
        merged = np.stack([np.exp(log_policy[:, groups == group]).sum(axis=1) for group in range(len(answers))], axis=1)
        once = float(prior.weights @ chance_of_second(merged, int(answers.sum()), second))
        chance = num_looked_at * max(once, rarest)
        if chance <= level:
            found.append(Contradiction(state, problem.mdp.state_name(state), _named(problem, counts[state]), chance))
    return tuple(sorted(found, key=lambda item: item.chance))


def alike_actions(log_policy: FloatArray, available: BoolArray) -> IntArray:
    """Return groups `[A]`, numbered from 0, of actions that have the same chance in all of log policies `[M, A]`.

    Actions that do not exist are a group of their own.
    """
    groups = np.full(len(available), -1)
    for action in range(len(available)):
        for other in range(action):
            is_same = bool(available[action]) == bool(available[other])
            if is_same and (
                not available[action] or np.abs(log_policy[:, action] - log_policy[:, other]).max() <= ALIKE
            ):
                groups[action] = groups[other]
                break
        else:
            groups[action] = groups.max() + 1
    return groups


def chance_of_second(policy: FloatArray, size: int, second: int) -> FloatArray:
    """Return a bound `[M]` on the chance that, of `size` answers by policies `[M, A]`, two come `second` times each."""
    tails = binom.sf(second - 1, size, np.minimum(policy, 1.0))
    total = np.zeros(len(policy))
    for action in range(policy.shape[1]):
        for other in range(action):
            total += np.minimum(tails[:, action], tails[:, other])
    return np.minimum(total, 1.0)


def _named(problem: Problem, counts: AnyArray) -> tuple[tuple[str, int], ...]:
    order = np.argsort(-counts, kind="stable")
    return tuple((problem.mdp.action_name(int(a)), int(counts[a])) for a in order if counts[a] > 0)
