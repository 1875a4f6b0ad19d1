"""`journeyman --help` imports no command and no rich, and yet says what the commands say, as typer would draw it."""

import inspect
import re

import pytest
import typer
from typer.core import TyperGroup
from typer.testing import CliRunner

from journeyman.cli.app import COMMANDS, app

ROOT = typer.main.get_command(app)


def lines_of(text):
    return [line.rstrip() for line in text.strip().splitlines()]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_table_repeats_the_first_line_of_the_help(name):
    assert inspect.cleandoc(ROOT.commands[name].help).split("\n\n")[0].replace("\n", " ") == COMMANDS[name]


@pytest.mark.parametrize("columns", [80, 100, 120])
def test_it_looks_as_if_typer_had_drawn_it(columns, monkeypatch):
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    environment = {"COLUMNS": str(columns)}
    shown = CliRunner().invoke(app, ["--help"], env=environment)
    monkeypatch.setattr(type(ROOT), "format_help", TyperGroup.format_help)
    expected = CliRunner().invoke(app, ["--help"], env=environment)
    assert shown.exit_code == expected.exit_code == 0
    assert lines_of(shown.stdout) == lines_of(expected.stdout)


def test_colour_is_for_terminals_and_those_who_ask(monkeypatch):
    for name in ("FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    plain = CliRunner().invoke(app, ["--help"]).stdout
    assert "\x1b" not in plain
    monkeypatch.setenv("FORCE_COLOR", "1")
    coloured = CliRunner().invoke(app, ["--help"]).stdout
    assert "\x1b[1;36mdemo\x1b[0m" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain
    monkeypatch.setenv("NO_COLOR", "1")
    assert CliRunner().invoke(app, ["--help"]).stdout == plain


def test_without_arguments_it_is_shown_once():
    result = CliRunner().invoke(app, [], env={"COLUMNS": "100"})
    assert result.exit_code == 2
    assert result.output.count("Usage: ") == 1


def test_a_misspelt_command_is_answered_with_the_nearest():
    result = CliRunner().invoke(app, ["stduy"])
    assert result.exit_code == 2
    assert "Did you mean 'study'?" in result.output
