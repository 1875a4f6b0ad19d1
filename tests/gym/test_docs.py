"""What docs/gymnasium.md shows works as it stands there."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "gymnasium.md"
TEXT = PAGE.read_text("utf-8")


def test_python_runs(capsys):
    pytest.importorskip("gymnasium")
    found = re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    assert len(found) == 3
    for code in found:
        exec(compile(code, PAGE.name, "exec"), {"__name__": "__main__"})
    assert "state 35" in capsys.readouterr().out


def test_links_exist():
    for target in re.findall(r"\]\(([^)#]+)\)", TEXT):
        assert (PAGE.parent / target).exists(), target
