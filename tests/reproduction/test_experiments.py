import pytest

from journeyman.errors import InputError
from journeyman.inference.chains import PRESETS
from reproduction.experiments import EXPERIMENTS, SCALES, sweep_of


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


def test_published_inference_is_a_chain_from_scratch():
    draws = {"jail": 200, "random-8x8": 500, "random-8x8-trajectories": 500, "random-10x10": 1000}
    for name, experiment in EXPERIMENTS.items():
        (choice,) = sweep_of(name, "paper", inference="published").inference
        assert choice.name == ("policywalk" if name == "jail" else "valuewalk")
        preset = PRESETS[choice.options["preset"]]
        assert (preset.num_warmup, preset.num_draws, preset.thin) == (100, draws[name], 2)
        assert choice.options["preset"] == experiment.preset


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
