"""What docs/sweep.md shows works as it stands there, and it leaves nothing out."""

import os
import re
import shlex
import sys
from dataclasses import fields
from pathlib import Path

import pytest
from cli.tiny_sweep import shrink
from docs.blocks import blocks

from journeyman.cli import app as cli
from journeyman.experiment import METRICS, Sweep, sweep_from_toml
from journeyman.experiment.results import columns

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "sweep.md").read_text("utf-8")


def section(title):
    """Return the text below a heading."""
    return re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL).group(1)


def test_commands_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)  # typer sets its own, for good
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0}, raising=False)  # one core: no processes to start
    lines = [line for block in blocks("docs/sweep.md", "sh") for line in block.text.splitlines()]
    assert len(lines) > 4
    for line in lines:
        monkeypatch.setattr(sys, "argv", shlex.split(line, comments=True))
        with pytest.raises(SystemExit) as stop:
            cli.main()
        assert not stop.value.code, (line, capsys.readouterr().err)
        if " init" in line:
            shrink(tmp_path / "sweep.toml")
    assert (tmp_path / "all.csv").exists()


def test_the_file_that_is_shown_can_be_run():
    (block,) = blocks("docs/sweep.md", "toml")
    assert len(sweep_from_toml(block.text).cells()) == 2 * 2 * 3 * 4


def test_every_key_column_and_metric_is_explained():
    keys, explained = section("The file"), section("The results")
    for field in fields(Sweep):
        assert re.search(rf"^\| `{field.name}` \|", keys, re.MULTILINE), field.name
    rows = "\n".join(line for line in explained.splitlines() if line.startswith("|"))
    for name in ("sweep", *columns(), *METRICS):
        assert f"`{name}`" in rows, name


def test_every_figure_is_explained():
    names = re.findall(r"`\.\.\._([a-z-]+)`", section("The figures"))
    assert set(names) == {"results", "goals", "queries", "pairs", "results-more", "goals-more", "inference"}


def test_defaults_are_those_of_the_code():
    for field in fields(Sweep):
        if isinstance(field.default, int | float):
            assert re.search(rf"^\| `{field.name}` \|.*\| {field.default:g} \|$", PAGE, re.MULTILINE), field.name
