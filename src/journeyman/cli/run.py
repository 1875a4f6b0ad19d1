"""`journeyman run`: let a learner ask a simulated expert until it may stop."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from journeyman.cli import options as opt
from journeyman.errors import InputError

if TYPE_CHECKING:
    from journeyman.learner import LearnerSettings, Simulation
    from journeyman.problem import Problem
    from journeyman.study import Study
    from journeyman.worlds import World

STUDY, HISTORY = "run.study", "history.csv"


def run(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the run; the same one continues it.")],
    world: opt.WorldChoice = None,
    problem: opt.ProblemFile = None,
    acquisition: opt.Acquisition = None,
    inference: opt.Inference = "smc",
    steps: Annotated[int, typer.Option(metavar="N", help="Answers in all, at most.")] = 50,
    batch: Annotated[int, typer.Option(metavar="K", help="Queries to choose at once.")] = 1,
    kind: opt.Kind = "state",
    length: opt.Length = None,
    step_cost: opt.StepCost = 0.0,
    candidates: opt.Candidates = None,
    epsilon: opt.Epsilon = "0.1",
    delta: opt.Delta = 0.1,
    scope: opt.Scope = "initial",
    max_samples: opt.MaxSamples = 16_000,
    max_seconds: opt.MaxSeconds = 0.0,
    goal: opt.Goal = "policy",
    seed: Annotated[int, typer.Option(help="Seed of the world, of the expert's noise, and of the learner.")] = 0,
    world_set: opt.WorldOptions = None,
    inference_set: opt.InferenceOptions = None,
    acquisition_set: opt.AcquisitionOptions = None,
    stop: Annotated[bool, typer.Option(help="Whether to stop when the goal is reached.")] = True,
    threads: opt.Threads = None,
    as_json: opt.AsJson = False,
) -> None:
    """Let a learner ask a simulated expert, one query after another, until it may stop.

    After every answer the posterior is updated and the next query is the one that tells most. The run ends after
    --steps answers, or when the certificate holds: the policy loses less than epsilon with a probability of at least 1
    - delta, confirmed on a fresh posterior. Everything is saved in a study as it comes: stop at any time, and run the
    same command again to resume.

    Examples: [bold]journeyman run --world jail --seed 3 --epsilon 0.5 --out runs/jail[/] asks until it is sure.
    [bold]journeyman run --world random-10x10 --acquisition active_var --steps 50 --no-stop --out runs/var[/] always
    asks 50 times. [bold]journeyman run --problem problem.toml --out runs/mine[/] takes a problem of your own; the true
    reward of its simulated expert is drawn from the prior. The folder holds run.study (a study: [bold]journeyman study
    report runs/mine/run.study[/]), history.csv and certificate.json. Exit code 0 whether or not the certificate holds;
    1 after an error; 130 if stopped by Ctrl-C.
    """
    from journeyman.checks import whole_number
    from journeyman.learner import LearnerSettings
    from journeyman.storage.files import lock, made_folder
    from journeyman.study import exports

    whole_number(steps, "steps", 0, "It is the number of answers.")
    whole_number(batch, "batch", 1, "It is the number of queries to choose at once.")
    instance = opt.chosen_world(world, problem, world_set, seed)
    if problem is not None:
        typer.echo(f"The true reward of the simulated expert is drawn from the prior, with seed {seed}.", err=True)
    chosen = LearnerSettings.for_problem(
        instance.problem,
        acquisition=acquisition or "",
        acquisition_options=opt.parse_scoring_options(acquisition_set),
        inference=inference,
        inference_options=opt.parse_settings(inference_set),
        epsilon=epsilon,
        delta=delta,
        scope=scope,
        max_samples=max_samples,
        kind=kind,
        length=opt.trajectory_length(instance, kind, length),
        step_cost=step_cost,
        goal=goal,
        seed=seed,
        candidates=opt.parse_candidates(candidates, instance.problem),
    )
    chosen.check_problem(instance.problem)
    folder = made_folder(out, "a run")
    with (folder / HISTORY).open("a", encoding="utf-8") as file:
        lock(file, out, "a run")
        with opened_run(folder, instance.problem, chosen, threads, max_seconds or None) as study:
            try:
                result = resume_run(study, instance, folder, steps, batch, stop=stop)
            except KeyboardInterrupt:
                typer.echo(f"Stopped. All answers so far are kept in {out}; run the same command to resume.", err=True)
                raise typer.Exit(130) from None
            record = result_record(instance, result)
            exports.write_json(record["certificate"], folder / "certificate.json")
            if as_json:
                options = {} if world is None else opt.parse_options(world, world_set)
                source = {"world": world, "world_options": options, "problem": problem and str(problem)}
                opt.print_json({"out": str(out), "spec": {**source, "batch": batch, **chosen.to_record()}} | record)
            else:
                print_result(result, record, out, ending(result, steps, stop=stop))


def opened_run(
    folder: Path,
    problem: "Problem",
    settings: "LearnerSettings",
    num_threads: int | None,
    max_seconds: float | None = None,
) -> "Study":
    """Return the study of a run: a new one, or the one that is there if it is of the same run."""
    from journeyman.study import Study

    path = folder / STUDY
    limits: dict[str, Any] = {"num_threads": num_threads, "max_seconds": max_seconds}
    if not path.exists():
        if (folder / "events.jsonl").exists():
            raise InputError(
                f"a run must be resumed by the version that began it, got one of version 0.1 in {str(folder)!r}. "
                "Choose another folder."
            )
        return Study.create(path, problem, **limits, **settings.to_record())
    study = Study.open(path, **limits)
    try:
        check_same(study, problem, settings, folder)
    except InputError:
        study.close()
        raise
    return study


def check_same(study: "Study", problem: "Problem", settings: "LearnerSettings", folder: Path) -> None:
    """Refuse a study of another run, and say what is different."""
    from journeyman.problem_files import is_same_problem

    theirs, ours = study.settings.to_record(), settings.to_record()
    for name in {**ours, **theirs}:  # a setting that is left out of a record is not set
        if theirs.get(name) != ours.get(name):
            raise InputError(
                f"a run must be resumed with the settings that it began with, got {name} = {ours.get(name)!r} where "
                f"{str(folder)!r} has {theirs.get(name)!r}. Choose another folder, or the old settings."
            )
    if not is_same_problem(problem, study.problem):
        raise InputError(
            f"a run must be resumed with the problem that it began with, got another than {str(folder)!r} has. "
            "Choose another folder, or the old problem."
        )


def resume_run(study: "Study", instance: "World", folder: Path, steps: int, batch: int, *, stop: bool) -> "Simulation":
    """Simulate what is missing, and keep the history as it grows."""
    from journeyman.cli.warmup import compile_at_first_use
    from journeyman.learner import simulate
    from journeyman.study import exports
    from journeyman.wording import counted

    answered = sum(event.name == "tell" for event in study.events)
    if study.events:
        typer.echo(f"Resuming after {counted(answered, 'answer')} in {folder}.", err=True)
    compile_at_first_use()
    exports.write_export(study, "history", folder / HISTORY)
    return simulate(
        study,
        instance.expert,
        max(0, steps - answered),
        stop_when_finished=stop,
        batch_size=batch,
        on_step=lambda _: exports.write_export(study, "history", folder / HISTORY),
    )


def result_record(instance: "World", result: "Simulation") -> dict[str, Any]:
    """Return what came of a run as plain data, with the true regret, which the learner never sees."""
    learner = result.learner
    return {
        "num_steps": len(result.history) - 1,
        "is_finished": result.is_finished,
        "true_regret": instance.regret(learner.apprentice()),
        "last_step": result.history[-1].to_record(),
        "certificate": result.certificate.to_record(),
    }


def ending(result: "Simulation", steps: int, *, stop: bool) -> str:
    """Say why a run has ended, and whether the goal was reached if that was looked at."""
    from journeyman.wording import counted

    answered = sum(event.name == "tell" for event in result.learner.events)
    answers = counted(answered, "answer")
    if result.is_finished:
        return f"{answers}; the goal was reached."
    if answered > steps:
        were = "was" if answered == 1 else "were"
        return f"There {were} {answers} already, so --steps {steps} asks for no more."
    if result.is_finished is False and result.certificate.status == "doubtful":
        return f"{answers}; the certificate holds, but the model is doubtful, so that it was no reason to stop."
    if result.is_finished is False:
        return f"{answers}; the goal was not reached."
    reason = "a question still waits" if stop else "it was told not to stop there (--no-stop)"
    return f"{answers}; whether the goal is reached was not looked at: {reason}."


def print_result(result: "Simulation", record: dict[str, Any], out: Path, ended: str) -> None:
    """Print the certificate in words, and what the simulation knows besides."""
    typer.echo(result.certificate.text())
    typer.echo("")
    if result.learner.settings.goal == "reward":
        known = result.learner.knowledge()
        typer.echo(
            f"The widest {result.learner.settings.goal_options.get('level', 0.95):.0%} interval of the reward's "
            f"parameters is {known.widths.max():.3g}; the best next answer would tell {known.information:.3g} nats."
        )
    typer.echo(ended)
    typer.echo(f"True regret of the apprentice, which the learner does not know: {record['true_regret']:.4g}.")
    for warning in dict.fromkeys(w for step in result.history[-1:] for w in step.warnings):
        typer.echo(f"Warning: {warning}", err=True)
    typer.echo(f"All of it is kept in {out}: history.csv has one row per step.")
    if result.is_finished is False:
        typer.echo("To continue, run the same command with a larger --steps.")
