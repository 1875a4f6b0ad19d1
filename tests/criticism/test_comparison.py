"""Comparison of models: evidence, bits and shares by hand, the true model wins, files that resume."""

import json
from dataclasses import replace
from math import lgamma

import numpy as np
import pytest

from journeyman import Boltzmann, Demonstration, Discrete, FiniteMDP, LinearFeatures, Normal, PerState, Problem
from journeyman.criticism.comparison import CHANCE, EMPIRICAL, compare_models
from journeyman.criticism.prediction import dirichlet_evidence
from journeyman.criticism.variants import Variant, model_variants, varied
from journeyman.errors import InputError, UnsupportedError
from journeyman.experts import Beta, LogNormal, SimulatedExpert
from journeyman.inference import infer
from journeyman.memory import Memory, last_action, visited

LEFT, RIGHT = 0, 1


def two_ways(discount=0.5):
    """State 0 leads to 1 (left) or 2 (right); from these, 0 is the only way on."""
    transitions = np.zeros((3, 2, 3))
    transitions[0, LEFT, 1] = transitions[0, RIGHT, 2] = 1.0
    transitions[1, LEFT, 0] = transitions[2, LEFT, 0] = 1.0
    available = np.array([[True, True], [True, False], [True, False]])
    return FiniteMDP.from_dense(transitions, layout="SAS", discount=discount, available=available)


def problem_of(atoms, beta=2.0):
    mdp = two_ways()
    return Problem(mdp, PerState(mdp), Discrete(atoms), Boltzmann(beta))


def trip(*moves):
    """Return the demonstration of some choices at state 0, with the ways back."""
    steps = []
    for move in moves:
        steps += [(0, move), (1 + move, LEFT)]
    return Demonstration(0, tuple(steps), ended="truncated")


ATOMS = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
TRIPS = [trip(LEFT, LEFT), trip(LEFT, RIGHT, LEFT), trip(LEFT), trip(RIGHT, LEFT)]


def chance_of_left(beta=2.0):
    """Return pi(left | 0) for reward 1 in state 1: Q(0, left) - Q(0, right) = discount (V(1) - V(2)) = discount."""
    return 1.0 / (1.0 + np.exp(-beta * 0.5))


def test_evidence_bits_and_share_by_hand():
    p = chance_of_left()
    found = compare_models({"two atoms": problem_of(ATOMS)}, TRIPS, test=[1, 3], method="enumerate")
    # Fitted: three times left. Free decisions are those at state 0.
    evidence = np.array([p**3, (1 - p) ** 3]) / 2
    score = found["two atoms"]
    assert score.log_evidence == pytest.approx(np.log(evidence.sum()), abs=1e-12)
    weights = evidence / evidence.sum()
    left = weights @ [p, 1 - p]
    first, second = 2 * np.log2(left) + np.log2(1 - left), np.log2(left) + np.log2(1 - left)
    assert found.decisions.tolist() == [3, 2]
    assert score.demonstration_bits == pytest.approx([first, second], abs=1e-12)
    assert score.bits == pytest.approx((first + second) / 5, abs=1e-12)
    whole = [np.log2(weights @ [p**2 * (1 - p), (1 - p) ** 2 * p]), np.log2(p * (1 - p))]
    assert score.whole_demonstration_bits == pytest.approx(whole, abs=1e-12)
    # The references: 2 available actions; (3 + 1) / (3 + 2) after three times left.
    assert found[CHANCE].bits == pytest.approx(-1.0, abs=1e-12)
    assert found[CHANCE].log_evidence == pytest.approx(3 * np.log(0.5), abs=1e-12)
    empirical = (3 * np.log2(0.8) + 2 * np.log2(0.2)) / 5
    assert found[EMPIRICAL].bits == pytest.approx(empirical, abs=1e-12)
    assert found[EMPIRICAL].log_evidence == pytest.approx(np.log(1 / 2 * 2 / 3 * 3 / 4), abs=1e-12)
    assert found[EMPIRICAL].whole_demonstration_bits[1] == pytest.approx(np.log2(4 / 5 * 1 / 6), abs=1e-12)
    assert score.share is None  # here the empirical policy is worse than chance
    assert "null" in json.dumps(found.to_record(), allow_nan=False)


def test_share_by_hand_with_folds():
    trips = [trip(LEFT, LEFT, LEFT), trip(LEFT, LEFT, RIGHT), trip(LEFT, LEFT, LEFT), trip(LEFT, LEFT, LEFT)]
    p = chance_of_left(4.0)
    found = compare_models({"sure": problem_of(ATOMS[:1], beta=4.0)}, trips, folds=2, method="enumerate")
    score = found["sure"]
    assert found.predicted.tolist() == [0, 2, 1, 3]
    assert found.num_fitted == 4
    assert score.log_evidence == pytest.approx(11 * np.log(p) + np.log(1 - p), abs=1e-12)
    bits = 11 * np.log2(p) + np.log2(1 - p)
    # Fold 0 (demonstrations 0, 2) from 5 left, 1 right; fold 1 from 6 left.
    empirical = 6 * np.log2(6 / 8) + 5 * np.log2(7 / 8) + np.log2(1 / 8)
    assert score.bits == pytest.approx(bits / 12, abs=1e-12)
    assert score.share == pytest.approx((bits + 12) / (empirical + 12), abs=1e-12)
    assert found[EMPIRICAL].share == pytest.approx(1.0)
    assert found[CHANCE].share == pytest.approx(0.0)
    assert score.behind == 0.0 and found[CHANCE].behind is None


def test_states_with_a_single_action_count_nowhere():
    model = {"m": problem_of(ATOMS)}
    with_ways = compare_models(model, TRIPS, test=[0], method="enumerate")
    without = [[Demonstration.annotation(0, action) for state, action in item.steps if state == 0] for item in TRIPS]
    flat = [item for items in without for item in items]
    others = compare_models(model, flat, test=range(len(without[0])), method="enumerate")
    for name in ("m", CHANCE, EMPIRICAL):
        assert with_ways[name].bits == pytest.approx(others[name].bits, abs=1e-12)
        assert with_ways[name].log_evidence == pytest.approx(others[name].log_evidence, abs=1e-12)


def test_dirichlet_evidence_is_the_product_of_predictions():
    rng = np.random.default_rng(3)
    sequence = rng.integers(0, 3, 40)
    counts, log_chance = np.ones(3), 0.0
    for action in sequence:
        log_chance += np.log(counts[action] / counts.sum())
        counts[action] += 1
    prior = np.array([[1.0, 1.0, 1.0, 0.0]])
    data = np.append(np.bincount(sequence, minlength=3), 0)[None].astype(float)
    assert dirichlet_evidence(data, prior) == pytest.approx(log_chance, abs=1e-9)
    assert dirichlet_evidence(data, prior) == pytest.approx(
        lgamma(3) - lgamma(43) + sum(lgamma(1 + n) for n in data[0, :3]), abs=1e-9
    )


def line(length=4, discount=0.8):
    """A line of states with moves left and right; ends keep one in place."""
    transitions = np.zeros((length, 2, length))
    for s in range(length):
        transitions[s, 0, max(s - 1, 0)] = transitions[s, 1, min(s + 1, length - 1)] = 1.0
    return FiniteMDP.from_dense(transitions, layout="SAS", discount=discount)


def test_the_true_model_wins_on_simulated_data():
    mdp = line()
    features = np.eye(4)[:, [0, 3]]  # only the ends may be worth something
    problem = Problem(mdp, LinearFeatures(features, mdp, names=("low", "high")), Normal(2, 0.0, 1.0), 2.0)
    expert = SimulatedExpert(mdp, np.array([0.6, 0.0, 0.0, 1.5]), Boltzmann(2.0, lapse=0.3), seed=5)
    data = expert.answers(np.tile(np.arange(4), 60))
    variants = model_variants(problem, {"lapse": [0.0, 0.3]}, [{"beta": 20.0}])
    found = compare_models(variants, data, folds=3, method="enumerate", num_points=2048)
    assert list(variants) == ["no lapse", "no lapse, beta 20", "lapse 0.3", "lapse 0.3, beta 20"]
    assert found.best.name == "lapse 0.3" == found.best_by_evidence.name
    order = sorted(found.scores, key=lambda score: -score.log_evidence)
    assert order[-1].name == "no lapse, beta 20"
    assert 0.8 < found.best.share < 1.3
    for score in found.scores:  # exact enumeration: its stated evidence is that of infer
        posterior = infer(variants[score.name].problem, data, "enumerate", num_points=2048)
        assert score.log_evidence == posterior.log_evidence


def test_an_unknown_beta_is_inferred_and_reported():
    mdp = line(3)
    problem = Problem(mdp, LinearFeatures(np.eye(3)[:, [2]], mdp), Normal(1, 1.0, 0.2), 4.0)
    data = SimulatedExpert(mdp, np.array([0.0, 0.0, 1.0]), Boltzmann(1.0), seed=1).answers(np.tile(np.arange(3), 50))
    variants = model_variants(problem, {"beta": [4.0, "unknown"]})
    found = compare_models(variants, data, folds=2, method="enumerate", num_points=2048)
    assert found.best.name == "beta unknown" == found.best_by_evidence.name
    assert 0.5 < found["beta unknown"].expert["beta"] < 2.0
    assert found["beta 4"].expert == {}


def test_an_expert_with_memory_needs_a_model_with_memory():
    mdp = two_ways()
    problem = Problem(mdp, PerState(mdp), Normal(3, 0.0, 1.0), 4.0)
    moves = [LEFT, RIGHT] * 12
    trips = [trip(*moves), trip(*moves), trip(*moves[1:])]
    variants = model_variants(problem, {"memory": ["none", "last_action", "visited:1", "visited:1:2"]})
    assert list(variants) == [
        "no memory", "memory: last action", "memory: has visited 1", "memory: has visited 1 since 2"
    ]  # fmt: skip
    few = {name: variants[name] for name in ("no memory", "memory: has visited 1 since 2")}
    found = compare_models(few, trips, test=[0], num_particles=200, num_threads=1)
    assert found.best.name == "memory: has visited 1 since 2" == found.best_by_evidence.name
    assert found["no memory"].bits == pytest.approx(-1.0, abs=0.1)
    assert found.best.bits > -0.5
    remembering = found[f"{EMPIRICAL}, memory: has visited 1 since 2"]
    # Fitted: 12 times left then right, and 12 right with 11 left, each always the same after the same.
    assert remembering.bits > found[EMPIRICAL].bits + 0.5
    assert found.best.share is None or found.best.share > 1.0


def test_products_with_memory_follow_the_automaton():
    mdp = two_ways()
    memory = visited(mdp, 1, until=2)
    product = memory.product(Problem(mdp, PerState(mdp), Normal(3, 0.0, [1.0, 2.0, 3.0]), 4.0))
    lifted = product.lift([trip(LEFT, RIGHT, LEFT)])[0]
    # left, back with the memory made there, right with it, back where it is undone, left without
    assert [state for state, _ in lifted.steps] == [0, 1, 3, 5, 0, 1]
    product.counts([lifted])  # its steps can occur there
    assert product.prior.std.tolist() == [1.0, 2.0, 3.0, 1.0, 2.0, 3.0]
    assert product.mdp.next_states(1, LEFT)[0].tolist() == [3]
    assert product.mdp.next_states(5, LEFT)[0].tolist() == [0]
    assert product.mdp.initial[3:].sum() == 0
    recent = problem_of(ATOMS).mdp.with_memory(last_action(mdp)).memory
    _, steps, _ = recent.lifted(0, trip(RIGHT, LEFT).steps, None)
    assert [int(recent.memories[state]) for state, _ in steps] == [0, 2, 1, 1]
    with pytest.raises(InputError, match="following must be whole numbers"):
        Memory("x", np.zeros((2, 3)), ("a", "b"))
    with pytest.raises(UnsupportedError, match="Normal, Uniform or MultivariateNormal prior, got Discrete"):
        memory.product(problem_of(ATOMS))


def test_a_problem_that_has_a_memory_already_is_compared_with_one_that_has_none():
    mdp = two_ways()
    problem = Problem(mdp, PerState(mdp), Normal(3, 0.0, 1.0), 4.0)
    remembering = problem.with_memory(visited(mdp, 1, until=2))
    trips = [trip(LEFT, RIGHT, LEFT, RIGHT), trip(RIGHT, LEFT), trip(LEFT, RIGHT)]
    lifted = remembering.lift(trips)
    assert lifted != tuple(trips) and remembering.in_world(lifted) == tuple(trips)
    options = {"test": [0], "num_particles": 100, "num_threads": 1}
    found = compare_models({"plain": problem, "memory": remembering}, trips, **options)
    assert f"{EMPIRICAL}, memory: has visited 1 since 2" in [score.name for score in found.references]
    within = Demonstration.annotation(remembering.mdp.state_names.index("0 (after 1)"), LEFT)
    with pytest.raises(InputError, match=r"begin where the memory begins .* got one that begins in 0 \(after 1\)"):
        remembering.in_world(within)


def test_a_memory_that_forgets_changes_nothing():
    mdp = two_ways()
    problem = Problem(mdp, PerState(mdp), Discrete(ATOMS), Boltzmann(2.0))
    none = Memory("nothing", np.zeros((1, 3, 2), dtype=int), ("always",))
    product = replace(none.product(replace(problem, prior=Normal(3, 0.0, 1.0))), prior=Discrete(ATOMS))
    found = compare_models({"plain": problem, "product": Variant(product)}, TRIPS, test=[1], method="enumerate")
    assert found["plain"].bits == found["product"].bits
    assert found["plain"].log_evidence == found["product"].log_evidence


def test_finished_fits_are_kept_and_more_variants_added(tmp_path):
    path = tmp_path / "fits.jsonl"
    problem = problem_of(ATOMS)
    first = compare_models({"a": problem}, TRIPS, folds=2, method="enumerate", results=path)
    lines = path.read_text("utf-8").splitlines()
    assert len(lines) == 1 + 3  # header, all data, two folds
    record = json.loads(lines[1])
    record["fit"]["log_evidence"] = -123.0  # to see that it is read
    path.write_text("\n".join([lines[0], json.dumps(record), *lines[2:]]) + "\n", "utf-8")
    variants = {"again": problem, "other": replace(problem, expert=Boltzmann(1.0))}
    second = compare_models(variants, TRIPS, folds=2, method="enumerate", results=path)
    assert second["again"].log_evidence == -123.0
    assert second["again"].bits == first["a"].bits
    assert len(path.read_text("utf-8").splitlines()) == 1 + 6
    with pytest.raises(InputError, match="with the settings that they began with"):
        compare_models({"a": problem}, TRIPS[:3], folds=2, method="enumerate", results=path)


def test_variants_change_what_they_say():
    mdp = line(3)
    problem = Problem(mdp, PerState(mdp), Normal(3, 0.5, 2.0), 4.0)
    name, variant = varied(
        problem, {"reward": "state_action", "beta": "unknown", "lapse": "unknown", "values": "soft", "discount": "0.5"}
    )
    assert name == "reward per state and action, beta unknown, lapse unknown, soft values, discount 0.5"
    changed = variant.problem
    assert changed.expert == Boltzmann(LogNormal(4.0, 0.7), Beta(1.0, 9.0), "soft")
    assert (changed.mdp.discount, changed.reward_model.kind) == (0.5, "per_state_action")
    assert (changed.prior.num_parameters, changed.prior.mean[0], changed.prior.std[0]) == (6, 0.5, 2.0)
    assert varied(problem, {"prior_scale": 3})[1].problem.prior.std.tolist() == [6.0] * 3
    assert varied(problem, {"expert.beta": "2"})[1].problem.beta == 2.0
    assert varied(problem, {})[0] == "as given"
    assert list(model_variants(problem, {}, [{"beta": 1}])) == ["as given", "beta 1"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"bta": 1}, "what is varied must be one that exists, got 'bta'. Did you mean 'beta'?"),
        ({"beta": "x"}, "beta must be a number or unknown, got 'x'"),
        ({"beta": -1}, "beta must be finite and at least 0"),
        ({"reward": "node"}, "reward must be one of state, state_action, as_given, got 'node'"),
        ({"values": "hard"}, "values must be one of optimal, soft, got 'hard'"),
        ({"discount": 1.0}, "discount must"),
        ({"prior_scale": 0}, "prior_scale must be positive"),
        ({"memory": "seen:1"}, "memory must be none, last_action, visited:STATE"),
        ({"memory": "visited:9"}, "a state of a memory must be one that exists, got '9'"),
    ],
)
def test_unknown_changes_are_refused_by_name(changes, words):
    mdp = line(3)
    with pytest.raises(InputError) as error:
        varied(Problem(mdp, PerState(mdp), Normal(3, 0.0, 1.0), 4.0), changes)
    assert words in str(error.value)


def test_what_cannot_be_compared_is_refused():
    problem = problem_of(ATOMS)
    with pytest.raises(InputError, match="at least 2 demonstrations, got 1"):
        compare_models({"a": problem}, TRIPS[:1])
    with pytest.raises(InputError, match=r"at least one demonstration per fold, got 4 for 5 folds\. Use 4 folds"):
        compare_models({"a": problem}, TRIPS)
    for test, got in (([], "none"), (range(4), "all"), ([7], "number 7")):
        with pytest.raises(InputError, match=f"the test split must be some of the demonstrations .* got {got}"):
            compare_models({"a": problem}, TRIPS, test=test)
    with pytest.raises(InputError, match="variants must be problems by name, got none"):
        compare_models({}, TRIPS)
    with pytest.raises(InputError, match="same states and available actions, got 'b' with others"):
        mdp = line(4)
        compare_models({"a": problem, "b": Problem(mdp, PerState(mdp), Normal(4), 1.0)}, TRIPS, folds=2)
    with pytest.raises(InputError, match="a decision that is free, got none"):
        forced = [Demonstration.annotation(1, LEFT), Demonstration.annotation(2, LEFT)]
        compare_models({"a": problem}, forced, folds=2)
    with pytest.raises(UnsupportedError, match=r"^a: policywalk needs a continuous prior"):
        compare_models({"a": problem}, TRIPS, folds=2, method="policywalk")
