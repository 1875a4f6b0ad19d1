"""The `journeyman` command: its commands, its version, its errors."""

import errno
import os
import reprlib
import sys
import warnings
from collections import UserDict
from importlib import import_module
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from journeyman.cli.front_page import front_page, wants_colour
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
# Command NAME is in journeyman.cli.NAME: a group `app`, or a function NAME. That file is imported when the command is
# used; what `journeyman --help` says of it is the first line of its help, repeated here.
COMMANDS = {
    "demo": "Watch two learners ask a simulated expert; get a certificate and a report to look at.",
    "bound": "Say how many answers a guarantee can take at most, whatever the expert says.",
    "init": "Write a problem file: an example to change into your own, or one for your own map or graph.",
    "check": "Check a problem file, and explain what it means.",
    "infer": "Ask the simulated expert of a world, and show what its answers tell about the reward.",
    "calibrate": "Test whether an inference method is calibrated on a world, or on a problem of your own.",
    "compare": "Compare models of an expert on the same demonstrations, and say which explains them best.",
    "scores": "Map how much every state is worth asking about next, after some simulated demonstrations.",
    "run": "Let a learner ask a simulated expert, one query after another, until it may stop.",
    "reproduce": "Run the paper's experiments again, and draw its figures.",
    "schema": "Print the JSON Schema of what a command prints with --json.",
    "doctor": "Say whether this machine, this installation and a study are in order.",
    "warmup": "Compile everything now, so that no later command waits for it.",
    "worlds": "List the worlds: small problems with a simulated expert, to try and compare methods on.",
    "studio": "Open a page on which an expert answers the questions that matter, and everyone sees what is learned.",
    "study": "Work with a study: a learner that is kept in one file.",
    "sweep": "Run an experiment grid: worlds x acquisitions x inference x queries x seeds, "
    "on all cores or on a cluster.",
}

LOST_OUTPUT = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EPIPE)


def loaded_command(name: str) -> Any:
    """Import a command's file, and return the command."""
    from journeyman.cli.options import help_texts

    module = import_module(f"journeyman.cli.{name}")
    holder = typer.Typer(rich_markup_mode="rich")
    if hasattr(module, "app"):
        holder.add_typer(module.app, name=name)
    else:
        function = getattr(module, name)
        holder.command(name, **help_texts(function))(function)
    return typer.main.get_group(holder).commands[name]


class CommandTable(UserDict[str, Any]):
    """Commands by name; one that is None so far is loaded when it is looked up."""

    def __getitem__(self, name: str) -> Any:
        if self.data[name] is None:
            self.data[name] = loaded_command(name)
        return self.data[name]


class LazyGroup(TyperGroup):
    """The commands of COMMANDS, and any that are registered with `app`; its help loads none of them."""

    def __init__(self, *, commands: Any = None, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = CommandTable({**dict.fromkeys(COMMANDS), **(commands or {})})

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names, in the order of the help."""
        return list(self.commands)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help."""
        summaries = {name: COMMANDS.get(name) or self.commands[name].get_short_help_str() for name in self.commands}
        typer.echo(front_page(self, ctx, summaries), color=wants_colour())

    def invoke(self, ctx: Any) -> Any:
        """Run a command; where a value on its line is not of its kind, the message names the value."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            for found in getattr(error.__cause__, "errors", list)():
                error.message = value_message(found["type"], found["input"], error.message)
            raise


def value_message(kind: str, value: Any, message: str) -> str:
    """Return what is wrong with a value of the command line, from a kind of error of pydantic and its message."""
    wanted = {
        "float_parsing": "It must be a number such as 0.05",
        "int_parsing": "It must be a whole number such as 5",
    }
    return f"{wanted.get(kind, message.rstrip('.'))}, got {value!r}."


app = typer.Typer(
    cls=LazyGroup,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,  # a bug keeps its ordinary traceback
    context_settings={"help_option_names": ["-h", "--help"]},
)


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
    log_level: Annotated[
        str | None,
        typer.Option(
            "--log-level",
            metavar="LEVEL",
            help="Log to standard error, one JSON object per line, at this level: debug, info, warning or error. "
            "Default: no log. JOURNEYMAN_LOG_LEVEL does the same.",
        ),
    ] = None,
) -> None:
    """Take the options that stand before the command."""
    if log_level is not None:
        from journeyman.logs import start_logging

        start_logging(log_level)


def main() -> None:
    """Run the command line; print a JourneymanError as a message and exit with code 1."""
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="a certificate holds on a grid")  # every text says it, too
            try:
                app(prog_name="journeyman")
            finally:
                sys.stdout.flush()
    except JourneymanError as error:
        print_error(error)
        raise SystemExit(1) from None
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            print_error(
                JourneymanError(f"a file must have a shorter name, got {reprlib.repr(error.filename)}. Rename it.")
            )
            raise SystemExit(1) from None
        if error.filename is not None or error.errno not in LOST_OUTPUT:
            raise  # a bug
        give_up_output(error)


def give_up_output(error: OSError) -> NoReturn:
    """Say that what was to be printed is lost: the disk behind it is full, for example, or nobody reads any more."""
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())  # what is still to be flushed
    if error.errno != errno.EPIPE:
        print_error(
            JourneymanError(
                f"what is printed must go somewhere, but writing it failed: {error.strerror}. The command itself did "
                "its work, and what it stored is kept: look at that before you do it again."
            )
        )
    raise SystemExit(1)


def print_error(error: JourneymanError) -> None:
    """Print an error to stderr, on unbroken lines that can be copied and searched."""
    from rich.console import Console
    from rich.text import Text

    message = Text.assemble(("Error: ", "bold red"), str(error))
    Console(stderr=True).print(message, soft_wrap=True)
