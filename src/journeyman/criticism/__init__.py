"""Criticism: is the model of the expert right? Surprise over time, contradictions, predictive frequencies."""

from journeyman.criticism.check import ALARM, KINDS, Criticism, criticise, is_full_by_itself

__all__ = ["ALARM", "KINDS", "Criticism", "criticise", "is_full_by_itself"]
