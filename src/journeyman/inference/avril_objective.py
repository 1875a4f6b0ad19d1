"""The objective of tabular AVRIL and its gradient, as plain sums over arrays.

    F = sum over (s, a) of n(s, a) log pi(a | s)                         likelihood of the data, at free action values Q
        - sum over i of KL(N(mean_i, std_i) || prior_i)                  rewards stay near the prior
        + sum over (s, a) of w(s, a) log N(delta(s, a); mean_i, std_i)   rewards are those that explain Q

with pi = softmax of beta Q, delta(s, a) = Q(s, a) - discount sum over s' of p(s' | s, a) V(s') and
V(s) = sum over a of pi(a | s) Q(s, a); i is the parameter that (s, a) pays. Everything is in units of the prior: a
point x holds Q / std_i, then (mean_i - prior mean) / prior std, then log(std_i / prior std).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from journeyman.experts import Boltzmann
from journeyman.problem import Problem
from journeyman.rewards import Normal
from journeyman.types import FloatArray, IntArray


class Parts(NamedTuple):
    """A point x taken apart: action values `[S, A]` in units of reward, scaled means and log scaled stds `[D]`."""

    q: FloatArray
    mean: FloatArray
    log_std: FloatArray


@dataclass(frozen=True, eq=False)
class AvrilObjective:
    """What the objective needs of a problem and its data.

    Parameters
    ----------
    counts
        `[S, A]` demonstrated actions.
    td_weights
        `[S, A]` weight w of each temporal-difference term; 0 where there is none.
    owner
        `[S * A]` parameter that each pair pays.
    transitions
        Sparse `[S * A, S]`.
    """

    problem: Problem
    counts: IntArray
    td_weights: FloatArray
    owner: IntArray
    transitions: Any

    @property
    def num_pairs(self) -> int:
        """Number of (state, action) pairs."""
        return self.counts.size

    @property
    def dimension(self) -> int:
        """Length of a point x."""
        return self.num_pairs + 2 * self.problem.reward_model.num_parameters

    def taken_apart(self, x: FloatArray) -> Parts:
        """Return the parts of a point."""
        num_parameters = self.problem.reward_model.num_parameters
        q, mean, log_std = np.split(x, [self.num_pairs, self.num_pairs + num_parameters])
        return Parts((q * self._pair_std).reshape(self.counts.shape), mean, log_std)

    def put_together(self, q: FloatArray, mean: FloatArray, log_std: FloatArray) -> FloatArray:
        """Return the point with these parts; what does not exist (minus infinity) becomes 0."""
        return np.concatenate([np.where(np.isfinite(q), q, 0.0).ravel() / self._pair_std, mean, log_std])

    @property
    def _prior(self) -> Normal:
        assert isinstance(self.problem.prior, Normal)
        return self.problem.prior

    @cached_property
    def _pair_std(self) -> FloatArray:
        return np.asarray(self._prior.std)[self.owner]

    def __call__(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Return F and its gradient in x."""
        mdp, beta = self.problem.mdp, self.problem.beta
        q, mean, log_std = self.taken_apart(x)
        log_policy = Boltzmann(beta).log_policy(np.where(mdp.available, q, -np.inf))
        policy = np.exp(log_policy)
        values = (policy * q).sum(axis=1)

        weights, owner, num_parameters = self.td_weights.ravel(), self.owner, len(mean)
        delta = q.ravel() - mdp.discount * (self.transitions @ values)
        gap = (delta - np.asarray(self._prior.mean)[owner]) / self._pair_std - mean[owner]
        precision = np.exp(-2.0 * log_std)[owner]
        pull = weights * gap * precision  # minus the slope of the temporal-difference terms in delta, scaled

        used = self.counts > 0
        likelihood = float((self.counts[used] * log_policy[used]).sum())
        divergence = 0.5 * float((np.exp(2.0 * log_std) + mean**2 - 1.0).sum() - 2.0 * log_std.sum())
        constant = 0.5 * np.log(2.0 * np.pi) + np.log(self._pair_std)
        temporal = float((weights * (-constant - log_std[owner] - 0.5 * gap**2 * precision)).sum())

        reward_pull = pull / self._pair_std
        slope_values = mdp.discount * (self.transitions.T @ reward_pull)
        slope_q = beta * (self.counts - self.counts.sum(axis=1, keepdims=True) * policy)
        slope_q -= reward_pull.reshape(q.shape)
        slope_q += slope_values[:, None] * policy * (1.0 + beta * (q - values[:, None]))
        slope_mean = np.bincount(owner, pull, num_parameters) - mean
        slope_log_std = 1.0 - np.exp(2.0 * log_std)
        slope_log_std += np.bincount(owner, pull * gap - weights, num_parameters)
        gradient = np.concatenate([slope_q.ravel() * self._pair_std, slope_mean, slope_log_std])
        return likelihood - divergence + temporal, gradient


def avril_objective(problem: Problem, counts: IntArray, td_weight: float) -> AvrilObjective:
    """Return the objective: temporal-difference terms wherever the data can lead.

    They cover all available actions of all states that can be reached from a state with data, because a value that no
    term ties down would explain any data at no cost. Each parameter's terms weigh `td_weight` together.
    """
    mdp, model = problem.mdp, problem.reward_model
    transitions = mdp.transition_matrix
    pairs = np.arange(mdp.num_states * mdp.num_actions)
    owner = pairs // mdp.num_actions if model.is_state_only else pairs
    is_tied = mdp.available & mdp.reachable(np.flatnonzero(counts.any(axis=1)))[:, None]
    num_terms = np.bincount(owner[is_tied.ravel()], minlength=model.num_parameters)
    td_weights = np.where(is_tied.ravel(), td_weight / np.maximum(num_terms[owner], 1), 0.0)
    return AvrilObjective(problem, counts, td_weights.reshape(mdp.available.shape), owner, transitions)
