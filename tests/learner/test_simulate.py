import numpy as np
import pytest
from learner.small import FEW, grid_learner, grid_world, keys

from journeyman.demonstrations import Demonstration
from journeyman.errors import InputError
from journeyman.experts import Question
from journeyman.learner import ActiveLearner, answered_steps, simulate
from journeyman.mdp import evaluate_policy
from journeyman.worlds import make_world


def jail_learner(world, **settings):
    options = {"epsilon": 0.5, "inference_options": {"num_particles": 600}, "num_threads": 2, "seed": 1}
    return ActiveLearner(world.problem, **(options | settings))


def test_it_stops_when_certified_and_confirmed():
    world = make_world("jail", 3)
    learner = jail_learner(world)
    result = simulate(learner, world.expert, 30, progress=False)
    assert result.is_finished
    assert result.num_steps == len(result.history) - 1 == len(learner.demonstrations) < 30
    assert result.certificate.holds
    assert result.certificate is learner.confirmation()
    assert (result.certificate.policy == learner.apprentice()).all()
    assert result.certificate.num_samples >= 600  # as many as it took, none of them split off to choose
    loss = world.expert.values - evaluate_policy(world.problem.mdp, learner.apprentice(), world.reward)
    assert world.problem.mdp.initial @ loss < 0.5  # the truth keeps the promise on this instance


def test_a_certificate_that_is_not_confirmed_does_not_finish(monkeypatch):
    """The fresh posterior decides: on one that says no, the learner goes on although its own samples say yes."""
    world = make_world("jail", 3)
    learner = jail_learner(world)
    simulate(learner, world.expert, 30, progress=False)
    other = jail_learner(world, confirmation_factor=1)
    other.attach(learner.demonstrations)
    assert other.certificate().holds
    from journeyman.learner import stopping

    monkeypatch.setattr(
        stopping, "updated_belief", lambda problem, settings, belief, *others: belief
    )  # forgets answers
    assert not other.confirmation().holds
    assert not other.is_finished()


def test_it_can_go_on_without_stopping():
    world = make_world("jail", 3)
    result = simulate(jail_learner(world), world.expert, 4, stop_when_finished=False, progress=False)
    assert (result.num_steps, result.is_finished) == (4, None)


def test_it_is_written_on_ask_and_tell():
    world = grid_world()
    simulated, asked = grid_learner(), grid_learner()
    result = simulate(simulated, world.make_expert(9), 4, progress=False, stop_when_finished=False)
    visits = np.zeros(9, dtype=int)
    for _ in range(4):
        query = asked.ask()
        asked.tell(query, world.make_expert(9).demonstrate(Question(query.state, int(visits[query.state]))))
        visits[query.state] += 1
    assert keys(result.learner.queries) == keys(asked.queries)
    assert [d.steps for d in simulated.demonstrations] == [d.steps for d in asked.demonstrations]


def test_it_can_be_continued():
    world = grid_world()
    whole, parts = grid_learner(), grid_learner()
    options = {"progress": False, "stop_when_finished": False}
    simulate(whole, world.expert, 5, **options)
    simulate(parts, world.expert, 2, **options)
    parts.ask()  # a query that waits is answered first
    simulate(parts, world.expert, 3, **options)
    assert keys(parts.queries) == keys(whole.queries)
    assert parts.demonstrations == whole.demonstrations


def test_batches_and_the_callback():
    world = grid_world()
    seen = []
    learner = grid_learner()
    simulate(
        learner, world.expert, 5, batch_size=2, progress=False, stop_when_finished=False,
        on_step=lambda query: seen.append(query.id),
    )  # fmt: skip
    assert seen == [0, 1, 2, 3, 4]
    assert [len(event.payload["queries"]) for event in learner.events if event.name == "ask"] == [2, 2, 1]


def test_no_steps_at_all():
    world = grid_world()
    result = simulate(grid_learner(), world.expert, 0, progress=False)
    assert (result.num_steps, result.is_finished, len(result.history)) == (0, False, 1)
    with pytest.raises(InputError, match="steps must be a whole number"):
        simulate(grid_learner(), world.expert, -1)


def test_goal_reward_stops_when_intervals_are_narrow():
    world = make_world("jail", 3)
    wide = ActiveLearner(world.problem, goal="reward", inference_options=FEW, goal_options={"width": 1000.0})
    assert wide.is_finished()  # the prior's intervals are 95 wide
    assert wide.knowledge().is_narrow


def test_goal_reward_stops_when_answers_tell_too_little():
    """One of five actions tells at most log 5 = 1.61 nats, so 2 are never to be had, however wide the intervals."""
    learner = ActiveLearner(
        make_world("jail", 3).problem,
        goal="reward",
        inference_options=FEW,
        goal_options={"width": 1e-9, "information": 2.0},
    )
    assert learner.is_finished()
    assert learner.knowledge().is_exhausted
    assert not learner.knowledge().is_narrow


def test_goal_reward_asks_until_it_knows():
    world = make_world("lopes-two-state", 0)
    learner = ActiveLearner(world.problem, goal="reward", goal_options={"width": 1e-6, "information": 0.05})
    assert learner.settings.acquisition == "reward_eig"
    assert not learner.is_finished()
    result = simulate(learner, world.expert, 60, progress=False)
    assert result.is_finished
    assert learner.knowledge().is_enough
    assert 0 < result.num_steps < 60


def test_goal_reward_has_a_default_width():
    """The prior of jail is uniform on -100..0: 95 % of it is 95 wide, and a tenth of that is wanted (2 % for draws)."""
    from journeyman.learner.stopping import default_width

    assert default_width(make_world("jail", 0).problem, 0.95) == pytest.approx(9.5, rel=0.02)


def test_the_loop_yields_each_query_when_it_is_answered():
    """It answers what waits first, and ends after its steps; the expert may be anything that answers."""
    world = grid_world()
    learner = grid_learner()
    waiting = learner.ask_batch(2)
    answered = []
    for query in answered_steps(learner, world.expert, steps=5, batch_size=2):
        answered.append(query)
        assert learner.status_of(query) == "done"
        assert len(learner.demonstrations) == len(answered)
    assert tuple(answered) == learner.queries
    assert tuple(answered[:2]) == waiting
    assert [len(event.payload["queries"]) for event in learner.events if event.name == "ask"] == [2, 2, 1]

    class Stubborn:
        def demonstrate(self, question):
            return Demonstration.annotation(question.state, 0, query_id=question.id)

    assert simulate(learner, Stubborn(), 2, progress=False, stop_when_finished=False).num_steps == 2
    assert [item.steps[0][1] for item in learner.demonstrations[-2:]] == [0, 0]


def test_a_study_is_simulated_like_a_learner(tmp_path):
    from journeyman.study import Study

    world = grid_world()
    learner = grid_learner()
    simulate(learner, world.expert, 3, progress=False)
    with Study.create(tmp_path / "a.study", world.problem, inference_options=FEW, num_threads=1, seed=5) as study:
        result = simulate(study, world.expert, 3, progress=False)
        assert result.learner is study
        assert keys(study.queries) == keys(learner.queries)
        assert [item.steps for item in study.demonstrations] == [item.steps for item in learner.demonstrations]


def test_a_world_is_no_expert_but_has_one():
    world = make_world("brown-two-state")
    learner = ActiveLearner(world.problem, inference="enumerate")
    with pytest.raises(InputError, match=r"expert must .* got World\. A World has one: world\.expert"):
        simulate(learner, world, 1)
