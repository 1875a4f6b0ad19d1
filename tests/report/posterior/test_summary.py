import io
import json

import numpy as np
import pytest
from rich.console import Console

from journeyman.demonstrations import Demonstration
from journeyman.inference import Diagnostics, Posterior, infer
from journeyman.report.posterior.summary import parameter_table, posterior_record, print_posterior, summarise_posterior
from journeyman.rewards import Discrete, MultivariateNormal, Normal, Uniform
from journeyman.worlds import WORLDS, make_world


def posterior_of_world(world, theta, weights):
    theta = np.asarray(theta, dtype=float)
    values = np.zeros((len(theta), world.problem.mdp.num_states))
    counts = world.problem.counts(())
    return Posterior(world.problem, counts, theta, np.asarray(weights), values, "made", Diagnostics(seconds=1.0))


def printed(summary, **options):
    stream = io.StringIO()
    print_posterior(Console(file=stream, width=options.pop("width", 80), **options), summary)
    return stream.getvalue()


def test_numbers_by_hand():
    """Two samples of weights 1/4 and 3/4; the prior of the jail is uniform on -100..0, of sd 100 / sqrt(12)."""
    world = make_world("jail", 3)  # mud -78.77, water -44.87, lava -81.25
    posterior = posterior_of_world(world, [[-80.0, -40.0, -50.0], [-40.0, -48.0, -50.0]], [0.25, 0.75])
    summary = summarise_posterior(world, (), posterior)
    np.testing.assert_allclose(summary.knowledge.mean, [-50.0, -46.0, -50.0])
    np.testing.assert_allclose(summary.knowledge.std, [40 * np.sqrt(3 / 16), 8 * np.sqrt(3 / 16), 0.0])
    np.testing.assert_allclose(summary.knowledge.intervals, [[-80, -40], [-48, -40], [-50, -50]])
    assert summary.is_inside.tolist() == [True, True, False]
    assert summary.coverage == pytest.approx(2 / 3)
    assert summary.spread == pytest.approx(48 * np.sqrt(3 / 16) / 3 / (100 / np.sqrt(12)))
    assert summary.posterior.mean_reward()[0] == 100.0
    assert summary.posterior.reward_std()[0] == 0.0


def test_the_policy_of_the_truth_is_optimal():
    world = make_world("random-8x8", 1)
    summary = summarise_posterior(world, (), posterior_of_world(world, [world.true_parameters], [1.0]))
    assert summary.coverage == 1.0
    assert summary.policy_return == pytest.approx(summary.optimal_return, rel=1e-9)
    assert summary.expert_return < summary.optimal_return
    worse = summarise_posterior(world, (), posterior_of_world(world, [-world.true_parameters], [1.0]))
    assert worse.policy_return < summary.expert_return


def test_prior_standard_deviations():
    np.testing.assert_allclose(Normal(2, 0.0, [1.0, 3.0]).std, [1, 3])
    np.testing.assert_allclose(Uniform(1, 0.0, 6.0).std, [np.sqrt(3)])
    np.testing.assert_allclose(MultivariateNormal(np.zeros(2), [[4.0, 1.0], [1.0, 9.0]]).std, [2, 3])
    np.testing.assert_allclose(Discrete([[0.0], [1.0]], [0.5, 0.5]).std, [0.5])


@pytest.mark.parametrize("name", WORLDS)
def test_every_world_prints_and_is_json(name):
    world = make_world(name, 0)
    answers = world.expert.answers(np.flatnonzero(world.problem.queryable)[:3])
    posterior = infer(world.problem, answers, "smc", num_particles=200)
    summary = summarise_posterior(world, answers, posterior)
    record = json.loads(json.dumps(posterior_record(summary), allow_nan=False))
    assert len(record["parameters"]) == world.problem.reward_model.num_parameters
    text = printed(summary)
    assert max(len(line) for line in text.splitlines()) <= 80
    assert f"reward after {len(answers)} annotation" in text
    assert printed(summary, width=30)  # nothing fits, nothing breaks


def test_cells_show_mean_deviation_and_what_was_done():
    world = make_world("random-grid", 0, size=3)
    state = int(np.flatnonzero(world.problem.queryable)[0])
    answers = (Demonstration.annotation(state, 2),)  # to the right
    posterior = infer(world.problem, answers, "variational", num_draws=50)
    text = printed(summarise_posterior(world, answers, posterior))
    assert "→" in text
    assert "±" in text
    assert "end" in text
    assert f"at state {state}, of" in text
    assert "Warning: variational is an approximation" in text


def test_output_without_unicode():
    world = make_world("random-grid", 0, size=3)
    summary = summarise_posterior(world, (), infer(world.problem, (), "variational", num_draws=50))
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    print_posterior(Console(file=stream, width=80), summary)
    stream.flush()
    assert "~" in stream.buffer.getvalue().decode("ascii")


def test_many_parameters_are_cut_to_the_least_known():
    world = make_world("bandit", 0)
    theta = np.tile(world.true_parameters, (2, 1))
    theta[1, 40] *= -1  # the only one in doubt
    summary = summarise_posterior(world, (), posterior_of_world(world, theta, [0.5, 0.5]))
    stream = io.StringIO()
    Console(file=stream, width=80).print(parameter_table(summary))
    lines = stream.getvalue().splitlines()
    assert lines[1].startswith("theta[40]")
    assert "48 more: --json lists them all" in lines[-1]
