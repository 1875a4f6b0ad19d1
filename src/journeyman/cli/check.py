"""`journeyman check`: validate a problem file and explain what it means."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from journeyman.cli import options as opt

if TYPE_CHECKING:
    from rich.console import Console

    from journeyman.problem_files.explanation import Explanation


def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A problem.toml, as `journeyman init` writes one.")],
    epsilon: opt.Epsilon = "0.1",
    seed: Annotated[int, typer.Option(help="Seed of the rewards drawn from the prior.")] = 0,
    as_json: opt.AsJson = False,
) -> None:
    """Check a problem file, and explain what it means.

    Mistakes are named with file, line and what to write instead. If there are none, you read what the problem is: its
    size, what can be reached and asked about; what your prior implies: which rewards it expects, what a best policy
    would earn and where it would go, and whether epsilon is small or large compared with what is at stake; and what
    beta means: how often such an expert would pick a best action, on rewards drawn from your prior.

    Example: [bold]journeyman init garden[/], then [bold]journeyman check garden/problem.toml[/]. For scripts:
    [bold]journeyman check problem.toml --json[/]. With the epsilon that you would ask for: [bold]journeyman check
    problem.toml --epsilon 5%[/]. Exit code 1 if the file is not usable.
    """
    from journeyman.apprentice.epsilon import Share, checked_epsilon
    from journeyman.problem_files import explain, load_problem

    asked = checked_epsilon(epsilon)
    explanation = explain(load_problem(file), seed=seed, epsilon=float(asked), is_share=isinstance(asked, Share))
    opt.show(as_json, explanation.to_record, lambda console: print_explanation(console, file, explanation))


def print_explanation(console: "Console", file: Path, explanation: "Explanation") -> None:
    """Print what a problem is, what is doubtful about it, and what to do next."""
    from shlex import join

    from rich.text import Text

    from journeyman.problem_files.explanation import explanation_lines
    from journeyman.report.terminal import definitions

    console.print(Text.assemble((str(file), "bold"), " is a complete problem."), soft_wrap=True)
    console.print(definitions(dict(explanation_lines(explanation))))
    for warning in explanation.warnings:
        console.print(Text.assemble(("Look again:", "bold yellow"), f" {warning}"))
    command = join(["journeyman", "study", "new", str(file.with_name("my.study")), "--problem", str(file)])
    console.print(Text.assemble("Next: ", (command, "bold")), soft_wrap=True)
