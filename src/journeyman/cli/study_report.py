"""`journeyman study report`: what a study has found, as a page to read and to send."""

from pathlib import Path
from typing import Annotated

import typer

from journeyman.cli.options import Threads
from journeyman.cli.printing import print_json

HELP = """Write a report: what was asked and why, what was learned, what cannot be known, and the certificate.

The report is one HTML file without scripts: open it in a browser, print it, or send it. \
It also works for problems without a grid. The study is only read.
"""
EPILOG = (
    "Examples: [bold]journeyman study report my.study[/] writes my.html beside the study, "
    "[bold]journeyman study report my.study -o report.html --title 'Maze 3, mouse 12'[/] writes elsewhere, "
    "[bold]journeyman study report my.study --json[/] prints the numbers for scripts."
)


def register(app: typer.Typer) -> None:
    """Add the command to `journeyman study`."""
    app.command(help=HELP, epilog=EPILOG)(report)


def report(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The study, such as my.study.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="PAGE", help="Where to write; default: beside the study, ending in .html."),
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title of the report; default: the name of the study.")] = None,
    threads: Threads = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the numbers as JSON; write a page only if --out is given.")
    ] = False,
) -> None:
    """Write the report on a study, or print its numbers."""
    from journeyman.report.learning import checked_page_path, learning_report, write_page
    from journeyman.report.learning.record import learning_record
    from journeyman.report.learning.summary import summarise_learning
    from journeyman.study import Study

    page = checked_page_path(file.with_suffix(".html") if out is None else out)  # before the work, not after it
    with Study.open(file, num_threads=threads, read_only=True) as study:
        summary = summarise_learning(study.learner, title or file.stem)
    if not as_json or out is not None:
        write_page(learning_report(summary), page)
        typer.echo(f"Report written to {page}", err=as_json)
    if as_json:
        print_json(learning_record(summary))
