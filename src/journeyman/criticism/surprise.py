"""Surprise over time: how much better rivals of the model predict the answers, at samples of the posterior.

Under a reward theta, each answer has a known chance pi(a | s). A rival predicts it with a chance q(a) of its own,
which may depend on theta and on the answers before. The *gain* of the rival after t answers,

    E_t(theta) = product over the first t answers of q(a) / pi(a | s),

has mean one under theta, whatever is asked and whenever one stops (a test martingale). If the truth comes from the
prior, a sample of the posterior is as good as the truth, so that

    Y_t = average of E_t over samples of the posterior given the first t answers

is a supermartingale: the chance that it ever reaches g is at most 1 / g (Ville's inequality). For rivals that do not
know theta, Y_t is their Bayes factor against the model; for an expert with another beta, that of the other beta. What
one sample gains counts up to CAP: that leaves the mean at most one, and no alarm rests on less than a twentieth of the
samples. (A curve of E_s, s < t, at samples of the last posterior has mean at most one at every point; only its end is
Y_t.)

Rivals: less and more rational experts; experts who sometimes choose at random; experts with habits (in each state, a
Polya urn that begins with the policy of the sample and learns from the answers there), and with habits that drift (the
urn forgets). An average of rivals is a rival.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from journeyman.criticism.policies import available_in, log_policies
from journeyman.inference.posterior import Posterior
from journeyman.inference.weights import spread_draws
from journeyman.types import AnyArray, FloatArray, IntArray
from journeyman.wording import percent

NUM_DRAWS = 256  # samples that are looked at
MAX_ENTRIES = 8_000_000  # samples times answers: with very many answers, fewer samples are looked at
PART_ENTRIES = 500_000  # of these, held at once
MIN_DRAWS = 32
MAX_POINTS = 400  # of the curve over time
CAP = 1000.0  # the most that one sample counts: twenty times what makes an alarm
POWERS = (0.0, 0.5, 2.0)  # of the policy: less and more rational experts
LAPSES = ((1.0, 0.1), (2.0, 0.2))  # power of the policy, chance of an action at random
HABITS = (2.0, 16.0)  # answers that the policy of the sample is worth at the start
DRIFT = 0.9  # part of an urn that is left after each further answer in its state

Predict = Callable[[FloatArray, AnyArray, FloatArray], FloatArray]


class Rival(NamedTuple):
    """A rival: its kind, one of `KINDS`, and what it is, in words that follow "an expert"."""

    kind: str
    words: str


@dataclass(frozen=True, eq=False)
class Answers:
    """Answers in order, with what came before each.

    Parameters
    ----------
    states
        `[K]` places that were asked about: states, of each annotator where these differ.
    places, actions
        `[T]` the place of each answer's state among these, and its action.
    before, same_before
        `[T]` answers in the same state before it, and those with the same action.
    recent, same_recent
        `[T]` the same, with forgetting.
    is_ordered
        False where only counts are known.
    """

    states: IntArray
    places: IntArray
    actions: IntArray
    before: FloatArray
    same_before: FloatArray
    recent: FloatArray
    same_recent: FloatArray
    is_ordered: bool

    def __len__(self) -> int:
        """Return the number of answers."""
        return len(self.places)


def answers_in_order(steps: AnyArray, num_actions: int, *, is_ordered: bool = True) -> Answers:
    """Return answers with what came before them, from steps `[T, 2]` of state and action."""
    steps = np.asarray(steps, dtype=np.int64).reshape(-1, 2)
    states, places = np.unique(steps[:, 0], return_inverse=True)
    counts, fading = np.zeros((2, len(states), num_actions))
    columns = np.zeros((4, len(steps)))
    for t, (place, action) in enumerate(zip(places.tolist(), steps[:, 1].tolist(), strict=True)):
        urn, recent = counts[place], fading[place]
        columns[:, t] = urn.sum(), urn[action], recent.sum(), recent[action]
        recent *= DRIFT
        recent[action] += 1.0
        urn[action] += 1.0
    before, same_before, recent, same_recent = columns
    return Answers(states, places, steps[:, 1], before, same_before, recent, same_recent, is_ordered)


def steps_of_counts(counts: AnyArray) -> IntArray:
    """Return steps `[T, 2]` with these counts `[S, A]`, in the order of states, where the true order is not known."""
    pairs = np.argwhere(counts > 0)
    return np.asarray(np.repeat(pairs, np.rint(counts[tuple(pairs.T)]).astype(np.int64), axis=0))


@dataclass(frozen=True, eq=False)
class SampleGains:
    """Gains of rivals at samples of a posterior.

    Parameters
    ----------
    rivals
        What they are.
    log_gains
        `[R]` log of the average gain of each over the samples after all answers, not capped.
    log_evidence
        Log of the average of all rivals, capped: log Y_t after all answers.
    times, curve
        `[P]` numbers of answers, and the same after so many of them, at the same samples.
    """

    rivals: tuple[Rival, ...]
    log_gains: FloatArray
    log_evidence: float
    times: IntArray
    curve: FloatArray


def sample_gains(posterior: Posterior, answers: Answers) -> SampleGains:
    """Return how much better rivals predict answers than samples of the posterior given these answers do."""
    size, rivals = len(answers), _rivals(answers)
    names = tuple(rival for rival, _ in rivals)
    times = np.unique(np.linspace(0, size, min(size, MAX_POINTS) + 1).astype(np.int64))
    if size == 0:
        return SampleGains(names, np.zeros(len(rivals)), 0.0, times, np.zeros(1))
    drawn = thinned(posterior, min(NUM_DRAWS, max(MIN_DRAWS, MAX_ENTRIES // size)))
    log_policy, available = log_policies(drawn, answers.states), available_in(posterior.problem, answers.states)
    parts = np.array_split(log_policy, -(-len(log_policy) * size // PART_ENTRIES))  # less memory at once
    at_times = np.concatenate([_gains_at(times, answers, rivals, part, available) for part in parts], axis=1)
    by_sample = np.minimum(logsumexp(at_times, axis=0) - np.log(len(rivals)), np.log(CAP))
    curve = np.asarray(logsumexp(by_sample, axis=0) - np.log(drawn.num_samples))
    log_gains = np.asarray(logsumexp(at_times[:, :, -1], axis=1) - np.log(drawn.num_samples))
    return SampleGains(names, log_gains, float(curve[-1]), times, curve)


def _gains_at(
    times: IntArray,
    answers: Answers,
    rivals: Sequence[tuple[Rival, Predict]],
    log_policy: FloatArray,
    available: AnyArray,
) -> FloatArray:
    """Return log gains `[R, M, P]` of rivals over samples with log policies `[M, K, A]`, after so many answers."""
    own = log_policy[:, answers.places, answers.actions]
    return np.stack([_sums(predict_fn(log_policy, available, own) - own, times) for _, predict_fn in rivals])


def thinned(posterior: Posterior, num_draws: int) -> Posterior:
    """Return evenly spaced draws from the samples, equally weighted, with all that is known of each."""
    return posterior.at(spread_draws(posterior.weights, num_draws))


def _sums(log_ratios: FloatArray, times: IntArray) -> FloatArray:
    """Return sums `[M, P]` of the first so many of log ratios `[M, T]`."""
    sums = np.concatenate([np.zeros((len(log_ratios), 1)), np.cumsum(log_ratios, axis=1)], axis=1)
    return np.asarray(sums[:, times])


def _rivals(answers: Answers) -> list[tuple[Rival, Predict]]:
    """Return rivals, each with how it predicts answers.

    That is a function of log policies `[M, K, A]`, which actions exist `[K, A]`, and the log chances `[M, T]` of the
    answers, and gives the log chances `[M, T]` of the rival.
    """
    found: list[tuple[Rival, Predict]] = []
    for power in POWERS:
        words = f"{power:g} times as rational" if power else "who chooses at random"
        found.append((Rival("rationality", words), _tabular(answers, power, 0.0)))
    for power, lapse in LAPSES:
        words = f"who chooses at random in {percent(lapse)} of all cases"
        found.append((Rival("lapse", words), _tabular(answers, power, lapse)))
    for weight in HABITS:
        words = f"with a policy of their own in some states, learned {'quickly' if weight < 8.0 else 'slowly'}"
        found.append((Rival("habit", words), _urn(answers.before, answers.same_before, weight)))
    if answers.is_ordered:
        words = "whose policy drifts"
        found.append((Rival("change", words), _urn(answers.recent, answers.same_recent, HABITS[0])))
    return found


def _tabular(answers: Answers, power: float, lapse: float) -> Predict:
    """Return a rival with the policy of the sample to a power, and an action at random with the chance `lapse`."""

    def predict(log_policy: FloatArray, available: AnyArray, own: FloatArray) -> FloatArray:
        table = np.where(available, power * log_policy, -np.inf)
        table = table - logsumexp(table, axis=2, keepdims=True)
        if lapse > 0.0:
            at_random = np.log(lapse / available.sum(axis=1, keepdims=True))
            table = np.logaddexp(np.log1p(-lapse) + table, at_random)
        return np.asarray(table[:, answers.places, answers.actions])

    return predict


def _urn(before: FloatArray, same_before: FloatArray, weight: float) -> Predict:
    """Return a rival who does an action with the chance (weight pi(a) + n(a)) / (weight + n) after n answers there."""

    def predict(log_policy: FloatArray, available: AnyArray, own: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore"):
            return np.asarray(np.logaddexp(np.log(weight) + own, np.log(same_before)) - np.log(weight + before))

    return predict
