"""Counter-examples by hand: every number of ours in closed form, and exactly which ones differ from the paper."""

import csv
import math

import numpy as np
import pytest

from journeyman.acquisition import score
from journeyman.apprentice import most_likely_optimal, regrets
from journeyman.worlds import make_world
from reproduction.brown_example import brown_comparisons
from reproduction.comparison import compared, prior_of
from reproduction.failure_modes import (
    action_entropy_comparisons,
    jail_questions,
    lopes_comparisons,
    regret_eig_comparisons,
    verdict,
    write_failure_modes,
)


def ours(comparisons):
    return {item.quantity: item.ours for item in comparisons}


def differing(comparisons):
    return {item.quantity for item in comparisons if item.agrees is False}


def told(gap, beta=1.0):
    """Return what an answer tells about which of two actions is better, if they are `gap` apart: log 2 - H(p)."""
    p = 1.0 / (1.0 + math.exp(beta * gap))
    return math.log(2) + p * math.log(p) + (1 - p) * math.log(1 - p)


@pytest.mark.parametrize(
    ("paper", "computed", "tolerance", "agrees"),
    [
        (0.860, 0.8604, 5e-4, True),
        (0.860, 0.8606, 5e-4, False),
        (1.0, 1.0 + 1e-12, 1e-9, True),
        (0.0, 1e-15, 1e-9, True),
        ("s0", "s0", 1e-9, True),
        ("s0", "s1", 1e-9, False),
        (None, 0.3, 1e-9, None),
        (None, "s1", 1e-9, None),
    ],
)
def test_agreement(paper, computed, tolerance, agrees):
    assert compared("example", "quantity", "place", paper, computed, tolerance=tolerance).agrees is agrees


def test_lopes():
    """Policy rows in s0: a tie with chance 0.82, either action alone 0.09 each; in s1 two rows, a half each."""
    found = lopes_comparisons()
    values = ours(found)
    tie = -(0.82 * math.log2(0.82) + 2 * 0.09 * math.log2(0.09))
    assert values["entropy in s0 (bits)"] == pytest.approx(tie, abs=1e-9)
    assert values["entropy in s1 (bits)"] == pytest.approx(1.0, abs=1e-9)
    assert values["entropy in s1 with 10 buckets (bits)"] == 0.0
    assert values["PAC-EIG in s1 (nats)"] == 0.0
    assert {values["asks in"], values["PAC-EIG asks in"], values["our PAC-EIG asks in"]} == {"s1", "s0"}
    assert differing(found) == {"asks in, main text"}


def test_brown():
    found = brown_comparisons()
    values = ours(found)
    assert values["worst return from s0"] == pytest.approx(-11)
    assert values["ActiveVaR in s0, random apprentice"] == pytest.approx(11)
    assert values["ActiveVaR in s0"] == pytest.approx(22)
    assert values["ActiveVaR in s1"] == pytest.approx(20)
    assert values["expected regret before"] == pytest.approx(6 + 5 * 0.9)
    assert values["expected regret after asking s0"] == pytest.approx(5 + 5 * 0.9)
    assert values["expected regret after asking s1"] == pytest.approx(1)
    assert values["largest regret after asking s1"] == pytest.approx(2)
    difference = values["PAC-EIG of s1 less that of s0, small epsilon (nats)"]
    assert difference == pytest.approx(told(20.0) - told(4.0), abs=1e-9)
    assert values["epsilon above which s0 tells nothing, edges (1/2, 1)"] == pytest.approx(80.0, abs=1e-5)
    assert differing(found) == {
        "worst return from s0",
        "ActiveVaR in s0",
        "ActiveVaR in s1",
        "expected regret before",
        "largest regret after asking s1",
        "PAC-EIG of s1 less that of s0, small epsilon (nats)",
    }


def test_brown_with_another_discount():
    """Below 0.8 ActiveVaR asks in s1, as the paper's "for a sufficiently large discount" allows."""
    found = brown_comparisons(discount=0.5)
    values = ours(found)
    assert values["ActiveVaR in s0, random apprentice"] == pytest.approx(7)
    assert values["expected regret before"] == pytest.approx(8.5)
    assert values["expected regret after asking s1"] == pytest.approx(1)
    assert values["asks in"] == "s1"
    assert differing(found) > {"asks in"}


@pytest.mark.parametrize(("quantile", "state"), [(0.51, 1), (0.74, 1), (0.76, 0), (0.9, 0), (0.95, 0)])
def test_quantiles_that_the_note_names(quantile, state):
    """From s0 the regret is 0, 4, 18 or 22, from s1 0 or 20."""
    assert score(prior_of("brown-two-state"), "active_var", tail=1.0 - quantile).best_state() == state


@pytest.mark.parametrize(("discount", "state"), [(0.79, 1), (0.81, 0)])
def test_discounts_that_the_note_names(discount, state):
    assert score(prior_of("brown-two-state", discount=discount), "active_var", tail=0.1).best_state() == state


def test_regret_eig():
    found = regret_eig_comparisons()
    values = ours(found)
    assert values["the apprentice chooses"] == "a0"
    assert (values["least regret"], values["largest regret"]) == (pytest.approx(50), pytest.approx(50))
    assert values["Regret-EIG (nats)"] == 0.0
    for quantity in ("immediate-regret EIG (nats)", "PAC-EIG (nats)"):
        assert values[quantity] == pytest.approx(math.log(2), abs=1e-9)
    assert values["Regret-EIG of the apprentice that is most likely optimal (nats)"] == pytest.approx(math.log(2))
    assert not differing(found)
    posterior = prior_of("regret-eig-trap")
    assert sorted(regrets(posterior, most_likely_optimal(posterior))) == pytest.approx([0, 150])


def test_action_entropy():
    found = action_entropy_comparisons()
    assert len(found) == 6
    assert not differing(found)
    assert all("1.6094" in item.note for item in found[-2:])  # log 5


def test_questions_at_the_jail_teach_nothing():
    world = make_world("jail", 3)
    asked, posterior = jail_questions(world, "trajectory", 20)
    assert asked == [30] * 5
    assert posterior.counts.sum() == 5 * 20
    assert posterior.counts[30].sum() == 100
    np.testing.assert_allclose(posterior.weights, 1.0 / posterior.num_samples, rtol=1e-6)


def test_verdict_counts():
    made = [compared("e", str(i), "p", paper, 1.0) for i, paper in enumerate((1.0, 2.0, None, 1.0))]
    assert verdict(made).startswith("2 of 3 numbers and choices agree; 1 more")


def test_files(tmp_path):
    written = write_failure_modes(tmp_path)
    assert [path.name for path in written.paths] == ["failure-modes.md", "failure-modes.csv"]
    rows = list(csv.DictReader(written.paths[1].read_text("utf-8").splitlines()))
    assert len(rows) == len({(row["example"], row["quantity"]) for row in rows})
    assert {row["example"] for row in rows} == {
        "policy entropy (Lopes)",
        "ActiveVaR (Brown)",
        "action entropy (Kweon)",
        "Regret-EIG",
    }
    agreed = [row["agrees"] for row in rows]
    counts = f"{agreed.count('True')} of {len(rows) - agreed.count('')} numbers and choices agree"
    assert counts in written.paths[0].read_text("utf-8")
    assert counts in written.text
    assert "ActiveVaR (Brown): Appendix A" in written.text
