import numpy as np
import pytest
from acquisition.exact import reweighted, small_posterior, trajectory_information

from journeyman.acquisition import score
from journeyman.apprentice import expected_return, regrets, state_regrets
from journeyman.errors import InputError
from journeyman.inference import infer
from journeyman.worlds import make_world

ROUNDING = 1e-12


def quantile(values, weights, level):
    """The smallest value with at least `level` of the weight at or below it."""
    order = np.argsort(values)
    return values[order][np.flatnonzero(np.cumsum(weights[order]) >= level - ROUNDING)[0]]


@pytest.mark.parametrize("delta", [0.05, 0.3])
def test_active_var_is_a_quantile_of_regret(delta):
    posterior = small_posterior(4, num_atoms=30)
    regret = state_regrets(posterior, expected_return(posterior))
    values = score(posterior, "active_var", tail=delta).values
    for state in np.flatnonzero(posterior.problem.queryable).tolist():
        assert values[state] == quantile(regret[:, state], posterior.weights, 1.0 - delta)
    trajectory = score(posterior, "active_var", tail=delta, kind="trajectory", length=3)
    assert np.array_equal(trajectory.values, values)


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, 2.0])
def test_tail_outside_its_range(delta):
    with pytest.raises(InputError, match="tail must lie strictly between 0 and 1"):
        score(small_posterior(0), "active_var", tail=delta)


def test_active_var_is_zero_for_one_sample():
    values = score(reweighted(small_posterior(0), np.eye(6)[3]), "active_var").values
    assert values[np.isfinite(values)] == pytest.approx(0.0, abs=1e-9)


def test_regret_eig_takes_exact_values_of_atoms():
    posterior = small_posterior(2, num_atoms=12)
    regret = np.round(regrets(posterior, expected_return(posterior)), 6)
    labels = np.unique(regret, return_inverse=True)[1]
    scores = score(posterior, "regret_eig")
    assert scores.details["num_bins"] == labels.max() + 1
    for state in np.flatnonzero(posterior.problem.queryable & ~posterior.problem.mdp.terminal).tolist():
        exact = trajectory_information(posterior, labels, state, 1)
        assert scores.values[state] == pytest.approx(exact, abs=ROUNDING)


def test_regret_eig_bins_have_equal_weight():
    world = make_world("random-grid", 0, size=4)
    posterior = infer(world.problem, (), "smc", num_particles=400)
    assert score(posterior, "regret_eig").details["num_bins"] == 20
    two = score(posterior, "regret_eig", bins=2)
    regret = regrets(posterior, expected_return(posterior))
    labels = (regret > np.sort(regret)[199]).astype(int)
    state = int(np.flatnonzero(posterior.problem.queryable)[0])
    assert two.values[state] == pytest.approx(trajectory_information(posterior, labels, state, 1), abs=1e-9)
    with pytest.raises(InputError, match="bins must be a whole number of at least 2"):
        score(posterior, "regret_eig", bins=1)
