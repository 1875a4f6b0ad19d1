"""Continuous worlds: discretised for learning, acted in as they are."""

from journeyman.continuous.building import discretise
from journeyman.continuous.classic import (
    MOUNTAIN_CAR_BOUNDS,
    PENDULUM_BOUNDS,
    mountain_car_step,
    pendulum_step,
)
from journeyman.continuous.discretisation import Discretisation, Observed
from journeyman.continuous.error import GridError, grid_error
from journeyman.mdp.discretised import GridWarning

__all__ = [
    "MOUNTAIN_CAR_BOUNDS",
    "PENDULUM_BOUNDS",
    "Discretisation",
    "GridError",
    "GridWarning",
    "Observed",
    "discretise",
    "grid_error",
    "mountain_car_step",
    "pendulum_step",
]
