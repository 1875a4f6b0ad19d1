"""Criticism: is the model of the expert right? Surprise over time, contradictions, predictive frequencies."""

from journeyman.criticism.check import ALARM, KINDS, Criticism, criticise, is_quick_to_check

__all__ = ["ALARM", "KINDS", "Criticism", "criticise", "is_quick_to_check"]
