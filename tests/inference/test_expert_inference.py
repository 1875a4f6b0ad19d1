"""What is not known of the expert is inferred with the reward: every exact method against a sum over a fine grid."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from calibration.problems import choice_problem, normal_prior
from experts.outside import Forgetful
from rewards.outside import Laplace
from scipy.special import logsumexp, ndtri

from journeyman.demonstrations import Demonstration
from journeyman.errors import UnsupportedError
from journeyman.experts import Beta, Boltzmann, ExpertSpace, LogNormal, SimulatedExpert
from journeyman.inference import INFERENCE, infer, particles as particles_module, smc
from journeyman.inference.likelihood import expert_values, log_likelihoods
from journeyman.inference.posterior import pooled_chains
from journeyman.mdp import FiniteMDP, solve_batch
from journeyman.problem import Problem
from journeyman.rewards import Discrete, LinearFeatures, Normal, PerState
from journeyman.worlds import make_world

BETA, LAPSE, PEOPLE = LogNormal(2.0, 0.7), Beta(1.0, 4.0), ("anna", "ben")
EXPERTS = {
    "beta": Boltzmann(BETA),
    "beta and lapse": Boltzmann(BETA, LAPSE),
    "known lapse": Boltzmann(2.0, 0.2),
    "soft": Boltzmann(BETA, values="soft"),
    "two people": Boltzmann(BETA, annotators=PEOPLE),
    "from outside": Forgetful(2.0, LAPSE),
}
OPTIONS = {
    "enumerate": {"num_points": 4096},
    "smc": {"num_particles": 2000},
    "policywalk": {"sampler": "hmc", "num_warmup": 200, "num_draws": 750},
}
SLOW_OPTIONS = {"sampler": "hmc", "num_chains": 2, "num_warmup": 60, "num_draws": 150}  # plain NumPy
NODES = 41  # of the grid, in each dimension


def two_states():
    """Two states, three actions, one parameter: what the first action is worth, of which state 1 pays half."""
    mdp = FiniteMDP.from_function(
        lambda state, action: [(0.8, 1 - state), (0.2, state)] if action == 0 else [(1.0, state)],
        num_states=2,
        num_actions=3,
        discount=0.6,
    )
    features = np.zeros((2, 3, 1))
    features[0, 0, 0], features[1, 0, 0] = 1.0, 0.5
    offset = np.array([[0.0, 0.2, 0.4], [0.3, 0.0, 0.1]])
    return mdp, LinearFeatures(features, mdp, offset=offset, names=("worth",))


def made_problem(expert):
    mdp, model = two_states()
    return Problem(mdp, model, Normal(1, 0.5, 1.0), expert)


def answers_of(problem, size=30):
    """Answers of an expert whose unknown parameters are medians of their priors."""
    own = problem.expert_space.natural(np.zeros(problem.expert_space.size))
    expert = SimulatedExpert(problem.mdp, problem.reward_model.reward(np.array([1.0])), problem.expert, parameters=own)
    return expert.answers(np.random.default_rng(0).integers(2, size=size))


def by_grid(problem, counts):
    """Return log evidence, and means and standard deviations of all that is unknown, by quadrature in quantiles.

    A grid of midpoints in each dimension: smooth here, since no policy switch carries weight, to about 1 / NODES^2.
    """
    unit = (np.arange(NODES) + 0.5) / NODES
    z = np.array(list(itertools.product(ndtri(unit), repeat=problem.num_unknowns)))
    theta = problem.prior.from_unconstrained(problem.split(z)[0])
    own = problem.expert_space.natural(problem.split(z)[1])
    rewards = problem.reward_model.reward(theta)
    values = solve_batch(problem.mdp, rewards).values
    if getattr(problem.expert, "values", "optimal") == "soft":
        values = expert_values(problem, rewards, own)
    log_likelihood = log_likelihoods(problem, counts, rewards, values, own)
    evidence = logsumexp(log_likelihood) - np.log(len(z))
    weights = np.exp(log_likelihood - logsumexp(log_likelihood))
    unknowns = np.concatenate([theta, own], axis=1)
    mean = weights @ unknowns
    return evidence, mean, np.sqrt(weights @ (unknowns - mean) ** 2)


def moments(posterior):
    unknowns = np.concatenate([posterior.theta, posterior.expert_parameters], axis=1)
    mean = posterior.weights @ unknowns
    return mean, np.sqrt(posterior.weights @ (unknowns - mean) ** 2)


def kurtosis(posterior):
    """Return the fourth central moment of each unknown, in units of its variance squared."""
    unknowns = np.concatenate([posterior.theta, posterior.expert_parameters], axis=1)
    mean, std = moments(posterior)
    return posterior.weights @ ((unknowns - mean) / std) ** 4


@pytest.mark.parametrize("name", EXPERTS)
def test_enumerate_is_the_sum_over_a_grid(name):
    problem = made_problem(EXPERTS[name])
    answers = answers_of(problem)
    posterior = infer(problem, answers, "enumerate", num_points=2**13)
    evidence, mean, std = by_grid(problem, problem.counts(answers))
    found, spread = moments(posterior)
    assert posterior.log_evidence == pytest.approx(evidence, abs=0.01)
    assert (np.abs(found - mean) <= 0.02 * std).all()
    np.testing.assert_allclose(spread, std, rtol=0.03)  # the grid cuts the tails off at quantile 1 / 82


LONG = {("smc", "soft"), ("policywalk", "soft")}
SAMPLED = [
    pytest.param(*pair, marks=pytest.mark.slow if pair in LONG else ())
    for pair in itertools.product(("smc", "policywalk"), EXPERTS)
]


@pytest.mark.parametrize(("method", "name"), SAMPLED)
def test_samplers_agree_with_enumeration(method, name):
    problem = made_problem(EXPERTS[name])
    answers = answers_of(problem)
    exact = infer(problem, answers, "enumerate", num_points=2**13)
    options = SLOW_OPTIONS if (method, name) == ("policywalk", "from outside") else OPTIONS[method]
    found = infer(problem, answers, method, seed=1, num_threads=1, **options)
    (mean, std), (ours, spread) = moments(exact), moments(found)
    size = 250.0  # 2000 particles of 250 ancestors
    if method != "smc":
        size = min(found.diagnostics.ess_bulk, found.diagnostics.ess_tail)
    assert (np.abs(ours - mean) <= 5.0 * std / np.sqrt(size)).all()
    # The relative error of a standard deviation is sqrt((kurtosis - 1) / (4 size)): that of beta is up to 20 here.
    assert (np.abs(spread - std) <= 5.0 * std * np.sqrt((kurtosis(exact) - 1.0) / (4.0 * size))).all()
    if found.log_evidence is not None:
        assert found.log_evidence == pytest.approx(exact.log_evidence, abs=0.3)
    np.testing.assert_allclose(found.predictive_policy(), exact.predictive_policy(), atol=2.5 / np.sqrt(size))
    assert found.log_likelihoods() @ found.weights == pytest.approx(
        exact.log_likelihoods() @ exact.weights, abs=5.0 * 1.5 / np.sqrt(size)
    )


@pytest.mark.parametrize("name", EXPERTS)
def test_one_answer_after_the_other_gives_what_all_at_once_do(name):
    problem = made_problem(EXPERTS[name])
    answers = answers_of(problem, 20)
    particles = smc.start(problem, seed=2, num_threads=1, num_particles=1000)
    for answer in answers:
        particles = smc.update(particles, answer, num_threads=1)
    step_by_step = smc.posterior_of(particles)
    mean, std = moments(infer(problem, answers, "enumerate", num_points=4096))
    assert (np.abs(moments(step_by_step)[0] - mean) <= 5.0 * std / np.sqrt(125.0)).all()
    snapshot = smc.to_snapshot(particles)
    again = smc.from_snapshot(problem, snapshot, seed=2, num_particles=1000)
    later, unbroken = (smc.update(one, answers[0], num_threads=1) for one in (again, particles))
    np.testing.assert_array_equal(later.positions, unbroken.positions)
    np.testing.assert_array_equal(later.log_weights, unbroken.log_weights)
    removed = smc.remove(particles, answers[-1], num_threads=1)
    np.testing.assert_array_equal(removed.counts, problem.counts(answers[:-1]))


def always_worth_it(monkeypatch, max_explained):
    """Let only what the reward explains decide whether trajectories hold the expert's parameters."""
    for name, value in (("MAX_EXPLAINED", max_explained), ("MIN_SPREAD", 0.0), ("MIN_LEAPFROG", 0.0)):
        monkeypatch.setattr(particles_module, name, value)


@pytest.mark.parametrize("max_explained", [-1.0, 2.0])
@pytest.mark.parametrize("name", ["beta and lapse", "soft", "two people"])
def test_it_does_not_matter_whether_trajectories_hold_the_expert(name, max_explained, monkeypatch):
    """Never or always held: means over 10 independent runs of 300 particles are those of enumeration."""
    always_worth_it(monkeypatch, max_explained)
    problem = made_problem(EXPERTS[name])
    answers = answers_of(problem)
    mean, std = moments(infer(problem, answers, "enumerate", num_points=2**13))
    runs = [moments(infer(problem, answers, seed=seed, num_threads=1, num_particles=300)) for seed in range(10)]
    means, spreads = (np.array([run[part] for run in runs]) for part in (0, 1))
    error = means.std(axis=0, ddof=1) / np.sqrt(len(runs))
    assert (error < 0.1 * std).all()
    assert (np.abs(means.mean(axis=0) - mean) <= 4.5 * error + 0.02 * std).all()
    np.testing.assert_allclose(spreads.mean(axis=0), std, rtol=0.1)


def test_held_parameters_move_between_trajectories_only(monkeypatch):
    """Without shifts what is held stays; with them it moves, and steps are longer where beta is smaller."""
    problem = made_problem(EXPERTS["beta"])
    answers = answers_of(problem)
    always_worth_it(monkeypatch, 2.0)
    particles = smc.update(smc.start(problem, seed=0, num_threads=1, num_particles=300), answers, num_threads=1)
    target, rng = particles.target.with_counts(particles.counts), np.random.default_rng(0)
    settled = particles_module.settle(rng, particles, target, particles.log_weights, 30, 1)
    held = settled.chains._replace(widths=np.zeros(1))
    moved = particles_module.move(rng, held, settled.step, settled.num_leapfrog, 2)
    np.testing.assert_array_equal(moved.kept[0][:, -1, 1], held.positions[:, 1])
    assert (moved.kept[0][:, -1, 0] != held.positions[:, 0]).mean() > 0.5
    free = particles_module.move(rng, settled.chains, settled.step, settled.num_leapfrog, 2)
    assert (free.kept[0][:, -1, 1] != held.positions[:, 1]).mean() > 0.5
    work = settled.chains.target.new_work()
    for z in (-1.0, 0.0, 1.0):
        settled.chains.target.log_density_and_gradient(np.array([0.3, z]), work)
        beta = float(problem.expert_space.natural(np.array([z]))[0])
        usual = settled.chains.target.model.usual_beta
        assert work.pace[0] == pytest.approx(np.clip(usual / beta, 0.5, 2.0))


def test_soft_posteriors_have_optimal_values_as_well():
    problem = made_problem(EXPERTS["soft"])
    posterior = infer(problem, answers_of(problem), "smc", num_threads=1, num_particles=200)
    solution = solve_batch(problem.mdp, posterior.rewards)
    np.testing.assert_allclose(posterior.values, solution.values, rtol=1e-9)
    soft = expert_values(problem, posterior.rewards, posterior.expert_parameters)
    np.testing.assert_allclose(posterior.expert_values, soft, rtol=1e-7)
    half = posterior.resample(np.random.default_rng(0), 50)
    assert half.expert_values.shape == (50, 1, 2) and half.expert_parameters.shape == (50, 1)


def test_what_is_known_of_the_expert_is_summed_up():
    problem = made_problem(EXPERTS["two people"])
    posterior = infer(problem, answers_of(problem), "enumerate", num_points=1024)
    known = posterior.expert_knowledge(0.9)
    assert list(known) == ["beta of anna", "beta of ben"]
    for (mean, low, high), draws in zip(known.values(), posterior.expert_parameters.T, strict=True):
        assert low < mean < high
        assert posterior.weights @ ((draws >= low) & (draws <= high)) == pytest.approx(0.9, abs=0.01)
    assert infer(made_problem(2.0), (), "enumerate", num_points=64).expert_knowledge() == {}


def test_predictions_are_those_of_each_samples_own_expert():
    for name in ("beta and lapse", "two people", "soft"):
        problem = made_problem(EXPERTS[name])
        posterior = infer(problem, answers_of(problem), "smc", num_threads=1, num_particles=200)
        chances = posterior.expert_policies()
        for sample in (0, 7, 123):
            expert = SimulatedExpert(
                problem.mdp, posterior.rewards[sample], problem.expert, parameters=posterior.expert_parameters[sample]
            )
            np.testing.assert_allclose(chances[sample], expert.policy, rtol=1e-6)
            one = posterior.expert_at(sample, "ben" if name == "two people" else None)
            assert ExpertSpace(one).size == 0
        if name == "two people":
            each = [posterior.predictive_policy(annotator) for annotator in PEOPLE]
            np.testing.assert_allclose(posterior.predictive_policy(), np.mean(each, axis=0), rtol=1e-9)


def test_annotators_are_told_apart():
    """One answers well and one at random: their betas differ, though both want the same."""
    problem = made_problem(EXPERTS["two people"])
    rng = np.random.default_rng(5)
    answers = [Demonstration.annotation(0, 0, annotator="anna") for _ in range(40)]
    answers += [
        Demonstration.annotation(int(rng.integers(2)), int(rng.integers(3)), annotator="ben") for _ in range(40)
    ]
    posterior = infer(problem, answers, "smc", num_threads=1)
    anna, ben = posterior.mean(posterior.expert_parameters)
    assert anna > 2.0 * ben
    assert posterior.counts.sum() == 80 and posterior.answers.shape == (2, 2, 3)
    pooled = pooled_chains(
        [infer(problem, answers, "policywalk", seed=s, num_threads=1, **OPTIONS["policywalk"]) for s in (0, 1)]
    )
    assert pooled.expert_parameters.shape == (pooled.num_samples, 2)


@pytest.mark.parametrize("method", INFERENCE)
@pytest.mark.parametrize("name", [name for name in EXPERTS if name != "from outside"])
def test_each_method_can_or_says_why_not(method, name):
    base = choice_problem(normal_prior())
    problem = replace(base, expert=EXPERTS[name])
    reason = INFERENCE[method].refusal_fn(problem)
    if method in ("smc", "policywalk"):
        assert reason is None
    elif method == "enumerate":
        assert (reason is None) == (problem.num_unknowns <= 3 + (problem.expert_space.size > 0))
    else:
        assert reason is not None and method in reason
        with pytest.raises(UnsupportedError):
            infer(problem, (), method)


def test_valuewalk_and_variational_name_what_they_cannot_do():
    mdp, _ = two_states()
    for method in ("valuewalk", "variational"):
        problem = Problem(mdp, PerState(mdp), Normal(2, 0.0, 1.0), Boltzmann(BETA, 0.1, "soft"))
        reason = INFERENCE[method].refusal_fn(problem)
        assert f"{method} needs a Boltzmann expert with a known beta" in reason
        assert "beta is unknown, there are lapses, values are soft" in reason


@pytest.mark.parametrize("method", ["smc", "policywalk"])
def test_soft_values_need_a_prior_that_compiled_code_knows(method):
    mdp, model = two_states()
    problem = Problem(mdp, model, Laplace(1), EXPERTS["soft"])
    message = (
        f"{method} needs a Normal, Uniform or MultivariateNormal prior for an expert with soft values, got Laplace"
    )
    with pytest.raises(UnsupportedError, match=message):
        infer(problem, (), method)
    assert infer(problem, (), "enumerate", num_points=64).expert_parameters.shape == (64, 1)


@pytest.mark.parametrize("method", ["enumerate", "smc"])
def test_atoms_need_an_expert_whose_all_is_known(method):
    problem = replace(choice_problem(), expert=Boltzmann(BETA, LAPSE))
    with pytest.raises(UnsupportedError, match=r"got unknown beta, lapse\. Give these as numbers"):
        infer(problem, (), method)
    with pytest.raises(UnsupportedError, match="got unknown beta, lapse"):
        smc.start(problem)


def test_atoms_with_a_known_soft_or_lapsing_expert_are_exact():
    mdp, model = two_states()
    atoms = Discrete(np.linspace(-1.0, 2.0, 40)[:, None])
    answers = [Demonstration.annotation(0, 0), Demonstration.annotation(1, 1), Demonstration.annotation(0, 2)]
    plain = infer(Problem(mdp, model, atoms, 2.0), answers, "enumerate")
    for expert in (Boltzmann(2.0, values="soft"), Boltzmann(2.0, 0.2)):
        problem = Problem(mdp, model, atoms, expert)
        ours, theirs = (infer(problem, answers, method) for method in ("enumerate", "smc"))
        np.testing.assert_allclose(ours.weights, theirs.weights, rtol=1e-8)
        assert ours.log_evidence == pytest.approx(theirs.log_evidence, abs=1e-8)
        assert np.abs(ours.weights - plain.weights).max() > 1e-4


def test_enumerate_does_the_jail_with_one_more_dimension():
    """Three rewards and beta, against long particles."""
    world = make_world("jail", 3)
    problem = replace(world.problem, expert=Boltzmann(LogNormal(4.0, 0.7)))
    states = np.flatnonzero(world.problem.queryable)[::3]
    answers = world.expert.answers(states)
    exact = infer(problem, answers, "enumerate", num_threads=1)
    drawn = infer(problem, answers, "smc", seed=1, num_threads=1, num_particles=4000)
    gap = (exact.mean_parameters() - drawn.mean_parameters()) / exact.parameter_std()
    assert np.abs(gap).max() < 0.15
    beta = [float(found.mean(np.log(found.expert_parameters[:, 0]))) for found in (exact, drawn)]
    assert abs(beta[0] - beta[1]) < 0.1
    assert abs(exact.log_evidence - drawn.log_evidence) < 4.0 * (drawn.log_evidence_error + exact.log_evidence_error)
