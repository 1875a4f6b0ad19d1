"""One replication: truth from the prior, data from the expert, inference, and ranks of the truth among its draws.

Quantities that are ranked: the log likelihood depends on parameters and data together, and finds mistakes that single
parameters hide (Modrak et al. 2023); V*(rho) and the regret of a fixed policy are what certificates are made of.

Truth and draws come from the same distribution if the posterior is right, so that the truth is equally likely to have
any of the ranks 0..L among L independent draws (Talts et al. 2018). Draws that depend on each other would push ranks to
both ends without any mistake in the posterior, so chains are thinned by their effective sample size.
"""

import time
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from journeyman.calibration.spec import CalibrationSpec
from journeyman.checks import whole_number
from journeyman.demonstrations import Demonstration
from journeyman.errors import InferenceError
from journeyman.experts import SimulatedExpert, questions_at
from journeyman.inference import INFERENCE, infer
from journeyman.inference.diagnostics import summarise_chains
from journeyman.inference.likelihood import expert_values, is_soft, log_likelihoods, no_parameters
from journeyman.inference.posterior import Posterior
from journeyman.inference.weights import systematic_resample
from journeyman.mdp import occupancy, solve, solve_batch
from journeyman.problem import Problem
from journeyman.types import BoolArray, FloatArray, IntArray
from journeyman.worlds import make_world

MAX_DOUBLINGS = 4  # of chains that are too short
TIE_TOLERANCE = 1e-7  # above what rounding leaves in tracked values, far below what data can tell
DERIVED = ("log likelihood", "V*(rho)", "regret")


@dataclass(frozen=True)
class Replication:
    """Where the truth lay in the posterior of one replication.

    Parameters
    ----------
    index
        Number of the replication, from 0.
    ranks
        Rank of the truth among L draws, 0..L, one per quantity.
    levels
        Posterior probability below the truth, in 0..1, one per quantity.
    effective_draws
        What the posterior is worth in independent draws, for the worst of the quantities; None if in as many as one
        likes.
    seconds
        Time of inference.
    warnings
        Those of the posterior.
    error
        Why inference failed; None if it did not. Ranks and levels are then empty.
    """

    index: int
    ranks: tuple[int, ...]
    levels: tuple[float, ...]
    effective_draws: float | None
    seconds: float
    warnings: tuple[str, ...] = ()
    error: str | None = None


class Stream(IntEnum):
    """Independent random streams of a replication, so that a change of one leaves the others as they are."""

    WORLD = 0
    TRUTH = 1
    QUERIES = 2
    EXPERT = 3
    POLICY = 4
    INFERENCE = 5
    RANKS = 6
    EXPERT_PARAMETERS = 7


def stream_seed(seed: int, index: int, stream: Stream) -> int:
    """Return the seed of one stream of replication `index`."""
    return int(np.random.SeedSequence(seed, spawn_key=(index, int(stream))).generate_state(1)[0])


def replicate(spec: CalibrationSpec, index: int) -> Replication:
    """Return replication `index`: determined by the spec and the index alone, but for `seconds`.

    Inference runs on one thread. An InferenceError is recorded, not raised: it does not stop the other replications.
    """
    whole_number(index, "the index of a replication", 0)
    problem, truth = drawn_truth(spec, index)
    own = drawn_expert(spec, index, problem)
    answers = drawn_answers(spec, index, problem, truth)
    assumed = spec.assumed(problem)
    own = own[:, [problem.expert_space.names.index(name) for name in assumed.expert_space.names]]
    policy = fixed_policy(_rng(spec, index, Stream.POLICY), problem)
    begin = time.perf_counter()
    try:
        posterior, table = _inferred(spec, index, assumed, answers, policy)
    except InferenceError as error:
        return Replication(index, (), (), None, time.perf_counter() - begin, error=str(error))
    seconds = time.perf_counter() - begin
    values = solve_batch(assumed.mdp, assumed.reward_model.reward(truth[None]), num_threads=1).values
    assert spec.parameters is not None
    of_truth = quantities(assumed, posterior.answers, policy, spec.parameters, truth[None], values, own)[0]
    rng = _rng(spec, index, Stream.RANKS)
    chosen = thinned_indices(rng, posterior, spec.num_draws)
    worth = effective_draws(posterior, table)
    return Replication(
        index,
        ranks=tuple(truth_ranks(rng, of_truth, table[chosen]).tolist()),
        levels=tuple(truth_levels(rng, of_truth, table, posterior.weights).round(6).tolist()),
        effective_draws=None if worth is None else round(worth, 1),
        seconds=round(seconds, 4),
        warnings=posterior.warnings,
    )


def drawn_truth(spec: CalibrationSpec, index: int) -> tuple[Problem, FloatArray]:
    """Return the problem of a replication and the true parameters `[D]`."""
    if spec.problem is not None:
        return spec.answered(spec.problem), spec.problem.prior.sample(_rng(spec, index, Stream.TRUTH), 1)[0]
    assert spec.world is not None
    world = make_world(spec.world, stream_seed(spec.seed, index, Stream.WORLD), **spec.world_options)
    return spec.answered(world.problem), world.true_parameters


def drawn_expert(spec: CalibrationSpec, index: int, problem: Problem) -> FloatArray:
    """Return the true parameters of the expert `[1, E]`, drawn from their priors."""
    return problem.expert_space.sample(_rng(spec, index, Stream.EXPERT_PARAMETERS), 1)


def drawn_answers(spec: CalibrationSpec, index: int, problem: Problem, truth: FloatArray) -> tuple[Demonstration, ...]:
    """Return the expert's answers at random queryable states; none if there is no such state."""
    places = np.flatnonzero(problem.queryable)
    if places.size == 0:
        return ()
    states = _rng(spec, index, Stream.QUERIES).choice(places, size=spec.num_demonstrations)
    seed = stream_seed(spec.seed, index, Stream.EXPERT)
    own = drawn_expert(spec, index, problem)[0]
    reward = problem.reward_model.reward(truth)
    expert = SimulatedExpert(problem.mdp, reward, problem.expert, seed=seed, parameters=own)
    questions = questions_at(states.tolist(), kind=spec.kind, length=spec.length)
    return tuple(expert.demonstrate(question) for question in questions)


def _inferred(
    spec: CalibrationSpec, index: int, problem: Problem, answers: tuple[Demonstration, ...], policy: IntArray
) -> tuple[Posterior, FloatArray]:
    """Return the posterior and the quantities of its samples; chains worth fewer than L draws are run longer."""
    options: dict[str, Any] = dict(spec.method_options)
    seed = stream_seed(spec.seed, index, Stream.INFERENCE)
    assert spec.parameters is not None
    for _ in range(MAX_DOUBLINGS + 1):
        posterior = infer(problem, answers, spec.method, seed=seed, num_threads=1, **options)
        samples = (posterior.theta, posterior.values, posterior.expert_parameters, posterior.expert_values)
        table = quantities(problem, posterior.answers, policy, spec.parameters, *samples)
        worth = None if posterior.chains is None else effective_draws(posterior, table)
        longer = INFERENCE.find(spec.method).longer_fn(options, 2)
        if worth is None or worth >= spec.num_draws or longer == options:
            break
        options = longer
    return posterior, table


def _rng(spec: CalibrationSpec, index: int, stream: Stream) -> np.random.Generator:
    return np.random.default_rng(stream_seed(spec.seed, index, stream))


def quantity_names(problem: Problem, parameters: tuple[int, ...]) -> tuple[str, ...]:
    """Return the names of the quantities: three derived ones, then the parameters, then those of the expert."""
    names = (problem.reward_model.parameter_name(index) for index in parameters)
    return (*DERIVED, *names, *problem.expert_space.names)


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
    own: FloatArray | None = None,
    acted: FloatArray | None = None,
) -> FloatArray:
    """Return the quantities `[M, Q]` of parameters `[M, D]` with optimal values `[M, S]`.

    `own` are the parameters of the expert `[M, E]`, `acted` the soft values that it acts on, where it does; solved for
    if they are left out. Regret is that of `policy` from the initial states: never negative, exactly 0 where it is 0 up
    to rounding.
    """
    mdp = problem.mdp
    rewards = problem.reward_model.reward(theta)
    visits = occupancy(mdp, policy)
    of_policy = rewards if rewards.ndim == 2 else rewards[:, np.arange(mdp.num_states), policy]
    best = values @ mdp.initial
    regret = best - of_policy @ visits
    regret[regret <= TIE_TOLERANCE * (1.0 + np.abs(best))] = 0.0
    own = no_parameters(len(theta)) if own is None else own
    if acted is None:
        acted = expert_values(problem, rewards, own, num_threads=1) if is_soft(problem) else values
    likelihood = log_likelihoods(problem, counts, rewards, acted, own)
    return np.column_stack([likelihood, best, regret, theta[:, list(parameters)], own])


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
