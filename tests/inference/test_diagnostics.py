"""Diagnostics of chains and particles: numbers from ArviZ, and warnings with advice."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

from journeyman.inference.diagnostics import ChainSummary, chain_warnings, smc_warnings, summarise_chains


def autoregressive(rng, correlation, shape):
    """Chains `[C, N, D]` of AR(1) draws with N(0, 1) margins, whose ESS is N (1 - c) / (1 + c)."""
    draws = rng.standard_normal(shape)
    for i in range(1, shape[1]):
        draws[:, i] = correlation * draws[:, i - 1] + np.sqrt(1 - correlation**2) * draws[:, i]
    return draws


def test_independent_draws_are_all_effective():
    summary = summarise_chains(np.random.default_rng(0).standard_normal((4, 1000, 3)))
    assert 3000 < summary.ess_bulk < 5000
    assert 2500 < summary.ess_tail < 5000
    assert summary.r_hat == pytest.approx(1.0, abs=0.01)


def test_the_worst_parameter_counts():
    rng = np.random.default_rng(0)
    draws = rng.standard_normal((4, 2000, 3))
    draws[..., 1] = autoregressive(rng, 0.9, (4, 2000, 1))[..., 0]
    assert summarise_chains(draws).ess_bulk == pytest.approx(8000 * 0.1 / 1.9, rel=0.25)


def test_chains_that_disagree_have_a_large_r_hat():
    draws = np.random.default_rng(0).standard_normal((4, 500, 2))
    draws[0] += 3.0
    assert summarise_chains(draws).r_hat > 1.2


def test_a_chain_that_never_moves_is_not_called_perfect():
    draws = np.random.default_rng(0).standard_normal((2, 500, 2))
    draws[1, :, 0] = 0.3
    summary = summarise_chains(draws)
    assert summary.ess_bulk == 1.0
    assert summary.r_hat == np.inf
    assert len(chain_warnings(summary, np.zeros((2, 500), dtype=bool))) == 2


def test_one_chain_has_no_r_hat_and_says_so():
    summary = summarise_chains(np.random.default_rng(0).standard_normal((1, 1000, 2)))
    assert summary.r_hat is None
    (warning,) = chain_warnings(summary, np.zeros((1, 1000), dtype=bool))
    assert "R-hat is unknown" in warning


def test_very_short_chains_are_warned_about():
    summary = summarise_chains(np.random.default_rng(0).standard_normal((2, 3, 2)))
    assert summary.ess_bulk == 1.0
    assert chain_warnings(summary, np.zeros((2, 3), dtype=bool))


def test_good_chains_have_no_warnings():
    assert chain_warnings(ChainSummary(400.0, 401.0, 1.02), np.zeros((4, 250), dtype=bool)) == ()


@pytest.mark.parametrize(
    ("summary", "num_diverging", "message"),
    [
        (
            ChainSummary(399.0, 1000.0, 1.0),
            0,
            r"399 in the bulk and 1000 in the tails, below 400.*2 times as many draws",
        ),
        (ChainSummary(1000.0, 90.0, 1.0), 0, r"90 in the tails.*5 times as many draws"),
        (ChainSummary(1000.0, 1000.0, 1.021), 0, r"R-hat is 1\.021, above 1\.02.*longer warm-up"),
        (ChainSummary(1000.0, 1000.0, np.nan), 0, "chains disagree"),
        (ChainSummary(1000.0, 1000.0, 1.0), 3, "3 of 1000 draws diverged.*target_accept"),
    ],
)
def test_each_trouble_has_its_warning(summary, num_diverging, message):
    diverging = np.zeros((4, 250), dtype=bool)
    diverging[0, :num_diverging] = True
    (warning,) = chain_warnings(summary, diverging)
    assert re.search(message, warning)


GOOD_MOVES = {
    "num_rejuvenations": 3,
    "is_proposing": False,
    "acceptance": 0.7,
    "start_correlation": 0.2,
    "correlation": 0.4,
    "distinct_ancestors": 100,
}
SETTINGS = SimpleNamespace(start_correlation=0.3, move_correlation=0.5, max_leapfrog=200, max_burn_in=12)


@pytest.mark.parametrize(
    ("ess", "changes", "message"),
    [
        (50.0, {}, "only 50 of 1000 particles are effective"),
        (800.0, {"acceptance": 0.2}, "20% of the last moves"),
        (800.0, {"is_proposing": True, "acceptance": 0.05}, "5% of the last proposals"),
        (800.0, {"start_correlation": 0.6}, "correlation of 0.60"),
        (800.0, {"correlation": 0.95}, "correlate by 0.95"),
        (800.0, {"distinct_ancestors": 7}, "7 ancestors"),
    ],
)
def test_each_trouble_of_particles_has_its_warning(ess, changes, message):
    (warning,) = smc_warnings(ess, 1000, SimpleNamespace(**GOOD_MOVES | changes), SETTINGS)
    assert message in warning


def test_good_particles_have_no_warnings():
    assert smc_warnings(500.0, 1000, SimpleNamespace(**GOOD_MOVES), SETTINGS) == ()
    assert (
        smc_warnings(500.0, 1000, SimpleNamespace(**GOOD_MOVES | {"is_proposing": True, "acceptance": 0.2}), SETTINGS)
        == ()
    )
    untouched = SimpleNamespace(**GOOD_MOVES | {"num_rejuvenations": 0, "acceptance": 0.0, "distinct_ancestors": 0})
    assert smc_warnings(1000.0, 1000, untouched, SETTINGS) == ()
