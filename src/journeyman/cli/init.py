"""`journeyman init`: write an example of a problem file that runs."""

from pathlib import Path
from typing import Annotated

import typer


def init(
    folder: Annotated[Path, typer.Argument(metavar="[FOLDER]", help="Where to write; made if need be.")] = Path(),
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")] = False,
) -> None:
    """Write an example of a problem file, to change into your own.

    Two files: problem.toml, in which every setting is explained, and transitions.csv, which it names. They describe a
    small garden and run as they are. Files that exist are never overwritten, unless you say --force.

    Example: [bold]journeyman init garden[/], then [bold]journeyman check garden/problem.toml[/], then [bold]journeyman
    study new garden/my.study --problem garden/problem.toml[/].
    """
    from journeyman.problem_files import write_example

    for path in write_example(folder, force=force):
        typer.echo(f"Wrote {path}")
    typer.echo(f"Next: journeyman check {folder / 'problem.toml'}")
