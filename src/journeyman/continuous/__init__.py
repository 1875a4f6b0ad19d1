"""Continuous worlds: discretised for learning, acted in as they are."""

from journeyman.continuous.classic import (
    MOUNTAIN_CAR_BOUNDS,
    PENDULUM_BOUNDS,
    mountain_car_step,
    pendulum_step,
)
from journeyman.continuous.discretisation import Discretisation, Observed, discretise
from journeyman.continuous.error import GridError, grid_error

__all__ = [
    "MOUNTAIN_CAR_BOUNDS",
    "PENDULUM_BOUNDS",
    "Discretisation",
    "GridError",
    "Observed",
    "discretise",
    "grid_error",
    "mountain_car_step",
    "pendulum_step",
]
