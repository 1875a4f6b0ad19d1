"""`journeyman study new`, `export`, `import` and `recover`: study files, and what goes in and out of them."""

from pathlib import Path
from typing import Annotated, Any

import typer

from journeyman.cli import options as opt
from journeyman.cli.study.options import Annotator, StudyFile, app, opened_to_look
from journeyman.errors import InputError

KINDS = ("demonstrations", "posterior", "policy", "certificate", "history")
NEW_HELP = """Make a new study from a problem file, or from one of the worlds.

The settings are fixed for the life of the study. Defaults suit a first study: ask for single actions, stop when the \
policy loses less than epsilon with probability 1 - delta.
"""
NEW_EPILOG = (
    "Examples: [bold]journeyman study new my.study --problem problem.toml --epsilon 0.5[/]. "
    "[bold]journeyman study new jail.study --world jail --seed 3 --kind trajectory --length 10[/]. "
    "[bold]journeyman study new grid.study --world random-grid --world-set size=4 --inference-set num_particles=500[/]."
)
EXPORT_HELP = """Write what a study holds to a file that other programs read.

demonstrations: .jsonl, .csv or .npz by the ending, or --format imitation or minari (then TO is an id such as \
journeyman/garden-v0). posterior: NetCDF for ArviZ. policy and certificate: JSON. history: CSV, one \
row per step.
"""
IMPORT_HELP = """Attach demonstrations from a file: data that were never asked for, all or none.

Columns of a .csv table: demonstration, state, action; optional: final_state, ended, query_id, annotator, timestamp.
"""
RECOVER_HELP = """Copy what can be read of a damaged study into a new one; the old file is left as it is.

History is taken over up to the damage. Answers that can be read after it are attached, so that no data are lost. \
If the stored problem is lost, name it with --problem or --world.
"""
EXAMPLE = "Example: [bold]journeyman study "

Format = Annotated[
    str | None, typer.Option(metavar="NAME", help="jsonl, csv, npz, imitation or minari; default: by the ending.")
]


@app.command(help=NEW_HELP, epilog=NEW_EPILOG)
def new(
    file: StudyFile,
    problem: opt.ProblemFile = None,
    world: opt.WorldChoice = None,
    world_set: opt.WorldOptions = None,
    acquisition: opt.Acquisition = None,
    inference: opt.Inference = "smc",
    inference_set: opt.InferenceOptions = None,
    epsilon: opt.Epsilon = 0.1,
    delta: opt.Delta = 0.1,
    scope: Annotated[str, typer.Option(help="initial, or every_state: a guarantee wherever one starts.")] = "initial",
    kind: opt.Kind = "state",
    length: opt.Length = None,
    goal: opt.Goal = "policy",
    seed: Annotated[int, typer.Option(help="Of the learner, and of the world.")] = 0,
    as_json: opt.AsJson = False,
) -> None:
    """Make the file, and say what comes next."""
    from journeyman.study import Study

    chosen: dict[str, Any] = dict(
        acquisition=acquisition, inference=inference, inference_options=opt.parse_settings(inference_set),
        epsilon=epsilon, delta=delta, scope=scope, kind=kind, length=length, goal=goal, seed=seed,
    )  # fmt: skip
    with Study.create(file, opt.chosen_world(world, problem, world_set, seed).problem, **chosen) as study:
        record, made = {"file": str(file)} | study.overview().to_record(), study.problem
    size = f"{made.mdp.num_states} states, {int(made.queryable.sum())} of them may be asked about"
    opt.say(as_json, record, f"Made {file}: {size}.\nNext: journeyman study ask {file}")


@app.command(
    help=EXPORT_HELP,
    epilog=EXAMPLE + "export my.study answers.csv[/]; [bold]journeyman study export my.study draws.nc --what "
    "posterior[/]; [bold]journeyman study export my.study policy.json --what policy[/].",
)
def export(
    file: StudyFile,
    to: Annotated[str, typer.Argument(metavar="TO", help="File to write; an existing one is replaced.")],
    what: Annotated[
        str, typer.Option(help="demonstrations, posterior, policy, certificate or history.")
    ] = "demonstrations",
    format: Format = None,
    repeat_last: Annotated[
        bool, typer.Option("--repeat-last", help="Repeat the last state where none was seen (imitation, minari).")
    ] = False,
) -> None:
    """Write one thing to one place."""
    from journeyman.checks import one_of

    one_of(what, KINDS, "what", "Leave it out for demonstrations.")
    if what != "demonstrations" and (format is not None or repeat_last):
        raise InputError(f"only demonstrations have formats, got one for the {what}. Leave it out.")
    from journeyman.study import exports
    from journeyman.study.formats import write_demonstrations

    with opened_to_look(file) as study:
        if what == "demonstrations":
            write_demonstrations(study.demonstrations, to, study.problem, format=format, repeat_last=repeat_last)
        else:
            exports.EXPORTS[what](study, to)
        count = f"{len(study.demonstrations)} demonstrations" if what == "demonstrations" else f"the {what}"
    typer.echo(f"Wrote {count} to {to}")


@app.command("import", help=IMPORT_HELP, epilog=EXAMPLE + "import my.study old-answers.csv[/].")
def import_file(
    file: StudyFile,
    source: Annotated[str, typer.Argument(metavar="FROM", help="File with demonstrations, or a Minari id.")],
    format: Format = None,
    by: Annotator = None,
    as_json: opt.AsJson = False,
) -> None:
    """Attach all of them, or none."""
    from dataclasses import replace

    from journeyman.study import Study
    from journeyman.study.formats import read_demonstrations

    with Study.open(file) as study:
        found = read_demonstrations(source, study.problem, format=format)
        # Their query numbers are those of another study.
        answers = study.attach([replace(item, query_id=None) for item in found], annotator=by)
    words = f"Attached {len(answers)} demonstrations, {answers[0]} to {answers[-1]}."
    opt.say(as_json, {"answers": list(answers)}, words)


@app.command(help=RECOVER_HELP, epilog=EXAMPLE + "recover broken.study saved.study[/].")
def recover(
    file: StudyFile,
    to: Annotated[Path, typer.Argument(metavar="NEW", help="The new study.")],
    problem: opt.ProblemFile = None,
    world: opt.WorldChoice = None,
    seed: Annotated[int, typer.Option(help="Of that world.")] = 0,
    as_json: opt.AsJson = False,
) -> None:
    """Copy what can be read, and say what was lost."""
    from journeyman.study.recovery import recover as recover_study

    given = None if problem is None and world is None else opt.chosen_world(world, problem, None, seed).problem
    recovery = recover_study(file, to, problem=given)
    record = {"num_events": recovery.num_events, "num_attached": recovery.num_attached, "losses": list(recovery.losses)}
    kept = f"{to} has {recovery.num_events} events of {file}, and {recovery.num_attached} attached answers."
    lines = [kept, *(f"Lost: {loss}" for loss in recovery.losses), f"Look at it: journeyman study status {to}"]
    opt.say(as_json, record, "\n".join(lines))
