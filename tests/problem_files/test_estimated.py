"""Problem files whose dynamics are estimated from observed steps."""

import pytest
from problem_files.texts import REST

from journeyman.errors import InputError
from journeyman.mdp import EstimatedDynamics
from journeyman.problem_files import load_problem

HEAD = """
discount = 0.9
[states]
labels = ["home", "road", "town"]
initial = ["home"]
terminal = ["town"]
[actions]
labels = ["wait", "go"]
[transitions]
file = "steps.csv"
"""
STEPS = "state,action,next_state,done\nhome,go,road,0\nroad,go,town,1\nhome,go,home,0\nhome,wait,home,0\n"


def loaded(folder, more, steps=STEPS):
    (folder / "steps.csv").write_text(steps, "utf-8")
    (folder / "problem.toml").write_text(HEAD + more + REST, "utf-8")
    return load_problem(folder / "problem.toml")


def test_steps_become_estimated_dynamics(tmp_path):
    problem = loaded(tmp_path, "estimated = true\nprior = 1.0\n")
    assert isinstance(problem.mdp.origin, EstimatedDynamics) and problem.mdp.origin.num_steps == 4
    assert problem.mdp.dense_transitions()[0, 1] == pytest.approx([2 / 5, 2 / 5, 1 / 5])
    assert problem.mdp.initial.tolist() == [1.0, 0.0, 0.0] and problem.mdp.terminal.tolist() == [False, False, True]


@pytest.mark.parametrize(
    ("more", "steps", "message"),
    [
        ('estimated = "yes"\n', STEPS, r"estimated must be true or false, got 'yes'"),
        ("estimated = true\nmissing_mass = 'terminates'\n", STEPS, r"missing_mass.*for observed steps"),
        ("estimated = true\n", STEPS + "town,go,home,0\n", r"must not start in terminal states"),
        ("estimated = true\n", STEPS + "moon,go,home,0\n", r"column state, line 6 of steps\.csv.*moon"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, more, steps, message):
    with pytest.raises(InputError, match=message):
        loaded(tmp_path, more, steps)
