"""Many data at once: a posterior by way of a Gaussian near it, instead of from the prior.

From the prior to the posterior of thousands of answers it is a long way: the particles of `smc` need dozens of stages,
each with trajectories of hundreds of steps, since directions that the data know well are a hundred times as narrow as
others. From a Gaussian near the posterior it is short, and its covariance is the metric that makes steps long.

*Pilot.* Chains start at points z that are nearly typical: each maximises log p(D | z) - |z - z0|^2 / 2 for its own draw
z0 of the prior N(0, I) (randomise, then optimise: exact draws if the model were linear and the data perturbed, too).
They move, and learn the metric from their own gradients and draws (`gaussian.fitted`), until they have forgotten where
they started. The Gaussian q is fitted to what they then visit.

*Bridge.* Draws of q are taken to the posterior p through p^t q^(1 - t), t from 0 to 1, by the same stages as in `smc`:
reweight, resample, move. The product of the mean weights of the stages is an unbiased estimate of p(D), as q is
normalised and does not depend on the draws (but for the choice of the stages, which is adapted, here and in `smc`), and
the particles are draws of the posterior in the limit of many, whatever q is. A bad q makes the bridge longer.

*Doubt.* What q does not cover, the bridge hardly finds. Pilot chains start all over the prior: if they end in different
places and stay there, there are several modes. If pilot and bridge disagree about the posterior, something was missed.
Then, or if the bridge does not get across, the posterior is doubtful, and `smc` takes the way from the prior.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from journeyman.errors import InferenceError
from journeyman.inference.batch import gaussian
from journeyman.inference.batch.gaussian import Chains, Moved
from journeyman.inference.batch.kernels import Gaussian
from journeyman.inference.general import GeneralTarget
from journeyman.inference.kernels import Work
from journeyman.inference.particles import Moves, Particles, concatenated
from journeyman.inference.target import LOG_2PI, Target, solved_at
from journeyman.inference.weights import (
    log_mean_exp,
    log_mean_variance,
    normalised,
    stage_size,
    systematic_resample,
)
from journeyman.threads import one_thread, resolve_num_threads, run_chunks
from journeyman.types import FloatArray, IntArray

Report = Callable[[float], None]
MIN_PARAMETERS, MIN_ANSWERS = 100, 1000  # from where on "auto" takes the bridge
MAX_PARAMETERS = 4000  # up to where: beyond it the Gaussian's linear algebra takes longest
NUM_PILOTS = 40
MAX_ITERATIONS = 150  # of the search for the start of a pilot chain
MEMORY = 20  # of that search
FIRST_STEP, SMALLEST_STEP = 0.1, 1e-7
FIRST_LEAPFROG, MOST_LEAPFROG = 40.0, 60.0  # of pilot chains
TRAJECTORY_LENGTH = 1.5  # in units of the Gaussian's standard deviations
MOVES_PER_ROUND = 10
MIN_ROUNDS, MAX_ROUNDS = 16, 32
CURVATURE_ROUNDS = 4  # after which draws, not only gradients, shape the metric
TRUST = 0.5  # in the covariance of draws, beside the inverse curvature
PILOT_CORRELATION = 0.4  # of chains' means in the first and the last round that count: below it they move freely
MAX_STAGES = 60
# Before it a stage goes at most half of what is left: then weights have a finite variance however narrow the Gaussian
# is, where a leap to a posterior that is twice as wide would have none.
LAST_LEAP = 0.75
STAGE_CHAINS = 0.5  # of the chains of the last stage, on the way to it, where only a mean weight is wanted
MAX_DISAGREEMENT = 0.35  # of the means of pilot and bridge, in posterior standard deviations (rms)
SAFE_ACCEPTANCE = 0.15  # within so much of the wanted acceptance a step is tuned


class Pilot(NamedTuple):
    """What pilot chains found: the Gaussian, draws `[N, D]` of the last rounds, the step and length of their moves.

    correlation is that between where chains were in the first and the last of these rounds: near 1 where each stays in
    a place of its own.
    """

    q: Gaussian
    positions: FloatArray
    step: float
    correlation: float
    num_gradients: int


def shortcut(
    particles: Particles, counts: IntArray, *, num_threads: int | None, report: Report
) -> tuple[Particles | None, str]:
    """Return particles of the posterior by the bridge where the settings want it, else None; and a warning, or "".

    With "auto", that is where there are many parameters and many data, and None where the bridge is doubtful.
    """
    path = particles.settings.path
    if particles.target is None or path == "prior" or (path == "auto" and not is_worth_it(particles, counts)):
        return None, ""
    start = time.perf_counter()
    try:
        found, doubt = bridged(particles, counts.astype(np.float64), resolve_num_threads(num_threads), report)
    except InferenceError:
        if path == "mode":
            raise
        return None, ""
    if path == "auto" and doubt:
        return None, ""
    warning = f"the way by the mode is doubtful: {doubt}. Use path='prior'." if doubt else ""
    return replace(found, seconds=found.seconds + time.perf_counter() - start), warning


def is_worth_it(particles: Particles, counts: IntArray) -> bool:
    """Return whether the bridge is much shorter than the way from the prior: else that one is the simpler one."""
    target = particles.target
    return (
        isinstance(target, Target)
        and MIN_PARAMETERS <= target.dimension <= MAX_PARAMETERS
        and float(counts.sum()) >= MIN_ANSWERS
    )


def bridged(particles: Particles, counts: FloatArray, num_threads: int, report: Report) -> tuple[Particles, str]:
    """Return particles of the posterior given `counts` `[S, A]`, and what is doubtful about them ("" if nothing is).

    `particles` are those of the prior; only their problem, settings and seed matter.

    Raises
    ------
    InferenceError
        If no chain can start, or the bridge does not reach the posterior.
    """
    assert particles.target is not None
    target = particles.target.with_counts(counts)
    rng = np.random.default_rng([particles.seed, 1])
    with one_thread():  # linear algebra rounds differently on several
        pilot = explored(rng, target, particles.settings.acceptance, num_threads, lambda part: report(0.3 * part))
        across = _cross(rng, replace(particles, target=target), pilot, num_threads, lambda t: report(0.3 + 0.7 * t))
        doubt = _doubt(pilot, across)
    return replace(across, counts=counts, moved_counts=counts), doubt


def explored(
    rng: np.random.Generator, target: Target | GeneralTarget, acceptance: float, num_threads: int, report: Report
) -> Pilot:
    """Run the pilot chains until they move freely, and fit the Gaussian to what they visit."""
    chains = starts(rng, target, num_threads)
    q, step = gaussian.standard(target.dimension), FIRST_STEP
    step, num_gradients = _first_step(rng, target, q, chains, step, num_threads)
    rounds: list[Moved] = []
    num_leapfrog, correlation = FIRST_LEAPFROG, 1.0
    for count in range(MAX_ROUNDS):
        moved = gaussian.move(
            rng, target, q, 1.0, chains, step=step, num_leapfrog=num_leapfrog, num_moves=MOVES_PER_ROUND,
            num_threads=num_threads,
        )  # fmt: skip
        num_gradients += moved.num_gradients
        chains = moved.last
        rounds.append(moved)
        if count > 0 and q.gains.size > 0:
            correlation = gaussian.correlation(*(_round_means(q, _recent(rounds)[i]) for i in (0, -1)))
        if count + 1 >= MIN_ROUNDS and correlation <= PILOT_CORRELATION:
            break
        is_first, last_step = q.gains.size == 0, step
        q = _fit(rounds, TRUST if count + 1 >= CURVATURE_ROUNDS else 0.0)
        step = _tuned(step, moved, acceptance)
        if is_first or moved.acceptance.mean() < 0.3:
            step, spent = _first_step(rng, target, q, chains, max(FIRST_STEP, last_step), num_threads)
            num_gradients += spent
        num_leapfrog = float(np.clip(TRAJECTORY_LENGTH / step, 4.0, MOST_LEAPFROG))
        report(min(1.0, (count + 1) / MIN_ROUNDS))
    positions = np.concatenate([each.positions.reshape(-1, target.dimension) for each in _recent(rounds)])
    return Pilot(gaussian.widened(_fit(rounds, TRUST)), positions, step, correlation, num_gradients)


def starts(rng: np.random.Generator, target: Target | GeneralTarget, num_threads: int) -> Chains:
    """Return where pilot chains start: each maximises log p(D | z) - |z - z0|^2 / 2 for its own z0 of the prior.

    The search begins at z0 and at the middle of the prior, and the better end counts.
    """
    from scipy import optimize  # slow to import

    drawn = rng.standard_normal((NUM_PILOTS, target.dimension))
    found = drawn.copy()

    def search(numbers: range) -> None:
        for number in numbers:
            work = target.new_work() if isinstance(target, Target) else None

            def loss(z: FloatArray, number: int = number, work: Work | None = work) -> tuple[float, FloatArray]:
                if isinstance(target, Target):
                    value, gradient = target.log_density_and_gradient(z, work)
                else:
                    value, gradient = target.log_density_and_gradient(z)
                return -value - float(z @ drawn[number]), -gradient - drawn[number]

            limits = {"maxiter": MAX_ITERATIONS, "maxcor": MEMORY}
            best = np.inf
            for start in (drawn[number], np.zeros(target.dimension)):  # far out, lapses leave no slope to follow
                result = optimize.minimize(loss, start, jac=True, method="L-BFGS-B", options=limits)
                if result.fun < best:
                    best, found[number] = result.fun, result.x

    run_chunks(search, NUM_PILOTS, num_threads, 1)
    evaluation = target.evaluate(found, num_threads=num_threads)
    is_fine = np.isfinite(evaluation.log_density)
    if not is_fine.any():
        raise InferenceError(
            "chains must start where the log posterior is finite, got none of those that were tried. "
            "Use a prior of smaller scale, a smaller beta, or rewards that are scaled down."
        )
    chosen = np.flatnonzero(is_fine)[np.arange(NUM_PILOTS) % is_fine.sum()]
    return Chains(found, evaluation.values, evaluation.policies).at(chosen)


def _first_step(
    rng: np.random.Generator, target: Target | GeneralTarget, q: Gaussian, chains: Chains, step: float, num_threads: int
) -> tuple[float, int]:
    """Return a step, at most `step`, of which most are accepted in short trajectories, and the gradients it took."""
    num_gradients = 0
    few = chains.at(slice(8))
    while step > SMALLEST_STEP:
        tried = gaussian.move(
            rng, target, q, 1.0, few, step=step, num_leapfrog=10, num_moves=1, num_threads=num_threads
        )
        num_gradients += tried.num_gradients
        if tried.acceptance.mean() > 0.7:
            break
        step /= 1.8
    return step, num_gradients


def _tuned(step: float, moved: Moved, acceptance: float) -> float:
    return float(step * np.exp(1.5 * (moved.acceptance.mean() - acceptance)))


def _recent(rounds: list[Moved]) -> list[Moved]:
    """Return the later half of the rounds."""
    return rounds[len(rounds) // 2 :]


def _fit(rounds: list[Moved], trust: float) -> Gaussian:
    recent = _recent(rounds)
    arrays = (np.concatenate([each[i] for each in recent], axis=1) for i in (0, 5))
    positions, gradients = (array.reshape(-1, array.shape[-1]) for array in arrays)
    return gaussian.fitted(positions, gradients, trust=trust)


def _round_means(q: Gaussian, moved: Moved) -> FloatArray:
    """Return where each chain was on average `[M, R]`, in whitened coordinates."""
    return gaussian.whitened(q, moved.positions.mean(axis=1))


def _cross(rng: np.random.Generator, particles: Particles, pilot: Pilot, num_threads: int, report: Report) -> Particles:
    """Take draws of the Gaussian to the posterior."""
    settings, target, q = particles.settings, particles.target, pilot.q
    assert target is not None
    positions = gaussian.draw(rng, q, settings.num_particles)
    values, policies = solved_at(target, positions, num_threads)
    at_hand = Chains(positions, values, policies)
    log_p = target.log_likelihood(positions, values) - 0.5 * (positions**2 + LOG_2PI).sum(axis=1)
    log_ratio, group_size = log_p - gaussian.log_q(q, positions), 1
    power, log_evidence, variance = 0.0, 0.0, 0.0
    step, num_leapfrog = pilot.step, float(np.clip(TRAJECTORY_LENGTH / pilot.step, 4.0, settings.max_leapfrog))
    moves = Moves(step, num_leapfrog, num_gradients=pilot.num_gradients)
    while power < 1.0:
        if moves.num_rejuvenations == MAX_STAGES:
            raise InferenceError(
                f"the Gaussian near the posterior must reach it in {MAX_STAGES} stages, got to {power:.2g} of the way. "
                "Use path='prior'."
            )
        log_weights = (1.0 - power) * log_ratio
        part = stage_size(log_weights, settings.stage_ess * len(log_ratio))
        if power < LAST_LEAP:
            part = min(part, 0.5)
        log_weights = part * log_weights
        log_evidence += log_mean_exp(log_weights)
        variance += log_mean_variance(log_weights, group_size)
        power = 1.0 if part == 1.0 else power + part * (1.0 - power)
        at_hand, log_ratio, moves = _moved_on(rng, particles, q, power, at_hand, log_weights, moves, num_threads)
        group_size = settings.chain_length
        report(power)
    return replace(
        particles,
        positions=at_hand.positions,
        values=at_hand.values,
        policies=at_hand.policies,
        num_stages=moves.num_rejuvenations + 1,
        log_weights=np.zeros(len(at_hand.positions)),
        moved_log_evidence=log_evidence,
        moved_log_evidence_variance=variance,
        moves=moves,
    )


def _moved_on(
    rng: np.random.Generator,
    particles: Particles,
    q: Gaussian,
    power: float,
    at_hand: Chains,
    log_weights: FloatArray,
    moves: Moves,
    num_threads: int,
) -> tuple[Chains, FloatArray, Moves]:
    """Resample by `log_weights` and move at a power; return the particles, their log p - log q, and how moves went."""
    settings, target = particles.settings, particles.target
    assert target is not None
    size = settings.num_particles if power == 1.0 else int(np.ceil(STAGE_CHAINS * settings.num_particles))
    ancestors = systematic_resample(rng, normalised(log_weights), -(-size // settings.chain_length))
    chains = at_hand.at(ancestors)
    first = gaussian.whitened(q, chains.positions)
    step, num_leapfrog, num_gradients = moves.step, moves.num_leapfrog, moves.num_gradients
    start_correlation = 1.0
    for count in range(settings.max_burn_in):
        before = gaussian.whitened(q, chains.positions)
        moved = gaussian.move(
            rng, target, q, power, chains, step=step, num_leapfrog=num_leapfrog, num_moves=1, num_threads=num_threads
        )
        chains, num_gradients = moved.last, num_gradients + moved.num_gradients
        after = gaussian.whitened(q, chains.positions)
        is_tuned = abs(float(moved.acceptance.mean()) - settings.acceptance) < SAFE_ACCEPTANCE
        if is_tuned:
            start_correlation = gaussian.correlation(first, after)
            move_correlation = gaussian.correlation(before, after)
            if move_correlation > settings.move_correlation:
                num_leapfrog = min(1.5 * num_leapfrog, float(settings.max_leapfrog))
            elif move_correlation < 0.5 * settings.move_correlation:
                num_leapfrog = max(num_leapfrog / 1.25, 4.0)
        step = _tuned(step, moved, settings.acceptance)
        if is_tuned and start_correlation <= settings.start_correlation and count > 0:
            break
    moved = gaussian.move(
        rng, target, q, power, chains, step=step, num_leapfrog=num_leapfrog, num_moves=settings.chain_length,
        num_threads=num_threads,
    )  # fmt: skip
    kept = Chains(*concatenated(moved[:3], size))
    path = np.concatenate([chains.positions[:, None], moved.positions], axis=1)
    pairs = (part.reshape(-1, target.dimension) for part in (path[:, :-1], path[:, 1:]))
    return (
        kept,
        moved.log_ratio.ravel()[:size],
        Moves(
            step,
            num_leapfrog,
            float(moved.acceptance.mean()),
            gaussian.correlation(*(gaussian.whitened(q, each) for each in pairs)),
            start_correlation,
            int((moved.acceptance == 0.0).sum()),
            len(np.unique(ancestors)),
            moves.num_rejuvenations + 1,
            num_gradients + moved.num_gradients,
        ),
    )


def _doubt(pilot: Pilot, across: Particles) -> str:
    """Say what is doubtful about the posterior that a bridge reached, or nothing."""
    if pilot.correlation > PILOT_CORRELATION:
        return (
            f"chains from different places of the prior stay in places of their own (correlation "
            f"{pilot.correlation:.2f}): there may be several modes"
        )
    u, v = (gaussian.whitened(pilot.q, positions) for positions in (pilot.positions, across.positions))
    scale = np.maximum(np.sqrt(0.5 * (u.var(axis=0) + v.var(axis=0))), 1e-300)
    gap = float(np.sqrt(np.mean(((u.mean(axis=0) - v.mean(axis=0)) / scale) ** 2))) if u.shape[1] else 0.0
    if gap > MAX_DISAGREEMENT:
        return f"two ways to the posterior disagree by {gap:.2f} posterior standard deviations (rms)"
    return ""
