import json

import pytest
from cli.test_worlds import run  # noqa: F401

from journeyman.apprentice import eig_min

ARGUMENTS = (
    "--states",
    "64",
    "--actions",
    "5",
    "--beta",
    "2",
    "--discount",
    "0.9",
    "--epsilon",
    "0.1",
    "--delta",
    "0.1",
)


def changed(**options):
    arguments = dict(zip(ARGUMENTS[::2], ARGUMENTS[1::2], strict=True))
    arguments |= {f"--{name}": value for name, value in options.items()}
    return [part for pair in arguments.items() for part in pair]


def test_words(run):  # noqa: F811
    code, out, err = run("bound", *ARGUMENTS)
    assert (code, err) == (0, "")
    assert out.startswith("Goal: regret below 0.1 with a probability of at least 0.9.\n")
    assert "at least 9.573e-11 nats" in out
    assert "expected number of answers: at most 1.469e+13" in out
    assert "Heuristic" not in out


def test_tighter_bounds_and_the_heuristic_are_told_apart(run):  # noqa: F811
    code, out, _ = run("bound", *ARGUMENTS, "--support", "30", "--horizon", "20", "--near-states", "40")
    assert code == 0
    assert out.count("\nBound (") == 4
    assert out.count("\nHeuristic, NOT a bound (") == 1


def test_json(run):  # noqa: F811
    code, out, err = run("bound", *ARGUMENTS, "--json", "--support", "30")
    assert (code, err) == (0, "")
    record = json.loads(out, parse_constant=pytest.fail)
    assert record["options"]["discount"] == 0.9
    assert [entry["name"] for entry in record["bounds"]] == ["published", "support"]
    assert record["bounds"][0]["eig_min"] == pytest.approx(eig_min(64, 5, 2.0, 0.9, 0.1, 0.1))
    steps = record["bounds"][0]["expected_steps"]
    assert steps == pytest.approx(record["h_max"] / record["bounds"][0]["eig_min"])


def test_one_action_needs_no_answers(run):  # noqa: F811
    code, out, _ = run("bound", *changed(actions="1"))
    assert code == 0
    assert "nothing has to be learned: 0 answers" in out
    record = json.loads(run("bound", *changed(actions="1"), "--json")[1], parse_constant=pytest.fail)
    assert record["bounds"][0]["expected_steps"] == 0.0


def test_help_teaches_with_an_example(run):  # noqa: F811
    code, out, _ = run("bound", "--help")
    assert code == 0
    assert "Example: journeyman bound --states 64" in out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": "-1"}, "epsilon must be positive and finite, got -1.0"),
        ({"delta": "1"}, "delta must lie strictly between 0 and 1, got 1.0"),
        ({"discount": "1"}, "discount must"),
        ({"beta": "0"}, "beta must be positive"),
        ({"states": "0"}, "the number of states must be"),
        ({"support": "65"}, "at most all 64, got 65"),
        ({"horizon": "0"}, "horizon must be"),
    ],
)
def test_mistakes_get_a_message(run, options, message):  # noqa: F811
    code, out, err = run("bound", *changed(**options))
    assert (code, out) == (1, "")
    assert err.startswith("Error: ")
    assert message in err
