"""Gains of rivals have mean one under the model: by enumeration of all answers, with exact posteriors."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.special import logsumexp

from journeyman.criticism import surprise
from journeyman.criticism.check import ALARM, LOG_SHARES, criticise
from journeyman.criticism.rivals import change_chances, geometric_points, passes_over
from journeyman.criticism.surprise import answers_in_order, sample_gains, steps_of_counts
from journeyman.demonstrations import Demonstration
from journeyman.inference import infer
from journeyman.inference.posterior import Posterior
from journeyman.mdp import FiniteMDP
from journeyman.problem import Problem
from journeyman.rewards import Discrete, LinearFeatures

STATES = (0, 1, 0, 0, 1, 0)  # that are asked about, in this order


def two_states() -> Problem:
    """Return two states with two and three actions, and four rewards that may be true."""
    available = np.array([[True, True, False], [True, True, True]])
    mdp = FiniteMDP.from_function(
        lambda s, a: [(0.7, 1 - s), (0.3, s)] if available[s, a] else [],
        num_states=2,
        num_actions=3,
        discount=0.8,
        terminal=np.zeros(2, dtype=bool),
        available=available,
    )
    features = np.zeros((2, 3, 2))
    features[0, 0, 0] = features[1, 1, 1] = 1.0
    features[1, 2] = 0.5
    atoms = np.array([[1.0, 0.2], [-0.5, 1.0], [0.3, -1.0], [-1.0, -0.4]])
    return Problem(mdp, LinearFeatures(features, mdp), Discrete(atoms, [0.4, 0.3, 0.2, 0.1]), 1.5)


PROBLEM = two_states()


def all_answers(num: int):
    """Yield every sequence of answers in the first `num` of STATES."""
    choices = [np.flatnonzero(PROBLEM.mdp.available[state]).tolist() for state in STATES[:num]]
    for actions in product(*choices):
        yield [Demonstration.annotation(s, a) for s, a in zip(STATES, actions, strict=False)]


def posterior_of(answers) -> Posterior:
    """Return the exact posterior, one sample for each atom."""
    return infer(PROBLEM, answers, "enumerate")


def steps_of(answers):
    return np.array([step for item in answers for step in item.steps])


@pytest.fixture
def every_sample(monkeypatch):
    """Take every atom with its weight instead of evenly spaced draws, so that averages are exact."""
    monkeypatch.setattr(surprise, "thinned", lambda posterior, num_draws: repeated(posterior))


def repeated(posterior: Posterior) -> Posterior:
    """Return the atoms many times, in numbers close to their weights."""
    times = np.rint(posterior.weights * 20_000).astype(int)
    index = np.repeat(np.arange(posterior.num_samples), times)
    return replace(
        posterior, theta=posterior.theta[index], values=posterior.values[index],
        weights=np.full(len(index), 1.0 / len(index)),
    )  # fmt: skip


def test_gains_at_samples_have_mean_one(every_sample):
    """Sum over all answers of p(answers) Y: the average gain of every rival is one, within the rounding of weights."""
    total, gains = 0.0, 0.0
    for answers in all_answers(4):
        posterior = posterior_of(answers)
        found = sample_gains(posterior, answers_in_order(steps_of(answers), 3))
        chance = np.exp(posterior.log_evidence)
        total, gains = total + chance, gains + chance * np.exp(found.log_gains)
    assert total == pytest.approx(1.0)
    np.testing.assert_allclose(gains, 1.0, atol=2e-3)


def test_a_change_of_mind_has_mean_one():
    """The chances of all answers under an expert who may change their mind sum to one, by exact evidences."""
    total = 0.0
    for answers in all_answers(6):
        steps = steps_of(answers)
        passes = passes_over(PROBLEM, steps, np.arange(1, len(steps)), seed=0, num_threads=1)
        assert passes.whole[0] == pytest.approx(passes.whole[1])
        points = [point for point in range(1, 6) if change_chances(6, np.arange(1, 6)).at[point] > 0.0]
        assert set(passes.points.tolist()) <= set(points)
        for place, point in enumerate(passes.points.tolist()):
            assert passes.first[place] == pytest.approx(posterior_of(answers[:point]).log_evidence)
            assert passes.last[place] == pytest.approx(posterior_of(answers[point:]).log_evidence)
        total += np.exp(passes.log_evidence + passes.log_gain)
    assert total <= 1.0 + 1e-9
    missing = change_chances(6, np.arange(1, 6))
    looked_at = missing.at[passes.points].sum() + missing.rest
    assert total == pytest.approx(looked_at)  # points that are not looked at count as nothing


def test_all_evidence_has_mean_at_most_one_and_alarms_are_rare(every_sample):
    total = alarms = 0.0
    for answers in all_answers(4):
        posterior = posterior_of(answers)
        found = criticise(posterior, answers, num_threads=1)
        chance = np.exp(posterior.log_evidence)
        total += chance * found.evidence
        alarms += chance * found.is_surprising
    assert 0.5 < total <= 1.0 + 2e-3
    assert alarms <= 1.0 / ALARM


def test_the_evidence_is_a_supermartingale(every_sample):
    """The mean over the next answer never exceeds the evidence now, whatever was answered."""
    for answers in all_answers(2):
        now = sample_gains(posterior_of(answers), answers_in_order(steps_of(answers), 3))
        after, total = 0.0, posterior_of(answers).log_evidence
        for action in np.flatnonzero(PROBLEM.mdp.available[STATES[2]]).tolist():
            more = [*answers, Demonstration.annotation(STATES[2], action)]
            posterior = posterior_of(more)
            gains = sample_gains(posterior, answers_in_order(steps_of(more), 3))
            after += np.exp(posterior.log_evidence - total + gains.log_evidence)
        assert after <= np.exp(now.log_evidence) * (1.0 + 2e-3)


def test_chances_of_change_points_do_not_look_ahead():
    """The same demonstrations with more answers after them leave the chances of earlier points as they were."""
    begins = np.array([3, 9, 10, 30])
    short, long = change_chances(40, begins), change_chances(200, np.append(begins, [50, 120]))
    np.testing.assert_allclose(short.at[:40], long.at[:40])
    assert short.at.sum() + short.rest == pytest.approx(1.0) and long.rest < short.rest
    points, chances = geometric_points(4.0, 10**6)
    assert points[:6].tolist() == [4, 6, 8, 11, 16, 23] and chances.sum() < 1.0


def test_the_order_within_what_is_exchangeable_does_not_matter():
    answers = [Demonstration.annotation(s, a) for s, a in ((0, 1), (1, 2), (0, 0), (1, 2), (0, 1))]
    posterior = posterior_of(answers)
    names = ("rationality", "lapse", "habit")
    found = []
    for order in ((0, 1, 2, 3, 4), (4, 3, 2, 1, 0), (2, 0, 4, 1, 3)):
        gains = sample_gains(posterior, answers_in_order(steps_of([answers[i] for i in order]), 3))
        found.append([g for rival, g in zip(gains.rivals, gains.log_gains, strict=True) if rival.kind in names])
    np.testing.assert_allclose(found[1:], [found[0]] * 2)
    unordered = sample_gains(posterior, answers_in_order(steps_of_counts(posterior.counts), 3, is_ordered=False))
    np.testing.assert_allclose(unordered.log_gains, found[0])
    assert not any(rival.kind == "change" for rival in unordered.rivals)


def test_who_answered_does_not_matter():
    answers = [Demonstration.annotation(s, a) for s, a in ((0, 1), (1, 2), (0, 0), (1, 2))]
    signed = [replace(item, annotator=name) for item, name in zip(answers, ("ann", "bob", "ann", ""), strict=True)]
    first, second = (criticise(posterior_of(given), given, num_threads=1) for given in (answers, signed))
    assert first.to_record() == second.to_record()


def test_an_urn_by_hand():
    """Left, left, right in one state: an urn of weight 2 gives (2 p + n) / (2 + n), a drifting one forgets a tenth."""
    answers = answers_in_order([(0, 0), (0, 0), (0, 1)], 2)
    np.testing.assert_allclose(answers.before, [0, 1, 2])
    np.testing.assert_allclose(answers.same_before, [0, 1, 0])
    np.testing.assert_allclose(answers.recent, [0, 1, 1.9])
    own = np.log(np.array([[0.6, 0.6, 0.4]]))
    log_chances = surprise._urn(answers.before, answers.same_before, 2.0)(None, None, own)
    np.testing.assert_allclose(np.exp(log_chances), [[0.6, (1.2 + 1) / 3, 0.8 / 4]])


def test_one_sample_counts_only_so_much(monkeypatch):
    """A single sample that explains nothing among 256 that do raises no alarm."""
    monkeypatch.setattr(
        surprise, "_sums", lambda ratios, times: np.where(np.arange(len(ratios)) == 0, 500.0, -5.0)[:, None] + 0 * times
    )
    answers = [Demonstration.annotation(0, 0)] * 4
    found = criticise(posterior_of(answers), answers, is_full=False)
    assert found.log_evidence <= np.log(surprise.CAP / surprise.NUM_DRAWS) + LOG_SHARES["samples"] + 0.01
    assert not found.is_surprising
    assert max(rival.log_gain for rival in found.rivals) > 400.0


def test_nothing_answered_is_no_surprise():
    found = criticise(posterior_of([]), [])
    assert (found.num_answers, found.is_doubtful, found.reasons, found.advice) == (0, False, (), ())
    assert logsumexp(found.curve) == pytest.approx(np.log(0.5))


def test_samples_in_parts_gain_the_same(monkeypatch):
    """Very many answers are looked at in parts of the samples: nothing but memory depends on that."""
    given = [Demonstration.annotation(0, 0), Demonstration.annotation(1, 2), Demonstration.annotation(0, 1)]
    posterior, answers = posterior_of(given), answers_in_order(steps_of(given), 3)
    whole = sample_gains(posterior, answers)
    monkeypatch.setattr(surprise, "PART_ENTRIES", 10)
    parts = sample_gains(posterior, answers)
    assert parts.log_evidence == whole.log_evidence
    np.testing.assert_array_equal(parts.curve, whole.curve)
    np.testing.assert_array_equal(parts.log_gains, whole.log_gains)
