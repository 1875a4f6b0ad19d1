"""Figures and tables of calibration."""
