"""Two classic continuous worlds as step functions, equal to Gymnasium's MountainCar-v0 and Pendulum-v1."""

import numpy as np

from journeyman.types import BoolArray, FloatArray

MOUNTAIN_CAR_BOUNDS = ((-1.2, 0.6), (-0.07, 0.07))
PENDULUM_BOUNDS = ((-np.pi, np.pi), (-8.0, 8.0))


def mountain_car_step(states: FloatArray, action: int) -> tuple[FloatArray, BoolArray]:
    """Drive a weak car in a valley (Moore 1990): states are position and velocity, actions 0, 1, 2 push left to right.

    The episode ends at the top of the right hill, from position 0.5 on, unless the car rolls back there.
    """
    position, velocity = states.T
    velocity = np.clip(velocity + (action - 1) * 0.001 - 0.0025 * np.cos(3.0 * position), -0.07, 0.07)
    position = np.clip(position + velocity, -1.2, 0.6)
    velocity = np.where((position == -1.2) & (velocity < 0), 0.0, velocity)
    return np.stack([position, velocity], axis=1), (position >= 0.5) & (velocity >= 0)


def pendulum_step(states: FloatArray, torque: float) -> FloatArray:
    """Turn a pendulum by a torque of at most 2 for 0.05 s: states are its angle from upright and angular velocity.

    The angle has no bounds: it is a periodic dimension of -pi to pi.
    """
    angle, velocity = states.T
    push = np.clip(float(np.asarray(torque).reshape(())), -2.0, 2.0)
    velocity = np.clip(velocity + (15.0 * np.sin(angle) + 3.0 * push) * 0.05, -8.0, 8.0)
    return np.stack([angle + 0.05 * velocity, velocity], axis=1)
