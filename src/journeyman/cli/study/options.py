"""The group `journeyman study`, and what its commands share: their options, and how they open a study."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
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
