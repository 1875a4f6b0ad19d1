"""`journeyman check`: validate a problem file and explain what it means."""

from pathlib import Path
from typing import Annotated

import typer

from journeyman.cli.options import AsJson, print_json

HELP = """Check a problem file, and explain what it means.

Mistakes are named with file, line and what to write instead. If there are none, you read what the problem is: its \
size, what can be reached and asked, and what beta means: how often such an expert would pick a best action, on \
rewards drawn from your prior.
"""
EPILOG = (
    "Example: [bold]journeyman init garden[/], then [bold]journeyman check garden/problem.toml[/]. "
    "For scripts: [bold]journeyman check problem.toml --json[/]. Exit code 1 if the file is not usable."
)


def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A problem.toml, as `journeyman init` writes one.")],
    seed: Annotated[int, typer.Option(help="Of the rewards that are drawn from the prior.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Load the problem, compute what it means, and print it."""
    from journeyman.problem_files import explain, load_problem
    from journeyman.problem_files.explanation import explanation_lines

    explanation = explain(load_problem(file), seed=seed)
    if as_json:
        print_json(explanation.to_record())
        return
    from shlex import quote

    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console()
    console.print(f"[bold]{escape(str(file))}[/] is a complete problem.", highlight=False, soft_wrap=True)
    table = Table.grid(padding=(0, 2))
    for title, sentence in explanation_lines(explanation):
        table.add_row(f"[bold]{title}[/]", escape(sentence))
    console.print(table, highlight=False)
    for warning in explanation.warnings:
        console.print(f"[bold yellow]Look again:[/] {escape(warning)}", highlight=False)
    command = f"journeyman study new {quote(str(file.with_name('my.study')))} --problem {quote(str(file))}"
    console.print(f"Next: [bold]{escape(command)}[/]", highlight=False, soft_wrap=True)
