"""Certificates: what they claim, what they refuse, and what they say."""

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from apprentice.random_posteriors import random_posterior
from apprentice.test_effective_size import posterior_of
from apprentice.test_policies import one_state
from apprentice.test_regret import prior_of

from journeyman.apprentice import APPRENTICES, certify, expected_return, immediate_regrets, state_regrets
from journeyman.apprentice.certificate import STATUSES
from journeyman.apprentice.sensitivity import under_expert
from journeyman.errors import InputError
from journeyman.inference import infer
from journeyman.inference.diagnostics import Diagnostics
from journeyman.inference.posterior import Posterior
from journeyman.mdp import FiniteMDP, solve_batch
from journeyman.problem import Problem
from journeyman.rewards import LinearFeatures, Normal
from journeyman.worlds import make_world

JAIL_STATES = (20, 26, 27, 32, 33, 20)


def two_actions(gaps, weights=None, **options) -> Posterior:
    """Samples of one state with two actions: action 0 pays `gaps` `[M]` more than action 1; the episode then ends."""
    gaps = np.asarray(gaps, dtype=float).reshape(-1, 1)
    mdp = FiniteMDP.from_dense(np.zeros((1, 2, 1)), layout="SAS", discount=0.9, terminal=np.zeros(1, dtype=bool))
    problem = Problem(mdp, LinearFeatures(np.array([[[1.0], [0.0]]]), mdp), Normal(1), 1.0)
    weights = np.ones(len(gaps)) if weights is None else np.asarray(weights, dtype=float)
    values = solve_batch(mdp, problem.reward_model.reward(gaps)).values
    options = {"method": "smc", "diagnostics": Diagnostics(0.0)} | options
    counts = np.zeros((1, 2), dtype=np.int64)
    return Posterior(problem, counts, gaps, weights / weights.sum(), values, **options)


def mixed(num_bad, num_good, seed=0):
    """Gaps of which `num_bad` are about -2 and the others about +1, in random order, all different."""
    gaps = np.r_[np.full(num_bad, -2.0), np.full(num_good, 1.0)] + 1e-4 * np.arange(num_bad + num_good)
    return np.random.default_rng(seed).permutation(gaps)


def test_the_bound_and_not_the_estimate_decides():
    for num_bad, status in ((0, "holds"), (2, "holds"), (8, "undecided"), (30, "fails")):
        certificate = certify(two_actions(mixed(num_bad, 100 - num_bad)), 1.0, 0.1, policy=[0])
        assert certificate.status == status
        assert certificate.holds == (status == "holds")
        assert certificate.p_hat == pytest.approx(num_bad / 100)
        assert certificate.upper_bound >= certificate.p_hat
        assert certificate.holds == (certificate.upper_bound <= 0.1)
        assert bool(certificate.reasons) == bool(certificate.advice) == (not certificate.holds)


def test_none_of_twenty_cannot_certify_one_in_twenty():
    certificate = certify(two_actions(mixed(0, 20)), 1.0, 0.05, policy=[0])
    assert (certificate.status, certificate.p_hat) == ("refused", 0.0)
    assert "20 effective samples could not show a chance of at most 5 %" in certificate.reasons[0]
    assert "it takes 59 effective ones" in certificate.advice[0]
    assert certify(two_actions(mixed(0, 59)), 1.0, 0.05, policy=[0]).holds
    assert not certify(two_actions(mixed(0, 58)), 1.0, 0.05, policy=[0]).holds


def test_bad_diagnostics_are_refused():
    posterior = two_actions(mixed(0, 500), diagnostics=Diagnostics(0.0, warnings=("the chains disagree. Run more.",)))
    certificate = certify(posterior, 1.0, 0.1, policy=[0])
    assert certificate.status == "refused"
    assert certificate.upper_bound < 0.1  # the numbers alone would do
    assert certificate.reasons == ("the chains disagree. Run more.",)
    assert "the chains disagree" in certificate.text()


@pytest.mark.parametrize("policy", [None, [0]])
def test_all_weight_on_one_sample_is_refused(policy):
    certificate = certify(two_actions(mixed(0, 100), np.r_[1.0, np.zeros(99)]), 1.0, 0.1, policy=policy)
    assert certificate.status == "refused"
    assert "one sample has 100 % of the weight" in " ".join(certificate.reasons)


def test_a_single_sample_is_refused():
    assert certify(two_actions([1.0]), 1.0, 0.1).status == "refused"


def test_a_regret_of_exactly_epsilon_counts():
    posterior = prior_of("regret-eig-trap")
    policy = expected_return(posterior)
    for epsilon, chance in ((50.0, 1.0), (50.0 * (1 + 1e-15), 1.0), (50.0 * (1 + 1e-9), 0.0), (50.01, 0.0)):
        assert certify(posterior, epsilon, 0.1, policy=policy).p_hat == pytest.approx(chance)


def test_exact_posteriors_have_no_sampling_error():
    posterior = prior_of("brown-two-state")
    certificate = certify(posterior, 1.0, 0.5)
    assert certificate.effective_size is None
    assert certificate.p_hat == pytest.approx(0.75)  # wrong in s0, s1 or both
    assert certificate.upper_bound == pytest.approx(0.75, rel=1e-6)
    assert certify(posterior, 1.0, 0.76).holds
    sure = one_state([[1.0, 0.0]])
    assert certify(sure, 0.5, 0.01).holds  # one atom with all the weight: known, not undersampled


def test_a_chosen_policy_is_certified_on_other_samples():
    """Gaps of 8 samples each differ between halves: what is chosen on one is wrong on the other."""
    gaps = np.r_[np.linspace(1.0, 2.0, 200), -np.linspace(1.0, 2.0, 200)]
    posterior = two_actions(gaps, diagnostics=Diagnostics(0.0, distinct_ancestors=50, chain_length=8))
    for apprentice in APPRENTICES:
        certificate = certify(posterior, 0.5, 0.1, apprentice=apprentice)
        assert certificate.policy.tolist() == [0]
        assert (certificate.p_hat, certificate.num_samples) == (1.0, 200)
        assert certificate.policy_source == apprentice
    assert certify(posterior, 0.5, 0.1, policy=[0]).p_hat == pytest.approx(0.5)


def test_the_order_of_draws_does_not_bias_the_halves():
    """Sorted draws: the first half of them would choose another policy, and the second half never sees it fail."""
    certificate = certify(two_actions(np.linspace(-1.0, 3.0, 400)), 0.5, 0.2)
    assert certificate.policy.tolist() == [0]
    # an eighth of the gaps is -0.5 or less; 4 binomial standard errors of 200 draws
    assert abs(certificate.p_hat - 0.125) < 4 * np.sqrt(0.125 * 0.875 / 200)


def test_every_state_implies_a_small_regret_from_every_state():
    num_clean = 0
    for seed in range(60):
        posterior = random_posterior(seed, min_actions=2)
        policy = expected_return(posterior)
        epsilon = 2.0
        certificate = certify(posterior, epsilon, 0.2, policy=policy, scope="every_state")
        discount = posterior.problem.mdp.discount
        fails = (immediate_regrets(posterior, policy) >= (1 - discount) * epsilon).any(axis=1)
        assert certificate.p_hat == pytest.approx(posterior.weights @ fails)
        assert (state_regrets(posterior, policy)[~fails] < epsilon).all()
        assert certificate.p_hat >= certify(posterior, epsilon, 0.2, policy=policy).p_hat - 1e-12
        num_clean += 0.0 < certificate.p_hat < 1.0
    assert num_clean > 5


def test_states_that_contribute_most():
    posterior = prior_of("brown-two-state")
    top = certify(posterior, 1.0, 0.1, policy=[0, 0]).top_states
    # rho is uniform: nu = (1/2, 1/2 + discount / 2); immediate regrets are 4 or 20 in half of the cases
    assert [state.state for state in top] == [1, 0]
    np.testing.assert_allclose([state.regret for state in top], [0.95 * 10.0, 0.5 * 2.0])
    np.testing.assert_allclose([state.chance for state in top], 0.5)


def test_quantiles_and_mean():
    gaps = -np.arange(1.0, 101.0)
    certificate = certify(two_actions(gaps), 1000.0, 0.1, policy=[0])
    assert certificate.regret_quantiles == ((0.5, 50.0), (0.9, 90.0), (0.95, 95.0), (0.99, 99.0))
    assert certificate.mean_regret == pytest.approx(50.5)


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_other_betas_of_atoms_are_exact(factor):
    world = make_world("lopes-two-state", 0)
    demonstrations = world.expert.answers([0, 0, 1, 0, 1])
    posterior = infer(world.problem, demonstrations, "enumerate")
    other = replace(world.problem, expert=factor * world.problem.beta)
    exact = infer(other, demonstrations, "enumerate")
    np.testing.assert_allclose(under_expert(posterior, other.beta).weights, exact.weights, rtol=1e-9)
    np.testing.assert_array_equal(posterior.values, exact.values)  # optimal values know nothing of beta
    entry = certify(posterior, 0.5, 0.1, policy=[0, 0]).sensitivity[int(factor > 1.0)]
    expected = certify(exact, 0.5, 0.1, policy=[0, 0]).p_hat
    assert (entry.expert, entry.chance, entry.effective_size) == (
        f"beta = {other.beta:.4g}",
        pytest.approx(expected),
        None,
    )


def test_other_betas_of_particles_within_their_error():
    world = make_world("jail", 1)
    demonstrations = world.expert.answers(JAIL_STATES[:4])
    posterior = infer(world.problem, demonstrations, "smc", num_particles=2000)
    policy = expected_return(posterior)
    found = certify(posterior, 1.0, 0.1, policy=policy).sensitivity
    for entry in found:
        expected = certify(
            jail_posterior(float(entry.expert.partition(" = ")[2]) / world.problem.beta, 4), 1.0, 0.1, policy=policy
        ).p_hat
        assert 0.02 < expected < 0.95
        assert entry.effective_size > 50
        # 4 standard errors at the stated effective size; at least one sample's worth
        error = 4 * np.sqrt(max(expected * (1 - expected), 1 / entry.effective_size) / entry.effective_size)
        assert abs(entry.chance - expected) < error


def test_too_few_samples_at_another_beta_say_nothing():
    rng = np.random.default_rng(0)
    posterior = two_actions(rng.normal(size=100))
    counts = np.array([[5000, 5000]])
    certificate = certify(replace(posterior, counts=counts), 1.0, 0.1, policy=[0])
    assert [entry.chance for entry in certificate.sensitivity] == [None, None]
    assert "unknown, too few samples fit" in certificate.text()


@cache
def jail_posterior(factor: float, num_answers: int) -> Posterior:
    """The posterior on a net, for an expert of `factor` times the jail's beta; and far more points than are needed."""
    world = make_world("jail", 1)
    problem = replace(world.problem, expert=factor * world.problem.beta)
    return infer(problem, world.expert.answers(JAIL_STATES[:num_answers]), "enumerate", num_points=2**14)


@pytest.mark.parametrize("method", ["policywalk", "smc", "enumerate"])
def test_all_methods_agree(method):
    """The chance of failure on the jail, against the net with 4 standard errors of the stated effective size."""
    world = make_world("jail", 1)
    demonstrations = world.expert.answers(JAIL_STATES)
    exact = jail_posterior(1.0, len(JAIL_STATES))
    policy = expected_return(exact)
    epsilon = 2.0
    expected = exact.mean((state_regrets(exact, policy) @ world.problem.mdp.initial) >= epsilon)
    assert 0.05 < expected < 0.95
    options = {"policywalk": {"num_chains": 2, "num_draws": 500}, "enumerate": {"num_points": 2**13}}.get(method, {})
    certificate = certify(infer(world.problem, demonstrations, method, seed=3, **options), epsilon, 0.1, policy=policy)
    assert certificate.effective_size > 50
    error = 4 * np.sqrt(max(expected * (1 - expected), 1e-3) / certificate.effective_size)
    assert abs(certificate.p_hat - expected) < error


def test_json_is_json_whatever_the_status():
    seen = set()
    for num_bad, size, delta in ((0, 100, 0.1), (8, 100, 0.1), (50, 100, 0.1), (0, 10, 0.1)):
        certificate = certify(two_actions(mixed(num_bad, size - num_bad)), 1.0, delta, policy=[0])
        record = json.loads(certificate.to_json(), parse_constant=pytest.fail)
        assert record["status"] == certificate.status
        assert record["policy"] == [0]
        assert record["holds"] == certificate.holds
        seen.add(certificate.status)
        text = certificate.text()
        assert max(len(line) for line in text.splitlines()) <= 100
        assert "All of this assumes that:" in text
        for reason in certificate.reasons:
            assert reason[:40] in text
    assert seen == set(STATUSES) - {"doubtful"}  # which tests of criticism see


def test_text_says_what_matters():
    text = certify(two_actions(mixed(1, 199)), 1.0, 0.1, policy=[0]).text()
    assert text.startswith("The certificate HOLDS.\nThe policy loses less than 1 in expected return from the initial")
    assert "with a probability of at least 90 %" in " ".join(text.split())
    assert "about 0.5 %" in text
    assert "beta = 1" in text
    scoped = certify(two_actions(mixed(1, 199)), 1.0, 0.1, policy=[0], scope="every_state").text()
    assert "from every state it may start in" in " ".join(scoped.split())


def test_text_has_no_numbers_that_say_nothing():
    """Quantiles that print the same are one, and a chance as small as nobody can picture is below 0.1 %."""
    certificate = certify(two_actions(mixed(0, 200)), 1.0, 0.1, policy=[0])
    quantiles = ((0.5, 0.0), (0.9, 0.0), (0.95, 1e-3), (0.99, 2.0))
    text = " ".join(replace(certificate, p_hat=2.69e-7, upper_bound=3e-5, regret_quantiles=quantiles).text().split())
    assert "at most 0 in 90 %, 0.001 in 95 %, 2 in 99 % of the cases." in text
    assert "losing 1 or more: below 0.1 %, and at most 0.1 % (at 95 % confidence). The limit is 10 %." in text
    alike = replace(certificate, regret_quantiles=tuple((level, 0.0) for level, _ in quantiles)).text()
    assert "at most 0 in 99 % of the cases." in " ".join(alike.split())


def test_stochastic_policies():
    certificate = certify(two_actions(mixed(0, 100)), 1.0, 0.1, policy=[[0.5, 0.5]])
    assert certificate.holds
    assert certificate.mean_regret == pytest.approx(0.5, abs=0.01)
    assert certificate.policy.shape == (1, 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"epsilon": 0.0}, "epsilon must be positive and finite, got 0.0"),
        ({"epsilon": -1.0}, "epsilon must be positive and finite"),
        ({"epsilon": np.nan}, "epsilon must be positive and finite"),
        ({"delta": 0.0}, "delta must lie strictly between 0 and 1, got 0.0"),
        ({"delta": 1.0}, "delta must lie strictly between 0 and 1"),
        ({"delta": "small"}, "delta must be a number"),
        ({"confidence": 1.0}, "confidence must lie strictly between 0 and 1"),
        ({"scope": "everywhere"}, "scope must be one of initial, every_state"),
        ({"policy": None, "apprentice": "best"}, "an apprentice must be one that exists, got 'best'"),
        ({"apprentice": "expected-return"}, "Did you mean 'expected_return'?"),
        ({"policy": [2]}, "a policy must choose available actions"),
    ],
)
def test_bad_input(arguments, message):
    given = {"policy": [0], "epsilon": 1.0, "delta": 0.1} | arguments
    with pytest.raises(InputError, match=message):
        certify(
            two_actions(mixed(0, 100)), given.pop("epsilon"), given.pop("delta"), policy=given.pop("policy"), **given
        )


def test_a_problem_is_no_posterior():
    with pytest.raises(InputError, match="posterior must be a Posterior, got Problem"):
        certify(two_actions([1.0]).problem, 1.0, 0.1, policy=[0])


def test_a_world_without_choice_is_certified_at_once():
    certificate = certify(posterior_of(np.random.default_rng(0).normal(size=100)), 0.1, 0.1)
    assert certificate.holds
    assert certificate.top_states == ()
