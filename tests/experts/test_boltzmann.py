"""Boltzmann experts of whom not everything is known: lapses, priors, soft values, annotators."""

from dataclasses import replace

import numpy as np
import pytest
from experts.outside import Forgetful
from scipy.special import softmax

from journeyman.demonstrations import Demonstration
from journeyman.errors import InputError, UnsupportedError
from journeyman.experts import Beta, Boltzmann, ExpertSpace, LogNormal, SimulatedExpert, as_expert_model, known_beta
from journeyman.experts.priors import Uniform
from journeyman.mdp.soft import solve_soft
from journeyman.problem import beta_of
from journeyman.testing import check_expert_model
from journeyman.worlds import make_world

BETA, LAPSE, PEOPLE = LogNormal(4.0, 0.7), Beta(1.0, 9.0), ("anna", "ben")
MODELS = [
    Boltzmann(3.0, 0.1),
    Boltzmann(BETA),
    Boltzmann(BETA, LAPSE),
    Boltzmann(3.0, LAPSE),
    Boltzmann(BETA, 0.2, values="soft"),
    Boltzmann(Uniform(1.0, 4.0), LAPSE, annotators=PEOPLE),
    Forgetful(),
]


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_models_keep_the_contract(model):
    check_expert_model(model)


def test_a_wrong_slope_in_a_parameter_is_found():
    class Wrong(Forgetful):
        def parameter_slopes(self, q, gradient, parameters):
            return 2.0 * super().parameter_slopes(q, gradient, parameters)

    with pytest.raises(AssertionError, match="parameter_slopes must be the slope of log_policy in lapse, got"):
        check_expert_model(Wrong())


def test_a_model_with_priors_must_have_what_belongs_to_them():
    class Half(Forgetful):
        with_parameters = None

    with pytest.raises(InputError, match=r"got Half without with_parameters\. Add what is missing"):
        as_expert_model(Half())


def test_a_lapse_is_any_available_action():
    q = np.array([1.0, 0.5, -np.inf, 0.0])
    careful = np.append(softmax(2.0 * q[[0, 1, 3]]), 0.0)[[0, 1, 3, 2]]
    expected = 0.7 * careful + 0.3 / 3.0 * np.array([1, 1, 0, 1])
    np.testing.assert_allclose(np.exp(Boltzmann(2.0, 0.3).log_policy(q)), expected, rtol=1e-14)
    unknown = Boltzmann(BETA, LAPSE).log_policy(q, np.array([2.0, 0.3]))
    np.testing.assert_allclose(np.exp(unknown), expected, rtol=1e-14)


def test_what_is_unknown_must_be_given():
    with pytest.raises(InputError, match="this expert must be given its beta and lapse, got nothing"):
        Boltzmann(BETA, LAPSE).log_policy(np.zeros(3))
    assert Boltzmann(BETA, LAPSE).with_parameters([2.0, 0.3]) == Boltzmann(2.0, 0.3)
    assert Boltzmann(3.0, LAPSE, "soft").with_parameters([0.3]) == Boltzmann(3.0, 0.3, "soft")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"beta": LogNormal(4.0, 1.0), "lapse": 1.0}, r"lapse must be a chance below 1, got 1\.0"),
        ({"beta": 4.0, "lapse": LogNormal(1.0, 1.0)}, "the prior of lapse must lie between 0 and 1, got log-normal"),
        ({"beta": Uniform(-1.0, 2.0)}, "the prior of beta must lie above 0, got uniform between -1 and 2"),
        ({"beta": 0.0, "values": "soft"}, "beta must be above 0 for soft values"),
        ({"beta": 4.0, "values": "hard"}, "values must be one of optimal, soft, got 'hard'"),
        ({"beta": 4.0, "annotators": PEOPLE}, "annotators must have something of their own, got anna, ben with beta"),
        ({"beta": BETA, "annotators": ("anna", "anna")}, r"annotators must be different names, got \['anna', 'anna'\]"),
        ({"beta": BETA, "annotators": "anna"}, "annotators must be a list of names, got 'anna'"),
    ],
)
def test_what_makes_no_expert_is_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        Boltzmann(**arguments)


def test_only_a_plain_expert_has_a_known_beta():
    assert known_beta(Boltzmann(3.0)) == 3.0
    assert all(known_beta(model) is None for model in MODELS)
    problem = replace(make_world("jail").problem, expert=Boltzmann(BETA))
    assert beta_of(problem) is None
    with pytest.raises(UnsupportedError, match=r"beta must be known here, got a prior \(log-normal, median 4"):
        problem.beta  # noqa: B018
    with pytest.raises(InputError, match=r"Write Boltzmann\(beta=LogNormal"):
        replace(problem, expert=BETA)


def test_assumptions_say_what_is_not_known():
    text = Boltzmann(BETA, LAPSE, "soft", PEOPLE).assumption()
    for part in ("unknown beta (log-normal, median 4", "soft values", "unknown chance (Beta(1, 9)", "anna, ben want"):
        assert part in text
    assert Boltzmann(BETA).variants() == Boltzmann(2.0, values="soft").variants() == ()
    assert Boltzmann(2.0, LAPSE).variants()[0] == ("beta = 1", Boltzmann(1.0, LAPSE))


def test_each_annotator_has_parameters_of_their_own():
    space = ExpertSpace(Boltzmann(BETA, LAPSE, annotators=PEOPLE))
    assert space.names == ("beta of anna", "lapse of anna", "beta of ben", "lapse of ben")
    parameters = np.arange(8.0).reshape(2, 4)
    assert space.of_group(parameters, 1).tolist() == [[2.0, 3.0], [6.0, 7.0]]
    draws = space.sample(np.random.default_rng(0), 4000)
    np.testing.assert_allclose(np.log(draws[:, [0, 2]]).mean(axis=0), np.log(4.0), atol=6 * 0.7 / np.sqrt(4000))
    np.testing.assert_allclose(draws[:, [1, 3]].mean(axis=0), 0.1, atol=6 * 0.09 / np.sqrt(4000))
    assert ExpertSpace(Boltzmann(3.0)).size == 0


def test_every_answer_must_say_whose_it_is():
    problem = replace(make_world("jail").problem, expert=Boltzmann(BETA, annotators=PEOPLE))
    state = int(np.flatnonzero(problem.queryable)[0])
    answers = [Demonstration.annotation(state, 0, annotator=name) for name in ("anna", "ben", "ben")]
    counts = problem.counts(answers)
    assert counts.shape == problem.counts_shape == (2, *problem.mdp.available.shape)
    assert counts[:, state, 0].tolist() == [1, 2]
    with pytest.raises(InputError, match=r"must be by one of the annotators anna, ben, .* got an answer that does not"):
        problem.counts(Demonstration.annotation(state, 0))
    with pytest.raises(InputError, match=r"got 'carl'\. Name the annotator .*, or add the name"):
        problem.counts(Demonstration.annotation(state, 0, annotator="carl"))


def test_a_simulated_expert_knows_itself():
    world = make_world("jail")
    model = Boltzmann(BETA, LAPSE, annotators=PEOPLE)
    with pytest.raises(InputError, match="a simulated expert must know itself: parameters must be beta of anna"):
        SimulatedExpert(world.problem.mdp, world.reward, model)
    expert = SimulatedExpert(world.problem.mdp, world.reward, model, parameters=[2.0, 0.3, 8.0, 0.01])
    each = [SimulatedExpert(world.problem.mdp, world.reward, Boltzmann(*own)) for own in ((2.0, 0.3), (8.0, 0.01))]
    np.testing.assert_allclose(expert.policy, (each[0].policy + each[1].policy) / 2.0, rtol=1e-12)
    state = int(np.flatnonzero(world.problem.queryable)[0])
    answers = expert.answers([state] * 600)
    for name, one in zip(PEOPLE, each, strict=True):
        actions = [answer.steps[0][1] for answer in answers if answer.annotator == name]
        assert 220 < len(actions) < 380  # 6.5 standard deviations of Binomial(600, 1/2)
        shares = np.bincount(actions, minlength=world.problem.mdp.num_actions) / len(actions)
        np.testing.assert_allclose(shares, one.policy[state], atol=5 * 0.5 / np.sqrt(len(actions)))


def test_a_soft_expert_acts_on_soft_values():
    world = make_world("jail")
    mdp, model = world.problem.mdp, Boltzmann(0.05, values="soft")
    expert = SimulatedExpert(mdp, world.reward, model)
    soft = solve_soft(mdp, world.reward[None], [0.05])[0]
    gain = soft - expert.values
    assert (gain[~mdp.terminal] > 0.0).all()  # a bonus for choice
    reward = world.reward if world.reward.ndim == 2 else world.reward[:, None]
    q = reward + mdp.discount * (mdp.transition_matrix @ soft).reshape(mdp.available.shape)
    np.testing.assert_allclose(expert.policy, softmax(np.where(mdp.available, 0.05 * q, -np.inf), axis=1), rtol=1e-8)


def test_worlds_draw_what_is_unknown_about_their_expert():
    world = make_world("jail", 3)
    unknown = replace(world, problem=replace(world.problem, expert=Boltzmann(BETA)))
    assert unknown.expert.models[0] == Boltzmann(float(unknown.expert_parameters[0]))
    given = replace(unknown, true_expert_parameters=np.array([1.5]))
    assert given.expert.models[0] == Boltzmann(1.5)
