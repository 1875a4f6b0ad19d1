"""Criticism: whether a model of an expert fits what the expert does, and which of several models fits better."""
