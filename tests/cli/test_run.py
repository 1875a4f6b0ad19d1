"""`journeyman run` as a user types it."""

import csv
import json
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing

import pytest
from cli.command import command

from journeyman.problem_files.example import write_example
from journeyman.storage.files import lock
from journeyman.study import Study
from journeyman.study.exports import HISTORY_COLUMNS
from journeyman.worlds import make_world

SMALL = (
    "--world",
    "random-grid",
    "--world-set",
    "size=3",
    "--inference-set",
    "num_particles=200",
    "--threads",
    "1",
    "--seed",
    "1",
)


@pytest.fixture
def run(monkeypatch, capsys):
    """Run `journeyman run` with these arguments; return exit code, stdout and stderr."""
    return command(monkeypatch, capsys, "run")


def rows(folder):
    """History without the columns that are times."""
    with (folder / "history.csv").open(newline="") as file:
        return [
            {name: value for name, value in row.items() if not name.endswith("_seconds")}
            for row in csv.DictReader(file)
        ]


def test_it_says_what_came_of_it(run, tmp_path):
    out = tmp_path / "new" / "jail"
    code, text, err = run("--world", "jail", "--seed", "3", "--epsilon", "0.5", "--out", out)
    assert (code, err) == (0, "")
    assert text.startswith("The certificate HOLDS.")
    assert "the goal was reached." in text
    assert "True regret of the apprentice, which the learner does not know: 0." in text
    assert sorted(path.name for path in out.iterdir()) == ["certificate.json", "history.csv", "run.study"]
    certificate = json.loads((out / "certificate.json").read_text())
    assert certificate["holds"]
    with Study.open(out / "run.study", read_only=True) as study:
        assert study.settings.epsilon == 0.5


def test_json(run, tmp_path):
    code, text, err = run(*SMALL, "--steps", 2, "--out", tmp_path, "--json")
    record = json.loads(text)
    assert (code, err) == (0, "")
    assert (record["num_steps"], record["is_finished"]) == (2, False)
    assert record["true_regret"] >= 0.0
    assert record["last_step"]["num_demonstrations"] == 2
    assert record["spec"]["world_options"] == {"size": 3}
    assert record["certificate"]["status"] in ("undecided", "fails", "refused")


def test_running_again_continues(run, tmp_path):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    run(*SMALL, "--steps", 5, "--no-stop", "--out", whole)
    run(*SMALL, "--steps", 2, "--no-stop", "--out", parts)
    kept = (parts / "history.csv").read_text()
    code, _, err = run(*SMALL, "--steps", 5, "--no-stop", "--out", parts)
    assert code == 0
    assert "Resuming after 2 answers" in err
    assert rows(parts) == rows(whole)
    assert len(rows(whole)) == 6  # the start, and five answers
    assert (parts / "history.csv").read_text().startswith(kept)  # what was written stays, times included


def test_it_says_why_it_ended(run, tmp_path):
    _, text, _ = run(*SMALL, "--steps", 3, "--no-stop", "--out", tmp_path)
    assert "\n3 answers; whether the goal is reached was not looked at: it was told not to stop there" in text
    for stop in ("--no-stop", "--stop"):
        code, text, _ = run(*SMALL, "--steps", 2, stop, "--out", tmp_path)
        assert code == 0
        assert "\nThere were 3 answers already, so --steps 2 asks for no more.\n" in text
    with Study.open(tmp_path / "run.study", num_threads=1) as study:
        study.ask()
    _, text, _ = run(*SMALL, "--steps", 3, "--out", tmp_path)
    assert "\n3 answers; whether the goal is reached was not looked at: a question still waits.\n" in text


def test_the_scope_is_kept(run, tmp_path):
    arguments = (*SMALL, "--acquisition", "random", "--steps", 1, "--out", tmp_path)
    code, text, _ = run(*arguments, "--scope", "every_state", "--json")
    assert code == 0 and json.loads(text)["spec"]["scope"] == "every_state"
    code, _, err = run(*arguments)
    assert code == 1 and "got scope = 'initial' where" in err


def test_a_run_that_was_cut_off_continues(run, tmp_path):
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    for folder in (whole, cut):
        run(*SMALL, "--steps", 4, "--no-stop", "--out", folder)
    history = (cut / "history.csv").read_bytes()
    (cut / "history.csv").write_bytes(history[:-10])
    with closing(sqlite3.connect(cut / "run.study", isolation_level=None)) as connection:  # the last query waits
        connection.execute("DROP TRIGGER events_are_never_deleted")
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute("DELETE FROM events WHERE number = 7")
        connection.execute("DELETE FROM demonstrations WHERE event_number = 7")
        connection.execute("DELETE FROM snapshots")
    run(*SMALL, "--steps", 4, "--no-stop", "--out", cut)
    assert rows(cut) == rows(whole)
    with Study.open(cut / "run.study", read_only=True) as study:
        assert len(study.events) == 8


def test_a_killed_run_continues(run, tmp_path):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    arguments = [*SMALL, "--steps", "12", "--no-stop"]
    command = [sys.executable, "-m", "journeyman", "run", *arguments, "--out", str(killed)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60.0
    while process.poll() is None and time.monotonic() < deadline:
        if (killed / "history.csv").exists() and len((killed / "history.csv").read_text().splitlines()) > 2:
            break
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    run(*arguments, "--out", killed)
    run(*arguments, "--out", whole)
    assert rows(killed) == rows(whole)


def test_another_run_is_refused(run, tmp_path):
    run(*SMALL, "--steps", 1, "--out", tmp_path)
    code, _, err = run(*SMALL, "--steps", 1, "--out", tmp_path, "--epsilon", "0.3")
    assert code == 1
    assert "got epsilon = 0.3 where" in err
    assert "has 0.1. Choose another folder, or the old settings." in err


def test_two_processes_at_once_are_refused(run, tmp_path):
    with (tmp_path / "history.csv").open("a") as file:
        lock(file, tmp_path, "a run")
        code, _, err = run(*SMALL, "--out", tmp_path)
    assert code == 1
    assert "which another one has open" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Say --problem problem.toml or --world NAME"),
        (("--world", "jail", "--problem", "p.toml"), "Say --problem problem.toml or --world NAME"),
        (("--problem", "p.toml", "--world-set", "size=3"), "--world-set must come with --world"),
        (("--world", "jial"), "Did you mean 'jail'"),
        (("--world", "jail", "--acquisition", "pac"), "an acquisition function must be one that exists"),
        (("--world", "jail", "--inference", "smcc"), "Did you mean 'smc'"),
        (("--world", "jail", "--acquisition-set", "scop=1"), "got 'scop'"),
        (("--world", "jail", "--inference-set", "particles=1"), "got 'particles'"),
        (("--world", "random-8x8", "--inference", "enumerate"), "enumerate"),
        (("--world", "jail", "--steps", "-1"), "steps must be a whole number"),
    ],
)
def test_mistakes_are_named(run, tmp_path, arguments, message):
    code, _, err = run(*arguments, "--out", tmp_path / "out")
    assert code == 1
    assert message in err


def test_a_folder_that_cannot_be_made(run, tmp_path):
    (tmp_path / "file").write_text("")
    code, _, err = run("--world", "jail", "--out", tmp_path / "file")
    assert code == 1
    assert "Choose another place" in err


def test_trajectories_take_the_length_of_the_world(run, tmp_path):
    code, text, _ = run(*SMALL, "--kind", "trajectory", "--steps", 1, "--out", tmp_path, "--json")
    assert code == 0
    assert json.loads(text)["spec"]["length"] == make_world("random-grid", 1, size=3).max_length


def test_steps_that_cost_something(run, tmp_path):
    options = (*SMALL, "--kind", "trajectory", "--length", "4", "--step-cost", "0.5", "--steps", "3")
    code, out, _ = run(*options, "--out", str(tmp_path / "a"), "--json")
    assert code == 0
    assert json.loads(out)["spec"]["step_cost"] == 0.5
    with Study.open(tmp_path / "a" / "run.study", num_threads=1) as study:
        assert study.settings.step_cost == 0.5
        assert all(1 <= len(study.answers[query.id]) <= query.length <= 4 for query in study.queries)
        assert min(query.length for query in study.queries) < 4


def test_a_problem_of_ones_own(run, tmp_path):
    write_example(tmp_path)
    options = (
        "--problem",
        tmp_path / "problem.toml",
        "--steps",
        2,
        "--inference-set",
        "num_particles=200",
        "--no-stop",
    )
    code, text, err = run(*options, "--out", tmp_path / "out", "--json")
    assert code == 0
    assert "drawn from the prior, with seed 0" in err
    record = json.loads(text)
    assert record["num_steps"] == 2
    assert record["spec"]["problem"] == str(tmp_path / "problem.toml")
    text = (tmp_path / "problem.toml").read_text()
    changed = text.replace("discount = 0.9", "discount = 0.8")
    assert changed != text
    (tmp_path / "problem.toml").write_text(changed)
    code, _, err = run(*options, "--out", tmp_path / "out")
    assert code == 1
    assert "must be resumed with the problem that it began with" in err


def test_goal_reward(run, tmp_path):
    code, text, _ = run(*SMALL, "--goal", "reward", "--steps", 1, "--out", tmp_path)
    assert code == 0
    assert "The widest 95% interval of the reward's parameters is" in text


def test_history_is_a_table(run, tmp_path):
    run(*SMALL, "--steps", 2, "--batch", 2, "--out", tmp_path)
    with (tmp_path / "history.csv").open(newline="") as file:
        table = list(csv.DictReader(file))
    assert tuple(table[0]) == HISTORY_COLUMNS
    assert [(row["name"], row["query"]) for row in table] == [("start", ""), ("tell", "0"), ("tell", "1")]
    assert all(0.0 <= float(row["failure_chance"]) <= 1.0 for row in table)


def test_a_run_of_version_0_1_is_refused(run, tmp_path):
    (tmp_path / "events.jsonl").write_text("")
    code, out, err = run(*SMALL, "--out", tmp_path)
    assert (code, out) == (1, "")
    assert "got one of version 0.1" in err


def test_a_damaged_study_is_explained(run, tmp_path):
    run(*SMALL, "--steps", 2, "--no-stop", "--out", tmp_path)
    with closing(sqlite3.connect(tmp_path / "run.study", isolation_level=None)) as connection:
        connection.execute("DROP TRIGGER events_are_never_changed")
        connection.execute("UPDATE events SET payload = '{}' WHERE number = 1")
    code, out, err = run(*SMALL, "--steps", 3, "--no-stop", "--out", tmp_path)
    assert (code, out) == (1, "")
    assert "event 1 must be as it was written" in err
    assert "journeyman study recover" in err


def test_damaged_history_is_written_again(run, tmp_path):
    run(*SMALL, "--steps", 3, "--no-stop", "--out", tmp_path)
    before, file = rows(tmp_path), tmp_path / "history.csv"
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join([*lines[:2], "x" + lines[2], *lines[3:]]))
    assert run(*SMALL, "--steps", 3, "--no-stop", "--out", tmp_path)[0] == 0
    assert rows(tmp_path) == before


def test_candidates(run, tmp_path):
    world = make_world("random-grid", 1, size=3)
    first, second = world.problem.queryable.nonzero()[0][:2].tolist()
    options = (*SMALL, "--steps", "2", "--no-stop", "--out", tmp_path / "a")
    code, out, _ = run(*options, "--candidates", f"{first},{second}", "--json")
    assert code == 0
    assert json.loads(out)["spec"]["candidates"] == [first, second]
    with Study.open(tmp_path / "a" / "run.study", read_only=True) as study:
        assert {query.state for query in study.queries} <= {first, second}
    for other in ((), ("--candidates", "2")):
        code, _, err = run(*options, *other)
        assert code == 1 and "got candidates = " in err
