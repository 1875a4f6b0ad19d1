"""When drawing for a certificate ends: by its budget of seconds, by futility that is predicted right, by doubts."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from apprentice.test_growing import DELTA, EPSILON, STAY, certificate, chained, growing
from scipy.stats import betabinom, binom

from journeyman.apprentice import certificate as certificate_module
from journeyman.apprentice.certificate import certify_growing
from journeyman.apprentice.effective_size import lower_bound, upper_bound
from journeyman.apprentice.looks import Budget, chance_to_hold, look_confidence, most_allowed
from journeyman.errors import InputError
from journeyman.learner import ActiveLearner
from journeyman.study import Study
from journeyman.worlds import make_world

CLAIM = {"delta": DELTA, "confidence": 0.95}


def test_looks_spend_the_error_and_no_more():
    assert sum(1.0 - look_confidence(0.95, look) for look in range(1, 10_000)) == pytest.approx(0.05, rel=1e-3)


def test_the_most_that_is_allowed_is_just_within_the_bound():
    most = most_allowed(500.0, DELTA, 0.95)
    assert upper_bound(most, 500.0, 0.95) <= DELTA < upper_bound(most + 1e-6, 500.0, 0.95)
    assert most_allowed(20.0, DELTA, 0.95) == -np.inf


def test_the_prediction_for_one_look_is_beta_binomial():
    """200 samples with 14 failures, and as many again: at most so many failures may come."""
    allowed = int(400 * most_allowed(400.0, DELTA, look_confidence(0.95, 2))) - 14
    expected = betabinom.cdf(allowed, 200, 14.5, 186.5)
    found = chance_to_hold(0.07, 200.0, 200, 1, 400, **CLAIM)
    assert found == pytest.approx(expected, rel=0.02)
    assert 0.1 < found < 0.5


@pytest.mark.parametrize(
    ("chance", "num_samples", "expected"), [(0.05, 1000, 1.0), (0.5, 1000, 0.0), (0.05, 16000, 0.0)]
)
def test_predictions_that_are_clear(chance, num_samples, expected):
    assert chance_to_hold(chance, 0.5 * num_samples, num_samples, 1, 16_000, **CLAIM) == pytest.approx(
        expected, abs=1e-6
    )


def course(rng, chance: float, size: int = 100, max_size: int = 1600) -> tuple[bool, int, int]:
    """Independent samples, doubled until they decide: does it hold, with how many, and how many were there at futility?

    The last one is the second if it never was futile.
    """
    hits, num_futile, look = rng.binomial(size, chance), 0, 1
    while True:
        confidence = look_confidence(0.95, look)
        if upper_bound(hits / size, size, confidence) <= DELTA:
            return True, size, num_futile or size
        if lower_bound(hits / size, size, confidence) > DELTA or size >= max_size:
            return False, size, num_futile or size
        if not num_futile and chance_to_hold(hits / size, size, size, look, max_size, **CLAIM) < 0.02:
            num_futile = size
        hits, size, look = hits + rng.binomial(size, chance), 2 * size, look + 1


def test_futility_spares_most_of_what_is_in_vain_and_hardly_any_certificate():
    """Chances around delta, as beliefs about them are: of 400 courses those that hold after all are below 2 %."""
    rng = np.random.default_rng(0)
    courses = [course(rng, chance) for chance in np.linspace(0.04, 0.16, 400)]
    num_held = sum(holds for holds, _, _ in courses)
    num_lost = sum(holds and num_futile < size for holds, size, num_futile in courses)
    assert num_held > 100
    assert binom.sf(num_lost - 1, num_held, 0.02) > 0.001
    in_vain = np.array([(size, num_futile) for holds, size, num_futile in courses if not holds])
    assert in_vain[:, 1].sum() < 0.5 * in_vain[:, 0].sum()


def test_what_will_hardly_hold_is_not_drawn_for():
    found = certificate(np.random.default_rng(3), 0.125, max_samples=51_200)
    assert (found.status, found.ended_by) == ("fails", "futility")
    assert found.num_samples <= 3200
    assert "until more would hardly have made it hold" in found.text().replace("\n", " ")


def test_doubtful_samples_are_refused_at_once():
    runs = growing(np.random.default_rng(1), 0.09)
    doubtful = (replace(run, diagnostics=replace(run.diagnostics, warnings=("chains do not agree.",))) for run in runs)
    found = certify_growing(doubtful, EPSILON, DELTA, policy=STAY, max_samples=6400)
    assert (found.status, found.ended_by, found.num_looks) == ("refused", "doubt", 1)


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        return self.now


def timed(clock, posteriors, seconds):
    for posterior, took in zip(posteriors, seconds, strict=False):
        clock.now += took
        yield posterior


@pytest.mark.parametrize(
    ("max_seconds", "num_looks", "ended_by"),
    [
        (None, 4, "max_samples"),
        (100.0, 4, "max_samples"),
        (10.0, 3, "max_seconds"),
        (6.9, 2, "max_seconds"),
        (1.0, 1, "max_seconds"),
    ],
)
def test_no_look_begins_that_would_end_too_late(monkeypatch, max_seconds, num_looks, ended_by):
    """Looks take 4, 1, 2 and 4 seconds: the first one has to settle, the others double."""
    clock = Clock()
    monkeypatch.setattr(certificate_module, "time", clock)
    close = itertools.islice(growing(np.random.default_rng(0), 0.09), 4)
    found = certify_growing(
        timed(clock, close, (4.0, 1.0, 2.0, 4.0)),
        EPSILON,
        DELTA,
        policy=STAY,
        max_samples=1600,
        max_seconds=max_seconds,
    )
    assert (found.status, found.num_looks, found.ended_by) == ("undecided", num_looks, ended_by)
    text = found.text().replace("\n", " ")
    assert (f"all that {max_seconds or 0:g} s allow" in text) == (ended_by == "max_seconds")
    assert ("give it more time" in text) == (ended_by == "max_seconds")


def test_samples_that_end_by_themselves_leave_it_undecided():
    found = certify_growing(
        [chained(np.arange(200).reshape(50, 4) % 11 == 0)], EPSILON, DELTA, policy=STAY, max_samples=10**6
    )
    assert (found.status, found.ended_by) == ("undecided", "exhaustion")


@pytest.mark.parametrize("seconds", [0, -1.0, float("nan")])
def test_seconds_must_be_positive(seconds):
    with pytest.raises(InputError, match="max_seconds must be"):
        Budget.checked(100, seconds)
    with pytest.raises(InputError, match="max_seconds must be"):
        ActiveLearner(make_world("jail").problem, max_seconds=seconds)


def test_a_limit_in_seconds_is_no_setting_of_a_study(tmp_path):
    """It belongs to who waits, not to the file: questions are the same, and another opening may have another one."""
    problem = make_world("jail", 3).problem
    with Study.create(
        tmp_path / "a.study", problem, max_seconds=1e-9, inference_options={"num_particles": 200}
    ) as study:
        assert study.certificate().max_seconds in (None, 1e-9)
        query = study.ask()
    with Study.open(tmp_path / "a.study", max_seconds=5.0) as study:
        assert study.learner().max_seconds == 5.0
        assert study.pending == (query,)
        assert "max_seconds" not in study.settings.to_record()
    assert ActiveLearner(problem, inference_options={"num_particles": 200}).ask() == query
