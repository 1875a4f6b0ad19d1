"""`journeyman worlds`: list the worlds, and look at one."""

from typing import Annotated

import typer

from journeyman.cli import options as opt

app = typer.Typer(rich_markup_mode="rich")


def list_worlds(context: typer.Context, as_json: opt.AsJson = False) -> None:
    """List the worlds: small problems with a simulated expert, to try and compare methods on.

    A world has known dynamics and a true reward, which its seed draws from the prior. A learner knows everything but
    that reward. It asks the expert: the higher beta is, the better the expert acts. Gymnasium's environments with a
    transition table, such as gym:FrozenLake-v1, are worlds as well, though not in the list.

    Example: [bold]journeyman worlds[/], then [bold]journeyman worlds show jail --seed 3[/]. For scripts:
    [bold]journeyman worlds --json[/].
    """
    if context.invoked_subcommand is not None:
        return
    from journeyman.report.world.summary import world_entries
    from journeyman.report.world.terminal import print_worlds

    entries = world_entries(name_broken_world)
    opt.show(as_json, lambda: entries, lambda console: print_worlds(console, entries))
    if not as_json:
        typer.echo("Look at one: journeyman worlds show jail --seed 3")
        typer.echo("Environments of Gymnasium with a transition table: journeyman worlds show gym:FrozenLake-v1")


app.callback(invoke_without_command=True, **opt.help_texts(list_worlds))(list_worlds)


def name_broken_world(name: str, error: Exception) -> None:
    """Say on the error stream which world cannot be listed, and why."""
    reason = f"{type(error).__name__}: {error}".rstrip(".: ")
    typer.echo(
        f"World {name!r} is left out, since it could not be made: {reason}. Repair the package or module that "
        "registers it, or remove it.",
        err=True,
    )


@opt.add_command(app)
def show(
    name: opt.WorldName,
    seed: Annotated[int, typer.Option(help="Which instance: 0, 1, 2, ...")] = 0,
    png: opt.Picture = None,
    world_set: opt.WorldOptions = None,
    shows_all: Annotated[bool, typer.Option("--all", help="List all states of a world without a grid.")] = False,
    as_json: opt.AsJson = False,
) -> None:
    """Draw a world: its true reward, its terminal and initial states, and what is optimal.

    The seed draws the true reward from the prior (in random grids also the terminal and initial cells). A learner never
    sees it: it has to find out from what the expert does.

    Examples: [bold]journeyman worlds show jail --seed 3[/] draws in the terminal, [bold]journeyman worlds show jail
    --seed 3 --png jail.png[/] also makes a picture, [bold]journeyman worlds show random-grid --world-set size=5
    --world-set beta=1.5[/] makes a small grid with a noisy expert, [bold]journeyman worlds show gym:FrozenLake-v1
    --world-set map_name=8x8 --world-set is_slippery=false[/] takes an environment of Gymnasium, with its own reward.
    """
    from journeyman.report.drawing.maps import world_figure
    from journeyman.report.world.summary import summarise_world, world_record
    from journeyman.report.world.terminal import print_world
    from journeyman.worlds import make_world, world_options

    options = opt.parse_options(name, world_set)
    opt.check_picture(png)
    summary = summarise_world(make_world(name, seed, **options))
    all_options = world_options(name) | options
    opt.show(
        as_json,
        lambda: world_record(summary),
        lambda console: print_world(console, summary, options=all_options, shows_all=shows_all),
    )
    opt.save_picture(lambda: world_figure(summary), png, as_json)
