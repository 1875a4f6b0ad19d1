"""The learner that people use: it asks, is told, and says when it is done."""

from journeyman.learner.events import Event
from journeyman.learner.learner import ActiveLearner
from journeyman.learner.query import Query
from journeyman.learner.records import StepRecord
from journeyman.learner.settings import LearnerSettings
from journeyman.learner.simulate import Simulation, simulate

__all__ = [
    "ActiveLearner",
    "Event",
    "LearnerSettings",
    "Query",
    "Simulation",
    "StepRecord",
    "simulate",
]
