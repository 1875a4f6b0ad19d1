"""What the pages about studies show works as it stands there."""

import shlex
import sys

import pytest
from docs.blocks import blocks, write_files

from journeyman.cli import app as cli


@pytest.mark.parametrize(
    ("page", "num_runs"),
    [("docs/study.md", "2"), ("docs/formats.md", "2"), pytest.param("docs/study.md", "20", marks=pytest.mark.slow)],
)
def test_commands_run(page, num_runs, tmp_path, monkeypatch, capsys):
    """With so many runs of a forecast, each of which costs as much as a study; 20 are what it does by itself."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)  # typer sets its own, for good
    monkeypatch.setenv("COLUMNS", "80")
    write_files(page, tmp_path)
    lines = [line for block in blocks(page, "sh") for line in block.text.splitlines()]
    assert len(lines) > 8
    for line in lines:
        more = ["--runs", num_runs] if " forecast " in line else []
        monkeypatch.setattr(sys, "argv", [*shlex.split(line, comments=True), *more])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        expected = 3 if "certify" in line else 0
        output = capsys.readouterr()
        assert (stop.value.code or 0) == expected, (line, output.err)
        if "--dry-run" in line:  # as the page shows it
            assert "".join(f"{shown.rstrip()}\n" for shown in output.out.splitlines()) in [
                block.text for block in blocks("docs/formats.md", "text")
            ]
