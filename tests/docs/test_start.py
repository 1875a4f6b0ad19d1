"""The commands of docs/start/own-problem.md work in an empty folder, in the order in which they stand there."""

import re
import shlex

import pytest
from docs.blocks import blocks, write_files
from typer.testing import CliRunner

from journeyman.cli.app import app

PAGE = "docs/start/own-problem.md"


@pytest.mark.slow
def test_a_study_of_ones_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    write_files(PAGE, tmp_path)
    printed = ""
    for block in blocks(PAGE):
        if block.language == "toml":
            change(tmp_path / "garden" / "problem.toml", block.text)
        for line in block.text.splitlines() if block.language == "sh" and not block.mark else ():
            result = CliRunner().invoke(app, shlex.split(line)[1:])
            assert result.exit_code == 0, (line, result.output)
            printed += result.output
    shown = [block.text for block in blocks(PAGE, "text") if not block.file]
    assert shown and all(text in printed for text in shown)
    assert "Look again" not in printed
    assert "flowers" in (tmp_path / "report.html").read_text("utf-8")


def change(file, lines):
    """Put lines `key = value` in the place of those that set the same keys."""
    text = file.read_text("utf-8")
    for line in lines.splitlines():
        key = line.partition(" = ")[0]
        text, count = re.subn(rf"^{key} = .*$", line, text, flags=re.MULTILINE)
        assert count == 1, key
    file.write_text(text, "utf-8")
