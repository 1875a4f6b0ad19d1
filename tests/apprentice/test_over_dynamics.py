"""Certificates over sampled dynamics: exact chances, honest sizes, refusals, advice, and coverage."""

from dataclasses import replace

import numpy as np
import pytest
from apprentice.dynamics_coverage import lake_run, tiny_run
from inference.test_joint import ANSWERS, DISCOUNT, GRID, PRIOR, STEPS, WEIGHTS, log_likelihood, waiting_problem
from scipy.stats import beta as beta_law, binomtest

from journeyman.apprentice import certify, certify_over_dynamics
from journeyman.apprentice.certificate import unchecked
from journeyman.apprentice.effective_size import size_of_dynamics
from journeyman.apprentice.over_dynamics import Blamed, regret_variances
from journeyman.demonstrations import Demonstration
from journeyman.errors import UnsupportedError
from journeyman.inference import INFERENCE, Method, infer
from journeyman.learner import ActiveLearner
from journeyman.mdp import FiniteMDP, estimate_dynamics, evaluate_policy, solve
from journeyman.problem import Problem
from journeyman.rewards import Normal, PerState

EPSILON = 0.3
GIVEN = [Demonstration.annotation(0, a) for a in (0, 1) for _ in range(ANSWERS[0, a])]


def exact_chance(epsilon: float) -> float:
    """Return the chance that always waiting in state 0 loses epsilon or more, by a fine sum."""
    stay = (np.arange(400) + 0.5) / 400
    joint = WEIGHTS[:, None] * beta_law.pdf(stay, 1.0 + STEPS[0], 1.0 + STEPS[1])
    joint = joint * np.exp(log_likelihood(GRID[:, None], stay[None], ANSWERS[0]))
    waiting = GRID[:, None] / (1.0 - DISCOUNT * stay)
    lost = np.maximum(waiting, 2.0) - waiting
    return float((joint * (lost >= epsilon)).sum() / joint.sum())


@pytest.mark.parametrize(("method", "options"), [("smc", {}), ("enumerate", {"num_points": 256})])
@pytest.mark.parametrize("epsilon", [0.3, 0.6])
def test_chances_are_those_of_the_joint_posterior(method, options, epsilon):
    certificate = certify_over_dynamics(
        waiting_problem(PRIOR), GIVEN, epsilon, 0.1, policy=[0, 0], method=method, max_dynamics=256,
        check_fn=unchecked, num_threads=1, **options,
    )  # fmt: skip
    expected = exact_chance(epsilon)
    assert 0.02 < expected < 0.98
    error = np.sqrt(expected * (1.0 - expected) / certificate.effective_size)
    assert certificate.p_hat == pytest.approx(expected, abs=4.0 * error)
    assert certificate.effective_size <= 256.0
    assert any("5 observed transitions" in one or "6 observed transitions" in one for one in certificate.assumptions)


def test_known_dynamics_in_the_mean_are_refused():
    problem = waiting_problem(PRIOR)
    certificate = certify(infer(problem, GIVEN, num_particles=200, num_threads=1), 5.0, 0.1, check_fn=unchecked)
    assert certificate.status == "refused" and not certificate.holds
    assert "the dynamics are estimated, from 6 steps recorded" in certificate.reasons[0]
    assert "certify_over_dynamics(problem, demonstrations, epsilon, delta)" in certificate.advice[0]
    known = replace(problem, mdp=replace(problem.mdp, origin=None))
    assert certify(infer(known, GIVEN, num_threads=1), 5.0, 0.1, check_fn=unchecked).holds


def test_only_estimated_dynamics_and_methods_with_evidence_will_do():
    problem = waiting_problem(PRIOR)
    known = replace(problem, mdp=replace(problem.mdp, origin=None))
    with pytest.raises(UnsupportedError, match=r"got a problem whose dynamics are known\. Use certify\(infer"):
        certify_over_dynamics(known, GIVEN, EPSILON, 0.1)
    blind = Method(
        "smc that keeps its evidence to itself",
        lambda *given, **options: replace(
            INFERENCE["smc"].infer_fn(*given, **options, num_particles=100), method="blind", log_evidence=None
        ),
    )
    INFERENCE.register("blind", blind)
    try:
        with pytest.raises(UnsupportedError, match=r"which blind does not give\. Use inference 'smc'"):
            certify_over_dynamics(problem, GIVEN, EPSILON, 0.1, policy=[0, 0], method="blind", num_threads=1)
    finally:
        INFERENCE.unregister("blind")


def test_the_initial_states_are_those_of_the_problem():
    problem = waiting_problem(PRIOR)
    elsewhere = replace(problem, mdp=replace(problem.mdp, initial=[0.0, 1.0]))
    certificate = certify_over_dynamics(
        elsewhere, GIVEN, EPSILON, 0.2, policy=[0, 0], max_dynamics=64, check_fn=unchecked, num_threads=1
    )
    assert certificate.p_hat == 0.0 and certificate.mean_regret == 0.0  # state 1 is terminal


def test_samples_that_share_their_dynamics_count_once():
    labels = np.repeat(np.arange(40), 50)
    weights = np.full(2000, 1 / 2000)
    never = np.zeros(2000, dtype=bool)
    assert size_of_dynamics(weights, labels, never, 0.95).value == pytest.approx(40.0)
    one = labels == 3  # one of the dynamics fails whole
    assert size_of_dynamics(weights, labels, one, 0.95).value <= 40.0
    everywhere = np.random.default_rng(0).random(2000) < 0.3  # of its own in each sample: more is known
    assert size_of_dynamics(weights, labels, everywhere, 0.95).value > 200.0
    heavy = np.where(labels == 0, 1.0, 1e-3)
    assert size_of_dynamics(heavy / heavy.sum(), labels, never, 0.95).value < 1.1


def test_what_followed_in_demonstrations_is_counted_once():
    problem = waiting_problem(PRIOR)
    walked = [Demonstration(0, ((0, 0), (0, 0)), final_state=0, ended="truncated")]
    options = {"policy": [1, 0], "max_dynamics": 32, "check_fn": unchecked, "num_threads": 1}
    told = certify_over_dynamics(problem, walked, EPSILON, 0.1, **options)
    assert "8 observed transitions" in told.assumptions[0]
    untold = certify_over_dynamics(problem, walked, EPSILON, 0.1, count_demonstrations=False, **options)
    assert "6 observed transitions" in untold.assumptions[0]


def test_variances_by_pair_are_those_of_the_regret():
    rng = np.random.default_rng(1)
    chances = rng.dirichlet(np.ones(3), size=(3, 2))
    truth = FiniteMDP.from_dense(chances, layout="SAS", discount=0.8)
    dynamics = estimate_dynamics(
        lambda s, a, rng: rng.choice(3, p=chances[s, a]),
        num_states=3, num_actions=2, discount=0.8, samples_per_pair=400, initial=truth.initial,
    )  # fmt: skip
    mdp, reward, policy = dynamics.mdp, rng.normal(size=3), np.array([0, 1, 0])

    def regret(mdp):
        return float(mdp.initial @ (solve(mdp, reward).values - evaluate_policy(mdp, policy, reward)))

    found = regret_variances(dynamics, Blamed(1.0, mdp, reward, solve(mdp, reward).values), policy)
    whole = np.var([regret(dynamics.sample(rng)) for _ in range(400)])
    assert found.sum() == pytest.approx(whole, rel=0.35)  # 400 draws, and first order only
    unused = [(s, a) for s in range(3) for a in range(2) if a != policy[s] and a != solve(mdp, reward).policy[s]]
    assert all(found[pair] == 0.0 for pair in unused)


def lake_like(num_steps):
    chances = np.random.default_rng(2).dirichlet(np.full(4, 0.5), size=(4, 2))
    dynamics = estimate_dynamics(
        lambda s, a, rng: rng.choice(4, p=chances[s, a]), num_states=4, num_actions=2, discount=0.8, num_steps=num_steps
    )
    return Problem(dynamics.mdp, PerState(dynamics.mdp), Normal(4, 0.0, 1.0), 4.0)


def test_what_does_not_hold_says_which_pairs_to_try():
    problem = lake_like(15)
    certificate = certify_over_dynamics(problem, [], 0.5, 0.1, max_dynamics=64, check_fn=unchecked, num_threads=1)
    assert certificate.status == "fails"
    advice = next(one for one in certificate.advice if "learn more about the dynamics" in one)
    assert "try more often action" in advice and ("try)" in advice or "tries)" in advice)
    assert "never tried" in certificate.text()


def test_dynamics_that_are_known_well_are_not_to_blame():
    certificate = certify_over_dynamics(
        lake_like(20_000), [], 0.5, 0.1, max_dynamics=64, check_fn=unchecked, num_threads=1
    )
    assert certificate.status == "fails"
    assert not any("learn more about the dynamics" in one for one in certificate.advice)


def test_a_learner_certifies_over_sampled_dynamics():
    problem = lake_like(4000)
    options = {"num_particles": 200}
    learner = ActiveLearner(
        problem, epsilon=3.0, delta=0.2, inference_options=options, num_threads=1, is_checked=False, seed=1
    )
    assert not learner.certificate().holds or learner.certificate().num_samples == 128
    for state in (0, 1, 2, 3) * 5:
        learner.attach(Demonstration.annotation(state, state % 2), allow_duplicates=True)
    certificate = learner.certificate()
    assert "sampled dynamics" in certificate.effective_size_source and certificate.num_samples == 128
    confirmation = learner.confirmation()
    assert confirmation.num_samples == 256 and "observed transitions" in confirmation.assumptions[0]
    strict = ActiveLearner(problem, epsilon=0.01, delta=0.2, inference_options=options, num_threads=1, seed=1)
    assert strict.certificate().status == "fails"
    assert "even if the estimated dynamics are the real ones" in strict.certificate().reasons[0]


def too_many(runs, delta, epsilon):
    held = [run for run in runs if run.status == "holds"]
    num_wrong = sum(run.regret >= epsilon for run in held)
    return len(held), num_wrong, binomtest(num_wrong, max(len(held), 1), delta, alternative="greater").pvalue < 1e-3


def test_certificates_are_seldom_false():
    runs = [tiny_run(seed, num_states=3, max_dynamics=32, delta=0.3) for seed in range(40)]
    num_held, num_wrong, is_too_many = too_many(runs, 0.3, 0.5)
    assert num_held >= 10 and not is_too_many, (num_held, num_wrong)


@pytest.mark.slow
def test_certificates_are_seldom_false_in_many_runs():
    runs = [tiny_run(100 + seed, max_dynamics=96, delta=0.1) for seed in range(300)]
    num_held, num_wrong, is_too_many = too_many(runs, 0.1, 0.5)
    assert num_held >= 60 and not is_too_many, (num_held, num_wrong)


@pytest.mark.slow
@pytest.mark.parametrize("num_steps", [200, 1000, 5000])
def test_certificates_of_the_lake_are_seldom_false(num_steps):
    runs = [lake_run(seed, num_steps) for seed in range(20)]
    num_held, num_wrong, is_too_many = too_many(runs, 0.1, 1.0)
    assert not is_too_many, (num_held, num_wrong)
    assert num_steps > 200 or num_held <= 2
