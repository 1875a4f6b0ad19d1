"""The page docs/cli.md, made from the commands: `python -m journeyman.cli.reference > docs/cli.md`."""

import re
from collections.abc import Iterator
from typing import Any

import typer

TITLE = """# Command line

Every command explains itself with `--help`. This page is made from the same texts
(`python -m journeyman.cli.reference > docs/cli.md`), and a test fails when it lacks a command or an option.

Exit codes: 0 done; 1 an error, explained on standard error; 2 a wrong command or option; 3 from `study certify`: the
certificate does not hold (yet); 4 from `study certify` and `study doubts`: it may hold, but the model is doubtful;
130 stopped by the keyboard. With `--json`, standard output is one JSON document, whose keys [json.md](json.md)
explains.
"""


def walk(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield (full name, command) of a command and all below it, in the order of `--help`."""
    yield path, command
    for name, child in getattr(command, "commands", {}).items():
        yield from walk(child, f"{path} {name}")


def reference_markdown() -> str:
    """Return the page."""
    from journeyman.cli.app import app

    root = typer.main.get_command(app)
    sections = [section(path, command) for path, command in walk(root, "journeyman")]
    return "\n".join([TITLE, *sections])


def section(path: str, command: Any) -> str:
    """Return what one command does, with its arguments and options."""
    lines = [f"## {path}", "", plain(command.help or ""), ""]
    if command.epilog:
        lines += [plain(command.epilog), ""]
    listed = [parameter_line(parameter) for parameter in command.params if parameter.name not in ("help",)]
    if listed:
        lines += ["| argument or option | meaning |", "|---|---|", *listed, ""]
    return "\n".join(lines)


def parameter_line(parameter: Any) -> str:
    """Return a row of the table: how it is written, and what it means."""
    is_option = parameter.param_type_name == "option"
    names = ", ".join([*parameter.opts, *parameter.secondary_opts]) if is_option else parameter.metavar or ""
    if is_option and not getattr(parameter, "is_flag", False):
        names += f" {parameter.metavar or parameter.name.upper()}"
    default = parameter.default
    words = plain(getattr(parameter, "help", "") or "")
    if is_option and isinstance(default, str | int | float) and not isinstance(default, bool):
        words += f" Default: {default}."
    elif is_option and parameter.secondary_opts:
        words += f" Default: {(parameter.opts if default else parameter.secondary_opts)[0]}."
    if is_option and parameter.required:
        words += " Required."
    return f"| `{names.replace('|', '/')}` | {words.replace('|', '/')} |"


def plain(text: str) -> str:
    """Return help without the marks of rich; what is bold becomes code."""
    return re.sub(r"\[/\w*\]", "`", re.sub(r"\[bold\]", "`", text)).strip()


if __name__ == "__main__":
    print(reference_markdown(), end="")
