import numpy as np
import pytest
from calibration.problems import choice_problem, discrete_prior, normal_prior

from journeyman.calibration.replication import effective_draws, thinned_indices, truth_levels, truth_ranks
from journeyman.inference import Diagnostics, Posterior


def made_posterior(theta, weights=None, chains=None, prior=None):
    size = len(theta)
    weights = np.full(size, 1.0 / size) if weights is None else weights
    counts = np.zeros((2, 3), dtype=int)
    return Posterior(
        choice_problem(prior or normal_prior()),
        counts,
        theta,
        weights,
        np.zeros((size, 2)),
        "test",
        Diagnostics(0.0),
        chains=chains,
    )


def test_rank_counts_the_draws_below():
    rng = np.random.default_rng(0)
    draws = np.array([[1.0, 5.0], [2.0, 6.0], [3.0, 7.0]])
    assert truth_ranks(rng, np.array([2.5, 4.0]), draws).tolist() == [2, 0]
    assert truth_ranks(rng, np.array([9.0, 6.5]), draws).tolist() == [3, 2]


def test_ties_are_broken_evenly():
    """All three draws tie: each of the ranks 0..3 has chance 1/4; 4000 rounds, 4.5 standard errors."""
    rng = np.random.default_rng(0)
    draws = np.array([[1.0], [1.0 + 1e-10], [1.0 - 1e-10]])
    ranks = [truth_ranks(rng, np.array([1.0]), draws)[0] for _ in range(4000)]
    shares = np.bincount(ranks, minlength=4) / 4000
    np.testing.assert_allclose(shares, 0.25, atol=4.5 * np.sqrt(0.25 * 0.75 / 4000))


def test_level_is_the_weight_below_and_a_part_of_ties():
    samples, weights = np.array([[1.0], [2.0], [3.0]]), np.array([0.2, 0.3, 0.5])
    rng = np.random.default_rng(0)
    assert truth_levels(rng, np.array([2.5]), samples, weights) == pytest.approx([0.5])
    tied = [truth_levels(rng, np.array([2.0]), samples, weights)[0] for _ in range(200)]
    assert 0.2 <= min(tied) < 0.23
    assert 0.47 < max(tied) <= 0.5


def test_weighted_samples_are_drawn_by_weight():
    rng = np.random.default_rng(0)
    posterior = made_posterior(np.zeros((4, 2)), np.array([0.5, 0.25, 0.25, 0.0]))
    assert np.bincount(thinned_indices(rng, posterior, 80), minlength=4).tolist() == [40, 20, 20, 0]
    assert effective_draws(posterior, np.zeros((4, 1))) == pytest.approx(1 / (0.25 + 2 * 0.0625))


def test_ranks_among_few_atoms_are_uniform():
    """Truth and draws from the same three atoms: 20 ranks over 20000 rounds, each 1/20 within 4.5 standard errors."""
    weights = np.array([0.05, 0.8, 0.15])
    posterior = made_posterior(np.array([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0]]), weights, prior=discrete_prior())
    assert effective_draws(posterior, posterior.theta) is None
    rng = np.random.default_rng(0)
    truths = rng.choice(3, p=weights, size=20000)
    ranks = [
        truth_ranks(rng, posterior.theta[truth, :1], posterior.theta[thinned_indices(rng, posterior, 19), :1])[0]
        for truth in truths
    ]
    shares = np.bincount(ranks, minlength=20) / 20000
    np.testing.assert_allclose(shares, 0.05, atol=4.5 * np.sqrt(0.05 * 0.95 / 20000))


def test_chains_are_thinned_evenly():
    chosen = thinned_indices(np.random.default_rng(0), made_posterior(np.zeros((1000, 2)), chains=(4, 250)), 100)
    assert (np.diff(chosen) == 10).all()


def test_order_of_a_net_does_not_matter():
    """Samples in order of their value: evenly spaced ones would give ranks 0 and L half of their chance."""
    posterior = made_posterior(np.zeros((1000, 2)))
    rng = np.random.default_rng(0)
    spaces = [np.diff(np.sort(thinned_indices(rng, posterior, 10))).std() for _ in range(20)]
    assert min(spaces) > 10  # a systematic sample would have 0


def test_effective_draws_of_chains_know_correlation():
    """An autoregressive chain with coefficient 0.8 is worth (1 - 0.8) / (1 + 0.8) = 1/9 of its draws."""
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((4, 2000))
    chain = np.zeros((4, 2000))
    for t in range(1, 2000):
        chain[:, t] = 0.8 * chain[:, t - 1] + 0.6 * noise[:, t]
    table = np.column_stack([chain.ravel(), noise.ravel(), np.zeros(8000)])  # a constant one says nothing
    found = effective_draws(made_posterior(np.zeros((8000, 2)), chains=(4, 2000)), table)
    assert found == pytest.approx(8000 / 9, rel=0.3)
    stuck = effective_draws(made_posterior(np.zeros((8, 2)), chains=(2, 4)), np.zeros((8, 3)))
    assert stuck == 1.0
