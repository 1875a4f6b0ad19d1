"""`journeyman init` and `journeyman check`, as a user types them."""

import json
import sys

import pytest

from journeyman.cli import app as cli


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Run `journeyman` with these arguments in an empty folder; return exit code, stdout and stderr."""
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)  # typer sets its own, for good
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)
    for name in ("FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS"):
        monkeypatch.delenv(name, raising=False)

    def run_command(*arguments):
        monkeypatch.setattr(sys, "argv", ["journeyman", *arguments])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        output = capsys.readouterr()
        return stop.value.code or 0, output.out, output.err

    return run_command


def test_init_then_check(run, tmp_path):
    code, out, err = run("init")
    assert (code, err) == (0, "")
    assert out == "Wrote problem.toml\nWrote transitions.csv\nNext: journeyman check problem.toml\n"
    code, out, err = run("check", "problem.toml")
    assert (code, err) == (0, "")
    assert "problem.toml is a complete problem" in out
    assert "8 states, 5 actions" in out
    assert "this expert picks a best action 89 % of the time" in out
    assert "Next: journeyman study new my.study --problem problem.toml" in out
    code, out, _ = run("check", "problem.toml", "--json")
    record = json.loads(out, parse_constant=pytest.fail)
    assert record["num_states"] == 8
    assert round(record["best_action_chance"], 2) == 0.89


def test_init_never_overwrites_without_force(run, tmp_path):
    run("init", "garden")
    (tmp_path / "garden" / "problem.toml").write_text("mine")
    code, out, err = run("init", "garden")
    assert (code, out) == (1, "")
    assert "must not overwrite files" in err
    assert (tmp_path / "garden" / "problem.toml").read_text() == "mine"
    code, out, err = run("init", "garden", "--force")
    assert (code, err) == (0, "")
    assert run("check", "garden/problem.toml")[0] == 0


def test_mistakes_are_messages(run, tmp_path):
    run("init")
    text = (tmp_path / "problem.toml").read_text()
    (tmp_path / "problem.toml").write_text(text.replace("discount =", "disount ="))
    code, out, err = run("check", "problem.toml")
    assert (code, out) == (1, "")
    assert err.startswith("Error: ")
    assert "Did you mean 'discount'?" in err
    assert "of problem.toml" in err


def test_doubts_are_shown(run, tmp_path):
    run("init")
    text = (tmp_path / "problem.toml").read_text()
    (tmp_path / "problem.toml").write_text(text.replace("beta = 5.0", "beta = 0.001"))
    code, out, _ = run("check", "problem.toml")
    assert code == 0
    assert "Look again: This expert chooses nearly at random" in out


def test_brackets_and_spaces_are_shown_as_they_are(run, tmp_path):
    run("init", "my [bold] garden")
    file = tmp_path / "my [bold] garden" / "problem.toml"
    file.write_text(file.read_text().replace('# queryable = ["house", "path"]', "queryable = []"))
    code, out, _ = run("check", "my [bold] garden/problem.toml")
    assert code == 0
    assert "my [bold] garden/problem.toml is a complete problem" in out
    assert "Change [states] queryable." in out
    new = "'my [bold] garden/my.study' --problem 'my [bold] garden/problem.toml'"
    assert f"Next: journeyman study new {new}" in out
