"""The tutorials of docs/tutorials: all of their code runs, as it does when the site is built, but without a notebook.

`make docs` executes them in notebooks and shows what came out; here cells are executed one after the other in this
process, commands by the shell. Those that take long are marked slow.
"""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from docs.blocks import ROOT

FOLDER = ROOT / "docs" / "tutorials"
TUTORIALS = sorted(path for path in FOLDER.iterdir() if path.suffix in (".md", ".ipynb") and path.name != "index.md")
QUICK = {"active-loop", "reading-a-certificate"}
KINDS = ("markdown", "code")
CELL = re.compile(r"^```\{code-cell\} ipython3\n(?::tags: [^\n]*\n\n)?(.*?)^```$", re.MULTILINE | re.DOTALL)


def text_and_cells(path):
    """Return the words of a tutorial, and the code of its cells."""
    if path.suffix == ".md":
        text = path.read_text("utf-8")
        return CELL.sub("", text), CELL.findall(text)
    cells = json.loads(path.read_text("utf-8"))["cells"]
    sources = {kind: ["".join(cell["source"]) for cell in cells if cell["cell_type"] == kind] for kind in KINDS}
    return "\n\n".join(sources["markdown"]), sources["code"]


def run_cell(code, names):
    """Execute a cell as a notebook would: files are written, commands run, the last value is shown."""
    first, _, rest = code.partition("\n")
    if first.startswith("%%writefile "):
        Path(first.split()[1]).write_text(rest, "utf-8")
    elif first.strip() == "%%bash":
        done = subprocess.run(["bash", "-e", "-c", rest], capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, (rest, done.stdout, done.stderr)
    else:
        assert not first.startswith("%%"), f"a cell that no test can run: {first}"
        body = ast.parse("\n".join(line for line in code.splitlines() if not line.startswith("%"))).body
        last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
        exec(compile(ast.Module(body, []), "cell", "exec"), names)
        if last is not None:
            shown = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
            assert isinstance(getattr(shown, "_repr_html_", lambda: repr(shown))() or "", str)


def cases():
    """Yield the tutorials; those that take more than a few seconds are slow."""
    for path in TUTORIALS:
        yield pytest.param(path, id=path.stem, marks=() if path.stem in QUICK else pytest.mark.slow)


@pytest.mark.parametrize("path", list(cases()))
def test_code_runs(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    monkeypatch.setenv("TUTORIAL_DATA", str(ROOT / "examples" / "labyrinth"))
    names = {"__name__": "tutorial"}
    _, cells = text_and_cells(path)
    for code in cells:
        run_cell(code, names)


def test_there_are_ten_and_the_index_lists_them():
    assert len(TUTORIALS) == 10
    assert sum(path.suffix == ".ipynb" for path in TUTORIALS) == 2
    index = (FOLDER / "index.md").read_text("utf-8")
    for path in TUTORIALS:
        assert f"({path.name})" in index
        assert f"\n{path.stem}\n" in index


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_says_for_whom_it_is_and_what_to_read_next(path):
    text, cells = text_and_cells(path)
    assert len(cells) >= 5
    for words in ("**For** ", "**You will have** ", "**Takes** ", "## What to read next\n"):
        assert text.count(words) == 1, words
    for target in re.findall(r"\]\((?!https?://)([^)#]+)[^)]*\)", text):
        assert (FOLDER / target).exists(), target


@pytest.mark.parametrize("path", [path for path in TUTORIALS if path.suffix == ".ipynb"], ids=lambda path: path.stem)
def test_notebooks_hold_no_output(path):
    for cell in json.loads(path.read_text("utf-8"))["cells"]:
        assert cell.get("outputs", []) == []
        assert cell.get("execution_count") is None
