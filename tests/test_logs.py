"""Logs: none by default, else a JSON object per line, of this process and of its workers."""

import json
import logging
import os
import subprocess
import sys

import numpy as np
import pytest

from journeyman import Demonstration, infer, logs
from journeyman.errors import InputError
from journeyman.worlds import make_world

RUN = ["run", "--world", "jail", "--steps", "1", "--threads", "1", "--json", "--out"]


def journeyman(*arguments, **variables):
    command = [sys.executable, "-m", "journeyman", *arguments]
    environ = {name: value for name, value in os.environ.items() if name != logs.VARIABLE} | variables
    return subprocess.run(command, capture_output=True, text=True, env=environ, check=False)


@pytest.fixture
def restored(monkeypatch):
    """Leave the loggers of this process as they were."""
    monkeypatch.setenv(logs.VARIABLE, "info")  # is set back at the end
    handlers, level, propagates = list(logs.ROOT.handlers), logs.ROOT.level, logs.ROOT.propagate
    yield
    logs.ROOT.handlers[:], logs.ROOT.propagate = handlers, propagates
    logs.ROOT.setLevel(level)


def lines_of(text):
    return [json.loads(line) for line in text.splitlines()]


def test_nothing_by_default_and_lines_on_demand(tmp_path):
    quiet = journeyman(*RUN, str(tmp_path / "quiet"))
    loud = journeyman("--log-level", "info", *RUN, str(tmp_path / "loud"))
    assert quiet.returncode == loud.returncode == 0, loud.stderr
    assert quiet.stderr == ""
    events = lines_of(loud.stderr)
    assert {"time", "level", "where", "event", "process"} <= set(events[0])
    told = [event for event in events if event["event"] == "applied" and event["name"] == "tell"]
    assert len(told) == 1 and told[0]["where"] == "journeyman.learner" and told[0]["seconds"] >= 0.0
    assert json.loads(loud.stdout)  # nothing of it goes there


def test_the_variable_does_the_same_and_the_level_counts(tmp_path):
    found = journeyman(*RUN, str(tmp_path / "quiet"), JOURNEYMAN_LOG_LEVEL="error")
    assert (found.returncode, found.stderr) == (0, "")
    found = journeyman(*RUN, str(tmp_path / "loud"), JOURNEYMAN_LOG_LEVEL="info")
    assert {event["level"] for event in lines_of(found.stderr)} == {"info"}


def test_moves_of_particles_are_finer_than_inferences(caplog):
    problem = make_world("random-grid", size=3).problem
    answers = [Demonstration.annotation(int(state), 0) for state in np.flatnonzero(~problem.mdp.terminal)[:4]]
    with caplog.at_level(logging.DEBUG, logger="journeyman"):
        infer(problem, 2 * answers, num_particles=200, num_threads=1)
    levels = {record.getMessage(): record.levelno for record in caplog.records}
    assert levels == {"moved particles": logging.DEBUG, "inferred": logging.INFO}
    moved = next(record.fields for record in caplog.records if record.levelno == logging.DEBUG)
    assert 0.0 < moved["acceptance"] <= 1.0 and moved["num_gradients"] > 0


def test_an_unknown_level_is_refused_with_those_that_there_are():
    found = journeyman("--log-level", "loud", "worlds")
    assert found.returncode == 1
    assert found.stderr == "Error: the level of the log must be one of debug, info, warning, error, got 'loud'.\n"
    with pytest.raises(InputError, match="got 'loud'"):
        logs.start_logging("loud")


def test_fields_and_errors_stand_in_the_line(restored, capsys):
    logs.start_logging("info")
    logs.start_logging("info")  # twice gives no line twice
    logs.log_event("here", "happened", number=3, path=os.path)
    logs.log_event("here", "too fine", logging.DEBUG)
    try:
        raise ValueError("odd")
    except ValueError:
        logs.ROOT.getChild("there").exception("failed")
    first, second = lines_of(capsys.readouterr().err)
    assert first["event"] == "happened" and first["number"] == 3 and first["where"] == "journeyman.here"
    assert second["level"] == "error" and "ValueError: odd" in second["error"]


def test_a_program_of_ones_own_gets_the_fields(caplog):
    with caplog.at_level(logging.INFO, logger="journeyman"), logs.logged("here", "done", what="x"):
        pass
    (record,) = caplog.records
    assert record.fields["what"] == "x" and record.fields["seconds"] >= 0.0
