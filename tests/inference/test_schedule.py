"""Rejuvenations that are started and installed later: as exact, and the same wherever they are computed."""

import pickle
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from inference.test_smc import annotations, jail_exact, summary

from journeyman.errors import InputError
from journeyman.inference import infer, smc
from journeyman.inference.enumeration import infer_enumerate
from journeyman.inference.weights import effective_size
from journeyman.worlds import make_world

OPTIONS = {"num_particles": 400, "seed": 2}  # 100 must be effective, and the next ones are started below 283
NUM_SEEDS = 4


@cache
def grid():
    world = make_world("random-grid", 1, size=3)
    return world.problem, annotations(world, 16)


def updates(particles, change_fn=lambda particles: particles, num_threads=1):
    """Yield particles after every answer of the grid, each update made from what `change_fn` makes of the last one."""
    for demonstration in grid()[1]:
        particles = smc.update(change_fn(particles), demonstration, num_threads=num_threads)
        yield particles


def surprising(particles, wanted=0.0):
    """Return the counts with one more answer: that which leaves nearest to `wanted` particles effective."""
    usual = smc.finished(particles, num_threads=1)

    def size_with(pair):
        counts = particles.counts.copy()
        counts[pair] += 1.0
        return effective_size(smc._log_ratio(usual, counts - usual.moved_counts, 0.0)), counts

    problem = particles.problem
    pairs = [(s, a) for s in np.flatnonzero(problem.queryable) for a in np.flatnonzero(problem.mdp.available[s])]
    size, counts = min(map(size_with, pairs), key=lambda found: abs(found[0] - wanted))
    assert size < 70.0
    return counts


@cache
def surprises():
    """Return counts one after another: of answers, with a surprising one now and then, and one that is taken back."""
    problem, demonstrations = grid()
    particles, listed = smc.start(problem, lag=1, **OPTIONS), []
    for number, demonstration in enumerate(demonstrations[:10]):
        listed.append(particles.counts + problem.counts(demonstration))
        particles = smc.advance(particles, listed[-1], num_threads=1)
        if number in (5, 6, 9):
            listed.append(surprising(particles))
            particles = smc.advance(particles, listed[-1], num_threads=1)
    return (*listed, listed[-2])


def is_interim(particles):
    return particles.started is not None and particles.started.source is not None


def same(first, second) -> bool:
    names = ("positions", "values", "policies", "log_weights", "moved_counts", "counts")
    arrays = all(getattr(first, name).tobytes() == getattr(second, name).tobytes() for name in names)
    numbers = (first.num_stages, first.moves, first.log_evidence) == (
        second.num_stages,
        second.moves,
        second.log_evidence,
    )
    return arrays and numbers and (first.started is None) == (second.started is None)


@pytest.mark.parametrize("lag", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_one_by_one_agrees_with_enumeration(lag):
    world = make_world("jail", 1)
    demonstrations, exact = annotations(world, 20), jail_exact(20, 2**14)
    runs, num_installed, num_under_way = [], 0, 0
    for seed in range(NUM_SEEDS):
        particles = smc.start(world.problem, seed=seed, num_particles=500, ess_threshold=0.6, lag=lag)
        for demonstration in demonstrations:
            under_way, before = particles.started is not None, particles
            particles = smc.update(particles, demonstration, num_threads=1)
            num_under_way += particles.started is not None
            num_installed += under_way and particles.positions is not before.positions
        runs.append(summary(smc.posterior_of(particles)))
    assert num_installed >= 2 * NUM_SEEDS <= num_under_way
    # As in test_smc: 3 degrees of freedom; the floor covers the error of the grid.
    standard_error = np.std(runs, axis=0, ddof=1) / np.sqrt(NUM_SEEDS)
    floor = np.concatenate([np.full(6, 0.3), np.full(25, 0.02), [0.05]])
    assert (np.abs(np.mean(runs, axis=0) - exact) <= 8 * standard_error + floor).all()


def test_taking_back_while_one_is_under_way_agrees_with_enumeration():
    world = make_world("jail", 1)
    demonstrations = annotations(world, 20)
    exact = summary(infer_enumerate(world.problem, world.problem.counts(demonstrations[:4]), num_points=2**14))
    runs, num_under_way = [], 0
    for seed in range(NUM_SEEDS):
        particles = smc.start(world.problem, seed=seed, num_particles=500, ess_threshold=0.6, lag=1)
        for number, demonstration in enumerate(demonstrations):
            particles = smc.update(particles, demonstration, num_threads=1)
            if particles.started is not None and number >= 8:
                break
        num_under_way += particles.started is not None
        runs.append(summary(smc.posterior_of(smc.remove(particles, demonstrations[4 : number + 1], num_threads=1))))
    assert num_under_way == NUM_SEEDS
    standard_error = np.std(runs, axis=0, ddof=1) / np.sqrt(NUM_SEEDS)
    floor = np.concatenate([np.full(6, 0.3), np.full(25, 0.02), [0.05]])
    assert (np.abs(np.mean(runs, axis=0) - exact) <= 8 * standard_error + floor).all()


@pytest.mark.parametrize("lag", [1, 2])
def test_particles_take_over_after_so_many_updates(lag):
    problem, _ = grid()
    before, num_installed = smc.start(problem, lag=lag, **OPTIONS), 0
    for particles in updates(before):
        size = effective_size(particles.log_weights)
        assert size >= 100.0  # there are interim ones instead of fewer
        assert (particles.started is not None) or size >= np.sqrt(0.5) * 400
        started = before.started
        if started is not None and particles.moves.num_rejuvenations > before.moves.num_rejuvenations:
            result = started.result.value(1)
            num_installed += (
                particles.positions is result.positions
            )  # else it was not enough, and they moved on at once
            assert result.moved_counts.tobytes() == started.counts.tobytes() == before.counts.tobytes() or lag > 1
        if started is not None and particles.positions is before.positions:
            assert particles.started.result is started.result
            assert particles.started.num_waited == started.num_waited + 1 < lag
        before = particles
    assert num_installed > 1


def test_what_a_started_one_gives_is_what_would_be_done_at_once():
    problem, demonstrations = grid()
    at_once, later = (smc.start(problem, lag=lag, ess_threshold=0.7, **OPTIONS) for lag in (0, 1))
    for demonstration in demonstrations:
        at_once, later = (smc.update(one, demonstration, num_threads=1) for one in (at_once, later))
        if at_once.moves.num_rejuvenations:
            break
        if later.started is not None:  # it starts earlier
            later = replace(later, started=None)
    assert later.started is not None and not later.moves.num_rejuvenations
    assert same(smc.finished(later, num_threads=1), at_once)


def stored(particles):
    """Store particles and read them again."""
    settings = {name: getattr(particles.settings, name) for name in ("num_particles", "lag")}
    return smc.from_snapshot(particles.problem, smc.to_snapshot(particles), seed=particles.seed, **settings)


def prepared(particles):
    smc.prepare(particles, num_threads=2)
    return particles


def prepared_and_waited_for(particles):
    smc.prepare(particles, num_threads=2)
    if particles.started is not None:
        particles.started.result.value(2)
    return particles


def looked_at(particles):
    smc.finished(particles, num_threads=1)
    return particles


@pytest.mark.parametrize("lag", [1, 3])
@pytest.mark.parametrize(
    "change_fn",
    [stored, prepared, prepared_and_waited_for, looked_at, lambda particles: pickle.loads(pickle.dumps(particles))],
    ids=["stored", "prepared", "prepared and waited for", "looked at", "pickled"],
)
def test_nothing_depends_on_when_and_where_it_is_computed(change_fn, lag):
    problem, _ = grid()
    usual = list(updates(smc.start(problem, lag=lag, **OPTIONS)))
    assert sum(particles.started is not None for particles in usual) > 3
    changed = updates(smc.start(problem, lag=lag, **OPTIONS), change_fn, num_threads=2)
    assert all(same(first, second) for first, second in zip(usual, changed, strict=True))


@pytest.mark.parametrize("lag", [1, 3])
@pytest.mark.parametrize("change_fn", [stored, prepared, lambda particles: pickle.loads(pickle.dumps(particles))])
def test_nor_do_interim_particles(change_fn, lag):
    usual = changed = smc.start(grid()[0], lag=lag, **OPTIONS)
    num_interim = 0
    for counts in surprises():
        usual = smc.advance(usual, counts, num_threads=1)
        changed = smc.advance(change_fn(changed), counts, num_threads=2)
        assert same(usual, changed)
        assert is_interim(usual) == is_interim(changed)
        assert smc.posterior_of(usual).diagnostics.chain_length == smc.posterior_of(changed).diagnostics.chain_length
        num_interim += is_interim(usual)
    assert num_interim >= 3


def test_a_surprising_answer_moves_few_particles_at_once_and_all_of_them_later():
    particles = smc.start(grid()[0], lag=1, **OPTIONS)
    for counts in surprises()[:6]:
        particles = smc.advance(particles, counts, num_threads=1)
    before, counts = smc.finished(particles, num_threads=1), surprises()[6]
    interim = smc.advance(before, counts, num_threads=1)
    assert is_interim(interim) and len(interim.positions) == 200
    assert interim.started.source.positions is before.positions
    assert effective_size(interim.log_weights) >= 100.0
    posterior = smc.posterior_of(interim)
    assert posterior.diagnostics.chain_length == 4 and not any("effective" in text for text in posterior.warnings)
    at_once = smc._tempered(before, counts, 1, threshold=np.sqrt(0.5))
    full = smc.finished(interim, num_threads=1)
    assert len(full.positions) == 400
    assert full.positions.tobytes() == at_once.positions.tobytes()
    num_extra = interim.moves.num_gradients - before.moves.num_gradients
    assert full.moves.num_gradients - at_once.moves.num_gradients == num_extra  # none is forgotten
    assert num_extra < 0.5 * (at_once.moves.num_gradients - before.moves.num_gradients)
    following = smc.advance(interim, counts + grid()[0].counts(grid()[1][6]), num_threads=1)
    assert following.moves.num_rejuvenations >= full.moves.num_rejuvenations and not is_interim(following)


def test_interim_particles_and_those_that_follow_agree_with_enumeration():
    """Also after the surprising answer is taken back, from interim particles."""
    world = make_world("jail", 1)
    problem, demonstrations = world.problem, annotations(world, 12)
    plain = problem.counts(demonstrations).astype(float)
    first = smc.start(problem, seed=9, num_particles=500)
    with_surprise = surprising(smc.advance(first, plain, num_threads=1), 40.0)  # a greater one would start a search
    wanted = (with_surprise, with_surprise + problem.counts(demonstrations[0]), plain)
    runs = []
    for seed in range(NUM_SEEDS):
        particles = smc.advance(smc.start(problem, seed=seed, num_particles=500, lag=1), plain, num_threads=1)
        interim = smc.advance(particles, with_surprise, num_threads=1)
        assert is_interim(interim)
        following = [smc.advance(interim, counts, num_threads=1) for counts in wanted[1:]]
        assert all(len(one.positions) == 500 for one in following)
        runs.append([summary(smc.posterior_of(one)) for one in (interim, *following)])
    exact = [summary(infer_enumerate(problem, counts.astype(int), num_points=2**14)) for counts in wanted]
    standard_error = np.std(runs, axis=0, ddof=1) / np.sqrt(NUM_SEEDS)
    floor = np.concatenate([np.full(6, 0.3), np.full(25, 0.02), [0.05]])
    assert (np.abs(np.mean(runs, axis=0) - exact) <= 8 * standard_error + floor).all()


@pytest.mark.parametrize("num_particles", [200, 400])
def test_no_question_is_chosen_from_particles_with_too_few_effective(num_particles):
    particles = smc.start(grid()[0], lag=3, num_particles=num_particles, seed=2)
    for counts in surprises():
        particles = smc.advance(particles, counts, num_threads=1)
        assert effective_size(particles.log_weights) >= 100.0
        assert not any("are effective" in text for text in smc.posterior_of(particles).warnings)
        assert num_particles > 200 or not is_interim(particles)


def test_answers_that_surprise_the_prior_are_dealt_with_at_once():
    problem, demonstrations = grid()
    particles = smc.start(problem, lag=5, **OPTIONS)
    change = 3.0 * problem.counts(demonstrations)
    assert effective_size(smc._log_ratio(particles, change, 0.0)) < 100.0
    particles = smc.advance(particles, change, num_threads=1)
    assert particles.moves.num_rejuvenations > 0 and not is_interim(particles)
    assert effective_size(particles.log_weights) >= 200.0


def test_inference_from_scratch_does_not_wait():
    problem, demonstrations = grid()
    for number in range(1, 6):
        usual, lagged = (infer(problem, demonstrations[:number], num_particles=400, lag=lag) for lag in (0, 1))
        assert usual.theta.tobytes() == lagged.theta.tobytes()


def test_more_is_drawn_from_rejuvenated_particles():
    problem, _ = grid()
    particles = next(one for one in updates(smc.start(problem, lag=1, **OPTIONS)) if one.started is not None)
    first, second = (
        next(smc.draw_more(one, seed=1, num_threads=1)) for one in (particles, smc.finished(particles, num_threads=1))
    )
    assert first.theta.tobytes() == second.theta.tobytes()


def test_refuses_a_lag_that_is_no_number_of_updates():
    with pytest.raises(InputError, match="lag must be a whole number of at least 0"):
        smc.start(grid()[0], lag=-1)
