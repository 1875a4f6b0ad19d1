"""`journeyman study export`: what goes out of a study file."""

from typing import Annotated

import typer

from journeyman.cli import options as opt
from journeyman.cli.study.options import StudyFile, app, opened_to_look
from journeyman.errors import InputError

KINDS = ("demonstrations", "posterior", "policy", "certificate", "history")

Format = Annotated[
    str | None, typer.Option(metavar="NAME", help="jsonl, csv, npz, imitation or minari; default: by the ending.")
]


@opt.add_command(app)
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
    """Write what a study holds to a file that other programs read.

    demonstrations: .jsonl, .csv or .npz by the ending, or --format imitation or minari (then TO is an id such as
    journeyman/garden-v0). posterior: NetCDF for ArviZ. policy and certificate: JSON. history: CSV, one row per step.

    Example: [bold]journeyman study export my.study answers.csv[/]; [bold]journeyman study export my.study draws.nc
    --what posterior[/]; [bold]journeyman study export my.study policy.json --what policy[/].
    """
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
