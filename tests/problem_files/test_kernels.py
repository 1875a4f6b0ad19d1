"""Kernel priors in problem files: keys, names, complaints with their line, and what `check` says."""

import numpy as np
import pytest

from journeyman.errors import InputError
from journeyman.problem_files.explanation import explain, explanation_lines
from journeyman.rewards import KernelPrior, kernel_rewards

MAP = '''
discount = 0.9
map = """
S.....
.####.
.....G
"""
[reward]
model = "per_state"
[prior]
kind = "kernel"
std = 2.0
length_scale = 2.5
{more}
[expert]
beta = 2.0
'''


def text(more=""):
    return MAP.replace("{more}", more)


def test_a_kernel_over_positions_is_the_default(load):
    problem = load(text())
    _, prior = kernel_rewards(problem.mdp, length_scale=2.5, std=2.0)
    assert isinstance(problem.prior, KernelPrior) and problem.prior.describe() == prior.describe()
    np.testing.assert_allclose(problem.prior.covariance, prior.covariance)
    assert problem.reward_model.kind == "kernel"


def test_every_key_has_its_effect(load):
    keys = 'kernel = "matern32"\nover = "graph"\nshare = 0.95\nmean = { goal = 4.0, others = -1.0 }'
    problem = load(text(keys))
    mean = np.where(np.arange(14) == problem.mdp.state_names.index("goal"), 4.0, -1.0)
    model, prior = kernel_rewards(
        problem.mdp, length_scale=2.5, std=2.0, kernel="matern32", over="graph", share=0.95, mean=mean
    )
    assert problem.prior.describe() == prior.describe() and "over the graph" in prior.describe()
    np.testing.assert_allclose(problem.reward_model.reward(problem.prior.mean), mean, atol=1e-12)
    assert problem.reward_model.names == model.names
    assert load(text("rank = 4")).reward_model.num_parameters == 4
    assert load(text("nugget = 0.5")).reward_model.kind == "per_state"


def test_features_of_a_table(load):
    lines = "\n".join(f"{name},{i % 2}" for i, name in enumerate(load(text()).mdp.state_labels))
    problem = load(text('over = "alike.csv"'), alike_dot_csv=f"state,light\n{lines}\n")
    assert problem.reward_model.num_parameters == 2
    assert "over features" in problem.prior.describe()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ('kernel = "matern"', r"\[prior\], line 14 of problem.toml: kernel must be one of .*Did you mean"),
        ('over = "grpah"', r"line 14 of problem.toml: over must be one of positions, graph, got 'grpah'"),
        ('over = "nothing.csv"', r"over must name a file that exists, got 'nothing.csv' at line 14"),
        ("share = 2.0", r"line 14 of problem.toml: share must lie above 0"),
        ("rank = 99", r"line 14 of problem.toml: rank must be at most the number of states, 14, got 99"),
        ("rank = 1.5", r"line 14 of problem.toml: rank must be a whole number"),
        ("nugget = -1.0", r"line 14 of problem.toml: nugget must be at least 0"),
        ("lengthscale = 2.0", r"got 'lengthscale' at line 14 of problem.toml\. Did you mean 'length_scale'"),
        ("mean = { gaol = 1.0, others = 0.0 }", r"gaol"),
    ],
)
def test_complaints_name_the_line(load, more, message):
    with pytest.raises(InputError, match=message):
        load(text(more))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("length_scale = 2.5", "", r"length_scale must be given in \[prior\]"),
        ("length_scale = 2.5", 'length_scale = "far"', r"line 13 of problem.toml: length_scale must be a number"),
        ("length_scale = 2.5", "length_scale = -1", r"line 13 of problem.toml: length_scale must be positive"),
        ("std = 2.0", "", r"std must be given in \[prior\]"),
        ("std = 2.0", "std = -2.0", r"line 12 of problem.toml: std must be positive"),
        ('"per_state"', '"per_state_action"', r'kind = "kernel" must come with model = "per_state"'),
    ],
)
def test_what_is_missing_or_wrong(load, old, new, message):
    with pytest.raises(InputError, match=message):
        load(text().replace(old, new))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("state,light\nstart,1\n", r"alike.csv must have one line for each state, got 0 for r0c1\. Add it"),
        ("state\nstart\n", r"must have a column state and one column per feature, got state"),
    ],
)
def test_tables_of_features_must_be_whole(load, table, message):
    with pytest.raises(InputError, match=message):
        load(text('over = "alike.csv"'), alike_dot_csv=table)


def test_check_says_what_the_kernel_does(load):
    found = explain(load(text()), num_rewards=20)
    lines = dict(explanation_lines(found))
    assert "squared exponential kernel over positions, length scale 2.5, sd 2" in lines["Kernel"]
    assert "correlation of 0.93 (median)" in lines["Kernel"]
    assert lines["Reward"].endswith(", Kernel prior")
    assert "all of which follow from those of some" in lines["Reward"]
    assert not [warning for warning in found.warnings if "kernel" in warning]


@pytest.mark.parametrize(
    ("scale", "words"),
    [("0.4", "The kernel hardly joins states"), ("400.0", "The kernel makes neighbours nearly equal")],
)
def test_check_doubts_length_scales_that_are_hardly_meant(load, scale, words):
    found = explain(load(text().replace("2.5", scale)), num_rewards=20)
    assert [warning for warning in found.warnings if warning.startswith(words)]
