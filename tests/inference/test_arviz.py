"""Posteriors as ArviZ data, in the form of the installed version and of the others."""

from types import SimpleNamespace

import arviz
import numpy as np
import pytest

from journeyman.inference import arviz_export, infer
from journeyman.worlds import make_world

IS_TREE = int(arviz.__version__.partition(".")[0]) >= 1


@pytest.fixture(scope="module")
def jail():
    world = make_world("jail", 0)
    return world.problem, world.expert.answers([10, 20, 30, 15])


def test_chains(jail):
    posterior = infer(*jail, "policywalk", num_chains=2, num_draws=30, num_warmup=30)
    data = posterior.to_arviz()
    assert type(data).__name__ == ("DataTree" if IS_TREE else "InferenceData")
    theta = data["posterior"]["theta"]
    assert theta.dims == ("chain", "draw", "parameter")
    assert theta.shape == (2, 30, 3)
    assert list(theta["parameter"].values) == ["mud", "water", "lava"]
    np.testing.assert_array_equal(theta.values.reshape(-1, 3), posterior.theta)
    values = data["posterior"]["values"]
    assert values.dims == ("chain", "draw", "state")
    np.testing.assert_array_equal(values.values.reshape(-1, 36), posterior.values)
    names = {"lp", "acceptance_rate", "step_size", "tree_depth", "n_steps", "diverging", "energy"}
    assert set(data["sample_stats"].data_vars) == names
    assert data["sample_stats"]["lp"].dims == ("chain", "draw")
    counts = data["observed_data"]["counts"]
    assert counts.dims == ("state", "action")
    assert list(counts["action"].values) == ["stay", "up", "right", "down", "left"]
    np.testing.assert_array_equal(counts.values, posterior.counts)
    assert data["posterior"].attrs["method"] == "policywalk"
    assert data["posterior"].attrs["resampled"] == "no"
    assert list(data["posterior"].attrs["warnings"]) == list(posterior.warnings)


def test_arviz_computes_our_diagnostics_from_it(jail):
    posterior = infer(*jail, "policywalk", sampler="hmc", num_chains=2, num_draws=200, num_warmup=100)
    data = posterior.to_arviz()
    ess = arviz.ess(data, var_names=["theta"], method="bulk")["theta"]
    assert float(np.min(ess)) == pytest.approx(posterior.diagnostics.ess_bulk)
    r_hat = arviz.rhat(data, var_names=["theta"])["theta"]
    assert float(np.max(r_hat)) == pytest.approx(posterior.diagnostics.r_hat)


def test_weighted_samples_are_resampled_and_that_is_said(jail):
    posterior = infer(*jail, "enumerate", num_points=1024)
    data = arviz_export.to_arviz(posterior, num_draws=4000)
    theta = data["posterior"]["theta"]
    assert theta.shape == (1, 4000, 3)
    assert "systematically" in data["posterior"].attrs["resampled"]
    assert data["posterior"].attrs["log_evidence"] == posterior.log_evidence
    # Systematic: each point is drawn within one of its 4000 w times.
    spread = np.abs(posterior.theta).sum(axis=0) / 4000
    assert (np.abs(theta.values[0].mean(axis=0) - posterior.mean_parameters()) <= spread).all()
    again = arviz_export.to_arviz(posterior, num_draws=4000)
    np.testing.assert_array_equal(again["posterior"]["theta"].values, theta.values)
    assert posterior.to_arviz()["posterior"]["theta"].shape == (1, 1024, 3)


def test_rewards_on_demand():
    world = make_world("brown-two-state", 0)
    data = arviz_export.to_arviz(infer(world.problem, (), "enumerate"), include_reward=True)
    reward = data["posterior"]["reward"]
    assert reward.dims == ("chain", "draw", "state", "action")
    np.testing.assert_array_equal(reward.values.reshape(4, 4), data["posterior"]["theta"].values[0])
    assert "reward" not in infer(world.problem, (), "enumerate").to_arviz()["posterior"].data_vars


@pytest.mark.parametrize(
    ("version", "is_tree"), [("0.20.0", False), ("0.23.4", False), ("1.0.0", True), ("1.3.0", True)]
)
def test_the_version_decides_how_groups_are_handed_over(jail, version, is_tree, monkeypatch):
    """From 1.0 on they are one mapping, before that keywords."""
    calls = []

    def from_dict(*arguments, **keywords):
        calls.append((arguments, keywords))
        return {"posterior": SimpleNamespace(attrs={})}

    fake = SimpleNamespace(__version__=version, from_dict=from_dict)
    monkeypatch.setattr(arviz_export, "require", lambda module, extra: fake)
    data = infer(*jail, "enumerate", num_points=64).to_arviz()
    (arguments, keywords), *_ = calls
    groups = arguments[0] if is_tree else keywords
    assert len(arguments) == is_tree
    assert {"posterior", "observed_data"} <= set(groups)
    assert groups["posterior"]["theta"].shape == (1, 64, 3)
    assert keywords["dims"]["theta"] == ["parameter"]
    assert data["posterior"].attrs["method"] == "enumerate"
