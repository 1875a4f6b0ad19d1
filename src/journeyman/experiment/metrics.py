"""Metrics: what is measured before the first answer and after each one.

A metric is a function of the learner and its world that gives some columns of the results. One of your own:

    METRICS.register("answers", Metric("how many answers count", ("num_answers",), lambda learner, world: [3.0]))
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from journeyman.errors import InputError
from journeyman.inference import posterior_entropy
from journeyman.inference.likelihood import expert_values, is_soft, log_likelihoods
from journeyman.learner import ActiveLearner
from journeyman.registry import Registry
from journeyman.worlds import World


@dataclass(frozen=True)
class Metric:
    """What a sweep measures after each answer.

    summary: what it says; columns: their names; measure_fn: the function that measures them. Columns hold numbers, NaN
    where one cannot be told, but for `truths`, which hold True and False.
    """

    summary: str
    columns: tuple[str, ...]
    measure_fn: Callable[[ActiveLearner, World], Sequence[float | bool]]
    truths: tuple[str, ...] = ()


def entropies(learner: ActiveLearner, _: World) -> tuple[float, ...]:
    """Return the entropy of the posterior by three estimates, NaN where one cannot be made."""
    return tuple(_entropy(learner, method) for method in ("evidence", "knn", "gaussian"))


def _entropy(learner: ActiveLearner, method: str) -> float:
    if method == "evidence" and learner.problem.prior.is_discrete:
        method = "shannon"  # exact, as the estimate from the evidence is up to sampling
    last = learner.history()[-1]
    if last.entropy is not None and last.entropy_method == method:
        return last.entropy
    try:
        return posterior_entropy(learner.posterior(), method).nats
    except InputError:  # no log evidence, or samples that span too few dimensions
        return np.nan


def truth_density(learner: ActiveLearner, world: World) -> tuple[float]:
    """Return log p(theta_true | D), NaN where the method gives no log evidence; of the expert's parameters too."""
    posterior, problem = learner.posterior(), learner.problem
    if posterior.log_evidence is None:
        return (np.nan,)
    rewards, values, own = world.reward[None], world.expert.values[None], world.expert_parameters[None]
    if is_soft(problem):
        values = expert_values(problem, rewards, own, num_threads=1)
    log_likelihood = float(log_likelihoods(problem, posterior.answers, rewards, values, own)[0])
    log_prior = float(problem.prior.log_density(world.true_parameters[None])[0])
    log_prior += float(problem.expert_space.log_density(own)[0])
    return (log_likelihood + log_prior - posterior.log_evidence,)


def true_regret(learner: ActiveLearner, world: World) -> tuple[float]:
    """Return what the apprentice loses under the true reward, from the initial states."""
    return (world.regret(learner.apprentice()),)


def believed_regret(learner: ActiveLearner, _: World) -> tuple[float, float]:
    """Return the posterior mean of the apprentice's regret, and the chance that it is epsilon or more."""
    last = learner.history()[-1]
    assert last.expected_regret is not None and last.failure_chance is not None  # a step that was not replayed
    return last.expected_regret, last.failure_chance


def certificate(learner: ActiveLearner, _: World) -> tuple[float, bool]:
    """Return the upper bound on the chance of failure, on samples that did not choose the policy, and the verdict."""
    found = learner.certificate()
    return found.upper_bound, found.holds


BUILT_IN = {
    "entropy": Metric(
        "entropy of the posterior by three estimates",
        ("entropy_evidence", "entropy_knn", "entropy_gaussian"),
        entropies,
    ),
    "truth": Metric("log posterior density of the true reward", ("log_posterior_truth",), truth_density),
    "true_regret": Metric("regret of the apprentice under the true reward", ("true_regret",), true_regret),
    "believed_regret": Metric(
        "regret of the apprentice as the posterior sees it", ("expected_regret", "failure_chance"), believed_regret
    ),
    "certificate": Metric(
        "whether the learner may stop",
        ("certificate_bound", "certificate_holds"),
        certificate,
        truths=("certificate_holds",),
    ),
}
METRICS: Registry[Metric] = Registry("a metric", "journeyman.metrics", Metric, BUILT_IN)


def columns_of(names: Iterable[str]) -> tuple[str, ...]:
    """Return the columns of the metrics `names`."""
    return tuple(column for name in names for column in METRICS[name].columns)


def measure(learner: ActiveLearner, world: World, names: Sequence[str]) -> Mapping[str, Any]:
    """Return the columns of the metrics `names`."""
    values: dict[str, Any] = {}
    for name in names:
        metric = METRICS[name]
        values |= dict(zip(metric.columns, metric.measure_fn(learner, world), strict=True))
    return values
