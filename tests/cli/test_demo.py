import io
import json
import shlex
import sys
from dataclasses import replace

import pytest
from report.html_checks import checked_page
from rich.console import Console
from typer.testing import CliRunner

from journeyman.cli import app as cli
from journeyman.cli.demo import NEXT_STEPS, TurnTable, demo
from journeyman.errors import InputError
from journeyman.learner import StepRecord
from journeyman.report.learning.comparison import Turn


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """What `journeyman demo --quick` prints, and the folder that it fills."""
    folder = tmp_path_factory.mktemp("demo") / "new" / "folder"
    hook = sys.excepthook  # typer sets its own, for good
    result = CliRunner().invoke(cli.app, ["demo", "--quick", "--out", str(folder)], env={"COLUMNS": "80"})
    sys.excepthook = hook
    assert result.exit_code == 0, result.output
    return result.stdout, folder


def test_it_tells_what_happens_and_ends_with_a_certificate(shown):
    text, folder = shown
    assert "step  0  PAC-EIG" in text and "P[regret > eps]" in text
    assert "PAC-EIG is finished after" in text
    assert "action entropy has no certificate after 5 answers" in text
    assert "5 of 5 times" in text and "(jail)" in text
    assert "The certificate HOLDS." in text and "All of this assumes that:" in text
    assert str(folder / "index.html") in text
    assert all(step in text for step in NEXT_STEPS)
    assert "\x1b[" not in text  # plain where it is no terminal


def test_the_report_and_its_pictures_are_written(shown):
    _, folder = shown
    page = checked_page((folder / "index.html").read_text("utf-8"))
    assert {"race", "world", "learned", "limits", "asked", "course", "actions", "certificate"} <= set(page.ids)
    names = {path.name for path in folder.iterdir()}
    pictures = {
        "progress.png",
        "reward-posterior.png",
        "apprentice.png",
        "scores-pac_eig.png",
        "scores-action_entropy.png",
    }
    assert names == {"index.html", "certificate.json", *pictures}
    assert all((folder / name).read_bytes().startswith(b"\x89PNG") for name in pictures)
    assert json.loads((folder / "certificate.json").read_text("utf-8"))["holds"] is True


def test_commands_to_try_next_exist():
    for command in NEXT_STEPS:
        program, *arguments = shlex.split(command)
        words = [word for word in arguments[:2] if not word.startswith("-")]
        options = [word for word in arguments if word.startswith("--")]
        name = words if words[0] in ("worlds", "study") else words[:1]
        result = CliRunner().invoke(cli.app, [*name, "--help"], env={"COLUMNS": "200"})
        assert program == "journeyman" and result.exit_code == 0, command
        assert all(option in result.stdout for option in options), command


def test_a_terminal_gets_one_table_that_grows():
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=80)
    belief = StepRecord(-1, "start", (), None, None, 0, None, None, 0.7, 4.8, 0.0, None)
    with TurnTable(console, ["one", "two"]) as progress:
        progress.show(Turn("one", 0, None, belief, 4.0, False))
        progress.show(Turn("one", 1, 21, replace(belief, failure_chance=0.001, expected_regret=0.5), 0.4, True))
        table = progress.table()
    plain = Console(file=io.StringIO(), width=80)
    plain.print(table)
    lines = plain.file.getvalue().splitlines()
    assert "P[regret" in lines[0] and "> eps]" in lines[1]
    assert lines[-1].split() == ["1", "state", "21:", "done", "<", "1", "%", "0.5"]
    assert max(len(line.rstrip()) for line in lines) <= 80


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match="--out"):
        demo(out=tmp_path / "file" / "inside")


@pytest.mark.parametrize("steps", ["0", "-1"])
def test_no_steps_is_an_error(steps, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setattr(sys, "argv", ["journeyman", "demo", "--steps", steps, "--out", str(tmp_path)])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 1
    assert "steps must be a whole number of at least 1" in capsys.readouterr().err
