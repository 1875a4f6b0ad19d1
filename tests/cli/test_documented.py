"""Every command and option stands in docs/cli.md, and every command has an example in its help."""

import re
from pathlib import Path

import pytest
import typer

from journeyman.cli.app import app
from journeyman.cli.reference import walk

PAGE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text("utf-8")
SECTIONS = dict(re.findall(r"^## (journeyman[^\n]*)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
COMMANDS = dict(walk(typer.main.get_command(app), "journeyman"))
MAKE = "Run: python -m journeyman.cli.reference > docs/cli.md"


def test_there_are_commands():
    assert {"journeyman", "journeyman check", "journeyman study ask", "journeyman study import"} <= set(COMMANDS)


def test_the_page_has_these_commands_and_no_others():
    assert list(SECTIONS) == list(COMMANDS), MAKE


@pytest.mark.parametrize("path", COMMANDS)
def test_every_argument_and_option_is_documented(path):
    written = set(re.findall(r"^\| `([^`]+)` \|", SECTIONS[path], re.MULTILINE))
    words = {word for entry in written for word in re.split(r"[ ,]+", entry)}
    for parameter in COMMANDS[path].params:
        if parameter.name == "help":
            continue
        names = parameter.opts if parameter.param_type_name == "option" else [parameter.metavar]
        assert set(names) <= words, f"{path} {names}. {MAKE}"
        assert parameter.help or parameter.param_type_name == "argument", f"{path} {names} must say what it means"


@pytest.mark.parametrize("path", [path for path, command in COMMANDS.items() if not hasattr(command, "commands")])
def test_every_command_has_an_example(path):
    command = COMMANDS[path]
    assert command.help
    assert re.search(r"Examples?: ", command.epilog or ""), f"{path} must end its help with an example"
    assert path in command.epilog.replace("[bold]", "").replace("[/]", "")
