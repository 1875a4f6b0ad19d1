"""The command line as tests run it, in this process."""

import sys

import pytest

from journeyman.cli import app as cli


def command(monkeypatch, capsys, *first, columns=80):
    """Return a function that runs `journeyman` with `first` and its arguments: exit code, stdout and stderr."""
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)  # typer sets its own, for good
    monkeypatch.setenv("COLUMNS", str(columns))
    for name in ("FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS"):
        monkeypatch.delenv(name, raising=False)

    def run_command(*arguments):
        monkeypatch.setattr(sys, "argv", ["journeyman", *first, *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        output = capsys.readouterr()
        return stop.value.code or 0, output.out, output.err

    return run_command
