"""An expert model as an author outside the package would write it, by the documented protocol alone."""

from dataclasses import dataclass

import numpy as np

from journeyman.experts import Beta, Boltzmann


@dataclass(frozen=True)
class Lapsing:
    """With chance `lapse` any available action, else as a Boltzmann expert."""

    beta: float = 2.0
    lapse: float = 0.1

    def log_policy(self, q):
        exists = ~np.isneginf(q)
        chances = (1.0 - self.lapse) * np.exp(Boltzmann(self.beta).log_policy(q))
        with np.errstate(divide="ignore"):
            return np.log(np.where(exists, chances + self.lapse / exists.sum(axis=-1, keepdims=True), 0.0))

    def pull_back(self, q, gradient):
        careful = Boltzmann(self.beta).log_policy(q)
        with np.errstate(invalid="ignore"):
            share = np.where(np.isneginf(q), 0.0, (1.0 - self.lapse) * np.exp(careful - self.log_policy(q)))
        return Boltzmann(self.beta).pull_back(q, gradient * share)

    def assumption(self):
        return f"the expert does any action with chance {self.lapse}, else better ones more often (beta {self.beta})"

    def variants(self):
        return ((f"lapse = {2 * self.lapse:g}", Lapsing(self.beta, 2.0 * self.lapse)),)

    def to_record(self):
        return {"beta": self.beta, "lapse": self.lapse}

    @classmethod
    def from_record(cls, record):
        return cls(**record)


@dataclass(frozen=True)
class Forgetful:
    """With an unknown chance any available action, else as a Boltzmann expert: a model with a parameter of its own."""

    beta: float = 2.0
    prior: object = Beta(1.0, 4.0)
    annotators: tuple = ()

    @property
    def priors(self):
        return {"lapse": self.prior}

    def log_policy(self, q, parameters):
        exists = ~np.isneginf(q)
        chances = (1.0 - parameters) * np.exp(Boltzmann(self.beta).log_policy(q))
        with np.errstate(divide="ignore"):
            return np.log(np.where(exists, chances + parameters / exists.sum(axis=-1, keepdims=True), 0.0))

    def pull_back(self, q, gradient, parameters):
        careful = Boltzmann(self.beta).log_policy(q)
        with np.errstate(invalid="ignore"):
            share = np.exp(careful - self.log_policy(q, parameters))
            share = np.where(np.isneginf(q), 0.0, (1.0 - parameters) * share)
        return Boltzmann(self.beta).pull_back(q, gradient * share)

    def parameter_slopes(self, q, gradient, parameters):
        exists = ~np.isneginf(q)
        change = 1.0 / exists.sum(axis=-1, keepdims=True) - np.exp(Boltzmann(self.beta).log_policy(q))
        chances = np.where(exists, np.exp(self.log_policy(q, parameters)), 1.0)
        return (gradient * np.where(exists, change, 0.0) / chances).sum(axis=-1, keepdims=True)

    def with_parameters(self, parameters):
        return Lapsing(self.beta, float(parameters[0]))

    def assumption(self):
        return f"the expert does any action with an unknown chance, else better ones more often (beta {self.beta})"

    def variants(self):
        return ()

    def to_record(self):
        return {"beta": self.beta, "lapse": list(self.prior.numbers)}

    @classmethod
    def from_record(cls, record):
        return cls(record["beta"], Beta(*record["lapse"]))
