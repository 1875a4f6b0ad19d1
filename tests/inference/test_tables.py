"""Tidy tables of a posterior: their numbers against plain sums over samples, and against its own methods."""

from dataclasses import replace

import numpy as np
import pytest

from journeyman.errors import InputError
from journeyman.experts import Beta, Boltzmann, LogNormal
from journeyman.inference import Diagnostics, Posterior, infer
from journeyman.inference.diagnostics import summarise_chains
from journeyman.inference.tables import (
    as_dataset,
    as_frame,
    draws_table,
    policy_table,
    posterior_table,
    predictive_table,
    reward_table,
)
from journeyman.mdp import FiniteMDP, solve
from journeyman.problem import Problem
from journeyman.report.posterior.knowledge import (
    action_certainty,
    expert_knowledge,
    parameter_knowledge,
    reward_intervals,
)
from journeyman.rewards import LinearFeatures, Normal, PerState, PerStateAction
from journeyman.worlds import make_world

LABELS = {"state_labels": ("den", "nest", "pit"), "action_labels": ("stay", "go", "dig")}
PEOPLE = ("anna", "ben")


def three_states(**options):
    """Stay; go on, to the pit at last, which is the end; dig is possible in the den only, and leads to the pit."""
    transitions = np.zeros((3, 3, 3))
    transitions[0, 0, 0] = transitions[1, 0, 1] = transitions[0, 1, 1] = transitions[1, 1, 2] = 1.0
    transitions[0, 2, 2] = 1.0
    available = np.array([[True, True, True], [True, True, False], [True, True, True]])
    return FiniteMDP.from_dense(transitions, layout="SAS", discount=0.5, available=available, **options)


def made_posterior(problem, num_samples=7):
    """Weighted samples drawn by hand, with their true optimal values."""
    rng = np.random.default_rng(3)
    theta = rng.normal(size=(num_samples, problem.reward_model.num_parameters))
    values = np.array([solve(problem.mdp, problem.reward_model.reward(row)).values for row in theta])
    weights = rng.dirichlet(np.ones(num_samples))
    own = problem.expert_space.sample(rng, num_samples)
    counts = np.zeros(problem.counts_shape, dtype=np.int64)
    counts[..., 0, 1] = 2
    return Posterior(
        problem, counts, theta, weights, values, "made", Diagnostics(1.0, particle_ess=4.5), expert_parameters=own
    )


MDP = three_states(**LABELS)
EXPERT = Boltzmann(LogNormal(2.0, 0.5), Beta(1, 9), annotators=PEOPLE)
PROBLEMS = {
    "per_state": Problem(MDP, PerState(MDP), Normal(3), 2.0),
    "per_state_action": Problem(MDP, PerStateAction(MDP), Normal(9), EXPERT),
    "features": Problem(MDP, LinearFeatures(np.eye(3)[:, :2], MDP, names=("food", "light")), Normal(2), 2.0),
}


def plain_summary(values, weights, level):
    """Mean, sd, median and ends of the central interval of samples, by sums that a reader can check."""
    mean = sum(w * v for w, v in zip(weights, values, strict=True))
    sd = sum(w * (v - mean) ** 2 for w, v in zip(weights, values, strict=True)) ** 0.5
    ordered = sorted(zip(values, weights, strict=True))

    def quantile(share):
        total = 0.0
        for value, weight in ordered:
            total += weight
            if total >= share - 1e-12:
                return value
        raise AssertionError

    return [mean, sd, quantile(0.5), quantile((1 - level) / 2), quantile((1 + level) / 2)]


SUMMARY = ("mean", "sd", "median", "low", "high")


@pytest.fixture(params=PROBLEMS)
def posterior(request):
    return made_posterior(PROBLEMS[request.param])


@pytest.mark.parametrize("level", [0.95, 0.5])
def test_parameters_are_weighted_sums_over_samples(posterior, level):
    table = posterior_table(posterior, level)
    values = np.hstack([posterior.theta, posterior.expert_parameters])
    assert set(map(len, table.values())) == {values.shape[1]}
    for i, column in enumerate(values.T):
        expected = plain_summary(column.tolist(), posterior.weights.tolist(), level)
        np.testing.assert_allclose([table[name][i] for name in SUMMARY], expected, rtol=1e-12, atol=1e-13)
    assert set(table["level"]) == {level}
    assert set(table["ess"]) == {4.5}


def test_parameters_agree_with_the_posterior_and_the_report(posterior):
    """The export, the report and the methods of Posterior are one source of each number."""
    table, size = posterior_table(posterior), posterior.theta.shape[1]
    intervals = np.column_stack([table["low"], table["high"]])
    np.testing.assert_array_equal(intervals[:size], posterior.credible_intervals())
    known = parameter_knowledge(posterior)
    assert table["parameter"][:size] == list(known.names)
    np.testing.assert_allclose(table["mean"][:size], known.mean, rtol=1e-13)
    np.testing.assert_allclose(table["sd"][:size], known.std, rtol=1e-13)
    of_expert = posterior.expert_knowledge()
    assert table["parameter"][size:] == list(of_expert)
    for i, entry in enumerate(expert_knowledge(posterior), start=size):
        assert (table["mean"][i], table["low"][i], table["high"][i]) == pytest.approx(of_expert[entry.name], rel=1e-13)
        assert table["sd"][i] == pytest.approx(entry.std, rel=1e-13)


def test_parameters_have_the_labels_of_their_state_and_action():
    table = posterior_table(made_posterior(PROBLEMS["per_state_action"]))
    assert table["parameter"][5] == "reward of nest, dig"
    names = ("kind", "state", "state_label", "action", "action_label", "annotator")
    assert [table[name][5] for name in names] == ["reward", 1, "nest", 2, "dig", None]
    assert [table[name][-2] for name in names] == ["expert", None, None, None, None, "ben"]
    assert table["parameter"][-4:] == ["beta of anna", "lapse of anna", "beta of ben", "lapse of ben"]
    assert posterior_table(made_posterior(PROBLEMS["per_state"]))["state_label"] == ["den", "nest", "pit"]
    of_features = posterior_table(made_posterior(PROBLEMS["features"]))
    assert (of_features["parameter"], of_features["state"]) == (["food", "light"], [None, None])


def test_rewards_are_weighted_sums_over_samples_and_those_of_the_report(posterior):
    table, found = reward_table(posterior, 0.9), reward_intervals(posterior, 0.9)
    rewards = posterior.rewards
    for i, state in enumerate(table["state"]):
        column = rewards[:, state, table["action"][i]] if rewards.ndim == 3 else rewards[:, state]
        expected = plain_summary(column.tolist(), posterior.weights.tolist(), 0.9)
        np.testing.assert_allclose([table[name][i] for name in SUMMARY], expected, rtol=1e-12, atol=1e-13)
    np.testing.assert_array_equal(table["state"], found.states)
    np.testing.assert_allclose(table["mean"], found.mean, rtol=1e-13)
    np.testing.assert_array_equal(np.column_stack([table["low"], table["high"]]), found.intervals)


def test_a_policy_says_how_sure_each_action_is(posterior):
    policy = np.array([1, 0, 0])
    table = policy_table(posterior, policy)
    # The pit is the end, and nobody can dig in the nest.
    assert list(zip(table["state"], table["action"], strict=True)) == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)]
    assert table["action_label"] == ["stay", "go", "dig", "stay", "go"]
    assert table["is_chosen"] == [False, True, False, True, False]
    assert table["probability"] == [0.0, 1.0, 0.0, 1.0, 0.0]
    q = posterior.q()
    for i, (state, action) in enumerate(zip(table["state"], table["action"], strict=True)):
        is_best = q[:, state, action] >= q[:, state].max(axis=1) - 1e-9
        assert table["chance_optimal"][i] == pytest.approx(posterior.weights[is_best].sum(), abs=1e-12)
    sure = action_certainty(posterior, policy)
    chosen = [table["chance_optimal"][i] for i in range(5) if table["is_chosen"][i]]
    assert chosen == pytest.approx(sure.chances.tolist())


def test_a_policy_may_be_random(posterior):
    table = policy_table(posterior, np.array([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]))
    assert table["probability"] == [0.5, 0.5, 0.0, 1.0, 0.0]
    assert table["is_chosen"] == [True, True, False, True, False]


def test_predictions_are_weighted_softmaxes():
    """By hand, with beta 2: exp(2 Q) over the sum of available actions, for each sample."""
    posterior = made_posterior(PROBLEMS["per_state"])
    table = predictive_table(posterior, 0.8)
    assert "annotator" not in table
    for i, (state, action) in enumerate(zip(table["state"], table["action"], strict=True)):
        powers = np.exp(2.0 * posterior.q([state])[:, 0])
        chances = powers[:, action] / powers.sum(axis=1)
        expected = plain_summary(chances.tolist(), posterior.weights.tolist(), 0.8)
        np.testing.assert_allclose([table[name][i] for name in SUMMARY], expected, rtol=1e-9)
    np.testing.assert_allclose([sum(table["mean"][:3]), sum(table["mean"][3:])], 1.0)
    assert table["count"] == [0, 2, 0, 0, 0]


def test_predictions_of_each_annotator_and_of_any(monkeypatch):
    posterior = made_posterior(PROBLEMS["per_state_action"])
    parts = []
    monkeypatch.setattr("journeyman.inference.posterior.CHUNK_ENTRIES", 1)  # a state at a time
    table = predictive_table(posterior, report_fn=parts.append)
    assert table["annotator"] == [None] * 5 + ["anna"] * 5 + ["ben"] * 5
    pairs = table["state"][:5], table["action"][:5]
    for number, annotator in enumerate((None, *PEOPLE)):
        own = np.array(table["mean"][5 * number : 5 * number + 5])
        np.testing.assert_allclose(own, posterior.predictive_policy(annotator)[pairs], rtol=1e-12)
    assert parts == sorted(parts) and 0.0 < parts[-1] <= 1.0 and len(parts) == 6


def test_draws_keep_their_weights(posterior):
    table = draws_table(posterior)
    names = posterior_table(posterior)["parameter"]
    assert list(table) == ["sample", "weight", *names]
    assert table["weight"] == posterior.weights.tolist()
    for i, name in enumerate(names):
        assert np.dot(table["weight"], table[name]) == pytest.approx(posterior_table(posterior)["mean"][i], rel=1e-12)


@pytest.mark.slow
def test_chains_have_their_numbers_and_an_effective_size_for_each_parameter():
    """Chains of AR(1) with correlation c are worth (1 - c) / (1 + c) of independent draws; a stuck one is worth 1."""
    rng, correlations = np.random.default_rng(0), np.array([0.0, 0.8, 1.0])
    theta = np.zeros((2, 2000, 3))
    for i in range(1, 2000):
        noise = rng.normal(size=(2, 3)) * np.sqrt(1.0 - correlations**2)
        theta[:, i] = correlations * theta[:, i - 1] + noise
    made = made_posterior(PROBLEMS["per_state"], 4000)
    posterior = replace(made, theta=theta.reshape(-1, 3), weights=np.full(4000, 1 / 4000), chains=(2, 2000))
    table = draws_table(posterior)
    assert (table["chain"][1999:2001], table["draw"][1999:2001]) == ([0, 1], [1999, 0])
    sizes = posterior_table(posterior)["ess"]
    np.testing.assert_allclose(sizes[:2], [4000, 4000 / 9], rtol=0.25)  # the estimate itself is noisy
    assert sizes[2] == 1.0
    assert min(sizes) == summarise_chains(theta).ess_bulk


def test_an_exact_posterior_has_no_effective_size():
    posterior = infer(make_world("brown-two-state", 0).problem, (), "enumerate")
    assert set(posterior_table(posterior)["ess"]) == {None}


def test_frames_keep_whole_numbers_whole(posterior):
    frame = as_frame(posterior_table(posterior))
    assert str(frame["state"].dtype) == "Int64"
    assert frame["mean"].tolist() == posterior_table(posterior)["mean"]


def test_datasets_are_labelled_and_hold_the_table(posterior):
    """Parts of a NetCDF file are found by label: people used to count states."""
    table = predictive_table(posterior)
    data = as_dataset(table, posterior.problem, {"method": "made"})
    assert data["mean"].dims == (("annotator",) if "annotator" in table else ()) + ("state", "action")
    chosen = {"state": "den", "action": "go"} | ({"annotator": "any"} if "annotator" in table else {})
    assert float(data["mean"].sel(chosen)) == table["mean"][1]
    assert np.isnan(data["mean"].sel(state="nest", action="dig")).all()
    assert data.attrs == {"method": "made", "level": 0.95}
    policy = as_dataset(policy_table(posterior, np.array([1, 0, 0])), posterior.problem, {})
    assert policy["is_chosen"].sel(state="nest").values.tolist() == [1, 0, 0]
    reward = as_dataset(reward_table(posterior), posterior.problem, {})
    assert float(reward["sd"].sel(state="pit").values.ravel()[0]) == pytest.approx(
        reward_table(posterior)["sd"][reward_table(posterior)["state"].index(2)]
    )


def test_a_level_lies_between_0_and_1(posterior):
    with pytest.raises(InputError, match="level must lie strictly between 0 and 1, got 95"):
        posterior_table(posterior, 95)
