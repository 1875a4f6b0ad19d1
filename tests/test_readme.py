"""What the README shows is what happens: its Python runs, and its output is that of the program."""

import contextlib
import io
import re
import shlex
from pathlib import Path

import pytest
from cli.tiny_sweep import shrink
from typer.testing import CliRunner

from journeyman.cli.app import app

README = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCKS = [(found.group(1), found.group(2)) for found in FENCE.finditer(README)]


def python_examples():
    """Yield the Python blocks, each with the text block right after it, which is what it prints."""
    for index, (language, code) in enumerate(BLOCKS):
        if language == "python":
            following = BLOCKS[index + 1] if index + 1 < len(BLOCKS) else ("", "")
            yield code, following[1] if following[0] == "text" else None


def cases():
    """Yield the examples; one whose output is not shown also with 6 answers instead of 60, which is quick."""
    for code, expected in python_examples():
        if expected is None and "size=60" in code:
            yield code.replace("size=60", "size=6"), expected
            yield pytest.param(code, expected, marks=pytest.mark.slow)
        else:
            yield code, expected


@pytest.mark.parametrize(("code", "expected"), list(cases()))
def test_python_runs_and_prints_what_is_shown(code, expected, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # for examples that write files
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(code, "README.md", "exec"), {"__name__": "__main__"})
    if expected is not None:
        assert output.getvalue() == expected


def test_there_is_a_python_example_of_at_most_15_lines():
    codes = [code for code, _ in python_examples()]
    assert codes
    assert len([line for line in codes[0].splitlines() if line]) <= 15


@pytest.mark.parametrize("block", [text for language, text in BLOCKS if language == "console"])
def test_console_shows_what_the_command_prints(block, monkeypatch):
    """A line "..." stands for any lines that are left out."""
    monkeypatch.setenv("COLUMNS", "80")
    command, *shown = block.splitlines()
    assert command.startswith("$ journeyman ")
    result = CliRunner().invoke(app, shlex.split(command)[2:])
    assert result.exit_code == 0
    printed = "\n".join(line.rstrip() for line in result.stdout.splitlines())
    for part in re.split(r"^\.\.\.$", "\n".join(shown), flags=re.MULTILINE):
        assert part.strip("\n") in printed


@pytest.mark.slow
def test_shell_commands_work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # for commands that write files
    commands = [
        line.partition("#")[0].split()
        for language, text in BLOCKS
        if language == "sh"
        for line in text.splitlines()
        if line.startswith("journeyman ")
    ]
    assert commands
    for _, *arguments in commands:
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 0, (arguments, result.output)
        if arguments == ["sweep", "init"]:
            shrink(Path("sweep.toml"))


def test_pictures_and_links_exist():
    targets = re.findall(r"\]\(([^)]+)\)", README)
    local = [target for target in targets if "://" not in target]
    assert "docs/images/jail.png" in local
    for target in local:
        assert (Path(__file__).parents[1] / target).exists(), target
