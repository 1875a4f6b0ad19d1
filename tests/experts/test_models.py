"""Expert models: ours and one from outside keep the contract that `journeyman.testing` checks."""

from dataclasses import dataclass

import numpy as np
import pytest
from experts.outside import Lapsing

from journeyman.errors import InputError, UnsupportedError
from journeyman.experts import EXPERTS, Boltzmann, ExpertModel, as_expert_model
from journeyman.problem import Problem
from journeyman.testing import check_expert_model
from journeyman.worlds import make_world


@pytest.mark.parametrize("model", [*(known(2.0) for known in EXPERTS.values()), Boltzmann(0.0), Lapsing()], ids=repr)
def test_models_keep_the_contract(model):
    assert isinstance(model, ExpertModel)
    check_expert_model(model)


def test_a_wrong_slope_is_found():
    @dataclass(frozen=True)
    class Wrong(Lapsing):
        def pull_back(self, q, gradient):
            return Boltzmann(self.beta).pull_back(q, gradient)

    with pytest.raises(AssertionError, match=r"^pull_back must be the slope of log_policy, got .* instead of [-\d.]+$"):
        check_expert_model(Wrong())


def test_each_part_that_is_wrong_is_named_in_one_line():
    class NoTotal(Lapsing):
        def log_policy(self, q):
            return super().log_policy(q) - 0.5

    class Shifting(Lapsing):
        def log_policy(self, q):
            return Boltzmann(abs(q.flat[0])).log_policy(q)

    class Flat(Lapsing):
        def log_policy(self, q):
            return super().log_policy(q).reshape(-1, q.shape[-1]) if q.ndim == 1 else super().log_policy(q)

    class Forgetful(Lapsing):
        @classmethod
        def from_record(cls, record):
            return cls(lapse=0.5)

    parts = {
        NoTotal: "^chances of log_policy must sum to one, got 0.60653066 instead of 1$",
        Shifting: "^log_policy must not change when all values are shifted, got",
        Flat: r"^log_policy must take values \[A\] of one state, got shape \(1, 4\) instead of \(4,\)$",
        Forgetful: r"^from_record\(to_record\(\)\) must give the same model, got",
        dict: "^dict lacks log_policy, pull_back, assumption, variants, to_record, from_record$",
    }
    for cls, message in parts.items():
        with pytest.raises(AssertionError, match=message) as raised:
            check_expert_model(cls())
        assert "\n" not in str(raised.value)


def test_a_number_is_the_beta_of_a_boltzmann_expert():
    assert as_expert_model(3) == Boltzmann(3.0)
    model = Lapsing()
    assert as_expert_model(model) is model
    with pytest.raises(InputError, match="beta must be a number, got 'high'"):
        as_expert_model("high")
    with pytest.raises(InputError, match=r"got Lapsing, the class\. Make one of it"):
        as_expert_model(Lapsing)

    class Half:
        def log_policy(self, q):
            return q

    with pytest.raises(InputError, match="got Half without pull_back, assumption, variants, to_record, from_record"):
        as_expert_model(Half())


def test_only_a_boltzmann_expert_has_a_beta():
    problem = make_world("jail").problem
    other = Problem(problem.mdp, problem.reward_model, problem.prior, Lapsing())
    assert problem.beta == 4.0
    with pytest.raises(
        UnsupportedError, match=r"only a Boltzmann expert has a beta, got Lapsing\. Read problem\.expert"
    ):
        other.beta  # noqa: B018


def test_half_and_twice_beta_are_what_a_sceptic_would_try():
    assert Boltzmann(2.0).variants() == (("beta = 1", Boltzmann(1.0)), ("beta = 4", Boltzmann(4.0)))
    assert np.isfinite(Boltzmann(2.0).log_policy(np.zeros(3))).all()
