"""`journeyman worlds`: list the worlds, and look at one."""

from typing import Annotated

import typer

from journeyman.cli import options as opt

LIST_HELP = """List the worlds: small problems with a simulated expert, to try and compare methods on.

A world has known dynamics and a true reward, which its seed draws from the prior. \
A learner knows everything but that reward. It asks the expert, who acts the better, the higher beta is.
"""
LIST_EPILOG = (
    "Example: [bold]journeyman worlds[/], then [bold]journeyman worlds show jail --seed 3[/]. "
    "For scripts: [bold]journeyman worlds --json[/]."
)
SHOW_HELP = """Draw a world: its true reward, its terminal and initial states, and what is optimal.

The seed draws the true reward from the prior (in random grids also the terminal and initial cells). \
A learner never sees it: it has to find out from what the expert does.
"""
SHOW_EPILOG = (
    "Examples: [bold]journeyman worlds show jail --seed 3[/] draws in the terminal, "
    "[bold]journeyman worlds show jail --seed 3 --png jail.png[/] also makes a picture, "
    "[bold]journeyman worlds show random-grid --world-set size=5 --world-set beta=1.5[/] makes a small grid with a "
    "noisy expert."
)

app = typer.Typer(rich_markup_mode="rich")


@app.callback(invoke_without_command=True, help=LIST_HELP, epilog=LIST_EPILOG)
def list_worlds(context: typer.Context, as_json: opt.AsJson = False) -> None:
    """List the worlds, unless a command follows."""
    if context.invoked_subcommand is not None:
        return
    from rich.console import Console

    from journeyman.report.world.summary import world_entries
    from journeyman.report.world.terminal import print_worlds

    entries = world_entries(name_broken_world)
    if as_json:
        opt.print_json(entries)
    else:
        print_worlds(Console(), entries)
        typer.echo("Look at one: journeyman worlds show jail --seed 3")


def name_broken_world(name: str, error: Exception) -> None:
    """Say on the error stream which world cannot be listed, and why."""
    reason = f"{type(error).__name__}: {error}".rstrip(".: ")
    typer.echo(
        f"World {name!r} is left out, since it could not be made: {reason}. Repair the package or module that "
        "registers it, or remove it.",
        err=True,
    )


@app.command(help=SHOW_HELP, epilog=SHOW_EPILOG)
def show(
    name: opt.WorldName,
    seed: Annotated[int, typer.Option(help="Which instance: 0, 1, 2, ...")] = 0,
    png: opt.Picture = None,
    world_set: opt.WorldOptions = None,
    shows_all: Annotated[bool, typer.Option("--all", help="List all states of a world without a grid.")] = False,
    as_json: opt.AsJson = False,
) -> None:
    """Draw one world in the terminal, or print it as JSON, and perhaps draw a picture too."""
    from journeyman.report.drawing.maps import world_figure
    from journeyman.report.world.summary import summarise_world, world_record
    from journeyman.worlds import make_world, world_options

    options = opt.parse_options(name, world_set)
    opt.check_picture(png)
    summary = summarise_world(make_world(name, seed, **options))
    if as_json:
        opt.print_json(world_record(summary))
    else:
        from rich.console import Console

        from journeyman.report.world.terminal import print_world

        print_world(Console(), summary, options=world_options(name) | options, shows_all=shows_all)
    opt.save_picture(lambda: world_figure(summary), png, as_json)
