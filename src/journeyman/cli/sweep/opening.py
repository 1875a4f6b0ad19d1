"""What the commands of `journeyman sweep` share: their arguments, the folder of the results, and its table."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from journeyman.errors import InputError

if TYPE_CHECKING:
    from pandas import DataFrame

    from journeyman.experiment import Sweep

SpecFile = Annotated[Path, typer.Argument(metavar="SPEC", help="The sweep, a TOML file such as sweep.toml.")]
OutFolder = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", help="Folder of the results; default: runs/ and the name of SPEC."),
]


def results_folder(spec: Path, out: Path | None) -> Path:
    """Return where the results of a spec are kept: `runs/mine` for `somewhere/mine.toml`, unless told otherwise."""
    folder = Path("runs") / spec.stem if out is None else out
    if folder.exists() and not folder.is_dir():
        raise InputError(f"results must be in a folder, got {str(folder)!r}, which is a file. Choose another place.")
    return folder


def command(name: str, spec: Path, out: Path | None, *more: str) -> str:
    """Return a command to try next, as it is typed."""
    place = [] if out is None else ["--out", str(out)]
    return shlex.join(["journeyman", "sweep", name, str(spec), *place, *more])


def print_hints(hints: Mapping[str, str]) -> None:
    """Print commands to try next, each on an unbroken line that can be copied."""
    width = max(map(len, hints), default=0)
    for words, line in hints.items():
        typer.echo(f"{words.ljust(width)}  {line}")


def check_finished(num_finished: int, sweep: "Sweep", spec: Path, out: Path | None) -> None:
    """Refuse to show nothing, and say on the error stream if cells are missing."""
    if num_finished == 0:
        raise InputError(
            "results must be there before they can be shown, got no finished cell in "
            f"{str(results_folder(spec, out))!r}. Run: {command('run', spec, out)}"
        )
    num_cells = len(sweep.cells())
    if num_finished < num_cells:
        typer.echo(
            f"{num_finished} of {num_cells} cells are finished, and only these are shown. "
            f"What about the others: {command('status', spec, out)}",
            err=True,
        )


def finished_table(sweep: "Sweep", spec: Path, out: Path | None) -> "DataFrame":
    """Return the results there are as a data frame."""
    from journeyman.experiment import sweep_table

    table = sweep_table(sweep, results_folder(spec, out))
    check_finished(table["cell"].nunique(), sweep, spec, out)
    return table
