"""`journeyman init`: write a problem file that runs: an example, or one for a map or a graph of one's own."""

from pathlib import Path
from typing import Annotated

import typer

from journeyman.errors import InputError


def init(
    folder: Annotated[Path, typer.Argument(metavar="[FOLDER]", help="Where to write; created if needed.")] = Path(),
    from_map: Annotated[
        Path | None,
        typer.Option("--from-map", metavar="FILE", help="Make a problem from a map drawn in a text file."),
    ] = None,
    from_graph: Annotated[
        Path | None,
        typer.Option(
            "--from-graph", metavar="FILE", help="Make it from a table of edges: columns from, to (action, back)."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")] = False,
) -> None:
    """Write a problem file: an example to change into your own, or one for your own map or graph.

    The example is two files: problem.toml, in which every setting is explained, and transitions.csv, which it names.
    They describe a small garden and run as they are. Files that exist are never overwritten, unless you say --force.

    A map is a text file in which # is a wall, . floor, S the start, G the goal, where episodes end, and every other
    mark a terrain. Spaces are floor if no . is drawn, and walls if no # is. A table of edges has the columns from and
    to, and optionally action and back: what the ways there and back are called. The result passes the check and is
    ready for a study.

    Example: [bold]journeyman init garden[/], then [bold]journeyman check garden/problem.toml[/], then [bold]journeyman
    study new garden/my.study --problem garden/problem.toml[/]. Your own: [bold]journeyman init maze --from-map
    maze.txt[/], or [bold]journeyman init maze --from-graph edges.csv[/].
    """
    from journeyman.problem_files import write_example, write_from_graph, write_from_map

    if from_map is not None and from_graph is not None:
        raise InputError("a problem must be made of one thing, got --from-map and --from-graph. Leave one out.")
    if from_map is not None:
        paths = write_from_map(from_map, folder, force=force)
    elif from_graph is not None:
        paths = write_from_graph(from_graph, folder, force=force)
    else:
        paths = write_example(folder, force=force)
    for path in paths:
        typer.echo(f"Wrote {path}")
    typer.echo(f"Next: journeyman check {folder / 'problem.toml'}")
