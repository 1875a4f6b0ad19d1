"""Variational inference: tabular AVRIL (Chan and van der Schaar 2021). Fast, and not exact: a baseline to compare with.

The posterior is approximated by independent Normals q, one per reward parameter, next to a table of action values Q
that is a mere point. Both are fitted together by maximising

    sum over data of log softmax(beta Q)(s, a)  -  KL(q || prior)  +  td_weight * log q(Q(s, a) - discount E[Q(s', a')])

(equation and gradient in `avril_objective`). What is ours, and why:

- The expectation of Q(s', a') is over the known dynamics and, as in the publication, over the expert's next action
  a' ~ softmax(beta Q). So single annotations will do, where the publication needs the next state and action of each.
- The publication sums the last term over demonstrated pairs. Its networks generalise to all others; a table does not.
  Then the value of an action that was never seen could go to minus infinity at no cost, every answer would be
  explained, and rewards would learn nothing. So the term covers every available action of every state that can be
  reached from a state with data. States out of reach, and all states when there are no data, keep the prior exactly.
- Each parameter counts once in KL, with a total of `td_weight` in the last term: the publication has the same ratio,
  with both inside its sum over data, and a weight of 1 in its program. The weight must be below 1 here: where the
  last term can be met exactly, as a table can, a weight of 1 or more is maximised by a standard deviation of 0.

What to expect: the standard deviation of a reward solves std^4 / s^2 - (1 - td_weight) std^2 = td_weight * gap^2, where
s is that of the prior and gap^2 the mean squared misfit of the last term. It does not fall with the amount of data:
where Bellman's equation is met it is s sqrt(1 - td_weight) after one answer and after a thousand. A larger weight makes
better means and narrower, overconfident intervals. Every posterior says so in its warnings.
"""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from journeyman.checks import real_number, whole_number
from journeyman.errors import InputError
from journeyman.experts import Boltzmann
from journeyman.inference.avril_objective import AvrilObjective, avril_objective
from journeyman.inference.diagnostics import Diagnostics
from journeyman.inference.posterior import Posterior
from journeyman.inference.progress import progress_bar
from journeyman.mdp import solve, solve_batch
from journeyman.problem import Problem
from journeyman.rewards import Normal
from journeyman.types import FloatArray, IntArray

MEMORY = 20  # past steps that L-BFGS keeps
MAX_LINE_SEARCH = 50  # evaluations per iteration
APPROXIMATION = (
    "variational is an approximation: its standard deviations follow from its td_weight and from how well Bellman's "
    "equation is met, not from how much the demonstrations tell. Compare means only, or use 'smc' or 'policywalk'."
)


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
            f"{'features' if model.kind == 'features' else 'a known part'}. Use 'smc', which takes every reward model."
        )
    if type(problem.prior) is not Normal:
        return (
            f"variational needs a Normal prior, independent over parameters, got {type(problem.prior).__name__}. "
            "Use 'smc', which takes every prior."
        )
    if type(problem.expert) is not Boltzmann:
        return f"variational needs a Boltzmann expert, got {type(problem.expert).__name__}. Use 'smc'."
    return None


def infer_variational(
    problem: Problem,
    counts: IntArray,
    *,
    seed: int = 0,
    num_threads: int | None = None,
    progress: bool = False,
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
    td_weight, tolerance = real_number(td_weight, "td_weight"), real_number(tolerance, "tolerance")
    if not 0.0 < td_weight < 1.0:
        raise InputError(
            f"td_weight must lie strictly between 0 and 1, got {td_weight}. "
            "At 0 nothing is learned, and from 1 on standard deviations fall to 0."
        )
    if not 0.0 < tolerance < np.inf:
        raise InputError(f"tolerance must be positive and finite, got {tolerance}. The default is 1e-4.")
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
