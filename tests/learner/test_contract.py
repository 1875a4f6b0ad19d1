"""Every acquisition function and every inference method through the learner, once each."""

import pytest
from learner.small import grid_world, told

from journeyman.acquisition import ACQUISITIONS
from journeyman.experts import Question
from journeyman.inference import INFERENCE
from journeyman.learner import ActiveLearner
from journeyman.worlds import make_world

SMALL = {
    "enumerate": {"num_points": 256},
    "policywalk": {"sampler": "hmc", "num_chains": 2, "num_warmup": 50, "num_draws": 100},
    "valuewalk": {"num_chains": 2, "num_draws": 100},
    "smc": {"num_particles": 200},
    "variational": {"num_draws": 200},
}


PAIRS = [(name, kind) for name, acquisition in ACQUISITIONS.items() for kind in acquisition.kinds]


@pytest.mark.parametrize(("acquisition", "query"), PAIRS)
def test_every_acquisition(acquisition, query):
    world = grid_world()
    learner = ActiveLearner(
        world.problem,
        acquisition=acquisition,
        kind=query,
        length=2 if query == "trajectory" else None,
        num_histories=4,
        inference_options=SMALL["smc"],
        num_threads=1,
    )
    for k in (1, 2):
        for asked in learner.ask_batch(k):
            assert world.problem.queryable[asked.state]
            answer = world.expert.demonstrate(Question(asked.state, asked.id, query, asked.length))
            learner.tell(asked, answer)
    assert len(learner.history()) == 4


@pytest.mark.parametrize("inference", INFERENCE)
def test_every_inference_method(inference):
    world = make_world("jail", 3) if inference == "enumerate" else grid_world()
    learner = ActiveLearner(
        world.problem, inference=inference, inference_options=SMALL[inference], num_threads=1, acquisition="reward_eig"
    )
    told(learner, world, 2)
    assert learner.posterior().method == inference
    assert (learner.posterior().counts == world.problem.counts(learner.demonstrations)).all()
    assert learner.certificate().status in ("holds", "undecided", "fails", "refused")
    assert len(learner.apprentice()) == world.problem.mdp.num_states
    assert len(learner.history()) == 3
    learner.undo(0)
    assert learner.posterior().counts.sum() == 1
