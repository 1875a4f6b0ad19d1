"""A package from outside: an acquisition function with a unit of its own, a prior, an expert model, a method, a world.

Nothing here touches journeyman but by its documented names. It is found in three ways that tests try: `register`,
entry points, and the environment variable JOURNEYMAN_PLUGINS.
"""

import time
from dataclasses import dataclass

import numpy as np

from journeyman import FiniteMDP, Grid, Posterior, Problem, World, solve_batch
from journeyman.acquisition import ACQUISITIONS, Acquisition, Rating
from journeyman.experts import EXPERTS
from journeyman.inference import INFERENCE, Diagnostics, Method
from journeyman.rewards import PRIORS, ContinuousPrior, PerState
from journeyman.worlds import WORLDS


def rate_disagreement(posterior, context, *, power=1.0):
    """Rate the number of actions that some sample thinks best, weighted: in actions, a unit nobody else has."""
    chances = posterior.optimal_action_probabilities()[context.states]
    return Rating((chances > 0).sum(axis=1) * (1.0 - chances.max(axis=1)) ** power)


@dataclass(frozen=True, eq=False)
class Laplace(ContinuousPrior):
    """Independent Laplace parameters around 0."""

    num_parameters: int
    scale: float = 1.0

    def from_unconstrained(self, z):
        from scipy.special import log_ndtr

        z = np.asarray(z, dtype=float)
        return -self.scale * np.sign(z) * (np.log(2.0) + log_ndtr(-np.abs(z)))

    def to_unconstrained(self, theta):
        from scipy.special import ndtri_exp

        theta = np.asarray(theta, dtype=float)
        return -np.sign(theta) * ndtri_exp(np.log(0.5) - np.abs(theta) / self.scale)

    def pull_back(self, z, gradient):
        from scipy.special import log_ndtr

        z = np.abs(np.asarray(z, dtype=float))
        slope = self.scale * np.exp(-0.5 * z**2 - 0.5 * np.log(2.0 * np.pi) - log_ndtr(-z))
        return slope * np.asarray(gradient)

    def log_density(self, theta):
        theta = np.asarray(theta, dtype=float)
        return -np.abs(theta).sum(-1) / self.scale - self.num_parameters * np.log(2.0 * self.scale)

    def to_record(self):
        return {"num_parameters": self.num_parameters, "scale": self.scale}

    @classmethod
    def from_record(cls, record):
        return cls(int(record["num_parameters"]), float(record.get("scale", 1.0)))


@dataclass(frozen=True)
class Lapsing:
    """With chance `lapse` any action, else a Boltzmann expert of rationality `beta`."""

    beta: float = 2.0
    lapse: float = 0.1

    def _careful(self, q):
        gap = np.where(np.isneginf(q), -np.inf, q - q.max(axis=-1, keepdims=True))
        weights = np.exp(self.beta * gap)
        return weights / weights.sum(axis=-1, keepdims=True)

    def log_policy(self, q):
        exists = ~np.isneginf(q)
        policy = (1.0 - self.lapse) * self._careful(q) + self.lapse * exists / exists.sum(axis=-1, keepdims=True)
        with np.errstate(divide="ignore"):
            return np.log(policy)

    def pull_back(self, q, gradient):
        careful, policy = self._careful(q), np.exp(self.log_policy(q))
        inner = np.where(policy > 0, gradient / np.where(policy > 0, policy, 1.0), 0.0) * (1.0 - self.lapse) * careful
        return self.beta * (inner - careful * inner.sum(axis=-1, keepdims=True))

    def assumption(self):
        return f"the expert does anything with a chance of {self.lapse:.2g}, else exp({self.beta:.2g} Q*)"

    def variants(self):
        return (("no lapses", Lapsing(self.beta, 0.0)),)

    def to_record(self):
        return {"beta": self.beta, "lapse": self.lapse}

    @classmethod
    def from_record(cls, record):
        return cls(float(record["beta"]), float(record["lapse"]))


def infer_importance(problem, counts, *, seed, num_threads, progress, num_draws=2000):
    """Draw from the prior, weight by the likelihood: exact in the limit, for few demonstrations."""
    begin = time.perf_counter()
    theta = problem.prior.sample(np.random.default_rng(seed), num_draws)
    solution = solve_batch(problem.mdp, problem.reward_model.reward(theta), num_threads=num_threads)
    unweighted = Posterior(
        problem, counts, theta, np.full(num_draws, 1.0 / num_draws), solution.values, "importance", Diagnostics(0.0)
    )
    states = np.flatnonzero(counts.sum(axis=1))
    log_weights = np.zeros(num_draws)
    if states.size:
        used = counts[states] > 0
        log_policy = problem.expert.log_policy(unweighted.q(states))
        log_weights = (np.where(used, log_policy, 0.0) * counts[states]).sum(axis=(1, 2))
    weights = np.exp(log_weights - log_weights.max())
    evidence = float(np.log(weights.mean()) + log_weights.max())
    weights /= weights.sum()
    size = 1.0 / float((weights**2).sum())
    warnings = () if size >= 100 else (f"only {size:.0f} effective draws. Raise num_draws.",)
    diagnostics = Diagnostics(time.perf_counter() - begin, particle_ess=size, warnings=warnings)
    return Posterior(problem, counts, theta, weights, solution.values, "importance", diagnostics, evidence)


def longer_importance(options, factor):
    """Draw so many times as many, to confirm a certificate."""
    return {**options, "num_draws": factor * options.get("num_draws", 2000)}


def corridor(seed=0, *, size=5, scale=1.0, lapse=0.0):
    """A corridor with its end to the right: left or right, unknown rewards with heavy tails."""
    mdp = FiniteMDP.from_function(
        lambda state, action: [] if state == size - 1 else [(1.0, max(state - 1, 0) if action == 0 else state + 1)],
        num_states=size,
        num_actions=2,
        discount=0.8,
        action_labels=("left", "right"),
        grid=Grid(1, size, np.array([[0, column] for column in range(size)])),
    )
    prior = Laplace(size, scale)
    problem = Problem(mdp, PerState(mdp), prior, Lapsing(2.0, lapse) if lapse else 2.0)
    truth = prior.sample(np.random.default_rng([seed, 77]), 1)[0]
    return World("corridor", seed, problem, truth, max_length=4)


DISAGREEMENT = Acquisition("actions that may be best", rate_disagreement, "actions", ("state",))
IMPORTANCE = Method(
    "importance sampling from the prior", infer_importance, longer_fn=longer_importance, test_options={"num_draws": 500}
)
ENTRIES = (
    (ACQUISITIONS, "disagreement", DISAGREEMENT),
    (PRIORS, "laplace", Laplace),
    (EXPERTS, "lapsing", Lapsing),
    (INFERENCE, "importance", IMPORTANCE),
    (WORLDS, "corridor", corridor),
)


def register():
    """Add all of it to the registries."""
    for registry, name, entry in ENTRIES:
        registry.register(name, entry)


def unregister():
    """Take it away again."""
    for registry, name, _ in ENTRIES:
        registry.unregister(name)
