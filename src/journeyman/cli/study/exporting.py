"""`journeyman study export`: what goes out of a study file."""

import sys
from typing import Annotated

import typer

from journeyman.cli import options as opt
from journeyman.cli.study.looking import PATIENCE
from journeyman.cli.study.options import StudyFile, app, opened_to_look
from journeyman.errors import InputError

KINDS = ("demonstrations", "posterior", "draws", "reward", "policy", "predictive", "history", "certificate")
OF_DEMONSTRATIONS = ("--format", "--labels", "--repeat-last")


@opt.add_command(app)
def export(
    file: StudyFile,
    to: Annotated[str, typer.Argument(metavar="TO", help="File to write; an existing one is replaced.")],
    what: Annotated[str, typer.Option(metavar="WHAT", help=f"{', '.join(KINDS[:-1])} or {KINDS[-1]}.")] = KINDS[0],
    level: Annotated[float, typer.Option(metavar="P", help="Posterior chance of the intervals.")] = 0.95,
    format: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Format of demonstrations: csv, tsv, json, jsonl, parquet, npz, imitation, minari."
        ),
    ] = None,
    labels: Annotated[
        bool, typer.Option("--labels", help="Demonstrations in JSON with labels, as tables have them anyway.")
    ] = False,
    repeat_last: Annotated[
        bool, typer.Option("--repeat-last", help="Repeat the last state where none was seen (imitation, minari).")
    ] = False,
    max_seconds: opt.MaxSeconds = PATIENCE,
    threads: opt.Threads = None,
) -> None:
    """Write what a study holds to a file for other programs; the file's ending decides the format.

    demonstrations: .csv, .tsv, .json, .jsonl, .parquet or .npz, or --format imitation or minari (then TO is an id such
    as journeyman/garden-v0). What is known of each parameter (posterior), of each reward (reward), of each action
    (policy: is it optimal; predictive: does the expert do it): .csv and .parquet, one row each, with labels; .json; .nc
    with labelled dimensions. posterior in .nc is the draws, for ArviZ. draws: .csv, .parquet or .nc, one row per sample
    with its weight. history: .csv, .parquet or .json, one row per step. certificate: .json, or .csv in short.

    Example: [bold]journeyman study export my.study answers.csv[/]; [bold]journeyman study export my.study
    posterior.csv --what posterior[/]; [bold]journeyman study export my.study draws.nc --what posterior[/];
    [bold]journeyman study export my.study policy.parquet --what policy[/].
    """
    from journeyman.checks import one_of
    from journeyman.wording import counted

    one_of(what, KINDS, "what", "Leave it out for demonstrations.")
    given = [name for name, value in zip(OF_DEMONSTRATIONS, (format, labels, repeat_last), strict=True) if value]
    if what != "demonstrations" and given:
        raise InputError(f"{given[0]} must go with demonstrations, got it for the {what}. Leave it out.")
    from journeyman.study import exports

    if what != "demonstrations":
        exports.checked_ending(to, exports.EXPORTS[what], what)
    words = "the predictive chances" if what == "predictive" else f"the {what}"
    with opened_to_look(file, threads, max_seconds) as study:
        if what == "demonstrations":
            found = study.demonstrations
            words = counted(len(found), "demonstration")
            exports.export_demonstrations(
                found, to, study.problem, format=format, labels=labels, repeat_last=repeat_last
            )
        else:
            exports.write_export(study, what, to, level=level, progress=sys.stderr.isatty())
    typer.echo(f"Wrote {words} to {to}")
