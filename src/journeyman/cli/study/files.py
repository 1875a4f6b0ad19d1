"""`journeyman study import` and `recover`: what goes into a study file."""

from pathlib import Path
from typing import Annotated

import typer

from journeyman.cli import options as opt
from journeyman.cli.study.options import AllowDuplicates, Annotator, StudyFile, app
from journeyman.errors import InputError

Format = Annotated[
    str | None, typer.Option(metavar="NAME", help="jsonl, csv, npz, imitation or minari; default: by the ending.")
]


@opt.add_command(app, "import")
def import_file(
    file: StudyFile,
    source: Annotated[str, typer.Argument(metavar="FROM", help="File with demonstrations, or a Minari id.")],
    format: Format = None,
    by: Annotator = None,
    allow_duplicates: AllowDuplicates = False,
    skip_duplicates: Annotated[
        bool, typer.Option("--skip-duplicates", help="Leave out what is there already, and attach the rest.")
    ] = False,
    as_json: opt.AsJson = False,
) -> None:
    """Attach demonstrations from a file: data that were never asked for, all or none.

    Data that are there already are refused, so that a file that is imported twice does not count twice: a whole file,
    one that has grown since, and any demonstration of 10 steps or more, or with the same time stamp as one that is
    there.
    --skip-duplicates leaves out every demonstration that is there already.

    Columns of a .csv table: demonstration, state, action; optional: final_state, ended, query_id, annotator, timestamp.

    Example: [bold]journeyman study import my.study old-answers.csv[/].
    """
    from dataclasses import replace

    from journeyman.learner.duplicates import find_matches
    from journeyman.study import Study
    from journeyman.study.formats import read_demonstrations

    if allow_duplicates and skip_duplicates:
        raise InputError("duplicates must be allowed or skipped, got both. Leave out one of the two options.")
    with Study.open(file) as study:
        found = read_demonstrations(source, study.problem, format=format)
        # Their query numbers are those of another study.
        given = [replace(item, query_id=None, annotator=item.annotator or by) for item in found]
        skipped = find_matches(study.answers, given) if skip_duplicates else {}
        new = [item for number, item in enumerate(given) if number not in skipped]
        is_allowed = allow_duplicates or skip_duplicates
        answers = study.attach(new, allow_duplicates=is_allowed) if new or not skipped else ()
    words = f"Attached {len(answers)} demonstrations, {answers[0]} to {answers[-1]}." if answers else "Nothing is new."
    if skipped:
        words += f" Left out {len(skipped)} that are there already."
    record = {"answers": list(answers)} | ({"skipped": sorted(skipped)} if skip_duplicates else {})
    opt.say(as_json, record, words)


@opt.add_command(app)
def recover(
    file: StudyFile,
    to: Annotated[Path, typer.Argument(metavar="NEW", help="The new study.")],
    problem: opt.ProblemFile = None,
    world: opt.WorldChoice = None,
    seed: Annotated[int, typer.Option(help="Of that world.")] = 0,
    as_json: opt.AsJson = False,
) -> None:
    """Copy what can be read of a damaged study into a new one; the old file is left as it is.

    History is taken over up to the damage. Answers that can be read after it are attached, so that no data is lost. If
    the stored problem is lost, name it with --problem or --world.

    Example: [bold]journeyman study recover broken.study saved.study[/].
    """
    from journeyman.study.recovery import recover as recover_study

    given = None if problem is None and world is None else opt.chosen_world(world, problem, None, seed).problem
    recovery = recover_study(file, to, problem=given)
    record = {"num_events": recovery.num_events, "num_attached": recovery.num_attached, "losses": list(recovery.losses)}
    kept = f"{to} has {recovery.num_events} events of {file}, and {recovery.num_attached} attached answers."
    lines = [kept, *(f"Lost: {loss}" for loss in recovery.losses), f"Look at it: journeyman study status {to}"]
    opt.say(as_json, record, "\n".join(lines))
