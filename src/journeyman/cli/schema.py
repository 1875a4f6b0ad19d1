"""`journeyman schema`: what commands print with `--json`, for programs that read it."""

from typing import Annotated

import typer

from journeyman.cli import options as opt


def schema(
    command: Annotated[
        list[str] | None, typer.Argument(metavar="COMMAND", help="A command with --json; without one, all are listed.")
    ] = None,
) -> None:
    """Print the JSON Schema of what a command prints with --json.

    Without a command, list those that have one. The schemas follow draft 2020-12; the page "JSON of
    the commands" of the documentation says the same in words.

    Examples: [bold]journeyman schema[/]; [bold]journeyman schema study status[/]; for a file that study export writes:
    [bold]journeyman schema "study export --what policy"[/].
    """
    from journeyman.cli.schemas import DOCUMENTS, schema_of

    if not command:
        typer.echo("\n".join(DOCUMENTS))
        return
    opt.print_json(schema_of(" ".join(command)))
