import hashlib
from dataclasses import replace

import numpy as np
import pytest
from experiment.small import one_cell, tiny_sweep

from journeyman.experiment import Cell, Choice, QueryKind, sweep_from_toml
from journeyman.experts import Question
from journeyman.learner import ActiveLearner
from journeyman.learner.simulate import answered_steps
from reproduction.experiments import sweep_of

CELL = one_cell()
PAC = Choice("pac_eig", "PAC-EIG")
PRINTED = {"scope": "joint", "edges": [0.0, 1.0]}


# Of all cells of the reproduction, as version 0.1.0 computed them: how many, and a hash of all ids and expert seeds.
ALL_IDS = {
    "jail smc smoke": (8, "0ffe0d48725df87d"),
    "jail smc paper": (64, "de13daf144e30e82"),
    "jail chains paper": (64, "7afdb7f773ab1684"),
    "jail-beyond smc paper": (16, "a63bb5b6149b481e"),
    "jail-beyond chains paper": (16, "f496328f1fd0e7dc"),
    "random-10x10 smc smoke": (14, "2bb2eabc8a98c501"),
    "random-10x10 smc paper": (112, "9f39f0d5b3e92c84"),
    "random-10x10 chains paper": (112, "2b8b25220f825f0d"),
    "random-10x10-beyond smc paper": (144, "29ac8d47fdd56bb5"),
    "random-10x10-beyond chains paper": (144, "faf753e86775e6d7"),
    "random-8x8 smc smoke": (14, "7f0ffe19483eab3a"),
    "random-8x8 smc paper": (112, "73c81331501d2af5"),
    "random-8x8 chains paper": (112, "e8105c3312a3aaba"),
    "random-8x8-beyond smc paper": (96, "f8ce8e0987bd4419"),
    "random-8x8-beyond chains paper": (96, "36d070d31d970ebf"),
    "random-8x8-trajectories smc smoke": (8, "027989c845d0e6c9"),
    "random-8x8-trajectories smc paper": (64, "e96b5f238853d03e"),
    "random-8x8-trajectories chains paper": (64, "63f7e4cc021c1ecc"),
    "random-8x8-trajectories-beyond smc paper": (16, "e23b93ea00b56980"),
    "random-8x8-trajectories-beyond chains paper": (16, "3be230a8f72da237"),
}


@pytest.mark.parametrize("key", ALL_IDS)
def test_ids_do_not_change(key):
    """Results of earlier runs are found by their ids: whoever changes these has to raise REVISION, knowingly."""
    name, inference, scale = key.split(" ")
    sweep = sweep_of(name.removesuffix("-beyond"), scale, beyond=name.endswith("-beyond"), inference=inference)
    cells = sweep.cells()
    words = [cell.id for cell in cells] + [str(cell.expert_seed) for cell in cells]
    assert (len(cells), hashlib.sha256(" ".join(words).encode()).hexdigest()[:16]) == ALL_IDS[key]


def test_some_ids_in_full():
    assert CELL.id == "7c6d14c53f8ffaac"
    assert CELL.expert_seed == 229892257417294
    found = {cell.text: cell.id for cell in sweep_of("random-10x10", "smoke").cells()}
    assert found["random-10x10 seed 0, random (state, smc)"] == "75e95396cb0c04e6"
    assert found["random-10x10 seed 0, PAC-EIG (state, smc)"] == "ebfef6f08b5a8542"
    assert found["random-10x10 seed 1, ActiveVaR (state, smc)"] == "4a21893262825fd6"
    assert sweep_of("jail", "paper", inference="chains").cells()[0].id == "e6ce0a3c305f3a48"


def test_labels_are_not_part_of_the_id():
    for axis in ("world", "inference", "acquisition"):
        other = replace(CELL, **{axis: replace(getattr(CELL, axis), label="another")})
        assert (other.id, other.expert_seed) == (CELL.id, CELL.expert_seed)


def test_steps_and_metrics_are_not_part_of_the_id():
    more = tiny_sweep(steps=9, metrics=["truth"])
    assert [cell.id for cell in more.cells()] == [cell.id for cell in tiny_sweep().cells()]


@pytest.mark.parametrize(
    "changes",
    [
        {"seed": 1},
        {"epsilon": 0.2},
        {"delta": 0.2},
        {"num_histories": 32},
        {"query": QueryKind("trajectory", 3)},
        {"query": QueryKind("trajectory", 4)},
        {"world": Choice("random-grid", "4x4", {"size": 5})},
        {"world": Choice("random-grid", "4x4", {"size": 4, "terminals": "independent"})},
        {"world": Choice("random-8x8", "4x4")},
        {"inference": Choice("smc", "smc", {"num_particles": 200})},
        {"inference": Choice("smc", "smc", {"num_particles": 100, "chain_length": 4})},
        {"inference": Choice("smc", "smc", {"num_particles": 100, "lag": 1})},
        {"inference": Choice("policywalk", "smc")},
        {"acquisition": Choice("reward_eig", "random")},
        {"acquisition": PAC},
        {"acquisition": replace(PAC, options={"occupancy": False})},
        {"acquisition": replace(PAC, options={"edges": [0.25, 1.0]})},
        {"acquisition": replace(PAC, options={"scope": "joint"})},
    ],
)
def test_everything_that_changes_results_changes_the_id(changes):
    other = replace(CELL, **changes)
    assert other.id != CELL.id
    assert other.settings().seed != CELL.settings().seed


def test_the_algorithm_draws_from_the_id():
    assert CELL.settings().seed == int(CELL.id, 16)


@pytest.mark.parametrize(
    ("axis", "short", "long"),
    [
        ("acquisition", PAC, replace(PAC, options={"scope": "local", "occupancy": True, "edges": [0.5, 1.0]})),
        ("inference", Choice("smc", "a"), Choice("smc", "b", {"num_particles": 1000, "stage_ess": 0.5, "lag": 0})),
        ("inference", Choice("policywalk", "a"), Choice("policywalk", "b", {"sampler": "nuts"})),
        ("world", Choice("random-8x8", "a"), Choice("random-8x8", "b", {"beta": 2.0, "terminals": "published"})),
    ],
)
def test_an_option_at_its_default_is_one_that_is_left_out(axis, short, long):
    first, second = replace(CELL, **{axis: short}), replace(CELL, **{axis: long})
    assert first.record() == second.record()
    assert (first.id, first.expert_seed) == (second.id, second.expert_seed)


def test_whole_numbers_are_floats_where_the_option_is_one():
    def with_edges(edges):
        return replace(CELL, acquisition=replace(PAC, options={"edges": edges}))

    assert (
        with_edges([0, 1]).id == with_edges([0.0, 1.0]).id == with_edges((0.0, 1)).id == with_edges(np.array([0, 1])).id
    )
    whole, real = (replace(CELL, world=Choice("random-8x8", "8x8", {"beta": beta})) for beta in (3, 3.0))
    assert (whole.id, whole.expert_seed) == (real.id, real.expert_seed)
    assert replace(CELL, epsilon=1).id == replace(CELL, epsilon=1.0).id
    yes = replace(CELL, acquisition=replace(PAC, options={"edges": [False, True]}))
    assert yes.id != with_edges([0, 1]).id  # a truth value is no number


def test_instance_and_expert_follow_from_world_and_seed_alone():
    others = [
        replace(CELL, acquisition=PAC),
        replace(CELL, inference=Choice("policywalk", "walk")),
        replace(CELL, query=QueryKind("trajectory", 3)),
        replace(CELL, epsilon=0.5, delta=0.3, num_histories=8),
        replace(CELL, world=replace(CELL.world, label="another")),
    ]
    truth = CELL.make_world().true_parameters
    for other in others:
        assert other.expert_seed == CELL.expert_seed
        assert np.array_equal(other.make_world().true_parameters, truth)
    for other in (replace(CELL, seed=1), replace(CELL, world=Choice("random-grid", "4x4", {"size": 4, "beta": 1.0}))):
        assert other.expert_seed != CELL.expert_seed
    assert not np.array_equal(replace(CELL, seed=1).make_world().true_parameters, truth)


def test_an_instance_is_made_once():
    assert CELL.make_world() is replace(CELL, acquisition=PAC).make_world()


def answers_by_visit(cell, num_steps):
    """What a learner was told at each (state, visit) in so many steps."""
    world = cell.make_world()
    learner = ActiveLearner.from_settings(world.problem, cell.settings(), num_threads=1)
    asked = answered_steps(learner, world.make_expert(cell.expert_seed), steps=num_steps)
    answers = {(query.state, query.visit): learner.answers[query.id] for query in asked}
    assert len(answers) == num_steps
    return {key: (answer.steps, answer.final_state) for key, answer in answers.items()}


@pytest.mark.parametrize("query", [QueryKind(), QueryKind("trajectory", 3)])
def test_methods_meet_the_same_expert(query):
    cells = [replace(CELL, query=query, acquisition=Choice(name, name)) for name in ("random", "reward_eig")]
    first, second = (answers_by_visit(cell, 24) for cell in cells)
    common = first.keys() & second.keys()
    assert len(common) >= 4
    assert first.keys() != second.keys()  # they asked differently
    assert any(visit > 0 for _, visit in common)
    assert all(first[key] == second[key] for key in common)


def test_answers_differ_between_visits_and_seeds():
    def answers(cell, visit):
        world = cell.make_world()
        expert = world.make_expert(cell.expert_seed)
        states = np.flatnonzero(world.problem.queryable).tolist()
        return [expert.demonstrate(Question(state, visit)).steps for state in states]

    assert answers(CELL, 0) == answers(CELL, 0)
    assert len({str(answers(CELL, visit)) for visit in range(5)}) > 1
    same_world = [replace(CELL, world=Choice("lopes-two-state", "two", {"beta": 0.1}), seed=seed) for seed in range(8)]
    assert len({str(answers(cell, 0)) for cell in same_world}) > 1


def test_a_cell_has_a_name_for_people():
    assert CELL.text == "4x4 seed 0, random (state, smc num_particles=100)"
    assert isinstance(CELL, Cell)


@pytest.mark.parametrize(
    ("name", "old", "new", "expected"),
    [
        ("pac_eig", PRINTED, {"components": "joint", "edges": [0.0, 1.0]}, "ca60a137c66a060c"),
        ("active_var", {"delta": 0.1}, {"tail": 0.1}, "4aa271d210ff08a1"),
        ("pac_eig", {}, {}, "a3f6fe7ac19ae76a"),
        ("ir_eig", {"scope": "joint"}, {"components": "joint"}, "19690d875939d95d"),
    ],
)  # fmt: skip
def test_renamed_options_leave_the_ids_of_0_1_0_as_they_were(name, old, new, expected):
    for options in (old, new):
        sweep = sweep_from_toml(
            'name = "x"\nsteps = 3\nseeds = 1\nworlds = ["random-10x10"]\nacquisitions = ["random"]'
        )
        cell = replace(sweep.cells()[0], acquisition=Choice(name, name, options))
        assert cell.id == expected


@pytest.mark.parametrize(
    ("method", "options", "expected"),
    [
        ("policywalk", {}, "2ecc04c0fef1d0e6"),
        ("policywalk", {"sampler": "hmc"}, "f2e1c168c0f7707e"),
        ("valuewalk", {}, "417fbde165d8aa64"),
        ("enumerate", {}, "20730c64882962a8"),
    ],
)
def test_retired_options_leave_the_ids_of_0_1_0_as_they_were(method, options, expected):
    inference = Choice(method, method, options)
    assert Cell(Choice("random-8x8", "w"), 0, QueryKind(), inference, Choice("pac_eig", "p")).id == expected
