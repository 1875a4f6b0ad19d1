"""`failure_chance` against plain loops over answers, policies and samples, and what must hold of it in any case."""

from dataclasses import replace

import numpy as np
import pytest
from acquisition.exact import averaged_score, likelihoods, reweighted, small_posterior, trajectories
from threadpoolctl import threadpool_limits

from journeyman.acquisition import score
from journeyman.acquisition.failure import MIN_MASS, candidate_policies, candidate_regrets, rate_failure_chance
from journeyman.acquisition.scoring import checked_context
from journeyman.apprentice import expected_return, most_likely_optimal, regrets
from journeyman.errors import InputError
from journeyman.inference import infer
from journeyman.mdp import occupancy, solve
from journeyman.mdp.policies import occupancies
from journeyman.worlds import make_world

ROUNDING = 1e-9
NUM_ERRORS = 5  # standard errors: a chance below 1e-5 per comparison


def context_of(posterior, **options):
    usual = {"kind": "state", "length": None, "epsilon": 0.1, "seed": 0, "num_histories": 64, "num_threads": 1}
    return checked_context(posterior, "failure_chance", **(usual | options))


def sharpened(chances, answers):
    powers = chances**answers
    return powers / powers.sum()


def candidates_by_loops(posterior, answers):
    """Every policy that is optimal for the mean reward after one answer, and both apprentices of now."""
    found = {tuple(expected_return(posterior)), tuple(most_likely_optimal(posterior))}
    mdp, model = posterior.problem.mdp, posterior.problem.reward_model
    policies = posterior.expert_policies()
    for state in np.flatnonzero(posterior.problem.queryable):
        rows = np.array([sharpened(policies[i, state], answers) for i in range(posterior.num_samples)])
        for action in range(mdp.num_actions):
            weights = posterior.weights * rows[:, action]
            if weights.sum() >= MIN_MASS:
                mean = weights @ posterior.theta / weights.sum()
                found.add(tuple(solve(mdp, model.reward(mean)).policy))
    return sorted(found)


def middle_regret(found):
    """A regret that about half of the positive ones reach, and none equals."""
    ordered = np.unique(np.round(found[found > ROUNDING], 9))
    middle = len(ordered) // 2
    return float(ordered[max(middle - 1, 0) : middle + 1].mean()) if len(ordered) > 1 else 0.5 * float(ordered[0])


def root_of_failing(posterior, weights, failing):
    """sqrt of the smallest chance of failure over candidates, `failing` `[U, M]`, given weights `[M]`."""
    return min(np.sqrt(weights @ row / weights.sum()) for row in failing)


@pytest.mark.parametrize("answers", [1, 3])
@pytest.mark.parametrize("per_action", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_by_trying_every_answer_and_every_policy(seed, per_action, answers):
    posterior = small_posterior(seed, per_action=per_action, unavailable=0.2, num_atoms=8)
    listed = candidates_by_loops(posterior, answers)
    all_regrets = np.array([regrets(posterior, np.array(policy)) for policy in listed])
    epsilon = middle_regret(all_regrets)
    failing = (all_regrets >= epsilon).astype(float)
    now = root_of_failing(posterior, posterior.weights, failing)
    if now == 0.0:
        pytest.skip("another level than epsilon would be looked at")
    scores = score(posterior, "failure_chance", epsilon=epsilon, answers=answers)
    policies = posterior.expert_policies()
    expected = {}
    for state in np.flatnonzero(posterior.problem.queryable).tolist():
        rows = np.array([sharpened(policies[i, state], answers) for i in range(posterior.num_samples)])
        after = 0.0
        for row in rows.T:
            weights = posterior.weights * row
            if weights.sum() > 0.0:
                after += weights.sum() * root_of_failing(posterior, weights, failing)
        expected[state] = now - after
    if max(expected.values()) <= ROUNDING:
        pytest.skip("no answer helps at this level")
    assert scores.details["level"] == 1.0
    for state, gain in expected.items():
        assert scores.values[state] == pytest.approx(gain, abs=ROUNDING)


def test_most_of_the_cases_above_are_not_skipped():
    compared = 0
    for seed in range(4):
        for per_action in (True, False):
            posterior = small_posterior(seed, per_action=per_action, unavailable=0.2, num_atoms=8)
            listed = candidates_by_loops(posterior, 3)
            found = np.array([regrets(posterior, np.array(policy)) for policy in listed])
            chance = ((found >= middle_regret(found)) @ posterior.weights).min()
            compared += chance > 0.0
    assert compared >= 5


@pytest.mark.parametrize("seed", range(3))
def test_regrets_of_candidates(seed):
    posterior = small_posterior(seed, unavailable=0.2)
    policies = candidate_policies(posterior, context_of(posterior), 3)
    assert sorted(map(tuple, policies)) == candidates_by_loops(posterior, 3)
    one_by_one = np.array([regrets(posterior, policy) for policy in policies])
    assert candidate_regrets(posterior, policies) == pytest.approx(one_by_one, abs=ROUNDING)


def test_occupancies_of_many_policies(monkeypatch):
    mdp = make_world("random-8x8", 1).problem.mdp
    policies = np.random.default_rng(0).integers(mdp.num_actions, size=(40, mdp.num_states))
    one_by_one = np.array([occupancy(mdp, policy) for policy in policies])
    assert occupancies(mdp, policies) == pytest.approx(one_by_one, abs=1e-12)
    monkeypatch.setattr("journeyman.mdp.policies.STACKED_ENTRIES", 7 * mdp.num_states**2)
    assert occupancies(mdp, policies) == pytest.approx(one_by_one, abs=1e-12)
    monkeypatch.setattr("journeyman.mdp.policies.MAX_STACKED_STATES", 10)
    assert np.array_equal(occupancies(mdp, policies), one_by_one)


def test_occupancies_do_not_depend_on_the_threads_of_linear_algebra():
    """Else the question that is asked would; and with several threads it takes much longer."""
    mdp = make_world("random-10x10", 0).problem.mdp
    policies = np.random.default_rng(0).integers(0, mdp.num_actions, (300, mdp.num_states))
    found = []
    for num_threads in (1, 2):
        with threadpool_limits(num_threads):
            found.append(occupancies(mdp, policies))
    assert np.array_equal(*found)


@pytest.mark.parametrize("length", [1, 2])
def test_by_trying_every_trajectory(length):
    posterior = small_posterior(1, beta=2.0, num_atoms=8)
    listed = candidates_by_loops(posterior, 3)
    all_regrets = np.array([regrets(posterior, np.array(policy)) for policy in listed])
    epsilon = middle_regret(all_regrets)
    failing = (all_regrets >= epsilon).astype(float)
    policies, now = posterior.expert_policies(), root_of_failing(posterior, posterior.weights, failing)
    values, error = averaged_score(
        posterior, "failure_chance", kind="trajectory", length=length, epsilon=epsilon, num_histories=64, num_seeds=60
    )
    compared = 0
    for state in np.flatnonzero(posterior.problem.queryable).tolist():
        after = 0.0
        for steps, chance in trajectories(posterior.problem.mdp, state, length):
            weights = posterior.weights * likelihoods(policies, steps)
            after += chance * weights.sum() * root_of_failing(posterior, weights, failing)
        if now - after > 10.0 * error[state]:  # averages of what is cut off at 0 are too high where the gain is small
            compared += 1
            assert abs(values[state] - (now - after)) <= NUM_ERRORS * error[state] + ROUNDING
    assert compared >= 2


@pytest.mark.parametrize("answers", [1, 3])
@pytest.mark.parametrize("seed", range(3))
def test_again_given_other_weights(seed, answers):
    """By listing every answer: the candidates and the level are those of the first rating, the weights are not."""
    posterior = small_posterior(seed, unavailable=0.2, num_atoms=8)
    found = np.array([regrets(posterior, np.array(policy)) for policy in candidates_by_loops(posterior, answers)])
    context = context_of(posterior, epsilon=middle_regret(found))
    first = rate_failure_chance(posterior, context, answers=answers)
    failing = (found >= first.details["level"] * context.epsilon).astype(float)
    histories = np.random.default_rng(seed).dirichlet(np.ones(8), size=3)
    chances, policies = np.array([0.5, 0.2, 0.3]), posterior.expert_policies()
    expected = np.zeros(len(context.states))
    for given, chance in zip(histories, chances, strict=True):
        for index, state in enumerate(context.states):
            rows = np.array([sharpened(policies[i, state], answers) for i in range(8)])
            joint = [given * row for row in rows.T if row.sum() > 0.0]
            after = sum(weights.sum() * root_of_failing(posterior, weights, failing) for weights in joint)
            expected[index] += chance * (root_of_failing(posterior, given, failing) - after)
    assert expected.max() > 1e-4
    assert first.again_fn(context, histories, chances).values == pytest.approx(expected, abs=2 * ROUNDING)
    same = first.again_fn(context, posterior.weights[None], np.ones(1))
    assert np.array_equal(same.values, first.values)


def test_trajectories_again_given_other_weights():
    posterior = small_posterior(1, beta=2.0, num_atoms=8)
    found = np.array([regrets(posterior, np.array(policy)) for policy in candidates_by_loops(posterior, 3)])
    epsilon, policies = middle_regret(found), posterior.expert_policies()
    options = {"kind": "trajectory", "length": 3, "epsilon": epsilon}
    first = rate_failure_chance(posterior, context_of(posterior, **options))
    failing = (found >= first.details["level"] * epsilon).astype(float)
    histories, chances = np.random.default_rng(0).dirichlet(np.ones(8), size=2), np.array([0.7, 0.3])
    shorter = [context_of(posterior, **options | {"length": 2, "seed": seed}) for seed in range(60)]
    runs = np.array([first.again_fn(context, histories, chances).values for context in shorter])
    error, compared = runs.std(axis=0, ddof=1) / np.sqrt(len(runs)), 0
    for index, state in enumerate(shorter[0].states.tolist()):
        gain = 0.0
        for given, chance in zip(histories, chances, strict=True):
            gain += chance * root_of_failing(posterior, given, failing)
            for steps, way in trajectories(posterior.problem.mdp, state, 2):
                weights = given * likelihoods(policies, steps)
                gain -= chance * way * weights.sum() * root_of_failing(posterior, weights, failing)
        if gain > 10.0 * error[index]:  # averages of what is cut off at 0 are too high where the gain is small
            compared += 1
            assert abs(runs[:, index].mean() - gain) <= NUM_ERRORS * error[index] + ROUNDING
    assert compared >= 2


def test_never_negative_and_nothing_where_all_agree():
    for seed in range(5):
        posterior = small_posterior(seed)
        values = score(posterior, "failure_chance").values
        assert values[np.isfinite(values)].min() >= 0.0
        alone = score(reweighted(posterior, np.eye(6)[0]), "failure_chance").values
        assert alone[np.isfinite(alone)].max() <= 1e-12  # differences of entropies: pac_eig has the last word


def test_units_of_the_reward_and_the_order_of_samples_change_nothing():
    world = make_world("random-grid", 3, size=4, terminals="independent")
    asked = np.flatnonzero(world.problem.queryable)[:4]
    posterior = infer(world.problem, world.expert.answers(asked), "smc", num_particles=200)
    usual = score(posterior, "failure_chance", epsilon=0.5)
    order = np.random.default_rng(0).permutation(posterior.num_samples)
    shuffled = replace(
        posterior, theta=posterior.theta[order], values=posterior.values[order], weights=posterior.weights[order]
    )
    finite = np.isfinite(usual.values)
    assert score(shuffled, "failure_chance", epsilon=0.5).values[finite] == pytest.approx(
        usual.values[finite], abs=ROUNDING
    )
    assert np.array_equal(score(posterior, "failure_chance", epsilon=0.5, num_threads=2).values, usual.values)


def test_another_level_where_all_samples_fail_or_none_does():
    world = make_world("random-8x8", 3, terminals="independent")
    posterior = infer(world.problem, (), "smc", num_particles=100)
    low = score(posterior, "failure_chance", epsilon=1e-6)
    assert low.details["level"] > 1.0
    assert low.values.max() > 0.0
    high = score(posterior, "failure_chance", epsilon=1e4)
    assert high.details["level"] < 1.0
    assert high.values.max() > 0.0


def test_several_answers_see_what_one_does_not():
    """One noisy answer cannot overturn a strong belief: rated as one, the score is that of what it tells alone."""
    posterior = infer(make_world("regret-eig-trap", beta=0.001).problem, (), "enumerate")
    sure = reweighted(posterior, [0.9, 0.1])
    one, many = (score(sure, "failure_chance", epsilon=1.0, answers=answers).values.max() for answers in (1, 3000))
    assert many > 10.0 * one


def test_bad_number_of_answers():
    with pytest.raises(InputError, match="answers must be a whole number"):
        score(small_posterior(0), "failure_chance", answers=0)
