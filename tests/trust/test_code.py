"""Nothing in the program unpickles, evaluates or unpacks what a file holds: studies and problems come from anybody."""

import ast
import runpy
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "journeyman"
TRUST = SOURCE.parents[1] / "docs" / "trust"
MODULES = {"pickle", "cPickle", "_pickle", "cloudpickle", "dill", "joblib", "marshal", "shelve", "torch", "imp", "code"}
CALLS = {"eval", "exec", "compile", "__import__"}
METHODS = {
    *("read_pickle", "to_pickle", "unsafe_load", "full_load", "load_module", "exec_module", "extractall"),
    *("unpack_archive", "popen", "literal_eval"),
}  # fmt: skip


def risks(tree):
    """Yield the line and the name of everything that could run what a file holds."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, one.name) for one in node.names if one.name.partition(".")[0] in MODULES)
        elif isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").partition(".")[0] in MODULES:
            yield node.lineno, node.module
        elif isinstance(node, ast.Call):
            called = node.func
            if isinstance(called, ast.Name) and called.id in CALLS | METHODS:
                yield node.lineno, called.id
            if isinstance(called, ast.Attribute) and called.attr in METHODS:
                yield node.lineno, called.attr
            if isinstance(called, ast.Attribute) and ast.unparse(called) in ("yaml.load", "os.system"):
                yield node.lineno, ast.unparse(called)
            given = {one.arg: ast.unparse(one.value) for one in node.keywords}
            if given.get("allow_pickle", "False") != "False":
                yield node.lineno, "allow_pickle"
            if given.get("shell", "False") != "False":
                yield node.lineno, "shell"
            is_array_load = ast.unparse(called) in ("np.load", "numpy.load", "np.lib.npyio.NpzFile")
            if is_array_load and given.get("allow_pickle") != "False":
                yield node.lineno, "np.load without allow_pickle=False"
        elif isinstance(node, ast.Constant) and node.value in MODULES - {"code", "imp"}:
            yield node.lineno, f"a word that importlib could take: {node.value}"


@pytest.mark.parametrize(
    "text",
    [
        "import pickle", "from pickle import loads", "import torch.nn", "eval('1')", "exec(open('a').read())",
        "np.load('a.npz')", "np.load('a.npz', allow_pickle=True)", "np.load('a.npz', allow_pickle=given)",
        "pd.read_pickle('a')", "yaml.load('a')", "zipfile.ZipFile('a').extractall()",
        "importlib.import_module('pickle')", "subprocess.run('ls', shell=True)", "os.system('ls')",
        "marshal = __import__('marshal')", "import shelve as s",
    ],
)  # fmt: skip
def test_the_scan_sees_what_it_is_for(text):
    assert list(risks(ast.parse(text)))


@pytest.mark.parametrize("text", ["np.load('a.npz', allow_pickle=False)", "json.load(file)", "re.compile('a')"])
def test_the_scan_lets_the_rest_be(text):
    assert not list(risks(ast.parse(text)))


def test_nothing_runs_what_a_file_holds():
    files = sorted(SOURCE.rglob("*.py"))
    assert len(files) > 200
    found = [
        f"{path.relative_to(SOURCE)}:{line}: {what}"
        for path in files
        for line, what in risks(ast.parse(path.read_text("utf-8")))
    ]
    assert not found, "\n".join(found)


def test_the_page_of_dependencies_names_each_of_them():
    script = runpy.run_path(str(TRUST / "dependencies.py"))
    rows = [line.split(" | ") for line in (TRUST / "dependencies.md").read_text("utf-8").splitlines() if " | " in line]
    assert {row[0].strip("| ").lower(): row[1] for row in rows[1:]} == script["wanted"]()
    assert (TRUST / "dependencies.md").read_text("utf-8").startswith(script["HEAD"])
