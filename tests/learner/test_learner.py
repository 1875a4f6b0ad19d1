"""The learner as its users see it."""

import json

import numpy as np
import pytest
from learner.small import FEW, grid_learner, grid_world, keys, told

from journeyman.demonstrations import Demonstration
from journeyman.errors import InputError
from journeyman.experts import Question
from journeyman.inference import infer
from journeyman.learner import ActiveLearner
from journeyman.worlds import make_world


def fingerprint(learner):
    """All that an error must leave as it was."""
    return (
        learner.events,
        learner.queries,
        learner.pending,
        learner.demonstrations,
        len(learner.history()),
        learner.posterior().weights.tobytes(),
        learner.posterior().theta.tobytes(),
    )


@pytest.mark.parametrize("acquisition", ["pac_eig", "random", "expected_regret"])
def test_queries_do_not_depend_on_threads_or_on_looking(acquisition):
    world = grid_world()
    one, two = (grid_learner(num_threads=n, acquisition=acquisition) for n in (1, 2))
    for _ in range(4):
        told(one, world, 1)
        two.scores()
        two.certificate()
        told(two, world, 1)
        two.apprentice()
    assert keys(one.queries) == keys(two.queries)
    assert one.posterior().theta.tobytes() == two.posterior().theta.tobytes()
    assert one.posterior().weights.tobytes() == two.posterior().weights.tobytes()


@pytest.mark.parametrize("acquisition", ["pac_eig", "expected_regret"])
def test_trajectory_queries_do_not_depend_on_threads(acquisition):
    settings = {"acquisition": acquisition, "kind": "trajectory", "length": 3, "num_histories": 8}
    one, two = (grid_learner(num_threads=n, **settings) for n in (1, 2))
    for learner in (one, two):
        learner.attach(Demonstration.annotation(0, 1))
        learner.ask_batch(3)
        learner.ask()
    assert keys(one.queries) == keys(two.queries)


def test_seeds_differ():
    world = grid_world()
    assert keys(told(grid_learner(), world, 3).queries) != keys(told(grid_learner(seed=6), world, 3).queries)


def test_ask_follows_the_scores():
    learner = grid_learner()
    scores = learner.scores()
    query = learner.ask()
    assert query.score == scores.values.max() == scores.values[query.state]
    assert (query.id, query.kind, query.length) == (0, "state", None)
    assert learner.status_of(query) == "waiting"


def test_several_queries_wait_and_are_answered_in_any_order():
    world = grid_world()
    learner = grid_learner()
    first, (second, third) = learner.ask(), learner.ask_batch(2)
    fourth = learner.ask()
    assert [query.id for query in learner.pending] == [0, 1, 2, 3]
    for query in (third, first, fourth):
        learner.tell(query.id, world.expert.demonstrate(Question(query.state, query.id)))
    assert learner.pending == (second,)
    assert [d.query_id for d in learner.demonstrations] == [2, 0, 3]
    exact = world.problem.counts(learner.demonstrations)
    assert (learner.posterior().counts == exact).all()


def test_order_does_not_matter_with_an_exact_posterior():
    world = make_world("lopes-two-state", 0)
    answers = [world.expert.demonstrate(Question(state, visit)) for state in (0, 1) for visit in (0, 1)]
    weights = []
    for order in ([0, 1, 2, 3], [3, 1, 0, 2]):
        learner = ActiveLearner(world.problem, seed=1)
        learner.attach([answers[i] for i in order])
        weights.append(learner.posterior().weights)
    np.testing.assert_allclose(*weights, rtol=1e-12)


def test_a_batch_counts_what_each_query_adds():
    """What a query adds to another one is at most what it tells alone."""
    world = make_world("jail", 3)
    learner = ActiveLearner(world.problem, inference_options=FEW, seed=0, num_threads=1, epsilon=0.5)
    alone = learner.scores()
    first, second = learner.ask_batch(2)
    assert first.state == alone.best_state()
    assert second.score <= alone.values[second.state] + 1e-9
    assert learner.events[0].payload["scores"]["num_queries"] == 2


def test_pending_queries_are_taken_into_account():
    """A learner that waits for an answer must not think that its query is as informative again."""
    world = make_world("jail", 3)
    learner = ActiveLearner(world.problem, acquisition="reward_eig", inference_options=FEW, num_threads=1)
    first, second = learner.ask(), learner.ask()
    assert second.score < first.score
    assert [record.name for record in learner.history()] == ["start"]


def test_repeated_queries_are_legitimate():
    world = make_world("lopes-two-state", 0)
    learner = told(ActiveLearner(world.problem, acquisition="random", seed=2), world, 6)
    assert len({query.state for query in learner.queries}) < 6
    assert len(learner.demonstrations) == 6


def test_failed_states_may_be_asked_again_and_abandoned_ones_not():
    learner = grid_learner(acquisition="reward_eig")
    query = learner.ask()
    learner.fail(query)
    again = learner.ask()
    assert again.state == query.state
    learner.abandon(again)
    assert np.isneginf(learner.scores().values[query.state])
    others = learner.ask_batch(8)
    assert query.state not in {other.state for other in others}


def test_when_all_states_are_abandoned_it_says_so():
    learner = ActiveLearner(make_world("lopes-two-state", 0).problem, acquisition="random")
    for _ in range(2):
        learner.abandon(learner.ask())
    with pytest.raises(InputError, match="there must be a state left to ask about"):
        learner.ask()


def test_undo_equals_never_having_told_exactly():
    """With a Discrete prior the posterior is a sum, so only rounding may differ."""
    world = make_world("lopes-two-state", 0)
    learner = told(ActiveLearner(world.problem, seed=1), world, 3)
    kept = learner.posterior().weights
    learner.tell(learner.ask(), 0)
    (attached,) = learner.attach(Demonstration.annotation(1, 1))
    assert not np.allclose(learner.posterior().weights, kept, rtol=1e-6)
    learner.undo(3)
    learner.undo(attached)
    np.testing.assert_allclose(learner.posterior().weights, kept, rtol=1e-10)
    assert [event.name for event in learner.events[-4:]] == ["tell", "attach", "undo", "undo"]
    assert [event.number for event in learner.events] == list(range(len(learner.events)))
    assert learner.status_of(3) == "failed"


def test_undo_equals_never_having_told_within_monte_carlo_error():
    """Against the exact posterior of what is left; 5 standard errors from the number of distinct ancestors."""
    world = make_world("jail", 3)
    learner = ActiveLearner(world.problem, seed=1, num_threads=1)
    told(learner, world, 3)
    learner.undo(learner.queries[1])
    learner.undo(learner.queries[2])
    exact = infer(world.problem, learner.demonstrations, "enumerate")
    posterior = learner.posterior()
    ancestors = posterior.diagnostics.distinct_ancestors
    size = min(ancestors, posterior.diagnostics.particle_ess)
    error = np.abs(posterior.mean_parameters() - exact.mean_parameters())
    assert (error <= 5.0 * exact.parameter_std() / np.sqrt(size)).all()
    assert len(learner.history()) == 6
    assert learner.history()[-1].name == "undo"
    assert learner.history()[-1].query == learner.queries[2]


@pytest.mark.parametrize(
    "mistake",
    [
        lambda learner: learner.tell(0, Demonstration.annotation(99, 0)),
        lambda learner: learner.tell(99, 0),
        lambda learner: learner.tell(learner.pending[0], "upwards"),
        lambda learner: learner.tell(learner.pending[0], 17),
        lambda learner: learner.undo(learner.pending[0]),
        lambda learner: learner.attach([Demonstration.annotation(0, 0), Demonstration.annotation(0, 99)]),
        lambda learner: learner.fail(0),
        lambda learner: learner.abandon(0),
        lambda learner: learner.ask_batch(0),
        lambda learner: learner.ask_batch(1.5),
    ],
)
def test_errors_leave_the_learner_unchanged(mistake):
    world = grid_world()
    learner = told(grid_learner(), world, 1)
    learner.ask()
    before = fingerprint(learner)
    with pytest.raises(InputError):
        mistake(learner)
    assert fingerprint(learner) == before


def test_a_failing_sampler_leaves_the_learner_unchanged(monkeypatch):
    from dataclasses import replace

    from journeyman.errors import InferenceError
    from journeyman.inference import INFERENCE

    world = grid_world()
    learner = told(grid_learner(), world, 1)
    query = learner.ask()
    before = fingerprint(learner)

    def fail(*arguments, **options):
        raise InferenceError("no luck")

    method = INFERENCE["smc"]
    failing = replace(method, incremental=method.incremental._replace(advance_fn=fail))
    monkeypatch.setitem(INFERENCE._entries, "smc", failing)
    with pytest.raises(InferenceError):
        learner.tell(query, 0)
    assert fingerprint(learner) == before


def test_proposals_change_nothing_until_they_are_applied():
    learner = grid_learner()
    query = learner.ask()
    before = fingerprint(learner)
    event = learner.propose("tell", query, 0)
    ask = learner.propose_ask()
    assert fingerprint(learner) == before
    assert ask.number == event.number == 1
    learner.apply(event)
    assert learner.status_of(query) == "done"
    with pytest.raises(InputError, match="events must come in order"):
        learner.apply(ask)


def test_history_tells_what_each_answer_changed():
    world = grid_world()
    learner = told(grid_learner(), world, 2)
    learner.attach([Demonstration.annotation(s, 0) for s in np.flatnonzero(world.problem.queryable)[:2].tolist()])
    learner.undo(0)
    names = [record.name for record in learner.history()]
    assert names == ["start", "tell", "tell", "attach", "undo"]
    assert [record.num_demonstrations for record in learner.history()] == [0, 1, 2, 4, 3]
    assert [record.answers for record in learner.history()] == [(), (0,), (1,), ("attached-0", "attached-1"), (0,)]
    for record in learner.history():
        assert record.entropy_method == "evidence"
        assert np.isfinite(record.entropy)
        assert 0.0 <= record.failure_chance <= 1.0
        assert record.expected_regret >= 0.0
        assert record.posterior_seconds > 0.0
    assert learner.history()[0].number == -1
    assert learner.history()[1].query == learner.queries[0]
    assert learner.history()[1].scores["best"] == learner.queries[0].score
    assert learner.history()[1].acquisition_seconds > 0.0
    assert learner.history()[3].query is None
    json.dumps([record.to_record() for record in learner.history()], allow_nan=False)


def test_history_agrees_with_the_certificate_of_an_exact_posterior():
    """With atoms nothing is random: the estimated chance of failure is that of the certificate."""
    world = make_world("brown-two-state", 0)
    learner = told(ActiveLearner(world.problem, epsilon=0.5, acquisition="random"), world, 2)
    certificate = learner.certificate()
    assert certificate.effective_size is None
    assert learner.history()[-1].failure_chance == pytest.approx(certificate.p_hat, abs=1e-12)
    assert learner.history()[-1].expected_regret == pytest.approx(certificate.mean_regret, abs=1e-12)


def test_what_it_says_about_itself():
    learner = grid_learner()
    learner.ask()
    assert (
        repr(learner) == "ActiveLearner(acquisition='failure_chance', inference='smc': 0 answers, 1 question waiting)"
    )
    with pytest.raises(ValueError, match="read-only"):
        learner.apprentice()[0] = 1


def test_trajectories():
    world = grid_world()
    learner = grid_learner(kind="trajectory", length=3, num_histories=8)
    query = learner.ask()
    assert (query.kind, query.length) == ("trajectory", 3)
    answer = world.expert.demonstrate(query.state, kind="trajectory", length=3)
    learner.tell(query, answer)
    assert learner.posterior().counts.sum() == len(answer)


def test_costs_are_minded():
    """A state that costs a thousand times as much as the others is not asked about."""
    plain = grid_learner().ask()
    costs = np.ones(9)
    costs[plain.state] = 1000.0
    assert grid_learner(costs=costs).ask().state != plain.state
