"""Chains against enumeration, in their own words, and when things go wrong."""

import dataclasses
import sys
from functools import cache

import numpy as np
import pytest

from journeyman.errors import InferenceError, InputError, MissingExtraError
from journeyman.experts.simulated import questions_at
from journeyman.inference import infer, kernels
from journeyman.inference.nuts import variance_scales
from journeyman.inference.target import Target
from journeyman.worlds import make_world

SAMPLERS = ("nuts", "hmc")
JAIL_CASES = [  # nuts calls back from other code, so that the same draws take five times as long
    pytest.param(count, sampler, marks=[pytest.mark.slow] * (sampler == "nuts" and count != 5))
    for count in (0, 1, 5, 20)
    for sampler in SAMPLERS
]
NUM_ERRORS = 5.0  # standard errors that are allowed: about 150 numbers are compared, each with a chance of 1e-6


def answers_of(world, states):
    """Answers as a learner would get them: the same whenever they are asked for."""
    return tuple(world.expert.demonstrate(question) for question in questions_at(states.tolist()))


@cache
def jail_data(count):
    world = make_world("jail", 1)
    states = np.random.default_rng(count).choice(np.flatnonzero(world.problem.queryable), count)
    demonstrations = answers_of(world, states)
    return world.problem, demonstrations, infer(world.problem, demonstrations, "enumerate", num_points=2**14)


def run_jail(count, sampler, **options):
    problem, demonstrations, exact = jail_data(count)
    settings = {"num_draws": 1000, "seed": 3, "num_threads": 1} | options
    return infer(problem, demonstrations, "policywalk", sampler=sampler, **settings), exact


def standard_errors_off(posterior, exact):
    """How many Monte-Carlo standard errors means, standard deviations and optimal-action chances are off, at most.

    From ESS: a mean has sd / sqrt(ESS). The smaller of bulk and tail ESS stands for squares too: a standard
    deviation of a flat-topped or normal density has at most sd / sqrt(2 ESS). A chance p has sqrt(p (1 - p) / ESS),
    with one draw's worth of mass added where p is near 0 or 1.
    """
    ess = min(posterior.diagnostics.ess_bulk, posterior.diagnostics.ess_tail)
    std = exact.parameter_std()
    floor = exact.diagnostics.error_bound * std
    means = (np.abs(posterior.mean_parameters() - exact.mean_parameters()) - floor) / (std / np.sqrt(ess))
    stds = (np.abs(posterior.parameter_std() - std) - 2 * floor) / (std / np.sqrt(2 * ess))
    p = exact.optimal_action_probabilities()
    chance_error = np.sqrt((p * (1 - p) + 1 / ess) / ess) + exact.diagnostics.error_bound
    chances = np.abs(posterior.optimal_action_probabilities() - p) / chance_error
    return max(means.max(), stds.max(), chances.max())


@pytest.mark.parametrize(("count", "sampler"), JAIL_CASES)
def test_agrees_with_enumeration_on_the_jail(count, sampler):
    posterior, exact = run_jail(count, sampler)
    diagnostics = posterior.diagnostics
    assert min(diagnostics.ess_bulk, diagnostics.ess_tail) > 400  # so that 5 standard errors are at most 0.25 sd
    assert diagnostics.r_hat < 1.02
    assert standard_errors_off(posterior, exact) < NUM_ERRORS


def flipped(value, gradient, _z):
    gradient *= -1.0
    return value


def without_jacobian(value, gradient, z):
    """For a Uniform prior, log |d theta / d z| is -z^2 / 2 up to a constant; a rest of it keeps the mutant proper."""
    gradient += 0.99 * z
    return value + 0.495 * z @ z


def unchanged(value, _gradient, _z):
    return value


@pytest.mark.parametrize("mutate", [unchanged, pytest.param(flipped, marks=pytest.mark.slow), without_jacobian])
@pytest.mark.parametrize("count", [1, pytest.param(5, marks=pytest.mark.slow)])
def test_mutants_of_the_target_are_caught(count, mutate, monkeypatch):
    kernel = kernels.log_density_gradient_packed

    def mutant(*arguments):
        return mutate(kernel(*arguments), arguments[-1], arguments[-2])

    monkeypatch.setattr(kernels, "log_density_gradient_packed", mutant)
    draws = 30 if mutate is flipped else 300  # a wrong gradient makes for the longest trajectories
    posterior, exact = run_jail(count, "nuts", num_draws=draws, num_warmup=draws, num_chains=2)
    diagnostics = posterior.diagnostics
    is_healthy = diagnostics.r_hat < 1.1 and min(diagnostics.ess_bulk, diagnostics.ess_tail) > 0.1 * 2 * draws
    is_passed = is_healthy and standard_errors_off(posterior, exact) < NUM_ERRORS
    assert is_passed == (mutate is unchanged)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_the_same_for_a_seed_whatever_the_threads(sampler):
    runs = [run_jail(5, sampler, num_chains=3, num_draws=60, num_warmup=60, num_threads=n)[0] for n in (1, 1, 2)]
    for other in runs[1:]:
        np.testing.assert_array_equal(runs[0].theta, other.theta)
        np.testing.assert_array_equal(runs[0].values, other.values)
        for name, values in runs[0].sample_stats.items():
            np.testing.assert_array_equal(values, other.sample_stats[name])
    different, _ = run_jail(5, sampler, num_chains=3, num_draws=60, num_warmup=60, seed=4)
    assert not np.array_equal(runs[0].theta, different.theta)
    chains = runs[0].theta.reshape(3, 60, 3)
    assert not np.array_equal(chains[0], chains[1])


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_what_a_posterior_of_chains_holds(sampler):
    posterior, _ = run_jail(5, sampler, num_chains=2, num_draws=41, num_warmup=50, thin=4)
    assert posterior.chains == (2, 10)
    assert posterior.theta.shape == (20, 3)
    np.testing.assert_array_equal(posterior.weights, np.full(20, 0.05))
    names = {"lp", "acceptance_rate", "step_size", "n_steps", "diverging", "energy"}
    assert set(posterior.sample_stats) == names | ({"tree_depth"} if sampler == "nuts" else set())
    assert {values.shape for values in posterior.sample_stats.values()} == {(2, 10)}
    assert posterior.sample_stats["diverging"].dtype == bool
    assert posterior.diagnostics.num_gradients > 2 * 91
    problem, demonstrations, _ = jail_data(5)
    target = Target(problem, demonstrations)
    for index in (0, 7, 19):
        z = problem.prior.to_unconstrained(posterior.theta[index])
        log_density, _ = target.log_density_and_gradient(z)
        assert posterior.sample_stats["lp"].ravel()[index] == pytest.approx(log_density, rel=1e-6)
    np.testing.assert_allclose(posterior.values, dataclasses.replace(posterior).q().max(axis=2), atol=1e-8)


def test_thinning_keeps_every_second_draw_of_the_same_chain():
    whole, _ = run_jail(5, "hmc", num_chains=1, num_draws=40, num_warmup=50)
    half, _ = run_jail(5, "hmc", num_chains=1, num_draws=40, num_warmup=50, thin=2)
    np.testing.assert_array_equal(half.theta, whole.theta[1::2])


def test_one_short_chain_says_what_it_cannot_know():
    posterior, _ = run_jail(5, "nuts", num_chains=1, num_warmup=100, num_draws=200, thin=2, target_accept=0.8)
    assert posterior.chains == (1, 100)
    assert posterior.diagnostics.r_hat is None
    assert any("R-hat is unknown" in warning for warning in posterior.warnings)


def test_bad_chains_are_warned_about():
    posterior, _ = run_jail(20, "hmc", num_chains=2, num_draws=20, num_warmup=10)
    assert any("effective sample size" in warning and "draws" in warning for warning in posterior.warnings)


class Broken:
    """A kernel that goes wrong on some calls."""

    def __init__(self, harm, is_bad_fn):
        self.kernel, self.harm, self.is_bad_fn, self.calls = kernels.log_density_gradient_packed, harm, is_bad_fn, 0

    def __call__(self, *arguments):
        self.calls += 1
        value = self.kernel(*arguments)
        return self.harm(value, arguments[-1]) if self.is_bad_fn(self.calls) else value


def nan_value(_value, _gradient):
    return np.nan


def infinite_value(_value, _gradient):
    return -np.inf


def nan_gradient(value, gradient):
    gradient[-1] = np.nan
    return value


@pytest.mark.parametrize("harm", [nan_value, infinite_value, nan_gradient])
def test_numbers_that_are_none_now_and_then_are_recorded(harm, monkeypatch):
    monkeypatch.setattr(kernels, "log_density_gradient_packed", Broken(harm, lambda calls: calls % 40 == 39))
    posterior, _ = run_jail(5, "nuts", num_draws=100, num_warmup=100, num_threads=1)
    assert np.isfinite(posterior.theta).all()
    assert posterior.diagnostics.num_divergences > 0
    assert any("was not a number" in warning for warning in posterior.warnings)


@pytest.mark.parametrize(  # the others: now and then, above
    "harm", [*(pytest.param(harm, marks=pytest.mark.slow) for harm in (nan_value, infinite_value)), nan_gradient]
)
def test_numbers_that_are_none_from_the_start_are_an_error(harm, monkeypatch):
    monkeypatch.setattr(kernels, "log_density_gradient_packed", Broken(harm, lambda calls: True))
    with pytest.raises(InferenceError, match="must start where the log posterior and its gradient are finite"):
        run_jail(5, "nuts", num_draws=20, num_warmup=20)


def test_a_bug_in_the_density_keeps_its_own_error(monkeypatch):
    def harm(_value, _gradient):
        raise KeyError("a bug")

    for first_bad in (1, 300):
        monkeypatch.setattr(kernels, "log_density_gradient_packed", Broken(harm, lambda calls, n=first_bad: calls >= n))
        with pytest.raises(KeyError, match="a bug"):
            run_jail(5, "nuts", num_draws=200, num_warmup=100, num_threads=1)
        monkeypatch.undo()


def test_hamiltonian_chains_recover_from_numbers_that_are_none():
    """Rewards of 1e160 square to more than there is: energies are not numbers, and nothing of it may stay behind."""
    problem, demonstrations, _ = jail_data(5)
    for engine in ("dense", "sparse"):
        target = Target(problem, demonstrations, engine=engine)
        work, z = target.new_work(), np.zeros(3)
        kept, stats = np.empty((6, 3)), np.empty((6, 6))
        momenta = np.full((6, 3), 0.1)
        momenta[2] = np.nan
        momenta[4] = 1e200
        tuning = np.array([np.log(0.01), 0.0, 0.0, 0.0, 0.0, 0.0])
        kernels.hmc_chain(
            target.gradient_fn,
            target.model,
            target.data,
            work,
            z,
            momenta,
            np.full(6, 0.5),
            np.full(6, 0.05),
            np.ones(3),
            np.zeros(3),
            tuning,
            10,
            kept,
            stats,
        )
        np.testing.assert_array_equal(stats[:, 5], [0, 0, 1, 0, 1, 0])
        assert np.isfinite(kept).all()
        assert np.isfinite(stats[:, 0]).all()
        np.testing.assert_array_equal(kept[2], kept[1])
        log_density, _ = target.log_density_and_gradient(kept[5])
        assert stats[5, 0] - 1.5 * np.log(2 * np.pi) == pytest.approx(log_density, rel=1e-9)


def test_hamiltonian_chains_that_cannot_start_are_an_error(monkeypatch):
    def nowhere(gradient_fn, model, data, work, z, momenta, *rest):
        kept, stats = rest[-2:]
        kept[:], stats[:] = z, np.nan

    monkeypatch.setattr(kernels, "hmc_chain", nowhere)
    with pytest.raises(InferenceError, match="must start where the log posterior"):
        run_jail(5, "hmc", num_draws=20, num_warmup=20)


def test_warm_up_tunes_the_step_and_the_scales():
    """On 8x8 the mean acceptance comes near the wanted one, from a first step that is far too long."""
    world = make_world("random-8x8", 0)
    states = np.random.default_rng(0).choice(np.flatnonzero(world.problem.queryable), 30)
    for wanted in (0.6, 0.85):
        posterior = infer(
            world.problem,
            answers_of(world, states),
            "policywalk",
            sampler="hmc",
            num_chains=2,
            num_warmup=150,
            num_draws=100,
            target_accept=wanted,
        )
        assert abs(posterior.diagnostics.acceptance - wanted) < 0.15


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sampler": "gibbs"}, "sampler must be one of nuts, hmc, got 'gibbs'"),
        ({"num_chains": 0}, "num_chains must be a whole number of at least 1, got 0"),
        ({"num_warmup": 5}, "num_warmup must be a whole number of at least 10, got 5"),
        ({"num_draws": 2.5}, "num_draws must be a whole number"),
        ({"num_draws": 10, "thin": 11}, "thin must be at most num_draws"),
        ({"target_accept": 1.0}, "target_accept must lie strictly between 0 and 1, got 1.0"),
        ({"target_accept": "high"}, "target_accept must be a number"),
    ],
)
def test_wrong_settings_are_refused_before_any_work(options, message):
    with pytest.raises(InputError, match=message):
        infer(make_world("jail", 0).problem, (), "policywalk", **options)


def test_a_missing_sampler_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "nutpie", None)
    with pytest.raises(MissingExtraError, match=r"journeyman\[mcmc\]"):
        infer(make_world("jail", 0).problem, (), "policywalk")


def test_the_option_for_scales_has_the_name_that_nutpie_knows():
    def older(model, *, draws=None, **kwargs): ...

    def newer(model, *, draws=None, adaptation="diag", **kwargs): ...

    assert variance_scales(older) == {"use_grad_based_mass_matrix": False}
    assert variance_scales(newer) == {"adaptation": "draw_diag"}


def test_progress_is_shown_on_the_error_stream(capfd):
    for sampler in SAMPLERS:
        run_jail(1, sampler, num_draws=20, num_warmup=20, progress=True)
    assert capfd.readouterr().out == ""
