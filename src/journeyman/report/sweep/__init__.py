"""Figures and tables of a sweep's results."""
