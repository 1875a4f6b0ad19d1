"""One replication: truth from the prior, data from the expert, inference, rank of the truth."""

import time
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from journeyman.calibration.ranks import (
    effective_draws,
    fixed_policy,
    quantities,
    thinned_indices,
    truth_levels,
    truth_ranks,
)
from journeyman.calibration.spec import CalibrationSpec
from journeyman.checks import whole_number
from journeyman.demonstrations import Demonstration
from journeyman.errors import InferenceError
from journeyman.experts import SimulatedExpert, questions_at
from journeyman.inference import INFERENCE, Posterior, infer
from journeyman.mdp import solve_batch
from journeyman.problem import Problem
from journeyman.types import FloatArray, IntArray
from journeyman.worlds import make_world

MAX_DOUBLINGS = 4  # of chains that are too short


@dataclass(frozen=True)
class Replication:
    """Where the truth lay in the posterior of one replication.

    Parameters
    ----------
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


def stream_seed(seed: int, index: int, stream: Stream) -> int:
    """Return the seed of one stream of replication `index`."""
    return int(np.random.SeedSequence(seed, spawn_key=(index, int(stream))).generate_state(1)[0])


def replicate(spec: CalibrationSpec, index: int) -> Replication:
    """Return replication `index`: determined by the spec and the index alone, but for `seconds`.

    Inference runs on one thread. An InferenceError is recorded, not raised: it does not stop the other replications.
    """
    whole_number(index, "the index of a replication", 0)
    problem, truth = drawn_truth(spec, index)
    answers = drawn_answers(spec, index, problem, truth)
    assumed = spec.assumed(problem)
    policy = fixed_policy(_rng(spec, index, Stream.POLICY), problem)
    begin = time.perf_counter()
    try:
        posterior, table = _inferred(spec, index, assumed, answers, policy)
    except InferenceError as error:
        return Replication(index, (), (), None, time.perf_counter() - begin, error=str(error))
    seconds = time.perf_counter() - begin
    values = solve_batch(assumed.mdp, assumed.reward_model.reward(truth[None]), num_threads=1).values
    assert spec.parameters is not None
    of_truth = quantities(assumed, posterior.counts, policy, spec.parameters, truth[None], values)[0]
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
        return spec.problem, spec.problem.prior.sample(_rng(spec, index, Stream.TRUTH), 1)[0]
    assert spec.world is not None
    world = make_world(spec.world, stream_seed(spec.seed, index, Stream.WORLD), **spec.world_options)
    return world.problem, world.true_parameters


def drawn_answers(spec: CalibrationSpec, index: int, problem: Problem, truth: FloatArray) -> tuple[Demonstration, ...]:
    """Return the expert's answers at random queryable states; none if there is no such state."""
    places = np.flatnonzero(problem.queryable)
    if places.size == 0:
        return ()
    states = _rng(spec, index, Stream.QUERIES).choice(places, size=spec.num_demonstrations)
    seed = stream_seed(spec.seed, index, Stream.EXPERT)
    expert = SimulatedExpert(problem.mdp, problem.reward_model.reward(truth), problem.expert, seed=seed)
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
        table = quantities(problem, posterior.counts, policy, spec.parameters, posterior.theta, posterior.values)
        worth = None if posterior.chains is None else effective_draws(posterior, table)
        longer = INFERENCE.find(spec.method).longer_fn(options, 2)
        if worth is None or worth >= spec.num_draws or longer == options:
            break
        options = longer
    return posterior, table


def _rng(spec: CalibrationSpec, index: int, stream: Stream) -> np.random.Generator:
    return np.random.default_rng(stream_seed(spec.seed, index, stream))
