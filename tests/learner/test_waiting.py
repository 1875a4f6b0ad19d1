"""People wait little, and nothing depends on how long they think: what is under way is part of what a learner is."""

import pickle
import threading
import time

import numpy as np
import pytest
from learner.small import grid_world, keys
from learner.test_restore import stored

from journeyman.experts import Question
from journeyman.inference import smc
from journeyman.inference.weights import effective_size
from journeyman.learner import ActiveLearner
from journeyman.study import Study

NUM_STEPS = 12
SURPRISES = (3, 5, 7, 9)  # steps at which some tests give a surprising answer
SETTINGS = {"inference_options": {"num_particles": 400}, "seed": 5}  # enough for a rejuvenation to wait


def make(num_threads=1, **settings):
    return ActiveLearner(grid_world().problem, num_threads=num_threads, **SETTINGS | settings)


def answer(learner, query):
    learner.tell(query, grid_world().make_expert(0).demonstrate(Question(query.state, query.id)))


def answer_surprisingly(learner, query):
    """Tell the action that leaves nearest to 40 particles effective: after a greater surprise there may be a search."""
    learner_itself = learner._learner if isinstance(learner, Study) else learner
    particles = smc.finished(learner_itself._state.belief.state, num_threads=1)

    def distance(action):
        change = particles.counts - particles.moved_counts
        change[query.state, action] += 1.0
        return abs(effective_size(smc._log_ratio(particles, change, 0.0)) - 40.0)

    learner.tell(query, int(min(np.flatnonzero(learner.problem.mdp.available[query.state]), key=distance)))


def answer_sometimes_surprisingly(learner, query):
    (answer_surprisingly if len(learner.answers) in SURPRISES else answer)(learner, query)


def is_under_way(learner):
    return learner._state.belief is not None and learner._state.belief.state.started is not None


def is_interim(learner):
    return is_under_way(learner) and learner._state.belief.state.started.source is not None


def run(learner, pause_fn=lambda step: None, answer_fn=answer):
    """Answer the rest of the steps; return whether a rejuvenation was under way when each query was asked."""
    seen = []
    for step in range(len(learner.answers), NUM_STEPS):
        query = learner.pending[0] if learner.pending else learner.ask()
        seen.append(is_under_way(learner))
        pause_fn(step)
        answer_fn(learner, query)
    return seen


@pytest.fixture(scope="module")
def usual():
    learner = make()
    assert 2 < sum(run(learner)) < NUM_STEPS - 2
    return learner


@pytest.fixture(scope="module")
def surprised():
    learner, num_interim = make(), 0
    for _ in range(NUM_STEPS):
        query = learner.ask()
        num_interim += is_interim(learner)
        assert learner.posterior().diagnostics.particle_ess >= 100.0
        answer_sometimes_surprisingly(learner, query)
    assert num_interim >= 2
    return learner


def threads_ahead():
    return [thread for thread in threading.enumerate() if thread.name == "journeyman-ahead"]


@pytest.mark.parametrize("num_threads", [2, None])
@pytest.mark.parametrize(
    "pause_fn", [lambda step: None, lambda step: time.sleep(0.1 * (step % 3))], ids=["fast", "slow"]
)
def test_the_same_queries_whatever_the_threads_and_the_pace(usual, num_threads, pause_fn):
    learner = make(num_threads)
    run(learner, pause_fn)
    assert keys(learner.queries) == keys(usual.queries)
    assert learner.posterior().weights.tobytes() == usual.posterior().weights.tobytes()
    del learner
    for thread in threads_ahead():
        thread.join(10)
    assert threads_ahead() == []


def test_the_same_queries_after_surprising_answers(surprised):
    learner = make(2)
    run(learner, lambda step: time.sleep(0.1 * (step % 2)), answer_sometimes_surprisingly)
    assert keys(learner.queries) == keys(surprised.queries)
    assert learner.posterior().weights.tobytes() == surprised.posterior().weights.tobytes()


def test_work_is_done_while_a_query_waits_and_not_with_one_thread():
    for num_threads, expected in ((1, None), (2, "journeyman-ahead")):
        learner = make(num_threads)
        while not is_under_way(learner):
            answer(learner, learner.ask())
        result = learner._state.belief.state.started.result
        assert result._job is None  # nothing waits: the next query comes first
        learner.ask()
        assert (None if result._job is None else result._job.name) == expected
        learner.propose_ask()
        answer(learner, learner.pending[0])


def test_looking_and_certificates_change_nothing(usual):
    learner = make(2)

    def look(step):
        learner.scores(), learner.history(), learner.snapshot()
        if step in (3, 4, 8):
            learner.certificate()

    run(learner, look)
    assert keys(learner.queries) == keys(usual.queries)


@pytest.mark.parametrize("answer_fn", [answer, answer_sometimes_surprisingly])
def test_restored_at_every_event_it_asks_the_same(usual, surprised, answer_fn):
    """From a snapshot, by replay, and from an older snapshot, at every point of a rejuvenation."""
    problem, num_under_way, older = grid_world().problem, 0, None
    learner = make()
    for step in range(NUM_STEPS):
        for name in ("ask", "tell"):
            if name == "ask":
                learner.ask()
            else:
                answer_fn(learner, learner.pending[0])
            snapshot = learner.snapshot()
            num_under_way += "started_counts" in snapshot
            for kept in (snapshot, older) if step % 4 else (snapshot, older, None):
                again = ActiveLearner.restore(problem, *stored(learner, kept), num_threads=2)
                assert again.posterior().weights.tobytes() == learner.posterior().weights.tobytes()
                assert is_under_way(again) == is_under_way(learner)
                assert is_interim(again) == is_interim(learner)
            older = snapshot
        learner = again if step % 2 else pickle.loads(pickle.dumps(again))  # go on with a copy
    assert num_under_way > 5
    assert keys(learner.queries) == keys((usual if answer_fn is answer else surprised).queries)


def test_undo_while_one_is_under_way(usual):
    def with_undo(learner):
        while not is_under_way(learner):
            answer(learner, learner.ask())
        learner.ask()
        learner.undo(learner.queries[-2])
        run(learner)
        return learner

    first, second = with_undo(make()), with_undo(make(2))
    assert keys(first.queries) == keys(second.queries)
    again = ActiveLearner.restore(grid_world().problem, *stored(first, None), num_threads=1)
    assert again.posterior().weights.tobytes() == first.posterior().weights.tobytes()
    np.testing.assert_array_equal(first.posterior().counts, grid_world().problem.counts(first.ledger.answers.values()))


def test_undo_of_a_surprising_answer(surprised):
    def with_undo(num_threads):
        learner = make(num_threads)
        while not is_interim(learner):
            answer_sometimes_surprisingly(learner, learner.ask())
        learner.ask()
        learner.undo(learner.queries[-2])
        run(learner, answer_fn=answer)
        return learner

    first, second = with_undo(1), with_undo(2)
    assert keys(first.queries) == keys(second.queries)
    again = ActiveLearner.restore(grid_world().problem, *stored(first, None), num_threads=1)
    assert again.posterior().weights.tobytes() == first.posterior().weights.tobytes()
    np.testing.assert_array_equal(first.posterior().counts, grid_world().problem.counts(first.ledger.answers.values()))


def test_a_certificate_while_particles_are_interim_draws_from_all_of_them(surprised):
    learner = make()
    while not is_interim(learner):
        answer_sometimes_surprisingly(learner, learner.ask())
    state = learner._state.belief.state
    drawn, wanted = (
        next(smc.draw_more(one, seed=1, num_threads=1)) for one in (state, smc.finished(state, num_threads=1))
    )
    assert drawn.theta.tobytes() == wanted.theta.tobytes()
    assert learner.certificate().status != "refused"


@pytest.mark.parametrize("answer_fn", [answer, answer_sometimes_surprisingly])
def test_a_study_that_is_reopened_after_every_answer_asks_the_same(usual, surprised, answer_fn, tmp_path):
    path = tmp_path / "a.study"
    Study.create(path, grid_world().problem, num_threads=1, **SETTINGS).close()
    for _ in range(NUM_STEPS):
        with Study.open(path, num_threads=2) as study:
            answer_fn(study, study.ask())
    with Study.open(path) as study:
        assert keys(study.queries) == keys((usual if answer_fn is answer else surprised).queries)


def test_a_study_works_ahead_while_its_query_waits(usual, tmp_path):
    with Study.create(tmp_path / "a.study", grid_world().problem, num_threads=2, **SETTINGS) as study:
        was_ahead = False
        for _ in range(NUM_STEPS):
            query = study.ask()
            if is_under_way(study._learner):
                was_ahead = was_ahead or study._learner._state.belief.state.started.result._job is not None
            answer(study, query)
        assert was_ahead
        assert keys(study.queries) == keys(usual.queries)


def test_an_error_in_the_background_is_raised_by_tell_and_leaves_the_learner_as_it_was(usual, monkeypatch):
    learner, usual_fn = make(2), smc._tempered

    def fail(*arguments, **options):
        if threading.current_thread().name == "journeyman-ahead":
            raise MemoryError("in the background")
        return usual_fn(*arguments, **options)

    while not is_under_way(learner):
        answer(learner, learner.ask())
    with monkeypatch.context() as patch:
        patch.setattr(smc, "_tempered", fail)
        query = learner.ask()
        with pytest.raises(MemoryError, match="in the background"):
            answer(learner, query)
    assert learner.pending == (query,)
    run(learner)
    assert keys(learner.queries) == keys(usual.queries)


def test_a_certificate_of_the_particles_alone_has_them_at_their_best():
    learner = make(max_samples=0)
    assert not any(run(learner))
    assert learner.posterior().diagnostics.particle_ess >= 200.0
    given = make(inference_options={"num_particles": 400, "lag": 0})
    run(given)
    assert keys(given.queries) == keys(learner.queries)
