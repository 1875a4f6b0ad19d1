"""Criticism: is the model of the expert right? Surprise over time, contradictions, predictive frequencies."""

from journeyman.criticism.check import ALARM, KINDS, MAX_PARAMETERS, Criticism, criticise

__all__ = ["ALARM", "KINDS", "MAX_PARAMETERS", "Criticism", "criticise"]
