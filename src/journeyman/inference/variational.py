"""Variational inference: tabular AVRIL (Chan and van der Schaar 2021). Fast, and not exact: a baseline to compare with.

The posterior is approximated by independent Normals N(mean_i, std_i), one per reward parameter i, beside a table of
action values Q that is a mere point. Both are fitted together by maximising

    F = sum over (s, a) of n(s, a) log pi(a | s)                         likelihood of the data, at free action values Q
        - sum over i of KL(N(mean_i, std_i) || prior_i)                  rewards stay near the prior
        + sum over (s, a) of w(s, a) log N(delta(s, a); mean_i, std_i)   rewards are those that explain Q

with pi = softmax of beta Q, delta(s, a) = Q(s, a) - discount sum over s' of p(s' | s, a) V(s') and
V(s) = sum over a of pi(a | s) Q(s, a); i is the parameter that (s, a) pays. What is ours, and why:

- The expectation of Q(s', a') is over the known dynamics and, as in the publication, over the expert's next action. So
  single annotations will do, where the publication needs the next state and action of each.
- The publication sums the last term over demonstrated pairs. Its networks generalise to all others; a table does not.
  Then the value of an action that was never seen could go to minus infinity at no cost, every answer would be
  explained, and rewards would learn nothing. So the term covers every available action of every state that can be
  reached from a state with data. States out of reach, and all states when there are no data, keep the prior exactly.
- Each parameter counts once in KL, with weights w that sum to `td_weight` in the last term: the publication has the
  same ratio, with both inside its sum over data, and a weight of 1 in its program. The weight must be below 1 here:
  where the last term can be met exactly, as a table can, a weight of 1 or more is maximised by a std of 0.

What to expect: the std of a reward solves std^4 / s^2 - (1 - td_weight) std^2 = td_weight * gap^2, where s is that of
the prior and gap^2 the mean squared misfit of the last term. It does not fall with the amount of data: where Bellman's
equation is met it is s sqrt(1 - td_weight) after one answer and after a thousand. A larger weight makes better means
and narrower, overconfident intervals. Every posterior says so in its warnings.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from journeyman.checks import positive, share, whole_number
from journeyman.experts import Boltzmann
from journeyman.inference.diagnostics import Diagnostics
from journeyman.inference.posterior import Posterior
from journeyman.mdp import solve, solve_batch
from journeyman.problem import Problem
from journeyman.progress import progress_bar
from journeyman.rewards import Normal
from journeyman.types import FloatArray, IntArray

MEMORY = 20  # past steps that L-BFGS keeps
MAX_LINE_SEARCH = 50  # evaluations per iteration
APPROXIMATION = (
    "variational is an approximation: its standard deviations follow from its td_weight and from how well Bellman's "
    "equation is met, not from how much the demonstrations tell. Compare means only, or use 'smc' or 'policywalk'."
)


class Parts(NamedTuple):
    """A point x taken apart: action values `[S, A]` in units of reward, scaled means and log scaled stds `[D]`."""

    q: FloatArray
    mean: FloatArray
    log_std: FloatArray


@dataclass(frozen=True, eq=False)
class AvrilObjective:
    """The objective F of a problem and its data, as a function of a point x.

    Everything is in units of the prior: x holds Q / std_i, then (mean_i - prior mean) / prior std, then
    log(std_i / prior std).

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


class VariationalFit(NamedTuple):
    """Result of `fit_variational`.

    Means and standard deviations `[D]` of the Normals, action values `[S, A]` (minus infinity where an action does not
    exist), the objective at the start and after every iteration (never decreasing but for rounding), the largest
    absolute entry of its gradient in units of the prior, whether that is within the tolerance, and the number of
    evaluations.
    """

    mean: FloatArray
    std: FloatArray
    q: FloatArray
    objective: tuple[float, ...]
    gradient_size: float
    is_converged: bool
    num_evaluations: int


def refusal(problem: Problem) -> str | None:
    """Return why the method cannot do a problem, or None if it can."""
    model = problem.reward_model
    if model.kind not in ("per_state", "per_state_action") or model.offset.any():
        return (
            "variational needs one unknown reward per state or per state and action, without known parts, got "
            f"{'a known part' if model.kind.startswith('per_state') else 'features'}. "
            "Use 'smc', which takes every reward model."
        )
    if type(problem.prior) is not Normal:
        return (
            f"variational needs a Normal prior, independent over parameters, got {type(problem.prior).__name__}. "
            "Use 'smc', which takes every prior."
        )
    if type(problem.expert) is not Boltzmann:
        return f"variational needs a Boltzmann expert, got {type(problem.expert).__name__}. Use 'smc'."
    if not problem.expert.is_plain:
        return (
            "variational needs a Boltzmann expert with a known beta, no lapse and optimal values, got one of whom "
            f"{problem.expert.extras()}. Use 'smc'."
        )
    return None


def infer_variational(
    problem: Problem,
    counts: IntArray,
    *,
    seed: int = 0,
    num_threads: int | None = None,
    progress: bool | None = None,
    num_draws: int = 1000,
    td_weight: float = 0.5,
    max_iterations: int = 10_000,
    tolerance: float = 1e-4,
) -> Posterior:
    """Approximate the posterior by independent Normals, and draw from them; not exact, as the warnings say.

    Parameters
    ----------
    counts
        `[S, A]` demonstrated actions.
    num_draws
        Independent draws of the fitted Normals.
    td_weight
        How strongly rewards are tied to the action values, strictly between 0 and 1: with more, means learn more and
        standard deviations shrink, to sqrt(1 - td_weight) of the prior's where Bellman's equation is met.
    max_iterations, tolerance
        The fit ends when no entry of the gradient, in nats per prior standard deviation, is above `tolerance`, or after
        so many iterations, with a warning.

    Returns
    -------
    A Posterior of equally weighted draws, with their optimal values; it has no log evidence.
    """
    begin = time.perf_counter()
    num_draws = whole_number(num_draws, "num_draws", 1)
    with progress_bar("Fitting Normals", is_shown=progress) as report:
        fit = fit_variational(
            problem, counts, td_weight=td_weight, max_iterations=max_iterations, tolerance=tolerance, report=report
        )
    noise = np.random.default_rng(seed).standard_normal((num_draws, problem.reward_model.num_parameters))
    theta = fit.mean + fit.std * noise
    solution = solve_batch(problem.mdp, problem.reward_model.reward(theta), num_threads=num_threads)
    diagnostics = Diagnostics(
        seconds=time.perf_counter() - begin,
        num_gradients=fit.num_evaluations,
        particle_ess=float(num_draws),  # of the approximation: the draws are independent
        objective=fit.objective,
        is_converged=fit.is_converged,
        warnings=fit_warnings(fit, tolerance, max_iterations),
    )
    return Posterior(
        problem=problem,
        counts=counts,
        theta=theta,
        weights=np.full(num_draws, 1.0 / num_draws),
        values=solution.values,
        method="variational",
        diagnostics=diagnostics,
    )


def fit_warnings(fit: VariationalFit, tolerance: float, max_iterations: int) -> tuple[str, ...]:
    """Say that it is an approximation, always, and that it has not converged, where it has not."""
    if fit.is_converged:
        return (APPROXIMATION,)
    num_iterations = len(fit.objective) - 1
    is_cut_short = num_iterations >= max_iterations
    return (
        APPROXIMATION,
        f"the fit has not converged: after {num_iterations} iterations the largest entry of the gradient is "
        f"{fit.gradient_size:.2g}, above {tolerance:g}. "
        f"{'Raise max_iterations' if is_cut_short else 'Rounding allows no better: raise tolerance'}.",
    )


def fit_variational(
    problem: Problem,
    counts: IntArray,
    *,
    td_weight: float = 0.5,
    max_iterations: int = 10_000,
    tolerance: float = 1e-4,
    report: Callable[[float], None] | None = None,
) -> VariationalFit:
    """Maximise the objective with L-BFGS, from the prior; options as in `infer_variational`. Deterministic."""
    advice = "At 0 nothing is learned, and from 1 on standard deviations fall to 0. The default is 0.5."
    td_weight, tolerance = (
        share(td_weight, "td_weight", advice),
        positive(tolerance, "tolerance", "The default is 1e-4."),
    )
    max_iterations = whole_number(max_iterations, "max_iterations", 1, "The default is 10000.")
    objective = avril_objective(problem, counts, td_weight)
    start = start_point(objective, td_weight)
    trace = [objective(start)[0]]

    def note(intermediate_result: Any) -> None:
        trace.append(-float(intermediate_result.fun))
        if report is not None:
            report(len(trace) / max_iterations)

    def loss(x: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = objective(x)
        return -value, -gradient

    limits = {"maxiter": max_iterations, "maxfun": (MAX_LINE_SEARCH + 1) * max_iterations, "maxls": MAX_LINE_SEARCH}
    stops = {"gtol": tolerance, "ftol": 0.0, "maxcor": MEMORY}
    from scipy import optimize  # slow to import

    result = optimize.minimize(loss, start, jac=True, method="L-BFGS-B", callback=note, options=limits | stops)
    gradient_size = float(np.abs(result.jac).max())
    q, mean, log_std = objective.taken_apart(result.x)
    prior = problem.prior
    assert isinstance(prior, Normal)
    return VariationalFit(
        mean=prior.mean + prior.std * mean,
        std=prior.std * np.exp(log_std),
        q=np.where(problem.mdp.available, q, -np.inf),
        objective=tuple(trace),
        gradient_size=gradient_size,
        is_converged=gradient_size <= tolerance,
        num_evaluations=int(result.nfev) + 1,
    )


def start_point(objective: AvrilObjective, td_weight: float) -> FloatArray:
    """Return the prior's means with their optimal action values, and the standard deviations that suit them."""
    problem = objective.problem
    num_parameters = problem.reward_model.num_parameters
    q = solve(problem.mdp, problem.reward_model.reward(np.asarray(problem.prior.mean))).q  # type: ignore[attr-defined]
    is_tied = np.bincount(objective.owner, objective.td_weights.ravel(), num_parameters) > 0
    return objective.put_together(q, np.zeros(num_parameters), np.where(is_tied, 0.5 * np.log1p(-td_weight), 0.0))
