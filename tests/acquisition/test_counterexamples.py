"""The paper's counter-examples, with corrected numbers (docs/errata.md)."""

from dataclasses import replace

import numpy as np
import pytest
from acquisition.exact import reweighted

from journeyman.acquisition import score
from journeyman.apprentice import expected_return, most_likely_optimal, regrets
from journeyman.inference import infer
from journeyman.worlds import make_world

BITS = np.log(2.0)
EXACT = 1e-9


def prior_of(name, **options):
    world = make_world(name, **options)
    return infer(world.problem, (), "enumerate")


def binary_entropy(p):
    return -(p * np.log(p) + (1 - p) * np.log(1 - p))


class TestLopes:
    def test_policy_entropy_asks_where_the_best_action_is_known(self):
        scores = score(prior_of("lopes-two-state"), "policy_entropy", buckets=None)
        assert scores.values / BITS == pytest.approx([0.860, 1.000], abs=5e-4)  # three digits, as printed
        assert scores.best_state() == 1

    def test_ten_buckets_do_not_see_it(self):
        scores = score(prior_of("lopes-two-state"), "policy_entropy")
        assert scores.values[1] == 0.0

    @pytest.mark.parametrize("options", [{}, {"edges": (0, 1)}, {"occupancy": False}, {"components": "joint"}])
    def test_pac_eig_asks_where_it_is_not(self, options):
        scores = score(prior_of("lopes-two-state"), "pac_eig", **options)
        assert scores.best_state() == 0
        assert scores.values[0] > 0.01

    def test_nothing_to_learn_about_the_apprentice_in_s1(self):
        assert score(prior_of("lopes-two-state"), "pac_eig").values[1] == pytest.approx(0.0, abs=EXACT)


class TestBrown:
    gamma = 0.9

    def test_random_apprentice(self):
        uniform = np.full((2, 2), 0.5)
        values = score(prior_of("brown-two-state"), "active_var", tail=0.1, policy=uniform).values
        assert values == pytest.approx([2 + 10 * self.gamma, 10], abs=EXACT)

    def test_deterministic_apprentice(self):
        posterior = prior_of("brown-two-state")
        scores = score(posterior, "active_var", tail=0.1)
        assert scores.values == pytest.approx([4 + 20 * self.gamma, 20], abs=EXACT)
        assert scores.best_state() == 0

    def test_expected_regret_before_and_after(self):
        """6 + 5 gamma before (the paper prints 6 + 10 gamma), 5 + 5 gamma after s0 is known, 1 after s1 is."""
        posterior = prior_of("brown-two-state", beta=50.0)  # answers leave no doubt
        scores = score(posterior, "expected_regret")
        before = 6 + 5 * self.gamma
        assert scores.details["expected_regret"] == pytest.approx(before, abs=EXACT)
        assert before - scores.values == pytest.approx([5 + 5 * self.gamma, 1.0], abs=EXACT)
        assert scores.best_state() == 1
        known = score(posterior, "optimal_action_value").values
        assert known == pytest.approx(scores.values, abs=EXACT)

    @pytest.mark.parametrize(("beta", "expected"), [(1.0, (0.603, 0.693)), (2.0, (0.690, 0.693))])
    def test_unweighted_pac_eig_with_exact_zero(self, beta, expected):
        options = {"edges": (0, 1), "occupancy": False}
        posterior = prior_of("brown-two-state", beta=beta)
        for epsilon in (0.01, 1.0, 30.0, 300.0):
            values = score(posterior, "pac_eig", epsilon=epsilon, **options).values
            assert values == pytest.approx(expected, abs=5e-4)
            assert values[1] >= values[0]
        wrong = [1.0 / (1.0 + np.exp(beta * gap)) for gap in (4.0, 20.0)]
        assert values == pytest.approx([np.log(2) - binary_entropy(p) for p in wrong], abs=EXACT)

    def test_equal_only_without_noise(self):
        options = {"edges": (0, 1), "occupancy": False}
        values = score(prior_of("brown-two-state", beta=20.0), "pac_eig", **options).values
        assert values == pytest.approx([np.log(2)] * 2, abs=EXACT)

    def test_edges_drop_s0_once_its_regret_is_small(self):
        """A regret of 4 in s0 is below the first edge as soon as (1 - gamma) epsilon / 2 > 4."""
        posterior = prior_of("brown-two-state")
        for epsilon, is_dropped in ((79.0, False), (81.0, True)):
            values = score(posterior, "pac_eig", epsilon=epsilon, occupancy=False).values
            assert bool(abs(values[0]) < EXACT) is is_dropped
            assert values[1] > 0.69


class TestTrap:
    def test_regret_eig_is_blind_to_known_regret(self):
        posterior = prior_of("regret-eig-trap")
        assert regrets(posterior, expected_return(posterior)) == pytest.approx([50.0, 50.0])
        assert score(posterior, "regret_eig").values == pytest.approx([0.0], abs=EXACT)

    def test_with_the_other_apprentice_it_is_not(self):
        posterior = prior_of("regret-eig-trap")
        policy = most_likely_optimal(posterior)
        assert score(posterior, "regret_eig", policy=policy).values == pytest.approx([np.log(2)], abs=EXACT)

    @pytest.mark.parametrize("name", ["pac_eig", "ir_eig", "reward_eig"])
    def test_immediate_regret_sees_it(self, name):
        assert score(prior_of("regret-eig-trap"), name).values == pytest.approx([np.log(2)], abs=EXACT)

    def test_so_does_the_lookahead(self):
        values = score(prior_of("regret-eig-trap"), "expected_regret").values
        assert values == pytest.approx([50.0], abs=1e-6)  # the expert errs with chance exp(-50)


class TestJail:
    jail_cell = 30

    def posterior(self, num_demos=0):
        world = make_world("jail", 3)
        answers = world.expert.answers(np.full(num_demos, 23))
        return infer(world.problem, answers, "enumerate", num_points=512)

    @pytest.mark.parametrize("query", [{}, {"kind": "trajectory", "length": 20}])
    @pytest.mark.parametrize("num_demos", [0, 3])
    def test_action_entropy_asks_at_the_jail_for_ever(self, query, num_demos):
        scores = score(self.posterior(num_demos), "action_entropy", **query)
        assert scores.best_state() == self.jail_cell
        steps = query.get("length", 1)
        assert scores.values[self.jail_cell] == pytest.approx(steps * np.log(5), abs=1e-6)

    @pytest.mark.parametrize("name", ["reward_eig", "pac_eig", "expected_regret", "optimal_action_value", "regret_pac"])
    def test_others_know_that_it_tells_nothing(self, name):
        scores = score(self.posterior(), name)
        assert scores.values[self.jail_cell] == pytest.approx(0.0, abs=1e-6)
        assert scores.best_state() != self.jail_cell

    def test_action_entropy_asks_in_terminal_cells_where_it_may(self):
        posterior = self.posterior()
        goal = int(np.flatnonzero(posterior.problem.mdp.terminal)[0])
        queryable = posterior.problem.queryable.copy()
        queryable[[goal, self.jail_cell]] = [True, False]
        open_problem = replace(posterior.problem, queryable=queryable)
        opened = replace(posterior, problem=open_problem)
        assert score(opened, "action_entropy").best_state() == goal
        for name in ("reward_eig", "pac_eig", "expected_regret", "optimal_action_value", "active_var"):
            assert score(opened, name).values[goal] == pytest.approx(0.0, abs=1e-6)
        trajectory = score(opened, "reward_eig", kind="trajectory", length=3)
        assert trajectory.values[goal] == 0.0


class TestBandit:
    """64 one-step states, rho uniform, gaps of 0.3: each matters little, together they are 9.6 / 64 = 0.15 a half."""

    def test_edges_are_halved_until_something_can_be_learnt(self):
        posterior = prior_of("bandit")
        policy = most_likely_optimal(posterior)
        assert posterior.weights @ (regrets(posterior, policy) >= 0.1) > 0.99
        scores = score(posterior, "pac_eig", epsilon=0.1)
        # nu R = 0.3 / 64 = 0.0047 falls below (1 - gamma) epsilon / 2 = 0.005: one halving is enough
        assert scores.details["num_halvings"] == 1
        assert scores.details["edges"] == [0.25, 0.5]
        assert scores.values.min() > 0.01
        assert any("halved once" in warning for warning in scores.warnings)

    def test_not_when_nothing_is_at_stake(self):
        posterior = prior_of("bandit")
        scores = score(posterior, "pac_eig", epsilon=1.0)
        assert (scores.details["num_halvings"], scores.values.max()) == (0, pytest.approx(0.0, abs=EXACT))

    def test_not_when_all_is_known(self):
        posterior = prior_of("bandit")
        scores = score(reweighted(posterior, np.eye(512)[7]), "pac_eig")
        assert (scores.details["num_halvings"], scores.values.max()) == (0, pytest.approx(0.0, abs=EXACT))
