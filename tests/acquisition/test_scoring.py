"""What every acquisition function must do, whichever is added."""

from dataclasses import replace

import numpy as np
import pytest
from acquisition.exact import reweighted, small_posterior

from journeyman.acquisition import ACQUISITIONS, Acquisition, Rating, Scores, choose_batch, score
from journeyman.errors import InputError
from journeyman.inference import infer
from journeyman.worlds import make_world

ROUNDING = 1e-9  # gains of lookaheads are exact to that
CASES = [(name, kind) for name, acquisition in ACQUISITIONS.items() for kind in acquisition.kinds]


def query(kind):
    return {"kind": kind, "length": 3 if kind == "trajectory" else None}


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_contract(name, kind):
    posterior = small_posterior(1, num_atoms=8, unavailable=0.2)
    scores = score(posterior, name, **query(kind))
    queryable = posterior.problem.queryable
    assert isinstance(scores, Scores)
    assert (scores.name, scores.kind, scores.length) == (name, kind, query(kind)["length"])
    assert scores.values.shape == (4,)
    assert (np.isneginf(scores.values) == ~queryable).all()
    assert (scores.values[queryable] >= 0).all()
    assert queryable[scores.best_state()]
    assert scores.unit in ("", "nats", "reward") or name not in ACQUISITIONS.builtin
    if scores.standard_error is not None:
        assert (np.isnan(scores.standard_error) == ~queryable).all()
        assert (scores.standard_error[queryable] >= 0).all()


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_order_of_samples_does_not_matter(name, kind):
    posterior = small_posterior(2, num_atoms=8)
    order = np.random.default_rng(0).permutation(8)
    shuffled = replace(
        posterior, theta=posterior.theta[order], weights=posterior.weights[order], values=posterior.values[order]
    )
    one, two = (score(p, name, **query(kind)).values for p in (posterior, shuffled))
    assert one == pytest.approx(two, abs=ROUNDING)


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_weights_are_repetitions(name, kind):
    posterior = small_posterior(3, num_atoms=5)
    times = np.array([1, 4, 2, 3, 2])
    weighted = reweighted(posterior, times)
    repeated = replace(
        posterior,
        theta=np.repeat(posterior.theta, times, axis=0),
        values=np.repeat(posterior.values, times, axis=0),
        weights=np.full(12, 1 / 12),
    )
    one, two = (score(p, name, **query(kind)).values for p in (weighted, repeated))
    assert one == pytest.approx(two, abs=ROUNDING)


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_threads_do_not_matter(name, kind):
    posterior = small_posterior(1)
    one, two = (score(posterior, name, num_threads=threads, **query(kind)).values for threads in (1, 2))
    assert np.array_equal(one, two)


@pytest.mark.parametrize("name", ["reward_eig", "pac_eig", "expected_regret", "optimal_action_value", "active_var"])
def test_states_in_chunks(monkeypatch, name):
    """Many states are rated a few at a time; the result is the same."""
    from journeyman.acquisition import information, lookahead

    posterior = small_posterior(4, num_states=7)
    whole = score(posterior, name).values
    monkeypatch.setattr(information, "CHUNK_ENTRIES", 40)
    monkeypatch.setattr(lookahead, "CHUNK_ENTRIES", 40)
    assert score(posterior, name).values == pytest.approx(whole, abs=ROUNDING)


@pytest.mark.parametrize("method", ["smc", "policywalk"])
def test_any_posterior_will_do(method):
    world = make_world("random-grid", 0, size=3)
    options = {"num_particles": 100} if method == "smc" else {"num_warmup": 50, "num_draws": 50, "sampler": "hmc"}
    posterior = infer(world.problem, world.expert.answers([0, 2]), method, **options)
    for name in ACQUISITIONS:
        values = score(posterior, name).values
        assert np.isfinite(values[posterior.problem.queryable]).all()


def test_costs():
    posterior = small_posterior(0, terminal=0.0)
    plain = score(posterior, "reward_eig", kind="trajectory", length=2)
    costs = np.array([1.0, 2.0, 4.0, 0.5])
    priced = score(posterior, "reward_eig", kind="trajectory", length=2, costs=costs)
    assert priced.values == pytest.approx(plain.values / costs)
    assert priced.standard_error == pytest.approx(plain.standard_error / costs)


def test_costs_of_states_that_nobody_asks_do_not_matter():
    posterior = small_posterior(0, terminal=0.0)
    problem = replace(posterior.problem, queryable=np.array([True, True, True, False]))
    values = score(replace(posterior, problem=problem), "reward_eig", costs=[1, 1, 1, np.nan]).values
    assert np.isneginf(values[3])


def test_ties_are_broken_by_the_generator():
    scores = Scores("random", "state", None, "", np.array([-np.inf, 1.0, 1.0 - 1e-14, 0.5, 1.0]))
    assert scores.best_state() == 1
    assert {scores.best_state(np.random.default_rng(seed)) for seed in range(40)} == {1, 2, 4}


def test_all_weight_on_one_sample_is_said():
    posterior = small_posterior(0)
    scores = score(reweighted(posterior, np.eye(6)[2]), "reward_eig")
    assert "nearly all weight lies on one of 6 samples (1.0 effective ones)" in scores.warnings[0]
    assert score(posterior, "reward_eig").warnings == ()


def test_one_sample_is_said():
    posterior = small_posterior(0, num_atoms=1)
    assert "there is only one sample" in score(posterior, "reward_eig").warnings[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"acquisition": "pac-eig"}, "got 'pac-eig'. Did you mean 'pac_eig'?"),
        ({"acquisition": "zzz"}, "Choose from: random, action_entropy"),
        ({"kind": "batch"}, "kind must be one of state, trajectory, got 'batch'"),
        ({"kind": "trajectory"}, "the length of a trajectory query must be a whole number of at least 1, got None"),
        ({"kind": "trajectory", "length": 0}, "of at least 1, got 0"),
        ({"length": 3}, "a state query must have no length, got 3"),
        ({"epsilon": 0}, "epsilon must be positive and finite, got 0.0"),
        ({"num_histories": 1}, "num_histories must be a whole number of at least 2, got 1"),
        ({"seed": -1}, "seed must be a whole number of at least 0"),
        ({"num_threads": 0}, "num_threads must be a whole number of at least 1"),
        ({"edges": (1, 2)}, "'reward_eig' must get options it knows, got 'edges'. It has: estimator"),
        ({"costs": [1, 2]}, "costs must have shape"),
        ({"costs": [1, 0, 1, 1]}, "costs must be positive and finite, got 0.0 at state 1"),
        ({"costs": [1, 1, np.nan, 1]}, "costs must be positive and finite, got nan at state 2"),
    ],
)
def test_bad_input(arguments, message):
    posterior = small_posterior(0, terminal=0.0)
    with pytest.raises(InputError) as error:
        score(posterior, **{"acquisition": "reward_eig", **arguments})
    assert message in str(error.value)


def test_no_queryable_state():
    posterior = small_posterior(0)
    problem = replace(posterior.problem, queryable=np.zeros(4, dtype=bool))
    with pytest.raises(InputError, match="a problem must have a queryable state to be asked about, got none"):
        score(replace(posterior, problem=problem), "random")


def test_a_problem_is_no_posterior():
    with pytest.raises(InputError, match="posterior must be a Posterior, got Problem"):
        score(small_posterior(0).problem, "random")


@pytest.mark.parametrize("name", ACQUISITIONS)
def test_the_registry_explains_itself(name):
    acquisition = ACQUISITIONS.find(name)
    assert acquisition.summary
    assert acquisition.summary[-1] != "."
    assert acquisition.kinds[0] == "state"
    assert acquisition.rate_fn.__doc__


@pytest.fixture
def register():
    names = []

    def add(rate_fn, unit="bits", **options):
        ACQUISITIONS.register("mine", Acquisition("a function of my own", rate_fn, unit, **options))
        names.append("mine")

    yield add
    for name in names:
        ACQUISITIONS.unregister(name)


def test_a_function_from_outside_is_scored_by_its_name_with_its_options_and_unit(register):
    def rate_mine(posterior, context, *, factor=2.0):
        return Rating(factor * context.states.astype(float))

    register(rate_mine)
    scores = score(small_posterior(0, terminal=0.0), "mine", factor=3.0)
    assert scores.unit == "bits"
    assert scores.values.tolist() == [0.0, 3.0, 6.0, 9.0]
    assert choose_batch(small_posterior(0, terminal=0.0), "mine", 2).states.tolist() == [3, 3]
    with pytest.raises(InputError, match="'mine' must get options it knows, got 'scale'"):
        score(small_posterior(0), "mine", scale=1.0)


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (None, "acquisition function 'mine' must return a Rating with 4 values, .*, got NoneType"),
        (np.zeros(4), "acquisition function 'mine' must return a Rating .*, got ndarray"),
        (Rating(np.zeros(3)), r"got values of shape \(3,\)"),
        (Rating(np.array([0.0, np.nan, 0.0, 0.0])), "all finite, got values that are not at state 1"),
        (Rating(np.array(["a"] * 4)), "values of acquisition function 'mine' must be numbers"),
        (Rating(np.zeros(4), np.zeros(2)), r"got a standard_error of shape \(2,\)"),
    ],
)
def test_a_wrong_return_of_a_function_from_outside_is_named(register, returned, message):
    register(lambda posterior, context: returned)
    with pytest.raises(InputError, match=message):
        score(small_posterior(0, terminal=0.0), "mine")


def test_old_names_of_options():
    pac = ACQUISITIONS.find("pac_eig")
    assert pac.with_present_names({"scope": "joint", "edges": (0, 1)}) == {"components": "joint", "edges": (0, 1)}
    assert pac.with_old_names({"components": "joint", "edges": (0, 1)}) == {"scope": "joint", "edges": (0, 1)}
    assert ACQUISITIONS.find("active_var").with_present_names({"delta": 0.1}) == {"tail": 0.1}
