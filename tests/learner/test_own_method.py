"""An inference method from outside the package is kept, stored and confirmed by itself."""

import numpy as np
import pytest
from learner.small import grid_world, keys, told

from journeyman.errors import InputError
from journeyman.inference import INFERENCE, Incremental, Method, Snapshot, infer
from journeyman.learner import ActiveLearner

CALLS = []


def infer_again(problem, counts, *, seed, num_threads, progress, num_draws=100):
    """SMC in disguise, which notes what it was called with."""
    CALLS.append((seed, num_draws, int(counts.sum())))
    return INFERENCE["smc"].infer_fn(
        problem, counts, seed=seed, num_threads=num_threads, progress=False, num_particles=num_draws
    )


OWN = Method(
    "of one's own", infer_again, longer_fn=lambda options, factor: {"num_draws": factor * options["num_draws"]}
)
COUNTING = Method(
    "of one's own, incremental",
    infer_again,
    incremental=Incremental(
        start_fn=lambda problem, *, seed, num_threads, **options: (problem, seed, np.zeros((9, 5))),
        advance_fn=lambda state, counts, *, num_threads: (state[0], state[1], counts),
        posterior_fn=lambda state: INFERENCE["smc"].infer_fn(
            state[0], state[2].astype(np.int64), seed=state[1], num_threads=1, progress=False, num_particles=100
        ),
        to_snapshot_fn=lambda state: Snapshot({}, {"counts": state[2]}),
        from_snapshot_fn=lambda problem, snapshot, *, seed, **options: (problem, seed, snapshot.arrays["counts"]),
    ),
)


@pytest.fixture(autouse=True)
def registered():
    CALLS.clear()
    INFERENCE.register("own", OWN)
    INFERENCE.register("counting", COUNTING)
    yield
    INFERENCE.unregister("own")
    INFERENCE.unregister("counting")


def test_it_is_confirmed_by_itself_with_another_seed_and_for_longer():
    learner = told(
        ActiveLearner(grid_world().problem, inference="own", inference_options={"num_draws": 120}, num_threads=1),
        grid_world(),
        2,
    )
    before = list(CALLS)
    assert {call[1] for call in before} == {120}
    learner.confirmation()
    (confirming,) = CALLS[len(before) :]
    assert confirming[1:] == (240, 2)
    assert confirming[0] not in {call[0] for call in before}


def test_an_incremental_one_goes_on_from_its_snapshot():
    world = grid_world()
    learner = told(ActiveLearner(world.problem, inference="counting", num_threads=1), world, 3)
    assert not CALLS  # it is updated, never inferred from nothing
    again = ActiveLearner.restore(world.problem, learner.settings, learner.events, learner.snapshot(), num_threads=1)
    assert np.array_equal(again.posterior().theta, learner.posterior().theta)
    assert keys(told(again, world, 2).queries) == keys(told(learner, world, 2).queries)


def test_infer_takes_it_too():
    assert infer(grid_world().problem, (), "own", num_draws=110).num_samples == 110


@pytest.mark.parametrize(
    ("infer_fn", "message"),
    [
        (lambda problem, counts: None, r"must take the keywords seed, .*got <lambda> without seed, num_threads, prog"),
        (lambda problem, counts, *, seed, num_threads: None, r"without progress\. Add what is missing"),
        (5, r"infer_fn must be a function, got 5"),
    ],
)
def test_a_method_that_cannot_be_called_is_refused_when_it_is_made(infer_fn, message):
    with pytest.raises(InputError, match=message):
        Method("mine", infer_fn)


def test_a_method_may_take_any_keywords():
    assert Method("mine", lambda problem, counts, **options: None).options == ()


@pytest.mark.parametrize("incremental", [None, COUNTING.incremental._replace(posterior_fn=lambda state: [1.0])])
def test_a_method_that_gives_no_posterior_is_named(incremental):
    INFERENCE.register("listing", Method("mine", lambda problem, counts, **options: [1.0], incremental=incremental))
    try:
        problem = grid_world().problem
        message = r"inference method 'listing' must give a Posterior, got list\. Make one"
        with pytest.raises(InputError, match=message):
            infer(problem, method="listing")
        with pytest.raises(InputError, match=message):
            ActiveLearner(problem, inference="listing", epsilon=1.0, delta=0.1).posterior()
    finally:
        INFERENCE.unregister("listing")
