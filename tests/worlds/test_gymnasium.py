"""Gymnasium's environments as worlds: reward models that pay what they pay, by name and from the command line."""

import json

import numpy as np
import pytest
from cli.command import command

from journeyman.errors import InputError, MissingExtraError, UnsupportedError
from journeyman.mdp import evaluate_policy, solve
from journeyman.mdp.gymnasium_tables import read_tables
from journeyman.worlds import WORLDS, make_world, world_options
from journeyman.worlds.gymnasium import (
    FEATURES,
    SCALES,
    environment_reward_model,
    gymnasium_factory,
    gymnasium_world,
    own_parameters,
)

gymnasium = pytest.importorskip("gymnasium")


def newest(name):
    versions = [spec.version for spec in gymnasium.registry.values() if spec.name == name]
    return f"{name}-v{max(versions)}"


LAKE, CLIFF, TAXI = "FrozenLake-v1", newest("CliffWalking"), newest("Taxi")
OWN = {
    LAKE: {"step": 0.0, "hole": 0.0, "goal": 1.0},
    CLIFF: {"step": -1.0, "cliff": -99.0, "goal": 0.0},
    TAXI: {
        "step": -1.0,
        "bump": 0.0,
        "picked up": 0.0,
        "illegal pick-up": -9.0,
        "delivered": 21.0,
        "set down": 0.0,
        "illegal drop-off": -9.0,
    },
}


@pytest.fixture
def run(monkeypatch, capsys):
    """Run `journeyman` with these arguments; return exit code, stdout and stderr."""
    return command(monkeypatch, capsys)


@pytest.mark.parametrize("env_id", OWN)
def test_features_pay_what_the_environment_pays(env_id):
    tables = read_tables(env_id)
    world = gymnasium_world(env_id)
    model = world.problem.reward_model
    assert dict(zip(model.names, world.true_parameters.tolist(), strict=True)) == OWN[env_id]
    np.testing.assert_allclose(world.reward, tables.expected_reward, atol=1e-12 * 100)
    assert not world.is_prior_exact and world.name == f"gym:{env_id}"
    kind = tables.look.kind
    assert set(model.names) == set(SCALES[kind]) and kind in FEATURES


def test_the_reward_schedule_of_a_lake_is_found():
    options = {"reward_schedule": (2.0, -1.0, -0.1)}
    if "reward_schedule" not in world_options("gym:FrozenLake-v1"):
        pytest.skip("the lake of this Gymnasium has no reward_schedule")
    world = gymnasium_world(LAKE, env_options=options)
    np.testing.assert_allclose(world.true_parameters, [-0.1, -0.9, 2.1], atol=1e-12)


def test_a_reward_per_state_and_action_is_the_expected_one():
    world = gymnasium_world(CLIFF, reward="per_state_action")
    np.testing.assert_array_equal(world.reward, read_tables(CLIFF).expected_reward)


@pytest.mark.parametrize("options", [{}, {"map_name": "8x8"}])
def test_a_reward_per_state_changes_values_by_the_state_alone(options):
    """Q per state = Q of the environment + the reward of the state: nothing about what is optimal or lost."""
    tables = read_tables(LAKE, env_options=options)
    world = gymnasium_world(LAKE, reward="per_state", env_options=options)
    mdp = world.problem.mdp
    theirs = solve(mdp, tables.expected_reward)
    assert set(np.flatnonzero(world.reward)) == {mdp.num_states - 1}
    np.testing.assert_allclose(world.expert.q, theirs.q + world.reward[:, None], atol=1e-11)
    policy = np.full((mdp.num_states, 4), 0.25)
    lost = float(mdp.initial @ (theirs.values - evaluate_policy(mdp, policy, tables.expected_reward)))
    assert world.regret(policy) == pytest.approx(lost, abs=1e-9)


@pytest.mark.parametrize("env_id", [CLIFF, TAXI])
def test_a_reward_per_state_that_cannot_say_what_is_paid_is_refused(env_id):
    with pytest.raises(UnsupportedError, match=r"a reward per state must depend on .*Say reward='features'"):
        gymnasium_world(env_id, reward="per_state")
    world = gymnasium_world(env_id, 3, reward="per_state", truth="prior")  # which any of them can be
    assert world.is_prior_exact and world.truth_origin == "drawn from the prior"


def test_own_parameters_of_other_features_are_refused_where_there_are_none():
    tables = read_tables(LAKE)
    mdp = tables.mdp(discount=0.9, time_limit="ignore")
    model = environment_reward_model(tables, mdp)
    without_goal = type(model)(**{**vars(model), "features": model.features[:, :2], "names": ("step", "hole")})
    with pytest.raises(UnsupportedError, match=r"must be linear in its features, got one that is off by 0\.285"):
        own_parameters(tables, without_goal, 0.9)


def test_truths_from_the_prior_differ_by_seed_and_the_prior_has_the_scale_of_each_feature():
    first, second = (gymnasium_world(LAKE, seed, truth="prior", std=2.0) for seed in range(2))
    assert not np.isclose(first.true_parameters, second.true_parameters).any()
    np.testing.assert_allclose(first.problem.prior.std, [0.2, 2.0, 2.0])
    np.testing.assert_allclose(gymnasium_world(CLIFF, reward="per_state_action").problem.prior.std, 100.0)


def test_only_states_that_episodes_visit_are_asked_about():
    problem = gymnasium_world(TAXI).problem
    assert problem.queryable.sum() == 400
    problem = gymnasium_world(CLIFF).problem
    assert np.flatnonzero(~problem.queryable).tolist() == list(range(37, 48))  # the cliff, and the goal


def test_a_horizon_makes_times_states():
    world = gymnasium_world(LAKE, horizon=5)
    assert world.problem.mdp.num_states == 80 and "time limit" not in world.notes
    assert "after 100 steps" in gymnasium_world(LAKE).notes["time limit"]


def test_worlds_by_name_take_options_of_world_and_environment():
    options = world_options("gym:FrozenLake-v1")
    assert options["map_name"] == "4x4" and options["reward"] == "features" and options["truth"] == "own"
    world = make_world("gym:FrozenLake-v1", 2, map_name="8x8", is_slippery=False, discount=0.99, beta=9.0)
    assert (world.problem.mdp.num_states, world.problem.beta, world.seed) == (64, 9.0, 2)
    assert world.name == "gym:FrozenLake-v1"
    assert world_options("gym:FrozenLake8x8-v1")["map_name"] == "8x8"
    with pytest.raises(InputError, match=r"world 'gym:FrozenLake-v1' must get options it knows, got 'map'\."):
        make_world("gym:FrozenLake-v1", map="8x8")
    assert not any(name.startswith("gym:") for name in WORLDS)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gym:", r"a world gym:ID must name an environment, got none\. Example: gym:FrozenLake-v1"),
        ("gym:FrozenLak-v1", "must be one that can be made, got 'FrozenLak-v1'"),
        ("gym:CartPole-v1", "got Box for CartPole-v1"),
    ],
)
def test_worlds_that_cannot_be_made(name, message):
    with pytest.raises(InputError, match=message):
        make_world(name)


def test_a_missing_gymnasium_names_the_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "gymnasium", None)
    gymnasium_factory.cache_clear()
    with pytest.raises(MissingExtraError, match=r"gymnasium is needed .*pip install 'journeyman\[gym\]'"):
        make_world("gym:FrozenLake-v1")


def test_show_draws_an_environment(run):
    code, out, err = run("worlds", "show", "gym:FrozenLake-v1", "--world-set", "is_slippery=false")
    assert (code, err) == (0, "")
    assert out.startswith("gym:FrozenLake-v1, seed 0: 16 states x 4 actions, discount 0.95\n")
    text = " ".join(out.split())
    assert "step 0.00, hole 0.00 and goal 1.00, the environment's own; prior (normal" in text
    assert "Gymnasium stops episodes after 100 steps" in text and "is_slippery=False" in text


def test_show_explains_the_maps_and_dots_of_a_taxi(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    _, out, _ = run("worlds", "show", f"gym:{TAXI}")
    text = " ".join(out.split())
    assert "one for each place of the passenger" in text and "optimal action: pick up or drop off" in text


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        ("is_slippery=maybe", "option is_slippery must be true or false, got 'maybe'"),
        ("beta=much", "option beta must be a number, got 'much'"),
        ("map_name=9x9", "KeyError: '9x9'"),
    ],
)
def test_mistakes_in_options_get_a_message(run, pair, message):
    code, _, err = run("worlds", "show", "gym:FrozenLake-v1", "--world-set", pair)
    assert code == 1 and message in err


def test_options_that_are_lists(run):
    code, out, _ = run("worlds", "show", "gym:FrozenLake-v1", "--json", "--world-set", 'desc=["SF", "HG"]')
    assert code == 0 and json.loads(out)["num_states"] == 4


def test_a_run_learns_an_environment(run, tmp_path):
    """One answer in CliffWalking; few particles."""
    code, out, _ = run(
        "run", "--world", f"gym:{CLIFF}", "--steps", "1", "--no-stop", "--out", str(tmp_path / "cliff"),
        "--inference-set", "num_particles=100", "--max-samples", "0", "--json",
    )  # fmt: skip
    record = json.loads(out)
    assert code == 0 and record["num_steps"] == 1 and record["spec"]["world"] == f"gym:{CLIFF}"
