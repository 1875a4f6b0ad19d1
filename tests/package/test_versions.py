"""Versions: of the project, which one place says, and of what it is tested with."""

import re

import pytest
import yaml
from package.tested_versions import PROJECT, ROOT, direct_requirements, needed_versions
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

VERSION = PROJECT["project"]["version"]
CONSTRAINTS = (ROOT / "constraints.txt").read_text("utf-8").splitlines()


def pinned_versions():
    pairs = [line.split("==") for line in CONSTRAINTS if not line.startswith("#")]
    return {name: Version(number) for name, number in pairs}


def test_constraints_are_names_and_versions_only():
    lines = [line for line in CONSTRAINTS if not line.startswith("#")]
    assert lines == sorted(lines, key=lambda line: line.partition("==")[0])
    assert [line for line in lines if not re.fullmatch(r"[a-z0-9-]+==[0-9][0-9a-z.]*", line)] == []


@pytest.mark.parametrize("requirement", direct_requirements(), ids=str)
def test_constraints_keep_the_declared_bounds(requirement):
    pinned = pinned_versions()
    name = canonicalize_name(requirement.name)
    assert name in pinned, "Run: make constraints"
    assert pinned[name] in requirement.specifier, "Run: make constraints"


def test_constraints_also_cover_what_the_direct_ones_need():
    assert {"llvmlite", "pillow", "starlette", "dask", "markdown-it-py"} <= set(pinned_versions())
    needed = needed_versions([Requirement("rich")])
    assert needed.keys() == {"rich", "markdown-it-py", "mdurl", "pygments"}


@pytest.mark.parametrize("requirement", direct_requirements(), ids=str)
def test_bounds_are_lower_bounds(requirement):
    assert [one.operator for one in requirement.specifier] == [">="]


def test_the_version_is_written_in_one_place():
    """pyproject.toml says it; CITATION.cff repeats it, since readers of that file know nothing of Python."""
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["version"] == VERSION
    literal = re.compile(rf"""["']{re.escape(VERSION)}["']""")
    files = [*(ROOT / "src").rglob("*.py"), ROOT / "docs" / "conf.py"]
    assert [path.name for path in files if literal.search(path.read_text("utf-8"))] == []


def test_the_newest_changes_are_those_of_this_version():
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert headings[0] == VERSION


def test_the_citation_file_has_what_its_format_asks_for():
    """The keys that the Citation File Format 1.2.0 requires, and the values that it allows for those in use."""
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["cff-version"] == "1.2.0"
    assert all(isinstance(citation[key], str) and citation[key] for key in ("message", "title", "abstract"))
    assert citation["type"] == "software"
    assert citation["license"] == PROJECT["project"]["license"]
    assert citation["title"] == PROJECT["project"]["name"]
    assert citation["authors"] == [{"name": "The journeyman developers"}]
    assert citation["keywords"] == PROJECT["project"]["keywords"]
    for paper in citation["references"]:
        assert {"type", "title", "authors"} <= paper.keys()
        assert all(author.keys() == {"family-names", "given-names"} for author in paper["authors"])
