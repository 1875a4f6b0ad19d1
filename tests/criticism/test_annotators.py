"""Several people: who does not fit is named, who fits is not, and the chance of that is as promised."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binomtest

from journeyman import (
    Boltzmann,
    Demonstration,
    Discrete,
    FiniteMDP,
    LinearFeatures,
    Normal,
    PerState,
    Problem,
    SimulatedExpert,
)
from journeyman.criticism.annotators import _name_odd, _partly_pooled, compare_annotators
from journeyman.criticism.misfit import misfit, rank_among_alike, simulate_counts
from journeyman.criticism.prediction import dirichlet_evidence
from journeyman.errors import InputError
from journeyman.inference import infer

WATER, HOME = 12, 0


def maze():
    """A binary tree of 15 nodes: left, right, back; dead ends lead back only; at the entrance `back` stays."""
    transitions, available = np.zeros((15, 3, 15)), np.zeros((15, 3), dtype=bool)
    for node in range(15):
        if node < 7:
            transitions[node, 0, 2 * node + 1] = transitions[node, 1, 2 * node + 2] = 1.0
            available[node, :2] = True
        transitions[node, 2, max(node - 1, 0) // 2] = 1.0
        available[node, 2] = True
    return FiniteMDP.from_dense(transitions, layout="SAS", discount=0.9, available=available)


MAZE = maze()
FEATURES = np.eye(15)[:, [WATER, HOME]]
PROBLEM = Problem(MAZE, LinearFeatures(FEATURES, MAZE, names=("water", "home")), Normal(2, 0.0, 1.0), 4.0)


def mouse(name, reward, beta, seed, *, bouts=4, length=60):
    expert = SimulatedExpert(MAZE, FEATURES @ np.asarray(reward), Boltzmann(float(beta)), seed=seed)
    starts = np.random.default_rng(seed).integers(0, 15, bouts)
    answers = [expert.demonstrate(int(start), kind="trajectory", length=length) for start in starts]
    return [replace(answer, annotator=name) for answer in answers]


def mice(seed, rewards):
    betas = (4, 6, 2, 4, 4)
    return [d for i, r in enumerate(rewards) for d in mouse(f"mouse {i}", r, betas[i], 100 * seed + i)]


@pytest.mark.slow
def test_the_odd_mouse_is_named_and_the_others_are_not():
    data = mice(1, [(1.0, 0.2)] * 4 + [(0.0, 1.0)])
    found = compare_annotators(PROBLEM, data, num_particles=300, num_threads=1)
    assert found.odd == ("mouse 4",)
    assert found.verdict().startswith("The answers of mouse 4 do not fit those of the others.")
    assert [score.num_demonstrations for score in found.scores] == [4] * 5
    odd = found.scores[4]
    assert odd.misfit.bits < odd.misfit.low + 0.3
    betas = [score.expert["beta"] for score in found.scores]
    assert betas[2][0] < min(betas[i][0] for i in (0, 1, 3))  # the noisy one, who wants the same
    for mean, low, high in betas:
        assert low < mean < high
    apart = found.differences
    assert (apart == apart.T).all() and (np.diag(apart) == 0).all()
    assert apart[4, :4].min() > apart[:4, :4].max()
    names = [pooling.name for pooling in found.poolings]
    assert names == ["separate", "pooled", "partly pooled"]
    assert found.best_pooling.name == "separate"
    record = found.to_record()
    assert record["odd"] == ["mouse 4"]
    assert record["annotators"][0]["expert"]["beta"]["mean"] == betas[0][0]


def test_mice_who_want_the_same_are_not_named_and_are_partly_pooled():
    found = compare_annotators(PROBLEM, mice(2, [(1.0, 0.2)] * 4), num_particles=300, num_threads=1)
    assert found.odd == ()
    assert found.verdict().startswith("Everybody's answers fit those of the others.")
    evidence = {pooling.name: pooling.log_evidence for pooling in found.poolings}
    assert evidence["partly pooled"] > evidence["pooled"]
    alone = sum(score.log_evidence for score in found.scores)
    assert evidence["separate"] == pytest.approx(alone)


def test_p_values_are_uniform_when_the_model_is_right():
    """Exact posteriors over three rewards: the rank of answers that the same model gave is uniform."""
    atoms = np.array([[1.0, 0.0], [0.3, 1.0], [0.6, 0.6]])
    problem = replace(PROBLEM, prior=Discrete(atoms), expert=Boltzmann(2.0))
    rng, low, num_runs = np.random.default_rng(7), 0, 200
    for run in range(num_runs):
        reward = atoms[rng.integers(3)]
        others = mouse("others", reward, 2.0, 10_000 + 2 * run, bouts=1, length=20)
        own = mouse("own", reward, 2.0, 10_001 + 2 * run, bouts=2, length=20)
        posterior = infer(problem, others, "enumerate")
        low += misfit(rng, posterior, own, num_simulations=300).p_value <= 0.1
    # 200 runs at a chance of 0.1: a wrong rate of 0.2 would be refused with a chance above 0.99
    assert binomtest(low, num_runs, 0.1).pvalue > 0.01


def test_simulated_annotators_answer_as_their_sample_does():
    problem = replace(PROBLEM, prior=Discrete(np.array([[1.0, 0.2]])), expert=Boltzmann(1.5))
    posterior = infer(problem, [], "enumerate")
    asked = [Demonstration.annotation(1, 0)] * 5 + [Demonstration(0, ((0, 0), (1, 2)), 0, "truncated")]
    counts = simulate_counts(np.random.default_rng(0), posterior, np.zeros(4000, dtype=int), asked)
    policy = posterior.predictive_policy()
    assert (counts.sum(axis=(1, 2)) == 7).all()
    expected = 5 * policy[1] * 4000  # and what comes from walks through node 1
    expected = expected + 4000 * policy[0, 0] * policy[1]
    total = counts[:, 1].sum(axis=0)
    assert np.abs(total - expected).max() < 5 * np.sqrt(expected.max())
    assert counts[:, 0].sum() == pytest.approx(4000 * (1 + policy[0, 2]), abs=5 * np.sqrt(4000))


def test_episodes_end_by_chance_and_in_terminal_states():
    transitions = np.zeros((3, 2, 3))
    transitions[0, 0, 0] = 0.5  # half of the episodes end here
    transitions[0, 1, 1] = 1.0
    transitions[1, :, 2] = 1.0  # state 2 is terminal
    mdp = FiniteMDP.from_dense(transitions, layout="SAS", discount=0.9, missing_mass="terminates")
    problem = Problem(mdp, PerState(mdp), Discrete(np.zeros((1, 3))), 1.0)
    posterior = infer(problem, [], "enumerate")
    asked = [Demonstration(0, ((0, 1), (1, 0), (1, 0)), 2, "truncated")]
    counts = simulate_counts(np.random.default_rng(1), posterior, np.zeros(8000, dtype=int), asked)
    # First step: 0.5 left, of which half go on; second and third likewise; nobody acts in state 2.
    assert counts[:, 2].sum() == 0
    assert counts[:, 0, 0].sum() == pytest.approx(8000 * (0.5 + 0.125 + 0.03125), rel=0.05)
    assert counts[:, 1].sum() == pytest.approx(8000 * (0.5 + 0.125), rel=0.05)


def one_by_one(counts, prior) -> float:
    """Log chance of actions that come one after the other, each with the chance (n + prior) / total so far."""
    total = 0.0
    for own, weights in zip(counts, prior, strict=True):
        urn = weights.copy()
        for action in np.repeat(np.arange(len(own)), own):
            total += np.log(urn[action] / urn.sum())
            urn[action] += 1.0
    return total


def test_evidences_of_many_are_those_of_each():
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 9, (6, 15, 3)) * MAZE.available
    prior = MAZE.available.astype(float)
    found = dirichlet_evidence(counts.astype(float), prior)
    each = [one_by_one(one, prior) for one in counts]
    assert found == pytest.approx(each, abs=1e-9)


def test_the_rank_is_among_those_who_are_as_noisy():
    noise = np.concatenate([[2.0], np.linspace(0.0, 2.0, 300)])
    statistics = np.concatenate([[2.0], np.linspace(0.0, 2.0, 300)])  # exactly what its noise lets expect
    assert rank_among_alike(statistics + 1e-9 * np.arange(301), noise)[0] > 0.9
    statistics[0] = 2.1
    assert rank_among_alike(statistics, noise)[0] == pytest.approx(1 / 101)


def test_what_names_nobody_is_refused():
    data = mice(3, [(1.0, 0.2)] * 2)
    with pytest.raises(InputError, match="at least 2 annotators to compare, got mouse 0"):
        compare_annotators(PROBLEM, data[:4])
    with pytest.raises(InputError, match="must name its annotator to compare people, got none in demonstration 1"):
        compare_annotators(PROBLEM, [data[0], replace(data[1], annotator=None)])
    with pytest.raises(InputError, match="num_simulations must be a whole number of at least 120"):
        compare_annotators(PROBLEM, data, num_simulations=50)


@pytest.mark.slow
@pytest.mark.parametrize(("is_one_odd", "num_runs"), [(False, 130), (True, 30)])
def test_false_alarms_and_power_over_many_groups(is_one_odd, num_runs):
    """Four mice whose reward, betas and lapses are drawn from the model; or one of them wants something else."""
    names = [f"mouse {i}" for i in range(4)]
    problem = _partly_pooled(PROBLEM, names)
    num_wrong = num_found = 0
    for run in range(num_runs):
        rng = np.random.default_rng([run, 17])
        if is_one_odd:
            rewards = [np.array([1.0, 0.2])] * 3 + [np.array([0.0, 1.0])]
            betas, lapses = [4.0, 6.0, 2.0, 4.0], [0.0] * 4
        else:
            rewards = [PROBLEM.prior.sample(rng, 1)[0]] * 4
            betas, lapses = 4.0 * np.exp(0.7 * rng.standard_normal(4)), rng.beta(1, 9, 4)
        own = {}
        for i, name in enumerate(names):
            model = Boltzmann(float(betas[i]), float(lapses[i]))
            expert = SimulatedExpert(MAZE, FEATURES @ rewards[i], model, seed=10 * (1000 + run) + i)
            starts = rng.integers(0, 15, 3)
            answers = [expert.demonstrate(int(start), kind="trajectory", length=40) for start in starts]
            own[name] = [replace(answer, annotator=name) for answer in answers]

        def fit(model, data, words, seed=run):
            return infer(model, data, num_particles=400, num_threads=1, seed=seed)

        odd = _name_odd(problem, own, 0.05, 1500, run, fit)[1]
        num_found += "mouse 3" in odd
        num_wrong += bool(set(odd) - ({"mouse 3"} if is_one_odd else set()))
    if is_one_odd:
        assert num_found >= 0.9 * num_runs
        assert num_wrong <= 0.25 * num_runs
    else:
        assert binomtest(num_wrong, num_runs, 0.05, alternative="greater").pvalue > 0.01
