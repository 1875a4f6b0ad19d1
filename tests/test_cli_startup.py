"""`journeyman --help` answers at once: nothing slow is imported before a command needs it."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

SLOW_TO_IMPORT = {"numba", "scipy", "matplotlib", "arviz", "pandas", "pyarrow", "nutpie", "numpy", "rich"}
REPORT_MODULES = """
import json, sys
from journeyman.cli.app import main
sys.argv = ["journeyman", *sys.argv[1:]]
try:
    main()
except SystemExit as stop:
    assert not stop.code, stop.code
print()
print(json.dumps(sorted(sys.modules)))
"""


def run_python(*arguments):
    forces_colour = {"FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS"}  # colour codes would split the words looked for
    environment = {name: value for name, value in os.environ.items() if name not in forces_colour}
    environment |= {"COLUMNS": "100", "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", env=environment, timeout=60)


def imported_by(*arguments):
    """Return the top-level packages that are imported when the command has run with these arguments."""
    result = run_python("-c", REPORT_MODULES, *arguments)
    assert result.returncode == 0, result.stderr
    return {name.partition(".")[0] for name in json.loads(result.stdout.splitlines()[-1])}


@pytest.mark.parametrize("arguments", [["--help"], ["--version"]], ids=" ".join)
def test_nothing_slow_is_imported(arguments):
    packages = imported_by(*arguments)
    assert "journeyman" in packages
    assert not packages & SLOW_TO_IMPORT


def test_importing_the_package_imports_nothing_slow():
    result = run_python("-c", "import json, sys, journeyman; print(json.dumps(sorted(sys.modules)))")
    assert not set(json.loads(result.stdout)) & SLOW_TO_IMPORT


def test_help_imports_few_modules():
    """Some 160, and a handful of them ours: what an empty Python imports and Typer."""
    result = run_python("-c", REPORT_MODULES, "--help")
    modules = json.loads(result.stdout.splitlines()[-1])
    assert len(modules) <= 250
    assert sum(name.partition(".")[0] == "journeyman" for name in modules) <= 10


def test_module_shows_help():
    result = run_python("-m", "journeyman", "--help")
    assert result.returncode == 0
    assert "Usage: journeyman" in result.stdout
    assert "journeyman worlds" in result.stdout
    assert result.stderr == ""


def test_version_is_that_of_the_project():
    pyproject = Path(__file__).parents[1] / "pyproject.toml"
    version = tomllib.loads(pyproject.read_text("utf-8"))["project"]["version"]
    result = run_python("-m", "journeyman", "--version")
    assert result.returncode == 0
    assert result.stdout == f"journeyman {version}\n"
