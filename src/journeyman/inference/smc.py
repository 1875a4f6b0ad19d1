"""Sequential Monte Carlo over demonstrations: exact, incremental, warm.

Particles are draws of p(theta | moved counts). A new demonstration only reweights them, by its likelihood at values that
are known already. When the effective sample size of the weights has fallen below a part of the particles, they are
*rejuvenated* (waste-free, Dau and Chopin 2022): a few ancestors are drawn by systematic resampling, each runs a chain of
Hamiltonian moves that leave the new posterior invariant, and every state of these chains is a particle, with equal
weight. Where the answers are too surprising for one step, the change of counts is scaled down (a tempered likelihood is
one with fractional counts) so that each stage keeps half of the effective sample size.

How long to move is decided by correlation, not by luck. Scales are the particles' standard deviations; the step is tuned
to an acceptance of 0.75 on moves that are not kept; these go on until parameters correlate by at most 0.3 with where
they were after resampling; trajectories are lengthened while single moves stay correlated.

With a Discrete prior there is nothing to move: reweighting alone is exact.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from journeyman.demonstrations import Demonstration
from journeyman.errors import InferenceError, InputError
from journeyman.inference import kernels
from journeyman.inference.diagnostics import Diagnostics, smc_warnings
from journeyman.inference.posterior import Posterior, systematic_resample
from journeyman.inference.target import Target
from journeyman.problem import Problem
from journeyman.threads import resolve_num_threads, run_chunks
from journeyman.types import AnyArray, FloatArray, IntArray


@dataclass(frozen=True)
class SMCSettings:
    """How particles are kept.

    num_particles: N; chain_length: moves kept per ancestor; ess_threshold: rejuvenate below this part of N;
    stage_ess: part of N that each tempered stage keeps; acceptance: that the step is tuned to; start_correlation: that
    moves before the kept ones bring parameters down to; move_correlation: above it trajectories are lengthened, below
    half of it they are shortened; max_leapfrog, max_burn_in: limits, and a warning where they bind.
    """

    num_particles: int = 1000
    chain_length: int = 8
    ess_threshold: float = 0.5
    stage_ess: float = 0.5
    acceptance: float = 0.75
    start_correlation: float = 0.3
    move_correlation: float = 0.5
    max_leapfrog: int = 200
    max_burn_in: int = 12

    def __post_init__(self) -> None:
        """Check ranges."""
        if self.num_particles < 16 or not 1 <= self.chain_length <= self.num_particles // 2:
            raise InputError(
                "num_particles must be at least 16 and chain_length from 1 to half of it, "
                f"got {self.num_particles} and {self.chain_length}."
            )
        for name in ("ess_threshold", "stage_ess", "acceptance", "start_correlation", "move_correlation"):
            if not 0.0 < getattr(self, name) < 1.0:
                raise InputError(f"{name} must lie strictly between 0 and 1, got {getattr(self, name)}.")
        if self.max_leapfrog < 1 or self.max_burn_in < 1:
            raise InputError("max_leapfrog and max_burn_in must be at least 1.")

    @property
    def num_chains(self) -> int:
        """Number of ancestors per rejuvenation."""
        return -(-self.num_particles // self.chain_length)


class Moves(NamedTuple):
    """What rejuvenation has learned about moving, kept for the next one, and how the last one went."""

    step: float
    num_leapfrog: float
    acceptance: float = 1.0
    correlation: float = 0.0
    start_correlation: float = 0.0
    distinct_ancestors: int = 0
    num_rejuvenations: int = 0
    num_gradients: int = 0


@dataclass(frozen=True, eq=False)
class Particles:
    """State of the sampler: frozen, each update gives a new one.

    positions `[N, D]` are draws given `moved_counts`; log_weights `[N]` (not normalised) take them to `counts`.
    For a Discrete prior the positions are all atoms, and their log weights include the prior.
    """

    target: Target | None
    problem: Problem
    settings: SMCSettings
    seed: int
    num_stages: int
    positions: FloatArray
    values: FloatArray
    policies: AnyArray
    moved_counts: FloatArray
    counts: FloatArray
    log_weights: FloatArray
    moved_log_evidence: float
    moves: Moves
    seconds: float = 0.0

    @property
    def log_evidence(self) -> float:
        """Estimate of log p(D)."""
        return self.moved_log_evidence + log_mean_exp(self.log_weights)

    @property
    def weights(self) -> FloatArray:
        """Normalised weights `[N]`."""
        return normalised(self.log_weights)


def refusal(problem: Problem) -> str | None:
    """Return why SMC cannot do a problem: it can do all."""
    return None


def infer_smc(
    problem: Problem,
    counts: IntArray,
    *,
    seed: int = 0,
    num_threads: int | None = None,
    progress: bool | Callable[[float], None] = False,
    **settings: float,
) -> Posterior:
    """Sample the posterior of all demonstrations at once, by tempering from the prior."""
    report = progress if callable(progress) else None
    particles = start(problem, seed=seed, num_threads=num_threads, **settings)
    return posterior_of(advance(particles, counts, num_threads=num_threads, report=report))


def start(problem: Problem, *, seed: int = 0, num_threads: int | None = None, **settings: float) -> Particles:
    """Return particles of the prior."""
    begin = time.perf_counter()
    chosen = SMCSettings(**settings)  # type: ignore[arg-type]
    zeros = np.zeros((problem.mdp.num_states, problem.mdp.num_actions))
    if problem.prior.is_discrete:
        target, positions, log_weights, values, policies = None, *_atoms(problem, num_threads)
        moves = Moves(0.0, 0.0, distinct_ancestors=len(positions))
    else:
        target = Target(problem)
        rng = np.random.default_rng([seed, 0])
        positions = rng.standard_normal((chosen.num_particles, target.dimension))
        evaluation = target.evaluate(positions, num_threads=num_threads)
        values, policies = evaluation.values, evaluation.policies
        log_weights = np.zeros(chosen.num_particles)
        moves = Moves(0.1, 10.0, distinct_ancestors=chosen.num_particles)
    return Particles(
        target, problem, chosen, seed, 1, positions, values, policies, zeros, zeros, log_weights, 0.0, moves,
        time.perf_counter() - begin,
    )  # fmt: skip


def _atoms(problem: Problem, num_threads: int | None) -> tuple[FloatArray, FloatArray, FloatArray, AnyArray]:
    from journeyman.mdp import solve_batch

    prior = problem.prior
    solution = solve_batch(problem.mdp, problem.reward_model.reward(prior.atoms), num_threads=num_threads)
    log_weights = np.log(prior.weights * len(prior.atoms))
    return prior.atoms, log_weights, solution.values, solution.policy


def update(
    particles: Particles, demonstrations: Iterable[Demonstration] | Demonstration, *, num_threads: int | None = None
) -> Particles:
    """Add demonstrations, one or many."""
    return advance(particles, particles.counts + particles.problem.counts(demonstrations), num_threads=num_threads)


def remove(
    particles: Particles, demonstrations: Iterable[Demonstration] | Demonstration, *, num_threads: int | None = None
) -> Particles:
    """Take demonstrations out again: by reverse reweighting, with moves where that leaves too few effective particles."""
    counts = particles.counts - particles.problem.counts(demonstrations)
    if (counts < 0).any():
        s, a = (int(i) for i in np.argwhere(counts < 0)[0])
        raise InputError(f"only demonstrations that were added can be removed, got action {a} in state {s} too often.")
    return advance(particles, counts, num_threads=num_threads)


def advance(
    particles: Particles,
    counts: AnyArray,
    *,
    num_threads: int | None = None,
    report: Callable[[float], None] | None = None,
) -> Particles:
    """Return particles of the posterior given `counts` `[S, A]`, from those given any other counts."""
    begin = time.perf_counter()
    num_threads = resolve_num_threads(num_threads)
    counts = np.asarray(counts, dtype=np.float64)
    if particles.target is None:
        log_weights = _atom_log_weights(particles, counts)
        return replace(particles, counts=counts, log_weights=log_weights, seconds=_since(begin, particles))
    settings = particles.settings
    change = counts - particles.moved_counts
    remaining = 1.0
    log_weights = _log_likelihood(particles, change)
    while effective_size(log_weights) < settings.ess_threshold * settings.num_particles:
        part = _stage_size(log_weights, settings.stage_ess * settings.num_particles)
        particles = _rejuvenated(particles, part * log_weights, part * change, num_threads)
        remaining *= 1.0 - part
        change = counts - particles.moved_counts if part < 1.0 else np.zeros_like(counts)
        log_weights = _log_likelihood(particles, change)
        if report is not None:
            report(1.0 - remaining)
    if report is not None:
        report(1.0)
    return replace(particles, counts=counts, log_weights=log_weights, seconds=_since(begin, particles))


def _since(begin: float, particles: Particles) -> float:
    return particles.seconds + time.perf_counter() - begin


def _log_likelihood(particles: Particles, change: FloatArray) -> FloatArray:
    """Return the log likelihood of a change of counts at the particles."""
    assert particles.target is not None
    target = particles.target.with_counts(change, is_change=True)
    return _checked(target.log_likelihood(particles.positions, particles.values))


def _atom_log_weights(particles: Particles, counts: FloatArray) -> FloatArray:
    from journeyman.expert import boltzmann_log_policy
    from journeyman.mdp import q_values

    problem, prior = particles.problem, particles.problem.prior
    q = q_values(problem.mdp, problem.reward_model.reward(prior.atoms), particles.values)
    log_policy = boltzmann_log_policy(q, problem.beta)
    used = counts > 0
    return _checked(np.log(prior.weights * len(prior.atoms)) + log_policy[:, used] @ counts[used])


def _checked(log_weights: FloatArray) -> FloatArray:
    """Refuse weights that are all zero or not numbers."""
    if np.isnan(log_weights).any() or not np.isfinite(log_weights.max()):
        raise InferenceError(
            "the demonstrations have probability zero, or none that is a number, under every particle. "
            "Check that beta fits the expert (a smaller one allows more mistakes) and that the prior covers the truth."
        )
    return log_weights


def _stage_size(log_weights: FloatArray, wanted: float) -> float:
    """Return the largest part of the change, by bisection, that keeps an effective size of `wanted`; 1 if near enough."""
    if effective_size(log_weights) >= 0.5 * wanted:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if effective_size(middle * log_weights) >= wanted else (low, middle)
    return max(low, 1e-6)


def _rejuvenated(
    particles: Particles, log_weights: FloatArray, change: FloatArray, num_threads: int
) -> Particles:
    """Resample by `log_weights`, move at the moved counts plus `change`, and return equally weighted particles."""
    settings, source = particles.settings, particles.target
    assert source is not None
    moved_counts = np.maximum(particles.moved_counts + change, 0.0)
    target = source.with_counts(moved_counts)
    rng = np.random.default_rng([particles.seed, particles.num_stages])
    weights = normalised(log_weights)
    mean = weights @ particles.positions
    scales = np.sqrt(np.maximum(weights @ (particles.positions - mean) ** 2, 1e-8))
    ancestors = systematic_resample(rng, weights, settings.num_chains)
    chains = Chains(target, scales, num_threads, *(array[ancestors] for array in _states(particles)))
    first_positions = chains.positions
    step, num_leapfrog = particles.moves.step, particles.moves.num_leapfrog
    start_correlation, num_gradients = 1.0, 0
    for count in range(settings.max_burn_in):
        before = chains.positions
        moved = move(rng, chains, step, num_leapfrog, 1)
        chains, num_gradients = moved.chains, num_gradients + moved.num_gradients
        acceptance = float(moved.acceptance.mean())
        is_tuned = abs(acceptance - settings.acceptance) < 0.15
        if is_tuned:
            start_correlation = correlation(first_positions, chains.positions)
            num_leapfrog = _adjusted_length(num_leapfrog, correlation(before, chains.positions), settings)
        step *= float(np.exp(1.5 * (acceptance - settings.acceptance)))
        if is_tuned and start_correlation <= settings.start_correlation and count > 0:
            break
    moved = move(rng, chains, step, num_leapfrog, settings.chain_length)
    kept = [array.reshape(-1, array.shape[-1])[: settings.num_particles] for array in moved.kept]
    positions = np.concatenate([chains.positions[:, None], moved.kept[0]], axis=1)
    moves = Moves(
        step,
        num_leapfrog,
        float(moved.acceptance.mean()),
        correlation(positions[:, :-1].reshape(-1, target.dimension), positions[:, 1:].reshape(-1, target.dimension)),
        start_correlation,
        len(np.unique(ancestors)),
        particles.moves.num_rejuvenations + 1,
        particles.moves.num_gradients + num_gradients + moved.num_gradients,
    )
    return replace(
        particles,
        target=target,
        positions=kept[0],
        values=kept[1],
        policies=kept[2],
        num_stages=particles.num_stages + 1,
        moved_counts=moved_counts,
        moved_log_evidence=particles.moved_log_evidence + log_mean_exp(log_weights),
        moves=moves,
    )


def _adjusted_length(num_leapfrog: float, move_correlation: float, settings: SMCSettings) -> float:
    """Lengthen trajectories that stay too near their start, shorten those that go further than they need to."""
    if move_correlation > settings.move_correlation:
        return min(1.5 * num_leapfrog, float(settings.max_leapfrog))
    if move_correlation < 0.5 * settings.move_correlation:
        return max(num_leapfrog / 1.25, 4.0)
    return num_leapfrog


def _states(particles: Particles) -> tuple[FloatArray, FloatArray, AnyArray]:
    return particles.positions, particles.values, particles.policies


class Chains(NamedTuple):
    """Where M chains stand: positions `[M, D]`, values and policies `[M, S]`; scales `[D]` of their moves."""

    target: Target
    scales: FloatArray
    num_threads: int
    positions: FloatArray
    values: FloatArray
    policies: AnyArray


class Moved(NamedTuple):
    """Chains after P moves each, all their states `[M, P, ...]`, chances of acceptance `[M, P]`."""

    chains: Chains
    kept: tuple[FloatArray, FloatArray, AnyArray]
    acceptance: FloatArray
    num_gradients: int


def move(rng: np.random.Generator, chains: Chains, step: float, num_leapfrog: float, num_moves: int) -> Moved:
    """Move every chain `num_moves` times, steps and lengths jittered so that no trajectory closes on itself.

    All randomness is drawn here, so that the result does not depend on the number of threads.
    """
    num_chains, dimension = chains.positions.shape
    num_states = chains.values.shape[1]
    shape = (num_chains, num_moves)
    momenta = rng.standard_normal((*shape, dimension))
    uniforms = rng.random(shape)
    steps = step * (1.0 + 0.2 * (2.0 * rng.random(shape) - 1.0))
    lengths = np.maximum(1, np.rint(num_leapfrog * (0.7 + 0.6 * rng.random(shape)))).astype(np.int64)
    kept = (
        np.empty((*shape, dimension)),
        np.empty((*shape, num_states)),
        np.empty((*shape, num_states), dtype=np.int64),
    )
    acceptance = np.empty(shape)
    counted = np.zeros(num_chains, dtype=np.int64)

    def move_part(part: range) -> None:
        at = slice(part.start, part.stop)
        work = chains.target.new_work()
        kernels.move_chains(
            chains.target.model, chains.target.data, work, chains.positions[at], chains.values[at],
            chains.policies[at], momenta[at], uniforms[at], chains.scales, steps[at], lengths[at],
            kept[0][at], kept[1][at], kept[2][at], acceptance[at],
        )  # fmt: skip
        counted[part.start] = work.num_gradients[0]

    chunk_size = 0 if chains.num_threads == 1 else max(1, num_chains // (8 * chains.num_threads))
    run_chunks(move_part, num_chains, chains.num_threads, chunk_size)
    ends = [np.ascontiguousarray(array[:, -1]) for array in kept]
    after = chains._replace(positions=ends[0], values=ends[1], policies=ends[2])
    return Moved(after, kept, acceptance, int(counted.sum()))


def posterior_of(particles: Particles) -> Posterior:
    """Return the posterior that the particles stand for."""
    moves = particles.moves
    is_discrete = particles.target is None
    ess = effective_size(particles.log_weights)
    diagnostics = Diagnostics(
        seconds=particles.seconds,
        num_gradients=moves.num_gradients,
        particle_ess=ess,
        acceptance=None if is_discrete or not moves.num_rejuvenations else moves.acceptance,
        move_correlation=None if is_discrete or not moves.num_rejuvenations else moves.correlation,
        distinct_ancestors=moves.distinct_ancestors,
        num_rejuvenations=moves.num_rejuvenations,
        warnings=() if is_discrete else smc_warnings(ess, len(particles.positions), moves, particles.settings),
    )
    theta = particles.positions if particles.target is None else particles.target.parameters(particles.positions)
    return Posterior(
        problem=particles.problem,
        counts=np.rint(particles.counts).astype(np.int64),
        theta=theta,
        weights=particles.weights,
        values=particles.values,
        method="smc",
        diagnostics=diagnostics,
        log_evidence=particles.log_evidence,
    )


def correlation(before: FloatArray, after: FloatArray) -> float:
    """Return the correlation of two sets of points `[M, D]`, averaged over parameters."""
    x, y = before - before.mean(axis=0), after - after.mean(axis=0)
    size = np.sqrt((x**2).sum(axis=0) * (y**2).sum(axis=0))
    return float(np.mean((x * y).sum(axis=0) / np.maximum(size, 1e-300)))


def normalised(log_weights: FloatArray) -> FloatArray:
    """Return weights that sum to one."""
    weights = np.exp(log_weights - log_weights.max())
    return np.asarray(weights / weights.sum())


def log_mean_exp(log_weights: FloatArray) -> float:
    """Return the log of the mean weight."""
    largest = log_weights.max()
    return float(largest + np.log(np.exp(log_weights - largest).mean()))


def effective_size(log_weights: FloatArray) -> float:
    """Return Kish's effective sample size of weights, between 1 and their number."""
    weights = normalised(log_weights)
    return float(1.0 / (weights**2).sum())
