"""Experts: models of how actions follow from values, and the simulated expert who answers by one of them."""

from journeyman.experts.models import EXPERTS, Boltzmann, ExpertModel, as_expert_model
from journeyman.experts.simulated import KINDS, Question, SimulatedExpert, questions_at

__all__ = [
    "EXPERTS",
    "KINDS",
    "Boltzmann",
    "ExpertModel",
    "Question",
    "SimulatedExpert",
    "as_expert_model",
    "questions_at",
]
