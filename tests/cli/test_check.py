"""`journeyman init` and `journeyman check`, as a user types them."""

import json

import pytest
from cli.command import command


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Run `journeyman` with these arguments in an empty folder; return exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    return command(monkeypatch, capsys, columns=200)


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
