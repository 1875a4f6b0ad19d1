"""The simulated expert: exact policies, frequencies of simulated answers, and their noise.

Tests of frequencies use fixed seeds; the level says how rarely a right implementation would fail for a random seed.
"""

import pickle

import numpy as np
import pytest
from mdp.random_mdps import random_mdp, varied_mdps
from scipy import special, stats

from journeyman.demonstrations import Demonstration
from journeyman.errors import InputError
from journeyman.experts import Boltzmann, Question, SimulatedExpert, questions_at
from journeyman.mdp import FiniteMDP, solve

LEVEL = 1e-3


@pytest.fixture(scope="module")
def expert():
    """Six states, three actions, one of them missing in two states, one terminal cell."""
    rng = np.random.default_rng(11)
    P = rng.dirichlet(np.full(6, 3.0), size=(6, 3))
    P[5] = 0.0
    available = np.ones((6, 3), dtype=bool)
    available[[1, 3], [0, 2]] = False
    mdp = FiniteMDP.from_dense(P, layout="SAS", discount=0.9, available=available)
    return SimulatedExpert(mdp, rng.normal(size=(6, 3)), 1.5)


# -- the policy ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("beta", [0.0, 1e-300, 0.5, 4.0, 1e6, 1e308])
def test_policies_are_distributions_over_available_actions(beta):
    for rng, mdp in varied_mdps(15, seed=700):
        expert = SimulatedExpert(mdp, 100 * rng.normal(size=mdp.available.shape), beta)
        assert np.isfinite(expert.policy).all()
        assert not np.isnan(expert.log_policy).any()
        np.testing.assert_allclose(expert.policy.sum(axis=1), 1.0, rtol=0, atol=1e-14)  # few roundings of 2e-16
        assert (expert.policy[~mdp.available] == 0).all()
        assert np.isneginf(expert.log_policy[~mdp.available]).all()


def test_the_policy_is_a_softmax_of_beta_q(expert):
    scaled = np.where(expert.mdp.available, expert.model.beta * expert.q, -np.inf)
    np.testing.assert_allclose(expert.log_policy, special.log_softmax(scaled, axis=1), rtol=1e-13, atol=1e-14)
    solution = solve(expert.mdp, expert.reward)
    np.testing.assert_array_equal(expert.q, solution.q)
    np.testing.assert_array_equal(expert.values, solution.values)


def test_beta_0_is_uniform_over_available_actions(expert):
    uniform = SimulatedExpert(expert.mdp, expert.reward, 0.0).policy
    assert uniform[0].tolist() == [1 / 3] * 3
    np.testing.assert_allclose(uniform[1], [0.0, 0.5, 0.5], rtol=1e-15)


def test_a_very_large_beta_is_optimal_and_shares_ties():
    log_policy = Boltzmann(1e6).log_policy(np.array([[1.0, 3.0, 3.0, -np.inf], [0.0, -1.0, -2.0, -3.0]]))
    np.testing.assert_allclose(np.exp(log_policy), [[0.0, 0.5, 0.5, 0.0], [1.0, 0.0, 0.0, 0.0]], atol=1e-15)


def test_values_in_the_hundreds_do_not_overflow():
    """beta Q = 900 and 800: exp overflows at 709, yet the ratio is exp(-100)."""
    log_policy = Boltzmann(4.0).log_policy(np.array([225.0, 200.0, -np.inf]))
    np.testing.assert_allclose(log_policy, [0.0, -100.0, -np.inf], rtol=1e-15, atol=1e-40)
    assert np.exp(Boltzmann(1e6).log_policy(np.array([-1e6, -1e6]))).tolist() == [0.5, 0.5]


def test_one_action_is_certain():
    assert Boltzmann(3.0).log_policy(np.array([[-1e300], [5.0]])).tolist() == [[0.0], [0.0]]


def test_two_states_by_hand():
    """One step, rewards 1 and 0, beta log 3: chances 3/4 and 1/4."""
    mdp = FiniteMDP.from_dense(np.zeros((1, 2, 1)), layout="SAS", discount=0.9, terminal=[False])
    np.testing.assert_allclose(SimulatedExpert(mdp, [[1.0, 0.0]], np.log(3)).policy, [[0.75, 0.25]], rtol=1e-14)


def test_an_expert_is_frozen_and_can_travel(expert):
    for name in ("policy", "log_policy", "q", "values", "reward"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(expert, name)[:] = 0
    other = pickle.loads(pickle.dumps(expert))
    question = Question(0, 0, "trajectory", 9)
    assert other.demonstrate(question) == expert.demonstrate(question)


def test_the_callers_reward_is_copied():
    mdp = FiniteMDP.from_dense(np.ones((1, 1, 1)), layout="SAS", discount=0.5)
    reward = np.ones(1)
    expert = SimulatedExpert(mdp, reward, 1.0)
    reward[:] = 7.0
    assert expert.reward.tolist() == [1.0]


@pytest.mark.parametrize(
    ("beta", "message"),
    [
        (-1.0, r"beta must be finite and at least 0, got -1\.0"),
        (np.nan, "beta must be finite and at least 0, got nan"),
        (np.inf, "beta must be finite and at least 0, got inf"),
        ("high", "beta must be a number, got 'high'"),
        (None, "beta must be a number, got None"),
        ([1.0], r"beta must be a number, got \[1\.0\]"),
    ],
)
def test_bad_beta(expert, beta, message):
    with pytest.raises(InputError, match=message):
        SimulatedExpert(expert.mdp, expert.reward, beta)


def test_bad_reward(expert):
    with pytest.raises(InputError, match="rewards must have shape"):
        SimulatedExpert(expert.mdp, np.zeros(5), 1.0)


def test_an_expert_does_not_act_on_values_that_rounding_spoils():
    """With 1 - discount = 1e-12 a value is known to 1e-16 / 1e-12 of its size at best."""
    mdp = FiniteMDP.from_dense(np.ones((1, 2, 1)), layout="SAS", discount=1 - 1e-12)
    with pytest.raises(InputError, match=r"values must be known within 1e-06 .* Use a discount further from 1"):
        SimulatedExpert(mdp, [[1.0, 2.0]], 1.0)


# -- likelihood ------------------------------------------------------------------------------------------------------


def test_log_likelihood_is_the_sum_over_actions(expert):
    demonstrations = [
        Demonstration.annotation(0, 2),
        Demonstration(1, ((1, 2), (0, 2), (4, 1)), 5, "terminated"),
        Demonstration.annotation(0, 0),
    ]
    pairs = [(0, 2), (1, 2), (0, 2), (4, 1), (0, 0)]
    expected = 0.0
    for s, a in pairs:
        scaled = expert.model.beta * expert.q[s][expert.mdp.available[s]]
        expected += expert.model.beta * expert.q[s, a] - np.log(np.exp(scaled).sum())
    assert expert.log_likelihood(demonstrations) == pytest.approx(expected, rel=1e-12)
    assert expert.log_likelihood(iter(demonstrations)) == expert.log_likelihood(demonstrations)
    assert expert.log_likelihood([]) == 0.0
    assert expert.log_likelihood(demonstrations[0]) == pytest.approx(expert.log_policy[0, 2], rel=1e-15)


def test_an_impossible_action_has_no_likelihood(expert):
    assert expert.log_likelihood(Demonstration.annotation(1, 0)) == -np.inf


def test_the_true_beta_is_likelier_than_others():
    """Over many answers the log likelihood is largest at the beta that gave them."""
    mdp = random_mdp(np.random.default_rng(0), 5, 4)
    reward = np.random.default_rng(1).normal(size=(5, 4))
    answers = SimulatedExpert(mdp, reward, 2.0).answers(np.repeat(np.arange(5), 400))
    betas = [0.5, 1.0, 2.0, 4.0, 8.0]
    scores = [SimulatedExpert(mdp, reward, beta).log_likelihood(answers) for beta in betas]
    assert betas[int(np.argmax(scores))] == 2.0


# -- answers ---------------------------------------------------------------------------------------------------------


def test_answers_have_the_chances_of_the_policy(expert):
    """Chi-square of 1500 answers per state at level 1e-3: a chance that is off by 0.05 is seen."""
    for state in range(5):
        answers = expert.with_seed(5).answers(np.full(1500, state))
        counts = np.bincount([answer.steps[0][1] for answer in answers], minlength=3)
        possible = expert.mdp.available[state]
        assert counts[~possible].sum() == 0
        assert (1500 * expert.policy[state, possible] > 5).all()
        assert stats.chisquare(counts[possible], 1500 * expert.policy[state, possible]).pvalue > LEVEL


def test_trajectories_have_the_chances_of_policy_and_dynamics(expert):
    """Chi-square of actions, and of next states given state and action, over 4000 trajectories at level 1e-3."""
    P = expert.mdp.dense_transitions()
    actions, landings = np.zeros((6, 3)), np.zeros((6, 3, 6))
    for answer in expert.with_seed(6).answers(np.zeros(4000, dtype=int), kind="trajectory", length=6):
        states = [state for state, _ in answer.steps[1:]] + [answer.final_state]
        for (s, a), t in zip(answer.steps, states, strict=True):
            actions[s, a] += 1
            landings[s, a, t] += 1
    assert actions[5].sum() == 0
    num_rows = 0
    for s in range(5):
        possible = expert.mdp.available[s]
        assert stats.chisquare(actions[s, possible], actions[s].sum() * expert.policy[s, possible]).pvalue > LEVEL
        for a in np.flatnonzero(possible):
            expected = actions[s, a] * P[s, a]
            if (expected > 5).all():
                num_rows += 1
                assert stats.chisquare(landings[s, a], expected).pvalue > LEVEL
    assert num_rows >= 10


def test_trajectories_end_in_terminal_cells_and_record_nothing_there(expert):
    answers = expert.answers(np.arange(6).repeat(100), kind="trajectory", length=8)
    assert {answer.ended for answer in answers} == {"terminated", "truncated"}
    for answer in answers:
        assert all(state != 5 for state, _ in answer.steps)
        if answer.ended == "terminated":
            assert answer.final_state == 5 and len(answer) <= 8
        else:
            assert answer.final_state != 5 and len(answer) == 8
    assert expert.demonstrate(5, kind="trajectory", length=3) == Demonstration(5, (), 5, "terminated")


def test_a_choice_that_ends_the_episode_has_no_final_state():
    mdp = FiniteMDP.from_dense(np.zeros((1, 2, 1)), layout="SAS", discount=0.9, terminal=[False])
    answer = SimulatedExpert(mdp, [[0.0, 100.0]], 10.0).demonstrate(0, kind="trajectory", length=5)
    assert answer == Demonstration(0, ((0, 1),), None, "terminated")


def test_the_noise_of_queries_is_keyed_by_seed_state_and_visit(expert):
    """The n-th answer at a state is the same, whatever else was asked, in whatever order, and after a restart."""
    rng = np.random.default_rng(0)
    states = rng.integers(5, size=60)
    by_key = {}
    for order in (np.arange(60), rng.permutation(60), np.argsort(states)):
        again = pickle.loads(pickle.dumps(expert)).with_seed(3)
        for question in questions_at(states[order].tolist(), kind="trajectory", length=4):
            again.demonstrate(question.state)  # what is asked besides does not matter
            answer = again.demonstrate(question)
            assert by_key.setdefault(question, answer) == answer
    assert len(by_key) == 60


def test_the_same_state_gets_a_new_answer_each_time():
    """And none of them is the answer to a query: these have streams of their own."""
    expert = SimulatedExpert(random_mdp(np.random.default_rng(0), 5, 4), np.zeros(5), 1.0)  # 30 steps never coincide
    asked = expert.with_seed(8)
    given = [asked.demonstrate(0, kind="trajectory", length=30).steps for _ in range(20)]
    queried = [asked.demonstrate(Question(0, visit, "trajectory", 30)).steps for visit in range(20)]
    assert len({*given, *queried}) == 40
    other = expert.with_seed(8)
    assert [other.demonstrate(0, kind="trajectory", length=30).steps for _ in range(20)] == given
    assert expert.with_seed(9).demonstrate(0, kind="trajectory", length=30).steps != given[0]
    assert asked.answers([0, 0], kind="trajectory", length=30)[0].steps not in given  # it goes on counting


def test_a_refused_question_is_not_counted(expert):
    first, second = expert.with_seed(1), expert.with_seed(1)
    with pytest.raises(InputError):
        first.demonstrate(0, kind="video")
    long = {"kind": "trajectory", "length": 20}
    assert first.demonstrate(0, **long) == second.demonstrate(0, **long)


def test_other_keys_give_other_noise():
    mdp = random_mdp(np.random.default_rng(0), 5, 4)
    expert = SimulatedExpert(mdp, np.zeros(5), 1.0)

    def noise(seed, visit):
        return expert.with_seed(seed).demonstrate(Question(0, visit, "trajectory", 30)).steps

    answers = {noise(seed, visit) for seed in range(5) for visit in range(5)}
    assert len(answers) == 25
    assert noise(2**32, 0) != noise(0, 0)


def test_the_noise_of_queries_is_that_of_the_first_release():
    """Committed results of sweeps rest on it: SeedSequence(seed, spawn_key=(state, visit))."""
    expert = SimulatedExpert(random_mdp(np.random.default_rng(0), 5, 4), np.zeros(5), 1.0, seed=7)
    rng = np.random.default_rng(np.random.SeedSequence(7, spawn_key=(3, 2)))
    expected = int(np.searchsorted(np.cumsum(expert.policy[3]), rng.random(), side="right"))
    assert expert.demonstrate(Question(3, 2)).steps == ((3, expected),)


def test_a_long_seed_does_not_spill_into_state_and_visit():
    """As a plain list of 32-bit words, (2^32, s, 0) and (0, 1, s) would be one key."""
    expert = SimulatedExpert(random_mdp(np.random.default_rng(0), 40, 4), np.zeros(40), 1.0)
    long = [expert.with_seed(2**32).demonstrate(Question(state)).steps[0][1] for state in range(40)]
    short = [expert.demonstrate(Question(1, visit)).steps[0][1] for visit in range(40)]
    assert long != short


def test_an_annotation_is_the_first_action_of_the_trajectory(expert):
    for visit in range(20):
        trajectory = expert.demonstrate(Question(1, visit, "trajectory", 3))
        assert expert.demonstrate(Question(1, visit)).steps == trajectory.steps[:1]


def test_the_query_is_noted(expert):
    assert expert.demonstrate(Question(0, id=9)).query_id == 9
    assert expert.demonstrate(Question(0, 0, "trajectory", 2, id=9)).query_id == 9
    assert expert.demonstrate(0).query_id is None


def test_kind_and_length_are_those_of_the_query(expert):
    with pytest.raises(InputError, match="kind and length must be those of the query, got kind='trajectory'"):
        expert.demonstrate(Question(0), kind="trajectory", length=3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"question": 6}, r"state must lie in 0\.\.5, got 6"),
        ({"question": -1}, r"state must lie in 0\.\.5, got -1"),
        ({"question": [0, 1]}, "one state must be given, got 2"),
        ({"question": "kitchen"}, "whole numbers from 0, got 'kitchen'"),
        ({"kind": "video"}, "kind must be one of state, trajectory, got 'video'"),
        ({"kind": "trajectory"}, "length of a trajectory query must be a whole number of at least 1, got None. Say"),
        ({"kind": "trajectory", "length": 0}, "at least 1, got 0"),
        ({"kind": "trajectory", "length": 2.5}, "got 2.5"),
        ({"question": Question(0, -1)}, "visit must be a whole number of at least 0, got -1"),
    ],
)
def test_bad_queries(expert, arguments, message):
    with pytest.raises(InputError, match=message):
        expert.demonstrate(**({"question": 0} | arguments))


@pytest.mark.parametrize("seed", [-1, 0.5])
def test_bad_seeds(expert, seed):
    for make in (expert.with_seed, lambda seed: SimulatedExpert(expert.mdp, expert.reward, 1.0, seed=seed)):
        with pytest.raises(InputError, match=f"seed must be a whole number of at least 0, got {seed}"):
            make(seed)
