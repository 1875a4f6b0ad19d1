import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from calibration.problems import choice_problem

from journeyman.calibration import CalibrationSpec, load_run, run_calibration
from journeyman.calibration.run import header_of
from journeyman.errors import InputError
from journeyman.storage.jsonl import appended

EXACT = {"problem": choice_problem(), "method": "enumerate", "num_demonstrations": 5}


def timeless(replications):
    return [replace(item, seconds=0.0) for item in replications]


@pytest.fixture
def spec():
    return CalibrationSpec(**EXACT)


def test_a_file_holds_what_was_done(spec, tmp_path):
    path = tmp_path / "new" / "run.jsonl"
    done = run_calibration(spec, 6, path)
    assert [item.index for item in done] == list(range(6))
    kept = load_run(path)
    assert kept.replications == done
    assert kept.names == ("log likelihood", "V*(rho)", "regret", "first", "second")
    assert kept.num_draws == 99
    assert kept.spec == spec.record()
    assert timeless(done) == timeless(run_calibration(spec, 6))  # without a file


def test_a_run_goes_on_where_it_was(spec, tmp_path):
    path = tmp_path / "run.jsonl"
    first = run_calibration(spec, 4, path)
    again = run_calibration(spec, 7, path)
    assert again[:4] == first  # not done again: even the seconds are the same
    assert timeless(again) == timeless(run_calibration(spec, 7))
    assert run_calibration(spec, 2, path) == first[:2]
    assert path.read_text("utf-8").count("\n") == 8


def test_a_half_written_line_is_done_again(spec, tmp_path):
    path = tmp_path / "run.jsonl"
    done = run_calibration(spec, 5, path)
    text = path.read_text("utf-8")
    path.write_text(text[: text.rindex('"ranks"') + 10], "utf-8")
    assert len(load_run(path).replications) == 4
    assert timeless(run_calibration(spec, 5, path)) == timeless(done)
    assert path.read_text("utf-8").count("\n") == 6
    assert all(json.loads(line) for line in path.read_text("utf-8").splitlines())


def test_a_half_written_header_is_said(spec, tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_text('{"format": "journeyman-cali', "utf-8")
    with pytest.raises(InputError, match="results must begin with a header"):
        run_calibration(spec, 2, path)


def test_a_file_of_another_spec_is_refused_and_left_alone(spec, tmp_path):
    path = tmp_path / "run.jsonl"
    run_calibration(spec, 2, path)
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"got seed = 9 where .* has 0\. Choose another file, or the old settings"):
        run_calibration(CalibrationSpec(**EXACT, seed=9), 3, path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("text", ["hello\n", "[]\n", '{"format": "other"}\n'])
def test_a_file_of_something_else_is_refused_and_left_alone(spec, tmp_path, text):
    path = tmp_path / "notes.txt"
    path.write_text(text, "utf-8")
    with pytest.raises(InputError, match="results must begin with a header"):
        run_calibration(spec, 1, path)
    assert path.read_text("utf-8") == text


def test_a_broken_line_in_the_middle_is_said(spec, tmp_path):
    path = tmp_path / "run.jsonl"
    run_calibration(spec, 2, path)
    lines = path.read_text("utf-8").splitlines()
    path.write_text("\n".join([lines[0], "{oops", *lines[1:], ""]), "utf-8")
    with pytest.raises(InputError, match="at line 2 of"):
        load_run(path)


def test_two_processes_must_not_write_at_once(spec, tmp_path):
    path = tmp_path / "run.jsonl"
    with (
        appended(path, header_of(spec), "spec"),
        pytest.raises(InputError, match="results must be written by one process at a time"),
    ):
        run_calibration(spec, 1, path)


def test_missing_and_unwritable_places_are_said(spec, tmp_path):
    with pytest.raises(InputError, match="results must be readable"):
        load_run(tmp_path / "nothing.jsonl")
    with pytest.raises(InputError, match="results must go where they can be written"):
        run_calibration(spec, 1, tmp_path)


@pytest.mark.parametrize(("replications", "workers"), [(0, 1), (1, 0), (1.5, 1)])
def test_bad_numbers_are_refused(spec, replications, workers):
    with pytest.raises(InputError, match="must be a whole number of at least 1"):
        run_calibration(spec, replications, num_workers=workers)


def test_settings_that_cannot_be_run_leave_no_file(tmp_path):
    path = tmp_path / "run.jsonl"
    with pytest.raises(InputError, match="num_particles must be a whole number of at least 100, got 10"):
        run_calibration(CalibrationSpec(world="jail", method_options={"num_particles": 10}), 2, path)
    assert not path.exists()


RUN = """
import sys
from calibration.problems import choice_problem
from journeyman.calibration import CalibrationSpec, run_calibration

if __name__ == "__main__":
    spec = CalibrationSpec(problem=choice_problem(), method="enumerate", num_demonstrations=5)
    run_calibration(spec, 4000, sys.argv[1], num_workers=int(sys.argv[2]))
"""


@pytest.mark.parametrize("num_workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_killed_run_is_resumed_and_does_not_depend_on_workers(spec, tmp_path, num_workers):
    """Kill -9 in the middle of a run of 4000: what it kept is exactly what one process gives, and the rest follows."""
    script, path = tmp_path / "run.py", tmp_path / "run.jsonl"
    script.write_text(RUN, "utf-8")
    folder = os.path.dirname(os.path.dirname(__file__))
    process = subprocess.Popen(
        [sys.executable, str(script), str(path), str(num_workers)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([folder, os.environ.get("PYTHONPATH", "")])},
        start_new_session=True,
    )
    try:
        for _ in range(1200):
            if path.exists() and path.read_bytes().count(b"\n") > 5:
                break
            assert process.poll() is None
            time.sleep(0.05)
    finally:
        os.killpg(process.pid, signal.SIGKILL)  # workers too
        process.wait()
    kept = load_run(path).replications
    assert 5 <= len(kept) < 4000
    total = max(item.index for item in kept) + 3
    again = run_calibration(spec, total, path)
    assert [item for item in again if item.index in {k.index for k in kept}] == list(kept)
    assert timeless(again[:20]) == timeless(run_calibration(spec, 20))[: len(again[:20])]
