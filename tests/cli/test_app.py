import re
import sys

import pytest

from journeyman.cli import app as cli
from journeyman.errors import InputError


@pytest.fixture
def run_failing(monkeypatch):
    """Run the command line with a command that raises the given error."""

    def run(error):
        def fail():
            raise error

        monkeypatch.setattr(cli.app, "registered_commands", list(cli.app.registered_commands))
        cli.app.command("fail")(fail)
        monkeypatch.setattr(sys, "argv", ["journeyman", "fail"])
        monkeypatch.setattr(sys, "excepthook", sys.excepthook)  # typer sets its own, for good
        monkeypatch.delenv("FORCE_COLOR", raising=False)
        cli.main()

    return run


def test_own_error_becomes_a_message_on_stderr(run_failing, capsys):
    text = "row must sum to 1, got [0.5, 0.1] at [bold]state[/bold] 3." + " Divide that row by its sum." * 5
    with pytest.raises(SystemExit) as stop:
        run_failing(InputError(text))
    assert stop.value.code == 1
    output = capsys.readouterr()
    assert output.err == f"Error: {text}\n"
    assert output.out == ""


@pytest.mark.parametrize("error", [ValueError("a bug"), AttributeError("a bug"), ImportError("a bug")])
def test_any_other_error_is_left_alone(run_failing, error):
    with pytest.raises(type(error), match="a bug"):
        run_failing(error)


def test_unknown_command_is_a_usage_error(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["journeyman", "no-such-command"])
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 2
    assert "no-such-command" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["bound", "--delta", "5%"], ["--delta", "'5%'", "number|float"]),
        (["study", "tell", "my.study", "first", "up"], ["QUERY", "'first'", "whole number|integer"]),
        (["study", "new", "my.study", "--seed", "1.5"], ["--seed", "'1.5'", "whole number|integer"]),
    ],
)
def test_values_that_are_no_numbers_are_named(monkeypatch, capsys, arguments, expected):
    monkeypatch.setattr(sys, "argv", ["journeyman", *arguments])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 2
    message = capsys.readouterr().err
    assert all(re.search(word, message) for word in expected)
