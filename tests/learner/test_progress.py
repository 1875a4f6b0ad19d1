import pytest
from learner.small import grid_learner, grid_world, told

from journeyman.learner.simulate import answers_shown, step_text


def test_progress_says_how_sure_we_are(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # as in a terminal
    monkeypatch.setenv("COLUMNS", "150")
    learner = told(grid_learner(), grid_world(), 1)
    record = learner.history()[-1]
    with answers_shown(3, is_shown=True) as show:
        show(learner)
    output = capsys.readouterr()
    assert output.out == ""
    assert f"Chance of too much regret {record.failure_chance:.1%}, mean regret" in output.err
    assert "1/3" in output.err


def test_nothing_is_shown_unless_it_is_wanted(capsys):
    with answers_shown(3, is_shown=False) as show:
        show(told(grid_learner(), grid_world(), 1))
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("name", ["failure_chance", "expected_regret"])
def test_steps_without_numbers(name):
    from dataclasses import replace

    record = told(grid_learner(), grid_world(), 1).history()[-1]
    assert step_text(replace(record, **{name: None})) == "Asking the expert"
