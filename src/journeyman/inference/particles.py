"""Particles of the SMC sampler: what it remembers of them, and how they are moved.

Rejuvenation moves resampled particles until they have forgotten where they were. How long is decided by correlation,
not by luck. Scales are the particles' standard deviations. The step is tuned to an acceptance of 0.75 on moves that are
not kept; these go on until parameters correlate little with their values at resampling. Trajectories are lengthened
while single moves stay correlated. Then every state of the chains is kept.
"""

import logging
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from journeyman.checks import one_of, share, whole_number
from journeyman.errors import InputError
from journeyman.inference import proposals, redraws, surrogate
from journeyman.inference.expert.target import ExpertTarget, effective_betas
from journeyman.inference.general import GeneralTarget
from journeyman.inference.proposals import ProposingChains
from journeyman.inference.surprise import Surprise, surprise_of
from journeyman.inference.surrogate import SurrogateChains
from journeyman.inference.target import MAX_EXACT_STATES, Shifts, Target
from journeyman.inference.weights import (
    coarse,
    log_mean_exp,
    log_mean_variance,
    normalised,
    systematic_resample,
    widest_direction,
)
from journeyman.logs import log_event
from journeyman.problem import Problem
from journeyman.threads import Ahead
from journeyman.types import AnyArray, FloatArray

MIN_PARTICLES = 100
# Where trajectories hold the expert's parameters: how much of their variance the reward may explain, how much log beta
# must vary between chains (standard deviation), and how many steps trajectories must have, for that to be worth it.
MAX_EXPLAINED, MIN_SPREAD, MIN_LEAPFROG = 0.65, 0.45, 50.0
MAX_CHEAP_STATES = 150  # above, gradients take so long that poorer proposals, and more of them, are put up with
RECENT_MOVES = 4  # that tell how far a move leads
NUM_SHIFTS = 3  # of each of them, after every trajectory
SHIFT_WIDTH = 2.0  # in standard deviations of what the reward does not explain
PATHS = ("auto", "prior", "mode")


@dataclass(frozen=True)
class SMCSettings:
    """How particles are kept.

    Parameters
    ----------
    num_particles
        N.
    chain_length
        Moves kept per ancestor: N / chain_length ancestors are drawn at each rejuvenation.
    ess_threshold
        Rejuvenate when the effective sample size of the weights is below this part of N.
    stage_ess
        Part of N that each stage keeps when a surprising answer is tempered.
    acceptance
        What the step is tuned to.
    start_correlation
        Moves before the kept ones go on until parameters correlate at most so much with their values at resampling.
    move_correlation
        Trajectories are lengthened while single moves leave a larger correlation, and shortened below half of it.
    max_leapfrog, max_burn_in
        Limits to these two; where they bind the posterior carries a warning.
    lag
        Updates until rejuvenated particles take over: before that those at hand are reweighted, as long as 100 of them
        are effective, or 200 interim ones are. The rejuvenation starts earlier, below the square root of
        `ess_threshold`. 0: at once.
    path
        How `infer` gets to the posterior of all data at once: "prior" tempers from the prior, "mode" bridges from a
        Gaussian near the posterior (see `batch`), "auto" does the latter where there are many parameters and many data,
        and returns to the former where that is doubtful. Learners do so with what is attached before any answer; else
        they see one answer after the other, and temper.
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
    lag: int = 0
    path: str = "auto"

    def __post_init__(self) -> None:
        """Check ranges."""
        whole_number(self.num_particles, "num_particles", MIN_PARTICLES, "Fewer cannot tell how well they move.")
        whole_number(self.chain_length, "chain_length", 1)
        whole_number(self.max_leapfrog, "max_leapfrog", 1)
        whole_number(self.max_burn_in, "max_burn_in", 1)
        whole_number(self.lag, "lag", 0, "0 rejuvenates at once.")
        one_of(self.path, PATHS, "path", "Leave it out for 'auto'.")
        if self.num_chains < 12:
            raise InputError(
                "num_particles must be at least 12 times chain_length, "
                f"got {self.num_particles} and {self.chain_length}. Use more particles or shorter chains."
            )
        for name in ("ess_threshold", "stage_ess", "acceptance", "start_correlation", "move_correlation"):
            share(getattr(self, name), name, f"The default is {getattr(SMCSettings, name)}.")

    @property
    def num_chains(self) -> int:
        """Number of ancestors per rejuvenation."""
        return -(-self.num_particles // self.chain_length)


class Started(NamedTuple):
    """A rejuvenation that was started and is not installed yet.

    Parameters
    ----------
    counts
        `[S, A]` that it moves particles to: those when it was started.
    num_waited
        Updates that came since.
    result
        Its particles. They follow from those that it moves and `counts`, so that it does not matter when they are
        computed.
    source
        The particles that it moves, where those at hand are interim ones; None where it moves those at hand.
    """

    counts: FloatArray
    num_waited: int
    result: Ahead["Particles"]
    source: "Particles | None" = None


class Moves(NamedTuple):
    """What rejuvenation has learned about moving, kept for the next one, and how the last one went.

    num_gradients counts evaluations of the posterior, with or without a gradient; is_proposing: whether the last moves
    were proposals (see `proposals`) instead of trajectories.
    """

    step: float
    num_leapfrog: float
    acceptance: float = 1.0
    correlation: float = 0.0
    start_correlation: float = 0.0
    num_divergences: int = 0
    distinct_ancestors: int = 0
    num_rejuvenations: int = 0
    num_gradients: int = 0
    is_proposing: bool = False


@dataclass(frozen=True, eq=False)
class Particles:
    """State of the sampler: frozen, each update gives a new one.

    positions `[N, D + E]` are draws given `moved_counts`; log_weights `[N]` (not normalised) take them to `counts`. For
    a Discrete prior (target None) the positions are the atoms, and their log weights include the prior. `precision` is
    that of the prior that positions are draws of: 1, but within a search. `moved_log_evidence_variance` is that of
    `moved_log_evidence` by Monte Carlo, None where it is not known. `num_searched` is the number of answers at
    the last search, 0 if there was none. `started` is a rejuvenation that is under way; positions stay as they are
    until it is installed.
    """

    target: Target | GeneralTarget | None
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
    precision: float = 1.0
    num_searched: int = 0
    started: Started | None = None
    moved_log_evidence_variance: float | None = 0.0

    @property
    def theta(self) -> FloatArray:
        """Parameters `[N, D]`."""
        return self.positions if self.target is None else self.target.parameters(self.positions)

    @property
    def expert_parameters(self) -> FloatArray:
        """Unknown parameters of the expert `[N, E]`."""
        return expert_parameters_at(self.problem, self.positions)

    @cached_property
    def surprise(self) -> Surprise:
        """How improbable the answers are under these particles."""
        return surprise_of(self.problem, self.counts, self.theta, self.values, self.weights, self.expert_parameters)

    @property
    def log_evidence(self) -> float:
        """Estimate of log p(D)."""
        return self.moved_log_evidence + log_mean_exp(self.log_weights)

    @property
    def log_evidence_error(self) -> float | None:
        """Standard error of `log_evidence`: exactly 0 for atoms, None where it is not known."""
        if self.target is None:
            return 0.0
        before = self.moved_log_evidence_variance
        return None if before is None else float(np.sqrt(before + self.log_mean_variance(self.log_weights)))

    def log_mean_variance(self, log_weights: FloatArray) -> float:
        """Return the variance of the log of the mean weight of these particles, from the spread between ancestors."""
        return log_mean_variance(log_weights, self.settings.chain_length if self.moves.num_rejuvenations else 1)

    @property
    def weights(self) -> FloatArray:
        """Normalised weights `[N]`."""
        return normalised(self.log_weights)


def expert_parameters_at(problem: Problem, positions: FloatArray) -> FloatArray:
    """Return the unknown parameters of the expert `[N, E]` at positions `[N, D + E]`."""
    return problem.expert_space.natural(problem.split(positions)[1])


def concatenated(arrays: tuple[AnyArray, ...], size: int) -> list[AnyArray]:
    """Return chains `[M, P, ...]` as particles `[size, ...]`."""
    return [np.ascontiguousarray(array.reshape(-1, array.shape[-1])[:size]) for array in arrays]


class Settled(NamedTuple):
    """Chains that have forgotten where they started, and how they move.

    direction `[D]`: in which particles spread most; start_correlation: with where they started; num_ancestors: distinct
    particles that they started from.
    """

    chains: "MovingChains | ProposingChains | SurrogateChains"
    step: float
    num_leapfrog: float
    direction: FloatArray
    start_correlation: float
    num_ancestors: int
    num_gradients: int


def settle(
    rng: np.random.Generator,
    particles: Particles,
    target: Target | GeneralTarget,
    log_weights: FloatArray,
    num_chains: int,
    num_threads: int,
) -> Settled:
    """Resample `num_chains` particles by `log_weights`, and move them under `target` until they have forgotten that.

    With few parameters they move by proposals, if enough of these are accepted. Else by trajectories: the
    step is tuned on the way, and they are made as long as they have to be.
    """
    engine: Any = surrogate if surrogate.is_worth_it(particles.problem, target, len(log_weights)) else proposals
    if engine is surrogate or proposals.is_worth_it(particles.problem, target.dimension):
        proposing = _settled_by_proposals(engine, rng, particles, target, log_weights, num_chains, num_threads)
        if proposing is not None:
            return proposing
    settings = particles.settings
    weights = normalised(log_weights)
    mean = weights @ particles.positions
    scales = coarse(np.sqrt(np.maximum(weights @ (particles.positions - mean) ** 2, 1e-8)))
    direction, variance = widest_direction(particles.positions, weights, scales)
    stretch = coarse(np.sqrt(max(np.sqrt(variance) - 1.0, 0.0)) * direction)
    direction = direction / scales
    ancestors = systematic_resample(rng, weights, num_chains)
    chains: Any = MovingChains(
        target,
        scales,
        stretch,
        np.zeros(0),
        num_threads,
        *(array[ancestors] for array in (particles.positions, particles.values, particles.policies)),
    )
    if isinstance(target, ExpertTarget) and particles.problem.expert_space.size:
        chains = holding_expert(chains, target, particles.moves.num_leapfrog)
    num_held = len(chains.widths)
    free = slice(0, target.dimension - num_held)  # what longer trajectories move
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
            start_correlation = correlation(first_positions[:, free], chains.positions[:, free], direction[free])
            move_correlation = correlation(before[:, free], chains.positions[:, free], direction[free])
            if num_held:
                own = _correlations(first_positions[:, -num_held:], chains.positions[:, -num_held:])
                start_correlation = max(start_correlation, float(own.mean()))
            num_leapfrog = _adjusted_length(num_leapfrog, move_correlation, settings)
        step = float(coarse(step * np.exp(1.5 * (acceptance - settings.acceptance))))
        if is_tuned and start_correlation <= settings.start_correlation and count > 0:
            break
    num_ancestors = len(np.unique(ancestors))
    return Settled(chains, step, num_leapfrog, direction, start_correlation, num_ancestors, num_gradients)


def _settled_by_proposals(
    engine: Any,
    rng: np.random.Generator,
    particles: Particles,
    target: Target | GeneralTarget,
    log_weights: FloatArray,
    num_chains: int,
    num_threads: int,
) -> Settled | None:
    """Settle chains that move by `engine`, proposals or a surrogate; None where too few moves are accepted."""
    settings, weights = particles.settings, normalised(log_weights)
    scales = np.sqrt(np.maximum(weights @ (particles.positions - weights @ particles.positions) ** 2, 1e-8))
    direction = widest_direction(particles.positions, weights, scales)[0] / scales
    ancestors = systematic_resample(rng, weights, num_chains)
    chain_length = settings.chain_length if particles.moves.num_rejuvenations else 1
    chains = engine.started(
        target, particles.positions, particles.values, particles.policies, weights,
        proposals.halves_of(len(weights), chain_length), ancestors, num_threads,
    )  # fmt: skip
    first, start_correlation, num_solves = chains.positions, 1.0, 0
    chances: list[float] = []
    is_costly = particles.problem.mdp.num_states > MAX_CHEAP_STATES
    least = engine.MIN_ACCEPTANCE * (0.4 if is_costly else 1.0)
    pairs: list[tuple[FloatArray, FloatArray]] = []
    for count in range(settings.max_burn_in * (engine.BURN_IN_FACTOR if is_costly else 1)):
        moved = engine.move(rng, chains, 1)
        pairs.append((chains.positions, moved.chains.positions))
        chains, num_solves = moved.chains, num_solves + moved.num_solves
        chances.append(float(moved.acceptance.mean()))
        start_correlation = correlation(first, chains.positions, direction)
        is_poor = count > 1 and float(np.mean(chances)) < least
        if is_poor or (count > 0 and start_correlation <= settings.start_correlation):
            break
    is_poor = float(np.mean(chances)) < least or start_correlation > settings.start_correlation
    if is_poor and particles.problem.mdp.num_states <= MAX_EXACT_STATES:  # above, gradients would take hours
        return None
    if engine is surrogate:
        before, after = (np.concatenate(each[-RECENT_MOVES:]) for each in zip(*pairs, strict=True))
        chains = surrogate.thinned(chains, correlation(before, after, direction), settings.move_correlation)
    num_ancestors = len(np.unique(ancestors))
    step, num_leapfrog = particles.moves.step, particles.moves.num_leapfrog
    return Settled(chains, step, num_leapfrog, direction, start_correlation, num_ancestors, num_solves)


def holding_expert(chains: "MovingChains", target: ExpertTarget, num_leapfrog: float) -> "MovingChains":
    """Return chains whose trajectories hold the expert's parameters, where that is worth it.

    How long steps may be depends on beta, so that no length suits all chains. Trajectories that hold beta have steps
    that suit their own, and between them the expert's parameters move by themselves. How slow that is depends on the
    part of their variance that the reward explains: the variance that is left is one over the mean square of the slope.
    """
    size = target.problem.expert_space.size
    log_betas = np.log(effective_betas(target, chains.positions))
    if num_leapfrog < MIN_LEAPFROG or log_betas.std() < MIN_SPREAD:
        return chains
    start = (chains.values, chains.policies)
    slopes = target.evaluate(chains.positions, start, chains.num_threads).gradient[:, -size:]
    left = 1.0 / np.maximum((slopes**2).mean(axis=0), 1.0)  # the prior alone has slopes of mean square 1
    explained = 1.0 - left / np.maximum(chains.positions[:, -size:].var(axis=0), 1e-8)
    if not explained.max() <= MAX_EXPLAINED:
        return chains
    is_held = np.arange(target.dimension) >= target.dimension - size
    usual = np.exp(log_betas.mean())
    return chains._replace(
        target=target.with_usual_beta(float(coarse(usual))),
        scales=np.where(is_held, 0.0, chains.scales),
        stretch=np.where(is_held, 0.0, chains.stretch),
        widths=coarse(SHIFT_WIDTH * np.sqrt(left)),
    )


def rejuvenated(
    particles: Particles, log_weights: FloatArray, change: FloatArray, num_threads: int, precision: float = 1.0
) -> Particles:
    """Resample by `log_weights`, move at the moved counts plus `change`, and return equally weighted particles.

    `precision` is that of the prior which they move under.
    """
    source = particles.target
    assert source is not None
    moved_counts = np.maximum(particles.moved_counts + change, 0.0)
    target = source.with_counts(moved_counts)
    if precision != particles.precision:
        target = target.with_precision(precision)
    rng = np.random.default_rng([particles.seed, particles.num_stages])
    renew_fn = _redrawn if redraws.is_affordable(particles.problem, target.dimension) else _moved
    kept, moves = renew_fn(rng, particles, target, log_weights, num_threads)
    told = {name: getattr(moves, name) for name in ("acceptance", "correlation", "num_gradients", "is_proposing")}
    log_event("inference", "moved particles", logging.DEBUG, stage=particles.num_stages, **told)
    variance = particles.moved_log_evidence_variance
    return replace(
        particles,
        target=target,
        positions=kept[0],
        values=kept[1],
        policies=kept[2],
        num_stages=particles.num_stages + 1,
        moved_counts=moved_counts,
        moved_log_evidence=particles.moved_log_evidence + log_mean_exp(log_weights),
        moved_log_evidence_variance=None if variance is None else variance + particles.log_mean_variance(log_weights),
        moves=moves,
        precision=precision,
    )


def _moved(
    rng: np.random.Generator,
    particles: Particles,
    target: Target | GeneralTarget,
    log_weights: FloatArray,
    num_threads: int,
) -> tuple[list[AnyArray], Moves]:
    """Return new particles (positions, values, policies): all states of chains that started from the old ones."""
    settings = particles.settings
    settled = settle(rng, particles, target, log_weights, settings.num_chains, num_threads)
    moved = move(rng, settled.chains, settled.step, settled.num_leapfrog, settings.chain_length)
    positions = np.concatenate([settled.chains.positions[:, None], moved.kept[0]], axis=1)
    before, after = (part.reshape(-1, target.dimension) for part in (positions[:, :-1], positions[:, 1:]))
    moves = Moves(
        settled.step,
        settled.num_leapfrog,
        float(moved.acceptance.mean()),
        correlation(before, after, settled.direction),
        settled.start_correlation,
        int((moved.acceptance == 0.0).sum()),
        settled.num_ancestors,
        particles.moves.num_rejuvenations + 1,
        particles.moves.num_gradients + settled.num_gradients + moved.num_gradients,
        isinstance(settled.chains, ProposingChains | SurrogateChains),
    )
    return concatenated(moved.kept, settings.num_particles), moves


def _redrawn(
    rng: np.random.Generator,
    particles: Particles,
    target: Target | GeneralTarget,
    log_weights: FloatArray,
    num_threads: int,
) -> tuple[list[AnyArray], Moves]:
    """Return new particles (positions, values, policies): weighted draws of a mixture, resampled."""
    size = particles.settings.num_particles
    draws = redraws.drawn_anew(rng, target, particles.positions, log_weights, size, num_threads)
    chosen = redraws.resampled(rng, draws, size)
    moves = particles.moves._replace(
        acceptance=draws.effective_size / len(draws.positions),
        correlation=0.0,
        start_correlation=0.0,
        num_divergences=0,
        distinct_ancestors=len(np.unique(chosen)),
        num_rejuvenations=particles.moves.num_rejuvenations + 1,
        num_gradients=particles.moves.num_gradients + len(draws.positions),
        is_proposing=True,
    )
    policies = np.broadcast_to(draws.policies[:1], (size, draws.policies.shape[1]))
    return [draws.positions[chosen], draws.values[chosen], policies], moves


def _adjusted_length(num_leapfrog: float, move_correlation: float, settings: SMCSettings) -> float:
    """Lengthen trajectories that stay too near their start, shorten those that go further than they need to."""
    if move_correlation > settings.move_correlation:
        return min(1.5 * num_leapfrog, float(settings.max_leapfrog))
    if move_correlation < 0.5 * settings.move_correlation:
        return max(num_leapfrog / 1.25, 4.0)
    return num_leapfrog


class MovingChains(NamedTuple):
    """Where M chains stand: positions `[M, D]`, values and policies `[M, S]`.

    scales, stretch `[D]` are of their trajectories, widths `[E]` of the shifts of what these hold; none if E is 0.
    """

    target: Target | GeneralTarget
    scales: FloatArray
    stretch: FloatArray
    widths: FloatArray
    num_threads: int
    positions: FloatArray
    values: FloatArray
    policies: AnyArray


class Moved(NamedTuple):
    """Chains after P moves each, all their states `[M, P, ...]`, chances of acceptance `[M, P]`."""

    chains: MovingChains | ProposingChains | SurrogateChains
    kept: tuple[FloatArray, FloatArray, AnyArray]
    acceptance: FloatArray
    num_gradients: int


def move(
    rng: np.random.Generator,
    chains: MovingChains | ProposingChains | SurrogateChains,
    step: float,
    num_leapfrog: float,
    num_moves: int,
) -> Moved:
    """Move every chain `num_moves` times, steps and lengths jittered so that no trajectory closes on itself.

    All randomness is drawn here, so that the result does not depend on the number of threads. Chains that move by
    proposals have no steps.
    """
    if isinstance(chains, ProposingChains):
        return Moved(*proposals.move(rng, chains, num_moves))
    if isinstance(chains, SurrogateChains):
        return Moved(*surrogate.move(rng, chains, num_moves))
    num_chains, dimension = chains.positions.shape
    shape = (num_chains, num_moves)
    momenta = rng.standard_normal((*shape, dimension))
    uniforms = rng.random(shape)
    steps = step * (1.0 + 0.2 * (2.0 * rng.random(shape) - 1.0))
    lengths = np.maximum(1, np.rint(num_leapfrog * (0.7 + 0.6 * rng.random(shape)))).astype(np.int64)
    start = (chains.positions, chains.values, chains.policies)
    shifted = None
    if len(chains.widths):
        more = (*shape, NUM_SHIFTS, len(chains.widths))
        shifted = Shifts(chains.widths * rng.standard_normal(more), rng.random(more))
    kept, acceptance, num_gradients = chains.target.move_chains(
        start, momenta, uniforms, chains.scales, chains.stretch, steps, lengths, chains.num_threads, shifted
    )
    after = chains._replace(
        positions=kept[0][:, -1].copy(), values=kept[1][:, -1].copy(), policies=kept[2][:, -1].copy()
    )
    return Moved(after, kept, acceptance, num_gradients)


def correlation(before: FloatArray, after: FloatArray, direction: FloatArray) -> float:
    """Return the correlation of two sets of points `[M, D]`: averaged over parameters, or along `direction` if larger.

    In the direction in which the posterior is widest moves take longest, and it may be hidden in every parameter.
    """
    each = _correlations(before, after).mean()
    widest = _correlations((before @ direction)[:, None], (after @ direction)[:, None])[0]
    return float(max(each, widest))


def _correlations(before: FloatArray, after: FloatArray) -> FloatArray:
    x, y = before - before.mean(axis=0), after - after.mean(axis=0)
    size = np.sqrt((x**2).sum(axis=0) * (y**2).sum(axis=0))
    return np.asarray((x * y).sum(axis=0) / np.maximum(size, 1e-300))
