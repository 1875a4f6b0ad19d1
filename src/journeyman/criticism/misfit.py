"""Whether somebody's answers fit what is known from others.

With D_j the answers of j, and all that follows from a fit to the answers of the others (j's own beta and lapse are then
as the prior has them),

    T_j = log p(D_j | any stationary policy) - log p(D_j | answers of the others)

is large if j has habits that the others' reward does not explain. The first term is the evidence under a Dirichlet
prior in every state. How large T_j should be is simulated: samples of the posterior answer the same questions, as long
as j did. If the model is right, j's answers and the simulated ones are draws of the same distribution, so that the rank
of T_j among them is a p-value, whatever T is. (A simulated expert is left out of the mixture that predicts it, with all
samples of its origin: j is not among the samples either.) Nobody shall be named for being noisy: T depends on that too,
so j is ranked among the third of the simulated ones who are taken to be as noisy, by the mean entropy of the policies
that explain them, after a straight line in it is taken off.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from journeyman.criticism.prediction import LOG_2, dirichlet_evidence, pair_log_policies, weighted_sum
from journeyman.demonstrations import Demonstration
from journeyman.inference import Posterior
from journeyman.mdp import FiniteMDP
from journeyman.types import BoolArray, FloatArray, IntArray

NUM_SIMULATIONS = 1500
NUM_WINDOWS = 3  # one part in so many of the simulated annotators is as noisy as the one in question
INTERVAL = (0.025, 0.975)


class Misfit(NamedTuple):
    """How the answers of one annotator compare with what a fit to others expects of them.

    bits, expected_bits: per free decision, by the mean policy, and their mean over simulated annotators; low, high:
    central 95 % of these; p_value: the chance of answers that fit as badly, by rank; excess: by how many standard
    deviations of the simulated ones they fit worse than these on average.
    """

    bits: float
    expected_bits: float
    low: float
    high: float
    p_value: float
    excess: float


def misfit(
    rng: np.random.Generator,
    posterior: Posterior,
    demonstrations: Sequence[Demonstration],
    *,
    annotator: str | None = None,
    num_simulations: int = NUM_SIMULATIONS,
) -> Misfit:
    """Return how demonstrations compare with what a posterior that has not seen them expects of them."""
    mdp = posterior.problem.mdp
    is_free = mdp.available.sum(axis=1) > 1
    drawn = rng.choice(posterior.num_samples, num_simulations, p=posterior.weights / posterior.weights.sum())
    simulated = simulate_counts(rng, posterior, drawn, demonstrations, annotator)
    observed = np.zeros((1, mdp.num_states, mdp.num_actions))
    np.add.at(observed[0], tuple(np.array([step for item in demonstrations for step in item.steps]).T), 1.0)
    counts = np.concatenate([observed, simulated]) * is_free[:, None]
    flat = counts.reshape(len(counts), -1)
    visits = counts.sum(axis=(0, 2))
    pairs = np.flatnonzero(mdp.available & (visits > 0)[:, None])
    if not pairs.size:
        return Misfit(0.0, 0.0, 0.0, 0.0, 1.0, 0.0)
    log_policies = pair_log_policies(posterior, pairs, annotator)
    with np.errstate(divide="ignore"):
        log_weights = np.log(posterior.weights)
    sums = weighted_sum(flat[:, pairs], log_policies.T) + log_weights
    if posterior.origins is not None:
        is_own = posterior.origins[drawn][:, None] == posterior.origins
        is_own[is_own.all(axis=1)] = False  # all samples have one origin: there is nothing else to predict from
        sums[1:][is_own] = -np.inf
    log_chances = logsumexp(sums, axis=1)
    statistics = dirichlet_evidence(counts, mdp.available.astype(float)) - log_chances
    chances = np.exp(log_policies)
    entropies = -(chances * np.where(chances > 0, log_policies, 0.0)) @ visits[pairs // mdp.num_actions] / visits.sum()
    with np.errstate(invalid="ignore"):
        noise = np.nan_to_num(np.exp(sums - log_chances[:, None])) @ entropies
    p_value, excess = rank_among_alike(statistics, noise)
    mean = logsumexp(log_policies + log_weights[:, None], axis=0)
    bits = weighted_sum(flat[:, pairs], mean) / LOG_2 / np.maximum(flat.sum(axis=1), 1.0)
    low, high = np.quantile(bits[1:], INTERVAL)
    return Misfit(float(bits[0]), float(bits[1:].mean()), float(low), float(high), p_value, excess)


def rank_among_alike(statistics: FloatArray, noise: FloatArray) -> tuple[float, float]:
    """Return the part of simulated statistics `[1:]` that are at least as large as the first, given like noise.

    Also by how many of their standard deviations the first is above their mean. Those with the nearest noise are
    ranked, by what is left after a straight line in it; the first is one of them.
    """
    size = (len(statistics) - 1) // NUM_WINDOWS
    near = 1 + np.argsort(np.abs(noise[1:] - noise[0]), kind="stable")[:size]
    x, y = noise[near], statistics[near]
    spread = float(((x - x.mean()) ** 2).sum())
    slope = float((x - x.mean()) @ (y - y.mean())) / spread if spread > 1e-12 else 0.0
    nearest = np.clip(noise[0], x.min(), x.max())  # a line is not to be trusted beyond what it was fitted to
    left = y - slope * (x - nearest)
    excess = float(statistics[0] - left.mean()) / max(float(left.std()), 1e-12)
    return (1 + int((left >= statistics[0]).sum())) / (1 + size), excess


def simulate_counts(
    rng: np.random.Generator,
    posterior: Posterior,
    drawn: IntArray,
    demonstrations: Sequence[Demonstration],
    annotator: str | None = None,
) -> FloatArray:
    """Let samples `[R]` of a posterior give demonstrations from the same starts, as long; return counts `[R, S, A]`.

    One that ended by itself may take as long as the longest did.
    """
    mdp, size = posterior.problem.mdp, len(drawn)
    samples, places = np.unique(drawn, return_inverse=True)
    cumulative = np.cumsum(np.exp(posterior.at(samples).log_policies(None, annotator)), axis=2)
    cumulative /= cumulative[:, :, -1:]
    steps = _StepSampler(mdp)
    counts = np.zeros((size, mdp.num_states, mdp.num_actions))
    longest = max((len(item) for item in demonstrations), default=0)
    for item in demonstrations:
        states, active = np.full(size, item.start_state), np.arange(size)
        for _ in range(longest if item.ended == "terminated" else len(item)):
            chances = cumulative[places[active], states[active]]
            actions = (chances <= rng.random(len(active))[:, None]).sum(axis=1)
            counts[active, states[active], actions] += 1.0
            nexts, is_going = steps.draw(rng, states[active], actions)
            states[active] = nexts
            active = active[is_going]
            if not active.size:
                break
    return counts


class _StepSampler:
    """Draws next states of many (state, action) at once: one sorted array holds the cumulative chances of all rows."""

    def __init__(self, mdp: FiniteMDP) -> None:
        rows = mdp.rows
        self.mdp, self.ends, self.next_states = mdp, rows.indptr[1:], rows.next_states
        sizes = np.diff(rows.indptr)
        owners = np.repeat(np.arange(len(sizes)), sizes)
        running = np.cumsum(rows.probabilities)
        before = np.concatenate([[0.0], running])[rows.indptr[:-1]]
        within = running - before[owners]
        is_last = np.arange(len(owners)) == self.ends[owners] - 1
        within[is_last & (within > 1.0 - 1e-9)] = 1.0  # rounding must not end an episode
        self.cumulative = owners + within

    def draw(self, rng: np.random.Generator, states: IntArray, actions: IntArray) -> tuple[IntArray, BoolArray]:
        """Return next states, and whether the episode goes on there: it may end by chance or in a terminal state."""
        rows = states * self.mdp.num_actions + actions
        places = np.searchsorted(self.cumulative, rows + rng.random(len(rows)), side="right")
        is_going = places < self.ends[rows]
        nexts = np.where(is_going, self.next_states[np.minimum(places, len(self.next_states) - 1)], states)
        return nexts, is_going & ~self.mdp.terminal[nexts]
