"""Effective sample sizes and bounds against exact binomial answers and samples whose dependence is known."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import beta as beta_distribution, binom

from journeyman.apprentice.effective_size import (
    SampleSet,
    effective_size_of,
    halves,
    sample_set,
    size_needed,
    upper_bound,
)
from journeyman.inference.diagnostics import Diagnostics
from journeyman.inference.posterior import Posterior
from journeyman.mdp import FiniteMDP
from journeyman.problem import Problem
from journeyman.rewards import Normal, PerState
from journeyman.worlds import make_world


def posterior_of(theta, weights=None, **options) -> Posterior:
    """A posterior of one parameter in a world where nothing depends on it."""
    mdp = FiniteMDP.from_dense(np.ones((1, 1, 1)), layout="SAS", discount=0.5)
    problem = Problem(mdp, PerState(mdp), Normal(1), 1.0)
    theta = np.asarray(theta, dtype=float).reshape(-1, 1)
    weights = np.ones(len(theta)) if weights is None else np.asarray(weights, dtype=float)
    options = {"method": "smc", "diagnostics": Diagnostics(0.0)} | options
    counts = np.zeros((1, 1), dtype=np.int64)
    return Posterior(problem, counts, theta, weights / weights.sum(), 2.0 * theta, **options)


def particles(theta, chain_length, ancestors, weights=None) -> SampleSet:
    diagnostics = Diagnostics(0.0, distinct_ancestors=ancestors, chain_length=chain_length)
    return sample_set(posterior_of(theta, weights, diagnostics=diagnostics))


def test_upper_bound_is_clopper_and_pearson():
    for hits, size in ((0, 20), (1, 20), (7, 31), (30, 31)):
        bound = upper_bound(hits / size, size, 0.95)
        # the largest chance under which so few hits still have a probability of 5 %
        assert binom.cdf(hits, size, bound) == pytest.approx(0.05, rel=1e-9)
    assert upper_bound(0.0, 20.0, 0.95) == pytest.approx(1 - 0.05 ** (1 / 20))
    assert upper_bound(0.25, 10.4, 0.9) == pytest.approx(beta_distribution.ppf(0.9, 3.6, 7.8))
    assert upper_bound(1.0, 20.0, 0.95) == 1.0


def test_size_needed_is_the_inverse():
    assert size_needed(0.0, 0.05, 0.95) == pytest.approx(np.log(0.05) / np.log(0.95))  # 58.4: 0 of 20 is not enough
    for chance, limit in ((0.01, 0.05), (0.02, 0.1), (0.09, 0.1)):
        size = size_needed(chance, limit, 0.95)
        assert upper_bound(chance, size, 0.95) == pytest.approx(limit, rel=1e-6)
    assert size_needed(0.1, 0.1, 0.95) == np.inf


def test_independent_samples_count_fully():
    rng = np.random.default_rng(0)
    samples = sample_set(posterior_of(rng.normal(size=4000)))
    assert samples.kind == "draws"
    size = effective_size_of(samples, rng.random(4000) < 0.3, 0.95).value
    assert 3600 < size <= 4000  # the spread between 4000 groups is known within sqrt(2 / 4000), about 2 %


def test_what_is_alike_counts_once():
    rng = np.random.default_rng(1)
    hits = np.repeat(rng.random(100) < 0.3, 8)
    size = effective_size_of(particles(rng.normal(size=800), 8, 100), hits, 0.95)
    assert 60 < size.value <= 100  # sqrt(2 / 99) = 14 % for the spread between 100 groups: three of them
    copies = np.repeat(rng.normal(size=5), 160)
    assert effective_size_of(particles(copies, 8, 100), hits, 0.95).value <= 5.0


def test_ancestors_that_are_shared_count_less():
    """Draws that are independent count fully, in proportion to the share of ancestors that are distinct."""
    rng = np.random.default_rng(2)
    hits, nothing = rng.random(800) < 0.5, np.zeros(800, dtype=bool)
    sizes = [effective_size_of(particles(np.arange(800), 8, ancestors), hits, 0.95) for ancestors in (100, 37)]
    assert sizes[1].value == pytest.approx(0.37 * sizes[0].value)
    assert sizes[1].source == "the spread between the chains of 100 ancestors"
    for ancestors in (100, 37):  # nothing tells how alike the states of one chain are
        size = effective_size_of(particles(np.arange(800), 8, ancestors), nothing, 0.95)
        assert (size.value, size.source) == (pytest.approx(ancestors), "the number of independent groups")
    weights = np.repeat(np.r_[np.ones(10), np.zeros(90)], 8) + 1e-12
    one_sided = particles(rng.normal(size=800), 8, 100, weights)
    assert effective_size_of(one_sided, nothing, 0.95).value == pytest.approx(10.0, rel=1e-6)


def persistent(rng, shape, chance, persistence):
    """Chains of hits `[C, N]`: each draw repeats the one before with a chance of `persistence`, else it is new."""
    fresh, is_kept = rng.random(shape) < chance, rng.random(shape) < persistence
    for t in range(1, shape[1]):
        fresh[:, t] = np.where(is_kept[:, t], fresh[:, t - 1], fresh[:, t])
    return fresh


SHAPE = (125, 8)


@pytest.mark.parametrize("chance", [0.05, 0.3])
@pytest.mark.parametrize("persistence", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_particles_of_known_worth(chance, persistence, is_weighted):
    """The variance of a weighted mean of persistent chains in closed form: p (1 - p) sum of w_s w_t k^|s - t|.

    One more group like the worst lowers the stated size, by a quarter at most; 60 runs know it within 5 %. And bounds
    miss the chance in 5 % of the runs at most, within 3 standard errors of that share, 8 %.
    """
    rng = np.random.default_rng([9, int(100 * chance), int(10 * persistence), is_weighted])
    weights = rng.gamma(1.0, size=SHAPE) if is_weighted else np.ones(SHAPE)
    weights /= weights.sum()
    lags = np.abs(np.subtract.outer(np.arange(8), np.arange(8)))
    true = 1.0 / np.einsum("ct,ts,cs->", weights, persistence**lags, weights)
    stated, missed = [], []
    for _ in range(60):
        hits = persistent(rng, SHAPE, chance, persistence).ravel()
        samples = particles(np.arange(1000), 8, 125, weights.ravel())
        size = effective_size_of(samples, hits, 0.95, hits + rng.random(1000)).value
        stated.append(1.0 / size)
        missed.append(upper_bound(float(samples.posterior.weights @ hits), size, 0.95) < chance)
    assert 0.7 < 1.0 / np.mean(stated) / true < 1.05
    assert np.mean(missed) <= 0.05 + 0.085


def test_resampled_particles_are_worth_what_they_come_from():
    """Resampling keeps who descends from whom: what is resampled is worth as much as before, or a little less."""
    rng = np.random.default_rng(10)
    ratios = []
    for _ in range(40):
        weights, hits = np.repeat(rng.gamma(1.0, size=125), 8), persistent(rng, SHAPE, 0.2, 0.7).ravel()
        before = particles(np.arange(1000), 8, 125, weights)
        after = sample_set(before.posterior.resample(rng, 1000))
        index = after.posterior.theta.ravel().astype(int)
        assert (after.kind, after.max_ancestors) == ("particles", 125)
        np.testing.assert_array_equal(after.labels, index // 8)
        sizes = [
            effective_size_of(samples, event, 0.95).value for samples, event in ((before, hits), (after, hits[index]))
        ]
        ratios.append(sizes[1] / sizes[0])
        first, second = halves(after)
        assert not set(first.labels) & set(second.labels)
        np.testing.assert_array_equal(second.posterior.theta.ravel() // 8, second.labels)
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.03)  # systematic: all weights are kept within 1 / 1000


def test_draws_of_many_chains_keep_their_chains():
    rng = np.random.default_rng(11)
    hits = np.repeat(rng.random(50) < 0.5, 20)
    posterior = posterior_of(np.arange(1000.0), method="policywalk", chains=(50, 20))
    resampled = sample_set(posterior.resample(rng, 1000))
    assert (resampled.kind, resampled.num_blocks) == ("draws", 50)
    size = effective_size_of(resampled, hits[resampled.posterior.theta.ravel().astype(int)], 0.95).value
    assert 40 < size < 50.0  # chains that are stuck count once each


@pytest.mark.parametrize("persistence", [0.0, 0.5, 0.9])
def test_few_chains_of_known_worth(persistence):
    """4 chains of 1000 persistent draws are worth (1 - k) / (1 + k) of as many, by the event's own autocorrelation."""
    rng = np.random.default_rng([12, int(10 * persistence)])
    stated = []
    for _ in range(25):
        hits = persistent(rng, (4, 1000), 0.1, persistence)
        size = effective_size_of(chains_of(hits + rng.random((4, 1000))), hits.ravel(), 0.95)
        stated.append(1.0 / size.value)
    assert 1.0 / np.mean(stated) / (4000 * (1 - persistence) / (1 + persistence)) == pytest.approx(1.0, abs=0.1)


def test_few_visits_count_as_little_as_the_slowest_parameter():
    rng = np.random.default_rng(13)
    slow = np.zeros((4, 1000))
    for t in range(1, 1000):
        slow[:, t] = 0.95 * slow[:, t - 1] + rng.normal(size=4)
    seldom = rng.random((4, 1000)) < 0.002
    size = effective_size_of(chains_of(slow), seldom.ravel(), 0.95)
    assert size.source in ("the bulk of the slowest parameter", "the tails of the slowest parameter")
    assert size.value < 400


def chains_of(draws) -> SampleSet:
    samples = sample_set(posterior_of(draws.ravel(), method="policywalk", chains=draws.shape))
    assert samples.kind == "chains"
    return samples


def test_slow_chains_count_little():
    rng = np.random.default_rng(3)
    noise = rng.normal(size=(4, 2000))
    slow = np.zeros_like(noise)
    for t in range(1, noise.shape[1]):
        slow[:, t] = 0.95 * slow[:, t - 1] + np.sqrt(1 - 0.95**2) * noise[:, t]
    fast = effective_size_of(chains_of(noise), noise.ravel() > 1.0, 0.95).value
    assert 6000 < fast <= 8000
    slow_size = effective_size_of(chains_of(slow), slow.ravel() > 1.0, 0.95).value
    assert slow_size < 400  # (1 - 0.95) / (1 + 0.95) of 8000 is 205 for the mean itself


def test_an_event_that_sticks_to_chains_counts_little():
    rng = np.random.default_rng(4)
    hits = np.zeros((4, 500), dtype=bool)
    hits[0] = True  # the parameter mixes well, the event does not
    assert effective_size_of(chains_of(rng.normal(size=(4, 500))), hits.ravel(), 0.95).value == 1.0


def test_weights_of_chains_count():
    """Reweighted chains are worth less: of draws that are independent, what Kish's size says."""
    rng = np.random.default_rng(6)
    draws, hits = rng.normal(size=(4, 1000)), rng.random(4000) < 0.3
    chains = chains_of(draws)
    for weights in (rng.random(4000) ** 8, np.r_[np.ones(40), np.full(3960, 1e-9)]):
        posterior = replace(chains.posterior, weights=weights / weights.sum())
        kish = 1.0 / (posterior.weights**2).sum()
        for event in (hits, np.zeros(4000, dtype=bool)):
            size = effective_size_of(sample_set(posterior), event, 0.95).value
            assert 0.5 * kish < size <= kish * (1.0 + 1e-9)  # the smallest of several that are each 10 to 20 % off


def test_draws_from_chains_are_worth_no_more_than_the_chains():
    rng = np.random.default_rng(7)
    diagnostics = Diagnostics(0.0, ess_bulk=90.0, ess_tail=60.0)
    posterior = posterior_of(rng.normal(size=2000), method="policywalk", chains=(4, 500), diagnostics=diagnostics)
    resampled = sample_set(posterior.resample(rng, 1000))
    size = effective_size_of(resampled, np.zeros(1000, dtype=bool), 0.95)
    assert size == (60.0, "the chains that the samples were drawn from")
    for half in halves(resampled):
        assert effective_size_of(half, np.zeros(half.posterior.num_samples, dtype=bool), 0.95).value < 35.0


def test_repetitions_of_a_net_count_once():
    rng = np.random.default_rng(8)
    net = posterior_of(rng.normal(size=8000), rng.random(8000) ** 40, method="enumerate")
    kish = 1.0 / (net.weights**2).sum()
    resampled = sample_set(net.resample(rng, 8000))
    size = effective_size_of(resampled, np.zeros(8000, dtype=bool), 0.95).value
    assert size == pytest.approx(kish, rel=0.1)  # systematic: each is repeated as its weight says, within one


def test_few_groups_make_the_spread_uncertain():
    """A net has 8 shifts: Student's t widens what their spread says."""
    rng = np.random.default_rng(5)
    samples = sample_set(posterior_of(rng.normal(size=8000), method="enumerate"))
    assert (samples.kind, samples.num_blocks) == ("net", 8)
    hits = (np.arange(8000) % 1000) < np.repeat([90, 100, 110, 120, 80, 95, 105, 100], 1000)
    shares = np.array([90, 100, 110, 120, 80, 95, 105, 100]) / 1000
    error = shares.std(ddof=1) / np.sqrt(8) * 1.8946 / 1.6449  # 95 % quantiles of t with 7 degrees, and normal
    size = effective_size_of(samples, hits, 0.95).value
    assert size == pytest.approx(0.1 * 0.9 / error**2, rel=1e-3)


def test_halves_share_no_group():
    samples = particles(np.arange(800.0), 8, 90)
    first, second = halves(samples)
    assert not set(first.labels) & set(second.labels)
    assert first.posterior.num_samples + second.posterior.num_samples == 800
    for half in (first, second):
        assert half.posterior.weights.sum() == pytest.approx(1.0)
        assert half.max_ancestors == 40  # all ten that are missing may be missing here
    chains = chains_of(np.random.default_rng(0).normal(size=(3, 10)))
    first, second = halves(chains)
    assert (first.posterior.chains, second.posterior.chains) == ((1, 10), (2, 10))
    np.testing.assert_array_equal(second.posterior.theta[0], chains.posterior.theta[10])
    sorted_draws = sample_set(posterior_of(np.repeat(np.arange(100.0), 3)))
    first, second = halves(sorted_draws)
    assert not set(first.posterior.theta.ravel()) & set(second.posterior.theta.ravel())  # copies stay together
    assert abs(first.posterior.theta.mean() - second.posterior.theta.mean()) < 4 * np.sqrt(2 / 50 * 100**2 / 12)
    first, second = halves(chains_of(np.arange(10.0)[None]))  # a single chain: its two ends
    assert (first.posterior.chains, second.posterior.chains) == ((1, 5), (1, 5))


def test_halves_need_weight_in_both():
    weights = np.r_[1.0, np.zeros(15)]
    assert halves(sample_set(posterior_of(np.arange(16.0), weights))) is None
    assert halves(sample_set(posterior_of([1.0]))) is None


def test_kinds_of_real_posteriors():
    from journeyman.inference import infer

    world = make_world("random-grid", 0, size=3, terminals="independent")
    demonstrations = world.expert.answers(np.flatnonzero(world.problem.queryable).repeat(6))
    posterior = infer(world.problem, demonstrations, num_particles=200)
    samples = sample_set(posterior)
    assert posterior.diagnostics.num_rejuvenations > 0
    assert (samples.kind, samples.num_blocks) == ("particles", 25)
    # particles of one ancestor stand together: neighbours within a group are more alike than across groups
    theta = posterior.theta.reshape(25, 8, -1)
    within = np.abs(np.diff(theta, axis=1)).mean()
    across = np.abs(theta[1:, 0] - theta[:-1, -1]).mean()
    assert within < 0.95 * across
    discrete = make_world("bandit", 0).problem
    assert sample_set(infer(discrete)).kind == "atoms"
    assert sample_set(infer(discrete).resample(np.random.default_rng(0), 50)).kind == "draws"
    resampled = replace(posterior, theta=np.repeat(posterior.theta[:20], 10, axis=0))
    assert effective_size_of(sample_set(resampled), np.zeros(200, dtype=bool), 0.95).value <= 20.0
