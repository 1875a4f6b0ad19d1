"""Each layer of journeyman imports only those above it, so that the folder tree reads from top to bottom."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import journeyman

LAYERS = [
    "errors",
    "types",
    "logs",
    "checks",
    "wording",
    "registry",
    "extras",
    "resources",
    "threads",
    "once",
    "progress",
    "notebooks",
    "storage",
    "compiling",
    "mdp",
    "rewards",
    "demonstrations",
    "experts",
    "testing",
    "problem",
    "memory",
    "continuous",
    "worlds",
    "problem_files",
    "inference",
    "criticism",
    "apprentice",
    "acquisition",
    "calibration",
    "learner",
    "study",
    "experiment",
    "report",
    "gym",
    "studio",
    "doctor",
    "cli",
]
UNLAYERED = {"__init__", "__main__"}  # at the top of the package, these may import anything
SOURCE = Path(journeyman.__file__).parent


def imported_names(path: Path, tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the line and full dotted name of all that a module imports, wherever in it the import stands.

    `path` is relative to the package, and tells what the dots of a relative import mean.
    """
    package = ("journeyman", *path.parent.parts)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            origin = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                yield node.lineno, f"{origin}.{alias.name}"


def violations(path: Path, source: str) -> list[str]:
    """Say which imports of a module break the order of the layers; `path` is relative to the package."""
    layer = path.with_suffix("").parts[0]
    if layer in UNLAYERED:
        return []
    if layer not in LAYERS:
        return [f"{path}: {layer} is in no layer. Give it a place in LAYERS."]
    found = []
    for line, name in imported_names(path, ast.parse(source)):
        top, _, rest = name.partition(".")
        if top != "journeyman":
            continue
        target = rest.partition(".")[0]
        if target not in LAYERS:
            found.append(f"{path}:{line}: {name} is in no layer. Import it from the module that defines it.")
        elif LAYERS.index(target) > LAYERS.index(layer):
            found.append(f"{path}:{line}: {layer} must not import {name}, which is below it.")
    return found


def test_each_layer_imports_only_those_above_it():
    paths = sorted(SOURCE.rglob("*.py"))
    assert len(paths) > 5
    found = [text for path in paths for text in violations(path.relative_to(SOURCE), path.read_text("utf-8"))]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("mdp/solve.py", "import journeyman.rewards"),
        ("mdp/solve.py", "import numpy, journeyman.rewards.priors as priors"),
        ("mdp/solve.py", "from journeyman.rewards import Normal"),
        ("mdp/solve.py", "from journeyman import rewards"),
        ("mdp/solve.py", "from journeyman import FiniteMDP"),
        ("mdp/solve.py", "import journeyman"),
        ("mdp/solve.py", "from ..rewards import Normal"),
        ("mdp/solve.py", "from .. import rewards"),
        ("mdp/__init__.py", "from ..rewards import Normal"),
        ("errors.py", "from .mdp import FiniteMDP"),
        ("mdp/solve.py", "def f():\n    from journeyman.cli.app import main"),
        ("mdp/solve.py", "if TYPE_CHECKING:\n    from journeyman.problem import Problem"),
        ("somewhere/new.py", "import numpy"),
        ("new.py", ""),
    ],
)
def test_a_violation_is_found(path, source):
    assert len(violations(Path(path), source)) == 1


@pytest.mark.parametrize(
    ("path", "source"),
    [
        (
            "worlds/jail.py",
            "import numpy\nfrom journeyman.mdp import FiniteMDP\nfrom journeyman.errors import InputError",
        ),
        ("mdp/solve.py", "from journeyman.mdp.model import FiniteMDP\nfrom .model import Grid\nfrom . import kernels"),
        ("mdp/__init__.py", "from .model import FiniteMDP\nfrom ..errors import InputError"),
        ("cli/app.py", "def f():\n    from journeyman.worlds import WORLDS"),
        ("__init__.py", "from journeyman.cli import app"),
        ("__main__.py", "from journeyman.cli.app import main"),
        ("mdp/solve.py", "import journeymanlike.cli"),
    ],
)
def test_what_is_allowed_passes(path, source):
    assert violations(Path(path), source) == []
