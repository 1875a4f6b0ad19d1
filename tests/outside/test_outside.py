"""The recipes of CONTRIBUTING, tried: what is added from outside works wherever what the package brings does."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from cli.command import command
from experiment.small import assert_same_tables

import journeyman
from journeyman import WORLDS, ActiveLearner, Boltzmann, Normal, Study, certify, infer, make_world, score, simulate
from journeyman.errors import InputError, StudyError
from journeyman.experiment import load_sweep, run_sweep, sweep_table
from journeyman.experts import EXPERTS
from journeyman.inference import INFERENCE
from journeyman.problem_files import load_problem
from journeyman.rewards import PRIORS, ContinuousPrior
from journeyman.testing import check_expert_model, check_prior

HERE = Path(__file__).parent
SWEEP = """
name = "outside"
steps = 2
seeds = 1
worlds = [{name = "corridor", label = "corridor", options = {size = 4}}]
inference = [{name = "importance", label = "importance", options = {num_draws = 300}}]
acquisitions = [{name = "disagreement", label = "disagreement", options = {power = 2}}, "random"]
"""


@pytest.fixture
def kit(monkeypatch):
    monkeypatch.syspath_prepend(HERE)
    import journeyman_kit

    journeyman_kit.register()
    yield journeyman_kit
    journeyman_kit.unregister()


def test_parts_of_the_kit_agree(kit):
    check_prior(kit.Laplace(3, 2.0))
    check_expert_model(kit.Lapsing(3.0, 0.2))
    check_expert_model(kit.Lapsing(3.0, 0.0))


@pytest.mark.parametrize("lapse", [0.0, 0.2])
@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("smc", {"num_particles": 2000}),
        pytest.param("policywalk", {"num_chains": 2, "num_warmup": 200, "num_draws": 600}, marks=pytest.mark.slow),
        pytest.param(
            "policywalk",
            {"sampler": "hmc", "num_chains": 2, "num_warmup": 200, "num_draws": 600},
            marks=pytest.mark.slow,
        ),
    ],
)
def test_gradients_of_an_outside_prior_and_expert_give_the_posterior(kit, method, options, lapse):
    """Against importance sampling, which needs no gradient: means within 5 standard errors of both."""
    world = make_world("corridor", 3, size=3, lapse=lapse)
    answers = world.expert.answers([0, 0, 1, 1, 0])
    exact = infer(world.problem, answers, "importance", seed=1, num_draws=40_000)
    found = infer(world.problem, answers, method, seed=2, **options)
    d = found.diagnostics
    sizes = [size for size in (d.ess_bulk, d.distinct_ancestors) if size is not None]
    error = exact.parameter_std() * np.sqrt(1.0 / min(sizes) + 1.0 / exact.diagnostics.particle_ess)
    assert np.abs(found.mean_parameters() - exact.mean_parameters()).max() < 5.0 * error.max()
    np.testing.assert_allclose(found.parameter_std(), exact.parameter_std(), rtol=0.35)


def test_scores_learner_and_certificate(kit):
    world = make_world("corridor", 1, lapse=0.1)
    posterior = infer(world.problem, world.expert.answers([0, 1, 2]), "importance", num_draws=1000)
    scores = score(posterior, "disagreement", power=2.0)
    assert scores.unit == "actions" and np.isfinite(scores.values[:-1]).all()
    assert any("does anything with a chance of 0.1" in line for line in certify(posterior, 0.5, 0.2).assumptions)
    learner = ActiveLearner(
        world.problem, acquisition="disagreement", inference="importance", epsilon=1.0, delta=0.3, seed=0
    )
    result = simulate(learner, world.expert, 4, progress=False)
    assert 0 < len(learner.history()) <= 5 and result.certificate.epsilon == 1.0


def test_a_method_of_ones_own_is_confirmed_by_itself(kit, monkeypatch):
    """And with more draws, by its own `longer_fn`; never by another method."""
    asked = []
    wrapped = kit.infer_importance

    def noted(problem, counts, *, seed, num_threads, progress, num_draws=2000):
        asked.append((seed, num_draws))
        return wrapped(problem, counts, seed=seed, num_threads=num_threads, progress=progress, num_draws=num_draws)

    INFERENCE.register("noted", kit.Method("noted", noted, longer_fn=kit.longer_importance))
    try:
        world = make_world("corridor", 1)
        learner = ActiveLearner(world.problem, inference="noted", acquisition="random", epsilon=50.0, delta=0.3)
        learner.certificate()
        asked.clear()
        confirmation = learner.confirmation()
    finally:
        INFERENCE.unregister("noted")
    assert [draws for _, draws in asked] == [4000]
    assert confirmation.holds


def test_study_report_and_reopening(kit, tmp_path, monkeypatch, capsys):
    path = tmp_path / "outside.study"
    world = make_world("corridor", 2, lapse=0.1)
    with Study.create(
        path, world.problem, acquisition="disagreement", inference="importance", inference_options={"num_draws": 400}
    ) as study:
        query = study.ask()
        study.tell(query, world.expert.demonstrate(query))
    with Study.open(path) as study:
        assert study.problem.prior.to_record() == world.problem.prior.to_record()
        assert study.problem.expert == world.problem.expert
        assert study.posterior().method == "importance"
    run = command(monkeypatch, capsys, "study")
    code, _, error = run("report", path, "-o", tmp_path / "report.html")
    assert code == 0, error
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "actions" in page and "chosen by chance" not in page
    kit.unregister()
    try:
        unknown = r"uses the prior '\w+', which is not registered here\. Install .* module in JOURNEYMAN_PLUGINS\."
        with pytest.raises(StudyError, match=unknown) as refusal:
            Study.open(path).close()
        assert "damaged" not in str(refusal.value) and "recover" not in str(refusal.value)
        monkeypatch.setenv("JOURNEYMAN_PLUGINS", "no_such_module_here")
        with pytest.raises(InputError, match="JOURNEYMAN_PLUGINS must name modules that can be imported"):
            Study.open(path).close()
    finally:
        monkeypatch.delenv("JOURNEYMAN_PLUGINS", raising=False)
        kit.register()


@pytest.mark.parametrize(
    ("setting", "what"),
    [({"acquisition": "disagreement"}, "acquisition function"), ({"inference": "importance"}, "inference method")],
)
def test_a_study_with_a_setting_that_is_not_registered_is_not_called_damaged(kit, tmp_path, setting, what):
    path = tmp_path / "outside.study"
    Study.create(path, make_world("jail").problem, **setting).close()
    (name,) = setting.values()
    kit.unregister()
    try:
        with pytest.raises(StudyError, match=f"uses the {what} '{name}', which is not registered here"):
            Study.open(path).close()
    finally:
        kit.register()
    Study.open(path).close()


def test_command_line(kit, monkeypatch, capsys):
    run = command(monkeypatch, capsys, columns=100)
    code, output, error = run(
        "scores", "corridor", "--acquisition", "disagreement", "--inference", "importance", "--demonstrations", 3
    )
    assert code == 0 and "actions" in output, error
    code, output, _ = run("worlds")
    assert code == 0 and "corridor" in output


def test_problem_file_with_an_outside_prior_and_expert(kit, tmp_path, monkeypatch, capsys):
    run = command(monkeypatch, capsys)
    code, _, error = run("init", tmp_path / "mine")
    assert code == 0, error
    path = tmp_path / "mine" / "problem.toml"
    tables = path.read_text("utf-8").split("\n[")
    kept = [table for table in tables if not table.startswith(("prior]", "expert]"))]
    more = ['prior]\nkind = "laplace"\nscale = 2.0\n', 'expert]\nkind = "lapsing"\nbeta = 3.0\nlapse = 0.05\n']
    path.write_text("\n[".join([*kept, *more]), "utf-8")
    code, _, error = run("check", path)
    assert code == 0, error
    problem = load_problem(path)
    assert isinstance(problem.prior, kit.Laplace) and problem.prior.scale == 2.0
    assert problem.expert == kit.Lapsing(3.0, 0.05)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "lapse = 0.05",
            "lapsee = 0.05",
            r"\[expert\], line \d+ of problem.toml: Lapsing must get keys that it can read, got beta, lapsee, which "
            r"failed with KeyError: 'lapse'\. Compare them with its from_record",
        ),
        (
            "scale = 2.0",
            "scale = [2.0]",
            r"\[prior\], line \d+ of problem.toml: Laplace must get keys that it can read, got scale, .*TypeError",
        ),
        ('"lapsing"', '"lapsin"', r"Did you mean 'lapsing'\?$"),
        (
            '"laplace"',
            '"hierarchical"',
            r"kind must be one of normal, [a-z_, ]+, got 'hierarchical' at line \d+ of problem.toml\. "
            r'Example: kind = "normal"\. Names from outside need JOURNEYMAN_PLUGINS or an installed package\.$',
        ),
    ],
)
def test_a_mistake_in_the_keys_of_an_outside_class_is_named_with_its_place(kit, tmp_path, old, new, message):
    text = (
        'discount = 0.9\n[transitions]\nfile = "moves.csv"\n[reward]\nmodel = "per_state"\n'
        '[prior]\nkind = "laplace"\nscale = 2.0\n[expert]\nkind = "lapsing"\nbeta = 3.0\nlapse = 0.05\n'
    )
    (tmp_path / "moves.csv").write_text("state,action,next_state,probability\n0,0,1,1\n1,0,0,1\n", "utf-8")
    path = tmp_path / "problem.toml"
    path.write_text(text, "utf-8")
    load_problem(path)
    path.write_text(text.replace(old, new), "utf-8")
    with pytest.raises(InputError, match=message):
        load_problem(path)


def environment(tmp_path, **more):
    path = os.pathsep.join([str(HERE), str(tmp_path), *os.environ.get("PYTHONPATH", "").split(os.pathsep)])
    return {**os.environ, "PYTHONPATH": path, "COLUMNS": "100", **more}


def journeyman_in_its_own_process(*arguments, **options):
    command_line = [sys.executable, "-m", "journeyman", *map(str, arguments)]
    return subprocess.run(command_line, capture_output=True, text=True, timeout=300, **options)


@pytest.mark.slow
def test_sweep_with_workers_by_the_environment_variable(kit, tmp_path, monkeypatch, capsys):
    """And two workers give the table of one."""
    (tmp_path / "sweep.toml").write_text(SWEEP, "utf-8")
    env = environment(tmp_path, JOURNEYMAN_PLUGINS="journeyman_kit_plugin")
    done = journeyman_in_its_own_process("sweep", "run", "sweep.toml", "--workers", 2, cwd=tmp_path, env=env)
    assert done.returncode == 0, done.stderr
    monkeypatch.chdir(tmp_path)
    code, table, error = command(monkeypatch, capsys, columns=100)("sweep", "table", "sweep.toml")
    assert code == 0 and "disagreement" in table, error
    sweep = load_sweep("sweep.toml")
    assert run_sweep(sweep, "alone", progress=False).is_complete
    assert_same_tables(sweep_table(sweep, "runs/sweep"), sweep_table(sweep, "alone"))


def test_entry_points_are_found_by_the_command_line(tmp_path):
    info = tmp_path / "journeyman_kit-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: journeyman-kit\nVersion: 1.0\n", "utf-8")
    (info / "entry_points.txt").write_text(
        "[journeyman.worlds]\ncorridor = journeyman_kit:corridor\n"
        "[journeyman.acquisitions]\ndisagreement = journeyman_kit:DISAGREEMENT\n",
        "utf-8",
    )
    shown = journeyman_in_its_own_process("worlds", "show", "corridor", "--json", env=environment(tmp_path))
    assert shown.returncode == 0, shown.stderr
    assert json.loads(shown.stdout)["name"] == "corridor"


def test_contract_suites_pass_over_the_kit(tmp_path):
    """The tests that go through every registry entry pass for entries that came from outside."""
    tests = HERE.parent
    suites = [
        "inference/test_contract.py",
        "acquisition/test_scoring.py",
        "acquisition/test_batch.py",
        "worlds/test_worlds.py",
    ]
    paths = [str(tests / suite) for suite in suites]
    env = environment(tmp_path, JOURNEYMAN_PLUGINS="journeyman_kit_plugin")
    chosen = "importance or disagreement or corridor"
    arguments = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-k", chosen, *paths]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *arguments], capture_output=True, text=True, env=env, cwd=tests.parent
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert " passed" in done.stdout and "failed" not in done.stdout


def test_a_wrong_entry_is_refused_by_name(kit):
    with pytest.raises(InputError, match="must be of type Acquisition, got function as 'bare'"):
        journeyman.ACQUISITIONS.register("bare", kit.rate_disagreement)


class Half(ContinuousPrior):
    """Lacks what makes it a prior."""

    def log_density(self, theta):
        return 0.0


@pytest.mark.parametrize(
    ("registry", "entry", "message"),
    [
        (PRIORS, dict, "a prior named 'foo' must have the methods of Prior, got dict without log_density, sample"),
        (PRIORS, Half, "got Half without from_unconstrained, to_unconstrained, pull_back. Add them."),
        (PRIORS, Normal(2), "a prior must be a class, got an instance of Normal as 'foo'. Give Normal itself."),
        (EXPERTS, dict, "must have the methods of ExpertModel, got dict without log_policy, pull_back"),
        (EXPERTS, Boltzmann(2.0), "an expert model must be a class, got an instance of Boltzmann"),
        (WORLDS, 5, "a world named 'foo' must be a function of a seed, got 5. Write def"),
        (WORLDS, lambda: None, "must be a function of a seed, got no parameters"),
        (WORLDS, lambda size=3: None, "must be a function of a seed, got size as its first parameter"),
        (WORLDS, lambda seed, size: None, "must have a default for each option, got none for size"),
    ],
)
def test_registries_refuse_what_cannot_work(registry, entry, message):
    with pytest.raises(InputError, match=message):
        registry.register("foo", entry)
    assert "foo" not in registry


def test_an_acquisition_function_rates_kinds_of_queries_that_exist(kit):
    with pytest.raises(InputError, match=r"kinds of an acquisition function must be one of .*got 'stat'. Did you mean"):
        kit.Acquisition("a typing error", kit.rate_disagreement, kinds=("stat",))


def test_a_world_goes_by_its_registered_name(kit):
    WORLDS.register("hall", kit.corridor)
    try:
        assert make_world("hall", 1).name == "hall" and make_world("corridor", 1).name == "corridor"
    finally:
        WORLDS.unregister("hall")
    assert make_world("random-grid", 0, size=3).name == "random-3x3"
