"""What the README and docs/ show is what happens: their Python runs and prints that, their commands exist."""

import ast
import importlib
import inspect
import re
import shlex

import pytest
from docs.blocks import ROOT, blocks, is_shown, pages, run_page
from typer.testing import CliRunner

import journeyman
from journeyman.acquisition import ACQUISITIONS
from journeyman.checks import check_options
from journeyman.cli.app import app
from journeyman.errors import InputError
from journeyman.experiment.runner import RunOptions
from journeyman.inference import INFERENCE
from journeyman.learner import LearnerSettings

PYTHON = [page for page in pages() if blocks(page, "python")]
LANGUAGES = ("bash", "console", "csv", "dockerfile", "json", "jsonl", "python", "sh", "text", "toml")
OPTIONS = {  # what **options of a function may be
    "infer": {option for method in INFERENCE.values() for option in method.options},
    "run_sweep": RunOptions.__dataclass_fields__,
    "score": {option for acquisition in ACQUISITIONS.values() for option in acquisition.options},
}


def check_readme(names, printed):
    (block,) = blocks("README.md", "python")
    *asked, last = printed.splitlines()
    assert block.text.rstrip().endswith(f"# {last}, after two answers") and len(asked) == 2


def check_sweep(names, printed):
    assert set(names["means"]["method"]) == {"random", "nuPAC-EIG"}
    assert names["gains"]["n"].max() == 3


def check_gymnasium(names, printed):
    assert "state 35" in printed


def check_continuous(names, printed):
    lines = printed.splitlines()
    assert lines[0].startswith("regrets are off by up to about") and lines[1] == "2 answers"
    assert lines[2] in ("left", "coast", "right") and float(lines[3]) < -90.0


ALSO = {
    "README.md": check_readme,
    "docs/sweep.md": check_sweep,
    "docs/gymnasium.md": check_gymnasium,
    "docs/continuous.md": check_continuous,
}


def test_there_are_pages():
    assert {"docs/extending.md", *ALSO} <= set(PYTHON)


@pytest.mark.parametrize("page", pages())
def test_every_block_is_one_that_is_tested(page):
    assert list(unread_fences((ROOT / page).read_text("utf-8"))) == []


def unread_fences(text):
    """Yield the beginnings of blocks that no test would read: of another language or form than those that are known."""
    is_inside = False
    for line in text.splitlines():
        if not re.match(r"\s*(?:```|~~~)", line):
            continue
        is_inside = not is_inside
        shown = re.fullmatch(r"```(?:(\w+)(?: \S+)?|\{(?!code-block)[\w-]+\}.*)", line)
        if is_inside and not (shown and shown[1] in (None, *LANGUAGES)) and line.strip() != "```toml":
            yield line


@pytest.mark.parametrize("line", ["```", "```py", "~~~python", "````python", "  ```python", "```{code-block} python"])
def test_blocks_that_no_test_reads_are_found(line):
    assert list(unread_fences(f"```sh\nls\n```\n{line}\n{line.strip()[:3]}\n")) == [line]


@pytest.mark.parametrize("page", PYTHON)
def test_python_runs_and_prints_what_is_shown(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = run_page(page, tmp_path)
    if page in ALSO:
        ALSO[page](*found)


@pytest.mark.parametrize("page", [page for page in PYTHON if any(block.mark for block in blocks(page, "python"))])
def test_python_that_does_not_run_calls_what_exists(page):
    source = "\n".join(block.text for block in blocks(page, "python"))
    assert list(wrong_calls(source)) == []


def wrong_calls(source):
    """Yield the calls of our functions and classes that their signatures do not take, and why."""
    tree = ast.parse(source)
    names = dict(vars(journeyman)) | {name: getattr(journeyman, name) for name in journeyman.__all__}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("journeyman"):
            module = importlib.import_module(node.module)
            names |= {alias.asname or alias.name: getattr(module, alias.name) for alias in node.names}
    for node in ast.walk(tree):
        called = names.get(getattr(node.func, "id", None)) if isinstance(node, ast.Call) else None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):  # Study.create(...)
            called = getattr(names.get(getattr(node.func.value, "id", None)), node.func.attr, None)
        if not callable(called) or any(isinstance(argument, ast.Starred) for argument in node.args):
            continue
        keywords = {keyword.arg: None for keyword in node.keywords if keyword.arg}
        signature = inspect.signature(called)
        try:
            (signature.bind_partial if len(keywords) < len(node.keywords) else signature.bind)(*node.args, **keywords)
            more = LearnerSettings.__dataclass_fields__ if "settings" in signature.parameters else {}
            if more := OPTIONS.get(called.__name__, more):
                check_options(keywords, (*signature.parameters, *more), called.__name__)
        except (TypeError, InputError) as error:
            yield f"{ast.unparse(node)}: {error}"


@pytest.mark.parametrize(
    ("call", "fault"),
    [
        ('run_sweep(load_sweep("sweep.toml"), "runs", executr="dask")', "executr"),
        ("run_sweep()", "missing"),
        ("infer(problem, num_particels=3)", "num_particels"),
        ("infer(problem, demonstrations, 1, 2, 3)", "too many"),
        ("ActiveLearner(problem, candidats=3)", "candidats"),
        ("Study.create(path, problem, epsilonn=3)", "epsilonn"),
        ("ActiveLearner(problem, candidates=3, **more)", None),
    ],
)
def test_wrong_calls_are_found(call, fault):
    found = list(wrong_calls(f"from journeyman.experiment import load_sweep, run_sweep\n{call}"))
    assert found == [] if fault is None else fault in found[0]


@pytest.mark.parametrize("page", [page for page in pages() if blocks(page, "console")])
def test_console_shows_what_the_command_prints(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    for block in blocks(page, "console"):
        command, _, shown = block.text.partition("\n")
        assert command.startswith("$ journeyman "), f"{page}:{block.line}"
        result = CliRunner().invoke(app, shlex.split(command)[2:])
        assert result.exit_code == 0
        assert is_shown(result.stdout, shown), f"{page}:{block.line}\n{result.stdout}"


@pytest.mark.parametrize("page", pages())
def test_programs_and_targets_exist(page):
    assert list(missing_programs((ROOT / page).read_text("utf-8"))) == []


def missing_programs(text):
    """Yield the programs of the repository and the targets of make that a page names and that are not there."""
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    for program in re.findall(r"\bpython ((?:bench|docs|examples|reproduction|tests)/[\w/.-]+\.py)", text):
        if not (ROOT / program).exists():
            yield program
    for target in re.findall(r"(?:^|`)make ([a-z][\w-]*)", text, re.MULTILINE):
        if target not in targets:
            yield target


def test_missing_programs_are_found():
    text = "`make nope` and `make test`\n```sh\npython bench/nope.py\nmake docs\npython bench/step.py\n```\n"
    assert list(missing_programs(text)) == ["bench/nope.py", "nope"]
