import numpy as np
import pytest
from acquisition.exact import information, reweighted, small_posterior

from journeyman.acquisition import ACQUISITIONS, choose_batch, score
from journeyman.acquisition.registry import rate
from journeyman.acquisition.scoring import checked_context
from journeyman.errors import InputError
from journeyman.inference import infer
from journeyman.worlds import make_world

ROUNDING = 1e-12


def joint_information(posterior, states):
    """I(answers at all these states; sample), by listing all answers."""
    policies = posterior.expert_policies()
    rows = posterior.weights[None]
    for state in states:
        rows = (rows[:, None] * policies[:, state].T[None]).reshape(-1, posterior.num_samples)
    return information(rows)


def test_gains_add_up_to_the_joint_information():
    """Three answers of three actions are 27 histories: with 64 nothing is sampled, and everything is exact."""
    for seed in range(4):
        posterior = small_posterior(seed, terminal=0.0)
        batch = choose_batch(posterior, "reward_eig", 3)
        assert batch.gains.sum() == pytest.approx(joint_information(posterior, batch.states), abs=ROUNDING)
        for step in range(3):
            before = batch.states[:step].tolist()
            best = max(joint_information(posterior, [*before, state]) for state in range(4))
            assert joint_information(posterior, batch.states[: step + 1]) == pytest.approx(best, abs=ROUNDING)


def test_sampled_histories_are_close_to_all_of_them():
    posterior = small_posterior(2, terminal=0.0)
    exact = choose_batch(posterior, "reward_eig", 4, num_histories=10_000)
    runs = [choose_batch(posterior, "reward_eig", 4, num_histories=20, seed=seed).gains.sum() for seed in range(40)]
    error = np.std(runs, ddof=1) / np.sqrt(40)
    assert abs(np.mean(runs) - exact.gains.sum()) <= 5 * error + 0.01  # greedy choices may differ between runs
    assert error > 0


def test_not_the_best_single_scores():
    """Two states that tell the same: the second is worth less once the first is asked."""
    posterior = infer(make_world("brown-two-state", beta=20.0).problem, (), "enumerate")
    single = score(posterior, "reward_eig").values
    batch = choose_batch(posterior, "reward_eig", 2)
    assert sorted(batch.states.tolist()) == [0, 1]
    assert batch.gains == pytest.approx([np.log(2)] * 2, abs=1e-9)
    assert single == pytest.approx([np.log(2)] * 2, abs=1e-9)
    pending = choose_batch(posterior, "reward_eig", 1, pending=[0])
    assert pending.states.tolist() == [1]


def test_asking_a_state_twice_is_legitimate():
    posterior = infer(make_world("regret-eig-trap", beta=0.01).problem, (), "enumerate")
    batch = choose_batch(posterior, "pac_eig", 3)
    assert batch.states.tolist() == [0, 0, 0]
    assert (np.diff(batch.gains) < 0).all()
    assert (batch.gains > 0).all()


def test_pending_queries_count_as_asked():
    posterior = small_posterior(3, terminal=0.0)
    whole = choose_batch(posterior, "reward_eig", 3)
    rest = choose_batch(posterior, "reward_eig", 2, pending=whole.states[:1].tolist())
    assert rest.states.tolist() == whole.states[1:].tolist()
    assert rest.gains == pytest.approx(whole.gains[1:], abs=ROUNDING)


@pytest.mark.parametrize("name", ACQUISITIONS)
def test_every_function_gives_a_batch(name):
    posterior = small_posterior(1)
    for kind in ACQUISITIONS[name].kinds:
        length = 2 if kind == "trajectory" else None
        runs = [
            choose_batch(
                posterior, name, 2, kind=kind, length=length, num_histories=16, rng=np.random.default_rng(0),
                num_threads=threads,
            )
            for threads in (1, 2)
        ]  # fmt: skip
        assert np.array_equal(runs[0].states, runs[1].states)
        assert np.array_equal(runs[0].gains, runs[1].gains)
        assert posterior.problem.queryable[runs[0].states].all()
        assert (runs[0].gains >= 0).all()


def test_trajectory_batches_gain_less_and_less():
    posterior = small_posterior(1, beta=2.0)
    batch = choose_batch(posterior, "reward_eig", 3, kind="trajectory", length=3, num_histories=500)
    assert (np.diff(batch.gains) < 0).all()
    assert batch.gains.sum() <= -(posterior.weights * np.log(posterior.weights)).sum() + 0.05


@pytest.mark.parametrize("name", ["reward_eig", "regret_eig"])
def test_rating_again_is_rating_with_other_weights(name):
    """`regret_eig` keeps its classes, which with atoms do not depend on the weights; nor does the apprentice here."""
    posterior = small_posterior(2, terminal=0.0)
    context = checked_context(
        posterior, name, kind="state", length=None, epsilon=0.1, seed=0, num_histories=64, num_threads=1
    )
    options = {"policy": np.zeros(4, dtype=int)} if name == "regret_eig" else {}
    histories = np.random.default_rng(0).dirichlet(np.ones(6), size=3)
    chances = np.array([0.5, 0.2, 0.3])
    again_fn = rate(name, posterior, context, options).again_fn
    each = [score(reweighted(posterior, given), name, num_threads=1, **options).values for given in histories]
    assert again_fn(context, histories, chances).values == pytest.approx(chances @ each, abs=ROUNDING)
    assert again_fn(context, histories[:1], np.ones(1)).values == pytest.approx(each[0], abs=ROUNDING)


def test_costs_move_the_choice():
    posterior = small_posterior(3, terminal=0.0)
    best = int(choose_batch(posterior, "reward_eig", 1).states[0])
    costs = np.ones(4)
    costs[best] = 100.0
    assert choose_batch(posterior, "reward_eig", 1, costs=costs).states[0] != best


def test_all_weight_on_one_sample_is_said():
    batch = choose_batch(reweighted(small_posterior(0), np.eye(6)[2]), "reward_eig", 2)
    assert any("nearly all weight lies on one of 6 samples" in warning for warning in batch.warnings)


def test_bad_input():
    posterior = small_posterior(0)
    with pytest.raises(InputError, match="k must be a whole number of at least 1, got 0"):
        choose_batch(posterior, "reward_eig", 0)
    with pytest.raises(InputError, match=r"state must lie in 0..3, got 9"):
        choose_batch(posterior, "reward_eig", 1, pending=[9])


@pytest.mark.parametrize("kind", ["state", "trajectory"])
def test_samples_that_became_impossible_do_not_count(kind):
    # After some hundred answers of a sure expert, weights are so small that their reciprocals are infinite.
    posterior = small_posterior(1, beta=60.0)
    batch = choose_batch(
        posterior, "pac_eig", 25, kind=kind, length=3 if kind == "trajectory" else None, num_histories=16,
        rng=np.random.default_rng(0),
    )  # fmt: skip
    assert np.isfinite(batch.gains).all()
