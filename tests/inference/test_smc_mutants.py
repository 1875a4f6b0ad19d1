"""The checks of SMC have power: they pass for a plain-Python twin of the moves, and not for mutants of it."""

import numpy as np
import pytest
from inference.test_smc import annotations

from journeyman.inference import kernels, smc
from journeyman.inference.enumeration import infer_enumerate
from journeyman.inference.policywalk import infer_policywalk
from journeyman.worlds import make_world

pytestmark = pytest.mark.slow

NUM_RUNS, NUM_PARTICLES = 4, 160


def honest(log_density, gradient, z):
    return log_density, gradient


def flipped_gradient(log_density, gradient, z):
    return log_density, -gradient


def dropped_jacobian(log_density, gradient, z):
    """The density in unconstrained space without the Jacobian of the map from the Uniform prior: no -z^2 / 2."""
    return log_density + 0.5 * z @ z, gradient + z


def moves_with(change):
    """Return a twin of `kernels.move_chains` in plain Python, on a changed log density and gradient."""

    def evaluate(gradient_fn, model, data, work, z):
        gradient = np.empty(z.size)
        return change(gradient_fn(model, data, work, z, gradient), gradient, z)

    def move_chains(
        gradient_fn, model, data, work, positions, values, policies, momenta, uniforms, scales, stretch, steps,
        num_steps, shifts, shift_uniforms, kept_positions, kept_values, kept_policies, acceptance,
    ):  # fmt: skip
        assert shifts.size == shift_uniforms.size == 0
        widen = np.eye(stretch.size) + np.outer(stretch, stretch)
        for c, m in np.ndindex(uniforms.shape):
            if m == 0:
                work.pi[:], work.num_updates[0] = policies[c], -1
                z = positions[c]
                log_density, gradient = evaluate(gradient_fn, model, data, work, z)
                state = work.V.copy(), work.pi.copy()
            z_new, log_new, gradient_new, p = z.copy(), log_density, gradient, momenta[c, m].copy()
            energy = 0.5 * p @ p - log_density
            for _ in range(num_steps[c, m]):
                p = p + 0.5 * steps[c, m] * widen @ (scales * gradient_new)
                z_new = z_new + steps[c, m] * scales * (widen @ p)
                log_new, gradient_new = evaluate(gradient_fn, model, data, work, z_new)
                p = p + 0.5 * steps[c, m] * widen @ (scales * gradient_new)
            acceptance[c, m] = np.exp(min(0.0, energy - 0.5 * p @ p + log_new))
            if uniforms[c, m] < acceptance[c, m]:
                z, log_density, gradient, state = z_new, log_new, gradient_new, (work.V.copy(), work.pi.copy())
            kept_positions[c, m], kept_values[c, m], kept_policies[c, m] = z, *state

    return move_chains


def error_of_means(monkeypatch, change, name, num_annotations, **options) -> float:
    """Root mean square error of posterior means in standard deviations, over parameters and independent runs.

    On the grid against long chains, on the jail against enumeration.
    """
    world = make_world(name, 1, **options)
    counts = world.problem.counts(annotations(world, num_annotations))
    reference = infer_enumerate(world.problem, counts) if name == "jail" else long_chains(world.problem, counts)
    monkeypatch.setattr(kernels, "move_chains", moves_with(change))
    settings = {"num_particles": NUM_PARTICLES, "max_leapfrog": 30, "num_threads": 1}
    runs = [smc.infer_smc(world.problem, counts, seed=seed, **settings) for seed in range(NUM_RUNS)]
    assert all(run.diagnostics.num_rejuvenations > 0 for run in runs)
    means = np.mean([run.mean_parameters() for run in runs], axis=0)
    return float(np.sqrt(np.mean(((means - reference.mean_parameters()) / reference.parameter_std()) ** 2)))


def long_chains(problem, counts):
    return infer_policywalk(problem, counts, sampler="hmc", num_draws=2000)


# Chains of correlation up to 0.5 leave at least a third of the particles as effective draws: 4 runs of 160 give means
# with errors of at most 1 / sqrt(213) = 0.07 standard deviations. Three times this is allowed.
ALLOWED = 3 / np.sqrt(NUM_RUNS * NUM_PARTICLES / 3)


@pytest.mark.parametrize(("name", "count", "options"), [("random-grid", 40, {"size": 4}), ("jail", 20, {})])
def test_the_twin_agrees(monkeypatch, name, count, options):
    assert error_of_means(monkeypatch, honest, name, count, **options) <= ALLOWED


def test_a_flipped_gradient_is_caught(monkeypatch):
    """Trajectories run uphill: only tiny steps are accepted, and particles stay where resampling left them."""
    assert error_of_means(monkeypatch, flipped_gradient, "random-grid", 40, size=4) > 2 * ALLOWED


def test_a_dropped_jacobian_is_caught(monkeypatch):
    """Without it the density has no end in unconstrained space: particles drift to the ends of the Uniform prior."""
    assert error_of_means(monkeypatch, dropped_jacobian, "jail", 20) > 2 * ALLOWED
