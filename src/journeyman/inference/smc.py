"""Sequential Monte Carlo over demonstrations: exact, incremental, warm.

Particles are draws of p(theta | moved counts). A new demonstration only reweights them, by its likelihood at values
that are known already. When the effective sample size of the weights has fallen below a part of the particles, they
are *rejuvenated* (waste-free, Dau and Chopin 2022): a few ancestors are drawn by systematic resampling, each runs a
chain of Hamiltonian moves that leave the new posterior invariant, and every state of these chains is a particle, with
equal weight. Where the answers are too surprising for one step, the change of counts is scaled down (a tempered
likelihood is one with fractional counts) so that each stage keeps half of the effective sample size.

People should not wait for that. With a `lag`, a rejuvenation is *started* when it is due, and *installed* that many
updates later; until then the particles at hand are reweighted on, and after it the new ones are reweighted by what came
since, which is as exact. It is installed earlier where fewer than 100 particles would be effective. Where that is not
enough, as after a surprising answer, a fifth of the particles is moved to the new posterior at once: *interim* ones, by
the same stages, which cost a fraction and stand for it until the others are installed. So a schedule that depends on
the weights alone says which particles stand for the posterior after each update, while most of the work can be done at
any time in between: `prepare` does it in the background.

Particles cannot find what the prior hardly ever proposes. When the answers are very improbable under all of them (see
`surprise`), a *search* starts again from a prior three times as wide, and takes prior and answers together to the
posterior by the same stages: at a part p of the way the precision of the prior is tau + p (1 - tau), tau = 1/9, and the
counts are p times the counts. It is as exact as the other way, with the same log evidence, and reaches what lies far
out in the prior; it costs more, so it is not the usual way.

What is taken back widens the posterior. Particles that an answer has narrowed cannot tell, by their weights or
otherwise, what they miss of the wider one, so they never go back: particles that were moved before that answer came are
reweighted, and where there are none, all begins again at the prior.

With a Discrete prior there is nothing to move: reweighting alone is exact.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from journeyman.checks import check_options, whole_number
from journeyman.demonstrations import Demonstration
from journeyman.errors import InferenceError, InputError, UnsupportedError
from journeyman.inference import batch, redraws
from journeyman.inference.diagnostics import Diagnostics, least_particle_ess, smc_warnings, surprise_warnings
from journeyman.inference.general import make_target, soft_refusal
from journeyman.inference.likelihood import expert_values, is_soft, no_parameters
from journeyman.inference.particles import Moved, Moves, Particles, SMCSettings, Started, move, rejuvenated, settle
from journeyman.inference.posterior import Posterior, expert_fields
from journeyman.inference.proposals import ProposingChains
from journeyman.inference.surrogate import SurrogateChains
from journeyman.inference.target import MAX_EXACT_STATES, SOLVED_ENTRIES, refined, solved_at
from journeyman.inference.weights import effective_size, normalised, stage_size, tempering_done
from journeyman.mdp import q_values, solve_batch
from journeyman.problem import Problem
from journeyman.progress import progress_bar
from journeyman.resources import check_memory
from journeyman.rewards import DiscretePrior, has_atoms
from journeyman.rewards.agreement import check_atoms
from journeyman.threads import Ahead, resolve_num_threads
from journeyman.types import AnyArray, FloatArray, IntArray

Report = Callable[[float], None]
MIN_DRAWN_CHAINS = 50  # of `draw_more`: the spread between fewer would say little about what draws are worth
MAX_DRAWN_ENTRIES = 50_000_000  # numbers that `draw_more` holds at once
MAX_REDRAWN_ENTRIES = 600_000_000  # the same in large worlds, where they are float32
SPARE_PARTICLES = 1.5  # some ancestors of particles are doubles
SNAPSHOT_ARRAYS = ("positions", "values", "policies", "moved_counts", "counts", "log_weights")
SNAPSHOT_NUMBERS = ("num_stages", "moved_log_evidence", "seconds")
LATER_NUMBERS: dict[str, Any] = {
    "num_searched": 0,
    "moved_log_evidence_variance": None,
}  # with what they are in snapshots that have none
SOURCE = "source_"  # begins the names of arrays of particles that a rejuvenation started from, if others are at hand
WIDE_PRECISION = 1.0 / 9.0  # of the prior that a search starts from: three times as wide
SEARCH_FACTOR = 4  # particles of a search, in units of the usual number, at most
SEARCH_ENTRIES = (
    40_000  # particles of a search times parameters, at most: where the usual number has more, there is none
)
SEARCH_GROWTH = 1.25  # of the number of answers before another search
CLEARLY_LESS = 1.0  # log evidence, in nats
ROUNDING = 1e-6  # of counts that were taken apart and added up
LARGE_ENTRIES = 10_000_000  # values of particles by default, in worlds of more than 20,000 states
LEAST_PARTICLES = 128
LARGE_CHAIN_LENGTH = 4  # of as few particles: else there would be too few ancestors
SMALL_ENTRIES = 1_000_000  # values that need no forecast
INTERIM_PARTICLES = 200  # so that all that carry no warning are effective when they have moved halfway
INTERIM_CHAIN_LENGTH = 4  # more ancestors for as many moves: most of these are made before any is kept


class Snapshot(NamedTuple):
    """State of an incremental method: facts are plain data that JSON can hold, arrays have names and no objects."""

    facts: dict[str, Any]
    arrays: dict[str, AnyArray]


def refusal(problem: Problem) -> str | None:
    """Return why particles cannot do a problem, or None if they can."""
    if not problem.prior.is_discrete:
        return soft_refusal(problem, "smc")
    if problem.expert_space.size == 0:
        return None
    return (
        f"a {type(problem.prior).__name__} prior of the reward needs an expert whose all is known, got unknown "
        f"{', '.join(problem.expert_space.names)}. Give these as numbers, or use a continuous prior."
    )


def infer_smc(
    problem: Problem,
    counts: IntArray,
    *,
    seed: int = 0,
    num_threads: int | None = None,
    progress: bool | None = None,
    **settings: Any,
) -> Posterior:
    """Sample the posterior of all demonstrations at once; settings as in `SMCSettings`.

    By tempering from the prior, or by way of a Gaussian near the posterior (see `batch`).
    """
    doubt = ""
    with progress_bar("Moving particles", is_shown=progress) as report:
        particles = start(problem, seed=seed, num_threads=num_threads, **settings)
        particles = replace(particles, settings=replace(particles.settings, lag=0))  # nobody asks in between
        found, doubt = batch.shortcut(particles, counts, num_threads=num_threads, report=report)
        if found is None:
            found = _advanced(particles, counts, num_threads=num_threads, report=report)
    posterior = posterior_of(found)
    if not doubt:
        return posterior
    diagnostics = posterior.diagnostics
    return replace(posterior, diagnostics=replace(diagnostics, warnings=(*diagnostics.warnings, doubt)))


def start(problem: Problem, *, seed: int = 0, num_threads: int | None = None, **settings: Any) -> Particles:
    """Return particles of the prior."""
    begin = time.perf_counter()
    whole_number(seed, "seed", 0, "Use another one.")
    check_options(settings, [field.name for field in fields(SMCSettings)], "smc")
    chosen = settings_for(problem, settings)
    reason = refusal(problem)
    if reason is not None:
        raise UnsupportedError(reason)
    _check_memory(problem, len(problem.prior.weights) if has_atoms(problem.prior) else chosen.num_particles)
    zeros = np.zeros(problem.counts_shape)
    target = None
    if has_atoms(problem.prior):
        positions, log_weights, values, policies = _atoms(problem, problem.prior, num_threads)
        moves = Moves(0.0, 0.0, distinct_ancestors=len(positions))
    else:
        target = make_target(problem)
        rng = np.random.default_rng([seed, 0])
        positions = rng.standard_normal((chosen.num_particles, target.dimension))
        values, policies = solved_at(target, positions, num_threads)
        log_weights = np.zeros(chosen.num_particles)
        moves = Moves(0.1, 10.0, distinct_ancestors=chosen.num_particles)
    return Particles(
        target, problem, chosen, seed, 1, positions, values, policies, zeros, zeros, log_weights, 0.0, moves,
        time.perf_counter() - begin,
    )  # fmt: skip


def settings_for(problem: Problem, given: Mapping[str, Any]) -> SMCSettings:
    """Return settings, with fewer particles in worlds of more than 20,000 states, unless their number is given.

    There are as many as have `LARGE_ENTRIES` values, and at least `LEAST_PARTICLES`; chains are shorter, so that there
    are as many ancestors.
    """
    num_states = problem.mdp.num_states
    if num_states <= MAX_EXACT_STATES or "num_particles" in given or problem.prior.is_discrete:
        return SMCSettings(**given)
    num_particles = max(LEAST_PARTICLES, min(SMCSettings.num_particles, LARGE_ENTRIES // num_states))
    chain_length = SMCSettings.chain_length if num_particles >= SMCSettings.num_particles else LARGE_CHAIN_LENGTH
    return SMCSettings(**{"num_particles": num_particles, "chain_length": chain_length, **given})


def _check_memory(problem: Problem, num_samples: int) -> None:
    """Refuse samples whose values will not fit into memory: twice, since moves make new ones beside the old."""
    mdp = problem.mdp
    per_value = 4 + 1 if mdp.num_states > MAX_EXACT_STATES else 8 + 8  # values and policies
    groups = problem.expert_space.num_groups if is_soft(problem) else 1
    solving = 6 * 8 * min(SOLVED_ENTRIES, num_samples * problem.reward_model.offset.size)
    if num_samples * mdp.num_states < SMALL_ENTRIES:
        return
    check_memory(
        2.5 * per_value * num_samples * mdp.num_states * groups + solving,
        f"values of {num_samples} particles in {mdp.num_states} states",
        "Use fewer particles (num_particles), or fewer states: only those that can be reached.",
    )


def _atoms(
    problem: Problem, prior: DiscretePrior, num_threads: int | None
) -> tuple[FloatArray, FloatArray, FloatArray, AnyArray]:
    check_atoms(prior)
    rewards, log_weights = problem.reward_model.reward(prior.atoms), np.log(prior.weights * len(prior.atoms))
    solution = solve_batch(problem.mdp, rewards, num_threads=num_threads)
    values = solution.values
    if is_soft(problem):
        values = expert_values(problem, rewards, no_parameters(len(rewards)), num_threads=num_threads)[:, 0]
    return prior.atoms, log_weights, values, solution.policy


def update(
    particles: Particles, demonstrations: Iterable[Demonstration] | Demonstration, *, num_threads: int | None = None
) -> Particles:
    """Add demonstrations, one or many."""
    return advance(particles, particles.counts + particles.problem.counts(demonstrations), num_threads=num_threads)


def remove(
    particles: Particles, demonstrations: Iterable[Demonstration] | Demonstration, *, num_threads: int | None = None
) -> Particles:
    """Take demonstrations out again: from the prior, unless particles were not moved since these came."""
    counts = particles.counts - particles.problem.counts(demonstrations)
    if (counts < 0).any():
        s, a = (int(i) for i in np.argwhere(counts < 0)[0][-2:])
        raise InputError(f"only demonstrations that were added can be removed, got action {a} in state {s} too often.")
    return advance(particles, counts, num_threads=num_threads)


def advance(
    particles: Particles,
    counts: AnyArray,
    *,
    num_threads: int | None = None,
) -> Particles:
    """Return particles of the posterior given `counts` `[S, A]`, from those given other counts.

    Where some answers are gone, that may be the way from the prior: see `_taken_back`.
    Where the answers are very surprising under them, and were not searched for since their number was less by a fifth,
    what a search finds is taken, unless it has clearly less evidence; with many parameters there is no search. From the
    prior to many answers at once, such as a table of recorded steps, it may go by way of a Gaussian (see `batch`).
    """
    with progress_bar("Moving particles") as report:
        particles = _taken_back(particles, counts, num_threads)
        if particles.settings.path == "auto" and not particles.counts.any() and not particles.moved_counts.any():
            counts = np.asarray(counts)
            found, _ = batch.shortcut(particles, counts, num_threads=num_threads, report=report)
            if found is not None:
                return found
        return _advanced(particles, counts, num_threads=num_threads, report=report)


def _taken_back(particles: Particles, counts: AnyArray, num_threads: int | None) -> Particles:
    """Return particles moved by nothing that is not in `counts`: these, what they come from, or those of the prior."""
    if particles.target is None:
        return particles
    started = particles.started
    if started is not None and (counts < started.counts).any():
        source = particles if started.source is None else started.source
        particles = replace(source, started=None, num_searched=particles.num_searched)
    if not (counts < particles.moved_counts).any():
        return particles
    settings = {field.name: getattr(particles.settings, field.name) for field in fields(SMCSettings)}
    fresh = start(particles.problem, seed=particles.seed, num_threads=num_threads, **settings)
    moves = fresh.moves._replace(num_gradients=particles.moves.num_gradients)
    return replace(fresh, moves=moves, seconds=particles.seconds + fresh.seconds)


def _advanced(particles: Particles, counts: AnyArray, *, num_threads: int | None, report: Report | None) -> Particles:
    """Advance from the particles at hand: by weights and moves, or by a search."""
    begin = time.perf_counter()
    num_threads = resolve_num_threads(num_threads)
    counts = np.asarray(counts, dtype=np.float64)
    if particles.target is None:
        log_weights = _atom_log_weights(particles, counts)
        return replace(particles, counts=counts, log_weights=log_weights, seconds=_since(begin, particles))
    num_answers = int(np.rint(counts.sum()))
    advanced = _scheduled(particles, counts, num_threads, report)
    advanced = replace(advanced, num_searched=min(advanced.num_searched, num_answers))
    is_due = num_answers >= SEARCH_GROWTH * advanced.num_searched and can_search(advanced)
    if is_due and advanced.surprise.is_large:
        advanced = finished(advanced, num_threads=num_threads)
        if advanced.surprise.is_large:
            advanced = replace(_better_found(advanced, num_threads), num_searched=num_answers)
    return replace(advanced, seconds=_since(begin, particles))


def _scheduled(particles: Particles, counts: FloatArray, num_threads: int, report: Report | None = None) -> Particles:
    """Take particles to the posterior given `counts`: reweight, and start, install or do at once what is due."""
    settings, started = particles.settings, particles.started
    at_hand = replace(particles, started=None)
    if settings.lag == 0:
        return _tempered(at_hand, counts, num_threads, report)
    reweighted = _reweighted(at_hand, counts)
    is_enough = _is_enough(reweighted)
    if started is not None:
        num_waited = started.num_waited + 1
        if is_enough and num_waited < settings.lag:
            return replace(reweighted, started=started._replace(num_waited=num_waited))
        return _scheduled(_installed(particles, started, num_threads), counts, num_threads, report)
    if not is_enough and _has_interim(at_hand):
        return _interim(at_hand, counts, num_threads)
    if not is_enough:
        reweighted = _tempered(at_hand, counts, num_threads, report)
    if effective_size(reweighted.log_weights) >= _early(settings) * settings.num_particles:
        return reweighted
    return replace(reweighted, started=_started(reweighted, counts))


def _reweighted(particles: Particles, counts: FloatArray) -> Particles:
    log_weights = _log_ratio(particles, counts - particles.moved_counts, 0.0)
    return replace(particles, counts=counts, log_weights=log_weights)


def _is_enough(particles: Particles) -> bool:
    """Return whether questions may be chosen from particles: where they carry no warning that few are effective."""
    return effective_size(particles.log_weights) >= least_particle_ess(len(particles.log_weights))


def _early(settings: SMCSettings) -> float:
    """Return the part of the particles that are effective when a rejuvenation is started that is installed later.

    It is halfway to the threshold, on the scale on which answers make it fall.
    """
    return float(np.sqrt(settings.ess_threshold))


def _started(particles: Particles, counts: FloatArray, num_waited: int = 0, *, is_interim: bool = False) -> Started:
    """Return a rejuvenation of `particles`; `is_interim` says that others are at hand until it is installed."""
    source = replace(particles, counts=counts, started=None)
    return Started(counts, num_waited, Ahead(partial(_moved_on, source)), source if is_interim else None)


def _has_interim(particles: Particles) -> bool:
    """Return whether there are interim particles instead of these.

    There are none of few particles, nor of those of the prior: answers that surprise these are many, or come first.
    """
    return particles.settings.num_particles > INTERIM_PARTICLES and particles.moves.num_rejuvenations > 0


def _interim_settings(settings: SMCSettings) -> SMCSettings:
    chain_length = min(settings.chain_length, INTERIM_CHAIN_LENGTH)
    return replace(settings, num_particles=INTERIM_PARTICLES, chain_length=chain_length, ess_threshold=0.5)


def _interim(particles: Particles, counts: FloatArray, num_threads: int) -> Particles:
    """Return few particles of the posterior given `counts`, and the rejuvenation of all that will replace them."""
    small = replace(particles, settings=_interim_settings(particles.settings))
    interim = _tempered(small, counts, num_threads)
    source = replace(particles, moves=particles.moves._replace(num_gradients=interim.moves.num_gradients))
    return replace(interim, settings=particles.settings, started=_started(source, counts, is_interim=True))


def _moved_on(source: Particles, num_threads: int) -> Particles:
    return _tempered(source, source.counts, num_threads, threshold=_early(source.settings))


def _installed(particles: Particles, started: Started, num_threads: int) -> Particles:
    """Return what a rejuvenation gives, at the counts when it was started."""
    return replace(started.result.value(num_threads), num_searched=particles.num_searched)


def finished(particles: Particles, *, num_threads: int | None = None) -> Particles:
    """Return particles of the same posterior, with none of the rejuvenations under way that they would wait for."""
    if particles.started is None:
        return particles
    num_threads = resolve_num_threads(num_threads)
    installed = _installed(particles, particles.started, num_threads)
    return replace(_tempered(installed, particles.counts, num_threads), seconds=particles.seconds)


def prepare(particles: Particles, *, num_threads: int | None = None) -> None:
    """Begin in the background what a later update will need; with one thread nothing is done beside the caller."""
    num_threads = resolve_num_threads(num_threads)
    if particles.started is not None and num_threads != 1:
        particles.started.result.begin(num_threads)


def _tempered(
    particles: Particles,
    counts: FloatArray,
    num_threads: int,
    report: Report | None = None,
    *,
    threshold: float | None = None,
) -> Particles:
    """Take particles to the posterior given `counts`, in stages that each keep enough of the effective size.

    `threshold` is used instead of the `ess_threshold` of the settings, if given.
    """
    settings = particles.settings
    wanted = (settings.ess_threshold if threshold is None else threshold) * settings.num_particles
    change, narrowing = counts - particles.moved_counts, 1.0 - particles.precision
    remaining, first = 1.0, 0.0
    log_weights = _log_ratio(particles, change, narrowing)
    while effective_size(log_weights) < wanted:
        part = stage_size(log_weights, settings.stage_ess * settings.num_particles)
        precision = 1.0 if part == 1.0 else particles.precision + part * narrowing
        particles = rejuvenated(particles, part * log_weights, part * change, num_threads, precision)
        remaining *= 1.0 - part
        first = first or part
        change = counts - particles.moved_counts if part < 1.0 else np.zeros_like(counts)
        narrowing = 1.0 - particles.precision
        log_weights = _log_ratio(particles, change, narrowing)
        if report is not None:
            report(tempering_done(1.0 - remaining, first))
    if remaining < 1.0 and particles.moves.is_proposing:
        values = refined(particles.target, particles.positions, particles.values, num_threads)
        particles = replace(particles, values=values)
    if report is not None:
        report(1.0)
    return replace(particles, counts=counts, log_weights=log_weights)


def can_search(particles: Particles) -> bool:
    """Return whether a search is worth its time: with many parameters it takes minutes, and finds little."""
    assert particles.target is not None
    return particles.settings.num_particles * particles.target.dimension <= SEARCH_ENTRIES


def search(particles: Particles, *, num_threads: int | None = None) -> Particles:
    """Return other particles of the same posterior, reached from a wide prior.

    There are more of them on the way, if few parameters make them cheap.
    The prior N(0, I / tau) of the start lacks the factor tau^(D / 2) of N(0, I), which the log evidence begins with.
    """
    num_threads = resolve_num_threads(num_threads)
    target, usual = particles.target, particles.settings
    assert target is not None
    affordable = min(SEARCH_FACTOR * usual.num_particles, SEARCH_ENTRIES // target.dimension)
    num_particles = max(usual.num_particles, affordable)  # fewer would be no search
    rng = np.random.default_rng([particles.seed, particles.num_stages])
    positions = rng.standard_normal((num_particles, target.dimension)) / np.sqrt(WIDE_PRECISION)
    values, policies = solved_at(target, positions, num_threads)
    zeros = np.zeros_like(particles.counts)
    wide = replace(
        particles,
        target=target.with_counts(zeros).with_precision(WIDE_PRECISION),
        settings=replace(usual, num_particles=num_particles),
        num_stages=particles.num_stages + 1,
        positions=positions,
        values=values,
        policies=policies,
        moved_counts=zeros,
        counts=zeros,
        log_weights=np.zeros(num_particles),
        moved_log_evidence=-0.5 * target.dimension * float(np.log(WIDE_PRECISION)),
        moves=Moves(0.1, 10.0, num_gradients=particles.moves.num_gradients),
        precision=WIDE_PRECISION,
    )
    found = _tempered(wide, particles.counts, num_threads)
    change = particles.counts - found.moved_counts
    last = rejuvenated(replace(found, settings=usual), found.log_weights, change, num_threads)
    return replace(last, log_weights=np.zeros(len(last.positions)))


def _better_found(particles: Particles, num_threads: int) -> Particles:
    """Return what a search finds, unless it has clearly less evidence than the particles at hand.

    It reaches more, so that it is taken where both seem to have the same. One that fails finds nothing: particles then
    stay as surprised as they are, and say so.
    """
    try:
        found = search(particles, num_threads=num_threads)
    except InferenceError:
        return particles
    if found.log_evidence >= particles.log_evidence - CLEARLY_LESS:
        return found
    num_gradients = found.moves.num_gradients
    return replace(particles, num_stages=found.num_stages, moves=particles.moves._replace(num_gradients=num_gradients))


def _since(begin: float, particles: Particles) -> float:
    return particles.seconds + time.perf_counter() - begin


def _log_ratio(particles: Particles, change: FloatArray, narrowing: float) -> FloatArray:
    """Return the log likelihood of a change of counts at the particles, and of a change of the prior's precision."""
    assert particles.target is not None
    target = particles.target.with_counts(change, is_change=True)
    log_likelihood = target.log_likelihood(particles.positions, particles.values)
    if narrowing != 0.0:
        log_likelihood = log_likelihood - 0.5 * narrowing * (particles.positions**2).sum(axis=1)
    return _checked(log_likelihood)


def _atom_log_weights(particles: Particles, counts: FloatArray) -> FloatArray:
    problem, prior = particles.problem, particles.problem.prior
    assert has_atoms(prior)
    q = q_values(problem.mdp, problem.reward_model.reward(prior.atoms), particles.values)
    log_policy = problem.expert.log_policy(q)
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


def sized_options(options: Mapping[str, Any], num_independent: float) -> dict[str, Any]:
    """Return the options with enough particles, where their number is not given, to be worth so many draws."""
    if "num_particles" in options:
        return dict(options)
    usual = SMCSettings()
    chain_length = whole_number(options.get("chain_length", usual.chain_length), "chain_length", 1)
    wanted = SPARE_PARTICLES * chain_length * num_independent
    if not np.isfinite(wanted):
        raise InputError(
            "delta must be a chance that particles can show, got one that would take more of them than any number. "
            "Choose a larger delta, or give num_particles."
        )
    needed = int(np.ceil(wanted))
    return {**options, "num_particles": needed} if needed > usual.num_particles else dict(options)


def longer_options(options: Mapping[str, Any], factor: int) -> dict[str, Any]:
    """Return the options with `factor` times as many particles."""
    return {**options, "num_particles": factor * int(options.get("num_particles", SMCSettings.num_particles))}


def to_snapshot(particles: Particles) -> Snapshot:
    """Return particles as plain data and arrays, bit by bit."""
    names = (*SNAPSHOT_NUMBERS, *LATER_NUMBERS)
    facts = {name: getattr(particles, name) for name in names} | {"moves": particles.moves._asdict()}
    arrays = {name: np.array(getattr(particles, name)) for name in SNAPSHOT_ARRAYS}
    started = particles.started
    if started is not None:  # its result follows from the rest
        facts["num_waited"] = started.num_waited
        arrays["started_counts"] = np.array(started.counts)
        if started.source is not None:
            source = to_snapshot(started.source)
            facts["source"] = source.facts
            arrays |= {SOURCE + name: array for name, array in source.arrays.items()}
    return Snapshot(facts, arrays)


def from_snapshot(problem: Problem, snapshot: Snapshot, *, seed: int = 0, **settings: Any) -> Particles:
    """Return the particles that a snapshot holds."""
    arrays: dict[str, Any] = {name: np.ascontiguousarray(snapshot.arrays[name]) for name in SNAPSHOT_ARRAYS}
    num_states = problem.mdp.num_states
    if arrays["values"].shape[1:] != (num_states * (problem.expert_space.num_groups if is_soft(problem) else 1),):
        raise InputError(
            f"a snapshot must belong to its problem of {num_states} states, got values of shape "
            f"{arrays['values'].shape}. Restore without it: snapshot=None."
        )
    moved = [arrays["moved_counts"], *(snapshot.arrays[name] for name in snapshot.arrays if name == "started_counts")]
    if not problem.prior.is_discrete and any((one > arrays["counts"] + ROUNDING).any() for one in moved):
        raise InputError(
            "a snapshot must hold particles that were moved by answers that count, got some by answers that were taken "
            "back, as older versions kept them. Restore without it: snapshot=None."
        )
    source = None
    if "source" in snapshot.facts:
        kept = {name.removeprefix(SOURCE): array for name, array in snapshot.arrays.items() if name.startswith(SOURCE)}
        source = from_snapshot(problem, Snapshot(snapshot.facts["source"], kept), seed=seed, **settings)
    particles = Particles(
        target=None if problem.prior.is_discrete else make_target(problem).with_counts(arrays["moved_counts"]),
        problem=problem,
        settings=settings_for(problem, settings),
        seed=seed,
        moves=Moves(**snapshot.facts["moves"]),
        **{name: snapshot.facts[name] for name in SNAPSHOT_NUMBERS},
        **{name: snapshot.facts.get(name, default) for name, default in LATER_NUMBERS.items()},
        **arrays,
    )
    if "started_counts" not in snapshot.arrays:
        return particles
    counts = np.ascontiguousarray(snapshot.arrays["started_counts"])
    num_waited = int(snapshot.facts["num_waited"])
    started = _started(source or particles, counts, num_waited, is_interim=source is not None)
    return replace(particles, started=started)


def draw_more(particles: Particles, *, seed: int, num_threads: int | None = None) -> Iterator[Posterior]:
    """Yield posteriors that grow, as long as there is memory: all draws so far of chains that start from the particles.

    The chains are many and first move until they have forgotten where they started, so that they are nearly independent
    draws of the posterior. Each posterior has twice as many draws as the last one.
    """
    particles = finished(particles, num_threads=num_threads)
    source, settings = particles.target, particles.settings
    if source is None:  # a Discrete prior: the posterior is exact, there is nothing to draw
        yield posterior_of(particles)
        return
    begin, num_threads = time.perf_counter(), resolve_num_threads(num_threads)
    rng = np.random.default_rng(seed)
    target = source.with_counts(particles.counts)
    if redraws.is_affordable(particles.problem, target.dimension):
        yield from _redrawn_posteriors(rng, particles, target, begin, num_threads)
        return
    num_chains = max(settings.num_chains, MIN_DRAWN_CHAINS)
    settled = settle(rng, particles, target, particles.log_weights, num_chains, num_threads)
    chains, num_gradients, num_moves = settled.chains, settled.num_gradients, settings.chain_length
    parts: list[Moved] = []
    num_entries = 0
    while num_entries <= MAX_DRAWN_ENTRIES:
        moved = move(rng, chains, settled.step, settled.num_leapfrog, num_moves)
        chains, num_gradients = moved.chains, num_gradients + moved.num_gradients
        parts.append(moved)
        num_moves = sum(part.acceptance.shape[1] for part in parts)
        positions, values = (np.concatenate([part.kept[i] for part in parts], axis=1) for i in (0, 1))
        size = positions.shape[0] * positions.shape[1]
        if isinstance(chains, ProposingChains | SurrogateChains):
            flat = positions.reshape(size, -1), values.reshape(size, -1)
            values = refined(target, *flat, num_threads).reshape(values.shape)
        num_entries = 2 * (positions.size + values.size)  # of the next one
        moves = particles.moves._replace(
            acceptance=float(np.mean([part.acceptance.mean() for part in parts])),
            start_correlation=settled.start_correlation,
            num_divergences=int(sum((part.acceptance == 0.0).sum() for part in parts)),
            distinct_ancestors=settled.num_ancestors,
            num_rejuvenations=particles.moves.num_rejuvenations + 1,
            is_proposing=isinstance(chains, ProposingChains | SurrogateChains),
        )
        yield Posterior(
            problem=particles.problem,
            counts=np.rint(particles.counts).astype(np.int64),
            theta=target.parameters(positions.reshape(size, -1)),
            weights=np.full(size, 1.0 / size),
            **expert_fields(particles.problem, positions.reshape(size, -1), values.reshape(size, -1), num_threads),
            method="smc",
            diagnostics=Diagnostics(
                seconds=time.perf_counter() - begin,
                num_gradients=num_gradients,
                acceptance=moves.acceptance,
                num_divergences=moves.num_divergences,
                warnings=(
                    *smc_warnings(size, settings.num_particles, moves, settings),
                    *surprise_warnings(particles.surprise),
                ),
            ),
            log_evidence=particles.log_evidence,
            log_evidence_error=particles.log_evidence_error,
            chains=positions.shape[:2],
        )


def _redrawn_posteriors(
    rng: np.random.Generator, particles: Particles, target: Any, begin: float, num_threads: int
) -> Iterator[Posterior]:
    """Yield what `draw_more` does in large worlds: weighted draws of mixtures, each independent of the others."""
    size, settings = particles.settings.num_particles, particles.settings
    draws = redraws.drawn_anew(rng, target, particles.positions, particles.log_weights, size, num_threads)
    while True:
        num_draws = len(draws.positions)
        moves = particles.moves._replace(
            acceptance=draws.effective_size / num_draws,
            start_correlation=0.0,
            distinct_ancestors=num_draws,
            num_rejuvenations=particles.moves.num_rejuvenations + 1,
            is_proposing=True,
        )
        yield Posterior(
            problem=particles.problem,
            counts=np.rint(particles.counts).astype(np.int64),
            theta=target.parameters(draws.positions),
            weights=normalised(draws.log_weights),
            **expert_fields(particles.problem, draws.positions, draws.values, num_threads),
            method="smc",
            diagnostics=Diagnostics(
                seconds=time.perf_counter() - begin,
                num_gradients=particles.moves.num_gradients + num_draws,
                particle_ess=draws.effective_size,
                acceptance=moves.acceptance,
                distinct_ancestors=num_draws,
                chain_length=1,
                warnings=(
                    *smc_warnings(draws.effective_size, size, moves, settings),
                    *surprise_warnings(particles.surprise),
                ),
            ),
            log_evidence=particles.log_evidence,
            log_evidence_error=particles.log_evidence_error,
        )
        if 2 * draws.values.size > MAX_REDRAWN_ENTRIES:
            return
        draws = redraws.more_draws(rng, target, draws, num_draws, num_threads)


def posterior_of(particles: Particles) -> Posterior:
    """Return the posterior that the particles stand for."""
    moves, settings = particles.moves, particles.settings
    if particles.started is not None and particles.started.source is not None:
        settings = _interim_settings(settings)
    is_discrete = particles.target is None
    ess = effective_size(particles.log_weights)
    diagnostics = Diagnostics(
        seconds=particles.seconds,
        num_gradients=moves.num_gradients,
        particle_ess=ess,
        acceptance=None if is_discrete or not moves.num_rejuvenations else moves.acceptance,
        move_correlation=None if is_discrete or not moves.num_rejuvenations else moves.correlation,
        num_divergences=None if is_discrete else moves.num_divergences,
        distinct_ancestors=None if is_discrete else moves.distinct_ancestors,
        chain_length=settings.chain_length if moves.num_rejuvenations else None,
        num_rejuvenations=moves.num_rejuvenations,
        warnings=(
            *(() if is_discrete else smc_warnings(ess, len(particles.positions), moves, settings)),
            *surprise_warnings(particles.surprise),
        ),
    )
    return Posterior(
        problem=particles.problem,
        counts=np.rint(particles.counts).astype(np.int64),
        theta=particles.theta,
        weights=particles.weights,
        **expert_fields(particles.problem, particles.positions, particles.values),
        method="smc",
        diagnostics=diagnostics,
        log_evidence=particles.log_evidence,
        log_evidence_error=particles.log_evidence_error,
    )
