"""Surprise: how improbable the answers are under the samples of a posterior, beside what else they might be.

A needle is a part of the prior so small that no sample lies in it, and that explains the answers so much better that
the posterior is there. It leaves a trace: under all samples the answers are very improbable. Two numbers say how much.

*z*, for people. Under a sample, L = sum of n(s, a) log pi(a | s) has, over replicated answers in the same states,

    mean  -sum over s of n(s) H(pi(. | s)),   variance  sum over s of n(s) Var_a[log pi(a | s)],

and z = (L - mean) / sd. It is no test: with an expert that rarely errs, one error in 20 answers has z near -5 and a
chance of several percent; and where all actions are alike z is 0, whatever the answers.

*log_gain*, which decides. Rivals that take every policy for what it may be: an expert with the rationality of the
sample times 0, 1/2 or 2 (its policy to that power), and one with a policy of its own in each state, from a Dirichlet
prior (1/2 for each action). The gain is the average of their likelihoods over that of the sample. Under the sample its
mean is one, so that it exceeds g with a chance of at most 1 / g, for any policies and any way of asking (an e-value,
Vovk and Wang 2021). The same holds for a truth from the prior and a sample of its posterior: half of the
samples have a gain of g in at most 2 / g of all data sets. And a needle must have a gain: what explains answers far
better than a sample does is mostly found by the rivals too.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, logsumexp

from journeyman.inference.likelihood import action_values, log_policies, no_parameters
from journeyman.inference.weights import spread_draws
from journeyman.problem import Problem
from journeyman.types import AnyArray, FloatArray

NUM_DRAWS = 256  # samples that are looked at
RIVAL_POWERS = (0.0, 0.5, 2.0)  # of the policy: less and more rational experts
DIRICHLET = 0.5
LARGEST_LOG = 1e12  # chances below e to minus this count as it
VERY_SURPRISING = 5.0  # log gain: by chance in at most 2 e^-5 = 1.35 % of all data sets


@dataclass(frozen=True)
class Surprise:
    """How improbable answers are under a posterior: medians over its samples.

    Parameters
    ----------
    num_answers
        Answers that were looked at.
    z
        Log likelihood, standardised by what replicated answers would have; minus infinity if they could not differ.
    log_gain
        Log of how many times better the rivals explain the answers.
    """

    num_answers: int
    z: float
    log_gain: float

    @property
    def is_large(self) -> bool:
        """Whether rivals explain the answers far better than most samples do."""
        return self.log_gain > VERY_SURPRISING

    def __str__(self) -> str:
        """Say it in words."""
        return f"{_times(self.log_gain)} as well; z = {self.z:.1f} for {self.num_answers} answers"


def _times(log_gain: float) -> str:
    return f"{np.exp(log_gain):.2g} times" if log_gain < 30.0 else f"10^{log_gain / np.log(10.0):.0f} times"


def surprise_of(
    problem: Problem,
    counts: AnyArray,
    theta: FloatArray,
    values: FloatArray,
    weights: FloatArray,
    parameters: FloatArray | None = None,
) -> Surprise:
    """Return how surprising answers are under weighted samples.

    Parameters
    ----------
    counts
        `[S, A]` demonstrated actions, with annotators `[G, S, A]`.
    theta, values, weights
        `[M, D]` parameters, `[M, S]` values that the expert acts on and `[M]` weights, which sum to one. Soft values
        are `[M, G * S]`.
    parameters
        Unknown parameters of the expert `[M, E]`, if it has any.

    Returns
    -------
    Medians over 256 evenly spaced draws from the samples; nothing is random. No answers are no surprise.
    """
    by_group = counts.reshape(-1, *counts.shape[-2:])
    groups, states = np.nonzero(by_group.sum(axis=2) > 0)
    if states.size == 0:
        return Surprise(0, 0.0, 0.0)
    parameters = no_parameters(len(theta)) if parameters is None else parameters
    chosen = spread_draws(weights, NUM_DRAWS)
    parts = []
    for group in np.unique(groups).tolist():
        own = values.reshape(len(values), -1, problem.mdp.num_states)
        acted_on = own[:, min(group, own.shape[1] - 1)]
        q = action_values(problem, states[groups == group], theta, acted_on)[chosen]
        parts.append(np.maximum(log_policies(problem, q, parameters[chosen], group), -LARGEST_LOG))
    log_policy = np.concatenate(parts, axis=1)
    answers, available = by_group[groups, states].astype(np.float64), problem.mdp.available[states]
    return Surprise(
        num_answers=int(np.rint(answers.sum())),
        z=float(np.median(standardised(log_policy, answers))),
        log_gain=float(np.median(log_gains(log_policy, answers, available))),
    )


def standardised(log_policy: FloatArray, answers: FloatArray) -> FloatArray:
    """Return z `[M]` of answers `[K, A]` under log policies `[M, K, A]`: 0 where it could not be otherwise."""
    policy, totals = np.exp(log_policy), answers.sum(axis=1)
    means = (policy * log_policy).sum(axis=2)
    variances = (policy * (log_policy - means[:, :, None]) ** 2).sum(axis=2)
    gap = np.einsum("mka,ka->m", log_policy, answers) - means @ totals
    deviation = np.sqrt(variances @ totals)
    rounding = 1e-12 * np.einsum("mka,ka->m", np.abs(log_policy), answers)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(np.abs(gap) <= rounding, 0.0, gap / deviation))


def log_gains(log_policy: FloatArray, answers: FloatArray, available: AnyArray) -> FloatArray:
    """Return the log `[M]` of how many times better the rivals explain answers `[K, A]` than policies `[M, K, A]` do.

    `available` `[K, A]` are the actions that exist.
    """
    totals = answers.sum(axis=1)
    own = np.einsum("mka,ka->m", log_policy, answers)
    likelihoods = [np.full(len(own), log_dirichlet_likelihood(answers, available))]
    for power in RIVAL_POWERS:
        scaled = np.where(available, power * log_policy, -np.inf)
        likelihoods.append(power * own - logsumexp(scaled, axis=2) @ totals)
    return np.asarray(logsumexp(np.stack(likelihoods), axis=0) - np.log(len(likelihoods)) - own)


def log_dirichlet_likelihood(answers: FloatArray, available: AnyArray) -> float:
    """Return the log chance of answers `[K, A]` if each state has a policy of its own, with a Dirichlet prior."""
    prior = DIRICHLET * available.sum(axis=1)
    by_action = np.where(available, gammaln(answers + DIRICHLET) - gammaln(DIRICHLET), 0.0)
    return float((by_action.sum(axis=1) + gammaln(prior) - gammaln(prior + answers.sum(axis=1))).sum())
