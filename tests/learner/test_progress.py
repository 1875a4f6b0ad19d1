import sys

import pytest
from learner.small import grid_learner, grid_world, told

from journeyman.learner.simulate import simulate, step_text
from journeyman.wording import percent


def test_progress_says_how_sure_we_are(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "150")
    found = simulate(grid_learner(), grid_world().expert, 3, stop_when_finished=False)
    output = capsys.readouterr()
    assert output.out == ""
    last = found.history[-1]
    assert f"3 of 3 answers. Chance of too much regret {percent(last.failure_chance)}, mean regret" in output.err


@pytest.mark.parametrize(("is_terminal", "progress"), [(True, False), (False, True)])
def test_nothing_is_shown_unless_it_is_wanted(capsys, monkeypatch, is_terminal, progress):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal)
    simulate(grid_learner(), grid_world().expert, 1, progress=progress)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("name", ["failure_chance", "expected_regret"])
def test_steps_without_numbers(name):
    from dataclasses import replace

    record = told(grid_learner(), grid_world(), 1).history()[-1]
    assert step_text(replace(record, **{name: None})) == "Asking the expert"
