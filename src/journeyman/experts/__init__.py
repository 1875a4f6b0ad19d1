"""Experts: models of how actions follow from values, and the simulated expert who answers by one of them."""

from journeyman.experts.models import EXPERTS, Boltzmann, ExpertModel, as_expert_model, known_beta
from journeyman.experts.priors import Beta, Gamma, LogNormal, ParameterPrior
from journeyman.experts.simulated import KINDS, Question, SimulatedExpert, questions_at
from journeyman.experts.space import ExpertSpace

__all__ = [
    "EXPERTS",
    "KINDS",
    "Beta",
    "Boltzmann",
    "ExpertModel",
    "ExpertSpace",
    "Gamma",
    "LogNormal",
    "ParameterPrior",
    "Question",
    "SimulatedExpert",
    "as_expert_model",
    "known_beta",
    "questions_at",
]
