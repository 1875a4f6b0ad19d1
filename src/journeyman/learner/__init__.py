"""The learner that people use: it asks, is told, and says when it is done."""

from journeyman.learner.learner import ActiveLearner
from journeyman.learner.protocol import Learner
from journeyman.learner.records import AnswerId, Event, Forecast, Query, StepRecord
from journeyman.learner.settings import LearnerSettings
from journeyman.learner.simulate import Simulation, answered_steps, simulate

__all__ = [
    "ActiveLearner",
    "AnswerId",
    "Event",
    "Forecast",
    "Learner",
    "LearnerSettings",
    "Query",
    "Simulation",
    "StepRecord",
    "answered_steps",
    "simulate",
]
