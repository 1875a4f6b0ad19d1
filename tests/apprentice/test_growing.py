"""Certificates on samples that grow until the claim is decided: right, no more often wrong than said, never stuck."""

import itertools

import numpy as np
import pytest
from scipy.stats import binom

from journeyman.apprentice import expected_return
from journeyman.apprentice.certificate import Candidate, certify_growing, measured
from journeyman.apprentice.effective_size import effective_size_of, lower_bound, sample_set, upper_bound
from journeyman.apprentice.regret import failures_of
from journeyman.apprentice.verdict import Claim
from journeyman.errors import InputError
from journeyman.inference import infer, smc
from journeyman.inference.diagnostics import Diagnostics
from journeyman.inference.posterior import Posterior, pooled_chains
from journeyman.mdp import FiniteMDP, solve_batch
from journeyman.problem import Problem
from journeyman.rewards import Discrete, LinearFeatures, Normal
from journeyman.worlds import make_world

EPSILON, DELTA = 0.5, 0.1


def one_gamble(prior=None) -> Problem:
    """One state whose two actions end the episode: action 1 pays theta, action 0 nothing."""
    mdp = FiniteMDP.from_function(lambda s, a: [], num_states=1, num_actions=2, discount=0.5)
    features = np.zeros((1, 2, 1))
    features[0, 1, 0] = 1.0
    return Problem(mdp, LinearFeatures(features, mdp), prior or Normal(1, 0.0, 1.0), 1.0)


PROBLEM = one_gamble()
STAY = np.array([0])  # loses theta where that is positive


def chained(hits) -> Posterior:
    """A posterior of chains `[C, N]` under whose draws STAY fails where `hits` says so."""
    theta = np.where(hits, 1.0, -1.0).reshape(-1, 1)
    values = solve_batch(PROBLEM.mdp, PROBLEM.reward_model.reward(theta)).values
    size = theta.size
    return Posterior(
        PROBLEM, np.zeros((1, 2), dtype=int), theta, np.full(size, 1.0 / size), values, "test",
        Diagnostics(seconds=0.0), chains=hits.shape,
    )  # fmt: skip


def growing(rng, chance, *, num_chains=50, persistence=0.0):
    """Chains that fail with a chance; each draw repeats the one before with a chance of `persistence`."""
    hits = rng.random((num_chains, 1)) < chance
    for num_draws in (4 * 2**k for k in itertools.count()):
        while hits.shape[1] < num_draws:
            fresh, is_kept = rng.random(num_chains) < chance, rng.random(num_chains) < persistence
            hits = np.column_stack([hits, np.where(is_kept, hits[:, -1], fresh)])
        yield chained(hits)


def certificate(rng, chance, **options):
    max_samples = options.pop("max_samples", 6400)
    runs = growing(rng, chance, **options)
    return certify_growing(runs, EPSILON, DELTA, policy=STAY, max_samples=max_samples)


def test_it_draws_no_more_than_it_needs():
    rng = np.random.default_rng(0)
    rare, surely_not, close = (certificate(rng, chance) for chance in (0.01, 0.5, 0.085))
    clear = certificate(rng, 0.0)
    assert (clear.status, clear.num_samples, clear.num_looks) == ("holds", 200, 1)
    assert rare.status == "holds"
    assert rare.num_samples <= 1600  # until some chains have met what is rare, or draws of all of them have not
    assert (surely_not.status, surely_not.num_samples) == ("fails", 200)
    assert close.num_samples > 800
    assert close.num_looks == np.log2(close.num_samples / 200) + 1


def test_a_budget_that_does_not_suffice_leaves_it_undecided():
    found = certificate(np.random.default_rng(0), 0.09, max_samples=400)
    assert (found.status, found.num_samples, found.num_looks) == ("undecided", 400, 2)
    assert found.ended_by == "max_samples"
    assert "raise max_samples" in found.advice[0]


@pytest.mark.parametrize(("chance", "persistence"), [(0.12, 0.0), (0.12, 0.8), (0.15, 0.5)])
def test_what_does_not_hold_is_seldom_said_to(chance, persistence):
    """It has a chance above delta: saying that it holds is an error, allowed in 5 % of the runs over all looks."""
    rngs = [np.random.default_rng([2, run]) for run in range(100)]
    num_wrong = sum(certificate(rng, chance, persistence=persistence).holds for rng in rngs)
    assert binom.sf(num_wrong - 1, len(rngs), 0.05) > 0.001


@pytest.mark.slow
def test_looks_without_spending_would_err_more_often():
    """The same runs with the plain bound at every look, at the edge: the reason why the error is spent over looks."""
    plain, spent, num_runs, num_looks = 0, 0, 120, 6
    stay = Candidate(STAY, "given", "initial")
    for run in range(num_runs):
        posteriors = list(itertools.islice(growing(np.random.default_rng([3, run]), DELTA, persistence=0.5), num_looks))
        looks = [
            [measured(sample_set(posterior), stay, Claim(EPSILON, DELTA, level)).bound for posterior in posteriors]
            for level in (0.95, *(1.0 - 0.05 / (look * (look + 1)) for look in range(1, num_looks + 1)))
        ]
        plain += min(looks[0]) <= DELTA
        spent += any(looks[look + 1][look] <= DELTA for look in range(num_looks))
    assert binom.sf(spent - 1, num_runs, 0.05) > 0.001
    assert binom.sf(plain - 1, num_runs, 0.05) < 0.01


@pytest.mark.parametrize("chance", [0.03, 0.1, 0.3])
@pytest.mark.parametrize("persistence", [0.0, 0.5, 0.9])
def test_effective_size_of_many_chains(chance, persistence):
    """Draws that repeat with chance k are worth (1 - k) / (1 + k) of as many: stated is 0.8 to 1.05 of true."""
    sizes, num_draws = [], 64
    for run in range(20):
        posterior = next(
            itertools.islice(
                growing(np.random.default_rng([4, run]), chance, num_chains=200, persistence=persistence), 4, None
            )
        )
        hits = failures_of(posterior, STAY, EPSILON, "initial").is_failing
        sizes.append(1.0 / effective_size_of(sample_set(posterior), hits, 0.95).value)
    edge = 2 * persistence * (1 - persistence**num_draws) / (num_draws * (1 - persistence) ** 2)
    true = 200 * num_draws / ((1 + persistence) / (1 - persistence) - edge)
    assert 0.8 < 1.0 / np.mean(sizes) / true < 1.05


def test_chains_that_never_met_the_event_count_once():
    """No draw fails and no regret differs: nothing tells how alike the draws of a chain are."""
    found = certificate(np.random.default_rng(0), 0.0)
    assert (found.p_hat, found.effective_size) == (0.0, pytest.approx(50.0))
    assert found.upper_bound == pytest.approx(1.0 - 0.025 ** (1 / 50))
    assert found.effective_size_source == "the number of independent groups"


@pytest.mark.parametrize("is_small", ["one draw", "one chain", "19 chains"])
def test_a_regret_that_few_chains_have_met_tells_nothing_either(is_small):
    """Beside regrets of 0 a tiny one is beyond every quantile; that does not make it common."""
    samples = sample_set(chained(np.zeros((50, 64), dtype=bool)))
    regret = np.zeros((50, 64))
    regret[{"one draw": (3, 5), "one chain": 7, "19 chains": slice(19)}[is_small]] = 1e-9
    never = np.zeros(50 * 64, dtype=bool)
    assert effective_size_of(samples, never, 0.95, regret.ravel()).value == pytest.approx(50.0)


def test_a_regret_that_many_chains_have_met_tells_what_draws_are_worth():
    samples, regret = sample_set(chained(np.zeros((50, 64), dtype=bool))), np.zeros((50, 64))
    regret[:30, 0] = 1e-9
    assert effective_size_of(samples, np.zeros(50 * 64, dtype=bool), 0.95, regret.ravel()).value > 500.0


def test_chains_that_are_stuck_count_once_each():
    rng = np.random.default_rng(5)
    stuck = chained(np.repeat(rng.random((400, 1)) < 0.3, 16, axis=1))
    hits = failures_of(stuck, STAY, EPSILON, "initial").is_failing
    assert effective_size_of(sample_set(stuck), hits, 0.95).value == pytest.approx(400, rel=0.02)


def test_both_bounds_are_those_of_the_binomial():
    size, hits = 40, 3
    upper, lower = (bound(hits / size, size, 0.95) for bound in (upper_bound, lower_bound))
    assert binom.cdf(hits, size, upper) == pytest.approx(0.05)
    assert binom.sf(hits - 1, size, lower) == pytest.approx(0.05)
    assert lower_bound(0.0, size, 0.95) == 0.0


def test_an_exact_posterior_is_decided_at_once():
    problem = one_gamble(Discrete(np.array([[1.0], [-1.0]]), np.array([0.05, 0.95])))
    exact = infer(problem, (), "enumerate")
    found = certify_growing([exact], EPSILON, DELTA, policy=STAY, max_samples=10**6)
    assert (found.status, found.p_hat, found.effective_size) == ("holds", pytest.approx(0.05), None)


def test_without_samples_there_is_no_certificate():
    with pytest.raises(InputError, match="a certificate must have samples to rest on, got none"):
        certify_growing([], EPSILON, DELTA, policy=STAY, max_samples=10)


def test_runs_are_pooled_as_chains():
    first, second = (chained(np.full((3, 4), is_hit)) for is_hit in (True, False))
    both = pooled_chains([first, second])
    assert both.chains == (6, 4)
    assert both.weights.sum() == pytest.approx(1.0)
    assert np.array_equal(both.theta, np.concatenate([first.theta, second.theta]))


def jail_particles(num_answers):
    world = make_world("jail", 3)
    rng = np.random.default_rng(num_answers)
    answers = world.expert.answers(rng.choice(np.flatnonzero(world.problem.queryable), num_answers))
    particles = smc.update(smc.start(world.problem, seed=1, num_threads=1), answers, num_threads=1)
    return world.problem, answers, particles


@pytest.mark.parametrize("num_answers", [1, 12])
def test_draws_of_more_chains_agree_with_enumeration(num_answers):
    """Four standard errors of a chance, by the stated size, and of the means of parameters, by as many draws."""
    problem, answers, particles = jail_particles(num_answers)
    exact = infer(problem, answers, "enumerate")
    posterior = next(itertools.islice(smc.draw_more(particles, seed=5, num_threads=1), 2, None))
    assert posterior.chains == (125, 32)
    policy = expected_return(exact)
    hits, truth = (failures_of(found, policy, 1.0, "initial") for found in (posterior, exact))
    chance = float(exact.mean(truth.is_failing))
    size = effective_size_of(sample_set(posterior), hits.is_failing, 0.95, hits.regret).value
    assert abs(float(posterior.mean(hits.is_failing)) - chance) < 4.0 * np.sqrt(chance * (1 - chance) / size) + 1e-3
    gap = (posterior.mean_parameters() - exact.mean_parameters()) / exact.parameter_std()
    assert np.abs(gap).max() < 4.0 / np.sqrt(size)


def test_draws_follow_from_the_seed_alone_and_grow():
    _, _, particles = jail_particles(12)
    runs = [smc.draw_more(particles, seed=5, num_threads=threads) for threads in (1, 2)]
    for first, second in itertools.islice(zip(*runs, strict=True), 2):
        assert np.array_equal(first.theta, second.theta)
    longer = first.theta.reshape(125, 16, -1)
    shorter = next(smc.draw_more(particles, seed=5, num_threads=1)).theta.reshape(125, 8, -1)
    assert np.array_equal(longer[:, :8], shorter)
    other = next(smc.draw_more(particles, seed=6, num_threads=1))
    assert not np.array_equal(other.theta.reshape(125, 8, -1), shorter)
