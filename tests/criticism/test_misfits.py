"""A mouse with two goals and an expert who contradicts themselves never get a certificate that plainly holds."""

import json
from dataclasses import replace

import numpy as np
import pytest
from criticism.misfits import HOME, WATER, left_and_right, maze_problem, mouse_with_two_goals, ring_problem, walk

from journeyman.apprentice import certify
from journeyman.criticism import criticise, is_quick_to_check
from journeyman.criticism.check import MAX_WORK, RIVALS_TITLE
from journeyman.criticism.contradictions import alike_actions, chance_of_second, contradictions_in
from journeyman.criticism.predictive import predictive_frequencies
from journeyman.criticism.rivals import is_homogeneous, rescaled, rival_models
from journeyman.demonstrations import Demonstration
from journeyman.errors import InputError
from journeyman.experts import Boltzmann
from journeyman.inference import infer
from journeyman.learner import ActiveLearner
from journeyman.rewards import Discrete, MultivariateNormal, Normal, Uniform, widened
from journeyman.worlds import make_world


def learner_with(problem, demonstrations, **options) -> ActiveLearner:
    learner = ActiveLearner(problem, epsilon=0.5, delta=0.1, num_threads=1, **options)
    learner.attach(demonstrations)
    return learner


def test_a_mouse_with_two_goals_is_noticed():
    problem = maze_problem()
    learner = learner_with(problem, mouse_with_two_goals(problem))
    certificate = learner.certificate()
    assert certificate.status == "doubtful" and not certificate.holds and certificate.holds_if_model_is_right
    assert not learner.is_finished()
    assert "changed their mind after about 400 actions" in certificate.text().replace("\n  ", " ")
    assert certificate.text().startswith("The certificate holds, but THE MODEL IS DOUBTFUL")
    assert learner.confirmation().status == "doubtful"
    assert learner.criticism().change_point == 400
    assert all(entry.chance is not None for entry in certificate.sensitivity)
    assert len(certificate.sensitivity) == 4  # half and twice beta, and as wide a prior


def test_a_mouse_with_two_goals_in_one_trajectory_is_noticed():
    problem = maze_problem()
    first, second = mouse_with_two_goals(problem)
    whole = Demonstration(HOME, first.steps + second.steps, final_state=second.final_state, ended="truncated")
    found = criticise(infer(problem, whole, num_threads=1), whole, num_threads=1)
    assert found.is_surprising and found.rivals[0].kind == "change" and 380 <= found.change_point <= 420


def test_annotators_who_are_taken_for_one_are_named():
    """Two mice with a goal each, pooled: the advice says that they may be told apart. One alone has no such advice."""
    problem = maze_problem()
    pair = [replace(item, annotator=name) for item, name in zip(mouse_with_two_goals(problem), "ab", strict=True)]
    posterior = infer(problem, pair, num_threads=1, num_particles=200)
    found = criticise(posterior, pair, num_threads=1)
    assert found.is_surprising and found.annotators == ("a", "b")
    assert found.advice[0].startswith("the answers are of 2 annotators (a, b), who are taken for one")
    alone = criticise(posterior, [replace(item, annotator="a") for item in pair], is_full=False)
    assert alone.annotators == ()
    assert not any(item.chance == 1.0 and str(item) in " ".join(found.advice) for item in found.deviations)


def test_a_mouse_with_one_goal_is_left_alone():
    problem = maze_problem()
    learner = learner_with(problem, walk(problem, WATER, 800, np.random.default_rng(1)))
    certificate = learner.certificate()
    assert certificate.holds and certificate.criticism.is_full and not certificate.criticism.is_doubtful
    assert learner.is_finished()
    assert "The model was checked" in certificate.text()
    assert "unknown" not in certificate.text()


@pytest.mark.parametrize("method", ["smc", pytest.param("policywalk", marks=pytest.mark.slow)])
def test_an_expert_who_contradicts_themselves_is_named(method):
    """At beta 40 both ways may be optimal, and samples say so; that they should be is what is odd."""
    problem = ring_problem()
    options = {} if method == "smc" else {"inference_options": {"num_chains": 2, "num_draws": 200}}
    learner = learner_with(problem, left_and_right(), inference=method, **options)
    found = learner.criticism(is_full=False)
    assert found.is_doubtful
    assert "in state 0 the answers are left 15 times and right 15 times" in found.text()
    gains = [float(line.rpartition(" ")[2].replace("10^", "1e")) for line in found.rival_lines()]
    assert gains == sorted(gains, reverse=True) and len(gains) == 5
    assert f"{RIVALS_TITLE}:\n- {found.rival_lines()[0]}\n" in found.text()
    assert "(by chance, something is as far off as that in " in str(found.deviations[0])
    assert not learner.certificate().holds and not learner.is_finished()


def test_contradictions_make_what_would_hold_doubtful():
    problem = ring_problem()
    posterior = infer(problem, left_and_right(), num_threads=1, num_particles=2000)
    posterior = replace(posterior, diagnostics=replace(posterior.diagnostics, warnings=()))
    certificate = certify(posterior, 100.0, 0.1)
    assert certificate.status == "doubtful"
    record = json.loads(certificate.to_json())
    assert record["holds"] is False and record["status"] == "doubtful"
    assert record["criticism"]["contradictions"][0]["counts"] == {"left": 15, "right": 15}
    assert certificate.reasons and certificate.advice


def test_answers_that_go_together_are_no_contradiction():
    problem = ring_problem(beta=1.0)
    assert contradictions_in(problem, problem.counts(left_and_right()), level=0.01, num_threads=1) == ()
    agreeing = [Demonstration.annotation(0, 0)] * 30
    problem = ring_problem()
    assert contradictions_in(problem, problem.counts(agreeing), level=0.01, num_threads=1) == ()


def test_actions_that_are_always_alike_are_no_contradiction():
    """In a corner, staying and walking into either wall are one action to the model: anything goes among them."""
    problem = replace(make_world("random-grid", 0, size=3, terminals="independent").problem, expert=Boltzmann(40.0))
    moves = {name: i for i, name in enumerate(problem.mdp.action_labels)}
    stay, up = next(i for name, i in moves.items() if name == "stay"), moves["up"]
    corner = 0 if problem.queryable[0] else int(np.flatnonzero(problem.queryable[:3])[0])
    alike = [Demonstration.annotation(corner, action) for action in (stay, up) * 15]
    assert contradictions_in(problem, problem.counts(alike), level=0.01, num_threads=1) == ()
    other = [Demonstration.annotation(corner, action) for action in (stay, moves["down"]) * 15]
    found = contradictions_in(problem, problem.counts(other), level=0.01, num_threads=1)
    assert [item.state for item in found] == [corner]


def test_alike_actions_by_hand():
    log_policy = np.log(np.array([[0.3, 0.3, 0.4, 1e-9], [0.1, 0.1, 0.8, 1e-9]]))
    assert alike_actions(log_policy, np.array([True, True, True, False])).tolist() == [0, 0, 1, 2]


def test_the_chance_of_a_second_action_bounds_the_true_one():
    rng = np.random.default_rng(0)
    policy = rng.dirichlet(np.full(3, 0.3), size=20)
    for size, second in ((2, 1), (6, 2), (30, 15)):
        bound = chance_of_second(policy, size, second)
        drawn = np.sort(rng.multinomial(size, policy, size=(4000, 20)), axis=2)[:, :, -2] >= second
        error = 4.0 * np.sqrt(0.25 / 4000)
        assert (drawn.mean(axis=0) <= bound + error).all()


def test_frequencies_against_a_plain_sum():
    problem = ring_problem(beta=2.0)
    answers = [Demonstration.annotation(0, 0)] * 9 + [Demonstration.annotation(0, 1)]
    posterior = infer(problem, answers, num_threads=1)
    found = predictive_frequencies(posterior)
    policy = posterior.expert_policies([0])[:, 0]
    mean = posterior.weights @ policy
    np.testing.assert_allclose(found.expected[0], 10 * mean, atol=0.15)  # 256 of the samples
    assert found.states.tolist() == [0] and found.observed.tolist() == [[9, 1]]
    assert abs(found.z[0, 0] + found.z[0, 1]) < 1e-6  # what one has too often, the other has too seldom


def test_a_wide_prior_is_a_large_beta_where_nothing_else_is_known():
    """Evidence and beliefs of twice beta, rescaled, are those of a prior twice as wide: within Monte-Carlo error."""
    problem = ring_problem(beta=2.0)
    assert is_homogeneous(problem)
    answers = [Demonstration.annotation(s, a) for s, a in ((0, 0), (0, 0), (1, 1), (2, 0), (0, 1))]
    double = infer(replace(problem, expert=Boltzmann(4.0)), answers, num_particles=4000, num_threads=1)
    wide = infer(replace(problem, prior=Normal(5, 0.0, 2.0)), answers, num_particles=4000, num_threads=1)
    assert double.log_evidence == pytest.approx(wide.log_evidence, abs=0.1)
    same = rescaled(double, problem, 2.0)
    np.testing.assert_allclose(same.parameter_std(), wide.parameter_std(), rtol=0.1)
    np.testing.assert_allclose(
        same.expert_policies([0]).mean(axis=0), wide.expert_policies([0]).mean(axis=0), atol=0.05
    )


@pytest.mark.parametrize(
    "prior",
    [Normal(2, 1.0, [1.0, 2.0]), Uniform(2, -1.0, 3.0), MultivariateNormal([1.0, 2.0], [[2.0, 1.0], [1.0, 2.0]])],
)
def test_a_wider_prior_has_the_same_centre(prior):
    wide = widened(prior, 3.0)
    np.testing.assert_allclose(wide.std, 3.0 * np.asarray(prior.std))
    np.testing.assert_allclose(wide.interval(0.5).mean(axis=1), prior.interval(0.5).mean(axis=1), atol=1e-12)
    assert widened(Discrete(np.eye(2)), 2.0) is None


def test_variants_are_tried_near_ones_first():
    labels = [(variant.label, variant.nearer) for variant in rival_models(ring_problem(beta=4.0))]
    assert labels == [("beta = 2", ""), ("beta = 8", ""), ("beta = 1", "beta = 2"), ("beta = 32", "beta = 8")]
    jail = rival_models(make_world("jail", 0).problem)
    assert {variant.rival.kind for variant in jail} == {"rationality", "prior"}


def test_other_demonstrations_than_those_of_the_posterior_are_refused():
    problem = ring_problem()
    posterior = infer(problem, left_and_right(2), num_threads=1)
    with pytest.raises(InputError, match="must be those that the posterior was inferred from, got 2 actions"):
        criticise(posterior, left_and_right(1))


def test_a_learner_that_is_not_checked_says_what_it_said_before():
    problem = maze_problem()
    learner = learner_with(problem, mouse_with_two_goals(problem, 100), is_checked=False)
    certificate = learner.certificate()
    assert certificate.criticism is None and certificate.status in ("holds", "undecided", "fails")


@pytest.mark.slow
def test_certify_with_demonstrations_notices_two_goals_and_says_what_it_did_not_look_for():
    """From counts alone nobody can tell when something was done; with the demonstrations one can."""
    problem = maze_problem()
    demonstrations = mouse_with_two_goals(problem, 200)
    posterior = infer(problem, demonstrations, seed=1, num_threads=1, num_particles=1000)
    alone = certify(posterior, 5.0, 0.1)
    assert alone.criticism is not None and not alone.criticism.is_ordered
    if alone.holds:
        assert "Not looked for: another beta, another prior, a change of mind" in alone.text().replace("\n", " ")
    checked = certify(posterior, 5.0, 0.1, demonstrations=demonstrations)
    assert checked.status == "doubtful"
    assert checked.criticism.is_full and checked.criticism.is_ordered


def test_a_full_check_comes_by_itself_only_where_nobody_waits_minutes_for_it():
    """Thousands of recorded steps and hundreds of rewards have the quick check, unless somebody asks for the other."""
    problem = maze_problem()
    posterior = infer(problem, [Demonstration.annotation(HOME, 0)], num_particles=100, num_threads=1)
    assert is_quick_to_check(posterior)
    most = MAX_WORK // posterior.theta.shape[1]
    counts = np.zeros_like(posterior.counts)
    counts[HOME, 0] = most
    assert is_quick_to_check(replace(posterior, counts=counts))
    counts = counts.copy()
    counts[HOME, 0] += 1
    assert not is_quick_to_check(replace(posterior, counts=counts))
