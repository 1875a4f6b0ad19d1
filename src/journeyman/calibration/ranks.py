"""Test quantities, and ranks of the truth among posterior draws of them.

The log likelihood depends on parameters and data together; it finds mistakes that single parameters hide (Modrak et al.
2023). V*(rho) and the regret of a fixed policy are what certificates are made of.

Truth and draws come from the same distribution if the posterior is right, so that the truth is equally likely to have
any of the ranks 0..L among L independent draws (Talts et al. 2018). Draws that depend on each other would push ranks to
both ends without any mistake in the posterior, so chains are thinned by their effective sample size.
"""

import numpy as np

from journeyman.inference.diagnostics import summarise_chains
from journeyman.inference.likelihood import log_likelihoods
from journeyman.inference.posterior import Posterior
from journeyman.inference.weights import systematic_resample
from journeyman.mdp import occupancy, solve
from journeyman.problem import Problem
from journeyman.types import BoolArray, FloatArray, IntArray

TIE_TOLERANCE = 1e-7  # above what rounding leaves in tracked values, far below what data can tell
DERIVED = ("log likelihood", "V*(rho)", "regret")


def quantity_names(problem: Problem, parameters: tuple[int, ...]) -> tuple[str, ...]:
    """Return the names of the quantities: three derived ones, then the parameters."""
    return (*DERIVED, *(problem.reward_model.parameter_name(index) for index in parameters))


def fixed_policy(rng: np.random.Generator, problem: Problem) -> IntArray:
    """Return the policy `[S]` whose regret is tested: optimal for one draw of the prior, apart from truth and data."""
    drawn = problem.prior.sample(rng, 1)[0]
    return solve(problem.mdp, problem.reward_model.reward(drawn)).policy


def quantities(
    problem: Problem,
    counts: IntArray,
    policy: IntArray,
    parameters: tuple[int, ...],
    theta: FloatArray,
    values: FloatArray,
) -> FloatArray:
    """Return the quantities `[M, Q]` of parameters `[M, D]` with optimal values `[M, S]`.

    Regret is that of `policy` from the initial states: never negative, exactly 0 where it is 0 up to rounding.
    """
    mdp = problem.mdp
    rewards = problem.reward_model.reward(theta)
    visits = occupancy(mdp, policy)
    of_policy = rewards if rewards.ndim == 2 else rewards[:, np.arange(mdp.num_states), policy]
    best = values @ mdp.initial
    regret = best - of_policy @ visits
    regret[regret <= TIE_TOLERANCE * (1.0 + np.abs(best))] = 0.0
    likelihood = log_likelihoods(problem, counts, rewards, values)
    return np.column_stack([likelihood, best, regret, theta[:, list(parameters)]])


def effective_draws(posterior: Posterior, table: FloatArray) -> float | None:
    """Return how many independent draws a posterior is worth for the worst of the quantities `[M, Q]`.

    Discrete priors: None, since weighted atoms are the whole posterior and give as many as one likes. Weighted samples:
    Kish's effective sample size. Chains: the smallest bulk effective sample size, of the quantities that vary in every
    chain (a regret may well be 0 throughout); 1 if none does.
    """
    if posterior.problem.prior.is_discrete:
        return None
    if posterior.chains is None:
        return float(1.0 / (posterior.weights**2).sum())
    chains = table.reshape(*posterior.chains, -1)
    is_varying = (np.ptp(chains, axis=1) > 0.0).all(axis=0)
    if not is_varying.any():
        return 1.0
    return summarise_chains(chains[:, :, is_varying]).ess_bulk


def thinned_indices(rng: np.random.Generator, posterior: Posterior, num_draws: int) -> IntArray:
    """Return `num_draws` indices of samples, each as often as its weight says.

    Chains: evenly spaced, from a random start. Atoms of a Discrete prior: independently. Others: systematic resampling
    in random order, since the order of samples may carry meaning (points of a net do); no sample is repeated as long
    as weights allow.
    """
    if posterior.problem.prior.is_discrete:
        return rng.choice(posterior.num_samples, size=num_draws, p=posterior.weights)
    if posterior.chains is not None:
        return systematic_resample(rng, posterior.weights, num_draws)
    order = rng.permutation(posterior.num_samples)
    return order[systematic_resample(rng, posterior.weights[order], num_draws)]


def truth_ranks(rng: np.random.Generator, truth: FloatArray, draws: FloatArray) -> IntArray:
    """Return the rank `[Q]` of the truth `[Q]` among draws `[L, Q]`, 0..L; ties are broken at random."""
    below, tied = _compared(truth, draws)
    num_tied = tied.sum(axis=0)
    return np.asarray(below.sum(axis=0) + rng.integers(0, num_tied + 1), dtype=np.int64)


def truth_levels(rng: np.random.Generator, truth: FloatArray, samples: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the posterior probability `[Q]` of lying below the truth, from all samples `[M, Q]`.

    What ties with the truth counts by a random part. The truth lies in the central credible interval of chance c if
    its level is between (1 - c) / 2 and (1 + c) / 2.
    """
    below, tied = _compared(truth, samples)
    levels = weights @ below + rng.random(len(truth)) * (weights @ tied)
    return np.asarray(np.clip(levels, 0.0, 1.0))


def _compared(truth: FloatArray, samples: FloatArray) -> tuple[BoolArray, BoolArray]:
    """Return which samples are below the truth, and which tie with it up to rounding."""
    tied = np.abs(samples - truth) <= TIE_TOLERANCE * (1.0 + np.abs(truth))
    return (samples < truth) & ~tied, tied
