"""Certificates of a learner rest on what is drawn for them, not on how many particles it happens to have."""

from learner.small import grid_learner, grid_world

from journeyman.apprentice import certify
from journeyman.learner import simulate


def test_few_particles_are_enough_because_more_are_drawn():
    """120 particles could not show a chance of 3 %, whatever happens under them; what is drawn can."""
    world = grid_world(3)
    learner = grid_learner(world, epsilon=1.0, delta=0.03, inference_options={"num_particles": 120})
    result = simulate(learner, world.expert, 30, progress=False)
    alone = certify(learner.posterior(), 1.0, 0.03, policy=learner.apprentice())
    assert alone.status == "refused"
    assert result.is_finished
    assert result.certificate.num_samples > 120
