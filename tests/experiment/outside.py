"""A module of somebody else, with a world, an acquisition function, an inference method and a metric of their own."""

from dataclasses import replace

import numpy as np

from journeyman.acquisition import ACQUISITIONS, Acquisition
from journeyman.acquisition.scores import Rating
from journeyman.experiment import METRICS, Metric
from journeyman.inference import INFERENCE, Method
from journeyman.inference.enumeration import infer_enumerate, refusal
from journeyman.worlds import WORLDS, make_world

RECORD = {
    "name": "mine",
    "steps": 2,
    "seeds": 1,
    "worlds": [{"name": "own-world", "options": {"beta": 3}}],
    "acquisitions": [{"name": "own-score", "label": "corner", "options": {"corner": 1}}, "random"],
    "inference": [{"name": "own-method", "options": {"factor": 2}}],
    "metrics": ["true_regret", "own-metric"],
}


def own_world(seed, *, beta=1.0):
    return replace(make_world("lopes-two-state", seed, beta=beta), name="own-world")


def rate_corner(posterior, context, *, corner=0):
    """Rate one state above all others."""
    return Rating((np.asarray(context.states) == corner).astype(float))


def infer_own(problem, counts, *, seed=0, num_threads=None, progress=False, factor=1):
    return infer_enumerate(problem, factor * counts, seed=seed, num_threads=num_threads, progress=progress)


def measure_own(learner, world):
    return len(learner.answers), world.name == "own-world"


ENTRIES = [
    (WORLDS, "own-world", own_world),
    (ACQUISITIONS, "own-score", Acquisition("one state above all others", rate_corner, "corners")),
    (INFERENCE, "own-method", Method("every answer counts several times", infer_own, refusal)),
    (METRICS, "own-metric", Metric("how many answers", ("num_answers", "is_own"), measure_own, truths=("is_own",))),
]


def register():
    for registry, name, entry in ENTRIES:
        registry.register(name, entry)


def unregister():
    for registry, name, _ in ENTRIES:
        registry.unregister(name)
