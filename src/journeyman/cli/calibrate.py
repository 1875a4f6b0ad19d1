"""`journeyman calibrate`: tell whether an inference method is right on average."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from journeyman.cli import options as opt
from journeyman.errors import InputError

if TYPE_CHECKING:
    from journeyman.problem import Problem

DEPENDENT_WARNING = (
    "the dynamics of this world are drawn with a look at the true reward, which a learner is not told. No "
    "posterior can be calibrated on it. Test on another world; in place of a random grid, on --world random-grid "
    "--world-set terminals=independent (with --world-set size=8 for the 8x8 grid)."
)
OWN_REWARD_WARNING = (
    "the true reward of this world is the environment's own, not a draw from the prior. No posterior can be calibrated "
    "on it. Say --world-set truth=prior."
)


def calibrate(
    world: opt.WorldChoice = None,
    problem: opt.ProblemFile = None,
    problem_factory: Annotated[
        str | None, typer.Option(metavar="FILE.py:NAME", help="A Problem in a Python file, or a function giving one.")
    ] = None,
    inference: opt.Inference = "smc",
    replications: Annotated[
        int, typer.Option(help="How many; 500 detect means that are off by a quarter of an sd.")
    ] = 200,
    demonstrations: Annotated[int, typer.Option(help="Answers of the expert per replication.")] = 20,
    length: Annotated[
        int | None, typer.Option(help="Ask for trajectories of at most this many steps instead of single actions.")
    ] = None,
    world_set: opt.WorldOptions = None,
    inference_set: opt.InferenceOptions = None,
    assumed_beta_factor: Annotated[
        float, typer.Option(help="Tell the method a beta that is wrong by this factor, to see that the test notices.")
    ] = 1.0,
    seed: Annotated[int, typer.Option(help="Seed of the whole run.")] = 0,
    workers: Annotated[int, typer.Option(help="Processes; the result does not depend on them.")] = 1,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where results are kept; default: a name made from the settings."),
    ] = None,
    png: opt.Picture = None,
    as_json: opt.AsJson = False,
) -> None:
    """Test whether an inference method is calibrated on a world, or on a problem of your own.

    Each replication draws a true reward from the prior, asks a simulated expert, infers, and looks where the truth lies
    among posterior draws. If the posterior is right, every rank is equally likely, and 80 % intervals contain the truth
    in 80 % of replications. Results are saved as they come: stop at any time, and run the same command again to resume.

    Examples: [bold]journeyman calibrate --world jail --inference smc --replications 200[/] takes a few minutes.
    [bold]journeyman calibrate --world random-grid --world-set size=4 --world-set terminals=independent --inference
    policywalk --inference-set sampler=hmc[/] changes options of the world and of the method. [bold]--problem
    maze.toml[/] takes a problem file, [bold]--problem-factory maze.py:problem[/] a Problem that you made in Python.
    [bold]--assumed-beta-factor 2[/] makes the method assume a wrong beta, which the test must notice.
    """
    from journeyman.calibration import CalibrationSpec, load_run, run_calibration, summarise, summary_record
    from journeyman.checks import whole_number
    from journeyman.report.calibration import calibration_figure, describe_spec, print_calibration

    opt.check_picture(png)
    whole_number(replications, "the number of replications", 1)
    whole_number(workers, "the number of workers", 1)
    if world is None:
        opt.check_no_options(world_set)
    spec = CalibrationSpec(
        world=world,
        world_options={} if world is None else opt.parse_options(world, world_set),
        problem=given_problem(problem, problem_factory),
        method=inference,
        method_options=opt.parse_settings(inference_set),
        num_demonstrations=demonstrations,
        kind="state" if length is None else "trajectory",
        length=length,
        assumed_beta_factor=assumed_beta_factor,
        seed=seed,
    )
    name = (world or "problem").replace(":", "-").replace("/", "-")  # of a file, anywhere
    path = out or Path(f"calibration-{name}-{inference}-{spec.id[:8]}.jsonl")
    if spec.depends_on_truth:
        is_own = world is not None and world.startswith("gym:")
        typer.echo(f"Warning: {OWN_REWARD_WARNING if is_own else DEPENDENT_WARNING}", err=True)
    typer.echo(f"Results are kept in {path}; run the same command again to resume after an interruption.", err=True)
    try:
        done = run_calibration(spec, replications, path, num_workers=workers, progress=True)
    except KeyboardInterrupt:
        typer.echo(f"Stopped. {len(load_run(path).replications)} replications are kept in {path}.", err=True)
        raise typer.Exit(130) from None
    summary = summarise(done, load_run(path).names, spec.num_draws)
    title = describe_spec(spec.record())
    record = {"spec": spec.record(), "depends_on_truth": spec.depends_on_truth} | summary_record(summary)
    opt.show(as_json, lambda: record, lambda console: print_calibration(console, summary, title))
    opt.save_picture(lambda: calibration_figure(summary, title), png, as_json)


def given_problem(file: Path | None, factory: str | None) -> "Problem | None":
    """Return the problem of a file, or of a Python object; None if the run is on a world."""
    if file is not None and factory is not None:
        raise InputError("a calibration must have one problem, got --problem and --problem-factory. Leave one out.")
    if file is None:
        return None if factory is None else made_problem(factory)
    if ".py:" in str(file):
        raise InputError(f"--problem must get a problem file, got {str(file)!r}. Say --problem-factory {file}")
    from journeyman.problem_files import load_problem

    return load_problem(file)


def made_problem(place: str) -> "Problem":
    """Return the Problem that FILE.py:NAME means: an object, or a function without arguments that gives one."""
    from runpy import run_path

    from journeyman.problem import Problem

    file, separator, name = place.rpartition(":")
    if not separator or not Path(file).is_file():
        raise InputError(
            f"a problem factory must be given as FILE.py:NAME of a file that exists, got {place!r}. Check the path."
        )
    names = run_path(file)
    found = names.get(name)
    if callable(found):
        found = found()
    if not isinstance(found, Problem):
        known = ", ".join(key for key, value in names.items() if isinstance(value, Problem)) or "none"
        raise InputError(
            f"{name!r} in {file!r} must be a Problem, got {type(found).__name__}. Problems there: {known}."
        )
    return found
