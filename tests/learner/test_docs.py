"""What docs/learner.md shows is what happens."""

import contextlib
import io
import re
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "learner.md").read_text("utf-8")


def test_the_page_runs_and_prints_what_it_shows():
    """Its blocks are one program."""
    code = "\n".join(re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
    shown = "".join(re.findall(r"^```text\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(code, "docs/learner.md", "exec"), {"__name__": "__main__"})
    assert output.getvalue() == shown
