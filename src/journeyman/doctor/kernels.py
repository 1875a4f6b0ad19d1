"""Compiled code against twins in plain NumPy, on small problems with fixed seeds.

A wrong result here is a fault of the machine, of the compiler or of a version of a library, and everything else that
journeyman prints on this machine is doubtful.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from journeyman.acquisition import score
from journeyman.demonstrations import Demonstration
from journeyman.doctor.findings import Finding
from journeyman.inference import infer
from journeyman.inference.target import Target
from journeyman.mdp import FiniteMDP, evaluate_policy, solve_batch
from journeyman.mdp.solvers import values_in_single
from journeyman.problem import Problem
from journeyman.rewards import LinearFeatures, Normal
from journeyman.types import FloatArray

NUM_STATES, NUM_ACTIONS, NUM_REWARDS, NUM_FEATURES = 12, 3, 8, 2
BETA, DISCOUNT = 2.0, 0.9
STEP = 1e-5  # of finite differences


class Comparison(NamedTuple):
    """What is compared, a function that returns the largest difference, and the largest that rounding explains."""

    name: str
    difference_fn: Callable[[], float]
    tolerance: float


def examine_kernels() -> list[Finding]:
    """Compare compiled code with its twins."""
    return [_compared(comparison) for comparison in COMPARISONS]


def _compared(comparison: Comparison) -> Finding:
    try:
        difference = comparison.difference_fn()
    except Exception as error:  # whatever is wrong with the machine, the other comparisons are made
        words = f"failed: {type(error).__name__}: {error}"
        return Finding("kernels", comparison.name, "bad", words, ADVICE)
    words = f"within {difference:.1e} of NumPy"
    if not difference <= comparison.tolerance:
        words += f", and rounding would explain {comparison.tolerance:.0e}"
        return Finding("kernels", comparison.name, "bad", words, ADVICE)
    return Finding("kernels", comparison.name, "good", words)


ADVICE = (
    "Compile again: delete the folders that `caches` names, then run journeyman warmup. If it stays, trust no result "
    "of this machine, and report it with what journeyman doctor --json prints."
)


def small_mdp() -> tuple[FiniteMDP, FloatArray]:
    """Return an MDP, and its transitions `[S, A, S]`; some episodes end."""
    rng = np.random.default_rng(0)
    chances = rng.dirichlet(np.full(NUM_STATES, 0.3), size=(NUM_STATES, NUM_ACTIONS))
    chances[:, 0] *= 0.9
    return FiniteMDP.from_matrices(list(chances.swapaxes(0, 1)), discount=DISCOUNT, missing_mass="terminates"), chances


def small_problem() -> Problem:
    """Return a problem on it with two features."""
    mdp, _ = small_mdp()
    features = np.random.default_rng(1).standard_normal((NUM_STATES, NUM_FEATURES))
    return Problem(mdp, LinearFeatures(features, mdp), Normal(NUM_FEATURES), BETA)


def small_answers() -> list[Demonstration]:
    """Return answers to it."""
    return [Demonstration.annotation(*answer) for answer in ((1, 0), (4, 2), (4, 2), (4, 1), (7, 1), (7, 1), (9, 0))]


def small_rewards() -> FloatArray:
    """Return rewards `[M, S]`."""
    return np.random.default_rng(2).standard_normal((NUM_REWARDS, NUM_STATES))


def plain_values(reward: FloatArray) -> FloatArray:
    """Return optimal values `[S]` by policy iteration with dense matrices."""
    _, chances = small_mdp()
    states, policy = np.arange(NUM_STATES), np.zeros(NUM_STATES, dtype=np.int64)
    while True:
        values = np.linalg.solve(np.eye(NUM_STATES) - DISCOUNT * chances[states, policy], reward)
        q = reward[:, None] + DISCOUNT * chances @ values
        better = q.argmax(axis=1)
        if (q[states, better] <= q[states, policy] + 1e-12).all():
            return np.asarray(values)
        policy = better


def plain_log_density(theta: FloatArray) -> float:
    """Return the log posterior density of parameters `[D]`, given `small_answers`, up to the evidence."""
    problem, (_, chances) = small_problem(), small_mdp()
    states, actions = zip(*(answer.steps[0] for answer in small_answers()), strict=True)
    reward = problem.reward_model.reward(theta)
    powers = BETA * (reward[:, None] + DISCOUNT * chances @ plain_values(reward))
    log_chances = powers - np.log(np.exp(powers - powers.max(axis=1, keepdims=True)).sum(axis=1, keepdims=True))
    log_chances -= powers.max(axis=1, keepdims=True)
    return float(log_chances[list(states), list(actions)].sum() + problem.prior.log_density(theta))


def values_differ(method: str) -> float:
    """Return the largest difference of values that `solve_batch` finds."""
    (mdp, _), rewards = small_mdp(), small_rewards()
    found = solve_batch(mdp, rewards, method=method, num_threads=1).values
    return float(np.abs(found - [plain_values(reward) for reward in rewards]).max())


def single_values_differ() -> float:
    """Return the largest difference of values in single precision."""
    (mdp, _), rewards = small_mdp(), small_rewards()
    found = values_in_single(mdp, rewards.__getitem__, len(rewards), num_threads=1)
    return float(np.abs(found - [plain_values(reward) for reward in rewards]).max())


def policy_values_differ() -> float:
    """Return the largest difference of values of a policy that chooses at random."""
    (mdp, chances), reward = small_mdp(), small_rewards()[0]
    policy = np.random.default_rng(3).dirichlet(np.ones(NUM_ACTIONS), size=NUM_STATES)
    matrix = (policy[:, :, None] * chances).sum(axis=1)
    wanted = np.linalg.solve(np.eye(NUM_STATES) - DISCOUNT * matrix, reward)
    return float(np.abs(evaluate_policy(mdp, policy, reward) - wanted).max())


def gradients_differ(engine: str) -> float:
    """Return the largest difference of log densities, and of gradients from finite differences."""
    target = Target(small_problem(), small_answers(), engine=engine)
    theta = np.array([0.3, -0.7])
    density, gradient = target.log_density_and_gradient(theta)
    steps = STEP * np.eye(NUM_FEATURES)
    slopes = [(plain_log_density(theta + step) - plain_log_density(theta - step)) / (2.0 * STEP) for step in steps]
    return float(max(abs(density - plain_log_density(theta)), np.abs(gradient - slopes).max()))


def plain_posterior() -> tuple[FloatArray, FloatArray]:
    """Return posterior means and standard deviations `[D]`, summed over a lattice."""
    axis = np.linspace(-4.5, 4.5, 61)
    points = np.array([(x, y) for x in axis for y in axis])
    log_density = np.array([plain_log_density(point) for point in points])
    weights = np.exp(log_density - log_density.max())
    weights /= weights.sum()
    mean = weights @ points
    return mean, np.sqrt(weights @ (points - mean) ** 2)


def posteriors_differ() -> float:
    """Return the largest difference of posterior means by `smc`, in standard deviations."""
    mean, spread = plain_posterior()
    found = infer(small_problem(), small_answers(), "smc", seed=0, num_particles=4000, num_threads=1)
    return float(np.abs((found.mean_parameters() - mean) / spread).max())


def scores_differ() -> float:
    """Return the largest difference of what answers tell about the reward, by samples of a posterior."""
    posterior = infer(small_problem(), small_answers(), "smc", seed=0, num_particles=100, num_threads=1)
    found = score(posterior, "reward_eig", num_threads=1).values
    _, chances = small_mdp()
    policies = []
    for theta in posterior.theta:
        reward = posterior.problem.reward_model.reward(theta)
        powers = BETA * (reward[:, None] + DISCOUNT * chances @ plain_values(reward))
        policies.append(np.exp(powers - powers.max(axis=1, keepdims=True)))
        policies[-1] /= policies[-1].sum(axis=1, keepdims=True)
    each = np.array(policies)
    mixed = np.einsum("n,nsa->sa", posterior.weights, each)
    entropies = -(each * np.log(each)).sum(axis=2)
    wanted = -(mixed * np.log(mixed)).sum(axis=1) - posterior.weights @ entropies
    is_asked = np.isfinite(found)
    return float(np.abs(found[is_asked] - wanted[is_asked]).max())


COMPARISONS = (
    Comparison("optimal values, directly", lambda: values_differ("direct"), 1e-8),
    Comparison("optimal values, by sweeps", lambda: values_differ("sweeps"), 1e-6),
    Comparison("optimal values, by GMRES", lambda: values_differ("krylov"), 1e-6),
    Comparison("optimal values, in single precision", single_values_differ, 1e-4),
    Comparison("values of a policy", policy_values_differ, 1e-8),
    Comparison("gradient of the posterior", lambda: gradients_differ("dense"), 1e-5),
    Comparison("gradient of the posterior, large worlds", lambda: gradients_differ("sparse"), 1e-4),
    Comparison("scores of questions", scores_differ, 1e-7),
    Comparison("posterior means, in standard deviations", posteriors_differ, 0.1),
)
