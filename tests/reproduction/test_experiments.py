from pathlib import Path

import pytest

from journeyman.errors import InputError
from journeyman.experiment import load_sweep
from journeyman.experiment.results import read_table
from reproduction.experiments import EXPERIMENTS, SCALES, sweep_of

TABLES = Path(__file__).parents[2] / "reproduction" / "tables"


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_paper_scale_is_the_published_one(name):
    sweep = sweep_of(name, "paper")
    assert (len(sweep.seeds), sweep.steps, sweep.epsilon, sweep.delta) == (16, 150, 0.1, 0.1)
    world = sweep.cells()[0].make_world()
    assert (1 - world.problem.mdp.discount) * sweep.epsilon == pytest.approx(0.01)
    assert world.problem.beta == {"jail": 4.0, "random-10x10": 4.0}.get(name, 2.0)


def test_methods_are_the_papers():
    trajectories = {"random", "action entropy", "Reward-EIG", "PAC-EIG"}
    annotations = trajectories | {"policy entropy", "ActiveVaR", "nuPAC-EIG"}
    for name in EXPERIMENTS:
        wanted = annotations if name in ("random-10x10", "random-8x8") else trajectories
        assert {choice.label for choice in sweep_of(name, "paper").acquisitions} == wanted


def test_nothing_is_run_twice_by_what_goes_beyond():
    for name in EXPERIMENTS:
        ids = [cell.id for beyond in (False, True) for cell in sweep_of(name, "paper", beyond=beyond).cells()]
        assert len(set(ids)) == len(ids)


def test_chains_have_the_lengths_of_the_paper():
    draws = {"jail": 200, "random-8x8": 500, "random-8x8-trajectories": 500, "random-10x10": 1000}
    for name in EXPERIMENTS:
        (choice,) = sweep_of(name, "paper", inference="chains").inference
        assert choice.name == ("policywalk" if name == "jail" else "valuewalk")
        expected = {"num_chains": 1, "num_warmup": 100, "num_draws": draws[name], "thin": 2, "target_accept": 0.8}
        assert choice.options == expected


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_cells_of_the_committed_tables_are_cells_of_the_sweeps(name):
    """Results stay valid: a cell is found by an id that release 0.1.0 gave it."""
    sweeps = [sweep_of(name, "paper", beyond=beyond) for beyond in (False, True)]
    known = {cell.id for sweep in sweeps for cell in sweep.cells()}
    assert set(read_table(TABLES / f"{name}.parquet")["cell"].to_pylist()) <= known
    chains = {cell.id for cell in sweep_of(name, "paper", inference="chains", num_seeds=2).cells()}
    assert set(read_table(TABLES / f"{name}-chains.parquet")["cell"].to_pylist()) == chains


def test_so_are_those_with_independent_terminal_cells():
    known = {cell.id for cell in load_sweep(TABLES.parent / "independent.toml").cells()}
    assert set(read_table(TABLES / "independent.parquet")["cell"].to_pylist()) == known


def test_a_smaller_scale_meets_the_same_instances():
    small, large = sweep_of("random-8x8", "quick").cells()[0], sweep_of("random-8x8", "paper").cells()[0]
    assert small.seed == large.seed
    assert (small.make_world().reward == large.make_world().reward).all()
    assert small.expert_seed == large.expert_seed


def test_number_of_instances_can_be_chosen():
    assert sweep_of("jail", "paper", num_seeds=2).seeds == (0, 1)


@pytest.mark.parametrize(("arguments", "hint"), [
    (("jial", "quick"), "Did you mean 'jail'"),
    (("jail", "quik"), "Did you mean 'quick'"),
])  # fmt: skip
def test_misspelt_names(arguments, hint):
    with pytest.raises(InputError, match=hint):
        sweep_of(*arguments)


def test_scales_grow():
    sizes = [(scale.num_seeds, scale.num_steps, scale.smc["num_particles"]) for scale in SCALES.values()]
    assert sizes == sorted(sizes)
