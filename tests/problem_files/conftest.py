"""What tests of problem files share."""

import pytest

from journeyman.problem_files import load_problem


@pytest.fixture
def load(tmp_path):
    """Load a problem from its text, with files beside it: `edges_dot_csv="..."` is edges.csv."""

    def load_text(text, **files):
        for name, content in files.items():
            (tmp_path / name.replace("_dot_", ".")).write_text(content, encoding="utf-8")
        (tmp_path / "problem.toml").write_text(text, encoding="utf-8")
        return load_problem(tmp_path / "problem.toml")

    return load_text
