"""What tests of study commands share: a line that must work, and a study of the example."""

import json

import pytest


@pytest.fixture
def succeed(run):
    """Run a line that must work, by the fixture `run` of the file, and return what it prints."""

    def succeed_with(line):
        code, out, err = run(line)
        assert (code, err) == (0, ""), (line, err)
        return json.loads(out, parse_constant=pytest.fail) if "--json" in line else out

    return succeed_with


@pytest.fixture
def study(succeed):
    """Make a small study of the example that `init` writes."""
    succeed("init")
    succeed("study new my.study --problem problem.toml --inference-set num_particles=100")
