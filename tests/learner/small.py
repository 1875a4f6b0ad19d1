"""Small worlds and learners that the tests of this folder share."""

from journeyman.experts import Question
from journeyman.learner import ActiveLearner
from journeyman.worlds import make_world

FEW = {"num_particles": 200}


def grid_world(seed=1, size=3):
    """A 3x3 grid with a reward per cell: 9 parameters."""
    return make_world("random-grid", seed, size=size)


def grid_learner(world=None, **settings):
    """A learner with few particles on the 3x3 grid."""
    options = {"inference_options": FEW, "num_threads": 1, "seed": 5} | settings
    return ActiveLearner((world or grid_world()).problem, **options)


def told(learner, world, steps, k=1):
    """Ask and answer `steps` times."""
    for _ in range(steps):
        for query in learner.ask_batch(k):
            learner.tell(query, world.make_expert(0).demonstrate(Question(query.state, query.id)))
    return learner


def keys(queries):
    """What must be the same in two runs, bit by bit."""
    return [(query.id, query.state, query.score) for query in queries]
