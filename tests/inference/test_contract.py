"""Every inference method on every kind of problem: it works, or it refuses in plain words before any work."""

import itertools

import numpy as np
import pytest
from inference import twins

from journeyman.demonstrations import Demonstration
from journeyman.errors import InputError, UnsupportedError
from journeyman.inference import INFERENCE, Method, Posterior, infer
from journeyman.problem import Problem
from journeyman.rewards import Normal
from journeyman.worlds import make_world

MODELS = ("per_state", "per_state_action", "features", "action_features")
PRIORS = ("normal", "uniform", "multivariate", "discrete")
SMALL = {
    "enumerate": {"num_points": 1024},
    "policywalk": {"sampler": "hmc", "num_chains": 2, "num_warmup": 100, "num_draws": 300},
    "valuewalk": {"num_chains": 2, "num_draws": 1000, "target_accept": 0.9},
    "smc": {"num_particles": 500},
    "variational": {"num_draws": 500},
}
SMALL |= {name: INFERENCE[name].test_options for name in INFERENCE if name not in SMALL}  # registered from outside
WITHOUT_EVIDENCE = ("policywalk", "valuewalk", "variational")
PAIRS = list(itertools.product(INFERENCE, MODELS, PRIORS))


def make_problem(model, prior):
    return twins.random_problem(np.random.default_rng(11), model, prior, num_states=4)


def is_supported(method, model, prior):
    """What the documentation promises: enumerate up to 3 continuous parameters (features have 3), smc everything."""
    if method == "enumerate":
        return prior == "discrete" or model in ("features", "action_features")
    if method == "variational":
        return prior == "normal" and model in ("per_state", "per_state_action")
    if method == "valuewalk":
        return prior != "discrete" and model in ("per_state", "per_state_action")
    if method in ("smc", "policywalk"):
        return method == "smc" or prior != "discrete"
    return INFERENCE[method].refusal_fn(make_problem(model, prior)) is None  # from outside


def effective_size(posterior):
    d = posterior.diagnostics
    if posterior.chains is not None:
        return min(d.ess_bulk, d.ess_tail)
    return d.particle_ess


def prior_moments(prior):
    if prior.is_discrete:
        mean = prior.weights @ prior.atoms
        return mean, np.sqrt(prior.weights @ (prior.atoms - mean) ** 2)
    if hasattr(prior, "width"):
        return (prior.low + prior.high) / 2, prior.width / np.sqrt(12)
    return prior.mean, prior.std


@pytest.mark.parametrize(("method", "model", "prior"), PAIRS)
def test_every_pair_works_or_refuses_clearly(method, model, prior):
    problem = make_problem(model, prior)
    rng = np.random.default_rng(2)
    allowed = np.argwhere(problem.mdp.available & problem.queryable[:, None])
    demonstrations = [Demonstration.annotation(*map(int, pair)) for pair in rng.permutation(allowed)[:3]]
    if not is_supported(method, model, prior):
        with pytest.raises(UnsupportedError, match=rf"{method} needs .*got .*Use '") as caught:
            infer(problem, demonstrations, method, **SMALL[method])
        assert str(caught.value) == INFERENCE[method].refusal_fn(problem)
        assert any(f"'{other}'" in str(caught.value) for other in INFERENCE if is_supported(other, model, prior))
        return
    assert INFERENCE[method].refusal_fn(problem) is None
    posterior = infer(problem, demonstrations, method, **SMALL[method])
    size = posterior.num_samples
    assert isinstance(posterior, Posterior)
    assert posterior.method == method
    assert posterior.theta.shape == (size, problem.reward_model.num_parameters)
    assert posterior.values.shape == (size, problem.mdp.num_states)
    assert posterior.weights.shape == (size,)
    assert (posterior.weights >= 0).all()
    assert posterior.weights.sum() == pytest.approx(1.0)
    np.testing.assert_array_equal(posterior.counts, problem.counts(demonstrations))
    assert np.isfinite(problem.prior.log_density(posterior.theta)).all()
    for theta, values in zip(posterior.theta[:3], posterior.values[:3], strict=True):
        Q, _ = twins.optimal_q(problem, theta)
        np.testing.assert_allclose(values, Q.max(axis=1), atol=1e-7 * (1 + np.abs(values).max()))
    assert posterior.diagnostics.seconds > 0
    assert isinstance(posterior.warnings, tuple)
    if method in WITHOUT_EVIDENCE:
        assert posterior.log_evidence is None
    elif method in ("enumerate", "smc"):
        assert posterior.log_evidence is not None


@pytest.mark.parametrize(("method", "model", "prior"), [pair for pair in PAIRS if is_supported(*pair)])
def test_with_no_data_every_method_returns_the_prior(method, model, prior):
    problem = make_problem(model, prior)
    posterior = infer(problem, (), method, **SMALL[method])
    mean, std = prior_moments(problem.prior)
    if prior == "discrete" and len(posterior.theta) == len(problem.prior.atoms):
        order = np.lexsort(posterior.theta.T)
        np.testing.assert_array_equal(posterior.theta[order], problem.prior.atoms[np.lexsort(problem.prior.atoms.T)])
        np.testing.assert_allclose(
            posterior.weights[order], problem.prior.weights[np.lexsort(problem.prior.atoms.T)], rtol=1e-12
        )
        return
    # Standard errors std / sqrt(ESS) and std / sqrt(2 ESS), at most 12 parameters, 5 of them: a chance of 1e-5.
    ess = effective_size(posterior)
    assert ess > 100
    assert (np.abs(posterior.mean_parameters() - mean) <= 5 * std / np.sqrt(ess)).all()
    assert (np.abs(posterior.parameter_std() - std) <= 5 * std / np.sqrt(2 * ess)).all()
    if posterior.log_evidence is not None:
        assert posterior.log_evidence == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("method", INFERENCE)
def test_methods_are_described(method):
    entry = INFERENCE[method]
    assert isinstance(entry, Method)
    assert entry.summary
    assert "\n" not in entry.summary
    assert "seed" not in entry.options
    assert entry.infer_fn.__doc__
    assert INFERENCE.find(method) is entry


@pytest.mark.parametrize("method", INFERENCE)
def test_a_seed_gives_the_same_on_any_number_of_threads(method):
    kind = ("features", "uniform") if is_supported(method, "features", "uniform") else ("per_state", "normal")
    problem = make_problem(*kind)
    demonstrations = [
        Demonstration.annotation(*map(int, np.argwhere(problem.mdp.available & problem.queryable[:, None])[0]))
    ]
    runs = [infer(problem, demonstrations, method, seed=5, num_threads=n, **SMALL[method]) for n in (1, 2)]
    np.testing.assert_array_equal(runs[0].theta, runs[1].theta)
    np.testing.assert_array_equal(runs[0].weights, runs[1].weights)


def test_unknown_methods_and_options_get_a_suggestion():
    problem = make_world("jail", 0).problem
    with pytest.raises(
        InputError, match=r"an inference method must be one that exists, got 'policywlak'. Did you mean 'policywalk"
    ):
        infer(problem, (), "policywlak")
    with pytest.raises(InputError, match="Choose from: enumerate, policywalk, valuewalk, smc"):
        infer(problem, (), "magic")
    with pytest.raises(InputError, match=r"must get options it knows, got 'num_draw'. Did you mean 'num_draws'"):
        infer(problem, (), "policywalk", num_draw=10)
    with pytest.raises(InputError, match="It has: num_points"):
        infer(problem, (), "enumerate", chains=4)


def test_a_world_is_no_problem():
    with pytest.raises(InputError, match=r"problem must be a Problem, got World. A World has one: world.problem"):
        infer(make_world("jail", 0), ())


@pytest.mark.parametrize("method", INFERENCE)
@pytest.mark.parametrize(
    ("demonstrations", "message"),
    [
        ([Demonstration.annotation(36, 0)], "states 0..35"),
        ([Demonstration.annotation(3, 5)], "actions 0..4"),
        ([Demonstration.annotation(0, 1)], "not act in terminal states"),
        ([(3, 1)], "must be Demonstration records"),
        (7, "must be Demonstration records"),
    ],
)
def test_bad_demonstrations_are_refused_before_any_work(method, demonstrations, message, monkeypatch):
    monkeypatch.setattr(Method, "__getattribute__", no_work)
    with pytest.raises(InputError, match=message):
        infer(make_world("jail", 0).problem, demonstrations, method)


def no_work(self, name):
    assert name != "infer_fn", "work was begun"
    return object.__getattribute__(self, name)


@pytest.mark.parametrize("method", INFERENCE)
def test_unavailable_actions_are_refused(method):
    problem = make_problem("features", "normal")
    wrong = np.argwhere(~problem.mdp.available & problem.queryable[:, None])
    if not len(wrong):
        wrong = np.argwhere(~problem.mdp.available)
    with pytest.raises(InputError, match="use available actions"):
        infer(problem, Demonstration.annotation(*map(int, wrong[0])), method)


@pytest.mark.parametrize(
    ("options", "message"), [({"seed": -1}, "seed"), ({"seed": 0.5}, "seed"), ({"num_threads": 0}, "num_threads")]
)
def test_wrong_shared_options_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        infer(make_world("jail", 0).problem, (), "enumerate", **options)


def test_a_prior_of_the_wrong_length_is_refused():
    problem = make_world("jail", 0).problem
    with pytest.raises(InputError, match=r"as many parameters as the reward model \(3\), got 4"):
        Problem(problem.mdp, problem.reward_model, Normal(4), problem.beta)
