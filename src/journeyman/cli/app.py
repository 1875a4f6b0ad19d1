"""The `journeyman` command: its groups, its version, its errors."""

from typing import Annotated

import typer

from journeyman.cli import bound, calibrate, check, demo, infer, init, reproduce, run, scores, study, sweep, worlds
from journeyman.errors import JourneymanError

HELP = """Learn what an expert wants from few demonstrations, and know when to stop asking.

You know how a world works (states, actions, transitions) but not its reward. \
An expert acts in it, well but not perfectly. \
journeyman keeps a Bayesian posterior over the reward, asks for the demonstrations that matter most, \
and stops when its policy is within epsilon of the best with probability 1 - delta.
"""
EPILOG = (
    "Start with [bold]journeyman worlds[/], then look at one: [bold]journeyman worlds show jail --seed 3[/]. "
    "Every command explains itself with [bold]--help[/]."
)

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,  # a bug keeps its ordinary traceback
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(help=demo.HELP, epilog=demo.EPILOG)(demo.demo)
app.add_typer(worlds.app, name="worlds")
app.add_typer(study.app, name="study")
app.command(help=bound.HELP, epilog=bound.EPILOG)(bound.bound)
app.command(help=init.HELP, epilog=init.EPILOG)(init.init)
app.command(help=check.HELP, epilog=check.EPILOG)(check.check)
app.command(help=infer.HELP, epilog=infer.EPILOG)(infer.infer)
app.command(help=calibrate.HELP, epilog=calibrate.EPILOG)(calibrate.calibrate)
app.command(help=scores.HELP, epilog=scores.EPILOG)(scores.scores)
app.command(help=run.HELP, epilog=run.EPILOG)(run.run)
app.add_typer(sweep.app, name="sweep")
app.command(help=reproduce.HELP, epilog=reproduce.EPILOG)(reproduce.reproduce)


def print_version(is_asked: bool) -> None:
    """Print the version and stop, if it is asked for."""
    if is_asked:
        from importlib.metadata import version

        typer.echo(f"journeyman {version('journeyman')}")
        raise typer.Exit


@app.callback(help=HELP, epilog=EPILOG)
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Take the options that stand before the command."""


def main() -> None:
    """Run the command line; print a JourneymanError as a message and exit with code 1."""
    try:
        app(prog_name="journeyman")
    except JourneymanError as error:
        print_error(error)
        raise SystemExit(1) from None


def print_error(error: JourneymanError) -> None:
    """Print an error to stderr, on unbroken lines that can be copied and searched."""
    from rich.console import Console
    from rich.text import Text

    message = Text.assemble(("Error: ", "bold red"), str(error))
    Console(stderr=True).print(message, soft_wrap=True)
