"""SMC against exact answers: enumeration, the prior, itself in another order."""

from functools import cache

import numpy as np
import pytest

from journeyman.demonstrations import Demonstration
from journeyman.errors import InferenceError, InputError
from journeyman.inference import smc
from journeyman.inference.enumeration import infer_enumerate
from journeyman.inference.policywalk import infer_policywalk
from journeyman.inference.weights import effective_size, stage_size, tempering_done
from journeyman.problem import Problem
from journeyman.rewards import Discrete, PerStateAction
from journeyman.worlds import World, make_world

NUM_SEEDS = 8
DISCRETE_WORLDS = ("lopes-two-state", "brown-two-state", "regret-eig-trap", "bandit")


def annotations(world: World, count: int, seed: int = 0) -> tuple[Demonstration, ...]:
    queryable = np.flatnonzero(world.problem.queryable)
    return world.make_expert(seed).answers(np.random.default_rng(seed).choice(queryable, count))


def summary(posterior) -> np.ndarray:
    """Means, standard deviations, some optimal-action probabilities and the log evidence, in one vector."""
    probabilities = posterior.optimal_action_probabilities()[[20, 26, 27, 32, 33]].ravel()
    return np.concatenate(
        [posterior.mean_parameters(), posterior.parameter_std(), probabilities, [posterior.log_evidence]]
    )


@cache
def jail_exact(count: int, num_points: int = 2**16) -> np.ndarray:
    world = make_world("jail", 1)
    counts = world.problem.counts(annotations(world, count))
    return summary(infer_enumerate(world.problem, counts, num_points=num_points))


@cache
def jail_runs(count: int) -> np.ndarray:
    """Summaries of independent SMC runs `[NUM_SEEDS, ...]` that rejuvenate as soon as weights differ."""
    world = make_world("jail", 1)
    counts = world.problem.counts(annotations(world, count))
    runs = [
        smc.infer_smc(world.problem, counts, seed=seed, num_particles=500, ess_threshold=0.95)
        for seed in range(NUM_SEEDS)
    ]
    assert count < 5 or all(run.diagnostics.num_rejuvenations > 0 for run in runs)
    return np.array([summary(run) for run in runs])


@pytest.mark.parametrize("count", [pytest.param(n, marks=[pytest.mark.slow] * (n != 5)) for n in (0, 1, 5, 20)])
def test_agrees_with_enumeration_on_the_jail(count):
    exact, runs = jail_exact(count), jail_runs(count)
    # The mean of 8 independent runs has the standard error sd / sqrt(8); 32 numbers are compared, each from 7 degrees
    # of freedom, so 6 standard errors keep the chance of a false alarm near 2 %. The floor covers the grid's error.
    standard_error = runs.std(axis=0, ddof=1) / np.sqrt(NUM_SEEDS)
    floor = np.concatenate([np.full(6, 0.15), np.full(25, 0.004), [0.02]])
    assert (np.abs(runs.mean(axis=0) - exact) <= 6 * standard_error + floor).all()


def test_the_comparison_with_enumeration_is_sharp():
    """The standard errors above are small enough to see a shift of a quarter of a posterior standard deviation."""
    exact, runs = jail_exact(5), jail_runs(5)
    standard_error = runs.std(axis=0, ddof=1)[:3] / np.sqrt(NUM_SEEDS)
    assert (6 * standard_error + 0.15 < 0.25 * exact[3:6] + 0.15).all()


def test_one_by_one_gives_the_same_posterior_as_all_at_once():
    world = make_world("jail", 1)
    demonstrations = annotations(world, 20)
    exact = jail_exact(20, 2**14)  # good to 0.02 standard deviations, which the floor has room for
    runs = []
    for seed in range(4):
        particles = smc.start(world.problem, seed=seed, num_particles=500)
        for demonstration in demonstrations:
            particles = smc.update(particles, demonstration)
        runs.append(summary(smc.posterior_of(particles)))
    standard_error = np.std(runs, axis=0, ddof=1) / 2
    floor = np.concatenate([np.full(6, 0.3), np.full(25, 0.02), [0.05]])
    assert (np.abs(np.mean(runs, axis=0) - exact) <= 8 * standard_error + floor).all()  # 3 degrees of freedom


@pytest.mark.parametrize("name", DISCRETE_WORLDS)
def test_equals_enumeration_on_discrete_worlds(name):
    world = make_world(name, 2)
    counts = world.problem.counts(annotations(world, 7))
    exact = infer_enumerate(world.problem, counts)
    posterior = smc.infer_smc(world.problem, counts)
    np.testing.assert_allclose(posterior.theta, exact.theta)
    np.testing.assert_allclose(posterior.weights, exact.weights, rtol=1e-10, atol=1e-14)
    assert posterior.log_evidence == pytest.approx(exact.log_evidence, abs=1e-10)
    assert posterior.warnings == ()


def test_discrete_updates_and_removals_are_exact():
    world = make_world("brown-two-state", 0)
    first, second = Demonstration.annotation(0, 1), Demonstration.annotation(1, 0)
    particles = smc.update(smc.start(world.problem), [first, second])
    np.testing.assert_allclose(
        smc.remove(particles, second).weights, smc.update(smc.start(world.problem), first).weights, rtol=1e-12
    )


def test_without_data_it_is_the_prior():
    problem = make_world("random-grid", 0, size=4).problem
    posterior = smc.posterior_of(smc.start(problem, num_particles=2000))
    assert posterior.log_evidence == 0.0
    np.testing.assert_array_less(np.abs(posterior.mean_parameters()), 4.5 * 3.0 / np.sqrt(2000))
    # the sampling standard deviation of a standard deviation is sd / sqrt(2 n)
    np.testing.assert_array_less(np.abs(posterior.parameter_std() - 3.0), 4.5 * 3.0 / np.sqrt(4000))


def test_does_not_depend_on_the_number_of_threads():
    world = make_world("random-grid", 3, size=4)
    counts = world.problem.counts(annotations(world, 15))
    runs = [smc.infer_smc(world.problem, counts, num_particles=300, num_threads=n) for n in (1, 2, 3)]
    assert runs[0].diagnostics.num_rejuvenations > 0
    for other in runs[1:]:
        np.testing.assert_array_equal(runs[0].theta, other.theta)
        np.testing.assert_array_equal(runs[0].values, other.values)
        np.testing.assert_array_equal(runs[0].weights, other.weights)


def test_seeds_differ_and_repeat():
    world = make_world("random-grid", 3, size=3)
    counts = world.problem.counts(annotations(world, 5))
    first, again, other = (smc.infer_smc(world.problem, counts, num_particles=200, seed=s) for s in (4, 4, 5))
    np.testing.assert_array_equal(first.theta, again.theta)
    assert not np.array_equal(first.theta, other.theta)


def test_values_belong_to_the_samples():
    from journeyman.mdp import solve_batch

    world = make_world("random-grid", 3, size=4)
    posterior = smc.infer_smc(world.problem, world.problem.counts(annotations(world, 15)), num_particles=200)
    solution = solve_batch(world.problem.mdp, posterior.rewards)
    scale = 1.0 + np.abs(solution.values).max()
    assert np.abs(posterior.values - solution.values).max() <= 1e-8 * scale


def test_removing_what_was_added_gives_the_weights_back():
    world = make_world("random-grid", 3, size=4)
    first, second = annotations(world, 2)
    before = smc.update(smc.start(world.problem, num_particles=400), first)
    both = smc.update(before, second)
    after = smc.remove(both, second)
    if both.moves.num_rejuvenations == before.moves.num_rejuvenations:
        np.testing.assert_allclose(after.weights, before.weights, rtol=1e-9)
    np.testing.assert_array_equal(after.counts, before.counts)


@pytest.mark.parametrize("lag", [0, 1, 3])
def test_nothing_is_left_of_an_answer_that_is_taken_back(lag):
    """Particles that it has moved miss what it ruled out, whatever their weights: then all begins at the prior."""
    world, rng = make_world("jail", 1), np.random.default_rng(lag)
    told = annotations(world, 12)
    beginning = smc.start(world.problem, seed=3, num_particles=400, lag=lag)
    particles, kept, num_restarts = beginning, [], 0
    for number in range(40):
        if kept and (number >= 28 or rng.random() < 0.35):
            answer = kept.pop(int(rng.integers(len(kept))))
            before, particles = particles, smc.remove(particles, answer)
            if (particles.counts < before.moved_counts).any():
                num_restarts += 1
                again = smc.advance(beginning, particles.counts)
                np.testing.assert_array_equal(particles.positions, again.positions)
                np.testing.assert_array_equal(particles.log_weights, again.log_weights)
                assert particles.log_evidence == again.log_evidence
        else:
            kept.append(told[number % len(told)])
            particles = smc.update(particles, kept[-1])
        np.testing.assert_array_equal(particles.counts, world.problem.counts(kept))
        under_way = particles.started
        moved = [particles] if under_way is None else [particles, *([under_way.source] if under_way.source else ())]
        assert all((one.moved_counts <= particles.counts).all() for one in moved)
        assert under_way is None or (under_way.counts <= particles.counts).all()
    while kept:
        particles = smc.remove(particles, kept.pop())
    np.testing.assert_array_equal(particles.positions, beginning.positions)
    assert num_restarts > 3 and not particles.log_weights.any()


def test_a_snapshot_moved_by_an_answer_that_is_gone_is_refused():
    world = make_world("jail", 1)
    particles = smc.update(smc.start(world.problem, num_particles=200, ess_threshold=0.95), annotations(world, 20))
    assert particles.moved_counts.any()
    kept = smc.to_snapshot(particles)
    smc.from_snapshot(world.problem, kept)
    kept.arrays["counts"] = np.zeros_like(kept.arrays["counts"])
    with pytest.raises(InputError, match="taken back"):
        smc.from_snapshot(world.problem, kept)


@pytest.mark.slow
def test_removing_after_moves_agrees_with_enumeration():
    world = make_world("jail", 1)
    demonstrations = annotations(world, 20)
    counts = world.problem.counts(demonstrations[:5])
    exact = summary(infer_enumerate(world.problem, counts))
    runs = []
    for seed in range(4):
        particles = smc.update(smc.start(world.problem, seed=seed, num_particles=500), demonstrations)
        runs.append(summary(smc.posterior_of(smc.remove(particles, demonstrations[5:]))))
    standard_error = np.std(runs, axis=0, ddof=1) / 2
    floor = np.concatenate([np.full(6, 0.3), np.full(25, 0.02), [0.05]])
    assert (np.abs(np.mean(runs, axis=0) - exact) <= 8 * standard_error + floor).all()


def test_a_surprising_answer_is_tempered():
    """Thirty contradictory answers at once: several stages, and still the right evidence."""
    world = make_world("jail", 1)
    problem = world.problem
    worst = int(np.argmin(world.expert.policy[33]))
    counts = problem.counts([Demonstration.annotation(33, worst)] * 30)
    exact = infer_enumerate(problem, counts, num_points=2**14)
    assert exact.diagnostics.error_bound < 0.05
    posteriors = [smc.infer_smc(problem, counts, seed=seed, num_particles=500) for seed in range(4)]
    assert all(posterior.diagnostics.num_rejuvenations > 1 for posterior in posteriors)
    assert all(posterior.diagnostics.particle_ess >= 250 for posterior in posteriors)
    evidence = [posterior.log_evidence for posterior in posteriors]
    assert np.mean(evidence) == pytest.approx(exact.log_evidence, abs=8 * np.std(evidence, ddof=1) / 2 + 0.05)


def test_agrees_with_long_chains_on_a_small_grid():
    world = make_world("random-grid", 1, size=4)
    counts = world.problem.counts(annotations(world, 40))
    reference = infer_policywalk(world.problem, counts, sampler="hmc", num_draws=6000, num_chains=4)
    particles = smc.start(world.problem, num_particles=1000)
    for demonstration in annotations(world, 40):
        particles = smc.update(particles, demonstration)
    assert_accurate(smc.posterior_of(particles), reference)


def assert_accurate(posterior, reference) -> None:
    """Root mean square error of means at most 0.08 posterior standard deviations, standard deviations within 10 %."""
    std = reference.parameter_std()
    error = (posterior.mean_parameters() - reference.mean_parameters()) / std
    ratio = posterior.parameter_std() / std
    assert np.sqrt(np.mean(error**2)) <= 0.08
    assert abs(ratio.mean() - 1.0) <= 0.10
    assert np.sqrt(np.mean((ratio - 1.0) ** 2)) <= 0.10


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("name", ["random-8x8", "random-10x10"])
def test_150_annotations_one_by_one_against_a_long_independent_run(name, seed):
    world = make_world(name, seed)
    demonstrations = annotations(world, 150, seed)
    counts = world.problem.counts(demonstrations)
    reference = infer_policywalk(
        world.problem, counts, sampler="hmc", num_warmup=1000, num_draws=4000, num_chains=4, seed=100 + seed
    )
    assert reference.diagnostics.r_hat < 1.02
    particles = smc.start(world.problem, seed=seed)
    for demonstration in demonstrations:
        particles = smc.update(particles, demonstration)
    assert_accurate(smc.posterior_of(particles), reference)


def test_refuses_data_that_no_sample_explains():
    """With an all but infinite beta an action that is never optimal has probability zero."""
    world = make_world("regret-eig-trap", 0)
    problem = Problem(
        world.problem.mdp, PerStateAction(world.problem.mdp), Discrete([[0.0, 50.0, 1.0], [0.0, 1.0, 50.0]]), 1e308
    )
    with pytest.raises(InferenceError, match="probability zero"):
        smc.infer_smc(problem, problem.counts(Demonstration.annotation(0, 0)))


def test_refuses_to_remove_what_was_not_added():
    problem = make_world("jail", 0).problem
    with pytest.raises(InputError, match="only demonstrations that were added"):
        smc.remove(smc.start(problem, num_particles=200), Demonstration.annotation(1, 1))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_particles": 10}, "num_particles must"),
        ({"num_particles": 200, "chain_length": 100}, "12 times chain_length"),
        ({"ess_threshold": 1.5}, "ess_threshold must lie"),
        ({"acceptance": float("nan")}, "acceptance must lie"),
        ({"max_leapfrog": 0}, "max_leapfrog must"),
        ({"num_particle": 200}, "got 'num_particle'. Did you mean 'num_particles'?"),
        ({"seed": -3}, "seed must"),
    ],
)
def test_refuses_settings_out_of_range(settings, message):
    with pytest.raises(InputError, match=message):
        smc.start(make_world("jail", 0).problem, **settings)


@pytest.mark.parametrize("size", [1.0, 1e3, 1e9, 1e30])
def test_a_stage_keeps_the_effective_size_that_is_wanted_however_surprising(size):
    log_weights = -size * np.random.default_rng(0).exponential(size=500)
    part = stage_size(log_weights, 250.0)
    assert part == 1.0 or effective_size(part * log_weights) == pytest.approx(250.0, rel=1e-3)


def test_tempering_is_done_when_the_power_is_one():
    for first in (1.0, 0.3, 1e-3, 1e-300):
        assert tempering_done(1.0, first) == pytest.approx(1.0)
        done = [tempering_done(first ** (1.0 - part), first) for part in np.linspace(0.0, 1.0, 9)]
        assert 0.0 < done[0] <= 1.0 and (np.diff(done) >= 0.0).all()


def test_what_is_left_of_tempering_is_nearly_linear_in_time():
    """Powers and seconds of stages in a run with 500 particles on 10x10 and 200 answers, every other one left out."""
    powers = [0.0013, 0.0027, 0.0069, 0.0137, 0.0249, 0.0436, 0.079, 0.143, 0.258, 0.532, 1.0]
    seconds = np.array([0.66, 0.98, 1.43, 1.94, 2.52, 2.93, 3.46, 4.07, 4.82, 5.51, 5.92])
    done = np.array([tempering_done(power, powers[0]) for power in powers])
    said, left = (seconds * (1.0 - done) / done)[5:-1], seconds[-1] - seconds[5:-1]  # the second half
    assert (said < 2.0 * left).all() and (left < 2.0 * said).all()
