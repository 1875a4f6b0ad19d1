"""The contract that every world keeps, and how worlds are made by name."""

import dataclasses
import inspect
import pickle
from collections.abc import Iterator

import numpy as np
import pytest
from scipy import sparse

from journeyman.errors import InputError
from journeyman.mdp import FiniteMDP, solve
from journeyman.problem import Problem
from journeyman.rewards import LinearFeatures, Normal
from journeyman.worlds import WORLDS, World, make_world

# name: states, actions, discount, beta, longest trajectory
NUMBERS = {
    "jail": (36, 5, 0.9, 4.0, 20),
    "random-8x8": (64, 5, 0.9, 2.0, 5),
    "random-10x10": (100, 5, 0.9, 4.0, 5),
    "random-grid": (36, 5, 0.9, 2.0, 5),
    "lopes-two-state": (2, 2, 0.9, 2.0, 2),
    "brown-two-state": (2, 2, 0.9, 1.0, 2),
    "regret-eig-trap": (1, 3, 0.9, 1.0, 2),
    "bandit": (64, 2, 0.9, 4.0, 2),
}
KNOWN_TO_TELL = {"random-8x8", "random-10x10", "random-grid"}  # the published rule makes high true rewards terminal


@pytest.fixture(params=WORLDS)
def name(request):
    return request.param


def arrays_in(value, depth=8) -> Iterator[np.ndarray]:
    """Yield every array that can be reached from a value."""
    if isinstance(value, np.ndarray):
        yield value
    elif sparse.issparse(value):
        yield value.toarray()
    elif depth and dataclasses.is_dataclass(value):
        for item in vars(value).values():
            yield from arrays_in(item, depth - 1)
    elif depth and isinstance(value, tuple | list):
        for item in value:
            yield from arrays_in(item, depth - 1)
    elif depth and isinstance(value, dict):
        yield from arrays_in(list(value.values()), depth - 1)


def same_arrays(first, second):
    ours, theirs = list(arrays_in(first)), list(arrays_in(second))
    return len(ours) == len(theirs) and all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))


def test_the_numbers_are_those_of_the_paper(name):
    world = make_world(name)
    mdp = world.problem.mdp
    numbers = (mdp.num_states, mdp.num_actions, mdp.discount, world.problem.beta, world.max_length)
    assert numbers == NUMBERS.get(name, numbers)  # a world from outside has its own


def test_a_seed_gives_one_world(name):
    world, again = make_world(name, 3), make_world(name, 3)
    assert same_arrays(world, again)
    assert (world.seed, world.name) == (3, again.name)


def test_seeds_differ(name):
    truths = {tuple(make_world(name, seed).true_parameters) for seed in range(20)}
    prior = make_world(name).problem.prior
    most = len(prior.atoms) if prior.is_discrete else 20
    assert len(truths) >= min(20, most) / 2
    assert len(truths) > 1


def test_the_truth_has_prior_support(name):
    for seed in range(10):
        world = make_world(name, seed)
        assert world.true_parameters.shape == (world.problem.reward_model.num_parameters,)
        assert np.isfinite(world.problem.prior.log_density(world.true_parameters))


def test_the_truth_is_a_draw_of_the_prior(name):
    """Mean of each parameter over 300 seeds within 5 standard errors of the prior's."""
    worlds = [make_world(name, seed) for seed in range(300)]
    truths = np.array([world.true_parameters for world in worlds])
    prior = worlds[0].problem.prior
    sample = prior.sample(np.random.default_rng(0), 20_000)
    error = sample.std(axis=0) * np.sqrt(1 / 300 + 1 / 20_000)
    assert (np.abs(truths.mean(axis=0) - sample.mean(axis=0)) <= 5 * error + 1e-12).all()


def test_the_problem_does_not_hold_the_truth(name):
    """The problem is the same whatever the truth is, but for the dynamics where the publication ties them to it."""
    first, second = (make_world(name, seed) for seed in (0, 1))
    assert not np.array_equal(first.true_parameters, second.true_parameters)
    ours, theirs = first.problem, second.problem
    if name in KNOWN_TO_TELL:
        for part in ("reward_model", "prior"):
            assert same_arrays(getattr(ours, part), getattr(theirs, part))
    else:
        assert same_arrays(ours, theirs)
    assert {field.name for field in dataclasses.fields(Problem)} == {
        "mdp",
        "reward_model",
        "prior",
        "expert",
        "queryable",
    }
    if not ours.prior.is_discrete:  # atoms hold every possible truth
        for array in arrays_in(ours):
            assert not np.isin(first.true_parameters, array).any()


def test_queryable_states_are_those_that_are_not_terminal(name):
    for seed in range(3):
        problem = make_world(name, seed).problem
        np.testing.assert_array_equal(problem.queryable, ~problem.mdp.terminal)
        assert problem.queryable.any()


def test_the_expert_knows_the_truth(name):
    world = make_world(name, 2)
    expected = world.problem.reward_model.reward(world.true_parameters)
    np.testing.assert_array_equal(world.reward, expected)
    np.testing.assert_array_equal(world.expert.reward, expected)
    assert world.expert.model is world.problem.expert
    assert world.expert is world.expert
    state = int(np.flatnonzero(world.problem.queryable)[0])
    answer = world.expert.demonstrate(state, kind="trajectory", length=world.max_length)
    assert world.problem.counts(answer).sum() == len(answer) >= 1
    assert solve(world.problem.mdp, world.reward).converged


def test_a_world_can_travel_to_another_process(name):
    world = make_world(name, 1)
    other = pickle.loads(pickle.dumps(world))
    assert same_arrays(other.problem, world.problem)
    np.testing.assert_array_equal(other.true_parameters, world.true_parameters)
    np.testing.assert_array_equal(other.expert.policy, world.expert.policy)


def test_an_mdp_of_a_world_survives_its_file(name, tmp_path):
    mdp = make_world(name).problem.mdp
    mdp.save(tmp_path / "mdp.npz")
    assert same_arrays(type(mdp).load(tmp_path / "mdp.npz"), mdp)


def test_every_factory_takes_a_seed_first_and_says_what_it_makes(name):
    factory = WORLDS[name]
    parameters = list(inspect.signature(factory).parameters.values())
    assert parameters[0].name == "seed" and parameters[0].default == 0
    assert all(parameter.kind is inspect.Parameter.KEYWORD_ONLY for parameter in parameters[1:])
    assert factory.__doc__.strip()
    assert isinstance(factory(), World)


@pytest.mark.parametrize("name", NUMBERS)
def test_options_reach_the_world(name):
    assert make_world(name, beta=7.5).problem.beta == 7.5
    assert make_world(name, beta=7.5).true_parameters.tolist() == make_world(name).true_parameters.tolist()


@pytest.mark.parametrize("seed", [-1, 0.5, "one", None, True])
def test_bad_seeds(name, seed):
    with pytest.raises(InputError, match="seed must be a whole number of at least 0, got"):
        make_world(name, seed)


@pytest.mark.parametrize(
    ("typo", "meant"),
    [("jial", "jail"), ("random-8x9", "random-8x8"), ("lopes-twostate", "lopes-two-state"), ("Jail", "jail")],
)
def test_a_typo_gets_a_suggestion(typo, meant):
    with pytest.raises(InputError, match=rf"a world must be one that exists, got '{typo}'\. Did you mean '{meant}'\?"):
        make_world(typo)


@pytest.mark.parametrize("nonsense", ["", "frozen lake", 5, None])
def test_an_unknown_world_lists_all(nonsense):
    with pytest.raises(InputError, match=f"Choose from: {', '.join(WORLDS)}"):
        make_world(nonsense)


def test_an_unknown_option_lists_those_there_are():
    with pytest.raises(
        InputError, match=r"world 'jail' must get options it knows, got 'size'\. It has: beta, discount, slip"
    ):
        make_world("jail", size=3)
    with pytest.raises(InputError, match="Did you mean 'seed'"):
        make_world("jail", sed=3)


def test_every_world_has_its_numbers_here():
    assert set(NUMBERS) == WORLDS.builtin


@pytest.mark.parametrize("huge", [0.0, -1e6, -1e12])
def test_true_regret_is_not_lost_beside_a_huge_cost(huge):
    """Two ordinary states differ by 0.25 for one step; a third, which nobody needs to enter, costs a lot."""
    mdp = FiniteMDP.from_function(
        lambda state, action: [(1.0, 1 + action)] if state == 0 else [],
        num_states=4,
        num_actions=3,
        discount=0.9,
        initial=[1.0, 0.0, 0.0, 0.0],
    )
    problem = Problem(mdp, LinearFeatures(np.eye(4)[:, :3], mdp, offset=[0.0, 0.0, 0.0, huge]), Normal(3), 1.0)
    world = World("cost", 0, problem, np.array([0.0, 1.0, 0.75]))
    assert world.regret(np.array([0, 0, 0, 0])) == 0.0
    assert world.regret(np.array([1, 0, 0, 0])) == pytest.approx(0.9 * 0.25, rel=1e-12)
    assert world.regret(np.array([2, 0, 0, 0])) == pytest.approx(0.9 * (1.0 - huge), rel=1e-9)
