"""The group `journeyman study`, and what its commands share: their options, and how they open a study."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from journeyman.cli.printing import print_json
from journeyman.errors import InputError

if TYPE_CHECKING:
    from journeyman.problem import Problem
    from journeyman.study import Study

HELP = """Work with a study: a learner that is kept in one file.

Ask what to show the expert next, tell the answer, look how far you are, and get a certificate. What was told is kept \
even if the machine crashes; several people and programs may use one file at once.
"""
EPILOG = (
    "Example: [bold]journeyman study new my.study --problem problem.toml[/], [bold]journeyman study ask my.study[/], "
    "[bold]journeyman study tell my.study 0 right[/], [bold]journeyman study certify my.study[/]. "
    "Exit codes: 0 done, 1 an error that is explained, 2 a wrong option, 3 from certify: does not hold (yet)."
)

app = typer.Typer(rich_markup_mode="rich", no_args_is_help=True, help=HELP, epilog=EPILOG)
StudyFile = Annotated[Path, typer.Argument(metavar="FILE", help="The study, such as my.study.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Annotator = Annotated[str | None, typer.Option("--by", metavar="NAME", help="Who answered, where it does not say.")]


def opened_to_look(file: Path, num_threads: int | None = None) -> "Study":
    """Open a study that will not be changed.

    It is opened for writing where that is allowed, so that a posterior which had to be computed is kept; a study that
    is write-protected, lies in such a folder, or has several names, is only read.
    """
    from journeyman.study import Study
    from journeyman.study.database import several_names

    is_protected = file.is_file() and (
        not (os.access(file, os.W_OK) and os.access(file.parent, os.W_OK)) or several_names(file) is not None
    )
    return Study.open(file, num_threads=num_threads, read_only=is_protected)


def find_problem(path: Path | None, world: str | None, options: list[str], seed: int) -> "Problem":
    """Return the problem of a file or of a world: one of the two must be given."""
    if (path is None) == (world is None):
        raise InputError(
            f"a study must have one problem, got {'none' if path is None else 'a file and a world'}. "
            "Say --problem problem.toml or --world NAME."
        )
    if path is not None:
        from journeyman.problem_files import load_problem

        if options:
            raise InputError(f"only a world takes options, got {options[0]!r}. Change the problem file instead.")
        return load_problem(path)
    from journeyman.cli.options import parse_options
    from journeyman.worlds import make_world

    assert world is not None
    return make_world(world, seed, **parse_options(world, options)).problem


def say_done(as_json: bool, record: dict[str, Any], words: str) -> None:
    """Say what was done, for people or for programs."""
    if as_json:
        print_json(record)
    else:
        typer.echo(words)
