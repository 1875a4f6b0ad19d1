"""Priors as an author outside the package would write them, by the documented protocol alone."""

import numpy as np
from scipy.special import log_ndtr, ndtri_exp

from journeyman.rewards import ContinuousPrior

LOG_2PI = np.log(2.0 * np.pi)


class Laplace(ContinuousPrior):
    """Independent double exponentials around 0: kinked at 0, with heavier tails than a normal."""

    def __init__(self, num_parameters, scale=1.0):
        self.num_parameters, self.scale = num_parameters, float(scale)

    def from_unconstrained(self, z):
        z = np.asarray(z, dtype=float)
        return -np.sign(z) * self.scale * (np.log(2.0) + log_ndtr(-np.abs(z)))

    def to_unconstrained(self, theta):
        theta = np.asarray(theta, dtype=float)
        return -np.sign(theta) * ndtri_exp(-np.abs(theta) / self.scale - np.log(2.0))

    def pull_back(self, z, gradient):
        z = np.asarray(z, dtype=float)
        return gradient * self.scale * np.exp(-0.5 * (z**2 + LOG_2PI) - log_ndtr(-np.abs(z)))

    def log_density(self, theta):
        return -(np.abs(theta) / self.scale + np.log(2.0 * self.scale)).sum(axis=-1)

    def to_record(self):
        return {"num_parameters": self.num_parameters, "scale": self.scale}

    @classmethod
    def from_record(cls, record):
        return cls(record["num_parameters"], record.get("scale", 1.0))


class Banana(ContinuousPrior):
    """Two parameters that depend on each other: theta = (z0, z1 + bend z0^2)."""

    num_parameters = 2

    def __init__(self, bend=0.7):
        self.bend = bend

    def from_unconstrained(self, z):
        z = np.asarray(z, dtype=float)
        return np.stack([z[..., 0], z[..., 1] + self.bend * z[..., 0] ** 2], axis=-1)

    def to_unconstrained(self, theta):
        theta = np.asarray(theta, dtype=float)
        return np.stack([theta[..., 0], theta[..., 1] - self.bend * theta[..., 0] ** 2], axis=-1)

    def pull_back(self, z, gradient):
        z, gradient = np.asarray(z, dtype=float), np.asarray(gradient)
        return np.stack([gradient[..., 0] + 2.0 * self.bend * z[..., 0] * gradient[..., 1], gradient[..., 1]], axis=-1)

    def log_density(self, theta):
        return -0.5 * (self.to_unconstrained(theta) ** 2 + LOG_2PI).sum(axis=-1)
