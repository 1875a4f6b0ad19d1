"""The commands of the README run one after the other, and its pictures and links are there."""

import re
from pathlib import Path

import pytest
from docs.blocks import blocks, write_files
from typer.testing import CliRunner

from journeyman.cli.app import app

README = (Path(__file__).parents[1] / "README.md").read_text("utf-8")


def test_there_is_a_python_example_of_at_most_15_lines():
    first, *_ = blocks("README.md", "python")
    assert len([line for line in first.text.splitlines() if line]) <= 15


@pytest.mark.slow
def test_shell_commands_work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # for commands that write files
    write_files("README.md", tmp_path)
    commands = [
        line.partition("#")[0].split()
        for block in blocks("README.md", "sh")
        for line in block.text.splitlines()
        if line.startswith("journeyman ") and not line.startswith("journeyman studio ")  # that one serves a page
    ]
    assert commands
    for _, *arguments in commands:
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 0, (arguments, result.output)


def test_it_is_two_screens_at_most():
    assert len(README.splitlines()) <= 120


def test_pictures_and_links_exist():
    targets = re.findall(r"\]\(([^)]+)\)", README)
    local = [target for target in targets if "://" not in target]
    assert {"docs/images/studio.png", "docs/images/demo.png"} <= set(local)
    for target in local:
        assert (Path(__file__).parents[1] / target).exists(), target
