"""Inference of what is not known about the expert, beside the reward: compiled."""
