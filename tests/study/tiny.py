"""What the tests of studies share: a tiny problem, settings that are quick, and an expert that needs no luck."""

import numpy as np

from journeyman.demonstrations import Demonstration
from journeyman.worlds import make_world

SETTINGS = {"inference_options": {"num_particles": 100}, "seed": 5}


def tiny_problem():
    return make_world("random-grid", 1, size=2, terminals="independent").problem


def answer_to(query, num_actions=5):
    """An answer that depends on the query alone, so that whoever gives it, it is the same."""
    action = int(np.random.default_rng([7, query.id]).integers(num_actions))
    return Demonstration.annotation(query.state, action)


def answer_one(study):
    """Answer the oldest question that waits, or a new one; return its id."""
    query = study.pending[0] if study.pending else study.ask()
    study.tell(query, answer_to(query))
    return query.id
