import numpy as np
import pytest

from journeyman.experts import Boltzmann
from journeyman.mdp import FiniteMDP
from journeyman.report.drawing.marks import describe_expert, describe_initial
from journeyman.rewards import Discrete, MultivariateNormal, Normal, Uniform
from journeyman.wording import about_chance, bound_words, chance_words, counted, listed, percent, signed_number


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (100.0, "+100"),
        (-1.0, "-1"),
        (0.0, "0"),
        (-0.0, "0"),
        (-78.771, "-78.8"),
        (4.998, "+5.00"),
        (0.002, "+0.00"),
        (-0.42, "-0.42"),
        (-123.4, "-123"),
        (1234567.0, "+1e6"),
        (-1e-300, "-0.00"),
        (3e120, "+3e120"),
        (np.inf, "+inf"),
        (-np.inf, "-inf"),
        (np.nan, "?"),
    ],
)
def test_signed_number(value, text):
    assert signed_number(value) == text


@pytest.mark.parametrize(
    ("chance", "text"),
    [(0.0, "0 %"), (0.001, "< 1 %"), (0.5, "50 %"), (0.994, "99 %"), (0.999, "> 99 %"), (1.0, "100 %")],
)
def test_percent_never_rounds_to_certainty(chance, text):
    assert percent(chance) == text


@pytest.mark.parametrize(
    ("chance", "limit", "estimate", "bound"),
    [
        (2.69e-7, 0.1, "below 0.1 %", "0.1 %"),
        (0.0009, 1.0, "below 0.1 %", "0.1 %"),
        (0.001, 0.1, "about 0.1 %", "0.1 %"),
        (0.0406, 0.1, "about 4.06 %", "4.06 %"),
        (0.0, 0.1, "about 0 %", "0 %"),
        (0.0002, 0.0005, "about 0.02 %", "0.02 %"),  # the limit has to be told from it
    ],
)
def test_small_chances_are_told_apart_from_small_limits_only(chance, limit, estimate, bound):
    assert about_chance(chance, limit) == estimate and bound_words(chance, limit) == bound
    assert chance_words(chance, limit) == estimate.removeprefix("about ")


def test_rounding_error_is_not_doubt():
    assert percent(1.0 - 1e-16) == "100 %"
    assert percent(1.0 + 1e-15) == "100 %"


@pytest.mark.parametrize(
    ("prior", "text"),
    [
        (Normal(4, 0.0, 3.0), "normal, mean 0, sd 3"),
        (Normal(2, [0.0, 1.5], 3.0), "normal, mean 0 to 1.5, sd 3"),
        (Uniform(3, -100.0, 0.0), "uniform, -100 to 0"),
        (MultivariateNormal([0.0, 0.0], [[2.0, 1.0], [1.0, 2.0]]), "normal, correlated"),
        (Discrete(np.array([[1.0], [2.0]])), "2 equally likely atoms"),
        (Discrete(np.array([[1.0], [2.0]]), np.array([0.25, 0.75])), "2 atoms, 25 to 75 %"),
    ],
)
def test_prior_in_words(prior, text):
    assert prior.describe() == text


def one_step_mdp(initial):
    num_states = len(initial)
    return FiniteMDP.from_dense(
        np.zeros((num_states, 2, num_states)), layout="SAS", discount=0.9, initial=np.array(initial)
    )


@pytest.mark.parametrize(
    ("initial", "text"),
    [
        ([0.5, 0.5], "any state, equally likely"),
        ([0.2, 0.8], "any state, some more likely than others"),
        ([0.0, 1.0], "state 1"),
        ([1.0], "state 0"),
        ([0.5, 0.0, 0.5], "states 0 and 2, equally likely"),
        ([0.2] * 5 + [0.0], "5 of 6 states, equally likely"),
    ],
)
def test_initial_states_in_words(initial, text):
    assert describe_initial(one_step_mdp(initial)) == text


def test_beta_in_words():
    text = describe_expert(Boltzmann(2.0), np.array([0.5, 0.9, np.nan]))
    assert "70 % of the time on average over 2 states, 50 % where it is least sure" in text
    assert "worth 0.35 less is taken half as often" in text  # log(2) / 2
    assert "least sure" not in describe_expert(Boltzmann(2.0), np.array([0.7, 0.7]))
    assert "in its only state" in describe_expert(Boltzmann(2.0), np.array([0.7]))
    assert "every state is terminal" in describe_expert(Boltzmann(2.0), np.array([np.nan]))


def test_lists_and_counts():
    assert listed(["a"]) == "a"
    assert listed(["a", "b"]) == "a and b"
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert counted(1, "state") == "1 state"
    assert counted(2, "state") == "2 states"
