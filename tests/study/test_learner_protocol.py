"""ActiveLearner and Study are both a Learner: the same methods, the same return types, the same behaviour."""

import inspect

import numpy as np
import pytest
from study.tiny import SETTINGS, tiny_problem

from journeyman.demonstrations import Demonstration
from journeyman.learner import ActiveLearner, Learner
from journeyman.study import Study

NAMES = [name for name in vars(Learner) if not name.startswith("_")]


@pytest.mark.parametrize("kind", [ActiveLearner, Study])
@pytest.mark.parametrize("name", NAMES)
def test_signatures_are_the_same(kind, name):
    wanted = vars(Learner)[name]
    if isinstance(wanted, property):
        if name in ("problem", "settings"):  # plain attributes
            return
        found = inspect.getattr_static(kind, name)
        assert isinstance(found, property)
        wanted, found = wanted.fget, found.fget
    else:
        found = inspect.getattr_static(kind, name)
    assert inspect.signature(found) == inspect.signature(wanted)


@pytest.fixture(params=[ActiveLearner, Study])
def learner(request, tmp_path):
    if request.param is ActiveLearner:
        yield ActiveLearner(tiny_problem(), num_threads=1, **SETTINGS)
        return
    with Study.create(tmp_path / "a.study", tiny_problem(), num_threads=1, **SETTINGS) as study:
        yield study


def test_the_contract(learner):
    start = learner.history()
    assert [(step.name, step.num_demonstrations) for step in start] == [("start", 0)]
    assert 0.0 <= start[0].failure_chance <= 1.0 and np.isfinite(start[0].entropy)
    query = learner.ask()
    assert (query.id, query.visit, learner.status_of(query), learner.pending) == (0, 0, "waiting", (query,))
    assert learner.tell(query, "right", annotator="ada") == 0
    assert (learner.status_of(0), learner.answers[0].annotator) == ("done", "ada")
    second, third = learner.ask_batch(2)
    assert learner.tell(third.id, 1) == 2
    learner.fail(second)
    extra = Demonstration.annotation(query.state, 2)
    assert learner.attach(extra) == ("attached-0",)
    assert learner.attach([extra, extra], annotator="bob") == ("attached-1", "attached-2")
    assert learner.answers["attached-2"].annotator == "bob"
    assert learner.undo("attached-1") is None
    learner.abandon(learner.ask())
    assert [step.name for step in learner.history()] == ["start", "tell", "tell", "attach", "attach", "undo"]
    assert [step.num_demonstrations for step in learner.history()] == [0, 1, 2, 3, 5, 4]
    assert learner.posterior().counts.sum() == len(learner.demonstrations) == len(learner.answers) == 4
    assert [learner.status_of(q) for q in learner.queries] == ["done", "failed", "done", "abandoned"]
    assert len(learner.apprentice()) == len(learner.scores().values) == learner.problem.mdp.num_states
    assert learner.is_finished() == (learner.certificate().holds and learner.confirmation().holds)
    assert learner.knowledge().widths.size == learner.problem.prior.num_parameters
    assert [event.name for event in learner.events] == [
        "ask",
        "tell",
        "ask",
        "tell",
        "fail",
        "attach",
        "attach",
        "undo",
        "ask",
        "abandon",
    ]
