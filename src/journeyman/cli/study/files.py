"""`journeyman study import`, `backup` and `recover`: what goes into a study file, and copies of one."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from journeyman.cli import options as opt
from journeyman.cli.importing import Columns, Separator, SkipImpossible, parse_columns, print_report
from journeyman.cli.study.options import AllowDuplicates, Annotator, StudyFile, app, opened_to_look
from journeyman.errors import InputError

if TYPE_CHECKING:
    from journeyman.demonstrations import Demonstration
    from journeyman.problem import Problem
    from journeyman.study.formats import ImportReport

ReadFormat = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help="csv, tsv, json, jsonl, parquet, npz, imitation or minari; default: by the ending.",
    ),
]


@opt.add_command(app, "import")
def import_file(
    file: StudyFile,
    source: Annotated[str, typer.Argument(metavar="FROM", help="File with demonstrations, or a Minari id.")],
    columns: Columns = None,
    separator: Separator = None,
    format: ReadFormat = None,
    by: Annotator = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be imported, and write nothing.")] = False,
    skip_impossible: SkipImpossible = False,
    allow_duplicates: AllowDuplicates = False,
    skip_duplicates: Annotated[
        bool, typer.Option("--skip-duplicates", help="Leave out what is already there, and attach the rest.")
    ] = False,
    as_json: opt.AsJson = False,
) -> None:
    """Attach demonstrations from a table or another file: data that were never asked for, all or nothing.

    A table has one row per step: a column state and a column action (or next_state), by label or number. Say with
    --columns which columns these are, and which tell demonstrations apart (demonstration), say who gave them
    (annotator) and count their steps (step). CSV with comma, semicolon or tab, TSV, JSON, JSON Lines and Parquet are
    read, also with .gz.

    Trajectories are split where a state or an action is missing (empty, NA, NaN, None, null or a dot) and where step
    numbers are skipped. Steps that the problem cannot make are listed and refused, unless --skip-impossible leaves them
    out and splits there. What was found is shown; --dry-run shows it and writes nothing.

    Data that are already there are refused, so that a file that is imported twice does not count twice: a whole file,
    one that has grown since, long demonstrations, and any with the same time stamp as an existing one.
    --skip-duplicates leaves out every demonstration that is already there.

    Examples: [bold]journeyman study import my.study old-answers.csv[/]. A table with other column names, with a look at
    it first: [bold]journeyman study import my.study runs.csv --columns state=node,action=move,annotator=animal,step=nr
    --dry-run[/]. One that has only the nodes that were visited: [bold]journeyman study import my.study path.csv
    --columns state=node,next_state=node[/].
    """
    from journeyman.learner.duplicates import duplicates_message, find_duplicates, find_matches
    from journeyman.study import Study
    from journeyman.wording import counted

    if allow_duplicates and skip_duplicates:
        raise InputError("duplicates must be allowed or skipped, got both. Leave out one of the two options.")
    with opened_to_look(file) if dry_run else Study.open(file) as study:
        chosen: dict[str, Any] = {"format": format, "columns": parse_columns(columns), "separator": separator}
        given, report = read_new(source, study.problem, by, chosen)
        known = study.answers
        repeated = find_matches(known, given) if skip_duplicates else find_duplicates(known, given)
        report = report.with_duplicates([given[number].annotator for number in repeated])
        new = [item for number, item in enumerate(given) if not (skip_duplicates and number in repeated)]
        answers: tuple[int | str, ...] = ()
        is_allowed, refusal = allow_duplicates or skip_duplicates, None
        try:
            if not skip_impossible:
                report.check_possible()
            if not dry_run:
                answers = study.attach(new, allow_duplicates=is_allowed) if new or not repeated else ()
            elif repeated and not is_allowed:
                raise InputError(duplicates_message(repeated, given, study.problem.mdp))
            else:
                study.problem.counts(new)  # whose they are must be known where that matters
        except InputError as error:
            if not dry_run:
                raise
            refusal = str(error)
    skipped = sorted(repeated) if skip_duplicates else []
    record: dict[str, Any] = {"skipped": skipped} if skip_duplicates else {}
    size = f"{counted(len(new), 'demonstration')} of {counted(sum(map(len, new)), 'step')}"
    if dry_run:
        record |= {"answers": [], "num_new": len(new), "refusal": refusal}
        words = f"Would attach {size}. Nothing was written." if refusal is None else f"Would be refused: {refusal}"
    else:
        record |= {"answers": list(answers)}
        words = f"Attached {size}, {answers[0]} to {answers[-1]}." if answers else "Nothing is new."
    if skipped:
        words += f" Left out {len(skipped)}, already there."
    opt.show(
        as_json,
        lambda: record | {"report": report.to_record()},
        lambda console: print_report(console, report, is_refused=not skip_impossible),
    )
    if not as_json:
        typer.echo(words)
    if dry_run and refusal is not None:
        raise typer.Exit(1)


def read_new(
    source: str, problem: "Problem", by: str | None, chosen: dict[str, Any]
) -> "tuple[list[Demonstration], ImportReport]":
    """Return the demonstrations of a file as data of another study, by somebody, and what was found in it."""
    from dataclasses import replace

    from journeyman.study.formats import examine_demonstrations
    from journeyman.wording import counted

    found, report = examine_demonstrations(source, problem, **chosen)
    if not found and not report.impossible:
        raise InputError(
            f"{source} must have at least one step, got none in {counted(report.num_rows, 'row')}, of which "
            f"{report.total.missing} lack a state or an action. Check its columns."
        )
    # Their query numbers are those of another study.
    return [replace(item, query_id=None, annotator=item.annotator or by) for item in found], report.by(by)


@opt.add_command(app)
def backup(
    file: StudyFile,
    to: Annotated[Path, typer.Argument(metavar="NEW", help="The copy; an existing file is not replaced.")],
) -> None:
    """Copy a study, whole, even while others write to it.

    The copy holds all that was acknowledged before. Copying the file itself (cp, rsync, a cloud folder) is safe only
    while nobody writes to it.

    Example: [bold]journeyman study backup my.study my-2026-03-01.study[/].
    """
    from journeyman.study import Study
    from journeyman.wording import counted

    with opened_to_look(file) as study:
        study.backup(to)
    with Study.open(to, read_only=True) as copy:
        typer.echo(f"Copied {file} to {to}: {counted(len(copy.demonstrations), 'answer')}.")


@opt.add_command(app)
def recover(
    file: StudyFile,
    to: Annotated[Path, typer.Argument(metavar="NEW", help="The new study.")],
    problem: opt.ProblemFile = None,
    world: opt.WorldChoice = None,
    world_set: opt.WorldOptions = None,
    seed: Annotated[int, typer.Option(help="Seed of that world.")] = 0,
    as_json: opt.AsJson = False,
) -> None:
    """Copy what can be read of a damaged study into a new one; the old file is left as it is.

    The history is copied up to the damage. Answers that can be read beyond it are attached, so that no data are lost.
    If the stored problem is lost, name it with --problem or --world.

    Examples: [bold]journeyman study recover broken.study saved.study[/]; where the problem is lost: [bold]journeyman
    study recover broken.study saved.study --problem problem.toml[/].
    """
    from journeyman.study.recovery import recover as recover_study

    if world is None:
        opt.check_no_options(world_set)
    given = None if problem is None and world is None else opt.chosen_world(world, problem, world_set, seed).problem
    recovery = recover_study(file, to, problem=given)
    record = {"num_events": recovery.num_events, "num_attached": recovery.num_attached, "losses": list(recovery.losses)}
    kept = f"{to} has {recovery.num_events} events of {file}, and {recovery.num_attached} attached answers."
    lines = [kept, *(f"Lost: {loss}" for loss in recovery.losses), f"Look at it: journeyman study status {to}"]
    opt.say(as_json, record, "\n".join(lines))
