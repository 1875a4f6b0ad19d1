"""Reward and dynamics together, where the dynamics were estimated: sequential Monte Carlo over both.

    p(theta, P | D, steps)  ~  p(theta) p(P | steps) p(D | theta, P)

Each particle has parameters of its own (unconstrained z, standard Normal under the prior) and dynamics of its own: per
possible outcome a Gamma variable g ~ Gamma(prior + counts), whose shares within each row s, a are the Dirichlet
posterior of the steps, and for states that were never visited whether they are terminal. The likelihood is tempered
from none of the answers to all of them; after each stage particles are resampled and moved until they have forgotten
where they started:

- z by a random walk, scaled by the covariance of the particles, accepted by prior and likelihood;
- some rows of g, and what is terminal, by moves that leave p(P | steps) invariant, accepted by likelihood alone:
  g' = B g + G with B ~ Beta(rho a, (1 - rho) a), G ~ Gamma((1 - rho) a), a = prior + counts (Lewis, McKenzie and Hugus
  1989). With rho = 0 these are fresh draws, with rho near 1 small steps.

All that is solved for is dense: for problems of up to a few hundred states.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from journeyman.errors import InferenceError
from journeyman.inference.likelihood import is_soft, log_policies
from journeyman.inference.weights import log_mean_exp, normalised, stage_size, systematic_resample, tempering_done
from journeyman.mdp import EstimatedDynamics, FiniteMDP
from journeyman.problem import Problem
from journeyman.rewards import DiscretePrior, continuous, has_atoms
from journeyman.types import AnyArray, BoolArray, FloatArray, IntArray

MAX_ENTRIES = 60_000_000  # numbers in the transitions of all particles
MAX_STATES = 200  # beyond it dense solving takes too long
STAGE_SHARE = 0.5  # of the particles that stay effective in a stage
KEEPS = (0.0, 0.5, 0.9)  # rho of the moves of dynamics, in turn
REDRAWN = 0.3  # chance that a move draws anew what is terminal
THETA_ACCEPTANCE, ROW_ACCEPTANCE = 0.25, 0.3  # that step sizes are adapted to
MIN_MOVES = 10
STAGE_MOVES, LAST_MOVES = 40, 300  # at most
STAGE_LEFT, LAST_LEFT = 0.5, 0.1  # correlation with the start, at which moves are enough
MAX_LEFT = 0.3  # above it particles are doubtful
MAX_SWEEPS = 100  # of policy iteration, which takes a few


class Particles(NamedTuple):
    """N particles.

    positions `[N, D + E]`, or the numbers of atoms `[N, 1]`; gammas `[N, nnz]`; is_ending `[N, S]`: states taken to be
    terminal among those never visited; values `[N, S]` and policy `[N, S]` that are optimal; log_likelihood `[N]`.
    """

    positions: FloatArray
    gammas: FloatArray
    is_ending: BoolArray
    values: FloatArray
    policy: IntArray
    log_likelihood: FloatArray

    def at(self, chosen: AnyArray) -> "Particles":
        """Return some of them, by number."""
        return Particles._make(array[chosen] for array in self)


class JointSample(NamedTuple):
    """Draws of reward and dynamics, equally weighted.

    theta `[N, D]`, parameters of the expert `[N, E]`, values `[N, S]`; ancestors `[N]`: particles with the same number
    started their last moves at one place; mdp_fn(i): the dynamics of one of them; log_evidence of the answers; left:
    correlation with where the last moves started; warnings: what is doubtful.
    """

    theta: FloatArray
    parameters: FloatArray
    values: FloatArray
    ancestors: IntArray
    mdp_fn: Callable[[int], FiniteMDP]
    log_evidence: float
    left: float
    warnings: tuple[str, ...]


def can_move_together(problem: Problem, num_particles: int) -> bool:
    """Return whether reward and dynamics can be sampled together: optimal values, and few enough states."""
    mdp = problem.mdp
    size = num_particles * mdp.num_states**2 * mdp.num_actions
    return not is_soft(problem) and mdp.num_states <= MAX_STATES and size <= MAX_ENTRIES


def sample_joint(
    problem: Problem,
    dynamics: EstimatedDynamics,
    counts: IntArray,
    num_particles: int,
    *,
    seed: int = 0,
    report: Callable[[float], None] = lambda done: None,
) -> JointSample:
    """Draw rewards and dynamics from their joint posterior, given counts of answers `[S, A]` or `[G, S, A]`."""
    target = Target(problem, dynamics, np.asarray(counts))
    rng = np.random.default_rng(seed)
    particles = target.prior_draws(rng, num_particles)
    ancestors, left, log_evidence, power, first = np.arange(num_particles), 0.0, 0.0, 0.0, 0.0
    if not target.has_answers:
        power = 1.0
    steps = Steps()
    while power < 1.0:
        rest = (1.0 - power) * particles.log_likelihood
        if not np.isfinite(rest.max()):
            raise InferenceError(
                "the demonstrations must have a positive probability under some reward and dynamics, got none. Check "
                "that beta fits the expert (a smaller one allows more mistakes) and that the prior covers the truth."
            )
        part = stage_size(rest, STAGE_SHARE * num_particles)
        log_evidence += log_mean_exp(part * rest)
        weights = normalised(part * rest)
        power = 1.0 if part == 1.0 else power + part * (1.0 - power)
        ancestors = systematic_resample(rng, weights, num_particles)
        first = first or power
        done = 0.5 * tempering_done(power, first)
        particles, left = moved(rng, target, particles.at(ancestors), power, steps, done, report)
    report(1.0)
    theta, parameters = target.natural(particles.positions)
    warnings: tuple[str, ...] = ()
    if left > MAX_LEFT:
        warnings = (
            f"particles of reward and dynamics keep a correlation of {left:.2f} with where they started, above "
            f"{MAX_LEFT}. Collect more steps of the dynamics, or use fewer answers.",
        )
    return JointSample(
        theta,
        parameters,
        particles.values,
        ancestors,
        lambda i: dynamics.mdp_of(target.chances(particles.gammas[i : i + 1])[0], particles.is_ending[i]),
        log_evidence,
        left,
        warnings,
    )


class Steps:
    """Sizes of moves, which adapt while particles move: of z, and chances of a row to be moved, for each rho."""

    def __init__(self) -> None:
        self.scale = 1.0
        self.chances = [0.2] * len(KEEPS)
        self.number = 0

    def adapt_scale(self, acceptance: float) -> None:
        """Take longer steps if more are accepted than need be."""
        self.scale = float(np.clip(self.scale * np.exp(0.5 * (acceptance - THETA_ACCEPTANCE)), 1e-3, 10.0))

    def adapt_chance(self, kind: int, acceptance: float, num_rows: int) -> None:
        """Move more rows at once if more moves are accepted than need be."""
        grown = self.chances[kind] * np.exp(acceptance - ROW_ACCEPTANCE)
        self.chances[kind] = float(np.clip(grown, 1.0 / max(num_rows, 1), 1.0))


def moved(
    rng: np.random.Generator,
    target: "Target",
    particles: Particles,
    power: float,
    steps: Steps,
    done: float,
    report: Callable[[float], None],
) -> tuple[Particles, float]:
    """Move particles until they have forgotten where they started; return the correlation that is left."""
    start, left, is_last = particles, 1.0, power == 1.0
    factor = None if target.is_discrete else _factor(particles.positions)
    most, enough = (LAST_MOVES, LAST_LEFT) if is_last else (STAGE_MOVES, STAGE_LEFT)
    enough = max(enough, 1.0 / np.sqrt(len(start.positions)))  # few particles cannot tell any better
    for number in range(most):
        particles, acceptance = target.theta_move(rng, particles, power, factor, steps.scale)
        steps.adapt_scale(acceptance)
        kind = steps.number % len(KEEPS)
        particles, acceptance = target.dynamics_move(rng, particles, power, KEEPS[kind], steps.chances[kind])
        steps.adapt_chance(kind, acceptance, target.num_rows)
        steps.number += 1
        if number + 1 >= MIN_MOVES:
            left = _correlation(start.values, particles.values)
            if not target.is_discrete:
                left = max(left, _correlation(start.positions, particles.positions))
            if left < enough:
                break
        report(done + (0.5 * number / most if is_last else 0.0))
    return particles, left


def _factor(positions: FloatArray) -> FloatArray:
    """Return a factor of the covariance of particles, scaled for a random walk in as many dimensions."""
    dimension = positions.shape[1]
    covariance = np.atleast_2d(np.cov(positions.T)) + 1e-6 * np.eye(dimension)
    return np.asarray(2.38 / np.sqrt(dimension) * np.linalg.cholesky(covariance))


def _correlation(before: FloatArray, after: FloatArray) -> float:
    """Return the correlation of numbers `[N, K]` with what they were, in the mean over those that differ at all."""
    first, second = before - before.mean(axis=0), after - after.mean(axis=0)
    sizes = np.sqrt((first**2).sum(axis=0) * (second**2).sum(axis=0))
    is_live = sizes > 1e-12 * max(float(sizes.max(initial=0.0)), 1e-300)
    return float(((first * second).sum(axis=0)[is_live] / sizes[is_live]).mean()) if is_live.any() else 0.0


@dataclass(frozen=True, eq=False)
class Target:
    """The joint posterior of a problem's parameters and dynamics, given counts `[S, A]` or `[G, S, A]` of answers."""

    problem: Problem
    dynamics: EstimatedDynamics
    counts: IntArray

    def __post_init__(self) -> None:
        """Find what does not change."""
        dynamics, mdp = self.dynamics, self.problem.mdp
        by_group = self.counts.reshape(-1, *self.counts.shape[-2:])
        lengths = np.diff(dynamics.indptr)
        self.__dict__.update(
            shape=dynamics.concentration,
            by_group=by_group,
            asked=np.flatnonzero((by_group != 0).any(axis=(0, 2))),
            rows=np.flatnonzero(lengths > 0),
            firsts=dynamics.indptr[:-1][lengths > 0],
            lengths=lengths[lengths > 0],
            flat=dynamics.row * (mdp.num_states + 1) + dynamics.outcomes,
        )

    shape: FloatArray = None  # type: ignore[assignment]
    by_group: IntArray = None  # type: ignore[assignment]
    asked: IntArray = None  # type: ignore[assignment]
    rows: IntArray = None  # type: ignore[assignment]
    firsts: IntArray = None  # type: ignore[assignment]
    lengths: IntArray = None  # type: ignore[assignment]
    flat: IntArray = None  # type: ignore[assignment]

    @property
    def has_answers(self) -> bool:
        """Whether anything was answered."""
        return self.asked.size > 0

    @property
    def is_discrete(self) -> bool:
        """Whether the prior of the reward has atoms."""
        return has_atoms(self.problem.prior)

    @property
    def num_rows(self) -> int:
        """Number of pairs of state and action that have dynamics."""
        return len(self.rows)

    def natural(self, positions: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return theta `[N, D]` and the parameters of the expert `[N, E]`."""
        prior = self.problem.prior
        if isinstance(prior, DiscretePrior) and has_atoms(prior):
            return prior.atoms[positions[:, 0].astype(np.int64)], np.zeros((len(positions), 0))
        of_reward, of_expert = self.problem.split(positions)
        return continuous(prior).from_unconstrained(of_reward), self.problem.expert_space.natural(of_expert)

    def prior_draws(self, rng: np.random.Generator, size: int) -> Particles:
        """Return particles before any answer, solved."""
        if self.is_discrete:
            positions = self._atoms(rng, size)
        else:
            positions = rng.standard_normal((size, self.problem.num_unknowns))
        gammas = rng.standard_gamma(self.shape, (size, len(self.shape)))
        available = self.problem.mdp.available
        policy = np.tile(np.argmax(available, axis=1), (size, 1))
        return self.solved(positions, gammas, self._endings(rng, size), policy)

    def _atoms(self, rng: np.random.Generator, size: int) -> FloatArray:
        prior = self.problem.prior
        assert isinstance(prior, DiscretePrior)
        return rng.choice(len(prior.atoms), size, p=prior.weights)[:, None].astype(np.float64)

    def _endings(self, rng: np.random.Generator, size: int) -> BoolArray:
        ends, goes_on = self.dynamics.ending_counts
        chances = rng.beta(1.0 + ends, 1.0 + goes_on, size)
        unvisited = self.dynamics.is_unvisited
        return np.asarray(unvisited & (rng.random((size, len(unvisited))) < chances[:, None]))

    def chances(self, gammas: FloatArray) -> FloatArray:
        """Return the chance of each outcome `[N, nnz]`, given that its state is not terminal."""
        totals = np.add.reduceat(gammas, self.firsts, axis=1)
        return np.asarray(gammas / np.repeat(totals, self.lengths, axis=1))

    def transitions(self, gammas: FloatArray, is_ending: BoolArray) -> FloatArray:
        """Return dense transitions `[N, S, A, S]`."""
        mdp, size = self.problem.mdp, len(gammas)
        dense = np.zeros((size, mdp.num_states * mdp.num_actions * (mdp.num_states + 1)))
        dense[:, self.flat] = self.chances(gammas)
        dense = dense.reshape(size, mdp.num_states, mdp.num_actions, mdp.num_states + 1)[..., : mdp.num_states]
        if is_ending.any():
            dense[is_ending] = 0.0
        return np.ascontiguousarray(dense)

    def solved(self, positions: FloatArray, gammas: FloatArray, is_ending: BoolArray, policy: IntArray) -> Particles:
        """Return particles with their optimal values and likelihoods, from policies to start with."""
        theta, parameters = self.natural(positions)
        rewards = self.problem.reward_model.reward(theta)
        rewards = rewards if rewards.ndim == 3 else rewards[:, :, None]
        transitions = self.transitions(gammas, is_ending)
        values, policy, q = solved_each(self.problem.mdp, transitions, rewards, policy)
        total = np.zeros(len(positions))
        for group, answers in enumerate(self.by_group[:, self.asked]):
            if answers.any():
                logs = log_policies(self.problem, q[:, self.asked], parameters, group)
                total += np.where(answers != 0, logs, 0.0).reshape(len(logs), -1) @ answers.ravel()
        return Particles(positions, gammas, is_ending, values, policy, total)

    def theta_move(
        self, rng: np.random.Generator, particles: Particles, power: float, factor: FloatArray | None, scale: float
    ) -> tuple[Particles, float]:
        """Move the parameters of all particles; return the share that was accepted."""
        now = particles.positions
        if factor is None:
            proposed = self._atoms(rng, len(now))
            log_prior = np.zeros(len(now))
        else:
            proposed = now + scale * (rng.standard_normal(now.shape) @ factor.T)
            log_prior = -0.5 * ((proposed**2).sum(axis=1) - (now**2).sum(axis=1))
        trial = self.solved(proposed, particles.gammas, particles.is_ending, particles.policy)
        return _accepted(rng, particles, trial, power, log_prior)

    def dynamics_move(
        self, rng: np.random.Generator, particles: Particles, power: float, keep: float, chance: float
    ) -> tuple[Particles, float]:
        """Move some rows of the dynamics of all particles; return the share that was accepted."""
        size = len(particles.gammas)
        is_moved = np.repeat(rng.random((size, self.num_rows)) < chance, self.lengths, axis=1)
        shape = np.broadcast_to(self.shape, is_moved.shape)[is_moved]
        gammas = particles.gammas.copy()
        fresh = rng.standard_gamma((1.0 - keep) * shape)
        if keep > 0.0:
            fresh += rng.beta(keep * shape, (1.0 - keep) * shape) * gammas[is_moved]
        gammas[is_moved] = np.maximum(fresh, 1e-300)
        is_ending = particles.is_ending
        if self.dynamics.is_unvisited.any():
            is_redrawn = rng.random(size) < REDRAWN
            is_ending = np.where(is_redrawn[:, None], self._endings(rng, size), is_ending)
        trial = self.solved(particles.positions, gammas, is_ending, particles.policy)
        return _accepted(rng, particles, trial, power, np.zeros(size))


def _accepted(
    rng: np.random.Generator, now: Particles, trial: Particles, power: float, log_prior: FloatArray
) -> tuple[Particles, float]:
    log_ratio = power * (trial.log_likelihood - now.log_likelihood) + log_prior
    is_taken = np.log1p(-rng.random(len(log_ratio))) < np.where(np.isnan(log_ratio), -np.inf, log_ratio)
    merged = (
        np.where(is_taken.reshape(-1, *[1] * (new.ndim - 1)), new, old) for new, old in zip(trial, now, strict=True)
    )
    return Particles._make(merged), float(is_taken.mean())


def solved_each(
    mdp: FiniteMDP, transitions: FloatArray, rewards: FloatArray, policy: IntArray
) -> tuple[FloatArray, IntArray, FloatArray]:
    """Return optimal values `[N, S]`, policies `[N, S]` and Q `[N, S, A]` of problems with their own dynamics.

    By policy iteration from `policy`; transitions are `[N, S, A, S]`, rewards `[N, S, A]` or `[N, S, 1]`. Discount and
    available actions are those of `mdp`.
    """
    size, num_states, num_actions, _ = transitions.shape
    policy, values = policy.copy(), np.zeros((size, num_states))
    q = np.zeros((size, num_states, num_actions))
    states, eye = np.arange(num_states), np.eye(num_states)
    active = np.arange(size)
    for _ in range(MAX_SWEEPS):
        some = transitions if len(active) == size else transitions[active]
        paid = rewards if len(active) == size else rewards[active]
        index, chosen = np.arange(len(active))[:, None], policy[active]
        own = np.broadcast_to(paid, (len(active), num_states, num_actions))[index, states, chosen]
        matrix = eye - mdp.discount * some[index, states, chosen]
        found = np.linalg.solve(matrix, own[..., None])[..., 0]
        expected = (some.reshape(len(active), -1, num_states) @ found[..., None]).reshape(
            len(active), num_states, num_actions
        )
        scores = np.where(mdp.available, paid + mdp.discount * expected, -np.inf)
        values[active], q[active] = found, scores
        margin = 1e-10 * (1.0 + np.abs(found).max(axis=1, keepdims=True))
        is_better = scores.max(axis=2) > found + margin
        policy[active] = np.where(is_better, scores.argmax(axis=2), chosen)
        active = active[is_better.any(axis=1)]
        if active.size == 0:
            break
    return values, policy, q
